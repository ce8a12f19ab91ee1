"""Loaders whose data a generator makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.modes import modes
from ..engine.tensor import Tensor
from ..ops.creation import to_tensor

__all__ = ["GeneratorLoader"]


class GeneratorLoader:
    """Batches from a generator, as dicts to feed or, with `return_list` or in imperative mode, as lists of tensors.

    Args:
        feed_list: the inputs that the batches are for, in order.
        iterable: a loader is iterated over; others are started and read by the program, which is not available.
        return_list: lists instead of dicts.

    Example:
        >>> loader = paddle.fluid.io.DataLoader.from_generator(capacity=2)
        >>> _ = loader.set_batch_generator(lambda: iter([[[1.0, 2.0]]]))
        >>> [batch[0].tolist() for batch in loader]
        [[1.0, 2.0]]
    """

    def __init__(self, feed_list: Any = None, iterable: bool = True, return_list: bool = False):
        if not iterable:
            raise errors.NotImplemented_("DataLoader.from_generator: iterable=False; iterate over the loader and feed")
        self._feed_list = list(feed_list or [])
        self._return_list = return_list
        self._batches: Callable[[], Iterator[Any]] | None = None

    def set_sample_generator(
        self, reader: Callable, batch_size: int, drop_last: bool = True, places: Any = None
    ) -> GeneratorLoader:
        """`reader` gives single samples, tuples of arrays."""
        from ..framework.reader import batch

        return self.set_sample_list_generator(batch(reader, batch_size, drop_last), places)

    def set_sample_list_generator(self, reader: Callable, places: Any = None) -> GeneratorLoader:
        """`reader` gives lists of samples."""

        def batches() -> Iterator[list]:
            for samples in reader():
                rows = [s if isinstance(s, (tuple, list)) else (s,) for s in samples]
                yield [self._column(i, column) for i, column in enumerate(zip(*rows))]

        self._batches = batches
        return self

    def set_batch_generator(self, reader: Callable, places: Any = None) -> GeneratorLoader:
        """`reader` gives batches, lists of arrays."""
        self._batches = lambda: iter(reader())
        return self

    def _column(self, number: int, values: tuple) -> np.ndarray:
        array = np.stack([np.asarray(v) for v in values])
        if number < len(self._feed_list):
            variable = self._feed_list[number]
            array = array.astype(to_dtype(variable.dtype).numpy)
            wanted = [len(values), *[int(n) for n in list(variable.shape)[1:]]]
            if array.ndim != len(wanted):
                array = array.reshape(wanted)
        return array

    def __call__(self) -> GeneratorLoader:
        return self

    def __iter__(self) -> Iterator[Any]:
        if self._batches is None:
            raise errors.RuntimeError_("the loader has no generator; call set_batch_generator or one of its siblings")
        for batch in self._batches():
            if isinstance(batch, dict):
                yield batch
                continue
            arrays = list(batch) if isinstance(batch, (list, tuple)) else [batch]
            if modes.program is None and (self._return_list or not self._feed_list):
                yield [a if isinstance(a, Tensor) else to_tensor(np.asarray(a)) for a in arrays]
            elif self._return_list or not self._feed_list:
                yield arrays
            else:
                yield {v.name: a for v, a in zip(self._feed_list, arrays)}

    def start(self) -> None:
        """Not available: iterate over the loader."""
        raise errors.NotImplemented_("start: loaders that the program reads; iterate over the loader and feed")

    reset = start
