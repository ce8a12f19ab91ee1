"""Elementwise arithmetic on two operands: the operators of Python and their relatives."""

from __future__ import annotations

import builtins
import sys

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import operand, promote, promote_alike, promote_float
from ..engine.tensor import Tensor
from .checks import host_value, satisfies


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

    def exchanged(y, x, *args, **kwargs):
        return function(x, y, *args, **kwargs)

    exchanged.__name__ = f"reflected {function.__name__}"
    exchanged.__signature__ = function.__signature__
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


@api(method=True)
def true_divide(input, other, *, out=None):
    """x / y, elementwise; another name of `divide`.

    Example:
        >>> paddle.true_divide(paddle.to_tensor([3]), paddle.to_tensor([2])).tolist()
        [1.5]
    """
    return divide(input, other, out=out)


@binary(export=False, differentiable=False, name="trunc_divide")
def _truncated_divide(x, y):
    x, y = promote("divide", x, y)
    return jax.lax.div(*jnp.broadcast_arrays(x, y)) if _is_integer(x) else jnp.trunc(x / y)


@binary(export=False, differentiable=False, name="floor_divide")
def _floor_divide(x, y):
    x, y = promote_alike("floor_divide", x, y)
    return x // y if _is_integer(x) else jnp.where(y == 0, x / y, jnp.floor_divide(x, y))


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


@jax.custom_jvp
def _modulo(x, y):
    return jnp.remainder(x, y)


# The whole quotient from the remainder: XLA may divide by a product with 1 / y, whose floor can be one too small.
_modulo.defjvps(lambda g, r, x, y: g, lambda g, r, x, y: -g * jnp.round((x - r) / y))


@binary(export=False, name="remainder")
def _remainder(x, y):
    x, y = promote("remainder", x, y)
    if not jnp.iscomplexobj(x):
        return _modulo(*jnp.broadcast_arrays(x, y)) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.remainder(x, y)
    quotient = x / y
    return x - y * jax.lax.complex(_round_half_away(quotient.real), _round_half_away(quotient.imag))


def _round_half_away(x):
    return jnp.trunc(x + jnp.copysign(0.5, x))


@api(method="remainder __mod__", inplace=True)
def remainder(x, y):
    """x - y * floor(x / y), elementwise: what a division leaves, with the sign of the divisor. For complex numbers the
    quotient is the nearest one with whole parts (halves away from zero), as in the official API.

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


def _is_int(x) -> bool:
    """Whether an operand, a tensor, an array or a number, is one of integers."""
    return isinstance(x, int) or hasattr(x, "dtype") and _is_integer(x._value if isinstance(x, Tensor) else x)


def _is_whole(x) -> bool:
    """Whether an operand is one of integers or bools."""
    return _is_int(x) or hasattr(x, "dtype") and (x._value if isinstance(x, Tensor) else x).dtype == bool


def _check_divisor(name: str, x, y) -> None:
    """ValueError for an integer zero as divisor, which XLA would divide by without a word."""
    if _is_whole(x) and _is_whole(y) and not satisfies(y, lambda divisor: divisor != 0):
        raise errors.ValueError_(f"{name}: integer division by zero")


# ---- powers ----


@jax.custom_jvp
def _power(x, y):
    if not jnp.iscomplexobj(x):
        return jnp.power(x, y)
    return jnp.where((x == 0) & (y.real > 0), 0, jnp.power(x, y))  # XLA says NaN


# The derivatives that hold where those of JAX are NaN: none by x for the exponent 0, none by y for the base 0.
_power.defjvps(
    lambda g, z, x, y: g * jnp.where(y == 0, 0, y * _power(x, jnp.where(y == 0, 1, y - 1))),
    lambda g, z, x, y: g * jnp.where(x == 0, 0, _power(x, y) * jnp.log(jnp.where(x == 0, 1, x))),
)


@binary(export=False, name="pow")
def _pow(x, y):
    x, y = jnp.broadcast_arrays(*promote("pow", x, y))
    return _power(x, y) if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.power(x, y)


@op(export=False, method=False, name="integer_pow")
def _integer_pow(x, n):
    return jax.lax.integer_pow(x, n)


@api(method="pow __pow__", inplace=True, aliases={"exponent": "y"})
def pow(x, y):
    """x to the power of y, elementwise with broadcasting.

    Args:
        y: the exponent, a tensor or a number. Small integers multiply `x` by itself.

    Raises:
        ValueError: an integer to the power of a negative integer.

    Example:
        >>> (paddle.to_tensor([1.0, 3.0]) ** 2).tolist()
        [1.0, 9.0]
    """
    if isinstance(y, (int, float)) and -4 <= y <= 8 and y == int(y) and isinstance(x, Tensor):
        if x.dtype.is_differentiable or x.dtype.is_integer and y >= 0 and isinstance(y, int):
            return _integer_pow(x, int(y))
    if _is_int(x) and _is_int(y) and not satisfies(y, lambda exponent: exponent >= 0):
        raise errors.ValueError_("pow: integers to the power of negative integers are no integers; use floats")
    return _pow(x, y)


# ---- the larger and the smaller ----


@binary("maximum")
def maximum(x, y):
    """The larger of x and y, elementwise; NaN where either is NaN. Equal elements share the gradient.

    Example:
        >>> paddle.maximum(paddle.to_tensor([1.0, 5.0]), paddle.to_tensor([3.0, 4.0])).tolist()
        [3.0, 5.0]
    """
    x, y = promote_alike("maximum", x, y)
    return jnp.maximum(x, y)


@binary("minimum")
def minimum(x, y):
    """The smaller of x and y, elementwise; NaN where either is NaN. Equal elements share the gradient.

    Example:
        >>> paddle.minimum(paddle.to_tensor([1.0, 5.0]), paddle.to_tensor([3.0, 4.0])).tolist()
        [1.0, 4.0]
    """
    x, y = promote_alike("minimum", x, y)
    return jnp.minimum(x, y)


@binary("fmax")
def fmax(x, y):
    """The larger of x and y, elementwise; the other one where one is NaN. Equal elements give the gradient to x.

    Example:
        >>> paddle.fmax(paddle.to_tensor([1.0, float("nan")]), paddle.to_tensor([3.0, 4.0])).tolist()
        [3.0, 4.0]
    """
    x, y = promote_alike("fmax", x, y)
    return jnp.where((x >= y) | jnp.isnan(y), x, y)


@binary("fmin")
def fmin(x, y):
    """The smaller of x and y, elementwise; the other one where one is NaN. Equal elements give the gradient to x.

    Example:
        >>> paddle.fmin(paddle.to_tensor([1.0, float("nan")]), paddle.to_tensor([3.0, 4.0])).tolist()
        [1.0, 4.0]
    """
    x, y = promote_alike("fmin", x, y)
    return jnp.where((x <= y) | jnp.isnan(y), x, y)


@op(export=False, method=False, scalars="min max", name="clip")
def _clip(x, min, max):
    if min is not None:
        x = jnp.where(x < min.astype(x.dtype).reshape(()), min.astype(x.dtype).reshape(()), x)
    if max is not None:
        x = jnp.where(x > max.astype(x.dtype).reshape(()), max.astype(x.dtype).reshape(()), x)
    return x


@api(inplace=True)
def clip(x, min=None, max=None):
    """x limited to [min, max], elementwise; the gradient is 1 inside and at the bounds, 0 outside. NaN stays.

    Args:
        min, max: numbers, tensors of one element, or None for no bound. Float bounds make an integer tensor float32.

    Raises:
        ValueError: min > max, or a bound of several elements.
        TypeError: a bound that is no number.

    Example:
        >>> paddle.clip(paddle.to_tensor([-2.0, 0.5, 3.0]), 0.0, 1.0).tolist()
        [0.0, 0.5, 1.0]
    """
    for name, bound in (("min", min), ("max", max)):
        if isinstance(bound, (Tensor, np.ndarray)):
            if bound.size != 1:
                raise errors.ValueError_(
                    f"clip: {name} must be a number or a tensor of one element, got {errors.describe(bound)}"
                )
        elif bound is not None and not isinstance(bound, (int, float, np.number)):
            raise errors.TypeError_(f"clip: {name} must be a number, a Tensor or None, got {errors.describe(bound)}")
        if x.dtype.is_integer and bound is not None and not _is_int(bound):
            x = x.astype("float32")
    low, high = _number(min), _number(max)
    if low is not None and high is not None and not low <= high:
        raise errors.ValueError_(f"clip: min must not exceed max, got min={low} and max={high}")
    return _clip(x, min, max)


def _number(bound):
    """A bound as a number; None where it cannot be read, or not cheaply."""
    if isinstance(bound, Tensor):
        array = host_value(bound)
        return None if array is None else array.item()
    return bound.item() if isinstance(bound, np.ndarray) else bound


# ---- linear combinations ----


@op(export=False, method=False, scalars="scale bias", name="scale")
def _scale(x, scale, bias, bias_after_scale):
    scale, bias = scale.astype(x.dtype).reshape(()), bias.astype(x.dtype).reshape(())
    return x * scale + bias if bias_after_scale else (x + bias) * scale


@api(inplace=True)
def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None):
    """scale * x + bias, elementwise, in the type of `x`.

    Args:
        scale, bias: numbers or tensors of one element.
        bias_after_scale: False for scale * (x + bias).
        act: the name of an activation function of `paddle.nn.functional` that follows.

    Raises:
        ValueError: a scale of several elements, an unknown activation.

    Example:
        >>> paddle.scale(paddle.to_tensor([1.0, 2.0]), 2.0, 1.0).tolist()
        [3.0, 5.0]
    """
    for name, factor in (("scale", scale), ("bias", bias)):
        if isinstance(factor, Tensor) and factor.size != 1:
            raise errors.ValueError_(
                f"scale: {name} must be a number or a tensor of one element, got {errors.describe(factor)}"
            )
    out = _scale(x, scale, bias, builtins.bool(bias_after_scale))
    if act is None:
        return out
    from ..nn import functional

    function = getattr(functional, act, None)
    if function is None:
        raise errors.ValueError_(f"scale: act must name a function of paddle.nn.functional, got {act!r}")
    return function(out)


@api
def increment(x, value=1.0):
    """Add a number to a tensor of one element, in place.

    Raises:
        ValueError: `x` has several elements.

    Example:
        >>> float(paddle.increment(paddle.zeros([1])))
        1.0
    """
    if x.size > 1:
        raise errors.ValueError_(f"increment: x must have one element, got shape {list(x.shape)}")
    return x.scale_(1, value)


@op(inplace=True, scalars="weight")
def lerp(x, y, weight):
    """x + weight * (y - x), elementwise with broadcasting: the linear interpolation.

    Args:
        y: the other end, of the type of `x`.
        weight: a number or a tensor.

    Example:
        >>> paddle.lerp(paddle.zeros([2]), paddle.ones([2]), 0.25).tolist()
        [0.25, 0.25]
    """
    x, y = promote("lerp", x, y)
    x, weight = promote("lerp", x, weight)
    return x + weight * (y - x)


# ---- further functions of two operands ----


@jax.custom_jvp
def _hypotenuse(x, y):
    return jnp.hypot(x, y)


_hypotenuse.defjvps(lambda g, z, x, y: g * _ratio(x, y), lambda g, z, x, y: g * _ratio(y, x))


def _ratio(x, y):
    """x / hypot(x, y), 0 at the origin."""
    z = _hypotenuse(x, y)
    return jnp.where(z == 0, jnp.zeros_like(z), x / jnp.where(z == 0, jnp.ones_like(z), z))


@binary("hypot", inplace=True)
def hypot(x, y):
    """sqrt(x * x + y * y), elementwise with broadcasting, without overflow on the way. The gradient at the origin is 0.

    Example:
        >>> paddle.hypot(paddle.to_tensor([3.0]), paddle.to_tensor([4.0])).tolist()
        [5.0]
    """
    x, y = jnp.broadcast_arrays(*promote_float("hypot", x, y))
    return jnp.sqrt(x * x + y * y) if jnp.iscomplexobj(x) else _hypotenuse(x, y)


@binary("atan2")
def atan2(x, y):
    """The angle of the point (y, x) in [-pi, pi], elementwise with broadcasting; integers give float64.

    Example:
        >>> paddle.atan2(paddle.zeros([1]), paddle.ones([1])).tolist()
        [0.0]
    """
    x, y = promote_alike("atan2", x, y)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x, y = x.astype("float64"), y.astype("float64")
    return jnp.arctan2(x, y)


@binary("logaddexp")
def logaddexp(x, y):
    """log(exp(x) + exp(y)), elementwise with broadcasting, without overflow.

    Example:
        >>> paddle.logaddexp(paddle.to_tensor([-1000.0]), paddle.to_tensor([3.0])).tolist()
        [3.0]
    """
    return jnp.logaddexp(*promote_float("logaddexp", *promote_alike("logaddexp", x, y)))


@binary("copysign", inplace=True)
def copysign(x, y):
    """|x| with the sign of y (of -0.0 as well), elementwise with broadcasting.

    Example:
        >>> paddle.copysign(paddle.to_tensor([1.0, 2.0]), -3.0).tolist()
        [-1.0, -2.0]
    """
    x = operand("copysign", x)
    y = operand("copysign", y)
    if not y.weak_type or jnp.issubdtype(x.dtype, jnp.floating):
        x, y = promote("copysign", x, y)
    negative = jnp.signbit(y) if jnp.issubdtype(y.dtype, jnp.floating) else y < 0
    if x.dtype == bool:
        return x
    size = x * jax.lax.stop_gradient(jnp.sign(x))
    return jnp.where(negative, -size, size)


@binary("nextafter", differentiable=False)
def nextafter(x, y):
    """The next floating number after x in the direction of y, elementwise with broadcasting.

    Example:
        >>> bool(paddle.nextafter(paddle.ones([1]), paddle.zeros([1])) < 1)
        True
    """
    x, y = promote_alike("nextafter", x, y)
    return jnp.nextafter(x, y)


@binary("heaviside")
def heaviside(x, y):
    """The step function: 0 where x < 0, 1 where x > 0, y where x == 0; elementwise with broadcasting.

    Example:
        >>> paddle.heaviside(paddle.to_tensor([-2.0, 0.0, 2.0]), paddle.to_tensor([0.5])).tolist()
        [0.0, 0.5, 1.0]
    """
    x, y = promote("heaviside", x, y)
    return jnp.where(x == 0, y, (x > 0).astype(y.dtype))


@binary("ldexp", inplace=True)
def ldexp(x, y):
    """x * 2 ** y, elementwise with broadcasting; float64 if either operand is, otherwise float32.

    Example:
        >>> paddle.ldexp(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3, 1])).tolist()
        [8.0, 4.0]
    """
    if jnp.iscomplexobj(x) or jnp.iscomplexobj(y):
        raise errors.TypeError_("ldexp: x and y must be real, got complex numbers")
    dtype = jnp.dtype("float64" if any(o.dtype == np.float64 and not o.weak_type for o in (x, y)) else "float32")
    x, y = x.astype(dtype), y.astype(dtype)
    return x * _power(*jnp.broadcast_arrays(jnp.full((), 2, dtype), y))


@binary("gcd", inplace=True, differentiable=False)
def gcd(x, y):
    """The greatest common divisor of integers, elementwise with broadcasting; gcd(0, 0) is 0.

    Raises:
        TypeError: operands that are not integers.

    Example:
        >>> paddle.gcd(paddle.to_tensor([12, -18]), paddle.to_tensor([8, 12])).tolist()
        [4, 6]
    """
    return jnp.gcd(*_integers("gcd", x, y))


@binary("lcm", inplace=True, differentiable=False)
def lcm(x, y):
    """The least common multiple of integers, elementwise with broadcasting; 0 if either is 0.

    Raises:
        TypeError: operands that are not integers.

    Example:
        >>> paddle.lcm(paddle.to_tensor([4, 6]), paddle.to_tensor([6, 0])).tolist()
        [12, 0]
    """
    return jnp.lcm(*_integers("lcm", x, y))


def _integers(name: str, x, y):
    x, y = promote(name, x, y)
    if not _is_integer(x):
        raise errors.TypeError_(f"{name}: the operands must be integers, got {x.dtype.name}")
    return x, y


for _name, _function in (
    ("__rsub__", _subtract),
    ("__rtruediv__", _divide),
    ("__rdiv__", _divide),
    ("__rpow__", pow),
    ("__rfloordiv__", floor_divide),
    ("__rmod__", remainder),
):
    setattr(Tensor, _name, reflected(_function))
alias(subtract, "sub")
alias(multiply, "mul")
alias(divide, "div")
alias(remainder, "mod", "floor_mod")
alias(clip, "clamp")
