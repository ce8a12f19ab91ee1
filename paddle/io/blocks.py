"""Blocks of shared memory that go round: a worker fills one with an array of a batch, the process of the loader uses the
array where it is, and when nobody holds it any more the worker fills the block again. So nothing is copied on the way, and
in the long run neither a page nor a mapping is new.

A block is anonymous memory whose descriptor goes along the first time it is sent: it has no name, and the system frees it
when the last process lets go of it, however that one ended. It is free when the last array in it is gone in both
processes. Batches that are kept keep their blocks; the worker makes others. When many are let go of, the system gets most
of that memory back.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import os
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.place import aligned_empty

OWN = 128 << 10  # bytes of an array that is worth a block for itself
ALIGNMENT = 64  # the CPU device takes memory at such addresses as it is
_KEPT = 8  # batches that a block waits for its next use
_IDLE = 4  # batches whose blocks may be free while the worker does not know it yet
SPARE = 256 << 20  # bytes of blocks that a loader keeps for its next workers
_POPULATE = getattr(mmap, "MAP_POPULATE", 0)
_REMOVE, _POPULATE_WRITE = 9, 23  # of madvise(2) on Linux
_era = object()  # since the last fork of this process


def _fork() -> None:
    global _era
    _era = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_fork, after_in_parent=_fork)


def anonymous_memory() -> int:
    """The descriptor of a file without a name, in memory where the system knows that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("paddle-batch", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as f:
        return os.dup(f.fileno())


class Mapping:
    """Memory behind a descriptor. (Python's `mmap` would keep one more descriptor open for each.) OSError when there are
    too many."""

    address = 0
    _system = ctypes.CDLL(None, use_errno=True)
    _system.mmap.restype = ctypes.c_void_p
    _system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    _system.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def __init__(self, descriptor: int, size: int):
        self.size = size
        rights = mmap.PROT_READ | mmap.PROT_WRITE
        address = self._system.mmap(None, size, rights, mmap.MAP_SHARED | _POPULATE, descriptor, 0)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.address = address

    def touch(self) -> None:
        """All pages at once, for a process that has inherited the mapping. (Where the system cannot: one by one, later.)"""
        if sys.platform == "linux":
            self._system.madvise(self.address, self.size, _POPULATE_WRITE)

    def empty(self) -> None:
        """Give the pages back to the system, for all processes."""
        if sys.platform == "linux":
            self._system.madvise(self.address, self.size, _REMOVE)

    def __del__(self) -> None:
        if self.address:
            self._system.munmap(self.address, self.size)


class _Lease:
    """What the arrays in a block hold, in one process. When it ends this is noted: the number of the block, its mapping, and
    whether it may be used again. It may not if the process was forked meanwhile, since the arrays went along."""

    def __init__(self, mapping: Mapping, number: int, note: Callable[[int, Mapping, bool], None]):
        self._mapping, self._number, self._note, self._era = mapping, number, note, _era
        place = (mapping.address, False)
        self.__array_interface__ = {"data": place, "shape": (mapping.size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        self._note(self._number, self._mapping, self._era is _era)


@dataclass
class Block:
    """Shared memory, for the worker."""

    number: int
    mapping: Mapping
    descriptor: int | None = None  # until it is sent for the first time
    holders: int = 0  # leases, in both processes
    again: bool = True  # it may be used again
    inherited: bool = False  # and not used since
    since: int = 0  # the batch at which it became free
    lease: Any = None  # the one of this process, a weak reference


@dataclass
class Part:
    """Memory in a block."""

    block: Block
    start: int
    size: int

    @property
    def held(self) -> bool:
        """Whether this process has an array there, which it may write to."""
        return self.block.lease() is not None

    def view(self) -> memoryview:
        return memoryview((ctypes.c_ubyte * self.size).from_address(self.block.mapping.address + self.start)).cast("B")


class Blocks:
    """The blocks of a worker.

    Args:
        ended: filled with the numbers of blocks that the other process has let go of, and whether they may be used again.
        inherited: mappings that the process came with, by number.
    """

    def __init__(self, ended: deque[tuple[int, bool]], inherited: dict[int, Mapping]):
        self._ended = ended
        self._lock = threading.Lock()  # a collate function may have threads
        self._used: dict[int, Block] = {}
        self._free = [
            Block(*item, inherited=True) for item in inherited.items()
        ]  # in the order in which they became so
        self._numbers = itertools.count(len(inherited))
        self._gone: list[int] = []
        self._batch = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An uninitialised array, in a block if it is large and there is memory."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        memory = self._take(size) if size >= OWN else None
        return aligned_empty(shape, dtype) if memory is None else memory.view(dtype).reshape(shape)

    def find(self, view: memoryview) -> Part | None:
        """Where some memory of this process lies in a block."""
        address = np.frombuffer(view, np.uint8).ctypes.data if view.nbytes else 0
        with self._lock:
            for block in self._used.values():
                start = address - block.mapping.address
                if 0 <= start <= block.mapping.size - view.nbytes and block.lease() is not None:
                    return Part(block, start, view.nbytes)
        return None

    def store(self, views: list[memoryview]) -> list[Part] | None:
        """Copies in one block, which is retained; None if there is no memory."""
        starts = [0, *itertools.accumulate(-(-v.nbytes // ALIGNMENT) * ALIGNMENT for v in views)]
        memory = self._take(starts[-1])
        if memory is None:
            return None
        place = memoryview(memory)
        for start, view in zip(starts, views):
            place[start : start + view.nbytes] = view
        whole = self.find(place)
        assert whole is not None
        self.retain(whole.block)
        return [Part(whole.block, start, view.nbytes) for start, view in zip(starts, views)]

    def retain(self, block: Block) -> None:
        """The other process gets the block. Call it while this one has an array there."""
        with self._lock:
            block.holders += 1

    def release(self, block: Block) -> None:
        """It does not get it after all."""
        self._ended.append((block.number, True))

    def next_batch(self) -> list[int]:
        """One more batch is on its way. The numbers of the blocks that the other process may forget."""
        with self._lock:
            self._batch += 1
            self._collect()
            while self._free and self._free[0].since < self._batch - _KEPT:
                self._drop(self._free.pop(0))
            gone, self._gone = self._gone, []
        return gone

    def _take(self, size: int) -> np.ndarray | None:
        with self._lock:
            self._collect()
            try:
                block = self._fitting(size) or self._new(size)
            except (OSError, MemoryError):
                return None
            self._used[block.number] = block
            block.holders = 1
            lease = _Lease(block.mapping, block.number, self._note)
            block.lease = weakref.ref(lease)
        return np.asarray(lease)[:size]  # type: ignore[arg-type]

    def _fitting(self, size: int) -> Block | None:
        fitting = [b for b in reversed(self._free) if size <= b.mapping.size <= 2 * size]
        if not fitting:
            return None
        block = min(fitting, key=lambda b: b.mapping.size)
        self._free.remove(block)
        if block.inherited:
            block.mapping.touch()
            block.inherited = False
        return block

    def _new(self, size: int) -> Block:
        step = max(1 << max(size.bit_length() - 4, 0), mmap.PAGESIZE)  # sizes that differ little fit as well
        size = -(-size // step) * step
        descriptor = anonymous_memory()
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)  # an error where there is no room, not a signal later on
            else:
                os.ftruncate(descriptor, size)
            return Block(next(self._numbers), Mapping(descriptor, size), descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def _note(self, number: int, mapping: Mapping, again: bool) -> None:
        self._ended.append((number, again))

    def _collect(self) -> None:
        while self._ended:
            number, again = self._ended.popleft()
            block = self._used[number]
            block.holders -= 1
            block.again &= again
            if not block.holders:
                del self._used[number]
                block.since = self._batch
                self._free.append(block) if block.again else self._drop(block)

    def _drop(self, block: Block) -> None:
        if block.descriptor is None:
            self._gone.append(block.number)
        else:  # it never was on its way
            os.close(block.descriptor)


class _Ends:
    """Blocks that the process of the loader has let go of: their numbers, and whether they may be used again."""

    def __init__(self) -> None:
        self.came: deque[tuple[int, bool]] = deque()
        self.most = 0

    def note(self, number: int, mapping: Mapping, again: bool) -> None:
        if again and len(self.came) >= self.most:  # many batches were kept: the worker will hardly need all of them
            mapping.empty()
            again = False
        self.came.append((number, again))


class Arrivals:
    """The blocks of one worker in the process of the loader.

    Args:
        mappings: blocks that exist before the worker, which inherits them.
    """

    def __init__(self, mappings: list[Mapping]):
        self._memory: dict[int, Mapping | bytearray] = dict(enumerate(mappings))
        self._held: set[int] = set()  # and those that may not be used again
        self._ends = _Ends()

    def mappings(self) -> dict[int, Mapping]:
        """Those that can be used again if nothing else fills them, by number."""
        self.ended()
        return {n: m for n, m in self._memory.items() if isinstance(m, Mapping) and n not in self._held}

    def add(self, number: int, size: int, descriptor: int) -> None:
        """A block that is new here."""
        try:
            self._memory[number] = Mapping(descriptor, size)
        except OSError:  # there are too many mappings: read it
            self._memory[number] = whole = bytearray(size)
            with open(descriptor, "rb", buffering=0, closefd=False) as f:
                done = f.seek(0)
                while done < size and (more := f.readinto(memoryview(whole)[done:])):
                    done += more

    def views(self, numbers: set[int]) -> dict[int, memoryview]:
        """The blocks of one batch. Each goes back to the worker when the last array in it is gone."""
        self._held |= numbers
        self._ends.most = max(self._ends.most, _IDLE * len(numbers))
        return {number: self._view(number) for number in numbers}

    def _view(self, number: int) -> memoryview:
        memory = self._memory[number]
        if isinstance(memory, bytearray):
            self._ends.came.append((number, False))
            return memoryview(memory)
        return memoryview(np.asarray(_Lease(memory, number, self._ends.note)))  # type: ignore[arg-type]

    def ended(self) -> list[tuple[int, bool]]:
        """What the worker has to be told."""
        came = [self._ends.came.popleft() for _ in range(len(self._ends.came))]
        self._held -= {number for number, again in came if again}
        return came

    def forget(self, numbers: list[int]) -> None:
        """Blocks that do not come again."""
        for number in numbers:
            del self._memory[number]
            self._held.discard(number)

    def retire(self, most: int) -> None:
        """The worker is gone: keep no more than so many bytes."""
        free = self.mappings()
        for number, memory in sorted(self._memory.items(), key=lambda item: item[0] not in free):
            size = memory.size if isinstance(memory, Mapping) else most + 1
            if size > most:
                self.forget([number])
            else:
                most -= size
