"""PyTorch's forms of functions of neural networks."""

from __future__ import annotations

import math
from typing import Any

from ...engine import errors
from ...engine.op import _write_out, api
from ...nn import functional as F
from ...ops.activation import softmax as _softmax
from ...ops.linalg import matmul
from ...ops.manipulation import tensor_of
from ...ops.selection import where


@api(method="softmax")
def softmax(input, dim=None, dtype=None, *, out=None):
    """exp(input) / sum of exp(input) along an axis.

    Args:
        dim: the axis; None takes the first one for 0, 1 and 3 dimensions and otherwise the second.
        dtype: the type to compute in and to return.

    Example:
        >>> paddle.softmax(paddle.zeros([1, 2])).tolist()
        [[0.5, 0.5]]
    """
    if dim is None:
        dim = 0 if tensor_of("softmax", input, "input").ndim in (0, 1, 3) else 1
    found = _softmax(input, dim, dtype)
    return found if out is None else _write_out("softmax", found, out)


@api(method=False)
def linear(input, weight, bias=None):
    """input @ weight^T + bias.

    Args:
        weight: shape [out, in], or [in].
        bias: shape [out], or None.

    Example:
        >>> paddle.compat.nn.functional.linear(paddle.ones([1, 2]), paddle.ones([3, 2])).tolist()
        [[2.0, 2.0, 2.0]]
    """
    if tensor_of("linear", weight, "weight").ndim == 1:
        found = matmul(input, weight)
        return found if bias is None else found + bias
    return F.linear(input, weight.transpose([1, 0]), bias)


@api(method=False)
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of an image as columns, see `paddle.nn.functional.unfold`.

    Example:
        >>> paddle.compat.nn.functional.unfold(paddle.ones([1, 1, 4, 4]), 2).shape
        [1, 4, 9]
    """

    def listed(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    return F.unfold(input, listed(kernel_size), listed(stride), listed(padding), listed(dilation))


@api(method=False)
def pad(input, pad, mode="constant", value=0.0):
    """The tensor with elements added at the ends of its last axes.

    Args:
        pad: (before, after) of the last axis, then of the one before it, and so on.
        mode: "constant", "reflect", "replicate" or "circular".
        value: of a constant.

    Raises:
        ValueError: amounts or a mode that do not fit.

    Example:
        >>> paddle.compat.nn.functional.pad(paddle.ones([1, 2]), (1, 0)).tolist()
        [[0.0, 1.0, 1.0]]
    """
    amounts = [int(p) for p in (pad.tolist() if hasattr(pad, "tolist") else pad)]
    n = tensor_of("pad", input, "input").ndim
    if len(amounts) % 2 or len(amounts) > 2 * n:
        raise errors.ValueError_(f"pad: pad must hold two numbers for each of at most {n} axes, got {amounts}")
    if mode == "constant":
        axes = [amounts[i : i + 2] for i in range(0, len(amounts), 2)][::-1]
        full = [p for axis in [[0, 0]] * (n - len(axes)) + axes for p in axis]
        return F.pad(input, full, "constant", value) if n else input
    k = len(amounts) // 2
    if mode not in ("reflect", "replicate", "circular") or not 1 <= k <= 3 or n not in (k + 1, k + 2):
        raise errors.ValueError_(
            f"pad: mode must be constant, or reflect, replicate or circular for the last 1 to 3 "
            f"of {{2 to 5}} axes, got {mode!r} and {len(amounts)} amounts for {n} axes"
        )
    batched = input if n == k + 2 else input.unsqueeze(0)
    found = F.pad(batched, amounts, mode, data_format=("NCL", "NCHW", "NCDHW")[k - 1])
    return found if n == k + 2 else found.squeeze(0)


@api(method=False)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ key^T * scale + mask) @ value.

    Args:
        query: shape [..., heads, length, width].
        key, value: shape [..., heads, keys, width].
        attn_mask: floats that are added, or bools, True where a query sees a key; broadcasts to [..., length, keys].
        dropout_p: dropout of the weights, also outside of training.
        is_causal: a query sees the keys up to its own place.
        scale: default 1 / sqrt(width).
        enable_gqa: several heads of `query` share one of key and value.

    Raises:
        ValueError: is_causal and attn_mask at once.

    Example:
        >>> x = paddle.ones([1, 1, 2, 4])
        >>> paddle.compat.nn.functional.scaled_dot_product_attention(x, x, x).shape
        [1, 1, 2, 4]
    """
    if is_causal and attn_mask is not None:
        raise errors.ValueError_("scaled_dot_product_attention: give attn_mask or is_causal, not both")
    if enable_gqa:
        repeats = query.shape[-3] // max(key.shape[-3], 1)
        key, value = key.repeat_interleave(repeats, -3), value.repeat_interleave(repeats, -3)
    weights, _ = attention_weights(query, key, attn_mask, is_causal, scale)
    return matmul(F.dropout(weights, dropout_p) if dropout_p else weights, value)


def attention_weights(query: Any, key: Any, attn_mask: Any, is_causal: bool, scale: Any = None) -> tuple[Any, Any]:
    """(The weights of attention, the scores.)"""
    scores = matmul(query, key, transpose_y=True) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        from ...ops.creation import ones

        attn_mask = ones([query.shape[-2], key.shape[-2]], "bool").tril()
    if attn_mask is not None:
        if attn_mask.dtype.name == "bool":
            from ...ops.creation import full_like

            scores = where(attn_mask, scores, full_like(scores, -math.inf))
        else:
            scores = scores + attn_mask
    return _softmax(scores, -1), scores
