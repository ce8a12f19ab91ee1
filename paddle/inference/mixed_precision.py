"""Models in half precision: a pass over the graph, and the conversion of model files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.executable import TENSOR, Static
from ..engine.op import registry
from ..engine.tensor import _make
from ..engine.value import Value
from ..ir.program import Graph, Operator, Pullback, State
from .enums import PrecisionType

__all__ = ["convert_to_mixed_precision", "to_low_precision"]

# Operators whose sums or exponents need float32.
KEPT = {
    "softmax",
    "log_softmax",
    "layer_norm",
    "group_norm",
    "instance_norm",
    "rms_norm",
    "exp",
    "log",
    "logsumexp",
    "mean",
    "sum",
    "norm",
    "p_norm",
    "cumsum",
    "pow",
    "softplus",
}


def to_low_precision(graph: Graph, fetches: Iterable[Value], dtype: str, black_list: Iterable[str] = ()) -> Graph:
    """The graph with float32 computed as float16 or bfloat16. Inputs and outputs keep their types, and so do the
    operators in `KEPT` and in the black list; casts stand in between."""
    low = dtypes.to_dtype(dtype)
    kept = KEPT | set(black_list)
    wanted = set(fetches)
    new = graph.with_operators([])
    lowered: dict[Value, Value] = {}  # of a float32 value: its copy in low precision
    raised: dict[Value, Value] = {}  # and back, by the low one
    for name, state in graph.states.items():
        if state.value.dtype == np.float32 and state.tensor is not None and state.update is None:
            value = Value(name, state.value.trials, low.numpy)
            new.states[name] = State(name, value, _make(jnp.asarray(state.tensor._value, low.numpy)))
            lowered[state.value] = value
    for operator in graph.block.operators:
        _convert(new, operator, low, kept, wanted, lowered, raised)
    return new


def _convert(graph: Graph, operator: Operator, low: Any, kept: set, wanted: set, lowered: dict, raised: dict) -> None:
    operators = graph.block.operators
    if isinstance(operator, Pullback):
        raise errors.NotImplemented_("mixed precision of a graph with gradients; convert the model for inference")
    in_low = (
        operator.name not in kept
        and not getattr(operator.kernel, "blocks", ())
        and not operator.open
        and any(v.dtype == np.float32 for v in operator.outputs)
    )
    inputs = []
    for x in operator.inputs:
        if isinstance(x, Value) and in_low and x.dtype == np.float32:
            if x not in lowered:
                lowered[x] = Value(x.name + "_low", x.trials, low.numpy)
                operators.append(_cast(x, lowered[x], low))
            inputs.append(lowered[x])
        elif isinstance(x, Value) and not in_low and x in lowered:
            inputs.append(_raise(operators, x, lowered, raised))
        else:
            inputs.append(x)
    if not in_low:
        for x in operator.reads():
            if x in lowered:
                _raise(operators, x, lowered, raised)
        operators.append(operator.replaced(inputs=tuple(inputs)) if inputs != list(operator.inputs) else operator)
        return
    outputs = []
    for value in operator.outputs:
        if value.dtype == np.float32:
            lowered[value] = Value(value.name + "_low", value.trials, low.numpy)
            outputs.append(lowered[value])
        else:
            outputs.append(value)
    operators.append(operator.replaced(inputs=tuple(inputs), outputs=tuple(outputs)))
    for value in operator.outputs:
        if value in wanted and value in lowered:
            _raise(operators, value, lowered, raised)


def _raise(operators: list, value: Value, lowered: dict, raised: dict) -> Value:
    """The value in float32 again, under its own identity."""
    if value not in raised and not any(value in o.outputs for o in operators):
        operators.append(_cast(lowered[value], value, dtypes.float32))
    raised[value] = value
    return value


def _cast(x: Value, y: Value, dtype: Any) -> Operator:
    return Operator(registry["cast"], (TENSOR, Static(dtype)), (x,), (y,))


def convert_to_mixed_precision(
    model_file: str,
    params_file: str,
    mixed_model_file: str,
    mixed_params_file: str,
    mixed_precision: PrecisionType,
    backend: Any,
    keep_io_types: bool = True,
    black_list: Any = set(),  # noqa: B006, B008
    **kwargs: Any,
) -> None:
    """Write a model in half precision.

    Args:
        model_file, params_file: the model.
        mixed_model_file, mixed_params_file: what is written.
        mixed_precision: PrecisionType.Half or Bfloat16.
        backend: accepted.
        keep_io_types: must be True: inputs and outputs keep their types.
        black_list: operators that stay in float32.

    Raises:
        ValueError: another precision.
    """
    from ..interop.models import read_model, write_model

    names = {PrecisionType.Half: "float16", PrecisionType.Bfloat16: "bfloat16"}
    if mixed_precision not in names:
        raise errors.ValueError_("convert_to_mixed_precision: mixed_precision must be Half or Bfloat16")
    if not keep_io_types:
        raise errors.NotImplemented_("convert_to_mixed_precision: keep_io_types=False")
    with open(model_file, "rb") as program, open(params_file, "rb") as params:
        graph, feeds, fetches = read_model(program.read(), params.read())
    graph = to_low_precision(graph, fetches, names[mixed_precision], black_list)
    for path in (mixed_model_file, mixed_params_file):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    write_model(graph, feeds, fetches, mixed_model_file, mixed_params_file)
