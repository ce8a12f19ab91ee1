"""Convolution layers for sparse tensors."""

from __future__ import annotations

import math

from ....engine import errors
from ....nn.initializer import Normal
from ....nn.layer import Layer
from ....ops import window
from .. import functional as F


class _Conv(Layer):
    """What the sparse convolutions share: checks, the parameters, and the text."""

    _axes = 0
    _function = ""

    def _setup(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        padding_mode,
        weight_attr,
        bias_attr,
        data_format,
        key=None,
        backend=None,
    ):
        name, n = type(self).__name__, self._axes
        for argument, value, allowed in (
            ("groups", groups, 1),
            ("padding_mode", padding_mode, "zeros"),
            ("data_format", data_format, window.FORMATS[n][1]),
        ):
            if value != allowed:
                raise errors.ValueError_(f"{name}: {argument} of a sparse convolution is {allowed!r}, got {value!r}")
        if backend not in (None, "igemm"):
            raise errors.ValueError_(f"{name}: backend must be None or 'igemm', got {backend!r}")
        self._in_channels, self._out_channels, self._groups = in_channels, out_channels, groups
        self._kernel_size = list(window.sizes(name, "kernel_size", kernel_size, n))
        self._stride = list(window.sizes(name, "stride", stride, n))
        self._dilation = list(window.sizes(name, "dilation", dilation, n))
        self._padding, self._padding_mode, self._data_format, self._key = padding, padding_mode, data_format, key
        fan = math.prod(self._kernel_size) * in_channels
        self.weight = self.create_parameter(
            [*self._kernel_size, in_channels, out_channels],
            weight_attr,
            default_initializer=Normal(0.0, math.sqrt(2.0 / fan)),
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x):
        return getattr(F, self._function)(
            x, self.weight, self.bias, self._stride, self._padding, self._dilation, self._groups, self._data_format
        )

    def extra_repr(self):
        n = self._axes
        parts = [f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"]
        if self._stride != [1] * n:
            parts.append(f"stride={self._stride}")
        if self._padding != 0:
            parts.append(f"padding={self._padding}")
        if self._dilation != [1] * n:
            parts.append(f"dilation={self._dilation}")
        return ", ".join(parts + [f"data_format={self._data_format}"])


class Conv2D(_Conv):
    """The convolution of sparse images [N, H, W, C], see Conv3D.

    Example:
        >>> paddle.sparse.nn.Conv2D(2, 4, 3)(paddle.ones([1, 3, 3, 2]).to_sparse_coo(3)).shape
        [1, 1, 1, 4]
    """

    _axes, _function = 2, "conv2d"

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NHWC",
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv3D(_Conv):
    """The convolution of sparse volumes [N, D, H, W, C]; it stores every place whose window meets a stored value.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size, stride, dilation: an int or three.
        padding: as in `paddle.nn.Conv3D`.
        groups: 1.
        padding_mode: "zeros".
        weight_attr: of the weight [KD, KH, KW, in_channels, out_channels], by default normal, sqrt(2 / fan_in).
        bias_attr: of the bias [out_channels], by default zero; False for none.
        data_format: "NDHWC".

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> paddle.sparse.nn.Conv3D(2, 4, 3)(paddle.ones([1, 3, 3, 3, 2]).to_sparse_coo(4)).shape
        [1, 1, 1, 1, 4]
    """

    _axes, _function = 3, "conv3d"

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
        )


class SubmConv2D(_Conv):
    """The submanifold convolution of sparse images [N, H, W, C], see SubmConv3D.

    Example:
        >>> paddle.sparse.nn.SubmConv2D(2, 4, 3)(paddle.ones([1, 3, 3, 2]).to_sparse_coo(3)).shape
        [1, 3, 3, 4]
    """

    _axes, _function = 2, "subm_conv2d"

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        key=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NHWC",
        backend=None,
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
            key,
            backend,
        )


class SubmConv3D(_Conv):
    """The submanifold convolution of sparse volumes [N, D, H, W, C]: it stores the places that its input stores.

    Args:
        key: not needed, patterns remember their neighbours.
        backend: None or "igemm"; here there is one kernel.
        others: see Conv3D; stride and padding are not used.

    Example:
        >>> paddle.sparse.nn.SubmConv3D(2, 4, 3)(paddle.ones([1, 3, 3, 3, 2]).to_sparse_coo(4)).shape
        [1, 3, 3, 3, 4]
    """

    _axes, _function = 3, "subm_conv3d"

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        key=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
        backend=None,
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
            key,
            backend,
        )
