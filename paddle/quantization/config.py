"""Which layers of a model are quantised, and how."""

from __future__ import annotations

from typing import Any

from .. import nn
from ..engine import errors
from ..nn.layer import Layer
from ..nn.quant.qat import QuantedConv2D, QuantedLinear
from ..nn.quant.stub import QuanterStub
from .factory import QuanterFactory
from .wrapper import ObserveWrapper

DEFAULT_QAT_LAYER_MAPPINGS: dict[type, type] = {
    nn.quant.Stub: QuanterStub,
    nn.Linear: QuantedLinear,
    nn.Conv2D: QuantedConv2D,
}
DEFAULT_LEAVES = (nn.ReLU, nn.AvgPool2D)


class SingleLayerConfig:
    """How one layer is quantised.

    Args:
        activation, weight: factories of quanters or observers, or None.

    Raises:
        TypeError: what is no factory.
    """

    def __init__(self, activation: QuanterFactory | None, weight: QuanterFactory | None):
        for name, given in (("activation", activation), ("weight", weight)):
            if given is not None and not hasattr(given, "_instance"):
                raise errors.TypeError_(
                    f"QuantConfig: {name} must be a factory of quanters or None, got {errors.describe(given)}"
                )
        self._activation, self._weight = activation, weight

    @property
    def activation(self) -> QuanterFactory | None:
        return self._activation

    @property
    def weight(self) -> QuanterFactory | None:
        return self._weight

    def __str__(self) -> str:
        return f"activation: {self._activation}\nweight: {self._weight}"


class QuantConfig:
    """How the layers of a model are quantised. What is said of a layer or its name counts more than what is said of its
    type, that more than what holds for the layer around it, and that more than what is said of all.

    Args:
        activation: the factory of the quanters of activations, for all layers; None for none.
        weight: the factory of the quanters of weights.

    Example:
        >>> from paddle.quantization.quanters import FakeQuanterWithAbsMaxObserver
        >>> quanter = FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        >>> config = paddle.quantization.QuantConfig(activation=None, weight=None)
        >>> config.add_type_config(paddle.nn.Linear, activation=quanter, weight=quanter)
        >>> config.global_config is None
        True
    """

    def __init__(self, activation: QuanterFactory | None, weight: QuanterFactory | None):
        none = activation is None and weight is None
        self._global_config = None if none else SingleLayerConfig(activation, weight)
        self._layer2config: dict[Layer, SingleLayerConfig] = {}
        self._prefix2config: dict[str, SingleLayerConfig] = {}
        self._type2config: dict[type, SingleLayerConfig] = {}
        self._model: Layer | None = None
        self._qat_layer_mapping = dict(DEFAULT_QAT_LAYER_MAPPINGS)
        self._customized_leaves: list[type] = []

    # ---- what the user says ----
    def add_layer_config(self, layer, activation=None, weight=None) -> None:
        """How a layer, or a list of layers, is quantised.

        Args:
            layer: a Layer of the model, or a list.
            activation, weight: factories of quanters, or None.
        """
        for each in layer if isinstance(layer, (list, tuple)) else [layer]:
            self.add_name_config(each.full_name(), activation, weight)

    def add_name_config(self, layer_name, activation=None, weight=None) -> None:
        """How the layers with these full names (`Layer.full_name()`) are quantised.

        Args:
            layer_name: a name or a list.
            activation, weight: factories of quanters, or None.
        """
        for each in layer_name if isinstance(layer_name, (list, tuple)) else [layer_name]:
            if isinstance(each, str):
                self._prefix2config[each] = SingleLayerConfig(activation, weight)

    def add_type_config(self, layer_type, activation=None, weight=None) -> None:
        """How all layers of a type are quantised.

        Args:
            layer_type: a class of layers or a list.
            activation, weight: factories of quanters, or None.
        """
        for each in layer_type if isinstance(layer_type, (list, tuple)) else [layer_type]:
            if isinstance(each, type) and issubclass(each, Layer):
                self._type2config[each] = SingleLayerConfig(activation, weight)

    def add_qat_layer_mapping(self, source, target) -> None:
        """Which class takes the place of a class of layers; it is made with (layer, SingleLayerConfig).

        Args:
            source, target: classes of layers.

        Raises:
            AssertionError: what is no class of layers.
        """
        for each, name in ((source, "source"), (target, "target")):
            assert isinstance(each, type) and issubclass(each, Layer), (
                f"(InvalidArgument) add_qat_layer_mapping: {name} must be a subclass of paddle.nn.Layer, got {each!r}"
            )
        self._qat_layer_mapping[source] = target

    def add_customized_leaf(self, layer_type) -> None:
        """Layers of this class are one whole: what is inside is not quantised.

        Args:
            layer_type: a class of layers.
        """
        self._customized_leaves.append(layer_type)

    # ---- what was said ----
    @property
    def customized_leaves(self) -> list[type]:
        return self._customized_leaves

    @property
    def qat_layer_mappings(self) -> dict[type, type]:
        return self._qat_layer_mapping

    @property
    def default_qat_layer_mapping(self) -> dict[type, type]:
        return DEFAULT_QAT_LAYER_MAPPINGS

    @property
    def global_config(self) -> SingleLayerConfig | None:
        return self._global_config

    # ---- what follows for a model ----
    def _specify(self, model: Layer) -> None:
        """Find the configuration of every layer."""
        self._model = model
        self._specify_inside(model)

    def _specify_inside(self, model: Layer) -> None:
        for child in model.children():
            found = self._layer2config.get(model, self._global_config)
            found = self._type2config.get(type(child), found)
            found = self._prefix2config.get(child.full_name(), found)
            if found is not None:
                self._layer2config[child] = found
            self._specify_inside(child)

    def _get_config_by_layer(self, layer: Layer) -> SingleLayerConfig | None:
        return self._layer2config.get(layer)

    def _is_quantifiable(self, layer: Layer) -> bool:
        return layer in self._layer2config

    def _is_leaf(self, layer: Layer) -> bool:
        return type(layer) in (*DEFAULT_LEAVES, *self._customized_leaves) or not layer._sub_layers

    def _need_observe(self, layer: Layer) -> bool:
        found = self._layer2config.get(layer)
        return found is not None and found.activation is not None and self._is_leaf(layer)

    def _get_qat_layer(self, layer: Layer) -> Layer:
        return self._qat_layer_mapping[type(layer)](layer, self._layer2config[layer])

    def _get_observe_wrapper(self, layer: Layer) -> ObserveWrapper:
        activation: Any = self._layer2config[layer].activation
        return ObserveWrapper(activation._instance(layer), layer)

    def details(self) -> str:
        """The configuration as text, layer by layer once a model was quantised with it."""
        return str(self) if self._model is None else self._details(self._model)

    def _details(self, layer: Layer) -> str:
        lines = []
        for name, child in layer.named_children():
            if child in self._layer2config:
                inside = self._details(child).replace("\n", "\n  ")
                lines.append(f"  ({name}): {inside}, {self._layer2config[child]}")
        inside = "\n" + "\n".join(lines) + "\n" if lines else ""
        return f"{type(layer).__name__}({inside})"

    def __str__(self) -> str:
        text = f"Global config:\n{self._global_config}\n"
        if self._type2config:
            text += f"Layer type config:\n{self._type2config}\n"
        if self._prefix2config:
            text += f"Layer prefix config: \n{self._prefix2config}\n"
        return text
