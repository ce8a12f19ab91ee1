"""A worker of a DataLoader: a process that makes batches and sends them to the process of the loader."""

from __future__ import annotations

import builtins
import gc
import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import jax
import numpy as np

from ..engine.modes import Watch
from ..engine.random import seed as seed_framework
from ..engine.tensor import Tensor
from ..utils import storage
from . import collate
from .blocks import Blocks, Mapping
from .fetch import Fetch
from .host import host_tensor, read
from .transport import Parcel, receive

_GRACE = 2.0  # seconds for the sample in work when the loader is gone
_LOOK = 5.0  # seconds between looks whether the process of the loader still lives


@dataclass
class WorkerInfo:
    """What a worker knows of itself: `id`, `num_workers`, `dataset` and `seed`."""

    id: int
    num_workers: int
    dataset: Any
    seed: int = 0

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


_current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader (in its dataset or `worker_init_fn`): which one it is; elsewhere None.

    Example:
        >>> paddle.io.get_worker_info()
    """
    return _current


@dataclass
class Job:
    """What a worker is started with."""

    fetch: Fetch
    init: Callable | None
    number: int
    workers: int
    shared: bool


@dataclass
class Entry:
    """What a forked worker has to know of the process that it comes from: its number, ends of connections that belong to
    it alone, its handlers of signals, which do not act while a worker starts, and memory for batches."""

    parent: int
    ends: list[Connection]
    handlers: dict[int, Any]
    memory: dict[int, Mapping]


@dataclass
class Task:
    """What a worker is asked: `kind` is "epoch" (its number and the seed), "batch" (indices), "next" (of the stream) or
    "leave" (there is nothing more to do). `ended`: of its blocks of memory, which have come back."""

    kind: str
    epoch: int
    value: Any = None
    ended: list[tuple[int, bool]] = field(default_factory=list)


@dataclass
class Answer:
    """What comes back: `kind` is "ready" (once, before all others), "batch", "end" of the stream, or "error"."""

    kind: str
    epoch: int
    value: Any = None


@dataclass
class Failure:
    """An exception on its way to the process of the loader: pickled, and the traceback as text."""

    pickled: bytes
    text: str

    @staticmethod
    def of(error: BaseException) -> Failure:
        """The exception itself where it can be pickled, else one of its nearest built-in class with the same words."""
        candidates = [lambda: RuntimeError(f"{type(error).__name__}: {error}")]
        if isinstance(error, Exception):  # SystemExit and the like end a worker, not the process of the loader
            kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
            candidates = [lambda: error, lambda: kind(str(error)), *candidates]
        for candidate in candidates:
            try:
                made = candidate()
                pickled = pickle.dumps(made)
                if str(pickle.loads(pickled)) == str(made):
                    break
            except Exception:  # noqa: S112  (whatever an exception of the user does when it is pickled)
                continue
        return Failure(pickled, "".join(traceback.format_exception(error)))


class _Gone(BaseException):
    """The loader has no more use for this worker."""


class _Inbox:
    """The tasks of a worker. They are read by a thread, which also notices when the loader is gone."""

    def __init__(self, connection: Connection):
        self.epoch, self.gone = 0, False
        self.tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self.ended: deque[tuple[int, bool]] = deque()
        self.connection = connection
        threading.Thread(target=self._read, name="paddle-tasks", daemon=True).start()

    def _read(self) -> None:
        parent = os.getppid()
        try:
            while True:
                while not self.connection.poll(_LOOK):
                    if os.getppid() != parent:
                        raise EOFError
                task = receive(self.connection)
                self.epoch = task.epoch
                self.ended.extend(task.ended)
                self.tasks.put(task)
        except (EOFError, OSError):
            self.gone = True
            self.tasks.put(None)
            time.sleep(_GRACE)
            os._exit(1)

    def check(self) -> None:
        if self.gone:
            raise _Gone


def work(connection: Connection, job: Job | bytes, entry: Entry | None) -> None:
    """The life of a worker, which has an `entry` if it was forked."""
    if entry is not None:
        if os.getppid() != entry.parent:  # which ended before the system knew that this one goes with it
            os._exit(1)
        for number, handler in entry.handlers.items():
            signal.signal(number, handler)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process of the loader, which ends the workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in entry.ends if entry is not None else ():
        if not other.closed:
            other.close()
    storage.after_fork()
    gc.freeze()  # what came along stays where it is, in pages that the processes share
    if Watch.forked:
        _read_tensors_on_the_host()
    else:
        jax.config.update("jax_platforms", "cpu")
    inbox = _Inbox(connection)
    try:
        _serve(connection, inbox, job, entry.memory if entry is not None else {})
    except (_Gone, ConnectionError):
        pass


def _serve(connection: Connection, inbox: _Inbox, given: Job | bytes, memory: dict[int, Mapping]) -> None:
    global _current
    try:
        job = pickle.loads(given) if isinstance(given, bytes) else given
    except BaseException as e:
        Parcel(Answer("error", 0, Failure.of(e))).send(connection)
        raise _Gone from None
    Parcel(Answer("ready", 0)).send(connection)
    _current = WorkerInfo(job.number, job.workers, job.fetch.dataset)
    blocks = Blocks(inbox.ended, memory) if job.shared else None
    if blocks is not None:
        collate.empty = blocks.empty
    stream: Any = None
    init = job.init
    while (task := inbox.tasks.get()) is not None:
        if task.epoch != inbox.epoch:
            continue  # of an epoch that was left early
        if task.kind == "leave":
            return
        answer = Answer("batch", task.epoch)
        try:
            if task.kind == "epoch":
                _seed(task.value + job.number)
                stream = None
                if init is not None:
                    init(job.number)
                    init = None
                continue
            if task.kind == "batch":
                answer.value = job.fetch.batch(task.value, inbox.check)
            else:
                stream = job.fetch.stream(inbox.check) if stream is None else stream
                answer.value = next(stream, _END)
                if answer.value is _END:
                    answer = Answer("end", task.epoch)
        except BaseException as e:
            inbox.check()
            answer = Answer("error", task.epoch, Failure.of(e))
        try:
            parcel = Parcel(answer, blocks)
        except Exception as e:  # what cannot be pickled
            parcel = Parcel(Answer("error", task.epoch, Failure.of(e)))
        del answer
        parcel.send(connection)
        del parcel


_END = object()


def _seed(seed: int) -> None:
    """Python's, NumPy's and the framework's random numbers of this worker in this epoch."""
    assert _current is not None
    _current.seed = seed
    random.seed(seed)
    np.random.seed(np.random.SeedSequence(seed).generate_state(8))  # (with the number itself they would be the same)
    seed_framework(seed)


def _read_tensors_on_the_host() -> None:
    """In a forked process operators cannot run. Reading elements of a tensor, as datasets do, needs none."""
    indexed = Tensor.__getitem__

    def getitem(self: Tensor, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if all(isinstance(p, (int, slice, np.integer, type(None), type(...))) for p in parts) and not any(
            isinstance(p, builtins.bool) for p in parts
        ):
            return host_tensor(np.array(read(self)[index]))
        return indexed(self, index)

    Tensor.__getitem__ = getitem
