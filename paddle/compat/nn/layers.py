"""Layers with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

from ...engine.modes import no_grad
from ...nn import functional as F
from ...nn.initializer import Uniform
from ...nn.layer import Layer
from ...nn.layers.common import Unfold as _Unfold
from . import functional


class _AvgPool(Layer):
    """Means over windows; what the three ranks share."""

    _pool: Any = None

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def _arguments(self) -> dict[str, Any]:
        return {"ceil_mode": self.ceil_mode, "exclusive": not self.count_include_pad}

    def forward(self, input):
        return type(self)._pool(input, self.kernel_size, self.stride, self.padding, **self._arguments())

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1D(_AvgPool):
    """The means of windows of [N, C, L].

    Args:
        kernel_size, stride, padding: ints; stride is the kernel size by default.
        ceil_mode: a window that reaches beyond the end counts.
        count_include_pad: padding counts as zeros.

    Example:
        >>> paddle.compat.nn.AvgPool1D(2)(paddle.to_tensor([[[1.0, 3.0]]])).tolist()
        [[[2.0]]]
    """

    _pool = staticmethod(F.avg_pool1d)

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.kernel_size, self.stride, self.padding = (
            tuple(v) if isinstance(v, (list, tuple)) else (v,) for v in (self.kernel_size, self.stride, self.padding)
        )

    def forward(self, input):
        return F.avg_pool1d(input, *map(list, (self.kernel_size, self.stride, self.padding)), **self._arguments())


class _Override(_AvgPool):
    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "divisor_override": self.divisor_override}


class AvgPool2D(_Override):
    """The means of windows of [N, C, H, W]; `divisor_override` divides the sums instead of the number of elements.
    Other
    arguments as in AvgPool1D.

    Example:
        >>> paddle.compat.nn.AvgPool2D(2)(paddle.ones([1, 1, 4, 4])).shape
        [1, 1, 2, 2]
    """

    _pool = staticmethod(F.avg_pool2d)


class AvgPool3D(_Override):
    """The means of windows of [N, C, D, H, W]; arguments as in AvgPool2D.

    Example:
        >>> paddle.compat.nn.AvgPool3D(2)(paddle.ones([1, 1, 4, 4, 4])).shape
        [1, 1, 2, 2, 2]
    """

    _pool = staticmethod(F.avg_pool3d)


AvgPool1d, AvgPool2d, AvgPool3d = AvgPool1D, AvgPool2D, AvgPool3D


class Linear(Layer):
    """input @ weight^T + bias.

    Args:
        in_features, out_features: lengths of the last axis.
        bias: whether there is one.
        device, dtype: of the parameters.

    Attributes: `weight` of shape [out_features, in_features], uniform within 1 / sqrt(in_features); `bias` as well.

    Example:
        >>> paddle.compat.nn.Linear(2, 3).weight.shape
        [3, 2]
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        initial = Uniform(-bound, bound)
        self.weight = self.create_parameter(
            [out_features, in_features], dtype=dtype, default_initializer=initial, device=device
        )
        self.bias = (
            self.create_parameter([out_features], dtype=dtype, default_initializer=initial, device=device)
            if bias
            else None
        )
        self._initial = initial

    @no_grad()
    def reset_parameters(self):
        """Draw the parameters again."""
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                self._initial(parameter)

    def forward(self, input):
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Softmax(Layer):
    """`paddle.compat.nn.functional.softmax` along an axis.

    Example:
        >>> paddle.compat.nn.Softmax(1)(paddle.zeros([1, 2])).tolist()
        [[0.5, 0.5]]
    """

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return functional.softmax(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Unfold(_Unfold):
    """The windows of an image as columns, see `paddle.nn.Unfold`.

    Example:
        >>> paddle.compat.nn.Unfold(2)(paddle.ones([1, 1, 4, 4])).shape
        [1, 4, 9]
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        Layer.__init__(self)
        self.kernel_sizes, self.dilations, self.paddings, self.strides = kernel_size, dilation, padding, stride

    def forward(self, input):
        return functional.unfold(input, self.kernel_sizes, self.dilations, self.paddings, self.strides)

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, "
            f"stride={self.strides}"
        )
