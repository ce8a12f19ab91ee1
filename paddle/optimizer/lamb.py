"""Lamb: Adam with a rate for each parameter."""

from __future__ import annotations

import jax.numpy as jnp

from ..engine import errors
from .adam import moments, next_powers
from .optimizer import Optimizer

__all__ = ["Lamb"]


class Lamb(Optimizer):
    """Adam with layer-wise adaptive rates for large batches (You et al. 2020).

    Args:
        learning_rate, parameters, grad_clip: see Optimizer.
        lamb_weight_decay: the coefficient of the decoupled weight decay.
        beta1, beta2, epsilon: see Adam.
        exclude_from_weight_decay_fn: a function of a parameter; where it gives True there is no decay.
        multi_precision: train a float32 copy of 16-bit parameters.
        always_adapt: adapt the rate also of parameters without decay.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.Lamb(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step(); round(w.item(), 4)
        0.5
    """

    type = "lamb"
    _hyper = ("beta1", "beta2", "epsilon", "lamb_weight_decay")
    _per_parameter = ("decays",)
    _options = ("always_adapt",)
    _states = ("moment1", "moment2")
    _scalars = ("beta1_pow_acc", "beta2_pow_acc")

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        parameters=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        multi_precision=False,
        always_adapt=False,
        name=None,
    ):
        if exclude_from_weight_decay_fn is not None and not callable(exclude_from_weight_decay_fn):
            raise errors.TypeError_(
                "Lamb: exclude_from_weight_decay_fn must be a function, got "
                + errors.describe(exclude_from_weight_decay_fn)
            )
        self._exclude_from_weight_decay_fn = exclude_from_weight_decay_fn
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._beta1 = self._check_range("beta1", beta1, 0, 1)
        self._beta2 = self._check_range("beta2", beta2, 0, 1)
        self._epsilon = self._check_range("epsilon", epsilon)
        self._lamb_weight_decay = self._check_range("lamb_weight_decay", lamb_weight_decay, float("-inf"))
        self._multi_precision = multi_precision
        self._always_adapt = bool(always_adapt)

    def _initial_scalars(self, group):
        return tuple(self._hyper_of(group)[:2])

    def _parameter_numbers(self, p, group):
        exclude = self._exclude_from_weight_decay_fn
        return (float(exclude is None or not exclude(p)),)

    @staticmethod
    def _update(p, g, s, h):
        m, v = moments(g, s, h)
        decay = h.lamb_weight_decay * h.decays
        step = m / (1 - s["beta1_pow_acc"]) / (jnp.sqrt(v / (1 - s["beta2_pow_acc"])) + h.epsilon) + decay * p

        def adapted(p, step):
            norm, length = jnp.sqrt(jnp.sum(p * p)), jnp.sqrt(jnp.sum(step * step))
            trust = jnp.where((norm > 0) & (length > 0), norm / jnp.where(length > 0, length, 1), 1.0)
            if not h.always_adapt:
                trust = jnp.where(decay == 0, 1.0, trust)
            return p - h.lr * trust * step

        return h.each(adapted, p, step), {"moment1": m, "moment2": v, **next_powers(s, h)}
