"""Comparisons, logic and bits, elementwise. None of them has a gradient."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..engine.op import op
from ..engine.promotion import promote
from ..engine.tensor import Tensor
from .math import alias


def _comparison(**metadata):
    return op(scalars="x y", method=True, differentiable=False, **metadata)


@_comparison(inplace=True)
def equal(x, y):
    """x == y, elementwise with broadcasting, as bool.

    Example:
        >>> paddle.equal(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])).tolist()
        [True, False]
    """
    x, y = promote("equal", x, y)
    return x == y


@_comparison(inplace=True)
def not_equal(x, y):
    """x != y, elementwise with broadcasting, as bool.

    Example:
        >>> paddle.not_equal(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])).tolist()
        [False, True]
    """
    x, y = promote("not_equal", x, y)
    return x != y


@_comparison(inplace=True)
def less_than(x, y):
    """x < y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) < 2).tolist()
        [True, False, False]
    """
    x, y = promote("less_than", x, y)
    return x < y


@_comparison(inplace=True)
def less_equal(x, y):
    """x <= y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) <= 2).tolist()
        [True, True, False]
    """
    x, y = promote("less_equal", x, y)
    return x <= y


@_comparison(inplace=True)
def greater_than(x, y):
    """x > y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) > 2).tolist()
        [False, False, True]
    """
    x, y = promote("greater_than", x, y)
    return x > y


@_comparison(inplace=True)
def greater_equal(x, y):
    """x >= y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) >= 2).tolist()
        [False, True, True]
    """
    x, y = promote("greater_equal", x, y)
    return x >= y


alias(equal, "eq")
alias(not_equal, "ne")
alias(less_than, "less", "lt")
alias(less_equal, "le")
alias(greater_than, "greater", "gt")
alias(greater_equal, "ge")


def _equality(function):
    """`==` and `!=`: with anything that is no number they leave the answer to Python, which compares identities."""
    def method(x, y):
        if isinstance(y, (Tensor, int, float, complex, np.ndarray, np.generic)):
            return function(x, y)
        return NotImplemented
    method.__name__ = function.__name__
    return method


Tensor.__eq__, Tensor.__ne__ = _equality(equal), _equality(not_equal)
Tensor.__lt__, Tensor.__le__, Tensor.__gt__, Tensor.__ge__ = less_than, less_equal, greater_than, greater_equal
