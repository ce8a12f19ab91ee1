"""Initializers that draw: normal, uniform, and their widths by Glorot and by He."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import DType
from .base import Initializer, calculate_gain, fans, host_random


def _single(dtype: DType) -> type:
    """The precision to draw in: double for float64 and complex128, single for all others."""
    return np.float64 if dtype.numpy in (np.dtype("float64"), np.dtype("complex128")) else np.float32


def _normal(mean: complex, std: float, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    random, real = host_random(), _single(dtype)
    value = random.standard_normal(shape, real)
    if dtype.is_complex:
        value = (value + 1j * random.standard_normal(shape, real)) / math.sqrt(2.0)
    return np.asarray(value * std + mean).astype(dtype.numpy)


def _uniform(low: float, high: float, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    return np.asarray(low + (high - low) * host_random().random(shape, _single(dtype))).astype(dtype.numpy)


class NormalInitializer(Initializer):
    """Normally distributed numbers. `seed` is kept for old programs; paddle.seed decides."""

    def __init__(self, loc: complex = 0.0, scale: float = 1.0, seed: int = 0):
        self._mean, self._std = loc, scale

    def array(self, shape, dtype):
        return _normal(self._mean, self._std, shape, dtype)


class Normal(NormalInitializer):
    """Normally distributed numbers.

    Args:
        mean: their mean; complex for complex parameters.
        std: their standard deviation.

    Example:
        >>> paddle.nn.Linear(3, 2, weight_attr=paddle.nn.initializer.Normal(0.0, 0.02)).weight.shape
        [3, 2]
    """

    def __init__(self, mean: complex = 0.0, std: float = 1.0, name: str | None = None):
        super().__init__(mean, std)


class TruncatedNormalInitializer(Initializer):
    """Normally distributed numbers, of which only those between a and b occur."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0, a: float = -2.0, b: float = 2.0):
        if not a <= b:
            raise errors.ValueError_(f"TruncatedNormal: a must not be greater than b, got a={a}, b={b}")
        if not scale > 0:
            raise errors.ValueError_(f"TruncatedNormal: std must be positive, got {scale}")
        self._mean, self._std, self._a, self._b = loc, scale, a, b

    def array(self, shape, dtype):
        from scipy.special import ndtr, ndtri  # only here: the import takes long

        mean, std = self._mean, self._std
        low, high = ndtr((self._a - mean) / std), ndtr((self._b - mean) / std)
        value = ndtri(low + (high - low) * host_random().random(shape)) * std + mean
        return np.asarray(np.clip(value, self._a, self._b)).astype(dtype.numpy)


class TruncatedNormal(TruncatedNormalInitializer):
    """Normally distributed numbers, of which only those between `a` and `b` (absolute values) occur.

    Example:
        >>> attr = paddle.nn.initializer.TruncatedNormal(std=0.02, a=-0.04, b=0.04)
        >>> bool(paddle.nn.Linear(8, 8, weight_attr=attr).weight.abs().max() <= 0.04)
        True
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None):
        super().__init__(mean, std, 0, a, b)


class UniformInitializer(Initializer):
    """Numbers spread evenly over an interval. With `diag_num`, every `diag_step + 1`-th of the first `diag_num` elements on
    the diagonal of the flat value is `diag_val`."""

    def __init__(
        self,
        low: float = -1.0,
        high: float = 1.0,
        seed: int = 0,
        diag_num: int = 0,
        diag_step: int = 0,
        diag_val: float = 1.0,
    ):
        if not low <= high:
            raise errors.ValueError_(f"Uniform: low must not be greater than high, got low={low}, high={high}")
        self._low, self._high = low, high
        self._diagonal = diag_num, diag_step, diag_val

    def array(self, shape, dtype):
        value = _uniform(self._low, self._high, shape, dtype)
        number, step, diagonal = self._diagonal
        if number:
            value.reshape(-1)[np.arange(number) * (step + 1)] = diagonal
        return value


class Uniform(UniformInitializer):
    """Numbers spread evenly over [low, high).

    Example:
        >>> paddle.nn.Linear(3, 2, weight_attr=paddle.nn.initializer.Uniform(-0.1, 0.1)).weight.shape
        [3, 2]
    """

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None):
        super().__init__(low, high)


class XavierInitializer(Initializer):
    """Numbers whose variance is 2 / (fan_in + fan_out) times gain squared (Glorot and Bengio, AISTATS 2010)."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        fan_out: float | None = None,
        seed: int = 0,
        gain: float = 1.0,
    ):
        self._uniform, self._fan_in, self._fan_out, self._gain = uniform, fan_in, fan_out, gain

    def array(self, shape, dtype):
        fan_in, fan_out = fans(shape)
        fan_in = fan_in if self._fan_in is None else self._fan_in
        fan_out = fan_out if self._fan_out is None else self._fan_out
        std = self._gain * math.sqrt(2.0 / (fan_in + fan_out)) if fan_in + fan_out else 0.0
        if self._uniform:
            return _uniform(-std * math.sqrt(3.0), std * math.sqrt(3.0), shape, dtype)
        return _normal(0.0, std, shape, dtype)


class XavierUniform(XavierInitializer):
    """Uniform numbers that keep the variance from layer to layer (Glorot and Bengio, AISTATS 2010).

    Args:
        fan_in, fan_out: inputs and outputs of a unit; by default from the shape.
        gain: a factor on the width, see `calculate_gain`.

    Example:
        >>> attr = paddle.nn.initializer.XavierUniform()
        >>> bool(paddle.nn.Linear(3, 3, weight_attr=attr).weight.abs().max() <= 1.0)
        True
    """

    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ):
        super().__init__(True, fan_in, fan_out, 0, gain)


class XavierNormal(XavierInitializer):
    """Normal numbers that keep the variance from layer to layer; the arguments are those of XavierUniform.

    Example:
        >>> paddle.nn.Linear(3, 2, weight_attr=paddle.nn.initializer.XavierNormal()).weight.shape
        [3, 2]
    """

    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ):
        super().__init__(False, fan_in, fan_out, 0, gain)


class MSRAInitializer(Initializer):
    """Numbers whose variance is gain squared / fan, for layers before a rectifier (He et al., ICCV 2015)."""

    def __init__(
        self,
        uniform: bool = True,
        fan_in: float | None = None,
        seed: int = 0,
        negative_slope: float = 0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ):
        if mode not in ("fan_in", "fan_out"):
            raise errors.ValueError_(f"Kaiming: mode must be 'fan_in' or 'fan_out', got {mode!r}")
        if mode == "fan_out" and fan_in is not None:
            raise errors.ValueError_(f"Kaiming: fan_in={fan_in} has no meaning with mode='fan_out'")
        self._uniform, self._fan, self._mode = uniform, fan_in, mode
        self._gain = calculate_gain(nonlinearity, negative_slope)

    def array(self, shape, dtype):
        fan = self._fan if self._fan is not None else fans(shape)[self._mode == "fan_out"]
        std = self._gain / math.sqrt(fan) if fan else 0.0
        if self._uniform:
            return _uniform(-std * math.sqrt(3.0), std * math.sqrt(3.0), shape, dtype)
        return _normal(0.0, std, shape, dtype)


class KaimingNormal(MSRAInitializer):
    """Normal numbers with standard deviation gain / sqrt(fan) (He et al., ICCV 2015).

    Args:
        fan_in: inputs of a unit; by default from the shape.
        negative_slope: that of the leaky_relu behind the layer.
        nonlinearity: what follows the layer, see `calculate_gain`.
        mode: "fan_in" keeps the variance forward, "fan_out" backward.

    Raises:
        ValueError: another `mode` or `nonlinearity`.

    Example:
        >>> paddle.nn.Linear(3, 2, weight_attr=paddle.nn.initializer.KaimingNormal()).weight.shape
        [3, 2]
    """

    def __init__(
        self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu", mode: str = "fan_in"
    ):
        super().__init__(False, fan_in, 0, negative_slope, nonlinearity, mode)


class KaimingUniform(MSRAInitializer):
    """Uniform numbers with standard deviation gain / sqrt(fan); the arguments are those of KaimingNormal.

    Example:
        >>> paddle.nn.Linear(3, 2, weight_attr=paddle.nn.initializer.KaimingUniform()).weight.shape
        [3, 2]
    """

    def __init__(
        self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu", mode: str = "fan_in"
    ):
        super().__init__(True, fan_in, 0, negative_slope, nonlinearity, mode)


class Orthogonal(Initializer):
    """An orthogonal matrix, seen as [shape[0], all other dimensions] (Saxe et al., ICLR 2014).

    Args:
        gain: a factor.

    Raises:
        ValueError: the parameter has fewer than two dimensions.

    Example:
        >>> w = paddle.nn.Linear(1, 2, weight_attr=paddle.nn.initializer.Orthogonal()).weight
        >>> round(float((w * w).sum()), 4)
        1.0
    """

    def __init__(self, gain: float = 1.0, name: str | None = None):
        self._gain = gain

    def __call__(self, var: Any, block: Any = None) -> None:
        return self.forward(var, block)

    def array(self, shape: tuple[int, ...], dtype: DType) -> Any:
        if len(shape) < 2:
            raise errors.ValueError_(
                f"Orthogonal: the parameter must have two or more dimensions, its shape is {list(shape)}"
            )
        rows, columns = shape[0], math.prod(shape[1:])
        q, r = np.linalg.qr(host_random().standard_normal((max(rows, columns), min(rows, columns))))
        q *= np.where(np.diag(r) < 0, -1.0, 1.0)  # the decomposition alone is not uniform over the orthogonal group
        return (self._gain * (q.T if rows < columns else q)).reshape(shape).astype(dtype.numpy)
