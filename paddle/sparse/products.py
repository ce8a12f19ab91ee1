"""Products with sparse matrices. Official support: sparse @ dense, sparse @ sparse, and dense @ dense at chosen
places."""

from __future__ import annotations

import math as _math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api
from ..engine.promotion import same_type
from ..engine.tensor import Tensor
from ..ops import math, segment
from ..ops.creation import ones
from ..ops.decomposition import qr, svd
from ..ops.linalg import matmul as dense_matmul
from ..ops.manipulation import reshape as dense_reshape
from ..ops.manipulation import tensor_of
from ..ops.random import randn
from . import binary
from .creation import as_coo, as_csr, sparse_of
from .pattern import Pattern, index_tensor, unique_columns
from .rearrange import transpose
from .tensor import SparseTensor
from .values import take_rows, value_op

PADDING = 4  # how many times longer than the values a table of rows may be


def _row_sums(values, rows, cols, y, table, n):
    """out[rows[k]] += values[k] * y[cols[k]], n rows; with a table of the values of each row by its columns in turn,
    which the CPU does several times faster than it adds at scattered places."""
    if table is None:
        return jax.ops.segment_sum(values[:, None] * y[cols], rows, n)
    values = jnp.concatenate([values, jnp.zeros(1, values.dtype)])[table]
    cols = jnp.concatenate([cols, jnp.full(1, y.shape[0], cols.dtype)])[table]
    y = jnp.concatenate([y, jnp.zeros((1, y.shape[1]), y.dtype)])  # for places in the table without a value

    def add(out, column):
        return out + column[0][:, None] * y[column[1]], None

    return jax.lax.scan(add, jnp.zeros((n, y.shape[1]), y.dtype), (values.T, cols.T))[0]


def _spmm_grad(inputs, outputs, cotangents, *attributes):
    values, rows, cols, y, *tables = inputs
    gradient = cotangents[0]
    table = tables[-1] if tables else None  # of the columns, which are the rows of the transposed matrix
    to_values = jnp.sum(gradient[rows] * jnp.conj(y[cols]), axis=-1)
    to_y = _row_sums(jnp.conj(values), cols, rows, gradient, table, y.shape[0])
    return to_values, None, None, to_y, *(None for _ in tables)


@value_op(name="sparse_matmul", gradient=_spmm_grad)
def _spmm(values, rows, cols, y, by_row, by_column, n):
    """A sparse matrix with n rows times a dense one."""
    same_type("matmul", values, y)
    return _row_sums(values, rows, cols, y, by_row, n)


def spmm(values: Tensor, pattern: Pattern, y: Tensor) -> Tensor:
    """The product of a batch of sparse matrices, as if they stood below and beside one another, and a dense matrix."""
    shape = pattern.shape
    n, m = _math.prod(shape[:-1]), _math.prod(shape[:-2]) * shape[-1]
    rows, cols = _flat_index(pattern)
    tables = _tables(pattern, n, m) if values.place.is_cpu_place() else (None, None)
    return _spmm(values, rows, cols, y, *tables, n)


def _tables(pattern: Pattern, n: int, m: int) -> tuple[Tensor | None, Tensor | None]:
    """For each of n rows and of m columns the numbers of its values, both or none: rows of very different lengths would
    make them too long."""
    if "tables" not in pattern.cache:
        flat = [np.asarray(index._value) for index in _flat_index(pattern)]
        counts = [np.bincount(index, minlength=k) for index, k in zip(flat, (n, m))]
        fits = pattern.nnz and all(c.max() * len(c) <= PADDING * pattern.nnz for c in counts)
        pattern.cache["tables"] = tuple(map(_table, flat, counts)) if fits else (None, None)
    return pattern.cache["tables"]


def _table(index: np.ndarray, counts: np.ndarray) -> Tensor:
    order = np.argsort(index, kind="stable")
    table = np.full((len(counts), counts.max()), len(index))
    table[index[order], np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)] = order
    return index_tensor(table)


@value_op(name="sparse_masked_matmul")
def _sddmm(x, y, rows, cols):
    """The dot products of rows of x and rows of y."""
    same_type("masked_matmul", x, y)
    return jnp.sum(x[rows] * y[cols], axis=-1)


def _flat_index(pattern: Pattern) -> tuple[Tensor, Tensor]:
    """Rows and columns of the values of a batch of matrices, as if they stood below and beside one another."""
    found = pattern.cache.get("flat")
    if found is None:
        *batch, rows, cols = pattern.coords
        number = np.zeros_like(rows)
        for index, n in zip(batch, pattern.shape):
            number = number * n + index
        found = tuple(index_tensor(number * n + index) for index, n in zip((rows, cols), pattern.shape[-2:]))
        pattern.cache["flat"] = found
    return found


def _check_product(name: str, a: Any, b: Any) -> None:
    if len(a) < 2 or len(b) != len(a) or list(a[:-2]) != list(b[:-2]) or a[-1] != b[-2]:
        raise errors.ValueError_(
            f"{name}: shapes {list(a)} and {list(b)} do not fit a matrix product (batch dimensions must be equal)"
        )


def _no_dense_dims(name: str, x: SparseTensor) -> SparseTensor:
    if x._pattern.sparse_dim != x.ndim:
        raise errors.ValueError_(
            f"{name}: a factor must be sparse in all dimensions, this has {x.ndim - x._pattern.sparse_dim} dense ones"
        )
    return x


def _sparse_dense(x: SparseTensor, y: Tensor) -> Tensor:
    shape = x._pattern.shape
    _check_product("matmul", shape, y.shape)
    flat = y if y.ndim == 2 else dense_reshape(y, [_math.prod(y.shape[:-1]), y.shape[-1]])
    out = spmm(x._values, _no_dense_dims("matmul", x)._pattern, flat)
    return out if y.ndim == 2 else dense_reshape(out, [*shape[:-1], y.shape[-1]])


def _sparse_sparse(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """Each value of x meets the values in the row of y that its column names; products at one place are added."""
    _check_product("matmul", x.shape, y.shape)
    _no_dense_dims("matmul", x), _no_dense_dims("matmul", y)
    same_type("matmul", x._values._value, y._values._value)
    a, b = as_csr(x) if x.ndim in (2, 3) else x, as_csr(y) if y.ndim in (2, 3) else y
    shape = (*x.shape[:-1], y.shape[-1])
    left, right = a._pattern.coords, b._pattern.coords
    columns = left[-1] + _batches(left, a.shape) * b.shape[-2]  # the row of y for each value of x
    rows = right[-2] + _batches(right, b.shape) * b.shape[-2]
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], columns)
    counts = np.searchsorted(rows[order], columns, side="right") - starts
    i = np.repeat(np.arange(len(columns)), counts)
    j = order[np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)]
    coords, places = unique_columns(np.concatenate([left[:-1, i], right[-1:, j]]), shape)
    products = math.multiply(take_rows(a._values, index_tensor(i)), take_rows(b._values, index_tensor(j)))
    values = segment.segment_reduce(products, index_tensor(places), coords.shape[1], "sum")
    return SparseTensor(x._pattern.remade(shape, coords, True), values)


def _batches(coords: np.ndarray, shape: Any) -> np.ndarray:
    number = np.zeros(coords.shape[1], np.int64)
    for index, n in zip(coords[:-2], shape):
        number = number * n + index
    return number


@api(method=False, export=False)
def matmul(x, y):
    """The matrix product with a sparse factor; the result is sparse when both are.

    Args:
        x: sparse (COO or CSR) or dense, shape [..., m, k].
        y: dense or sparse (of the layout of x, if that is sparse), shape [..., k, n].

    Raises:
        ValueError: shapes that do not fit; batch dimensions do not broadcast.
        TypeError: different data types, or no sparse factor.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.matmul(x, paddle.to_tensor([[1.0], [5.0]])).tolist()
        [[5.0], [2.0]]
    """
    if not isinstance(x, SparseTensor):
        y = sparse_of("matmul", y, "x or y")
        last = list(range(y.ndim - 2)) + [y.ndim - 1, y.ndim - 2]
        _check_product("matmul", tensor_of("matmul", x).shape, y.shape)
        return _sparse_dense(transpose(as_coo(y), last), x.transpose(last)).transpose(last)
    if isinstance(tensor_of("matmul", y, "y"), SparseTensor):
        return _sparse_sparse(x, sparse_of("matmul", y, "y", x._pattern.layout))
    return _sparse_dense(x, y)


@api(method=False, export=False)
def mv(x, vec):
    """The product of a sparse matrix and a dense vector.

    Args:
        x: sparse, shape [m, n].
        vec: dense, shape [n].

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.mv(x, paddle.to_tensor([1.0, 5.0])).tolist()
        [5.0, 2.0]
    """
    x, vec = sparse_of("mv", x), tensor_of("mv", vec, "vec")
    if x.ndim != 2 or vec.ndim != 1 or x.shape[1] != vec.shape[0]:
        raise errors.ValueError_(
            f"mv: a matrix of shape {list(x.shape)} does not fit a vector of shape {list(vec.shape)}"
        )
    return _sparse_dense(x, vec.unsqueeze(-1)).squeeze(-1)


@api(method=False, export=False)
def addmm(input, x, y, beta=1.0, alpha=1.0):
    """beta * input + alpha * (x @ y) with a sparse x; `input` is dense when y is, and sparse when y is.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
        >>> paddle.sparse.addmm(paddle.ones([2, 1]), x, paddle.ones([2, 1]), beta=10.0).tolist()
        [[11.0], [12.0]]
    """
    product = matmul(sparse_of("addmm", x), y)
    input = tensor_of("addmm", input, "input")
    if list(input.shape) != list(product.shape):
        raise errors.ValueError_(
            f"addmm: input of shape {list(input.shape)} must have the shape of x @ y, {list(product.shape)}"
        )
    if isinstance(product, SparseTensor):
        input = sparse_of("addmm", input, "input", product._pattern.layout)
        return binary.add(binary.multiply(input, beta), binary.multiply(product, alpha))
    return math.add(math.multiply(input, beta), math.multiply(product, alpha))


@api(method=False, export=False)
def masked_matmul(x, y, mask):
    """x @ y of dense matrices, computed only at the places that a sparse mask stores.

    Args:
        x: shape [..., m, k].
        y: shape [..., k, n].
        mask: sparse, shape [..., m, n]; its values do not matter.

    Returns:
        A sparse tensor with the pattern of `mask`.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> mask = paddle.sparse.sparse_coo_tensor([[0], [1]], [1.0], [2, 2])
        >>> paddle.sparse.masked_matmul(paddle.ones([2, 3]), paddle.ones([3, 2]), mask).values().tolist()
        [3.0]
    """
    name = "masked_matmul"
    x, y = tensor_of(name, x), tensor_of(name, y, "y")
    mask = _no_dense_dims(name, sparse_of(name, mask, "mask"))
    _check_product(name, x.shape, y.shape)
    if list(mask.shape) != [*x.shape[:-1], y.shape[-1]]:
        raise errors.ValueError_(
            f"{name}: mask of shape {list(mask.shape)} must have the shape of x @ y, {[*x.shape[:-1], y.shape[-1]]}"
        )
    rows, cols = _flat_index(mask._pattern)
    turned = y.transpose([*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])
    flat = [dense_reshape(a, [_math.prod(a.shape[:-1]), a.shape[-1]]) for a in (x, turned)]
    return mask.like(_sddmm(*flat, rows, cols))


@api(method=False, export=False)
def pca_lowrank(x, q=None, center=True, niter=2):
    """The q largest principal components of a sparse matrix, by randomised subspace iteration (Halko, Martinsson and
    Tropp, "Finding structure with randomness", 2011). The matrix is never stored densely, also with `center`.

    Args:
        x: sparse, shape [m, n], floats.
        q: how many, default min(6, m, n).
        center: subtract the means of the columns.
        niter: iterations, more for a slower decay of the singular values.

    Returns:
        (U [m, q], S [q], V [n, q]).

    Raises:
        ValueError: q or niter out of range, or x is no matrix.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [0, 1]], [3.0, 2.0], [2, 2])
        >>> u, s, v = paddle.sparse.pca_lowrank(x, q=1, center=False)
        >>> u.shape, s.shape, v.shape
        ([2, 1], [1], [2, 1])
    """
    name = "pca_lowrank"
    x = as_coo(sparse_of(name, x))
    if x.ndim != 2:
        raise errors.ValueError_(f"{name}: x must be a matrix, got shape {list(x.shape)}")
    m, n = x.shape
    q = min(6, m, n) if q is None else q
    if not 0 < q <= min(m, n) or niter < 0:
        raise errors.ValueError_(
            f"{name}: q must lie between 1 and {min(m, n)} and niter not be negative, got {q} and {niter}"
        )
    turned = transpose(x, [1, 0])
    if not center:

        def apply(b):
            return matmul(x, b)

        def apply_turned(b):
            return matmul(turned, b)
    else:  # (A - 1 c^T) b and its transpose, with the means c of the columns
        means = matmul(turned, ones([m, 1], x.dtype)) / m

        def apply(b):
            return matmul(x, b) - dense_matmul(means.transpose([1, 0]), b)

        def apply_turned(b):
            return matmul(turned, b) - dense_matmul(means, b.sum(0, keepdim=True))

    basis = qr(apply(randn([n, q], dtype=x.dtype)))[0]
    for _ in range(niter):
        basis = qr(apply_turned(basis))[0]
        basis = qr(apply(basis))[0]
    u, s, vh = svd(apply_turned(basis).transpose([1, 0]), full_matrices=False)
    return dense_matmul(basis, u), s, vh.transpose([1, 0])


for method in (matmul, mv):
    setattr(SparseTensor, method.__name__, method)
SparseTensor.__matmul__ = matmul  # type: ignore[attr-defined]
SparseTensor.__rmatmul__ = lambda self, other: matmul(other, self)  # type: ignore[attr-defined]
