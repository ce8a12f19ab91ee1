"""Running sums, products and extrema, differences, integrals along an axis."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float, converted, promote
from ..engine.value import at_least
from .reduction import check_tensor, tensor_axis
from .search import index_type, scatter_along


def _along(name, x, axis, error=errors.IndexError_):
    """(x, axis) of a running operator: None is the flat tensor, which has one axis even of a 0-D tensor."""
    check_tensor(name, x)
    if axis is None:
        return x.reshape(-1), 0
    return x, tensor_axis(name, x, axis, error if x.ndim else errors.ValueError_)


# ---- running combinations, by an associative function of lists of arrays ----


def _scan(combine, arrays, axis, costly=False):
    """The running combination along an axis; `costly` when it takes long compared to reading the arrays."""
    x = arrays[0]
    if not x.size or not x.ndim or x.shape[axis] == 1:
        return arrays

    if not isinstance(x.shape[axis], int):  # a length that stays open in an exported program
        return tuple(_steps(combine, arrays, axis))

    def general(*arrays):
        return jax.lax.associative_scan(lambda a, b: tuple(combine(a, b)), arrays, axis=axis)

    def on_cpu(*arrays):
        long_rows = at_least(x.size // x.shape[axis], 64)
        if long_rows and (costly or axis < x.ndim - 1):
            return tuple(_steps(combine, arrays, axis))
        if costly:
            return general(*arrays)
        last = [jnp.moveaxis(a, axis, -1) for a in arrays]
        return tuple(jnp.moveaxis(a, -1, axis) for a in _blocks(combine, last, 512 if x.shape[axis] > 8192 else 8))

    return jax.lax.platform_dependent(*arrays, cpu=on_cpu, default=general)


def _steps(combine, arrays, axis):
    """Along an axis, step by step."""

    def step(carry, each):
        first, total = carry
        total = [jnp.where(first, e, j) for e, j in zip(each, combine(total, each))]
        return (False, total), total

    arrays = [jnp.moveaxis(a, axis, 0) for a in arrays]
    found = jax.lax.scan(step, (jnp.bool_(True), [jnp.zeros_like(a[0]) for a in arrays]), arrays)[1]
    return [jnp.moveaxis(f, 0, axis) for f in found]


def _unrolled(combine, arrays):
    """Along a last axis that is short, in one loop."""
    n = arrays[0].shape[-1]
    lane = jnp.arange(n)
    total = [jnp.broadcast_to(a[..., :1], a.shape) for a in arrays]
    for i in range(1, n):
        joined = combine(total, [a[..., i : i + 1] for a in arrays])
        total = [jnp.where(lane >= i, j, t) for j, t in zip(joined, total)]
    return total


def _blocks(combine, arrays, width):
    """Along the last axis: within blocks, then over the last results of the blocks."""
    n = arrays[0].shape[-1]
    count = -(-n // width)
    if count == 1:
        return _unrolled(combine, arrays)
    padding = [(0, 0, 0)] * (arrays[0].ndim - 1) + [(0, count * width - n, 0)]
    blocks = [jax.lax.pad(a, jnp.zeros((), a.dtype), padding) for a in arrays]
    blocks = [a.reshape(*a.shape[:-1], count, width) for a in blocks]
    inside = _unrolled(combine, blocks) if width == 8 else _blocks(combine, blocks, 8)
    ends = [t[..., -1] for t in inside]
    if count <= 8:
        before = _unrolled(combine, ends)
    elif count <= 1024:
        before = _steps(combine, ends, ends[0].ndim - 1)
    else:
        before = _blocks(combine, ends, width)
    before = [jnp.concatenate([b[..., :1], b[..., :-1]], -1)[..., None] for b in before]
    later = (jnp.arange(count) > 0)[:, None]
    found = [jnp.where(later, j, t) for j, t in zip(combine(before, inside), inside)]
    return [f.reshape(*f.shape[:-2], count * width)[..., :n] for f in found]


def _sum(a, b):
    return [a[0] + b[0]]


def _product(a, b):
    return [a[0] * b[0]]


def _logaddexp(a, b):
    return [jnp.logaddexp(a[0], b[0])]


def _either(a, b):
    return [a[0] | b[0]]


# ---- running reductions ----


def _cumsum_gradient(inputs, outputs, cotangents, axis, dtype):
    x, axis = _along("cumsum", inputs[0], axis)
    g = cotangents[0]
    if g is None:
        return None
    g = g.astype(x.dtype).reshape(x.shape)
    if x.ndim:
        g = jnp.flip(_scan(_sum, [jnp.flip(g, axis)], axis)[0], axis)
    return g.reshape(inputs[0].shape)


@op(gradient=_cumsum_gradient)
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
    if dtype is None and (x.dtype == np.bool_ or jnp.issubdtype(x.dtype, jnp.integer)):
        dtype = "int64"
    x = converted(x, dtype)
    return _scan(_sum, [x], axis)[0]


@api(method="cumsum_")
def cumsum_(x, axis=None, dtype=None):
    """In-place form of `cumsum`; without `dtype` integers keep their type (bools become int64).

    Example:
        >>> paddle.to_tensor([1, 2, 3], dtype="int32").cumsum_().dtype
        paddle.int32
    """
    if dtype is None and check_tensor("cumsum_", x).dtype.is_integer:
        dtype = x.dtype
    return x._inplace(cumsum, axis, dtype, reshapes=True, retypes=True)


def _cumprod_gradient(inputs, outputs, cotangents, dim, dtype):
    g = cotangents[0]
    if g is None:
        return None

    def body(x):
        x, axis = _along("cumprod", x, dim, errors.ValueError_)
        x = converted(x, dtype)
        return jax.lax.cumprod(x, axis) if x.ndim else x

    return jnp.conj(jax.vjp(body, inputs[0])[1](jnp.conj(g))[0])


@op(inplace="reshapes", aliases={"axis": "dim"}, gradient=_cumprod_gradient)
def cumprod(x, dim=None, dtype=None):
    """The running product along an axis, or of the flat tensor; `dtype` casts first. The gradient is right at zeros, too.

    Raises:
        ValueError: the axis is out of range.

    Example:
        >>> paddle.cumprod(paddle.to_tensor([1, 2, 3, 4]), 0).tolist()
        [1, 2, 6, 24]
    """
    x, axis = _along("cumprod", x, dim, errors.ValueError_)
    return _scan(_product, [converted(x, dtype)], axis)[0]


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
    x = as_float(converted(x, dtype))
    if not x.ndim or jnp.iscomplexobj(x):
        return jax.lax.cumlogsumexp(x, axis) if x.ndim else x
    # A finite number far below stands for -inf, whose gradient would be NaN; it adds nothing to what is not as low.
    low = x == -jnp.inf
    out = _scan(_logaddexp, [jnp.where(low, jnp.finfo(x.dtype).min / 2, x)], axis, costly=True)[0]
    return jnp.where(_scan(_either, [~low], axis)[0], out, -jnp.inf)


def _extremum_gradient(inputs, outputs, cotangents, axis, dtype):
    x, axis = _along("cummax", inputs[0], axis)
    g = cotangents[0]
    if g is None:
        return None
    return (scatter_along(g, outputs[1], x.shape, axis) if x.ndim else g).reshape(inputs[0].shape)


def _running_extremum(name, wins, x, axis, dtype):
    """`wins` is the comparison that a later element has to pass."""
    dtype = index_type(name, dtype)
    x, axis = _along(name, x, axis)
    if x.ndim == 0:
        return x, jnp.zeros((), dtype)
    if jnp.iscomplexobj(x):
        raise errors.TypeError_(f"{name}: complex numbers have no order, got {x.dtype.name}")

    def later(a, b):
        take = wins(b[0], a[0])
        if jnp.issubdtype(x.dtype, jnp.floating):
            take = take | jnp.isnan(b[0])
        return [jnp.where(take, q, p) for p, q in zip(a, b)]

    place = jax.lax.broadcasted_iota(np.int32 if x.shape[axis] < 1 << 31 else np.int64, x.shape, axis)
    values, index = _scan(later, [x, place], axis)
    return values, index.astype(dtype)


@op(gradient=_extremum_gradient)
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
    return _running_extremum("cummax", jnp.greater_equal, x, axis, dtype)


@op(gradient=_extremum_gradient)
def cummin(x, axis=None, dtype="int64"):
    """The running minimum and its position; see `cummax`.

    Example:
        >>> [t.tolist() for t in paddle.cummin(paddle.to_tensor([3, 1, 2]))]
        [[3, 1, 1], [0, 1, 1]]
    """
    return _running_extremum("cummin", jnp.less_equal, x, axis, dtype)


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
    return _scan(_sum, [areas], axis)[0]
