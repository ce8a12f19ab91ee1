"""Distances and similarities between vectors."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from ..engine.op import op
from ..engine.promotion import promote_float
from .axes import axis_of

nn_op = functools.partial(op, method=False)


def absolute(x):
    """|x| with gradient 0 at 0 (JAX gives 1)."""
    return x * jax.lax.stop_gradient(jnp.sign(x))


@nn_op(aliases={"x1": "x", "x2": "y"})
def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False):
    """The p-norm of x - y + epsilon along the last axis.

    Args:
        x, y: shapes [N, D] or [D], which broadcast.
        p: any number, also infinity.
        epsilon: added to each difference, which keeps the gradient finite at equal vectors.
        keepdim: keep the last axis with length 1.

    Raises:
        ValueError: shapes that do not broadcast.

    Example:
        >>> round(paddle.nn.functional.pairwise_distance(paddle.zeros([2]), paddle.to_tensor([3.0, 4.0])).item(), 3)
        5.0
    """
    x, y = promote_float("pairwise_distance", x, y)
    size = absolute(x - y + epsilon)
    if size.shape[-1:] == (0,):
        return jnp.sum(size, -1, keepdims=keepdim)
    if p == 0:
        return jnp.sum(size != 0, -1, keepdims=keepdim).astype(size.dtype)
    if p in (float("inf"), -float("inf")):
        return (jnp.max if p > 0 else jnp.min)(size, -1, keepdims=keepdim)
    total = jnp.sum(size if p == 1 else size * size if p == 2 else size**p, -1, keepdims=keepdim)
    zero = total == 0  # the root has no derivative there
    return jnp.where(zero, 0 if p > 0 else jnp.inf, jnp.where(zero, 1, total) ** (1 / p))


@nn_op
def cosine_similarity(x1, x2, axis=1, eps=1e-8):
    """The cosine of the angle between vectors along an axis.

    Args:
        x1, x2: shapes that broadcast.
        axis: of the vectors.
        eps: a lower bound of the product of the norms.

    Raises:
        ValueError: an axis out of range, shapes that do not broadcast.

    Example:
        >>> paddle.nn.functional.cosine_similarity(paddle.ones([1, 4]), paddle.ones([1, 4])).tolist()
        [1.0]
    """
    x1, x2 = promote_float("cosine_similarity", x1, x2)
    axis = axis_of("cosine_similarity", axis, max(x1.ndim, x2.ndim))
    x1, x2 = jnp.broadcast_arrays(x1, x2)
    product = jnp.sum(x1 * x1, axis) * jnp.sum(x2 * x2, axis)
    bound = eps * eps
    return jnp.sum(x1 * x2, axis) / jnp.sqrt(jnp.where(product > bound, product, bound))
