"""Compiled functions that communicate with other processes.

Each process runs the function on its own arrays; inside, `jax.lax.psum` and the like see the axes of a mesh of one device
a process. To XLA it is one computation over the mesh in which every argument and result is the same everywhere; that they
differ, even in shape, concerns only what the function sends.

Collectives of different processes meet by their order: the first one that a process starts in a group meets the first one of
every other, whatever executable it is part of. So processes need not run the same executables, as long as each sends the same
messages in the same order. `Program` sees to that for several units in one executable, `waiting` for what capture defers.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from . import errors, flags
from .modes import modes

LATE = 1.0  # seconds that what communicates may wait

order = threading.RLock()  # of who starts what communicates, or decides that it waits
waiting: list[Any] = []  # runs of deferred calls that communicate (see `capture.Segment`)
_hurrying: list[threading.Thread] = []

try:  # the public way checks each array anew, which costs 50 us
    from jax._src.array import ArrayImpl

    def as_array(aval: Any, sharding: Any, part: Any, committed: bool) -> Any:
        """The array of this description whose only part in this process is an array of one device.

        Args:
            committed: whether it has to stay where it is; executables distinguish the two.
        """
        return ArrayImpl(aval, sharding, [part], committed=committed, _skip_checks=True)
except ImportError:

    def as_array(aval: Any, sharding: Any, part: Any, committed: bool) -> Any:
        return jax.make_array_from_single_device_arrays(aval.shape, sharding, [part])


def wait(segment: Any) -> None:
    """The calls of a segment wait, and some of them communicate."""
    waiting.append(segment)
    if not _hurrying or not _hurrying[0].is_alive():  # the first time, and in a forked process
        _hurrying[:] = [threading.Thread(target=_hurry, name="paddle-xla sending", daemon=True)]
        _hurrying[0].start()


def in_turn() -> None:
    """Something is about to communicate: what waits goes first, so that all processes send in one order."""
    with order:
        while waiting:
            waiting.pop().run()


def before_waiting() -> None:
    """This thread is about to wait for another process, which may wait for what it has deferred."""
    if waiting and modes.capture is not None:
        in_turn()


def _hurry() -> None:
    """Other processes shall not wait for long while this one does something else."""
    while True:
        time.sleep(LATE / 4)
        for segment in list(waiting):
            if time.monotonic() > segment.since + LATE:
                with order, contextlib.suppress(Exception):  # who reads a result gets it
                    if segment in waiting:
                        segment.run()


class OverMesh:
    """A function of arrays, compiled for the processes of a mesh, all of which call it.

    Args:
        function: takes and gives trees of arrays.
        mesh: one device for each process; its axes can be named inside.
        donated: the numbers of the arguments whose memory may be overwritten.
    """

    def __init__(self, function: Callable, mesh: Mesh, donated: tuple[int, ...] = ()):
        everywhere = PartitionSpec()
        spread = jax.shard_map(function, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
        self._jit = jax.jit(spread, donate_argnums=donated)
        self._sharding = NamedSharding(mesh, everywhere)
        (self._home,) = [d for d in mesh.devices.flat if d.process_index == jax.process_index()] or [None]
        self._alone = None if self._home is None else SingleDeviceSharding(self._home)
        self._messages: dict[tuple, list] = {}

    def __call__(self, *args: Any) -> Any:
        in_turn()
        return jax.tree.map(self._own, self._jit(*jax.tree.map(self._given, args)))

    def lower(self, *args: Any) -> Any:
        """What `jax.jit(...).lower` gives, for arrays like these or descriptions of them."""
        return self._jit.lower(*jax.tree.map(self._given, args))

    def messages(self, specs: list) -> list:
        """What it sends for arrays like these, see `messages_in`."""
        key = tuple([(s.shape, s.dtype) if hasattr(s, "shape") else type(s) for s in specs])
        if key not in self._messages:
            self._messages[key] = messages_in(self.lower(*specs).compile().as_text())
        return self._messages[key]

    def _given(self, array: Any) -> Any:
        if not isinstance(array, jax.Array):
            if isinstance(array, jax.ShapeDtypeStruct):
                return jax.ShapeDtypeStruct(
                    array.shape, array.dtype, sharding=self._sharding, weak_type=array.weak_type
                )
            if not isinstance(array, np.ndarray):
                return array
            array = jnp.asarray(array)
        if array.devices() != {self._home}:
            array = jax.device_put(array, self._home)
        return as_array(array.aval, self._sharding, array, True)

    def _own(self, array: Any) -> Any:
        """What this process has of a result, an ordinary array."""
        return as_array(array.aval, self._alone, array.addressable_data(0), False)


class Program(OverMesh):
    """A function that runs several units, some of which communicate. The messages of its one executable are theirs, in the
    order in which it calls them.

    Args:
        function: gets what calls a unit as its first argument, then arrays; gives a list of arrays.
        mesh, donated: see `OverMesh`; the arrays are numbered from 0.
        rewrite: what happens to the function before it is compiled, from arrays to arrays.
    """

    def __init__(self, function: Callable, mesh: Mesh, donated: tuple[int, ...], rewrite: Callable):
        self._sent: list[tuple] = []  # (unit, descriptions of its arrays) of those that communicate

        def captured(zero, *arrays):
            self._sent.clear()
            return function(_Caller(self._sent, zero), *arrays)

        super().__init__(rewrite(captured), mesh, tuple(i + 1 for i in donated))
        self._zero = self._given(np.zeros((), np.int32))

    def compile(self, specs: list) -> Any:
        """The executable, which `run` runs.

        Raises:
            Differs: it would send something else than the units do one by one.
        """
        compiled = self.lower(jax.ShapeDtypeStruct((), np.int32), *specs).compile()
        wanted = []
        for unit, given in self._sent:
            messages = unit.compiled.messages(given)
            if len(messages) != 1:
                raise Differs(f"{unit.name} sends {len(messages)} messages, which may change their order")
            wanted += messages
        found = messages_in(compiled.as_text())
        if found != wanted:
            raise Differs(f"it would send {found} instead of {wanted}")
        self._run = compiled
        return compiled

    def run(self, *inputs: Any) -> list:
        return [self._own(a) for a in self._run(self._zero, *map(self._given, inputs))]


class Differs(Exception):
    """One executable cannot take the place of several."""


class _Caller:
    """Calls units; those that communicate after each other, by making each depend on the one before."""

    def __init__(self, sent: list, zero: Any):
        self.sent, self.zero = sent, zero
        self.last: Any = None

    def __call__(self, unit: Any, arrays: list) -> Any:
        if unit.mesh is None:
            return unit.call(*arrays)
        self.sent.append((unit, [jax.ShapeDtypeStruct(np.shape(a), jnp.result_type(a)) for a in arrays]))
        if self.last is not None:  # `never` is false, which the compiler cannot know
            never = lax.ne(_bits(self.last) & self.zero, jnp.int32(0))
            arrays = [jnp.where(never, jnp.zeros_like(a), a) for a in arrays]
        # behind the barrier the compiler does the same as in an executable of its own
        out = lax.optimization_barrier(unit.call(*arrays))
        self.last = next(o for o in (out if isinstance(out, tuple) else (out,)) if o.size)
        return out


def _bits(array: Any) -> Any:
    """Some bits of the first element."""
    first = array.reshape(-1)[0]
    if jnp.issubdtype(first.dtype, jnp.complexfloating):
        first = first.real
    if jnp.issubdtype(first.dtype, jnp.floating):
        first = lax.bitcast_convert_type(first, f"uint{8 * first.dtype.itemsize}")
    return first.astype(jnp.int32)


_MESSAGE = re.compile(
    r"= (.*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|collective-broadcast)(?:-start)?\((.*)"
)
_SHAPE = re.compile(r"[a-z]+[0-9]*[a-z0-9]*\[[0-9,]*\]")
_DETAIL = re.compile(r"(?:replica_groups|source_target_pairs|dimensions)=(?:\{[0-9,{} ]*\}|\[[^ ]*)")
_HEAD = re.compile(r"%?([\w.\-]+) .*\{$")
_ROOT = re.compile(r"\s*ROOT .*? = \S+ ([\w\-]+)\(")
_REDUCTION = re.compile(r"to_apply=%?([\w.\-]+)")


def messages_in(text: str) -> list[tuple]:
    """(kind, shape, reduction, further details) of each array that an executable sends, in the order of its HLO."""
    found, reductions, name = [], {"": ""}, ""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            name = head[1]
        elif root := _ROOT.match(line):
            reductions[name] = root[1]
        if message := _MESSAGE.search(line):
            shapes, kind, rest = message.groups()
            reduction = _REDUCTION.search(rest)
            details = [d.rstrip(",") for d in _DETAIL.findall(rest)]
            found += [(kind, shape, reduction[1] if reduction else "", *details) for shape in _SHAPE.findall(shapes)]
    return [(kind, shape, reductions.get(how, how), *details) for kind, shape, how, *details in found]


def keeps_order(mesh: Mesh | None) -> bool:
    """Whether collectives of different executables meet by their order: those of gloo do. (NCCL's would, but one process
    cannot compile for GPUs alone, as XLA's tuning communicates; TPUs want the same program everywhere.)
    ``PADDLE_XLA_CAPTURE_COLLECTIVES=0`` says no."""
    return (
        mesh is None
        or flags.switched_on("PADDLE_XLA_CAPTURE_COLLECTIVES")
        and all(d.platform == "cpu" for d in mesh.devices.flat)
    )


def compiled(function: Callable, mesh: Mesh | None, donated: tuple[int, ...] = ()) -> Callable:
    """`jax.jit(function)`, over a mesh if there is one."""
    return jax.jit(function, donate_argnums=donated) if mesh is None else OverMesh(function, mesh, donated)


@contextlib.contextmanager
def axes_of(mesh: Mesh | None) -> Iterator[None]:
    """The axes of a mesh can be named by functions that are traced within, to learn shapes."""
    if mesh is None:
        yield
        return
    try:
        from jax._src.core import extend_axis_env_nd
    except ImportError:
        raise errors.NotImplemented_(f"collectives in programs with JAX {jax.__version__}") from None
    with extend_axis_env_nd(list(mesh.shape.items())):
        yield
