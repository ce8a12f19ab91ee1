"""Programs recorded again: with smaller parameters, with batch normalisation that trains, beside another program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.engine.executable import TENSOR, Static
from paddle.engine.modes import set_mode
from paddle.engine.parameter import as_parameter
from paddle.engine.tensor import Tensor, _make
from paddle.engine.value import Value
from paddle.ir.control_flow import substituted
from paddle.ir.passes import with_arguments
from paddle.ir.program import Graph, Operator, Pullback, State, parameter_names
from paddle.static import Program, program_guard

from .layers import without
from .plan import Structure

Fix = Callable[[Operator, Operator], Operator]


def results_of(program: Graph) -> list[Value]:
    """What a program is for: the values it was saved with, or the results of operators of which nobody reads anything."""
    given = list(getattr(program, "fetches", []))
    read = {v for o in program.block.operators for v in o.reads()} | {s.update for s in program.states.values()}
    return given or [v for o in program.block.operators if read.isdisjoint(o.outputs) for v in o.outputs]


def refuse_training(program: Graph, function: str) -> None:
    """NotImplementedError for a program with gradients."""
    if getattr(program, "training", None) or any(isinstance(o, Pullback) for o in program.block.operators):
        raise errors.NotImplemented_(
            f"{function}: a program with gradients; call it before optimizer.minimize(), or on a clone(for_test=True)"
        )


def record(
    graph: Graph,
    into: Program,
    *,
    prefix: str = "",
    inputs: Mapping[str, Tensor] | None = None,
    shapes: Mapping[str, tuple] | None = None,
    trainable: bool = True,
    train_statistics: bool = False,
    fix: Fix | None = None,
) -> dict[Value, Tensor]:
    """Append the operators of a graph to a program.

    Args:
        graph: a graph without gradients.
        into: a program; its recorder infers all shapes anew.
        prefix: comes before the names of states and values.
        inputs: tensors of `into` in the place of inputs of the graph, by name; the others become inputs of `into`.
        shapes: of states that have another shape now, by name.
        trainable: whether parameters get gradients.
        train_statistics: batch normalisation uses the statistics of the batch, and keeps running ones.
        fix: changes an operator before it is recorded, from (the operator, the one with new inputs).

    Returns:
        The tensors of `into`, by the values of `graph`.
    """
    refuse_training(graph, "record")
    tensors: dict[Value, Tensor] = {}
    with program_guard(into), set_mode(grad=trainable, amp=None):
        for name, value in graph.inputs.items():
            if inputs and name in inputs:
                tensors[value] = inputs[name]
            else:
                own = into.inputs[prefix + name] = Value(prefix + name, value.trials, value.dtype)
                tensors[value] = _make(own)
        for name, state in graph.states.items():
            tensors[state.value] = _state(into, state, prefix + name, (shapes or {}).get(name), trainable)
        values = {v: t._value for v, t in tensors.items()}
        by_value = {t._value: t for t in tensors.values()}
        for operator in graph.block.operators:
            tick = None
            if operator.tick is not None:
                tick, into.ticks = into.ticks, into.ticks + 1
            draft = substituted(operator, values).replaced(outputs=(), tick=tick)
            if train_statistics and operator.name == "batch_norm":
                draft = with_arguments(draft, batch=Static(True), frozen=Static(False))
            if fix is not None:
                draft = fix(operator, draft)
            out = into.recorder.append(draft, [by_value[x] if isinstance(x, Value) else x for x in draft.inputs])
            for value, tensor in zip(operator.outputs, out if isinstance(out, tuple) else (out,)):
                tensor._value.name = prefix + value.name
                tensors[value], values[value], by_value[tensor._value] = tensor, tensor._value, tensor
            if train_statistics and operator.name == "batch_norm":
                given = operator.arguments()
                for argument, value in zip(("running_mean", "running_var"), operator.outputs[1:]):
                    tensors[given[argument]]._storage.write(tensors[value]._value)
        if trainable:
            for state in graph.states.values():
                if state.update in tensors and state.update is not state.value:
                    tensors[state.value]._storage.write(tensors[state.update]._value)
    into.changed()
    return tensors


def _state(into: Program, old: State, name: str, shape: tuple | None, trainable: bool) -> Tensor:
    shape = tuple(old.value.trials[0]) if shape is None else tuple(shape)
    value = Value(name, (shape,) * len(old.value.trials), old.value.dtype)
    state = State(name, value)
    tensor = _make(value)
    if trainable and (old.parameter is not None or hasattr(old.tensor, "trainable")):
        stops = getattr(old.parameter, "stop_gradient", False) or getattr(old.tensor, "stop_gradient", False)
        tensor = state.parameter = as_parameter(tensor, name, not stops)
    into.states[name] = state
    into.recorder.hold(state, tensor)
    return tensor


def array_of(state: State, scope: Any, function: str) -> np.ndarray:
    """The elements of a state. RuntimeError when there are none."""
    found = scope.array_of(state) if scope is not None else None
    if found is None and state.tensor is not None:
        found = state.tensor._value
    if found is None:
        raise errors.RuntimeError_(f"{function}: variable {state.name} has no value; run the startup program first")
    return np.asarray(found)


def put_arrays(graph: Graph, scope: Any, source: Any = None, prefix: str = "", function: str = "load") -> None:
    """Copy the elements of the states of a graph into a scope."""
    for name, state in graph.states.items():
        scope.var(prefix + name).array = array_of(state, source, function)


def pruned_program(
    structure: Structure, removed: Iterable[int], name: str = "prune"
) -> tuple[Program, dict[Value, Tensor]]:
    """A program without units of another one; attributes that count channels are changed with them.

    Args:
        structure: of the program.
        removed: units.
        name: of the function, for errors.

    Returns:
        (the program, its tensors by the values of the old one). Scopes are not touched.

    Raises:
        ValueError: the channels cannot be followed through an operator.
    """
    graph = structure.graph
    removed = list(removed)
    kept, gone = structure.keep(removed), np.unique(structure.units.find(np.fromiter(removed, np.int64)))
    shapes = {}
    for state, _ in kept:
        old = graph.states[state].value.trials[0]
        shapes[state] = tuple(len(kept[state, a]) if (state, a) in kept else n for a, n in enumerate(old))

    def left(value: Value) -> list[int]:
        return structure.lengths_left(value, gone)

    def fix(operator: Operator, draft: Operator) -> Operator:
        return _resized(structure, operator, draft, left, shapes)

    made = Program()
    try:
        tensors = record(graph, made, shapes=shapes, fix=fix)
    except (TypeError, ValueError) as e:
        raise errors.ValueError_(f"{name}: an operator of the program counts with fixed numbers of channels: {e}")
    feeds = getattr(graph, "feeds", None)
    made.feeds = list(feeds) if feeds else list(graph.inputs)
    made.fetches = [tensors[v]._value for v in structure.results]
    made.output_names = list(graph.output_names)
    structure.check(made, made.fetches, removed, name)
    return made, tensors


def _resized(structure: Structure, operator: Operator, draft: Operator, left: Callable, shapes: Mapping) -> Operator:
    """Attributes that hold numbers of channels."""
    name = operator.name
    out = operator.outputs[0] if operator.outputs else None
    if out is None or type(operator) is not Operator:
        return draft
    if "conv" in name:
        weight = structure.propagation.states.get(operator.arguments()["weight"])
        if weight in shapes and weight in structure.propagation.depthwise:
            many = structure.propagation.depthwise[weight]
            rows = shapes[weight][0] // (1 if name.endswith("transpose") else many)
            return _with_plain(draft, groups=rows)
    elif name in ("reshape", "expand") and left(out) != list(out.trials[0]):
        given = operator.arguments()["shape"]
        old = given.value if isinstance(given, Static) else given
        new = [
            now if isinstance(s, (int, np.integer)) and s > 0 and s != now else s
            for s, now in zip(old, left(out), strict=False)
        ]
        position = parameter_names(operator.kernel, len(operator.key)).index("shape")
        open_ones = _open_items(draft.key[position])
        return _with_plain(draft, shape=tuple(o if o is not None else n for o, n in zip(open_ones, new)))
    elif name == "split":
        axis = int(_plain(operator.arguments()["axis"])) % operator.inputs[0].ndim
        return _with_plain(draft, sections=tuple(left(v)[axis] for v in operator.outputs))
    elif name == "slice_get" and left(out) != list(out.trials[0]):
        return _smaller_slice(operator, draft, left)
    elif name == "getitem" and left(out) != list(out.trials[0]):
        return _smaller_index(operator, draft, left)
    return draft


def _smaller_slice(operator: Operator, draft: Operator, left: Callable) -> Operator:
    """One of several equal blocks of the channels."""
    lengths, steps, drop, new = _plain(operator.arguments()["form"])
    starts = np.array(operator.inputs[1])
    x = operator.inputs[0]
    before, now = x.trials[0], left(x)
    lengths = list(lengths)
    for axis, (a, b) in enumerate(zip(before, now)):
        if a != b:
            part = a // lengths[axis]
            starts[axis], lengths[axis] = starts[axis] * b // a, b // part
    draft = draft.replaced(inputs=(draft.inputs[0], starts))
    return _with_plain(draft, form=(tuple(lengths), steps, drop, new))


def _smaller_index(operator: Operator, draft: Operator, left: Callable) -> Operator:
    """The same for an index of a program with open lengths."""
    form = list(_plain(operator.arguments()["form"]))
    x = operator.inputs[0]
    if any(not isinstance(entry, tuple) for entry in form[: x.ndim]):
        return draft  # an operator that cannot be followed then
    for axis, (a, b) in enumerate(zip(x.trials[0], left(x))):
        if a != b and axis < len(form):
            start, stop, step = slice(*form[axis]).indices(a)
            if step == 1:
                first = start * b // a
                form[axis] = (first, first + left(operator.outputs[0])[axis], 1)
    return _with_plain(draft, form=tuple(form))


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, Static) else x


def _open_items(key: Any) -> list[Any]:
    """Of a shape, what is open until the program runs; None for plain numbers."""
    items = _plain(key)
    items = items if isinstance(items, (list, tuple)) else getattr(items, "items", ())
    return [None if type(i) is int else i for i in items]


def _with_plain(operator: Operator, **changes: Any) -> Operator:
    """Other attributes in the form in which the key holds them."""
    names = parameter_names(operator.kernel, len(operator.key))
    key = list(operator.key)
    for name, value in changes.items():
        at = names.index(name)
        if key[at] is TENSOR:
            return with_arguments(operator, **{name: value})
        key[at] = Static(value) if isinstance(key[at], Static) else value
    return operator.replaced(key=tuple(key))


def write_pruned(structure: Structure, kept: Mapping[tuple[str, int], np.ndarray], scope: Any) -> None:
    """Make the parameters in a scope smaller."""
    for name in dict.fromkeys(n for n, _ in kept):
        array = array_of(structure.graph.states[name], scope, "prune")
        scope.var(name).array = without(array, name, dict(kept))
