"""The operators of a network as the nodes of a graph."""

from __future__ import annotations

from typing import Any

from ..engine import errors


def nodes_of(model: Any, input_spec: Any) -> tuple[list[tuple[str, str, list[str], dict[str, str]]], str]:
    """The nodes (name, operator, inputs, attributes) and the text of the program of a Layer or a function."""
    from .. import jit

    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        input_spec = [input_spec]
    if not callable(model):
        raise errors.TypeError_(f"LogWriter.add_graph: a Layer or a function is expected, got {type(model).__name__}")
    function = getattr(model, "forward", model)
    if not hasattr(function, "get_concrete_program"):
        function = jit.to_static(function, input_spec=input_spec)
    if hasattr(function, "forward"):
        function = function.forward
    concrete, traced = function.get_concrete_program(*(input_spec or function._input_spec or []))
    block = traced.graph.block
    names: dict[int, str] = {}
    used: dict[str, int] = {}
    nodes: list[tuple[str, str, list[str], dict[str, str]]] = []

    def node(value: Any, name: str, op: str, inputs: list[str]) -> str:
        count = used.get(name, 0)
        used[name] = count + 1
        unique = f"{name}_{count}" if count else name
        shape = {"shape": str(list(value.shape)), "dtype": str(value.dtype)} if value is not None else {}
        nodes.append((unique, op, inputs, shape))
        return unique

    for name, value in traced.graph.inputs.items():
        names[id(value)] = node(value, name, "input", [])
    for state in traced.states:
        names[id(state.value)] = node(state.value, state.name, "parameter", [])
    for operator in block.operators:
        inputs = [names[id(v)] for v in operator.reads() if id(v) in names]
        first = operator.outputs[0] if operator.outputs else None
        name = node(first, operator.name, operator.name, list(dict.fromkeys(inputs)))
        names.update((id(output), name) for output in operator.outputs)
    for i, value in enumerate(block.outputs[: traced.n_results]):
        node(value, f"output_{i}", "output", [names[id(value)]] if id(value) in names else [])
    return nodes, str(concrete.main_program)
