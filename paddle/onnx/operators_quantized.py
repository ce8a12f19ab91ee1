"""Rows for quantised programs: QuantizeLinear and DequantizeLinear around integers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .convert import Converter, row
from .writer import Ref


def _largest(bits: int) -> int:
    return 2 ** (bits - 1) - 1


@row("fake_quantize")
def _fake_quantize(g: Converter, a: SimpleNamespace) -> Any:
    if a.bits != 8:
        return NotImplemented
    return dequantized(g, quantized(g, a.x, a.scale, a.bits, a.axis), a.scale, a.bits, a.axis, a.x)


def _steps(g: Converter, scale: Any, bits: int, axis: int | None, dtype: Any) -> Any:
    """The steps of ONNX from magnitudes: one number, or one for each index of an axis."""
    array = g.array(scale)
    shape = [] if axis is None or scale.shape in ((), (1,)) else [-1]
    if array is not None:
        steps = np.asarray(array, np.float64) / _largest(bits)
        return np.where(steps > 0, steps, 1).astype(dtype).reshape(shape)
    step = g("Div", g.cast(scale, dtype), np.asarray(_largest(bits), dtype))
    return g("Reshape", step, g.ints(*shape))


def quantized(g: Converter, x: Any, scale: Any, bits: int, axis: int | None, low: int | None = None) -> Any:
    """x as int8; weights are computed at once."""
    array, table = g.array(x), g.array(scale)
    top = _largest(bits)
    low = -top if low is None else low
    if array is not None and table is not None:
        steps = _steps(g, scale, bits, axis, np.float64)
        if steps.ndim:
            steps = steps.reshape([-1 if i == axis % array.ndim else 1 for i in range(array.ndim)])
        whole = np.clip(np.rint(array.astype(np.float64) / steps), low, top).astype(np.int8)
        return g.constant(whole, name="quantized")
    step = _steps(g, scale, bits, axis, x.dtype)
    several = axis is not None and scale.shape not in ((), (1,))
    zero = np.zeros(scale.shape if several else (), np.int8)
    out = g("QuantizeLinear", x, step, zero, axis=axis if several else None)
    return Ref(out, x.shape, np.int8)


def dequantized(g: Converter, whole: Any, scale: Any, bits: int, axis: int | None, like: Any) -> Any:
    step = _steps(g, scale, bits, axis, like.dtype)
    several = axis is not None and scale.shape not in ((), (1,))
    zero = np.zeros(scale.shape if several else (), np.int8)
    return g("DequantizeLinear", whole, step, zero, axis=axis if several else None)


def _is_plain(scale: Any) -> bool:
    """Whether it is one number, or one for each index of an axis of known length (not one for each sample)."""
    return scale.ndim <= 1 and all(isinstance(n, int) for n in scale.shape)


@row("quantize_linear")
def _quantize_linear(g: Converter, a: SimpleNamespace) -> Any:
    if a.bits != 8 or g.operator.outputs[0].dtype != np.int8 or not _is_plain(a.scale):
        return NotImplemented
    return quantized(g, a.x, a.scale, 8, a.axis, -128)


@row("dequantize_linear")
def _dequantize_linear(g: Converter, a: SimpleNamespace) -> Any:
    out = g.operator.outputs[0].dtype
    if a.bits != 8 or a.x.dtype != np.int8 or out != np.float32 or not _is_plain(a.scale):
        return NotImplemented
    return dequantized(g, a.x, a.scale, 8, a.axis, Ref("", (), out))


@row("weight_only_linear")
def _weight_only_linear(g: Converter, a: SimpleNamespace) -> Any:
    array, scale = g.array(a.weight), g.array(a.scale)
    if array is None or scale is None or a.bits != 8 or scale.ndim != 1 or a.x.dtype != np.float32:
        return NotImplemented
    weight = g("DequantizeLinear", array, scale.astype(a.x.dtype), np.zeros(scale.shape, np.int8), axis=0)
    out = g("MatMul", a.x, g.transpose(Ref(weight, array.shape, a.x.dtype), [1, 0]))
    return out if a.bias is None else g("Add", out, g.cast(a.bias, a.x.dtype))
