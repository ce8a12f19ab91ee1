"""Pooling of regions of interest: boxes of any size give feature maps of one size.

A bin of a box is a rectangle, and what it reads from the feature map is a product of what it reads along the two axes. So
each operator makes weights (or masks) of rows and of columns, and contracts the map with both; there is no loop over bins.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from . import window
from .checks import host_value
from .detection import check

_AT_ONCE = 1 << 24  # elements of feature maps that are copied for the boxes of one step
# samples of a bin within one pixel of another, at most, where they are more than half a pixel apart
_TAPS = 5
_MOST_SAMPLES = 1024  # along a side of a bin


def _check(name: str, x: Any, boxes: Any, boxes_num: Any, output_size: Any, scale: Any) -> tuple[int, ...]:
    """Check what all three share; returns the number of bins along both axes."""
    check(name, "x", x, "floating", ["N", "C", "H", "W"])
    check(name, "boxes", boxes, "floating", ["number", 4])
    check(name, "boxes_num", boxes_num, "int", [x.shape[0]])
    if 0 in x.shape[1:]:
        raise errors.ValueError_(f"{name}: x of shape {list(x.shape)} has no pixels")
    if not isinstance(scale, (int, float)) or not 0 < scale < math.inf:
        raise errors.ValueError_(f"{name}: spatial_scale must be a positive number, got {errors.describe(scale)}")
    counts = host_value(boxes_num)
    if counts is not None and (counts.min() < 0 or counts.sum() != boxes.shape[0]):
        raise errors.ValueError_(f"{name}: boxes_num {counts.tolist()} does not add up to the {boxes.shape[0]} boxes")
    return window.sizes(name, "output_size", output_size, 2)


def _spans(x: Any, boxes: Any, bins: tuple[int, ...], scale: float, always: bool = False) -> tuple[int, int] | None:
    """How many rows and columns of x a bin may read, a power of two; None where reading whole maps is not more work (but
    `always`), or where the boxes are not known on the host."""
    corners = host_value(boxes)
    if corners is None or min(x.shape) < 0:
        return None
    with np.errstate(all="ignore"):
        sides = np.abs(corners[:, 2:] - corners[:, :2]).astype(np.float64).max(0) * scale
    if not np.isfinite(sides).all():
        return None
    found = []
    for side, n, length in zip(sides[::-1], bins, x.shape[2:]):
        need = min(math.ceil((side + 1 + scale) / n) + 3, length)
        found.append(min(1 << (need - 1).bit_length(), length))
    less = 4 * bins[1] * found[0] * found[1] < x.shape[2] * x.shape[3]
    return (found[0], found[1]) if always or less else None


def _images(boxes: Any, boxes_num: Any) -> Any:
    """The image of each box."""
    ends = jnp.cumsum(boxes_num)
    found = jnp.searchsorted(ends, jnp.arange(boxes.shape[0], dtype=ends.dtype), side="right")
    return jnp.clip(found, 0, max(len(ends) - 1, 0))


def _wide(boxes: Any) -> Any:
    """Coordinates in at least float32."""
    return boxes.astype(jnp.promote_types(boxes.dtype, np.float32))


def _for_each_box(function: Any, x: Any, images: Any, *arrays: Any) -> Any:
    """function(the map of its image, ...) for every box, so many at a time that the copies of maps stay small."""
    if not x.shape[0]:
        x = jnp.zeros((1, *x.shape[1:]), x.dtype)  # without images there are no boxes, but the result has a shape
    together = max(1, _AT_ONCE // math.prod(x.shape[1:]))
    each = lambda given: function(x[given[0]], *given[1:])  # noqa: E731
    if images.shape[0] <= together:
        return jax.vmap(lambda *given: each(given))(images, *arrays)
    return jax.lax.map(each, (images, *arrays), batch_size=together)


def _sampled(start: Any, size: Any, bins: int, length: int, samples: int) -> Any:
    """Weights [boxes, bins, pixels] of the mean of linear interpolations along an axis.

    Every bin has `samples` points at equal distances, or for 0 as many as it has pixels, rounded up. Points up to one pixel
    outside read the border, those further out zero.
    """
    width = (size / bins)[:, None, None, None]
    pixel = jnp.arange(length, dtype=size.dtype)[:, None]
    first = start[:, None, None, None] + width * jnp.arange(bins, dtype=size.dtype)[:, None, None]
    if samples > 0:
        count: Any = samples
        index = jnp.arange(samples, dtype=size.dtype)
    else:
        count = jnp.ceil(width)
        near = jnp.ceil((pixel - 1 - first) * (count / jnp.where(width > 0, width, 1)) - 0.5)
        index = jnp.maximum(near, 0) + jnp.arange(_TAPS, dtype=size.dtype)
    at = first + (index + 0.5) * (width / (count if samples > 0 else jnp.maximum(count, 1)))
    read = (index < count) & (at >= -1) & (at <= length)
    weight = jnp.maximum(1 - jnp.abs(jnp.clip(at, 0, length - 1) - pixel), 0)
    return jnp.where(read, weight, 0).sum(-1) / jnp.maximum(count, 1).reshape(-1, 1, 1)


def _taps(start: Any, size: Any, bins: int, length: int, samples: int) -> tuple[Any, Any]:
    """Pixels and their weights [boxes, bins, 2 * samples] in that mean, for a given number of samples."""
    width = (size / bins)[:, None, None]
    k, i = jnp.arange(bins, dtype=size.dtype)[:, None], jnp.arange(samples, dtype=size.dtype)
    at = start[:, None, None] + k * width + (i + 0.5) * width / samples
    inside = (at >= -1) & (at <= length)
    at = jnp.clip(jnp.nan_to_num(at), 0, length - 1)
    low = jnp.floor(at)
    part = at - low
    weights = jnp.where(inside, 1 / samples, 0) * jnp.stack([1 - part, part])
    pixels = jnp.stack([low, jnp.minimum(low + 1, length - 1)]).astype(np.int32)
    return tuple(jnp.concatenate(list(a), -1) for a in (pixels, weights))  # type: ignore[return-value]


def _windows(weights: Any, span: int) -> tuple[Any, Any]:
    """The same from weights [boxes, bins, pixels] of which at most `span` neighbours are not zero."""
    length = weights.shape[-1]
    first = jnp.minimum(jnp.argmax(weights != 0, -1), length - span)
    pixels = first[..., None].astype(np.int32) + jnp.arange(span, dtype=np.int32)
    return pixels, jnp.take_along_axis(weights, pixels, -1)


def _from_pixels(function: Any, x: Any, images: Any, rows: tuple[Any, Any], columns: tuple[Any, Any]) -> Any:
    """function(pixels of every bin [bins, bins, rows, columns, C], positions, weights of rows, of columns) for each box."""
    n, c, h, w = x.shape
    flat = jnp.moveaxis(x, 1, -1).reshape(n * h * w, c)

    def each(given):
        image, i, p, j, q = given
        at = i[:, None, :, None] * w + j[None, :, None, :]
        return function(flat[image.astype(np.int32) * (h * w) + at], at, p, q)

    arrays = (images, *rows, *columns)
    together = max(1, _AT_ONCE // max(1, math.prod(rows[0].shape[1:]) * math.prod(columns[0].shape[1:]) * c))
    return (
        jax.vmap(lambda *a: each(a))(*arrays)
        if len(images) <= together
        else jax.lax.map(each, arrays, batch_size=together)
    )


def _weighted(values: Any, at: Any, rows: Any, columns: Any) -> Any:
    return jnp.einsum("pqijc,pi,qj->cpq", values, rows, columns)


@op(method=False, export=False, name="roi_align", scalars="spatial_scale")
def _roi_align(x, boxes, boxes_num, output_size, spatial_scale, sampling_ratio, aligned, spans):
    boxes, images = _wide(boxes), _images(boxes, boxes_num)
    x1, y1, x2, y2 = (boxes * spatial_scale - (0.5 if aligned else 0)).T
    width, height = x2 - x1, y2 - y1
    if not aligned:
        width, height = jnp.maximum(width, 1), jnp.maximum(height, 1)
    axes = ((y1, height, output_size[0], x.shape[2]), (x1, width, output_size[1], x.shape[3]))
    if 0 < sampling_ratio <= 4 and x.shape[0]:
        rows, columns = ((i, p.astype(x.dtype)) for i, p in (_taps(*axis, sampling_ratio) for axis in axes))
        return _from_pixels(_weighted, x, images, rows, columns)
    rows, columns = (_sampled(*axis, sampling_ratio).astype(x.dtype) for axis in axes)
    if spans is not None:
        return _from_pixels(_weighted, x, images, _windows(rows, spans[0]), _windows(columns, spans[1]))
    contract = functools.partial(jnp.einsum, "chw,ph,qw->cpq")
    return _for_each_box(contract, x, images, rows, columns)


@api(method=False)
def roi_align(x, boxes, boxes_num, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=True):
    """Means of bilinear samples in the bins of boxes (He et al., Mask R-CNN, 2017).

    Args:
        x: feature maps, [N, C, H, W].
        boxes: [number, 4], corners x1, y1, x2, y2; those of the first image come first. They have no gradient.
        boxes_num: int32 [N], the number of boxes in each image.
        output_size: bins along height and width, an int or two.
        spatial_scale: from coordinates of boxes to those of x.
        sampling_ratio: samples along each side of a bin; up to 0: as many as the bin has pixels, rounded up.
        aligned: pixels are points at half-integers; otherwise at integers, and boxes have at least one pixel.

    Returns:
        [number, C, bins, bins].

    Raises:
        ValueError: wrong shapes, numbers of boxes that do not add up.

    Example:
        >>> boxes, boxes_num = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]]), paddle.to_tensor([1], dtype="int32")
        >>> paddle.vision.ops.roi_align(paddle.ones([1, 3, 8, 8]), boxes, boxes_num, 2).shape
        [1, 3, 2, 2]
    """
    bins = _check("roi_align", x, boxes, boxes_num, output_size, spatial_scale)
    if not isinstance(sampling_ratio, (int, np.integer)) or sampling_ratio > _MOST_SAMPLES:
        raise errors.ValueError_(
            f"roi_align: sampling_ratio must be an int up to {_MOST_SAMPLES}, got {errors.describe(sampling_ratio)}"
        )
    samples = max(int(sampling_ratio), 0)
    spans = None if 0 < samples <= 4 else _spans(x, boxes, bins, spatial_scale)
    return _roi_align(x, boxes.detach(), boxes_num, bins, float(spatial_scale), samples, bool(aligned), spans)


def _round(x: Any) -> Any:
    """To the nearest whole number, halves away from zero."""
    return jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)


def _covered(start: Any, end: Any, length: int) -> Any:
    """Masks [boxes, bins, pixels] of the pixels from start up to end, both [boxes, bins]."""
    pixel = jnp.arange(length)
    return (pixel >= jnp.clip(start, 0, length)[..., None]) & (pixel < jnp.clip(end, 0, length)[..., None])


def _highest(x: Any, levels: int) -> tuple[Any, Any]:
    """For every pixel the largest value of the 1, 2, 4, ... pixels from it downwards, and the first place where it is, both
    [levels * N * H * W, C]."""
    n, c, h, w = x.shape
    value = jnp.moveaxis(jnp.where(jnp.isnan(x), -jnp.inf, x), 1, -1)
    place = jnp.broadcast_to(jnp.arange(h * w, dtype=np.int32).reshape(1, h, w, 1), value.shape)
    values, places = [value], [place]
    for level in range(levels - 1):
        below = [jnp.roll(a, -(1 << level), 1) for a in (value, place)]
        better = (below[0] > value) & (jnp.arange(h) < h - (1 << level))[:, None, None]
        value, place = (jnp.where(better, *pair) for pair in zip(below, (value, place)))
        values.append(value)
        places.append(place)
    return jnp.stack(values).reshape(-1, c), jnp.stack(places).reshape(-1, c)


def _largest(x: Any, images: Any, rows: tuple[Any, Any], columns: tuple[Any, Any], spans: tuple[int, int]) -> Any:
    """The place of the first largest pixel in every bin [boxes, C, bins, bins], from the ends [boxes, bins] of the bins
    along both axes. Of the rows of a bin two overlapping runs of a power of two are read, of its columns all."""
    n, c, h, w = x.shape
    values, places = _highest(x, max(spans[0], 1).bit_length())
    level = jnp.floor(jnp.log2(jnp.maximum(rows[1] - rows[0], 1) + 0.5)).astype(np.int32)
    run = jnp.left_shift(1, level)
    row = jnp.clip(jnp.stack([rows[0], rows[1] - run], -1), 0, h - 1)  # boxes, bins, 2
    first = ((level * n + images.astype(np.int32)[:, None]) * h)[..., None] + row

    def each(given):
        start, column, end = given  # [boxes, bins, 2], [boxes, bins] twice

        def step(i, found):
            j = column + i // 2
            at = jnp.take(start, i % 2, -1)[:, :, None] * w + jnp.minimum(j, w - 1)[:, None]
            value, place = values[at], places[at]  # boxes, bins, bins, C
            better = (value > found[0]) | (value == found[0]) & (place < found[1])
            better &= (j < end)[:, None, :, None]
            return jnp.where(better, value, found[0]), jnp.where(better, place, found[1])

        shape = (*start.shape[:2], column.shape[1], c)
        found = jnp.full(shape, -jnp.inf, x.dtype), jnp.full(shape, h * w - 1, np.int32)
        return jax.lax.fori_loop(0, 2 * spans[1], step, found)[1].transpose(0, 3, 1, 2)

    arrays = (first, *columns)
    together = max(1, _AT_ONCE // max(1, rows[0].shape[1] * columns[0].shape[1] * c))
    if len(images) <= together:
        return each(arrays)
    parts = [each([a[i : i + together] for a in arrays]) for i in range(0, len(images), together)]
    return jnp.concatenate(parts)


@op(method=False, export=False, name="roi_pool", scalars="spatial_scale")
def _roi_pool(x, boxes, boxes_num, output_size, spatial_scale, spans):
    n, c, h, w = x.shape
    corners = jnp.clip(jnp.nan_to_num(_round(_wide(boxes) * spatial_scale)), -(2.0**18), 2.0**18)
    x1, y1, x2, y2 = corners.astype(np.int32).T
    ends = []
    for start, end, bins, length in ((y1, y2, output_size[0], h), (x1, x2, output_size[1], w)):
        # in whole numbers: a product such as 3 / 7 * 7 may come out above 3, and take one pixel more
        size, start = jnp.maximum(end - start + 1, 1)[:, None], start[:, None]
        k = jnp.arange(bins, dtype=np.int32)
        edges = start + k * size // bins, start - (-(k + 1) * size) // bins
        ends.append(tuple(jnp.clip(e, 0, length) for e in edges))
    if not n:
        return jnp.zeros((boxes.shape[0], c, *output_size), x.dtype)
    images = _images(boxes, boxes_num)
    at = _largest(jax.lax.stop_gradient(x), images, *ends, spans)
    values = x.reshape(n, c, h * w)[images[:, None, None, None], jnp.arange(c)[:, None, None], at]
    rows, columns = (first < end for first, end in ends)
    return jnp.where(rows[:, None, :, None] & columns[:, None, None, :], values, 0)


@api(method=False)
def roi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0):
    """Largest values in the bins of boxes, whose corners are rounded to pixels (Girshick, Fast R-CNN, 2015).

    Bins without a pixel are zero. Arguments as for `roi_align`.

    Example:
        >>> boxes, boxes_num = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]]), paddle.to_tensor([1], dtype="int32")
        >>> paddle.vision.ops.roi_pool(paddle.ones([1, 3, 8, 8]), boxes, boxes_num, 2).shape
        [1, 3, 2, 2]
    """
    bins = _check("roi_pool", x, boxes, boxes_num, output_size, spatial_scale)
    spans = _spans(x, boxes, bins, spatial_scale, True) or (x.shape[2], x.shape[3])
    return _roi_pool(x, boxes.detach(), boxes_num, bins, float(spatial_scale), spans)


@op(method=False, export=False, name="psroi_pool", scalars="spatial_scale")
def _psroi_pool(x, boxes, boxes_num, output_size, spatial_scale):
    p, q = output_size
    x1, y1, x2, y2 = _round(_wide(boxes)).T
    masks = []
    for start, end, bins, length in ((y1, y2, p, x.shape[2]), (x1, x2, q, x.shape[3])):
        start, end = start * spatial_scale, (end + 1) * spatial_scale
        width = (jnp.maximum(end - start, 0.1) / bins)[:, None]
        k = jnp.arange(bins, dtype=width.dtype)
        start = start[:, None]
        masks.append(_covered(jnp.floor(k * width + start), jnp.ceil((k + 1) * width + start), length).astype(x.dtype))
    rows, columns = (m / jnp.maximum(m.sum(-1, keepdims=True), 1) for m in masks)
    x = x.reshape(x.shape[0], x.shape[1] // (p * q), p, q, *x.shape[2:])
    contract = functools.partial(jnp.einsum, "cpqhw,ph,qw->cpq")
    return _for_each_box(contract, x, _images(boxes, boxes_num), rows, columns)


@api(method=False)
def psroi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0):
    """Means in the bins of boxes, each bin from channels of its own (Dai et al., R-FCN, 2016).

    Args:
        x: [N, C * height * width, H, W] for bins of that height and width. The others are as for `roi_align`.

    Returns:
        [number, C, bins, bins].

    Raises:
        ValueError: wrong shapes, channels that the number of bins does not divide.

    Example:
        >>> boxes, boxes_num = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]]), paddle.to_tensor([1], dtype="int32")
        >>> paddle.vision.ops.psroi_pool(paddle.ones([1, 12, 8, 8]), boxes, boxes_num, 2).shape
        [1, 3, 2, 2]
    """
    bins = _check("psroi_pool", x, boxes, boxes_num, output_size, spatial_scale)
    if x.shape[1] % math.prod(bins):
        raise errors.ValueError_(
            f"psroi_pool: output_size {list(bins)} needs a multiple of {math.prod(bins)} channels, x has {x.shape[1]}"
        )
    return _psroi_pool(x, boxes.detach(), boxes_num, bins, float(spatial_scale))
