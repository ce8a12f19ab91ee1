"""Places: where a tensor lives, by the official names, mapped to JAX devices."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from . import errors
from .modes import Watch

_ALIGNMENT = 64  # bytes, of memory that the CPU device takes as it is
_BACKENDS = {"cpu": "cpu", "gpu": "gpu", "tpu": "tpu"}
_KNOWN = ("cpu", "gpu", "tpu", "xpu", "npu", "mlu", "ipu", "dcu", "gcu", "intel_hpu")


class Place:
    """A device, such as ``paddle.CPUPlace()`` or ``paddle.CUDAPlace(0)``. Equal when kind and number are equal."""

    kind = "cpu"

    def __init__(self, device_id: int = 0):
        self.device_id = int(device_id)

    def get_device_id(self) -> int:
        return self.device_id

    def get_device_type(self) -> str:
        return self.kind

    def is_cpu_place(self) -> bool:
        return self.kind == "cpu"

    def is_gpu_place(self) -> bool:
        return self.kind == "gpu"

    def is_cuda_pinned_place(self) -> bool:
        return False

    def is_xpu_place(self) -> bool:
        return self.kind == "xpu"

    def is_custom_place(self) -> bool:
        return self.kind not in ("cpu", "gpu", "xpu")

    def _equals(self, other: Place) -> bool:
        return self == other

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Place) and (self.kind, self.device_id) == (other.kind, other.device_id)

    def __hash__(self) -> int:
        return hash((self.kind, self.device_id))

    def __repr__(self) -> str:
        return "Place(cpu)" if self.kind == "cpu" else f"Place({self.kind}:{self.device_id})"

    @property
    def name(self) -> str:
        return "cpu" if self.kind == "cpu" else f"{self.kind}:{self.device_id}"

    def device(self) -> jax.Device:
        """The JAX device behind this place; RuntimeError (naming it) where this machine has none."""
        return find_device(self.kind, self.device_id)


class CPUPlace(Place):
    """The host CPU."""

    def __init__(self):
        super().__init__(0)


class CUDAPlace(Place):
    """A GPU by number."""

    kind = "gpu"


class CUDAPinnedPlace(CPUPlace):
    """Page-locked host memory; here ordinary host memory."""

    def is_cuda_pinned_place(self) -> bool:
        return True


class TPUPlace(Place):
    """A TPU core by number."""

    kind = "tpu"


class XPUPlace(Place):
    """A Kunlun XPU by number; no engine for it is known, so using it is an error."""

    kind = "xpu"


class IPUPlace(Place):
    """A Graphcore IPU; no engine for it is known, so using it is an error."""

    kind = "ipu"


class CustomPlace(Place):
    """A device of a plug-in backend by type and number."""

    def __init__(self, device_type: str, device_id: int = 0):
        super().__init__(device_id)
        self.kind = device_type


_CLASSES: dict[str, Callable[[int], Place]] = {
    "cpu": lambda n: CPUPlace(),
    "gpu": CUDAPlace,
    "tpu": TPUPlace,
    "xpu": XPUPlace,
}


def make_place(kind: str, number: int = 0) -> Place:
    return _CLASSES[kind](number) if kind in _CLASSES else CustomPlace(kind, number)


def backend_devices(kind: str) -> list[jax.Device]:
    """The JAX devices of a kind in this process, an empty list where there are none."""
    if kind not in _BACKENDS:
        return []
    try:
        return jax.local_devices(backend=_BACKENDS[kind])
    except RuntimeError:
        return []


def find_device(kind: str, number: int) -> jax.Device:
    devices = backend_devices(kind)
    if not devices:
        have = ", ".join(k for k in _BACKENDS if backend_devices(k))
        raise errors.Unavailable(
            f"device {kind}:{number}: this machine has no {kind} that the engine can reach (present: {have})"
        )
    if not 0 <= number < len(devices):
        raise errors.Unavailable(f"device {kind}:{number}: there are {len(devices)} {kind} devices, numbered from 0")
    return devices[number]


def parse_place(device: Any, argument: str = "device") -> Place:
    """A Place from "cpu", "gpu", "gpu:1", "cuda:1", a Place or a JAX device. ValueError for another word."""
    if isinstance(device, Place):
        return device
    if isinstance(device, jax.Device):
        return place_of(device)
    match = re.fullmatch(r"([a-z_]+?)(?::(\d+))?", device.strip().lower()) if isinstance(device, str) else None
    kind, number = match.groups() if match else ("", None)
    kind = {"cuda": "gpu", "dcu": "gpu"}.get(kind, kind)
    if kind == "gpu_pinned":
        return CUDAPinnedPlace()
    if kind not in _KNOWN:
        raise errors.ValueError_(
            f"{argument} must be a name like 'cpu', 'gpu', 'gpu:0', 'tpu:0' or a Place; got {device!r}"
        )
    return make_place(kind, int(number or 0))


_elsewhere: list[bool] = []


@contextlib.contextmanager
def for_other_devices() -> Iterator[None]:
    """Programs that are built inside are for devices that are not here: what these can hold is no limit."""
    _elsewhere.append(True)
    try:
        yield
    finally:
        _elsewhere.pop()


def elsewhere() -> bool:
    """Whether a program for other devices is being built."""
    return bool(_elsewhere)


def memory_limit() -> int:
    """Bytes that all devices together can hold."""
    return 1 << 62 if _elsewhere else _memory_here()


@functools.cache
def _memory_here() -> int:
    device = jax.local_devices()[0]
    stats = None if device.platform == "cpu" else device.memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] * jax.device_count()
    if hasattr(os, "sysconf") and device.platform == "cpu":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * jax.process_count()
    return 1 << 50


def put(arrays: Any, device: jax.Device | None = None) -> Any:
    """Arrays (a tree of them) on a device. On the current device they stay free to move ("uncommitted" in JAX's words):
    executables distinguish the two, and would be compiled once for each."""
    if Watch.forked:
        return jax.tree.map(lambda a: np.asarray(a).view(HostArray), arrays)
    if device is not None and device == current_place().device():
        device = None
    return jax.device_put(arrays, device)


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialised array in memory that the CPU device takes as it is, without a copy."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


class HostArray(np.ndarray):
    """What stands for an array of a device in a forked process. Nothing of XLA may be called there, not even to make an
    array: a thread that does not exist in this process can have held one of XLA's locks when the process forked."""

    weak_type = committed = False
    is_fully_addressable = is_fully_replicated = True

    def block_until_ready(self) -> HostArray:
        return self

    def devices(self) -> set[jax.Device]:
        return {jax.local_devices(backend="cpu")[0]}


_places: dict[jax.Device, Place] = {}


def place_of(device: jax.Device) -> Place:
    """The Place of a JAX device (the same object each time)."""
    place = _places.get(device)
    if place is None:
        kind = {"cuda": "gpu", "rocm": "gpu"}.get(device.platform, device.platform)
        number = next((i for i, d in enumerate(backend_devices(kind)) if d == device), device.id)
        place = _places[device] = make_place(kind, number)
    return place


_current: Place | None = None


def set_device(device: Any) -> Place:
    """Choose the device where new tensors are made and operators without tensor inputs run.

    Args:
        device: "cpu", "gpu", "gpu:N", "tpu:N", or a Place.

    Returns:
        The Place.

    Raises:
        ValueError: not the name of a device.
        RuntimeError: this machine has no such device (the message names it).

    Example:
        >>> paddle.set_device("cpu")
        Place(cpu)
    """
    global _current
    place = parse_place(device)
    jax.config.update("jax_default_device", place.device())
    _current = place
    return place


def whole(array: Any) -> Any:
    """An array whose parts lie in several processes, with all of it in each. All of them have to call this."""
    if array.is_fully_addressable or array.is_fully_replicated:
        return array
    everywhere = jax.sharding.NamedSharding(array.sharding.mesh, jax.sharding.PartitionSpec())
    return _move(everywhere)(array)


def spread(array: Any, sharding: jax.sharding.NamedSharding) -> Any:
    """An array with a sharding. Of one that only this process has, every process gives the same."""
    if array.sharding == sharding:
        return array
    if not array.is_fully_addressable:
        return _move(sharding)(array)
    if sharding.is_fully_addressable:
        return jax.device_put(array, sharding)
    value = np.asarray(array)
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index], dtype=value.dtype)


@functools.cache
def _move(sharding: jax.sharding.NamedSharding) -> Callable:
    return jax.jit(lambda a: a, out_shardings=sharding)


def forget() -> None:
    """Drop what is known of the devices: JAX starts again with others."""
    global _current
    _current = None
    _places.clear()
    _memory_here.cache_clear()


def current_place() -> Place:
    """The Place where new tensors are made."""
    global _current
    if _current is None:
        _current = place_of(jax.local_devices()[0])
    return _current


def get_device() -> str:
    """The name of the current device: "cpu", "gpu:0", "tpu:0".

    Example:
        >>> paddle.get_device() in ("cpu", "gpu:0", "tpu:0")
        True
    """
    return current_place().name
