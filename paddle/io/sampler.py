"""Samplers: in which order, and in which batches, samples are taken.

RandomSampler and WeightedRandomSampler draw from NumPy's global generator (`np.random.seed`), SubsetRandomSampler from
that of the framework (`paddle.seed`), as the official package does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from .dataset import IterableDataset, host_random

__all__ = [
    "BatchSampler",
    "DistributedBatchSampler",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


def _positive(value: Any, name: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value <= 0:
        raise errors.ValueError_(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise errors.TypeError_(f"{name} must be True or False, got {value!r}")
    return value


class Sampler:
    """An order of samples: subclasses define `__iter__`, which yields indices, and usually `__len__`."""

    def __init__(self, data_source: Any = None):
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise errors.NotImplemented_(f"__iter__ is not defined in {type(self).__name__}")

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class SequenceSampler(Sampler):
    """0, 1, 2, ... up to the size of the dataset."""

    def __init__(self, data_source: Any):
        super().__init__(data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """The samples in random order.

    Args:
        data_source: the dataset.
        replacement: draw each sample from all of them, so that some come twice.
        num_samples: how many, by default as many as there are.
        generator: an iterator of indices to take instead of drawing, or a Generator.

    Raises:
        ValueError: `num_samples` is not positive, or more than there are without replacement.
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ):
        super().__init__(data_source)
        self.replacement = _flag(replacement, "RandomSampler: replacement")
        self._num_samples = None if num_samples is None else _positive(num_samples, "RandomSampler: num_samples")
        self.generator = generator
        if not replacement and self._num_samples is not None and self._num_samples > len(data_source):
            raise errors.ValueError_(
                f"RandomSampler: num_samples={num_samples} is more than the {len(data_source)} samples; "
                "allow replacement"
            )

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, count = len(self.data_source), self.num_samples
        if hasattr(self.generator, "tick"):
            draw = host_random(self.generator)
            return iter((draw.integers(0, n, count) if self.replacement else draw.permutation(n)[:count]).tolist())
        if self.generator is not None:
            return itertools.islice(self.generator, count)
        if self.replacement:
            return iter(np.random.choice(np.arange(n), count, replace=True).tolist()) if n else iter(())
        return iter(np.random.permutation(n)[:count].tolist())

    def __len__(self) -> int:
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """Indices drawn with the given weights.

    Args:
        weights: one non-negative weight a sample; they need not add up to 1.
        num_samples: how many to draw.
        replacement: whether a sample may be drawn again.

    Raises:
        ValueError: negative weights, all zero, or fewer positive ones than samples to draw without replacement.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True):
        weights = np.asarray(weights.numpy() if isinstance(weights, Tensor) else weights, "float64")
        if weights.ndim != 1 or not weights.size or not np.isfinite(weights).all() or (weights < 0).any():
            raise errors.ValueError_("WeightedRandomSampler: weights must be a list of non-negative numbers")
        self.weights = weights
        self.num_samples = _positive(num_samples, "WeightedRandomSampler: num_samples")
        if not isinstance(replacement, bool):
            raise errors.ValueError_(f"WeightedRandomSampler: replacement must be True or False, got {replacement!r}")
        self.replacement = replacement
        positive = int((weights > 0).sum())
        if positive < (1 if replacement else num_samples):
            raise errors.ValueError_(
                f"WeightedRandomSampler: {positive} positive weights for num_samples={num_samples}"
                + ("" if replacement else " without replacement")
            )

    def __iter__(self) -> Iterator[int]:
        chance = self.weights / self.weights.sum()
        return iter(np.random.choice(len(chance), self.num_samples, self.replacement, chance).tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in random order, without replacement. ValueError when there are none."""

    def __init__(self, indices: Sequence[int]):
        if not len(indices):
            raise errors.ValueError_("SubsetRandomSampler: indices is empty")
        super().__init__()
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in host_random().permutation(len(self.indices)).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class BatchSampler(Sampler):
    """Lists of indices, one a batch.

    Args:
        dataset: the dataset; or give `sampler`.
        sampler: the order of the samples.
        shuffle: random order (only with `dataset`).
        batch_size: samples a batch.
        drop_last: leave out the last batch when it is not full.

    Raises:
        ValueError: both or none of `dataset` and `sampler`, a batch size that is no positive integer.

    Example:
        >>> list(paddle.io.BatchSampler(range(5), batch_size=2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ):
        if (dataset is None) == (sampler is None):
            raise errors.ValueError_("BatchSampler: give either dataset or sampler")
        if isinstance(dataset, IterableDataset):
            raise errors.ValueError_("BatchSampler: an IterableDataset has no access by index")
        _flag(shuffle, "BatchSampler: shuffle")
        if sampler is None:
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        elif shuffle:
            raise errors.ValueError_("BatchSampler: shuffle cannot be combined with sampler, which has its own order")
        elif not hasattr(sampler, "__iter__"):
            raise errors.TypeError_(f"BatchSampler: sampler must be iterable, got {type(sampler).__name__}")
        self.sampler, self.shuffle = sampler, shuffle
        self.batch_size = _positive(batch_size, "BatchSampler: batch_size")
        self.drop_last = _flag(drop_last, "BatchSampler: drop_last")

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one process when several share a dataset.

    The order is cut into rounds of `num_replicas` batches, dealt to the ranks in turn. First samples from its start
    are repeated at its end, until all ranks have the same number. With `shuffle` it depends on the epoch alone: call
    `set_epoch(epoch)` at the start of each, and all processes agree on it.

    Args:
        dataset: a dataset with a length.
        batch_size: samples a batch.
        num_replicas, rank: the number of processes and the number of this one; default those of the launch.
        shuffle, drop_last: as in BatchSampler.

    Raises:
        ValueError: a batch size, number or rank out of range.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ):
        name = "DistributedBatchSampler"
        self.dataset = dataset
        self.batch_size = _positive(batch_size, f"{name}: batch_size")
        self.shuffle, self.drop_last = _flag(shuffle, f"{name}: shuffle"), _flag(drop_last, f"{name}: drop_last")
        known_size, known_rank = _world() if num_replicas is None or rank is None else (1, 0)
        self.nranks = known_size if num_replicas is None else _positive(num_replicas, f"{name}: num_replicas")
        self.local_rank = known_rank if rank is None else rank
        if (
            isinstance(self.local_rank, bool)
            or not isinstance(self.local_rank, int)
            or not 0 <= self.local_rank < self.nranks
        ):
            raise errors.ValueError_(f"{name}: rank must be from 0 to {self.nranks - 1}, got {rank!r}")
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self) -> Iterator[list[int]]:
        order = np.resize(np.arange(len(self.dataset)), self.total_size)
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        mine = self._share(order).tolist()
        for start in range(0, len(mine), self.batch_size):
            batch = mine[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def _share(self, order: np.ndarray) -> np.ndarray:
        """Whole rounds go out batch by batch; what is left over is cut into equal parts."""
        size, rank = self.batch_size, self.local_rank
        rounds = len(order) // (size * self.nranks)
        whole = order[: rounds * size * self.nranks].reshape(rounds, self.nranks, size)[:, rank].reshape(-1)
        rest = (
            order[rounds * size * self.nranks :].reshape(self.nranks, -1)[rank]
            if len(order) % (size * self.nranks)
            else order[:0]
        )
        return np.concatenate([whole, rest])

    def __len__(self) -> int:
        n = self.num_samples
        return n // self.batch_size if self.drop_last else math.ceil(n / self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """The epoch, which decides the random order; the same in all processes."""
        self.epoch = epoch


def _world() -> tuple[int, int]:
    """The number of processes and the number of this one, from the launcher's environment."""
    import os

    return int(os.environ.get("PADDLE_TRAINERS_NUM", "1")), int(os.environ.get("PADDLE_TRAINER_ID", "0"))
