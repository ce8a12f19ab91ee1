"""Attention over sequences of which each process has a part.

Ring attention: the keys and values travel around the processes, one block at a time, and each process combines what its
queries see (Liu et al., "Ring Attention with Blockwise Transformers", 2023). Ulysses: an all-to-all turns parts of the
sequence with all heads into the whole sequence with a part of the heads, and back (Jacobs et al., "DeepSpeed Ulysses", 2023).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from ..engine import errors
from ..engine.dispatch import dispatch
from ..engine.executable import Kernel
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT
from ..nn.functional import scaled_dot_product_attention
from ..ops.joining import concat
from .communication.collectives import tensor_in
from .communication.group import Group, group_of
from .communication.mesh import check_agreement

__all__ = ["ring_attention", "sequence_positions", "split_sequence", "ulysses_attention"]

_AXIS = "ranks"


# ---- inside of the computation over all processes ----
def _chunks(rank: Any, n: int, balanced: bool) -> list:
    """The numbers of the pieces of the sequence that a process has, in order."""
    return [rank, 2 * n - 1 - rank] if balanced else [rank]


def _each_pair(
    body: Callable, carry: Any, rank: Any, source: Any, n: int, length: int, causal: bool, balanced: bool
) -> Any:
    """`body(carry, rows, columns, mask)` for all pieces of queries and of the keys of process `source` that see each other."""
    queries, keys = _chunks(rank, n, balanced), _chunks(source, n, balanced)
    size = length // len(queries)
    below = jnp.tril(jnp.ones((size, size), bool)) if causal else None
    for i, q in enumerate(queries):
        for j, k in enumerate(keys):
            rows, columns = slice(i * size, (i + 1) * size), slice(j * size, (j + 1) * size)
            if not causal:
                carry = body(carry, rows, columns, None)
                continue
            seen = below | (k < q)
            carry = lax.cond(k <= q, lambda c, s=seen, r=rows, o=columns: body(c, r, o, s), lambda c: c, carry)
    return carry


def _turn(values: tuple, n: int) -> tuple:
    """Every process gives its values to the next one."""
    if n == 1:
        return values
    return tuple(lax.ppermute(v, _AXIS, [(i, (i + 1) % n) for i in range(n)]) for v in values)


def _grouped(q: Any, heads: int) -> Any:
    """[batch, length, heads, width] -> [batch, length, heads of the keys, queries of each, width], in at least float32."""
    wide = q.astype(jnp.promote_types(q.dtype, jnp.float32))
    return wide.reshape(*q.shape[:2], heads, q.shape[2] // heads, q.shape[3])


def _ring_attention(q: Any, k: Any, v: Any, n: int, causal: bool, balanced: bool, scale: float) -> tuple:
    """(the result, the logarithms of the sums of the exponentials)"""
    rank = lax.axis_index(_AXIS)
    wide = _grouped(q, k.shape[2]) * scale
    batch, length, heads, each, _ = wide.shape

    def step(i, carry):
        keys, values, state = carry
        source = (rank - i) % n

        def pair(state, rows, columns, mask):
            most, total, out = state
            scores = jnp.einsum("blkgd,bmkd->bkglm", wide[:, rows], keys[:, columns].astype(wide.dtype))
            if mask is not None:
                scores = jnp.where(mask, scores, -jnp.inf)
            before = most[..., rows]
            highest = jnp.maximum(before, scores.max(-1))
            weights = jnp.exp(scores - highest[..., None])
            shrink = jnp.exp(before - highest)
            new = jnp.einsum("bkglm,bmkd->bkgld", weights, values[:, columns].astype(wide.dtype))
            return (
                most.at[..., rows].set(highest),
                total.at[..., rows].set(total[..., rows] * shrink + weights.sum(-1)),
                out.at[..., rows, :].set(out[..., rows, :] * shrink[..., None] + new),
            )

        return keys, values, _each_pair(pair, state, rank, source, n, length, causal, balanced)

    def step_and_turn(i, carry):
        keys, values, state = step(i, carry)
        return *_turn((keys, values), n), state

    shape = (batch, heads, each, length)
    state = (
        jnp.full(shape, -jnp.inf, wide.dtype),
        jnp.zeros(shape, wide.dtype),
        jnp.zeros((*shape, v.shape[3]), wide.dtype),
    )
    carry = lax.fori_loop(0, n - 1, step_and_turn, (k, v, state))  # the first block is the own: no row stays empty
    _, _, (most, total, out) = step(n - 1, carry)
    out = (out / total[..., None]).transpose(0, 3, 1, 2, 4).reshape(batch, length, heads * each, v.shape[3])
    return out.astype(q.dtype), most + jnp.log(total)


def _ring_attention_gradient(
    q: Any, k: Any, v: Any, out: Any, logs: Any, given: Any, n: int, causal: bool, balanced: bool, scale: float
) -> tuple:
    """The gradients of queries, keys and values; those of keys and values travel with them."""
    rank = lax.axis_index(_AXIS)
    wide, given, out = (_grouped(x, k.shape[2]) for x in (q, given, out))
    length, kind = wide.shape[1], wide.dtype
    inner = (given * out).sum(-1).transpose(0, 2, 3, 1)

    def step(i, carry):
        keys, values, to_keys, to_values, to_queries = carry
        source = (rank - i) % n

        def pair(state, rows, columns, mask):
            dk, dv, dq = state
            some_k, some_v = keys[:, columns].astype(kind), values[:, columns].astype(kind)
            some_q, some_g = wide[:, rows], given[:, rows]
            scores = jnp.einsum("blkgd,bmkd->bkglm", some_q, some_k) * scale
            weights = jnp.exp(scores - logs[..., rows, None])
            if mask is not None:
                weights = jnp.where(mask, weights, 0)
            slopes = jnp.einsum("blkgd,bmkd->bkglm", some_g, some_v) - inner[..., rows, None]
            slopes = weights * slopes * scale
            dv = dv.at[:, columns].add(jnp.einsum("bkglm,blkgd->bmkd", weights, some_g))
            dk = dk.at[:, columns].add(jnp.einsum("bkglm,blkgd->bmkd", slopes, some_q))
            dq = dq.at[:, rows].add(jnp.einsum("bkglm,bmkd->blkgd", slopes, some_k))
            return dk, dv, dq

        state = to_keys, to_values, to_queries
        dk, dv, dq = _each_pair(pair, state, rank, source, n, length, causal, balanced)
        return *_turn((keys, values, dk, dv), n), dq

    zeros = jnp.zeros(k.shape, kind), jnp.zeros(v.shape, kind), jnp.zeros(wide.shape, kind)
    _, _, dk, dv, dq = lax.fori_loop(0, n, step, (k, v, *zeros))
    return dq.reshape(q.shape).astype(q.dtype), dk.astype(k.dtype), dv.astype(v.dtype)


@functools.cache
def _ring(mesh: Mesh, causal: bool, balanced: bool, scale: float) -> Kernel:
    """The operator. The backward computes the weights again from the logarithms of their sums."""
    settings = mesh.size, causal, balanced, scale

    @jax.custom_vjp
    def ring_attention(q: Any, k: Any, v: Any) -> Any:
        return _ring_attention(q, k, v, *settings)[0]

    def forward(q: Any, k: Any, v: Any) -> tuple:
        out, logs = _ring_attention(q, k, v, *settings)
        return out, (q, k, v, out, logs)

    def backward(saved: tuple, given: Any) -> tuple:
        return _ring_attention_gradient(*saved, given, *settings)

    ring_attention.defvjp(forward, backward)
    return Kernel(ring_attention, "ring_attention", ("", "", ""), save="residuals", mesh=mesh)


@functools.cache
def _swap(mesh: Mesh, there: bool) -> Kernel:
    """The operator that turns parts of the sequence into parts of the heads, or the other way round."""
    axes = (2, 1) if there else (1, 2)
    return Kernel(lambda x: lax.all_to_all(x, _AXIS, *axes, tiled=True), "swap_heads_and_sequence", ("",), mesh=mesh)


def _check(function: str, query: Tensor, key: Tensor, value: Tensor, group: Group | None) -> Group:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor) or not isinstance(tensor._raw, ABSTRACT):
            tensor_in(tensor, function, name)
        if tensor.ndim != 4 or not tensor.is_floating_point():
            raise errors.ValueError_(
                f"{function}: {name} must be floating point numbers [batch, length, heads, width], got "
                f"{errors.describe(tensor)}"
            )
    q, k, v = query.shape, key.shape, value.shape
    if (
        k[:3] != v[:3]
        or q[:2] != k[:2]
        or q[3] != k[3]
        or not k[2]
        or q[2] % k[2]
        or not q[1]
        or not query.dtype is key.dtype is value.dtype
    ):
        raise errors.ValueError_(
            f"{function}: query, key and value must have one dtype, batch and length, key and value as many heads, of which "
            f"those of query are a multiple, and query the width of key; got {errors.describe(query)}, "
            f"{errors.describe(key)} and {errors.describe(value)}"
        )
    found = context_group(group, function)
    if found.rank < 0:
        raise errors.ValueError_(f"{function}: this process is not a member of the group {found}")
    check_agreement(found, function, *map(errors.describe, (query, key, value)))
    return found


def context_group(group: Group | None, function: str) -> Group:
    """The group given; otherwise the axis "sep" or "context" of fleet that has several processes, or all processes."""
    if group is None:
        from . import fleet

        groups = getattr(fleet.fleet, "_hcg", None)
        for axis in ("sep", "context") if groups is not None else ():
            along = getattr(groups, f"get_{axis}_parallel_group")()
            if along.nranks > 1:
                return along
    return group_of(group, function)


@errors.clean
def ring_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    group: Group | None = None,
    causal: bool = False,
    balanced: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Attention over a sequence of which each process of a group has a part: exactly that over the whole sequence. A process
    holds one block of keys and values and one of scores, length of the part by length of the part, at a time.

    Args:
        query: [batch, length of the part, heads, width]; process r has the r-th part (see `balanced`).
        key, value: the same, with as many heads or a divisor of that.
        group: the processes; by default those along the axis "sep" or "context" of fleet, or all.
        causal: a token sees itself and those before it.
        balanced: of 2 * processes pieces of the sequence, process r has numbers r and the r-th from the end, so that with
            `causal` all have as much to do (`split_sequence` and `sequence_positions` know this order).
        scale: of the scores, by default 1 / sqrt(width).

    Returns:
        The part of the result, as `query`.

    Raises:
        ValueError: shapes or types that do not fit.

    Example:
        >>> _ = paddle.distributed.init_parallel_env()
        >>> x = paddle.ones([1, 4, 2, 8])
        >>> paddle.distributed.ring_attention(x, x, x, causal=True).shape
        [1, 4, 2, 8]
    """
    found = _check("ring_attention", query, key, value, group)
    balanced = bool(balanced and causal)  # in which order the parts are matters only then
    if balanced and query.shape[1] % 2:
        raise errors.ValueError_(
            f"ring_attention: with balanced the length of a part must be even, got {query.shape[1]}"
        )
    scale = 1 / math.sqrt(query.shape[3]) if scale is None else float(scale)
    return dispatch(_ring(found.mesh, bool(causal), balanced, scale), (query, key, value))


@errors.clean
def ulysses_attention(
    query: Tensor, key: Tensor, value: Tensor, group: Group | None = None, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """Attention over a sequence of which each process of a group has a part: exactly that over the whole sequence, each process
    for a part of the heads.

    Args:
        query: [batch, length of the part, heads, width]; process r has the r-th part.
        key, value: the same, with as many heads or a divisor of that. The processes have to divide the heads of all three.
        group: the processes; by default those along the axis "sep" or "context" of fleet, or all.
        causal: a token sees itself and those before it.
        dropout: the probability that a weight is dropped.

    Returns:
        The part of the result, as `query`.

    Raises:
        ValueError: shapes or types that do not fit, heads that do not divide.

    Example:
        >>> _ = paddle.distributed.init_parallel_env()
        >>> x = paddle.ones([1, 4, 2, 8])
        >>> paddle.distributed.ulysses_attention(x, x, x).shape
        [1, 4, 2, 8]
    """
    found = _check("ulysses_attention", query, key, value, group)
    if key.shape[2] % found.nranks:
        raise errors.ValueError_(
            f"ulysses_attention: the {found.nranks} processes must divide the heads, got {query.shape[2]} of query and "
            f"{key.shape[2]} of key"
        )
    whole = [dispatch(_swap(found.mesh, True), (t,)) for t in (query, key, value)]
    out = scaled_dot_product_attention(*whole, dropout_p=dropout, is_causal=bool(causal))
    return dispatch(_swap(found.mesh, False), (out,))


@errors.clean
def sequence_positions(length: int, group: Group | None = None, balanced: bool = False) -> Tensor:
    """Where in a sequence of `length` tokens those of this process are, int64 [length / processes]: for the embeddings of
    positions.

    Raises:
        ValueError: the processes (twice as many with `balanced`) do not divide the length.

    Example:
        >>> _ = paddle.distributed.init_parallel_env()
        >>> paddle.distributed.context_parallel.sequence_positions(3).tolist()
        [0, 1, 2]
    """
    found = context_group(group, "sequence_positions")
    pieces = found.nranks * (2 if balanced else 1)
    if length % pieces:
        raise errors.ValueError_(f"sequence_positions: {pieces} pieces do not divide a length of {length}")
    size = length // pieces
    own = _chunks(found.rank, found.nranks, balanced)
    return Tensor(np.concatenate([np.arange(i * size, (i + 1) * size) for i in own]))


@errors.clean
def split_sequence(x: Tensor, group: Group | None = None, axis: int = 1, balanced: bool = False) -> Tensor:
    """This process's part of a sequence that all have.

    Args:
        x: the whole sequence.
        group: the processes; by default those along the axis "sep" or "context" of fleet, or all.
        axis: that of the tokens.
        balanced: two pieces, as for `ring_attention`.

    Raises:
        ValueError: the processes (twice as many with `balanced`) do not divide the length.
    """
    found = context_group(group, "split_sequence")
    pieces = found.nranks * (2 if balanced else 1)
    if not -x.ndim <= axis < x.ndim or x.shape[axis] % pieces:
        raise errors.ValueError_(
            f"split_sequence: {pieces} pieces must divide the axis {axis} of x, which has shape {list(x.shape)}"
        )
    parts = x.split(pieces, axis)
    own = [parts[i] for i in _chunks(found.rank, found.nranks, balanced)]
    return concat(own, axis) if len(own) > 1 else own[0]
