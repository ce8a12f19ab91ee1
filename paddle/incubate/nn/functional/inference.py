"""Attention over a cache of keys and values, and stacks of transformer layers that use it, for generating text."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ....engine import errors
from ....engine.modes import set_mode
from ....engine.op import api, op
from ....engine.tensor import Tensor
from ....ops.activation import wide
from ....ops.attention import _attend, scaled_dot_product_attention
from ....ops.dropout import dropout
from ....ops.embedding import linear
from ....ops.fused import fused_bias_act, fused_layer_norm, fused_rms_norm, rotated
from ....ops.joining import concat
from ....ops.manipulation import reshape
from .fused_transformer import additive, one_device

nn_op = functools.partial(op, method=False, export=False)
nn_api = functools.partial(api, method=False)


def _keep(p):
    return p


@nn_op(name="variable_length_attention", scalars="scale")
def _variable_length(query, key, value, lengths, key_lengths, mask, scale, causal, before):
    q, k, v = (jnp.swapaxes(a, 1, 2) for a in (query, key, value))
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])
    seen = (i < lengths.reshape(-1, 1, 1)) & (j < key_lengths.reshape(-1, 1, 1) + before)
    if causal:
        seen = seen & (j <= i + before)
    bias = jnp.where(seen[:, None], 0 if mask is None else mask.astype(wide(q).dtype), -jnp.inf)
    return jnp.swapaxes(_attend(q, k, v, bias, False, scale, _keep), 1, 2)


@nn_api
def variable_length_memory_efficient_attention(
    query, key, value, seq_lens, kv_seq_lens, mask=None, scale=None, causal=False, pre_cache_length=0
):
    """Attention of padded sequences of different lengths.

    Args:
        query: shape [batch, heads, length, width].
        key, value: shape [batch, heads, length of keys, width]; fewer heads serve several heads of query each.
        seq_lens, kv_seq_lens: how much of query and of key counts, shape [batch, 1].
        mask: added to the scores, broadcasts to [batch, heads, length, length of keys].
        scale: default 1 / sqrt(width).
        causal: position i sees keys up to i + pre_cache_length.
        pre_cache_length: how many keys of a prefix come before those that kv_seq_lens counts.

    Returns:
        The shape of query; 0 behind the end of a sequence.

    Raises ValueError for shapes that do not fit.

    Example:
        >>> x, n = paddle.ones([1, 1, 2, 4]), paddle.to_tensor([[1]])
        >>> f = paddle.incubate.nn.functional.variable_length_memory_efficient_attention
        >>> f(x, x, x, n, n).sum(-1).tolist()
        [[[4.0, 0.0]]]
    """
    batch = query.shape[0]
    for argument, lengths in (("seq_lens", seq_lens), ("kv_seq_lens", kv_seq_lens)):
        if lengths.size != batch:
            raise errors.ValueError_(
                f"variable_length_memory_efficient_attention: {argument} must have shape "
                f"{[batch, 1]}, got {list(lengths.shape)}"
            )
    scale = float(query.shape[-1]) ** -0.5 if scale is None else scale
    return _variable_length(query, key, value, seq_lens, kv_seq_lens, mask, scale, bool(causal), int(pre_cache_length))


@nn_op(name="cache_write")
def _cache_write(cache, key, value, at):
    """The cache [2, batch, heads, room, width] with keys and values [batch, length, heads, width] from `at[batch]` on."""
    rows = jnp.arange(cache.shape[1])[:, None]
    places = jnp.broadcast_to(at.reshape(-1, 1), (cache.shape[1], 1)) + jnp.arange(key.shape[1])
    for i, new in enumerate((key, value)):
        cache = cache.at[i, rows, :, places].set(new.astype(cache.dtype), mode="drop")
    return cache


@nn_op(name="cached_attention", differentiable=False)
def _cached_attention(query, cache, mask, at):
    """Attention of one new position [batch, 1, heads, width], which is `at[batch]` in the cache."""
    k, v = (jnp.swapaxes(a, 1, 2).astype(query.dtype) for a in cache)
    seen = jnp.arange(k.shape[1]) <= at.reshape(-1, 1, 1, 1)
    bias = 0
    if mask is not None:
        mask = mask.astype(wide(query).dtype)[..., : k.shape[1]]
        bias = jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, k.shape[1] - mask.shape[-1])])
    return _attend(query, k, v, jnp.where(seen, bias, -jnp.inf), False, query.shape[-1] ** -0.5, _keep)


def _store(name: str, cache: Tensor, key: Tensor, value: Tensor, at: Tensor) -> None:
    """Write into the cache in place."""
    batch, _, heads, width = key.shape
    if (
        cache.ndim != 5
        or cache.shape[:3] != [2, batch, heads]
        or cache.shape[4] != width
        or cache.shape[3] < key.shape[1]
    ):
        raise errors.ValueError_(
            f"{name}: a cache must have shape [2, {batch}, {heads}, {key.shape[1]} or more, {width}], "
            f"got {list(cache.shape)}"
        )
    with set_mode(grad=False):
        cache._rebind(_cache_write(cache, key, value, at))


@nn_api
def masked_multihead_attention(
    x,
    cache_kv=None,
    bias=None,
    src_mask=None,
    cum_offsets=None,
    sequence_lengths=None,
    rotary_tensor=None,
    beam_cache_offset=None,
    qkv_out_scale=None,
    out_shift=None,
    out_smooth=None,
    seq_len=1,
    rotary_emb_dims=0,
    use_neox_rotary_style=False,
    compute_dtype="default",
    out_scale=-1,
    quant_round_type=1,
    quant_max_bound=127.0,
    quant_min_bound=-127.0,
):
    """Attention of one new position of each sequence to those in the cache, where it is added.

    Args:
        x: query, key and value, shape [batch, 3 * heads * width].
        cache_kv: earlier keys and values, shape [2, batch, heads, room, width]; written in place.
        bias: added to x, shape [3, heads, width].
        src_mask: added to the scores, shape [batch, 1, 1, length].
        sequence_lengths: the new position in the cache, shape [batch, 1]; default the length of src_mask - 1.
        seq_len, compute_dtype, quant_round_type, quant_max_bound, quant_min_bound: accepted.

    Returns:
        (the result of shape [batch, heads * width], cache_kv).

    Raises:
        ValueError: shapes that do not fit, neither src_mask nor sequence_lengths.
        NotImplementedError: beam search, quantisation, rotary embedding (turn x before) and cum_offsets.

    Example:
        >>> x, cache, at = paddle.ones([1, 6]), paddle.zeros([2, 1, 1, 4, 2]), paddle.to_tensor([[0]])
        >>> paddle.incubate.nn.functional.masked_multihead_attention(x, cache, sequence_lengths=at)[0].tolist()
        [[1.0, 1.0]]
    """
    name = "masked_multihead_attention"
    for argument, value in (
        ("beam_cache_offset", beam_cache_offset),
        ("qkv_out_scale", qkv_out_scale),
        ("out_shift", out_shift),
        ("out_smooth", out_smooth),
        ("rotary_tensor", rotary_tensor),
        ("cum_offsets", cum_offsets),
    ):
        if value is not None:
            raise errors.NotImplemented_(f"{name}: {argument} is not built")
    if out_scale > 0 or rotary_emb_dims:
        raise errors.NotImplemented_(f"{name}: out_scale and rotary_emb_dims are not built")
    if cache_kv is None or cache_kv.ndim != 5:
        raise errors.ValueError_(
            f"{name}: cache_kv of shape [2, batch, heads, room, width] is required, got {errors.describe(cache_kv)}"
        )
    _, batch, heads, room, width = cache_kv.shape
    if list(x.shape) != [batch, 3 * heads * width]:
        raise errors.ValueError_(f"{name}: x must have shape {[batch, 3 * heads * width]}, got {list(x.shape)}")
    x = reshape(x, [batch, 1, 3, heads, width])
    if bias is not None:
        x = x + reshape(bias, [1, 1, 3, heads, width])
    if sequence_lengths is None and src_mask is None:
        raise errors.ValueError_(f"{name}: sequence_lengths or src_mask must be given")
    at = np.array([src_mask.shape[-1] - 1]) if sequence_lengths is None else sequence_lengths
    _store(name, cache_kv, x[:, :, 1], x[:, :, 2], at)
    out = _cached_attention(x[:, :, 0], cache_kv, src_mask, at)
    return reshape(out, [batch, heads * width]), cache_kv


@nn_op(name="rotated_heads")
def _rotated_heads(x, embeddings, adjacent):
    """x [batch, length, heads, width] turned by cosines and sines [2, batch, 1, length, width]."""
    cos, sin = (jnp.swapaxes(a, 1, 2)[:, : x.shape[1]] for a in embeddings)
    return rotated(x, sin, cos, adjacent)


@nn_api
def fused_multi_transformer(
    x,
    ln_scales,
    ln_biases,
    qkv_weights,
    qkv_biases,
    linear_weights,
    linear_biases,
    ffn_ln_scales,
    ffn_ln_biases,
    ffn1_weights,
    ffn1_biases,
    ffn2_weights,
    ffn2_biases,
    pre_layer_norm=True,
    epsilon=1e-05,
    residual_alpha=1.0,
    cache_kvs=None,
    beam_offset=None,
    pre_caches=None,
    seq_lens=None,
    rotary_embs=None,
    time_step=None,
    attn_mask=None,
    dropout_rate=0.0,
    rotary_emb_dims=0,
    activation="gelu",
    training=False,
    mode="upscale_in_train",
    trans_qkvw=True,
    ring_id=-1,
    norm_type="layernorm",
    use_neox_rotary_style=False,
    gqa_group_size=-1,
):
    """A stack of transformer layers, with a cache of keys and values for generation.

    Args:
        x: shape [batch, length, embed].
        ln_scales ... ffn2_biases: one tensor for each layer; biases may be None. qkv_weights have shape
            [3, heads, width, embed], or [embed, 3, heads, width] without trans_qkvw; with gqa_group_size groups of keys
            [heads + 2 * groups, width, embed]. The others are as in `fused_multi_head_attention` and
            `fused_feedforward`.
        pre_layer_norm: normalise before each block, else behind it.
        residual_alpha: what the input of a block is multiplied with when its output is added.
        cache_kvs: for each layer shape [2, batch, heads of keys, room, width]; written in place, from 0 on, or at
            time_step.
        pre_caches: for each layer keys and values of a prefix, shape [2, batch, heads of keys, length, width].
        seq_lens: how much of each sequence counts, shape [batch].
        rotary_embs: cosines and sines, shape [2, batch, 1, length, width].
        time_step: the position of the one new element of each sequence, a tensor of one integer; x has length 1.
        attn_mask: broadcasts to [batch, heads, length, keys]; bool or int (true takes part) or floating (added).
        rotary_emb_dims: 0 or 1.
        activation: relu, gelu, silu, geglu or swiglu.
        norm_type: "layernorm" or "rmsnorm".
        use_neox_rotary_style: True pairs an element of the first half with one of the second, False neighbours.

    Returns:
        The shape of x; with cache_kvs (result, cache_kvs).

    Raises:
        ValueError: shapes that do not fit, lists of different lengths, an unknown activation or norm_type.
        NotImplementedError: beam_offset, ring_id, two rotary dimensions, seq_lens with time_step.

    Example:
        >>> x, one, w = paddle.ones([1, 2, 4]), [paddle.ones([4])], [paddle.ones([4, 4])]
        >>> qkv = [paddle.ones([3, 2, 2, 4])]
        >>> f = paddle.incubate.nn.functional.fused_multi_transformer
        >>> f(x, one, one, qkv, None, w, None, one, one, w, None, w, None).shape
        [1, 2, 4]
    """
    name = "fused_multi_transformer"
    one_device(name, ring_id)
    if beam_offset is not None or rotary_emb_dims > 1 or seq_lens is not None and time_step is not None:
        raise errors.NotImplemented_(
            f"{name}: beam_offset, rotary_emb_dims above 1, and seq_lens with time_step are not built"
        )
    if norm_type not in ("layernorm", "rmsnorm"):
        raise errors.ValueError_(f"{name}: norm_type must be 'layernorm' or 'rmsnorm', got {norm_type!r}")
    if x.ndim != 3 or time_step is not None and (x.shape[1] != 1 or cache_kvs is None):
        raise errors.ValueError_(
            f"{name}: x must have shape [batch, length, embed], with time_step length 1 and "
            f"cache_kvs, got {list(x.shape)}"
        )
    layers = len(qkv_weights)

    def part(values, i, argument):
        if values is None:
            return None
        if len(values) != layers:
            raise errors.ValueError_(
                f"{name}: {argument} must have {layers} elements, one for each layer, got {len(values)}"
            )
        return values[i]

    def norm(y, scale, bias):
        norms = fused_layer_norm if norm_type == "layernorm" else fused_rms_norm
        return norms(y, scale, bias, epsilon, begin_norm_axis=2)[0]

    batch, length, embed = x.shape
    mask = additive(attn_mask, x.dtype)
    if seq_lens is not None:
        mask = _length_mask(seq_lens, mask, length)
    for i in range(layers):
        ln = part(ln_scales, i, "ln_scales"), part(ln_biases, i, "ln_biases")
        ffn_ln = part(ffn_ln_scales, i, "ffn_ln_scales"), part(ffn_ln_biases, i, "ffn_ln_biases")
        weight, bias = qkv_weights[i], part(qkv_biases, i, "qkv_biases")
        if weight.shape[-1 if trans_qkvw else 0] != embed or weight.ndim != (4 if gqa_group_size <= 0 else 3):
            raise errors.ValueError_(
                f"{name}: the qkv_weights of shape {list(weight.shape)} do not fit x of shape {list(x.shape)}"
            )
        width = weight.shape[-2 if trans_qkvw else -1]
        flat = reshape(weight, [-1, embed]).transpose([1, 0]) if trans_qkvw else reshape(weight, [embed, -1])
        y = norm(x, *ln) if pre_layer_norm else x
        y = reshape(linear(y, flat, None if bias is None else reshape(bias, [-1])), [batch, length, -1, width])
        groups = gqa_group_size if gqa_group_size > 0 else y.shape[2] // 3
        heads = y.shape[2] - 2 * groups
        query, key, value = y[:, :, :heads], y[:, :, heads : heads + groups], y[:, :, heads + groups :]
        if rotary_embs is not None and rotary_emb_dims:
            query, key = (_rotated_heads(t, rotary_embs, not use_neox_rotary_style) for t in (query, key))
        if cache_kvs is not None:
            start = np.zeros(1, np.int32) if time_step is None else time_step
            _store(name, part(cache_kvs, i, "cache_kvs"), key, value, start)
        if time_step is not None:
            y = _cached_attention(query, cache_kvs[i], mask, time_step)
        else:
            if pre_caches is not None:
                prefix = part(pre_caches, i, "pre_caches")
                key, value = (concat([prefix[n].transpose([0, 2, 1, 3]), new], 1) for n, new in enumerate((key, value)))
            y = scaled_dot_product_attention(query, key, value, mask)
        y = linear(
            reshape(y, [batch, length, heads * width]), linear_weights[i], part(linear_biases, i, "linear_biases")
        )
        x = x * residual_alpha + dropout(y, dropout_rate, None, training, False, mode)
        if not pre_layer_norm:
            x = norm(x, *ln)
        y = linear(norm(x, *ffn_ln) if pre_layer_norm else x, part(ffn1_weights, i, "ffn1_weights"))
        y = fused_bias_act(y, part(ffn1_biases, i, "ffn1_biases"), act_method=activation)
        y = dropout(y, dropout_rate, None, training, False, mode)
        y = linear(y, part(ffn2_weights, i, "ffn2_weights"), part(ffn2_biases, i, "ffn2_biases"))
        x = x * residual_alpha + dropout(y, dropout_rate, None, training, False, mode)
        if not pre_layer_norm:
            x = norm(x, *ffn_ln)
    return x if cache_kvs is None else (x, cache_kvs)


@nn_op(name="length_mask")
def _length_mask(lengths, mask, length):
    seen = jnp.arange(length) < lengths.reshape(-1, 1, 1, 1)
    if mask is None:
        return seen
    extra = mask.shape[-1] - length  # a prefix in front
    return jnp.where(jnp.pad(seen, [(0, 0)] * 3 + [(extra, 0)], constant_values=True), mask, -jnp.inf)


@nn_api
def blha_get_max_len(seq_lens_encoder, seq_lens_decoder, batch_size):
    """(the longest of seq_lens_encoder, the longest of seq_lens_decoder), each of shape [1].

    Example:
        >>> n = paddle.to_tensor([1, 3])
        >>> paddle.incubate.nn.functional.blha_get_max_len(n, n, n)[0].tolist()
        [3]
    """
    return seq_lens_encoder.max().reshape([1]), seq_lens_decoder.max().reshape([1])
