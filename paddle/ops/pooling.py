"""Pooling over windows: fixed, adaptive and fractional ones, and its inverse.

A window is a product of intervals, so everything here works axis by axis, the last one first. Fixed windows are
combined from strided slices, whose gradient XLA compiles well (that of `reduce_window` takes many times longer on the
CPU); windows of varying length are gathered. Ties in maxima go to the first element in row-major order; NaN wins.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float
from ..engine.random import generator
from ..engine.tensor import Tensor
from ..engine.value import Dim, Value, at_least
from . import window
from .checks import check_ids

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


class _Axis:
    """Fixed windows along one axis: `count` of them, `size` long, `stride` apart, the first starting `before` 0."""

    def __init__(self, axis: int, length: int, size: int, stride: int, before: int, count: int):
        self.axis, self.length, self.size = axis, length, size
        self.stride, self.before, self.count = stride, before, count
        self.open = not isinstance(length, int)  # the length stays open in an exported program
        self.reach = size if self.open else min(size, length + before)  # what lies beyond is padding in all windows
        self.after = (count - 1) * stride + self.reach - length - before
        if not self.open:
            self.after = max(self.after, 0)

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each window starts and ends, without padding."""
        xp = jnp if self.open else np
        start = xp.arange(self.count) * self.stride - self.before
        return xp.clip(start, 0, self.length), xp.clip(start + self.size, 0, self.length)

    def pad(self, x: Any, value: Any) -> Any:
        if not self.open and not self.before and not self.after:
            return x
        config = [(self.before, self.after, 0) if i == self.axis else (0, 0, 0) for i in range(x.ndim)]
        return jax.lax.pad(x, jnp.asarray(value, x.dtype), config)

    def slices(self, x: Any):
        """The first elements of all windows, their second ones, ... (x is padded)."""
        for i in range(self.reach):
            yield jax.lax.slice_in_dim(x, i, i + (self.count - 1) * self.stride + 1, self.stride, self.axis)

    def combine(self, x: Any, function: Any, value: Any) -> Any:
        if not self.open:
            return functools.reduce(function, self.slices(self.pad(x, value)))
        sizes, strides = ([n if i == self.axis else 1 for i in range(x.ndim)] for n in (self.size, self.stride))
        start = np.asarray(value, x.dtype)
        return jax.lax.reduce_window(self.pad(x, value), start, function, sizes, strides, "VALID")

    def spread(self, parts: Any, like: Any) -> Any:
        """The transpose of `slices` and `pad`: the parts added where they came from."""
        axis, total = self.axis, like.shape[self.axis] + self.before + self.after
        stride = self.stride if self.count > 1 else total  # it may be huge where there is no second window
        rows = -(-total // stride)
        phases: list = [None] * stride  # of the places i, i + stride, i + 2 * stride, ...
        for i, part in enumerate(parts):
            skip, phase = divmod(i, stride)
            config = [(skip, rows - skip - self.count, 0) if a == axis else (0, 0, 0) for a in range(part.ndim)]
            placed = jax.lax.pad(part, jnp.zeros((), part.dtype), config)
            phases[phase] = placed if phases[phase] is None else phases[phase] + placed
        zeros = jnp.zeros_like(phases[0])
        whole = jnp.stack([zeros if p is None else p for p in phases], axis + 1)
        whole = whole.reshape([rows * stride if a == axis else n for a, n in enumerate(zeros.shape)])
        return jax.lax.slice_in_dim(whole, self.before, self.before + like.shape[axis], 1, axis)


def _lowest(dtype):
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def _read(name, n, x, kernel_size, stride, padding, ceil_mode, data_format):
    """The windows along each spatial axis."""
    last = window.channel_last(name, data_format, n)
    window.check_rank(name, x, n)
    kernel = window.sizes(name, "kernel_size", kernel_size, n)
    stride = kernel if stride is None else window.sizes(name, "stride", stride, n)
    axes = window.spatial_axes(n, last)
    lengths = tuple(x.shape[a] for a in axes)
    if ceil_mode and isinstance(padding, str) and padding.upper() == "VALID":
        raise errors.ValueError_(f"{name}: ceil_mode is not possible with padding='VALID'")
    found = []
    pads = window.pairs(name, padding, n, last, lengths, kernel, stride)
    for a, length, k, s, (before, after) in zip(axes, lengths, kernel, stride, pads):
        room = length + before + after - k
        if not at_least(room, 1 - s) and length:
            raise errors.ValueError_(
                f"{name}: windows of size {list(kernel)} do not fit into x of shape "
                f"{list(x.shape)} with padding {padding}"
            )
        if isinstance(room, int):
            count = max(-(-room // s) if ceil_mode else int(room / s), -1) + 1
        else:  # of a length that stays open in an exported program
            count = jax.core.max_dim(-(-room // s) if ceil_mode else room // s, 0) + 1
        found.append(_Axis(a, length, k, s, before, count))
    return found


# ---- maxima ----


def _empty(x, windows):
    return x.size == 0 or any(w.count == 0 for w in windows)


def _shape(x, windows):
    shape = list(x.shape)
    for w in windows:
        shape[w.axis] = w.count
    return shape


def _max_steps(x, windows):
    """x, then its maxima along the last axis, along the last two, ..."""
    steps = [x]
    for w in reversed(windows):
        steps.append(w.combine(steps[-1], jax.lax.max, _lowest(x.dtype)))
    return steps


def _max_gradient(inputs, outputs, cotangents, name, n, *arguments):
    x, g = inputs[0], cotangents[0]
    windows = _read(name, n, x, *arguments)
    if g is None or _empty(x, windows):
        return jnp.zeros_like(x)
    steps = [x, *jax.lax.optimization_barrier(_max_steps(x, windows)[1:])]
    for w, before, after in zip(windows, steps[-2::-1], steps[:0:-1]):
        first = jnp.zeros(after.shape, np.int8 if w.reach < 128 else np.int32)  # which element of a window answers
        for i, part in reversed(list(enumerate(w.slices(w.pad(before, _lowest(x.dtype)))))):
            first = jnp.where(part < after, first, first.dtype.type(i))  # not `part == after`: the first one for a NaN
        # in memory: XLA would find it again for each place where a window could have its maximum
        first = jax.lax.optimization_barrier(first)
        g = w.spread([jnp.where(first == i, g, 0) for i in range(w.reach)], before)
    return g


@nn_op(export=False, name="max_pool", gradient=_max_gradient)
def _max_pool(x, name, n, kernel_size, stride, padding, ceil_mode, data_format):
    windows = _read(name, n, x, kernel_size, stride, padding, ceil_mode, data_format)
    if _empty(x, windows):
        return jnp.zeros(_shape(x, windows), x.dtype)
    out = _max_steps(x, windows)[-1]
    for w in windows:  # windows that ceil_mode puts wholly into the padding hold the least number, as officially
        start, end = w.bounds
        if jnp.issubdtype(x.dtype, jnp.floating) and (ceil_mode if w.open else (start >= end).any()):
            out = jnp.where(
                jnp.expand_dims(start >= end, [i for i in range(x.ndim) if i != w.axis]), jnp.finfo(x.dtype).min, out
            )
    return out


def _places(shape, axes, ndim):
    """The flat position of each element within the spatial axes, int32, of length 1 along the other axes."""
    index = jnp.arange(int(np.prod([shape[a] for a in axes])), dtype=np.int32).reshape([shape[a] for a in axes])
    return jnp.expand_dims(index, [i for i in range(ndim) if i not in axes])


def _fixed_max_with_index(x, windows):
    """The maxima of fixed windows and their positions, from strided slices."""
    index = _places(x.shape, [w.axis for w in windows], x.ndim)
    for w in reversed(windows):
        # padding before stands for the first element: it is that one's place that counts when nothing is larger
        edges = [(w.before, w.after) if a == w.axis else (0, 0) for a in range(x.ndim)]
        values, places = w.slices(w.pad(x, _lowest(x.dtype))), w.slices(jnp.pad(index, edges, "edge"))
        x, index = next(values), next(places)
        for value, place in zip(values, places):
            larger = ~(value <= x) & ~jnp.isnan(x) if jnp.issubdtype(x.dtype, jnp.floating) else value > x
            x, index = jnp.where(larger, value, x), jnp.where(larger, place, index)
    return x, jnp.broadcast_to(index, x.shape)


def _max_with_index(x, axes, starts, ends, spans):
    """The maxima of windows [start, end) along each axis and their flat positions within the spatial axes (int32).
    `spans` are the lengths of the longest windows."""
    n = len(axes)
    index = jnp.broadcast_to(_places(x.shape, axes, x.ndim), x.shape)
    for k in reversed(range(n)):
        axis, length = axes[k], x.shape[axes[k]]
        at = starts[k][:, None] + np.arange(spans[k])
        inside = at < ends[k][:, None]
        at = jnp.clip(at, 0, length - 1)

        mask = inside.reshape([1] * axis + list(inside.shape) + [1] * (x.ndim - axis - 1))
        values = jnp.where(mask, jnp.take(x, at, axis), _lowest(x.dtype))  # the axis becomes (windows, elements)
        best = jnp.expand_dims(jnp.argmax(values, axis + 1), axis + 1)
        x = jnp.squeeze(jnp.take_along_axis(values, best, axis + 1), axis + 1)
        index = jnp.squeeze(jnp.take_along_axis(jnp.take(index, at, axis), best, axis + 1), axis + 1)
    return x, index


def _scatter_flat(values, index, shape, axes):
    """An array of zeros of `shape` with the values added at flat positions within its spatial axes (channels first)."""
    lead = values.shape[:2]
    rows = int(np.prod(lead))
    size = int(np.prod([shape[a] for a in axes]))
    flat = (rows, int(np.prod(values.shape[2:])))  # not -1, which is ambiguous where there are no rows
    at = (jnp.arange(rows)[:, None], index.reshape(flat))
    flat = jnp.zeros((rows, size), values.dtype).at[at].add(values.reshape(flat))
    return flat.reshape(shape)


def _by_index(inputs, outputs, cotangents, *attributes):
    """The gradient of maxima of x (channels first) that come with their positions."""
    x, g = inputs[0], cotangents[0]
    found = jnp.zeros_like(x) if g is None or not g.size else _scatter_flat(g, outputs[1], x.shape, range(2, x.ndim))
    return (found,) + (None,) * (len(inputs) - 1)


@nn_op(export=False, name="max_pool_with_index", gradient=_by_index)
def _max_pool_with_index(x, name, n, kernel_size, stride, padding, ceil_mode):
    windows = _read(name, n, x, kernel_size, stride, padding, ceil_mode, window.FORMATS[n][0])
    if _empty(x, windows):
        return jnp.zeros(_shape(x, windows), x.dtype), jnp.zeros(_shape(x, windows), np.int32)
    return _fixed_max_with_index(x, windows)


def _max(name, n, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format):
    if return_mask:
        if data_format != window.FORMATS[n][0]:
            raise errors.ValueError_(
                f"{name}: return_mask is possible for data_format {window.FORMATS[n][0]} only, got {data_format!r}"
            )
        return _max_pool_with_index(x, name, n, kernel_size, stride, padding, bool(ceil_mode))
    return _max_pool(x, name, n, kernel_size, stride, padding, bool(ceil_mode), data_format)


@nn_api
def max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False):
    """The maxima of windows over x of shape [N, C, L]; arguments as for `max_pool2d`.

    Example:
        >>> paddle.nn.functional.max_pool1d(paddle.to_tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2).tolist()
        [[[3.0, 2.0]]]
    """
    return _max("max_pool1d", 1, x, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


@nn_api
def max_pool2d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCHW"):
    """The maxima of windows. The gradient of equal elements goes to the first one.

    Args:
        x: shape [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        kernel_size: an int or two.
        stride: an int or two; default the kernel size.
        padding: as for `conv2d`; padded elements never win.
        return_mask: also return the positions of the maxima in H * W, int32 (NCHW only).
        ceil_mode: round the number of windows up.
        data_format: "NCHW" or "NHWC".

    Raises:
        ValueError: a wrong rank, sizes below 1, windows that do not fit, ceil_mode with "VALID".

    Example:
        >>> paddle.nn.functional.max_pool2d(paddle.ones([1, 1, 4, 4]), 2).shape
        [1, 1, 2, 2]
    """
    return _max("max_pool2d", 2, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


@nn_api
def max_pool3d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCDHW"):
    """The maxima of windows over x of shape [N, C, D, H, W] or [N, D, H, W, C]; arguments as for `max_pool2d`.

    Example:
        >>> paddle.nn.functional.max_pool3d(paddle.ones([1, 1, 4, 4, 4]), 2).shape
        [1, 1, 2, 2, 2]
    """
    return _max("max_pool3d", 3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


# ---- averages and norms ----


def _counts(windows, ndim, exclusive):
    """How many elements each window averages over; with `exclusive` padding does not count. As officially, a window that
    lies in the padding alone has a count below 0, which gives 0, or of 0, which gives NaN, where it ends at the border."""
    total = np.ones((1,) * ndim)
    for w in windows:
        xp = jnp if w.open else np
        start = xp.arange(w.count) * w.stride - w.before
        if exclusive:
            lengths = xp.minimum(start + w.size, w.length) - xp.maximum(start, 0)
        else:  # officially the padding before an axis limits the windows at its end
            lengths = xp.minimum(start + w.size, w.length + w.before) - start
        total = total * lengths.reshape([-1 if i == w.axis else 1 for i in range(ndim)])
    return total


def _sums(x, windows):
    for w in reversed(windows):
        x = w.combine(x, jax.lax.add, 0)
    return x


@nn_op(export=False, name="avg_pool")
def _avg_pool(x, name, n, kernel_size, stride, padding, exclusive, ceil_mode, divisor_override, data_format):
    x = as_float(x)
    windows = _read(name, n, x, kernel_size, stride, padding, ceil_mode, data_format)
    if _empty(x, windows):
        return jnp.zeros(_shape(x, windows), x.dtype)
    out = _sums(x, windows) / jnp.asarray(_counts(windows, x.ndim, exclusive), x.dtype)
    if divisor_override is None:
        return out
    if not divisor_override:
        raise errors.ValueError_(f"{name}: divisor_override cannot be 0")
    return out * (int(np.prod([w.size for w in windows])) / divisor_override)


@nn_api
def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False):
    """The averages of windows over x of shape [N, C, L]; arguments as for `avg_pool2d`.

    Example:
        >>> paddle.nn.functional.avg_pool1d(paddle.to_tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2).tolist()
        [[[2.0, 1.0]]]
    """
    return _avg_pool(x, "avg_pool1d", 1, kernel_size, stride, padding, bool(exclusive), bool(ceil_mode), None, "NCL")


@nn_api
def avg_pool2d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, divisor_override=None, data_format="NCHW"
):
    """The averages of windows.

    Args:
        x: shape [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        kernel_size, stride, padding, ceil_mode, data_format: as for `max_pool2d`.
        exclusive: padded elements do not count in the average.
        divisor_override: the average is multiplied by the kernel's size and divided by this.

    Raises:
        ValueError: a wrong rank, sizes below 1, windows that do not fit, divisor_override 0.

    Example:
        >>> paddle.nn.functional.avg_pool2d(paddle.ones([1, 1, 4, 4]), 2).sum().item()
        4.0
    """
    return _avg_pool(
        x,
        "avg_pool2d",
        2,
        kernel_size,
        stride,
        padding,
        bool(exclusive),
        bool(ceil_mode),
        divisor_override,
        data_format,
    )


@nn_api
def avg_pool3d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, divisor_override=None, data_format="NCDHW"
):
    """The averages of windows over x of shape [N, C, D, H, W] or [N, D, H, W, C]; arguments as for `avg_pool2d`.

    Example:
        >>> paddle.nn.functional.avg_pool3d(paddle.ones([1, 1, 2, 2, 2]), 2).tolist()
        [[[[[1.0]]]]]
    """
    return _avg_pool(
        x,
        "avg_pool3d",
        3,
        kernel_size,
        stride,
        padding,
        bool(exclusive),
        bool(ceil_mode),
        divisor_override,
        data_format,
    )


@nn_op(export=False, name="lp_pool")
def _lp_pool(x, name, n, norm_type, kernel_size, stride, padding, ceil_mode, data_format):
    x = as_float(x)
    windows = _read(name, n, x, kernel_size, stride, padding, ceil_mode, data_format)
    if _empty(x, windows):
        return jnp.zeros(_shape(x, windows), x.dtype)
    total = _sums(x**norm_type, windows)
    zero = total == 0  # the root has no derivative there; the gradient is 0
    return jnp.where(zero, 0, jnp.where(zero, 1, total) ** (1 / norm_type))


def _lp(name, n, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format):
    if norm_type == 0:
        raise errors.ValueError_(f"{name}: norm_type cannot be 0")
    if norm_type == float("inf"):
        return _max_pool(x, name, n, kernel_size, stride, padding, bool(ceil_mode), data_format)
    return _lp_pool(x, name, n, norm_type, kernel_size, stride, padding, bool(ceil_mode), data_format)


@nn_api
def lp_pool1d(x, norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCL"):
    """(sum of x ** norm_type) ** (1 / norm_type) over windows; arguments as for `lp_pool2d`.

    Example:
        >>> paddle.nn.functional.lp_pool1d(paddle.to_tensor([[[3.0, 4.0]]]), 2, 2).tolist()
        [[[5.0]]]
    """
    return _lp("lp_pool1d", 1, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


@nn_api
def lp_pool2d(x, norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCHW"):
    """(sum of x ** norm_type) ** (1 / norm_type) over windows. The powers are taken with sign: odd ones can give NaN.

    Args:
        norm_type: any number but 0; infinity gives the maximum.
        x, kernel_size, stride, padding, ceil_mode, data_format: as for `max_pool2d`.

    Raises:
        ValueError: norm_type 0, and what `max_pool2d` raises.

    Example:
        >>> paddle.nn.functional.lp_pool2d(paddle.ones([1, 1, 2, 2]), 2, 2).tolist()
        [[[[2.0]]]]
    """
    return _lp("lp_pool2d", 2, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


# ---- adaptive ----


def _output_sizes(name, x, n, output_size, last):
    """An output size for each spatial axis; None keeps the length."""
    window.check_rank(name, x, n)
    axes = window.spatial_axes(n, last)
    if isinstance(output_size, int):
        output_size = (output_size,) * n
    if isinstance(output_size, tuple) and len(output_size) == 1 and n == 1:
        output_size *= n
    fine = isinstance(output_size, tuple) and len(output_size) == n
    if not fine or not all(o is None or isinstance(o, int) and o >= 0 for o in output_size):
        raise errors.ValueError_(
            f"{name}: output_size must be an int or {n} ints (None keeps a length), none "
            f"negative, got {errors.describe(output_size)}"
        )
    return axes, tuple(x.shape[a] if o is None else o for a, o in zip(axes, output_size))


def _adaptive_bounds(length, count):
    i = np.arange(count)
    return i * length // count, -(-(i + 1) * length // count)


@nn_op(export=False, name="adaptive_avg_pool")
def _adaptive_avg(x, name, n, output_size, data_format):
    x = as_float(x)
    axes, wanted = _output_sizes(name, x, n, output_size, window.channel_last(name, data_format, n))
    if x.size == 0 or 0 in wanted:
        shape = list(x.shape)
        for axis, count in zip(axes, wanted):
            shape[axis] = count
        return jnp.full(shape, jnp.nan, x.dtype)
    for axis, count in zip(axes, wanted):
        length = x.shape[axis]
        if count == length:
            continue
        if length % count == 0:
            x = jnp.mean(x.reshape(x.shape[:axis] + (count, length // count) + x.shape[axis + 1 :]), axis + 1)
            continue
        start, end = _adaptive_bounds(length, count)
        if not isinstance(length, int):  # a length that stays open in an exported program: a product with the windows
            place = jnp.arange(length)
            inside = (place >= start[:, None]) & (place < end[:, None])
            share = inside.astype(x.dtype) / (end - start)[:, None].astype(x.dtype)
            x = jnp.moveaxis(jnp.tensordot(x, share, (axis, 1)), -1, axis)
            continue
        at = start[:, None] + np.arange((end - start).max())
        inside = (at < end[:, None]).reshape([1] * axis + list(at.shape) + [1] * (x.ndim - axis - 1))
        parts = jnp.where(inside, jnp.take(x, np.minimum(at, length - 1), axis), 0)
        counts = (end - start).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        x = jnp.sum(parts, axis + 1) / jnp.asarray(counts, x.dtype)
    return x


@nn_op(export=False, name="adaptive_max_pool", gradient=_by_index)
def _adaptive_max(x, name, n, output_size):
    axes, wanted = _output_sizes(name, x, n, output_size, False)
    if x.size == 0 or 0 in wanted:
        if 0 in [x.shape[a] for a in axes] and 0 not in wanted:
            raise errors.ValueError_(f"{name}: x of shape {list(x.shape)} has no elements to take a maximum of")
        shape = x.shape[:2] + wanted
        return jnp.zeros(shape, x.dtype), jnp.zeros(shape, np.int32)
    if set(wanted) == {1} and x.ndim == n + 2:  # one window, also of lengths that stay open in an exported program
        flat = x.reshape(*x.shape[:2], -1)
        place = jnp.argmax(flat, -1, keepdims=True)
        shape = (*x.shape[:2], *wanted)
        return jnp.take_along_axis(flat, place, -1).reshape(shape), place.astype(np.int32).reshape(shape)
    bounds = [_adaptive_bounds(x.shape[a], c) for a, c in zip(axes, wanted)]
    return _max_with_index(
        x, axes, [b[0] for b in bounds], [b[1] for b in bounds], [int((b[1] - b[0]).max()) for b in bounds]
    )


@nn_api
def adaptive_avg_pool1d(x, output_size):
    """Averages over `output_size` windows that cover x, of shape [N, C, L], evenly.

    Example:
        >>> paddle.nn.functional.adaptive_avg_pool1d(paddle.to_tensor([[[1.0, 3.0, 2.0]]]), 1).tolist()
        [[[2.0]]]
    """
    return _adaptive_avg(x, "adaptive_avg_pool1d", 1, output_size, "NCL")


@nn_api
def adaptive_avg_pool2d(x, output_size, data_format="NCHW"):
    """Averages over windows that cover x evenly: of n along a length L the i-th is [floor(i L / n), ceil((i+1) L / n)).

    Args:
        x: shape [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        output_size: the number of windows, an int or two; None keeps the length.

    Raises:
        ValueError: a wrong rank, data_format or output_size.

    Example:
        >>> paddle.nn.functional.adaptive_avg_pool2d(paddle.ones([1, 1, 5, 5]), 2).shape
        [1, 1, 2, 2]
    """
    return _adaptive_avg(x, "adaptive_avg_pool2d", 2, output_size, data_format)


@nn_api
def adaptive_avg_pool3d(x, output_size, data_format="NCDHW"):
    """`adaptive_avg_pool2d` over three axes, for x of shape [N, C, D, H, W] or [N, D, H, W, C].

    Example:
        >>> paddle.nn.functional.adaptive_avg_pool3d(paddle.ones([1, 1, 4, 4, 4]), 2).shape
        [1, 1, 2, 2, 2]
    """
    return _adaptive_avg(x, "adaptive_avg_pool3d", 3, output_size, data_format)


@nn_api
def adaptive_max_pool1d(x, output_size, return_mask=False):
    """Maxima over `output_size` windows that cover x, of shape [N, C, L], evenly; see `adaptive_max_pool2d`.

    Example:
        >>> paddle.nn.functional.adaptive_max_pool1d(paddle.to_tensor([[[1.0, 3.0, 2.0]]]), 1).tolist()
        [[[3.0]]]
    """
    out = _adaptive_max(x, "adaptive_max_pool1d", 1, output_size)
    return out if return_mask else out[0]


@nn_api
def adaptive_max_pool2d(x, output_size, return_mask=False):
    """Maxima over the windows of `adaptive_avg_pool2d`.

    Args:
        x: shape [N, C, H, W].
        output_size: the number of windows, an int or two; None keeps the length.
        return_mask: also return the positions of the maxima in H * W, int32.

    Raises:
        ValueError: a wrong rank or output_size.

    Example:
        >>> paddle.nn.functional.adaptive_max_pool2d(paddle.ones([1, 1, 5, 5]), 2).shape
        [1, 1, 2, 2]
    """
    out = _adaptive_max(x, "adaptive_max_pool2d", 2, output_size)
    return out if return_mask else out[0]


@nn_api
def adaptive_max_pool3d(x, output_size, return_mask=False):
    """`adaptive_max_pool2d` over three axes, for x of shape [N, C, D, H, W].

    Example:
        >>> paddle.nn.functional.adaptive_max_pool3d(paddle.ones([1, 1, 4, 4, 4]), 2).shape
        [1, 1, 2, 2, 2]
    """
    out = _adaptive_max(x, "adaptive_max_pool3d", 3, output_size)
    return out if return_mask else out[0]


# ---- fractional ----


@nn_op(export=False, name="fractional_max_pool", gradient=_by_index, static="spans")
def _fractional(x, bounds, spans):
    """`bounds` [axes][start or end][window] is data, so that another random draw does not compile again."""
    axes = tuple(range(2, x.ndim))
    return _max_with_index(x, axes, [b[0] for b in bounds], [b[1] for b in bounds], list(spans))


def _fractional_bounds(length, count, pool, u):
    """Starts, ends and longest length of fractional windows (Graham 2014), in float32 as officially."""
    f = np.float32
    alpha = f(length - pool) / f(count - (1 if pool > 0 else 0)) if count > (1 if pool > 0 else 0) else f(0)
    if pool <= 0:
        base = length // count
        u = f(u) * min(f(base + 2) / alpha - f(1), f(length + 1 - base) / alpha - f(count - 1))
    i = np.arange(count).astype(f)
    first = np.int64(f(u) * alpha)
    start = ((i + f(u)) * alpha).astype(np.int64) - first
    end = start + pool if pool > 0 else ((i + f(1) + f(u)) * alpha).astype(np.int64) - first
    longest = pool if pool > 0 else int(np.ceil(alpha)) + 1
    return np.clip(start, 0, length - 1), np.clip(end, 1, length), min(longest, length)


def _fractional_pool(name, n, x, output_size, kernel_size, random_u, return_mask):
    if isinstance(output_size, Tensor):
        output_size = output_size.tolist()
    output_size = tuple(output_size) if isinstance(output_size, (list, tuple)) else output_size
    axes, wanted = _output_sizes(name, x, n, output_size, False)
    kernel = (0,) * n if kernel_size is None else window.sizes(name, "kernel_size", kernel_size, n)
    if random_u is None:
        random_u = (generator().random() + 0.5) / 2**32
    elif not isinstance(random_u, (int, float)) or not 0 < random_u < 1:
        raise errors.ValueError_(f"{name}: random_u must be between 0 and 1, got {errors.describe(random_u)}")
    lengths = [x.shape[a] for a in axes]
    if any(not 0 < c <= length or k and length < c - 1 + k for c, length, k in zip(wanted, lengths, kernel)):
        raise errors.ValueError_(
            f"{name}: output_size {list(wanted)} with kernel_size {kernel_size} does not fit x of shape {list(x.shape)}"
        )
    found = [_fractional_bounds(*a, random_u) for a in zip(lengths, wanted, kernel)]
    out = _fractional(x, [np.stack(f[:2]) for f in found], tuple(f[2] for f in found))
    return out if return_mask else out[0]


@nn_api
def fractional_max_pool2d(x, output_size, kernel_size=None, random_u=None, return_mask=False):
    """Maxima over windows whose borders are drawn at random so that their sizes average to a fraction (Graham, 2014).

    Args:
        x: shape [N, C, H, W].
        output_size: the number of windows, an int or two (None keeps a length), at most the length.
        kernel_size: an int or two for overlapping windows of that size; None for disjoint ones.
        random_u: the number in (0, 1) that sets the borders; drawn when None.
        return_mask: also return the positions of the maxima in H * W, int32.

    Raises:
        ValueError: sizes that do not fit, random_u out of range.

    Example:
        >>> paddle.nn.functional.fractional_max_pool2d(paddle.ones([1, 1, 7, 7]), 3).shape
        [1, 1, 3, 3]
    """
    return _fractional_pool("fractional_max_pool2d", 2, x, output_size, kernel_size, random_u, return_mask)


@nn_api
def fractional_max_pool3d(x, output_size, kernel_size=None, random_u=None, return_mask=False):
    """`fractional_max_pool2d` over three axes, for x of shape [N, C, D, H, W].

    Example:
        >>> paddle.nn.functional.fractional_max_pool3d(paddle.ones([1, 1, 7, 7, 7]), 3).shape
        [1, 1, 3, 3, 3]
    """
    return _fractional_pool("fractional_max_pool3d", 3, x, output_size, kernel_size, random_u, return_mask)


# ---- the inverse ----


@nn_op(export=False, name="max_unpool")
def _unpool(x, indices, output_size):
    rows = x.shape[0] * x.shape[1]
    size = int(np.prod(output_size))
    flat = (rows, int(np.prod(x.shape[2:])))
    at = (jnp.arange(rows)[:, None], indices.reshape(flat))
    flat = jnp.zeros((rows, size), x.dtype).at[at].set(x.reshape(flat))
    return flat.reshape(x.shape[:2] + tuple(output_size))


def _is_open(number: Any) -> bool:
    """Whether a number is only known when the program that is being built runs."""
    return isinstance(number, Dim) or isinstance(number, Tensor) and isinstance(number._value, Value)


def _max_unpool(name, n, x, indices, kernel_size, stride, padding, data_format, output_size):
    if data_format != window.FORMATS[n][0]:
        raise errors.ValueError_(f"{name}: data_format must be {window.FORMATS[n][0]}, got {data_format!r}")
    window.check_rank(name, x, n)
    if list(x.shape) != list(indices.shape) or not indices.dtype.is_integer:
        raise errors.ValueError_(
            f"{name}: indices must be integers of the shape of x, got {errors.describe(indices)} "
            f"and x of shape {list(x.shape)}"
        )
    kernel = window.sizes(name, "kernel_size", kernel_size, n)
    stride = kernel if stride is None else window.sizes(name, "stride", stride, n)
    padding = window.sizes(name, "padding", padding, n, 0)
    lengths = list(x.shape)[2:]
    default = [(length - 1) * s - 2 * p + k for length, s, p, k in zip(lengths, stride, padding, kernel)]
    if output_size is None:
        wanted = default
    else:
        given = list(output_size) if isinstance(output_size, Tensor) and _is_open(output_size) else output_size
        wanted = given.tolist() if isinstance(given, Tensor) else [o if _is_open(o) else int(o) for o in given]
        if len(wanted) == n + 2:
            wanted = wanted[2:]
        known = not any(_is_open(v) for v in (*wanted, *lengths))
        if len(wanted) != n or known and not all(d - s < w < d + s for w, d, s in zip(wanted, default, stride)):
            raise errors.ValueError_(
                f"{name}: output_size must lie within the stride {list(stride)} of {default}, got {list(output_size)}"
            )
    if not any(_is_open(v) for v in wanted):
        check_ids(name, indices, int(np.prod(wanted)), "a position in indices", error=errors.ValueError_)
    return _unpool(x, indices, tuple(wanted))


@nn_api
def max_unpool1d(x, indices, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None):
    """The inverse of `max_pool1d` with the positions that it returned; arguments as for `max_unpool2d`.

    Example:
        >>> y, where = paddle.nn.functional.max_pool1d(paddle.to_tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool1d(y, where, 2).tolist()
        [[[0.0, 3.0, 2.0, 0.0]]]
    """
    return _max_unpool("max_unpool1d", 1, x, indices, kernel_size, stride, padding, data_format, output_size)


@nn_api
def max_unpool2d(x, indices, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None):
    """The inverse of `max_pool2d`: the elements of x at given positions, zeros elsewhere.

    Args:
        x: shape [N, C, H, W].
        indices: positions in the H * W of the output, as `max_pool2d(..., return_mask=True)` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the wanted spatial shape (or whole shape), where several were pooled to the same.

    Raises:
        ValueError: shapes that differ, a position outside the output, an impossible output_size.

    Example:
        >>> y, where = paddle.nn.functional.max_pool2d(paddle.ones([1, 1, 4, 4]), 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool2d(y, where, 2).sum().item()
        4.0
    """
    return _max_unpool("max_unpool2d", 2, x, indices, kernel_size, stride, padding, data_format, output_size)


@nn_api
def max_unpool3d(x, indices, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None):
    """The inverse of `max_pool3d`; arguments as for `max_unpool2d`.

    Example:
        >>> y, where = paddle.nn.functional.max_pool3d(paddle.ones([1, 1, 2, 2, 2]), 2, return_mask=True)
        >>> paddle.nn.functional.max_unpool3d(y, where, 2).sum().item()
        1.0
    """
    return _max_unpool("max_unpool3d", 3, x, indices, kernel_size, stride, padding, data_format, output_size)
