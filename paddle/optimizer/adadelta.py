"""Adadelta."""

from __future__ import annotations

import jax.numpy as jnp

from .optimizer import Optimizer

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Steps of the size of the recent steps, relative to the recent gradients (Zeiler 2012).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        epsilon: added under the roots.
        rho: what is kept of the running means.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.Adadelta(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step()
    """

    type = "adadelta"
    _hyper = ("epsilon", "rho")
    _states = ("_avg_squared_grad", "_avg_squared_update")

    def __init__(
        self, learning_rate=0.001, epsilon=1e-6, rho=0.95, parameters=None, weight_decay=None, grad_clip=None, name=None
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = self._check_range("epsilon", epsilon)
        self._rho = self._check_range("rho", rho)

    @staticmethod
    def _update(p, g, s, h):
        squares = h.rho * s["_avg_squared_grad"] + (1 - h.rho) * g * jnp.conj(g)
        steps = s["_avg_squared_update"]
        step = jnp.sqrt((steps + h.epsilon) / (squares + h.epsilon)) * g
        new = {"_avg_squared_grad": squares, "_avg_squared_update": h.rho * steps + (1 - h.rho) * step * jnp.conj(step)}
        return p - h.lr * step, new
