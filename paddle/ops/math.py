"""Elementwise arithmetic on two operands: the operators of Python and their relatives."""
from __future__ import annotations

import builtins
import sys

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float, promote, promote_float
from ..engine.tensor import Tensor


def binary(*names: str, **metadata):
    """An elementwise operator of two operands, either of which may be a Python number; `names` are its methods."""
    return op(scalars="x y", method=" ".join(names) or False, **metadata)


def alias(function, *names: str) -> None:
    """Give a function and its in-place twin further official names, in their module and on Tensor."""
    module = sys.modules[function.__module__].__dict__
    for tail in ("", "_"):
        target = module.get(function.__name__ + tail)
        for name in names if target is not None else ():
            module[name + tail] = target
            module["__all__"].append(name + tail)
            setattr(Tensor, name + tail, target)


def reflected(function):
    """The same operator with its operands exchanged, for `__rsub__` and its like."""
    def exchanged(y, x):
        return function(x, y)
    exchanged.__name__ = f"reflected {function.__name__}"
    return exchanged


# ---- sums and products ----

@binary("__add__", "__radd__", name="add", export=False)
def _add(x, y):
    x, y = promote("add", x, y)
    return x + y


@api(inplace=True)
def add(x, y, name=None, *, alpha=1):
    """x + alpha * y, elementwise with broadcasting.

    Args:
        x, y: tensors of shapes that broadcast, or numbers; types as in `engine.promotion`.
        alpha: a factor of `y`.

    Raises:
        TypeError: the types do not promote.
        ValueError: the shapes do not broadcast.

    Example:
        >>> (paddle.ones([2]) + 1).tolist()
        [2.0, 2.0]
    """
    return _add(x, y if _is_one(alpha) else multiply(y, alpha))


@binary("__sub__", name="subtract", export=False)
def _subtract(x, y):
    x, y = promote("subtract", x, y)
    return x - y


@api(inplace=True)
def subtract(x, y, name=None, *, alpha=1):
    """x - alpha * y, elementwise with broadcasting.

    Example:
        >>> (paddle.ones([2]) - 3).tolist()
        [-2.0, -2.0]
    """
    return _subtract(x, y if _is_one(alpha) else multiply(y, alpha))


@binary("multiply", "__mul__", "__rmul__", inplace=True)
def multiply(x, y):
    """x * y, elementwise with broadcasting.

    Example:
        >>> (paddle.ones([2]) * 3).tolist()
        [3.0, 3.0]
    """
    x, y = promote("multiply", x, y)
    return x * y


def _is_one(alpha) -> bool:
    return isinstance(alpha, (int, float)) and alpha == 1


# ---- quotients ----

@binary("__truediv__", "__div__", name="divide", export=False)
def _divide(x, y):
    x, y = promote_float("divide", x, y)
    return x / y


@api(inplace=True)
def divide(x, y, name=None, *, rounding_mode=None):
    """x / y, elementwise with broadcasting; integers give float32.

    Args:
        rounding_mode: None, "trunc" (towards zero) or "floor"; with the latter two integers stay integers.

    Raises:
        ValueError: an unknown rounding mode; an integer zero as divisor with rounding.

    Example:
        >>> (paddle.to_tensor([3, 4]) / 2).tolist()
        [1.5, 2.0]
    """
    if rounding_mode is None:
        return _divide(x, y)
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if rounding_mode == "trunc":
        _check_divisor("divide", x, y)
        return _truncated_divide(x, y)
    raise errors.ValueError_(f"divide: rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}")


@api
def true_divide(x, y, *, out=None):
    """x / y, elementwise; another name of `divide`.

    Example:
        >>> paddle.true_divide(paddle.to_tensor([3]), paddle.to_tensor([2])).tolist()
        [1.5]
    """
    return divide(x, y, out=out)


@binary(export=False, differentiable=False, name="trunc_divide")
def _truncated_divide(x, y):
    x, y = promote("divide", x, y)
    return jax.lax.div(*jnp.broadcast_arrays(x, y)) if _is_integer(x) else jnp.trunc(x / y)


@binary(export=False, differentiable=False, name="floor_divide")
def _floor_divide(x, y):
    x, y = promote("floor_divide", x, y)
    return x // y if _is_integer(x) else jnp.floor(x / y)


@api(method="floor_divide __floordiv__", inplace=True)
def floor_divide(x, y):
    """The quotient rounded down, elementwise; it has no gradient.

    Raises:
        ValueError: an integer zero as divisor.

    Example:
        >>> (paddle.to_tensor([7, -7]) // 2).tolist()
        [3, -4]
    """
    _check_divisor("floor_divide", x, y)
    return _floor_divide(x, y)


@binary(export=False, name="remainder")
def _remainder(x, y):
    x, y = promote("remainder", x, y)
    return jnp.remainder(x, y)


@api(method="remainder __mod__", inplace=True)
def remainder(x, y):
    """x - y * floor(x / y), elementwise: what a division leaves, with the sign of the divisor.

    Raises:
        ValueError: an integer zero as divisor.

    Example:
        >>> (paddle.to_tensor([7, -7]) % 3).tolist()
        [1, 2]
    """
    _check_divisor("remainder", x, y)
    return _remainder(x, y)


def _is_integer(x) -> bool:
    return jnp.issubdtype(x.dtype, jnp.integer)


def _check_divisor(name: str, x, y) -> None:
    """ValueError for an integer zero as divisor, which XLA would divide by without a word; where looking is cheap."""
    if isinstance(y, Tensor):
        value = y._value
        if not _is_integer(value) or isinstance(value, jax.core.Tracer) or not y.place.is_cpu_place():
            return
        fine = np.asarray(value).all()
    else:
        fine = not isinstance(y, int) or y != 0
    if not fine and (not isinstance(x, Tensor) or x.dtype.is_integer):
        raise errors.ValueError_(f"{name}: integer division by zero")


# ---- powers ----

@binary(export=False, name="pow")
def _pow(x, y):
    x, y = promote("pow", x, y)
    return jnp.power(x, y)


@op(export=False, method=False, name="integer_pow")
def _integer_pow(x, n):
    return jax.lax.integer_pow(x, n)


@api(method="pow __pow__", inplace=True, aliases={"exponent": "y"})
def pow(x, y):
    """x to the power of y, elementwise with broadcasting.

    Args:
        y: the exponent, a tensor or a number. Small integers multiply `x` by itself.

    Example:
        >>> (paddle.to_tensor([1.0, 3.0]) ** 2).tolist()
        [1.0, 9.0]
    """
    if isinstance(y, (int, float)) and -4 <= y <= 8 and y == int(y) and isinstance(x, Tensor):
        if x.dtype.is_differentiable or x.dtype.is_integer and y >= 0 and isinstance(y, int):
            return _integer_pow(x, int(y))
    return _pow(x, y)


# ---- the larger and the smaller ----

@binary("maximum")
def maximum(x, y):
    """The larger of x and y, elementwise; NaN where either is NaN. Equal elements share the gradient.

    Example:
        >>> paddle.maximum(paddle.to_tensor([1.0, 5.0]), paddle.to_tensor([3.0, 4.0])).tolist()
        [3.0, 5.0]
    """
    x, y = promote("maximum", x, y)
    return jnp.maximum(x, y)


@binary("minimum")
def minimum(x, y):
    """The smaller of x and y, elementwise; NaN where either is NaN. Equal elements share the gradient.

    Example:
        >>> paddle.minimum(paddle.to_tensor([1.0, 5.0]), paddle.to_tensor([3.0, 4.0])).tolist()
        [1.0, 4.0]
    """
    x, y = promote("minimum", x, y)
    return jnp.minimum(x, y)


for _name, _function in (("__rsub__", _subtract), ("__rtruediv__", _divide), ("__rdiv__", _divide), ("__rpow__", _pow),
                         ("__rfloordiv__", floor_divide), ("__rmod__", remainder)):
    setattr(Tensor, _name, reflected(_function))
alias(subtract, "sub")
alias(multiply, "mul")
alias(divide, "div")
alias(remainder, "mod", "floor_mod")
