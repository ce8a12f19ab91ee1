"""Marks for functions and tensors that steer how they become programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine import errors
from ..engine.tensor import Tensor
from .options import not_to_static, unified

__all__ = ["capture_control_flow", "dynamic_dims", "force_dynamic", "not_to_static", "unified"]


def capture_control_flow(fn: Callable | None = None) -> Any:
    """A decorator for functions whose control flow shall be recorded; it always is, so nothing changes."""
    return capture_control_flow if fn is None else fn


def force_dynamic(fn: Callable | None = None) -> Any:
    """Leave a function, or a class of layers, as it is: the same as `not_to_static`."""
    return not_to_static(fn)


def dynamic_dims(tensor: Tensor, dims: Any) -> Tensor:
    """Say that lengths of a tensor will differ from call to call; a call with other lengths records a program of its own
    anyway, so nothing changes.

    Args:
        tensor: a tensor.
        dims: an axis or a list of axes.
    """
    for d in [dims] if isinstance(dims, int) else dims:
        if not -tensor.ndim <= d < tensor.ndim:
            raise errors.ValueError_(f"dynamic_dims: axis {d} of a tensor with {tensor.ndim} axes")
    return tensor
