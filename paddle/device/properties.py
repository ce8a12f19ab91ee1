"""What a device is."""

from __future__ import annotations

import importlib
import os
import platform
from types import ModuleType
from typing import Any, NamedTuple

from ..engine import errors
from ..engine import place as _place
from ..engine.tensor import Tensor

__all__ = [
    "get_device_properties",
    "get_device_name",
    "get_device_capability",
    "is_available",
    "is_bf16_supported",
    "ipc_collect",
    "get_device",
    "get_default_device",
    "set_default_device",
    "get_device_module",
    "current_device",
]


class DeviceProperties(NamedTuple):
    """The properties of a device: compute capability (0.0 where it has none), bytes of memory, number of processors."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def _device(device: Any, name: str) -> Any:
    if isinstance(device, bool) or not (device is None or isinstance(device, (int, str, _place.Place))):
        raise errors.ValueError_(f"{name}: device must be a number, a name or a Place, got {errors.describe(device)}")
    if device is None:
        return _place.current_place().device()
    return _place.parse_place(f"gpu:{device}" if isinstance(device, int) else device).device()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, (0, 0) for other devices.

    Example:
        >>> paddle.device.get_device_capability("cpu")
        (0, 0)
    """
    major, _, minor = str(getattr(_device(device, "get_device_capability"), "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


def get_device_name(device: Any = None) -> str:
    """The name of a device, such as "NVIDIA H100".

    Example:
        >>> isinstance(paddle.device.get_device_name("cpu"), str)
        True
    """
    found = _device(device, "get_device_name")
    return platform.processor() or platform.machine() if found.platform == "cpu" else found.device_kind


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, compute capability, memory and number of processors of a device.

    Args:
        device: a number (of a GPU), a name or a Place; default the current device.

    Raises:
        ValueError: no device at all.
        RuntimeError: this machine has no such device.

    Example:
        >>> paddle.device.get_device_properties("cpu").multi_processor_count > 0
        True
    """
    found = _device(device, "get_device_properties")
    if found.platform == "cpu":
        memory, processors = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), os.cpu_count() or 1
    else:
        memory = int((found.memory_stats() or {}).get("bytes_limit", 0))
        processors = int(getattr(found, "core_count", 0) or 0)
    return DeviceProperties(get_device_name(device), *get_device_capability(device), memory, processors)


def is_available() -> bool:
    """Whether there is an accelerator.

    Example:
        >>> isinstance(paddle.device.is_available(), bool)
        True
    """
    return any(_place.backend_devices(kind) for kind in ("gpu", "tpu"))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 works: always, where the hardware has it or by conversion (`including_emulation`).

    Example:
        >>> paddle.device.is_bf16_supported()
        True
    """
    place = _place.current_place()
    native = place.kind == "tpu" or place.is_gpu_place() and get_device_capability() >= (8, 0)
    return bool(including_emulation or native)


def ipc_collect() -> None:
    """Free memory that other processes have released; here no memory of devices is shared between processes."""


def get_device(input: Any = None) -> Any:
    """The name of the current device ("cpu", "gpu:0", "tpu:0"); for a Tensor the number of its accelerator, -1 for the
    CPU.

    Example:
        >>> paddle.get_device() in ("cpu", "gpu:0", "tpu:0")
        True
    """
    return input.get_device() if isinstance(input, Tensor) else _place.get_device()


def get_default_device() -> str:
    """The name of the device where new tensors are made.

    Example:
        >>> paddle.get_default_device() == paddle.get_device()
        True
    """
    return _place.get_device()


def set_default_device(device: Any) -> None:
    """Choose the device where new tensors are made; see `paddle.set_device`."""
    _place.set_device(device)


def current_device() -> int:
    """The number of the current device."""
    return _place.current_place().get_device_id()


def get_device_module(device: Any = None) -> ModuleType:
    """The module with the functions of a kind of device: `paddle.device.cpu` or `paddle.cuda`.

    Raises:
        ValueError: not the name of a device.
        NotImplementedError: there is no module for it.

    Example:
        >>> paddle.get_device_module("cpu").__name__
        'paddle.device.cpu'
    """
    place = _place.current_place() if device is None else _place.parse_place(device)
    names = {"cpu": "paddle.device.cpu", "gpu": "paddle.cuda"}
    if place.kind not in names:
        raise errors.NotImplemented_(
            f"get_device_module: there is no module for {place.kind}; paddle.device has its functions"
        )
    return importlib.import_module(names[place.kind])
