"""Dynamic and static mode."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.place import set_device

__all__ = ["disable_static", "enable_static", "in_dynamic_mode"]


def in_dynamic_mode() -> bool:
    """True: operations run at once. (Static mode is not built yet.)

    Example:
        >>> paddle.in_dynamic_mode()
        True
    """
    return True


def enable_static() -> None:
    """Switch to building programs. Not built yet: raises NotImplementedError."""
    raise errors.NotImplemented_("enable_static: the static graph is not built yet (docs/status.md)")


def disable_static(place: Any = None) -> None:
    """Switch to dynamic mode, which is on already; `place` becomes the current device."""
    if place is not None:
        set_device(place)
