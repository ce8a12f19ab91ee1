"""What is switched on in the current thread. Read on every operator call, so kept flat and small."""
from __future__ import annotations

import threading
from typing import Any

from . import flags


class Modes(threading.local):
    """Thread-local switches; the class attributes are what a new thread starts with."""

    grad: bool = True  # record the tape
    amp: Any = None  # automatic mixed precision: an object with cast(op, args)
    program: Any = None  # a program that is being built: an object with record(op, args)
    saved_hooks: Any = None  # (pack, unpack) of autograd.saved_tensors_hooks
    watcher: Any = None  # called after each operator with (op, args, result)
    special: bool = False  # any of the above except grad: dispatch then takes the long way

    def update(self) -> None:
        self.special = any(x is not None for x in (self.amp, self.program, self.saved_hooks, self.watcher))


modes = Modes()


class Watch:
    """Process-wide reasons for the long way: NaN checks and debug printing."""

    on = False

    @classmethod
    def refresh(cls) -> None:
        cls.on = bool(flags.flag("FLAGS_check_nan_inf")) or flags.debug_level() >= 2


flags.on_change(Watch.refresh)
Watch.refresh()


class set_mode:
    """Context manager that sets fields of the modes and restores them, also when nested or re-used."""

    def __init__(self, **fields: Any):
        self._fields = fields
        self._saved: list[dict[str, Any]] = []

    def __enter__(self):
        self._saved.append({name: getattr(modes, name) for name in self._fields})
        self._apply(self._fields)
        return self

    def __exit__(self, *exc) -> None:
        self._apply(self._saved.pop())

    @staticmethod
    def _apply(fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            setattr(modes, name, value)
        modes.update()
