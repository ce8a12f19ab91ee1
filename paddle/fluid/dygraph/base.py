"""What `paddle.fluid.dygraph.base` offered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...engine.modes import no_grad
from ...ops.creation import to_tensor

__all__ = ["no_grad", "param_guard", "to_variable"]


@contextlib.contextmanager
def param_guard(parameters: Any) -> Iterator[None]:
    """Accepted for compatibility: parameters need no conversion for the time of a call."""
    yield


def to_variable(value: Any, name: str | None = None, zero_copy: Any = None, dtype: Any = None) -> Any:
    """A tensor from an array, the older spelling of `paddle.to_tensor`.

    Example:
        >>> paddle.fluid.dygraph.to_variable([1.0]).shape
        [1]
    """
    out = to_tensor(value, dtype)
    if name is not None:
        out.name = name
    return out
