"""Elementwise arithmetic."""
from __future__ import annotations

import jax.numpy as jnp

from ..engine.op import op
from ..engine.promotion import promote, promote_float


def binary(*names: str, **metadata):
    """An elementwise operator of two operands, either of which may be a Python number; `names` are its methods."""
    return op(scalars="x y", method=" ".join(names) if names else None, **metadata)


@binary("add", "__add__", "__radd__", inplace=True)
def add(x, y):
    """x + y, elementwise with broadcasting.

    Args:
        x, y: tensors of shapes that broadcast, or numbers; types as in `engine.promotion`.

    Example:
        >>> (paddle.ones([2]) + 1).tolist()
        [2.0, 2.0]
    """
    x, y = promote("add", x, y)
    return x + y


@binary("multiply", "__mul__", "__rmul__", inplace=True)
def multiply(x, y):
    """x * y, elementwise with broadcasting.

    Example:
        >>> (paddle.ones([2]) * 3).tolist()
        [3.0, 3.0]
    """
    x, y = promote("multiply", x, y)
    return x * y


@binary("divide", "__truediv__", inplace=True)
def divide(x, y):
    """x / y, elementwise with broadcasting; integers give float32.

    Example:
        >>> (paddle.to_tensor([3, 4]) / 2).tolist()
        [1.5, 2.0]
    """
    x, y = promote_float("divide", x, y)
    return x / y
