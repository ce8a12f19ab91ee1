"""Initializers as functions that fill a given tensor in place and return it."""

from __future__ import annotations

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from . import initializer as I
from .initializer import calculate_gain

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def _fill(tensor: Tensor, initializer: I.Initializer) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise errors.TypeError_(f"init: only a Tensor can be filled, got {errors.describe(tensor)}")
    initializer(tensor)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers spread evenly over [a, b).

    Example:
        >>> paddle.nn.init.uniform_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.Uniform(a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with normally distributed numbers.

    Example:
        >>> paddle.nn.init.normal_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.Normal(mean, std))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fill with normally distributed numbers between a and b.

    Example:
        >>> paddle.nn.init.trunc_normal_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.TruncatedNormal(mean, std, a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Example:
        >>> paddle.nn.init.constant_(paddle.zeros([2]), 0.5).tolist()
        [0.5, 0.5]
    """
    return _fill(tensor, I.Constant(val))


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Example:
        >>> paddle.nn.init.ones_(paddle.zeros([1, 2])).tolist()
        [[1.0, 1.0]]
    """
    return _fill(tensor, I.Constant(1.0))


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Example:
        >>> paddle.nn.init.zeros_(paddle.zeros([1, 2])).tolist()
        [[0.0, 0.0]]
    """
    return _fill(tensor, I.Constant(0.0))


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity. ValueError for another number of dimensions.

    Example:
        >>> paddle.nn.init.eye_(paddle.zeros([1, 2])).tolist()
        [[1.0, 0.0]]
    """
    if tensor.ndim != 2:
        raise errors.ValueError_(f"eye_: tensor must have 2 dimensions, its shape is {list(tensor.shape)}")
    return _fill(tensor, I.Assign(np.eye(*tensor.shape)))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a filter with the identity convolution, see `initializer.Dirac`.

    Example:
        >>> paddle.nn.init.dirac_(paddle.zeros([1, 1, 3])).tolist()
        [[[0.0, 1.0, 0.0]]]
    """
    return _fill(tensor, I.Dirac(groups))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Tensor:
    """Fill as `initializer.XavierUniform` does.

    Example:
        >>> paddle.nn.init.xavier_uniform_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.XavierUniform(fan_in, fan_out, gain))


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> Tensor:
    """Fill as `initializer.XavierNormal` does.

    Example:
        >>> paddle.nn.init.xavier_normal_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.XavierNormal(fan_in, fan_out, gain))


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill as `initializer.KaimingUniform` does; `a` is the negative slope of the leaky_relu behind.

    Example:
        >>> paddle.nn.init.kaiming_uniform_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.KaimingUniform(None, a, nonlinearity, mode))


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fill as `initializer.KaimingNormal` does; `a` is the negative slope of the leaky_relu behind.

    Example:
        >>> paddle.nn.init.kaiming_normal_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.KaimingNormal(None, a, nonlinearity, mode))


def orthogonal_(tensor: Tensor, gain: float = 1) -> Tensor:
    """Fill with an orthogonal matrix, see `initializer.Orthogonal`.

    Example:
        >>> paddle.nn.init.orthogonal_(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return _fill(tensor, I.Orthogonal(gain))
