"""Linear layers whose weights are stored in 8 or 4 bits while activations stay as they are."""

from __future__ import annotations

import copy

from .. import nn
from ..engine import errors
from ..engine.modes import set_mode
from ..engine.parameter import as_parameter
from ..nn.layer import Layer
from ..ops.quantization import GROUPS, weight_only_linear, weight_quantize


class WeightOnlyLinear(Layer):
    """A Linear layer with a stored weight, see `paddle.nn.quant.weight_only_linear`.

    Args:
        layer: a Linear; its input features a multiple of 64, the output features of 16.
        algo: "weight_only_int8" or "weight_only_int4" (two numbers in a byte).
        group_size: -1 gives every output one scale; 64 or 128 one to so many inputs.

    Raises:
        ValueError: shapes that do not fit, another algo.

    Example:
        >>> layer = paddle.quantization.WeightOnlyLinear(paddle.nn.Linear(64, 32))
        >>> layer(paddle.ones([1, 64])).shape
        [1, 32]
    """

    def __init__(self, layer, algo="weight_only_int8", group_size=-1):
        super().__init__()
        self._width, self._group_size = "int4" if algo == "weight_only_int4" else "int8", group_size
        with set_mode(grad=False):
            stored, scale = weight_quantize(layer.weight.detach(), algo, None, group_size)
        self.weight = as_parameter(stored, layer.weight.name, False)
        self.weight_scale = as_parameter(scale, layer.weight.name + ".scale", False)
        self.bias = layer.bias

    def forward(self, input):
        return weight_only_linear(input, self.weight, self.bias, self.weight_scale, self._width, None, self._group_size)


def weight_only(model: Layer, algo: str = "weight_only_int8", group_size: int = -1, inplace: bool = False) -> Layer:
    """A model whose Linear layers store their weights in 8 or 4 bits; those whose shapes do not fit stay.

    Args:
        model: a Layer.
        algo, group_size: see WeightOnlyLinear.
        inplace: change the model itself.

    Raises:
        ValueError: another algo or group size.

    Example:
        >>> net = paddle.quantization.weight_only(paddle.nn.Sequential(paddle.nn.Linear(64, 32)))
        >>> type(net[0]).__name__
        'WeightOnlyLinear'
    """
    if algo not in ("weight_only_int8", "weight_only_int4") or group_size not in GROUPS:
        raise errors.ValueError_(
            "weight_only: algo must be 'weight_only_int8' or 'weight_only_int4' and group_size one of "
            f"{', '.join(map(str, GROUPS))}, got {algo!r}, {group_size!r}"
        )
    model = model if inplace else copy.deepcopy(model)
    for parent in model.sublayers(include_self=True):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear and not (
                child.weight.shape[0] % max(64, group_size) or child.weight.shape[1] % 16
            ):
                parent._sub_layers[name] = WeightOnlyLinear(child, algo, group_size)
    return model
