"""Running sums, products and extrema, differences, integrals along an axis."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import op
from ..engine.promotion import as_float, promote
from .reduction import check_tensor, tensor_axis
from .search import index_type


def _along(name, x, axis, error=errors.IndexError_):
    """(x, axis) of a running operator: None is the flat tensor, which has one axis even of a 0-D tensor."""
    check_tensor(name, x)
    if axis is None:
        return x.reshape(-1), 0
    return x, tensor_axis(name, x, axis, error if x.ndim else errors.ValueError_)


def _run(scan, x, axis):
    return scan(x, axis) if x.ndim else x


# ---- running reductions ----


@op(inplace=True)
def cumsum(x, axis=None, dtype=None):
    """The running sum along an axis, or of the flat tensor; integers and bools give int64.

    Args:
        dtype: x is cast to it first.

    Raises:
        IndexError: the axis is out of range.

    Example:
        >>> paddle.cumsum(paddle.to_tensor([1, 2, 3])).tolist()
        [1, 3, 6]
    """
    x, axis = _along("cumsum", x, axis)
    if dtype is not None:
        x = x.astype(to_dtype(dtype).numpy)
    elif x.dtype == np.bool_ or jnp.issubdtype(x.dtype, jnp.integer):
        x = x.astype(np.int64)
    return _run(jax.lax.cumsum, x, axis)


@op(inplace=True, aliases={"axis": "dim"})
def cumprod(x, dim=None, dtype=None):
    """The running product along an axis, or of the flat tensor; `dtype` casts first. The gradient is right at zeros, too.

    Raises:
        ValueError: the axis is out of range.

    Example:
        >>> paddle.cumprod(paddle.to_tensor([1, 2, 3, 4]), 0).tolist()
        [1, 2, 6, 24]
    """
    x, axis = _along("cumprod", x, dim, errors.ValueError_)
    return _run(jax.lax.cumprod, x if dtype is None else x.astype(to_dtype(dtype).numpy), axis)


@op
def logcumsumexp(x, axis=None, dtype=None):
    """log(cumsum(exp(x))) along an axis, or of the flat tensor, without overflow.

    Raises:
        IndexError: the axis is out of range.

    Example:
        >>> [round(v, 4) for v in paddle.logcumsumexp(paddle.to_tensor([0.0, 0.0])).tolist()]
        [0.0, 0.6931]
    """
    x, axis = _along("logcumsumexp", x, axis)
    x = as_float(x if dtype is None else x.astype(to_dtype(dtype).numpy))
    if not x.ndim or jnp.iscomplexobj(x):
        return _run(jax.lax.cumlogsumexp, x, axis)
    # A finite number far below stands for -inf, whose gradient would be NaN; it adds nothing to what is not as low.
    low = x == -jnp.inf
    out = jax.lax.cumlogsumexp(jnp.where(low, jnp.finfo(x.dtype).min / 2, x), axis)
    return jnp.where(jax.lax.cumsum((~low).astype(np.int32), axis) == 0, -jnp.inf, out)


def _running_extremum(name, scan, x, axis, dtype):
    dtype = index_type(name, dtype)
    x, axis = _along(name, x, axis)
    if x.ndim == 0:
        return x, jnp.zeros((), dtype)
    if jnp.iscomplexobj(x):
        raise errors.TypeError_(f"{name}: complex numbers have no order, got {x.dtype.name}")
    still = jax.lax.stop_gradient(x).astype(np.uint8) if x.dtype == np.bool_ else jax.lax.stop_gradient(x)
    taken = still == scan(still, axis)
    if jnp.issubdtype(x.dtype, jnp.floating):
        taken = taken | jnp.isnan(still)
    place = jax.lax.broadcasted_iota(dtype, x.shape, axis)
    index = jax.lax.cummax(jnp.where(taken, place, 0), axis)
    return jnp.take_along_axis(x, index, axis), index


@op
def cummax(x, axis=None, dtype="int64"):
    """The running maximum along an axis, or of the flat tensor, and its position: the last of equal ones. NaN wins.

    Args:
        dtype: of the positions, "int64" or "int32".

    Raises:
        IndexError: the axis is out of range.
        ValueError: another dtype.

    Example:
        >>> [t.tolist() for t in paddle.cummax(paddle.to_tensor([1, 3, 2]))]
        [[1, 3, 3], [0, 1, 1]]
    """
    return _running_extremum("cummax", jax.lax.cummax, x, axis, dtype)


@op
def cummin(x, axis=None, dtype="int64"):
    """The running minimum and its position; see `cummax`.

    Example:
        >>> [t.tolist() for t in paddle.cummin(paddle.to_tensor([3, 1, 2]))]
        [[3, 1, 1], [0, 1, 1]]
    """
    return _running_extremum("cummin", jax.lax.cummin, x, axis, dtype)


# ---- differences and integrals ----


def _from_second(x, axis):
    return jax.lax.slice_in_dim(x, min(1, x.shape[axis]), None, axis=axis)


def _to_last_but_one(x, axis):
    return jax.lax.slice_in_dim(x, 0, max(x.shape[axis] - 1, 0), axis=axis)


@op
def diff(x, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along an axis, taken n times; for bools whether they differ.

    Args:
        prepend, append: tensors put before and after x first.

    Raises:
        ValueError: n is less than 1, or the shapes do not fit.
        IndexError: the axis is out of range, or x is 0-D.

    Example:
        >>> paddle.diff(paddle.to_tensor([1, 4, 9])).tolist()
        [3, 5]
    """
    check_tensor("diff", x)
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise errors.ValueError_(f"diff: n must be at least 1, got {n!r}")
    if x.ndim == 0:
        raise errors.IndexError_("diff: a 0-D tensor has no neighbours")
    axis = tensor_axis("diff", x, axis, errors.IndexError_)
    parts = [p for p in (prepend, x, append) if p is not None]
    for p in parts:
        if p.ndim != x.ndim or any(a != b for i, (a, b) in enumerate(zip(p.shape, x.shape)) if i != axis):
            raise errors.ValueError_(
                f"diff: prepend and append must have the shape of x but for axis {axis}, got "
                f"{list(p.shape)} for x of shape {list(x.shape)}"
            )
        if p.dtype != x.dtype:
            raise errors.TypeError_(
                f"diff: prepend and append must have the type of x, got {p.dtype.name} and {x.dtype.name}"
            )
    x = jnp.concatenate(parts, axis) if len(parts) > 1 else x
    for _ in range(min(n, x.shape[axis])):
        a, b = _from_second(x, axis), _to_last_but_one(x, axis)
        x = a != b if x.dtype == np.bool_ else a - b
    return x


def _trapezoids(name, y, x, dx, axis):
    """(the areas of the trapezoids between neighbours, the axis)."""
    check_tensor(name, y, "y")
    if x is not None and dx is not None:
        raise errors.ValueError_(f"{name}: x and dx cannot both be given")
    if y.ndim == 0:
        raise errors.IndexError_(f"{name}: y must have at least one dimension")
    axis = tensor_axis(name, y, axis, errors.IndexError_)
    y = as_float(y)
    left, right = _to_last_but_one(y, axis), _from_second(y, axis)
    if x is not None:
        x = as_float(check_tensor(name, x))
        along = axis if x.ndim == y.ndim else 0
        if x.ndim not in (1, y.ndim) or x.shape[along] != y.shape[axis] and x.shape[along] != 1:
            raise errors.ValueError_(
                f"{name}: x of shape {list(x.shape)} does not give positions along axis {axis} "
                f"of y of shape {list(y.shape)}"
            )
        width = jnp.diff(x, axis=along)
        if x.ndim == 1:
            width = width.reshape((-1,) + (1,) * (y.ndim - axis - 1))
    else:
        width = jnp.asarray(1.0 if dx is None else dx)
        width = width if jnp.issubdtype(width.dtype, jnp.floating) and width.ndim else width.astype(y.dtype)
    total, width = promote(name, left + right, width)
    return total * width / 2, axis


@op(method="trapezoid", scalars="dx")
def trapezoid(y, x=None, dx=None, axis=-1):
    """The integral along an axis by the trapezoidal rule.

    Args:
        x: positions of the samples, 1-D or of as many dimensions as y.
        dx: the distance between samples instead, 1 by default.

    Raises:
        ValueError: x and dx are both given, x does not fit.
        IndexError: the axis is out of range.

    Example:
        >>> paddle.trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).item()
        4.0
    """
    areas, axis = _trapezoids("trapezoid", y, x, dx, axis)
    return jnp.sum(areas, axis)


@op(method="cumulative_trapezoid", scalars="dx")
def cumulative_trapezoid(y, x=None, dx=None, axis=-1):
    """The running integral along an axis by the trapezoidal rule; arguments as for `trapezoid`.

    Example:
        >>> paddle.cumulative_trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).tolist()
        [1.5, 4.0]
    """
    areas, axis = _trapezoids("cumulative_trapezoid", y, x, dx, axis)
    return jax.lax.cumsum(areas, axis)
