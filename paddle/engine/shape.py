"""Shapes and strides, as the official package shows them."""

from __future__ import annotations

from typing import Any

from .storage import View
from .value import Dim, Held, Value


def fixed_int(number: Any) -> Any:
    """An int from what counts as one (a tensor of one element too); in a program, what becomes an int when it runs."""
    if isinstance(number, Dim):
        return number
    value = getattr(number, "_value", None)
    if isinstance(value, Value):
        return Held((number.reshape([]) if value.shape else number)._value)
    return number.__index__()


def fixed_ints(numbers: Any) -> tuple:
    """A tuple of such ints from a list or a tensor. TypeError or AttributeError for what holds no integers."""
    value = getattr(numbers, "_value", None)
    if isinstance(value, Value):
        numbers = [numbers[i] for i in range(value.shape[0])] if value.shape else [numbers]
    elif value is not None:
        numbers = numbers.tolist()
    if not hasattr(numbers, "__iter__"):
        numbers = (numbers,)
    return tuple([fixed_int(n) for n in numbers])


class Size(list):
    """The shape of a tensor: a list of ints that can also tell its number of elements. Sums with lists and tuples, slices
    and multiples are shapes again."""

    def __add__(self, value: Any) -> Size:  # type: ignore[override]
        return Size([*self, *value]) if isinstance(value, (list, tuple)) else NotImplemented

    def __radd__(self, value: Any) -> Size:
        return Size([*value, *self]) if isinstance(value, (list, tuple)) else NotImplemented

    def __mul__(self, value: Any) -> Size:  # type: ignore[override]
        return Size(list(self) * value)

    __rmul__ = __mul__

    def __getitem__(self, key: Any) -> Any:
        found = list.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __eq__(self, value: object) -> bool:
        return list(self) == list(value) if isinstance(value, tuple) else list.__eq__(self, value)

    def __ne__(self, value: object) -> bool:
        return not self == value

    __hash__ = None  # type: ignore[assignment]

    def numel(self) -> int:
        n = 1
        for d in self:
            n *= d
        return n


class CallableInt(int):
    """The number of elements, an int; called with an axis it is the length of that axis (both official spellings)."""

    _shape: tuple[int, ...] = ()

    def __call__(self, axis: int | None = None) -> Any:
        return Size(self._shape) if axis is None else self._shape[axis]

    def __reduce__(self):
        return int, (int(self),)


def row_major(shape: tuple[int, ...]) -> list[int]:
    strides, step = [], 1
    for d in reversed(shape):
        strides.append(step)
        step *= d
    return strides[::-1]


def official_strides(tensor: Any) -> list[int]:
    """Strides that the official package would report: those of the view, derived from the operator that made it."""
    storage = tensor._storage
    if isinstance(storage, View) and storage.op.view_strides is not None:
        found = storage.op.view_strides(official_strides(storage.source), tensor, storage.source, *storage.args)
        if found is not None:
            return list(found)
    return row_major(tensor._raw.shape)
