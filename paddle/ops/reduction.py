"""Reductions: sums, products, extrema, logic, moments over axes."""

from __future__ import annotations

import builtins
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import _write_out, api, op
from ..engine.promotion import as_float, converted
from .axes import axes_of, axis_of

# ---- axes, for every operator that takes some ----


def check_tensor(name, x, argument="x"):
    """The argument as an array; ValueError for what is no tensor."""
    if not hasattr(x, "ndim"):
        raise errors.ValueError_(f"{name}: argument '{argument}' must be a Tensor, got {errors.describe(x)}")
    return x


def tensor_axis(name, x, axis, error=errors.ValueError_):
    """One axis of x, counted from the front (see `axis_of`)."""
    check_tensor(name, x)
    return axis_of(name, axis, x.ndim, error=error)


def reduction_axes(name, x, axis):
    """The axes to reduce over, as a tuple: all of them for None and an empty list. A 0-D tensor has none.

    Raises ValueError out of range or for a repeated axis, TypeError for what is no int.
    """
    check_tensor(name, x)
    if axis is None or axis == ():
        return tuple(range(x.ndim))
    if not isinstance(axis, (tuple, list)):
        axis = (axis,)
    axes = axes_of(name, axis, x.ndim)
    return axes if x.ndim else ()


def restore(reduced, axes, keepdim):
    """A reduced array (its cotangent, its value) with the axes of length 1 back, to broadcast against the input."""
    return reduced if keepdim else jnp.expand_dims(reduced, axes)


def count(x, axes):
    """The number of elements that each result is made of."""
    return math.prod([x.shape[a] for a in axes])


# ---- sums and products ----


def sum_dtype(x, dtype):
    if dtype is not None:
        return to_dtype(dtype).numpy
    return np.dtype("int64") if x.dtype in (np.bool_, np.int32) else x.dtype


@op
def sum(x, axis=None, dtype=None, keepdim=False):
    """The sum over axes.

    Args:
        axis: an int or a list; None and [] mean all.
        dtype: x is cast to it first. Without it bool and int32 give int64, other types stay.

    Raises:
        ValueError: an axis is out of range or repeated.

    Example:
        >>> paddle.sum(paddle.to_tensor([[1, 2], [3, 4]]), axis=0).tolist()
        [4, 6]
    """
    axes = reduction_axes("sum", x, axis)
    x = converted(x, dtype)
    return jnp.sum(x, axes, dtype=sum_dtype(x, dtype), keepdims=keepdim)


@op
def nansum(x, axis=None, dtype=None, keepdim=False):
    """The sum over axes with NaN counted as 0; arguments as for `sum`.

    Example:
        >>> paddle.nansum(paddle.to_tensor([1.0, float("nan")])).item()
        1.0
    """
    axes = reduction_axes("nansum", x, axis)
    x = converted(jnp.where(jnp.isnan(x), 0, x), dtype)
    return jnp.sum(x, axes, dtype=sum_dtype(x, dtype), keepdims=keepdim)


def _mean_of(x, axes, keepdim):
    if x.dtype == np.bool_:
        return jnp.mean(x, axes, dtype=np.float32, keepdims=keepdim).astype(x.dtype)
    if jnp.issubdtype(x.dtype, jnp.integer):
        total = jnp.sum(x, axes, dtype=x.dtype, keepdims=keepdim)
        return jax.lax.div(total, jnp.full_like(total, builtins.max(count(x, axes), 1)))
    return jnp.mean(x, axes, keepdims=keepdim)


@op(method=False, export=False, name="mean")
def _mean(x, axis, keepdim, dtype):
    axes = reduction_axes("mean", x, axis)
    return _mean_of(converted(x, dtype), axes, keepdim)


@api
def mean(x, axis=None, keepdim=False, *, dtype=None):
    """The arithmetic mean over axes (an int or a list; None means all); NaN for no elements.

    Integers stay integers (the quotient is truncated), as officially; `dtype` casts first.

    Example:
        >>> paddle.mean(paddle.to_tensor([1.0, 2.0, 6.0])).item()
        3.0
    """
    return _mean(x, axis, keepdim, dtype)


@op
def nanmean(x, axis=None, keepdim=False):
    """The mean over axes of what is not NaN; integers give float32.

    Example:
        >>> paddle.nanmean(paddle.to_tensor([1.0, float("nan"), 3.0])).item()
        2.0
    """
    axes = reduction_axes("nanmean", x, axis)
    x = as_float(x)
    missing = jnp.isnan(x)
    total = jnp.sum(jnp.where(missing, 0, x), axes, keepdims=keepdim)
    return total / jnp.sum(~missing, axes, keepdims=keepdim).astype(total.dtype)


@op(method=False, export=False, name="prod")
def _prod(x, axis, keepdim, dtype):
    axes = reduction_axes("prod", x, axis)
    x = converted(x, dtype)
    return jnp.prod(x, axes, dtype=x.dtype, keepdims=keepdim)


@api
def prod(x, axis=None, keepdim=False, dtype=None, out=None):
    """The product over axes; the type stays (`dtype` casts first). The gradient is right at zeros, too.

    Example:
        >>> paddle.prod(paddle.to_tensor([[2, 3], [4, 5]]), axis=1).tolist()
        [6, 20]
    """
    result = _prod(x, axis, keepdim, dtype)
    return result if out is None else _write_out("prod", result, out)


@op(
    gradient=lambda inputs, outputs, cotangents, axis, keepdim: _logsumexp_gradient(
        inputs[0], outputs[0], cotangents[0], axis, keepdim
    )
)
def logsumexp(x, axis=None, keepdim=False):
    """log(sum(exp(x))) over axes without overflow; -inf where every element is -inf or there is none.

    Example:
        >>> paddle.logsumexp(paddle.to_tensor([1000.0, -1000.0])).item()
        1000.0
    """
    axes = reduction_axes("logsumexp", x, axis)
    x = as_float(x)
    top = jnp.max(x, axes, keepdims=True, initial=-jnp.inf)
    top = jnp.where(jnp.isfinite(top), top, 0)
    out = jnp.log(jnp.sum(jnp.exp(x - top), axes, keepdims=True)) + top
    return out if keepdim else jnp.squeeze(out, axes)


def _logsumexp_gradient(x, out, cotangent, axis, keepdim):
    axes = reduction_axes("logsumexp", x, axis)
    out, cotangent = restore(out, axes, keepdim), restore(cotangent, axes, keepdim)
    return cotangent * jnp.exp(x - jnp.where(out == -jnp.inf, 0, out))


@op
def reduce_as(x, target):
    """Sum x over the axes along which `target` would be broadcast to it; the result has the shape of `target`.

    Raises:
        ValueError: `target` does not broadcast to the shape of x.

    Example:
        >>> paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([3])).tolist()
        [2.0, 2.0, 2.0]
    """
    shape = (1,) * (x.ndim - target.ndim) + target.shape
    if len(shape) != x.ndim or builtins.any(b not in (1, a) for a, b in zip(x.shape, shape)):
        raise errors.ValueError_(
            f"reduce_as: target of shape {list(target.shape)} does not broadcast to x of shape {list(x.shape)}"
        )
    if x.shape == target.shape:
        return x
    axes = tuple(i for i, (a, b) in enumerate(zip(x.shape, shape)) if a != b)
    return jnp.sum(x, axes, keepdims=True, dtype=sum_dtype(x, None)).reshape(target.shape)


# ---- extrema ----


def _extremum(name, reduce, x, axis, keepdim):
    axes = reduction_axes(name, x, axis)
    if jnp.iscomplexobj(x):
        raise errors.TypeError_(f"{name}: complex numbers have no order, got {x.dtype.name}")
    if x.size == 0 and 0 in [x.shape[a] for a in axes]:
        raise errors.ValueError_(f"{name}: there is no extremum of no elements, the tensor has shape {list(x.shape)}")
    return reduce(x, axes, keepdims=keepdim)


def _extremum_gradient(inputs, outputs, cotangents, axis, keepdim):
    """The elements equal to the extremum share the gradient evenly; so do NaN elements when it is NaN."""
    x = inputs[0]
    axes = reduction_axes("max", x, axis)
    out = restore(outputs[0], axes, keepdim)
    share = (x == out) | (jnp.isnan(x) & jnp.isnan(out))
    each = restore(cotangents[0], axes, keepdim) / jnp.sum(share, axes, keepdims=True).astype(x.dtype)
    return jnp.where(share, each, 0)


@op(gradient=_extremum_gradient)
def max(x, axis=None, keepdim=False):
    """The largest element over axes; NaN wins. Equal largest elements share the gradient evenly.

    Raises:
        ValueError: no elements, or an axis that is out of range.

    Example:
        >>> paddle.max(paddle.to_tensor([[1, 5], [7, 2]]), axis=1).tolist()
        [5, 7]
    """
    return _extremum("max", jnp.max, x, axis, keepdim)


@op(gradient=_extremum_gradient)
def min(x, axis=None, keepdim=False):
    """The smallest element over axes; see `max`.

    Example:
        >>> paddle.min(paddle.to_tensor([3, 1, 2])).item()
        1
    """
    return _extremum("min", jnp.min, x, axis, keepdim)


@op(gradient=_extremum_gradient)
def amax(x, axis=None, keepdim=False):
    """The largest element over axes; see `max`.

    Example:
        >>> paddle.amax(paddle.to_tensor([3, 1, 2])).item()
        3
    """
    return _extremum("amax", jnp.max, x, axis, keepdim)


@op(gradient=_extremum_gradient)
def amin(x, axis=None, keepdim=False):
    """The smallest element over axes; see `max`.

    Example:
        >>> paddle.amin(paddle.to_tensor([3, 1, 2])).item()
        1
    """
    return _extremum("amin", jnp.min, x, axis, keepdim)


# ---- logic and counts ----


@op(differentiable=False)
def all(x, axis=None, keepdim=False):
    """Whether every element over axes is true (not zero); True for no elements.

    Example:
        >>> paddle.all(paddle.to_tensor([[True, False], [True, True]]), axis=1).tolist()
        [False, True]
    """
    return jnp.all(x, reduction_axes("all", x, axis), keepdims=keepdim)


@op(differentiable=False)
def any(x, axis=None, keepdim=False):
    """Whether some element over axes is true (not zero); False for no elements.

    Example:
        >>> paddle.any(paddle.to_tensor([[True, False], [False, False]]), axis=1).tolist()
        [True, False]
    """
    return jnp.any(x, reduction_axes("any", x, axis), keepdims=keepdim)


@op(differentiable=False)
def count_nonzero(x, axis=None, keepdim=False):
    """How many elements over axes are not zero (NaN is not), int64.

    Example:
        >>> paddle.count_nonzero(paddle.to_tensor([[0, 2], [3, 4]]), axis=0).tolist()
        [1, 2]
    """
    axes = reduction_axes("count_nonzero", x, axis)
    return jnp.sum(x != 0, axes, dtype=np.int64, keepdims=keepdim)


# ---- moments ----


def _variance(name, x, axis, correction, keepdim):
    axes = reduction_axes(name, x, axis)
    x = as_float(x)
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    centred = wide - jnp.mean(wide, axes, keepdims=True)
    if jnp.iscomplexobj(centred):
        squares = centred.real**2 + centred.imag**2
    else:
        squares = centred * centred
    total = jnp.sum(squares, axes, keepdims=keepdim)
    n = jnp.asarray(count(x, axes) - correction, total.dtype)
    return total / jnp.maximum(n, 0), x.dtype if not jnp.iscomplexobj(x) else total.dtype


@op(method=False, export=False, scalars="correction", name="var")
def _var(x, axis, correction, keepdim):
    out, dtype = _variance("var", x, axis, correction, keepdim)
    return out.astype(dtype)


@op(method=False, export=False, scalars="correction", name="std")
def _std(x, axis, correction, keepdim):
    out, dtype = _variance("std", x, axis, correction, keepdim)
    return jnp.sqrt(out).astype(dtype)


@api
def var(x, axis=None, unbiased=None, keepdim=False, *, correction=1):
    """The variance over axes: the sum of squared deviations divided by the number of elements less `correction`.

    Args:
        axis: an int or a list; None means all.
        unbiased: True and False stand for the corrections 1 and 0.

    Integers give float32. One element with correction 1 gives NaN.

    Example:
        >>> paddle.var(paddle.to_tensor([1.0, 2.0, 3.0])).item()
        1.0
    """
    if unbiased is not None and correction != 1:
        raise errors.ValueError_("var: only one of unbiased and correction may be given")
    return _var(x, axis, correction if unbiased is None else int(unbiased), keepdim)


@api
def std(x, axis=None, unbiased=True, keepdim=False):
    """The standard deviation over axes, the square root of `var`.

    Example:
        >>> paddle.std(paddle.to_tensor([1.0, 3.0]), unbiased=False).item()
        1.0
    """
    return _std(x, axis, int(unbiased), keepdim)
