"""Memory of devices, as the engine's allocator reports it."""

from __future__ import annotations

from typing import Any

import jax

from ..engine import capture, heap
from ..engine import place as _place

_peak_base: dict[Any, int] = {}


def _stats(device: Any) -> tuple[Any, dict]:
    place = (
        _place.current_place()
        if device is None
        else _place.parse_place(f"gpu:{device}" if isinstance(device, int) else device)
    )
    found = place.device()
    stats = found.memory_stats()
    if stats is None:  # the CPU allocator keeps no account: count the live arrays
        used = sum(a.nbytes for a in jax.live_arrays() if found in a.devices())
        stats = {"bytes_in_use": used, "peak_bytes_in_use": used}
    return found, stats


def memory_allocated(device: Any = None) -> int:
    """Bytes of live arrays on a device.

    Example:
        >>> paddle.device.memory_allocated() >= 0
        True
    """
    return int(_stats(device)[1].get("bytes_in_use", 0))


def max_memory_allocated(device: Any = None) -> int:
    """The largest number of bytes that were in use at once (on the CPU: that are in use now)."""
    return int(_stats(device)[1].get("peak_bytes_in_use", 0))


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator holds."""
    stats = _stats(device)[1]
    return int(stats.get("pool_bytes", stats.get("bytes_in_use", 0)))


def max_memory_reserved(device: Any = None) -> int:
    stats = _stats(device)[1]
    return int(stats.get("peak_pool_bytes", stats.get("peak_bytes_in_use", 0)))


def reset_max_memory_allocated(device: Any = None) -> None:
    """The engine cannot reset its peak; raises NotImplementedError on devices that keep one."""
    if _stats(device)[0].memory_stats() is not None:
        raise NotImplementedError("reset_max_memory_allocated: the engine's peak counter cannot be reset")


reset_max_memory_reserved = reset_max_memory_allocated
reset_peak_memory_stats = reset_max_memory_allocated


def memory_summary(device: Any = None) -> str:
    """The allocator's account of a device as a text, one line a number.

    Example:
        >>> "bytes_in_use" in paddle.device.cuda.memory_summary("cpu")
        True
    """
    found, stats = _stats(device)
    return "\n".join([f"memory of {found}", *(f"  {key:<32}{value:>20,}" for key, value in sorted(stats.items()))])


def empty_cache() -> None:
    """Give free memory back to the system."""
    heap.trim()


def synchronize(device: Any = None) -> None:
    """Wait until everything that was started has finished."""
    capture.flush()
    jax.effects_barrier()
    for array in jax.live_arrays():
        array.block_until_ready()
