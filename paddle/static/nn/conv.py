"""Convolutions of programs."""

from __future__ import annotations

import math
from typing import Any

from ...engine import errors
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...nn.initializer import Normal
from .builder import Builder, several

__all__ = ["conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "deform_conv2d"]


def _conv(
    kind: str,
    axes: int,
    input: Tensor,
    num_filters: int,
    filter_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    act: Any,
    name: str | None,
    data_format: str,
) -> Tensor:
    layer = Builder(kind, name)
    layer.check("input", input)
    channels, groups = _channels(layer, input, axes, data_format), groups or 1
    if channels % groups or num_filters % groups:
        raise errors.ValueError_(
            f"{kind}: groups must divide the channels of input and num_filters, got {groups}, {channels}, {num_filters}"
        )
    size = several(kind, "filter_size", filter_size, axes)
    std = math.sqrt(2.0 / (math.prod(size) * channels))
    weight = layer.parameter(
        param_attr, [num_filters, channels // groups, *size], input.dtype, initializer=Normal(0.0, std)
    )
    function = F.conv2d if axes == 2 else F.conv3d
    out = function(input, weight, None, stride, padding, dilation, groups, data_format)
    return _biased(layer, out, bias_attr, num_filters, data_format, act)


def _conv_transpose(
    kind: str,
    axes: int,
    input: Tensor,
    num_filters: int,
    output_size: Any,
    filter_size: Any,
    padding: Any,
    stride: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    act: Any,
    name: str | None,
    data_format: str,
) -> Tensor:
    layer = Builder(kind, name)
    layer.check("input", input)
    channels, groups = _channels(layer, input, axes, data_format), groups or 1
    strides, dilations = several(kind, "stride", stride, axes), several(kind, "dilation", dilation, axes)
    if filter_size is None:
        if output_size is None:
            raise errors.ValueError_(f"{kind}: filter_size or output_size must be given")
        start = 2 if data_format[1] == "C" else 1
        lengths = layer.fixed("input", input.shape[start : start + axes])
        wanted = several(kind, "output_size", output_size, axes)
        pads = [0] * axes if isinstance(padding, str) else several(kind, "padding", padding, axes)
        filter_size = [
            (o - (n - 1) * s + 2 * p - 1) // d + 1 for o, n, s, p, d in zip(wanted, lengths, strides, pads, dilations)
        ]
    size = several(kind, "filter_size", filter_size, axes)
    weight = layer.parameter(param_attr, [channels, num_filters // groups, *size], input.dtype)
    function = F.conv2d_transpose if axes == 2 else F.conv3d_transpose
    out = function(
        input,
        weight,
        None,
        strides,
        padding,
        dilation=dilations,
        groups=groups,
        output_size=output_size,
        data_format=data_format,
    )
    return _biased(layer, out, bias_attr, num_filters, data_format, act)


def _channels(layer: Builder, input: Tensor, axes: int, data_format: str) -> int:
    allowed = ("NCHW", "NHWC") if axes == 2 else ("NCDHW", "NDHWC")
    if data_format not in allowed:
        raise errors.ValueError_(f"{layer.kind}: data_format must be {' or '.join(allowed)}, got {data_format!r}")
    if input.ndim != axes + 2:
        raise errors.ValueError_(f"{layer.kind}: input must have {axes + 2} axes, got shape {list(input.shape)}")
    return layer.fixed("input", [input.shape[1 if data_format[1] == "C" else -1]])[0]


def _biased(layer: Builder, out: Tensor, bias_attr: Any, n: int, data_format: str, act: Any) -> Tensor:
    out = layer.named(out)
    bias = layer.parameter(bias_attr, [n], out.dtype, is_bias=True)
    if bias is not None:
        out = layer.named(out + (bias.reshape([n] + [1] * (out.ndim - 2)) if data_format[1] == "C" else bias))
    if act is None:
        return out
    from .builder import activation

    return layer.named(activation(layer.kind, act)(out))


@errors.clean
def conv2d(
    input: Tensor,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """A convolution of images with parameters of its own; see `paddle.nn.functional.conv2d`.

    Args:
        input: shape [N, C, H, W], or [N, H, W, C] with data_format "NHWC".
        num_filters: how many channels come out.
        filter_size: one length or two.
        param_attr, bias_attr: a ParamAttr or a short form; ``bias_attr=False`` for no bias.
        act: the name of an activation.

    Raises:
        ValueError: shapes, groups or a data_format that do not fit.
    """
    return _conv(
        "conv2d",
        2,
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


@errors.clean
def conv3d(
    input: Tensor,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Tensor:
    """A convolution of volumes; see `conv2d`."""
    return _conv(
        "conv3d",
        3,
        input,
        num_filters,
        filter_size,
        stride,
        padding,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


@errors.clean
def conv2d_transpose(
    input: Tensor,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    """A transposed convolution of images; see `paddle.nn.functional.conv2d_transpose`.

    Args:
        output_size: height and width of the result; the length of the filter follows from it when `filter_size` is None.

    Raises ValueError when neither is given.
    """
    return _conv_transpose(
        "conv2d_transpose",
        2,
        input,
        num_filters,
        output_size,
        filter_size,
        padding,
        stride,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


@errors.clean
def conv3d_transpose(
    input: Tensor,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Tensor:
    """A transposed convolution of volumes; see `conv2d_transpose`."""
    return _conv_transpose(
        "conv3d_transpose",
        3,
        input,
        num_filters,
        output_size,
        filter_size,
        padding,
        stride,
        dilation,
        groups,
        param_attr,
        bias_attr,
        act,
        name,
        data_format,
    )


@errors.clean
def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    deformable_groups: int = 1,
    im2col_step: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution whose places of sampling are moved by `offset` (Dai et al. 2017; with `mask` Zhu et al. 2018); see
    `paddle.vision.ops.deform_conv2d`."""
    from ...vision import ops

    layer = Builder("deformable_conv", name)
    layer.check("x", x)
    channels = layer.fixed("x", [x.shape[1]])[0]
    size = several("deform_conv2d", "filter_size", filter_size, 2)
    std = math.sqrt(2.0 / (math.prod(size) * channels))
    weight = layer.parameter(
        weight_attr, [num_filters, channels // groups, *size], x.dtype, initializer=Normal(0.0, std)
    )
    bias = layer.parameter(bias_attr, [num_filters], x.dtype, is_bias=True)
    return layer.finish(
        ops.deform_conv2d(x, offset, weight, bias, stride, padding, dilation, deformable_groups, groups, mask)
    )
