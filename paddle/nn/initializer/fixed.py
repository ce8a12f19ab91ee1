"""Initializers without chance: constants, given arrays, identity and interpolation kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor
from .base import Initializer


class ConstantInitializer(Initializer):
    """One number everywhere.

    Args:
        value: the number.
        force_cpu: kept for old programs, without effect.
    """

    def __init__(self, value: float = 0.0, force_cpu: bool = False):
        if value is None:
            raise errors.ValueError_("Constant: value must be a number, got None")
        self._value = value

    def array(self, shape, dtype):
        return np.full(shape, self._value, dtype.numpy)


class Constant(ConstantInitializer):
    """One number everywhere.

    Example:
        >>> paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Constant(2.0)).weight.tolist()
        [[2.0, 2.0]]
    """

    def __init__(self, value: float = 0.0):
        super().__init__(value)


class NumpyArrayInitializer(Initializer):
    """The values of an array, which must have the shape of the parameter."""

    def __init__(self, value: Any):
        self._value = value

    def array(self, shape, dtype):
        value = self._value
        if isinstance(value, (list, tuple)):
            value = [np.asarray(v) if isinstance(v, Tensor) else v for v in value]
        array = np.asarray(value)
        if array.shape != shape:
            raise errors.ValueError_(f"Assign: the parameter has shape {list(shape)}, the value {list(array.shape)}")
        return array.astype(dtype.numpy)


class Assign(NumpyArrayInitializer):
    """The values of an array, a Tensor or nested lists, which must have the shape of the parameter.

    Example:
        >>> paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Assign([[1.0, 2.0]])).weight.tolist()
        [[1.0, 2.0]]
    """

    def __init__(self, value: Any, name: str | None = None):
        if not isinstance(value, (Tensor, np.ndarray, list, tuple)):
            raise errors.TypeError_(f"Assign: value must be an array, a Tensor or a list, got {errors.describe(value)}")
        super().__init__(value)


class Dirac(Initializer):
    """The identity as a convolution: each output channel passes on the input channel of its number.

    Args:
        groups: repeat that for groups of output channels.

    Raises:
        ValueError: the parameter is no filter of 1 to 3 spatial dimensions, or `groups` does not divide its outputs.

    Example:
        >>> paddle.nn.Conv1D(1, 1, 3, weight_attr=paddle.nn.initializer.Dirac()).weight.tolist()
        [[[0.0, 1.0, 0.0]]]
    """

    def __init__(self, groups: int = 1, name: str | None = None):
        if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
            raise errors.ValueError_(f"Dirac: groups must be a positive int, got {groups!r}")
        self._groups = groups

    def __call__(self, var: Any, block: Any = None) -> None:
        return self.forward(var, block)

    def array(self, shape, dtype):
        if len(shape) not in (3, 4, 5):
            raise errors.ValueError_(f"Dirac: the parameter must have 3, 4 or 5 dimensions, its shape is {list(shape)}")
        if shape[0] % self._groups:
            raise errors.ValueError_(f"Dirac: groups={self._groups} does not divide the {shape[0]} output channels")
        value = np.zeros(shape, dtype.numpy)
        outputs = shape[0] // self._groups
        center = tuple(k // 2 for k in shape[2:])
        for group in range(self._groups):
            for i in range(min(outputs, shape[1])):
                value[(group * outputs + i, i) + center] = 1
        return value


class Bilinear(Initializer):
    """A kernel for upsampling by a transposed convolution, the same for all channels.

    The numbers are the official ones: along the rows the kernel moves on with each element, so it is not symmetric.

    Raises:
        ValueError: the parameter is not [out, in, k, k].

    Example:
        >>> attr = paddle.nn.initializer.Bilinear()
        >>> paddle.nn.Conv2DTranspose(1, 1, 4, weight_attr=attr).weight.shape
        [1, 1, 4, 4]
    """

    def forward(self, var: Any, block: Any = None) -> None:
        super().forward(var, block)

    def array(self, shape, dtype):
        if len(shape) != 4 or shape[2] != shape[3]:
            raise errors.ValueError_(f"Bilinear: the parameter must be [out, in, k, k], its shape is {list(shape)}")
        size = shape[3]
        factor = math.ceil(size / 2.0)
        center = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        position = np.arange(math.prod(shape))
        x, y = position % size, position / size % size
        value = (1 - abs(x / factor - center)) * (1 - abs(y / factor - center))
        return value.reshape(shape).astype(dtype.numpy)
