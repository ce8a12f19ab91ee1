"""Watches collectives: one that does not come to an end is reported, with the rank that is to blame, instead of hanging.

A collective waits until all members of its group have called it. When one of them calls something else, or nothing, the
others wait in the transport, where Python cannot reach them. So a thread looks every second at what this process waits for.
When that takes long it asks, through the store, what the other members have called. If it was something else, or if the time
of the group is over, the thread says so and ends the process; the others follow.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from ...engine import errors
from .. import world

LOOK = 1.0  # seconds between looks
PATIENCE = 5.0  # seconds after which the others are asked
KEPT = 16  # collectives of a group that are remembered


class Call:
    """A collective that was called and may not have ended."""

    __slots__ = ("about", "began", "group", "limit", "number", "results", "seen", "what")

    def __init__(self, group: Any, number: int, what: str, about: Sequence, limit: float):
        self.group, self.number, self.what, self.about, self.limit = group, number, what, about, limit
        self.began = time.monotonic()
        self.results: tuple | None = None  # weak references, from when the computation was started
        self.seen: dict[int, int] = {}  # which note of another process was there when it was first asked

    def came(self, arrays: Sequence) -> None:
        """The computation runs; these are its results, to be."""
        self.results = tuple(map(weakref.ref, arrays))

    def is_over(self) -> bool:
        if self.results is None:
            return False
        try:
            return all(array is None or array.is_ready() for array in (found() for found in self.results))
        except RuntimeError:  # given away to another computation
            return True

    def __str__(self) -> str:
        return f"{self.what}({', '.join(map(str, self.about))})"


_open: deque[Call] = deque()
_last: dict[int, deque[Call]] = {}  # by the number of the group
_inside: dict[int, str] = {}  # by thread: the collective in which it is
_watching: list[threading.Thread] = []


def begin(group: Any, what: str, about: Sequence = ()) -> Call:
    """A collective is called, which the caller completes with `came(results)` or `forget(call)`.

    Args:
        group: whose members have to call it.
        what, about: its name, and what else has to be the same in all of them.
    """
    while _open and _open[0].is_over():
        with contextlib.suppress(IndexError):  # the watching thread was first
            _open.popleft()
    group._calls += 1
    return _opened(Call(group, group._calls, what, about, group.timeout))


@contextlib.contextmanager
def meeting(group: Any, function: str) -> Iterator[None]:
    """This process waits for the others without the transport, for a time that the caller limits. It is not counted, since
    it may fail and be tried again."""
    call = _opened(Call(group, group._calls + 1, function, (), float("inf")))
    try:
        yield
    finally:
        forget(call)


def _opened(call: Call) -> Call:
    _open.append(call)
    _last.setdefault(call.group.id, deque(maxlen=KEPT)).append(call)
    if not _watching:
        _watching.append(threading.Thread(target=_watch, name="paddle-watch-collectives", daemon=True))
        _watching[0].start()
    return call


def forget(call: Call) -> None:
    """It did not begin, or is no collective of the transport and over."""
    for calls in (_open, _last[call.group.id]):
        with contextlib.suppress(ValueError):
            calls.remove(call)


@contextlib.contextmanager
def inside(function: str) -> Iterator[None]:
    """This thread is in a collective. The order of collectives has to be the same in all processes, which that of threads
    is not, so that results would get mixed up.

    Raises RuntimeError when another thread is in one.
    """
    own = threading.get_ident()
    if own in _inside:
        yield
        return
    other = next(iter(_inside.values()), None)
    if other is not None:
        raise errors.RuntimeError_(
            f"{function}: another thread is in a collective ({other}); call collectives from one thread at a time, in the "
            "same order in all processes. Barriers, objects and transfers may be used in any thread"
        )
    _inside[own] = function
    try:
        yield
    finally:
        del _inside[own]


def waiting() -> str:
    """What this process waits for, in words; empty when nothing."""
    call = next((c for c in list(_open) if not c.is_over()), None)
    return "" if call is None else str(call)


# ---- the thread ----
def _watch() -> None:
    slow, looks = False, 0
    while True:
        time.sleep(LOOK)
        looks += 1
        for call in list(_open):
            if call.is_over():
                with contextlib.suppress(ValueError):
                    _open.remove(call)
        job = world.current() if world.is_connected() else None
        if job is None or job.store is None:
            continue
        late = [call for call in list(_open) if time.monotonic() > call.began + PATIENCE]
        with contextlib.suppress(RuntimeError):  # the store has gone: that is noticed elsewhere
            if slow and not late:
                job.store.delete(f"waits/{job.rank}")
            elif late:
                job.store.set(f"waits/{job.rank}", b"")
            slow = bool(late)
            if len(job.store.missing([f"waits/{r}" for r in range(job.size)], 0)) < job.size:  # somebody asks
                calls = {i: [(call.number, str(call)) for call in list(found)] for i, found in list(_last.items())}
                job.store.set(f"called/{job.rank}", json.dumps([looks, calls]))
            for call in late:
                _compare(call, job)


def _compare(call: Call, job: Any) -> None:
    group, own = call.group, str(call)
    notes = {rank: _called(job, rank, group.id) for rank in group.ranks if rank != job.rank}
    called = {rank: found for rank, (_, found) in notes.items()}
    # an older note may tell of a barrier that is over, which had the same number
    fresh = [rank for rank, (look, _) in notes.items() if look > call.seen.setdefault(rank, look) + 1]
    other = {rank: called[rank][call.number] for rank in fresh if called[rank].get(call.number, own) != own}
    if other:
        calls = "; ".join(f"rank {rank} has called {text}" for rank, text in other.items())
        _end(
            f"the processes do not agree on the collective number {call.number} of the group {group.ranks}: {calls}, this "
            f"process, rank {job.rank}, {own}. FLAGS_check_collectives=1 finds this when it is called"
        )
    if time.monotonic() > call.began + call.limit:
        late = ", ".join(str(rank) for rank, found in called.items() if max(found, default=0) < call.number)
        why = f"rank {late} did not come: it hangs, or has called something else" if late else "all have called it"
        _end(f"{own} of the group {group.ranks} was not over after {call.limit:g} seconds in rank {job.rank}; {why}")


def _called(job: Any, rank: int, group: int) -> tuple[int, dict[int, str]]:
    """(the number of a process's note, the last collectives of a group that it has called, by their numbers)"""
    if job.store.missing([f"called/{rank}"], 0):
        return -1, {}
    look, calls = json.loads(job.store.get(f"called/{rank}"))
    return look, dict(calls.get(str(group), ()))


def _end(why: str) -> None:
    """The thread that waits cannot be woken. The others see the same: give them the time to say it."""
    print(f"[paddle-xla] {why}", file=sys.stderr, flush=True)
    time.sleep(2 * LOOK)
    sys.stdout.flush()
    os._exit(1)
