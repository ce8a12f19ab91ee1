"""How long collectives take: tests of the network before a training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ... import device
from ...engine import errors
from ...engine.tensor import Tensor
from ...ops.creation import empty, zeros
from ..communication import collectives, stream
from ..communication.group import Group, barrier
from .utils.log_util import logger

SIZES = [2**i for i in range(20, 31)]  # bytes; 1 MB to 1 GB


def _reduce_scatter(x: Tensor, group: Group) -> None:
    out = empty([x.shape[0] // group.nranks, *x.shape[1:]], x.dtype)
    stream.reduce_scatter(out, x, group=group)


_CALLS: dict[str, Callable] = {
    "allreduce": lambda x, group: collectives.all_reduce(x, group=group),
    "reduce": lambda x, group: collectives.reduce(x, group.ranks[0], group=group),
    "broadcast": lambda x, group: collectives.broadcast(x, group.ranks[0], group=group),
    "allgather": lambda x, group: collectives.all_gather([], x, group=group),
    "reduce_scatter": _reduce_scatter,
}


class CollectiveTests:
    """The methods of Fleet that time collectives. Each logs seconds a call, with a warning above a limit."""

    def _time(self, kind: str, iteration: int, x: Tensor, group: Group | None, size: int, limit: float) -> None:
        if group is None or group.nranks <= 1:
            logger.warning("%s_perf: there is no group of several processes", kind)
            return
        if kind == "reduce_scatter" and x.shape[0] % group.nranks:
            logger.warning("reduce_scatter_perf: %d elements for %d processes", x.shape[0], group.nranks)
            return
        barrier(group)
        device.synchronize()
        start = time.perf_counter()
        for _ in range(iteration):
            _CALLS[kind](x, group)
        device.synchronize()
        seconds = (time.perf_counter() - start) / max(iteration, 1)
        logger.info("%s of %d bytes: %.3g s", kind, size, seconds)
        if -1 < limit < seconds:
            logger.warning("%s of %d bytes: %.3g s, more than %g s", kind, size, seconds, limit)

    def allreduce_perf(
        self,
        iteration: int,
        x: Tensor,
        group: Group,
        perf_size: int,
        perf_threshold_time: float,
        warmup: bool = False,
    ) -> None:
        """Time `all_reduce` of x, which has `perf_size` bytes."""
        if not warmup:
            self._time("allreduce", iteration, x, group, perf_size, perf_threshold_time)
        elif group is not None and group.nranks > 1:
            for _ in range(iteration):
                _CALLS["allreduce"](x, group)

    def reduce_perf(self, iteration: int, x: Tensor, group: Group, perf_size: int, perf_threshold_time: float) -> None:
        """Time `reduce`."""
        self._time("reduce", iteration, x, group, perf_size, perf_threshold_time)

    def broadcast_perf(
        self, iteration: int, x: Tensor, group: Group, perf_size: int, perf_threshold_time: float
    ) -> None:
        """Time `broadcast`."""
        self._time("broadcast", iteration, x, group, perf_size, perf_threshold_time)

    def allgather_perf(
        self, iteration: int, x: Tensor, group: Group, perf_size: int, perf_threshold_time: float
    ) -> None:
        """Time `all_gather`."""
        self._time("allgather", iteration, x, group, perf_size, perf_threshold_time)

    def reduce_scatter_perf(
        self, iteration: int, x: Tensor, group: Group, perf_size: int, perf_threshold_time: float
    ) -> None:
        """Time `reduce_scatter`."""
        self._time("reduce_scatter", iteration, x, group, perf_size, perf_threshold_time)

    def collective_perf(self, comm_type: str, round: int = 50, size_and_time: dict[int, float] = {}) -> None:
        """Time a kind of collective over the groups of `fleet.init`, for several sizes.

        Args:
            comm_type: "allreduce", "reduce", "broadcast" (over data or sharding parallelism), "allgather" or
                "reduce_scatter" (over tensor parallelism).
            round: how many calls are timed.
            size_and_time: {bytes: seconds above which a warning is logged}; by default 1 MB to 1 GB without a limit.

        Raises:
            ValueError: another `comm_type`, a size that is not positive.
        """
        if comm_type not in _CALLS:
            raise errors.ValueError_(f"collective_perf: comm_type must be one of {sorted(_CALLS)}, got {comm_type!r}")
        groups: Any = self.get_hybrid_communicate_group()  # type: ignore[attr-defined]
        data, sharding = groups.get_data_parallel_group(), groups.get_sharding_parallel_group()
        group = data if data.nranks > 1 else sharding
        if comm_type in ("allgather", "reduce_scatter"):
            group = groups.get_model_parallel_group()
        for size, limit in (size_and_time or dict.fromkeys(SIZES, math.inf)).items():
            if size <= 0:
                raise errors.ValueError_(f"collective_perf: a size must be positive, got {size}")
            x = zeros([max(size // 4, 1)], "float32")
            self.allreduce_perf(2, x, group, size, -1, warmup=True)
            self._time(comm_type, round, x, group, size, limit)
