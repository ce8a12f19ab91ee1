"""Quantisation: rounding to few levels while training, and products with weights stored in 8 or 4 bits."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)

BITS = {"weight_only_int8": 8, "llm.int8": 8, "weight_only_int4": 4}
GROUPS = (-1, 64, 128)
ARCHITECTURES = (70, 75, 80, 86, 89, 90, 100)


def _largest(bits):
    """The largest number that signed integers of so many bits hold, as the smallest is not used."""
    return 2 ** (bits - 1) - 1


def round_away(x):
    """To the nearest integer, halves away from zero."""
    return jnp.trunc(x + jnp.copysign(jnp.asarray(0.5, x.dtype), x))


FEW_BITS = 4  # below it the gradient stops where numbers were cut off, without which training at 2 bits often diverges


def _straight_through(inputs, outputs, cotangents, bits, axis, linear):
    x, scale = inputs
    if bits >= FEW_BITS:
        return cotangents[0], None
    return jnp.where(jnp.abs(x) <= _scale_along(scale, x, axis), cotangents[0], 0), None


def _scale_along(scale, x, axis):
    return scale.reshape([-1 if i == axis else 1 for i in range(x.ndim)] if axis is not None else ()).astype(x.dtype)


@nn_op(export=False, gradient=_straight_through)
def fake_quantize(x, scale, bits, axis, linear=False):
    """x rounded to the 2^bits - 1 values between -scale and scale, as floating point; the gradient passes unchanged
    (below 4 bits only where |x| <= scale).

    Args:
        x: any floating tensor.
        scale: one number, or one for each index of `axis`.
        bits: width of the integers.
        axis: what the scales belong to, or None.
        linear: round as `quantize_linear` does, halves to even, with one more integer below zero.

    Example:
        >>> paddle.ops.quantization.fake_quantize(paddle.to_tensor([0.26, 3.0]), paddle.to_tensor(1.0), 3, None).tolist()
        [0.3333333432674408, 1.0]
    """
    if not isinstance(bits, int) or not 2 <= bits <= 16:
        raise errors.ValueError_(f"fake_quantize: the width of the integers must be an int from 2 to 16, got {bits!r}")
    scale = _scale_along(scale, x, axis)
    levels = _largest(bits)
    if linear:
        return _whole(x, scale, levels) * scale / levels
    whole = round_away(jnp.clip(x, -scale, scale) * (levels / jnp.where(scale > 0, scale, 1)))
    return whole * scale / levels


# ---- numbers as integers, and back: what converted models consist of ----

FLOAT8 = {(4, 3): ("float8_e4m3fn", 448.0), (5, 2): ("float8_e5m2", 57344.0)}


def storage(bits):
    """(the type in which numbers of so many bits are kept, the largest of them); (4, 3) and (5, 2) are float8.

    Raises:
        ValueError: no int from 2 to 16, (4, 3) or (5, 2).
    """
    if bits in FLOAT8:
        return FLOAT8[bits]
    if not isinstance(bits, int) or not 2 <= bits <= 16:
        raise errors.ValueError_(f"quantize_linear: bits must be an int from 2 to 16, (4, 3) or (5, 2), got {bits!r}")
    return ("int8" if bits <= 8 else "int16"), float(_largest(bits))


def _along(name, scale, x, axis):
    """The scales, ready to broadcast: one for all, one for each index of `axis`, or [groups, N] for groups of rows."""
    if scale.size == 1:
        return scale.reshape(())
    if scale.ndim == 2 and x.ndim == 2 and scale.shape[1] == x.shape[1] and x.shape[0] % scale.shape[0] == 0:
        return jnp.repeat(scale, x.shape[0] // scale.shape[0], 0)
    if axis is None or not -x.ndim <= axis < x.ndim or scale.shape != (x.shape[axis],):
        raise errors.ValueError_(
            f"{name}: scales of shape {list(scale.shape)} do not fit x of shape {list(x.shape)} along axis {axis}"
        )
    return scale.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def _inverse(scale):
    return 1 / jnp.where(scale <= 1e-30, scale + 1e-6, scale)


def _whole(x, scale, top):
    """x as whole numbers from -top - 1 to top."""
    return jnp.clip(jnp.round(top * _inverse(scale) * x), -top - 1, top)


@nn_op(export=False, differentiable=False)
def quantize_linear(x, scale, bits=8, axis=None):
    """x as integers: clip(round(x * top / scale), -top - 1, top) with top = 2^(bits - 1) - 1, halves to even.

    A `scale` is the magnitude that becomes `top` (the official meaning; the step of ONNX is scale / top).

    Args:
        x: any floating tensor.
        scale: one number; shape [length of `axis`]; or, for x of shape [K, N], shape [groups, N].
        bits: 2 to 8 give int8, to 16 int16; (4, 3) and (5, 2) float8.
        axis: what several scales belong to.

    Raises:
        ValueError: scales that do not fit x, other bits.

    Source: the official operator of this name, whose result is floating.

    Example:
        >>> from paddle.ops.quantization import quantize_linear
        >>> quantize_linear(paddle.to_tensor([0.5, -9.0]), paddle.to_tensor(1.0)).tolist()
        [64, -128]
    """
    dtype, top = storage(bits)
    wide = x.astype(jnp.float32)
    scale = _along("quantize_linear", scale.astype(jnp.float32), x, axis)
    if bits in FLOAT8:
        return jnp.clip(top * _inverse(scale) * wide, -top, top).astype(dtype)
    return _whole(wide, scale, top).astype(dtype)


@nn_op(export=False, differentiable=False)
def dequantize_linear(x, scale, bits=8, axis=None, dtype="float32"):
    """Integers as numbers again: x * scale / top, the other direction of `quantize_linear`.

    Args:
        x: what it returned.
        scale, bits, axis: what it was given.
        dtype: of the result.

    Raises:
        ValueError: scales that do not fit x, other bits.

    Source: the official operator of this name.

    Example:
        >>> from paddle.ops.quantization import dequantize_linear
        >>> dequantize_linear(paddle.to_tensor([127, 0], "int8"), paddle.to_tensor(2.0)).tolist()
        [2.0, 0.0]
    """
    _, top = storage(bits)
    scale = _along("dequantize_linear", scale.astype(jnp.float32), x, axis)
    return (x.astype(jnp.float32) * scale / top).astype(np.dtype(dtype))


@nn_op(export=False, differentiable=False)
def integer_linear(x, x_scale, weight, scale, bias=None, x_bits=8, bits=8):
    """A linear layer on integers, summed in int32: dequantize(x) @ dequantize(weight) + bias, float32.

    Args:
        x: int8, shape [..., K]; `x_scale` one number, or one for each index of the first axis.
        weight: int8, shape [K, N]; `scale` one number, or shape [N].
        bias: shape [N], or None.
        x_bits, bits: width of the integers.

    Example:
        >>> from paddle.ops.quantization import integer_linear
        >>> x, w, one = paddle.to_tensor([[127, 0]], "int8"), paddle.to_tensor([[127], [3]], "int8"), paddle.to_tensor(1.0)
        >>> integer_linear(x, one, w, one).tolist()
        [[1.0]]
    """
    if x.size == x.shape[-1]:  # XLA multiplies one row of floats faster than one of integers
        total = jnp.matmul(x.astype(jnp.float32), weight.astype(jnp.float32))
    else:
        total = jnp.matmul(x, weight, preferred_element_type=np.int32).astype(jnp.float32)
    if x_scale.size != 1:
        x_scale = x_scale.reshape([-1] + [1] * (x.ndim - 1))
    else:
        x_scale = x_scale.reshape(())
    step = (x_scale.astype(jnp.float32) / _largest(x_bits)) * (scale.reshape(-1).astype(jnp.float32) / _largest(bits))
    out = total * step
    return out if bias is None else out + bias


@nn_op(export=False, differentiable=False)
def largest_magnitude(x, axis):
    """max |x|, over everything or for each index of `axis`; shape [1] or [length of the axis]."""
    rest = None if axis is None else tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    return jnp.max(jnp.abs(x), rest, initial=0).reshape(-1)


def _scales(weight, bits, group_size):
    """|weight| is at most scale * levels; shape [N], or [groups, N]."""
    grouped = jnp.abs(weight) if group_size == -1 else jnp.abs(weight).reshape(-1, group_size, weight.shape[1])
    return jnp.max(grouped, -2) / _largest(bits)


def _spread(scale, rows):
    """One scale for each element of a weight with so many rows, as far as they differ."""
    return scale if scale.ndim == 1 else jnp.repeat(scale, rows // scale.shape[0], 0)


def _pack(whole):
    """Two rows in one: the first in the low four bits."""
    return (whole[0::2] & 15) | (whole[1::2] << 4)


def _unpack(packed, bits):
    """The integers of a stored weight as int8 [K, N]."""
    if bits == 4:
        low, high = (packed << 4) >> 4, packed >> 4
        packed = jnp.stack([low, high], 1).reshape(-1, packed.shape[1])
    return packed.T


@nn_op(export=False, differentiable=False)
def _quantize(x, algo, group_size):
    bits = BITS[algo]
    wide = x.astype(jnp.float32)
    scale = _scales(wide, bits, group_size)
    spread = _spread(scale, len(x))
    whole = jnp.clip(jnp.round(wide / jnp.where(spread > 0, spread, 1)), -_largest(bits), _largest(bits))
    stored = whole.T.astype(jnp.int8)
    return _pack(stored) if bits == 4 else stored, scale if algo == "llm.int8" else scale.astype(x.dtype)


def _one_of(name, argument, value, allowed):
    if value not in allowed:
        raise errors.ValueError_(f"{name}: {argument} must be one of {', '.join(map(str, allowed))}, got {value!r}")
    return value


def _check_storage(name, algo, arch, group_size):
    _one_of(name, "algo", algo, tuple(BITS))
    _one_of(name, "arch", arch, (None, *ARCHITECTURES))
    _one_of(name, "group_size", group_size, GROUPS)


@nn_api
def weight_quantize(x, algo="weight_only_int8", arch=None, group_size=-1):
    """A weight as integers and scales, for `weight_only_linear` and `llm_int8_linear`.

    The integers lie in plain order, [N, K] (officially in an order that CUDA kernels want).

    Args:
        x: shape [K, N], floating; N a multiple of 16, K of 64.
        algo: "weight_only_int8", "llm.int8" or "weight_only_int4" (two rows in one).
        arch: accepted for compatibility, a CUDA architecture such as 80.
        group_size: -1 gives every column one scale; 64 or 128 one to so many rows of it.

    Returns:
        (int8 of shape [N, K], or [N / 2, K]; the scales of shape [N] or [K / group_size, N]).

    Raises:
        ValueError: a shape, `algo`, `arch` or `group_size` that is not allowed.

    Example:
        >>> stored, scale = paddle.nn.quant.weight_quantize(paddle.ones([64, 32]))
        >>> stored.shape, scale.shape
        ([32, 64], [32])
    """
    _check_storage("weight_quantize", algo, arch, group_size)
    if x.ndim != 2 or x.shape[0] % 64 or x.shape[1] % 16 or not x.size:
        raise errors.ValueError_(
            f"weight_quantize: x must have shape [K, N], K a multiple of 64 and N of 16, got {list(x.shape)}"
        )
    if group_size > 0 and x.shape[0] % group_size:
        raise errors.ValueError_(f"weight_quantize: {x.shape[0]} rows do not split into groups of {group_size}")
    return _quantize(x, algo, group_size)


@nn_op(export=False, differentiable=False)
def _dequantize(x, scale, bits, dtype):
    whole = _unpack(x, bits)
    return (whole * _spread(scale.astype(jnp.float32), len(whole))).astype(dtype)


@nn_api
def weight_dequantize(x, scale, algo="weight_only_int8", out_dtype="float16", group_size=-1):
    """The weight that `weight_quantize` stored, shape [K, N].

    Args:
        x, scale: what it returned.
        algo, group_size: what it was given.
        out_dtype: "float16" or "bfloat16", also "float32".

    Raises:
        ValueError: shapes that do not fit each other.

    Example:
        >>> stored = paddle.nn.quant.weight_quantize(paddle.ones([64, 32]))
        >>> float(paddle.nn.quant.weight_dequantize(*stored).max())
        1.0
    """
    _check_storage("weight_dequantize", algo, None, group_size)
    out_dtype = _one_of(
        "weight_dequantize", "out_dtype", str(out_dtype).split(".")[-1], ("float16", "bfloat16", "float32")
    )
    _check_stored("weight_dequantize", x, scale, BITS[algo], group_size)
    return _dequantize(x, scale, BITS[algo], jnp.dtype(out_dtype))


def _check_stored(name, weight, scale, bits, group_size):
    if weight.dtype.name != "int8" or weight.ndim != 2:
        raise errors.ValueError_(
            f"{name}: the weight must be 2-D and int8, got {weight.dtype.name} of shape {list(weight.shape)}"
        )
    n, k = weight.shape[0] * (2 if bits == 4 else 1), weight.shape[1]
    want = [n] if group_size == -1 else [k // group_size, n]
    if scale is None or list(scale.shape) != want:
        got = "None" if scale is None else list(scale.shape)
        raise errors.ValueError_(f"{name}: the scales of this weight must have shape {want}, got {got}")


def _weight_only_grad(inputs, outputs, cotangents, bits):
    x, weight, bias, scale = inputs if len(inputs) == 4 else (*inputs[:2], None, inputs[2])
    whole = _unpack(weight, bits)
    full = (whole * _spread(scale.astype(jnp.float32), len(whole))).astype(x.dtype)
    g = cotangents[0]
    grads = [g @ full.T, None]
    if bias is not None:
        grads.append(jnp.sum(g.reshape(-1, g.shape[-1]), 0))
    return (*grads, None)


@nn_op(export=False, name="weight_only_linear", gradient=_weight_only_grad)
def _weight_only_linear(x, weight, bias, scale, bits):
    whole = _unpack(weight, bits)
    out = x @ (whole * _spread(scale.astype(jnp.float32), len(whole))).astype(x.dtype)
    return out if bias is None else out + bias


@nn_api
def weight_only_linear(x, weight, bias=None, weight_scale=None, weight_dtype="int8", arch=None, group_size=-1):
    """x @ weight + bias, where the weight was stored by `weight_quantize`; x stays as it is.

    Args:
        x: shape [..., K], floating.
        weight, weight_scale: what `weight_quantize` returned.
        bias: shape [N], or None.
        weight_dtype: "int8" or "int4".
        arch: accepted for compatibility.
        group_size: what `weight_quantize` was given.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> stored, scale = paddle.nn.quant.weight_quantize(paddle.ones([64, 32]))
        >>> paddle.nn.quant.weight_only_linear(paddle.ones([1, 64]), stored, weight_scale=scale).shape
        [1, 32]
    """
    _one_of("weight_only_linear", "weight_dtype", weight_dtype, ("int8", "int4"))
    bits = int(weight_dtype[3:])
    _check_storage("weight_only_linear", "weight_only_int8", arch, group_size)
    _check_stored("weight_only_linear", weight, weight_scale, bits, group_size)
    _check_width("weight_only_linear", x, weight)
    return _weight_only_linear(x, weight, bias, weight_scale, bits)


def _check_width(name, x, weight):
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise errors.ValueError_(
            f"{name}: the last axis of x, of shape {list(x.shape)}, does not fit the stored weight of shape "
            f"{list(weight.shape)}"
        )


@nn_op(export=False, name="llm_int8_linear", scalars="threshold", differentiable=False)
def _llm_int8_linear(x, weight, bias, scale, threshold):
    wide = x.astype(jnp.float32)
    outlier = jnp.any(jnp.abs(wide) > threshold, tuple(range(x.ndim - 1)))
    usual = jnp.where(outlier, 0, wide)
    step = jnp.max(jnp.abs(usual), -1, keepdims=True) / 127
    whole = jnp.round(usual / jnp.where(step > 0, step, 1)).astype(jnp.int8)
    scale = scale.astype(jnp.float32)
    out = jnp.matmul(whole, weight.T, preferred_element_type=np.int32) * step * scale
    out = out + (jnp.where(outlier, wide, 0) @ (weight.T * scale))
    return (out if bias is None else out + bias).astype(x.dtype)


@nn_api
def llm_int8_linear(x, weight, bias=None, weight_scale=None, threshold=6.0):
    """x @ weight + bias with integers on both sides; features of x that hold large values stay as they are (Dettmers
    et al., "LLM.int8()", 2022).

    Args:
        x: shape [..., K], floating.
        weight, weight_scale: what `weight_quantize(..., "llm.int8")` returned.
        bias: shape [N], or None.
        threshold: features with a larger magnitude are not rounded.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> stored, scale = paddle.nn.quant.weight_quantize(paddle.ones([64, 32]), "llm.int8")
        >>> paddle.nn.quant.llm_int8_linear(paddle.ones([1, 64]), stored, weight_scale=scale)[0, 0].item()
        64.0
    """
    _check_stored("llm_int8_linear", weight, weight_scale, 8, -1)
    _check_width("llm_int8_linear", x, weight)
    return _llm_int8_linear(x, weight, bias, weight_scale, float(threshold))


@nn_op
def apply_per_channel_scale(x, scales):
    """x times a factor for each feature, before a product with a quantised weight.

    Args:
        x: shape [..., K].
        scales: shape [K].

    Raises:
        ValueError: another number of scales.

    Example:
        >>> paddle.nn.quant.apply_per_channel_scale(paddle.ones([1, 2]), paddle.to_tensor([1.0, 3.0])).tolist()
        [[1.0, 3.0]]
    """
    if x.ndim == 0 or scales.shape != x.shape[-1:]:
        raise errors.ValueError_(
            f"apply_per_channel_scale: scales must have shape {list(x.shape[-1:])}, got {list(scales.shape)}"
        )
    return x * scales.astype(x.dtype)
