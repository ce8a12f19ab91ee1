"""Adamax."""

from __future__ import annotations

import jax.numpy as jnp

from .optimizer import Optimizer

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adam with the maximum norm (Kingma and Ba 2015, section 7).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        beta1, beta2: what is kept of the mean of the gradient and of its largest size, in [0, 1).
        epsilon: added to the denominator, not negative.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.Adamax(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step(); round(w.item(), 4)
        0.5
    """

    type = "adamax"
    _hyper = ("beta1", "beta2", "epsilon")
    _states = ("moment", "inf_norm")
    _scalars = ("beta1_pow_acc",)

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = self._check_range("beta1", beta1, 0, 1)
        self._beta2 = self._check_range("beta2", beta2, 0, 1)
        self._epsilon = self._check_range("epsilon", epsilon)

    def _initial_scalars(self, group):
        return (self._hyper_of(group)[0],)

    @staticmethod
    def _update(p, g, s, h):
        m = h.beta1 * s["moment"] + (1 - h.beta1) * g
        largest = jnp.maximum(jnp.abs(g), h.beta2 * s["inf_norm"] + h.epsilon)
        power = s["beta1_pow_acc"]
        return p - h.lr / (1 - power) * m / largest, {
            "moment": m,
            "inf_norm": largest,
            "beta1_pow_acc": power * h.beta1,
        }
