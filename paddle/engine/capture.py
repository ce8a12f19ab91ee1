"""Capture: eager code that repeats itself runs as compiled programs, without a decorator and without being read.

Python always runs. What changes is when the calls of executables (`Unit.run`: operators, their gradients, the optimizer's
step) reach the device, in three modes:

- watching: calls run at once, and the order of the units is noted from one cut to the next. A cut is where the results
  are wanted: an optimizer's step, a value that Python reads, the end of the outermost layer without gradients.
- recording: the same order came again. Calls still run at once, and each takes a step down a tree: from what was called
  so far, by the unit and by where its inputs come from, to the shapes of its results.
- following: the tree is known. A call takes its step and gives back `Deferred`s; at the cut everything since the last
  one runs, as one compiled program if there is one at this point of the tree, otherwise call by call, until a thread in
  the background has compiled it.

A call that has no step in the tree (another operator, another shape, other operands) runs what waits and goes on
recording, so a mismatch costs time and nothing else. Results that nobody holds any more at the cut are never stored.

Everything above, the tape and its checks, hooks, errors of shapes, works the same in all modes, because only arrays are
deferred. The idea of deferring what repeats is that of lazy tensors (Suhan et al., "LazyTensor", 2021) and of trace
monkeys; the tree makes a call cost a dictionary lookup, and needs no shape inference.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from . import flags
from .deferred import Deferred, settled
from .modes import Watch, modes

WATCHING, RECORDING, FOLLOWING = range(3)

SHORTEST = 8  # calls; what is shorter is not worth a program
LONGEST = 4096  # calls that may wait
LARGEST = 1 << 30  # bytes that calls that wait may keep from being freed
TREE = 65536  # steps that are remembered
FEW = 4  # calls that may run twice, so that reading an early result does not cut
LIVES = 4  # programs at one point of the tree, which differ in the results that somebody still holds
PATIENCE = 8  # segments in a row that were new, after which it watches again

try:  # no public name tells whether JAX is tracing a function
    from jax._src.core import trace_ctx

    _outside_traces: Callable[[], bool] = trace_ctx.is_top_level
except (ImportError, AttributeError):

    def _outside_traces() -> bool:
        return True


_ARRAY = jax.Array  # the class of arrays, known when the first one is there
_NUMBERS = frozenset((bool, int, float, complex))


class Step:
    """A call in the tree of what was seen: `sources` tells where its inputs come from (the number of a result of its
    segment, or -1 - that of an input), `results` are (shape, type) of its results, `first` the number of the first of
    them. At a step where a segment ended: how often it did, and its programs."""

    __slots__ = ("unit", "sources", "results", "single", "first", "next", "ends", "programs", "submitted")

    def __init__(self, unit: Any, sources: tuple, results: tuple, single: bool, first: int):
        self.unit, self.sources, self.results, self.single, self.first = unit, sources, results, single, first
        self.next: dict[tuple, Step] = {}
        self.ends = 0
        self.programs: dict[tuple, Any] = {}  # by the numbers of the results that they give
        self.submitted = 0

    def program(self, live: tuple) -> Any:
        """(numbers of the results, program) that gives at least the results `live`, or None."""
        found = self.programs.get(live)
        if found is not None:
            return live, found
        wanted = set(live)
        return next(((given, p) for given, p in self.programs.items() if wanted.issubset(given)), None)


class Segment:
    """The calls from one cut to the next."""

    __slots__ = ("capture", "steps", "inputs", "index", "results", "makers", "due")

    def __init__(self, capture: Capture):
        self.capture = capture
        self.steps: list[Step] = []
        self.inputs: list[Any] = []  # arrays and numbers from outside, in the order of their first use
        self.index: dict[int, int] = {}  # of the id of an input: -1 - its position
        self.results: list[Any] = []  # weak references to the Deferreds
        self.makers: list[int] = []  # of each result: the number of its step
        self.due = False  # cut before the next call

    def run(self) -> None:
        self.capture.cut(self)

    def neighbour(self) -> Any:
        """An array that lies where the results will lie."""
        return next(a for a in self.inputs if a.__class__ is _ARRAY)


class Capture:
    """The capture of one thread.

    Args:
        eager: compile at once and in the foreground, whatever repeats, however short (for tests).
    """

    def __init__(self, eager: bool = False):
        self.eager = eager
        self.shortest = 1 if eager else SHORTEST
        self.mode = WATCHING
        self.log: list[Any] = []
        self.seen: dict[tuple, int] = {}
        self.root = Step(None, (), (), False, 0)
        self.at = self.root
        self.segment = Segment(self)
        self.size = 0  # steps in the tree
        self.stepped = False  # whether an optimizer made a step since the last cut
        self.inside = False  # a layer that records no gradients
        self.used = False  # whether there are Deferreds
        self.fruitless = 0
        self.needed = 2  # how often an order has to come
        self.lock = threading.RLock()
        self.programs_run = self.calls_deferred = self.mismatches = 0

    @property
    def deferring(self) -> bool:
        return self.mode != WATCHING

    # ---- calls ----
    def run(self, unit: Any, arrays: tuple) -> Any:
        """The results of a unit: arrays, or what stands for them."""
        if self.mode == WATCHING:
            log = self.log
            log.append(unit)
            if len(log) > LONGEST:
                log.clear()
            return unit.compiled(*[settled(a) for a in arrays]) if self.used else unit.compiled(*arrays)
        if Watch.on or unit.opaque:
            return self._directly(unit, arrays)
        with self.lock:
            segment = self.segment
            waiting = len(segment.steps)
            if segment.due or waiting >= LONGEST or waiting & 255 == 255 and _kept_alive(segment) > LARGEST:
                self.cut(segment)
                if self.mode == WATCHING:
                    return self.run(unit, arrays)
                segment, waiting = self.segment, 0
            key: list[Any] = [unit]
            inputs, index = segment.inputs, segment.index
            before = len(inputs)
            any_array = False
            for a in arrays:
                kind = a.__class__
                if kind is Deferred:
                    any_array = True
                    if a.segment is segment:
                        key.append(a.position)
                        continue
                    a = a.force()
                    kind = a.__class__
                if kind is _ARRAY:
                    any_array = True
                    number = index.get(id(a))
                    if number is not None:
                        key.append(number)
                        continue
                    inputs.append(a)
                    index[id(a)] = -len(inputs)
                    key.append((a.shape, a.dtype, a.weak_type))
                elif kind in _NUMBERS:
                    inputs.append(a)
                    key.append(kind)
                elif kind is np.ndarray:
                    inputs.append(a)
                    key.append((a.shape, a.dtype, False))
                else:
                    any_array = False
                    break
            if not any_array:  # nothing to compute from, or something foreign such as a tracer
                self._forget(segment, before)
                return self._directly(unit, arrays)
            found = tuple(key)
            step = self.at.next.get(found)
            if self.mode == FOLLOWING:
                if step is None:
                    self._leave(segment, before)
                else:
                    self.at = step
                    segment.steps.append(step)
                    position = step.first
                    results, makers = segment.results, segment.makers
                    if step.single:
                        shape, dtype = step.results[0]
                        out = Deferred(shape, dtype, segment, position)
                        results.append(weakref.ref(out))
                        makers.append(waiting)
                        return out
                    outs = []
                    for shape, dtype in step.results:
                        out = Deferred(shape, dtype, segment, position)
                        results.append(weakref.ref(out))
                        makers.append(waiting)
                        outs.append(out)
                        position += 1
                    return tuple(outs)
            return self._record(segment, unit, found, step, arrays, before)

    def _record(
        self, segment: Segment, unit: Any, key: tuple, step: Step | None, arrays: tuple, before: int
    ) -> Any:
        """Run the call and take its step, which may be new."""
        raw = unit.compiled(*[settled(a) for a in arrays])
        outs = raw if type(raw) is tuple else (raw,)
        if step is None:
            if not outs or any(o.__class__ is not _ARRAY for o in outs):
                unit.opaque = True
                self._forget(segment, before)
                self._end(segment)
                return raw
            shapes = tuple((o.shape, o.dtype) for o in outs)
            sources, fresh = [], -before
            for ref in key[1:]:
                if ref.__class__ is not int:  # an input that is used for the first time
                    fresh -= 1
                sources.append(ref if ref.__class__ is int else fresh)
            step = Step(unit, tuple(sources), shapes, outs is not raw, len(segment.results))
            self.at.next[key] = step
            self.size += 1
        self.at = step
        segment.steps.append(step)
        made = []
        for o in outs:
            out = Deferred(o.shape, o.dtype, segment, len(segment.results), o)
            segment.results.append(weakref.ref(out))
            segment.makers.append(len(segment.steps) - 1)
            made.append(out)
        return tuple(made) if outs is raw else made[0]

    @staticmethod
    def _forget(segment: Segment, before: int) -> list:
        """Take the inputs from number `before` on out again."""
        taken = segment.inputs[before:]
        for a in taken:
            segment.index.pop(id(a), None)
        del segment.inputs[before:]
        return taken

    def _directly(self, unit: Any, arrays: tuple) -> Any:
        """Run a call that cannot be deferred; what it reads is computed first."""
        if any(a.__class__ is Deferred and a.array is None for a in arrays):
            self.cut(self.segment)
        return unit.compiled(*[settled(a) for a in arrays])

    def _leave(self, segment: Segment, before: int) -> None:
        """A call that the tree does not know, with inputs from number `before` on: run what waits, go on recording."""
        self.mismatches += 1
        taken = self._forget(segment, before)
        self._materialise(segment)
        for a in taken:
            segment.inputs.append(a)
            if a.__class__ is _ARRAY:
                segment.index[id(a)] = -len(segment.inputs)
        self.mode = RECORDING

    def peek(self, wanted: Deferred) -> Any:
        """The array of one result, without a cut where few calls lead to it."""
        with self.lock:
            segment = wanted.segment
            if wanted.array is None and segment is self.segment:
                steps, makers = segment.steps, segment.makers
                chosen: set[int] = set()
                stack = [makers[wanted.position]]
                while stack and len(chosen) <= FEW:
                    number = stack.pop()
                    if number not in chosen:
                        chosen.add(number)
                        stack.extend([makers[s] for s in steps[number].sources if s >= 0])
                if len(chosen) <= FEW:
                    only = [steps[number] for number in sorted(chosen)]
                    (wanted.array,) = _replay(only, segment.inputs, (wanted.position,))
            return wanted.force()

    # ---- cuts ----
    def boundary(self) -> None:
        """Here a unit of work of the user ends, such as an optimizer's step."""
        if self.mode == WATCHING:
            self._noted()
        elif self.segment.steps:
            self.segment.due = True

    def settle(self) -> None:
        """The tidying up after an optimizer's step is over."""
        if self.segment.due or self.stepped:
            self.cut(self.segment)

    def begin(self) -> None:
        """An outermost layer is called that records no gradients."""
        if self.mode == WATCHING:
            self._noted()
        else:
            self.cut(self.segment)

    def read(self) -> None:
        """Python reads a value."""
        if self.mode == WATCHING:
            self._noted()

    def _noted(self) -> None:
        log = self.log
        if len(log) >= self.shortest:
            key = tuple(log)
            times = self.seen[key] = self.seen.get(key, 0) + 1
            if times >= self.needed:
                self._start()
            elif len(self.seen) > 64:
                self.seen.pop(next(iter(self.seen)))
        log.clear()

    def _start(self) -> None:
        global _ARRAY
        _ARRAY = type(jax.numpy.zeros((), bool))
        self.seen.clear()
        self.used = True
        self.fruitless = 0
        self.mode = FOLLOWING
        _report("capture: what is called repeats itself")

    def cut(self, segment: Segment) -> None:
        """Run what waits in a segment, and begin another one."""
        with self.lock:
            if segment is not self.segment:
                return
            if self.mode == FOLLOWING:
                self._materialise(segment)
            self._end(segment)

    def _end(self, segment: Segment) -> None:
        at, known = self.at, self.mode == FOLLOWING
        steps = segment.steps
        self.segment, self.at, self.stepped = Segment(self), self.root, False
        if not steps:
            return
        at.ends += 1
        self.fruitless = 0 if known or at.ends > 1 else self.fruitless + 1
        if not known and len(steps) >= self.shortest and (at.ends > 1 or at.submitted == 0):
            self._submit(at, steps, segment, _live(segment))
        self.mode = FOLLOWING
        if self.fruitless >= PATIENCE:
            self.mode, self.needed = WATCHING, min(2 * self.needed, 64)
        if self.size > TREE:
            self.root, self.size, self.mode = Step(None, (), (), False, 0), 0, WATCHING
            self.at = self.root

    def _materialise(self, segment: Segment) -> None:
        """Compute all results of a segment that somebody holds."""
        if not segment.steps:
            return
        live = _live(segment)
        program = self.at.program(live)
        outs = None
        if program is not None:
            live, run = program
            outs = run(segment.inputs)
        if outs is None:
            with contextlib.nullcontext() if _outside_traces() else jax.ensure_compile_time_eval():
                outs = _replay(segment.steps, segment.inputs, live)
            if self.at.ends >= 1 and len(segment.steps) >= self.shortest:
                self._submit(self.at, segment.steps, segment, live)
        else:
            self.programs_run += 1
        self.calls_deferred += len(segment.steps)
        for number, out in zip(live, outs):
            holder = segment.results[number]()
            if holder is not None:
                holder.array = out

    # ---- compiling ----
    def _submit(self, at: Step, steps: list[Step], segment: Segment, live: tuple) -> None:
        """Have a program compiled for a point of the tree and the results that are wanted there."""
        if at.submitted >= LIVES or live in at.programs or not live:
            return
        at.submitted += 1
        specs = [_spec(a) for a in segment.inputs]
        work = (at, list(steps), specs, live)
        if self.eager:
            _compile(*work)
        else:
            _background(work)


def _kept_alive(segment: Segment) -> int:
    """Bytes of the inputs that nobody else holds any more."""
    return sum(a.nbytes for a in segment.inputs if a.__class__ is _ARRAY and sys.getrefcount(a) <= 3)


def _live(segment: Segment) -> tuple:
    return tuple([i for i, reference in enumerate(segment.results) if reference() is not None])


def _spec(a: Any) -> Any:
    if a.__class__ in _NUMBERS:
        return a
    sharding = a.sharding if getattr(a, "committed", False) else None
    return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding, weak_type=getattr(a, "weak_type", False))


def _replay(steps: list[Step], inputs: list, live: tuple) -> list:
    """Run the calls of a segment one by one; a result is forgotten after its last use."""
    return _walk(steps, inputs, live, lambda unit, arrays: unit.compiled(*arrays))


def _walk(steps: list[Step], inputs: list, live: tuple, call: Callable) -> list:
    last: dict[int, int] = {}  # of each result: the step that reads it last
    for i, step in enumerate(steps):
        last.update(dict.fromkeys(step.sources, i))
    last.update(dict.fromkeys(live, len(steps)))
    values: dict[int, Any] = {}
    for i, step in enumerate(steps):
        out = call(step.unit, [values[s] if s >= 0 else inputs[-1 - s] for s in step.sources])
        for number, o in enumerate((out,) if step.single else out, step.first):
            if number in last:
                values[number] = o
        for s in step.sources:
            if last[s] == i:
                values.pop(s, None)
    return [values[number] for number in live]


def _compile(at: Step, steps: list[Step], specs: list, live: tuple) -> None:
    def captured(*arrays):
        return _walk(steps, arrays, live, lambda unit, given: unit.call(*given))

    try:
        compiled = jax.jit(captured).lower(*specs).compile()
    except Exception as e:  # call by call remains
        _report(f"capture: a segment of {len(steps)} calls does not compile: {e}")
        return

    def run(inputs: list) -> Any:
        try:
            return compiled(*inputs)
        except (TypeError, ValueError) as e:  # other devices than it was compiled for
            _report(f"capture: a program does not take its inputs: {e}")
            at.programs.pop(live, None)
            return None

    at.programs[live] = run


def _report(text: str) -> None:
    if flags.debug_level() >= 1:
        print(f"[paddle-xla] {text}", file=sys.stderr)


_work: queue.SimpleQueue = queue.SimpleQueue()
_threads: list[threading.Thread] = []


def _background(work: tuple) -> None:
    _work.put(work)
    if not _threads or not _threads[0].is_alive():
        _threads[:] = [threading.Thread(target=_serve, name="paddle-xla compiling", daemon=True)]
        _threads[0].start()


def _serve() -> None:
    while True:
        _compile(*_work.get())


def install() -> None:
    """Switch capture on in this thread, as ``PADDLE_XLA_CAPTURE`` says: 0 is off, "eager" compiles at once."""
    chosen = os.environ.get("PADDLE_XLA_CAPTURE", "1").lower()
    if chosen not in ("0", "off", "false", ""):
        modes.capture = Capture(chosen == "eager")
        modes.update()


install()
