"""Kunlun XPUs. No engine for them is known, so the names exist, there are no devices, and using one is an error."""

from __future__ import annotations

from typing import Any, NoReturn

from ..engine import errors

__all__ = [
    "Event",
    "Stream",
    "device_count",
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_total",
    "memory_used",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "set_debug_level",
    "synchronize",
]


def _absent(name: str) -> NoReturn:
    raise errors.Unavailable(f"paddle.device.xpu.{name}: not compiled with XPU, there is no engine for Kunlun XPUs")


def device_count() -> int:
    """The number of XPUs: 0.

    Example:
        >>> paddle.device.xpu.device_count()
        0
    """
    return 0


class Event:
    """A point in the work of an XPU; making one is an error."""

    def __init__(self) -> None:
        _absent("Event")


class Stream:
    """A queue of work of an XPU; making one is an error."""

    def __init__(self, device: Any = None) -> None:
        _absent("Stream")


def synchronize(device: Any = None) -> None:
    """Wait for an XPU: always an error."""
    _absent("synchronize")


def empty_cache() -> None:
    """Give cached memory back: always an error."""
    _absent("empty_cache")


def set_debug_level(level: int = 0) -> None:
    """Set how much the XPU driver reports: always an error."""
    _absent("set_debug_level")


def memory_total(device: Any = None) -> int:
    """Bytes of memory: always an error."""
    _absent("memory_total")


def memory_used(device: Any = None) -> int:
    """Bytes in use: always an error."""
    _absent("memory_used")


def memory_allocated(device: Any = None) -> int:
    """Bytes of live arrays: always an error."""
    _absent("memory_allocated")


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator holds: always an error."""
    _absent("memory_reserved")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use at once: always an error."""
    _absent("max_memory_allocated")


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes held at once: always an error."""
    _absent("max_memory_reserved")


def reset_max_memory_allocated(device: Any = None) -> None:
    """Start counting anew: always an error."""
    _absent("reset_max_memory_allocated")


def reset_max_memory_reserved(device: Any = None) -> None:
    """Start counting anew: always an error."""
    _absent("reset_max_memory_reserved")
