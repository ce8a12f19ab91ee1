"""A batch in equal parts, which go through the pipeline one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....engine import errors
from .....engine.modes import set_mode
from .....engine.tensor import Tensor
from .....ops.joining import split


class PipelineDatasetPreprocessor:
    """A function that gives the data of a batch, called when they are needed.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import PipelineDatasetPreprocessor
        >>> PipelineDatasetPreprocessor(lambda: 3)()
        3
    """

    def __init__(self, function: Callable):
        self.function = function

    def __call__(self) -> Any:
        return self.function()


class MicroBatches:
    """The inputs and labels of a batch.

    Args:
        data: (inputs, labels) of the whole batch, each a tensor, None, a tuple or a dict of such, or a list with one entry
            for each micro-batch; or an iterator over pairs, one for each micro-batch; or a PipelineDatasetPreprocessor
            that gives either.
        inputs, labels: which of them this process uses; these are checked.
        number: how many micro-batches.
        rows: how many rows each has.
        function: the caller, for errors.
    """

    def __init__(self, data: Any, inputs: bool, labels: bool, number: int, rows: int, function: str):
        self._number, self._rows, self._function = number, rows, function
        if isinstance(data, PipelineDatasetPreprocessor):
            data = data()
        self._pairs: list[Any] = []
        self._source: Any = None
        self._parts: list[list | None] = [None, None]
        if isinstance(data, (tuple, list)):
            if len(data) != 2:
                raise errors.ValueError_(
                    f"{function}: data must be a pair of inputs and labels, got {len(data)} things"
                )
            with set_mode(grad=False):
                if inputs:
                    self._parts[0] = self._divide(data[0], "inputs")
                if labels:
                    self._parts[1] = self._divide(data[1], "labels")
        elif hasattr(data, "__next__"):
            self._source = data
        else:
            raise errors.TypeError_(
                f"{function}: data must be a pair of inputs and labels or an iterator over such pairs, "
                f"got {errors.describe(data)}"
            )

    def inputs(self, i: int) -> Any:
        """The inputs of micro-batch number i."""
        return self._get(i, 0)

    def labels(self, i: int) -> Any:
        """Its labels."""
        return self._get(i, 1)

    def _get(self, i: int, which: int) -> Any:
        if self._source is not None:
            return self._of_source(i)[which]
        parts: Any = self._parts[which]
        found, parts[i] = parts[i], None  # each is used once
        return found

    def _of_source(self, i: int) -> Any:
        while len(self._pairs) <= i:
            try:
                pair = next(self._source)
            except StopIteration:
                raise errors.ValueError_(
                    f"{self._function}: the data ended after {len(self._pairs)} micro-batches, accumulate_steps is "
                    f"{self._number}"
                ) from None
            if not isinstance(pair, (tuple, list)) or len(pair) < 2:
                raise errors.TypeError_(
                    f"{self._function}: each micro-batch must be a pair of inputs and labels, got {errors.describe(pair)}"
                )
            self._pairs.append(pair)
        return self._pairs[i]

    def _divide(self, value: Any, what: str) -> list:
        """The parts of a value for all micro-batches."""
        n = self._number
        if value is None:
            return [None] * n
        if isinstance(value, Tensor):
            self._check(value, what)
            # one call, whatever the number: a slice for each would be a program for each
            return [part.detach() for part in split(value, n)] if n > 1 else [value.detach()]
        if isinstance(value, tuple):
            return list(zip(*(self._divide(v, what) for v in value))) if value else [()] * n
        if isinstance(value, dict):
            rows = zip(*(self._divide(v, f"{what}[{k!r}]") for k, v in value.items()))
            return [dict(zip(value, row)) for row in rows] if value else [{} for _ in range(n)]
        if isinstance(value, list):
            if len(value) != n:
                raise errors.ValueError_(
                    f"{self._function}: a list in the {what} must have one entry for each micro-batch ({n}, "
                    f"accumulate_steps), got {len(value)}"
                )
            return [v.detach() if isinstance(v, Tensor) else v for v in value]
        raise errors.TypeError_(f"{self._function}: the {what} must be Tensors, got {errors.describe(value)}")

    def _check(self, value: Tensor, what: str) -> None:
        wanted = self._number * self._rows
        if not value.ndim or value.shape[0] != wanted:
            rows = f"{value.shape[0]} rows" if value.ndim else "no rows"
            raise errors.ValueError_(
                f"{self._function}: the {what} have {rows}, but pipeline_configs has accumulate_steps {self._number} x "
                f"micro_batch_size {self._rows} = {wanted}"
            )
