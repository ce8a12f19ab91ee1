"""The parts of a transformer layer as one call each."""

from __future__ import annotations

import functools

from ....engine import errors
from ....engine.op import api
from ....engine.tensor import Tensor
from ....ops.activation import gelu, relu
from ....ops.attention import scaled_dot_product_attention
from ....ops.dropout import dropout
from ....ops.embedding import linear
from ....ops.joining import concat, stack
from ....ops.manipulation import reshape
from ....ops.normalization import layer_norm

nn_api = functools.partial(api, method=False)

ACTIVATIONS = {"relu": relu, "gelu": gelu}


def additive(mask: Tensor | None, dtype) -> Tensor | None:
    """A mask as what is added to the scores: bool and integer masks are true where a position takes part."""
    if mask is None or mask.dtype.is_floating:
        return mask
    return (mask.astype(dtype) - 1) * 1e9


def one_device(name: str, ring_id: int) -> None:
    if ring_id != -1:
        raise errors.NotImplemented_(f"{name}: ring_id={ring_id}, weights split over devices, is not built")


def _normed(x: Tensor, scale: Tensor | None, bias: Tensor | None, epsilon: float) -> Tensor:
    return layer_norm(x, int(x.shape[-1]), scale, bias, epsilon)


def project(name: str, x: Tensor, weight: Tensor, bias: Tensor | None, heads: int, packed: bool) -> list[Tensor]:
    """Query, key and value of x, each of shape [batch, length, heads, width of a head].

    Args:
        weight: shape [3, heads, width, embed], or [embed, 3 * embed] if `packed`; bias likewise without the last axis,
            or [3 * embed].
    """
    batch, length, embed = x.shape
    if packed:
        if heads <= 0 or embed % heads or list(weight.shape) != [embed, 3 * embed]:
            raise errors.ValueError_(
                f"{name}: with transpose_qkv_wb num_heads must divide {embed} and qkv_weight have "
                f"shape {[embed, 3 * embed]}, got {heads} and {list(weight.shape)}"
            )
        out = linear(x, weight, bias)
    else:
        if weight.ndim != 4 or weight.shape[0] != 3 or weight.shape[3] != embed:
            raise errors.ValueError_(
                f"{name}: qkv_weight must have shape [3, heads, width, {embed}], got {list(weight.shape)}"
            )
        heads = weight.shape[1]
        out = linear(x, reshape(weight, [-1, embed]).transpose([1, 0]), None if bias is None else reshape(bias, [-1]))
    out = reshape(out, [batch, length, 3, heads, -1])
    return [out[:, :, i] for i in range(3)]


@nn_api
def fused_multi_head_attention(
    x,
    qkv_weight,
    linear_weight,
    pre_layer_norm=False,
    pre_ln_scale=None,
    pre_ln_bias=None,
    ln_scale=None,
    ln_bias=None,
    pre_ln_epsilon=1e-05,
    qkv_bias=None,
    linear_bias=None,
    cache_kv=None,
    attn_mask=None,
    dropout_rate=0.5,
    attn_dropout_rate=0.5,
    ln_epsilon=1e-05,
    training=True,
    mode="upscale_in_train",
    ring_id=-1,
    add_residual=True,
    num_heads=-1,
    transpose_qkv_wb=False,
):
    """The attention block of a transformer layer: x + dropout(linear(attention(layer_norm(x)))) with pre_layer_norm,
    else layer_norm(x + dropout(linear(attention(x)))).

    Args:
        x: shape [batch, length, embed].
        qkv_weight: shape [3, heads, width of a head, embed], or [embed, 3 * embed] with transpose_qkv_wb.
        qkv_bias: shape [3, heads, width], or [3 * embed] with transpose_qkv_wb.
        linear_weight, linear_bias: shapes [embed, embed], [embed].
        pre_ln_scale, pre_ln_bias, pre_ln_epsilon: of the normalisation before, ln_... of that behind.
        cache_kv: earlier keys and values, shape [2, batch, heads, earlier length, width].
        attn_mask: broadcasts to [batch, heads, length, keys]; bool or int (true takes part) or floating (added).
        dropout_rate, attn_dropout_rate: of the output, and of the attention weights.
        mode: of the dropout of the output.
        ring_id: only -1.
        add_residual: False leaves out "x +".
        num_heads: needed with transpose_qkv_wb.

    Returns:
        The shape of x; with cache_kv (result, the longer cache).

    Raises:
        ValueError: shapes that do not fit.
        NotImplementedError: ring_id.

    Example:
        >>> x, w, o = paddle.ones([1, 2, 4]), paddle.ones([3, 2, 2, 4]), paddle.ones([4, 4])
        >>> paddle.incubate.nn.functional.fused_multi_head_attention(x, w, o).shape
        [1, 2, 4]
    """
    name = "fused_multi_head_attention"
    one_device(name, ring_id)
    if x.ndim != 3:
        raise errors.ValueError_(f"{name}: x must have shape [batch, length, embed], got {list(x.shape)}")
    y = _normed(x, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x
    query, key, value = project(name, y, qkv_weight, qkv_bias, num_heads, transpose_qkv_wb)
    if cache_kv is not None:
        key, value = (concat([cache_kv[i].transpose([0, 2, 1, 3]), new], 1) for i, new in enumerate((key, value)))
        cache_kv = stack([key.transpose([0, 2, 1, 3]), value.transpose([0, 2, 1, 3])])
    out = scaled_dot_product_attention(
        query, key, value, additive(attn_mask, x.dtype), attn_dropout_rate, False, training
    )
    out = linear(reshape(out, [*x.shape[:2], -1]), linear_weight, linear_bias)
    out = dropout(out, dropout_rate, None, training, False, mode)
    if add_residual:
        out = x + out
    if not pre_layer_norm:
        out = _normed(out, ln_scale, ln_bias, ln_epsilon)
    return out if cache_kv is None else (out, cache_kv)


@nn_api
def fused_feedforward(
    x,
    linear1_weight,
    linear2_weight,
    linear1_bias=None,
    linear2_bias=None,
    ln1_scale=None,
    ln1_bias=None,
    ln2_scale=None,
    ln2_bias=None,
    dropout1_rate=0.5,
    dropout2_rate=0.5,
    activation="relu",
    ln1_epsilon=1e-05,
    ln2_epsilon=1e-05,
    pre_layer_norm=False,
    training=True,
    mode="upscale_in_train",
    ring_id=-1,
    add_residual=True,
):
    """The feedforward block of a transformer layer: x + dropout2(linear2(dropout1(activation(linear1(layer_norm(x))))))
    with pre_layer_norm, else the layer_norm of that sum without the inner one.

    Args:
        x: shape [batch, length, width].
        linear1_weight, linear2_weight: shapes [width, inner], [inner, width].
        ln1_scale, ln1_bias, ln1_epsilon: of the normalisation before, ln2_... of that behind.
        activation: "relu" or "gelu".
        ring_id: only -1.
        add_residual: False leaves out "x +".

    Raises:
        ValueError: shapes that do not fit, another activation.
        NotImplementedError: ring_id.

    Example:
        >>> x, w = paddle.ones([1, 2, 4]), paddle.ones([4, 4])
        >>> paddle.incubate.nn.functional.fused_feedforward(x, w, w).shape
        [1, 2, 4]
    """
    one_device("fused_feedforward", ring_id)
    if activation not in ACTIVATIONS:
        raise errors.ValueError_(f"fused_feedforward: activation must be 'relu' or 'gelu', got {activation!r}")
    y = _normed(x, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    y = dropout(
        ACTIVATIONS[activation](linear(y, linear1_weight, linear1_bias)), dropout1_rate, None, training, False, mode
    )
    y = dropout(linear(y, linear2_weight, linear2_bias), dropout2_rate, None, training, False, mode)
    if add_residual:
        y = x + y
    return y if pre_layer_norm else _normed(y, ln2_scale, ln2_bias, ln2_epsilon)


@nn_api
def fused_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scaling_factor=None, training=True
):
    """`scaled_dot_product_attention` with a factor for the scores; the mask is ignored when is_causal.

    Example:
        >>> x = paddle.ones([1, 2, 1, 4])
        >>> paddle.incubate.nn.functional.fused_dot_product_attention(x, x, x).shape
        [1, 2, 1, 4]
    """
    return scaled_dot_product_attention(
        query, key, value, None if is_causal else attn_mask, dropout_p, is_causal, training, None, scaling_factor
    )
