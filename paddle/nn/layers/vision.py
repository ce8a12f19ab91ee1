"""Layers that move pixels between channels and space."""

from __future__ import annotations

from ...engine import errors
from .. import functional as F
from ..layer import Layer
from .common import with_name


def _check(layer: str, argument: str, value: int, data_format: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise errors.TypeError_(f"{layer}: {argument} must be an int, got {errors.describe(value)}")
    if value <= 0:
        raise errors.ValueError_(f"{layer}: {argument} must be positive, got {value}")
    if data_format not in ("NCHW", "NHWC"):
        raise errors.ValueError_(f"{layer}: data_format must be 'NCHW' or 'NHWC', got {data_format!r}")


class PixelShuffle(Layer):
    """Makes [N, C r r, H, W] into [N, C, H r, W r] (Shi et al., CVPR 2016).

    Example:
        >>> paddle.nn.PixelShuffle(2)(paddle.ones([1, 4, 2, 2])).shape
        [1, 1, 4, 4]
    """

    def __init__(self, upscale_factor, data_format="NCHW", name=None):
        super().__init__()
        _check("PixelShuffle", "upscale_factor", upscale_factor, data_format)
        self._upscale_factor, self._data_format, self._name = upscale_factor, data_format, name

    def forward(self, x):
        return F.pixel_shuffle(x, self._upscale_factor, self._data_format)

    def extra_repr(self):
        text = f"upscale_factor={self._upscale_factor}"
        return with_name(
            text if self._data_format == "NCHW" else text + f", data_format={self._data_format}", self._name
        )


class PixelUnshuffle(Layer):
    """Makes [N, C, H r, W r] into [N, C r r, H, W], the reverse of PixelShuffle.

    Example:
        >>> paddle.nn.PixelUnshuffle(2)(paddle.ones([1, 1, 4, 4])).shape
        [1, 4, 2, 2]
    """

    def __init__(self, downscale_factor, data_format="NCHW", name=None):
        super().__init__()
        _check("PixelUnshuffle", "downscale_factor", downscale_factor, data_format)
        self._downscale_factor, self._data_format, self._name = downscale_factor, data_format, name

    def forward(self, x):
        return F.pixel_unshuffle(x, self._downscale_factor, self._data_format)

    def extra_repr(self):
        text = f"downscale_factor={self._downscale_factor}"
        return with_name(
            text if self._data_format == "NCHW" else text + f", data_format={self._data_format}", self._name
        )


class ChannelShuffle(Layer):
    """Interleaves groups of channels (Zhang et al., CVPR 2018).

    Example:
        >>> paddle.nn.ChannelShuffle(2)(paddle.ones([1, 4, 2, 2])).shape
        [1, 4, 2, 2]
    """

    def __init__(self, groups, data_format="NCHW", name=None):
        super().__init__()
        _check("ChannelShuffle", "groups", groups, data_format)
        self._groups, self._data_format, self._name = groups, data_format, name

    def forward(self, x):
        return F.channel_shuffle(x, self._groups, self._data_format)

    def extra_repr(self):
        text = f"groups={self._groups}"
        return with_name(
            text if self._data_format == "NCHW" else text + f", data_format={self._data_format}", self._name
        )
