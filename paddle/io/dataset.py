"""Datasets: where samples come from."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.random import generator as default_generator
from ..engine.tensor import Tensor

__all__ = [
    "ChainDataset",
    "ComposeDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class NoLength(RuntimeError, TypeError, ValueError):
    """A stream has no length. (A TypeError too, so that `list(stream)` works.)"""


class Dataset:
    """A dataset with random access: subclasses define `__getitem__(idx)` and `__len__()`.

    Example:
        >>> class Squares(paddle.io.Dataset):
        ...     def __getitem__(self, idx): return idx * idx
        ...     def __len__(self): return 10
        >>> Squares()[3]
        9
    """

    def __getitem__(self, idx: Any) -> Any:
        raise errors.NotImplemented_(f"__getitem__ is not defined in {type(self).__name__}")

    def __len__(self) -> int:
        raise errors.NotImplemented_(f"__len__ is not defined in {type(self).__name__}")

    def __class_getitem__(cls, item: Any) -> Any:  # Dataset[tuple[...]] in annotations
        return cls


class IterableDataset(Dataset):
    """A stream of samples: subclasses define `__iter__()`. With several workers each one iterates over the whole
    stream, unless it reads `paddle.io.get_worker_info()` and takes its share.

    Example:
        >>> class Count(paddle.io.IterableDataset):
        ...     def __iter__(self): return iter(range(3))
        >>> list(Count())
        [0, 1, 2]
    """

    def __iter__(self) -> Iterator:
        raise errors.NotImplemented_(f"__iter__ is not defined in {type(self).__name__}")

    def __getitem__(self, idx: Any) -> Any:
        raise errors.RuntimeError_(f"{type(self).__name__} is an IterableDataset, which has no access by index")

    def __len__(self) -> int:
        raise NoLength(f"(PreconditionNotMet) {type(self).__name__} is an IterableDataset, which has no length")


def _map_style(datasets: Iterable, name: str) -> list:
    datasets = list(datasets)
    if not datasets:
        raise errors.ValueError_(f"{name}: datasets is empty")
    for dataset in datasets:
        if isinstance(dataset, IterableDataset):
            raise errors.ValueError_(f"{name}: an IterableDataset has no access by index (ChainDataset joins streams)")
    return datasets


class TensorDataset(Dataset):
    """Sample i is the i-th row of each tensor.

    Args:
        tensors: tensors (or arrays) of the same length in the first dimension.

    Raises:
        ValueError: the lengths differ.

    Example:
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4])])
        >>> len(data), data[0][0].shape
        (4, [2])
    """

    def __init__(self, tensors: Sequence[Any]):
        tensors = list(tensors)
        if not tensors or not all(isinstance(t, (Tensor, np.ndarray)) and t.ndim for t in tensors):
            raise errors.ValueError_(
                "TensorDataset: tensors must be a non-empty list of tensors with at least one dimension"
            )
        if len({t.shape[0] for t in tensors}) != 1:
            raise errors.ValueError_(
                "TensorDataset: the tensors must have the same length in the first dimension, got "
                f"{[t.shape[0] for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def _batch(self, indices: list[int]) -> list[np.ndarray] | None:
        """The rows of a batch at once, on the host; None where a subclass has its own idea of a sample."""
        if type(self).__getitem__ is not TensorDataset.__getitem__:
            return None
        return [np.asarray(t._value if isinstance(t, Tensor) else t)[indices] for t in self.tensors]


class ComposeDataset(Dataset):
    """Sample i holds the fields of sample i of every dataset, one after the other. ValueError if the lengths differ."""

    def __init__(self, datasets: Sequence[Dataset]):
        self.datasets = _map_style(datasets, "ComposeDataset")
        if len({len(d) for d in self.datasets}) != 1:
            raise errors.ValueError_(
                f"ComposeDataset: the datasets must have the same length, got {list(map(len, self.datasets))}"
            )

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx: int) -> tuple:
        sample: list = []
        for dataset in self.datasets:
            fields = dataset[idx]
            sample.extend(fields if isinstance(fields, (list, tuple)) else [fields])
        return tuple(sample)


class ChainDataset(IterableDataset):
    """The samples of several streams, one after the other. TypeError for a dataset that is no IterableDataset."""

    def __init__(self, datasets: Sequence[IterableDataset]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise errors.ValueError_("ChainDataset: datasets is empty")
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise errors.TypeError_(
                    f"ChainDataset: joins IterableDatasets, got {type(dataset).__name__} (ConcatDataset "
                    "joins those with access by index)"
                )

    def __iter__(self) -> Iterator:
        for dataset in self.datasets:
            yield from dataset


class ConcatDataset(Dataset):
    """Several datasets one after the other. IndexError for an index out of range; negative ones count from the end."""

    @staticmethod
    def cumsum(sequence: Sequence) -> list[int]:
        """The running total of the lengths."""
        total, out = 0, []
        for each in sequence:
            total += len(each)
            out.append(total)
        return out

    def __init__(self, datasets: Sequence[Dataset]):
        self.datasets = _map_style(datasets, "ConcatDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        n = len(self)
        if not -n <= idx < n:
            raise errors.IndexError_(f"ConcatDataset: index {idx} is out of range for {n} samples")
        idx %= n
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class Subset(Dataset):
    """The samples of a dataset at the given indices."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: int) -> Any:
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


def host_random(generator: Any = None) -> np.random.Generator:
    """Random numbers on the host, seeded by the next key of a generator of the framework (that of `paddle.seed`)."""
    return np.random.default_rng((generator if hasattr(generator, "tick") else default_generator()).tick())


def random_split(dataset: Dataset, lengths: Sequence[int | float], generator: Any = None) -> list[Subset]:
    """Split a dataset at random into parts.

    Args:
        lengths: the numbers of samples, which add up to the size of the dataset; or fractions that add up to 1 (what
            rounding leaves over is dealt out from the first part on).
        generator: a Generator; default the one that `paddle.seed` seeds.

    Raises:
        ValueError: the lengths do not add up, or one is negative.

    Example:
        >>> a, b = paddle.io.random_split(range(10), [7, 3])
        >>> len(a), len(b)
        (7, 3)
    """
    n = len(dataset)
    lengths = list(lengths)
    if any(part < 0 for part in lengths):
        raise errors.ValueError_(f"random_split: lengths cannot be negative, got {lengths}")
    if any(isinstance(part, float) for part in lengths) and sum(lengths) <= 1 + 1e-9:
        if abs(sum(lengths) - 1) > 1e-6:
            raise errors.ValueError_(f"random_split: the fractions must add up to 1, got {lengths}")
        counts = [int(n * part) for part in lengths]
        for i in range(n - sum(counts)):
            counts[i % len(counts)] += 1
    else:
        counts = [int(part) for part in lengths]
    if sum(counts) != n:
        raise errors.ValueError_(f"random_split: lengths add up to {sum(counts)}, the dataset has {n} samples")
    order = host_random(generator).permutation(n).tolist()
    ends = np.cumsum([0] + counts)
    return [Subset(dataset, order[a:b]) for a, b in zip(ends[:-1], ends[1:])]
