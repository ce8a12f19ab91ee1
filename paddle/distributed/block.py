"""The short forms: a sampler that deals samples to the processes, and a wrapper that also owns the optimizer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine import errors
from ..io import Sampler
from ..nn.layer import Layer
from .communication.group import Group, get_rank, get_world_size
from .parallel import DataParallel


class DistributedSampler(Sampler):
    """The samples of one process when several share a dataset: disjoint parts of equal length, in a random order that is
    another in each epoch (see `set_epoch`).

    Args:
        dataset: a dataset with a length.
        num_replicas, rank: the number of processes and the number of this one, by default those of the job.
        shuffle: False deals them in order.
        seed: of the random order, the same in all processes.
        drop_last: leave out what does not divide evenly, instead of repeating samples from the start.

    Raises:
        ValueError: numbers out of range.

    Example:
        >>> data = paddle.io.TensorDataset([paddle.arange(5)])
        >>> [list(paddle.distributed.DistributedSampler(data, 2, r, shuffle=False)) for r in (0, 1)]
        [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not isinstance(self.num_replicas, int) or self.num_replicas < 1:
            raise errors.ValueError_(f"DistributedSampler: num_replicas must be a positive int, got {num_replicas!r}")
        if not isinstance(self.rank, int) or not 0 <= self.rank < self.num_replicas:
            raise errors.ValueError_(
                f"DistributedSampler: rank must be from 0 to {self.num_replicas - 1}, got {self.rank!r}"
            )
        self.dataset, self.shuffle, self.seed, self.drop_last = dataset, bool(shuffle), int(seed), bool(drop_last)
        self.epoch = 0

    def __len__(self) -> int:
        n = len(self.dataset)
        return n // self.num_replicas if self.drop_last else math.ceil(n / self.num_replicas)

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = np.random.RandomState((self.seed + self.epoch) % 2**32).permutation(n) if self.shuffle else np.arange(n)
        dealt = np.resize(order, len(self) * self.num_replicas)
        return iter(dealt[self.rank :: self.num_replicas].tolist())

    def set_epoch(self, epoch: int) -> None:
        """The epoch, which decides the random order; the same in all processes."""
        self.epoch = int(epoch)


class Parallel(DataParallel):
    """Data parallel training in one line: averages the gradients as `paddle.DataParallel` does and owns the optimizer.

    Args:
        layers: the layer.
        optimizer: by default Adam with the rate 0.001 over its parameters.
        group: the processes, by default all.
        others: as of `paddle.DataParallel`.

    Example:
        >>> model = paddle.distributed.Parallel(paddle.nn.Linear(2, 1))
        >>> model(paddle.ones([3, 2])).mean().backward(); model.step(); model.clear_grad()
    """

    def __init__(self, layers: Layer, optimizer: Any = None, group: Group | None = None, **others: Any):
        super().__init__(layers, group=group, **others)
        if optimizer is None:
            from ..optimizer import Adam

            optimizer = Adam(learning_rate=0.001, parameters=layers.parameters())
        self._optimizer = optimizer

    def step(self) -> None:
        """One step of the optimizer."""
        self._optimizer.step()

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Clear the gradients."""
        self._optimizer.clear_grad(set_to_zero)
