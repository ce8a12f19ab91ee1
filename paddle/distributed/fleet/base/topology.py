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


class NCCLConfig(dict):
    """Settings of NCCL for a group."""


def create_nccl_config(nccl_config: dict[str, int | str] | None = None) -> NCCLConfig | None:
    """Settings of NCCL, for `new_group(nccl_config=...)`. XLA makes the communicators itself, so they are only noted.

    Args:
        nccl_config: a dict with some of commName, ll_buffsize, ll128_buffsize, simple_buffsize, buffsize_align,
            nchannels, algoStr, protoStr; None gives None.

    Raises:
        ValueError: another key; a value of the wrong type.

    Example:
        >>> paddle.distributed.create_nccl_config({"commName": "tp", "nchannels": 4})["nchannels"]
        4
    """
    if nccl_config is None:
        return None
    if not isinstance(nccl_config, dict):
        raise errors.TypeError_(f"create_nccl_config: nccl_config must be a dict, got {errors.describe(nccl_config)}")
    for key, value in nccl_config.items():
        kind = _NCCL.get(key)
        if kind is None or not isinstance(value, kind):
            allowed = f"one of {', '.join(_NCCL)}" if kind is None else f"of type {kind.__name__}"
            raise errors.ValueError_(f"create_nccl_config: {key!r}: {value!r} must be {allowed}")
    return NCCLConfig(nccl_config)


_NCCL = {
    **dict.fromkeys(("commName", "algoStr", "protoStr"), str),
    **dict.fromkeys(("ll_buffsize", "ll128_buffsize", "simple_buffsize", "buffsize_align", "nchannels"), int),
}


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
        names = topology.get_hybrid_group_names()
        self._start(topology, {axis: [axis] if axis in names else [] for axis in AXES}, ["sharding"])

    def _start(self, topology: CommunicateTopology, axes: dict[str, list[str]], sharded: list[str]) -> None:
        """Make the groups. `axes` tells of which of the topology an axis is made; `sharded`: what is checked apart."""
        global _HYBRID_PARALLEL_GROUP
        self._topo, self._axes = topology, axes
        self.global_rank, self.nranks = get_rank(), get_world_size()
        if topology.world_size() != self.nranks:
            raise errors.ValueError_(
                f"HybridCommunicateGroup: the topology has {topology.world_size()} places "
                f"({', '.join(f'{n}={topology.get_dim(n)}' for n in topology.get_hybrid_group_names())}), but the job has "
                f"{self.nranks} processes"
            )
        self._groups: dict[frozenset, Group] = {}
        for axis in axes:
            self._make(axis)
        for fused in (("data", "sep"), ("pipe", "model"), ("context", "model"), MODEL_AXES):
            self._make(*fused)
        names = topology.get_hybrid_group_names()
        self._checks = {
            False: self._mine(topology.get_fused_ranks([n for n in names if n != "data"])),
            True: self._mine(topology.get_fused_ranks([n for n in names if n not in sharded])),
        }
        ring = self._groups[frozenset(["pipe"])]
        self.stage_id = ring.rank
        self.is_first_stage = self.stage_id == 0
        self.is_last_stage = self.stage_id == ring.nranks - 1
        self.next_rank = ring.ranks[(self.stage_id + 1) % ring.nranks]
        self.prev_rank = ring.ranks[self.stage_id - 1]
        self._neighbours: tuple | None = None
        wanted = os.environ.get("PADDLE_USE_FOUR_DIRECTIONS_P2P", "").lower() in ("1", "true", "yes", "on")
        if ring.nranks > 1 and wanted:
            self._neighbours = self._four_directions()
        _HYBRID_PARALLEL_GROUP = self

    def _lists(self, axes: tuple) -> list[list[int]]:
        """The ranks of all groups over some axes."""
        parts = {n for axis in axes for n in self._axes[axis]}
        return self._topo.get_fused_ranks([n for n in self._topo.get_hybrid_group_names() if n in parts])

    def _mine(self, lists: list[list[int]]) -> Group:
        """Make groups, of which this process gets its own."""
        made = [new_group(ranks) for ranks in lists]
        return next(group for group in made if self.global_rank in group.ranks)

    def _make(self, *axes: str) -> Group:
        """The group over some axes, made when it is new."""
        key = frozenset(axes)
        if key not in self._groups:
            self._groups[key] = self._mine(self._lists(axes))
        return self._groups[key]

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

    def _size(self, axis: str) -> int:
        return self._groups[frozenset([axis])].nranks

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
            if axis not in self._axes:
                self._topo.get_dim(axis)
        group = self._make(*fused_strategy_list)
        return group.ranks, group


class EPHybridCommunicateGroup(HybridCommunicateGroup):
    """The groups of a job whose experts are spread over processes: beside those of the other layers there are "expert"
    and "moe_sharding". The processes that share the work of other layers (sharding and tensor parallelism within a part
    of "moe_sharding") share the experts; the axis of sharding is "moe_sharding" times the rest of it, and "context" lies
    within it.

    Args:
        hybrid_group_names: the axes, among them "pipe", "moe_sharding", "expert" and "sharding"; "data" and "sep" have
            length 1.
        dims: their lengths.

    Raises:
        ValueError: lengths that do not go together, or axes that are missing.
    """

    def __init__(
        self,
        hybrid_group_names: list[str] = [
            "pipe",
            "moe_sharding",
            "expert",
            "data",
            "sharding",
            "sep",
            "context",
            "model",
        ],
        dims: list[int] = [1, 1, 1, 1, 1, 1, 1, 1],
        hybrid_configs: Any = None,
    ):
        length = dict(zip(hybrid_group_names, dims))
        missing = sorted({"pipe", "moe_sharding", "expert", "sharding"} - set(length))
        if missing:
            raise errors.ValueError_(f"EPHybridCommunicateGroup: hybrid_group_names lacks {missing[0]!r}")
        outer, self._contexts = length["moe_sharding"], length.get("context", 1)
        whole, parts = length["sharding"], outer * length["expert"] * length["pipe"]
        rest = {n: d for n, d in length.items() if n not in ("moe_sharding", "sharding", "expert", "context")}
        others = int(np.prod(list(rest.values()))) * whole
        if (
            whole % outer
            or whole % self._contexts
            or parts != others
            or length.get("data", 1) * length.get("sep", 1) > 1
        ):
            raise errors.ValueError_(
                "EPHybridCommunicateGroup: sharding must be divisible by moe_sharding and by context, data and sep must be "
                f"1, and pipe x moe_sharding x expert ({parts}) must be the product of the others ({others}); got "
                + ", ".join(f"{n}={d}" for n, d in length.items())
            )
        names = list(rest)
        place = names.index("pipe")
        before = hybrid_group_names.index("moe_sharding") < hybrid_group_names.index("pipe")
        names[place : place + 1] = (
            ["moe_sharding", "pipe", "dense_sharding"] if before else ["pipe", "moe_sharding", "dense_sharding"]
        )
        rest |= {"moe_sharding": outer, "dense_sharding": whole // outer}
        within = [n for n in names if n not in ("pipe", "moe_sharding")]
        axes = {axis: [axis] if axis in rest else [] for axis in AXES if axis not in ("sharding", "context")}
        axes |= {"sharding": ["moe_sharding", "dense_sharding"], "moe_sharding": ["moe_sharding"], "expert": within}
        axes |= {"context": [], "cp_sharding": []}
        self._start(CommunicateTopology(names, [rest[n] for n in names]), axes, ["moe_sharding"])

    def _lists(self, axes: tuple) -> list[list[int]]:
        whole, n = [sorted(ranks) for ranks in super()._lists(("sharding",))], self._contexts
        contexts = [ranks[i : i + n] for ranks in whole for i in range(0, len(ranks), n)]
        if axes == ("context",):
            return contexts
        if axes == ("cp_sharding",):
            return [ranks[i::n] for ranks in whole for i in range(n)]
        if "context" in axes:  # with "model": the context groups of the ranks of a tensor parallel group
            of = {rank: ranks for ranks in contexts for rank in ranks}
            joined = (sorted({r for rank in ranks for r in of[rank]}) for ranks in super()._lists(("model",)))
            return [list(ranks) for ranks in dict.fromkeys(map(tuple, joined))]
        return super()._lists(axes)

    def get_sharding_parallel_rank(self, with_context_parallel: bool = False) -> int:
        """The number of this process on the axis of sharding, or of what context parallelism leaves of it."""
        return self._groups[frozenset(["cp_sharding" if with_context_parallel else "sharding"])].rank

    def get_sharding_parallel_world_size(self, with_context_parallel: bool = False) -> int:
        """The length of the same."""
        return self._size("cp_sharding" if with_context_parallel else "sharding")


def _add_questions(axis: str, word: str, owner: type) -> None:
    def group(self: HybridCommunicateGroup) -> Group:
        return self._groups[frozenset([axis])]

    def rank(self: HybridCommunicateGroup) -> int:
        return group(self).rank

    def size(self: HybridCommunicateGroup) -> int:
        return group(self).nranks

    def source(self: HybridCommunicateGroup) -> int:
        return group(self).ranks[0]

    for name, function, says in (
        (f"get_{word}_parallel_rank", rank, "The number of this process on the axis"),
        (f"get_{word}_parallel_world_size", size, "The length of the axis"),
        (f"get_{word}_parallel_group", group, "The group along the axis"),
        (f"get_{word}_parallel_group_src_rank", source, "The rank of the first process of the group along the axis"),
    ):
        if name not in vars(owner):
            function.__name__, function.__doc__ = name, f"{says} of {word} parallelism."
            setattr(owner, name, function)


for _axis in AXES:
    _add_questions(_axis, _axis, HybridCommunicateGroup)
for _axis in ("expert", "moe_sharding", "cp_sharding"):
    _add_questions(_axis, _axis, EPHybridCommunicateGroup)
