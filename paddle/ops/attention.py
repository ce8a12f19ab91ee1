"""Scaled dot-product attention."""

from __future__ import annotations

import contextlib
import enum
import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from .activation import wide
from .contraction import matmul
from .dropout import keep

nn_op = functools.partial(op, method=False, export=False)
nn_api = functools.partial(api, method=False)


class SDPBackend(enum.IntEnum):
    """The ways of computing attention: `MATH` as written down, the others without keeping the table of scores."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2


FAST = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION)


class _Allowed(threading.local):
    backends: tuple = (SDPBackend.MATH, *FAST)


_allowed = _Allowed()


@contextlib.contextmanager
def allow_backends(backends):
    """Let attention choose from these ways inside the block."""
    if not backends:
        raise errors.ValueError_("sdpa_kernel: at least one backend is needed")
    for each in backends:
        if not isinstance(each, SDPBackend):
            raise errors.TypeError_(f"sdpa_kernel: every backend must be an SDPBackend, got {errors.describe(each)}")
    before, _allowed.backends = _allowed.backends, tuple(backends)
    try:
        yield
    finally:
        _allowed.backends = before


def _attend(*args):
    """softmax(q k^T * scale + mask) v, with the arguments of `_attend_and_weigh`."""
    return _attend_and_weigh(*args)[0]


def _attend_and_weigh(q, k, v, mask, causal, scale, drop):
    """(softmax(q k^T * scale + mask) v for [batch, length, heads, width], the probabilities), `drop` is applied to them."""
    name = "scaled_dot_product_attention"
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
        raise errors.ValueError_(
            f"{name}: query, key and value must be 3-D or 4-D alike, got {list(q.shape)}, "
            f"{list(k.shape)}, {list(v.shape)}"
        )
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise errors.ValueError_(
            f"{name}: shapes do not fit: query {list(q.shape)}, key {list(k.shape)}, value {list(v.shape)}"
        )
    heads, shared = q.shape[2], k.shape[2]
    if shared == 0 or heads % shared:
        raise errors.ValueError_(f"{name}: the {heads} heads of query must be a multiple of the {shared} heads of key")
    if shared != heads:
        k, v = (jnp.repeat(a, heads // shared, 2) for a in (k, v))
    q, k, v = (jnp.swapaxes(a, 1, 2) for a in (q, k, v))
    if q.dtype.itemsize < 4:
        scores = wide(matmul(q, k, transpose_y=True)) * scale
    else:
        # XLA would fuse a later product with the difference from the maximum, without the rounding that the maximum has
        # seen: from scores of 1e9 on they differ by more than exp can take
        scores = matmul(q * scale, k, transpose_y=True)
    if mask is not None:
        scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == np.bool_ else scores + mask.astype(scores.dtype)
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    top = jax.lax.stop_gradient(jnp.max(scores, -1, keepdims=True, initial=-jnp.inf))
    blind = mask is not None or causal or k.shape[2] == 0  # a position that may see no key at all gives 0, not NaN
    if blind:
        top = jnp.where(top == -jnp.inf, 0, top)
    parts = jnp.exp(scores - top)
    total = jnp.sum(parts, -1, keepdims=True)
    share = 1 / (jnp.where(total == 0, 1, total) if blind else total)
    weights = drop(parts * share).astype(q.dtype)
    if q.dtype == scores.dtype:  # the result has fewer elements to divide than the table
        out = matmul(drop(parts), v) * share
    else:
        out = matmul(weights, v)
    return jnp.swapaxes(out, 1, 2), weights


@nn_op(name="attention", scalars="scale")
def _attention(query, key, value, mask, causal, scale):
    return _attend(query, key, value, mask, causal, scale, lambda p: p)


@nn_op(name="attention_and_weights", scalars="scale")
def _attention_and_weights(query, key, value, causal, scale):
    return _attend_and_weigh(query, key, value, None, causal, scale, lambda p: p)


@nn_op(name="attention_heads_first", scalars="scale", export=False)
def _attention_heads_first(query, key, value, mask, scale):
    """As `attention`, on [batch, heads, length, width]; what a pass makes of products and a softmax."""
    query, key, value = (jnp.swapaxes(x, 1, 2) for x in (query, key, value))
    return jnp.swapaxes(_attend(query, key, value, mask, False, scale, lambda p: p), 1, 2)


@nn_op(name="flash_attention", save="residuals")
def _flash(query, key, value, causal, scale):
    return jax.nn.dot_product_attention(query, key, value, scale=scale, is_causal=causal, implementation="cudnn")


def _fast(query, key, value, mask, dropout):
    """Whether cuDNN's kernel, which keeps no table of scores, can compute this."""
    return (
        mask is None
        and not dropout
        and any(b in FAST for b in _allowed.backends)
        and query.place.is_gpu_place()
        and query.dtype.name in ("float16", "bfloat16")
        and query.dtype is key.dtype is value.dtype
        and query.ndim == key.ndim == value.ndim == 4
        and query.shape[3] == key.shape[3] == value.shape[3] <= 128
        and query.shape[3] % 8 == 0
        and key.shape[:3] == value.shape[:3]
        and query.shape[0] == key.shape[0]
        and 0 not in (*query.shape, *key.shape)
        and query.shape[2] % key.shape[2] == 0
    )


@nn_op(name="attention_dropout", random=True, scalars="scale p")
def _attention_dropout(seed, query, key, value, mask, causal, scale, p):
    return _attend(query, key, value, mask, causal, scale, _dropping(seed, p))


@nn_op(name="attention_dropout_and_weights", random=True, scalars="scale p")
def _attention_dropout_and_weights(seed, query, key, value, causal, scale, p):
    return _attend_and_weigh(query, key, value, None, causal, scale, _dropping(seed, p))


def _dropping(seed, p):
    def drop(weights):
        return jnp.where(keep(seed, weights.shape, None, p), weights / jnp.where(p < 1, 1 - p, 1), 0)

    return drop


@nn_api
def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    training=True,
    backend=None,
    scale=None,
    enable_gqa=True,
):
    """softmax(query key^T * scale + mask) value (Vaswani et al., 2017).

    Args:
        query: shape [batch, length, heads, width], or without batch.
        key, value: shape [batch, length of keys, heads, width]; fewer heads serve several heads of query each.
        attn_mask: broadcasts to [batch, heads, length, length of keys]; bool (True takes part) or floating (added).
        dropout_p: the probability of dropping a weight in training.
        is_causal: position i sees keys up to i.
        training: False turns dropout off.
        backend: accepted; on a GPU cuDNN's kernel is used for 16-bit types without mask and dropout.
        scale: default 1 / sqrt(width).
        enable_gqa: accepted; fewer key heads always work.

    Returns:
        The shape of query with the width of value; 0 where a position may see no key.

    Raises:
        ValueError: shapes that do not fit, dropout_p out of range.

    Example:
        >>> x = paddle.ones([1, 2, 1, 4])
        >>> paddle.nn.functional.scaled_dot_product_attention(x, x, x).shape
        [1, 2, 1, 4]
    """
    if not 0 <= dropout_p <= 1:
        raise errors.ValueError_(f"scaled_dot_product_attention: dropout_p must be between 0 and 1, got {dropout_p}")
    alone = query.ndim == 3
    if alone:
        query, key, value = (t.unsqueeze(0) for t in (query, key, value))
    scale = float(query.shape[-1]) ** -0.5 if scale is None else scale
    if _fast(query, key, value, attn_mask, dropout_p if training else 0):
        out = _flash(query, key, value, bool(is_causal), float(scale))
        return out.squeeze(0) if alone else out
    if SDPBackend.MATH not in _allowed.backends:
        raise errors.RuntimeError_(
            "scaled_dot_product_attention: there is no backend for these arguments among "
            f"{', '.join(b.name for b in _allowed.backends)}; the others need a GPU, 16 bits, and no mask or dropout"
        )
    if dropout_p and training:
        out = _attention_dropout(query, key, value, attn_mask, bool(is_causal), scale, dropout_p)
    else:
        out = _attention(query, key, value, attn_mask, bool(is_causal), scale)
    return out.squeeze(0) if alone else out


@nn_api(export=False)
def flash_attention(
    query,
    key,
    value,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    *,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    softmax_scale=None,
):
    """`scaled_dot_product_attention` under its other official name.

    Args:
        query, key, value: shape [batch, length, heads, width].
        dropout, causal, training, softmax_scale: dropout_p, is_causal, training and scale there.
        fixed_seed_offset, rng_name: accepted and without effect.

    Returns:
        (the result, None), or with return_softmax the probabilities [batch, heads, length, length of keys] in place of None.

    Example:
        >>> x = paddle.ones([1, 2, 1, 4])
        >>> paddle.nn.functional.flash_attention.flash_attention(x, x, x)[0].shape
        [1, 2, 1, 4]
    """
    if return_softmax:
        scale = float(query.shape[-1]) ** -0.5 if softmax_scale is None else softmax_scale
        if not 0 <= dropout <= 1:
            raise errors.ValueError_(f"flash_attention: dropout must be between 0 and 1, got {dropout}")
        if dropout and training:
            return _attention_dropout_and_weights(query, key, value, bool(causal), scale, dropout)
        return _attention_and_weights(query, key, value, bool(causal), scale)
    return scaled_dot_product_attention(query, key, value, None, dropout, causal, training, None, softmax_scale), None


@nn_api
def flash_attn_qkvpacked(
    qkv, dropout=0.0, causal=False, return_softmax=False, *, fixed_seed_offset=None, rng_name="", training=True
):
    """`flash_attention` of query, key and value in one tensor.

    Args:
        qkv: shape [batch, length, groups + 2, heads, width]: groups of query heads, then key, then value.
        dropout, causal, return_softmax, fixed_seed_offset, rng_name, training: as there.

    Returns:
        (the result of shape [batch, length, groups * heads, width], None or the probabilities as there).

    Raises:
        ValueError: qkv is not 5-D or holds no query.

    Example:
        >>> paddle.nn.functional.flash_attn_qkvpacked(paddle.ones([1, 2, 3, 1, 4]))[0].shape
        [1, 2, 1, 4]
    """
    shape = list(qkv.shape)
    if len(shape) != 5 or shape[2] < 3:
        raise errors.ValueError_(
            f"flash_attn_qkvpacked: qkv must have shape [batch, length, groups + 2, heads, width], got {shape}"
        )
    query = qkv[:, :, :-2].reshape([shape[0], shape[1], (shape[2] - 2) * shape[3], shape[4]])
    return flash_attention(query, qkv[:, :, -2], qkv[:, :, -1], dropout, causal, return_softmax, training=training)


@contextlib.contextmanager
def sdp_kernel(enable_math=False, enable_flash=True, enable_mem_efficient=True):
    """Accepted for compatibility; see `paddle.nn.attention.sdpa_kernel`."""
    yield
