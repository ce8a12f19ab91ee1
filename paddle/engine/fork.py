"""Forked processes. The threads of XLA and of the program do not come along into a child process: an operator would wait
for them forever, and any call of XLA for a lock that one of them held when the process forked. So where something ran
before the fork nothing of XLA is called in the child. Operators raise, tensors that are made there hold NumPy arrays
(`place.put`), and arrays that came along are never freed; they can be read (`numpy()`), since their computations were
finished before. Where nothing ran before the fork, everything works.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import jax

from . import capture
from .modes import Watch

try:  # no public name tells whether the engine has started, or gives the locks that looking for it takes
    from jax._src.xla_bridge import _backend_lock, _plugin_lock, backends_are_initialized

    _locks = [_plugin_lock, _backend_lock]  # in the order in which JAX takes them
except ImportError:
    _locks = []

    def backends_are_initialized() -> bool:
        return True


_PARENT_DEATH_SIGNAL = 1  # of prctl(2)
_prctl: Any = getattr(ctypes.CDLL(None), "prctl", None)
_binding: int | None = None  # the thread whose children end with this process
_kept: list[jax.Array] = []  # what exists at the fork: freeing an array takes a lock of it


@contextlib.contextmanager
def bound_children() -> Iterator[None]:
    """Processes that this thread forks meanwhile are ended by the system together with this one, whatever they wait for.
    (On Linux, and for the main thread: the system looks at the thread that forked.)"""
    global _binding
    if _prctl is not None and threading.current_thread() is threading.main_thread():
        _binding = threading.get_ident()
    try:
        yield
    finally:
        _binding = None


def _finish_running() -> None:
    """What still runs when the process forks would never end in the child."""
    if backends_are_initialized():
        capture.flush()
        _kept.extend(jax.live_arrays())
        for array in _kept:
            with contextlib.suppress(Exception):  # of a computation that failed, or deleted meanwhile
                array.block_until_ready()
    for lock in _locks:  # were another thread to hold one now, the child would wait for it forever
        lock.acquire()


def _release() -> None:
    for lock in reversed(_locks):
        lock.release()


def _in_the_parent() -> None:
    _release()
    _kept.clear()


def _in_the_child() -> None:
    global _binding
    if _binding == threading.get_ident():
        _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    _binding = None
    _release()
    if backends_are_initialized():
        Watch.forked = True
        Watch.refresh()


os.register_at_fork(before=_finish_running, after_in_parent=_in_the_parent, after_in_child=_in_the_child)
warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")  # JAX's warning of just this
