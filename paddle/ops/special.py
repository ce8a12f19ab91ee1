"""Special functions: error functions, gamma functions and their relatives, Bessel functions."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float, promote
from ..engine.tensor import Tensor
from .checks import satisfies

# ---- error functions ----


@op(inplace=True)
def erf(x):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x, elementwise.

    Example:
        >>> paddle.erf(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jax.lax.erf(as_float(x))


@op(inplace=True)
def erfinv(x):
    """The inverse of the error function, elementwise; infinite at -1 and 1, NaN outside.

    Example:
        >>> paddle.erfinv(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jax.lax.erf_inv(as_float(x))


# ---- gamma functions ----


def _digamma(x):
    zero = x == 0
    return jnp.where(zero, -1 / x, jax.lax.digamma(jnp.where(zero, jnp.ones_like(x), x)))


@op(inplace=True)
def digamma(x):
    """The derivative of lgamma, elementwise; -inf at 0, NaN at the other poles, the negative integers.

    Example:
        >>> round(float(paddle.digamma(paddle.ones([]))), 4)
        -0.5772
    """
    return _digamma(as_float(x))


@op(inplace=True, gradient=lambda inputs, outputs, cotangents: cotangents[0] * _digamma(inputs[0]))
def lgamma(x):
    """The logarithm of the absolute value of the gamma function, elementwise.

    Example:
        >>> round(float(paddle.lgamma(paddle.to_tensor(4.0))), 4)
        1.7918
    """
    return jax.lax.lgamma(as_float(x))


@op(inplace=True, gradient=lambda inputs, outputs, cotangents: cotangents[0] * _digamma(inputs[0]))
def gammaln(x):
    """The logarithm of the absolute value of the gamma function, elementwise (the same as `lgamma`).

    Example:
        >>> round(float(paddle.gammaln(paddle.to_tensor(4.0))), 4)
        1.7918
    """
    return jax.lax.lgamma(as_float(x))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _polygamma_of_order(n, x):
    factor = (-1.0) ** (n + 1) * (math.factorial(n) if n < 170 else math.inf)
    pole = (x <= 0) & (x == jnp.floor(x))
    return factor * jnp.where(pole, jnp.inf, jax.lax.zeta(jnp.full(x.shape, n + 1, x.dtype), x))


@_polygamma_of_order.defjvp
def _polygamma_derivative(n, primals, tangents):
    return _polygamma_of_order(n, *primals), tangents[0] * _polygamma_of_order(n + 1, *primals)


@op(export=False, method=False, name="polygamma")
def _polygamma(x, n):
    return _polygamma_of_order(n, as_float(x))


@api(inplace=True)
def polygamma(x, n):
    """The n-th derivative of digamma, elementwise.

    Args:
        n: an int, at least 0; 0 is digamma itself.

    Raises:
        TypeError: n is no int.
        ValueError: n is negative.

    Example:
        >>> round(float(paddle.polygamma(paddle.ones([]), 1)), 4)
        1.6449
    """
    if not isinstance(n, (int, np.integer)):
        raise errors.TypeError_(f"polygamma: n must be an int, got {errors.describe(n)}")
    if n < 0:
        raise errors.ValueError_(f"polygamma: n must be at least 0, got {n}")
    return digamma(x) if n == 0 else _polygamma(x, int(n))


def _multigammaln_gradient(inputs, outputs, cotangents, p):
    return cotangents[0] * sum(_digamma(inputs[0] - 0.5 * i) for i in range(p))


@op(inplace=True, static="p", gradient=_multigammaln_gradient)
def multigammaln(x, p):
    """The logarithm of the multivariate gamma function of dimension p, elementwise.

    Args:
        p: an int, at least 1. The elements of `x` must exceed (p - 1) / 2.

    Raises:
        ValueError: p is less than 1.

    Example:
        >>> round(float(paddle.multigammaln(paddle.to_tensor(4.0), 1)), 4)
        1.7918
    """
    if not isinstance(p, int) or not 1 <= p <= 65536:
        raise errors.ValueError_(f"multigammaln: p must be an int from 1 to 65536, got {p}")
    x = as_float(x)
    terms = jax.lax.lgamma(x[..., None] - 0.5 * jnp.arange(p, dtype=x.dtype))
    return p * (p - 1) / 4 * math.log(math.pi) + terms.sum(-1)


@op(export=False, method=False, name="gammainc")
def _gammainc(x, y):
    return jax.scipy.special.gammainc(*jnp.broadcast_arrays(*promote("gammainc", x, y)))


@op(export=False, method=False, name="gammaincc")
def _gammaincc(x, y):
    return jax.scipy.special.gammaincc(*jnp.broadcast_arrays(*promote("gammaincc", x, y)))


@api(inplace=True)
def gammainc(x, y):
    """The regularized lower incomplete gamma function P(x, y), elementwise with broadcasting.

    Args:
        x: the shape parameter, floating, not negative.
        y: the upper end of the integral, floating, not negative.

    Raises:
        ValueError: negative elements.
        TypeError: integers.

    Example:
        >>> paddle.gammainc(paddle.ones([1]), paddle.zeros([1])).tolist()
        [0.0]
    """
    _check_incomplete("gammainc", x, y)
    return _gammainc(x, y)


@api(inplace=True)
def gammaincc(x, y):
    """The regularized upper incomplete gamma function Q(x, y) = 1 - P(x, y), elementwise (see `gammainc`).

    Example:
        >>> paddle.gammaincc(paddle.ones([1]), paddle.zeros([1])).tolist()
        [1.0]
    """
    _check_incomplete("gammaincc", x, y)
    return _gammaincc(x, y)


def _check_incomplete(name: str, x, y) -> None:
    for parameter, value in (("x", x), ("y", y)):
        if not isinstance(value, Tensor) or not value.dtype.is_floating:
            raise errors.TypeError_(f"{name}: {parameter} must be a floating tensor, got {errors.describe(value)}")
        if not satisfies(value, lambda elements: elements >= 0):
            raise errors.ValueError_(f"{name}: the elements of {parameter} must not be negative or NaN")


# ---- Bessel functions; the derivatives that JAX has for i0 and i1 are wrong at 0 ----

_i0, _i1 = jax.custom_jvp(jax.scipy.special.i0), jax.custom_jvp(jax.scipy.special.i1)
_i0.defjvps(lambda g, y, x: g * _i1(x))
_i1.defjvps(lambda g, y, x: g * (_i0(x) - jnp.where(x == 0, 0.5, _i1(x) / jnp.where(x == 0, 1, x))))


@op(inplace=True)
def i0(x):
    """The modified Bessel function of the first kind and order 0, elementwise.

    Example:
        >>> round(float(paddle.i0(paddle.ones([]))), 4)
        1.2661
    """
    return _i0(as_float(x))


@op
def i0e(x):
    """exp(-|x|) * i0(x), elementwise.

    Example:
        >>> round(float(paddle.i0e(paddle.ones([]))), 4)
        0.4658
    """
    return jax.scipy.special.i0e(as_float(x))


@op
def i1(x):
    """The modified Bessel function of the first kind and order 1, elementwise.

    Example:
        >>> round(float(paddle.i1(paddle.ones([]))), 4)
        0.5652
    """
    return _i1(as_float(x))


@op
def i1e(x):
    """exp(-|x|) * i1(x), elementwise.

    Example:
        >>> round(float(paddle.i1e(paddle.ones([]))), 4)
        0.2079
    """
    return jax.scipy.special.i1e(as_float(x))


@op(inplace=True)
def sinc(x):
    """sin(pi x) / (pi x), elementwise; 1 at 0.

    Example:
        >>> paddle.sinc(paddle.zeros([1])).tolist()
        [1.0]
    """
    return jnp.sinc(as_float(x))
