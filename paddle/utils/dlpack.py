"""Exchange of tensors with other libraries by DLPack, without a copy where the device allows it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.tensor import Tensor, _make

__all__ = ["from_dlpack", "to_dlpack"]


@errors.clean
def to_dlpack(x: Tensor) -> Any:
    """The memory of a tensor as a DLPack capsule. TypeError for anything else.

    Example:
        >>> capsule = paddle.utils.dlpack.to_dlpack(paddle.ones([2]))
    """
    if not isinstance(x, Tensor):
        raise errors.TypeError_(f"to_dlpack: x must be a Tensor, got {type(x).__name__}")
    return x.__dlpack__()


class _Capsule:
    """A bare capsule of CPU memory, dressed as an object that JAX can read."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@errors.clean
def from_dlpack(dlpack: Any, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an object with `__dlpack__` (or of a capsule in CPU memory).

    Args:
        dlpack: an array of another library, or a capsule.
        device: where the tensor shall lie, default where the memory lies.
        copy: True copies in any case.

    Example:
        >>> import numpy as np
        >>> paddle.utils.dlpack.from_dlpack(np.ones(2, "float32")).tolist()
        [1.0, 1.0]
    """
    if type(dlpack).__name__ == "PyCapsule":
        dlpack = _Capsule(dlpack)
    if not hasattr(dlpack, "__dlpack__"):
        raise errors.TypeError_(
            f"from_dlpack: expected an object with __dlpack__ or a capsule, got {type(dlpack).__name__}"
        )
    value = jnp.from_dlpack(dlpack)
    if copy:
        value = jnp.array(value, copy=True)
    if device is not None:
        from ..engine.place import parse_place

        value = jax.device_put(value, parse_place(device).device())
    return _make(value)
