"""Counting of the tokens of each expert, and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....distributed.communication.group import Group
from .....distributed.models.moe.utils import _assign_pos, limited, pruned
from .....distributed.utils.moe_utils import count_rows
from .....engine.tensor import Tensor


def _chosen(index: Tensor, total: int) -> np.ndarray:
    found = index.numpy().reshape(-1)
    return np.bincount(found[found >= 0], minlength=total)


def count_by_gate(
    gate: Tensor, num_expert: int, world_size: int, require_pos: bool = True, group: Group | None = None
) -> tuple[Any, Tensor, Tensor]:
    """(positions of the choices sorted by expert, choices of this process for each expert [processes * experts], choices
    that come to this process for each expert [processes * experts])."""
    counts = count_rows(_chosen(gate, num_expert * world_size), group if world_size > 1 else None, num_expert)
    own, coming = Tensor(counts.own.reshape(-1).astype(np.int64)), Tensor(counts.coming.reshape(-1).astype(np.int64))
    pos = _assign_pos(gate, own.cumsum(0)) if require_pos else None
    return pos, own, coming


def limit_by_capacity(
    topk_idx: Tensor, num_expert: int, world_size: int, capacity: int, group: Group | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Leave out choices (-1) where an expert would have more than `capacity` tokens; those of the first processes, and in each
    the first ones, stay. Returns (new choices of this process for each expert, those that come, the choices)."""
    total = num_expert * world_size
    counts = count_rows(_chosen(topk_idx, total), group if world_size > 1 else None, num_expert)
    table = limited(counts.table.reshape(world_size, total), np.full(total, capacity, np.int64))
    own = table[counts.rank].astype(np.int64)
    coming = table.reshape(world_size, world_size, num_expert)[:, counts.rank].reshape(-1).astype(np.int64)
    index = pruned(topk_idx.numpy(), own)
    return Tensor(own), Tensor(coming), Tensor(index)
