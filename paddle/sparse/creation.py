"""Making sparse tensors and converting them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api
from ..engine.place import parse_place
from ..engine.tensor import Tensor, _make
from ..ops.creation import assign, to_tensor
from ..ops.manipulation import tensor_of
from ..ops.scatter import concrete
from ..ops.segment import segment_reduce
from .pattern import Coo, Csr, csr_of, flat_keys, index_tensor, sorted_order, unique_columns
from .tensor import SparseTensor
from .values import gather_values, scatter_values, take_rows


def sparse_of(name: str, x: Any, argument: str = "x", layout: str = "") -> SparseTensor:
    """The argument when it is a sparse tensor (of a layout), a TypeError otherwise."""
    if not isinstance(x, SparseTensor) or layout and x._pattern.layout != layout:
        kind = f"sparse {layout.upper()} tensor" if layout else "sparse tensor"
        got = f"a sparse {x._pattern.layout} tensor" if isinstance(x, SparseTensor) else errors.describe(x)
        raise errors.TypeError_(f"{name}: {argument} must be a {kind}, got {got}")
    return x


def _index(name: str, value: Any, argument: str) -> Tensor:
    """An index argument as a tensor of its own; integers narrower than int32 become int64."""
    array = concrete(name, value) if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype.kind not in "iu":
        raise errors.TypeError_(f"{name}: {argument} must be integers, got {array.dtype.name}")
    if array.dtype.name not in ("int32", "int64"):
        return index_tensor(array.astype(np.int64))
    return _make(value._value) if isinstance(value, Tensor) else index_tensor(array)


def _values(values: Any, dtype: Any, stop_gradient: bool) -> Tensor:
    """The values argument: on the tape when it is there and gradients are wanted, otherwise a leaf of its own."""
    if not isinstance(values, Tensor):
        values = to_tensor(values, dtype)
    elif stop_gradient or values.stop_gradient:
        values = _make(values._value)
    if dtype is not None and values.dtype is not to_dtype(dtype):
        values = values.astype(dtype)
    if values.stop_gradient:
        values.stop_gradient = stop_gradient
        return values
    return assign(values)


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    shape = tuple(int(n) for n in (shape.tolist() if isinstance(shape, Tensor) else shape))
    if any(n < 0 for n in shape):
        raise errors.ValueError_(f"{name}: the lengths of a shape cannot be negative, got {list(shape)}")
    return shape


@api(method=False)
def sparse_coo_tensor(indices, values, shape=None, dtype=None, place=None, stop_gradient=True):
    """A sparse tensor from the coordinates of its values (layout COO).

    Args:
        indices: shape [sparse dimensions, n], integers: column k is the position of value k. A position may occur more
            than once: its values add up.
        values: shape [n], or [n, ...] when the last dimensions are dense.
        shape: the shape, default the smallest that holds all positions.
        dtype: of the values, default theirs.
        place: where they shall lie, default where they lie or the current device.
        stop_gradient: False wants a gradient: for `values`, when they are a tensor that does, or else for the result.

    Raises:
        TypeError: indices that are no integers.
        ValueError: a position outside the shape, or lengths that do not fit.

    Example:
        >>> paddle.sparse.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, 2.0], [2, 3]).to_dense().tolist()
        [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    name = "sparse_coo_tensor"
    indices = _index(name, indices, "indices")
    if indices.ndim != 2:
        raise errors.ValueError_(f"{name}: indices must have shape [sparse dimensions, n], got {list(indices.shape)}")
    values = _values(values, dtype, stop_gradient)
    if values.ndim == 0 or values.shape[0] != indices.shape[1]:
        raise errors.ValueError_(
            f"{name}: {indices.shape[1]} positions do not fit values of shape {list(values.shape)}"
        )
    coords, dense = concrete(name, indices), values.shape[1:]
    if coords.size and coords.min() < 0:
        raise errors.ValueError_(f"{name}: an index cannot be negative, got {coords.min()}")
    if shape is None:
        if not coords.shape[1] and len(coords):
            raise errors.ValueError_(f"{name}: shape cannot be found without values, give it")
        shape = [*(coords.max(1) + 1), *dense]
    shape = _shape(name, shape)
    if len(shape) != len(coords) + len(dense):
        raise errors.ValueError_(
            f"{name}: shape {list(shape)} must have {len(coords)} sparse and {len(dense)} dense dimensions"
        )
    if list(shape[len(coords) :]) != list(dense):
        raise errors.ValueError_(
            f"{name}: the last dimensions of shape {list(shape)} must be those of the values, {list(dense)}"
        )
    if coords.size and (coords.max(1) >= shape[: len(coords)]).any():
        raise errors.ValueError_(
            f"{name}: shape {list(shape)} is too small, the largest position is {coords.max(1).tolist()}"
        )
    return _placed(SparseTensor(Coo(shape, indices), values), place)


def _placed(x: SparseTensor, place: Any) -> SparseTensor:
    return x if place is None else x._on(parse_place(place, "place"))


@api(method=False)
def sparse_csr_tensor(crows, cols, values, shape=None, dtype=None, place=None, stop_gradient=True):
    """A sparse matrix, or a batch of them, from compressed rows (layout CSR).

    Args:
        crows: shape [rows + 1] (for a batch [batch * (rows + 1)]): where the values of each row start, from 0.
        cols: shape [n]: the column of each value.
        values: shape [n].
        shape: [rows, columns] or [batch, rows, columns], default the smallest matrix that holds all positions.
        dtype: of the values, default theirs.
        place: where they shall lie, default where they lie or the current device.
        stop_gradient: as in `sparse_coo_tensor`.

    Raises:
        TypeError: crows or cols that are no integers.
        ValueError: rows that are not compressed rows, or lengths that do not fit.

    Example:
        >>> paddle.sparse.sparse_csr_tensor([0, 1, 2], [2, 0], [1.0, 2.0], [2, 3]).to_dense().tolist()
        [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    name = "sparse_csr_tensor"
    crows, cols = _index(name, crows, "crows"), _index(name, cols, "cols")
    values = _values(values, dtype, stop_gradient)
    if crows.ndim != 1 or cols.ndim != 1 or values.ndim != 1:
        raise errors.ValueError_(
            f"{name}: crows, cols and values must have one dimension, got shapes "
            f"{list(crows.shape)}, {list(cols.shape)}, {list(values.shape)}"
        )
    if cols.shape != values.shape:
        raise errors.ValueError_(f"{name}: {cols.shape[0]} columns for {values.shape[0]} values")
    starts, columns = concrete(name, crows), concrete(name, cols)
    shape = _shape(name, shape if shape is not None else [len(starts) - 1, int(columns.max(initial=-1)) + 1])
    if len(shape) not in (2, 3):
        raise errors.ValueError_(f"{name}: shape must have two or three dimensions, got {list(shape)}")
    batches, rows = math.prod(shape[:-2]), shape[-2]
    if len(starts) != batches * (rows + 1):
        raise errors.ValueError_(
            f"{name}: crows must have {batches * (rows + 1)} elements for shape {list(shape)}, got {len(starts)}"
        )
    starts = starts.reshape(batches, rows + 1)
    if (starts[:, 0] != 0).any() or (np.diff(starts) < 0).any() or starts[:, -1].sum() != len(columns):
        raise errors.ValueError_(f"{name}: crows must rise from 0 to the number of values, {len(columns)}")
    if len(columns) and not (0 <= columns.min() and columns.max() < shape[-1]):
        raise errors.ValueError_(
            f"{name}: the columns {columns.min()} to {columns.max()} do not fit shape {list(shape)}"
        )
    return _placed(SparseTensor(Csr(shape, crows, cols), values), place)


# ---- conversions ----


def to_dense(x: Tensor) -> Tensor:
    """The same tensor stored densely. Values at one position add up.

    Raises:
        TypeError: x is dense.

    Example:
        >>> paddle.sparse.sparse_coo_tensor([[1]], [5.0], [2]).to_dense().tolist()
        [0.0, 5.0]
    """
    x = sparse_of("to_dense", x)
    return scatter_values(x._values, x._pattern.where, x._pattern.shape)


def to_sparse_coo(x: Tensor, sparse_dim: int) -> SparseTensor:
    """A tensor in the layout COO. Of a dense tensor what is not zero is stored, of a CSR tensor what it stores.

    Args:
        sparse_dim: how many of the first dimensions are sparse; the others stay dense.

    Raises:
        ValueError: `sparse_dim` is not between 1 and the number of dimensions.

    Example:
        >>> paddle.to_tensor([[0.0, 2.0]]).to_sparse_coo(2).indices().tolist()
        [[0], [1]]
    """
    if isinstance(x, SparseTensor):
        return as_coo(x)
    x = tensor_of("to_sparse_coo", x)
    if isinstance(sparse_dim, bool) or not isinstance(sparse_dim, int) or not 1 <= sparse_dim <= x.ndim:
        raise errors.ValueError_(
            f"to_sparse_coo: sparse_dim must lie between 1 and {x.ndim}, the number of dimensions, got {sparse_dim!r}"
        )
    array = concrete("to_sparse_coo", x) != 0
    coords = np.stack(np.nonzero(array.any(tuple(range(sparse_dim, x.ndim)))))
    pattern = Coo(x.shape, index_tensor(coords.astype(np.int64)), True)
    return SparseTensor(pattern, gather_values(x, pattern.indices))


def to_sparse_csr(x: Tensor) -> SparseTensor:
    """A tensor of two or three dimensions in the layout CSR. Of a dense tensor what is not zero is stored.

    Raises:
        ValueError: another number of dimensions, or dense ones beside sparse ones.

    Example:
        >>> paddle.to_tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse_csr().crows().tolist()
        [0, 1, 2]
    """
    if not isinstance(x, SparseTensor):
        if tensor_of("to_sparse_csr", x).ndim not in (2, 3):
            raise errors.ValueError_(f"to_sparse_csr: x must have two or three dimensions, got shape {list(x.shape)}")
        return as_csr(to_sparse_coo(x, x.ndim))
    return as_csr(x)


def as_coo(x: SparseTensor) -> SparseTensor:
    pattern = x._pattern
    if isinstance(pattern, Coo):
        return x
    keys = flat_keys(pattern.coords, pattern.shape)
    indices = index_tensor(pattern.coords.astype(pattern.index_dtype.numpy))
    coo = Coo(pattern.shape, indices, keys is not None and bool((np.diff(keys) > 0).all()))
    coo._coords = pattern.coords
    return SparseTensor(coo, x._values)


def as_csr(x: SparseTensor) -> SparseTensor:
    pattern = x._pattern
    if isinstance(pattern, Csr):
        return x
    if pattern.sparse_dim != len(pattern.shape):
        raise errors.ValueError_(
            f"to_sparse_csr: the tensor has {len(pattern.shape) - pattern.sparse_dim} dense dimensions"
        )
    values, coords = x._values, pattern.coords
    if not pattern.coalesced:  # type: ignore[attr-defined]
        order = sorted_order(coords, pattern.shape)
        coords, values = coords[:, order], take_rows(values, index_tensor(order))
    return SparseTensor(csr_of(pattern.shape, coords, pattern.index_dtype.numpy), values)


@api(method=False)
def coalesce(x):
    """A COO tensor with every position stored once, in row-major order; values at one position are added.

    Raises:
        TypeError: x is no COO tensor.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], [2])
        >>> paddle.sparse.coalesce(x).values().tolist()
        [2.0, 4.0]
    """
    x = sparse_of("coalesce", x, layout="coo")
    pattern = x._pattern
    if pattern.coalesced:
        return x
    coords, numbers = unique_columns(pattern.coords, pattern.shape)
    values = segment_reduce(x._values, index_tensor(numbers), coords.shape[1], "sum")
    return SparseTensor(pattern.remade(pattern.shape, coords, True), values)


# ---- the parts ----


def indices(x: Tensor) -> Tensor:
    """The coordinates of the values of a COO tensor, [sparse dimensions, n]. TypeError for another tensor."""
    return _make(sparse_of("indices", x, layout="coo")._pattern.indices._value)


def crows(x: Tensor) -> Tensor:
    """Where the rows of a CSR tensor start. TypeError for another tensor."""
    return _make(sparse_of("crows", x, layout="csr")._pattern.crows._value)


def cols(x: Tensor) -> Tensor:
    """The columns of the values of a CSR tensor. TypeError for another tensor."""
    return _make(sparse_of("cols", x, layout="csr")._pattern.cols._value)


def values(x: Tensor) -> Tensor:
    """The stored values of a sparse tensor, a dense tensor. TypeError for a dense tensor."""
    return sparse_of("values", x)._values


def nnz(x: Tensor) -> int:
    """How many values a sparse tensor stores. TypeError for a dense tensor."""
    return sparse_of("nnz", x)._pattern.nnz


def is_coalesced(x: Tensor) -> bool:
    """Whether a COO tensor is known to store every position once, in row-major order."""
    return sparse_of("is_coalesced", x, layout="coo")._pattern.coalesced


def sparse_dim(x: Tensor) -> int:
    """How many dimensions are sparse."""
    return x._pattern.sparse_dim if isinstance(x, SparseTensor) else 0


def dense_dim(x: Tensor) -> int:
    """How many dimensions are dense."""
    return x.ndim - sparse_dim(x)


for method in (
    to_dense,
    to_sparse_coo,
    to_sparse_csr,
    indices,
    crows,
    cols,
    values,
    nnz,
    is_coalesced,
    sparse_dim,
    dense_dim,
):
    setattr(Tensor, method.__name__, errors.clean(method))
Tensor.coalesce = coalesce  # type: ignore[attr-defined]
