"""Reading axes: negative ones count from the end, those out of range are errors that name the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine import errors


def axis_of(name: str, axis: Any, ndim: int, argument: str = "axis", error: Callable = errors.ValueError_) -> int:
    """One axis of a tensor of `ndim` dimensions as a number from 0; `error` when there is no such axis.

    A tensor without dimensions still has the axes 0 and -1, as officially.
    """
    try:
        index = axis.__index__()
    except (AttributeError, TypeError):
        raise errors.TypeError_(f"{name}: {argument} must be an int, got {errors.describe(axis)}") from None
    span = max(ndim, 1)
    if not -span <= index < span:
        raise error(
            f"{name}: {argument} {index} is out of range for a tensor of {ndim} dimensions, "
            f"allowed are {-span} to {span - 1}"
        )
    return index + span if index < 0 else index


def axes_of(name: str, axes: Any, ndim: int, argument: str = "axis", unique: bool = True) -> tuple[int, ...]:
    """Axes (an int or a list) as numbers from 0; ValueError for one out of range or (if `unique`) given twice."""
    found = tuple(axis_of(name, a, ndim, argument) for a in (axes if isinstance(axes, (list, tuple)) else (axes,)))
    if unique and len(set(found)) != len(found):
        raise errors.ValueError_(f"{name}: {argument} {list(axes)} names an axis twice")
    return found
