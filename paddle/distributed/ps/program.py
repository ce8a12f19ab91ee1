"""Programs for parameter servers: lookups become pulls, gradients become pushes.

A pull is an operator on the host that defines what the lookups defined, and the dense parameters at the start of a step;
operators behind it stay as they are. Clones of a program share its values, so they are changed in the same way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...engine import errors
from ...engine.executable import TENSOR
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...ir.program import Operator, Pullback
from ...ir.record import HostKernel


class Lookup(NamedTuple):
    """A lookup of rows in a program."""

    table: str
    ids: Value
    out: Value
    padding: int | None

    def chosen(self, ids: np.ndarray) -> np.ndarray | slice:
        """Which of the flat ids are looked up: all but the padding."""
        return slice(None) if self.padding is None else ids != self.padding


def sparse_parameters(program: Any) -> dict[str, Any]:
    """The parameters of a program whose lookups asked for sparse gradients, by name."""
    found = {}
    for name, state in program.states.items():
        if state.parameter is not None and getattr(state.parameter, "row_sparse", False):
            found[name] = state.parameter
    return found


@contextlib.contextmanager
def without_rows(program: Any, tables: set[str]) -> Iterator[None]:
    """Gradients of tables are never made as arrays, and a table may be larger than this machine: while they are recorded, it
    has one row."""
    values = [program.states[n].value for n in tables]
    before = [v.trials for v in values]
    for v in values:
        v.trials = tuple((1, *shape[1:]) for shape in v.trials)
    try:
        yield
    finally:
        for v, trials in zip(values, before):
            v.trials = trials


def lookups_of(program: Any, tables: set[str]) -> dict[Operator, Lookup]:
    """The lookups in these tables. NotImplementedError when something else reads one."""
    values = {program.states[n].value: n for n in tables if n in program.states}
    found: dict[Operator, Lookup] = {}
    for operator in program.block.operators:
        read = [values[v] for v in operator.reads() if v in values]
        if not read or isinstance(operator, Pullback) and operator.forward in found:
            continue
        if operator.name != "embedding" or operator.inputs[1] not in values:
            raise errors.NotImplemented_(
                f"parameter server: {operator.name} reads the sparse table {read[0]} ({operator.line}); only lookups in the "
                "main block can. Use an embedding that is not sparse"
            )
        padding = operator.arguments()["padding_idx"]
        found[operator] = Lookup(read[0], operator.inputs[0], operator.outputs[0], padding)  # type: ignore[arg-type]
    return found


def gradients_of(operators: list[Operator], lookups: dict[Operator, Lookup]) -> list[tuple[Lookup, Value]]:
    """The lookups that get gradients, with these."""
    return [(lookups[o.forward], o.inputs[-1]) for o in operators if isinstance(o, Pullback) and o.forward in lookups]


def on_host(
    name: str, function: Callable, inputs: list[Value], outputs: list[Value], effect: bool, line: str | None = None
) -> Operator:
    """An operator that calls `function(*arrays)`, NumPy arrays, for the arrays of the outputs."""

    def call(*tensors: Tensor) -> tuple:
        found = function(*[np.asarray(t._value) for t in tensors])
        return tuple(_make(np.asarray(a).astype(v.dtype, copy=False)) for a, v in zip(found, outputs))

    def infer(specs: list, trial: int, *rest: Any) -> list:
        return [(v.trials[trial], v.dtype) for v in outputs]

    kernel = HostKernel(call, name, ("",) * len(inputs), infer, effect)
    kernel.differentiable = False
    return Operator(kernel, (TENSOR,) * len(inputs), tuple(inputs), tuple(outputs), True, None, line)


def batches(lookups: list[Lookup], arrays: list[np.ndarray]) -> tuple[dict[str, np.ndarray], list]:
    """(all ids by table, for each lookup its table, where its ids are among those, and which they are)."""
    parts: dict[str, list[np.ndarray]] = {}
    at: dict[str, int] = {}
    places = []
    for lookup, array in zip(lookups, arrays):
        flat = array.reshape(-1).astype(np.int64, copy=False)
        chosen = lookup.chosen(flat)
        ids = flat[chosen]
        start = at.get(lookup.table, 0)
        at[lookup.table] = start + len(ids)
        parts.setdefault(lookup.table, []).append(ids)
        places.append((lookup.table, slice(start, start + len(ids)), chosen))
    return {t: np.concatenate(p) if len(p) > 1 else p[0] for t, p in parts.items()}, places


def pull_into(
    program: Any,
    lookups: dict[Operator, Lookup],
    dense: list[str],
    pull: Callable[[dict[str, np.ndarray], bool], tuple[dict, dict]],
) -> None:
    """Put pulls in place of lookups, and give the dense parameters their values at the start of a run.

    Args:
        program: it is changed.
        lookups: from `lookups_of`.
        dense: names of parameters.
        pull: (ids by table, whether dense parameters are wanted) -> (rows by table, parameters by name).
    """
    started = []
    for name in dense:
        state = program.states[name]
        started.append(state.value)
        state.update = state.value
        state.value = Value(name, state.value.trials, state.value.dtype)
    operators: list[Operator] = []
    rest = [o for o in program.block.operators if not (isinstance(o, Pullback) and o.forward in lookups)]
    if started:
        first = [] if not _before(rest, lookups, set(started)) else None
        if first is None:  # ids depend on dense parameters
            operators.append(on_host("pull_dense", _puller([], dense, pull), [], started, False))
            dense, started = [], []
    while rest:
        before, now, rest = _next(rest, lookups)
        operators += before
        if now or started:
            chosen = [lookups[o] for o in now]
            outputs = [c.out for c in chosen] + started
            line = now[0].line if now else None
            operators.append(
                on_host("pull_rows", _puller(chosen, dense, pull), [c.ids for c in chosen], outputs, False, line)
            )
            dense, started = [], []
        if not now:
            operators += rest
            break
    program.block.operators = operators
    for name in {c.table for c in lookups.values()}:
        program.states.pop(name, None)
    program.changed()


def _puller(lookups: list[Lookup], dense: list[str], pull: Callable) -> Callable:
    def call(*arrays: np.ndarray) -> list:
        asked, places = batches(lookups, list(arrays))
        rows, values = pull(asked, bool(dense))
        out = []
        for lookup, array, (table, part, chosen) in zip(lookups, arrays, places):
            found = rows[table][part]
            if lookup.padding is not None:
                full = np.zeros((array.size, found.shape[1]), np.float32)
                full[chosen] = found
                found = full
            out.append(found.reshape(*array.shape, found.shape[1]))
        return out + [values[name] for name in dense]

    return call


def _before(operators: list[Operator], lookups: dict, values: set[Value]) -> bool:
    """Whether something that ids are computed from reads one of the values."""
    before, _, _ = _next(operators, lookups)
    return any(v in values for o in before for v in o.reads())


def _next(operators: list[Operator], lookups: dict[Operator, Lookup]) -> tuple[list, list, list]:
    """(operators that ids are computed from, lookups whose ids are known then, the others), in order."""
    waiting = {v for o in operators if o in lookups for v in o.outputs}  # and what depends on it
    for o in operators:
        if o not in lookups and any(v in waiting for v in o.reads()):
            waiting.update(o.outputs)
    now = [o for o in operators if o in lookups and lookups[o].ids not in waiting]
    needed = {lookups[o].ids for o in now}
    before = []
    for o in reversed(operators):
        if o not in lookups and any(v in needed for v in o.outputs):
            before.append(o)
            needed.update(o.reads())
    taken = {*now, *before}
    return before[::-1], now, [o for o in operators if o not in taken]


def drop_first_values(startup: Any, tables: set[str]) -> None:
    """Let a startup program leave out tables that servers hold: they may be larger than this machine."""
    for name in tables:
        state = startup.states.pop(name, None)
        if state is not None and state.update is not None:
            startup.block.operators = [o for o in startup.block.operators if state.update not in o.outputs]
    startup.changed()
