"""Scripts that prepare lines for data sets: they read raw lines and write the values of slots."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ....engine import errors


class DataGenerator:
    """Base class: a subclass defines `generate_sample`, and a script calls `run_from_stdin`."""

    def __init__(self) -> None:
        self.batch_size_ = 32

    def set_batch(self, batch_size: int) -> None:
        """How many samples `generate_batch` gets at once."""
        self.batch_size_ = batch_size

    def run_from_memory(self) -> None:
        """Write what ``generate_sample(None)`` yields."""
        self._run([None])

    def run_from_stdin(self) -> None:
        """Write what `generate_sample` yields for each line of the standard input."""
        self._run(sys.stdin)

    def _run(self, lines: Iterable) -> None:
        batch: list = []
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is not None:
                    batch.append(sample)
                if len(batch) == self.batch_size_:
                    self._write(batch)
                    batch = []
        if batch:
            self._write(batch)

    def _write(self, batch: list) -> None:
        for sample in self.generate_batch(batch)():
            sys.stdout.write(self._gen_str(sample))

    def _gen_str(self, line: Any) -> str:
        raise NotImplementedError("DataGenerator: derive from MultiSlotDataGenerator or MultiSlotStringDataGenerator")

    def generate_sample(self, line: str | None) -> Callable:
        """To be defined: a function that yields samples, ``[(name of a slot, [values]), ...]``, of a line."""
        raise NotImplementedError(
            "DataGenerator: define generate_sample(line), which returns a function that yields samples"
        )

    def generate_batch(self, samples: list) -> Callable:
        """May be defined: a function that yields what is written for a batch of samples."""

        def each() -> Any:
            yield from samples

        return each


def _checked(kind: str, line: Any) -> Any:
    if not isinstance(line, (list, tuple)):
        raise errors.ValueError_(
            f"{kind}: a sample must be a list or tuple of (name, values), got {errors.describe(line)}"
        )
    return line


class MultiSlotStringDataGenerator(DataGenerator):
    """Samples whose values are strings already.

    Example:
        >>> class Words(paddle.distributed.fleet.MultiSlotStringDataGenerator):
        ...     def generate_sample(self, line):
        ...         return lambda: iter([[("words", ["19", "26"]), ("label", ["1"])]])
        >>> Words().run_from_memory()
        2 19 26 1 1
    """

    def _gen_str(self, line: Any) -> str:
        parts = [" ".join([str(len(values)), *values]) for _, values in _checked(type(self).__name__, line)]
        return " ".join(parts) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """Samples whose values are ints or floats. All samples must have the same slots.

    Example:
        >>> class Words(paddle.distributed.fleet.MultiSlotDataGenerator):
        ...     def generate_sample(self, line):
        ...         return lambda: iter([[("words", [19, 26]), ("label", [0.5])]])
        >>> Words().run_from_memory()
        2 19 26 1 0.5
    """

    _slots: list[str] | None = None

    def _gen_str(self, line: Any) -> str:
        kind = type(self).__name__
        names, parts = [], []
        for name, values in _checked(kind, line):
            if not isinstance(name, str) or not isinstance(values, (list, tuple)):
                raise errors.ValueError_(
                    f"{kind}: a slot must be (str, list), got ({errors.describe(name)}, {values!r})"
                )
            if not values:
                raise errors.ValueError_(f"{kind}: slot {name} has no values; put in a value that stands for none")
            if not all(isinstance(v, (int, float)) for v in values):
                raise errors.ValueError_(f"{kind}: the values of slot {name} must be ints or floats, got {values!r}")
            names.append(name)
            parts.append(" ".join([str(len(values)), *map(str, values)]))
        if self._slots is None:
            self._slots = names
        elif names != self._slots:
            raise errors.ValueError_(f"{kind}: the slots of a sample are {names}, before they were {self._slots}")
        return " ".join(parts) + "\n"
