"""Attention in which not every position sees every other: packed sequences, column-wise and sparse masks.

The masks are made inside the operator, from the numbers that describe them.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .attention import _attend
from .checks import host_value
from .dropout import keep

nn_op = functools.partial(op, method=False, export=False)
nn_api = functools.partial(api, method=False)


def _same(p):
    return p


def _dropping(seed, p):
    def drop(weights):
        return jnp.where(keep(seed, weights.shape, None, p), weights / jnp.where(p < 1, 1 - p, 1), 0)

    return drop


# ---- packed sequences ----


def _packed(q, k, v, ends_q, ends_k, longest_q, longest_k, scale, causal, padded, drop):
    """Attention within sequences that lie one after the other; `ends` are their cumulative lengths, from 0 on. If
    `padded` each starts at a multiple of the longest."""
    lengths_q, lengths_k = jnp.diff(ends_q), jnp.diff(ends_k)
    batch = jnp.arange(lengths_q.shape[0])
    starts_q, starts_k = (batch * longest_q, batch * longest_k) if padded else (ends_q[:-1], ends_k[:-1])
    i, j = jnp.arange(longest_q), jnp.arange(longest_k)

    def unpack(x, starts, places):
        return x[jnp.clip(starts[:, None] + places, 0, max(x.shape[0] - 1, 0))]

    seen = (i[:, None] < lengths_q[:, None, None]) & (j < lengths_k[:, None, None])
    if causal:  # the last position of a query sees all keys
        seen = seen & (j <= i[:, None] + (lengths_k - lengths_q)[:, None, None])
    out = _attend(
        unpack(q, starts_q, i), unpack(k, starts_k, j), unpack(v, starts_k, j), seen[:, None], False, scale, drop
    )
    token = jnp.arange(q.shape[0])
    owner = token // max(longest_q, 1) if padded else jnp.searchsorted(ends_q, token, side="right") - 1
    owner = jnp.clip(owner, 0, lengths_q.shape[0] - 1)
    place = token - starts_q[owner]
    out = out[owner, jnp.clip(place, 0, longest_q - 1)]
    return jnp.where((place < lengths_q[owner])[:, None, None], out, 0)


@nn_op(name="packed_attention", scalars="scale")
def _packed_attention(query, key, value, ends_q, ends_k, longest_q, longest_k, scale, causal, padded):
    return _packed(query, key, value, ends_q, ends_k, longest_q, longest_k, scale, causal, padded, _same)


@nn_op(name="packed_attention_dropout", random=True, scalars="scale p")
def _packed_attention_dropout(seed, query, key, value, ends_q, ends_k, longest_q, longest_k, scale, causal, padded, p):
    return _packed(query, key, value, ends_q, ends_k, longest_q, longest_k, scale, causal, padded, _dropping(seed, p))


def _check_ends(name: str, ends: Any, longest: int, rows: int, argument: str, padded: bool) -> None:
    if not isinstance(ends, Tensor) or ends.ndim != 1 or ends.shape[0] < 2 or not ends.dtype.is_integer:
        raise errors.ValueError_(
            f"{name}: {argument} must be a Tensor of integers of shape [batch + 1], got {errors.describe(ends)}"
        )
    if padded and rows != (ends.shape[0] - 1) * longest:
        raise errors.ValueError_(f"{name}: padded sequences have {ends.shape[0] - 1} * {longest} rows, got {rows}")
    values = host_value(ends)
    if values is not None:
        lengths = np.diff(values)
        if values[0] != 0 or values[-1] > rows or lengths.min() < 0 or lengths.max() > longest:
            raise errors.ValueError_(
                f"{name}: {argument} must rise from 0 to at most {rows} in steps of at most "
                f"{longest}, the maximal length, got {values.tolist()}"
            )


def _packed_call(
    name: str,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    ends_q: Tensor,
    ends_k: Tensor,
    longest_q: Any,
    longest_k: Any,
    scale: Any,
    dropout: float,
    causal: bool,
    training: bool,
    padded: bool = False,
) -> Tensor:
    if q.ndim != 3 or k.ndim != 3 or v.ndim != 3 or 0 in q.shape or 0 in k.shape:
        raise errors.ValueError_(
            f"{name}: query, key and value must have shape [total length, heads, width] and not be "
            f"empty, got {list(q.shape)}, {list(k.shape)} and {list(v.shape)}"
        )
    if not 0 <= dropout <= 1:
        raise errors.ValueError_(f"{name}: dropout must be between 0 and 1, got {dropout}")
    longest_q, longest_k = int(longest_q), int(longest_k)
    _check_ends(name, ends_q, longest_q, q.shape[0], "cu_seqlens_q", padded)
    _check_ends(name, ends_k, longest_k, k.shape[0], "cu_seqlens_k", padded)
    scale = float(q.shape[-1]) ** -0.5 if scale is None else scale
    fixed = (q, k, v, ends_q, ends_k, longest_q, longest_k, scale, bool(causal), padded)
    return _packed_attention_dropout(*fixed, dropout) if dropout and training else _packed_attention(*fixed)


def _no_softmax(name: str, wanted: Any) -> None:
    if wanted:
        raise errors.NotImplemented_(
            f"{name}: the probabilities (or their logarithms) are not kept, so they cannot be returned"
        )


@nn_api(export=False)
def flash_attn_unpadded(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    scale,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
):
    """Attention within sequences that lie one after the other, without padding.

    Args:
        query, key, value: shape [total length, heads, width]; fewer heads of keys serve several of query each.
        cu_seqlens_q, cu_seqlens_k: where the sequences start, and behind the last its end, shape [batch + 1].
        max_seqlen_q, max_seqlen_k: the longest lengths.
        scale: of the scores.
        dropout: the probability of dropping a weight in training.
        causal: the last position of a query sees all keys, each one before it one less.
        fixed_seed_offset, rng_name: accepted and without effect.

    Returns:
        (the result, None).

    Raises:
        ValueError: shapes or lengths that do not fit.
        NotImplementedError: return_softmax.

    Example:
        >>> x, ends = paddle.ones([3, 1, 4]), paddle.to_tensor([0, 1, 3])
        >>> paddle.nn.functional.flash_attention.flash_attn_unpadded(x, x, x, ends, ends, 2, 2, 0.5)[0].shape
        [3, 1, 4]
    """
    _no_softmax("flash_attn_unpadded", return_softmax)
    return _packed_call(
        "flash_attn_unpadded",
        query,
        key,
        value,
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        scale,
        dropout,
        causal,
        training,
    ), None


@nn_api
def flash_attn_varlen_qkvpacked(
    qkv,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    scale,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    fixed_seed_offset=None,
    rng_name="",
    varlen_padded=True,
    training=True,
):
    """`flash_attn_unpadded` of query, key and value in one tensor.

    Args:
        qkv: shape [total length, groups + 2, heads, width]: groups of query heads, then key, then value.
        varlen_padded: each sequence starts at a multiple of the longest length; the result is 0 behind its end.
        cu_seqlens_q, ...: as for `flash_attn_unpadded`.

    Returns:
        (the result of shape [total length, groups * heads, width], None).

    Raises:
        ValueError: shapes or lengths that do not fit.
        NotImplementedError: return_softmax.

    Example:
        >>> qkv, ends = paddle.ones([4, 3, 1, 4]), paddle.to_tensor([0, 1, 3])
        >>> paddle.nn.functional.flash_attn_varlen_qkvpacked(qkv, ends, ends, 2, 2, 0.5)[0].sum([1, 2]).tolist()
        [4.0, 0.0, 4.0, 4.0]
    """
    name = "flash_attn_varlen_qkvpacked"
    _no_softmax(name, return_softmax)
    shape = list(qkv.shape)
    if len(shape) != 4 or shape[1] < 3:
        raise errors.ValueError_(f"{name}: qkv must have shape [total length, groups + 2, heads, width], got {shape}")
    query = qkv[:, :-2].reshape([shape[0], (shape[1] - 2) * shape[2], shape[3]])
    return _packed_call(
        name,
        query,
        qkv[:, -2],
        qkv[:, -1],
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        scale,
        dropout,
        causal,
        training,
        bool(varlen_padded),
    ), None


@nn_api
def flash_attention_v3_varlen(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    seqused_q=None,
    seqused_k=None,
    softmax_scale=None,
    causal=False,
    qv=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    window_size=(-1, -1),
    softcap=0.0,
    num_splits=1,
    pack_gqa=None,
    sm_margin=0,
):
    """`flash_attn_unpadded` without dropout.

    Args:
        query, ..., max_seqlen_k, causal: as there.
        softmax_scale: default 1 / sqrt(width).
        num_splits, pack_gqa, sm_margin: accepted and without effect.

    Returns:
        (the result, None).

    Raises:
        ValueError: shapes or lengths that do not fit.
        NotImplementedError: seqused_q, seqused_k, qv, descaling, windows, softcap.

    Example:
        >>> x, ends = paddle.ones([3, 1, 4]), paddle.to_tensor([0, 1, 3])
        >>> paddle.nn.functional.flash_attention_v3_varlen(x, x, x, ends, ends, 2, 2)[0].shape
        [3, 1, 4]
    """
    name = "flash_attention_v3_varlen"
    for argument, given in (
        ("seqused_q", seqused_q),
        ("seqused_k", seqused_k),
        ("qv", qv),
        ("q_descale", q_descale),
        ("k_descale", k_descale),
        ("v_descale", v_descale),
    ):
        if given is not None:
            raise errors.NotImplemented_(f"{name}: {argument} is not built")
    if tuple(window_size) != (-1, -1) or softcap:
        raise errors.NotImplemented_(f"{name}: window_size and softcap are not built")
    return _packed_call(
        name,
        query,
        key,
        value,
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        softmax_scale,
        0.0,
        causal,
        False,
    ), None


# ---- masks by columns ----


def _column_mask(q, k, rows, causal, window):
    """True where a position takes part, [batch, heads, length, keys]; `rows` are bounds for each key."""
    i, j = jnp.arange(q.shape[1])[:, None], jnp.arange(k.shape[1])
    seen = jnp.ones((1, 1, q.shape[1], k.shape[1]), bool)
    if causal:
        seen = seen & (j <= i)
    if window is not None:
        before, after = window
        seen = seen & ((before < 0) | (j >= i - before)) & ((after < 0) | (j <= i + after))
    if rows is not None:
        bound = [rows[:, :, None, :, n] for n in range(rows.shape[-1])]
        if len(bound) == 1:
            hidden = i >= bound[0]
        elif len(bound) == 2:
            hidden = (i >= bound[0]) & (i < bound[1]) if causal else (i >= bound[0]) | (i < bound[1])
        else:
            hidden = (i >= bound[0]) & (i < bound[1]) | (i >= bound[2]) & (i < bound[3])
        seen = seen & ~hidden
        if seen.shape[1] not in (1, q.shape[2]):
            seen = jnp.repeat(seen, q.shape[2] // seen.shape[1], 1)
    return seen


@nn_op(name="flashmask_attention", scalars="scale", static="window")
def _flashmask(query, key, value, rows, causal, window, scale):
    return _attend(query, key, value, _column_mask(query, key, rows, causal, window), False, scale, _same)


@nn_op(name="flashmask_attention_dropout", random=True, scalars="scale p", static="window")
def _flashmask_dropout(seed, query, key, value, rows, causal, window, scale, p):
    return _attend(query, key, value, _column_mask(query, key, rows, causal, window), False, scale, _dropping(seed, p))


@nn_api
def flashmask_attention(
    query,
    key,
    value,
    startend_row_indices=None,
    *,
    dropout=0.0,
    causal=False,
    window_size=None,
    return_softmax_lse=False,
    return_seed_offset=False,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    softmax_scale=None,
    block_mask=None,
):
    """Attention with a mask that is given by row numbers for each key (Wang et al., FlashMask, 2024).

    Args:
        query: shape [batch, length, heads, width].
        key, value: shape [batch, length of keys, heads of keys, width].
        startend_row_indices: integers of shape [batch, heads of keys or 1, length of keys, n]. The queries that do not
            see a key are, with causal, those from the first number on (n = 1) up to the second (n = 2); without, those
            from the first on and those before the second (n = 2), or those between first and second and between third
            and fourth (n = 4).
        dropout: the probability of dropping a weight in training.
        causal: position i sees keys up to i.
        window_size: how many keys before and behind are seen, an int or a pair.
        softmax_scale: default 1 / sqrt(width).
        fixed_seed_offset, rng_name: accepted and without effect.

    Raises:
        ValueError: shapes that do not fit.
        NotImplementedError: return_softmax_lse, return_seed_offset, block_mask.

    Example:
        >>> x, rows = paddle.ones([1, 2, 1, 4]), paddle.full([1, 1, 2, 1], 2, "int32")
        >>> paddle.nn.functional.flashmask_attention(x, x, x, rows, causal=True).shape
        [1, 2, 1, 4]
    """
    name = "flashmask_attention"
    _no_softmax(name, return_softmax_lse or return_seed_offset)
    if block_mask is not None:
        raise errors.NotImplemented_(f"{name}: block_mask is not built")
    if not 0 <= dropout <= 1:
        raise errors.ValueError_(f"{name}: dropout must be between 0 and 1, got {dropout}")
    if query.ndim != 4 or key.ndim != 4:
        raise errors.ValueError_(f"{name}: query and key must be 4-D, got {list(query.shape)} and {list(key.shape)}")
    if startend_row_indices is not None:
        shape, allowed = list(startend_row_indices.shape), (1, 2) if causal else (2, 4)
        wanted = [key.shape[0], key.shape[2], key.shape[1]]
        if len(shape) != 4 or shape[:3] not in (wanted, [wanted[0], 1, wanted[2]]) or shape[3] not in allowed:
            raise errors.ValueError_(
                f"{name}: startend_row_indices must have shape {wanted} (or 1 head) and "
                f"{allowed[0]} or {allowed[1]} numbers with causal={causal}, got {shape}"
            )
    if window_size is not None:
        window_size = (
            (window_size, 0 if causal else window_size) if isinstance(window_size, int) else tuple(window_size)
        )
    scale = float(query.shape[-1]) ** -0.5 if softmax_scale is None else softmax_scale
    fixed = (query, key, value, startend_row_indices, bool(causal), window_size, scale)
    return _flashmask_dropout(*fixed, dropout) if dropout and training else _flashmask(*fixed)


# ---- sparse ----


@nn_op(name="sparse_attention")
def _sparse_attention(query, key, value, ends, columns, key_mask, mask):
    batch, heads, rows, width = query.shape
    entry = jnp.arange(columns.shape[-1])
    row = jnp.sum(entry >= ends[..., 1:, None], -2)  # those behind the end get a row that does not exist
    b, h = jnp.arange(batch)[:, None, None], jnp.arange(heads)[:, None]
    seen = jnp.zeros((batch, heads, rows, rows), bool).at[b, h, row, columns].set(True, mode="drop")
    if key_mask is not None:
        seen = seen & (key_mask != 0)[:, None, None]
    if mask is not None:
        seen = seen & (mask != 0)
    query, key, value = (jnp.swapaxes(a, 1, 2) for a in (query, key, value))
    return jnp.swapaxes(_attend(query, key, value, seen, False, width**-0.5, _same), 1, 2)


@nn_api
def sparse_attention(query, key, value, sparse_csr_offset, sparse_csr_columns, key_padding_mask=None, attn_mask=None):
    """Attention of each position to those that a sparse matrix in CSR form names. (The computation is dense.)

    Args:
        query, key, value: shape [batch, heads, length, width].
        sparse_csr_offset: where the rows start among the columns, shape [batch, heads, length + 1].
        sparse_csr_columns: the keys that are seen, row by row, shape [batch, heads, number].
        key_padding_mask: 0 for keys that nobody sees, shape [batch, length].
        attn_mask: 0 for pairs that are not seen, shape [length, length].

    Raises ValueError for shapes that do not fit, columns out of range.

    Example:
        >>> x, ends, at = paddle.ones([1, 1, 2, 4]), paddle.to_tensor([[[0, 1, 3]]]), paddle.to_tensor([[[0, 0, 1]]])
        >>> paddle.nn.functional.sparse_attention(x, x, x, ends, at).shape
        [1, 1, 2, 4]
    """
    name, shape = "sparse_attention", list(query.shape)
    if len(shape) != 4 or list(key.shape) != shape or list(value.shape) != shape:
        raise errors.ValueError_(
            f"{name}: query, key and value must have one shape [batch, heads, length, width], got "
            f"{shape}, {list(key.shape)} and {list(value.shape)}"
        )
    batch, heads, length, _ = shape
    if (
        list(sparse_csr_offset.shape) != [batch, heads, length + 1]
        or sparse_csr_columns.ndim != 3
        or list(sparse_csr_columns.shape[:2]) != [batch, heads]
    ):
        raise errors.ValueError_(
            f"{name}: sparse_csr_offset must have shape {[batch, heads, length + 1]} and "
            f"sparse_csr_columns {[batch, heads]} and a number, got {list(sparse_csr_offset.shape)} "
            f"and {list(sparse_csr_columns.shape)}"
        )
    columns = host_value(sparse_csr_columns)
    if columns is not None and (columns.min() < 0 or columns.max() >= length):
        raise errors.ValueError_(
            f"{name}: sparse_csr_columns must be in [0, {length}), got {columns.min()} to {columns.max()}"
        )
    for argument, mask, wanted in (
        ("key_padding_mask", key_padding_mask, [batch, length]),
        ("attn_mask", attn_mask, [length, length]),
    ):
        if mask is not None and list(mask.shape) != wanted:
            raise errors.ValueError_(f"{name}: {argument} must have shape {wanted}, got {list(mask.shape)}")
    return _sparse_attention(query, key, value, sparse_csr_offset, sparse_csr_columns, key_padding_mask, attn_mask)
