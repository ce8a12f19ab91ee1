"""GPUs, under the names of `paddle.cuda`; the functions are those of `paddle.device`."""

from __future__ import annotations

from typing import Any

from .device import cuda as _cuda
from .device import device, get_rng_state, manual_seed, manual_seed_all, set_device, set_rng_state
from .device.cuda import (
    device_count,
    empty_cache,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    synchronize,
)
from .device.memory import _stats, reset_peak_memory_stats
from .device.properties import current_device, ipc_collect, is_bf16_supported
from .device.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    get_stream_from_external,
    is_current_stream_capturing,
    set_stream,
    stream,
)
from .engine import errors
from .framework.typed import *


def is_initialized() -> bool:
    """Whether a GPU is in use."""
    return _cuda.is_available()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes of a GPU, as the engine's allocator reports it. RuntimeError where there is none."""
    stats = _stats(0 if device is None else device)[1]
    total = int(stats.get("bytes_limit", 0))
    return total - int(stats.get("bytes_in_use", 0)), total


def cudart() -> Any:
    """NotImplementedError: the CUDA runtime belongs to XLA."""
    raise errors.NotImplemented_("cudart: the CUDA runtime belongs to XLA")


def check_error(res: int) -> None:
    """RuntimeError unless a code of the CUDA runtime is 0."""
    if int(res):
        raise errors.RuntimeError_(f"check_error: CUDA reports the code {int(res)}")
