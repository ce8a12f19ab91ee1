"""Processes in a grid, one axis for each kind of parallelism, and the groups along its axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....engine import errors
from ...communication.group import Group, get_rank, new_group


class ParallelMode:
    """Which kind of parallelism a job uses."""

    DATA_PARALLEL = 0
    TENSOR_PARALLEL = 1
    PIPELINE_PARALLEL = 2
    SHARDING_PARALLEL = 3
    SEGMENT_PARALLEL = 4


class CommunicateTopology:
    """Ranks 0, 1, ... in a grid, the last axis fastest.

    Example:
        >>> grid = paddle.distributed.fleet.CommunicateTopology(["data", "model"], [2, 3])
        >>> grid.get_coord(4), grid.get_comm_list("data")
        (Coordinate(data=1, model=1), [[0, 3], [1, 4], [2, 5]])
    """

    def __init__(
        self,
        hybrid_group_names: list[str] = ["data", "pipe", "sharding", "sep", "context", "model"],
        dims: list[int] = [1, 1, 1, 1, 1, 1],
    ):
        from collections import namedtuple

        if len(hybrid_group_names) != len(dims) or any(d < 1 for d in dims):
            raise errors.ValueError_(
                f"CommunicateTopology: dims must be one positive number for each of {hybrid_group_names}, got {dims}"
            )
        self._names, self._dims = list(hybrid_group_names), [int(d) for d in dims]
        self._grid = np.arange(int(np.prod(self._dims))).reshape(self._dims)
        self.coordinate = namedtuple("Coordinate", self._names)  # type: ignore[misc]

    def get_hybrid_group_names(self) -> list[str]:
        """The names of the axes."""
        return self._names

    def _axis(self, name: str) -> int:
        if name not in self._names:
            raise errors.ValueError_(f"CommunicateTopology: there is no axis {name!r}; there are {self._names}")
        return self._names.index(name)

    def get_dim(self, axis_name: str) -> int:
        """The length of an axis."""
        return self._dims[self._axis(axis_name)]

    get_dim_size = get_dim

    def world_size(self) -> int:
        """The number of processes."""
        return self._grid.size

    def get_rank(self, **args: int) -> int:
        """The rank at a place, given by a number for each axis."""
        if sorted(args) != sorted(self._names):
            raise errors.ValueError_(f"CommunicateTopology: get_rank takes {self._names}, got {sorted(args)}")
        return int(self._grid[tuple(args[name] for name in self._names)])

    def get_coord(self, rank: int) -> Any:
        """The place of a rank."""
        if not 0 <= rank < self._grid.size:
            raise errors.ValueError_(f"CommunicateTopology: rank must be from 0 to {self._grid.size - 1}, got {rank}")
        return self.coordinate(*(int(i) for i in np.unravel_index(rank, self._dims)))

    def get_axis_list(self, axis_name: str, index: int) -> list[int]:
        """The ranks whose place on an axis is `index`."""
        return self._grid.take(index, self._axis(axis_name)).reshape(-1).tolist()

    def get_comm_list(self, axis_name: str) -> list[list[int]]:
        """The groups of ranks that differ on an axis only."""
        return self.get_fused_ranks([axis_name])

    def get_fused_ranks(self, fused_axis: list[str]) -> list[list[int]]:
        """The groups of ranks that differ on some axes only."""
        moved = [self._axis(name) for name in fused_axis]
        rest = [i for i in range(len(self._dims)) if i not in moved]
        length = int(np.prod([self._dims[i] for i in moved]))
        return self._grid.transpose(rest + sorted(moved)).reshape(-1, length).tolist()

    def get_rank_from_stage(self, global_rank: int, **kwargs: int) -> int:
        """The rank at the place of another, with some numbers changed."""
        return self.get_rank(**{**self.get_coord(global_rank)._asdict(), **kwargs})


class HybridCommunicateGroup:
    """The groups of this process along the axes of a topology. Every process makes it, since it makes groups."""

    def __init__(self, topology: CommunicateTopology, hybrid_configs: Any = None):
        self._topology = topology
        self.global_rank = get_rank()
        self.nranks = topology.world_size()
        self._place = topology.get_coord(self.global_rank)._asdict()
        self._groups: dict[tuple, Group] = {}
        for name in topology.get_hybrid_group_names():
            self._make((name,))
        self._checks = {False: self._make(("data", "pipe", "sharding", "model")), True: self._make(("pipe", "model"))}

    def _make(self, axes: tuple) -> Group:
        """The groups over some axes, of which this process gets its own."""
        known = [a for a in axes if a in self._place]
        if tuple(known) not in self._groups:
            for ranks in self._topology.get_fused_ranks(known):
                group = new_group(ranks)
                if self.global_rank in ranks:
                    self._groups[tuple(known)] = group
        return self._groups[tuple(known)]

    def _rank(self, axis: str) -> int:
        return self._place.get(axis, 0)

    def _size(self, axis: str) -> int:
        return self._topology.get_dim(axis) if axis in self._place else 1

    def topology(self) -> CommunicateTopology:
        """The grid."""
        return self._topology

    def get_global_rank(self) -> int:
        """The rank in the job."""
        return self.global_rank

    def get_parallel_mode(self) -> int:
        """The kind of parallelism, a number of `ParallelMode`."""
        if self._size("pipe") > 1:
            return ParallelMode.PIPELINE_PARALLEL
        if self._size("model") > 1:
            return ParallelMode.TENSOR_PARALLEL
        if self._size("sharding") > 1:
            return ParallelMode.SHARDING_PARALLEL
        return ParallelMode.SEGMENT_PARALLEL if self._size("sep") > 1 else ParallelMode.DATA_PARALLEL

    def get_stage_id(self) -> int:
        """The number of the pipeline stage."""
        return self._rank("pipe")

    def get_check_parallel_group(self, sharding: bool = False) -> Group:
        """The group over which gradients are checked and clipped."""
        return self._checks[bool(sharding)]

    def get_rank_from_stage(self, stage_id: int, **kwargs: int) -> int:
        """The rank at the place of this process in another stage."""
        return self._topology.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    def create_fuse_group(self, fused_strategy_list: list[str], nccl_config: Any = None) -> tuple[list, list]:
        """The group over several axes, as a list of it, and its ranks."""
        group = self._make(tuple(fused_strategy_list))
        return [group], [group.ranks]


def _add_questions(axis: str, word: str) -> None:
    def rank(self: HybridCommunicateGroup) -> int:
        return self._rank(axis)

    def size(self: HybridCommunicateGroup) -> int:
        return self._size(axis)

    def group(self: HybridCommunicateGroup) -> Group:
        return self._groups[(axis,)]

    def source(self: HybridCommunicateGroup) -> int:
        return self._groups[(axis,)].ranks[0]

    for name, function, says in (
        (f"get_{word}_parallel_rank", rank, "The number of this process on the axis"),
        (f"get_{word}_parallel_world_size", size, "The length of the axis"),
        (f"get_{word}_parallel_group", group, "The group along the axis"),
        (f"get_{word}_parallel_group_src_rank", source, "The rank of the first process of the group along the axis"),
    ):
        function.__name__, function.__doc__ = name, f"{says} of {word} parallelism."
        setattr(HybridCommunicateGroup, name, function)


for _axis, _word in (
    ("data", "data"),
    ("model", "model"),
    ("pipe", "pipe"),
    ("sharding", "sharding"),
    ("sep", "sep"),
    ("context", "context"),
):
    _add_questions(_axis, _word)
