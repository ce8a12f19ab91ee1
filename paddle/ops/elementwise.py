"""Elementwise functions of one operand. Integers give float32 where the function leaves the integers."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float
from ..engine.value import at_least
from .math import alias


def _by_output(derivative):
    """The gradient of a function whose derivative is a function of its result, so that only the result is kept."""

    def gradient(inputs, outputs, cotangents, *attributes):
        return cotangents[0] * jnp.conj(derivative(outputs[0]))

    return gradient


def _by_input(derivative):
    """The gradient of a function by its derivative, where the one that JAX derives loses digits."""

    def gradient(inputs, outputs, cotangents, *attributes):
        return cotangents[0] * jnp.conj(derivative(inputs[0]))

    return gradient


def _real(name: str, x):
    """The operand of a function that complex numbers do not have."""
    if jnp.iscomplexobj(x):
        raise errors.TypeError_(f"{name}: complex numbers are not allowed, got {x.dtype.name}")
    return x


# ---- exponentials and logarithms ----


@op(inplace=True, gradient=_by_output(lambda y: y))
def exp(x):
    """e to the power of x, elementwise.

    Example:
        >>> paddle.exp(paddle.zeros([2])).tolist()
        [1.0, 1.0]
    """
    return jnp.exp(as_float(x))


@op(inplace=True, gradient=_by_input(jnp.exp))
def expm1(x):
    """exp(x) - 1, elementwise, exact for small x.

    Example:
        >>> paddle.expm1(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    return jnp.expm1(as_float(x))


@op(inplace=True)
def log(x):
    """The natural logarithm, elementwise; -inf at 0, NaN below.

    Example:
        >>> paddle.log(paddle.ones([2])).tolist()
        [0.0, 0.0]
    """
    return jnp.log(as_float(x))


@op(inplace=True, gradient=_by_input(lambda x: 1 / (x * math.log(2))))
def log2(x):
    """The logarithm to base 2, elementwise; exact for powers of two.

    Example:
        >>> paddle.log2(paddle.to_tensor([1.0, 8.0])).tolist()
        [0.0, 3.0]
    """
    x = as_float(x)
    if jnp.iscomplexobj(x) or jnp.finfo(x.dtype).bits < 32:
        return jnp.log2(x)
    mantissa, exponent = jnp.frexp(x)  # in [1/2, 1); around 1 below, so that nothing cancels
    low = mantissa < math.sqrt(0.5)
    return jnp.where(low, exponent - 1, exponent).astype(x.dtype) + jnp.log2(jnp.where(low, 2 * mantissa, mantissa))


@op(inplace=True)
def log10(x):
    """The logarithm to base 10, elementwise.

    Example:
        >>> paddle.log10(paddle.to_tensor([1.0, 100.0])).tolist()
        [0.0, 2.0]
    """
    return jnp.log10(as_float(x))


@op(inplace=True)
def log1p(x):
    """log(1 + x), elementwise, exact for small x.

    Example:
        >>> paddle.log1p(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    return jnp.log1p(as_float(x))


@op(inplace=True, export=False, gradient=_by_output(lambda y: y * (1 - y)))  # public as nn.functional.sigmoid
def sigmoid(x):
    """The logistic function 1 / (1 + exp(-x)), elementwise.

    Example:
        >>> paddle.zeros([1]).sigmoid().tolist()
        [0.5]
    """
    return jax.nn.sigmoid(as_float(x))


def _clamp(x, eps):
    low, high = eps.astype(x.dtype), (1 - eps).astype(x.dtype)
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


def _logit_gradient(inputs, outputs, cotangents, *attributes):
    x, *eps = inputs
    inside = _clamp(x, eps[0]) if eps else jnp.where((x < 0) | (x > 1), jnp.nan, x)
    slope = cotangents[0] / (inside * (1 - inside))
    return jnp.where(x == inside, slope, 0) if eps else slope, None


@op(inplace=True, scalars="eps", gradient=_logit_gradient)
def logit(x, eps=None):
    """log(x / (1 - x)), elementwise, the inverse of the logistic function; NaN outside of [0, 1].

    Args:
        eps: x is clamped to [eps, 1 - eps] first; the gradient outside is 0.

    Example:
        >>> paddle.logit(paddle.to_tensor([0.5])).tolist()
        [0.0]
    """
    x = as_float(_real("logit", x))
    if eps is not None:
        x = _clamp(x, eps)
    return jnp.log(x) - jnp.log1p(-x)


# ---- powers and roots ----


@op(inplace=True, gradient=_by_output(lambda y: 0.5 / y))
def sqrt(x):
    """The square root, elementwise; NaN below 0.

    Example:
        >>> paddle.sqrt(paddle.to_tensor([4.0, 9.0])).tolist()
        [2.0, 3.0]
    """
    return jnp.sqrt(as_float(x))


@op(inplace=True, gradient=_by_output(lambda y: -0.5 * y * y * y))
def rsqrt(x):
    """1 / sqrt(x), elementwise; inf at 0, NaN below.

    Example:
        >>> paddle.rsqrt(paddle.to_tensor([4.0])).tolist()
        [0.5]
    """
    return jax.lax.rsqrt(as_float(x))


@op(inplace=True)
def square(x):
    """x * x, elementwise; integers stay integers.

    Example:
        >>> paddle.square(paddle.to_tensor([-2.0, 3.0])).tolist()
        [4.0, 9.0]
    """
    return x * x


@op(inplace=True, gradient=_by_output(lambda y: -y * y))
def reciprocal(x):
    """1 / x, elementwise; integers give float32.

    Example:
        >>> paddle.reciprocal(paddle.to_tensor([4.0])).tolist()
        [0.25]
    """
    return 1 / as_float(x)


# ---- sign and size ----


@op(inplace=True, method="abs __abs__", gradient=_by_input(lambda x: jnp.conj(jnp.sign(x))))
def abs(x):
    """The absolute value, elementwise; of complex numbers the modulus. The gradient at 0 is 0.

    Example:
        >>> paddle.abs(paddle.to_tensor([-1.5, 2.0])).tolist()
        [1.5, 2.0]
    """
    return jnp.abs(x)


@op(inplace=True, method="neg __neg__")
def neg(x):
    """-x, elementwise; a bool tensor stays as it is.

    Example:
        >>> (-paddle.ones([2])).tolist()
        [-1.0, -1.0]
    """
    return x if x.dtype == bool else -x


@api(method="__pos__")
def positive(x):
    """The tensor itself; the operator `+x`.

    Raises:
        TypeError: a bool tensor.

    Example:
        >>> (+paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    if x.dtype.name == "bool":
        raise errors.TypeError_("positive: bool tensors have no sign")
    return x


@op
def sign(x):
    """-1, 0 or 1, elementwise (NaN for NaN); of complex numbers x / |x|. The gradient is 0.

    Example:
        >>> paddle.sign(paddle.to_tensor([-3.0, 0.0, 2.0])).tolist()
        [-1.0, 0.0, 1.0]
    """
    return jnp.sign(x) if x.dtype != bool else x


@op
def sgn(x):
    """The direction: `sign` for real numbers, x / |x| (0 at 0) for complex ones.

    Example:
        >>> paddle.sgn(paddle.to_tensor([-3.0, 0.0])).tolist()
        [-1.0, 0.0]
    """
    return jnp.sign(x) if x.dtype != bool else x


@op(differentiable=False)
def signbit(x):
    """Whether the sign bit is set, elementwise: true for -0.0 as well.

    Example:
        >>> paddle.signbit(paddle.to_tensor([-0.0, 1.0])).tolist()
        [True, False]
    """
    return jnp.signbit(as_float(_real("signbit", x)))


@op
def angle(x):
    """The phase of complex numbers in radians; of real ones 0, or pi where negative.

    Example:
        >>> round(float(paddle.angle(paddle.to_tensor(1j))), 4)
        1.5708
    """
    x = as_float(x)
    if jnp.iscomplexobj(x):
        return jnp.angle(x)
    return jnp.where(jnp.isnan(x), x, jnp.where(x < 0, jnp.asarray(math.pi, x.dtype), jnp.zeros((), x.dtype)))


# ---- trigonometric functions ----


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _wave(x, quarter):
    """The sine, or one quarter of a turn ahead (`quarter` 1) the cosine.

    For large arrays on the CPU a polynomial that XLA vectorises (its own sine is a call for each element): the operand
    is reduced and the series summed in float64, which rounds to float32 within 0.51 units in the last place.
    """
    library = jnp.cos if quarter else jnp.sin
    if jnp.iscomplexobj(x) or x.dtype.itemsize > 4 or not at_least(x.size, 4096):
        return library(x)

    def series(x):
        wide = x.astype(np.float64)
        turns = jnp.round(wide * (2 / np.pi))
        r = wide - turns * (np.pi / 2)
        q = r * r
        sine = r * (1 - q / 6 * (1 - q / 20 * (1 - q / 42 * (1 - q / 72 * (1 - q / 110)))))
        cosine = 1 - q / 2 * (1 - q / 12 * (1 - q / 30 * (1 - q / 56 * (1 - q / 90))))
        number = turns.astype(np.int32) + quarter
        value = jnp.where(number & 1, cosine, sine)
        return jnp.where(number & 2, -value, value).astype(x.dtype)

    def on_cpu(x):  # far out the reduction would need more digits than float64 has
        return jax.lax.cond(jnp.max(jnp.abs(x)) < 1e5, series, library, x)

    return jax.lax.platform_dependent(x, cpu=on_cpu, default=library)


@_wave.defjvp
def _wave_jvp(quarter, primals, tangents):
    (x,), (t,) = primals, tangents
    return _wave(x, quarter), t * (-_wave(x, 0) if quarter else _wave(x, 1))


@op(inplace=True)
def sin(x):
    """The sine of x (radians), elementwise.

    Example:
        >>> paddle.sin(paddle.zeros([1])).tolist()
        [0.0]
    """
    return _wave(as_float(x), 0)


@op(inplace=True)
def cos(x):
    """The cosine of x (radians), elementwise.

    Example:
        >>> paddle.cos(paddle.zeros([1])).tolist()
        [1.0]
    """
    return _wave(as_float(x), 1)


@op(inplace=True, gradient=_by_output(lambda y: 1 + y * y))
def tan(x):
    """The tangent of x (radians), elementwise.

    Example:
        >>> paddle.tan(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.tan(as_float(x))


@op(inplace=True)
def asin(x):
    """The inverse sine in [-pi/2, pi/2], elementwise; NaN outside of [-1, 1].

    Example:
        >>> paddle.asin(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.arcsin(as_float(x))


@op(inplace=True)
def acos(x):
    """The inverse cosine in [0, pi], elementwise; NaN outside of [-1, 1].

    Example:
        >>> paddle.acos(paddle.ones([1])).tolist()
        [0.0]
    """
    return jnp.arccos(as_float(x))


@op(inplace=True)
def atan(x):
    """The inverse tangent in [-pi/2, pi/2], elementwise.

    Example:
        >>> paddle.atan(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.arctan(as_float(x))


@op
def deg2rad(x):
    """Degrees to radians, elementwise.

    Example:
        >>> paddle.deg2rad(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return as_float(x) * (math.pi / 180)


@op
def rad2deg(x):
    """Radians to degrees, elementwise.

    Example:
        >>> paddle.rad2deg(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return as_float(x) * (180 / math.pi)


# ---- hyperbolic functions ----


@op(inplace=True)
def sinh(x):
    """The hyperbolic sine, elementwise.

    Example:
        >>> paddle.sinh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.sinh(as_float(x))


@op(inplace=True)
def cosh(x):
    """The hyperbolic cosine, elementwise.

    Example:
        >>> paddle.cosh(paddle.zeros([1])).tolist()
        [1.0]
    """
    return jnp.cosh(as_float(x))


@op(inplace=True, gradient=_by_output(lambda y: 1 - y * y))
def tanh(x):
    """The hyperbolic tangent, elementwise.

    Example:
        >>> paddle.tanh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.tanh(as_float(x))


@op(scalars="scale_a scale_b")
def stanh(x, scale_a=0.67, scale_b=1.7159):
    """scale_b * tanh(scale_a * x), elementwise.

    Example:
        >>> paddle.stanh(paddle.zeros([1])).tolist()
        [0.0]
    """
    x = as_float(x)
    return scale_b.astype(x.dtype) * jnp.tanh(scale_a.astype(x.dtype) * x)


@op(inplace=True)
def asinh(x):
    """The inverse hyperbolic sine, elementwise.

    Example:
        >>> paddle.asinh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.arcsinh(as_float(x))


@op(inplace=True)
def acosh(x):
    """The inverse hyperbolic cosine, elementwise; NaN below 1.

    Example:
        >>> paddle.acosh(paddle.ones([1])).tolist()
        [0.0]
    """
    return jnp.arccosh(as_float(x))


@op(inplace=True)
def atanh(x):
    """The inverse hyperbolic tangent, elementwise; infinite at -1 and 1, NaN outside.

    Example:
        >>> paddle.atanh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.arctanh(as_float(x))


# ---- rounding; integers stay as they are, and the gradient is 0 ----


def _rounded(name: str, function, x):
    return function(_real(name, x)) if jnp.issubdtype(x.dtype, jnp.floating) else x


@op(inplace=True)
def ceil(x):
    """The smallest integer not below x, elementwise.

    Example:
        >>> paddle.ceil(paddle.to_tensor([0.5, -0.5])).tolist()
        [1.0, -0.0]
    """
    return _rounded("ceil", jnp.ceil, _real("ceil", x))


@op(inplace=True)
def floor(x):
    """The largest integer not above x, elementwise.

    Example:
        >>> paddle.floor(paddle.to_tensor([0.5, -0.5])).tolist()
        [0.0, -1.0]
    """
    return _rounded("floor", jnp.floor, _real("floor", x))


@op(inplace=True, method=True)
def trunc(input):
    """The integer part, elementwise.

    Example:
        >>> paddle.trunc(paddle.to_tensor([1.5, -1.5])).tolist()
        [1.0, -1.0]
    """
    return _rounded("trunc", jnp.trunc, _real("trunc", input))


@op(inplace=True, static="decimals")
def round(x, decimals=0):
    """The nearest number with that many decimals, elementwise; halves go to the even neighbour.

    Args:
        decimals: an int; negative ones round to tens, hundreds, ...

    Example:
        >>> paddle.round(paddle.to_tensor([0.5, 1.5, 2.6])).tolist()
        [0.0, 2.0, 3.0]
    """
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return x
    if decimals == 0:
        return jnp.round(x)
    factor = 10.0 ** max(decimals, -decimals)
    return jnp.round(x * factor) / factor if decimals > 0 else jnp.round(x / factor) * factor


@op(inplace=True)
def frac(x):
    """x - trunc(x), elementwise, with the sign of x. Its gradient is that of x.

    Example:
        >>> paddle.frac(paddle.to_tensor([1.5, -1.25])).tolist()
        [0.5, -0.25]
    """
    return x - jnp.trunc(x) if jnp.issubdtype(_real("frac", x).dtype, jnp.floating) else jnp.zeros_like(x)


# ---- what kind of number ----


@op(differentiable=False)
def isnan(x):
    """Whether an element is NaN, as bool.

    Example:
        >>> paddle.isnan(paddle.to_tensor([float("nan"), 1.0])).tolist()
        [True, False]
    """
    return jnp.isnan(x)


@op(differentiable=False)
def isinf(x):
    """Whether an element is infinite, as bool.

    Example:
        >>> paddle.isinf(paddle.to_tensor([float("-inf"), 1.0])).tolist()
        [True, False]
    """
    return jnp.isinf(x)


@op(differentiable=False)
def isfinite(x):
    """Whether an element is neither infinite nor NaN, as bool.

    Example:
        >>> paddle.isfinite(paddle.to_tensor([float("inf"), 1.0])).tolist()
        [False, True]
    """
    return jnp.isfinite(x)


@op(differentiable=False)
def isposinf(x):
    """Whether an element is +inf, as bool.

    Raises:
        TypeError: a complex tensor.

    Example:
        >>> paddle.isposinf(paddle.to_tensor([float("inf"), 1.0])).tolist()
        [True, False]
    """
    return _real("isposinf", x) == math.inf if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.zeros(x.shape, bool)


@op(differentiable=False)
def isneginf(x):
    """Whether an element is -inf, as bool.

    Raises:
        TypeError: a complex tensor.

    Example:
        >>> paddle.isneginf(paddle.to_tensor([float("-inf"), 1.0])).tolist()
        [True, False]
    """
    return _real("isneginf", x) == -math.inf if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.zeros(x.shape, bool)


@op(differentiable=False)
def isreal(x):
    """Whether an element has no imaginary part, as bool.

    Example:
        >>> paddle.isreal(paddle.to_tensor([1 + 1j, 2 + 0j])).tolist()
        [False, True]
    """
    return jnp.isreal(x)


@op(inplace=True, scalars="nan posinf neginf")
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """Finite numbers in the place of NaN and infinities, elementwise.

    Args:
        nan: the value for NaN.
        posinf, neginf: the values for +inf and -inf; by default the largest and the smallest number of the type.

    Example:
        >>> paddle.nan_to_num(paddle.to_tensor([float("nan"), float("inf")]), posinf=9.0).tolist()
        [0.0, 9.0]
    """
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return x if not jnp.iscomplexobj(x) else jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    limits = jnp.finfo(x.dtype)
    high = limits.max if posinf is None else posinf.astype(x.dtype)
    low = limits.min if neginf is None else neginf.astype(x.dtype)
    x = jnp.where(jnp.isnan(x), nan.astype(x.dtype), x)
    return jnp.where(x == math.inf, high, jnp.where(x == -math.inf, low, x))


@op
def frexp(x):
    """Mantissa and exponent with x = mantissa * 2 ** exponent, elementwise, and 1/2 <= |mantissa| < 1 (0 for 0).

    Returns:
        Both of the type of `x`.

    Example:
        >>> [t.tolist() for t in paddle.frexp(paddle.to_tensor([8.0]))]
        [[0.5], [4.0]]
    """
    x = as_float(_real("frexp", x))
    _, exponent = jnp.frexp(jax.lax.stop_gradient(x))
    half = exponent // 2  # in two steps, for the scale itself may be out of range
    scale = lambda e: jnp.ldexp(jnp.ones((), x.dtype), -e)
    mantissa = x * scale(half) * scale(exponent - half)
    return mantissa, exponent.astype(x.dtype)


alias(neg, "negative")
