"""The compiler's housekeeping: JAX settings, the persistent cache, and a count of every compilation."""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import queue
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # take GPU memory as it is needed
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # the engine's own log lines are not for users

import jax  # noqa: E402  (the environment has to be set first)

from . import flags, heap  # noqa: E402


@dataclass
class CompileStats:
    """What the compiler did in this process: `compiles` counts executables, of which `cache_hits` came from the
    persistent cache; `seconds` is the time they took; `names` lists them in order (the last 1000). Programs that capture
    made in the background of what repeats count in `captured` alone."""

    compiles: int = 0
    captured: int = 0
    cache_hits: int = 0
    seconds: float = 0.0
    names: list[str] = field(default_factory=list)

    def snapshot(self) -> CompileStats:
        return CompileStats(self.compiles, self.captured, self.cache_hits, self.seconds, list(self.names))


# Executables in memory, of about 1.4 MB each on a CPU; beyond, all are dropped and come back from the persistent cache.
KEPT = 2048

# What the floors above do with a function before it is compiled as a whole: (units that it calls, function) -> function.
REWRITES: list[Callable[[Any, Callable], Callable]] = []

stats = CompileStats()
_cleared = [0]  # stats.compiles when they were dropped last
_current = ["?"]  # the operator that is being called, for the reports


class Background:
    """A thread that compiles what is submitted, one after the other. When the process ends, what is waiting is dropped and
    what is running is waited for: the compiler cannot be interrupted, and it would take the process down."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, work: Callable[[], Any]) -> threading.Event:
        """Have `work()` called; the event is set when it is over."""
        done = threading.Event()
        with self._lock:
            self._waiting.put((work, done))
            if self._thread is None or not self._thread.is_alive():  # the first time, and in a forked process
                self._thread = threading.Thread(target=self._serve, name="paddle-xla compiling", daemon=True)
                self._thread.start()
                atexit.register(self._end)
        return done

    def _serve(self) -> None:
        while True:
            work, done = self._waiting.get()
            if work is None:
                return
            try:
                work()
            finally:
                done.set()
                heap.trim()  # a compilation leaves some hundred MB

    def _end(self) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put((None, None))
        if self._thread is not None:
            self._thread.join()


background = Background()


class count_compiles:
    """Context manager that counts compilations, for tests and curious users.

    Example:
        >>> with paddle.utils.count_compiles() as count:
        ...     _ = paddle.ones([3]) + 1.0
        >>> count.compiles >= 0
        True
    """

    compiles = 0
    cache_hits = 0

    def __enter__(self) -> count_compiles:
        self._start = stats.snapshot()
        return self

    def __exit__(self, *exc) -> None:
        self.compiles = stats.compiles - self._start.compiles
        self.cache_hits = stats.cache_hits - self._start.cache_hits
        self.names = stats.names[-self.compiles :] if self.compiles else []


def naming(name: str) -> None:
    """Tell the compile log which operator runs now."""
    _current[0] = name


def _on_duration(event: str, duration_secs: float, **kwargs) -> None:
    if event != "/jax/core/compile/backend_compile_duration":
        return
    name = str(kwargs.get("fun_name") or _current[0])
    if "captured" in name:
        stats.captured += 1
        if flags.debug_level() >= 1:
            print(f"[paddle-xla] compiled a captured program in {duration_secs * 1e3:.1f} ms", file=sys.stderr)
        return
    stats.compiles += 1
    stats.seconds += duration_secs
    stats.names.append(name)
    del stats.names[:-1000]
    if stats.compiles - _cleared[0] >= KEPT:
        _cleared[0] = stats.compiles
        jax.clear_caches()
        heap.trim()
    if flags.debug_level() >= 1:
        print(f"[paddle-xla] compiled {name} in {duration_secs * 1e3:.1f} ms", file=sys.stderr)


def _on_event(event: str, **kwargs) -> None:
    if event == "/jax/compilation_cache/cache_hits":
        stats.cache_hits += 1


def _machine_tag() -> str:
    """Names the machine kind and compiler version: executables of one are not for another."""
    features = ""
    try:
        with open("/proc/cpuinfo") as f:
            features = next((line for line in f if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass
    digest = hashlib.sha256((features + platform.processor() + sys.platform).encode()).hexdigest()[:8]
    return f"{jax.version.__version__}-{platform.machine()}-{digest}"


def cache_folder() -> Path | None:
    """Where compiled executables are kept between runs, None when switched off or not writable.

    ``PADDLE_XLA_CACHE_DIR`` names another folder; ``PADDLE_XLA_CACHE_DIR=0`` switches it off.
    """
    chosen = os.environ.get("PADDLE_XLA_CACHE_DIR")
    if chosen in ("", "0", "off"):
        return None
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddle_xla"
    folder = base / _machine_tag()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass
    return None


def configure() -> None:
    """Set JAX up, once, at import: memory, 64-bit types, the persistent cache, the listeners of the compile counter."""
    heap.configure()
    jax.config.update("jax_enable_x64", True)
    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        folder = cache_folder()
        if folder is not None:
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # a damaged or unwritable entry costs a compilation, not the user's attention
    warnings.filterwarnings("ignore", message=r"Error (reading|writing) persistent compilation cache")
    warnings.filterwarnings("ignore", message=r"Some donated buffers were not usable")
    jax.monitoring.register_event_duration_secs_listener(_on_duration)
    jax.monitoring.register_event_listener(_on_event)


configure()
