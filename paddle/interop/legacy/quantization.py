"""Simulated quantization: numbers rounded to integers of some bits, in floating point."""

from __future__ import annotations

import paddle

from .call import Call, translates


def _highest(op: Call, name: str = "bit_length") -> float:
    return float(2 ** (op.attr(name, 8) - 1) - 1)


def _along(scale, x, axis: int):
    """A scale for each position of an axis, ready to broadcast; one scale stays one."""
    scale = scale.reshape([-1])
    if scale.shape[0] == 1 and len(x.shape) <= 1 or axis < 0 and scale.shape[0] == 1:
        return scale.reshape([])
    if scale.shape[0] == 1:
        return scale.reshape([])
    shape = [1] * len(x.shape)
    shape[axis] = -1
    return scale.reshape(shape)


def _rounded(op: Call, x, scale, highest: float, default: int = 1):
    """round_type 0: halves to even, then cut; 1: cut, then halves away from zero."""
    scale = paddle.clip(scale, 1e-6) if False else scale
    if op.attr("round_type", default) == 0:
        return paddle.clip(paddle.round(x * (highest / scale)), -highest - 1, highest)
    cut = paddle.minimum(paddle.maximum(x, -scale), scale)
    scaled = cut * (highest / scale)
    return paddle.sign(scaled) * paddle.floor(paddle.abs(scaled) + 0.5)


@translates("quantize_linear")
def quantize_linear(op):
    x, axis = op["X"], op.attr("quant_axis", 0)
    if not op.attr("is_test", True):
        raise NotImplementedError("quantize_linear: training (is_test is False)")
    return {"Y": _rounded(op, x, _along(op["Scale"], x, axis), _highest(op), 0)}


@translates("dequantize_linear")
def dequantize_linear(op):
    x, axis = op["X"], op.attr("quant_axis", 0)
    scale = _along(op["Scale"], x, axis)
    return {"Y": x.cast(op["Scale"].dtype) * scale / _highest(op)}


def _largest(x, axis: int | None = None):
    x = paddle.abs(x)
    return paddle.max(x).reshape([1]) if axis is None else paddle.max(x, [a for a in range(len(x.shape)) if a != axis])


@translates("fake_quantize_abs_max", "fake_quantize_dequantize_abs_max")
def fake_quantize_abs_max(op):
    x = op["X"]
    return _fake(op, x, _largest(x), -1)


@translates("fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max")
def fake_channel_wise_quantize_abs_max(op):
    x, axis = op["X"], op.attr("quant_axis", 0)
    return _fake(op, x, _largest(x, axis), axis)


@translates(
    "fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max", "fake_quantize_range_abs_max"
)  # fmt: skip
def fake_quantize_moving_average_abs_max(op):
    if not op.attr("is_test", False):
        raise NotImplementedError(f"{op.type}: training (is_test is False)")
    return _fake(op, op["X"], op["InScale"], -1)


def _fake(op: Call, x, scale, axis: int):
    highest, wide = _highest(op), _along(scale, x, axis)
    out = _rounded(op, x, wide, highest)
    return {"Out": out * wide / highest if "dequantize" in op.type else out, "OutScale": scale}


@translates("moving_average_abs_max_scale")
def moving_average_abs_max_scale(op):
    return op["X"]


@translates("fake_dequantize_max_abs", "dequantize_abs_max")
def fake_dequantize_max_abs(op):
    scale = op["Scale"]
    return op["X"].cast(scale.dtype) * scale.reshape([]) / op.attr("max_range")


@translates("fake_channel_wise_dequantize_max_abs")
def fake_channel_wise_dequantize_max_abs(op):
    """One scale a channel, of the weights; a second one for all, of the activations that met them."""
    x, scales, bits = op["X"], op.list("Scales"), op.attr("quant_bits", [8])
    highest = [float(2 ** (b - 1) - 1) for b in bits]
    axis = op.attr("quant_axis", 0) if len(scales) == 1 else op.attr("x_num_col_dims", 1)
    out = x.cast(scales[0].dtype) * _along(scales[0], x, axis) / highest[0]
    return out if len(scales) == 1 else out * scales[1].reshape([]) / highest[1]
