"""How many operations and numbers a network takes, and how long it runs."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from paddle.engine import errors
from paddle.engine.random import generator
from paddle.engine.value import Value
from paddle.ir.passes import INFERENCE, apply
from paddle.ir.passes.base import plain
from paddle.ir.program import Graph, Operator
from paddle.ir.run import Executable
from paddle.nn.layer import Layer
from paddle.quantization.export import traced
from paddle.static import Program

from ..structure.layers import specs_of

_ACTIVATIONS = ("relu", "relu6", "sigmoid")


def _shape(x: Any) -> list[int]:
    """Lengths for one sample: unknown ones count as 1."""
    return [1 if d < 0 else int(d) for d in x.shape]


def _size(x: Any) -> int:
    return math.prod(_shape(x))


def operations_of(operator: Operator, only_conv: bool = True) -> int:
    """The multiply-additions of an operator, counted as PaddleSlim does."""
    name, given = operator.name, operator.arguments()
    out = operator.outputs[0] if operator.outputs else None
    if name in ("conv1d", "conv2d", "conv3d"):
        return _size(out) * (math.prod(_shape(given["weight"])[1:]) + isinstance(given.get("bias"), Value))
    if name in ("conv1d_transpose", "conv2d_transpose", "conv3d_transpose"):
        return _size(given["x"]) * math.prod(_shape(given["weight"])[1:])
    if name == "linear":
        return _size(given["x"]) * _shape(given["weight"])[1]
    if name in ("matmul", "bmm"):
        x = _shape(given["x"])
        return _size(out) * x[-2 if plain(given.get("transpose_x")) and len(x) > 1 else -1]
    if name.startswith("attention"):
        query, key = _shape(given["query"]), _shape(given["key"])
        return 2 * math.prod(query) * key[2 if name.endswith("heads_first") else 1]
    if only_conv:
        return 0
    if name == "avg_pool":
        return _size(out) * math.prod(plain(given["kernel_size"])) * 2
    if name == "batch_norm":
        return _size(given["x"]) * 2
    return _size(given["x"]) if name in _ACTIVATIONS else 0


def graph_of(model: Any, inputs: Any, dtypes: Any, function: str) -> tuple[Graph, list[Value]]:
    """(program, results) of a layer or program."""
    if isinstance(model, Program):
        return model, list(model.fetches)
    if not isinstance(model, Layer):
        raise errors.TypeError_(f"{function}: model must be a Layer or a Program, got {errors.describe(model)}")
    if inputs is None:
        raise errors.ValueError_(f"{function}: inputs must be given for a Layer")
    dtype = dtypes[0] if isinstance(dtypes, (list, tuple)) else dtypes
    graph, _, results = traced(model, specs_of(inputs, dtype or "float32", function))
    return graph, results


def flops(model: Any, inputs: Any = None, dtypes: Any = None, only_conv: bool = True, detail: bool = False) -> Any:
    """Count multiply-additions of one sample.

    Args:
        model: a Layer or a static Program.
        inputs: for a Layer: the shape of its input, or a list of shapes or tensors.
        dtypes: of inputs given as shapes, default float32.
        only_conv: only convolutions and products; otherwise also pooling, normalisation and activations.
        detail: also give the numbers by the names of the weights.

    Returns:
        The number, or (number, dict).

    Raises:
        TypeError: something else than a Layer or Program.
        ValueError: a Layer without `inputs`.

    Example:
        >>> import paddleslim
        >>> paddleslim.analysis.flops(paddle.nn.Conv2D(3, 8, 3, bias_attr=False), [1, 3, 6, 6])
        3456
    """
    graph, _ = graph_of(model, inputs, dtypes, "flops")
    total, by_weight = 0, {}
    states = {s.value: n for n, s in graph.states.items()}
    for operator in graph.block.operators:
        if type(operator) is not Operator:
            continue
        count = operations_of(operator, only_conv)
        total += count
        given = operator.arguments() if count else {}
        weight = given.get("weight", given.get("y"))
        if isinstance(weight, Value) and weight in states:
            by_weight[states[weight]] = by_weight.get(states[weight], 0) + count
    return (total, by_weight) if detail else total


def dygraph_flops(model: Any, inputs: Any, dtypes: Any = None, only_conv: bool = False, detail: bool = False) -> Any:
    """`flops` of a Layer, by default with pooling, normalisation and activations."""
    return flops(model, inputs, dtypes, only_conv, detail)


def model_size(program: Any) -> int:
    """How many numbers the parameters of a Layer or Program hold.

    Example:
        >>> import paddleslim
        >>> paddleslim.analysis.model_size(paddle.nn.Linear(3, 2))
        8
    """
    if isinstance(program, Layer):
        return sum(math.prod(p.shape) for p in program.parameters())
    if isinstance(program, Program):
        return sum(math.prod(p.shape) for p in program.all_parameters())
    raise errors.TypeError_(f"model_size: a Program or Layer is needed, got {errors.describe(program)}")


class Timed:
    """A network compiled as it infers, to measure how long it runs.

    Args:
        model: a Layer.
        inputs: the shape of its input, or a list of shapes or tensors.
        dtypes: of inputs given as shapes.
    """

    def __init__(self, model: Layer, inputs: Any, dtypes: Any = None):
        graph, results = graph_of(model, inputs, dtypes, "latency")
        graph = apply(graph, results, INFERENCE)
        self._executable = Executable(graph, results, updates=False)
        self._states = {n: graph.states[n].tensor._value for n in self._executable.states}  # type: ignore[union-attr]
        self._feeds = {n: jnp.ones(v.trials[0], v.dtype) for n, v in self._executable.inputs.items()}
        self()

    def __call__(self) -> float:
        """Seconds of one run."""
        words = generator().ticks(self._executable.ticks) if self._executable.ticks else None
        start = time.perf_counter()
        jax.block_until_ready(self._executable.run(self._feeds, self._states, words)[0])
        return time.perf_counter() - start


def latency(model: Any, inputs: Any, dtypes: Any = None, runs: int = 30) -> float:
    """The median time of a run of a compiled Layer, in milliseconds, on this machine as it is now.

    Args:
        model: a Layer.
        inputs: the shape of its input, or a list of shapes or tensors.
        dtypes: of inputs given as shapes.
        runs: how many are timed.
    """
    return latencies([(model, inputs)], dtypes, runs)[0]


def latencies(models: Sequence[tuple[Any, Any]], dtypes: Any = None, runs: int = 30) -> list[float]:
    """The same for several (model, inputs), which take turns."""
    timed = [Timed(model, inputs, dtypes) for model, inputs in models]
    seconds = [[t() for t in timed] for _ in range(runs)]
    return [1e3 * statistics.median(column) for column in zip(*seconds)]
