"""The job that this process belongs to: its rank, the environment variables that tell it, and what connects it."""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import jax

from ..engine import errors, meshed, place
from .mailbox import Mailbox
from .store import TCPStore

TIMEOUT = 1800.0  # seconds, the official default
GRACE = 5.0  # seconds from the loss of another process to the end of this one
PATIENCE = 5.0  # seconds that a process whose communication broke waits to learn which one ended
LINGER = 600.0  # seconds that rank 0, without a launcher, waits at its end for the others at most


def rank_of_environment() -> int:
    return int(os.environ.get("PADDLE_TRAINER_ID") or 0)


def size_of_environment() -> int:
    return int(os.environ.get("PADDLE_TRAINERS_NUM") or 1)


class ParallelEnv:
    """What the environment variables of the launcher say about this process, read when the object is made.

    Example:
        >>> env = paddle.distributed.ParallelEnv()
        >>> env.rank, env.world_size
        (0, 1)
    """

    def __init__(self) -> None:
        environ = os.environ.get
        self._rank, self._world_size = rank_of_environment(), size_of_environment()
        self._local_rank = int(environ("PADDLE_RANK_IN_NODE") or environ("PADDLE_LOCAL_RANK") or self._rank)
        selected = environ("FLAGS_selected_gpus") or environ("FLAGS_selected_tpus") or "0"
        self._device_id = int(selected.split(",")[0])
        self._device_type = environ("PADDLE_XCCL_BACKEND") or ""
        self._current_endpoint = environ("PADDLE_CURRENT_ENDPOINT") or ""
        self._trainer_endpoints = (environ("PADDLE_TRAINER_ENDPOINTS") or "").split(",")
        self._nrings = int(environ("FLAGS_nccl_nrings") or 1)
        self._pg_timeout = int(environ("PADDLE_PG_TIMEOUT") or TIMEOUT * 1000)

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._rank

    @property
    def world_size(self) -> int:
        """The number of processes."""
        return self._world_size

    @property
    def device_id(self) -> int:
        """The number of the device that the launcher gave to this process."""
        return self._device_id

    @property
    def device_type(self) -> str:
        """The type of a plug-in device, empty for CPU and GPU."""
        return self._device_type

    @property
    def current_endpoint(self) -> str:
        """Host and port that stand for this process."""
        return self._current_endpoint

    @property
    def trainer_endpoints(self) -> list[str]:
        """The endpoints of all processes."""
        return self._trainer_endpoints

    @property
    def nrings(self) -> int:
        """The number of communication rings; XLA does not ask for it."""
        return self._nrings

    @property
    def pg_timeout(self) -> int:
        """Milliseconds after which a group gives up."""
        return self._pg_timeout

    local_rank = rank
    nranks = world_size
    dev_id = device_id


@dataclass
class World:
    """The connected processes."""

    rank: int
    size: int
    devices: list[Any]  # the device of each process
    timeout: float
    store: Any = None
    mailbox: Any = None


_world: list[World] = []
_failed: list[bool] = []
_leaving: list[bool] = []
_told = threading.Event()  # whether it was said which process ended without a word
_held: list[Any] = []  # XLA's service, if this process holds it


def current() -> World:
    """The job, RuntimeError before `init_parallel_env`."""
    if not _world:
        raise errors.RuntimeError_(
            "the global group is not initialized: call paddle.distributed.init_parallel_env() first, in every process"
        )
    return _world[0]


def is_connected() -> bool:
    return bool(_world)


def start(timeout: float | None = None) -> World:
    """Connect this process to the others that the environment names; once."""
    if _world:
        return _world[0]
    rank, size = rank_of_environment(), size_of_environment()
    timeout = ParallelEnv().pg_timeout / 1000 if timeout is None else timeout
    if not 0 <= rank < size:
        raise errors.ValueError_(f"init_parallel_env: PADDLE_TRAINER_ID is {rank}, but PADDLE_TRAINERS_NUM is {size}")
    if size == 1:
        world = World(0, 1, [place.current_place().device()], timeout)
    else:
        from . import processes

        host, port = _master()
        first = min(timeout, float(os.environ.get("FLAGS_tcp_store_timeout") or 300))
        address = os.environ.get("PADDLE_XLA_COORDINATOR")  # the launcher holds the store and XLA's service
        store = TCPStore(host, port, rank == 0 and not address, size, first)
        missing = _meet(store, rank, size, first)
        if missing:
            raise errors.RuntimeError_(
                f"init_parallel_env: rank {', '.join(missing)} of {size} did not come within {first:g} seconds"
            )
        if not address and rank == 0:
            service, number = processes.start_service(size, host)
            _held.append(service)
            store.set("xla", f"{host}:{number}")
        processes.connect(address or store.get("xla").decode(), rank, size, first)
        devices: dict[int, Any] = {}
        for device in jax.devices():
            devices.setdefault(device.process_index, device)
        own = host if rank == 0 else store._connection().getsockname()[0]
        world = World(rank, size, [devices[r] for r in range(size)], timeout, store, Mailbox(store, rank, own))
        _watch_end(store, rank, bool(address))
    _world.append(world)
    return world


def _master() -> tuple[str, int]:
    """Where rank 0 holds the store."""
    endpoint = os.environ.get("PADDLE_MASTER") or (os.environ.get("PADDLE_TRAINER_ENDPOINTS") or "").split(",")[0]
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise errors.ValueError_(
            "init_parallel_env: several processes (PADDLE_TRAINERS_NUM) need PADDLE_MASTER or PADDLE_TRAINER_ENDPOINTS, "
            f"host:port of the first; got {endpoint!r}. Start them with `python -m paddle.distributed.launch`"
        )
    return host, int(port)


def _meet(store: TCPStore, rank: int, size: int, timeout: float) -> list[str]:
    """Wait for all processes; the ranks that did not come. Two processes with one rank are an error."""
    if store.add(f"here/{rank}", 1) > 1:
        raise errors.RuntimeError_(f"init_parallel_env: two processes have rank {rank} (PADDLE_TRAINER_ID)")
    keys = [f"here/{r}" for r in range(size)]
    return [key.removeprefix("here/") for key in store.missing(keys, timeout)]


def _watch_end(store: TCPStore, rank: int, launched: bool) -> None:
    """Tell the others when this process ends well, and end it when another one ended without a word."""
    before = sys.excepthook

    def failed(kind: type, error: BaseException, trace: Any) -> None:
        _failed.append(True)
        before(kind, error, trace)
        if "gloo" in str(error).lower() and not launched:  # the transport does not know who ended; the thread soon does
            _told.wait(PATIENCE)

    sys.excepthook = failed
    atexit.register(_end, os.getpid())
    multiprocessing.util.Finalize(None, leave, exitpriority=-100)  # its processes end without atexit
    threading.Thread(target=_watch_others, args=(store, rank, launched), daemon=True).start()


def _watch_others(store: TCPStore, rank: int, launched: bool) -> None:
    try:
        lost = "rank " + store.lost(str(rank))
    except RuntimeError:
        lost = "the process that holds the store"
    if not _world or _leaving:
        return
    if not launched:  # the launcher says so itself
        from .communication import watch

        call = watch.waiting()
        where = f", which waits in {call}," if call else ""
        print(f"[paddle-xla] {lost} has ended unexpectedly; this process, rank {rank}{where} ends too", file=sys.stderr)
        sys.stderr.flush()
    _told.set()
    time.sleep(GRACE)  # to say what it has to say
    if _world and not _leaving:
        os._exit(1)


def _end(pid: int) -> None:
    """The process ends: after an error at once, since what still waits for other processes would never come."""
    if os.getpid() != pid or not _world:
        return
    if _failed:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    leave()


def leave() -> None:
    """Say goodbye; the process that holds the store gives the others time to leave."""
    if not _world or _world[0].store is None or _leaving:
        return
    if meshed.waiting:
        meshed.in_turn()
        jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])
    _leaving.append(True)
    world = _world[0]
    try:
        world.store.set(f"left/{world.rank}", b"")
        if _held:
            world.store.missing([f"left/{r}" for r in range(world.size)], LINGER)
            time.sleep(0.05)
    except RuntimeError:
        pass


def stop() -> None:
    """Forget a job of one process. Several stay connected: XLA cannot join another job."""
    _world.clear()
