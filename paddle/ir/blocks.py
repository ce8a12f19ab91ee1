"""Recording branches and loops: user functions become blocks, and what they overwrite becomes results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.executable import Frozen
from ..engine.modes import modes
from ..engine.op import registry
from ..engine.storage import View
from ..engine.tape import Node
from ..engine.tensor import Tensor, _make
from ..engine.value import PROBES, Value
from .control_flow import BlockKernel, Branches, Loop, stop_gradient
from .program import InnerBlock, is_inexact
from .record import Recorder, _over

NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def full(shape: Iterable[int], value: Any, dtype: Any) -> Tensor:
    """A constant of the program."""
    return registry["full"].public(Frozen(shape), value, dtypes.to_dtype(dtype))


class Empty:
    """A leaf for an array of tensors without elements: as a loop variable it becomes a tensor of length 0, whose other
    lengths are 0 where they are not known yet."""

    def __init__(self, dtype: Any):
        self.dtype = dtype


class LoopStart(Node):
    """Where the history of a loop variable begins inside of the body."""

    __slots__ = ()
    name = "loop_variable"

    def run(self, cotangents: list, record: Callable | None, live_only: bool) -> list:
        return []


class Recorded:
    """A block that was recorded, with what its function returned and what it overwrote.

    Attributes:
        leaves: what the function returned, tensors as they were at the end of the block.
        writes: by the id of a slot from outside, the tensor that it held at the end.
    """

    def __init__(self, recorder: Recorder, block: InnerBlock, leaves: list):
        self.recorder, self.block, self.leaves = recorder, block, leaves
        inside = {*block.inputs, *(v for o in block.operators for v in o.outputs)}
        self.writes = {
            id(slot): (slot, _make(now))
            for slot, first, now in block.writes
            if not (isinstance(first, Value) and first in inside)
        }
        self.joined = []
        for tensor, after in block.joined:
            slot = tensor._storage
            if isinstance(slot, View) or isinstance(slot.value, Value) and slot.value in inside:
                continue  # a view follows its base
            if id(slot) not in self.writes:
                raise errors.NotImplemented_("a tensor from outside changes its shape or type in place in a block")
            self.writes[id(slot)] = (slot, after)
            self.joined.append(tensor)

    @classmethod
    def call(cls, recorder: Recorder, inputs: list[Value], function: Callable[[], list]) -> Recorded:
        """Record a function that returns a list of tensors and other things."""
        with recorder.inner(inputs) as block:
            leaves = [recorder.frozen(x) if isinstance(x, Tensor) else x for x in function()]
        return cls(recorder, block, leaves)

    def tensor(self, leaf: Any, dtype: Any = None, shape: Iterable[int] = ()) -> Tensor:
        """A leaf as a tensor; a number becomes a constant of the block."""
        if isinstance(leaf, Tensor):
            return leaf
        with self.reopened():
            return full(list(shape), leaf, dtype or NUMBERS[type(leaf)])

    @contextlib.contextmanager
    def reopened(self) -> Iterator[None]:
        """Record at the end of the block."""
        outer, self.recorder.block = self.recorder.block, self.block
        try:
            yield
        finally:
            self.recorder.block = outer


def settle(recorded: list[Recorded], outputs: list[list[Tensor]], looping: bool = False) -> dict[Value, Tensor]:
    """Give the blocks of an operator their outputs. Where a tensor was detached (or computed without recording) whose
    value carries a gradient elsewhere, a `stop_gradient` is put in. Returns the tensors that lead gradients to values
    from outside."""
    live: dict[Value, Tensor] = {}
    for r, tensors in zip(recorded, outputs):
        for t in tensors:
            r.block.note(r.recorder.value_of(t), t)
        for value, tensor in r.block.live.items():
            if value not in live or tensor._node.seq < live[value]._node.seq:
                live[value] = tensor
    for r, tensors in zip(recorded, outputs):
        block = r.block
        flowing = {*live, *(v for o, nodes in block.uses if any(nodes) for v in o.outputs)}
        if looping and modes.grad:
            flowing.update(v for v in block.inputs if is_inexact(v.dtype))
        uses, block.uses, block.operators = block.uses, [], []
        stopped: dict[Value, Value] = {}

        def stop(value: Value, r: Recorded = r, stopped: dict = stopped) -> Value:
            if value not in stopped:
                with r.reopened():
                    stopped[value] = stop_gradient(_make(value))._value
            return stopped[value]

        for operator, nodes in uses:
            if any(is_inexact(v.dtype) for v in operator.outputs):
                inputs = tuple(
                    stop(x)
                    if isinstance(x, Value) and x in flowing and is_inexact(x.dtype) and not block.flows(x, node, live)
                    else x
                    for x, node in zip(operator.inputs, nodes)
                )
                if inputs != operator.inputs:
                    operator = operator.replaced(inputs=inputs)
            block.operators.append(operator)
        block.outputs = []
        for t in tensors:
            value = r.recorder.value_of(t)
            cut = value in flowing and is_inexact(value.dtype) and not block.flows(value, block.note(value, t), live)
            block.outputs.append(stop(value) if cut else value)
    return live


def append(recorder: Recorder, kernel: BlockKernel, leading: list[Tensor], live: dict[Value, Tensor]) -> list[Tensor]:
    """Append the operator of a kernel with blocks."""
    tensors = leading + [live[v]._snapshot() if v in live else _make(v) for v in kernel.reads]
    return list(recorder.record(kernel, tuple(tensors)))


class Writes:
    """What several blocks overwrote, together: each slot becomes a result of their operator."""

    def __init__(self, recorded: list[Recorded]):
        self.recorder = recorded[0].recorder
        self.slots = {key: slot for r in recorded for key, (slot, _) in r.writes.items()}
        self.tensors: dict[int, list[Tensor]] = {key: [] for key in self.slots}
        for tensor in {id(t): t for r in recorded for t in r.joined}.values():
            self.tensors[id(tensor._storage)].append(tensor)

    def before(self) -> list[Tensor]:
        """The tensors before the operator."""
        frozen = self.recorder.frozen
        return [frozen(self.tensors[k][0]) if self.tensors[k] else self._plain(s) for k, s in self.slots.items()]

    def _plain(self, slot: Any) -> Tensor:
        tensor = _over(slot)
        return _make(self.recorder.value_of(tensor))

    def after(self, recorded: Recorded) -> list[Tensor]:
        """The tensors at the end of a block."""
        return [recorded.writes[k][1] if k in recorded.writes else b for k, b in zip(self.slots, self.before())]

    def apply(self, results: list[Tensor]) -> None:
        for (key, slot), result in zip(self.slots.items(), results):
            for tensor in self.tensors[key]:
                self.recorder.joins(tensor)
            slot.write(result._value)
            slot.version += 1
            for tensor in self.tensors[key]:
                tensor._join(result)


# ---- branches ----


def record_branches(
    name: str, choice: Tensor, functions: list[Callable[[], list]], keys: tuple[int, ...] | None, what: list[str]
) -> list:
    """Append an operator that runs one of several functions, each of which returns a list of leaves; returns the leaves
    of the result. See `finish_branches` for the other arguments."""
    recorded = [Recorded.call(modes.program, [], f) for f in functions]
    return finish_branches(name, choice, recorded, keys, what)


def finish_branches(
    name: str, choice: Tensor, recorded: list[Recorded], keys: tuple[int, ...] | None, what: list[str]
) -> list:
    """Append an operator that runs one of several blocks, and apply what that block overwrites.

    Args:
        name: the operator's name, for errors as well.
        choice: the tensor that decides.
        keys: see `Branches`.
        what: how errors call the blocks.
    """
    recorder = recorded[0].recorder
    counts = [len(r.leaves) for r in recorded]
    for i, n in enumerate(counts):
        if n != counts[0]:
            raise errors.ValueError_(f"{name}: {what[0]} returns {counts[0]} values, but {what[i]} returns {n}")
    results, places = list(recorded[0].leaves), []
    outputs: list[list[Tensor]] = [[] for _ in recorded]
    for i, leaves in enumerate(zip(*(r.leaves for r in recorded))):
        tensors = _unified(name, recorded, leaves, what)
        if tensors is not None:
            places.append(i)
            for group, t in zip(outputs, tensors):
                group.append(t)
    writes = Writes(recorded)
    n = len(outputs[0])
    for group, r in zip(outputs, recorded):
        group += writes.after(r)
    live = settle(recorded, outputs)
    kernel = Branches(name, [r.block for r in recorded], keys)
    if not kernel.results and not kernel.effect:
        return results
    made = append(recorder, kernel, [choice], live)
    for i, out in enumerate(made):  # what carries a gradient in no branch carries none
        if all(group[i]._stop or group[i]._node is None for group in outputs):
            made[i] = _make(out._value)
    writes.apply(made[n:])
    for place, out in zip(places, made):
        results[place] = out
    return results


def _unified(name: str, recorded: list[Recorded], leaves: tuple, what: list[str]) -> list[Tensor] | None:
    """The leaves at one place of the results as tensors, None when they are one and the same Python object."""
    first = leaves[0]
    if not any(isinstance(x, Tensor) for x in leaves):
        if all(x is first or type(x) is type(first) and x == first for x in leaves):
            return None
        if type(first) in NUMBERS and all(type(x) is type(first) for x in leaves):
            return [r.tensor(x) for r, x in zip(recorded, leaves)]
    dtype = next((x.dtype for x in leaves if isinstance(x, Tensor)), None)
    for i, x in enumerate(leaves):
        if not isinstance(x, Tensor) and (type(x) not in NUMBERS or dtype is None):
            other = next(k for k, y in enumerate(leaves) if y is not x)
            raise errors.TypeError_(
                f"{name}: {what[i]} returns {errors.describe(x)} where {what[other]} returns {errors.describe(leaves[other])}"
            )
    tensors = [r.tensor(x, dtype) for r, x in zip(recorded, leaves)]
    for i, t in enumerate(tensors):
        if t.dtype is not tensors[0].dtype:
            raise errors.TypeError_(
                f"{name}: {what[0]} returns a tensor of type {tensors[0].dtype.name} where {what[i]} returns {t.dtype.name}"
            )
        if t.ndim != tensors[0].ndim:
            raise errors.ValueError_(
                f"{name}: {what[0]} returns a tensor of shape {list(tensors[0].shape)} where {what[i]} returns {list(t.shape)}"
            )
    return tensors


# ---- loops ----

ATTEMPTS = 5  # how often a body is recorded until the types of its variables are the same before and after


def record_loop(name: str, condition: Callable[[list], Any], body: Callable[[list], list], leaves: list) -> list:
    """Append a loop; returns the leaves after it.

    Args:
        name: the operator's name, for errors as well.
        condition: takes the leaves, returns a tensor of one bool.
        body: takes the leaves, returns as many.
        leaves: the first values. Tensors are loop variables; Python numbers are when the body changes them; anything
            else has to stay as it is.
    """
    recorder = modes.program
    starts: dict[int, tuple] = {i: _type_of(x) for i, x in enumerate(leaves) if isinstance(x, Tensor)}
    for _ in range(ATTEMPTS):
        variables = [Value(f"{name}_variable_{i}", trials, dtype) for i, (trials, dtype) in starts.items()]

        def given(variables: list = variables, starts: dict = starts) -> list:
            now = list(leaves)
            for i, value in zip(starts, variables):
                inexact = is_inexact(value.dtype) and modes.grad
                now[i] = _make(value, LoopStart(), 0, False) if inexact else _make(value)
            return now

        step = Recorded.call(recorder, variables, lambda: body(given()))
        if len(step.leaves) != len(leaves):
            raise errors.ValueError_(
                f"{name}: body takes {len(leaves)} loop variables and returns {len(step.leaves)}; they must be as many"
            )
        changed = {}
        for i, (before, after) in enumerate(zip(leaves, step.leaves)):
            found = _next_type(name, i, before, starts.get(i), after)
            if found is not None and found != starts.get(i):
                changed[i] = found
        if not changed:
            break
        starts = dict(sorted({**starts, **changed}.items()))
    else:
        raise errors.ValueError_(f"{name}: the types of the loop variables {sorted(changed)} change in every iteration")
    test = Recorded.call(recorder, variables, lambda: [_one_bool(name, condition(given()))])
    if test.writes:
        raise errors.NotImplemented_(f"{name}: a condition that changes tensors in place")
    firsts = [_start(leaves[i], trials, dtype) for i, (trials, dtype) in starts.items()]
    ends = [step.tensor(step.leaves[i], dtypes._by_numpy[np.dtype(starts[i][1])]) for i in starts]
    made = finish_loop(name, test, step, firsts, ends)
    results = list(leaves)
    for i, out in zip(starts, made):
        results[i] = out
    return results


def finish_loop(name: str, test: Recorded, step: Recorded, firsts: list[Tensor], ends: list[Tensor]) -> list[Tensor]:
    """Append a loop whose blocks are recorded, and apply what its body overwrites."""
    recorder = step.recorder
    writes = Writes([step])
    before = writes.before()
    shadows = [recorder.value_of(t) for t in before]
    for shadow, end in zip(shadows, writes.after(step)):
        if shadow.shape != recorder.value_of(end).shape:
            raise errors.ValueError_(
                f"{name}: the body changes the shape of {shadow.name} in place, from {list(map(int, shadow.shape))} to "
                f"{list(end.shape)}; make it a loop variable"
            )
    shapes_change = any(
        v.trials != recorder.value_of(e).trials
        for v, e in zip([*step.block.inputs, *shadows], [*ends, *writes.after(step)])
    )
    live = settle([step, test], [ends + writes.after(step), test.leaves], looping=True)
    for r in (step, test):
        r.block.inputs = [*step.block.inputs[: len(ends)], *shadows]
        _vary(r.block, set(shadows))
    kernel = Loop(name, test.block, step.block, shapes_change)
    made = append(recorder, kernel, firsts + before, live)
    writes.apply(made[len(ends) :])
    return made[: len(ends)]


def _vary(block: Any, values: set[Value]) -> None:
    """Values that were constants outside change from iteration to iteration: what follows from them is no constant."""
    for operator in block.operators:
        if any(v in values for v in operator.reads()):
            operator.known = False
            values.update(operator.outputs)
        for inner in getattr(operator.kernel, "blocks", ()):
            _vary(inner, values)


def _type_of(x: Tensor) -> tuple:
    value = modes.program.value_of(x)
    return value.trials, value.dtype


def _next_type(name: str, i: int, before: Any, now: tuple | None, after: Any) -> tuple | None:
    """What a loop variable must be at the start of an iteration, for what it is at the end of one; None for a Python
    object that stays."""
    if now is None and not isinstance(after, Tensor):
        if after is before or type(after) is type(before) and after == before:
            return None
        if type(before) in NUMBERS and type(after) in NUMBERS:
            return ((),) * len(PROBES), _widest(NUMBERS[type(before)], NUMBERS[type(after)])
    if now is None and isinstance(before, Empty):
        if isinstance(after, Empty):
            return None
        trials, dtype = _type_of(after)
        return tuple((probe, *t[1:]) for probe, t in zip(PROBES, trials)), dtype
    if now is None and type(before) in NUMBERS and isinstance(after, Tensor):
        trials, dtype = _type_of(after)
        return _static(name, i, trials), dtype
    if now is not None and not isinstance(after, Tensor) and type(after) in NUMBERS:
        if any(now[0]):
            raise errors.ValueError_(f"{name}: loop variable {i} has several elements and becomes the number {after!r}")
        inexact = is_inexact(now[1]) and type(after) is not complex
        return now[0], now[1] if inexact else _widest(now[1], NUMBERS[type(after)])
    if now is None or not isinstance(after, Tensor):
        raise errors.TypeError_(
            f"{name}: loop variable {i} is {errors.describe(before)} and becomes {errors.describe(after)}; only tensors "
            "and numbers change"
        )
    trials, dtype = _type_of(after)
    if len(trials[0]) != len(now[0][0]):
        if not isinstance(before, Tensor):
            return _static(name, i, trials), dtype
        raise errors.ValueError_(
            f"{name}: loop variable {i} has shape {list(before.shape)} and becomes {list(after.shape)}; the number of "
            "dimensions must stay"
        )
    if trials != now[0]:
        if not isinstance(before, Tensor):
            return _static(name, i, trials), dtype
        lengths = [
            tuple(a if same else probe for a, same in zip(old, (x == y for x, y in zip(zip(*now[0]), zip(*trials)))))
            for old, probe in zip(now[0], PROBES)
        ]
        return tuple(lengths), dtype
    return now[0], dtype


def _widest(a: Any, b: Any) -> Any:
    return np.result_type(np.dtype(a), np.dtype(b))


def _static(name: str, i: int, trials: tuple) -> tuple:
    """The trials of a variable that starts as a number: it is repeated to the shape that it has later."""
    if len(set(trials)) > 1:
        raise errors.ValueError_(
            f"{name}: loop variable {i} starts as a number and becomes a tensor whose shape is not known; start with a "
            "tensor of that shape"
        )
    return trials


def _start(x: Any, trials: tuple, dtype: Any) -> Tensor:
    """The first value of a loop variable."""
    kind = dtypes._by_numpy[np.dtype(dtype)]
    if isinstance(x, Empty):
        return full([0, *(n[0] if len(set(n)) == 1 else 0 for n in list(zip(*trials))[1:])], 0, kind)
    if not isinstance(x, Tensor):
        return full(list(trials[0]), x, kind)
    return x if x.dtype is kind else x.astype(kind)


def _one_bool(name: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        if not isinstance(x, (bool, np.bool_)):
            raise errors.TypeError_(f"{name}: cond must return a Tensor of one bool, got {errors.describe(x)}")
        return full([], bool(x), "bool")
    return checked_bool(name, "what cond returns", x)


def checked_bool(name: str, argument: str, x: Tensor) -> Tensor:
    """A tensor of one bool, or an error that says what is wrong with it."""
    if x.dtype.name != "bool":
        raise errors.TypeError_(f"{name}: {argument} must be a Tensor of type bool, got {x.dtype.name}")
    if any(int(d) not in (1, -1) for d in x.shape):
        raise errors.ValueError_(f"{name}: {argument} must have one element, got shape {list(x.shape)}")
    return x
