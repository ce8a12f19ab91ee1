"""Readers: functions without arguments that give an iterator of samples, and functions that change them."""

from __future__ import annotations

import itertools
import queue
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .engine import errors

__all__ = []

Reader = Callable[[], Iterable[Any]]


class ComposeNotAligned(ValueError):
    """Readers that were composed do not have the same number of samples."""


def cache(reader: Reader) -> Reader:
    """A reader that keeps all samples of the first pass in memory.

    Example:
        >>> list(paddle.reader.cache(lambda: range(3))())
        [0, 1, 2]
    """
    samples = tuple(reader())
    return lambda: iter(samples)


def map_readers(func: Callable, *readers: Reader) -> Reader:
    """A reader of ``func(a, b, ...)`` of the samples of several readers.

    Example:
        >>> list(paddle.reader.map_readers(lambda a, b: a + b, lambda: range(3), lambda: range(3))())
        [0, 2, 4]
    """
    return lambda: map(func, *[r() for r in readers])


def shuffle(reader: Reader, buf_size: int) -> Reader:
    """A reader of the samples in random order, drawn from groups of `buf_size`."""

    def shuffled() -> Iterator[Any]:
        samples = iter(reader())
        while group := list(itertools.islice(samples, buf_size)):
            random.shuffle(group)
            yield from group

    return shuffled


def chain(*readers: Reader) -> Reader:
    """A reader of the samples of one reader after the other."""
    return lambda: itertools.chain(*[r() for r in readers])


def compose(*readers: Reader, **kwargs: Any) -> Reader:
    """A reader of tuples, one with the samples of all readers; samples that are tuples are joined.

    Args:
        check_alignment: raise ComposeNotAligned when the readers are not equally long (default True).
    """
    check = kwargs.pop("check_alignment", True)
    if kwargs:
        raise errors.TypeError_(f"compose: there is no option {next(iter(kwargs))!r}")
    absent = object()

    def composed() -> Iterator[tuple]:
        streams = [r() for r in readers]
        for samples in itertools.zip_longest(*streams, fillvalue=absent) if check else zip(*streams):
            if any(s is absent for s in samples):
                raise ComposeNotAligned("compose: the readers do not have the same number of samples")
            yield tuple(part for s in samples for part in (s if isinstance(s, tuple) else (s,)))

    return composed


def buffered(reader: Reader, size: int) -> Reader:
    """A reader whose samples are read ahead, up to `size` of them, in a thread."""
    return lambda: _read_ahead(reader, size, lambda sample: sample, 1, True)


def firstn(reader: Reader, n: int) -> Reader:
    """A reader of the first n samples."""
    return lambda: itertools.islice(reader(), n)


def xmap_readers(mapper: Callable, reader: Reader, process_num: int, buffer_size: int, order: bool = False) -> Reader:
    """A reader of ``mapper(sample)``, computed in `process_num` threads; in the order of the samples when `order`."""
    return lambda: _read_ahead(reader, buffer_size, mapper, process_num, order)


def multiprocess_reader(readers: Iterable[Reader], use_pipe: bool = True, queue_size: int = 1000) -> Reader:
    """A reader of the samples of several readers, which run at the same time, in threads."""
    several = list(readers)

    def read() -> Iterator[Any]:
        streams = [_read_ahead(r, queue_size, lambda sample: sample, 1, True) for r in several]
        while streams:
            for stream in list(streams):
                try:
                    yield next(stream)
                except StopIteration:
                    streams.remove(stream)

    return read


def _read_ahead(reader: Reader, size: int, mapper: Callable, threads: int, order: bool) -> Iterator[Any]:
    """Samples through `mapper` in threads; an error in one of them is raised here."""
    ready: queue.Queue = queue.Queue(max(1, size))
    samples, lock = enumerate(reader()), threading.Lock()
    end = object()
    stopped = threading.Event()

    def put(item: tuple) -> None:
        while not stopped.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    def work() -> None:
        try:
            while not stopped.is_set():
                with lock:
                    item = next(samples, None)
                if item is None:
                    break
                put((item[0], mapper(item[1]), None))
        except BaseException as e:
            put((-1, None, e))
        put((-1, end, None))

    for _ in range(threads):
        threading.Thread(target=work, daemon=True).start()
    waiting: dict[int, Any] = {}
    expected, left = 0, threads
    try:
        while left:
            number, value, error = ready.get()
            if error is not None:
                raise error
            if value is end:
                left -= 1
            elif not order:
                yield value
            else:
                waiting[number] = value
                while expected in waiting:
                    yield waiting.pop(expected)
                    expected += 1
    finally:
        stopped.set()
