"""Statements whose course a tensor decides: the pieces are recorded as blocks, and the variables that they assign become
results of the branch or loop."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from ...engine import errors
from ...engine.modes import modes, set_mode
from ...engine.tensor import Tensor
from ...engine.value import Dim, Value
from ...ir import blocks
from ...ir.blocks import NUMBERS, Recorded
from ...ir.control_flow import Branches
from ..errors import GraphBreak, Grows, Mismatch
from ..nest import Structure, flatten, unflatten
from .jumps import PREFIX, RETURNED
from .runtime import UNDEFINED, State, tensor_of

_PIECES = ["one branch", "the other branch"]


class Contents:
    """What the lists and dicts among some values hold, to be put back."""

    def __init__(self, values: Iterable[Any]):
        self.kept: list[tuple[Any, Any]] = []
        for value in values:
            self._keep(value)

    def _keep(self, value: Any) -> None:
        if value.__class__ is list or isinstance(value, dict):
            if any(value is c for c, _ in self.kept):
                return
            self.kept.append((value, value.copy()))
        if value.__class__ in (list, tuple):
            for v in value:
                self._keep(v)
        elif isinstance(value, dict):
            for v in value.values():
                self._keep(v)

    def restore(self) -> None:
        for container, copy in self.kept:
            _fill(container, copy)


def _fill(container: Any, new: Any) -> None:
    if isinstance(container, list):
        container[:] = new
    else:
        container.clear()
        container.update(new)


def _into(before: Any, new: Any) -> Any:
    """A new value of a variable; a list or dict stays the same object."""
    if type(before) is type(new) and (type(new) is list or isinstance(new, dict)) and before is not new:
        _fill(before, new)
        return before
    return new


class End:
    """The variables at the end of a piece: structures, and the leaves as objects and as tensors with their history."""

    def __init__(self, values: list):
        self.structures: list[Structure | None] = []
        self.raw: list = []
        self.spans: list[slice] = []
        for value in values:
            start = len(self.raw)
            self.structures.append(None if value is UNDEFINED else flatten(value, self.raw))
            self.spans.append(slice(start, len(self.raw)))


def record_branch(test: Tensor, then: Callable, other: Callable | None, state: State, live: set[str]) -> None:
    """``if test: then() else: other()``, recorded."""
    recorder = modes.program
    before = state.read()
    contents = Contents(before)
    ends: list[End] = []

    def run(piece: Callable | None) -> list:
        if piece is not None:
            piece()
        ends.append(End(state.read()))
        return ends[-1].raw

    recorded = []
    try:
        for piece in (then, other):
            try:
                recorded.append(Recorded.call(recorder, [], lambda piece=piece: run(piece)))
            finally:
                state.write(before)
                contents.restore()
        start = End(before)
        left = [_leaves_function(e, state.names) for e in ends]
        merged = [
            _merge(name, i, start, ends, recorded, left) if name in live or "." in name else None
            for i, name in enumerate(state.names)
        ]
    except (TypeError, ValueError) as e:
        if isinstance(e, GraphBreak) or not ends or "cond" not in str(e):
            raise
        raise Mismatch(str(e)) from e
    outputs: list[list[Tensor]] = [[], []]
    for plan in merged:
        for leaf in plan.leaves if plan is not None and plan.leaves is not None else ():
            if isinstance(leaf, tuple):
                for group, t in zip(outputs, leaf[0]):
                    group.append(t)
    results = _append(recorder, test, recorded, outputs)
    new = list(before)
    for i, plan in enumerate(merged):
        if plan is None:
            continue
        if plan.leaves is None:
            new[i] = UNDEFINED
            if UNDEFINED is not before[i] or any(e.structures[i] is not None for e in ends):
                _undefined(state.names[i])
            continue
        filled = [results.pop(0) if isinstance(leaf, tuple) else leaf.value for leaf in plan.leaves]
        new[i] = _into(before[i], unflatten(plan.structure, filled)) if plan.changed else before[i]
    state.write(new)


def _undefined(name: str) -> None:
    note = getattr(modes.program, "note_undefined", None)
    if note is not None:
        note(name)


class Plain:
    """A leaf that is the same Python object in both branches."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Plan:
    """What a variable becomes: leaves are Plain or a tuple of one list with the tensor of each branch; None: undefined."""

    __slots__ = ("structure", "leaves", "changed")

    def __init__(self, structure: Any, leaves: list | None, changed: bool = True):
        self.structure, self.leaves, self.changed = structure, leaves, changed


def _leaves_function(end: End, names: tuple[str, ...]) -> bool:
    """Whether a branch (perhaps) returns from the function: what it does not assign is not read then."""
    if RETURNED not in names:
        return False
    span = end.spans[names.index(RETURNED)]
    return any(x is not False for x in end.raw[span])


def _merge(name: str, i: int, start: End, ends: list[End], recorded: list[Recorded], left: list[bool]) -> Plan:
    structures = [e.structures[i] for e in ends]
    if all(s is None for s in structures):
        return Plan(None, None)
    raws = [e.raw[e.spans[i]] for e in ends]
    if None in structures:
        return _fill_missing(name, i, structures, ends, recorded, left)
    if structures[0] != structures[1]:
        shown = [_shown(s, r) for s, r in zip(structures, raws)]
        kind = Grows if all(s.kind is list for s in structures) else Mismatch
        raise kind(f"cond: {_called(name)} is {shown[0]} in one branch and {shown[1]} in the other one")
    old = start.raw[start.spans[i]] if start.structures[i] == structures[0] else None
    if old is not None and all(a is x and b is x for x, a, b in zip(old, *raws)):
        return Plan(structures[0], [Plain(x) for x in old], False)
    leaves: list = []
    for position in range(ends[0].spans[i].stop - ends[0].spans[i].start):
        pair = [r.leaves[e.spans[i].start + position] for r, e in zip(recorded, ends)]
        a, b = (raw[position] for raw in raws)
        if a is b:
            leaves.append(Plain(a))
        else:
            leaves.append(_unified(name, recorded, pair))
    return Plan(structures[0], leaves)


def _unified(name: str, recorded: list[Recorded], pair: list) -> Any:
    for i, r in enumerate(recorded):
        with r.reopened():
            pair[i] = tensor_of(pair[i])
    kinds = [type(x) for x in pair]
    if set(kinds) == {int, float}:
        pair = [float(x) for x in pair]
    tensor = next((x for x in pair if isinstance(x, Tensor)), None)
    if tensor is not None and float in kinds and not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        raise Mismatch(f"cond: {_called(name)} is a float in one branch and {tensor.dtype.name} in the other one")
    try:
        found = blocks._unified("cond", recorded, tuple(pair), _PIECES)
    except (TypeError, ValueError) as e:
        raise Mismatch(f"{e} (for {_called(name)})") from None
    return Plain(pair[0]) if found is None else (found,)


def _fill_missing(
    name: str, i: int, structures: list, ends: list[End], recorded: list[Recorded], left: list[bool]
) -> Plan:
    """A variable that one branch does not assign. In loops, and where that branch returns, something has to stand for it
    there: NaN, or the smallest integer."""
    has = 0 if structures[0] is not None else 1
    if not (name.startswith(PREFIX) or left[1 - has] or getattr(modes.program, "in_loop", 0)):
        return Plan(None, None)
    leaves: list = []
    for leaf in recorded[has].leaves[ends[has].spans[i]]:
        if not isinstance(leaf, Tensor):
            leaves.append(Plain(leaf))
            continue
        defined = {v for o in recorded[has].block.operators for v in o.outputs}
        with recorded[1 - has].reopened():
            absent = _absent(name, leaf, defined)
        pair = [leaf, absent] if has == 0 else [absent, leaf]
        leaves.append((pair,))
    return Plan(structures[has], leaves)


def _absent(name: str, like: Tensor, defined: set[Value]) -> Tensor:
    """A tensor of the same type and shape as one that does not exist here."""
    shape = list(like._raw.shape)
    for d in shape:
        if isinstance(d, Dim) and any(v in defined for v in d.values()):
            raise Mismatch(f"cond: the shape of {_called(name)} is known in one branch only")
    kind = like.dtype
    value: Any = math.nan if kind.is_floating or kind.is_complex else False
    if kind.is_integer:
        import paddle

        value = paddle.iinfo(kind).min
    return blocks.full(shape, value, kind)


def _called(name: str) -> str:
    if name == PREFIX + "value":
        return "what is returned"
    return "the expression" if name.startswith(PREFIX) else f"the variable {name!r}"


def _shown(structure: Structure, raw: list) -> str:
    if structure.kind is None:
        return "None" if raw[0] is None else errors.describe(raw[0]) if raw else "nothing"
    return f"a {structure.kind.__name__} of {len(structure.parts)}"


def _append(recorder: Any, test: Tensor, recorded: list[Recorded], outputs: list[list[Tensor]]) -> list[Tensor]:
    """Append the operator, apply what the branches overwrite; the results."""
    writes = blocks.Writes(recorded)
    n = len(outputs[0])
    for group, r in zip(outputs, recorded):
        group += writes.after(r)
    live = blocks.settle(recorded, outputs)
    kernel = Branches("cond", [r.block for r in recorded])
    if not kernel.results and not kernel.effect:
        return []
    made = blocks.append(recorder, kernel, [test], live)
    for i, out in enumerate(made):
        if all(group[i]._stop or group[i]._node is None for group in outputs):
            out._node, out._stop = None, True
    writes.apply(made[n:])
    return made[:n]


# ---- loops ----


def record_loop(test: Callable, body: Callable, state: State, wanted: set[str]) -> None:
    """``while test(): body()``, recorded; `wanted` are the names that are read later."""
    recorder = modes.program
    before = state.read()
    contents = Contents(before)
    carried = [i for i, name in enumerate(state.names) if name in wanted or "." in name]
    start = list(before)
    recorder.in_loop = getattr(recorder, "in_loop", 0) + 1
    try:
        missing = [i for i in carried if before[i] is UNDEFINED]
        if missing:
            for i, value in zip(missing, _discover(recorder, test, body, state, missing)):
                start[i] = value
        carried = [i for i in carried if start[i] is not UNDEFINED]
        first: list = []
        structures = [flatten(start[i], first) for i in carried]
        first = [tensor_of(x) for x in first]

        def assign(leaves: list) -> None:
            source = iter(leaves)
            values = list(before)
            for i, structure in zip(carried, structures):
                values[i] = structure.build(source)
            state.write(values)

        def step(leaves: list) -> list:
            assign(leaves)
            body()
            after = state.read()
            out: list = []
            for i, structure in zip(carried, structures):
                if after[i] is UNDEFINED:
                    raise Mismatch(f"while: {_called(state.names[i])} has no value at the end of an iteration")
                found = flatten(after[i], out)
                if found != structure:
                    raise Grows(
                        f"while: {_called(state.names[i])} changes its structure in the loop, "
                        f"from {_shown(structure, [])} to {_shown(found, [])}"
                    )
            return [tensor_of(x) for x in out]

        def going(leaves: list) -> Any:
            assign(leaves)
            return test()

        try:
            results = blocks.record_loop("while", going, step, first)
        except (TypeError, ValueError) as e:
            raise _named(e, state, carried, structures) from e
    except BaseException:
        state.write(before)
        contents.restore()
        raise
    finally:
        recorder.in_loop -= 1
    contents.restore()
    source = iter(results)
    values = list(before)
    for i, structure in zip(carried, structures):
        values[i] = _into(before[i], structure.build(source))
    state.write(values)


def _discover(recorder: Any, test: Callable, body: Callable, state: State, missing: list[int]) -> list:
    """What variables without a value before the loop are after an iteration, as values to start with."""
    before = state.read()
    contents = Contents(before)
    ticks = recorder.graph.ticks

    def once() -> list:
        test()
        body()
        return []

    defined: set[Value] = set()
    found: list = []
    try:
        with recorder.inner([]) as block:
            once()
            after = state.read()
            found = [after[i] for i in missing]
        defined = {v for o in block.operators for v in o.outputs}
    finally:
        recorder.graph.ticks = ticks
        state.write(before)
        contents.restore()
    made = []
    for i, value in zip(missing, found):
        if value is UNDEFINED:
            made.append(UNDEFINED)
            continue
        leaves: list = []
        structure = flatten(value, leaves)
        with set_mode(grad=False):
            starts = [_absent(state.names[i], x, defined) if isinstance(x, Tensor) else x for x in leaves]
        made.append(unflatten(structure, starts))
    return made


def _named(error: Exception, state: State, carried: list[int], structures: list[Structure]) -> Exception:
    """An error about "loop variable 3" with the variable's name."""
    if isinstance(error, GraphBreak):
        return error
    found = re.search(r"loop variable (\d+)", str(error))
    if found is None:
        return error
    number, owners = int(found.group(1)), []
    for i, structure in zip(carried, structures):
        owners += [state.names[i]] * _leaves_in(structure)
    name = _called(owners[number]) if number < len(owners) else found.group()
    return Mismatch(str(error).replace(found.group(), name))


def _leaves_in(structure: Structure) -> int:
    return 1 if structure.kind is None else sum(map(_leaves_in, structure.parts))


__all__ = ["NUMBERS", "Mismatch", "record_branch", "record_loop"]
