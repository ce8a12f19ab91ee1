"""DataLoader: batches of tensors from a dataset."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..engine import errors
from ..engine import place as places
from .blocks import Arrivals
from .collate import default_collate_fn, default_convert_fn, to_tensors
from .dataset import IterableDataset, NoLength
from .fetch import Fetch
from .pool import Pool, context_of
from .sampler import BatchSampler
from .worker import get_worker_info

__all__ = ["DataLoader", "get_worker_info"]


class DataLoader:
    """Iterates over the batches of a dataset, as tensors on the current device.

    Worker processes (``num_workers > 0``) make the batches, in the same order as one process would, and pass them through
    shared memory. Where the system can fork they are forked, so that datasets and functions need not be importable. A
    process that was forked from one that has computed has no operators (XLA's threads do not come along): there, datasets
    work with NumPy arrays; tensors can be made, read, and indexed with numbers and slices. With the start methods "spawn"
    and "forkserver" operators work, on the CPU. Exceptions of a worker are raised here, with its traceback as cause.

    Args:
        dataset: a Dataset, anything with `__getitem__` and `__len__`, or an IterableDataset.
        feed_list: accepted; it concerns static programs.
        places: the device of the tensors (the first one, when it is a list); default the current device.
        return_list: accepted; a batch has the structure of a sample, with lists for tuples.
        batch_sampler: yields lists of indices; then `batch_size`, `shuffle`, `drop_last` and `sampler` stay unset.
        batch_size: samples a batch; None gives single samples, without a batch dimension.
        shuffle: random order in every epoch, drawn from NumPy's global generator.
        drop_last: leave out the last batch when it is not full.
        collate_fn: makes a batch of a list of samples; arrays in its result become tensors.
        num_workers: how many processes; 0 makes the batches in this one.
        use_buffer_reader: move the next batch to the device while the present one is used, where that is another device
            than the CPU.
        prefetch_factor: batches that each worker prepares in advance.
        use_shared_memory: False sends batches through the connection instead, which is also done where memory is short.
        timeout: seconds to wait for a batch from a worker; 0 for no limit.
        worker_init_fn: called with its number when a worker starts. Python's, NumPy's and the framework's random numbers
            are seeded before, differently in each worker and epoch, from the seeds of this process.
        persistent_workers: the workers stay for the next epoch.
        sampler: the order of the samples (not in the official signature).
        multiprocessing_context: "fork", "spawn", "forkserver" or a context of `multiprocessing` (not in the official
            signature); default what `multiprocessing.set_start_method` has set, else "fork" where the system has it.

    Raises:
        ValueError: arguments out of range or that exclude each other.
        RuntimeError: while iterating, a worker was killed, or `timeout` has passed.
        TypeError: something that cannot be pickled, for start methods other than "fork".

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
        multiprocessing_context: Any = None,
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
        self.multiprocessing_context = multiprocessing_context
        if multiprocessing_context is not None:
            context_of(multiprocessing_context)
        self._pool: Pool | None = None  # of persistent workers
        self._memory: list[Arrivals] = []  # of workers that are gone
        self._epochs = 0
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
        fresh = self.num_workers or self.collate_fn is default_collate_fn
        tensors = _tensors(self._host_batches(), device, copy=not fresh)
        on_cpu = device.platform == "cpu" if device is not None else places.current_place().is_cpu_place()
        return tensors if on_cpu or not self.use_buffer_reader else _one_ahead(tensors)

    def __call__(self) -> Iterator:
        return self.__iter__()

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_pool": None, "_memory": []}

    def _host_batches(self) -> Iterator:
        fetch = Fetch(self.dataset, self.collate_fn, self.auto_collate_batch, self.batch_size, self.drop_last)
        if self.num_workers:
            self._epochs += 1
            return self._workers(fetch).run(self.batch_sampler, self._epochs, keep=self.persistent_workers)
        return fetch.stream() if self.batch_sampler is None else map(fetch.batch, self.batch_sampler)

    def _workers(self, fetch: Fetch) -> Pool:
        if self._pool is not None and self._pool.alive:
            return self._pool
        if get_worker_info() is not None:
            raise errors.RuntimeError_(
                "DataLoader: a worker of a DataLoader cannot have workers; use num_workers=0 there"
            )
        pool = Pool(
            fetch,
            self.num_workers,
            self.worker_init_fn,
            context_of(self.multiprocessing_context),
            self.use_shared_memory,
            self.prefetch_factor,
            self.timeout,
            self._memory,
        )
        self._pool = pool if self.persistent_workers else None
        return pool


_END = object()


def _tensors(batches: Iterator, device: Any, copy: bool) -> Iterator:
    yield from map(functools.partial(to_tensors, device=device, copy=copy), batches)  # and hold none of them


def _one_ahead(batches: Iterator) -> Iterator:
    """The same batches, each one requested before the one in front of it is handed out."""
    waiting = next(batches, _END)
    while waiting is not _END:
        following = next(batches, _END)
        yield waiting
        waiting = following
