"""Adagrad."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from .optimizer import Optimizer

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """p -= lr * g / (sqrt(sum of the squares so far) + epsilon) (Duchi et al. 2011).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        epsilon: added to the denominator.
        initial_accumulator_value: where the sum of squares starts.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.Adagrad(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step(); round(w.item(), 4)
        0.5
    """

    type = "adagrad"
    _hyper = ("epsilon",)
    _states = ("moment",)

    def __init__(
        self,
        learning_rate,
        epsilon=1e-6,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = self._check_range("epsilon", epsilon)
        self.initial_accumulator_value = self._check_range("initial_accumulator_value", initial_accumulator_value)

    def _initial_state(self, name, shape, dtype):
        return np.full(shape, self.initial_accumulator_value, dtype)

    @staticmethod
    def _rests(h):
        return True

    @staticmethod
    def _update(p, g, s, h):
        total = s["moment"] + g * jnp.conj(g)
        return p - h.lr * g / (jnp.sqrt(total) + h.epsilon), {"moment": total}
