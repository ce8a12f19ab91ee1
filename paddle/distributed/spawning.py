"""Starts a function in several processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..engine import errors

GRACE = 3.0  # seconds between asking to end and ending


class ProcessFailed(RuntimeError):
    """A process of `spawn` ended with an error; the message has its traceback."""


class MultiprocessContext:
    """The processes that `spawn(join=False)` started: `processes`, and `join()`, which waits for them."""

    def __init__(self, processes: list[Any], pipes: list[Any]):
        self.processes = processes
        self._pipes = pipes
        self._held: tuple = ()  # what the processes use, as long as somebody may wait for them
        self.return_values: list[Any] = [None] * len(processes)

    def join(self, timeout: float | None = None) -> bool:
        """Wait for all processes; whether they have ended.

        Raises:
            RuntimeError: one failed; the others were ended.
        """
        end = None if timeout is None else time.monotonic() + timeout
        waiting = {p.sentinel: i for i, p in enumerate(self.processes) if p.exitcode is None}
        while True:
            failed = [i for i, process in enumerate(self.processes) if process.exitcode not in (None, 0)]
            if failed:
                self._fail(failed)
            waiting = {s: i for s, i in waiting.items() if self.processes[i].exitcode is None}
            if not waiting:
                if self._held:
                    self._held[0].close()
                    self._held = ()
                return True
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            multiprocessing.connection.wait(list(waiting), left)

    def _fail(self, failed: list[int]) -> None:
        """End the others and raise the error of the process that failed first: what followed is due to it."""
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + GRACE
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        said: dict[int, tuple[float, str]] = {}
        for number, pipe in enumerate(self._pipes):
            with contextlib.suppress(EOFError, OSError):
                if pipe.poll():
                    said[number] = pipe.recv()

        def when(number: int) -> float:  # a process that ends because of another one says nothing and has no signal
            if number in said:
                return said[number][0]
            return 0.0 if self.processes[number].exitcode < 0 else float("inf")

        number = min({*failed, *said}, key=when)
        text = said[number][1] if number in said else None
        code = self.processes[number].exitcode
        how = f"ended by signal {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        if text is not None:
            how = f"failed with the following error:\n\n{text}"
        raise ProcessFailed(f"(PreconditionNotMet) spawn: process {number} {how}")


def _run(function: Callable, args: tuple, environment: dict[str, str], pipe: Any) -> None:
    from . import world

    os.environ.update(environment)
    with contextlib.suppress(Exception):  # end with the parent
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    try:
        function(*args)
        world.leave()
    except KeyboardInterrupt:
        os._exit(1)
    except BaseException as error:
        if isinstance(error, SystemExit) and error.code in (0, None):
            world.leave()
            return
        pipe.send((time.time(), traceback.format_exc()))
        pipe.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1)


@errors.clean
def spawn(
    func: Callable, args: Any = (), nprocs: int = -1, join: bool = True, daemon: bool = False, **options: Any
) -> MultiprocessContext:
    """Start a function in several processes on this machine, which `init_parallel_env` there connects.

    Args:
        func: a function of a module (it is imported by name in the new processes).
        args: its arguments.
        nprocs: how many; by default one for each device, or for each core of the CPU.
        join: wait for them.
        daemon: they end with this process.
        options: `gpus`, `devices` (such as "0,1"), `started_port`, `print_config`; `backend`, `ips` have no effect.

    Returns:
        A context with `processes` and `join()`.

    Raises:
        RuntimeError: a process failed (with `join=True`); the message has its traceback, and the others were ended.
        ValueError: `nprocs` out of range, an unknown option.

    Example:
        >>> paddle.distributed.spawn(train, args=(1,), nprocs=2)  # doctest: +SKIP
    """
    from .launch.main import free_ports, local_devices
    from .processes import start_service
    from .store import TCPStore

    known = {"start_method", "gpus", "xpus", "devices", "backend", "ips", "started_port", "print_config"}
    unknown = sorted(set(options) - known)
    if unknown:
        raise errors.ValueError_(f"spawn: there is no option {unknown[0]!r}; there are {', '.join(sorted(known))}")
    if not callable(func):
        raise errors.TypeError_(f"spawn: func must be a function, got {errors.describe(func)}")
    chosen = options.get("devices") or options.get("gpus") or options.get("xpus")
    devices = local_devices(chosen)
    if nprocs == -1:
        nprocs = len(devices) or multiprocessing.cpu_count()
    if isinstance(nprocs, bool) or not isinstance(nprocs, int) or nprocs < 1 or chosen and nprocs > len(devices):
        raise errors.ValueError_(
            f"spawn: nprocs must be -1 or at least 1, and not more than the devices {chosen or ''}; got {nprocs!r}"
        )
    method = options.get("start_method") or "spawn"
    if method not in ("spawn", "forkserver"):
        raise errors.ValueError_(f"spawn: start_method must be 'spawn' or 'forkserver', got {method!r}")
    context = multiprocessing.get_context(method)
    ports = free_ports(nprocs + 1, options.get("started_port"))
    service, number = start_service(nprocs, "127.0.0.1")
    store = TCPStore("127.0.0.1", ports[0], is_master=True)
    endpoints = [f"127.0.0.1:{port}" for port in ports[1:]]
    processes, pipes = [], []
    for rank in range(nprocs):
        environment = {
            "PADDLE_MASTER": f"127.0.0.1:{ports[0]}",
            "PADDLE_XLA_COORDINATOR": f"127.0.0.1:{number}",
            "PADDLE_TRAINER_ID": str(rank),
            "PADDLE_TRAINERS_NUM": str(nprocs),
            "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_RANK_IN_NODE": str(rank),
            "PADDLE_LOCAL_RANK": str(rank),
        }
        if devices:
            device = devices[rank % len(devices)]
            environment |= {"CUDA_VISIBLE_DEVICES": device, "FLAGS_selected_gpus": device}
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(func, tuple(args), environment, sender), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        sender.close()
        processes.append(process)
        pipes.append(receiver)
    made = MultiprocessContext(processes, pipes)
    made._held = store, service
    if join:
        made.join()
    return made
