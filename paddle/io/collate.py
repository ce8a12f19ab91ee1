"""From samples to a batch, and from a batch of arrays to tensors."""

from __future__ import annotations

import collections.abc
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.place import aligned_empty, put
from ..engine.tensor import Tensor, _make
from .host import host_array, host_tensor

_LARGE = 4096  # bytes of an array from which on a copy less is worth the care
empty: Callable[[tuple[int, ...], Any], np.ndarray] = aligned_empty  # in workers: memory that is shared


def default_collate_fn(batch: list) -> Any:
    """Stack samples: arrays and tensors get a new first dimension, numbers become an array, fields of tuples, lists and
    dicts are stacked each for itself, strings stay a list.

    Raises:
        ValueError: an empty batch, or arrays, tuples or dicts that differ in shape, length or keys.
        TypeError: a sample of another type.
    """
    if not batch:
        raise errors.ValueError_("default_collate_fn: the batch is empty")
    first = batch[0]
    if isinstance(first, _Row):
        if all(isinstance(row, _Row) and row.number == i for i, row in enumerate(batch)):
            return first.whole[: len(batch)]
        batch = [row.whole[row.number] if isinstance(row, _Row) else row for row in batch]
        first = batch[0]
    if isinstance(first, np.ndarray):
        return _stack(batch)
    if isinstance(first, Tensor):
        return host_tensor(_stack([_on_host(t) for t in batch]))
    if isinstance(first, (numbers.Number, np.generic)):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        if any(not isinstance(s, collections.abc.Mapping) or s.keys() != first.keys() for s in batch):
            raise errors.ValueError_(
                "default_collate_fn: the samples of a batch have different keys, or are not all dicts"
            )
        return {key: default_collate_fn([s[key] for s in batch]) for key in first}
    if isinstance(first, (list, tuple)):
        if any(len(s) != len(first) for s in batch):
            raise errors.ValueError_(
                "default_collate_fn: the samples of a batch have different numbers of fields: "
                f"{sorted({len(s) for s in batch})}"
            )
        return [default_collate_fn(list(fields)) for fields in zip(*batch)]
    raise errors.TypeError_(
        f"default_collate_fn: a sample holds a {type(first).__name__}; it can hold arrays, tensors, numbers, "
        "strings, and tuples, lists and dicts of them. Convert it in the dataset or pass collate_fn"
    )


class Rows:
    """Samples on their way into a batch of `default_collate_fn`: large arrays go at once to their place in the batch, while
    they are in the cache, and their memory serves the next sample.

    Args:
        number: of the samples, at most.
    """

    def __init__(self, number: int):
        self._number, self._next = number, 0
        self._wholes: dict[tuple, np.ndarray] = {}

    def add(self, sample: Any) -> Any:
        """The sample, with `_Row`s for the arrays that are in place."""
        placed = self._place(sample, ())
        self._next += 1
        return placed

    def _place(self, value: Any, path: tuple) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            return [self._place(v, (*path, i)) for i, v in enumerate(value)]
        if kind is dict:
            return {k: self._place(v, (*path, k)) for k, v in value.items()}
        if kind is not np.ndarray or value.nbytes < _LARGE or value.dtype.hasobject:
            return value
        whole = self._wholes.get(path)
        if whole is None:
            if self._next:
                return value
            whole = self._wholes[path] = empty((self._number, *value.shape), value.dtype)
        if value.shape != whole.shape[1:] or value.dtype != whole.dtype:
            return value
        whole[self._next] = value
        return _Row(whole, self._next)


class _Row:
    """An array that is in its place in a batch."""

    __slots__ = ("whole", "number")

    def __init__(self, whole: np.ndarray, number: int):
        self.whole, self.number = whole, number


def default_convert_fn(batch: Any) -> Any:
    """A sample as it is, with tuples as lists: what is used instead of stacking when there are no batches."""
    if isinstance(batch, collections.abc.Mapping):
        return {key: default_convert_fn(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [default_convert_fn(value) for value in batch]
    return batch


def _on_host(tensor: Any) -> Any:
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor)
    waiting = host_array(tensor)
    return tensor._concrete("default_collate_fn") if waiting is None else waiting


def _stack(arrays: list) -> np.ndarray:
    shape = arrays[0].shape
    if any(getattr(a, "shape", None) != shape for a in arrays):
        shapes = sorted({str(list(np.shape(a))) for a in arrays})
        raise errors.ValueError_(
            f"default_collate_fn: the arrays of a batch have different shapes: {', '.join(shapes[:4])}. "
            "Bring them to one shape in the dataset, or pass collate_fn"
        )
    if not shape:
        return np.array(arrays)
    dtype = arrays[0].dtype
    if arrays[0].nbytes < _LARGE or any(a.dtype != dtype for a in arrays):
        return np.concatenate(arrays).reshape(len(arrays), *shape)
    out = empty((len(arrays), *shape), dtype)  # the CPU device takes it without a copy
    return np.stack(arrays, out=out)


def to_tensors(batch: Any, device: Any, copy: bool) -> Any:
    """The batch with its arrays as tensors, moved to the device in one go; tuples become lists.

    `copy`: someone else may still write into the arrays (the CPU device can use their memory).
    """
    arrays: list[np.ndarray] = []
    plan = _plan(batch, arrays)
    if copy:
        arrays = [np.array(a) for a in arrays]
    return _fill(plan, iter(put(arrays, device)))


class _Slot:
    """Stands for an array that is on its way."""


_SLOT = _Slot()


def _plan(batch: Any, arrays: list) -> Any:
    if isinstance(batch, Tensor):
        waiting = host_array(batch)
        if waiting is None:
            return batch
        batch = waiting
    if isinstance(batch, np.ndarray):
        if batch.dtype not in dtypes._by_numpy:
            return batch
        arrays.append(batch)
        return _SLOT
    if isinstance(batch, (list, tuple)):
        return [_plan(b, arrays) for b in batch]
    if isinstance(batch, collections.abc.Mapping):
        return {k: _plan(b, arrays) for k, b in batch.items()}
    return batch


def _fill(plan: Any, arrays: Any) -> Any:
    if plan is _SLOT:
        return _make(next(arrays))
    if isinstance(plan, list):
        return [_fill(p, arrays) for p in plan]
    if isinstance(plan, dict):
        return {k: _fill(p, arrays) for k, p in plan.items()}
    return plan
