"""Layers for training with quantisation in mind: values are rounded as integers would round them, and the gradient passes
as if they were not (Jacob et al., "Quantization and Training of Neural Networks", 2018).
"""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.modes import set_mode
from ...ops.quantization import fake_quantize, largest_magnitude
from ...utils import unique_name
from .. import functional as F
from ..initializer import Constant
from ..layer import Layer
from ..parameter import ParamAttr

__all__ = [
    "FakeQuantAbsMax",
    "FakeQuantMovingAverageAbsMax",
    "FakeQuantChannelWiseAbsMax",
    "QuantizedConv2D",
    "QuantizedConv2DTranspose",
    "QuantizedLinear",
    "MovingAverageAbsMaxScale",
    "MAOutputScaleLayer",
    "FakeQuantMAOutputScaleLayer",
    "QuantStub",
    "QuantizedRowParallelLinear",
    "QuantizedColumnParallelLinear",
    "QuantizedMatmul",
]


class _Scaled(Layer):
    """What the layers share that keep a scale: statistics that are saved but not trained."""

    def _statistic(self, value: float, length: int, dtype: Any, name: str | None) -> Any:
        attr = ParamAttr(name and unique_name.generate(name), Constant(value), trainable=False)
        return self.create_parameter([length], attr, dtype)

    def _observe(self, input: Any, axis: int | None = None) -> Any:
        with set_mode(grad=False):
            return largest_magnitude(input.detach(), axis)


class FakeQuantAbsMax(_Scaled):
    """Rounds to integers of the scale max |input|.

    Args:
        name: prefix of the scale's name.
        quant_bits: width of the integers.
        dtype: of the scale.
        quant_on_weight: keep the scale, as a buffer.
        reduce_type: accepted; scales of several devices are not combined.

    Example:
        >>> paddle.nn.quant.quant_layers.FakeQuantAbsMax(quant_bits=3)(paddle.to_tensor([0.3, 1.5])).tolist()
        [0.5, 1.5]
    """

    def __init__(self, name=None, quant_bits=8, dtype="float32", quant_on_weight=False, reduce_type=None):
        super().__init__()
        self._quant_bits, self._reduce_type = quant_bits, reduce_type
        self._scale = self._statistic(0.001, 1, dtype, name and f"{name}.scale") if quant_on_weight else None

    def forward(self, input):
        scale = self._observe(input)
        if self._scale is not None:
            self._scale.set_value(scale)
        return fake_quantize(input, scale, self._quant_bits, None)


class FakeQuantChannelWiseAbsMax(_Scaled):
    """Rounds a weight to integers, each channel with a scale of its own.

    Args:
        name, quant_bits, dtype, reduce_type: see FakeQuantAbsMax.
        channel_num: number of channels.
        quant_axis: the axis of the channels.
        quant_on_weight: must be True.

    Raises:
        AssertionError: quant_on_weight is False.
        TypeError: no channel_num.
    """

    def __init__(
        self,
        name=None,
        channel_num=None,
        quant_bits=8,
        quant_axis=0,
        dtype="float32",
        quant_on_weight=False,
        reduce_type=None,
    ):
        assert quant_on_weight, "(InvalidArgument) FakeQuantChannelWiseAbsMax: it is for weights: quant_on_weight=True"
        super().__init__()
        if not isinstance(channel_num, int):
            raise errors.TypeError_(f"FakeQuantChannelWiseAbsMax: channel_num must be an int, got {channel_num!r}")
        self._quant_bits, self._quant_axis, self._channel_num = quant_bits, quant_axis, channel_num
        self._reduce_type = reduce_type
        self._scale = self._statistic(0.0, channel_num, dtype, name and f"{name}.scale")

    def forward(self, input):
        scale = self._observe(input, self._quant_axis)
        self._scale.set_value(scale)
        return fake_quantize(input, scale, self._quant_bits, self._quant_axis)


class MovingAverageAbsMaxScale(_Scaled):
    """Passes its input on, and in training keeps a running mean of max |input| in `_scale`.

    Args:
        name: prefix of the names of the statistics.
        moving_rate: what is kept of the mean at each step.
        dtype: of the statistics.
        reduce_type: accepted.

    Example:
        >>> stub = paddle.nn.quant.QuantStub()
        >>> _ = stub(paddle.to_tensor([-2.0, 1.0])); stub._scale.tolist()
        [2.0]
    """

    _start = (0.0, 0.0, 0.0)

    def __init__(self, name=None, moving_rate=0.9, dtype="float32", reduce_type=None):
        super().__init__()
        self._moving_rate, self._reduce_type = moving_rate, reduce_type
        for key, value in zip(("scale", "state", "accum"), self._start):
            setattr(self, "_" + key, self._statistic(value, 1, dtype, name and f"{name}.{key}"))

    def _follow(self, input):
        """Take the input into the mean."""
        largest = self._observe(input)
        with set_mode(grad=False):
            state = self._state * self._moving_rate + 1
            accum = self._accum * self._moving_rate + largest
            for kept, value in ((self._state, state), (self._accum, accum), (self._scale, accum / state)):
                kept.set_value(value)

    def forward(self, input):
        if self.training:
            self._follow(input)
        return input * 1


QuantStub = MovingAverageAbsMaxScale


class FakeQuantMovingAverageAbsMax(MovingAverageAbsMaxScale):
    """Rounds to integers whose scale is a running mean of max |input|.

    Args:
        name, moving_rate, dtype, reduce_type: see MovingAverageAbsMaxScale.
        quant_bits: width of the integers.
    """

    _start = (0.001, 1.0, 1.0)

    def __init__(self, name=None, moving_rate=0.9, quant_bits=8, dtype="float32", reduce_type=None):
        super().__init__(name, moving_rate, dtype, reduce_type)
        self._quant_bits = quant_bits

    def forward(self, input):
        if self.training:
            self._follow(input)
        return fake_quantize(input, self._scale.detach(), self._quant_bits, None)


_QUANTIZERS = {
    "abs_max": FakeQuantAbsMax,
    "moving_average_abs_max": FakeQuantMovingAverageAbsMax,
    "channel_wise_abs_max": FakeQuantChannelWiseAbsMax,
}


class _Quantized(Layer):
    """A layer whose weight and input are rounded first. The layer itself stays outside: only its parameters are here."""

    _axis = 0  # of the output channels in the weight

    def __init__(
        self,
        layer,
        weight_bits=8,
        activation_bits=8,
        moving_rate=0.9,
        weight_quantize_type="abs_max",
        activation_quantize_type="abs_max",
        weight_pre_layer=None,
        act_pre_layer=None,
        weight_quant_layer=None,
        act_quant_layer=None,
    ):
        super().__init__()
        self._of = (layer,)
        self.weight, self.bias = layer.weight, layer.bias
        self._fake_quant_weight = (
            weight_quant_layer()
            if weight_quant_layer is not None
            else _quantizer(weight_quantize_type, weight_bits, moving_rate, layer.weight, self._axis)
        )
        self._fake_quant_input = (
            act_quant_layer()
            if act_quant_layer is not None
            else _quantizer(activation_quantize_type, activation_bits, moving_rate)
        )
        self._act_preprocess = act_pre_layer() if act_pre_layer is not None else None
        self._weight_preprocess = weight_pre_layer() if weight_pre_layer is not None else None

    def _rounded(self, input):
        """(input, weight), both rounded."""
        weight = self.weight
        if self._act_preprocess is not None:
            input = self._act_preprocess(input)
        if self._weight_preprocess is not None:
            weight = self._weight_preprocess(weight)
        return self._fake_quant_input(input), self._fake_quant_weight(weight)


def _quantizer(kind, bits, rate, weight=None, axis=0):
    """A rounding layer by its official name; `weight` is what it is for, None for activations."""
    if kind not in _QUANTIZERS:
        raise KeyError(f"(InvalidArgument) {kind!r} is no kind of rounding; there are {', '.join(_QUANTIZERS)}")
    name = weight.name if weight is not None else None
    if kind == "moving_average_abs_max":
        return FakeQuantMovingAverageAbsMax(name, rate, bits)
    if kind == "abs_max":
        return FakeQuantAbsMax(name, bits, quant_on_weight=weight is not None)
    return FakeQuantChannelWiseAbsMax(
        name, weight.shape[axis] if weight is not None else None, bits, axis, quant_on_weight=weight is not None
    )


class QuantizedLinear(_Quantized):
    """A Linear layer that rounds its weight and its input.

    Args:
        layer: the layer to take the parameters of.
        weight_bits, activation_bits: width of the integers.
        moving_rate: of running means.
        weight_quantize_type, activation_quantize_type: "abs_max", "moving_average_abs_max" or "channel_wise_abs_max".
        weight_pre_layer, act_pre_layer: classes of layers to run before the rounding.
        weight_quant_layer, act_quant_layer: classes that round, in place of the types.

    Raises:
        KeyError: a type that does not exist.

    Example:
        >>> layer = paddle.nn.quant.quant_layers.QuantizedLinear(paddle.nn.Linear(2, 3))
        >>> layer(paddle.ones([1, 2])).shape
        [1, 3]
    """

    _axis = 1

    def forward(self, input):
        x, weight = self._rounded(input)
        return F.linear(x, weight, self.bias)


class QuantizedConv2D(_Quantized):
    """A Conv2D layer that rounds its weight and its input; the arguments are those of QuantizedLinear."""

    def forward(self, input):
        (layer,) = self._of
        x, weight = self._rounded(input)
        x, padding = layer._padded(x)
        return F.conv2d(
            x, weight, self.bias, layer._stride, padding, layer._dilation, layer._groups, layer._data_format
        )


class QuantizedConv2DTranspose(_Quantized):
    """A Conv2DTranspose layer that rounds its weight and its input; the arguments are those of QuantizedLinear."""

    _axis = 1

    def forward(self, input, output_size=None):
        (layer,) = self._of
        x, weight = self._rounded(input)
        return F.conv2d_transpose(
            x,
            weight,
            self.bias,
            layer._stride,
            layer._padding,
            layer.output_padding if output_size is None else 0,
            layer._dilation,
            layer._groups,
            output_size,
            layer._data_format,
        )


class QuantizedColumnParallelLinear(QuantizedLinear):
    """Not built: a Linear layer divided by columns over devices that rounds; the arguments are those of QuantizedLinear."""

    def forward(self, input):
        raise errors.NotImplemented_("QuantizedColumnParallelLinear: layers that are divided over devices")


class QuantizedRowParallelLinear(QuantizedLinear):
    """Not built: a Linear layer divided by rows over devices that rounds; the arguments are those of QuantizedLinear."""

    def forward(self, input):
        raise errors.NotImplemented_("QuantizedRowParallelLinear: layers that are divided over devices")


class QuantizedMatmul(Layer):
    """A product of two matrices that rounds both.

    Args:
        layer: accepted for compatibility.
        weight_bits, weight_quantize_type, weight_pre_layer, weight_quant_layer: for y, see QuantizedLinear.
        activation_bits, activation_quantize_type, act_pre_layer, act_quant_layer: for x.
        moving_rate: of running means.
    """

    def __init__(
        self,
        layer=None,
        weight_bits=8,
        activation_bits=8,
        moving_rate=0.9,
        weight_quantize_type="abs_max",
        activation_quantize_type="abs_max",
        weight_pre_layer=None,
        act_pre_layer=None,
        weight_quant_layer=None,
        act_quant_layer=None,
    ):
        super().__init__()

        def make(given, bits):
            return given() if given is not None else _quantizer(activation_quantize_type, bits, moving_rate)

        self._fake_quant_x, self._fake_quant_y = (make(act_quant_layer, activation_bits) for _ in range(2))
        self._act_preprocess_x, self._act_preprocess_y = (
            act_pre_layer() if act_pre_layer is not None else None for _ in range(2)
        )

    def forward(self, x, y, transpose_x=False, transpose_y=False, name=None):
        if self._act_preprocess_x is not None:
            x, y = self._act_preprocess_x(x), self._act_preprocess_y(y)
        return self._fake_quant_x(x).matmul(self._fake_quant_y(y), transpose_x, transpose_y)


class MAOutputScaleLayer(Layer):
    """A layer, and a running mean of the largest magnitude of its output.

    Args:
        layer: the layer.
        moving_rate, name, dtype, reduce_type: see MovingAverageAbsMaxScale.
    """

    def __init__(self, layer=None, moving_rate=0.9, name=None, dtype="float32", reduce_type=None):
        super().__init__()
        self._layer = layer
        name = name or getattr(layer, "_full_name", None)
        self._ma_output_scale = MovingAverageAbsMaxScale(name, moving_rate, dtype, reduce_type)

    def forward(self, *inputs, **kwargs):
        out = self._layer(*inputs, **kwargs)
        return out if isinstance(out, (list, tuple, dict)) else self._ma_output_scale(out)


class FakeQuantMAOutputScaleLayer(Layer):
    """A layer whose output is rounded, with a running mean as the scale.

    Args:
        layer: the layer.
        weight_bits: accepted for compatibility.
        activation_bits: width of the integers.
        moving_rate, name, reduce_type: see FakeQuantMovingAverageAbsMax.
    """

    def __init__(
        self, layer, weight_bits=8, activation_bits=8, moving_rate=0.9, name=None, reduce_type=None, *args, **kwargs
    ):
        super().__init__()
        self._layer = layer
        self._fake_quant_output = FakeQuantMovingAverageAbsMax(
            name, moving_rate, activation_bits, reduce_type=reduce_type
        )

    def forward(self, *inputs, **kwargs):
        out = self._layer(*inputs, **kwargs)
        return out if isinstance(out, (list, tuple, dict)) else self._fake_quant_output(out)
