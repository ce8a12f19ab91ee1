"""GPUs."""

from __future__ import annotations

from typing import Any

from ..engine import place as _place
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    synchronize,
)
from .properties import get_device_capability, get_device_properties
from .random import get_rng_state, manual_seed, set_rng_state
from .streams import Event, Stream, current_stream, stream_guard


def device_count() -> int:
    """The number of GPUs.

    Example:
        >>> paddle.device.cuda.device_count() >= 0
        True
    """
    return len(_place.backend_devices("gpu"))


def is_available() -> bool:
    return device_count() > 0


def get_device_name(device: Any = None) -> str:
    """The name of a GPU. RuntimeError where there is none."""
    named = isinstance(device, (str, _place.Place))
    return _place.parse_place(device if named else f"gpu:{device or 0}").device().device_kind


def vmm_compact(device: Any = None) -> int:
    """Bytes won by moving memory together: 0, the engine's allocator does so by itself."""
    return 0
