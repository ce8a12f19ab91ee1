"""The CPU."""

from ..engine.place import backend_devices
from .memory import (
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
)
from .random import get_rng_state, manual_seed, set_rng_state


def device_count() -> int:
    """The number of CPU devices that the engine shows."""
    return len(backend_devices("cpu"))


def get_device_count() -> int:
    return device_count()
