"""RMSProp."""

from __future__ import annotations

import jax.numpy as jnp

from .optimizer import Optimizer

__all__ = ["RMSProp"]


class RMSProp(Optimizer):
    """Steps relative to the root of the running mean of squares (Hinton 2012, lecture 6e).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        rho: what is kept of the running means, not negative.
        epsilon: added under the root, not negative.
        momentum: what is kept of the step before, not negative.
        centered: subtract the square of the running mean of the gradient (Graves 2013).

    Raises:
        ValueError: a number is None or out of its bounds.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.RMSProp(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step()
    """

    type = "rmsprop"
    _hyper = ("rho", "epsilon", "momentum")
    _options = ("centered",)
    _states = ("momentum", "mean_square", "mean_grad")

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1e-6,
        momentum=0.0,
        centered=False,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho = self._check_range("rho", rho)
        self._epsilon = self._check_range("epsilon", epsilon)
        self._momentum = self._check_range("momentum", momentum)
        self._centered = bool(centered)

    @staticmethod
    def _update(p, g, s, h):
        squares = h.rho * s["mean_square"] + (1 - h.rho) * g * jnp.conj(g)
        mean = h.rho * s["mean_grad"] + (1 - h.rho) * g if h.centered else s["mean_grad"]
        spread = squares - mean * jnp.conj(mean) if h.centered else squares
        step = h.momentum * s["momentum"] + h.lr * g / jnp.sqrt(spread + h.epsilon)
        return p - step, {"momentum": step, "mean_square": squares, "mean_grad": mean}
