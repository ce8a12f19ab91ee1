"""Comparisons, logic and bits, elementwise. None of them has a gradient."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import promote
from ..engine.tensor import Tensor
from .math import alias, reflected


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
    x, y = _ordered("less_than", x, y)
    return x < y


@_comparison(inplace=True)
def less_equal(x, y):
    """x <= y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) <= 2).tolist()
        [True, True, False]
    """
    x, y = _ordered("less_equal", x, y)
    return x <= y


@_comparison(inplace=True)
def greater_than(x, y):
    """x > y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) > 2).tolist()
        [False, False, True]
    """
    x, y = _ordered("greater_than", x, y)
    return x > y


@_comparison(inplace=True)
def greater_equal(x, y):
    """x >= y, elementwise with broadcasting, as bool.

    Example:
        >>> (paddle.to_tensor([1, 2, 3]) >= 2).tolist()
        [False, True, True]
    """
    x, y = _ordered("greater_equal", x, y)
    return x >= y


def _ordered(name: str, x, y):
    x, y = promote(name, x, y)
    return (x.real, y.real) if jnp.iscomplexobj(x) else (x, y)  # complex ones by their real parts, as officially


# ---- comparisons of whole tensors, and with a tolerance ----


@op(differentiable=False)
def equal_all(x, y):
    """Whether two tensors have the same shape and the same elements, a 0-D bool tensor.

    Example:
        >>> bool(paddle.equal_all(paddle.ones([2]), paddle.ones([2])))
        True
    """
    if x.shape != y.shape:
        return jnp.asarray(False)
    x, y = promote("equal_all", x, y)
    return (x == y).all()


@op(differentiable=False, scalars="rtol atol")
def isclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |x - y| <= atol + rtol * |y|, elementwise; infinities are close to themselves only.

    Args:
        x, y: tensors of one shape.
        rtol, atol: the relative and the absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> paddle.isclose(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, 2.1])).tolist()
        [True, False]
    """
    return _close("isclose", x, y, rtol, atol, equal_nan)


@op(differentiable=False, scalars="rtol atol")
def allclose(x, y, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements of two tensors are close (see `isclose`), a 0-D bool tensor.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> bool(paddle.allclose(paddle.ones([2]), paddle.ones([2]) + 1e-9))
        True
    """
    return _close("allclose", x, y, rtol, atol, equal_nan).all()


def _close(name: str, x, y, rtol, atol, equal_nan):
    if x.shape != y.shape:
        raise errors.ValueError_(f"{name}: x and y must have one shape, got {list(x.shape)} and {list(y.shape)}")
    x, y = promote(name, x, y)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x, y = x.astype("float64"), y.astype("float64")
    rtol, atol = (jnp.asarray(t).astype(jnp.finfo(x.dtype).dtype).reshape(()) for t in (rtol, atol))
    near = jnp.isfinite(y) & (jnp.abs(x - y) <= atol + rtol * jnp.abs(y)) | (x == y)
    return near | jnp.isnan(x) & jnp.isnan(y) if equal_nan else near


@op(differentiable=False, aliases={"elements": "x", "test_elements": "test_x"})
def isin(x, test_x, assume_unique=False, invert=False):
    """Whether an element of `x` occurs in `test_x`, as bool of the shape of `x`. NaN occurs nowhere.

    Args:
        assume_unique: accepted; the result does not depend on it.
        invert: True asks for those that do not occur.

    Example:
        >>> paddle.isin(paddle.to_tensor([1, 2, 3]), paddle.to_tensor([3, 1])).tolist()
        [True, False, True]
    """
    x, test_x = promote("isin", x, test_x)
    found = _contains(x, test_x.reshape(-1))
    return ~found if invert else found


def _contains(x, values):
    if values.size <= 32 or jnp.iscomplexobj(x):
        return (x[..., None] == values).any(-1)
    values = jnp.sort(values)
    return jnp.take(values, jnp.searchsorted(values, x), mode="clip") == x


# ---- logic: every element counts as whether it is not zero ----


def _truth(name: str, x, y):
    x, y = promote(name, x, y)
    return x != 0, y != 0


@_comparison(inplace=True)
def logical_and(x, y):
    """Whether both are not zero, elementwise with broadcasting, as bool.

    Example:
        >>> paddle.logical_and(paddle.to_tensor([0, 1]), paddle.to_tensor([2, 3])).tolist()
        [False, True]
    """
    x, y = _truth("logical_and", x, y)
    return x & y


@_comparison(inplace=True)
def logical_or(x, y):
    """Whether either is not zero, elementwise with broadcasting, as bool.

    Example:
        >>> paddle.logical_or(paddle.to_tensor([0, 1]), paddle.to_tensor([0, 0])).tolist()
        [False, True]
    """
    x, y = _truth("logical_or", x, y)
    return x | y


@_comparison(inplace=True)
def logical_xor(x, y):
    """Whether exactly one is not zero, elementwise with broadcasting, as bool.

    Example:
        >>> paddle.logical_xor(paddle.to_tensor([0, 1]), paddle.to_tensor([2, 3])).tolist()
        [True, False]
    """
    x, y = _truth("logical_xor", x, y)
    return x ^ y


@op(inplace=True, differentiable=False)
def logical_not(x):
    """Whether an element is zero, as bool.

    Example:
        >>> paddle.logical_not(paddle.to_tensor([0, 1])).tolist()
        [True, False]
    """
    return x == 0


# ---- bits of integers and bools ----


def _bits(name: str, x, y, bools: bool = True):
    x, y = promote(name, x, y)
    _check_bits(name, x, bools)
    return x, y


def _check_bits(name: str, x, bools: bool = True) -> None:
    if not (jnp.issubdtype(x.dtype, jnp.integer) or bools and x.dtype == bool):
        wanted = "integers or bool" if bools else "integers"
        raise errors.TypeError_(f"{name}: the tensors must be of {wanted}, got {x.dtype.name}")


_bitwise = functools.partial(op, scalars="x y", method=False, differentiable=False, export=False)


@_bitwise(name="bitwise_and")
def _and(x, y):
    x, y = _bits("bitwise_and", x, y)
    return x & y


@_bitwise(name="bitwise_or")
def _or(x, y):
    x, y = _bits("bitwise_or", x, y)
    return x | y


@_bitwise(name="bitwise_xor")
def _xor(x, y):
    x, y = _bits("bitwise_xor", x, y)
    return x ^ y


@_bitwise(name="bitwise_not")
def _not(x):
    _check_bits("bitwise_not", x)
    return ~x


@_bitwise(name="bitwise_left_shift")
def _left_shift(x, y):
    x, y = _bits("bitwise_left_shift", x, y, bools=False)
    return jax.lax.shift_left(*jnp.broadcast_arrays(x, y))


@_bitwise(name="bitwise_right_shift")
def _right_shift(x, y, is_arithmetic):
    x, y = _bits("bitwise_right_shift", x, y, bools=False)
    signed = is_arithmetic and jnp.issubdtype(x.dtype, jnp.signedinteger)
    shift = jax.lax.shift_right_arithmetic if signed else jax.lax.shift_right_logical
    return shift(*jnp.broadcast_arrays(x, y))


@api(method="bitwise_and __and__ __rand__", inplace=True)
def bitwise_and(x, y, out=None, name=None):
    """x & y of integers or bools, elementwise with broadcasting.

    Raises:
        TypeError: other types, or different ones.

    Example:
        >>> (paddle.to_tensor([6, 3]) & paddle.to_tensor([3, 5])).tolist()
        [2, 1]
    """
    return _and(x, y, out=out)


@api(method="bitwise_or __or__ __ror__", inplace=True)
def bitwise_or(x, y, out=None, name=None):
    """x | y of integers or bools, elementwise with broadcasting.

    Example:
        >>> (paddle.to_tensor([6, 3]) | paddle.to_tensor([3, 5])).tolist()
        [7, 7]
    """
    return _or(x, y, out=out)


@api(method="bitwise_xor __xor__ __rxor__", inplace=True)
def bitwise_xor(x, y, out=None, name=None):
    """x ^ y of integers or bools, elementwise with broadcasting.

    Example:
        >>> (paddle.to_tensor([6, 3]) ^ paddle.to_tensor([3, 5])).tolist()
        [5, 6]
    """
    return _xor(x, y, out=out)


@api(method="bitwise_not __invert__", inplace=True)
def bitwise_not(x, out=None, name=None):
    """~x of integers or bools, elementwise.

    Example:
        >>> (~paddle.to_tensor([True, False])).tolist()
        [False, True]
    """
    return _not(x, out=out)


def _shift_in_place(shift, x, y, is_arithmetic, out):
    if not isinstance(x, Tensor):
        raise errors.ValueError_(f"{shift.__name__}_: argument 'x' must be a Tensor, got {errors.describe(x)}")
    x._inplace(shift, y, is_arithmetic)
    return x if out is None else out._rebind(x.clone())


@api(method="bitwise_left_shift __lshift__")
def bitwise_left_shift(x, y, is_arithmetic=True, out=None, name=None):
    """x << y of integers, elementwise with broadcasting; 0 where y is negative or exceeds the bits of the type.

    Args:
        is_arithmetic: accepted; shifts to the left do not depend on it.

    Example:
        >>> (paddle.to_tensor([1, 3]) << 2).tolist()
        [4, 12]
    """
    return _left_shift(x, y, out=out)


@api(method="bitwise_left_shift_")
def bitwise_left_shift_(x, y, is_arithmetic=True, out=None, name=None):
    """In-place form of `bitwise_left_shift`; a tensor given as `out` gets the result as well."""
    return _shift_in_place(bitwise_left_shift, x, y, is_arithmetic, out)


@api(method="bitwise_right_shift __rshift__")
def bitwise_right_shift(x, y, is_arithmetic=True, out=None, name=None):
    """x >> y of integers, elementwise with broadcasting.

    Args:
        is_arithmetic: True keeps the sign, False shifts zeros in.

    Example:
        >>> (paddle.to_tensor([8, -8]) >> 1).tolist()
        [4, -4]
    """
    return _right_shift(x, y, bool(is_arithmetic), out=out)


@api(method="bitwise_right_shift_")
def bitwise_right_shift_(x, y, is_arithmetic=True, out=None, name=None):
    """In-place form of `bitwise_right_shift`; a tensor given as `out` gets the result as well."""
    return _shift_in_place(bitwise_right_shift, x, y, is_arithmetic, out)


alias(bitwise_not, "bitwise_invert")
Tensor.__rlshift__, Tensor.__rrshift__ = reflected(bitwise_left_shift), reflected(bitwise_right_shift)
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
Tensor.__nonzero__ = Tensor.__bool__
