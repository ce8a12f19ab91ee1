"""Lists of devices, and the device of the operators that are added."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from ..engine import errors
from ..engine.place import CPUPlace, CUDAPlace, XPUPlace

__all__ = ["cpu_places", "cuda_places", "device_guard", "xpu_places"]


def cpu_places(device_count: int | None = None) -> list[Any]:
    """One place for each of `device_count` CPUs, by default as many as the variable CPU_NUM says, or one.

    Example:
        >>> len(paddle.static.cpu_places(2))
        2
    """
    count = int(os.environ.get("CPU_NUM", 1)) if device_count is None else device_count
    return [CPUPlace() for _ in range(count)]


def cuda_places(device_ids: Any = None) -> list[Any]:
    """The places of GPUs: those with the numbers `device_ids`, by default all.

    Raises RuntimeError when there is no GPU.
    """
    from ..device.cuda import device_count

    count = device_count()
    if not count:
        raise errors.Unavailable("cuda_places: there is no GPU")
    ids = range(count) if device_ids is None else [device_ids] if isinstance(device_ids, int) else device_ids
    return [CUDAPlace(i) for i in ids]


def xpu_places(device_ids: Any = None) -> list[Any]:
    """The places of XPUs. Raises RuntimeError: there are none."""
    if device_ids is None:
        raise errors.Unavailable("xpu_places: there is no XPU")
    return [XPUPlace(i) for i in ([device_ids] if isinstance(device_ids, int) else device_ids)]


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Officially: the device of the operators that are added inside. A program runs on one device here, the executor's;
    the name is checked and has no effect.

    Raises ValueError for another device than "cpu", "gpu:x", "xpu:x" or None.

    Example:
        >>> with paddle.static.device_guard("cpu"):
        ...     pass
    """
    if device is not None:
        kind, _, number = str(device).partition(":")
        if (
            kind not in ("cpu", "gpu", "xpu", "npu", "")
            or kind == "cpu"
            and number
            or number
            and number != "all"
            and not (number.isdigit())
        ):
            raise errors.ValueError_(f"device_guard: device must be 'cpu', 'gpu:x', 'xpu:x' or None, got {device!r}")
    yield
