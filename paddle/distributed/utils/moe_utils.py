"""Rows that travel to the processes of their experts and back.

How many rows go from where to where changes with every batch. The rows for one process are filled up to a length that all
agree on, a power of two, so that the exchange is one all-to-all that is compiled for a few lengths only.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...autograd import PyLayer
from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor, _make
from ..communication.collectives import run, tensor_in
from ..communication.group import Group, group_of
from ..communication.mesh import over_mesh

__all__: list[str] = []

SHORTEST = 8  # rows


def rounded(rows: int) -> int:
    """The next power of two."""
    return max(SHORTEST, 1 << max(int(rows) - 1, 0).bit_length())


class Counts:
    """How many rows each process has for each expert: `table` [processes, processes, experts of a process]."""

    def __init__(self, table: np.ndarray, rank: int):
        self.table, self.rank = table, rank
        self.width = rounded(int(table.sum(2).max()))  # of what goes from one process to another

    @property
    def own(self) -> np.ndarray:
        """How many rows this process has, [processes, experts of a process]."""
        return self.table[self.rank]

    @property
    def coming(self) -> np.ndarray:
        """How many rows come to this process, [processes, experts of a process]."""
        return self.table[:, self.rank]

    def sending(self) -> np.ndarray:
        """Where in what is sent the rows of this process go, which are sorted by process and expert."""
        lengths = self.own.sum(1)
        return np.concatenate([np.arange(n) + i * self.width for i, n in enumerate(lengths)])

    def received(self) -> list[np.ndarray]:
        """Where in what is received the rows of each expert are, those of the first process first."""
        starts = np.cumsum(self.coming, 1) - self.coming + np.arange(len(self.table))[:, None] * self.width
        return [
            np.concatenate([np.arange(n) + start for n, start in zip(self.coming[:, e], starts[:, e])])
            for e in range(self.table.shape[2])
        ]


def count_rows(own: np.ndarray, group: Group | None, n_expert: int) -> Counts:
    """Tell the processes of a group how many rows each has for every expert."""
    if group is None or group.nranks == 1:
        return Counts(own.reshape(1, 1, n_expert), 0)
    given = _make(jnp.asarray(own.reshape(-1), jnp.int32))
    (found,) = run(group, "moe", "all_gather", [given], False)
    return Counts(np.asarray(found).reshape(group.nranks, group.nranks, n_expert), group.rank)


@functools.partial(jax.jit, static_argnums=2)
def _pick(x: Any, index: Any, rows: int) -> Any:
    if not x.shape[0]:
        return jnp.zeros((rows, *x.shape[1:]), x.dtype)
    return jnp.take(x, index, axis=0, mode="fill", fill_value=0)


def _inverse(index: np.ndarray, n: int) -> np.ndarray:
    """For each of `n` rows where it went; the others lie outside."""
    out = np.full(n, len(index), np.int32)
    inside = index < n
    out[index[inside]] = np.flatnonzero(inside)
    return out


class Travel(PyLayer):
    """Rows in the order `first` to the other processes, and what came in the order `last`. An index outside stands for a row
    of zeros; no row is named twice. The gradient takes the same way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, first: np.ndarray, last: np.ndarray, group: Group | None) -> Tensor:
        ctx.group = group
        ctx.back = _inverse(last, len(first)), _inverse(first, x.shape[0])
        return _make(_travel(x._value, first, last, group))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        if modes.grad:
            raise errors.NotImplemented_("moe: gradients of gradients through an exchange between processes")
        return _make(_travel(gradient._value, *ctx.back, ctx.group))


def _travel(x: Any, first: np.ndarray, last: np.ndarray, group: Group | None) -> Any:
    x = _pick(x, first.astype(np.int32), len(first))
    if group is not None and group.nranks > 1:
        (x,) = over_mesh(group, "all_to_all", [x], False)
    return _pick(x, last.astype(np.int32), len(last))


def placed(positions: np.ndarray, length: int, missing: int) -> np.ndarray:
    """An index of this length: row k at positions[k], `missing` elsewhere."""
    out = np.full(length, missing, np.int32)
    out[positions] = np.arange(len(positions))
    return out


def _counts(function: str, x: Tensor, local_count: Any, global_count: Any, group: Group | None) -> tuple:
    tensor_in(x, function, "x")
    found = group_of(group, function)
    local, coming = (np.asarray(c.numpy() if isinstance(c, Tensor) else c) for c in (local_count, global_count))
    for name, counts in (("local_count", local), ("global_count", coming)):
        if counts.ndim != 1 or counts.dtype.kind != "i" or counts.size % found.nranks or (counts < 0).any():
            raise errors.ValueError_(
                f"{function}: {name} must be as many counts for each of the {found.nranks} ranks, integers from 0 on; got "
                f"{counts.dtype} {counts.tolist()}"
            )
    if local.size != coming.size or x.ndim == 0:
        raise errors.ValueError_(
            f"{function}: local_count and global_count must be of one length and x have rows; got {local.size}, "
            f"{coming.size} and x of shape {list(x.shape)}"
        )
    counts = count_rows(local, found, local.size // found.nranks)
    if (counts.coming.reshape(-1) != coming).any():
        raise errors.ValueError_(
            f"{function}: global_count must be what the others' local_count says comes to this process, "
            f"{counts.coming.reshape(-1).tolist()}, got {coming.tolist()}"
        )
    return found, counts


@errors.clean
def global_scatter(
    x: Tensor, local_count: Tensor, global_count: Tensor, group: Group | None = None, use_calc_stream: bool = True
) -> Tensor | None:
    """Send rows to the processes of their experts.

    Args:
        x: [rows, ...], sorted by the process and then the expert that they are for.
        local_count: [processes * experts of a process], how many rows go to expert i % experts of process i // experts.
        global_count: the same length, how many come from process i // experts for expert i % experts of this process.
        group: the processes, by default all.
        use_calc_stream: for the official interface.

    Returns:
        The rows for the experts of this process, one expert after the other, in each those of the first process first.

    Raises:
        ValueError: counts that do not fit x, or those of the other processes.

    Example:
        >>> from paddle.distributed.utils.moe_utils import global_scatter
        >>> _ = paddle.distributed.init_parallel_env()
        >>> count = paddle.to_tensor([1, 2])
        >>> global_scatter(paddle.to_tensor([[1.0], [2.0], [3.0]]), count, count).tolist()
        [[1.0], [2.0], [3.0]]
    """
    found, counts = _counts("global_scatter", x, local_count, global_count, group)
    if found.rank < 0:
        return None
    if counts.own.sum() != x.shape[0]:
        raise errors.ValueError_(
            f"global_scatter: local_count must add up to the rows of x ({x.shape[0]}), got {counts.own.sum()}"
        )
    first = placed(counts.sending(), counts.width * found.nranks, x.shape[0])
    return Travel.apply(x, first, np.concatenate(counts.received()), found)


@errors.clean
def global_gather(
    x: Tensor, local_count: Tensor, global_count: Tensor, group: Group | None = None, use_calc_stream: bool = True
) -> Tensor | None:
    """Send rows back from where `global_scatter` brought them.

    Args:
        x: [rows, ...], the rows of the experts of this process, one expert after the other.
        local_count, global_count, group, use_calc_stream: as `global_scatter` got them.

    Returns:
        The rows in the order in which `global_scatter` got them.

    Raises:
        ValueError: counts that do not fit x, or those of the other processes.
    """
    found, counts = _counts("global_gather", x, local_count, global_count, group)
    if found.rank < 0:
        return None
    if counts.coming.sum() != x.shape[0]:
        raise errors.ValueError_(
            f"global_gather: global_count must add up to the rows of x ({x.shape[0]}), got {counts.coming.sum()}"
        )
    first = placed(np.concatenate(counts.received()), counts.width * found.nranks, x.shape[0])
    return Travel.apply(x, first, counts.sending(), found)


def get_complete_pp_mesh(mesh: Any) -> Any:
    """The part of the mesh of `set_mesh` that is the stage of a pipeline in which another mesh lies; that mesh itself where
    there is none with an axis "pp"."""
    from ..auto_parallel.process_mesh import get_mesh

    whole = get_mesh()
    if whole is None or "pp" not in whole.dim_names:
        return mesh
    for stage in range(whole.get_dim_size("pp")):
        found = whole.get_mesh_with_dim("pp", stage)
        if mesh.process_ids[0] in found.process_ids:
            return found
    raise errors.ValueError_(f"get_complete_pp_mesh: {mesh} does not lie in {whole}")
