"""Weight decay as a penalty on the loss: an optimizer adds its gradient to the gradients of the parameters."""

from __future__ import annotations

from typing import Any

from .engine import errors

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer(errors.Explains):
    """Base class of the penalties. `kind` is how the compiled step of an optimizer knows it."""

    kind = ""

    def __init__(self, coeff: float = 0.0):
        if isinstance(coeff, (bool, str)) or coeff is None:
            raise errors.TypeError_(f"{type(self).__name__}: coeff must be a number, got {errors.describe(coeff)}")
        self._coeff = float(coeff)

    def __call__(self, param: Any, grad: Any, block: Any = None) -> Any:
        """The gradient of the penalty at `param`."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(param, grad, block)")


class L1Decay(WeightDecayRegularizer):
    """The penalty coeff * sum(|p|); its gradient is coeff * sign(p).

    Args:
        coeff: the weight of the penalty.

    Example:
        >>> paddle.regularizer.L1Decay(1e-4)
        L1Decay, coeff=0.0001
    """

    kind = "l1"

    def __call__(self, param, grad, block=None):
        return param.detach().sign() * self._coeff

    def __repr__(self) -> str:
        return f"L1Decay, coeff={self._coeff}"

    __str__ = __repr__


class L2Decay(WeightDecayRegularizer):
    """The penalty coeff / 2 * sum(p ** 2); its gradient is coeff * p.

    Args:
        coeff: the weight of the penalty.

    Example:
        >>> paddle.regularizer.L2Decay(1e-4)
        L2Decay, coeff=0.0001
    """

    kind = "l2"

    def __call__(self, param, grad, block=None):
        return param.detach() * self._coeff

    def __repr__(self) -> str:
        return f"L2Decay, coeff={self._coeff}"

    __str__ = __repr__
