"""The workers of a DataLoader, seen from its process: batches in order, and no worker that outlives its use."""

from __future__ import annotations

import contextlib
import hashlib
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
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.random import generator as default_generator
from .fetch import Fetch
from .transport import receive, send
from .worker import Failure, Job, Task, work

_PATIENCE = 3.0  # seconds for workers to end by themselves
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
    """

    def __init__(self, fetch: Fetch, workers: int, init: Any, context: Any, shared: bool, ahead: int, timeout: float):
        self.workers, self.ahead, self.timeout = workers, ahead, timeout
        self.epoch = 0
        self.method = context.get_start_method()
        self._processes: list[Any] = []
        self._ends: list[Connection] = []
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._processes, self._ends)
        forks = self.method == "fork"
        if forks:
            fetch.bring_to_host()
        try:
            for number in range(workers):
                job: Any = Job(fetch, init, number, workers, shared)
                self._start(context, job if forks else _pickled(job, self.method), forks)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, job: Any, forks: bool) -> None:
        with _starting:
            self._start_alone(context, job, forks)

    def _start_alone(self, context: Any, job: Any, forks: bool) -> None:
        here, there = context.Pipe(duplex=True)
        _connections.add(here)
        self._ends.append(here)
        process = context.Process(
            target=work, args=(there, job, list(_connections) if forks else []), name="paddle-worker", daemon=True
        )
        # a Ctrl-C meanwhile is for this process alone: the worker takes it again when it is ready to ignore it
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with warnings.catch_warnings():  # of forks in programs with threads: workers stay away from those of XLA
                warnings.filterwarnings(
                    "ignore", message=r"(os\.fork\(\) was called|This process .* is multi-threaded)"
                )
                process.start()
            self._processes.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            there.close()

    @property
    def alive(self) -> bool:
        return self._finalizer.alive

    def close(self) -> None:
        """End the workers."""
        self._finalizer()

    # ---- an epoch ----
    def run(self, batches: Iterable | None, number: int, keep: bool) -> Iterator:
        """The batches of one epoch, whose number goes into the seeds: of the given indices, or of the stream. `keep`: the
        workers stay for the next one."""
        self.epoch += 1
        mine = self.epoch
        try:
            seed = _epoch_seed(number)
            for worker in range(self.workers):
                self._ask(worker, "epoch", seed)
            answers = self._streamed() if batches is None else self._indexed(iter(batches))
            for batch in answers:
                yield batch
                if self.epoch != mine:
                    raise errors.RuntimeError_(
                        "DataLoader: another iterator of this loader was started; persistent workers serve one at a time"
                    )
        except GeneratorExit:
            if not keep and self.epoch == mine:
                self.close()
            raise
        except BaseException:
            if self.epoch == mine:
                self.close()
            raise
        if not keep:
            self.close()

    def _indexed(self, batches: Iterator) -> Iterator:
        owing: deque[int] = deque()
        turn = 0

        def ask() -> None:
            nonlocal turn
            indices = next(batches, None)
            if indices is not None:
                self._ask(turn % self.workers, "batch", indices)
                owing.append(turn % self.workers)
                turn += 1

        for _ in range(self.workers * self.ahead):
            ask()
        while owing:
            _, batch = self._receive(owing.popleft())
            ask()
            yield batch

    def _streamed(self) -> Iterator:
        for _ in range(self.ahead):
            for number in range(self.workers):
                self._ask(number, "next")
        turns = list(range(self.workers))
        while turns:
            for number in list(turns):
                kind, batch = self._receive(number)
                if kind == "end":
                    turns.remove(number)
                else:
                    self._ask(number, "next")
                    yield batch

    def _ask(self, number: int, kind: str, value: Any = None) -> None:
        with contextlib.suppress(ConnectionError):  # _receive says why it is gone
            send(self._ends[number], Task(kind, self.epoch, value), shared=False)

    def _receive(self, number: int) -> tuple[str, Any]:
        """Kind and value of the next answer of a worker."""
        try:
            return self._answer(number)
        except (OSError, ValueError):
            if self.alive:
                raise
            if not threading.main_thread().is_alive():  # a daemon thread, when the program has ended
                threading.Event().wait()
            raise errors.RuntimeError_("DataLoader: the workers were ended while a batch was awaited") from None

    def _answer(self, number: int) -> tuple[str, Any]:
        end, process = self._ends[number], self._processes[number]
        until = time.monotonic() + self.timeout if self.timeout else None
        while True:
            left = None if until is None else max(until - time.monotonic(), 0)
            if not wait([end, process.sentinel], left):
                raise errors.RuntimeError_(
                    f"DataLoader: no batch came from worker {number} (process {process.pid}) within timeout="
                    f"{self.timeout} seconds"
                )
            try:
                answer = receive(end) if end.poll() else None
            except (EOFError, OSError):
                answer = None
            if answer is None:
                raise self._death(number)
            if answer.kind == "error" and answer.epoch in (0, self.epoch):
                raise self._error(number, answer.value)
            if answer.epoch == self.epoch:
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


def _end(owner: int, processes: list, ends: list[Connection]) -> None:
    """Close the connections, which workers take for the end; those that do not end in time are killed."""
    if os.getpid() != owner:
        return
    with _starting:
        for end in ends:
            end.close()
    for patience, force in ((_PATIENCE, "terminate"), (1.0, "kill"), (1.0, "close")):
        until = time.monotonic() + patience
        for process in processes:
            process.join(max(until - time.monotonic(), 0))
        for process in processes:
            if force == "close" or process.is_alive():
                with contextlib.suppress(ValueError):
                    getattr(process, force)()


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
