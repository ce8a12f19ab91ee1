"""The process that stands above the workers: it holds the socket, replaces what ends, and changes models without a gap."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

from ..engine import errors
from ..utils import storage
from .logs import to_stderr
from .options import ServerOptions, server_options
from .repository import find, here, listing
from .server import READY

log = logging.getLogger("paddle.serving")


class Worker:
    """A process that serves, seen from above."""

    def __init__(self, generation: int, models: str, listening: socket.socket, options: ServerOptions,
                 environment: dict[str, str], starts: int):  # fmt: skip
        self.generation = generation
        self.ready = self.stopping = False
        self.beat = time.monotonic()
        self.channel, theirs = socket.socketpair()
        self.channel.setblocking(False)
        given = {"options": options.model_dump(), "models": models, "channel": theirs.fileno(),
                 "listening": listening.fileno(), "starts": starts}  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "paddle.serving.server"], stdin=subprocess.PIPE, env=environment,
            pass_fds=[theirs.fileno(), listening.fileno()],
        )  # fmt: skip
        theirs.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(given).encode())
            self.process.stdin.close()

    def hear(self) -> None:
        """Read what it says."""
        with contextlib.suppress(BlockingIOError, OSError):
            while said := self.channel.recv(4096):
                self.beat = time.monotonic()
                self.ready = self.ready or READY in said

    def stop(self) -> None:
        """Let it answer what it has accepted, and end."""
        if not self.stopping:
            self.stopping, self.stopped = True, time.monotonic()
            self.process.terminate()

    def gone(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.channel.close()


class Supervisor:
    """Keeps as many workers as wanted, all of the newest generation.

    A reload (SIGHUP, or files that changed) begins a generation: for each of its workers that is ready an old one stops.
    When a new one cannot start, the old ones stay.
    """

    def __init__(self, path: str, options: ServerOptions):
        self.path, self.options = path, options
        self.workers: list[Worker] = []
        self.generation = self.starts = self.failures = 0
        self.stopping = self.reloading = False
        self._not_before = 0.0
        self._seen: Any = None

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit status."""
        options = self.options
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(contextlib.closing(_Folder(self.path)))
            find(folder.path, options.defaults)  # a mistake is told at once, by this process
            to_stderr()
            self._seen = listing(self.path)
            listening = _bound(options)
            stack.callback(listening.close)
            figures = tempfile.mkdtemp(prefix="paddle-serving-figures-")
            stack.callback(shutil.rmtree, figures, ignore_errors=True)
            self.environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": figures}
            before = {s: signal.signal(s, self._heard) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
            host, port = listening.getsockname()[:2]
            log.info("%s is served on http://%s:%d", self.path, host, port, extra={"port": port})
            try:
                return self._loop(folder, listening)
            finally:
                for worker in self.workers:
                    worker.kill()
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _heard(self, number: int, frame: Any) -> None:
        if number == signal.SIGHUP:
            self.reloading = True
        else:
            self.stopping = True

    def _loop(self, folder: _Folder, listening: socket.socket) -> int:
        looked = time.monotonic()
        while not self.stopping:
            if self.options.reload and time.monotonic() > looked + self.options.reload:
                looked = time.monotonic()
                self._look()
            if self.reloading:
                self.reloading = False
                self._reload(folder)
            self._bury()
            if self.failures >= 3 and not any(w.ready for w in self.workers):
                log.error("no worker can start")
                return 3
            self._adjust(folder, listening)
            time.sleep(0.05)
        return self._end(listening)

    # ---- changes of the models ----
    def _look(self) -> None:
        """Reload when files have changed since the last look but one: not while they are being written."""
        try:
            now = listing(self.path)
        except OSError as e:
            log.warning("the models cannot be listed: %s", e)
            return
        if now != self._seen:
            self._seen, self._changed = now, True
        elif getattr(self, "_changed", False):
            self._changed, self.reloading = False, True

    def _reload(self, folder: _Folder) -> None:
        try:
            folder.refresh()
            find(folder.path, self.options.defaults)
        except (OSError, ValueError) as e:
            log.error("the models stay as they are: %s", e)
            return
        self.generation += 1
        self.failures = 0
        log.info("models are loaded anew", extra={"generation": self.generation})

    # ---- workers ----
    def _bury(self) -> None:
        """Take out workers that ended or hang."""
        now = time.monotonic()
        for worker in list(self.workers):
            worker.hear()
            if worker.stopping:
                late = now > worker.stopped + self.options.grace + self.options.drain + 5
            else:
                late = worker.ready and now > worker.beat + self.options.hang
            if late:
                log.error("worker %d gives no sign of life and is ended", worker.process.pid)
                worker.process.kill()
                worker.process.wait()
            if not worker.gone():
                continue
            self.workers.remove(worker)
            worker.channel.close()
            code = worker.process.returncode
            self._forget_figures(worker.process.pid)
            if worker.stopping:
                continue
            log.error("worker %d ended with %d", worker.process.pid, code, extra={"worker": worker.process.pid})
            if worker.ready:
                self.failures = 0
                continue
            self.failures += 1
            self._not_before = now + min(30.0, 0.5 * 2**self.failures)
            older = [w.generation for w in self.workers if w.ready and w.generation < worker.generation]
            if older and worker.generation == self.generation:
                log.error("the models stay as they are: a worker with the new ones could not start")
                self.generation = max(older)
                self.failures = 0

    def _forget_figures(self, pid: int) -> None:
        """Take away what the gauges of an ended worker show; its counters stay."""
        for name in os.listdir(self.environment["PROMETHEUS_MULTIPROC_DIR"]):
            if name.startswith("gauge_live") and name.endswith(f"_{pid}.db"):
                os.unlink(os.path.join(self.environment["PROMETHEUS_MULTIPROC_DIR"], name))

    def _adjust(self, folder: _Folder, listening: socket.socket) -> None:
        """Start what is missing, stop what is too much."""
        live = [w for w in self.workers if not w.stopping]
        new = [w for w in live if w.generation == self.generation]
        old = [w for w in live if w.generation != self.generation]
        starting = [w for w in live if not w.ready]
        if len(new) < self.options.workers and not (old and starting) and time.monotonic() >= self._not_before:
            self.starts += 1
            self.workers.append(
                Worker(self.generation, folder.path, listening, self.options, self.environment, self.starts)
            )
        ready = sum(w.ready for w in new)
        if old and ready + len(old) > self.options.workers:
            old[0].stop()

    def _end(self, listening: socket.socket) -> int:
        log.info("stopping")
        listening.close()  # the workers take what was connected, and close theirs
        for worker in self.workers:
            worker.stop()
        end = time.monotonic() + self.options.grace + self.options.drain + 5
        while self.workers and time.monotonic() < end:
            for worker in list(self.workers):
                worker.hear()
                if worker.gone():
                    self.workers.remove(worker)
                    worker.channel.close()
            time.sleep(0.02)
        if self.workers:
            log.error("%d workers did not end in time", len(self.workers))
            return 1
        return 0


class _Folder:
    """The models on this machine; of an address elsewhere a copy, a new one for each reload."""

    def __init__(self, path: str):
        self._path, self._stack = path, contextlib.ExitStack()
        self.path = self._stack.enter_context(here(path))

    def refresh(self) -> None:
        if storage.is_remote(self._path):
            self.path = self._stack.enter_context(here(self._path))

    def close(self) -> None:
        self._stack.close()


def _bound(options: ServerOptions) -> socket.socket:
    """The socket, with its address but not yet listening: nobody can connect before a worker is ready."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
    except OSError as e:
        listening.close()
        raise errors.Unavailable(
            f"serving: {options.host}:{options.port} cannot be listened on: {e.strerror}"
        ) from None
    return listening


def serve(path: Any, **options: Any) -> int:
    """Serve the models in a folder over HTTP until SIGTERM or SIGINT, with processes of its own (docs/deploy.md).

    Args:
        path: a folder of models, of one model, the beginning of the names of a model's files, or an address such as
            `s3://bucket/models`.
        options: see `ServerOptions`.

    Returns:
        the exit status: 0 after a stop in which every accepted request was answered.

    Raises:
        FileNotFoundError: no model is there.
        ValueError: options that are wrong.
        RuntimeError: the address is in use.
    """
    return Supervisor(os.fspath(path), server_options(**options)).run()
