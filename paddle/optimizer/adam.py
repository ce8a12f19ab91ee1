"""Adam."""

from __future__ import annotations

import jax.numpy as jnp

from .optimizer import Optimizer

__all__ = ["Adam"]


def moments(g, s, h):
    """The running means of the gradient and of its square."""
    return (h.beta1 * s["moment1"] + (1 - h.beta1) * g, h.beta2 * s["moment2"] + (1 - h.beta2) * g * jnp.conj(g))


def next_powers(s, h):
    return {"beta1_pow_acc": s["beta1_pow_acc"] * h.beta1, "beta2_pow_acc": s["beta2_pow_acc"] * h.beta2}


def adam_update(p, g, s, h, lr, ahead=False):
    """One step of Adam with the rate `lr`; with amsgrad the denominator is the largest so far. `ahead`: correct the
    bias with the powers of the next step."""
    m, v = moments(g, s, h)
    new = {"moment1": m, "moment2": v, **next_powers(s, h)}
    if h.amsgrad:
        v = new["moment2_max"] = jnp.maximum(v, s["moment2_max"])
    powers = new if ahead else s
    correction = jnp.sqrt(1 - powers["beta2_pow_acc"])
    return p - lr * correction / (1 - powers["beta1_pow_acc"]) * m / (jnp.sqrt(v) + h.epsilon * correction), new


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015); with `amsgrad` the form of Reddi et al. 2018.

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        beta1, beta2: what is kept of the running means of the gradient and of its square, in [0, 1).
        epsilon: added to the denominator, not negative.
        lazy_mode: with a row-sparse gradient only its rows are updated, parameters and moments.
        multi_precision: train a float32 copy of 16-bit parameters.
        use_multi_tensor: accepted for compatibility; the step is always one multi-tensor executable.
        amsgrad: divide by the largest running mean so far.

    Raises:
        ValueError: a number out of its bounds.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> adam = paddle.optimizer.Adam(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); adam.step(); round(w.item(), 4)
        0.5
    """

    type = "adam"
    _hyper = ("beta1", "beta2", "epsilon")
    _options = ("amsgrad", "lazy_mode")
    _states = ("moment1", "moment2")
    _scalars = ("beta1_pow_acc", "beta2_pow_acc")

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        use_multi_tensor=False,
        amsgrad=False,
        name=None,
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._set_adam(beta1, beta2, epsilon, amsgrad)
        self._lazy_mode = bool(lazy_mode)
        self._multi_precision = multi_precision
        self._use_multi_tensor = use_multi_tensor

    def _set_adam(self, beta1, beta2, epsilon, amsgrad=False):
        self._beta1 = self._check_range("beta1", beta1, 0, 1)
        self._beta2 = self._check_range("beta2", beta2, 0, 1)
        self._epsilon = self._check_range("epsilon", epsilon)
        self._amsgrad = bool(amsgrad)
        if amsgrad:
            self._states = (*self._states, "moment2_max")

    def _initial_scalars(self, group):
        return tuple(self._hyper_of(group)[:2])

    @staticmethod
    def _rests(h):
        return h.lazy_mode

    @staticmethod
    def _update(p, g, s, h):
        return adam_update(p, g, s, h, h.lr, ahead=h.by_rows)  # as officially for row-sparse gradients, on the CPU
