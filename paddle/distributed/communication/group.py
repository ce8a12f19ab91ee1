"""Groups of processes."""

from __future__ import annotations

import datetime
import functools
import itertools
import warnings
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ...engine import errors
from ...engine.tensor import Tensor
from .. import world
from . import watch

_groups: dict[int, Group] = {}
_numbers = itertools.count(10)  # as officially: the first numbers are kept for groups of the framework


class Group:
    """Some of the processes of a job, numbered in the order of their ranks.

    Attributes: `rank` (the number of this process in the group, -1 outside), `ranks`, `nranks` = `world_size`, `id`,
    `name`, `backend`.
    """

    def __init__(
        self,
        rank_in_group: int,
        id: int,
        ranks: list[int],
        pg: Any = None,
        name: str | None = None,
        timeout: float = world.TIMEOUT,
        backend: str | None = None,
    ):
        self.rank = rank_in_group
        self.id = id
        self.ranks = ranks
        self.nranks = self.world_size = len(ranks)
        self.name = name or f"_default_pg{id}"
        self.timeout = timeout
        self._backend = backend
        self._number = 0  # of the next collective, for barriers and checks
        self._calls = 0  # how many collectives were called, see `watch`
        self._shut = False

    def __deepcopy__(self, memo: dict) -> Group:
        return self

    @functools.cached_property
    def mesh(self) -> Mesh:
        """The devices of the members, one for each, in a mesh with the axis "ranks"."""
        devices = world.current().devices
        return Mesh(np.array([devices[r] for r in self.ranks]), ("ranks",))

    @property
    def process_group(self) -> Group:
        return self

    @property
    def backend(self) -> str:
        """ "GLOO" on CPUs, "NCCL" on GPUs, "XLA" on others, or what the group was made with."""
        if self._backend is not None:
            return self._backend
        return {"cpu": "GLOO", "gpu": "NCCL", "cuda": "NCCL"}.get(world.current().devices[0].platform, "XLA")

    def is_member(self) -> bool:
        """Whether this process belongs to the group of at least two."""
        return self.rank >= 0 and self.nranks >= 2

    def get_group_rank(self, rank: int) -> int:
        """The number in the group of a process of the job, -1 outside."""
        return self.ranks.index(rank) if self.rank >= 0 and rank in self.ranks else -1

    def get_global_rank(self, rank: int) -> int:
        """The number in the job of a process of the group, -1 where there is none."""
        return self.ranks[rank] if self.rank >= 0 and 0 <= rank < self.nranks else -1

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def __repr__(self) -> str:
        members = ", ".join(map(str, self.ranks))
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {members}; name: {self.name}"


def start_global_group(seconds: float) -> Group:
    if 0 not in _groups:
        job = world.current()
        _groups[0] = Group(job.rank, 0, list(range(job.size)), name="_default_pg", timeout=seconds)
    return _groups[0]


def shared_group() -> Group | None:
    """The group of all processes if there are several, else None."""
    found = _groups.get(0)
    return found if found is not None and found.nranks > 1 else None


def group_of(group: Group | None, function: str) -> Group:
    """The group given, or all processes. Raises RuntimeError before `init_parallel_env`."""
    if group is None:
        world.current()
        if 0 not in _groups:
            raise errors.RuntimeError_(f"{function}: the groups were destroyed; call init_parallel_env() again")
        return _groups[0]
    if not isinstance(group, Group):
        raise errors.TypeError_(
            f"{function}: group must be a Group from new_group or None, got {errors.describe(group)}"
        )
    if group.rank >= 0 and _groups.get(group.id) is not group:
        raise errors.RuntimeError_(f"{function}: the group {group.id} was destroyed")
    if group._shut and not function.startswith(("get_", "destroy_")):
        raise errors.RuntimeError_(f"{function}: the group {group.id} was shut down; call restart_process_group first")
    return group


def member_group(group: Group | None, function: str) -> Group | None:
    """The same, None (with a warning) where this process does not take part."""
    found = group_of(group, function)
    if found.rank < 0:
        warnings.warn(f"{function}: this process is not a member of the group {found}; nothing is done", stacklevel=4)
        return None
    return found


def rank_in(group: Group, rank: int, function: str, what: str) -> int:
    """The number in the group of a rank of the job that a caller named."""
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or rank not in group.ranks:
        raise errors.ValueError_(
            f"{function}: {what} must be one of the ranks {group.ranks} of the group, got {rank!r}"
        )
    return group.ranks.index(rank)


_USUAL = datetime.timedelta(minutes=30)  # stands for the time of the job, which PADDLE_PG_TIMEOUT changes


def new_group(
    ranks: list[int] | None = None,
    backend: str | None = None,
    timeout: datetime.timedelta = _USUAL,
    nccl_comm_init_option: int = 0,
    nccl_config: Any = None,
) -> Group:
    """Make a group of some processes. Every process of the job calls it, members or not, in the same order.

    Args:
        ranks: the ranks of the members, by default all.
        backend: a name that the group is to show.
        timeout: how long its communication waits; by default as long as that of all processes (PADDLE_PG_TIMEOUT).

    Raises:
        ValueError: ranks that are no ranks, or come twice.

    Example:
        >>> paddle.distributed.new_group([0]).nranks
        1
    """
    size = world.current().size if world.is_connected() else world.size_of_environment()
    own = world.current().rank if world.is_connected() else world.rank_of_environment()
    if ranks is None:
        ranks = list(range(size))
    if not isinstance(ranks, (list, tuple, range)) or not all(
        isinstance(r, (int, np.integer)) and not isinstance(r, bool) for r in ranks
    ):
        raise errors.TypeError_(f"new_group: ranks must be a list of ints or None, got {ranks!r}")
    ranks = sorted(int(r) for r in ranks)
    if not ranks or len(set(ranks)) < len(ranks) or ranks[0] < 0 or ranks[-1] >= size:
        raise errors.ValueError_(f"new_group: ranks must be different ones of 0 to {size - 1}, got {ranks}")
    if not isinstance(timeout, datetime.timedelta) or timeout.total_seconds() <= 0:
        raise errors.TypeError_(f"new_group: timeout must be a positive datetime.timedelta, got {timeout!r}")
    if len(ranks) > 1:
        world.current()
    seconds = timeout.total_seconds()
    if timeout is _USUAL and world.is_connected():
        seconds = world.current().timeout
    number = next(_numbers)
    rank = ranks.index(own) if own in ranks else -1
    name = None if backend is None else str(backend).upper()
    group = _groups[number] = Group(rank, number, ranks, timeout=seconds, backend=name)
    return group


def get_group(id: int = 0) -> Group | None:
    """The group with a number (0: all processes); None with a warning where there is none."""
    if id not in _groups:
        warnings.warn(f"get_group: there is no group {id}", stacklevel=2)
    return _groups.get(id)


def is_initialized() -> bool:
    """Whether `init_parallel_env` was called.

    Example:
        >>> paddle.distributed.is_initialized()
        False
    """
    return 0 in _groups


def destroy_process_group(group: Group | None = None) -> None:
    """Forget a group, by default all. The connection to the other processes stays until the process ends, and a later
    `init_parallel_env` uses it again."""
    found = group_of(group, "destroy_process_group")
    if found.id == 0:
        _groups.clear()
        if found.nranks == 1:
            world.stop()
    else:
        del _groups[found.id]


def shutdown_process_group(group: Group | None = None) -> None:
    """Let no communication take place in a group, by default in all but that of all processes, until
    `restart_process_group`. There are no communicators to free: XLA holds them for as long as executables need them.

    Example:
        >>> _ = paddle.distributed.init_parallel_env()
        >>> group = paddle.distributed.new_group([0])
        >>> paddle.distributed.shutdown_process_group(group); paddle.distributed.restart_process_group(group)
    """
    _set_shut(group, True, "shutdown_process_group")


def restart_process_group(group: Group | None = None) -> None:
    """Let communication take place again in a group, by default in all that were shut down."""
    _set_shut(group, False, "restart_process_group")


def _set_shut(group: Group | None, shut: bool, function: str) -> None:
    if group is not None and not isinstance(group, Group):
        raise errors.TypeError_(f"{function}: group must be a Group or None, got {errors.describe(group)}")
    for found in [g for number, g in _groups.items() if number or not shut] if group is None else [group]:
        found._shut = shut


def get_backend(group: Group | None = None) -> str:
    """What carries the communication of a group: "GLOO", "NCCL" or "XLA"."""
    return group_of(group, "get_backend").backend


def get_rank(group: Group | None = None) -> int:
    """The number of this process in the job, or in a group (-1 outside of it).

    Example:
        >>> paddle.distributed.get_rank()
        0
    """
    if group is None:
        return world.current().rank if world.is_connected() else world.rank_of_environment()
    return group_of(group, "get_rank").rank


def get_world_size(group: Group | None = None) -> int:
    """The number of processes in the job, or in a group (-1 outside of it).

    Example:
        >>> paddle.distributed.get_world_size()
        1
    """
    if group is None:
        return world.current().size if world.is_connected() else world.size_of_environment()
    group = group_of(group, "get_world_size")
    return group.nranks if group.rank >= 0 else -1


@errors.clean
def barrier(group: Group | None = None, timeout: float | datetime.timedelta | None = None) -> None:
    """Wait until every process of the group is here.

    Args:
        group: by default all processes.
        timeout: seconds or a timedelta; default that of the group.

    Raises:
        TimeoutError: some did not come; the message names their ranks.
    """
    found = member_group(group, "barrier")
    if found is None or found.nranks == 1:
        return
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout
    meet(found, "barrier", found.timeout if seconds is None else float(seconds))


def meet(group: Group, function: str, seconds: float, note: str = "") -> list[str]:
    """Wait for the members of a group, each of which leaves a note; the notes in order."""
    from ..store import Timeout

    store, number = world.current().store, group.next_number()
    keys = [f"meet/{group.id}/{number}/{r}" for r in group.ranks]
    with watch.meeting(group, function):
        store.set(keys[group.rank], note)
        missing = store.missing(keys, seconds)
    if missing:
        names = ", ".join(key.rsplit("/", 1)[1] for key in missing)
        raise Timeout(
            f"(ExecutionTimeout) {function}: after {seconds:g} seconds rank {names} of the group {group.ranks} did not "
            "come: the process hangs, has ended, or called other functions in another order"
        )
    store.delete(f"meet/{group.id}/{number - 2}/{group.ranks[group.rank]}")
    return [store.get(key, seconds).decode() for key in keys] if note else []


def wait(tensor: Tensor, group: Group | None = None, use_calc_stream: bool = True) -> None:
    """Wait until what runs on a tensor is done."""
    if not isinstance(tensor, Tensor):
        raise errors.TypeError_(f"wait: tensor must be a Tensor, got {errors.describe(tensor)}")
    if group_of(group, "wait").rank >= 0:
        jax.block_until_ready(tensor._value)
