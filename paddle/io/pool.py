"""The workers of a DataLoader, seen from its process: batches in order, and no worker that outlives its use."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import multiprocessing
import os
import pickle
import random
import signal
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..engine import capture, errors
from ..engine.fork import bound_children
from ..engine.random import generator as default_generator
from .blocks import SPARE, Arrivals
from .fetch import Fetch
from .transport import Parcel, receive
from .worker import Entry, Failure, Job, Task, work

_PATIENCE = 3.0  # seconds for workers to end by themselves
_START = 60.0  # seconds for a forked worker to start
# No worker starts while another thread opens or closes connections: it would inherit, or close, the wrong ones. (A
# pool can be collected in the midst of a start: the same thread may come again.)
_starting = threading.RLock()
_connections: weakref.WeakSet[Connection] = weakref.WeakSet()  # ends that only this process may hold


class WorkerTraceback(Exception):
    """The traceback of a worker, shown as the cause of the exception that it raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def context_of(given: Any) -> Any:
    """The context of a start method: the given one, the one that the program has set, else "fork" where that exists."""
    if given is None:
        given = multiprocessing.get_start_method(allow_none=True)
        if given is None and "fork" in multiprocessing.get_all_start_methods():
            given = "fork"
    if given is not None and not isinstance(given, str):
        return given
    try:
        return multiprocessing.get_context(given)
    except ValueError:
        raise errors.ValueError_(
            "DataLoader: multiprocessing_context must be one of "
            f"{', '.join(map(repr, multiprocessing.get_all_start_methods()))} or a context, got {given!r}"
        ) from None


class Pool:
    """Worker processes, which make the batches k, k + n, k + 2n, ... each, so that they come in order.

    Args:
        fetch: makes the batches.
        workers: how many processes.
        init: called in each of them with its number.
        context: of multiprocessing.
        shared: batches come through shared memory.
        ahead: batches that each worker prepares.
        timeout: seconds to wait for a batch; 0 for no limit.
        memory: blocks of workers that are gone, which those of this pool use again and leave there in turn.
    """

    def __init__(
        self,
        fetch: Fetch,
        workers: int,
        init: Any,
        context: Any,
        shared: bool,
        ahead: int,
        timeout: float,
        memory: list[Arrivals],
    ):
        self.workers, self.ahead, self.timeout = workers, ahead, timeout
        self.epoch = 0
        self.method = context.get_start_method()
        self._processes: list[Any] = []
        self._ends: list[Connection] = []
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._processes, self._ends)
        self._context, self._forks = context, self.method == "fork"
        self._starts: list[_Start] = []
        self._memory = memory
        if self._forks:
            capture.flush()
            fetch.bring_to_host()
        spare = [m for arrivals in memory for m in arrivals.mappings().values()] if self._forks and shared else []
        memory.clear()
        self._new: list[_Start] = []  # those that have not started
        for number in range(workers):
            job: Any = Job(fetch, init, number, workers, shared)
            arrivals = Arrivals(spare[number::workers])
            self._new.append(_Start(job if self._forks else _pickled(job, self.method), arrivals))

    def _start(self, start: _Start) -> None:
        """Start one more worker."""
        with _starting, _undisturbed() as handlers, contextlib.ExitStack() as stack:
            here, there = self._context.Pipe(duplex=True)
            stack.callback(there.close)
            _connections.add(here)
            self._ends.append(here)
            entry = None
            if self._forks:
                entry = Entry(os.getpid(), list(_connections), handlers, start.arrivals.mappings())
            process = self._context.Process(
                target=work, args=(there, start.job, entry), name="paddle-worker", daemon=True
            )
            # a Ctrl-C meanwhile is for this process alone: the worker takes it again when it is ready to ignore it
            held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            stack.callback(signal.pthread_sigmask, signal.SIG_SETMASK, held)
            with (
                bound_children(),
                warnings.catch_warnings(),
            ):  # of forks in programs with threads: workers stay away from those of XLA
                warnings.filterwarnings(
                    "ignore", message=r"(os\.fork\(\) was called|This process .* is multi-threaded)"
                )
                process.start()
            self._processes.append(process)
            self._starts.append(start)
            start.time = time.monotonic()

    def _start_again(self, number: int) -> None:
        """Replace a worker that does not come up: it waits for a lock that some thread held when the process forked."""
        start, process = self._starts[number], self._processes[number]
        with _starting:
            process.kill()
            process.join(_PATIENCE)
            self._ends[number].close()
            what = f"worker {number} (process {process.pid}) of a DataLoader did not start within {_START:g} seconds"
            if start.again:
                raise errors.RuntimeError_(f"DataLoader: {what}, nor did the one before it")
            warnings.warn(f"{what}: it was replaced", RuntimeWarning, stacklevel=2)
            start.again = True
            self._start(start)
            for those in (self._processes, self._ends, self._starts):
                those[number] = those.pop()
        for task in start.tasks:
            self._send(number, task)

    @property
    def alive(self) -> bool:
        return self._finalizer.alive

    def close(self) -> None:
        """End the workers."""
        with _undisturbed():  # what interrupts before leaves it to the end of this object
            if self._finalizer() and self._forks:
                self._memory[:] = [start.arrivals for start in self._starts]
                for arrivals in self._memory:
                    arrivals.retire(SPARE // self.workers)

    # ---- an epoch ----
    def run(self, batches: Iterable | None, number: int, keep: bool) -> Iterator:
        """The batches of one epoch, whose number goes into the seeds: of the given indices, or of the stream. `keep`: the
        workers stay for the next one. The workers begin at once."""
        self.epoch += 1
        try:
            seed = _epoch_seed(number)
            tasks = itertools.repeat(("next", None)) if batches is None else (("batch", each) for each in batches)
            first = list(itertools.islice(tasks, self.workers * self.ahead))
            while self._new and not self._forks:  # these take long to start: all at the same time
                self._start(self._new.pop(0))
            for worker in range(self.workers):
                if self._new:
                    self._start(self._new.pop(0))
                for kind, value in [("epoch", seed), *first[worker :: self.workers]]:
                    self._ask(worker, kind, value)
        except BaseException:
            self.close()
            raise
        answers = self._streamed if batches is None else self._indexed
        return self._epoch(self.epoch, answers(self.epoch, tasks, len(first), keep), keep)

    def _epoch(self, epoch: int, answers: Iterator, keep: bool) -> Iterator:
        try:
            yield from answers  # (and hold none of them)
            self._check(epoch)
        except GeneratorExit:
            if not keep and self.epoch == epoch:
                self.close()
            raise
        except BaseException:
            if self.epoch == epoch:
                self.close()
            raise
        if not keep:
            self.close()

    def _indexed(self, epoch: int, tasks: Iterator, asked: int, keep: bool) -> Iterator:
        owing = deque(range(asked))
        leaving = range(0 if keep else self.workers)
        while owing:
            turn = owing.popleft()
            received = [self._receive(turn % self.workers, epoch)[1]]
            task = next(tasks, None)
            if task is not None:
                self._ask(asked % self.workers, *task)
                owing.append(asked)
                asked += 1
            else:
                for number in leaving:  # when they have done what they were asked for
                    self._ask(number, "leave")
                leaving = range(0)
            yield received.pop()

    def _streamed(self, epoch: int, tasks: Iterator, asked: int, keep: bool) -> Iterator:
        turns = list(range(self.workers))
        while turns:
            for number in list(turns):
                kind, batch = self._receive(number, epoch)
                if kind == "end":
                    turns.remove(number)
                    if not keep:
                        self._ask(number, "leave")
                else:
                    received = [batch]
                    del batch
                    self._ask(number, *next(tasks))
                    yield received.pop()

    def _ask(self, number: int, kind: str, value: Any = None) -> None:
        task = Task(kind, self.epoch, value, self._starts[number].arrivals.ended())
        if not self._starts[number].ready:
            self._starts[number].tasks.append(task)
        self._send(number, task)

    def _send(self, number: int, task: Task) -> None:
        with contextlib.suppress(ConnectionError):  # _receive says why it is gone
            Parcel(task).send(self._ends[number])

    def _check(self, epoch: int) -> None:
        if self.epoch != epoch:
            raise errors.RuntimeError_(
                "DataLoader: another iterator of this loader was started; persistent workers serve one at a time"
            )

    def _receive(self, number: int, epoch: int) -> tuple[str, Any]:
        """Kind and value of the next answer of a worker."""
        self._check(epoch)
        try:
            return self._answer(number)
        except (OSError, ValueError):
            if self.alive:
                raise
            if not threading.main_thread().is_alive():  # a daemon thread, when the program has ended
                threading.Event().wait()
            raise errors.RuntimeError_("DataLoader: the workers were ended while a batch was awaited") from None

    def _answer(self, number: int) -> tuple[str, Any]:
        until = time.monotonic() + self.timeout if self.timeout else math.inf
        while True:
            end, process, start = self._ends[number], self._processes[number], self._starts[number]
            late = start.time + _START if self._forks and not start.ready else math.inf
            first = min(until, late)
            if not wait([end, process.sentinel], None if first == math.inf else max(first - time.monotonic(), 0)):
                if first == late:
                    self._start_again(number)
                    continue
                raise errors.RuntimeError_(
                    f"DataLoader: no batch came from worker {number} (process {process.pid}) within timeout="
                    f"{self.timeout} seconds"
                )
            try:
                answer = receive(end, start.arrivals) if end.poll() else None
            except (EOFError, OSError):
                answer = None
            if answer is None:
                raise self._death(number)
            if answer.kind == "ready":
                start.ready = True
                start.tasks.clear()
            elif answer.kind == "error" and answer.epoch in (0, self.epoch):
                raise self._error(number, answer.value)
            elif answer.epoch == self.epoch:
                return answer.kind, answer.value

    def _error(self, number: int, failure: Failure) -> BaseException:
        error = pickle.loads(failure.pickled)
        where = f"in worker {number} (process {self._processes[number].pid}) of a DataLoader:"
        error.__cause__ = WorkerTraceback(f"{where}\n{failure.text}")
        return error

    def _death(self, number: int) -> RuntimeError:
        process = self._processes[number]
        process.join(_PATIENCE)
        code = process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            known = {s.value: s.name for s in signal.Signals}
            how = f"was ended by the signal {known.get(-code, -code)}"
            if code == -signal.SIGKILL:
                how += " (the system does that when memory runs out: try fewer workers or smaller batches)"
        else:
            how = f"ended with exit status {code}"
            if self.method != "fork":
                how += (
                    f" (with the start method {self.method!r} the script of the program is imported in each worker: "
                    "what it runs belongs under `if __name__ == '__main__':`)"
                )
        return errors.RuntimeError_(f"DataLoader: worker {number} (process {process.pid}) {how}")


@dataclass
class _Start:
    """A worker: with what it starts, what it is asked before it says that it is ready, and its blocks of memory."""

    job: Any
    arrivals: Arrivals
    time: float = 0.0
    ready: bool = False
    again: bool = False
    tasks: list[Task] = field(default_factory=list)


@contextlib.contextmanager
def _undisturbed() -> Iterator[dict[int, Any]]:
    """Handlers of signals, which are given, run after the block: what they raise does not come in between."""
    with contextlib.ExitStack() as stack:
        handlers = {}
        if threading.current_thread() is threading.main_thread():  # where Python calls them
            handlers = {n: h for n in signal.valid_signals() if callable(h := signal.getsignal(n))}
        for number in handlers:
            stack.enter_context(_later(number))
        yield handlers


@contextlib.contextmanager
def _later(number: int) -> Iterator[None]:
    came: list[int] = []
    handler = signal.signal(number, lambda n, frame: came.append(n))
    try:
        yield
    finally:
        signal.signal(number, handler)
        if came:
            signal.raise_signal(number)


def _end(owner: int, processes: list, ends: list[Connection]) -> bool:
    """End workers. Whether all of them have ended."""
    if os.getpid() != owner:
        return False
    try:
        return _end_all(processes, ends)
    except BaseException:  # an interrupt, before it was put off; this may be the last call for these workers
        _end_all(processes, ends)
        raise


def _end_all(processes: list, ends: list[Connection]) -> bool:
    """Close the connections, which workers take for the end; those that do not end in time are killed."""
    with _undisturbed():
        with _starting:
            for end in ends:
                end.close()
        for patience, force in ((_PATIENCE, "terminate"), (1.0, "kill"), (1.0, "")):
            until = time.monotonic() + patience
            for process in processes:
                process.join(max(until - time.monotonic(), 0))
            for process in processes:
                if force and process.is_alive():
                    getattr(process, force)()
        return not any(process.is_alive() for process in processes)


def _pickled(job: Job, method: str) -> bytes:
    try:
        return bytes(ForkingPickler.dumps(job))
    except Exception as e:
        raise errors.TypeError_(
            f"DataLoader: the start method {method!r} needs a dataset, collate_fn and worker_init_fn that can be pickled, "
            f"functions and classes of a module, not local ones ({type(e).__name__}: {e})"
        ) from None


def _epoch_seed(epoch: int) -> int:
    """A number that depends on the seeds of Python, NumPy and the framework and on the epoch; it draws from none."""
    state = np.random.get_state(legacy=True)
    found = hashlib.blake2b(np.asarray(state[1]).tobytes(), digest_size=7)
    found.update(repr((state[2], random.getstate(), default_generator().initial_seed(), epoch)).encode())
    return int.from_bytes(found.digest(), "little")
