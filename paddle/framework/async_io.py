"""Saving in the background."""

from __future__ import annotations

import threading
from typing import Any

import jax.numpy as jnp

from ..engine import errors
from ..engine.tensor import Tensor, _make
from .io import save

_tasks: list[threading.Thread] = []
_failures: list[BaseException] = []


def _held(obj: Any) -> Any:
    """The same object with copies of its tensors."""
    if isinstance(obj, Tensor):
        out = type(obj).__new__(type(obj))
        out._adopt(_make(jnp.array(obj._value, copy=True)))  # a copy: an optimizer may give the array away
        out.__dict__.update((k, v) for k, v in obj.__dict__.items() if k != "_grad")
        return out
    if isinstance(obj, dict):
        return type(obj)((k, _held(v)) for k, v in obj.items())
    if type(obj) in (list, tuple):
        return type(obj)(_held(v) for v in obj)
    return obj


def async_save(obj: Any, path: Any, protocol: int = 4, sync_other_task: bool = False, **configs: Any) -> None:
    """Like `paddle.save`, but the file is written in the background; the values are those at the time of the call.

    Args:
        obj, path, protocol, configs: see `paddle.save`.
        sync_other_task: wait for the saves that were started before first.

    Raises:
        RuntimeError: a save that was started before has failed.

    Example:
        >>> paddle.async_save({"w": paddle.ones([2])}, "w.pdparams")
        >>> paddle.clear_async_save_task_queue()
        >>> paddle.load("w.pdparams")["w"].tolist()
        [1.0, 1.0]
    """
    if sync_other_task:
        clear_async_save_task_queue()
    held = _held(obj)
    before = _tasks[-1] if _tasks else None

    def write() -> None:
        if before is not None:
            before.join()  # one after the other, so that the last save of a path stays
        try:
            save(held, path, protocol, **configs)
        except BaseException as e:
            _failures.append(e)

    task = threading.Thread(target=write, name="paddle-async-save")
    _tasks[:] = [t for t in _tasks if t.is_alive()] + [task]
    task.start()


def clear_async_save_task_queue() -> None:
    """Wait for all saves in the background. RuntimeError when one has failed.

    Example:
        >>> paddle.clear_async_save_task_queue()
    """
    while _tasks:
        _tasks.pop(0).join()
    if _failures:
        error = _failures.pop()
        _failures.clear()
        raise errors.RuntimeError_(f"async_save: writing failed: {error}") from error
