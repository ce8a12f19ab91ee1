"""Gradient descent with momentum."""

from __future__ import annotations

from ..engine import errors
from .optimizer import Optimizer

__all__ = ["Momentum"]


class Momentum(Optimizer):
    """v = momentum * v + g; p -= lr * v, or with Nesterov's form p -= lr * (g + momentum * v).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        momentum: the part of the velocity that is kept.
        use_nesterov: Nesterov's form (Sutskever et al. 2013).
        multi_precision: train a float32 copy of 16-bit parameters.
        rescale_grad: a factor of the gradients, before weight decay.
        use_multi_tensor: accepted for compatibility; the step is always one multi-tensor executable.

    Raises:
        ValueError: `momentum` is None.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.Momentum(0.5, 0.9, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step(); w.tolist()
        [-0.5]
    """

    type = "momentum"
    _hyper = ("momentum", "rescale_grad")
    _options = ("use_nesterov",)
    _states = ("velocity",)

    def __init__(
        self,
        learning_rate=0.001,
        momentum=0.9,
        parameters=None,
        use_nesterov=False,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        rescale_grad=1.0,
        use_multi_tensor=False,
        name=None,
    ):
        if momentum is None:
            raise errors.ValueError_("Momentum: momentum must be given")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum = momentum
        self._use_nesterov = bool(use_nesterov)
        self._multi_precision = multi_precision
        self._rescale_grad = rescale_grad
        self._use_multi_tensor = use_multi_tensor

    @staticmethod
    def _update(p, g, s, h):
        v = h.momentum * s["velocity"] + g
        return p - h.lr * (g + h.momentum * v if h.use_nesterov else v), {"velocity": v}
