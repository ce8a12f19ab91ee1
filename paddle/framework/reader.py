"""Readers: functions that return iterators over samples, as old programs have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..engine import errors


def batch(reader: Callable[[], Any], batch_size: int, drop_last: bool = False) -> Callable[[], Iterator[list]]:
    """A reader of lists of samples.

    Args:
        reader: a function that returns an iterator over samples.
        batch_size: samples in a list, positive.
        drop_last: leave out a last list that is shorter.

    Raises:
        ValueError: `batch_size` is not positive.

    Example:
        >>> list(paddle.batch(lambda: iter(range(3)), 2)())
        [[0, 1], [2]]
    """
    if isinstance(batch_size, bool) or int(batch_size) <= 0:
        raise errors.ValueError_(f"batch: batch_size must be positive, got {batch_size!r}")

    def batches() -> Iterator[list]:
        found = []
        for sample in reader():
            found.append(sample)
            if len(found) == batch_size:
                yield found
                found = []
        if found and not drop_last:
            yield found

    return batches
