"""Training with rounding: the layers of a model are exchanged in place."""

from __future__ import annotations

from ... import nn
from ...engine import errors
from ...nn.layer import Layer
from ...nn.quant import quant_layers
from ..export import save_with_integers
from .fuse import fuse_conv_bn

_KINDS = {
    "Conv2D": (nn.Conv2D, quant_layers.QuantizedConv2D),
    "Linear": (nn.Linear, quant_layers.QuantizedLinear),
    "Conv2DTranspose": (nn.Conv2DTranspose, quant_layers.QuantizedConv2DTranspose),
}
_ELSEWHERE = ("ColumnParallelLinear", "RowParallelLinear")  # accepted; layers divided over devices are not quantised
_FUNCTIONS = (nn.quant.add, nn.quant.subtract, nn.quant.multiply, nn.quant.divide, nn.quant.matmul)


class ImperativeQuantAware:
    """Makes the layers of a model round their weights and inputs while they train, in place.

    Args:
        quantizable_layer_type: names or classes of layers: Conv2D, Linear, Conv2DTranspose.
        weight_quantize_type: "abs_max" or "channel_wise_abs_max".
        activation_quantize_type: "abs_max" or "moving_average_abs_max".
        weight_bits, activation_bits: widths of the integers.
        moving_rate: of running means.
        fuse_conv_bn: first put every BatchNorm2D behind a Conv2D into it.
        weight_preprocess_layer, act_preprocess_layer: classes of layers that run before the rounding.
        weight_quantize_layer, act_quantize_layer: classes of layers that round, in place of the types.
        onnx_format: accepted; what is written always has this form.

    Raises:
        ValueError: an unknown kind of layer or rounding.

    Example:
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 4))
        >>> _ = paddle.quantization.ImperativeQuantAware().quantize(net)
        >>> type(net[0]).__name__
        'QuantizedLinear'
    """

    def __init__(
        self,
        quantizable_layer_type=["Conv2D", "Linear", "Conv2DTranspose", "ColumnParallelLinear", "RowParallelLinear"],  # noqa: B006
        weight_quantize_type="abs_max",
        activation_quantize_type="moving_average_abs_max",
        weight_bits=8,
        activation_bits=8,
        moving_rate=0.9,
        fuse_conv_bn=False,
        weight_preprocess_layer=None,
        act_preprocess_layer=None,
        weight_quantize_layer=None,
        act_quantize_layer=None,
        onnx_format=False,
    ):
        names = [k if isinstance(k, str) else k.__name__ for k in quantizable_layer_type]
        for name in names:
            if name not in _KINDS and name not in _ELSEWHERE:
                raise errors.ValueError_(
                    f"ImperativeQuantAware: {name!r} cannot be quantised; there are {', '.join([*_KINDS, *_ELSEWHERE])}"
                )
        for value, allowed, argument in (
            (weight_quantize_type, ("abs_max", "channel_wise_abs_max"), "weight_quantize_type"),
            (activation_quantize_type, ("abs_max", "moving_average_abs_max"), "activation_quantize_type"),
        ):
            if value not in allowed:
                raise errors.ValueError_(
                    f"ImperativeQuantAware: {argument} must be one of {', '.join(allowed)}, got {value!r}"
                )
        self.fuse_conv_bn = fuse_conv_bn
        self._kinds = {_KINDS[n][0]: _KINDS[n][1] for n in names if n in _KINDS}
        self._moving_rate, self._activation_bits = moving_rate, activation_bits
        self._arguments = {
            "weight_bits": weight_bits,
            "activation_bits": activation_bits,
            "moving_rate": moving_rate,
            "weight_quantize_type": weight_quantize_type,
            "activation_quantize_type": activation_quantize_type,
            "weight_pre_layer": weight_preprocess_layer,
            "act_pre_layer": act_preprocess_layer,
            "weight_quant_layer": weight_quantize_layer,
            "act_quant_layer": act_quantize_layer,
        }

    def quantize(self, model):
        """Exchange the layers of a model, in place; those with an attribute `skip_quant` stay.

        Args:
            model: a Layer.

        Raises:
            AssertionError: what is no Layer.
        """
        assert isinstance(model, Layer), "(InvalidArgument) ImperativeQuantAware.quantize: model must be a Layer"
        if self.fuse_conv_bn:
            fuse_conv_bn(model)
        for parent in model.sublayers(include_self=True):
            for name, child in list(parent.named_children()):
                if getattr(child, "skip_quant", False) is True:
                    continue
                if type(child) in self._kinds:
                    parent._sub_layers[name] = self._kinds[type(child)](child, **self._arguments)
                elif isinstance(child, _FUNCTIONS):
                    parent._sub_layers[name] = quant_layers.FakeQuantMAOutputScaleLayer(
                        child, activation_bits=self._activation_bits, moving_rate=self._moving_rate
                    )
        return model

    def save_quantized_model(self, layer, path, input_spec=None, **config):
        """Write ``path.pdmodel`` and ``path.pdiparams`` with integer weights.

        Args:
            layer: what `quantize` changed.
            path: folder and beginning of the file names.
            input_spec: a list of InputSpec or example tensors; default: the shapes of the last call.
        """
        save_with_integers(layer, path, input_spec, **config)
