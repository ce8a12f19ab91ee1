"""Dynamic batching: requests that wait at the same time run together."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .model import ServedModel

log = logging.getLogger("paddle.serving")


class Full(Exception):
    """More requests wait than may. `retry_after`: seconds until there is probably room."""

    def __init__(self, retry_after: float):
        super().__init__(f"too many requests wait; try again in {retry_after:.1f} s")
        self.retry_after = retry_after


class Failed(Exception):
    """The model raised on these inputs alone."""


class _Item:
    __slots__ = ("arrays", "arrived", "future", "key", "rows", "started")

    def __init__(self, arrays: Sequence[np.ndarray], rows: int, key: tuple, future: asyncio.Future):
        self.arrays, self.rows, self.key, self.future = arrays, rows, key, future
        self.arrived, self.started = time.perf_counter(), 0.0


class Batcher:
    """Runs requests of one model, those that wait together in one run.

    A run begins when the model is idle and either `max_batch` rows wait, or the oldest request has waited for
    `max_delay_ms`. While a run goes on requests gather for the next one. A request with more rows than fit into one run
    is split; each number of rows is padded to one of the model's sizes.

    Args:
        model: what runs.
        observe: called with (requests, rows, padded rows, seconds) after each run.
        waiting: called with the number of rows that wait when it changes.

    Example:
        >>> async def two(batcher, x):
        ...     async with batcher:
        ...         return await asyncio.gather(batcher.submit([x]), batcher.submit([x]))
    """

    def __init__(self, model: ServedModel, observe: Any = None, waiting: Any = None):
        self.model, self._observe, self._tell = model, observe or _nothing, waiting or _nothing
        options = model.options
        self._limit, self._delay = options.max_queue, options.max_delay_ms / 1e3
        self._waiting: dict[tuple, collections.deque[_Item]] = {}
        self._rows_of: collections.Counter = collections.Counter()
        self.rows_waiting = 0
        self._speed = 0.0  # rows in a second, of late
        self._tasks: list[asyncio.Task] = []

    async def __aenter__(self) -> Batcher:
        self._work, self._enough = asyncio.Event(), asyncio.Event()
        count = self.model.options.instances
        self._threads = ThreadPoolExecutor(count, thread_name_prefix=f"run-{self.model.name}")
        self._tasks = [asyncio.create_task(self._serve(i)) for i in range(count)]
        return self

    async def __aexit__(self, *error: Any) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=True)

    @property
    def largest(self) -> int:
        """Rows of one run at most; 0 where requests run by themselves."""
        return self.model.sizes[-1] if self.model.sizes else 0

    async def submit(self, arrays: Sequence[np.ndarray], rows: int | None = None) -> list[np.ndarray]:
        """The outputs for a request.

        Args:
            arrays: the inputs, in the model's order.
            rows: how many; checked and counted when it is not given.

        Raises:
            BadInput: arrays that do not fit the model.
            Full: too many rows wait.
            Failed: the model raised.
        """
        rows = self.model.check(arrays) if rows is None else rows
        if self.rows_waiting and self.rows_waiting + rows > self._limit:
            raise Full(self.rows_waiting / self._speed if self._speed else 1.0)
        if not self.largest or rows <= self.largest:
            return await self._enqueue(arrays, rows)
        ends = range(0, rows, self.largest)
        parts = [self._enqueue([a[i : i + self.largest] for a in arrays], min(self.largest, rows - i)) for i in ends]
        try:
            found = await asyncio.gather(*parts)
        except BaseException:
            for part in parts:
                part.cancel()
            raise
        return [np.concatenate(outputs) for outputs in zip(*found)]

    def _enqueue(self, arrays: Sequence[np.ndarray], rows: int) -> asyncio.Future:
        key = self.model.key(arrays)
        item = _Item(arrays, rows, key, asyncio.get_running_loop().create_future())
        item.future.add_done_callback(lambda future: self._forget(item) if future.cancelled() else None)
        self._waiting.setdefault(key, collections.deque()).append(item)
        self._rows_of[key] += rows
        self.rows_waiting += rows
        self._tell(self.rows_waiting)
        self._work.set()
        if self._rows_of[key] >= self.largest:
            self._enough.set()
        return item.future

    def _forget(self, item: _Item) -> None:
        """Take out a request that nobody waits for any more."""
        if not item.started:
            self._waiting[item.key].remove(item)
            self._count_out(item)

    def _count_out(self, item: _Item) -> None:
        self.rows_waiting -= item.rows
        self._tell(self.rows_waiting)
        self._rows_of[item.key] -= item.rows
        if not self._waiting[item.key]:
            del self._waiting[item.key], self._rows_of[item.key]

    def _oldest(self) -> _Item | None:
        return min((items[0] for items in self._waiting.values()), key=lambda item: item.arrived, default=None)

    def _take(self, key: tuple) -> list[_Item]:
        """The oldest requests of a kind that fit into one run."""
        items, taken, rows = self._waiting[key], [], 0
        while items and (not taken or rows + items[0].rows <= self.largest):
            item = items.popleft()
            item.started = time.perf_counter()
            taken.append(item)
            rows += item.rows
            self._count_out(item)
        return taken

    async def _next(self) -> list[_Item]:
        while True:
            oldest = self._oldest()
            if oldest is None:
                self._work.clear()
                await self._work.wait()
                continue
            left = oldest.arrived + self._delay - time.perf_counter()
            if left <= 0 or self._rows_of[oldest.key] >= self.largest:
                return self._take(oldest.key)
            self._enough.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._enough.wait(), left)

    async def _serve(self, instance: int) -> None:
        loop = asyncio.get_running_loop()
        while True:
            items = await self._next()
            start = time.perf_counter()
            try:
                results = await loop.run_in_executor(self._threads, self._run, items, instance)
            except asyncio.CancelledError:
                for item in items:
                    item.future.cancel()
                raise
            seconds = time.perf_counter() - start
            rows = sum(item.rows for item in items)
            self._speed += 0.2 * (rows / max(seconds, 1e-6) - self._speed) if self._speed else rows / max(seconds, 1e-6)
            for item, result in zip(items, results):
                if item.future.done():
                    continue
                if isinstance(result, Exception):
                    item.future.set_exception(result)
                else:
                    item.future.set_result(result)

    def _run(self, items: list[_Item], instance: int) -> list[Any]:
        """In a thread: the outputs or the exception of each."""
        rows = sum(item.rows for item in items)
        start = time.perf_counter()
        try:
            return self.model.run([item.arrays for item in items], instance)
        except Exception as e:
            if len(items) == 1:
                log.error("%s failed: %s", self.model, e, extra={"model": self.model.name}, exc_info=True)
                return [Failed(str(e))]
            return [self._run([item], instance)[0] for item in items]  # only those fail that fail alone
        finally:
            padded = self.model.padded(rows) - rows
            self._observe(len(items), rows, padded, time.perf_counter() - start)


def _nothing(*numbers: Any) -> None:
    pass


def retry_after(seconds: float) -> str:
    """For the header of that name: whole seconds, between 1 and 60."""
    return str(min(60, max(1, math.ceil(seconds))))
