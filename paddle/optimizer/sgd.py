"""Stochastic gradient descent."""

from __future__ import annotations

from .optimizer import Optimizer

__all__ = ["SGD"]


class SGD(Optimizer):
    """p -= lr * g.

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        multi_precision: train a float32 copy of 16-bit parameters.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> sgd = paddle.optimizer.SGD(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); sgd.step(); w.tolist()
        [-0.5]
    """

    type = "sgd"

    def __init__(
        self, learning_rate=0.001, parameters=None, weight_decay=None, grad_clip=None, multi_precision=False, name=None
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._multi_precision = multi_precision

    @staticmethod
    def _rests(h):
        return True

    @staticmethod
    def _update(p, g, s, h):
        return p - h.lr * g, {}
