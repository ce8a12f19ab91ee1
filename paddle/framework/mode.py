"""Dynamic and static mode."""

from __future__ import annotations

from typing import Any

from ..engine.modes import modes
from ..engine.place import set_device

__all__ = ["disable_static", "enable_static", "in_dynamic_mode"]


def in_dynamic_mode() -> bool:
    """Whether operations run at once; False while a program is built.

    Example:
        >>> paddle.in_dynamic_mode()
        True
    """
    return modes.program is None


def enable_static() -> None:
    """Build programs from now on: operations are added to `paddle.static.default_main_program()`.

    Example:
        >>> paddle.enable_static()
        >>> paddle.in_dynamic_mode()
        False
        >>> paddle.disable_static()
    """
    from ..static import program

    program.enable()


def disable_static(place: Any = None) -> None:
    """Run operations at once from now on; `place` becomes the current device."""
    from ..static import program

    program.disable()
    if place is not None:
        set_device(place)
