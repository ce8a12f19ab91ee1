"""Other shapes of sparse tensors: reshaping, transposing, slicing, and sums over dimensions."""

from __future__ import annotations

import builtins
import math as _math
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api
from ..engine.tensor import Tensor
from ..ops.manipulation import ints_of, tensor_of
from ..ops.reduction import sum as dense_sum
from ..ops.segment import segment_reduce
from .creation import as_csr, sparse_of
from .pattern import Coo, flat_keys, index_tensor, unique_columns
from .tensor import SparseTensor
from .values import gather_values, take_rows


def _axis(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise errors.ValueError_(f"{name}: axis {axis} is out of range, x has {ndim} dimensions")
    return axis % ndim


def _in_layout_of(x: SparseTensor, out: SparseTensor) -> SparseTensor:
    return as_csr(out) if x.is_sparse_csr() else out


def _coo(shape: Any, coords: np.ndarray, values: Tensor, x: SparseTensor, coalesced: bool = False) -> SparseTensor:
    """A tensor with the index type and the layout of x."""
    pattern = Coo(shape, index_tensor(coords.astype(x._pattern.index_dtype.numpy)), coalesced)
    return _in_layout_of(x, SparseTensor(pattern, values))


@api(method=False, export=False)
def reshape(x, shape):
    """The same stored values in another shape.

    Args:
        shape: ints; one may be -1, and 0 keeps a length. Dense dimensions stay.

    Raises:
        ValueError: another number of elements.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.reshape(x, [4]).indices().tolist()
        [[1, 2]]
    """
    x = sparse_of("reshape", x)
    old, k = x._pattern.shape, x._pattern.sparse_dim
    wanted = ints_of("reshape", shape, "shape")
    new = [old[i] if n == 0 and i < len(old) else n for i, n in enumerate(wanted)]
    if new.count(-1) == 1:
        rest = _math.prod(n for n in new if n != -1)
        new[new.index(-1)] = _math.prod(old) // rest if rest else 0
    dense = list(old[k:])
    if any(n < 0 for n in new) or _math.prod(new) != _math.prod(old) or dense and new[len(new) - len(dense) :] != dense:
        keep = f", and its dense dimensions {dense} stay" if dense else ""
        raise errors.ValueError_(f"reshape: shape {list(wanted)} does not fit x of shape {list(old)}{keep}")
    keys = flat_keys(x._pattern.coords, old)
    if keys is None:
        raise errors.ValueError_(f"reshape: shape {list(old)} has too many places to number them")
    sparse = new[: len(new) - len(dense)]
    coords = np.empty((len(sparse), len(keys)), np.int64)
    for i in range(len(sparse) - 1, -1, -1):
        keys, coords[i] = np.divmod(keys, max(sparse[i], 1))
    return _coo(new, coords, x._values, x, getattr(x._pattern, "coalesced", False))


@api(method=False, export=False)
def transpose(x, perm):
    """The dimensions of x in another order.

    Args:
        perm: the dimensions in their new order, each once; sparse ones stay before dense ones.

    Raises:
        ValueError: `perm` is no such order.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.transpose(x, [1, 0]).values().tolist()
        [1.0, 2.0]
    """
    x = sparse_of("transpose", x)
    k = x._pattern.sparse_dim
    given = ints_of("transpose", perm, "perm")
    perm = [_axis("transpose", p, x.ndim) for p in given]
    if sorted(perm) != list(range(x.ndim)) or sorted(perm[:k]) != list(range(k)):
        raise errors.ValueError_(
            f"transpose: perm must name each of {x.ndim} dimensions once, the first {k} sparse "
            f"ones first, got {list(given)}"
        )
    values = x._values
    if perm[k:] != list(range(k, x.ndim)):
        values = values.transpose([0, *(p - k + 1 for p in perm[k:])])
    return _coo([x.shape[p] for p in perm], x._pattern.coords[perm[:k]], values, x)


@api(method=False, export=False)
def slice(x, axes, starts, ends):
    """A part of x along some axes, as in `paddle.slice`.

    Args:
        axes: the axes to cut.
        starts, ends: for each of them the first index and the one after the last; negative ones count from the end.

    Raises:
        ValueError: an axis out of range, or lists of different lengths.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.slice(x, [0], [1], [2]).to_dense().tolist()
        [[2.0, 0.0]]
    """
    x = sparse_of("slice", x)
    axes, starts, ends = (ints_of("slice", v, a) for v, a in ((axes, "axes"), (starts, "starts"), (ends, "ends")))
    if not len(axes) == len(starts) == len(ends):
        raise errors.ValueError_(f"slice: {len(axes)} axes, {len(starts)} starts and {len(ends)} ends")
    shape, k, coords, values = list(x.shape), x._pattern.sparse_dim, x._pattern.coords, x._values
    inside, shift, cut = (
        np.ones(coords.shape[1], bool),
        np.zeros((k, 1), np.int64),
        [builtins.slice(None)] * (x.ndim - k),
    )
    for axis, start, end in zip(axes, starts, ends):
        axis = _axis("slice", axis, x.ndim)
        n = x.shape[axis]
        start, end = (min(max(i + n if i < 0 else i, 0), n) for i in (start, end))
        end = max(start, end)
        shape[axis] = end - start
        if axis < k:
            inside &= (start <= coords[axis]) & (coords[axis] < end)
            shift[axis] = start
        else:
            cut[axis - k] = builtins.slice(start, end)
    if not inside.all():
        values = take_rows(values, index_tensor(np.flatnonzero(inside)))
    if cut:
        values = values[(builtins.slice(None), *cut)]
    return _coo(shape, coords[:, inside] - shift, values, x, getattr(x._pattern, "coalesced", False))


@api(method=False, export=False)
def sum(x, axis=None, dtype=None, keepdim=False):
    """The sum over some or all dimensions, a sparse tensor.

    Args:
        axis: an int, a list, or None for all dimensions. A CSR tensor is summed over its last axis, which is kept, or
            over all.
        dtype: of the result; by default bool and int32 give int64.
        keepdim: keep the dimensions, with length 1.

    Returns:
        Shape [1] where nothing remains ([1, 1] for CSR).

    Raises:
        ValueError: an axis out of range.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 1]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.sum(x, axis=0).to_dense().tolist()
        [0.0, 3.0]
    """
    x = sparse_of("sum", x)
    axes = [] if axis is None else [axis] if isinstance(axis, int) else list(ints_of("sum", axis, "axis"))
    axes = sorted({_axis("sum", a, x.ndim) for a in axes}) or list(range(x.ndim))
    csr = x.is_sparse_csr()
    if csr and axes not in (list(range(x.ndim)), [x.ndim - 1]):
        raise errors.NotImplemented_(
            f"sum: a CSR tensor is summed over its last axis or over all, got axis={axis!r}; "
            "convert it with to_sparse_coo"
        )
    pattern, values, k = x._pattern, x._values, x._pattern.sparse_dim
    kind = to_dtype(dtype) if dtype is not None else to_dtype("int64") if x.dtype.name in ("bool", "int32") else x.dtype
    if values.dtype is not kind:
        values = values.astype(kind)
    within = [a - k + 1 for a in axes if a >= k]
    if within:
        values = dense_sum(values, axis=within, keepdim=keepdim)
    kept = [a for a in range(k) if a not in axes]
    coords, shape = pattern.coords, list(pattern.shape[:k])
    if len(kept) < k:
        found, numbers = (
            unique_columns(coords[kept], [shape[a] for a in kept])
            if kept
            else (np.zeros((0, 1), np.int64), np.zeros(pattern.nnz, np.int64))
        )
        values = segment_reduce(values, index_tensor(numbers), found.shape[1], "sum")
        coords = np.zeros((k, found.shape[1]), np.int64)
        coords[kept] = found
        at_least = range(k - (2 if csr else 1), k)
        stay = list(range(k)) if keepdim or csr and kept else kept or list(at_least)
        coords, shape = coords[stay], [1 if a in axes else shape[a] for a in stay]
    return _coo([*shape, *values.shape[1:]], coords, values, x, len(kept) < k)


@api(method=False)
def mask_as(x, mask):
    """The elements of a dense tensor at the places that a sparse mask stores.

    Args:
        x: dense, of the shape of `mask`.
        mask: sparse, COO or CSR; its values do not matter.

    Returns:
        A sparse tensor with the pattern of `mask`.

    Raises:
        ValueError: different shapes.

    Example:
        >>> mask = paddle.sparse.sparse_coo_tensor([[0], [1]], [1.0], [1, 2])
        >>> paddle.sparse.mask_as(paddle.to_tensor([[5.0, 6.0]]), mask).values().tolist()
        [6.0]
    """
    x, mask = tensor_of("mask_as", x), sparse_of("mask_as", mask, "mask")
    if list(x.shape) != list(mask.shape):
        raise errors.ValueError_(f"mask_as: x of shape {list(x.shape)} must have the shape of mask, {list(mask.shape)}")
    return mask.like(gather_values(x, mask._pattern.where))


@api(method=False, export=False)
def is_same_shape(x, y):
    """Whether two tensors, sparse or dense, have one shape.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [1.0], [2])
        >>> paddle.sparse.is_same_shape(x, paddle.ones([2]))
        True
    """
    return list(tensor_of("is_same_shape", x).shape) == list(tensor_of("is_same_shape", y, "y").shape)


for method in (reshape, transpose, sum, is_same_shape):
    setattr(SparseTensor, method.__name__, method)
