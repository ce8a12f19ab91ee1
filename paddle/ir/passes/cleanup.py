"""Passes that leave out what is not needed: dead code, copies, what is computed twice, what is constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...engine.executable import TENSOR
from ...engine.op import registry
from ...engine.tensor import _make
from ...engine.value import PROBES, Value
from ..program import Graph, Operator, Pullback, State
from ..record import HostKernel
from ..run import Environment, execute
from .base import Uses, register

FOLDED = 1 << 24  # bytes up to which a constant is computed in advance


def replace_inputs(operator: Operator, instead: dict[Value, Value]) -> Operator:
    """The operator with other values for some inputs."""
    if not any(isinstance(x, Value) and x in instead for x in operator.inputs):
        return operator
    return operator.replaced(inputs=tuple([instead.get(x, x) if isinstance(x, Value) else x for x in operator.inputs]))


def _can_change(operator: Operator) -> bool:
    """Whether inputs may be replaced: not where blocks inside or a gradient refer to them."""
    return not isinstance(operator, Pullback) and not getattr(operator.kernel, "blocks", ())


@register("dead_code")
def dead_code(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """Leave out operators that nothing depends on, and states that nobody reads."""
    new = graph.with_operators(graph.kept(wanted))
    used = {v for o in new.block.operators for v in o.reads()} | set(wanted)
    for o in new.block.operators:
        for block in getattr(o.kernel, "blocks", ()):
            used.update(block.free())
    new.states = {n: s for n, s in new.states.items() if s.value in used or s.update is not None}
    return new


@register("no_copies")
def no_copies(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """Readers of a copy read the original."""
    instead: dict[Value, Value] = {}
    operators = []
    for operator in graph.block.operators:
        if _can_change(operator):
            operator = replace_inputs(operator, instead)
        if operator.name == "assign" and isinstance(operator.inputs[0], Value):
            instead[operator.outputs[0]] = operator.inputs[0]
        operators.append(operator)
    return dead_code(graph.with_operators(operators), wanted)


@register("common_subexpressions")
def common_subexpressions(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """What is computed twice is computed once; the second becomes a copy."""
    seen: dict[Any, Operator] = {}
    instead: dict[Value, Value] = {}
    operators = []
    for operator in graph.block.operators:
        if _can_change(operator):
            operator = replace_inputs(operator, instead)
        key = _identity(operator)
        first = seen.setdefault(key, operator) if key is not None else operator
        if first is operator:
            operators.append(operator)
            continue
        for mine, same in zip(operator.outputs, first.outputs):
            instead[mine] = same
            operators.append(Operator(registry["assign"], (TENSOR,), (same,), (mine,), line=operator.line))
    return graph.with_operators(operators)


def _identity(operator: Operator) -> Any:
    """What two operators that compute the same have in common, None for one that cannot be shared."""
    if operator.tick is not None or not _can_change(operator) or isinstance(operator.kernel, HostKernel):
        return None
    inputs = []
    for x in operator.inputs:
        if isinstance(x, Value):
            inputs.append(x)
        elif isinstance(x, (bool, int, float, complex)):
            inputs.append((type(x), x, str(x)))
        else:
            inputs.append(id(x))
    return operator.kernel, operator.key, tuple(inputs)


@register("constant_folding")
def constant_folding(graph: Graph, wanted: Sequence[Value]) -> Graph:
    """Compute in advance what depends only on states that do not change. Its results become states."""
    uses = Uses(graph, wanted)
    constant: dict[Value, Any] = {}
    for value in uses.states:
        array = uses.array(value)
        if array is not None:
            constant[value] = array
    new = graph.with_operators([])
    for operator in graph.block.operators:
        if not _is_foldable(operator, constant):
            new.block.operators.append(operator)
            continue
        environment = Environment({v: constant[v] for v in operator.reads()})
        execute([operator], environment)
        for value in operator.outputs:
            array = environment.arrays[value]
            constant[value] = array
            new.states[value.name] = State(value.name, value, _make(array))
    return dead_code(new, wanted)


def _is_foldable(operator: Operator, constant: dict[Value, Any]) -> bool:
    reads = list(operator.reads())
    return (
        operator.tick is None
        and not operator.known
        and bool(reads)
        and all(v in constant for v in reads)
        and not isinstance(operator, Pullback)
        and not isinstance(operator.kernel, HostKernel)
        and not getattr(operator.kernel, "blocks", ())
        and all(v.is_static and np.prod(v.trials[0]) * v.dtype.itemsize <= FOLDED for v in operator.outputs)
    )


def new_state(graph: Graph, name: str, array: Any) -> Value:
    """A constant state with a name that is free."""
    while name in graph.states or name in graph.inputs:
        name += "_"
    value = Value(name, (tuple(array.shape),) * len(PROBES), array.dtype)
    graph.states[name] = State(name, value, _make(array))
    return value
