"""The agent of a process: it runs functions that others send, and sends functions to others."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, NamedTuple

from ...engine import errors
from ..store import TCPStore, Timeout
from .channel import Channel, Listener
from .secret import job_token

_POLL = 1.0  # seconds between looks at whether somebody was lost, while waiting


class WorkerInfo(NamedTuple):
    """A process that can be called: its name, number, address and port."""

    name: str
    rank: int
    ip: str
    port: int

    def __str__(self) -> str:
        return "{" + ", ".join(f"{k}: {v}" for k, v in self._asdict().items()) + "}"

    __repr__ = __str__


class FutureWrapper:
    """The result of a call that runs. `wait()` gives it, raises what the function raised, or TimeoutError."""

    def __init__(self, future: Future, to: str, timeout: float | None):
        self._future, self._to = future, to
        self._seconds = timeout if timeout is not None and timeout > 0 else None
        self._end = None if self._seconds is None else time.monotonic() + self._seconds

    def done(self) -> bool:
        """Whether `wait` would return at once."""
        return self._future.done()

    def wait(self) -> Any:
        """The result, once it is there."""
        left = None if self._end is None else max(0.0, self._end - time.monotonic())
        try:
            return self._future.result(left)
        except TimeoutError:
            if self._future.done():  # the function itself raised it
                raise
            raise Timeout(
                f"(ExecutionTimeout) rpc: worker {self._to!r} gave no result within {self._seconds:g} seconds"
            ) from None


class Agent:
    """This process among those of the job."""

    rounds = 0  # how often this process has joined

    def __init__(self, name: str, rank: int, size: int, endpoint: str, holds_store: bool):
        host, port = split_endpoint("init_rpc: master_endpoint", endpoint)
        first = float(os.environ.get("FLAGS_stop_check_timeout") or 900)
        self.rank, self.size, self.token = rank, size, job_token()
        self.store = TCPStore(host, port, holds_store, size, first)
        self._key = f"rpc/{Agent.rounds}"
        Agent.rounds += 1
        own = os.environ.get("PADDLE_WORKER_ENDPOINT")
        if own:
            ip, number = split_endpoint("init_rpc: PADDLE_WORKER_ENDPOINT", own)
        else:
            ip, number = self.store._connection().getsockname()[0], 0
        self._listener = Listener(ip, number, _run, self.token)
        self.info = WorkerInfo(name, rank, ip, self._listener.port)
        self.lost: str | None = None
        self._channels: dict[str, Channel] = {}
        self._opening = threading.Lock()
        try:
            self.workers = self._meet(first)
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._watch, daemon=True).start()
        self._wait("ready", first)

    def _meet(self, timeout: float) -> dict[str, WorkerInfo]:
        self.store.set(f"{self._key}/{self.rank}", json.dumps(self.info))
        missing = self.store.missing([f"{self._key}/{r}" for r in range(self.size)], timeout)
        if missing:
            ranks = ", ".join(key.rsplit("/", 1)[1] for key in missing)
            raise errors.RuntimeError_(f"init_rpc: rank {ranks} of {self.size} did not come within {timeout:g} seconds")
        found = [WorkerInfo(*json.loads(self.store.get(f"{self._key}/{r}"))) for r in range(self.size)]
        names = [w.name for w in found]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise errors.ValueError_(f"init_rpc: the names of workers must differ, {twice[0]!r} is that of several")
        return {w.name: w for w in found}

    def _watch(self) -> None:
        try:
            lost = self.store.lost(self.info.name)
        except RuntimeError:
            lost = "the process that holds the store"
        self.lost = lost

    def _wait(self, what: str, timeout: float | None) -> None:
        """Wait until all workers have come to this point."""
        self.store.set(f"{self._key}/{what}/{self.rank}", b"")
        keys = [f"{self._key}/{what}/{r}" for r in range(self.size)]
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            missing = self.store.missing(keys, _POLL)
            if not missing:
                return
            ranks = ", ".join(key.rsplit("/", 1)[1] for key in missing)
            if self.lost is not None:
                raise errors.RuntimeError_(
                    f"rpc: worker {self.lost!r} has ended unexpectedly; waiting for rank {ranks}"
                )
            if end is not None and time.monotonic() > end:
                raise errors.RuntimeError_(f"rpc: rank {ranks} did not come within {timeout:g} seconds")

    def worker(self, name: str) -> WorkerInfo:
        found = self.workers.get(name) if isinstance(name, str) else None
        if found is None:
            raise errors.ValueError_(f"rpc: there is no worker {name!r}; there are {', '.join(self.workers)}")
        return found

    def call(self, to: str, call: tuple) -> Future:
        worker = self.worker(to)
        with self._opening:
            channel = self._channels.get(to)
            if channel is None:
                channel = self._channels[to] = Channel(
                    worker.ip, worker.port, self.token, self.info.name, f"rpc worker {to!r}"
                )
        return channel.call(call)

    def leave(self) -> None:
        """Wait for what still runs elsewhere and for all others, then end; the one that holds the store ends last."""
        for channel in self._channels.values():
            wait(channel.pending())
        self._wait("leaving", None)
        self.store.set(f"left/{self.info.name}", b"")
        self.store.set(f"{self._key}/gone/{self.rank}", b"")
        if self.store._server is not None:
            self.store.missing([f"{self._key}/gone/{r}" for r in range(self.size)], 60.0)
            time.sleep(0.05)
        self.close()

    def close(self) -> None:
        self._listener.close()
        for channel in self._channels.values():
            channel.close()
        self.store.close()


def _run(caller: str, call: tuple) -> Any:
    function, args, kwargs = call
    return function(*args, **kwargs)


def split_endpoint(what: str, endpoint: Any) -> tuple[str, int]:
    host, _, port = str(endpoint).rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise errors.ValueError_(f"{what} must be host:port, got {endpoint!r}")
    return host, int(port)


_agent: list[Agent] = []


def _current() -> Agent:
    if not _agent:
        raise errors.RuntimeError_("rpc: call paddle.distributed.rpc.init_rpc() first, in every process")
    return _agent[0]


def init_rpc(
    name: str, rank: int | None = None, world_size: int | None = None, master_endpoint: str | None = None
) -> None:
    """Let this process call functions in others, and others in this one. Returns when all have come.

    Args:
        name: by which others call it; no two may have the same.
        rank: its number; default: PADDLE_TRAINER_ID.
        world_size: how many processes there are; default: PADDLE_TRAINERS_NUM.
        master_endpoint: host:port where they meet, held by rank 0; default: PADDLE_MASTER_ENDPOINT, or PADDLE_MASTER.

    Raises:
        ValueError: a missing or wrong argument, a name that is used twice.
        RuntimeError: not all came in time (FLAGS_stop_check_timeout seconds, 900), or this process has called it already.

    Source: official API.

    Example:
        >>> from paddle.distributed import rpc
        >>> rpc.init_rpc("worker0", rank=0, world_size=1, master_endpoint="127.0.0.1:0")
        >>> rpc.rpc_sync("worker0", max, args=(2, 3))
        3
        >>> rpc.shutdown()
    """
    if _agent:
        raise errors.RuntimeError_("init_rpc: this process has called it already; call shutdown() first")
    if not isinstance(name, str) or not 0 < len(name.encode()) < 256:
        raise errors.ValueError_(f"init_rpc: name must be a string of 1 to 255 bytes, got {name!r}")
    environ = os.environ.get
    rank = rank if rank is not None else environ("PADDLE_TRAINER_ID")
    size = world_size if world_size is not None else environ("PADDLE_TRAINERS_NUM")
    if rank is None or size is None:
        raise errors.ValueError_(
            "init_rpc: rank and world_size must be given, or PADDLE_TRAINER_ID and PADDLE_TRAINERS_NUM be set"
        )
    try:
        rank, size = int(rank), int(size)
    except (TypeError, ValueError):
        raise errors.ValueError_(f"init_rpc: rank and world_size must be ints, got {rank!r} and {size!r}") from None
    if not 0 <= rank < size:
        raise errors.ValueError_(f"init_rpc: rank must be between 0 and world_size - 1, got {rank} of {size}")
    endpoint = master_endpoint or environ("PADDLE_MASTER_ENDPOINT") or environ("PADDLE_MASTER")
    if not endpoint:
        raise errors.ValueError_("init_rpc: master_endpoint must be given, or PADDLE_MASTER_ENDPOINT be set")
    held = bool(environ("PADDLE_XLA_COORDINATOR")) and endpoint == environ("PADDLE_MASTER")  # by the launcher
    _agent.append(Agent(name, rank, size, endpoint, rank == 0 and not held))


def rpc_async(
    to: str, fn: Callable, args: tuple | None = None, kwargs: dict | None = None, timeout: float | None = -1
) -> FutureWrapper:
    """Call a function in another process without waiting for it.

    Args:
        to: the name of a worker.
        fn: a function that both processes can import.
        args, kwargs: its arguments; they are pickled.
        timeout: seconds from now after which `wait` raises TimeoutError; None, 0 or less: none.

    Returns:
        An object whose `wait()` gives the result, or raises what the function raised, with the traceback of the other
        process as its cause (RuntimeError where that was no Exception, such as SystemExit). It raises RuntimeError when
        that process ends.

    Raises:
        ValueError: there is no such worker.
        TypeError: `fn` is no function, an argument of the wrong type, or one that cannot be pickled.
    """
    if not callable(fn):
        raise errors.TypeError_(f"rpc: fn must be a function, got {errors.describe(fn)}")
    if not isinstance(args, (tuple, list, type(None))) or not isinstance(kwargs, (dict, type(None))):
        raise errors.TypeError_(
            f"rpc: args must be a tuple and kwargs a dict, got {errors.describe(args)} and {errors.describe(kwargs)}"
        )
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float, type(None))):
        raise errors.TypeError_(f"rpc: timeout must be a number of seconds, got {timeout!r}")
    future = _current().call(to, (fn, tuple(args or ()), dict(kwargs or {})))
    return FutureWrapper(future, to, timeout)


def rpc_sync(
    to: str, fn: Callable, args: tuple | None = None, kwargs: dict | None = None, timeout: float | None = -1
) -> Any:
    """Call a function in another process and wait for its result; see `rpc_async`."""
    return rpc_async(to, fn, args, kwargs, timeout).wait()


def get_worker_info(name: str) -> WorkerInfo:
    """Name, rank, ip and port of a worker. ValueError when there is none."""
    return _current().worker(name)


def get_all_worker_infos() -> list[WorkerInfo]:
    """All workers, by rank."""
    return list(_current().workers.values())


def get_current_worker_info() -> WorkerInfo:
    """This process."""
    return _current().info


def shutdown() -> None:
    """Wait until all processes have called this, then end the connections. RuntimeError when one of them was lost."""
    agent = _current()
    try:
        agent.leave()
    finally:
        _agent.clear()
        agent.close()
