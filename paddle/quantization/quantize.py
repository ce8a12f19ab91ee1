"""From a model to one with quanters, and from that to one with integers."""

from __future__ import annotations

import abc
import copy

from ..nn.layer import Layer
from ..nn.quant.format import ConvertibleQuantedLayer, LinearQuanterDequanter
from .base_quanter import BaseQuanter
from .config import QuantConfig


class Quantization(metaclass=abc.ABCMeta):
    """What QAT and PTQ share.

    Args:
        config: which layers are quantised, and how; a copy is taken.
    """

    def __init__(self, config: QuantConfig):
        self._config = copy.deepcopy(config)

    @abc.abstractmethod
    def quantize(self, model: Layer, inplace: bool = False) -> Layer:
        """The model with quanters."""

    def _prepare(self, model: Layer) -> Layer:
        self._config._specify(model)
        self._convert_to_quant_layers(model, self._config)
        self._insert_activation_observers(model, self._config)
        return model

    def _convert_to_quant_layers(self, model: Layer, config: QuantConfig) -> None:
        for name, child in list(model.named_children()):
            if config._is_quantifiable(child) and type(child) in config.qat_layer_mappings:
                model._sub_layers[name] = config._get_qat_layer(child)
            else:
                self._convert_to_quant_layers(child, config)

    def _insert_activation_observers(self, model: Layer, config: QuantConfig) -> None:
        for name, child in list(model.named_children()):
            if config._need_observe(child):
                model._sub_layers[name] = config._get_observe_wrapper(child)
            elif type(child) not in config.qat_layer_mappings.values():
                self._insert_activation_observers(child, config)

    def convert(self, model: Layer, inplace: bool = False, remain_weight: bool = False) -> Layer:
        """The model for use: weights are integers, and every quanter is a pair of `quantize_linear` and
        `dequantize_linear`. `paddle.jit.save` writes it, about a quarter as large.

        Args:
            model: what `quantize` gave, after training or calibration.
            inplace: change the model itself.
            remain_weight: leave the weights floating; they are then rounded at each call.

        Raises:
            ValueError: an observer of activations has seen no data.

        Example:
            >>> from paddle.quantization import PTQ, QuantConfig
            >>> from paddle.quantization.observers import AbsmaxObserver
            >>> ptq = PTQ(QuantConfig(activation=AbsmaxObserver(), weight=AbsmaxObserver()))
            >>> net = paddle.nn.Sequential(paddle.nn.Linear(2, 2)).eval()
            >>> watched = ptq.quantize(net)
            >>> _ = watched(paddle.ones([1, 2]))
            >>> ptq.convert(watched)[0].weight.dtype
            paddle.int8
        """
        model = model if inplace else copy.deepcopy(model)
        for name, child in list(model.named_children()):
            if isinstance(child, ConvertibleQuantedLayer):
                if not child.converted and _has_scales(child):
                    child._convert(remain_weight=remain_weight)
            elif isinstance(child, BaseQuanter):
                model._sub_layers[name] = LinearQuanterDequanter.from_quanter(child)
            else:
                self.convert(child, True, remain_weight)
        return model

    def _details(self) -> str:
        return self._config.details()

    def __str__(self) -> str:
        return self._details()

    __repr__ = __str__


def _has_scales(layer: ConvertibleQuantedLayer) -> bool:
    """Whether the weights of a layer can become integers; where they cannot, the layer stays as it is."""
    found = [getattr(layer, quanter, None) for _, quanter in layer.weights_to_quanters()]
    return all(q is not None and q.scales() is not None for q in found)
