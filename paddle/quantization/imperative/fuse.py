"""Batch normalisation into the convolution before it, in a model of layers."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...engine import errors
from ...engine.modes import set_mode
from ...nn.layer import Layer


def _find(model: Layer, name: str) -> tuple[Layer, str]:
    """(the layer that holds a sublayer, its name there). ValueError when there is none."""
    *path, last = name.split(".")
    parent: Any = model
    for part in path:
        parent = parent._sub_layers.get(part) if parent is not None else None
    if parent is None or last not in parent._sub_layers:
        raise errors.ValueError_(f"fuse: the model has no sublayer {name!r}")
    return parent, last


def fuse_layers(model: Layer, names: list[list[str]] | None) -> Layer:
    """Put batch normalisations into the layers before them, in place.

    Args:
        model: a Layer.
        names: pairs of names of sublayers, a convolution or linear layer and the normalisation behind it.

    Raises:
        TypeError: no names.
        ValueError: a name that does not exist, layers that do not fit.
    """
    if names is None:
        raise errors.TypeError_("fuse: fuse_list must be a list of pairs of names of sublayers, got None")
    for pair in names:
        if len(pair) != 2:
            raise errors.ValueError_(f"fuse: a pair of names is wanted, got {pair}")
        (a, first), (b, second) = (_find(model, n) for n in pair)
        a._sub_layers[first] = fused(a._sub_layers[first], b._sub_layers[second])
        b._sub_layers[second] = nn.Identity()
    return model


def fuse_conv_bn(model: Layer) -> None:
    """Put every BatchNorm2D that follows a Conv2D among the sublayers of a layer into it, in place."""
    for layer in model.sublayers(include_self=True):
        before = None
        for name, child in list(layer.named_children()):
            if isinstance(child, nn.BatchNorm2D) and type(before) is nn.Conv2D:
                fused(before, child)
                layer._sub_layers[name] = nn.Identity()
            before = child


def fused(layer: Layer, norm: Layer) -> Layer:
    """The layer, changed in place, that also does what the normalisation behind it does with its running statistics."""
    if not isinstance(layer, (nn.Conv1D, nn.Conv2D, nn.Conv3D, nn.Linear)) or not hasattr(norm, "_variance"):
        raise errors.ValueError_(
            f"fuse: a convolution or linear layer and a batch normalisation are wanted, got {type(layer).__name__}, "
            f"{type(norm).__name__}"
        )
    with set_mode(grad=False):
        factor = (norm._variance + norm._epsilon).rsqrt()
        factor = factor if norm.weight is None else factor * norm.weight
        shift = -norm._mean * factor
        shift = shift if norm.bias is None else shift + norm.bias
        if layer.bias is not None:
            shift = shift + layer.bias * factor
        wide = factor.reshape([1, -1] if isinstance(layer, nn.Linear) else [-1] + [1] * (layer.weight.ndim - 1))
        layer.weight.set_value(layer.weight * wide)
        if layer.bias is None:
            layer.bias = layer.create_parameter([factor.shape[0]], is_bias=True)
        layer.bias.set_value(shift)
    return layer
