"""Operators that are one kernel officially: here each is one operator or a composition, and XLA fuses."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api, op
from ..engine.promotion import as_float
from ..engine.tensor import Tensor
from .activation import gelu, relu, wide
from .dropout import dropout
from .linalg import matmul
from .loss import _reduced
from .math import add
from .normalization import layer_norm

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


# ---- softmax ----


@nn_op
def softmax_mask_fuse(x, mask):
    """softmax(x + mask) along the last axis.

    Args:
        x: shape [batch, heads, queries, keys].
        mask: broadcasts to x.

    Raises ValueError for a mask that does not fit.

    Example:
        >>> mask = paddle.to_tensor([[[[0.0, -10000.0]]]])
        >>> paddle.incubate.softmax_mask_fuse(paddle.zeros([1, 1, 1, 2]), mask).tolist()
        [[[[1.0, 0.0]]]]
    """
    v = wide(x)
    if jnp.broadcast_shapes(x.shape, mask.shape) != x.shape:
        raise errors.ValueError_(
            f"softmax_mask_fuse: the mask of shape {list(mask.shape)} does not broadcast to x of shape {list(x.shape)}"
        )
    return jax.nn.softmax(v + mask.astype(v.dtype), -1).astype(as_float(x).dtype)


@nn_op
def softmax_mask_fuse_upper_triangle(x):
    """softmax along the last axis of the elements up to the diagonal; 0 above it.

    Args:
        x: shape [..., length, length].

    Raises ValueError for fewer than two dimensions.

    Example:
        >>> paddle.incubate.softmax_mask_fuse_upper_triangle(paddle.zeros([1, 1, 2, 2])).tolist()
        [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    if x.ndim < 2:
        raise errors.ValueError_(
            f"softmax_mask_fuse_upper_triangle: x must have two dimensions or more, got shape {list(x.shape)}"
        )
    scores = jnp.where(jnp.tril(jnp.ones(x.shape[-2:], bool)), wide(x), -jnp.inf)
    return jax.nn.softmax(scores, -1).astype(as_float(x).dtype)


@nn_api
def identity_loss(x, reduction="none"):
    """x as a loss: reduced.

    Args:
        reduction: "sum" or 0, "mean" or 1, "none" or 2.

    Raises:
        TypeError: an unknown name.
        ValueError: another number.

    Example:
        >>> paddle.incubate.identity_loss(paddle.to_tensor([1.0, 2.0]), "mean").item()
        1.5
    """
    names = ("sum", "mean", "none")
    if isinstance(reduction, str):
        if reduction.lower() not in names:
            raise errors.TypeError_(f"identity_loss: reduction must be 'sum', 'mean' or 'none', got {reduction!r}")
        return _reduced(x, None, reduction.lower())
    if reduction not in (0, 1, 2):
        raise errors.ValueError_(f"identity_loss: reduction must be 0 (sum), 1 (mean) or 2 (none), got {reduction!r}")
    return _reduced(x, None, names[reduction])


# ---- matrix products ----


def _plus(out: Tensor, bias: Tensor | None) -> Tensor:
    return out if bias is None else add(out, bias)


@nn_api
def fused_matmul_bias(x, y, bias=None, transpose_x=False, transpose_y=False):
    """matmul(x, y) + bias.

    Example:
        >>> x, b = paddle.ones([2, 2]), paddle.ones([2])
        >>> paddle.incubate.nn.functional.fused_matmul_bias(x, x, b).tolist()
        [[3.0, 3.0], [3.0, 3.0]]
    """
    return _plus(matmul(x, y, transpose_x, transpose_y), bias)


@nn_api
def fused_linear(x, weight, bias=None, transpose_weight=False):
    """x @ weight + bias.

    Args:
        weight: shape [in, out], or [out, in] with transpose_weight.

    Example:
        >>> x, w = paddle.ones([1, 3]), paddle.ones([2, 3])
        >>> paddle.incubate.nn.functional.fused_linear(x, w, transpose_weight=True).tolist()
        [[3.0, 3.0]]
    """
    return _plus(matmul(x, weight, False, transpose_weight), bias)


@nn_api
def fused_linear_activation(x, y, bias, trans_x=False, trans_y=False, activation=None):
    """activation(matmul(x, y) + bias), with activation "relu", "gelu", "none" or None.

    Raises ValueError for another activation.

    Example:
        >>> x, b = paddle.ones([1, 1]), -2 * paddle.ones([1])
        >>> paddle.incubate.nn.functional.fused_linear_activation(x, x, b, activation="relu").tolist()
        [[0.0]]
    """
    activations = {"relu": relu, "gelu": gelu, "none": lambda out: out, None: lambda out: out}
    if activation not in activations:
        raise errors.ValueError_(
            f"fused_linear_activation: activation must be 'relu', 'gelu', 'none' or None, got {activation!r}"
        )
    return activations[activation](_plus(matmul(x, y, trans_x, trans_y), bias))


@nn_op(static="batch_sizes")
def batched_gemm(lhs, rhs, batch_sizes, trans_lhs=False, trans_rhs=False):
    """Groups of rows, each with a matrix of its own: rows of lhs @ rhs[group].

    Args:
        lhs: shape [rows, in].
        rhs: shape [groups, in, out], or [groups, out, in] with trans_rhs.
        batch_sizes: how many rows each group has.
        trans_lhs: not built.

    Raises:
        ValueError: shapes that do not fit.
        NotImplementedError: trans_lhs.

    Example:
        >>> x, w = paddle.ones([3, 2]), paddle.ones([2, 2, 1])
        >>> paddle.incubate.nn.functional.batched_gemm(x, w, [1, 2]).tolist()
        [[2.0], [2.0], [2.0]]
    """
    if trans_lhs:
        raise errors.NotImplemented_("batched_gemm: trans_lhs=True is not built")
    if lhs.ndim != 2 or sum(batch_sizes) != lhs.shape[0] or min(batch_sizes, default=0) < 0:
        raise errors.ValueError_(
            f"batched_gemm: lhs must have shape [rows, in] with {sum(batch_sizes)} rows, the sum of "
            f"batch_sizes, got {list(lhs.shape)}"
        )
    if rhs.ndim != 3 or rhs.shape[0] != len(batch_sizes):
        raise errors.ValueError_(
            f"batched_gemm: rhs must have shape [{len(batch_sizes)}, in, out], got {list(rhs.shape)}"
        )
    return jnp.concatenate(
        [a @ (b.T if trans_rhs else b) for a, b in zip(jnp.split(lhs, np.cumsum(batch_sizes)[:-1]), rhs)]
    )


# ---- activation, dropout ----


def _quantized(x, scale, ties, high, low):
    """x as int8: times scale and the upper bound, rounded to the nearest (ties 0: to even, 1: away from 0)."""
    v = high * scale * x.astype(np.float32)
    v = jnp.rint(v) if ties == 0 else jnp.sign(v) * jnp.floor(jnp.abs(v) + 0.5)
    return jnp.clip(v, low, high).astype(np.int8)


_ACTIVATIONS = {
    "gelu": lambda v: jax.nn.gelu(v, approximate=False),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "swish": jax.nn.silu,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "identity": lambda v: v,
}
_GATED = {"geglu": "gelu", "swiglu": "silu"}


@nn_op
def fused_bias_act(
    x,
    bias=None,
    dequant_scales=None,
    shift=None,
    smooth=None,
    act_method="gelu",
    compute_dtype="default",
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
):
    """(activation(x * dequant_scales + bias) + shift) * smooth.

    Args:
        x: shape [..., width]; integers with dequant_scales.
        bias, dequant_scales: shape [width].
        shift, smooth: shape of the result's last axis.
        act_method: gelu, relu, silu, swish, sigmoid, tanh, identity, or geglu and swiglu, where the activation of the
            first half of the last axis gates the second half.
        compute_dtype: "fp16", "bf16", "fp32" or "default", the type of the result for integer x.
        quant_scale: where positive, the result is int8: quant_scale * quant_max_bound * result, rounded (0: ties to
            even, 1: away from 0) and clipped to [quant_min_bound, quant_max_bound].

    Raises ValueError for an unknown activation or type, or an odd width with a gated one.

    Example:
        >>> paddle.incubate.nn.functional.fused_bias_act(paddle.to_tensor([-1.0, 2.0]), act_method="relu").tolist()
        [0.0, 2.0]
    """
    name = "fused_bias_act"
    types = {"fp16": np.float16, "bf16": jnp.bfloat16, "fp32": np.float32}
    if compute_dtype != "default" and compute_dtype not in types:
        raise errors.ValueError_(
            f"{name}: compute_dtype must be 'fp16', 'bf16', 'fp32' or 'default', got {compute_dtype!r}"
        )
    if act_method not in _ACTIVATIONS and act_method not in _GATED:
        raise errors.ValueError_(
            f"{name}: act_method must be one of {', '.join([*_ACTIVATIONS, *_GATED])}, got {act_method!r}"
        )
    dtype = types.get(compute_dtype, np.float32) if x.dtype.kind in "iu" else as_float(x).dtype
    v = wide(x)
    if dequant_scales is not None:
        v = v * dequant_scales.astype(v.dtype)
    if bias is not None:
        v = v + bias.astype(v.dtype)
    if act_method in _GATED:
        if v.shape[-1] % 2:
            raise errors.ValueError_(f"{name}: {act_method} needs an even last axis, got shape {list(x.shape)}")
        gate, v = jnp.split(v, 2, -1)
        v = _ACTIVATIONS[_GATED[act_method]](gate) * v
    else:
        v = _ACTIVATIONS[act_method](v)
    if shift is not None:
        v = v + shift.astype(v.dtype)
    if smooth is not None:
        v = v * smooth.astype(v.dtype)
    return (
        _quantized(v, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
        if quant_scale > 0
        else v.astype(dtype)
    )


@nn_api
def fused_dropout_add(x, y, p=0.5, training=True, mode="upscale_in_train"):
    """dropout(x) + y; see `dropout` for p, training and mode.

    Example:
        >>> paddle.incubate.nn.functional.fused_dropout_add(paddle.ones([1]), paddle.ones([1]), 0.0).tolist()
        [2.0]
    """
    return add(dropout(x, p, None, training, False, mode), y)


# ---- normalisation ----


def _norm_parts(name, x, weight, norm_bias, bias, residual, alpha, axis):
    """(what is normalised in float32, its axes, weight and bias in the shape of these axes)."""
    if not -x.ndim <= axis < x.ndim:
        raise errors.ValueError_(f"{name}: begin_norm_axis must be in [{-x.ndim}, {x.ndim}), got {axis}")
    axes = tuple(range(axis % x.ndim, x.ndim))
    shape = x.shape[axes[0] :]
    total = wide(x)
    if residual is not None:
        if residual.shape != x.shape:
            raise errors.ValueError_(
                f"{name}: residual must have the shape of x, {list(x.shape)}, got {list(residual.shape)}"
            )
        total = total + alpha * residual.astype(total.dtype)
    found = []
    for argument, array in (("bias", bias), ("norm_weight", weight), ("norm_bias", norm_bias)):
        if array is not None and array.size != math.prod(shape):
            raise errors.ValueError_(
                f"{name}: {argument} must have {math.prod(shape)} elements, those of the axes "
                f"{list(shape)}, got shape {list(array.shape)}"
            )
        found.append(None if array is None else array.reshape(shape).astype(total.dtype))
    return total if bias is None else total + found[0], axes, found[1], found[2]


def _finish(y, weight, norm_bias, dtype, quant):
    if weight is not None:
        y = y * weight
    if norm_bias is not None:
        y = y + norm_bias
    return _quantized(y, *quant) if quant[0] > 0 else y.astype(dtype)


@nn_op(export=False, name="fused_rms_norm")
def _fused_rms_norm(x, weight, norm_bias, bias, residual, epsilon, axis, quant):
    total, axes, weight, norm_bias = _norm_parts("fused_rms_norm", x, weight, norm_bias, bias, residual, 1.0, axis)
    inverse = jax.lax.rsqrt(jnp.mean(total * total, axes, keepdims=True) + epsilon)
    dtype = as_float(x).dtype
    return _finish(total * inverse, weight, norm_bias, dtype, quant), total.astype(dtype), inverse.reshape(-1)


@nn_op(export=False, name="fused_layer_norm")
def _fused_layer_norm(x, weight, norm_bias, bias, residual, epsilon, alpha, axis, quant):
    total, axes, weight, norm_bias = _norm_parts("fused_layer_norm", x, weight, norm_bias, bias, residual, alpha, axis)
    mean = jnp.mean(total, axes, keepdims=True)
    inverse = jax.lax.rsqrt(jnp.mean((total - mean) ** 2, axes, keepdims=True) + epsilon)
    out = _finish((total - mean) * inverse, weight, norm_bias, as_float(x).dtype, quant)
    return out, total.astype(as_float(x).dtype), mean.reshape(-1), inverse.reshape(-1)


@nn_api
def fused_rms_norm(
    x,
    norm_weight,
    norm_bias,
    epsilon,
    begin_norm_axis=1,
    bias=None,
    residual=None,
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
):
    """`rms_norm` of x + bias + residual, times norm_weight, plus norm_bias.

    Args:
        x: floating.
        norm_weight, norm_bias, bias: flat, one number for each element of the normalised axes, or None.
        begin_norm_axis: the first normalised axis.
        residual: the shape of x, or None.
        quant_scale, quant_round_type, quant_max_bound, quant_min_bound: see `fused_bias_act`.

    Returns:
        (the result, what was normalised; None without residual).

    Raises ValueError for shapes that do not fit.

    Example:
        >>> w = paddle.ones([2])
        >>> paddle.incubate.nn.functional.fused_rms_norm(paddle.to_tensor([[3.0, 3.0]]), w, None, 0.0)[0].tolist()
        [[1.0, 1.0]]
    """
    quant = (float(quant_scale), int(quant_round_type), float(quant_max_bound), float(quant_min_bound))
    out, total, _ = _fused_rms_norm(x, norm_weight, norm_bias, bias, residual, float(epsilon), begin_norm_axis, quant)
    return out, None if residual is None else total


@nn_api
def fused_layer_norm(
    x,
    norm_weight,
    norm_bias,
    epsilon,
    residual_alpha=1.0,
    begin_norm_axis=1,
    bias=None,
    residual=None,
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
):
    """`layer_norm` of x + bias + residual_alpha * residual; see `fused_rms_norm` for the other arguments.

    Returns:
        (the result, what was normalised; None without residual, means, inverse standard deviations). Without
        norm_weight and norm_bias the result is what would have been normalised.

    Raises ValueError for shapes that do not fit.

    Example:
        >>> x, w = paddle.to_tensor([[1.0, 3.0]]), paddle.ones([2])
        >>> paddle.incubate.nn.functional.fused_layer_norm(x, w, None, 0.0)[0].tolist()
        [[-1.0, 1.0]]
    """
    quant = (float(quant_scale), int(quant_round_type), float(quant_max_bound), float(quant_min_bound))
    out, total, mean, inverse = _fused_layer_norm(
        x, norm_weight, norm_bias, bias, residual, float(epsilon), float(residual_alpha), begin_norm_axis, quant
    )
    if norm_weight is None and norm_bias is None:
        out = total
    return out, None if residual is None else total, mean, inverse


@nn_api
def fused_rms_norm_ext(x, scale, epsilon=1e-05):
    """`rms_norm` over the last axis: (result, inverse root of the mean of squares of each row).

    Example:
        >>> y, inverse = paddle.incubate.nn.functional.fused_rms_norm_ext(paddle.full([1, 2], 2.0), paddle.ones([2]))
        >>> round(inverse.item(), 3)
        0.5
    """
    out, _, inverse = _fused_rms_norm(x, scale, None, None, None, float(epsilon), -1, (-1.0, 0, 0.0, 0.0))
    return out, inverse.reshape(list(x.shape)[:-1])


@nn_api
def fast_rms_norm(x, scale, epsilon=1e-05):
    """`fused_rms_norm_ext` under its other official name.

    Example:
        >>> paddle.incubate.nn.functional.fast_rms_norm(paddle.ones([1, 2]), paddle.ones([2]))[0].round().tolist()
        [[1.0, 1.0]]
    """
    return fused_rms_norm_ext(x, scale, epsilon)


@nn_api
def fast_ln(x, scale, bias, epsilon=1e-05):
    """`layer_norm` over the last axis: (result, mean, inverse standard deviation of each row).

    Example:
        >>> x, w = paddle.to_tensor([[1.0, 3.0]]), paddle.ones([2])
        >>> paddle.incubate.nn.functional.fast_ln(x, w, w)[0].round().tolist()
        [[0.0, 2.0]]
    """
    out, _, mean, inverse = _fused_layer_norm(x, scale, bias, None, None, float(epsilon), 1.0, -1, (-1.0, 0, 0.0, 0.0))
    rows = list(x.shape)[:-1]
    return out, mean.reshape(rows), inverse.reshape(rows)


@nn_api
def fused_bias_dropout_residual_layer_norm(
    x,
    residual,
    bias=None,
    ln_scale=None,
    ln_bias=None,
    dropout_rate=0.5,
    ln_epsilon=1e-05,
    training=True,
    mode="upscale_in_train",
):
    """layer_norm(residual + dropout(x + bias)) over the last axis.

    Raises ValueError for shapes that do not fit.

    Example:
        >>> x = paddle.to_tensor([[1.0, 3.0]])
        >>> f = paddle.incubate.nn.functional.fused_bias_dropout_residual_layer_norm
        >>> f(x, x, dropout_rate=0.0).round().tolist()
        [[-1.0, 1.0]]
    """
    total = add(residual, dropout(_plus(x, bias), dropout_rate, None, training, False, mode))
    return layer_norm(total, int(x.shape[-1]), ln_scale, ln_bias, ln_epsilon)


# ---- rotary position embedding ----


def rotated(x, sin, cos, adjacent):
    """Each pair of elements of the last axis turned: neighbours, or an element of each half."""
    v = wide(x)
    if adjacent:
        turned = jnp.stack([-v[..., 1::2], v[..., ::2]], -1).reshape(v.shape)
    else:
        first, second = jnp.split(v, 2, -1)
        turned = jnp.concatenate([-second, first], -1)
    return (v * cos.astype(v.dtype) + turned * sin.astype(v.dtype)).astype(x.dtype)


@nn_op(export=False, name="fused_rotary_position_embedding")
def _rotary(tensors, sin, cos, positions, adjacent, time_major, base):
    name = "fused_rotary_position_embedding"
    first = tensors[0]
    width = first.shape[-1]
    if first.ndim != 4 or width % 2:
        raise errors.ValueError_(
            f"{name}: q must have shape [batch, length, heads, an even width], got {list(first.shape)}"
        )
    batch, length = first.shape[1::-1] if time_major else first.shape[:2]
    if positions is not None and positions.shape != (batch, length):
        raise errors.ValueError_(f"{name}: position_ids must have shape {[batch, length]}, got {list(positions.shape)}")
    if sin is None:
        at = jnp.arange(length)[None] if positions is None else positions
        angle = at[..., None].astype(np.float32) / base ** (jnp.arange(0, width, 2, dtype=np.float32) / width)
        angle = jnp.repeat(angle, 2, -1) if adjacent else jnp.concatenate([angle, angle], -1)
        sin, cos = jnp.sin(angle), jnp.cos(angle)
    else:
        if (
            sin.shape != cos.shape
            or sin.ndim not in (2, 4)
            or sin.shape[-1] != width
            or sin.size % width
            or (positions is None and sin.size != length * width)
        ):
            raise errors.ValueError_(
                f"{name}: sin and cos must have shape {[length, width]} or "
                f"{[1, length, 1, width]}, got {list(sin.shape)} and {list(cos.shape)}"
            )
        sin, cos = (
            a.reshape(1, -1, width) if positions is None else a.reshape(-1, width)[positions] for a in (sin, cos)
        )
    sin, cos = (a[:, :, None] for a in (sin, cos))
    if time_major:
        sin, cos = (jnp.swapaxes(a, 0, 1) for a in (sin, cos))
    for x in tensors:
        if x.ndim != 4 or x.shape[:2] != first.shape[:2] or x.shape[3] != width:
            raise errors.ValueError_(
                f"{name}: k and v must have the batch, length and width of q, {list(first.shape)}, got {list(x.shape)}"
            )
    return tuple(rotated(x, sin, cos, adjacent) for x in tensors)


@nn_api
def fused_rotary_position_embedding(
    q,
    k=None,
    v=None,
    sin=None,
    cos=None,
    position_ids=None,
    use_neox_rotary_style=True,
    time_major=False,
    rotary_emb_base=10000.0,
):
    """Rotary position embedding (Su et al., RoFormer, 2021): pairs of elements turned by angles that grow with the
    position.

    Args:
        q: shape [batch, length, heads, width], width even; [length, batch, heads, width] with time_major.
        k, v: likewise, with a number of heads of their own, or None.
        sin, cos: of the angles, shape [length, width] or [1, length, 1, width]; by default for rotary_emb_base.
        position_ids: shape [batch, length], the positions (rows of sin and cos); by default they count up.
        use_neox_rotary_style: True pairs neighbours, False an element of the first half with one of the second.

    Returns:
        (q, k, v) turned, None where None was given.

    Raises ValueError for shapes that do not fit, or only one of sin and cos.

    Example:
        >>> q = paddle.ones([1, 2, 1, 2])
        >>> paddle.incubate.nn.functional.fused_rotary_position_embedding(q)[0].flatten().tolist()[:2]
        [1.0, 1.0]
    """
    if (sin is None) != (cos is None):
        raise errors.ValueError_("fused_rotary_position_embedding: sin and cos must be given together")
    given = [x for x in (q, k, v) if x is not None]
    turned = iter(
        _rotary(given, sin, cos, position_ids, bool(use_neox_rotary_style), bool(time_major), float(rotary_emb_base))
    )
    return tuple(None if x is None else next(turned) for x in (q, k, v))


@nn_op(differentiable=False, static="low high")
def int_bincount(x, low, high, dtype=None):
    """How often each integer of [low, high) occurs in x; others are not counted.

    Args:
        dtype: of the result, default that of x.

    Example:
        >>> paddle.incubate.nn.functional.int_bincount(paddle.to_tensor([1, 2, 2, 9]), 0, 4).tolist()
        [0, 1, 2, 0]
    """
    if high <= low:
        raise errors.ValueError_(f"int_bincount: high must be greater than low, got {low} and {high}")
    n = high - low
    at = jnp.where((x >= low) & (x < high), x - low, n).reshape(-1)
    return jnp.zeros((n,), x.dtype if dtype is None else to_dtype(dtype).numpy).at[at].add(1, mode="drop")
