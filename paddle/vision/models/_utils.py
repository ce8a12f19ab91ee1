"""What the networks share: widths, weights by name, parts of networks."""

from __future__ import annotations

import os
from typing import Any

from ... import nn
from ...engine import errors
from ...utils.download import cache_home, get_weights_path_from_url
from ..ops import ConvNormActivation

__all__ = ["ConvNormActivation", "IntermediateLayerGetter", "load_weights"]

Weights = dict[str, tuple[str, str]]


def _make_divisible(v: float, divisor: int = 8, min_value: int | None = None) -> int:
    """A width rounded to a multiple of `divisor`, never by more than a tenth downwards."""
    rounded = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * v else rounded


def load_weights(model: nn.Layer, arch: str, urls: Weights) -> None:
    """Sets the weights that are published for an architecture, from the cache or the network.

    Raises:
        RuntimeError: they are in neither; the message says which file to put where.
    """
    from ...framework.io import load

    if arch in urls:
        path = get_weights_path_from_url(*urls[arch])
    else:
        path = os.path.join(cache_home(), "hapi", "weights", f"{arch}.pdparams")
        if not os.path.isfile(path):
            raise errors.Unavailable(
                f"{arch}: there are no published weights. Put your own there as {path}, or use pretrained=False"
            )
    model.set_state_dict(load(path))


class IntermediateLayerGetter(nn.LayerDict):
    """The first sub-layers of a network, run in order; returns the outputs of the chosen ones.

    Args:
        model: its direct sub-layers are used in the order of their definition.
        return_layers: {name of a sub-layer: name in the result}.

    Example:
        >>> net = paddle.nn.Sequential(("a", paddle.nn.Linear(2, 3)), ("b", paddle.nn.ReLU()))
        >>> from paddle.vision.models._utils import IntermediateLayerGetter
        >>> list(IntermediateLayerGetter(net, {"b": "out"})(paddle.ones([1, 2])))
        ['out']
    """

    def __init__(self, model: nn.Layer, return_layers: dict[str, str]):
        children = dict(model.named_children())
        unknown = set(return_layers) - set(children)
        if unknown:
            raise errors.ValueError_(f"IntermediateLayerGetter: return_layers, the model has no {sorted(unknown)}")
        last = max(list(children).index(name) for name in return_layers)
        super().__init__(dict(list(children.items())[: last + 1]))
        self.return_layers = dict(return_layers)

    def forward(self, x: Any) -> dict[str, Any]:
        outputs = {}
        for name, layer in self.items():
            x = layer(x.flatten(1) if isinstance(layer, nn.Linear) and x.ndim == 4 else x)
            if name in self.return_layers:
                outputs[self.return_layers[name]] = x
        return outputs
