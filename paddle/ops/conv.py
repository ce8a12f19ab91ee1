"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.op import op
from ..engine.promotion import same_type
from ..engine.value import at_least
from . import window
from .contraction import Geometry, convolution, input_gradient
from .convolution import convolve

nn_op = functools.partial(op, method=False)


def _read(name, n, x, weight, stride, dilation, groups, data_format):
    """Check what convolutions share; returns (whether channels are last, stride, dilation, channels, spatial shape)."""
    last = window.channel_last(name, data_format, n)
    window.check_rank(name, x, n)
    if weight.ndim != n + 2:
        raise errors.ValueError_(f"{name}: weight must be {n + 2}-D, got shape {list(weight.shape)}")
    if 0 in weight.shape[2:] or weight.shape[0] == 0:
        raise errors.ValueError_(f"{name}: weight of shape {list(weight.shape)} has no elements")
    same_type(name, x, weight)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        raise errors.TypeError_(f"{name}: x must be floating, got {x.dtype.name}")
    stride = window.sizes(name, "stride", stride, n)
    dilation = window.sizes(name, "dilation", dilation, n)
    channels = x.shape[-1 if last else 1]
    if not isinstance(groups, int) or groups < 1 or channels % groups:
        raise errors.ValueError_(
            f"{name}: groups must be at least 1 and divide the {channels} channels of x, got {groups}"
        )
    return last, stride, dilation, channels, tuple(x.shape[a] for a in window.spatial_axes(n, last))


def _add_bias(name, out, bias, last):
    if bias is None:
        return out
    channels = out.shape[-1 if last else 1]
    if bias.size not in (1, channels) or bias.ndim > 1:
        raise errors.ValueError_(f"{name}: bias must have shape [{channels}], got {list(bias.shape)}")
    axis = out.ndim - 1 if last else 1
    return out + bias.astype(out.dtype).reshape([-1 if i == axis else 1 for i in range(out.ndim)])


def _conv(name, n, x, weight, bias, stride, padding, dilation, groups, data_format):
    last, stride, dilation, channels, lengths = _read(name, n, x, weight, stride, dilation, groups, data_format)
    out_channels = weight.shape[0]
    if weight.shape[1] * groups != channels:
        raise errors.ValueError_(
            f"{name}: a weight of shape {list(weight.shape)} with groups={groups} wants "
            f"{weight.shape[1] * groups} input channels, x of shape {list(x.shape)} has "
            f"{channels}"
        )
    if out_channels % groups:
        raise errors.ValueError_(f"{name}: groups={groups} must divide the {out_channels} output channels")
    kernel = weight.shape[2:]
    if isinstance(padding, str) and padding.upper() == "SAME":
        dilation = (1,) * n
    pads = window.pairs(name, padding, n, last, lengths, kernel, stride)
    for length, k, d, (before, after) in zip(lengths, kernel, dilation, pads):
        if not at_least(length + before + after, d * (k - 1) + 1):
            raise errors.ValueError_(
                f"{name}: the kernel {list(kernel)} with dilation {list(dilation)} is larger "
                f"than x of shape {list(x.shape)} with its padding {[list(p) for p in pads]}"
            )
    if not all(isinstance(p, int) for pair in pads for p in pair):  # "SAME", lengths that stay open when exported
        axes = window.spatial_axes(n, last)
        config = [(0, 0, 0)] * x.ndim
        for a, (before, after) in zip(axes, pads):
            config[a] = (before, after, 0)
        x, pads = jax.lax.pad(x, jnp.zeros((), x.dtype), config), [(0, 0)] * n
        lengths = tuple(x.shape[a] for a in axes)
    geometry = Geometry(stride, tuple(pads), dilation, groups, last, lengths, kernel)
    return _add_bias(name, convolution(x, weight, geometry), bias, last)


@nn_op
def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL"):
    """The convolution (cross-correlation) over one axis; arguments as for `conv2d`.

    Args:
        x: shape [N, C, L], or [N, L, C] with data_format "NLC".
        weight: shape [out, C / groups, K].

    Example:
        >>> paddle.nn.functional.conv1d(paddle.ones([1, 1, 4]), paddle.ones([1, 1, 3])).tolist()
        [[[3.0, 3.0]]]
    """
    return _conv("conv1d", 1, x, weight, bias, stride, padding, dilation, groups, data_format)


@nn_op
def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW"):
    """The convolution (cross-correlation) over two axes.

    Args:
        x: shape [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        weight: shape [out, C / groups, KH, KW], in every layout.
        bias: shape [out], or None.
        stride, dilation: an int or a list of ints.
        padding: "SAME" (which ignores the dilation), "VALID", an int, a list of two ints, of four (top, bottom, left,
            right), or of a pair for every axis of x.
        groups: the input channels are split into so many groups, each with its own part of the output channels.
        data_format: "NCHW" or "NHWC".

    Raises:
        ValueError: shapes that do not fit, values out of range, a kernel larger than the padded input.
        TypeError: different or integer types.

    Example:
        >>> paddle.nn.functional.conv2d(paddle.ones([1, 1, 3, 3]), paddle.ones([1, 1, 2, 2])).shape
        [1, 1, 2, 2]
    """
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format)


@nn_op
def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW"):
    """The convolution (cross-correlation) over three axes; arguments as for `conv2d`.

    Args:
        x: shape [N, C, D, H, W], or [N, D, H, W, C] with data_format "NDHWC".
        weight: shape [out, C / groups, KD, KH, KW].

    Example:
        >>> paddle.nn.functional.conv3d(paddle.ones([1, 1, 3, 3, 3]), paddle.ones([2, 1, 2, 2, 2])).shape
        [1, 2, 2, 2, 2]
    """
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format)


def _extra(name, n, output_padding, output_size, lengths, stride, dilation):
    """What output_padding or output_size add at the end of each axis beyond the smallest output `lengths`."""
    if output_size is None:
        extra = window.sizes(name, "output_padding", output_padding, n, 0)
        for e, s, d in zip(extra, stride, dilation):
            if e and e >= max(s, d):
                raise errors.ValueError_(
                    f"{name}: output_padding must be less than stride or dilation, got {list(extra)}"
                )
        return extra
    if any(window.sizes(name, "output_padding", output_padding, n, 0)):
        raise errors.ValueError_(f"{name}: give output_padding or output_size, not both")
    wanted = window.sizes(name, "output_size", output_size, n)
    for w, low, s in zip(wanted, lengths, stride):
        if not low <= w < low + s:
            raise errors.ValueError_(
                f"{name}: output_size must be at least {list(lengths)} and less than that plus "
                f"the stride {list(stride)}, got {list(wanted)}"
            )
    return tuple(w - low for w, low in zip(wanted, lengths))


def _transposed(name, n, x, weight, bias, stride, padding, output_padding, dilation, groups, output_size, data_format):
    last, stride, dilation, channels, lengths = _read(name, n, x, weight, stride, dilation, groups, data_format)
    if weight.shape[0] != channels:
        raise errors.ValueError_(
            f"{name}: a weight of shape {list(weight.shape)} wants {weight.shape[0]} input "
            f"channels, x of shape {list(x.shape)} has {channels}"
        )
    kernel = weight.shape[2:]
    if isinstance(padding, str) and padding.upper() == "SAME":
        dilation = (1,) * n
    pads = window.pairs(name, padding, n, last, lengths, kernel, stride)
    spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
    smallest = [(length - 1) * s - sum(p) + span + 1 for length, s, p, span in zip(lengths, stride, pads, spans)]
    extra = _extra(name, n, output_padding, output_size, smallest, stride, dilation)
    if any(l + e < 1 for l, e in zip(smallest, extra)):
        raise errors.ValueError_(
            f"{name}: the output would have the spatial shape {smallest}: the padding is too "
            f"large for x of shape {list(x.shape)}"
        )
    full = [(s - p[0], s - p[1] + e) for s, p, e in zip(spans, pads, extra)]
    outs = tuple(l + e for l, e in zip(smallest, extra))
    geometry = Geometry(stride, tuple(pads), dilation, groups, last, outs, kernel)
    out = input_gradient(x, weight, geometry) if geometry.outs == lengths else None
    if out is not None:
        return _add_bias(name, out, bias, last)
    flipped = jnp.flip(weight, range(2, n + 2)).reshape(groups, channels // groups, *weight.shape[1:])
    turned = jnp.swapaxes(flipped, 1, 2).reshape(groups * weight.shape[1], channels // groups, *kernel)
    return _add_bias(name, convolve(x, turned, (1,) * n, full, dilation, groups, last, stride), bias, last)


@nn_op
def conv1d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCL",
):
    """The transposed convolution over one axis; arguments as for `conv2d_transpose`.

    Example:
        >>> paddle.nn.functional.conv1d_transpose(paddle.ones([1, 1, 3]), paddle.ones([1, 2, 2])).shape
        [1, 2, 4]
    """
    return _transposed(
        "conv1d_transpose",
        1,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        output_size,
        data_format,
    )


@nn_op
def conv2d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    dilation=1,
    groups=1,
    output_size=None,
    data_format="NCHW",
):
    """The transposed convolution (the gradient of `conv2d` by its input) over two axes.

    Args:
        x: shape [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        weight: shape [C, out / groups, KH, KW].
        bias: shape [out], or None.
        stride, padding, dilation, groups, data_format: those of the convolution, see `conv2d`.
        output_padding: added at the end of each axis, less than stride or dilation.
        output_size: the wanted spatial shape instead of output_padding.

    Raises:
        ValueError: shapes that do not fit, values out of range, an output_size that cannot be.

    Example:
        >>> paddle.nn.functional.conv2d_transpose(paddle.ones([1, 1, 2, 2]), paddle.ones([1, 1, 2, 2]), stride=2).shape
        [1, 1, 4, 4]
    """
    return _transposed(
        "conv2d_transpose",
        2,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        output_size,
        data_format,
    )


@nn_op
def conv3d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCDHW",
):
    """The transposed convolution over three axes; arguments as for `conv2d_transpose`.

    Example:
        >>> paddle.nn.functional.conv3d_transpose(paddle.ones([1, 1, 2, 2, 2]), paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 3, 3, 3]
    """
    return _transposed(
        "conv3d_transpose",
        3,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        output_size,
        data_format,
    )
