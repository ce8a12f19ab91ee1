"""Order statistics and histograms."""

from __future__ import annotations

import builtins

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT
from . import data_shapes
from .reduction import check_tensor, reduction_axes
from .search import device_tensor, host_array, in_order, order


def _rows(x, axes):
    """x with the reduced axes flattened into one at the end."""
    x = jnp.moveaxis(x, axes, range(-len(axes), 0)) if axes else x[..., None]
    kept = x.shape[: x.ndim - max(len(axes), 1)]
    return x.reshape(kept + (int(np.prod(x.shape[len(kept) :])),))


def _unrows(rows, shape, axes):
    """The inverse of `_rows`."""
    if not axes:
        return rows[..., 0]
    lengths = tuple(shape[a] for a in axes)
    return jnp.moveaxis(rows.reshape(rows.shape[:-1] + lengths), range(-len(axes), 0), axes)


def _missing(rows):
    return jnp.isnan(rows) if jnp.issubdtype(rows.dtype, jnp.floating) else jnp.zeros(rows.shape, bool)


# ---- median ----


def _middle(rows, skip_nan):
    """(the lower and the upper middle element of each row, whether the result is NaN); length of rows above 0."""
    missing = _missing(rows)
    valid = jnp.sum(~missing, -1, keepdims=True) if skip_nan else rows.shape[-1]
    ordered = in_order(rows, -1)
    low, high = (
        jnp.take_along_axis(ordered, jnp.broadcast_to(jnp.maximum(i, 0), rows.shape[:-1] + (1,)), -1)
        for i in ((valid - 1) // 2, valid // 2)
    )
    lost = jnp.all(missing, -1, keepdims=True) if skip_nan else jnp.any(missing, -1, keepdims=True)
    return low, high, lost


def _median_gradient(inputs, outputs, cotangents, axis, keepdim, skip_nan):
    """Each of the two middle elements gives half of the gradient, shared evenly by the elements equal to it."""
    x = inputs[0]
    axes = reduction_axes("median", x, axis)
    rows, g = _rows(x, axes), cotangents[0].astype(x.dtype)
    if rows.shape[-1] == 0:
        return jnp.zeros_like(x)
    low, high, lost = _middle(jax.lax.stop_gradient(rows), skip_nan)
    g = g.reshape(rows.shape[:-1] + (1,))
    total = 0
    for middle in (low, high):
        share = jnp.where(lost, _missing(rows), rows == middle)
        total = total + share * (g / 2 / jnp.maximum(jnp.sum(share, -1, keepdims=True), 1).astype(g.dtype))
    return _unrows(total, x.shape, axes)


@op(method=False, export=False, gradient=_median_gradient, name="median")
def _median(x, axis, keepdim, skip_nan):
    axes = reduction_axes("median", x, axis)
    if jnp.iscomplexobj(x):
        raise errors.TypeError_("median: complex numbers have no order")
    if not skip_nan and x.dtype != np.float64:
        x = x.astype(np.float32)
    rows = _rows(x, axes)
    if rows.shape[-1] == 0:
        out = jnp.full(rows.shape[:-1], jnp.nan if jnp.issubdtype(x.dtype, jnp.floating) else 0, x.dtype)
    else:
        low, high, lost = _middle(rows, skip_nan)
        if jnp.issubdtype(x.dtype, jnp.floating):
            out = jnp.where(lost, jnp.nan, jnp.where(low == high, low, low / 2 + high / 2))[..., 0]
        else:
            out = jax.lax.div(low + high, jnp.array(2, low.dtype))[..., 0]  # towards zero, as officially
    return jnp.expand_dims(out, axes) if keepdim else out


@op(method=False, export=False, name="median_min")
def _median_min(x, axis, keepdim, skip_nan):
    """(the lower middle element, its position along the flattened axes)."""
    axes = reduction_axes("median", x, axis)
    rows = _rows(x, axes)
    if rows.shape[-1] == 0:
        raise errors.ValueError_(f"median: there is no element to take, the tensor has shape {list(x.shape)}")
    still = jax.lax.stop_gradient(rows)
    index = order(still, -1)
    missing = _missing(still)
    valid = jnp.sum(~missing, -1, keepdims=True) if skip_nan else jnp.full(rows.shape[:-1] + (1,), rows.shape[-1])
    index = jnp.take_along_axis(index, jnp.maximum((valid - 1) // 2, 0), -1)
    lost = jnp.all(missing, -1, keepdims=True) if skip_nan else jnp.any(missing, -1, keepdims=True)
    index = jnp.where(lost, jnp.argmax(missing, -1, keepdims=True), index)
    value = jnp.take_along_axis(rows, index, -1)[..., 0]
    index = index[..., 0].astype(np.int64)
    return (jnp.expand_dims(value, axes), jnp.expand_dims(index, axes)) if keepdim else (value, index)


def _median_of(name, x, axis, keepdim, mode, skip_nan):
    if not isinstance(x, Tensor):
        raise errors.TypeError_(f"{name}: x must be a Tensor, got {errors.describe(x)}")
    if isinstance(axis, (list, tuple)) and not axis:
        raise errors.ValueError_(f"{name}: the list of axes cannot be empty")
    if mode not in ("avg", "min"):
        raise errors.ValueError_(f"{name}: mode must be 'avg' or 'min', got {mode!r}")
    if mode == "avg":
        return _median(x, axis, keepdim, skip_nan)
    out = _median_min(x, axis, keepdim, skip_nan)
    return out if isinstance(axis, (int, np.integer)) else out[0]


@api
def median(x, axis=None, keepdim=False, mode="avg"):
    """The median along an axis, or of all elements; NaN where one is NaN.

    Args:
        axis: an int, or None.
        mode: "avg": the mean of the two middle elements, float32 (float64 for float64); "min": the lower of them in the
            type of x, and with an axis also its position (int64).

    Raises:
        ValueError: another mode, the axis is no int or out of range.

    Example:
        >>> paddle.median(paddle.to_tensor([4, 1, 3, 2])).item()
        2.5
    """
    if axis is not None and (not isinstance(axis, (int, np.integer)) or isinstance(axis, Tensor)):
        raise errors.ValueError_(f"median: axis must be None or an int, got {errors.describe(axis)}")
    return _median_of("median", x, axis, keepdim, mode, False)


@api
def nanmedian(x, axis=None, keepdim=False, mode="avg"):
    """The median of what is not NaN along axes (an int, a list, or None for all), in the type of x; see `median`.

    Example:
        >>> paddle.nanmedian(paddle.to_tensor([1.0, float("nan"), 3.0])).item()
        2.0
    """
    return _median_of("nanmedian", x, axis, keepdim, mode, True)


# ---- quantiles ----

_INTERPOLATIONS = ("linear", "lower", "higher", "nearest", "midpoint")


@op(method=False, export=False, scalars="q", name="quantile")
def _quantile(x, q, axis, keepdim, interpolation, skip_nan):
    axes = reduction_axes("quantile", x, axis)
    x = as_float(x)
    if jnp.iscomplexobj(x):
        raise errors.TypeError_("quantile: complex numbers have no order")
    rows = _rows(x, axes)
    q = jnp.asarray(q)
    levels = q.reshape(-1, *[1] * rows.ndim).astype(np.float64)
    if rows.shape[-1] == 0:
        out = jnp.full((levels.shape[0],) + rows.shape[:-1], jnp.nan, x.dtype)
    else:
        missing = jnp.isnan(rows)
        valid = jnp.sum(~missing, -1, keepdims=True) if skip_nan else jnp.full(rows.shape[:-1] + (1,), rows.shape[-1])
        place = levels * jnp.maximum(valid - 1, 0)
        if interpolation == "nearest":
            place = jnp.round(place)
        below, above = jnp.floor(place), jnp.ceil(place)
        ordered = in_order(rows, -1)
        low = jnp.stack([jnp.take_along_axis(ordered, i, -1) for i in below.astype(np.int64)])
        high = jnp.stack([jnp.take_along_axis(ordered, i, -1) for i in above.astype(np.int64)])
        weight = {"lower": 0.0, "higher": 1.0, "nearest": 0.0, "midpoint": jnp.where(below == above, 0, 0.5)}.get(
            interpolation, place - below
        )
        weight = jnp.asarray(weight).astype(x.dtype)
        out = jnp.where(weight == 0, low, jnp.where(weight == 1, high, low + (high - low) * weight))
        lost = jnp.all(missing, -1, keepdims=True) if skip_nan else jnp.any(missing, -1, keepdims=True)
        out = jnp.where(lost, jnp.nan, out)[..., 0]
    if keepdim:
        out = jnp.expand_dims(out, tuple(a + 1 for a in axes))
    return out[0] if out.shape[0] == 1 else out


def _quantile_of(name, x, q, axis, keepdim, interpolation, skip_nan):
    if not isinstance(x, Tensor):
        raise errors.TypeError_(f"{name}: x must be a Tensor, got {errors.describe(x)}")
    if interpolation not in _INTERPOLATIONS:
        raise errors.ValueError_(
            f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, got {interpolation!r}"
        )
    if isinstance(q, (list, tuple)):
        q = np.asarray([float(v) for v in q], np.float64)
    elif not isinstance(q, (int, float, Tensor, np.ndarray)):
        raise errors.TypeError_(f"{name}: q must be a number, a list of numbers or a Tensor, got {errors.describe(q)}")
    if isinstance(q, (Tensor, np.ndarray)) and (q.size == 0 or q.ndim > 1):
        raise errors.ValueError_(
            f"{name}: q must hold one number at least in one dimension at most, got shape {list(q.shape)}"
        )
    levels = q if not isinstance(q, Tensor) else q._value
    if not isinstance(levels, ABSTRACT) and not np.all((np.asarray(levels) >= 0) & (np.asarray(levels) <= 1)):
        raise errors.ValueError_(f"{name}: q must lie between 0 and 1, got {errors.describe(q)}")
    for a in axis if isinstance(axis, (list, tuple)) else () if axis is None else (axis,):
        if not isinstance(a, (int, np.integer)):
            raise errors.ValueError_(
                f"{name}: axis must be None, an int or a list of ints, got {errors.describe(axis)}"
            )
    return _quantile(x, float(q) if isinstance(q, (int, float)) else q, axis, keepdim, interpolation, skip_nan)


@api
def quantile(x, q, axis=None, keepdim=False, interpolation="linear"):
    """The q-quantiles over axes (an int, a list, or None for all); NaN where an element is NaN.

    Args:
        q: a number between 0 and 1, a list of them, or a tensor; several give a new first axis.
        interpolation: between the two nearest elements: "linear", "lower", "higher", "nearest" or "midpoint".

    Raises:
        ValueError: q outside 0 to 1, an axis out of range, another interpolation.

    Example:
        >>> paddle.quantile(paddle.to_tensor([1.0, 2.0, 3.0, 4.0]), 0.5).item()
        2.5
    """
    return _quantile_of("quantile", x, q, axis, keepdim, interpolation, False)


@api
def nanquantile(x, q, axis=None, keepdim=False, interpolation="linear"):
    """The q-quantiles of what is not NaN; see `quantile`.

    Example:
        >>> paddle.nanquantile(paddle.to_tensor([1.0, float("nan"), 3.0]), 0.5).item()
        2.0
    """
    return _quantile_of("nanquantile", x, q, axis, keepdim, interpolation, True)


# ---- histograms ----


def _bin_count(name, bins, least=1):
    bins = bins.item() if isinstance(bins, Tensor) else bins
    if not isinstance(bins, (int, np.integer)) or bins < least:
        raise errors.ValueError_(f"{name}: bins must be an int of at least {least}, got {bins!r}")
    return int(bins)


def _span(name, x, low, high, margin):
    """The range of a histogram: the given one, or that of the data where both ends are equal."""
    if x.dtype.is_complex:
        raise errors.TypeError_(f"{name}: complex numbers have no order, got {x.dtype.name}")
    low, high = float(low), float(high)
    if low > high:
        raise errors.ValueError_(f"{name}: max must not be less than min, got min={low}, max={high}")
    if low == high and x.size:
        array = host_array(name, x)
        array = array[~np.isnan(array)] if array.dtype.kind == "f" else array
        if array.size:
            low, high = float(array.min()), float(array.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise errors.ValueError_(f"{name}: the range must be finite, got min={low}, max={high}")
    return (low - margin, high + margin) if low == high else (low, high)


@op(method=False, export=False, scalars="low high", static="bins density", differentiable=False, name="histogram")
def _histogram(x, weight, low, high, bins, density):
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float64 if jnp.issubdtype(x.dtype, jnp.integer) else np.float32)
    low, high = low.astype(x.dtype), high.astype(x.dtype)
    inside = (x >= low) & (x <= high)
    place = jnp.where(inside, (x - low) * bins / (high - low), 0)
    place = jnp.minimum(place.astype(np.int64), bins - 1).reshape(-1)
    if weight is None and not density:
        return jnp.zeros(bins, np.int64).at[place].add(inside.reshape(-1).astype(np.int64))
    amount = jnp.ones(x.shape, np.float32) if weight is None else as_float(weight)
    counts = jnp.zeros(bins, amount.dtype).at[place].add(jnp.where(inside, amount, 0).reshape(-1))
    return counts / jnp.sum(counts) / ((high - low) / bins).astype(counts.dtype) if density else counts


@api(method="histogram")
def histogram(input, bins=100, min=0.0, max=0.0, weight=None, density=False):
    """How many elements fall into each of `bins` equal intervals between min and max (of the data when they are equal).

    Args:
        weight: how much each element counts, shape of `input`.
        density: divide so that the integral is 1.

    Returns:
        int64 [bins], float32 with weights or density.

    Raises:
        ValueError: no bins, max less than min, a weight of another shape.

    Example:
        >>> paddle.histogram(paddle.to_tensor([1.0, 2.0, 1.0]), bins=2).tolist()
        [2, 1]
    """
    check_tensor("histogram", input, "input")
    bins = _bin_count("histogram", bins)
    if weight is not None and weight.shape != input.shape:
        raise errors.ValueError_(f"histogram: weight has shape {list(weight.shape)}, input {list(input.shape)}")
    low, high = _span("histogram", input, min, max, 1.0)
    return _histogram(input, weight, low, high, bins, bool(density))


@api(method="histogram_bin_edges")
def histogram_bin_edges(input, bins=100, min=0.0, max=0.0):
    """The ends of the intervals of `histogram`, float32 [bins + 1].

    Raises:
        ValueError: max less than min, no elements where the range is that of the data.

    Example:
        >>> paddle.histogram_bin_edges(paddle.to_tensor([1.0, 3.0]), bins=2).tolist()
        [1.0, 2.0, 3.0]
    """
    bins = _bin_count("histogram_bin_edges", bins, 0)
    if min == max == 0 and input.size == 0:
        raise errors.ValueError_("histogram_bin_edges: there are no elements to take the range from")
    low, high = _span("histogram_bin_edges", input, min, max, 0.5)
    return device_tensor(np.linspace(low, high, bins + 1, dtype=np.float32), input)


@op(method=False, export=False, static="bins ranges density", differentiable=False, name="histogramdd")
def _histogramdd(x, edges, weights, bins, ranges, density):
    depth = x.shape[-1]
    x = as_float(x).reshape(-1, depth)
    span = None if ranges is None else [ranges[2 * i : 2 * i + 2] for i in range(depth)]
    if edges is None and x.shape[0] == 0:
        span = span or [(0.0, 1.0)] * depth
    counts, edges = jnp.histogramdd(
        x, list(bins) if edges is None else edges, span, None if weights is None else weights.reshape(-1), density
    )
    return (counts.astype(x.dtype), *[e.astype(x.dtype) for e in edges])


@api
def histogramdd(x, bins=10, ranges=None, density=False, weights=None):
    """The histogram of points in several dimensions.

    Args:
        x: [..., D], D coordinates each.
        bins: a number for every dimension, a list of D numbers, or a list of D tensors with the ends of the intervals.
        ranges: 2 D numbers, the lowest and highest end in each dimension; default the range of the data.
        density: divide so that the integral is 1.
        weights: how much each point counts, shape [...].

    Returns:
        (counts in the type of x, [ends of the intervals in each dimension]).

    Raises:
        ValueError: fewer than two dimensions, or lists of another length than D.

    Example:
        >>> paddle.histogramdd(paddle.to_tensor([[0.1, 0.2], [0.9, 0.8]]), bins=[2, 1])[0].tolist()
        [[1.0], [1.0]]
    """
    check_tensor("histogramdd", x)
    if x.ndim < 2:
        raise errors.ValueError_(f"histogramdd: x must have at least two dimensions, got shape {list(x.shape)}")
    depth = x.shape[-1]
    bins = [bins] * depth if isinstance(bins, (int, np.integer)) else list(bins)
    if len(bins) != depth:
        raise errors.ValueError_(
            f"histogramdd: bins must have one entry for each of the {depth} coordinates, got {len(bins)}"
        )
    if ranges is not None and len(ranges) != 2 * depth:
        raise errors.ValueError_(f"histogramdd: ranges must have {2 * depth} numbers, got {len(ranges)}")
    if weights is not None and list(weights.shape) != list(x.shape[:-1]):
        raise errors.ValueError_(
            f"histogramdd: weights must have shape {list(x.shape[:-1])}, got {list(weights.shape)}"
        )
    edges = None
    if builtins.all(isinstance(b, Tensor) for b in bins):
        edges, bins = bins, ()
    else:
        bins = tuple(_bin_count("histogramdd", b) for b in bins)
    ranges = None if ranges is None else tuple(float(r) for r in ranges)
    counts, *ends = _histogramdd(x, edges, weights, bins, ranges, bool(density))
    return counts, list(ends)


@api(on_host=data_shapes.bincount)
def bincount(x, weights=None, minlength=0):
    """How often each of the numbers 0, 1, ... occurs in a 1-D integer tensor.

    Args:
        weights: how much each element counts; the result is float32 or float64 then, else int64.
        minlength: the least length of the result.

    Raises:
        TypeError: x is no integer tensor.
        ValueError: x is not 1-D or has negative elements, a negative minlength, weights of another shape.

    Example:
        >>> paddle.bincount(paddle.to_tensor([1, 2, 1])).tolist()
        [0, 2, 1]
    """
    array = host_array("bincount", x)
    minlength = minlength.item() if isinstance(minlength, Tensor) else minlength
    if array.dtype.kind not in "iu":
        raise errors.TypeError_(f"bincount: x must be an integer tensor, got {array.dtype.name}")
    if array.ndim != 1 or array.size and array.min() < 0:
        raise errors.ValueError_(f"bincount: x must be 1-D without negative elements, got {errors.describe(x)}")
    if minlength < 0:
        raise errors.ValueError_(f"bincount: minlength cannot be negative, got {minlength}")
    if weights is None:
        return device_tensor(np.bincount(array, minlength=minlength).astype(np.int64), x)
    values = host_array("bincount", weights)
    if values.shape != array.shape:
        raise errors.ValueError_(f"bincount: weights have shape {list(values.shape)}, x {list(array.shape)}")
    return device_tensor(
        np.bincount(array, values, minlength).astype(np.float32 if values.dtype == np.float32 else np.float64), x
    )
