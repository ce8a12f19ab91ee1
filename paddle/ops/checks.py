"""Looking at values before an operator runs, where that is cheap: eagerly and on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..engine import errors
from ..engine.deferred import Deferred
from ..engine.place import HostArray
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT


def host_value(x: Tensor) -> np.ndarray | None:
    """The elements of a tensor; None when there are none, or looking is impossible (compiled, parts in other processes) or
    slow (not the CPU)."""
    value = x._raw
    if value.__class__ is Deferred:
        value = value.peek()
    looked_at = isinstance(value, (jax.Array, HostArray)) and not isinstance(value, ABSTRACT)
    if not looked_at or not value.size or not x.place.is_cpu_place():
        return None
    return np.asarray(value) if value.is_fully_addressable else None


def satisfies(x: Any, condition: Callable) -> bool:
    """Whether the elements of an operand satisfy a condition; True where looking is impossible or slow."""
    if isinstance(x, Tensor):
        x = host_value(x)
    return x is None or bool(np.all(condition(x)))


def check_ids(
    name: str, ids: Tensor, n: int, argument: str = "index", but: int | None = None, error: Any = errors.IndexError_
) -> None:
    """An error for a label or row number outside [0, n), `but` excepted, which XLA would silently clamp."""
    array = host_value(ids)
    if array is not None and but is not None:
        array = array[array != but]
    if array is None or not array.size:
        return
    low, high = array.min(), array.max()
    if low < 0 or high >= n:
        raise error(f"{name}: {argument} {low if low < 0 else high} is out of range, the size is {n}")
