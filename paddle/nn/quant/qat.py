"""Layers whose weight and input pass through quanters, while they train and after their conversion."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..layer import Layer
from .format import ConvertibleQuantedLayer

__all__ = ["QuantedConv2D", "QuantedConv2DTranspose", "QuantedLinear"]


class _Quanted(ConvertibleQuantedLayer):
    """What the layers share. The layer itself stays outside: what it is made of is here."""

    _kept: tuple[str, ...] = ()

    def __init__(self, layer: Layer, q_config: Any):
        super().__init__()
        for name in self._kept:
            setattr(self, name, getattr(layer, name))
        self.weight, self.bias = layer.weight, layer.bias
        self.weight_quanter = None if q_config.weight is None else q_config.weight._instance(layer)
        self.activation_quanter = None if q_config.activation is None else q_config.activation._instance(layer)

    def _rounded(self, input: Any) -> tuple[Any, Any]:
        x = input if self.activation_quanter is None else self.activation_quanter(input)
        return x, self.weight if self.weight_quanter is None else self.weight_quanter(self.weight)

    def weights_to_quanters(self):
        return [("weight", "weight_quanter")]

    def activation_quanters(self):
        return ["activation_quanter"]


class QuantedLinear(_Quanted):
    """A Linear layer with quanters for its weight and its input. `QAT` and `PTQ` make it.

    Args:
        layer: the layer to take the parameters of.
        q_config: has `weight` and `activation`, factories of quanters, or None.

    Example:
        >>> from paddle.quantization.config import SingleLayerConfig
        >>> layer = paddle.nn.quant.qat.QuantedLinear(paddle.nn.Linear(2, 3), SingleLayerConfig(None, None))
        >>> layer(paddle.ones([1, 2])).shape
        [1, 3]
    """

    _kept = ("name",)

    def forward(self, input):
        x, weight = self._rounded(input)
        return F.linear(x, weight, self.bias)


class QuantedConv2D(_Quanted):
    """A Conv2D layer with quanters for its weight and its input; the arguments are those of QuantedLinear."""

    _kept = ("_stride", "_padding", "_padding_mode", "_around", "_dilation", "_groups", "_data_format")

    def forward(self, input):
        x, weight = self._rounded(input)
        padding = self._padding
        if self._around is not None:
            x, padding = F.pad(x, self._around, self._padding_mode, data_format=self._data_format), 0
        return F.conv2d(x, weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format)


class QuantedConv2DTranspose(_Quanted):
    """A Conv2DTranspose layer with quanters, for `QuantConfig.add_qat_layer_mapping`; see QuantedLinear."""

    _kept = ("_stride", "_padding", "output_padding", "_dilation", "_groups", "_data_format")

    def forward(self, input, output_size=None):
        x, weight = self._rounded(input)
        return F.conv2d_transpose(
            x,
            weight,
            self.bias,
            self._stride,
            self._padding,
            self.output_padding if output_size is None else 0,
            self._dilation,
            self._groups,
            output_size,
            self._data_format,
        )
