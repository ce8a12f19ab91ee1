"""Images and feature maps: rearranging pixels and channels, patches, resizing, sampling at a grid."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float
from ..engine.tensor import Tensor
from ..engine.value import Dim, Value, at_least
from . import window
from .expansion import pad
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


# ---- pixels and channels ----


def _image(name, x, data_format, factor, argument):
    """Whether channels are last, for a 4-D x; checks the factor too."""
    last = window.channel_last(name, data_format, 2)
    window.check_rank(name, x, 2)
    if not isinstance(factor, (int, np.integer)) or factor < 1:
        raise errors.ValueError_(f"{name}: {argument} must be an int of at least 1, got {errors.describe(factor)}")
    return last


@nn_op
def pixel_shuffle(x, upscale_factor, data_format="NCHW"):
    """Channels to pixels: [N, C * r * r, H, W] becomes [N, C, H * r, W * r] (Shi et al., 2016).

    Args:
        x: 4-D, NCHW or NHWC.
        upscale_factor: r.

    Raises:
        ValueError: a wrong rank or data_format, channels that r * r does not divide.

    Example:
        >>> paddle.nn.functional.pixel_shuffle(paddle.ones([1, 4, 2, 2]), 2).shape
        [1, 1, 4, 4]
    """
    r = upscale_factor
    last = _image("pixel_shuffle", x, data_format, r, "upscale_factor")
    n, *rest = x.shape
    c, h, w = (rest[2], *rest[:2]) if last else rest
    if c % (r * r):
        raise errors.ValueError_(f"pixel_shuffle: the {c} channels must be a multiple of {r} * {r}")
    if last:
        return x.reshape(n, h, w, c // (r * r), r, r).transpose(0, 1, 4, 2, 5, 3).reshape(n, h * r, w * r, c // (r * r))
    return x.reshape(n, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // (r * r), h * r, w * r)


@nn_op
def pixel_unshuffle(x, downscale_factor, data_format="NCHW"):
    """The inverse of `pixel_shuffle`: [N, C, H, W] becomes [N, C * r * r, H / r, W / r].

    Args:
        x: 4-D, NCHW or NHWC.
        downscale_factor: r, which divides H and W.

    Raises:
        ValueError: a wrong rank or data_format, sizes that r does not divide.

    Example:
        >>> paddle.nn.functional.pixel_unshuffle(paddle.ones([1, 1, 4, 4]), 2).shape
        [1, 4, 2, 2]
    """
    r = downscale_factor
    last = _image("pixel_unshuffle", x, data_format, r, "downscale_factor")
    n, *rest = x.shape
    c, h, w = (rest[2], *rest[:2]) if last else rest
    if h % r or w % r:
        raise errors.ValueError_(f"pixel_unshuffle: height and width must be multiples of {r}, got {h} and {w}")
    if last:
        return x.reshape(n, h // r, r, w // r, r, c).transpose(0, 1, 3, 5, 2, 4).reshape(n, h // r, w // r, c * r * r)
    return x.reshape(n, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4).reshape(n, c * r * r, h // r, w // r)


@nn_op
def channel_shuffle(x, groups, data_format="NCHW"):
    """Interleave the channels of groups (Zhang et al., ShuffleNet, 2017).

    Args:
        x: 4-D, NCHW or NHWC.
        groups: divides the channels.

    Raises:
        ValueError: a wrong rank or data_format, groups that do not divide the channels.

    Example:
        >>> x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0]).reshape([1, 4, 1, 1])
        >>> paddle.nn.functional.channel_shuffle(x, 2).flatten().tolist()
        [1.0, 3.0, 2.0, 4.0]
    """
    axis = 3 if _image("channel_shuffle", x, data_format, groups, "groups") else 1
    c = x.shape[axis]
    if c % groups:
        raise errors.ValueError_(f"channel_shuffle: groups must divide the {c} channels, got {groups}")
    grouped = x.reshape(x.shape[:axis] + (groups, c // groups) + x.shape[axis + 1 :])
    return jnp.swapaxes(grouped, axis, axis + 1).reshape(x.shape)


@nn_api
def zeropad2d(x, padding, data_format="NCHW"):
    """Zeros around the two spatial axes.

    Args:
        x: 4-D, NCHW or NHWC.
        padding: [left, right, top, bottom].

    Example:
        >>> paddle.nn.functional.zeropad2d(paddle.ones([1, 1, 2, 2]), [1, 1, 0, 0]).shape
        [1, 1, 2, 4]
    """
    return pad(x, padding, "constant", 0.0, data_format)


@nn_op
def temporal_shift(x, seg_num, shift_ratio=0.25, name=None, data_format="NCHW"):
    """Shift the first part of the channels one frame on and the second one back (Lin et al., 2018).

    Args:
        x: frames, shape [N * seg_num, C, H, W] or [N * seg_num, H, W, C].
        seg_num: frames in a segment.
        shift_ratio: the share of channels that each of the two parts has, in [0, 0.5).

    Raises:
        ValueError: a wrong rank or data_format, a ratio out of range, frames that seg_num does not divide.

    Example:
        >>> x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([2, 3, 1, 1])
        >>> paddle.nn.functional.temporal_shift(x, 2, 0.4).flatten().tolist()
        [0.0, 5.0, 3.0, 1.0, 0.0, 6.0]
    """
    last = _image("temporal_shift", x, data_format, seg_num, "seg_num")
    if not 0 <= shift_ratio < 0.5:
        raise errors.ValueError_(f"temporal_shift: shift_ratio must be at least 0 and below 0.5, got {shift_ratio}")
    if x.shape[0] % seg_num:
        raise errors.ValueError_(f"temporal_shift: seg_num={seg_num} must divide the {x.shape[0]} frames")
    v = x.reshape((-1 if x.size else 0, seg_num) + x.shape[1:])
    axis = v.ndim - 1 if last else 2
    c = v.shape[axis]
    first, second = int(c * shift_ratio), int(c * 2 * shift_ratio)
    on, back, rest = jnp.split(v, [first, second], axis)
    on = jnp.concatenate([jnp.zeros_like(on[:, :1]), on[:, :-1]], 1)
    back = jnp.concatenate([back[:, 1:], jnp.zeros_like(back[:, :1])], 1)
    return jnp.concatenate([on, back, rest], axis).reshape(x.shape)


# ---- patches ----


def _patches(name, lengths, kernel_sizes, strides, paddings, dilations):
    """(kernel, stride, pads, dilation, number of patches) along two axes."""
    kernel = window.sizes(name, "kernel_sizes", kernel_sizes, 2)
    stride = window.sizes(name, "strides", strides, 2)
    dilation = window.sizes(name, "dilations", dilations, 2)
    if isinstance(paddings, tuple) and len(paddings) == 4 and all(isinstance(p, int) and p >= 0 for p in paddings):
        pads = [(paddings[0], paddings[2]), (paddings[1], paddings[3])]
    else:
        pads = [(p, p) for p in window.sizes(name, "paddings", paddings, 2, 0)]
    counts = [(n + sum(p) - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(lengths, pads, dilation, kernel, stride)]
    if min(counts) < 1:
        raise errors.ValueError_(
            f"{name}: no patch of size {list(kernel)} with dilation {list(dilation)} fits into "
            f"{list(lengths)} with padding {[list(p) for p in pads]}"
        )
    return kernel, stride, pads, dilation, counts


def _unfold(x, kernel, stride, pads, dilation, counts):
    x = jnp.pad(x, [(0, 0), (0, 0), *pads])
    parts = []
    for at in np.ndindex(*kernel):
        index = [slice(i * d, i * d + (o - 1) * s + 1, s) for i, d, o, s in zip(at, dilation, counts, stride)]
        parts.append(x[:, :, index[0], index[1]])
    out = jnp.stack(parts, 2)
    return out.reshape(x.shape[0], x.shape[1] * len(parts), counts[0] * counts[1])


@nn_op(static="kernel_sizes strides paddings dilations")
def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1):
    """Patches of an image as columns (im2col).

    Args:
        x: shape [N, C, H, W].
        kernel_sizes, strides, dilations: an int or two.
        paddings: an int, two, or four: [top, left, bottom, right].

    Returns:
        shape [N, C * KH * KW, number of patches].

    Raises:
        ValueError: a wrong rank, no patch fits.

    Example:
        >>> paddle.nn.functional.unfold(paddle.ones([1, 2, 3, 3]), 2).shape
        [1, 8, 4]
    """
    window.check_rank("unfold", x, 2)
    return _unfold(x, *_patches("unfold", x.shape[2:], kernel_sizes, strides, paddings, dilations))


@nn_op(
    static="output_sizes kernel_sizes strides paddings dilations",
    aliases={
        "output_size": "output_sizes",
        "kernel_size": "kernel_sizes",
        "stride": "strides",
        "padding": "paddings",
        "dilation": "dilations",
    },
)
def fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1):
    """The transpose of `unfold`: patches added up to an image (col2im).

    Args:
        x: shape [N, C * KH * KW, number of patches].
        output_sizes: H and W of the image, an int or two.
        kernel_sizes, strides, paddings, dilations: as for `unfold`.

    Returns:
        shape [N, C, H, W].

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.nn.functional.fold(paddle.ones([1, 4, 4]), 3, 2).sum().item()
        16.0
    """
    sizes = window.sizes("fold", "output_sizes", output_sizes, 2)
    plan = _patches("fold", sizes, kernel_sizes, strides, paddings, dilations)
    size, count = int(np.prod(plan[0])), int(np.prod(plan[-1]))
    if x.ndim != 3 or x.shape[1] % size or x.shape[2] != count:
        raise errors.ValueError_(
            f"fold: x must have shape [N, C * {size}, {count}] for this image and kernel, got {list(x.shape)}"
        )
    like = jax.ShapeDtypeStruct((x.shape[0], x.shape[1] // size, *sizes), x.dtype)
    return jax.linear_transpose(lambda image: _unfold(image, *plan), like)(x)[0]


# ---- resizing ----

_MODES = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


def _cubic(t, a):
    """The kernel of cubic convolution (Keys, 1981)."""
    xp = jnp if isinstance(t, jax.Array) else np
    t = xp.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return xp.where(t <= 1, near, xp.where(t < 2, far, 0))


def _taps(mode, length, count, ratio, align_corners, align_mode):
    """For each position along an axis the source elements [count, taps] and their weights (None: take the only one)."""
    xp = np if isinstance(length, int) and isinstance(count, int) else jnp  # lengths may stay open in an export
    i = xp.arange(count, dtype=np.float64)
    ratio = ratio if at_least(count, 2) else 0.0  # officially a single result stands at the first element
    if mode == "nearest":
        return xp.minimum(xp.floor(i * xp.float32(ratio)).astype(np.int64), length - 1)[:, None], None
    if align_corners:
        at = i * ((length - 1) / (count - 1) if at_least(count, 2) else 0)
    elif mode == "bicubic" or align_mode == 0:
        at = (i + 0.5) * ratio - 0.5
    else:
        at = i * ratio
    if mode == "bicubic":
        low = xp.floor(at).astype(np.int64)
        taps = low[:, None] + xp.arange(-1, 3)
        return xp.clip(taps, 0, length - 1), _cubic(at[:, None] - taps, -0.75)
    at = xp.maximum(at, 0)
    low = xp.minimum(xp.floor(at).astype(np.int64), length - 1)
    part = xp.minimum(at - low, 1)
    return xp.stack([low, xp.minimum(low + 1, length - 1)], 1), xp.stack([1 - part, part], 1)


def _antialias_taps(mode, length, count, ratio):
    """Taps of the filter widened by the shrinking ratio, normalised, as in the imaging library PIL."""
    scale = max(ratio, 1.0)
    support = (2.0 if mode == "bicubic" else 1.0) * scale
    centre = (np.arange(count) + 0.5) * ratio
    low = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    high = np.minimum((centre + support + 0.5).astype(np.int64), length)
    taps = low[:, None] + np.arange(int((high - low).max()))
    t = (taps - centre[:, None] + 0.5) / scale
    weights = _cubic(t, -0.5) if mode == "bicubic" else np.maximum(1 - np.abs(t), 0)
    weights = np.where(taps < high[:, None], weights, 0)
    return np.clip(taps, 0, length - 1), weights / weights.sum(1, keepdims=True)


@nn_op(export=False, name="interpolate", static="size scale")
def _resize(x, size, scale, by_scale, mode, align_corners, align_mode, antialias, last):
    out = x if mode == "nearest" else as_float(x)
    given = size if scale is None else scale
    axes = window.spatial_axes(len(given), last)
    counts = _counts([x.shape[a] for a in axes], size, scale)
    for axis, number, count in zip(axes, given, counts):
        length = x.shape[axis]
        ratio = 1 / number if by_scale else length / count
        if antialias:
            ratio = (length - 1) / (count - 1) if align_corners and count > 1 else ratio
            taps, weights = _antialias_taps(mode, length, count, ratio)
        else:
            taps, weights = _taps(mode, length, count, ratio, align_corners, align_mode)
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        if weights is None:
            out = jnp.take(out, taps[:, 0], axis)
        else:
            out = sum(
                jnp.take(out, taps[:, k], axis) * jnp.asarray(weights[:, k], out.dtype).reshape(shape)
                for k in range(taps.shape[1])
            )
    return out


def _scaled(length: Any, scale: float) -> Any:
    """The whole part of a product with a length that stays open in an exported program."""
    exact = Fraction(scale)
    if exact.denominator > 1024:
        raise errors.ValueError_(f"interpolate: a scale of {scale} needs lengths that are known")
    return length * exact.numerator // exact.denominator


def _counts(lengths: list, size: Any, scale: Any) -> list[int]:
    """The spatial shape that lengths are resized to."""
    if scale is None:
        counts = [int(n) if isinstance(n, (int, float, np.number)) else n for n in size]
    else:
        counts = [int(n * s) if isinstance(n, int) else _scaled(n, s) for n, s in zip(lengths, scale)]
    if min((n for n in (*counts, *lengths) if isinstance(n, int)), default=1) < 1:
        raise errors.ValueError_(
            f"interpolate: the spatial shape would become {counts} from {lengths}; both need elements"
        )
    return counts


def _numbers(value: Any) -> list:
    """The elements of a size or scale argument, tensors read out."""
    if isinstance(value, Tensor):
        if isinstance(value._value, Value):
            return [value[i] for i in range(value.shape[0])] if value.ndim else [value]
        value = value.tolist()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        value = [value]
    return [v.item() if isinstance(v, (Tensor, np.generic)) and not _is_open(v) else v for v in value]


def _is_open(number: Any) -> bool:
    """Whether a number of an argument is only known when the program that is being built runs."""
    return isinstance(number, Dim) or isinstance(number, Tensor) and isinstance(number._value, Value)


@nn_api
def interpolate(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resize the spatial axes.

    Args:
        x: 3-D, 4-D or 5-D, channels first by default.
        size: the new spatial shape, a list, an int for all axes, or a tensor.
        scale_factor: a number or a list, instead of size; it sets the coordinates itself, not the ratio of sizes.
        mode: "nearest", "linear" (3-D), "bilinear" and "bicubic" (4-D), "trilinear" (5-D), "area".
        align_corners: the corner pixels stand on each other; for the linear modes and bicubic.
        align_mode: for the linear modes without align_corners: 0 puts pixels at half-integers, 1 at integers.
        data_format: "NCW", "NCHW", "NCDHW" or with the channels last; default by rank.
        recompute_scale_factor: use the ratio of sizes although scale_factor is given.
        antialias: widen the filter when shrinking; for bilinear and bicubic.

    Raises:
        ValueError: a mode that does not fit the rank, neither or both of size and scale_factor, values out of range.

    Example:
        >>> paddle.nn.functional.interpolate(paddle.ones([1, 1, 2, 2]), scale_factor=2).shape
        [1, 1, 4, 4]
    """
    name = "interpolate"
    n = len(x.shape) - 2
    mode = mode.lower() if isinstance(mode, str) else mode
    if mode not in ("nearest", "area", *_MODES):
        raise errors.ValueError_(
            f"{name}: mode must be nearest, linear, bilinear, trilinear, bicubic or area, got {mode!r}"
        )
    if n not in (1, 2, 3) or mode in _MODES and _MODES[mode] != n:
        wanted = f"{_MODES[mode] + 2}-D" if mode in _MODES else "3-D, 4-D or 5-D"
        raise errors.ValueError_(f"{name}: mode {mode!r} needs x to be {wanted}, got shape {list(x.shape)}")
    formats = {1: ("NCW", "NWC", "NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n]
    data_format = formats[0] if data_format is None else data_format
    if data_format not in formats:
        raise errors.ValueError_(
            f"{name}: data_format must be {' or '.join(formats)} for x of shape {list(x.shape)}, got {data_format!r}"
        )
    if align_mode not in (0, 1):
        raise errors.ValueError_(f"{name}: align_mode must be 0 or 1, got {align_mode!r}")
    if align_corners and mode == "nearest":
        raise errors.ValueError_(f"{name}: align_corners has no meaning for mode {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise errors.ValueError_(f"{name}: antialias is possible for bilinear and bicubic, got mode {mode!r}")
    if (size is None) == (scale_factor is None):
        raise errors.ValueError_(
            f"{name}: give either size or scale_factor, got size={size} and scale_factor={scale_factor}"
        )
    if recompute_scale_factor and size is not None:
        raise errors.ValueError_(f"{name}: recompute_scale_factor has no meaning with size")
    last = data_format[-1] == "C"
    given = _numbers(size if scale_factor is None else scale_factor)
    given = given * n if len(given) == 1 else given
    if len(given) != n or not all(_is_open(g) or isinstance(g, (int, float)) and g > 0 for g in given):
        raise errors.ValueError_(
            f"{name}: {'size' if scale_factor is None else 'scale_factor'} must be {n} positive numbers, got {given}"
        )
    wanted = (given, None) if scale_factor is None else (None, given)
    if mode == "area":
        lengths = [x.shape[a] for a in window.spatial_axes(n, last)]
        if scale_factor is not None and any(_is_open(v) for v in (*lengths, *given)):
            raise NotImplementedError(f"{name}: mode 'area' with a scale_factor of lengths that are not known")
        return _area(x, given if any(_is_open(g) for g in given) else _counts(lengths, *wanted), n, last)
    by_scale = scale_factor is not None and not recompute_scale_factor
    return _resize(x, *wanted, by_scale, mode, bool(align_corners), align_mode, bool(antialias), last)


def _area(x, counts, n, last):
    if n == 1:
        if not last:
            return adaptive_avg_pool1d(x, counts)
        return adaptive_avg_pool1d(x.transpose([0, 2, 1]), counts).transpose([0, 2, 1])
    function = adaptive_avg_pool2d if n == 2 else adaptive_avg_pool3d
    return function(x, counts, window.FORMATS[n][last])


@nn_api
def upsample(x, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0, data_format=None):
    """The same as `interpolate`.

    Example:
        >>> paddle.nn.functional.upsample(paddle.ones([1, 1, 2, 2]), size=[3, 3]).shape
        [1, 1, 3, 3]
    """
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


# ---- sampling ----


@nn_op(export=False, name="affine_grid")
def _affine_grid(theta, shape, align_corners):
    lengths = shape[2:]
    axes = []
    for length in lengths:
        at = np.linspace(-1, 1, length) if align_corners and length > 1 else (np.arange(length) * 2 + 1) / length - 1
        axes.append(jnp.asarray(at, theta.dtype))
    mesh = jnp.meshgrid(*axes, indexing="ij")
    points = jnp.stack([*reversed(mesh), jnp.ones(lengths, theta.dtype)], -1)  # x first
    return jnp.einsum("...k,nik->n...i", points, theta)


@nn_api
def affine_grid(theta, out_shape, align_corners=True):
    """The sampling grid of affine maps, for `grid_sample` (Jaderberg et al., 2015).

    Args:
        theta: the maps, shape [N, 2, 3], or [N, 3, 4] for volumes.
        out_shape: [N, C, H, W] or [N, C, D, H, W], a list or a tensor.
        align_corners: -1 and 1 are the centres of the corner pixels, else their outer edges.

    Returns:
        shape [N, H, W, 2] or [N, D, H, W, 3], coordinates in [-1, 1] with x first.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> theta = paddle.to_tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> paddle.nn.functional.affine_grid(theta, [1, 1, 1, 2])[0, 0, :, 0].tolist()
        [-1.0, 1.0]
    """
    shape = tuple(_numbers(out_shape))
    n = len(shape) - 2
    fits = n in (2, 3) and list(theta.shape) == [shape[0], n, n + 1]
    if not fits or not all(isinstance(s, int) and s >= (i > 0) for i, s in enumerate(shape)):
        raise errors.ValueError_(
            f"affine_grid: theta [N, 2, 3] with out_shape [N, C, H, W], or [N, 3, 4] with [N, C, "
            f"D, H, W] are required, got {list(theta.shape)} and {list(shape)}"
        )
    return _affine_grid(theta, shape, bool(align_corners))


def _reflect(at, length, align_corners):
    """Coordinates mirrored at the borders until they lie within."""
    if align_corners:
        if length == 1:
            return jnp.zeros_like(at)
        span = length - 1
        distance = jnp.abs(at) % (2 * span)
        return jnp.where(distance > span, 2 * span - distance, distance)
    distance = jnp.abs(at + 0.5) % (2 * length)
    return jnp.clip(jnp.where(distance > length, 2 * length - distance, distance) - 0.5, 0, length - 1)


@nn_op
def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True):
    """The values of x at points of a grid (Jaderberg et al., 2015).

    Args:
        x: shape [N, C, H, W] or [N, C, D, H, W].
        grid: shape [N, OH, OW, 2] or [N, OD, OH, OW, 3]: points in [-1, 1], x first.
        mode: "bilinear" (trilinear for volumes) or "nearest".
        padding_mode: outside: "zeros", "border" or "reflection".
        align_corners: -1 and 1 are the centres of the corner pixels, else their outer edges.

    Raises:
        ValueError: shapes that do not fit, unknown modes.

    Example:
        >>> x, grid = paddle.to_tensor([[[[1.0, 3.0]]]]), paddle.zeros([1, 1, 1, 2])
        >>> paddle.nn.functional.grid_sample(x, grid).tolist()
        [[[[2.0]]]]
    """
    if mode not in ("bilinear", "nearest"):
        raise errors.ValueError_(f"grid_sample: mode must be 'bilinear' or 'nearest', got {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise errors.ValueError_(
            f"grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got {padding_mode!r}"
        )
    n = x.ndim - 2
    if n not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != n or grid.shape[0] != x.shape[0]:
        raise errors.ValueError_(
            f"grid_sample: x [N, C, H, W] and grid [N, OH, OW, 2] (or one axis more and 3) are "
            f"required, got {list(x.shape)} and {list(grid.shape)}"
        )
    lengths = x.shape[2:]
    places = grid.shape[1:-1]
    if 0 in lengths:
        raise errors.ValueError_(f"grid_sample: x of shape {list(x.shape)} has no pixels")
    coordinates = []
    for k, length in enumerate(lengths):
        at = grid[..., n - 1 - k].astype(x.dtype)
        at = (at + 1) / 2 * (length - 1) if align_corners else ((at + 1) * length - 1) / 2
        if padding_mode == "border":
            at = jnp.clip(at, 0, length - 1)
        elif padding_mode == "reflection":
            at = _reflect(at, length, align_corners)
        else:
            at = jnp.clip(at, -2, length + 1)  # further out is outside as well, and has finite weights
        coordinates.append(at.reshape(x.shape[0], int(np.prod(places))))
    flat = x.reshape(*x.shape[:2], int(np.prod(lengths)))

    def read(corner):
        inside, index = True, 0
        for at, length in zip(corner, lengths):
            inside = inside & (at >= 0) & (at <= length - 1)
            index = index * length + jnp.clip(jnp.nan_to_num(at), 0, length - 1).astype(np.int32)
        values = jnp.take_along_axis(flat, index[:, None, :], 2)
        return jnp.where(inside[:, None, :], values, 0) if padding_mode == "zeros" else values

    if mode == "nearest":
        out = read([jnp.round(at) for at in coordinates])
    else:
        lows = [jnp.floor(at) for at in coordinates]
        parts = [at - low for at, low in zip(coordinates, lows)]
        out = 0
        for corner in np.ndindex(*(2,) * n):
            weight = functools.reduce(jnp.multiply, (p if c else 1 - p for c, p in zip(corner, parts)))
            out = out + read([low + c for c, low in zip(corner, lows)]) * weight[:, None, :]
    return out.reshape(x.shape[:2] + places)
