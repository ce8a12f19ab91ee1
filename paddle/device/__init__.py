"""Devices: which there are, which is used, and their memory."""

from __future__ import annotations

from typing import Any

from ..engine import errors, place as _place
from ..engine.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    Place,
    TPUPlace,
    XPUPlace,
    set_device,
)
from ..framework.typed import *
from . import cpu, cuda, custom_device, xpu
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
    synchronize,
)
from .properties import (
    current_device,
    get_default_device,
    get_device,
    get_device_capability,
    get_device_module,
    get_device_name,
    get_device_properties,
    ipc_collect,
    is_available,
    is_bf16_supported,
    set_default_device,
)
from .random import get_rng_state, manual_seed, manual_seed_all, set_rng_state
from .streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    get_stream_from_external,
    is_current_stream_capturing,
    set_stream,
    stream,
    stream_guard,
)

__all__ = [
    "get_all_custom_device_type",
    "get_all_device_type",
    "get_available_custom_device",
    "get_available_device",
    "get_cudnn_version",
    "get_device",
    "get_rng_state",
    "set_rng_state",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_device",
    "synchronize",
    "device_count",
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "device_guard",
    "device",
    "reset_peak_memory_stats",
    "manual_seed",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "Event",
    "Stream",
    "StreamContext",
    "current_stream",
    "get_stream_from_external",
    "is_current_stream_capturing",
    "set_stream",
    "stream_guard",
]


def get_available_device() -> list[str]:
    """The names of all devices that can be used, "cpu" first.

    Example:
        >>> paddle.device.get_available_device()[0]
        'cpu'
    """
    return ["cpu"] + [f"{kind}:{i}" for kind in ("gpu", "tpu") for i in range(len(_place.backend_devices(kind)))]


def get_all_device_type() -> list[str]:
    """The kinds of devices that can be used."""
    return ["cpu"] + [kind for kind in ("gpu", "tpu") if _place.backend_devices(kind)]


def get_all_custom_device_type() -> list[str]:
    """The kinds of plug-in devices that can be used."""
    return ["tpu"] if _place.backend_devices("tpu") else []


def get_available_custom_device() -> list[str]:
    """The names of the plug-in devices that can be used."""
    return [d for d in get_available_device() if d.startswith("tpu")]


def device_count() -> int:
    """The number of accelerators, 1 (the CPU) where there is none."""
    return max(1, len(get_available_device()) - 1)


def is_compiled_with_cuda() -> bool:
    """Whether a GPU can be used here (the engine's CUDA part is installed and a GPU present)."""
    return bool(_place.backend_devices("gpu"))


def is_compiled_with_rocm() -> bool:
    """Whether an AMD GPU can be used here."""
    return any(d.client.platform_version.lower().startswith("rocm") for d in _place.backend_devices("gpu"))


def is_compiled_with_xpu() -> bool:
    """False: no engine for Kunlun XPUs is known."""
    return False


def is_compiled_with_ipu() -> bool:
    """False: no engine for Graphcore IPUs is known."""
    return False


def is_compiled_with_cinn() -> bool:
    """False: XLA compiles, not CINN."""
    return False


def is_compiled_with_distribute() -> bool:
    """True: collectives are part of the engine."""
    return True


def is_compiled_with_custom_device(device_type: str) -> bool:
    """Whether a device of a plug-in kind, such as "tpu", can be used here."""
    return device_type == "tpu" and bool(_place.backend_devices("tpu"))


def get_cudnn_version() -> int | None:
    """None: the engine brings its own kernels."""
    return None


class device_guard:
    """Tensors made inside lie on `device` ("cpu", "gpu:0", ...): a context manager.

    Example:
        >>> with paddle.device_guard("cpu"):
        ...     x = paddle.ones([2])
    """

    def __init__(self, device: Any):
        self._device = _place.parse_place(device)

    def __enter__(self) -> None:
        self._before = _place.current_place()
        _place.set_device(self._device)

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _place.set_device(self._before)


class XPUPinnedPlace(Place):
    """Page-locked memory for Kunlun XPUs; no engine for them is known, so making one is an error."""

    def __init__(self):
        raise errors.Unavailable("XPUPinnedPlace: there is no engine for Kunlun XPUs")


class device(device_guard):
    """`device_guard` under another name, where a number is a GPU and None changes nothing.

    Example:
        >>> with paddle.device.device("cpu"):
        ...     x = paddle.ones([2])
    """

    def __init__(self, device: Any = None):
        if device is None or isinstance(device, int) and device < 0:
            device = _place.current_place()
        super().__init__(f"gpu:{device}" if isinstance(device, int) else device)
