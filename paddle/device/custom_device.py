"""Devices of plug-in kinds. The one kind that the engine knows is "tpu"."""

from __future__ import annotations

from typing import Any

from ..engine import place as _place
from . import streams as _streams
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    synchronize,
)
from .properties import get_device_properties
from .streams import current_stream

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_properties",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "synchronize",
]


def device_count(device_type: str | None = None) -> int:
    """The number of devices of a plug-in kind, by default of all kinds.

    Example:
        >>> paddle.device.custom_device.device_count("npu")
        0
    """
    return len(_place.backend_devices("tpu")) if device_type in (None, "tpu") else 0


def _place_of(device: Any, device_id: int) -> _place.Place:
    if isinstance(device, str) and device_id >= 0 and ":" not in device:
        device = f"{device}:{device_id}"
    return _streams._place_of(device)


class Event(_streams.Event):
    """A point in the work of a device, see `paddle.device.Event`. RuntimeError where there is no such device."""

    def __init__(self, device=None, device_id=-1, enable_timing=False, blocking=False, interprocess=False):
        super().__init__(enable_timing, blocking, interprocess)
        self.device = _place_of(device, device_id)

    @property
    def place(self) -> _place.Place:
        return self.device

    @property
    def raw_event(self) -> int:
        """A number that identifies the event."""
        return id(self.event_base)


class Stream(_streams.Stream):
    """A queue of work, see `paddle.device.Stream`. RuntimeError where there is no such device."""

    def __init__(self, device=None, device_id=-1, priority=2, blocking=False):
        super().__init__(_place_of(device, device_id), priority)

    @property
    def place(self) -> _place.Place:
        return self.device

    @property
    def raw_stream(self) -> int:
        """A number that identifies the stream."""
        return id(self.stream_base)

    cuda_stream = raw_stream
