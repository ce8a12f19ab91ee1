"""Batch normalisation with fixed statistics, behind a convolution or a linear layer, becomes part of the weights."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ...engine.executable import TENSOR
from ...engine.op import registry
from ...engine.value import Value
from ..program import Graph, Operator, parameter_names
from .base import Uses, plain, register
from .cleanup import dead_code, new_state

# Of the kernels that a batch normalisation can be folded into: the axis of the weight that is the output channel.
_CHANNEL = {"conv1d": 0, "conv2d": 0, "conv3d": 0, "conv2d_transpose": 1, "conv3d_transpose": 1, "linear": -1}


@register("fold_batch_norm")
def fold_batch_norm(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """w * scale and (b - mean) * scale + shift, with scale = gamma / sqrt(variance + epsilon)."""
    uses = Uses(graph, wanted)
    new = graph.with_operators([])
    for operator in graph.block.operators:
        folded = _fold(new, uses, operator)
        if folded is not None:
            before, now = folded
            new.block.operators = [o for o in new.block.operators if o is not before]  # it goes where `operator` stood
            operator = now
        new.block.operators.append(operator)
    return dead_code(new, wanted)


def _fold(graph: Graph, uses: Uses, operator: Operator) -> tuple[Operator, Operator] | None:
    if operator.name != "batch_norm":
        return None
    arguments = operator.arguments()
    if plain(arguments["batch"]) or any(uses.readers.get(v) or v in uses.wanted for v in operator.outputs[1:]):
        return None
    before = uses.made_by(arguments["x"], *_CHANNEL)
    if before is None or uses.only_reader(before.outputs[0]) is not operator:
        return None
    given = before.arguments()
    if not _same_channels(before, given, arguments):
        return None
    arrays = [uses.array(arguments[n]) if arguments[n] is not None else None for n in _STATISTICS]
    weight = uses.array(given["weight"])
    bias = uses.array(given["bias"]) if given.get("bias") is not None else None
    if weight is None or any(a is None and arguments[n] is not None for a, n in zip(arrays, _STATISTICS)):
        return None
    if bias is None and given.get("bias") is not None:
        return None
    mean, variance, gamma, beta = arrays
    scale = 1 / np.sqrt(np.asarray(variance, np.float64) + float(plain(arguments["epsilon"])))
    scale = scale if gamma is None else scale * np.asarray(gamma, np.float64)
    shift = (0 if bias is None else np.asarray(bias, np.float64)) - np.asarray(mean, np.float64)
    shift = shift * scale + (0 if beta is None else np.asarray(beta, np.float64))
    shape = [1] * weight.ndim
    shape[_CHANNEL[before.name]] = -1
    stem = operator.outputs[0].name
    new_weight = new_state(
        graph, stem + ".weight", jnp.asarray(np.asarray(weight, np.float64) * scale.reshape(shape), weight.dtype)
    )
    new_bias = new_state(graph, stem + ".bias", jnp.asarray(shift, weight.dtype))
    return before, _with_weights(before, new_weight, new_bias, operator)


_STATISTICS = ("running_mean", "running_var", "weight", "bias")


def _same_channels(before: Operator, given: dict, arguments: dict) -> bool:
    """Whether the normalised axis is that of the output channels, and the types agree."""
    normalised_last = str(plain(arguments["data_format"])).endswith("C") and plain(arguments["data_format"]) != "NC"
    if before.name == "linear":
        return before.outputs[0].ndim == 2 or normalised_last
    if before.name.endswith("transpose") and plain(given["groups"]) != 1:
        return False
    last = str(plain(given["data_format"])).endswith("C")
    return last == normalised_last and before.outputs[0].dtype == np.float32


def _with_weights(before: Operator, weight: Value, bias: Value, after: Operator) -> Operator:
    names = parameter_names(before.kernel, len(before.key))
    key, inputs = [], []
    source = iter(before.inputs)
    for name, k in zip(names, before.key):
        given = next(source) if k is TENSOR else None
        if name in ("weight", "bias"):
            key.append(TENSOR)
            inputs.append(weight if name == "weight" else bias)
        else:
            key.append(k)
            if k is TENSOR:
                inputs.append(given)
    return Operator(registry[before.name], tuple(key), tuple(inputs), after.outputs[:1], False, None, after.line)
