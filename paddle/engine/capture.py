"""Capture: eager code that repeats itself runs as compiled programs, without a decorator and without being read.

Python always runs. What changes is when the calls of executables (`Unit.run`: operators, their gradients, the optimizer's
step) reach the device, in three modes:

- watching: calls run at once, and the order of the units is noted from one cut to the next. A cut is where a unit of work
  ends: an optimizer's step, a value that Python reads, the start of an outermost layer without gradients.
- recording: the same order came again. Calls still run at once, and each takes a step down a tree: from what was called
  so far, by the unit and by where its inputs come from, to the shapes of its results. A path that has taken long enough
  altogether is compiled as one program, by a thread in the background.
- following: there are programs. A call takes its step and gives back `Deferred`s; at the cut everything since the last
  one runs, by the program of this point of the tree if it has one, otherwise call by call.

A call that has no step in the tree (another operator, another shape, other operands) runs what waits and goes on
recording, so a mismatch costs time and nothing else. Results that nobody holds any more at the cut are never stored.

Calls that communicate with other processes are calls like others, and each process defers, compiles and flushes as it sees
fit: to the others one that defers is one that is slow, because messages keep their order (`meshed`) and do not wait for
long: who is about to wait for another process sends them first, and a thread sends what waits for a second.

Everything above, the tape and its checks, hooks, errors of shapes, works the same in all modes, because only arrays are
deferred. The ideas are those of lazy tensors (Suhan et al., "LazyTensor", 2021) and of trace trees (Gal et al., "Trace-based
Just-in-Time Type Specialization for Dynamic Languages", PLDI 2009); a call costs a dictionary lookup and no inference
of shapes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from . import errors, flags, heap, meshed
from .compile import REWRITES, background
from .deferred import Deferred, present
from .modes import Watch, modes

WATCHING, RECORDING, FOLLOWING = range(3)

SHORTEST = 8  # calls; what is shorter is not worth a program
LONGEST = 4096  # calls that may wait
LARGEST = 1 << 30  # bytes that calls that wait may keep from being freed
TREE = 65536  # steps that are remembered
FEW = 4  # calls that may run twice, so that reading an early result does not cut
LIVES = 3  # programs at one point of the tree, which differ in the results that somebody still holds
PATIENCE = 32  # segments in a row that were new or short, after which it watches again
WORTH = 0.5  # seconds that a segment must have taken altogether to be compiled

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
    them. At a step where a segment ended: how often it did, the time that they took, and their programs."""

    __slots__ = ("unit", "sources", "results", "single", "first", "next", "ends", "seconds", "programs", "submitted")

    def __init__(self, unit: Any, sources: tuple, results: tuple, single: bool, first: int):
        self.unit, self.sources, self.results, self.single, self.first = unit, sources, results, single, first
        self.next: dict[tuple, Step] = {}
        self.ends = 0
        self.seconds = 0.0
        self.programs: dict[tuple, Any] = {}  # by the numbers of the results that they give
        self.submitted: set[tuple] = set()

    def program(self, live: tuple) -> Any:
        """(numbers of the results, program) that gives at least the results `live`, or None."""
        found = self.programs.get(live)
        if found is not None:
            return live, found
        wanted = set(live)
        return next(((given, p) for given, p in self.programs.items() if wanted.issubset(given)), None)


class Seen:
    """An input that a recorded call has read: not held, so that its memory can be used again as without recording."""

    __slots__ = ("reference", "spec")

    def __init__(self, array: Any):
        self.reference = weakref.ref(array)
        self.spec = _spec(array)

    def is_of(self, array: Any) -> bool:
        return self.reference() is array


class Segment:
    """The calls from one cut to the next. `outs` has (numbers, arrays) of its results once they were computed."""

    __slots__ = (
        *("capture", "steps", "inputs", "index", "results", "makers", "before", "due", "start", "outs", "done"),
        *("mesh", "since", "sent"),
    )

    def __init__(self, capture: Capture):
        self.capture = capture
        self.mesh: Any = None  # of the processes with which calls communicate
        self.since = 0.0  # when the first of them was deferred
        self.sent = False  # whether they were started
        self.steps: list[Step] = []
        self.inputs: list[Any] = []  # arrays and numbers from outside, in the order of their first use
        self.index: dict[int, int] = {}  # of the id of an input: -1 - its position
        self.results: list[Any] = []  # weak references to the Deferreds
        self.makers: list[int] = []  # of each result: the number of its step
        self.before = 0  # how many inputs there were before the last call
        self.due = False  # cut before the next call
        self.outs: list[Any] = []
        self.done = False  # whether nothing waits any more
        self.start = time.perf_counter()

    def run(self) -> None:
        if Watch.forked:
            raise errors.RuntimeError_(
                "the computation of a tensor waited in another thread when this process was forked; read it before"
            )
        self.capture.cut(self)

    def communicates(self, mesh: Any) -> None:
        """A call that communicates with the processes of a mesh was deferred."""
        if self.mesh is None:
            self.mesh, self.since = mesh, time.monotonic()
            meshed.wait(self)

    def send(self) -> None:
        """The calls that communicate are about to be started. The others have gone on if they were before."""
        if self.sent:
            raise errors.RuntimeError_(
                "the computation of a tensor failed or was interrupted while it communicated with other processes; it "
                "cannot be tried again"
            )
        self.sent = True
        if self in meshed.waiting:
            meshed.waiting.remove(self)

    def close(self) -> None:
        """It is over: whoever still holds a result shall not hold what it was computed from."""
        self.done = True
        self.steps, self.inputs, self.index, self.results, self.makers, self.outs = [], [], {}, [], [], []

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
        self.pulls = 0  # how often gradients were computed since the last step
        self.inside = False  # a layer that records no gradients
        self.busy = False  # a call runs
        self.used = False  # whether there are Deferreds
        self.ready = 0  # programs
        self.fruitless = 0  # segments in a row that were new, or too short for a program
        self.needed = 2  # how often an order has to come
        self.lock = meshed.order
        self.thread = threading.get_ident()
        self.programs_run = self.mismatches = 0

    # ---- calls ----
    def run(self, unit: Any, arrays: tuple) -> Any:
        """The results of a unit: arrays, or what stands for them."""
        if self.mode == WATCHING:
            self._note(unit)
            return unit.compiled(*[present(a) for a in arrays]) if self.used else unit.compiled(*arrays)
        with self.lock:
            if self.busy:  # called by what is traced in a call: no call of the user's
                return unit.compiled(*[present(a) for a in arrays])
            running = False
            try:
                key = self._key(unit, arrays)
                segment = self.segment
                if key is not None and self.mode == FOLLOWING:
                    step = self.at.next.get(key)
                    if step is not None:
                        return self._follow(segment, step)
                    self._leave(segment)
                if key is None and (
                    unit.mesh is not None or any(a.__class__ is Deferred and a.array is None for a in arrays)
                ):
                    self.cut(segment)
                running = self.busy = True
                raw = unit.compiled(*[present(a) for a in arrays])
                running = self.busy = False
                return raw if key is None or segment is not self.segment else self._record(segment, unit, key, raw)
            except BaseException:  # an error of the call, or an interrupt between any two lines
                self.busy = False
                self._repair(not running)
                raise

    def follows(self) -> bool:
        """Whether the next call may be deferred, and not only noted; a cut that is due is made first."""
        if self.mode != WATCHING:
            with self.lock:
                self._cut_if_due()
        return self.mode == FOLLOWING

    def ran(self, unit: Any, arrays: tuple, raw: Any) -> Any:
        """The results of a unit that has run by other means, and may have overwritten the arrays; not where `follows`."""
        if self.mode == WATCHING:
            self._note(unit)
            return raw
        if self.busy:
            return raw
        with self.lock:
            try:
                key = self._key(unit, arrays)
                return raw if key is None else self._record(self.segment, unit, key, raw)
            except BaseException:
                self._repair(True)
                raise

    def _note(self, unit: Any) -> None:
        self.log.append(unit)
        if len(self.log) > LONGEST:
            self.log.clear()

    def _key(self, unit: Any, arrays: tuple) -> tuple | None:
        """Tells the call from others at this point: the unit, and for each array the number of a result, that of an input
        (from -1 downwards), or the shape and type of an input that is new. None for a call that cannot be deferred."""
        if Watch.on or unit.opaque:
            return None
        self._cut_if_due()
        if self.mode == WATCHING:
            return None
        if unit.mesh is not None and self.segment.mesh not in (None, unit.mesh):  # one program, one mesh
            self.cut(self.segment)
        segment = self.segment
        key: list[Any] = [unit]
        inputs, index = segment.inputs, segment.index
        segment.before = len(inputs)
        following = self.mode == FOLLOWING
        any_array = False
        for a in arrays:
            kind = a.__class__
            if kind is Deferred:
                any_array = True
                if a.segment is segment:
                    key.append(a.position)
                    continue
                a = present(a)
                kind = a.__class__
            if kind is _ARRAY:
                any_array = True
                number = index.get(id(a))
                if number is not None and (following or inputs[-1 - number].is_of(a)):
                    key.append(number)
                    continue
                inputs.append(a if following else Seen(a))
                index[id(a)] = -len(inputs)
                key.append((a.shape, a.dtype, a.weak_type))
            elif kind in _NUMBERS:
                if kind is int and not -(1 << 63) <= a < 1 << 63:  # the error has to come now
                    any_array = False
                    break
                inputs.append(a)
                key.append(kind)
            elif kind is np.ndarray:
                inputs.append(a)
                key.append((a.shape, a.dtype, False))
            else:  # something foreign, such as a tracer
                any_array = False
                break
        if not any_array:
            self._forget(segment)
            return None
        return tuple(key)

    def _cut_if_due(self) -> None:
        segment = self.segment
        waiting = len(segment.steps)
        if segment.due or waiting >= LONGEST or waiting & 255 == 255 and _kept_alive(segment) > LARGEST:
            self.cut(segment)

    def _follow(self, segment: Segment, step: Step) -> Any:
        position, number = step.first, len(segment.steps)
        results, makers = segment.results, segment.makers
        if step.unit.mesh is not None:
            segment.communicates(step.unit.mesh)
        if step.single:
            shape, dtype = step.results[0]
            out = Deferred(shape, dtype, segment, position)
            results.append(weakref.ref(out))
            makers.append(number)
            segment.steps.append(step)
            self.at = step
            return out
        outs = []
        for shape, dtype in step.results:
            out = Deferred(shape, dtype, segment, position)
            results.append(weakref.ref(out))
            makers.append(number)
            outs.append(out)
            position += 1
        segment.steps.append(step)
        self.at = step
        return tuple(outs)

    def _record(self, segment: Segment, unit: Any, key: tuple, raw: Any) -> Any:
        """Take the step of a call that has run; it may be new."""
        outs = raw if type(raw) is tuple else (raw,)
        step = self.at.next.get(key)
        if step is None:
            if not outs or any(o.__class__ is not _ARRAY for o in outs):
                unit.opaque = True
                self._forget(segment)
                self._end(segment)
                return raw
            shapes = tuple((o.shape, o.dtype) for o in outs)
            sources, fresh = [], -segment.before
            for ref in key[1:]:
                if ref.__class__ is not int:  # an input that is used for the first time
                    fresh -= 1
                sources.append(ref if ref.__class__ is int else fresh)
            step = Step(unit, tuple(sources), shapes, outs is not raw, len(segment.results))
            self.at.next[key] = step
            self.size += 1
        if unit.mesh is not None:
            segment.mesh = unit.mesh
        made = []
        for o in outs:
            out = Deferred(o.shape, o.dtype, segment, len(segment.results), o)
            segment.results.append(weakref.ref(out))
            segment.makers.append(len(segment.steps))
            made.append(out)
        segment.steps.append(step)
        self.at = step
        return tuple(made) if outs is raw else made[0]

    @staticmethod
    def _forget(segment: Segment) -> list:
        """Take the inputs of the last call out again."""
        taken = segment.inputs[segment.before :]
        if taken:
            segment.index = {i: number for i, number in segment.index.items() if -number <= segment.before}
            del segment.inputs[segment.before :]
        return taken

    def _repair(self, interrupted: bool) -> None:
        """A call did not come to its end: only what belongs to the steps before it counts."""
        segment = self.segment  # no calls in Python here, as the limit of recursion may be what was met
        steps, known = segment.steps, 0
        for step in steps:
            for source in step.sources:
                known = max(known, -source)
        for a in segment.inputs[known:]:
            segment.index.pop(id(a.reference() if a.__class__ is Seen else a), None)
        del segment.inputs[known:]
        self.at = steps[-1] if steps else self.root
        made = self.at.first + len(self.at.results)
        del segment.results[made:], segment.makers[made:]
        segment.due = segment.due or interrupted and bool(steps)

    def _leave(self, segment: Segment) -> None:
        """The tree does not know the call: run what waits and go on recording."""
        self.mismatches += 1
        taken = self._forget(segment)
        self._materialise(segment)
        segment.inputs = [Seen(a) if a.__class__ is _ARRAY else a for a in segment.inputs + taken]
        segment.index = {id(a.reference()): -1 - i for i, a in enumerate(segment.inputs) if a.__class__ is Seen}
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
                if len(chosen) <= FEW and all(steps[number].unit.mesh is None for number in chosen):
                    only = [steps[number] for number in sorted(chosen)]
                    (wanted.array,) = _replay(only, segment.inputs, (wanted.position,))
            return wanted.force() if wanted.array is None else wanted.array

    # ---- cuts ----
    def boundary(self) -> None:
        """An optimizer made a step: here a unit of work of the user ends."""
        self.pulls = 0
        self._due()

    def pulled(self) -> None:
        """Gradients were computed. Without steps of an optimizer between, each time is the end of a unit of work."""
        self.pulls += 1
        if self.pulls > 1:
            self._due()

    def _due(self) -> None:
        if self.mode == WATCHING:
            self._noted()
        elif self.segment.steps:
            self.segment.due = True

    def settle(self) -> None:
        """The tidying up after an optimizer's step is over."""
        if self.segment.due or self.stepped:
            self.cut(self.segment)

    @contextlib.contextmanager
    def outermost(self) -> Iterator[None]:
        """An outermost layer is called that records no gradients: where it begins, a unit of work of the user begins."""
        if self.mode == WATCHING:
            self._noted()
        else:
            self.cut(self.segment)
        self.inside = True
        try:
            yield
        finally:
            self.inside = False

    def read(self) -> None:
        """Python reads a value. Where calls are deferred or recorded, `Deferred.force` has made the cut."""
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
        self.mode = FOLLOWING if self.ready else RECORDING
        _report("capture: what is called repeats itself")

    def cut(self, segment: Segment) -> None:
        """Run what waits in a segment, and begin another one."""
        with self.lock:
            if segment is not self.segment:
                if not segment.done:  # it failed or was interrupted: once more
                    self._materialise(segment)
                    segment.close()
                return
            before, self.busy = self.busy, True
            try:
                ran = self.mode == FOLLOWING and self._materialise(segment)
                self._end(segment, ran)
                segment.close()
            except BaseException:  # of what is called from here on nothing may depend on the failure
                self.segment, self.at, self.stepped = Segment(self), self.root, False
                raise
            finally:
                self.busy = before

    def _materialise(self, segment: Segment) -> bool:
        """Compute all results of a segment that somebody holds; returns whether a program did it."""
        if not segment.steps:
            return False
        ran = False
        if not segment.outs:  # otherwise it was interrupted after the computation, which may overwrite inputs
            live = _live(segment)
            program = self.at.program(live) if segment is self.segment else None
            elsewhere = False
            if segment.mesh is not None:
                segment.send()
                elsewhere = threading.get_ident() != self.thread
            ran = program is not None and not elsewhere and program[1](segment)
            if not ran:
                with contextlib.nullcontext() if _outside_traces() else jax.ensure_compile_time_eval():
                    segment.outs.append((live, _replay(segment.steps, segment.inputs, live, elsewhere)))
        self.programs_run += ran
        ((live, outs),) = segment.outs
        for number, out in zip(live, outs):
            holder = segment.results[number]()
            if holder is not None:
                holder.array = out
        segment.done = True
        return ran

    def _end(self, segment: Segment, ran: bool = False) -> None:
        """Begin another segment, and decide what becomes of this one."""
        at, steps = self.at, segment.steps
        self.segment, self.at, self.stepped = Segment(self), self.root, False
        if not steps:
            return
        at.ends += 1
        at.seconds += time.perf_counter() - segment.start
        promising = len(steps) >= self.shortest and (at.ends > 1 or self.eager)
        self.fruitless = 0 if ran or promising else self.fruitless + 1
        if promising and not ran and (self.eager or at.seconds >= WORTH):
            self._submit(at, segment)
        self.mode = FOLLOWING if self.ready else RECORDING
        if self.fruitless >= PATIENCE:
            self.mode, self.needed = WATCHING, min(2 * self.needed, 64)
        if self.size > TREE:
            self.root = self.at = Step(None, (), (), False, 0)
            self.size, self.ready, self.mode = 0, 0, WATCHING

    def _submit(self, at: Step, segment: Segment) -> None:
        """Have a program compiled for a point of the tree and the results that somebody holds there."""
        live = _live(segment)
        if len(at.submitted) >= LIVES or live in at.submitted or not live:
            return
        at.submitted.add(live)
        inputs = segment.inputs
        specs = [_spec(a) for a in inputs]
        shapes = [shape for step in segment.steps for shape in step.results]
        places = Counter([shapes[number] for number in live])  # that can take over the memory of an input
        donated = []
        for i, spec in enumerate(specs):
            if _alone(inputs, i) and places[spec.shape, spec.dtype]:
                places[spec.shape, spec.dtype] -= 1
                donated.append(i)
        work = functools.partial(self._compile, at, list(segment.steps), specs, live, tuple(donated), segment.mesh)
        if self.eager:
            work()
        else:
            background.submit(work)

    def _compile(self, at: Step, steps: list[Step], specs: list, live: tuple, donated: tuple, mesh: Any) -> None:
        units = [step.unit for step in steps]

        def rewritten(function: Callable) -> Callable:
            return functools.reduce(lambda f, rewrite: rewrite(units, f), REWRITES, function)

        def captured(*arrays):
            return _walk(steps, arrays, live, lambda unit, given: unit.call(*given))

        compiled: Any
        call: Callable
        try:
            if mesh is None:
                compiled = jax.jit(rewritten(captured), donate_argnums=donated).lower(*specs).compile()
                call = compiled._call or compiled
            else:
                program = meshed.Program(
                    lambda caller, *arrays: _walk(steps, arrays, live, caller), mesh, donated, rewritten
                )
                compiled, call = program.compile(specs), program.run
            heap.needs(getattr(compiled.memory_analysis(), "temp_size_in_bytes", 0))
        except meshed.Differs as e:
            _report(f"capture: a segment of {len(steps)} calls stays in pieces: {e}")
            for unit in units:
                unit.opaque |= unit.mesh is not None
            return
        except Exception as e:  # call by call remains
            _report(f"capture: a segment of {len(steps)} calls does not compile: {e}")
            return

        def run(segment: Segment) -> bool:
            inputs = segment.inputs
            for i in donated:
                if not _alone(inputs, i):  # this time somebody else holds it
                    inputs[i] = jax.numpy.array(inputs[i], copy=True)
            try:  # an interrupt cannot come between the call, which overwrites inputs, and `extend`
                segment.outs.extend(zip((live,), itertools.starmap(call, (inputs,))))
            except (TypeError, ValueError, jax.errors.JaxRuntimeError) as e:  # other devices, not enough memory
                if mesh is not None and isinstance(e, jax.errors.JaxRuntimeError):  # the others have gone on
                    raise
                _report(f"capture: a program does not take its inputs: {e}")
                at.programs.pop(live, None)
            return bool(segment.outs)

        at.programs[live] = run
        self.ready += 1


def _alone(inputs: list, i: int) -> bool:
    """Whether nobody else holds an input, so that its memory can be used for a result."""
    kind = inputs[i].__class__
    return kind is _ARRAY and sys.getrefcount(inputs[i]) <= 2 or kind is Seen and inputs[i].reference() is None


def _kept_alive(segment: Segment) -> int:
    """Bytes of the inputs that nobody else holds any more."""
    return sum(a.nbytes for a in segment.inputs if a.__class__ is _ARRAY and sys.getrefcount(a) <= 3)


def _live(segment: Segment) -> tuple:
    return tuple([i for i, reference in enumerate(segment.results) if reference() is not None])


def _spec(a: Any) -> Any:
    if a.__class__ in _NUMBERS:
        return a
    if a.__class__ is Seen:
        return a.spec
    sharding = a.sharding if getattr(a, "committed", False) else None
    return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding, weak_type=getattr(a, "weak_type", False))


def _replay(steps: list[Step], inputs: list, live: tuple, wait: bool = False) -> list:
    """Run the calls of a segment one by one; a result is forgotten after its last use.

    Args:
        wait: until those that communicate are over, as what another thread sends afterwards could come before.
    """

    def call(unit: Any, arrays: list) -> Any:
        out = unit.compiled(*arrays)
        return jax.block_until_ready(out) if wait and unit.mesh is not None else out

    return _walk(steps, inputs, live, call)


def _walk(steps: list[Step], inputs: Sequence, live: tuple, call: Callable) -> list:
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


def _report(text: str) -> None:
    if flags.debug_level() >= 1:
        print(f"[paddle-xla] {text}", file=sys.stderr)


def flush() -> None:
    """Run what waits in this thread."""
    if modes.capture is not None:
        modes.capture.cut(modes.capture.segment)


def install() -> None:
    """Switch capture on in this thread, as ``PADDLE_XLA_CAPTURE`` says: 0 is off, "eager" compiles at once."""
    chosen = os.environ.get("PADDLE_XLA_CAPTURE", "1").lower()
    if chosen not in ("0", "off", "false", ""):
        modes.capture = Capture(chosen == "eager")
        modes.update()


install()
