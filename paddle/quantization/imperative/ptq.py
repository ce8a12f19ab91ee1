"""Post-training quantisation by hooks: every layer has quantizers of its own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ... import nn
from ...engine import errors
from ...nn.layer import Layer
from ...nn.quant import quant_layers
from ..export import save_with_integers
from .fuse import _find, fuse_layers
from .ptq_quantizer import (
    SUPPORT_ACT_QUANTIZERS,
    SUPPORT_WT_QUANTIZERS,
    AbsmaxQuantizer,
    BaseQuantizer,
    KLQuantizer,
    PerChannelAbsmaxQuantizer,
)


class PTQConfig:
    """The quantizers of one layer: copies of those given.

    Args:
        activation_quantizer: for inputs and outputs.
        weight_quantizer: for weights.

    Raises:
        AssertionError: a quantizer of another kind.

    Example:
        >>> from paddle.quantization import AbsmaxQuantizer, PTQConfig
        >>> PTQConfig(AbsmaxQuantizer(), AbsmaxQuantizer()).wt_quantizer.quant_bits
        8
    """

    def __init__(self, activation_quantizer: BaseQuantizer, weight_quantizer: BaseQuantizer):
        for given, allowed in (
            (activation_quantizer, SUPPORT_ACT_QUANTIZERS),
            (weight_quantizer, SUPPORT_WT_QUANTIZERS),
        ):
            names = ", ".join(c.__name__ for c in allowed)
            assert isinstance(given, tuple(allowed)), (
                f"(InvalidArgument) PTQConfig: one of {names} is wanted, got {given!r}"
            )
        self.in_act_quantizer = copy.deepcopy(activation_quantizer)
        self.out_act_quantizer = copy.deepcopy(activation_quantizer)
        self.wt_quantizer = copy.deepcopy(weight_quantizer)
        self.quant_hook_handle: Any = None
        self.enable_in_act_quantizer = False


default_ptq_config = PTQConfig(KLQuantizer(), PerChannelAbsmaxQuantizer())


class LayerInfo:
    """The official names of what a layer reads and gives."""

    def __init__(self, layer: type, input_names: list[str], weight_names: list[str], output_names: list[str]):
        self.layer, self.input_names = layer, input_names
        self.weight_names, self.output_names = weight_names, output_names


class PTQRegistry:
    """Which layers are quantised.

    Example:
        >>> paddle.quantization.PTQRegistry.is_supported_layer(paddle.nn.Linear(1, 1))
        True
    """

    supported_layers_map: dict[type, LayerInfo] = {
        nn.Conv2D: LayerInfo(nn.Conv2D, ["Input"], ["Filter"], ["Output"]),
        nn.Linear: LayerInfo(nn.Linear, ["X"], ["Y"], ["Out"]),
        nn.BatchNorm2D: LayerInfo(nn.BatchNorm2D, ["X"], [], ["Y"]),
        nn.quant.add: LayerInfo(nn.quant.add, ["X", "Y"], [], ["Out"]),
    }
    for _kind in (
        nn.AdaptiveMaxPool2D, nn.AdaptiveAvgPool2D, nn.AvgPool2D, nn.MaxPool2D, nn.ReLU, nn.ReLU6, nn.Hardswish,
        nn.Swish, nn.Sigmoid, nn.Softmax, nn.Tanh,
    ):  # fmt: skip
        supported_layers_map[_kind] = LayerInfo(_kind, ["X"], [], ["Out"])
    registered_layers_map: dict[type, LayerInfo] = {
        **supported_layers_map,
        quant_layers.QuantizedConv2D: LayerInfo(quant_layers.QuantizedConv2D, ["Input"], ["Filter"], ["Output"]),
        quant_layers.QuantizedLinear: LayerInfo(quant_layers.QuantizedLinear, ["X"], ["Y"], ["Out"]),
    }
    is_inited = True
    del _kind

    @classmethod
    def _find(cls, layer: Any, kinds: Any) -> type | None:
        return next((k for k in kinds if layer is k or isinstance(layer, k)), None)

    @classmethod
    def is_supported_layer(cls, layer):
        """Whether a layer, or a class of layers, can be quantised."""
        return cls._find(layer, cls.supported_layers_map) is not None

    @classmethod
    def is_registered_layer(cls, layer):
        """Whether `layer_info` knows a layer or a class."""
        return cls._find(layer, cls.registered_layers_map) is not None

    @classmethod
    def is_simulated_quant_layer(cls, layer):
        """Whether a layer, or a class, has a weight that is quantised."""
        return cls._find(layer, (nn.Conv2D, nn.Linear)) is not None

    @classmethod
    def layer_info(cls, layer):
        """The LayerInfo of a layer or a class. AssertionError for others."""
        found = cls._find(layer, cls.registered_layers_map)
        assert found is not None, f"(NotFound) layer_info: {layer!r} is not registered"
        return cls.registered_layers_map[found]


def _watch(layer: Layer, inputs: Any, outputs: Any) -> None:
    config: Any = layer._quant_config
    if config.enable_in_act_quantizer:
        config.in_act_quantizer.sample_data(layer, inputs)
    config.out_act_quantizer.sample_data(layer, (outputs,))


class ImperativePTQ:
    """Post-training quantisation: `quantize` a model, run it on some data, `save_quantized_model`.

    Args:
        quant_config: the quantizers; by default thresholds by divergence, weights by channel.

    Raises:
        AssertionError: what is no PTQConfig.

    Example:
        >>> import tempfile
        >>> ptq = paddle.quantization.ImperativePTQ()
        >>> net = ptq.quantize(paddle.nn.Sequential(paddle.nn.Linear(4, 4)).eval())
        >>> _ = net(paddle.ones([2, 4]))
        >>> path = tempfile.mkdtemp() + "/int8"
        >>> ptq.save_quantized_model(net, path, [paddle.static.InputSpec([None, 4])])
        >>> paddle.jit.load(path)(paddle.ones([1, 4])).shape
        [1, 4]
    """

    def __init__(self, quant_config: PTQConfig = default_ptq_config):
        assert isinstance(quant_config, PTQConfig), "(InvalidArgument) ImperativePTQ: quant_config must be a PTQConfig"
        self._quant_config = quant_config

    def quantize(self, model, inplace=False, fuse=False, fuse_list=None):
        """The model with quantizers that watch it.

        Args:
            model: a Layer.
            inplace: change the model itself.
            fuse: first put the batch normalisations of `fuse_list` into the layers before them.
            fuse_list: pairs of names of sublayers.

        Raises:
            AssertionError: what is no Layer.
            TypeError: `fuse` without `fuse_list`.
        """
        assert isinstance(model, Layer), "(InvalidArgument) ImperativePTQ.quantize: model must be a Layer"
        model = model if inplace else copy.deepcopy(model)
        if fuse:
            model.eval()
            fuse_layers(model, fuse_list)
        for layer in model.sublayers():
            skipped = getattr(layer, "skip_quant", False) is True
            if PTQRegistry.is_supported_layer(layer) and not layer.sublayers() and not skipped:
                config = copy.deepcopy(self._quant_config)
                config.enable_in_act_quantizer = PTQRegistry.is_simulated_quant_layer(layer)
                layer._quant_config = config
                config.quant_hook_handle = layer.register_forward_post_hook(_watch, prepend=True)
        return model

    def save_quantized_model(self, model, path, input_spec=None, **config):
        """Quantise what `quantize` gave, in place, and write ``path.pdmodel`` and ``path.pdiparams``.

        Args:
            model: it.
            path: folder and beginning of the file names.
            input_spec: a list of InputSpec or example tensors; default: the shapes of the last call.

        Raises:
            AssertionError: what is no Layer.
            ValueError: a layer saw no data.
        """
        assert isinstance(model, Layer), "(InvalidArgument) ImperativePTQ.save_quantized_model: model must be a Layer"
        self._convert(model)
        save_with_integers(model, path, input_spec, **config)

    def _convert(self, model: Layer) -> None:
        watched = [(n, x) for n, x in model.named_sublayers() if hasattr(x, "_quant_config")]
        for name, layer in watched:
            config = layer._quant_config
            config.quant_hook_handle.remove()
            if not PTQRegistry.is_simulated_quant_layer(layer):
                continue
            config.in_act_quantizer.cal_thresholds()
            if not config.in_act_quantizer.thresholds:
                raise errors.ValueError_(f"ImperativePTQ: the layer {name!r} saw no data; run the model first")
            parent, last = _find(model, name)
            parent._sub_layers[last] = _simulated(layer, config)


def _simulated(layer: Layer, config: PTQConfig) -> Layer:
    """The layer that rounds, with the thresholds that were found."""
    whole = isinstance(config.wt_quantizer, AbsmaxQuantizer)
    kind = quant_layers.QuantizedLinear if isinstance(layer, nn.Linear) else quant_layers.QuantizedConv2D
    made = kind(
        layer,
        weight_quantize_type="abs_max" if whole else "channel_wise_abs_max",
        activation_quantize_type="moving_average_abs_max",
        weight_bits=config.wt_quantizer.quant_bits,
        activation_bits=config.in_act_quantizer.quant_bits,
    )
    config.wt_quantizer.sample_data(layer, (layer.weight,))
    config.wt_quantizer.cal_thresholds()
    for quanter, thresholds in (
        (made._fake_quant_input, config.in_act_quantizer.thresholds),
        (made._fake_quant_weight, config.wt_quantizer.thresholds),
    ):
        quanter._scale.set_value(np.asarray(thresholds, np.float32).reshape(-1))
    made.training = layer.training
    for quanter in made.sublayers():
        quanter.training = layer.training
    return made
