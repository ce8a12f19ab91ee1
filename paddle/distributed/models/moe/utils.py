"""Counting and choosing of experts. The numbers are looked at on the host, as what follows depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....engine import errors
from ....engine.tensor import Tensor

__all__: list[str] = []


def _host(value: Any) -> np.ndarray:
    return np.asarray(value.numpy() if isinstance(value, Tensor) else value)


def _back(array: np.ndarray, like: Any) -> Tensor:
    out = Tensor(array.astype(_host(like).dtype))
    return out


def _number_count(numbers: Tensor, upper_range: int) -> Tensor:
    """How often each of 0 to upper_range - 1 is among the numbers; negative ones do not count."""
    found = _host(numbers).reshape(-1)
    return _back(np.bincount(found[found >= 0], minlength=upper_range)[:upper_range], numbers)


def _assign_pos(x: Tensor, cum_count: Tensor) -> Tensor:
    """The positions of the numbers in x sorted by the numbers, the last ones of each first; `cum_count`: how many there are of
    each and of those before."""
    numbers = _host(x).reshape(-1)
    order = np.lexsort((-np.arange(numbers.size), numbers))
    order = order[numbers[order] >= 0]
    return _back(order[: int(_host(cum_count)[-1])], cum_count)


def _random_routing(topk_idx: Tensor, topk_value: Tensor, prob: Tensor, topk: int = 2) -> Tensor:
    """The second choices, left out (-1) where twice their value is below a number drawn."""
    if topk != 2:
        raise errors.RuntimeError_(f"_random_routing: topk must be 2, got {topk}")
    index = _host(topk_idx).copy()
    index[topk * _host(topk_value)[:, 1] < _host(prob), 1] = -1
    return _back(index, topk_idx)


def limited(counts: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Counts [processes, experts], in each expert at most its capacity, those of the first processes first."""
    before = np.cumsum(counts, 0) - counts
    return np.clip(capacity - before, 0, counts)


def _limit_by_capacity(expert_count: Tensor, capacity: Tensor, n_worker: int) -> Tensor:
    """Counts [n_worker * experts], in each expert at most its capacity."""
    counts = _host(expert_count).reshape(n_worker, -1)
    return _back(limited(counts, _host(capacity)).reshape(-1), expert_count)


def pruned(index: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The choices of experts, -1 where an expert has as many as are allowed already."""
    flat = index.reshape(-1)
    order = np.argsort(flat, kind="stable")
    rank = np.empty(flat.size, np.int64)
    rank[order] = np.arange(flat.size) - np.searchsorted(flat[order], flat[order])
    keep = (flat >= 0) & (rank < allowed[np.maximum(flat, 0)])
    return np.where(keep, flat, -1).reshape(index.shape)


def _prune_gate_by_capacity(gate_idx: Tensor, expert_count: Tensor, n_expert: int, n_worker: int) -> Tensor:
    """The choices of experts, -1 where an expert has as many as `expert_count` allows already."""
    return _back(pruned(_host(gate_idx), _host(expert_count)), gate_idx)
