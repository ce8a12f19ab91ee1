"""Diagonals and triangles of matrices."""

from __future__ import annotations

import builtins
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .axes import axes_of
from .creation import _constant, _number
from .manipulation import ints_of, ravel, tensor_of


@op(method=False, export=False, name="diag", scalars="padding_value")
def _diag(x, offset, padding_value):
    if x.ndim > 2:
        raise errors.ValueError_(f"diag: x must have at most 2 dimensions, got shape {list(x.shape)}")
    if x.ndim == 2:
        return jnp.diagonal(x, offset)
    x = x.reshape(-1)
    n = x.shape[0] + builtins.abs(offset)
    padding = jnp.asarray(padding_value).astype(x.dtype)
    return jnp.where(jnp.eye(n, k=offset, dtype=builtins.bool), jnp.diag(x, offset), padding)


@api
def diag(x, offset=0, padding_value=0):
    """A matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
        offset: which diagonal; positive ones are above the main one.
        padding_value: fills the rest of the matrix.

    Raises:
        ValueError: more than two dimensions.

    Example:
        >>> paddle.diag(paddle.to_tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    return _diag(tensor_of("diag", x), offset, padding_value)


@api
def diagflat(x, offset=0):
    """A matrix with all elements of x on a diagonal.

    Example:
        >>> paddle.diagflat(paddle.to_tensor([[1, 2]])).tolist()
        [[1, 0], [0, 2]]
    """
    return _diag(ravel(x), offset, 0)


@op(method="diag_embed", static="dim1 dim2")
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last axis of the input on a diagonal.

    Args:
        offset: which diagonal; positive ones are above the main one.
        dim1, dim2: the axes of the matrices in the result.

    Raises:
        ValueError: an axis out of range or named twice.

    Example:
        >>> paddle.diag_embed(paddle.to_tensor([[1, 2]])).tolist()
        [[[1, 0], [0, 2]]]
    """
    if not input.ndim:
        raise errors.ValueError_("diag_embed: the input must have at least one dimension")
    a, b = axes_of("diag_embed", (dim1, dim2), input.ndim + 1, "dim")
    n = input.shape[-1]
    size = n + builtins.abs(offset)
    rows = jnp.arange(n) + builtins.max(-offset, 0)
    columns = jnp.arange(n) + builtins.max(offset, 0)
    out = jnp.zeros((*input.shape[:-1], size, size), input.dtype).at[..., rows, columns].set(input)
    return jnp.moveaxis(out, (-2, -1), (a, b))


def diagonal_indices(shape, offset, axis1, axis2):
    """Rows and columns of a diagonal of the matrices in two axes (numbers from 0)."""
    n = builtins.max(0, builtins.min(shape[axis1] - builtins.max(-offset, 0), shape[axis2] - builtins.max(offset, 0)))
    return np.arange(n) + builtins.max(-offset, 0), np.arange(n) + builtins.max(offset, 0)


def write_diagonal(x, y, offset, axis1, axis2):
    """x with a diagonal (last axis of y) replaced; arrays."""
    rows, columns = diagonal_indices(x.shape, offset, axis1, axis2)
    moved = jnp.moveaxis(x, (axis1, axis2), (-2, -1)).at[..., rows, columns].set(y.astype(x.dtype))
    return jnp.moveaxis(moved, (-2, -1), (axis1, axis2))


@op(method=False, export=False, name="diagonal_write")
def _diagonal_write(x, y, offset, axis1, axis2):
    return write_diagonal(x, y, offset, axis1, axis2)


def _diagonal_strides(strides, out, base, offset, axis1, axis2):
    return [s for i, s in enumerate(strides) if i not in (axis1, axis2)] + [strides[axis1] + strides[axis2]]


@op(
    method=False,
    export=False,
    name="diagonal",
    view=lambda base, y, *where: _diagonal_write(base, y, *where),
    view_strides=_diagonal_strides,
)
def _diagonal(x, offset, axis1, axis2):
    return jnp.diagonal(x, offset, axis1, axis2)


@api
def diagonal(x, offset=0, axis1=0, axis2=1):
    """The diagonals of the matrices in two axes, as a last axis; shares memory with x.

    Args:
        offset: which diagonal; positive ones are above the main one.

    Raises:
        ValueError: fewer than two dimensions, an axis out of range or named twice.

    Example:
        >>> paddle.diagonal(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    if tensor_of("diagonal", x).ndim < 2:
        raise errors.ValueError_(f"diagonal: x must have at least 2 dimensions, got shape {list(x.shape)}")
    (offset,) = ints_of("diagonal", offset, "offset")
    return _diagonal(x, offset, *axes_of("diagonal", (axis1, axis2), x.ndim))


def _check_triangle(name, x):
    if x.ndim < 2:
        raise errors.ValueError_(f"{name}: x must have at least 2 dimensions, got shape {list(x.shape)}")


@op(inplace=True)
def tril(x, diagonal=0):
    """The lower triangles of the matrices in the last two axes, zeros elsewhere.

    Args:
        diagonal: the highest diagonal that is kept; positive ones are above the main one.

    Example:
        >>> paddle.tril(paddle.ones([2, 2])).tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    _check_triangle("tril", x)
    return jnp.tril(x, diagonal)


@op(inplace=True)
def triu(x, diagonal=0):
    """The upper triangles of the matrices in the last two axes, zeros elsewhere.

    Args:
        diagonal: the lowest diagonal that is kept; positive ones are above the main one.

    Example:
        >>> paddle.triu(paddle.ones([2, 2])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    _check_triangle("triu", x)
    return jnp.triu(x, diagonal)


def _triangle(name: str, find: Any, row: Any, col: Any, offset: Any, dtype: Any) -> Tensor:
    for value, argument in ((row, "row"), (col, "col")):
        if not isinstance(value, int) or value < 0:
            raise errors.TypeError_(
                f"{name}: {argument} must be an int that is not negative, got {errors.describe(value)}"
            )
    if not isinstance(offset, int):
        raise errors.TypeError_(f"{name}: offset must be an int, got {errors.describe(offset)}")
    dtype = to_dtype(dtype)
    if not dtype.is_integer:
        raise errors.TypeError_(f"{name}: dtype must be an integer type, got {dtype.name}")
    return _constant(np.stack(find(row, offset, col)), dtype)


@api(method=False)
def tril_indices(row, col, offset=0, dtype="int64"):
    """The indices of the lower triangle of a matrix, shape [2, n]: rows, columns.

    Example:
        >>> paddle.tril_indices(2, 2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype)


@api(method=False)
def triu_indices(row, col=None, offset=0, dtype="int64"):
    """The indices of the upper triangle of a matrix, shape [2, n]: rows, columns.

    Example:
        >>> paddle.triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", np.triu_indices, row, row if col is None else col, offset, dtype)


@api
def diagonal_scatter(x, y, offset=0, axis1=0, axis2=1):
    """x with the diagonals of the matrices in two axes replaced by y (see `diagonal`).

    Raises:
        ValueError: y has not the shape of the diagonal.

    Example:
        >>> paddle.diagonal_scatter(paddle.zeros([2, 2]), paddle.ones([2])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return _write("diagonal_scatter", x, y, offset, axis1, axis2)


def _write(name: str, x: Any, y: Any, offset: int, axis1: int, axis2: int) -> Tensor:
    if tensor_of(name, x).ndim < 2:
        raise errors.ValueError_(f"{name}: x must have at least 2 dimensions, got shape {list(x.shape)}")
    axis1, axis2 = axes_of(name, (axis1, axis2), x.ndim)
    n = len(diagonal_indices(x.shape, offset, axis1, axis2)[0])
    want = [d for i, d in enumerate(x.shape) if i not in (axis1, axis2)] + [n]
    if list(tensor_of(name, y, "y").shape) != want:
        raise errors.ValueError_(f"{name}: y must have the shape {want} of the diagonal, got {list(y.shape)}")
    return _diagonal_write(x, y, offset, axis1, axis2)


@api(method="fill_diagonal_tensor", inplace=True, export=False)
def fill_diagonal_tensor(x, y, offset=0, dim1=0, dim2=1):
    """x with the diagonals in the axes `dim1` and `dim2` replaced by y, whose last axis runs along them."""
    return _write("fill_diagonal_tensor", x, y, offset, dim1, dim2)


@op(method=False, export=False, name="fill_diagonal", scalars="value", static="wrap")
def _fill_diagonal(x, value, offset, wrap):
    columns = x.shape[-1]
    step = sum(int(np.prod(x.shape[i + 1 :])) for i in range(x.ndim))
    end = x.size if wrap or x.ndim > 2 else min(x.size, columns * columns)
    places = np.arange(0, end, step) + offset
    places = places[(places >= 0) & (places < x.size) & (places // columns == (places - offset) // columns)]
    if x.ndim == 2 and not wrap:
        places = diagonal_indices(x.shape, offset, 0, 1)
        places = places[0] * columns + places[1]
    return x.reshape(-1).at[places].set(jnp.asarray(value).astype(x.dtype)).reshape(x.shape)


@api(method="fill_diagonal_", export=False)
def fill_diagonal_(x, value, offset=0, wrap=False):
    """Overwrite the diagonal in place: of a matrix, or the elements whose indices are all equal.

    Args:
        offset: which diagonal, for matrices; positive ones are above the main one.
        wrap: start again below, one row later, where a matrix is higher than wide.

    Raises:
        ValueError: fewer than two dimensions.
    """
    if x.ndim < 2:
        raise errors.ValueError_(f"fill_diagonal_: x must have at least 2 dimensions, got shape {list(x.shape)}")
    return x._inplace(_fill_diagonal, _number("fill_diagonal_", value, "value"), offset, builtins.bool(wrap))
