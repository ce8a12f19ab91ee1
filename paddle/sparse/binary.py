"""Arithmetic of two sparse tensors, or of a sparse tensor and a number."""

from __future__ import annotations

import math as _math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.op import api
from ..engine.tensor import Tensor
from ..ops import math
from ..ops.segment import segment_reduce
from .creation import sparse_of
from .pattern import Pattern, flat_keys, index_tensor, unique_columns
from .tensor import SparseTensor
from .values import place_rows

LARGEST = 2**31  # elements that a division may fill


def _is_number(y: Any) -> bool:
    return isinstance(y, (numbers.Number, np.generic)) or type(y) is Tensor and y.ndim == 0


def _combine(name: str, function: Callable, x: Any, y: Any, everywhere: bool = False) -> SparseTensor:
    """function(x, y) on the places that one of them stores; on all places with `everywhere`."""
    x = sparse_of(name, x)
    y = sparse_of(name, y, "y", x._pattern.layout)
    a, b = x._pattern, y._pattern
    if a.shape != b.shape or a.sparse_dim != b.sparse_dim:
        raise errors.ValueError_(
            f"{name}: x of shape {list(a.shape)} and y of shape {list(b.shape)} must have one "
            "shape and as many sparse dimensions"
        )
    size = _math.prod(a.shape[: a.sparse_dim])
    if a.same_places(b) and a.distinct and (not everywhere or a.nnz == size):
        return x.like(function(x._values, y._values))
    if everywhere:
        if size >= LARGEST:
            raise errors.ValueError_(f"{name}: the result has a value at each of {size} places, which are too many")
        shape = a.shape[: a.sparse_dim]
        coords = np.indices(shape).reshape(len(shape), size)
        to_a, to_b = flat_keys(a.coords, shape), flat_keys(b.coords, shape)
    else:
        coords, places = unique_columns(np.concatenate([a.coords, b.coords], axis=1), a.shape)
        to_a, to_b = places[: a.nnz], places[a.nnz :]
    n = coords.shape[1]
    out = function(_spread(x._values, a, to_a, n), _spread(y._values, b, to_b, n))
    return SparseTensor(a.remade(a.shape, coords), out)


def _spread(values: Tensor, pattern: Pattern, places: Any, n: int) -> Tensor:
    if pattern.distinct:
        return place_rows(values, index_tensor(places), n)
    return segment_reduce(values, index_tensor(places), n, "sum")


@api(method=False, export=False)
def add(x, y):
    """The sum of two sparse tensors of one layout and shape; it stores what one of them stores.

    Raises:
        ValueError: different shapes.
        TypeError: one of them is dense, or they have different layouts.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> paddle.sparse.add(x, x).values().tolist()
        [2.0, 4.0]
    """
    return _combine("add", math.add, x, y)


@api(method=False, export=False)
def subtract(x, y):
    """The difference of two sparse tensors of one layout and shape; it stores what one of them stores.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> paddle.sparse.subtract(x, x).values().tolist()
        [0.0, 0.0]
    """
    return _combine("subtract", math.subtract, x, y)


@api(method=False, export=False)
def multiply(x, y):
    """The product of two sparse tensors of one layout and shape, or of a sparse tensor and a number. Of two tensors it
    stores what one of them stores.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> paddle.sparse.multiply(x, 2.0).values().tolist()
        [2.0, 4.0]
    """
    if _is_number(y):
        return sparse_of("multiply", x).like(math.multiply(x._values, y))
    return _combine("multiply", math.multiply, x, y)


@api(method=False, export=False)
def divide(x, y):
    """The quotient of two sparse tensors of one layout and shape, or of a sparse tensor and a number. Of two tensors it
    has a value everywhere: NaN where neither stores one.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3])
        >>> paddle.sparse.divide(x, x).values().tolist()
        [1.0, 1.0, nan]
    """
    if _is_number(y):
        return sparse_of("divide", x).like(math.divide(x._values, y))
    return _combine("divide", math.divide, x, y, everywhere=True)


for method in (add, subtract, multiply, divide):
    setattr(SparseTensor, method.__name__, method)
SparseTensor.__add__, SparseTensor.__sub__ = add, subtract  # type: ignore[method-assign]
SparseTensor.__mul__ = SparseTensor.__rmul__ = multiply  # type: ignore[method-assign]
SparseTensor.__truediv__ = SparseTensor.__div__ = divide  # type: ignore[method-assign]
