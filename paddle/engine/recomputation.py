"""Recomputation: a part of the forward pass whose intermediate arrays are not kept but computed again in the backward.

While a segment is active every operator call is written down. What an operator saves for its gradient is then not the
array but the place where it came from; the first gradient that asks replays the calls, with the same random state (Chen
et al., "Training Deep Nets with Sublinear Memory Cost", 2016). The user's Python code does not run again, so it
cannot do anything else the second time, and the tape is the ordinary one: hooks, `paddle.grad` and higher orders
work.
"""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from typing import Any

import jax
import numpy as np

from .dispatch import _dispatch
from .executable import Kernel
from .modes import modes, set_mode
from .random import GeneratorState, generator
from .tape import Packed
from .tensor import Tensor, _make

Key = tuple[int, int]  # the number of a call and of one of its results


class Ref:
    """Stands for a tensor in written-down arguments: a result of an earlier call (`key`), or an array from outside."""

    __slots__ = ("key", "array")

    def __init__(self, key: Key | None, array: Any):
        self.key = key
        self.array = array if key is None else None


class Call:
    """An operator call that can be replayed. Known when the segment ends: `kept`, which of its results are read later,
    and `last`, what it is the last to read."""

    __slots__ = ("op", "args", "random_state", "kept", "last")

    def __init__(self, op: Kernel, args: tuple, random_state: GeneratorState | None):
        self.op, self.args, self.random_state = op, args, random_state
        self.kept: set[Key] | None = None
        self.last: set[Key] = set()


class Segment:
    """A context: arrays that gradients need are forgotten and computed again. Inside another one it adds nothing."""

    def __init__(self) -> None:
        self.calls: dict[int, Call] = {}
        self.made: dict[int, tuple[Any, Key]] = {}  # of the id of an array: a weak reference to it, where it came from
        self.fresh: list[Ref] = []  # saved by the call that is running
        self.saved: Counter[Key] = Counter()  # how many gradients read a result
        self.values: dict[Key, Any] = {}  # replayed, not yet read by all
        self.readers: Counter[Key] = Counter()
        self.number = 0
        self.mode: Any = None
        self.hooks: Any = None  # of saved_tensors_hooks around it, which see what is kept from outside
        self.packed: dict[int, tuple[Any, Packed]] = {}

    def __enter__(self) -> Segment:
        if modes.grad and modes.segment is None:
            self.hooks = modes.saved_hooks
            self.mode = set_mode(segment=self, saved_hooks=(self.pack, self.unpack))
            self.mode.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self.mode is not None:
            self.mode.__exit__(*exc)
            self.mode = None
            self.made.clear()
            self.packed.clear()
            self._prune()

    # ---- writing down ----
    def run(self, op: Kernel, args: tuple) -> Any:
        """Run an operator and write the call down."""
        written = tuple(self._write(a) for a in args)
        random_state = generator().get_state() if op.random else None
        before, self.fresh = self.fresh, []
        try:
            out = _dispatch(op, args)
        finally:
            fresh, self.fresh = self.fresh, before
        number, self.number = self.number, self.number + 1
        self.calls[number] = Call(op, written, random_state)
        for i, result in enumerate(out if isinstance(out, tuple) else (out,)):
            array = result._value
            if self._find(array) is None:
                self.made[id(array)] = (weakref.ref(array), (number, i))
        for ref in fresh:
            self._settle(ref)
            if ref.key is None:
                ref.array = self._keep(ref.array)
        return out

    def _write(self, arg: Any) -> Any:
        if isinstance(arg, Tensor):
            array = arg._value
            key = self._find(array)
            return Ref(key, self._keep(array) if key is None else None)
        if isinstance(arg, (list, tuple)) and any(isinstance(a, (Tensor, np.ndarray, list, tuple)) for a in arg):
            return [self._write(a) for a in arg]
        return arg.copy() if isinstance(arg, np.ndarray) else arg

    def _keep(self, array: Any) -> Any:
        """What is kept of an array from outside."""
        if self.hooks is None:
            return array
        found = self.packed.get(id(array))
        if found is None or found[0]() is not array:
            found = self.packed[id(array)] = weakref.ref(array), Packed(self.hooks, array)
        return found[1]

    def _find(self, array: Any) -> Key | None:
        found = self.made.get(id(array))
        return found[1] if found is not None and found[0]() is array else None

    def pack(self, tensor: Tensor) -> Ref:
        """Save an array for a gradient: where it came from, if it was computed here."""
        ref = Ref(None, tensor._value)
        self._settle(ref)
        if ref.key is None:
            self.fresh.append(ref)  # perhaps a result of the call that is running
        return ref

    def _settle(self, ref: Ref) -> None:
        ref.key = self._find(ref.array)
        if ref.key is not None:
            ref.array = None
            self.saved[ref.key] += 1

    def _prune(self) -> None:
        """Forget the calls that no saved array depends on."""
        needed: defaultdict[int, set[Key]] = defaultdict(set)
        for key in self.saved:
            needed[key[0]].add(key)
        for number in sorted(self.calls, reverse=True):
            call = self.calls[number]
            if number not in needed:
                del self.calls[number]
                continue
            call.kept = needed[number]
            for ref in _refs(call.args):
                if ref.key is not None and ref.key not in needed[ref.key[0]]:
                    call.last.add(ref.key)
                    needed[ref.key[0]].add(ref.key)

    # ---- replay ----
    def unpack(self, ref: Ref) -> Tensor:
        """The array that `pack` got."""
        if ref.key is None:
            return _make(_unpacked(ref.array))
        if ref.key not in self.values:
            self._replay()
        value = self.values[ref.key]
        self.readers[ref.key] -= 1
        if not self.readers[ref.key]:
            del self.values[ref.key]
        return _make(value)

    def _replay(self) -> None:
        outside = self._outside()
        values: dict[Key, Any] = {}
        with set_mode(grad=False, amp=None, segment=None, saved_hooks=None, capture=None):
            for number, call in self.calls.items():
                args = tuple(_read(a, values, outside) for a in call.args)
                out = _dispatch(call.op, args) if call.random_state is None else _redraw(call, args)
                for i, result in enumerate(out if isinstance(out, tuple) else (out,)):
                    if call.kept is None or (number, i) in call.kept:
                        values[number, i] = result._value
                for key in call.last:
                    del values[key]
        self.values = {key: values[key] for key in self.saved}
        self.readers = self.saved.copy()

    def _outside(self) -> dict[int, Any]:
        """The arrays from outside, by their ids. In a function that is being compiled they pass a barrier together with
        the gradients that arrive, or the compiler would find that the replay computes what is known, or do so at once."""
        refs = [r for call in self.calls.values() for r in _refs(call.args) if r.key is None]
        arrays = {i: _unpacked(a) for i, a in {id(r.array): r.array for r in refs}.items()}
        traced = {i: a for i, a in arrays.items() if isinstance(a, jax.core.Tracer)}
        if traced:
            arriving = [getattr(c, "_value", c) for c in modes.arriving or () if c is not None]
            arrays.update(zip(traced, jax.lax.optimization_barrier((list(traced.values()), arriving))[0]))
        return arrays


def _unpacked(array: Any) -> Any:
    return array.hook(array.value)._value if array.__class__ is Packed else array


def _refs(args: Any) -> list[Ref]:
    out = []
    for a in args:
        if isinstance(a, Ref):
            out.append(a)
        elif isinstance(a, list):
            out.extend(_refs(a))
    return out


def _read(arg: Any, values: dict[Key, Any], outside: dict[int, Any]) -> Any:
    if isinstance(arg, Ref):
        return _make(outside[id(arg.array)] if arg.key is None else values[arg.key])
    return [_read(a, values, outside) for a in arg] if isinstance(arg, list) else arg


def _redraw(call: Call, args: tuple) -> Any:
    """Run a random operator with the generator in the state of the first time."""
    source = generator()
    state = source.get_state()
    source.set_state(call.random_state)  # type: ignore[arg-type]
    try:
        return _dispatch(call.op, args)
    finally:
        source.set_state(state)
