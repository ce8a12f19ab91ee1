"""Norms of vectors and matrices, and distances."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import _write_out, api, op
from ..engine.promotion import as_float, promote
from .manipulation import tensor_of
from .reduction import check_tensor, reduction_axes, restore

# ---- vectors ----


def _power(name, p):
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise errors.ValueError_(f"{name}: p must be a number, got {errors.describe(p)}")
    return float(p)


def _p_norm_of(x, p, axes, keepdim):
    """The p-norm over axes; half precision is summed in float32."""
    size = jnp.abs(x)
    if p == 0:
        return jnp.sum(size != 0, axes, keepdims=keepdim).astype(size.dtype)
    if p == math.inf:
        return jnp.max(size, axes, keepdims=keepdim, initial=0)
    if p == -math.inf:
        return jnp.min(size, axes, keepdims=keepdim, initial=math.inf)
    wide = size.astype(np.float32) if size.dtype.itemsize < 4 else size
    if p == 1:
        out = jnp.sum(wide, axes, keepdims=keepdim)
    elif p == 2:
        out = jnp.sqrt(jnp.sum(wide * wide, axes, keepdims=keepdim))
    else:
        out = jnp.sum(wide**p, axes, keepdims=keepdim) ** (1 / p)
    return out.astype(size.dtype)


def _p_norm_gradient(inputs, outputs, cotangents, p, axis, keepdim):
    x, axes = inputs[0], reduction_axes("p_norm", inputs[0], axis)
    g = restore(cotangents[0], axes, keepdim)
    if p == 0:
        return jnp.zeros_like(x)
    if p == 1:
        return jnp.sign(x) * g
    out = restore(outputs[0], axes, keepdim)
    if p == 2:
        return x * (g / jnp.where(out == 0, 1, out))
    size = jnp.abs(x)
    direction = jnp.sign(x)
    if abs(p) == math.inf:
        return jnp.where(size == out, direction * g, 0)
    positive = size > 0
    ratio = jnp.where(positive, size, 1) / jnp.where(out == 0, 1, out)
    return jnp.where(positive, direction * ratio ** (p - 1) * g, 0)


@op(method=False, export=False, gradient=_p_norm_gradient, name="p_norm")
def _p_norm(x, p, axis, keepdim):
    axes = reduction_axes("norm", x, axis)
    if p == -math.inf and 0 in [x.shape[a] for a in axes]:
        raise errors.ValueError_(f"norm: there is no smallest of no elements, the tensor has shape {list(x.shape)}")
    return _p_norm_of(as_float(x), p, axes, keepdim)


@api(method=False, export=False, aliases={"ord": "p"})
def vector_norm(x, p=2.0, axis=None, keepdim=False, *, dtype=None):
    """The p-norm of the vectors along axes (an int or a list; None: of the flat tensor).

    p may be any number, inf or -inf; 0 counts what is not zero. The gradient at the zero vector is zero.

    Raises:
        ValueError: p is no number, an axis is out of range.

    Example:
        >>> paddle.linalg.vector_norm(paddle.to_tensor([3.0, 4.0])).item()
        5.0
    """
    if dtype is not None:
        x = x.astype(dtype)
    return _p_norm(x, _power("vector_norm", p), axis, keepdim)


# ---- matrices ----

_MATRIX_NORMS = ("nuc", 1, -1, 2, -2, math.inf, -math.inf)


@op(method=False, export=False, name="matrix_norm", save="residuals")
def _matrix_norm(x, p, axis, keepdim):
    x = as_float(x)
    if p in (2, -2, "nuc"):
        values = jnp.linalg.svd(jnp.moveaxis(x, axis, (-2, -1)), compute_uv=False)
        out = {2: jnp.max, -2: jnp.min, "nuc": jnp.sum}[p](values, -1)
    else:
        summed, along = (axis[0], axis[1]) if abs(p) == 1 else (axis[1], axis[0])
        sums = jnp.sum(jnp.abs(x), summed, keepdims=True)
        out = jnp.squeeze((jnp.max if p > 0 else jnp.min)(sums, along, keepdims=True), axis)
    return jnp.expand_dims(out, axis) if keepdim else out


def _matrix_norm_over(name, x, p, axis, keepdim):
    check_tensor(name, x)
    if not isinstance(axis, (list, tuple)):
        raise errors.TypeError_(f"{name}: the axes of a matrix are a list of two ints, got {errors.describe(axis)}")
    if len(axis) != 2:
        raise errors.ValueError_(f"{name}: the axes of a matrix are two, got {list(axis)}")
    rank = len(x.shape)
    if rank < 2:
        raise errors.ValueError_(f"{name}: a matrix norm needs at least two dimensions, got shape {list(x.shape)}")
    axes = reduction_axes(name, x, tuple(axis))
    if p == "fro":
        return _p_norm(x, 2.0, axes, keepdim)
    if p not in _MATRIX_NORMS:
        raise errors.ValueError_(
            f"{name}: p of a matrix norm must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {p!r}"
        )
    if x.shape[axes[0]] == 0 or x.shape[axes[1]] == 0:
        raise errors.ValueError_(f"{name}: the matrices have no elements, the tensor has shape {list(x.shape)}")
    return _matrix_norm(x, p, axes, keepdim)


@api(method=False, export=False)
def matrix_norm(x, p="fro", axis=[-2, -1], keepdim=False):
    """The norm of matrices that lie along two axes.

    Args:
        p: "fro" (Frobenius), "nuc" (sum of the singular values), 2 and -2 (largest and smallest of them), 1 and -1
            (largest and smallest column sum), inf and -inf (row sums).

    Raises:
        ValueError: another p, not two axes.

    Example:
        >>> paddle.linalg.matrix_norm(paddle.to_tensor([[1.0, -2.0], [3.0, 4.0]]), p=1).item()
        6.0
    """
    return _matrix_norm_over("matrix_norm", x, p, axis, keepdim)


@api(aliases={"A": "x", "ord": "p"})
def norm(x, p=None, axis=None, keepdim=False, out=None, dtype=None):
    """A norm of vectors or matrices.

    Args:
        p: None: 2; a number: that norm; "fro" and "nuc" for matrices.
        axis: None: of the flat tensor; an int: of vectors; two ints: of matrices (see `matrix_norm`), other lists: of
            the vector of all their elements.
        dtype: x is cast to it first.

    Raises:
        ValueError: a p that is not allowed, an axis out of range.

    Example:
        >>> paddle.norm(paddle.to_tensor([[3.0, 4.0]])).item()
        5.0
    """
    check_tensor("norm", x)
    if dtype is not None:
        x = x.astype(to_dtype(dtype))
    if isinstance(axis, (list, tuple)) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, (list, tuple)) and not axis:
        axis = None
    if p == "fro" and (axis is None or isinstance(axis, int)):
        p = 2
    if p == "nuc" and axis is None and len(x.shape) == 2:
        axis = (0, 1)
    if isinstance(p, str) or isinstance(axis, (list, tuple)) and len(axis) == 2:
        axis = (axis,) if isinstance(axis, int) else () if axis is None else axis
        result = _matrix_norm_over("norm", x, 2 if p is None else p, axis, keepdim)
    else:
        result = _p_norm(x, 2.0 if p is None else _power("norm", p), axis, keepdim)
    return result if out is None else _write_out("norm", result, out)


# ---- distances ----


@op
def dist(x, y, p=2):
    """The p-norm of x - y (the shapes broadcast) over all elements.

    Example:
        >>> paddle.dist(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([4.0, 6.0])).item()
        5.0
    """
    check_tensor("dist", x)
    x, y = promote("dist", x, check_tensor("dist", y, "y"))
    return _distance(as_float(x - y), _power("dist", p), None)


def _distance(difference, p, axis):
    """The p-norm of a difference with the gradient of `_p_norm`, which is 0 where the difference is."""
    if jnp.iscomplexobj(difference):
        size = _root(difference.real**2 + difference.imag**2)
    else:
        size = difference * jax.lax.stop_gradient(jnp.sign(difference))  # unlike abs without a slope at 0
    if p == 0:
        return jnp.sum(size != 0, axis).astype(size.dtype)
    if p == math.inf:
        return jnp.max(size, axis, initial=0)
    if p == -math.inf:
        return jnp.min(size, axis, initial=math.inf)
    if p == 1:
        return jnp.sum(size, axis)
    if p == 2:
        return _root(jnp.sum(size * size, axis))
    positive = size > 0
    total = jnp.sum(jnp.where(positive, jnp.where(positive, size, 1) ** p, 0 if p > 0 else math.inf), axis)
    return jnp.where(total > 0, jnp.where(total > 0, total, 1) ** (1 / p), 0 if p > 0 else math.inf)


def _root(square):
    """The square root with gradient 0 at 0."""
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1)), 0)


_CDIST_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@op
def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between every row of x [..., m, d] and every row of y [..., n, d]: [..., m, n].

    Args:
        p: at least 0, or inf.
        compute_mode: whether Euclidean distances use a matrix product, which is faster and less exact; by default for
            more than 25 rows.

    Raises:
        ValueError: fewer than two dimensions, different d, a negative p, another mode.

    Example:
        >>> paddle.cdist(paddle.to_tensor([[0.0, 0.0]]), paddle.to_tensor([[3.0, 4.0]])).tolist()
        [[5.0]]
    """
    check_tensor("cdist", x)
    check_tensor("cdist", y, "y")
    if compute_mode not in _CDIST_MODES:
        raise errors.ValueError_(f"cdist: compute_mode must be one of {', '.join(_CDIST_MODES)}, got {compute_mode!r}")
    p = _power("cdist", p)
    if p < 0:
        raise errors.ValueError_(f"cdist: p must be at least 0, got {p}")
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise errors.ValueError_(
            f"cdist: x and y must be rows [..., m, d] and [..., n, d], got shapes {list(x.shape)} and {list(y.shape)}"
        )
    x, y = promote("cdist", x, y)
    x, y = as_float(x), as_float(y)
    large = max(x.shape[-2], y.shape[-2]) > 25
    if p == 2 and (compute_mode == _CDIST_MODES[1] or large and compute_mode == _CDIST_MODES[0]):
        squares = jnp.sum(x * x, -1)[..., :, None] + jnp.sum(y * y, -1)[..., None, :]
        return _root(squares - 2 * jnp.matmul(x, y.swapaxes(-1, -2)))
    return _distance(x[..., :, None, :] - y[..., None, :, :], p, -1)


@op(method=False)
def pdist(x, p=2.0):
    """The p-norm distances between the rows of a matrix [n, d], for the pairs i < j in order: [n (n - 1) / 2].

    Raises:
        ValueError: x is not 2-D, p is negative.

    Example:
        >>> paddle.pdist(paddle.to_tensor([[0.0], [1.0], [3.0]])).tolist()
        [1.0, 3.0, 2.0]
    """
    check_tensor("pdist", x)
    p = _power("pdist", p)
    if x.ndim != 2 or p < 0:
        raise errors.ValueError_(f"pdist: x must be 2-D and p at least 0, got shape {list(x.shape)} and p={p}")
    x = as_float(x)
    i, j = np.triu_indices(x.shape[0], 1)
    return _distance(x[i] - x[j], p, -1)


@op(method=False, export=False, name="renorm", scalars="max_norm")
def _renorm(x, p, axis, max_norm):
    others = tuple(a for a in range(x.ndim) if a != axis)
    size = jnp.abs(x)
    if p == math.inf:
        norm = jnp.max(size, others, keepdims=True, initial=0)
    else:
        total = jnp.sum(size**p, others, keepdims=True)
        norm = jnp.where(total == 0, 0, jnp.where(total == 0, 1, total) ** (1 / p))  # no NaN in the gradient
    large = norm > max_norm
    return jnp.where(large, x * (max_norm / (jnp.where(large, norm, 1) + 1e-7)), x).astype(x.dtype)


@api(inplace=True)
def renorm(x, p, axis, max_norm):
    """x with each slice along an axis scaled down, where needed, to a p-norm of at most `max_norm`.

    Args:
        x: floats, at least one dimension.
        p: positive, or inf.
        axis: the axis whose slices have their own norms.
        max_norm: the largest norm, not negative.

    Raises:
        ValueError: an axis, p or max_norm out of range.
        TypeError: x is no float tensor.

    Example:
        >>> paddle.renorm(paddle.to_tensor([[3.0, 5.0], [1.0, 1.0]]), 1.0, 0, 4.0).round(4).tolist()
        [[1.5, 2.5], [1.0, 1.0]]
    """
    if not tensor_of("renorm", x).dtype.is_differentiable:
        raise errors.TypeError_(f"renorm: x must be floats, got {x.dtype.name}")
    if isinstance(axis, bool) or not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise errors.ValueError_(f"renorm: axis {axis!r} is out of range, x has {x.ndim} dimensions")
    p, max_norm = _power("renorm", p), _power("renorm", max_norm)
    if not p > 0 or not max_norm >= 0:
        raise errors.ValueError_(
            f"renorm: p must be positive and max_norm not negative, got p={p} and max_norm={max_norm}"
        )
    return _renorm(x, p, axis % x.ndim, max_norm)
