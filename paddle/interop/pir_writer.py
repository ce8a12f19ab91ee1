"""Graphs become official `.json` model files, which PaddlePaddle 3 loads with `paddle.jit.load`,
`paddle.static.load_inference_model` and `paddle.inference`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from ..engine.value import Value
from ..ir.program import Block, Graph, Operator
from .params import write_combined
from .pir_ops.format import VERSION, attribute_tree, dtype_name
from .pir_ops.writing import WRITERS, Ref, Writing


def write_pir_model(
    graph: Graph, feeds: Iterable[str | Value], fetches: Iterable[Value], states: dict[str, Any] | None = None
) -> tuple[bytes, bytes]:
    """A graph as the content of `model.json` and `model.pdiparams`.

    Args:
        graph: without random operators and gradients; what its states become after a run is left out.
        feeds: the inputs in order, by name or value.
        fetches: the outputs in order.
        states: the arrays of states by name, where the graph's own tensors are not wanted or absent.

    Raises:
        NotImplementedError: an operator has no official twin; the message names it and the line that called it.
        ValueError: an output depends on an input that is not among the feeds, a state has no value.
    """
    fetches = list(fetches)
    inputs = [graph.inputs[f] if isinstance(f, str) and f in graph.inputs else f for f in feeds]
    for value in inputs:
        if not isinstance(value, Value) or value not in graph.inputs.values():
            raise errors.ValueError_(f"write_pir_model: {value!r} is no input of the graph")
    operators = graph.kept(fetches, updates=False)
    needed = {v for o in operators for v in o.reads()} | set(fetches)
    for name, value in graph.inputs.items():
        if value in needed and value not in inputs:
            raise errors.ValueError_(f"write_pir_model: the outputs depend on the input {name!r}, which is not fed")
    writing = Writing()
    arrays: dict[str, np.ndarray] = {}
    for name, state in sorted(graph.states.items(), reverse=True):
        if state.value not in needed:
            continue
        arrays[name] = _array(name, state, states)
        trainable = isinstance(state.tensor, Tensor) and state.parameter is not None and not state.tensor.stop_gradient
        shape = arrays[name].shape
        writing.refs[state.value] = writing.parameter(name, dtype_name(state.value.dtype), shape, trainable)
    for value in inputs:
        writing.refs[value] = _data(writing, value)
    writing.write(operators)
    for column, value in enumerate(fetches):
        _fetch(writing, value, column)
    for name, array in writing.constants.items():
        if name in arrays:
            raise errors.ValueError_(f"write_pir_model: the name {name!r} of a state is that of a constant")
        arrays[name] = array
    block = {"#": "block_0", "args": [], "ops": writing.operations}
    program = {"regions": [{"#": "region_0", "blocks": [block]}]}
    tree = {"base_code": {"magic": "pir", "trainable": True, "version": VERSION}, "program": program}
    text = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    return text.encode(), write_combined(arrays)


def _array(name: str, state: Any, states: dict[str, Any] | None) -> np.ndarray:
    found = (states or {}).get(name, state.tensor)
    if found is None:
        raise errors.ValueError_(f"write_pir_model: the state {name!r} has no value")
    return np.asarray(found._value if isinstance(found, Tensor) else found)


def _data(writing: Writing, value: Value) -> Ref:
    dtype, shape = dtype_name(value.dtype), [int(n) for n in value.shape]
    ref = writing.new(dtype, shape, False)
    attributes = [("name", "s", value.name), ("shape", "A", shape), ("dtype", "t", dtype), ("place", "p", "")]
    writing.add("1.data", [], [ref], [attribute_tree(*a) for a in attributes])
    return ref


def _fetch(writing: Writing, value: Value, column: int) -> None:
    ref = writing.refs[value]
    out = writing.new(ref.dtype, ref.shape, ref.stop)
    attributes = [("name", "s", f"fetch_name_{column}"), ("col", "i", column)]
    writing.add("1.fetch", [ref.number], [out], [attribute_tree(*a) for a in attributes], True)


# ---- branches and loops ----


def _region(writing: Writing, arguments: list[Ref], body: Callable[[], list[Ref]]) -> dict:
    """A region with one block, in which `body` writes; it gives what the block yields."""
    outer, refs = writing.operations, dict(writing.refs)
    writing.operations = []
    writing.regions += 1
    number = writing.regions
    try:
        yielded = body()
        writing.add("2.yield", [r.number for r in yielded], [], [])
        operations = writing.operations
    finally:
        writing.operations, writing.refs = outer, refs
    given = [{"#": a.number, "TT": a.tree["TT"]} for a in arguments]
    return {"#": f"region_{number}", "blocks": [{"#": f"block_{number}", "args": given, "ops": operations}]}


def _typed(writing: Writing, values: Iterable[Value], types: list[tuple]) -> list[Ref]:
    return [writing.ref(v, dtype) for v, (dtype, _) in zip(values, types)]


def _write_branches(writing: Writing, a: SimpleNamespace) -> Any:
    operator: Operator = writing.operator
    kernel: Any = operator.kernel
    types = writing.results

    def run(block: Block) -> list[Ref]:
        writing.write(block.operators)
        return _typed(writing, block.outputs, types)

    if kernel.keys is None:
        choice = writing.ref(operator.inputs[0], "bool")
        return _if(writing, choice, types, [lambda b=b: run(b) for b in kernel.blocks])
    index = writing.ref(operator.inputs[0], "int64")
    index = writing.reshape(index, []) if index.ndim else index

    def choose(position: int) -> list[Ref]:
        """The block of this key, or what comes after it."""
        if position == len(kernel.blocks) - 1:
            return run(kernel.blocks[position])
        key = writing.full(kernel.keys[position], "int64")
        hit = writing.op("equal", index, key, results=[("bool", ())])[0]
        return _if(writing, hit, types, [lambda: run(kernel.blocks[position]), lambda: choose(position + 1)])

    return choose(0)


def _if(writing: Writing, choice: Ref, types: list[tuple], bodies: list[Callable[[], list[Ref]]]) -> list[Ref]:
    regions = [_region(writing, [], body) for body in bodies]
    outs = [writing.new(d, s, not d.startswith(("float", "bfloat", "complex"))) for d, s in types]
    writing.add("1.if", [choice.number], outs, [])["regions"] = regions
    return outs


def _write_while(writing: Writing, a: SimpleNamespace) -> Any:
    operator: Operator = writing.operator
    test, body = operator.kernel.blocks  # type: ignore[attr-defined]
    types = writing.results
    firsts = _typed(writing, operator.inputs[: len(types)], types)

    def condition(values: list[Ref]) -> Ref:
        refs = dict(writing.refs)
        writing.refs.update(zip(test.inputs, values))
        writing.write(test.operators)
        found = writing.ref(test.outputs[0], "bool")
        writing.refs = refs
        return found if not found.ndim else writing.reshape(found, [])

    first = condition(firsts)
    arguments = []
    for dtype, shape in types:
        writing.arguments += 1
        arguments.append(Ref(-writing.arguments, dtype, shape, not dtype.startswith(("float", "bfloat", "complex"))))

    def step() -> list[Ref]:
        writing.refs.update(zip(body.inputs, arguments))
        writing.write(body.operators)
        found = _typed(writing, body.outputs, types)
        return [condition(found), *found]

    region = _region(writing, arguments, step)
    outs = [writing.new(r.dtype, r.shape, r.stop) for r in arguments]
    writing.add("1.while", [first.number, *[f.number for f in firsts]], outs, [])["regions"] = [region]
    return outs


WRITERS["cond"] = WRITERS["switch_case"] = WRITERS["case"] = _write_branches
WRITERS["while_loop"] = _write_while
