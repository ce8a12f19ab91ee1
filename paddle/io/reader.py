"""DataLoader: batches of tensors from a dataset."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..engine import errors
from ..engine import place as places
from .collate import default_collate_fn, default_convert_fn, to_tensors
from .dataset import IterableDataset, NoLength, TensorDataset
from .sampler import BatchSampler

__all__ = ["DataLoader", "get_worker_info"]


class WorkerInfo:
    """What a worker knows of itself: `id`, `num_workers`, `dataset` and `seed`."""

    def __init__(self, id: int, num_workers: int, dataset: Any, seed: int = 0):
        self.id, self.num_workers, self.dataset, self.seed = id, num_workers, dataset, seed

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers})"


_current = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader (in its dataset or `worker_init_fn`): which one it is; elsewhere None."""
    return getattr(_current, "info", None)


class DataLoader:
    """Iterates over the batches of a dataset, as tensors on the current device.

    Workers: ``num_workers > 0`` runs the workers in this process for now, one after the other. Batches, their order,
    `get_worker_info()` and `worker_init_fn` are those of worker processes, which follow without a change of the API.

    Args:
        dataset: a Dataset, anything with `__getitem__` and `__len__`, or an IterableDataset.
        feed_list, use_shared_memory, persistent_workers, timeout: accepted; they concern static programs and processes.
        places: the device of the tensors (the first one, when it is a list); default the current device.
        return_list: accepted; a batch has the structure of a sample, with lists for tuples.
        batch_sampler: yields lists of indices; then `batch_size`, `shuffle`, `drop_last` and `sampler` stay unset.
        batch_size: samples a batch; None gives single samples, without a batch dimension.
        shuffle: random order in every epoch, drawn from NumPy's global generator.
        drop_last: leave out the last batch when it is not full.
        collate_fn: makes a batch of a list of samples; arrays in its result become tensors.
        num_workers: see above.
        use_buffer_reader: move the next batch to the device while the present one is used, where that is another device
            than the CPU.
        prefetch_factor: batches that a worker prepares in advance.
        worker_init_fn: called with its number when a worker starts.
        sampler: the order of the samples (not in the official signature).

    Raises:
        ValueError: arguments out of range or that exclude each other.

    Example:
        >>> loader = paddle.io.DataLoader([[1.0, 0], [2.0, 1], [3.0, 0]], batch_size=2)
        >>> for x, y in loader(): print(x.tolist(), y.tolist())
        [1.0, 2.0] [0, 1]
        [3.0] [0]
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Callable | None = None,
        persistent_workers: bool = False,
        *,
        sampler: Any = None,
    ):
        stream = isinstance(dataset, IterableDataset)
        for name, value, low in (
            ("num_workers", num_workers, 0),
            ("timeout", timeout, 0),
            ("prefetch_factor", prefetch_factor, 1),
        ):
            if not isinstance(value, (int, float)) or value < low:
                raise errors.ValueError_(f"DataLoader: {name} must be at least {low}, got {value!r}")
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last or sampler is not None):
            raise errors.ValueError_("DataLoader: batch_sampler excludes batch_size, shuffle, drop_last and sampler")
        if batch_size is not None and (
            isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1
        ):
            raise errors.ValueError_(f"DataLoader: batch_size must be None or a positive integer, got {batch_size!r}")
        if stream and (shuffle or batch_sampler is not None or sampler is not None):
            raise errors.ValueError_(
                "DataLoader: an IterableDataset has its own order; shuffle, sampler and batch_sampler are not possible"
            )
        self.dataset = dataset
        self.feed_list = feed_list
        self.places = places
        self.return_list = return_list
        self.batch_size = None if batch_sampler is not None else batch_size
        self.drop_last = drop_last
        self.auto_collate_batch = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate_fn if self.auto_collate_batch else default_convert_fn)
        self.num_workers = num_workers
        self.use_buffer_reader, self.reader_buffer_size = use_buffer_reader, reader_buffer_size
        self.prefetch_factor = prefetch_factor
        self.use_shared_memory, self.timeout, self.persistent_workers = use_shared_memory, timeout, persistent_workers
        self.worker_init_fn = worker_init_fn
        self.batch_sampler: Any = None
        if not stream:
            if batch_sampler is not None:
                self.batch_sampler = batch_sampler
            elif sampler is not None:
                if shuffle:
                    raise errors.ValueError_("DataLoader: sampler excludes shuffle")
                self.batch_sampler = BatchSampler(sampler=sampler, batch_size=batch_size or 1, drop_last=drop_last)
            else:
                self.batch_sampler = BatchSampler(
                    dataset, shuffle=shuffle, batch_size=batch_size or 1, drop_last=drop_last and batch_size is not None
                )

    def __len__(self) -> int:
        if self.batch_sampler is None:
            raise NoLength("(PreconditionNotMet) DataLoader: a stream (IterableDataset) has no number of batches")
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator:
        """The batches of one epoch."""
        device = (
            None
            if self.places is None
            else places.parse_place(self.places[0] if isinstance(self.places, (list, tuple)) else self.places).device()
        )
        batches = self._stream_batches() if self.batch_sampler is None else self._indexed_batches()
        fresh = self.collate_fn is default_collate_fn
        tensors = (to_tensors(batch, device, copy=not fresh) for batch in batches)
        on_cpu = device.platform == "cpu" if device is not None else places.current_place().is_cpu_place()
        return tensors if on_cpu or not self.use_buffer_reader else _one_ahead(tensors)

    def __call__(self) -> Iterator:
        return self.__iter__()

    # ---- host batches ----
    def _indexed_batches(self) -> Iterator:
        dataset, collate, single = self.dataset, self.collate_fn, not self.auto_collate_batch
        together = isinstance(dataset, TensorDataset) and collate is default_collate_fn
        workers = [self._worker(i) for i in range(self.num_workers)]
        for turn, indices in enumerate(self.batch_sampler):
            with workers[turn % len(workers)] if workers else _nobody:
                if single:
                    batch = collate(dataset[indices[0]])
                else:
                    batch = dataset._batch(indices) if together else None
                    if batch is None:
                        batch = collate([dataset[i] for i in indices])
            yield batch

    def _stream_batches(self) -> Iterator:
        if not self.num_workers:
            yield from self._share(self.dataset)
            return
        turns = []
        for worker in [self._worker(i) for i in range(self.num_workers)]:
            with worker:
                turns.append((worker, self._share(self.dataset)))
        while turns:
            for turn in list(turns):
                worker, share = turn
                with worker:
                    batch = next(share, _END)
                if batch is _END:
                    turns.remove(turn)
                else:
                    yield batch

    def _share(self, stream: Any) -> Iterator:
        samples = iter(stream)
        if not self.auto_collate_batch:
            yield from map(self.collate_fn, samples)
            return
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def _worker(self, number: int) -> _Worker:
        worker = _Worker(WorkerInfo(number, self.num_workers, self.dataset, number))
        if self.worker_init_fn is not None:
            with worker:
                self.worker_init_fn(number)
        return worker


class _Worker:
    """While entered, `get_worker_info()` is this worker's."""

    def __init__(self, info: WorkerInfo | None):
        self.info = info

    def __enter__(self) -> None:
        if self.info is not None:
            _current.info = self.info

    def __exit__(self, *exc: Any) -> None:
        if self.info is not None:
            _current.info = None


_nobody = _Worker(None)
_END = object()


def _one_ahead(batches: Iterator) -> Iterator:
    """The same batches, each one requested before the one in front of it is handed out."""
    waiting = next(batches, _END)
    while waiting is not _END:
        following = next(batches, _END)
        yield waiting
        waiting = following
