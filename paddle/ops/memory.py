"""What code asks of a tensor's memory: its address, its layout, its version, and functions applied to the values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.modes import no_grad
from ..engine.shape import official_strides
from ..engine.storage import View
from ..engine.tensor import Tensor
from .indexing import slice_get


def offset(x: Tensor) -> int:
    """Bytes from the start of the shared memory to the first element of a view."""
    elements, storage = 0, x._storage
    while isinstance(storage, View):
        if storage.op is slice_get.op:  # type: ignore[attr-defined]
            starts, (lengths, steps, *_) = storage.args
            firsts = [start - (n - 1) * step if step < 0 else start for start, n, step in zip(starts, lengths, steps)]
            elements += sum(int(first) * stride for first, stride in zip(firsts, official_strides(storage.source)))
        storage = storage.slot
    return elements * x.dtype.itemsize


def data_ptr(x: Tensor) -> int:
    """The address of the first element: equal for tensors that share memory. It holds until the next write, since a
    write puts a new array in place."""
    root = x._storage.root
    x._value  # a postponed value is computed
    return root.value.unsafe_buffer_pointer() + offset(x)


def get_device(x: Tensor) -> int:
    """The number of the accelerator, -1 for the CPU."""
    return -1 if x.place.is_cpu_place() else x.place.get_device_id()


def apply(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """`func` of the tensor.

    Raises:
        RuntimeError: the tensor wants a gradient.

    Example:
        >>> paddle.to_tensor([1.0, 2.0]).apply(lambda t: t * 2).tolist()
        [2.0, 4.0]
    """
    _plain(x, "apply")
    return func(x)


def apply_(x: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """In-place form of `apply`."""
    _plain(x, "apply_")
    return x._inplace(func)


def _plain(x: Tensor, name: str) -> None:
    if not x.stop_gradient:
        raise errors.RuntimeError_(f"{name}: a function cannot be applied to a tensor that wants a gradient")


@no_grad()
def reconstruct_from_(x: Tensor, other: Tensor) -> None:
    """Become another tensor: its memory, shape and type."""
    x._storage = other._storage


def _bump_inplace_version(x: Tensor) -> None:
    """Count an in-place operation that happened elsewhere."""
    x._storage.root.version += 1


def _md5sum(x: Tensor) -> str:
    """The MD5 sum of the bytes."""
    return hashlib.md5(np.ascontiguousarray(x._concrete("_md5sum")).tobytes()).hexdigest()


def _set_grad_ivar(x: Tensor, value: Any) -> None:
    x.grad = value


def _slice(x: Tensor, begin: int, end: int) -> Tensor:
    """Rows from `begin` to `end`, a view."""
    return x[begin:end]


for method in (
    data_ptr,
    get_device,
    apply,
    apply_,
    reconstruct_from_,
    _bump_inplace_version,
    _md5sum,
    _set_grad_ivar,
    _slice,
):
    setattr(Tensor, method.__name__, errors.clean(method))
Tensor.offset = property(errors.clean(offset))  # type: ignore[attr-defined]
Tensor.grad_ = property(lambda x: x.grad, lambda x, value: setattr(x, "grad", value))  # type: ignore[attr-defined]
Tensor._inplace_version = lambda x: x.inplace_version  # type: ignore[attr-defined]
Tensor._grad_ivar = lambda x: x.grad  # type: ignore[attr-defined]
Tensor._numel = lambda x: int(x.size)  # type: ignore[attr-defined]
Tensor._is_dense_tensor_hold_allocation = lambda x: True  # type: ignore[attr-defined]
