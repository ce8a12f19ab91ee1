"""Operators of detectors: boxes, suppression, regions, deformable convolution; and pictures from files."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import nn
from ..engine import errors
from ..engine.op import api
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..engine.value import PROBES
from ..ops.deformable_conv import deform_conv2d
from ..ops.detection_boxes import box_coder, prior_box, yolo_box
from ..ops.detection_loss import yolo_loss
from ..ops.detection_regions import psroi_pool, roi_align, roi_pool
from ..ops.detection_suppression import distribute_fpn_proposals, generate_proposals, matrix_nms, nms
from ..ops.scatter import concrete
from ..utils import storage

__all__ = [
    "yolo_loss",
    "yolo_box",
    "prior_box",
    "box_coder",
    "deform_conv2d",
    "DeformConv2D",
    "distribute_fpn_proposals",
    "generate_proposals",
    "read_file",
    "decode_jpeg",
    "roi_pool",
    "RoIPool",
    "psroi_pool",
    "PSRoIPool",
    "roi_align",
    "RoIAlign",
    "nms",
    "matrix_nms",
]

# ---- files ----


@api(method=False, export=False)
def read_file(filename):
    """The bytes of a file (also at an address in object storage) as a uint8 vector, for `decode_jpeg`.

    Raises:
        FileNotFoundError: no such file.

    Example:
        >>> paddle.vision.ops.read_file(paddle.__file__)[:3].tolist()
        [34, 34, 34]
    """
    if not isinstance(filename, (str, os.PathLike)):
        raise errors.TypeError_(f"read_file: filename must be a path, got {errors.describe(filename)}")
    if not storage.is_file(filename):
        raise errors.NotFound(f"read_file: there is no file {os.fspath(filename)}")
    return _make(put(np.frombuffer(storage.read(filename), np.uint8)))


def _picture_shape(specs, trial, mode):
    n = PROBES[trial]
    return ({"gray": 1, "rgb": 3}.get(mode, n), n, n), np.uint8


@api(method=False, export=False, on_host=_picture_shape)
def decode_jpeg(x, mode="unchanged"):
    """The picture in the bytes of a JPEG file, uint8 [channels, H, W]; Pillow decodes it on the host.

    Args:
        x: uint8, the bytes as `read_file` gives them.
        mode: "unchanged", "gray" (one channel) or "rgb" (three).

    Raises:
        ValueError: bytes that are no picture, another mode.

    Example:
        >>> paddle.vision.ops.decode_jpeg(paddle.vision.ops.read_file("photo.jpg")).shape  # doctest: +SKIP
        [3, 480, 640]
    """
    if mode not in ("unchanged", "gray", "rgb"):
        raise errors.ValueError_(f"decode_jpeg: mode must be 'unchanged', 'gray' or 'rgb', got {mode!r}")
    if not isinstance(x, Tensor) or x.dtype.name != "uint8" or len(x.shape) != 1:
        raise errors.ValueError_(f"decode_jpeg: x must be a uint8 vector, got {errors.describe(x)}")
    from PIL import Image

    try:
        with Image.open(io.BytesIO(concrete("decode_jpeg", x).tobytes()), formats=["JPEG"]) as image:
            image.load()
            picture = np.asarray(image if mode == "unchanged" else image.convert("L" if mode == "gray" else "RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as e:
        raise errors.ValueError_(f"decode_jpeg: these {x.shape[0]} bytes are no JPEG file ({e})") from None
    picture = picture[None] if picture.ndim == 2 else picture.transpose(2, 0, 1)
    return _make(put(np.ascontiguousarray(picture)))


# ---- layers ----


class _OfRegions(nn.Layer):
    """A layer that pools regions."""

    _function: Callable

    def __init__(self, output_size: Any, spatial_scale: float = 1.0):
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, x: Any, boxes: Any, boxes_num: Any) -> Any:
        return type(self)._function(x, boxes, boxes_num, self.output_size, self.spatial_scale)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, spatial_scale={self.spatial_scale}"


class RoIPool(_OfRegions):
    """`roi_pool` as a layer.

    Args:
        output_size: bins along height and width, an int or two.
        spatial_scale: from coordinates of boxes to those of the maps.

    Example:
        >>> boxes, boxes_num = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0]]), paddle.to_tensor([1], dtype="int32")
        >>> paddle.vision.ops.RoIPool(2)(paddle.ones([1, 3, 8, 8]), boxes, boxes_num).shape
        [1, 3, 2, 2]
    """

    _function = staticmethod(roi_pool)


class PSRoIPool(_OfRegions):
    """`psroi_pool` as a layer; arguments as for `RoIPool`."""

    _function = staticmethod(psroi_pool)


class RoIAlign(_OfRegions):
    """`roi_align` as a layer; arguments as for `RoIPool`."""

    def forward(self, x: Any, boxes: Any, boxes_num: Any, aligned: bool = True) -> Any:
        return roi_align(x, boxes, boxes_num, self.output_size, self.spatial_scale, aligned=aligned)


class DeformConv2D(nn.Layer):
    """`deform_conv2d` as a layer; whoever calls it gives the shifts, and a mask for the second version.

    Args:
        in_channels, out_channels, kernel_size: of the weight [out, in / groups, KH, KW].
        stride, padding, dilation: an int or two.
        deformable_groups: parts of the channels with shifts of their own.
        groups: as for `Conv2D`.
        weight_attr: default normal with variance 2 / (KH * KW * in_channels).
        bias_attr: default zeros; False for no bias.

    Raises:
        ValueError: groups that do not divide the channels, weight_attr=False.

    Example:
        >>> layer = paddle.vision.ops.DeformConv2D(3, 4, 3, padding=1)
        >>> layer(paddle.ones([1, 3, 8, 8]), paddle.zeros([1, 18, 8, 8])).shape
        [1, 4, 8, 8]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        deformable_groups: int = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ):
        super().__init__()
        if weight_attr is False:
            raise errors.ValueError_("DeformConv2D: weight_attr must not be False")
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise errors.ValueError_(
                f"DeformConv2D: groups={groups} must divide in_channels={in_channels} and out_channels={out_channels}"
            )
        kernel = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        self._in_channels, self._out_channels, self._kernel_size = in_channels, out_channels, kernel
        self._arguments = (stride, padding, dilation, deformable_groups, groups)
        fan = math.prod(kernel) * in_channels
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *kernel],
            weight_attr,
            default_initializer=nn.initializer.Normal(0.0, math.sqrt(2.0 / fan) if fan else 0.0),
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any, offset: Any, mask: Any = None) -> Any:
        return deform_conv2d(x, offset, self.weight, self.bias, *self._arguments, mask)

    def extra_repr(self) -> str:
        return f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalization and an activation, one after the other.

    Args:
        in_channels, out_channels, kernel_size, stride, groups, dilation: of the `Conv2D`.
        padding: default: the size stays as it is for stride 1.
        norm_layer: a class that takes the number of channels, or None.
        activation_layer: a class that takes no arguments, or None.
        bias: whether the convolution has one; default: only without a norm_layer.

    Example:
        >>> [type(layer).__name__ for layer in paddle.vision.ops.ConvNormActivation(3, 4)]
        ['Conv2D', 'BatchNorm2D', 'ReLU']
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        norm_layer: Callable | None = nn.BatchNorm2D,
        activation_layer: Callable | None = nn.ReLU,
        dilation: int = 1,
        bias: bool | None = None,
    ):
        padding = (kernel_size - 1) // 2 * dilation if padding is None else padding
        bias_attr = None if (norm_layer is None if bias is None else bias) else False
        layers = [
            nn.Conv2D(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias_attr=bias_attr)
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer())
        super().__init__(*layers)
