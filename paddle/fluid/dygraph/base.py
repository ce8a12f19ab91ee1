"""What `paddle.fluid.dygraph.base` offered: the mode, and tensors from arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...engine.autograd import grad
from ...engine.modes import modes, no_grad
from ...engine.place import parse_place
from ...framework.mode import disable_static as disable_dygraph_off
from ...framework.mode import enable_static as disable_dygraph
from ...ops.creation import to_tensor
from ..framework import imperative

__all__ = [
    "disable_dygraph",
    "enable_dygraph",
    "enabled",
    "grad",
    "guard",
    "no_grad",
    "param_guard",
    "to_variable",
]


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """A context in which operations run at once, on `place` when it is given.

    Example:
        >>> with paddle.fluid.dygraph.guard():
        ...     paddle.fluid.dygraph.to_variable([1.0]).shape
        [1]
    """
    from ...engine.place import get_device, set_device

    before = get_device()
    with imperative():
        if place is not None:
            set_device(parse_place(place).name)
        try:
            yield
        finally:
            if place is not None:
                set_device(before)


def enabled() -> bool:
    """Whether operations run at once."""
    return modes.program is None


def enable_dygraph(place: Any = None) -> None:
    """Run operations at once from now on."""
    disable_dygraph_off(place)


@contextlib.contextmanager
def param_guard(parameters: Any) -> Iterator[None]:
    """Accepted for compatibility: parameters need no conversion for the time of a call."""
    yield


def to_variable(value: Any, name: str | None = None, zero_copy: Any = None, dtype: Any = None) -> Any:
    """A tensor from an array, the older spelling of `paddle.to_tensor`.

    Example:
        >>> paddle.fluid.dygraph.to_variable([1.0]).shape
        [1]
    """
    out = to_tensor(value, dtype)
    if name is not None:
        out.name = name
    return out
