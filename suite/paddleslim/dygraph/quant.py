"""Layers that round while they train, or after it, with the arguments of PaddleSlim."""

from __future__ import annotations

import copy
from typing import Any

from paddle import nn
from paddle.engine import errors
from paddle.nn.layer import Layer
from paddle.quantization import ImperativePTQ, ImperativeQuantAware, PTQConfig
from paddle.quantization.imperative import SUPPORT_ACT_QUANTIZERS, SUPPORT_WT_QUANTIZERS

_DEFAULTS: dict[str, Any] = {
    "weight_preprocess_type": None,
    "activation_preprocess_type": None,
    "weight_quantize_type": "channel_wise_abs_max",
    "activation_quantize_type": "moving_average_abs_max",
    "weight_bits": 8,
    "activation_bits": 8,
    "dtype": "int8",
    "window_size": 10000,
    "moving_rate": 0.9,
    "quantizable_layer_type": ["Conv2D", "Linear"],
    "fuse_conv_bn": False,
    "onnx_format": True,
}


class PACT(Layer):
    """Cuts activations off at a bound that is learned (Choi et al., 2018).

    Example:
        >>> import paddleslim
        >>> paddleslim.dygraph.PACT()(paddle.to_tensor([-200.0, 3.0])).tolist()
        [-100.0, 3.0]
    """

    def __init__(self) -> None:
        super().__init__()
        self.alpha = self.create_parameter([1], default_initializer=nn.initializer.Constant(100.0))

    def forward(self, x: Any) -> Any:
        """x between -alpha and alpha."""
        return x - nn.functional.relu(x - self.alpha) + nn.functional.relu(-self.alpha - x)


class QAT:
    """Makes the layers of a network round their weights and inputs while they train, in place.

    Args:
        config: a dict: `weight_quantize_type`, `activation_quantize_type`, `weight_bits`, `activation_bits`, `moving_rate`,
            `quantizable_layer_type`, `fuse_conv_bn`, `weight_preprocess_type` and `activation_preprocess_type` (None or
            "PACT"), and the other official keys.
        weight_preprocess, act_preprocess, weight_quantize, act_quantize: classes of layers, see
            `paddle.quantization.ImperativeQuantAware`.

    Raises:
        ValueError: an unknown key or kind.

    Example:
        >>> import paddleslim
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 4))
        >>> quanter = paddleslim.QAT({"weight_bits": 8})
        >>> _ = quanter.quantize(net); type(net[0]).__name__
        'QuantizedLinear'
        >>> quanter.save_quantized_model(net, "qat/model", [paddle.static.InputSpec([None, 4])])
    """

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        weight_preprocess: Any = None,
        act_preprocess: Any = None,
        weight_quantize: Any = None,
        act_quantize: Any = None,
    ):
        for key in config or {}:
            if key not in _DEFAULTS:
                raise errors.ValueError_(f"QAT: there is no setting {key!r}; there are {', '.join(_DEFAULTS)}")
        self.config = {**_DEFAULTS, **(config or {})}
        chosen = []
        for key, given in (
            ("weight_preprocess_type", weight_preprocess),
            ("activation_preprocess_type", act_preprocess),
        ):
            if self.config[key] not in (None, "PACT"):
                raise errors.ValueError_(f"QAT: {key} must be None or 'PACT', got {self.config[key]!r}")
            chosen.append(given if given is not None or self.config[key] is None else PACT)
        self._quanter = ImperativeQuantAware(
            quantizable_layer_type=self.config["quantizable_layer_type"],
            weight_quantize_type=self.config["weight_quantize_type"],
            activation_quantize_type=self.config["activation_quantize_type"],
            weight_bits=self.config["weight_bits"],
            activation_bits=self.config["activation_bits"],
            moving_rate=self.config["moving_rate"],
            fuse_conv_bn=self.config["fuse_conv_bn"],
            weight_preprocess_layer=chosen[0],
            act_preprocess_layer=chosen[1],
            weight_quantize_layer=weight_quantize,
            act_quantize_layer=act_quantize,
            onnx_format=self.config["onnx_format"],
        )

    def quantize(self, model: Layer, inplace: bool = True) -> Layer:
        """Make a network round.

        Args:
            model: a Layer.
            inplace: change it, else a copy.

        Returns:
            The network that rounds.
        """
        model = model if inplace else copy.deepcopy(model)
        self._quanter.quantize(model)
        return model

    def save_quantized_model(self, model: Layer, path: str, input_spec: Any = None) -> None:
        """Write the network with integers for `paddle.jit.load` and `paddle.inference`."""
        self._quanter.save_quantized_model(model, path, input_spec)


class PTQ:
    """Quantises a trained network after it has seen data.

    Args:
        activation_quantizer: "KLQuantizer", "AbsmaxQuantizer" or "HistQuantizer".
        weight_quantizer: "PerChannelAbsmaxQuantizer" or "AbsmaxQuantizer".
        kwargs: of the quantizer of activations.

    Raises:
        ValueError: an unknown name.
    """

    def __init__(
        self,
        activation_quantizer: str = "KLQuantizer",
        weight_quantizer: str = "PerChannelAbsmaxQuantizer",
        **kwargs: Any,
    ):
        kinds = {c.__name__: c for c in (*SUPPORT_ACT_QUANTIZERS, *SUPPORT_WT_QUANTIZERS)}
        for name in (activation_quantizer, weight_quantizer):
            if name not in kinds:
                raise errors.ValueError_(f"PTQ: there is no quantizer {name!r}; there are {', '.join(kinds)}")
        config = PTQConfig(kinds[activation_quantizer](**kwargs), kinds[weight_quantizer]())
        self._ptq = ImperativePTQ(config)

    def quantize(self, model: Layer, inplace: bool = False, fuse: bool = False, fuse_list: Any = None) -> Layer:
        """A network that watches what runs through it; run data through it next."""
        return self._ptq.quantize(model, inplace=inplace, fuse=fuse, fuse_list=fuse_list)

    def save_quantized_model(self, model: Layer, path: str, input_spec: Any = None, **kwargs: Any) -> None:
        """Write the network with integers."""
        self._ptq.save_quantized_model(model, path, input_spec, **kwargs)
