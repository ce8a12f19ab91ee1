"""From indices, or from a stream, to batches on the host. Works alike in the process of the loader and in workers."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .collate import Rows, default_collate_fn
from .dataset import TensorDataset
from .host import read

_PLAIN = (int, float, complex, str, bytes, np.ndarray, np.generic, type(None), types.ModuleType)


class Fetch:
    """What makes the batches of a loader: dataset, collate function, and whether there are batches at all."""

    def __init__(
        self, dataset: Any, collate: Callable, batched: bool = True, batch_size: int | None = 1, drop_last: bool = False
    ):
        self.dataset, self.collate, self.batched = dataset, collate, batched
        self.batch_size, self.drop_last = batch_size, drop_last
        self.together = batched and isinstance(dataset, TensorDataset) and collate is default_collate_fn

    def batch(self, indices: Sequence, check: Callable[[], None] = lambda: None) -> Any:
        """The batch of the samples at the indices; `check` runs before each sample."""
        if not self.batched:
            return self.collate(self.dataset[indices[0]])
        found = self.dataset._batch(indices) if self.together else None
        if found is None:
            samples = []
            place = self._place(len(indices))
            for i in indices:
                check()
                samples.append(place(self.dataset[i]))
            found = self.collate(samples)
        return found

    def stream(self, check: Callable[[], None] = lambda: None) -> Iterator:
        """The batches of a stream."""
        samples = iter(self.dataset)
        if not self.batched:
            yield from map(self.collate, samples)
            return
        checked = (check() or sample for sample in samples)
        while batch := list(map(self._place(self.batch_size), itertools.islice(checked, self.batch_size))):
            if len(batch) == self.batch_size or not self.drop_last:
                made = [self.collate(batch)]
                batch.clear()
                yield made.pop()  # and hold nothing of it

    def _place(self, number: int | None) -> Callable:
        """What is done to each of so many samples before they are collated."""
        return Rows(number).add if self.collate is default_collate_fn and number is not None else lambda sample: sample

    def bring_to_host(self) -> None:
        """Let every tensor in the dataset keep a copy on the host: a forked process has no way to the device."""
        seen: set[int] = set()
        left = [self.dataset, self.collate]
        while left:
            value = left.pop()
            if isinstance(value, _PLAIN) or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Tensor):
                read(value)
            elif isinstance(value, dict):
                left.extend(value.values())
            elif isinstance(value, (list, tuple)):
                if value and not isinstance(value[0], _PLAIN):
                    left.extend(value)
            elif isinstance(value, types.FunctionType):
                left.extend(cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType())
                left.extend(value.__globals__[name] for name in value.__code__.co_names if name in value.__globals__)
            elif isinstance(value, types.MethodType):
                left.extend([value.__self__, value.__func__])
            elif not isinstance(value, type) and hasattr(value, "__dict__"):
                left.extend(vars(value).values())
