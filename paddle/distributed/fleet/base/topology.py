"""Processes in a grid, one axis for each kind of parallelism, and the groups along its axes."""

from __future__ import annotations

import os
from collections import namedtuple
from typing import Any

import numpy as np

from ....engine import errors
from ...communication.group import Group, get_rank, get_world_size, new_group

AXES = ("data", "pipe", "sharding", "sep", "context", "model")
MODEL_AXES = ("pipe", "sharding", "model")  # along which the parts of a model, or of its optimizer, lie


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
        return self._grid.transpose(rest + moved).reshape(-1, length).tolist()

    def get_rank_from_stage(self, global_rank: int, **kwargs: int) -> int:
        """The rank at the place of another, with some numbers changed."""
        return self.get_rank(**{**self.get_coord(global_rank)._asdict(), **kwargs})


_HYBRID_PARALLEL_GROUP: HybridCommunicateGroup | None = None  # the newest; layers made without a group use it


def current_groups() -> HybridCommunicateGroup | None:
    """The HybridCommunicateGroup made last, None before `fleet.init(is_collective=True)`."""
    return _HYBRID_PARALLEL_GROUP


class HybridCommunicateGroup:
    """The groups of this process along the axes of a topology ("data", "model", "pipe", "sharding", "sep", "context";
    an axis that the topology lacks has length 1). Every process makes it, since it makes groups.

    Attributes: `nranks`, `global_rank`, `stage_id`, `is_first_stage`, `is_last_stage`, `next_rank` and `prev_rank` (the
    neighbours in the pipeline, which is closed to a ring).

    Raises:
        ValueError: a topology of another size than the job.

    Example:
        >>> groups = paddle.distributed.fleet.HybridCommunicateGroup(paddle.distributed.fleet.CommunicateTopology())
        >>> groups.get_model_parallel_rank(), groups.get_model_parallel_world_size()
        (0, 1)
    """

    def __init__(self, topology: CommunicateTopology, hybrid_configs: Any = None):
        global _HYBRID_PARALLEL_GROUP
        self._topo = topology
        self.global_rank, self.nranks = get_rank(), get_world_size()
        if topology.world_size() != self.nranks:
            raise errors.ValueError_(
                f"HybridCommunicateGroup: the topology has {topology.world_size()} places "
                f"({', '.join(f'{n}={topology.get_dim(n)}' for n in topology.get_hybrid_group_names())}), but the job has "
                f"{self.nranks} processes"
            )
        self._place = topology.get_coord(self.global_rank)._asdict()
        self._groups: dict[frozenset, Group] = {}
        for axis in AXES:
            self._make(axis)
        for axes in (("data", "sep"), ("pipe", "model"), ("context", "model"), MODEL_AXES):
            self._make(*axes)
        self._checks = {
            False: self._make(*(a for a in self._place if a != "data")),
            True: self._make(*(a for a in self._place if a != "sharding")),
        }
        self.stage_id = self._rank("pipe")
        self.is_first_stage = self.stage_id == 0
        self.is_last_stage = self.stage_id == self._size("pipe") - 1
        ring = self._groups[frozenset(["pipe"])].ranks
        self.next_rank = ring[(self.stage_id + 1) % len(ring)]
        self.prev_rank = ring[self.stage_id - 1]
        self._neighbours: tuple | None = None
        if len(ring) > 1 and os.environ.get("PADDLE_USE_FOUR_DIRECTIONS_P2P", "").lower() in ("1", "true", "yes", "on"):
            self._neighbours = self._four_directions()
        _HYBRID_PARALLEL_GROUP = self

    def _make(self, *axes: str) -> Group:
        """The groups over some axes, of which this process gets its own."""
        known = [a for a in self._topo.get_hybrid_group_names() if a in axes]
        found = self._groups.get(frozenset(axes))
        if found is None:
            for ranks in self._topo.get_fused_ranks(known):
                group = new_group(ranks)
                if self.global_rank in ranks:
                    found = self._groups[frozenset(axes)] = group
        return found  # type: ignore[return-value]

    def _four_directions(self) -> tuple:
        """Groups of two: to the next stage, to the one before, from the next, from the one before."""
        own: dict[str, Group] = {}
        for ring in self._topo.get_comm_list("pipe"):
            for i, rank in enumerate(ring):
                after, before = ring[(i + 1) % len(ring)], ring[i - 1]
                for other, word, answer in ((after, "send_next", "recv_prev"), (before, "send_prev", "recv_next")):
                    group = new_group([rank, other])
                    if self.global_rank == rank:
                        own[word] = group
                    elif self.global_rank == other:
                        own[answer] = group
        return tuple(own[word] for word in ("send_next", "send_prev", "recv_next", "recv_prev"))

    def _rank(self, axis: str) -> int:
        return self._place.get(axis, 0)

    def _size(self, axis: str) -> int:
        return self._topo.get_dim(axis) if axis in self._place else 1

    def topology(self) -> CommunicateTopology:
        """The grid."""
        return self._topo

    def get_global_rank(self) -> int:
        """The rank in the job."""
        return self.global_rank

    def get_parallel_mode(self) -> int:
        """The kind of parallelism that drives the others, a number of `ParallelMode`: pipeline before tensor, segment,
        sharding and data parallelism."""
        if self._size("pipe") > 1:
            return ParallelMode.PIPELINE_PARALLEL
        if self._size("model") > 1:
            return ParallelMode.TENSOR_PARALLEL
        if self._size("sep") > 1:
            return ParallelMode.SEGMENT_PARALLEL
        return ParallelMode.SHARDING_PARALLEL if self._size("sharding") > 1 else ParallelMode.DATA_PARALLEL

    def get_stage_id(self) -> int:
        """The number of the pipeline stage."""
        return self.stage_id

    def get_p2p_groups(self) -> tuple:
        """Groups of two with the neighbours in the pipeline: send to the next, send to the one before, receive from the
        next, receive from the one before. Made where the variable PADDLE_USE_FOUR_DIRECTIONS_P2P is set."""
        if self._neighbours is None:
            raise errors.RuntimeError_(
                "get_p2p_groups: set the variable PADDLE_USE_FOUR_DIRECTIONS_P2P to 1 before fleet.init, with pp_degree > 1"
            )
        return self._neighbours

    def get_check_parallel_group(self, sharding: bool = False) -> Group:
        """The processes that hold parts of one copy of the model, over which gradients are checked and clipped: all with
        this one's place on the axis of data parallelism, or (`sharding`) on that of sharding."""
        return self._checks[bool(sharding)]

    def get_rank_from_stage(self, stage_id: int, **kwargs: int) -> int:
        """The rank at the place of this process in another stage."""
        return self._topo.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    def get_dp_sep_parallel_group(self) -> Group:
        """The group over the axes of data and segment parallelism."""
        return self._make("data", "sep")

    def get_pp_mp_parallel_group(self) -> Group:
        """The group over the axes of pipeline and tensor parallelism."""
        return self._make("pipe", "model")

    def get_cp_mp_parallel_group(self) -> Group:
        """The group over the axes of context and tensor parallelism."""
        return self._make("context", "model")

    def get_model_parts_group(self) -> Group:
        """The group over the axes of pipeline, sharding and tensor parallelism: the parts of one model."""
        return self._make(*MODEL_AXES)

    def get_moe_sharding_parallel_world_size(self) -> int:
        """0: experts are not spread here."""
        return 0

    def create_fuse_group(self, fused_strategy_list: list[str], nccl_config: Any = None) -> tuple[list[int], Group]:
        """The ranks of the group over several axes, and the group. Every process calls it."""
        if not fused_strategy_list:
            raise errors.ValueError_("create_fuse_group: fused_strategy_list must name at least one axis, got []")
        for axis in fused_strategy_list:
            self._topo.get_dim(axis)
        group = self._make(*fused_strategy_list)
        return group.ranks, group


def _add_questions(axis: str, word: str) -> None:
    def rank(self: HybridCommunicateGroup) -> int:
        return self._rank(axis)

    def size(self: HybridCommunicateGroup) -> int:
        return self._size(axis)

    def group(self: HybridCommunicateGroup) -> Group:
        return self._groups[frozenset([axis])]

    def source(self: HybridCommunicateGroup) -> int:
        return self._groups[frozenset([axis])].ranks[0]

    for name, function, says in (
        (f"get_{word}_parallel_rank", rank, "The number of this process on the axis"),
        (f"get_{word}_parallel_world_size", size, "The length of the axis"),
        (f"get_{word}_parallel_group", group, "The group along the axis"),
        (f"get_{word}_parallel_group_src_rank", source, "The rank of the first process of the group along the axis"),
    ):
        function.__name__, function.__doc__ = name, f"{says} of {word} parallelism."
        setattr(HybridCommunicateGroup, name, function)


for _axis in AXES:
    _add_questions(_axis, _axis)
