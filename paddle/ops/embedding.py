"""Layers of weights without structure: linear and bilinear maps, lookup tables."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.deferred import settled
from ..engine.modes import modes, set_mode
from ..engine.op import api, op
from ..engine.promotion import same_type
from ..engine.row_sparse import RowSparse
from ..engine.tape import Node
from ..engine.tensor import Tensor, _make
from . import contraction
from .checks import check_ids

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


@nn_op
def linear(x, weight, bias=None):
    """x @ weight + bias.

    Args:
        x: shape [..., in_features].
        weight: shape [in_features, out_features] (not transposed); batches of them broadcast as in `matmul`.
        bias: shape [out_features], or None.

    Raises:
        ValueError: shapes that do not fit.
        TypeError: different types.

    Example:
        >>> paddle.nn.functional.linear(paddle.ones([1, 2]), paddle.ones([2, 3])).tolist()
        [[2.0, 2.0, 2.0]]
    """
    same_type("linear", x, weight)
    if x.ndim == 0 or weight.ndim == 0 or x.shape[-1] != weight.shape[max(weight.ndim - 2, 0)]:
        raise errors.ValueError_(
            f"linear: the last axis of x, of shape {list(x.shape)}, does not fit the weight of "
            f"shape {list(weight.shape)}"
        )
    out = contraction.matmul(x, weight)
    if bias is None:
        return out
    same_type("linear", x, bias)
    if bias.ndim > out.ndim or any(b not in (1, n) for b, n in zip(bias.shape[::-1], out.shape[::-1])):
        raise errors.ValueError_(
            f"linear: the bias of shape {list(bias.shape)} does not fit {weight.shape[-1]} output features"
        )
    return out + bias


@nn_op
def bilinear(x1, x2, weight, bias=None):
    """x1 @ weight[k] @ x2 for each output feature k, plus bias.

    Args:
        x1: shape [batch, in1].
        x2: shape [batch, in2].
        weight: shape [out, in1, in2].
        bias: shape [1, out], or None.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.nn.functional.bilinear(paddle.ones([1, 2]), paddle.ones([1, 3]), paddle.ones([1, 2, 3])).tolist()
        [[6.0]]
    """
    ranks = (x1.ndim, x2.ndim, weight.ndim)
    if ranks != (2, 2, 3) or x1.shape[0] != x2.shape[0] or weight.shape[1:] != (x1.shape[1], x2.shape[1]):
        raise errors.ValueError_(
            "bilinear: shapes [batch, in1], [batch, in2], [out, in1, in2] are required, got "
            f"{list(x1.shape)}, {list(x2.shape)}, {list(weight.shape)}"
        )
    out = jnp.einsum("bi,kij,bj->bk", x1, weight, x2)
    if bias is None:
        return out
    if bias.shape not in ((weight.shape[0],), (1, weight.shape[0])):
        raise errors.ValueError_(f"bilinear: the bias must have shape [1, {weight.shape[0]}], got {list(bias.shape)}")
    return out + bias


def _rows(weight, x):
    """Rows of a table; where nobody could look at the numbers before, one out of range gives NaN."""
    return weight.at[x].get(
        mode="fill",
        fill_value=jnp.nan if jnp.issubdtype(weight.dtype, jnp.inexact) else None,
        wrap_negative_indices=False,
    )


@nn_op(export=False, name="embedding")
def _embedding(x, weight, padding_idx, by_frequency):
    if by_frequency:
        counts = jnp.zeros(weight.shape[0], np.int32).at[x].add(1)
        share = (1 / counts[x]).astype(weight.dtype)[..., None]
        rows = _rows(weight, x)
        rows = jax.lax.stop_gradient(rows) + (rows - jax.lax.stop_gradient(rows)) * share
    else:
        rows = _rows(weight, x)
    if padding_idx is not None:
        rows = jnp.where((x == padding_idx)[..., None], 0, rows)
    return rows


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _row_gradient(x, cotangent, height, padding_idx, dtype):
    rows = x.reshape(-1)
    values = cotangent.reshape(len(rows), cotangent.shape[-1]).astype(dtype)
    if padding_idx is not None:
        values = jnp.where((rows == padding_idx)[:, None], 0, values)
    return RowSparse(rows, values, height)


@nn_op(export=False, name="embedding_gradient")
def _table_gradient(x, weight, cotangent, padding_idx):
    return _row_gradient(x, cotangent, weight.shape[0], padding_idx, weight.dtype).dense()


class RowLookup(Node):
    """A lookup whose gradient is row-sparse. Its edge leads to a leaf, the only node that takes such a gradient."""

    __slots__ = ("x", "weight", "padding_idx")
    name = "embedding"

    def __init__(self, x: Tensor, weight: Tensor, padding_idx: int | None):
        super().__init__(((weight._node, weight._index, True),))
        self.x, self.weight, self.padding_idx = x.detach(), weight.detach(), padding_idx

    def run(self, cotangents, record, live_only):
        if record is not None:
            return [_table_gradient(self.x, self.weight, cotangents[0], self.padding_idx)]
        table = self.weight._value
        return [_row_gradient(self.x._value, settled(cotangents[0]), table.shape[0], self.padding_idx, table.dtype)]


def _sparse_embedding(x, weight, padding_idx):
    with set_mode(grad=False):
        rows = _embedding(x, weight, padding_idx, False)
    return _make(rows._value, RowLookup(x, weight, padding_idx), 0, False)


@nn_op(export=False, differentiable=False, name="embedding_renorm", scalars="max_norm norm_type")
def _renorm(x, weight, max_norm, norm_type):
    used = jnp.zeros(weight.shape[0], bool).at[x.reshape(-1)].set(True)
    norm = jnp.sum(jnp.abs(weight) ** norm_type, -1) ** (1 / norm_type)
    scale = jnp.where(used & (norm > max_norm), max_norm / (norm + 1e-7), 1)
    return weight * scale[:, None].astype(weight.dtype)


@nn_api
def embedding_renorm_(x, weight, max_norm, norm_type=2.0):
    """Scale the rows of `weight` that x names down to the norm `max_norm`, in place; returns weight."""
    with set_mode(grad=False):
        return weight._rebind(_renorm(x, weight, max_norm, norm_type))


@nn_api
def embedding(x, weight, padding_idx=None, max_norm=None, norm_type=2.0, sparse=False, scale_grad_by_freq=False):
    """Rows of a table.

    Args:
        x: row numbers, int32 or int64, any shape.
        weight: the table, shape [rows, width].
        padding_idx: a row that counts as zeros and gets no gradient; negative from the end.
        max_norm: first scale the rows used down to this norm, in place.
        norm_type: the p of that norm.
        sparse: the gradient of the table holds only the rows that were used (`Tensor.is_selected_rows`), and optimizers
            work on those. Where the table is no leaf, in a program and in
            recomputation the gradient is dense all the same.
        scale_grad_by_freq: divide the gradient of a row by how often it occurs in x.

    Returns:
        shape x.shape + [width].

    Raises:
        IndexError: a row number out of range.
        TypeError: x is not int32 or int64.
        ValueError: padding_idx out of range, a weight that is not 2-D.
        AttributeError: `sparse` together with `scale_grad_by_freq`.

    Example:
        >>> paddle.nn.functional.embedding(paddle.to_tensor([1]), paddle.ones([3, 2])).tolist()
        [[1.0, 1.0]]
    """
    if x.dtype.name not in ("int32", "int64"):
        raise errors.TypeError_(f"embedding: x must be int32 or int64, got {x.dtype.name}")
    if weight.ndim != 2:
        raise errors.ValueError_(f"embedding: weight must be 2-D, got shape {list(weight.shape)}")
    if sparse and scale_grad_by_freq:
        raise AttributeError(
            "(InvalidArgument) embedding: sparse=True does not go together with scale_grad_by_freq=True"
        )
    n = weight._raw.shape[0]
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise errors.ValueError_(f"embedding: padding_idx must be in [{-n}, {n}), got {padding_idx}")
        padding_idx = int(padding_idx) % n
    check_ids("embedding", x, n)
    if max_norm is not None:
        embedding_renorm_(x, weight, max_norm, norm_type)
    if sparse and modes.grad and weight._is_live_leaf() and modes.program is None and modes.segment is None:
        return _sparse_embedding(x, weight, padding_idx)
    return _embedding(x, weight, padding_idx, bool(scale_grad_by_freq))
