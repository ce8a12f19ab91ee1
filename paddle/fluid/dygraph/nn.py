"""Layers by their arguments before version 2: sizes of filters and pools, an activation by name."""

from __future__ import annotations

import math
from typing import Any

from ... import nn
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...nn.initializer import Constant, Normal
from ...nn.layer import Layer
from ...nn.layers.norm import SpectralNorm
from ...static.nn.builder import activation, several
from .. import layers

__all__ = [
    "BatchNorm",
    "BilinearTensorProduct",
    "Conv2D",
    "Conv2DTranspose",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "InstanceNorm",
    "LayerNorm",
    "Linear",
    "PRelu",
    "Pool2D",
    "SpectralNorm",
]

BatchNorm = nn.BatchNorm


def _activated(out: Tensor, act: str | None) -> Tensor:
    return out if act is None else activation("fluid.dygraph", act)(out)


class Linear(Layer):
    """A matrix product, a bias and an activation.

    Example:
        >>> with paddle.fluid.dygraph.guard():
        ...     paddle.fluid.dygraph.Linear(2, 3, act="relu")(paddle.ones([1, 2])).shape
        [1, 3]
    """

    def __init__(self, input_dim, output_dim, param_attr=None, bias_attr=None, act=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([input_dim, output_dim], param_attr)
        self.bias = self.create_parameter([output_dim], bias_attr, is_bias=True)

    def forward(self, input):
        return _activated(F.linear(input, self.weight, self.bias), self._act)


class Conv2D(Layer):
    """A convolution of images and an activation; see `paddle.nn.Conv2D`."""

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=None,
        param_attr=None,
        bias_attr=None,
        use_cudnn=True,
        act=None,
        dtype="float32",
    ):
        super().__init__(dtype=dtype)
        groups = groups or 1
        size = several("Conv2D", "filter_size", filter_size, 2)
        self._options = (stride, padding, dilation, groups)
        self._act = act
        first = Normal(0.0, math.sqrt(2.0 / (math.prod(size) * num_channels)))
        self.weight = self.create_parameter(
            [num_filters, num_channels // groups, *size], param_attr, default_initializer=first
        )
        self.bias = self.create_parameter([num_filters], bias_attr, is_bias=True)

    def forward(self, input):
        return _activated(F.conv2d(input, self.weight, self.bias, *self._options), self._act)


class Conv2DTranspose(Layer):
    """A transposed convolution of images and an activation; see `paddle.nn.Conv2DTranspose`."""

    def __init__(
        self,
        num_channels,
        num_filters,
        filter_size,
        output_size=None,
        padding=0,
        stride=1,
        dilation=1,
        groups=None,
        param_attr=None,
        bias_attr=None,
        use_cudnn=True,
        act=None,
        dtype="float32",
    ):
        super().__init__(dtype=dtype)
        groups = groups or 1
        size = several("Conv2DTranspose", "filter_size", filter_size, 2)
        self._options = dict(
            stride=stride, padding=padding, dilation=dilation, groups=groups, output_size=output_size or None
        )
        self._act = act
        self.weight = self.create_parameter([num_channels, num_filters // groups, *size], param_attr)
        self.bias = self.create_parameter([num_filters], bias_attr, is_bias=True)

    def forward(self, input):
        return _activated(F.conv2d_transpose(input, self.weight, self.bias, **self._options), self._act)


class Pool2D(Layer):
    """Pooling of images; see `fluid.layers.pool2d`."""

    def __init__(
        self,
        pool_size=-1,
        pool_type="max",
        pool_stride=1,
        pool_padding=0,
        global_pooling=False,
        use_cudnn=True,
        ceil_mode=False,
        exclusive=True,
        data_format="NCHW",
    ):
        super().__init__()
        self._options: dict[str, Any] = dict(
            pool_size=pool_size,
            pool_type=pool_type,
            pool_stride=pool_stride,
            pool_padding=pool_padding,
            global_pooling=global_pooling,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            data_format=data_format,
        )

    def forward(self, input):
        return layers.pool2d(input, **self._options)


class Embedding(Layer):
    """Rows of a table; `size` is [rows, columns]."""

    def __init__(self, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._padding_idx, self._is_sparse = padding_idx, is_sparse
        self.weight = self.create_parameter(list(size), param_attr)

    def forward(self, input):
        return F.embedding(input, self.weight, self._padding_idx, sparse=self._is_sparse)


class LayerNorm(Layer):
    """Layer normalisation and an activation; see `paddle.nn.LayerNorm`."""

    def __init__(
        self,
        normalized_shape,
        scale=True,
        shift=True,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        act=None,
        dtype="float32",
    ):
        super().__init__(dtype=dtype)
        self._shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon, self._act = epsilon, act
        flat = [math.prod(self._shape)]
        self.weight = self.create_parameter(flat, param_attr, default_initializer=Constant(1.0)) if scale else None
        self.bias = self.create_parameter(flat, bias_attr, is_bias=True) if shift else None

    def forward(self, input):
        return _activated(F.layer_norm(input, self._shape, self.weight, self.bias, self._epsilon), self._act)


class GroupNorm(Layer):
    """Group normalisation and an activation; see `paddle.nn.GroupNorm`."""

    def __init__(
        self,
        channels,
        groups,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        act=None,
        data_layout="NCHW",
        dtype="float32",
    ):
        super().__init__(dtype=dtype)
        self._groups, self._epsilon, self._act, self._layout = groups, epsilon, act, data_layout
        self.weight = self.create_parameter([channels], param_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([channels], bias_attr, is_bias=True)

    def forward(self, input):
        out = F.group_norm(input, self._groups, self._epsilon, self.weight, self.bias, self._layout)
        return _activated(out, self._act)


class InstanceNorm(nn.InstanceNorm2D):
    """Instance normalisation; see `paddle.nn.InstanceNorm2D`."""

    def __init__(self, num_channels, epsilon=1e-5, param_attr=None, bias_attr=None, dtype="float32"):
        super().__init__(num_channels, epsilon, weight_attr=param_attr, bias_attr=bias_attr)


class PRelu(Layer):
    """x where it is positive, elsewhere x times a parameter; see `paddle.static.nn.prelu` for the modes."""

    def __init__(self, mode, channel=None, input_shape=None, param_attr=None, dtype="float32"):
        super().__init__(dtype=dtype)
        shape = {"all": [1], "channel": [1, channel, 1, 1], "element": [1, *(input_shape or [1])[1:]]}[mode]
        self.weight = self.create_parameter(shape, param_attr, default_initializer=Constant(1.0))

    def forward(self, input):
        from ...ops.selection import where

        return where(input > 0, input, input * self.weight)


class Dropout(Layer):
    """Dropout; see `fluid.layers.dropout`."""

    def __init__(self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False):
        super().__init__()
        self._p, self._implementation = p, dropout_implementation

    def forward(self, input):
        return layers.dropout(input, self._p, not self.training, None, None, self._implementation)


class Flatten(Layer):
    """All axes but the first as one."""

    def forward(self, input):
        return layers.flatten(input, 1)


class BilinearTensorProduct(nn.Bilinear):
    """`paddle.nn.Bilinear` with an activation."""

    def __init__(
        self, input1_dim, input2_dim, output_dim, name=None, act=None, param_attr=None, bias_attr=None, dtype="float32"
    ):
        super().__init__(input1_dim, input2_dim, output_dim, param_attr, bias_attr, name)
        self._act = act

    def forward(self, x, y):
        return _activated(super().forward(x, y), self._act)
