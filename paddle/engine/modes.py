"""What is switched on in the current thread. Read on every operator call, so kept flat and small."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any

from . import flags


class Modes(threading.local):
    """Thread-local switches; the class attributes are what a new thread starts with."""

    grad: bool = True  # record the tape
    amp: Any = None  # automatic mixed precision: an object with cast(op, args) and substitute(op, args)
    program: Any = None  # a program that is being built: an object with record(op, args)
    saved_hooks: Any = None  # (pack, unpack) of autograd.saved_tensors_hooks
    watcher: Any = None  # called after each operator with (op, args, result); its begin(op), if any, before
    segment: Any = None  # what is computed again in the backward pass: an object with run(op, args)
    ticks: Any = None  # where random keys come from while a function is compiled: an object with next()
    arriving: Any = None  # the cotangents of the node whose saved arrays are being unpacked
    capture: Any = None  # what defers calls that repeat themselves, see `capture`
    capturing: Any = None  # the same, None where calls have to run at once
    pace: Any = None  # the loss of the last backward()
    finishing: Any = None  # functions to call at the end of the backward() that runs, a list
    special: bool = False  # any of the above except grad and capture: dispatch then takes the long way

    def update(self) -> None:
        exposed = (self.program, self.saved_hooks, self.watcher, self.segment, self.ticks)
        self.capturing = self.capture if all(x is None for x in exposed) else None
        self.special = any(
            x is not None for x in (self.amp, self.program, self.saved_hooks, self.watcher, self.segment)
        )


modes = Modes()


class Watch:
    """Process-wide reasons for the long way: NaN checks, debug printing, a process that cannot compute (see `fork`)."""

    on = False
    forked = False

    @classmethod
    def refresh(cls) -> None:
        cls.on = cls.forked or bool(flags.flag("FLAGS_check_nan_inf")) or flags.debug_level() >= 2


flags.on_change(Watch.refresh)
Watch.refresh()


def note_effect(what: str) -> None:
    """Called where Python does what a program that is being recorded cannot do again in every run."""
    note = getattr(modes.program, "note_effect", None)
    if note is not None:
        note(what)


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


class _Decorator:
    """A context manager that also decorates functions, generators included: `@no_grad()` and `@no_grad`."""

    def __new__(cls, function: Any = None, *args: Any, **kwargs: Any):
        self = super().__new__(cls)
        if callable(function):  # @no_grad without parentheses
            return self._fresh()(function)
        return self

    def _fresh(self) -> _Decorator:
        return object.__new__(type(self))

    clone = _fresh
    DECORATED_BY_MARKER_ATTR = "__decorated_by_mode__"  # tells that a function was decorated

    def __call__(self, func: Any) -> Any:
        wrapped = self._wrapped(func)
        setattr(wrapped, self.DECORATED_BY_MARKER_ATTR, True)
        return wrapped

    def _wrapped(self, function: Any) -> Any:
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args, **kwargs):
                running = function(*args, **kwargs)
                resume: Any = functools.partial(running.send, None)
                while True:
                    with self._fresh():
                        try:
                            value = resume()
                        except StopIteration as end:
                            return end.value
                    try:
                        resume = functools.partial(running.send, (yield value))
                    except GeneratorExit:
                        running.close()
                        raise
                    except BaseException as error:  # thrown in by the caller: the function may handle it
                        resume = functools.partial(running.throw, error)

            return generator

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self._fresh():
                return function(*args, **kwargs)

        return wrapper


class no_grad(_Decorator):
    """Nothing is recorded for gradients inside: a context manager and a decorator.

    Example:
        >>> x = paddle.to_tensor(1.0, stop_gradient=False)
        >>> with paddle.no_grad():
        ...     y = x * 2
        >>> y.stop_gradient
        True
    """

    _value = False
    _before: Any = None

    def __enter__(self) -> None:
        self.__dict__.setdefault("_before", []).append(modes.grad)  # a list: the object may be entered again inside
        modes.grad = self._value

    def __exit__(self, *exc: Any) -> None:
        modes.grad = self._before.pop()


class enable_grad(no_grad):
    """Recording is on inside, also within `no_grad`."""

    _value = True


class set_grad_enabled(_Decorator):
    """Switch recording on or off, at once and until the end of the `with` block (if there is one).

    Example:
        >>> with paddle.set_grad_enabled(False):
        ...     paddle.is_grad_enabled()
        False
    """

    def __new__(cls, mode: bool):
        return object.__new__(cls)

    def __init__(self, mode: bool):
        self._before = modes.grad
        self._value = bool(mode)
        modes.grad = self._value

    def _fresh(self) -> set_grad_enabled:
        return set_grad_enabled(self._value)

    clone = _fresh

    def __call__(self, func: Any) -> Any:
        modes.grad = self._before  # as a decorator only the function is affected
        return super().__call__(func)

    def __enter__(self) -> None:
        modes.grad = self._value

    def __exit__(self, *exc: Any) -> None:
        modes.grad = self._before


def is_grad_enabled() -> bool:
    """Whether operations are recorded for gradients now."""
    return modes.grad
