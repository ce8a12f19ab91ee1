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
from ..ir.record import infer
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
    whole = set(graph.inputs.values())  # what is there in its own type
    for name, state in graph.states.items():
        if state.value.dtype == np.float32 and state.tensor is not None and state.update is None:
            value = Value(name, state.value.trials, low.numpy)
            new.states[name] = State(name, value, _make(jnp.asarray(state.tensor._value, low.numpy)))
            lowered[state.value] = value
        else:
            whole.add(state.value)
    for operator in graph.block.operators:
        _convert(new, operator, low, kept, wanted, lowered, whole)
    return new


def _convert(graph: Graph, operator: Operator, low: Any, kept: set, wanted: set, lowered: dict, whole: set) -> None:
    operators = graph.block.operators
    if isinstance(operator, Pullback):
        raise errors.NotImplemented_("mixed precision of a graph with gradients; convert the model for inference")
    in_low = (
        operator.name not in kept
        and not getattr(operator.kernel, "blocks", ())
        and not operator.open
        and any(v.dtype == np.float32 for v in operator.outputs)
    )
    chosen = [x if not _is_float(x) else lowered.get(x) or _lowered(x, low) for x in operator.inputs]
    in_low = in_low and _computes_in(operator.replaced(inputs=tuple(chosen), outputs=()), operator, low)
    inputs = []
    for x, y in zip(operator.inputs, chosen):
        if in_low and _is_float(x):
            if x not in lowered:
                lowered[x] = y
                operators.append(_cast(x, y, low))
            inputs.append(y)
        elif isinstance(x, Value) and not in_low and x in lowered:
            inputs.append(_raise(operators, x, lowered, whole))
        else:
            inputs.append(x)
    if not in_low:
        for x in operator.reads():
            if x in lowered:
                _raise(operators, x, lowered, whole)
        operators.append(operator.replaced(inputs=tuple(inputs)) if inputs != list(operator.inputs) else operator)
        whole.update(operator.outputs)
        return
    outputs = []
    for value in operator.outputs:
        if value.dtype == np.float32:
            lowered[value] = _lowered(value, low)
            outputs.append(lowered[value])
        else:
            outputs.append(value)
            whole.add(value)
    operators.append(operator.replaced(inputs=tuple(inputs), outputs=tuple(outputs)))
    for value in operator.outputs:
        if value in wanted and value in lowered:
            _raise(operators, value, lowered, whole)


def _is_float(x: Any) -> bool:
    return isinstance(x, Value) and x.dtype == np.float32


def _lowered(value: Value, low: Any) -> Value:
    return Value(value.name + "_low", value.trials, low.numpy)


def _computes_in(draft: Operator, operator: Operator, low: Any) -> bool:
    """Whether an operator takes inputs of the lower precision and gives results of it; the type of a result may be an
    attribute."""
    try:
        trials = infer(draft)[0]
    except Exception:  # what an operator says to types that it does not take
        return False
    return all(s.dtype == low.numpy for s, v in zip(trials[0], operator.outputs) if v.dtype == np.float32)


def _raise(operators: list, value: Value, lowered: dict, whole: set) -> Value:
    """The value in float32 again, under its own identity."""
    if value not in whole:
        operators.append(_cast(lowered[value], value, dtypes.float32))
        whole.add(value)
    return value


def _cast(x: Value, y: Value, dtype: Any) -> Operator:
    return Operator(registry["cast"], (TENSOR, Static(dtype)), (x,), (y,))


@errors.clean
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
        ValueError: another precision, or files that are no model.
        FileNotFoundError: a file that is not there.
    """
    from ..interop.models import read_model, write_model
    from .predictor import _contents

    if isinstance(black_list, str) or not isinstance(black_list, Iterable):
        raise errors.TypeError_(
            f"convert_to_mixed_precision: black_list must be a set of names, got {errors.describe(black_list)}"
        )
    names = {PrecisionType.Half: "float16", PrecisionType.Bfloat16: "bfloat16"}
    if mixed_precision not in names:
        raise errors.ValueError_("convert_to_mixed_precision: mixed_precision must be Half or Bfloat16")
    if not keep_io_types:
        raise errors.NotImplemented_("convert_to_mixed_precision: keep_io_types=False")
    graph, feeds, fetches = read_model(*(_contents(path) for path in (model_file, params_file)))
    graph = to_low_precision(graph, fetches, names[mixed_precision], black_list)
    for path in (mixed_model_file, mixed_params_file):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    write_model(graph, feeds, fetches, mixed_model_file, mixed_params_file)
