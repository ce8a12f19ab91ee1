"""Processes that only wait for each other: a barrier on the CPU for programs that need no more of a job.

Officially this is a context of gloo; here it is a key-value store that rank 0 holds.
"""

from __future__ import annotations

import itertools

from ..engine import errors
from .store import TCPStore, Timeout

START = 3600.0  # seconds to come, as officially
WAIT = 9999999.0
LEAVE = 60.0  # that the process with the store waits for the others at the end

_context: list[tuple[int, int, TCPStore, itertools.count]] = []


def _meet(what: str, rank: int, size: int, store: TCPStore, seconds: float) -> list[int]:
    """Wait for all; who did not come."""
    keys = [f"gloo/{what}/{r}" for r in range(size)]
    store.set(keys[rank], b"")
    return [int(key.rsplit("/", 1)[1]) for key in store.missing(keys, seconds)]


@errors.clean
def gloo_init_parallel_env(rank_id: int, rank_num: int, server_endpoint: str) -> None:
    """Connect processes of which all that is wanted is `gloo_barrier`. Each of them calls it; rank 0 holds the store.

    Args:
        rank_id: the number of this process.
        rank_num: how many there are, at least 2.
        server_endpoint: "host:port" of a free port of the machine of rank 0.

    Raises:
        ValueError: `rank_num` below 2, a rank outside, an address without a port.
        RuntimeError: the context exists already.
        TimeoutError: some processes did not come; the message names them.
    """
    name = "gloo_init_parallel_env"
    if rank_num < 2:
        raise errors.ValueError_(f"{name}: rank_num must be at least 2, got {rank_num!r}")
    if not 0 <= rank_id < rank_num:
        raise errors.ValueError_(f"{name}: rank_id must be from 0 to {rank_num - 1}, got {rank_id!r}")
    host, _, port = str(server_endpoint).rpartition(":")
    if not host or not port.isdecimal():
        raise errors.ValueError_(f"{name}: server_endpoint must be host:port, got {server_endpoint!r}")
    if _context:
        raise errors.RuntimeError_(f"{name}: it was called before; call gloo_release() first")
    store = TCPStore(host, int(port), rank_id == 0, rank_num, START)
    missing = _meet("start", rank_id, rank_num, store, START)
    if missing:
        raise Timeout(f"(ExecutionTimeout) {name}: rank {missing} did not come within {START:g} seconds")
    _context.append((rank_id, rank_num, store, itertools.count()))


@errors.clean
def gloo_barrier() -> None:
    """Wait until all processes are here.

    Raises:
        RuntimeError: `gloo_init_parallel_env` was not called; the process with the store has ended.

    Example:
        >>> paddle.distributed.gloo_barrier()
        Traceback (most recent call last):
        RuntimeError: (PreconditionNotMet) gloo_barrier: call gloo_init_parallel_env first
    """
    if not _context:
        raise errors.RuntimeError_("gloo_barrier: call gloo_init_parallel_env first")
    rank, size, store, numbers = _context[0]
    number = next(numbers)
    missing = _meet(f"barrier/{number}", rank, size, store, WAIT)
    if missing:
        raise Timeout(f"(ExecutionTimeout) gloo_barrier: rank {missing} did not come")
    store.delete(f"gloo/barrier/{number - 2}/{rank}")


@errors.clean
def gloo_release() -> None:
    """Forget the context; without one nothing happens. Rank 0, which holds the store, waits up to a minute for the others."""
    if not _context:
        return
    rank, size, store, _ = _context.pop()
    try:
        if rank:
            store.set(f"gloo/end/{rank}", b"")
        else:
            _meet("end", rank, size, store, LEAVE)
    finally:
        store.close()
