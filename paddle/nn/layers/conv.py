"""Convolution layers."""

from __future__ import annotations

import math
from typing import Any

from ...engine import errors
from .. import functional as F
from ..initializer import Normal
from ..layer import Layer, other_names


def _tuple(value: Any, n: int, name: str) -> list[int]:
    """One int for each spatial axis."""
    if isinstance(value, (list, tuple)):
        if len(value) != n:
            raise errors.ValueError_(f"{name} must be an int or {n} ints, got {value}")
        return [int(v) for v in value]
    try:
        return [value.__index__()] * n
    except AttributeError:
        raise errors.TypeError_(f"{name} must be an int or {n} ints, got {errors.describe(value)}") from None


def _amounts(padding: Any, n: int) -> list[int]:
    """The padding of every border in the order that F.pad takes: last axis first."""
    if isinstance(padding, int):
        return [padding] * (2 * n)
    if isinstance(padding, (list, tuple)) and padding and all(isinstance(p, int) for p in padding):
        if len(padding) == n:
            return [p for each in reversed(padding) for p in (each, each)]
        if len(padding) == 2 * n:
            return [p for i in reversed(range(n)) for p in (padding[2 * i], padding[2 * i + 1])]
    raise errors.ValueError_(f"padding must be an int, {n} or {2 * n} ints with this padding_mode, got {padding!r}")


class _Conv(Layer):
    """What all convolutions share: checks, the parameters, and the text."""

    _axes = 0
    _transposed = False

    def _setup(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        output_padding,
        dilation,
        groups,
        padding_mode,
        weight_attr,
        bias_attr,
        data_format,
        device=None,
    ):
        name, n = type(self).__name__, self._axes
        formats = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n]
        if data_format not in formats:
            raise errors.ValueError_(f"{name}: data_format must be {' or '.join(formats)}, got {data_format!r}")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise errors.ValueError_(
                f"{name}: padding_mode must be 'zeros', 'reflect', 'replicate' or 'circular', got {padding_mode!r}"
            )
        if groups < 1:
            raise errors.ValueError_(f"{name}: groups must be positive, got {groups}")
        divided = "out_channels" if self._transposed else "in_channels"
        if (out_channels if self._transposed else in_channels) % groups:
            raise errors.ValueError_(
                f"{name}: {divided} must be divisible by groups, got {in_channels=}, {out_channels=}, {groups=}"
            )
        if isinstance(padding, str) and padding.upper() not in ("SAME", "VALID"):
            raise errors.ValueError_(f"{name}: padding must be numbers, 'SAME' or 'VALID', got {padding!r}")
        if isinstance(padding, (list, tuple)) and len(padding) not in (1, n, 2 * n, n + 2):
            raise errors.ValueError_(
                f"{name}: padding must be an int, {n} or {2 * n} ints, or a pair for each axis, got {padding}"
            )
        self._in_channels, self._out_channels = in_channels, out_channels
        self._groups, self._data_format = groups, data_format
        self._kernel_size = _tuple(kernel_size, n, f"{name}: kernel_size")
        self._stride = _tuple(stride, n, f"{name}: stride")
        self._dilation = _tuple(dilation, n, f"{name}: dilation")
        self._padding, self._padding_mode, self.output_padding = padding, padding_mode, output_padding
        self._around = None if padding_mode == "zeros" else _amounts(padding, n)
        if self._transposed:
            shape, default = [in_channels, out_channels // groups, *self._kernel_size], None
        else:
            shape = [out_channels, in_channels // groups, *self._kernel_size]
            fan = math.prod(self._kernel_size) * in_channels
            default = Normal(0.0, math.sqrt(2.0 / fan) if fan else 0.0)
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=default, device=device)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True, device=device)

    def _padded(self, x: Any) -> tuple[Any, Any]:
        """The input and the padding that is left to the convolution."""
        if self._around is None:
            return x, self._padding
        return F.pad(x, self._around, self._padding_mode, data_format=self._data_format), 0

    def extra_repr(self):
        n = self._axes
        parts = [f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"]
        if self._stride != [1] * n:
            parts.append(f"stride={self._stride}")
        if self._padding != 0:
            parts.append(f"padding={self._padding}")
        if self._padding_mode != "zeros":
            parts.append(f"padding_mode={self._padding_mode}")
        if self.output_padding != 0:
            parts.append(f"output_padding={self.output_padding}")
        if self._dilation != [1] * n:
            parts.append(f"dilation={self._dilation}")
        if self._groups != 1:
            parts.append(f"groups={self._groups}")
        return ", ".join(parts + [f"data_format={self._data_format}"])


class Conv1D(_Conv):
    """Convolution over the length of [N, C, L]; the arguments are those of Conv2D.

    Example:
        >>> paddle.nn.Conv1D(2, 4, 3)(paddle.ones([1, 2, 8])).shape
        [1, 4, 6]
    """

    _axes = 1

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        *,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
    ):
        super().__init__(dtype=dtype)
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            0,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr if bias else False,
            data_format,
            device,
        )

    @other_names(input="x")
    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv1d(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class Conv2D(_Conv):
    """Convolution over height and width of [N, C, H, W].

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size: an int, or one for each spatial axis; so are `stride` and `dilation`.
        padding: an int, one for each axis or for each border, "SAME" or "VALID".
        groups: channels are divided into groups that do not see each other.
        bias: False for no bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular".
        device, dtype: of the parameters.
        weight_attr: of the weight `[out_channels, in_channels / groups, kh, kw]`, by default Normal(0, sqrt(2 / fan_in)).
        bias_attr: of the bias `[out_channels]`, by default zero; False for none.
        data_format: "NCHW" or "NHWC".

    Raises:
        ValueError: channels that `groups` does not divide, or a size, mode or format that does not exist.

    Example:
        >>> paddle.nn.Conv2D(3, 8, 3, padding=1)(paddle.ones([1, 3, 5, 5])).shape
        [1, 8, 5, 5]
    """

    _axes = 2

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        *,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__(dtype=dtype)
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            0,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr if bias else False,
            data_format,
            device,
        )

    @other_names(input="x")
    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv2d(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class Conv3D(_Conv):
    """Convolution over depth, height and width of [N, C, D, H, W]; the arguments are those of Conv2D.

    Example:
        >>> paddle.nn.Conv3D(2, 4, 3)(paddle.ones([1, 2, 4, 4, 4])).shape
        [1, 4, 2, 2, 2]
    """

    _axes = 3

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        *,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
    ):
        super().__init__(dtype=dtype)
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            0,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr if bias else False,
            data_format,
            device,
        )

    @other_names(input="x")
    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv3d(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class Conv1DTranspose(_Conv):
    """The transpose of a convolution over [N, C, L]; the arguments are those of Conv2DTranspose.

    Example:
        >>> paddle.nn.Conv1DTranspose(2, 4, 3, stride=2)(paddle.ones([1, 2, 4])).shape
        [1, 4, 9]
    """

    _axes, _transposed = 1, True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        dilation=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            "zeros",
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x, output_size=None):
        output_padding = self.output_padding if output_size is None else 0
        return F.conv1d_transpose(
            x,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            output_padding,
            self._groups,
            self._dilation,
            output_size,
            self._data_format,
        )


class Conv2DTranspose(_Conv):
    """The transpose of a convolution over [N, C, H, W], which enlarges by its stride.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size, stride, padding, dilation, groups: of the convolution.
        output_padding: added to one side of the output.
        weight_attr: of the weight `[in_channels, out_channels / groups, kh, kw]`, by default XavierUniform.
        bias_attr: of the bias `[out_channels]`, by default zero; False for none.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> paddle.nn.Conv2DTranspose(3, 8, 2, stride=2)(paddle.ones([1, 3, 4, 4])).shape
        [1, 8, 8, 8]
    """

    _axes, _transposed = 2, True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            "zeros",
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x, output_size=None):
        output_padding = self.output_padding if output_size is None else 0
        return F.conv2d_transpose(
            x,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            output_padding,
            self._dilation,
            self._groups,
            output_size,
            self._data_format,
        )


class Conv3DTranspose(_Conv):
    """The transpose of a convolution over [N, C, D, H, W]; the arguments are those of Conv2DTranspose.

    Example:
        >>> paddle.nn.Conv3DTranspose(2, 3, 2, stride=2)(paddle.ones([1, 2, 2, 3, 2])).shape
        [1, 3, 4, 6, 4]
    """

    _axes, _transposed = 3, True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
    ):
        super().__init__()
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            "zeros",
            weight_attr,
            bias_attr,
            data_format,
        )

    def forward(self, x, output_size=None):
        output_padding = self.output_padding if output_size is None else 0
        return F.conv3d_transpose(
            x,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            output_padding,
            self._groups,
            self._dilation,
            output_size,
            self._data_format,
        )
