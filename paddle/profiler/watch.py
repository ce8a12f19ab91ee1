"""Where events come from: operators through the watcher of the dispatch; layers, backward, optimizers, loaders by
wrapping their doorways for as long as a profiler is at work, so that nothing costs anything otherwise."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..engine.modes import modes
from ..engine.tensor import Tensor
from .events import TracerEventType as Kind
from .events import recorder
from .timer import benchmark


class OperatorWatcher:
    """Times operators, each until its result is there: what runs while it is watched does not overlap."""

    def __init__(self, shapes: bool, memory: bool, flops: bool, device: bool):
        self.shapes, self.memory, self.flops, self.device = shapes, memory, flops, device
        self._begun = threading.local()

    def begin(self, op: Any) -> None:
        """Before an operator."""
        stack = self._begun.__dict__.setdefault("stack", [])
        stack.append((op, time.perf_counter_ns()))

    def __call__(self, op: Any, args: tuple, out: Any) -> None:
        """After an operator."""
        returned = time.perf_counter_ns()
        stack = self._begun.__dict__.get("stack", [])
        start = returned
        while stack:  # an operator that failed has left its entry
            begun, at = stack.pop()
            if begun is op:
                start = at
                break
        results = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(t, Tensor)]
        wait([t._storage.value for t in results])
        ready = time.perf_counter_ns()
        more: dict[str, Any] = {}
        if self.shapes:
            more["input_shapes"] = [list(a.shape) for a in args if isinstance(a, Tensor)]
        if self.memory:
            more["bytes"] = sum(int(t.size) * t.dtype.numpy.itemsize for t in results)
        if self.flops:
            more["flops"] = flops_of(op.name, [a for a in args if isinstance(a, Tensor)], results)
        device = ready - start if self.device else 0
        recorder.add(op.name, Kind.Operator, start, returned if self.device else ready, device, **more)


def wait(values: Any) -> None:
    """Until arrays, or tensors, or all in a structure of them, are computed."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        for value in values:
            wait(value)
        return
    block = getattr(values._storage.value if isinstance(values, Tensor) else values, "block_until_ready", None)
    if block is not None:
        block()


def flops_of(name: str, inputs: list, results: list) -> int:
    """Floating point operations of products and convolutions (two for each multiplication with its addition); one for
    each element of other results."""
    if not results:
        return 0
    out = int(results[0].size)
    if name in ("matmul", "linear", "mm", "bmm", "addmm") and inputs:
        return 2 * out * int(inputs[0].shape[-1])
    if name.startswith("conv") and "transpose" not in name and len(inputs) > 1:
        weight = inputs[1].shape
        return 2 * out * int(inputs[1].size // max(weight[0], 1))
    return out


class Doorways:
    """Wraps the doorways and puts them back."""

    def __init__(self, watcher: OperatorWatcher | None):
        self.watcher = watcher
        self._before: list[tuple[Any, str, Any]] = []
        self._watched: Any = None

    @property
    def are_open(self) -> bool:
        """Whether something is wrapped."""
        return bool(self._before)

    def open(self) -> None:
        """Begin to watch."""
        from ..io import DataLoader

        self._wrap(DataLoader, "__iter__", _loader)
        if self.watcher is None:
            return
        from ..engine import autograd, tape
        from ..nn.layer import Layer
        from ..optimizer.optimizer import Optimizer
        from ..static.executor import Executor

        self._wrap(Layer, "__call__", _timed(Kind.Forward, lambda self, *a: type(self).__name__))
        self._wrap(autograd, "_walk", _timed(Kind.Backward, lambda *a: "backward"))
        for node in _kinds(tape.Node):
            if "run" in vars(node) and node is not tape.Node:
                self._wrap(node, "run", _timed(Kind.Operator, _gradient_name, True))
        self._wrap(Executor, "run", _timed(Kind.Operator, lambda *a: "Executor.run", True))
        for optimizer in _kinds(Optimizer):
            if "step" in vars(optimizer):
                self._wrap(optimizer, "step", _timed(Kind.Optimization, lambda self, *a: f"{type(self).__name__}.step"))
        self._watched, modes.watcher = modes.watcher, self.watcher
        modes.update()

    def close(self) -> None:
        """Put everything back."""
        for owner, name, value in reversed(self._before):
            setattr(owner, name, value)
        self._before.clear()
        if self.watcher is not None and modes.watcher is self.watcher:
            modes.watcher = self._watched
            modes.update()

    def _wrap(self, owner: Any, name: str, wrapper: Callable) -> None:
        original = vars(owner)[name]
        self._before.append((owner, name, original))
        setattr(owner, name, wrapper(original))


def _kinds(base: type) -> Iterator[type]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


def _gradient_name(node: Any, cotangents: Any, record: Any = None, live_only: bool = False) -> str | None:
    """With `record` the gradient consists of operators that are seen themselves."""
    return f"{node.name}_grad" if record is None else None


def _timed(kind: Kind, name: Callable, waits: bool = False) -> Callable:
    def wrapper(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter_ns()
            try:
                out = function(*args, **kwargs)
                if waits:
                    wait(out)
                return out
            finally:
                what = name(*args)
                if what is not None:
                    recorder.add(what, kind, start)

        return call

    return wrapper


def _loader(function: Callable) -> Callable:
    @functools.wraps(function)
    def iterate(self: Any) -> Iterator:
        batches = function(self)
        while True:
            start = time.perf_counter_ns()
            benchmark().before_reader()
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                benchmark().after_reader()
                recorder.add("DataLoader", Kind.Dataloader, start)
            yield batch

    return iterate
