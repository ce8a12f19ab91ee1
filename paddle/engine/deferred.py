"""Deferred: what stands in a slot for the result of a call that waits to run together with others (see `capture`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Deferred:
    """An array that is not computed yet, or not looked at since. Its shape and type are known; who needs the elements asks
    `force()`, which runs all calls that wait. Anything else that is asked of it is asked of the array.

    `segment` is the run of calls that it belongs to and `position` its number among the results there; `array` is None
    until they ran.
    """

    __slots__ = ("shape", "dtype", "segment", "position", "array", "__weakref__")
    weak_type = False

    def __init__(self, shape: tuple, dtype: Any, segment: Any, position: int, array: Any = None):
        self.shape = shape
        self.dtype = dtype
        self.segment = segment
        self.position = position
        self.array = array

    def force(self) -> Any:
        """The array. The run of calls that it belongs to ends here."""
        segment = self.segment  # another thread may be here too
        if segment is not None:
            segment.run()
            self.segment = None
        return self.array

    def peek(self) -> Any:
        """The array, for who only looks at it: if that is cheap, without running everything else that waits."""
        array, segment = self.array, self.segment
        return array if array is not None else segment.capture.peek(self) if segment is not None else self.array

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return len(self.force())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.force(), dtype=dtype)

    def __jax_array__(self) -> Any:
        return self.force()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.force(), name)


def settled(array: Any) -> Any:
    """The array itself, computed where it was deferred."""
    return array.force() if array.__class__ is Deferred else array


def present(array: Any) -> Any:
    """The same without the end of a run of calls, where the array is there already."""
    return array if array.__class__ is not Deferred else array.force() if array.array is None else array.array
