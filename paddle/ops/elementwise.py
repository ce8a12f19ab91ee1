"""Elementwise functions of one operand. Integers give float32 where the function is not defined on integers."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from ..engine.op import op
from ..engine.promotion import as_float


def _by_output(derivative):
    """The gradient of a function whose derivative is a function of its result, so that only the result is kept."""
    def gradient(inputs, outputs, cotangents, *attributes):
        return cotangents[0] * jnp.conj(derivative(outputs[0]))
    return gradient


# ---- exponentials and logarithms ----

@op(inplace=True, gradient=_by_output(lambda y: y))
def exp(x):
    """e to the power of x, elementwise.

    Example:
        >>> paddle.exp(paddle.zeros([2])).tolist()
        [1.0, 1.0]
    """
    return jnp.exp(as_float(x))


@op(inplace=True)
def log(x):
    """The natural logarithm, elementwise; -inf at 0, NaN below.

    Example:
        >>> paddle.log(paddle.ones([2])).tolist()
        [0.0, 0.0]
    """
    return jnp.log(as_float(x))


# ---- powers and roots ----

@op(inplace=True, gradient=_by_output(lambda y: 0.5 / y))
def sqrt(x):
    """The square root, elementwise; NaN below 0.

    Example:
        >>> paddle.sqrt(paddle.to_tensor([4.0, 9.0])).tolist()
        [2.0, 3.0]
    """
    return jnp.sqrt(as_float(x))


@op(inplace=True)
def square(x):
    """x * x, elementwise; integers stay integers.

    Example:
        >>> paddle.square(paddle.to_tensor([-2.0, 3.0])).tolist()
        [4.0, 9.0]
    """
    return x * x


# ---- sign and size ----

@op(inplace=True, method="abs __abs__")
def abs(x):
    """The absolute value, elementwise; of complex numbers the modulus. The gradient at 0 is 0.

    Example:
        >>> paddle.abs(paddle.to_tensor([-1.5, 2.0])).tolist()
        [1.5, 2.0]
    """
    return jnp.abs(x)


@op(inplace=True, method="neg negative __neg__")
def neg(x):
    """-x, elementwise.

    Example:
        >>> (-paddle.ones([2])).tolist()
        [-1.0, -1.0]
    """
    return -x


# ---- trigonometric and hyperbolic functions ----

@op(inplace=True)
def sin(x):
    """The sine of x (radians), elementwise.

    Example:
        >>> paddle.sin(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.sin(as_float(x))


@op(inplace=True)
def cos(x):
    """The cosine of x (radians), elementwise.

    Example:
        >>> paddle.cos(paddle.zeros([1])).tolist()
        [1.0]
    """
    return jnp.cos(as_float(x))


@op(inplace=True, gradient=_by_output(lambda y: 1 - y * y))
def tanh(x):
    """The hyperbolic tangent, elementwise.

    Example:
        >>> paddle.tanh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return jnp.tanh(as_float(x))


@op(inplace=True, export=False, gradient=_by_output(lambda y: y * (1 - y)))  # public as nn.functional.sigmoid
def sigmoid(x):
    """The logistic function 1 / (1 + exp(-x)), elementwise.

    Example:
        >>> paddle.zeros([1]).sigmoid().tolist()
        [0.5]
    """
    return jax.nn.sigmoid(as_float(x))
