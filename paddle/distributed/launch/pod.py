"""The processes on one node: started, watched, ended together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any

GRACE = 3.0  # seconds between asking to end and ending
TAIL = 4000  # bytes of a log that are shown


@dataclass
class Container:
    """One process."""

    command: list[str]
    environment: dict[str, str]
    log: str
    what: str
    is_server: bool = False
    process: subprocess.Popen | None = None
    start: int = 0  # where in the log this run starts
    file: IO | None = field(default=None, repr=False)


# Run in place of the command, which it becomes: ends with the launcher. The launcher has threads, so that nothing of Python
# may run between the fork and the start of another program (`preexec_fn`).
_TIED = """import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])"""


# Ends the process groups that it is told when the launcher has ended without doing so: what the processes have started ends
# neither with them nor with the launcher.
_GUARD = """import os, sys
for group in [int(line) for line in sys.stdin]:
    try:
        os.killpg(group, 9)
    except OSError:
        pass"""


def _tied(command: list[str]) -> list[str]:
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *map(str, command)]


class Pod:
    def __init__(self, containers: list[Container], overwrite: bool):
        self.containers = containers
        self._overwrite = overwrite
        self.elsewhere = False  # trainers on other machines need the servers here
        self._following: threading.Thread | None = None
        self._ended = False
        self._guard: subprocess.Popen | None = None

    def start(self) -> None:
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD], stdin=subprocess.PIPE, start_new_session=True, text=True
        )
        for c in self.containers:
            self._start(c, "wb" if self._overwrite else "ab")
        shown = next((c for c in self.containers if not c.is_server), None)
        if shown is not None:
            self._following = threading.Thread(target=self._follow, args=(shown,), daemon=True)
            self._following.start()

    def _start(self, c: Container, mode: str) -> None:
        os.makedirs(os.path.dirname(c.log) or ".", exist_ok=True)
        c.file = open(c.log, mode)
        c.start = c.file.tell()
        c.process = subprocess.Popen(
            _tied(c.command),
            env={**os.environ, **c.environment},
            stdout=c.file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that it can be ended with its own children
        )
        print(c.process.pid, file=self._guard.stdin, flush=True)  # type: ignore[union-attr]

    def start_again(self, container: Container) -> None:
        """Start one that has ended once more; the others go on."""
        if container.file is not None:
            container.file.close()
        self._start(container, "ab")

    def _follow(self, container: Container) -> None:
        """Show the log of the first process as it grows."""
        with open(container.log, "rb") as f:
            f.seek(container.start)
            while True:
                over = self._ended or container.process.poll() is not None  # type: ignore[union-attr]
                data = f.read()
                if data:
                    sys.stdout.write(data.decode(errors="replace"))
                    sys.stdout.flush()
                elif over:
                    return
                else:
                    time.sleep(0.1)

    def failed(self) -> Container | None:
        """One that has failed; of several one that was killed, as the others fail because of it."""
        found = [c for c in self.containers if c.process.poll() not in (None, 0)]  # type: ignore[union-attr]
        return min(found, key=lambda c: c.process.returncode >= 0, default=None)  # type: ignore[union-attr]

    def done(self) -> bool:
        """Whether all trainers have ended well; then no server is needed any more, unless there are other machines."""
        needed = [c for c in self.containers if self.elsewhere or not c.is_server]
        return all(c.process.poll() == 0 for c in needed)  # type: ignore[union-attr]

    def stop(self) -> None:
        """End everything that still runs, children included."""
        self._signal(signal.SIGTERM)
        end = time.monotonic() + GRACE
        while time.monotonic() < end and any(c.process and c.process.poll() is None for c in self.containers):
            time.sleep(0.05)
        self._signal(signal.SIGKILL, True)
        for c in self.containers:
            if c.process is not None:
                c.process.wait()
            if c.file is not None:
                c.file.close()
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
        self._ended = True
        if self._following is not None:
            self._following.join(5)

    def _signal(self, number: int, everyone: bool = False) -> None:
        for c in self.containers:
            if c.process is not None and (everyone or c.process.poll() is None):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(c.process.pid, number)

    @staticmethod
    def tail(container: Container) -> str:
        with open(container.log, "rb") as f:
            f.seek(0, os.SEEK_END)
            f.seek(max(container.start, f.tell() - TAIL))
            return f.read().decode(errors="replace")


def exit_code(code: Any) -> int:
    """The code of a process as a shell shows it."""
    return 128 - code if code < 0 else code
