"""From layers to programs and files with integers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..engine import errors
from ..engine.value import Value
from ..ir.passes import apply
from ..ir.program import Graph
from ..jit import files
from ..jit.saving import _program
from ..jit.static_function import StaticFunction
from ..nn.layer import Layer
from ..static.input_spec import InputSpec


def traced(layer: Layer, input_spec: Any = None) -> tuple[Graph, list[str], list[Value]]:
    """(graph with its arrays, names of the inputs, results) of a layer as it infers.

    Args:
        layer: a Layer.
        input_spec: a list of InputSpec or example tensors; default: the shapes of the last call, the first length open.

    Raises:
        ValueError: there is no description, and the layer was not called with tensors alone.
    """
    if input_spec is None:
        kinds = layer.__dict__.get("_last_call")
        if not kinds and not isinstance(layer.forward, StaticFunction):
            raise errors.ValueError_(
                f"quantization: nothing tells what the inputs of {type(layer).__name__} are: give input_spec, or call the "
                "model once with tensors"
            )
        input_spec = kinds and [InputSpec([None, *s[1:]] if s else [], d.name) for s, d in kinds]
    function = (
        layer.forward if isinstance(layer.forward, StaticFunction) else StaticFunction(layer.forward, full_graph=True)
    )
    training = [x for x in layer.sublayers(include_self=True) if x.training]
    for each in training:
        each.training = False
    try:
        found = _program(layer, function, input_spec, False)
    finally:
        for each in training:
            each.training = True
    return found.graph, list(found.graph.inputs), list(found.graph.block.outputs[: found.n_results])


def batches_of(data: Any, feeds: list[str]) -> Iterable[dict[str, Any]]:
    """Batches of a DataLoader or any iterable as dicts: each a dict, a tensor, or a list of which the first ones count."""
    for batch in data:
        if isinstance(batch, dict):
            yield batch
        else:
            found = batch if isinstance(batch, (list, tuple)) else [batch]
            if len(found) < len(feeds):
                raise errors.ValueError_(
                    f"quantization: a batch holds {len(found)} arrays, the inputs are {', '.join(feeds)}"
                )
            yield dict(zip(feeds, found))


def save_with_integers(layer: Layer, path: str, input_spec: Any = None, **configs: Any) -> None:
    """Write a layer that rounds: what it rounds becomes integers, of weights only those are kept.

    Args:
        layer: a Layer with rounding layers or quanters inside.
        path: folder and beginning of the file names.
        input_spec: a list of InputSpec or example tensors; default: the shapes of the last call.
        configs: accepted.

    Raises:
        ValueError: nothing tells what the inputs are.
    """
    graph, feeds, fetches = traced(layer, input_spec)
    graph = apply(graph, fetches, ["inference", "real_integers"])
    files.write_model(files.split_prefix(path, "save_quantized_model"), "forward", graph, feeds, fetches)
