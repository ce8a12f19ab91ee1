"""The front of distributed training: who this process is, and models and optimizers that know of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor
from .. import world
from ..communication import objects
from ..communication.group import barrier, group_of
from ..parallel import DataParallel, init_parallel_env
from .base.distributed_strategy import DistributedStrategy
from .base.role_maker import PaddleCloudRoleMaker
from .base.topology import CommunicateTopology, HybridCommunicateGroup

_OTHER_DEGREES = ("mp_degree", "pp_degree", "sharding_degree", "sep_degree", "ep_degree")


class UtilBase:
    """Small things that processes do together (`fleet.util`)."""

    def __init__(self, fleet: Fleet | None = None):
        self._fleet = fleet

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> Any:
        """Combine a number or an array of all processes.

        Args:
            input: a number, list or array, of the same shape in all processes.
            mode: "sum", "min" or "max".
            comm_world: "worker".

        Returns:
            An ndarray.
        """
        if mode not in ("sum", "min", "max"):
            raise errors.ValueError_(f"all_reduce: mode must be 'sum', 'min' or 'max', got {mode!r}")
        value = np.asarray(input.numpy() if isinstance(input, Tensor) else input)
        everyone = self.all_gather(value, comm_world)
        return getattr(np, mode)(np.stack(everyone), axis=0)

    def all_gather(self, input: Any, comm_world: str = "worker") -> list:
        """The values of all processes."""
        _only_workers(comm_world)
        return objects.exchange(input, group_of(None, "all_gather"), "all_gather") if world.is_connected() else [input]

    def barrier(self, comm_world: str = "worker") -> None:
        """Wait for all processes."""
        _only_workers(comm_world)
        if world.is_connected():
            barrier()

    def get_file_shard(self, files: list[str]) -> list[str]:
        """The part of a list of files that is this process's: equal ones, the first a file more."""
        if not isinstance(files, list):
            raise errors.TypeError_(f"get_file_shard: files must be a list, got {errors.describe(files)}")
        rank, size = _identity()
        ends = np.cumsum([0, *(len(files) // size + (i < len(files) % size) for i in range(size))])
        return files[ends[rank] : ends[rank + 1]]

    get_heter_file_shard = get_file_shard

    def print_on_rank(self, message: Any, rank_id: int) -> None:
        """Print in one process only."""
        if _identity()[0] == rank_id:
            print(message, flush=True)


def _only_workers(comm_world: str) -> None:
    if comm_world != "worker":
        raise errors.NotImplemented_(f"fleet.util: comm_world={comm_world!r}")


def _identity() -> tuple[int, int]:
    if world.is_connected():
        return world.current().rank, world.current().size
    return world.rank_of_environment(), world.size_of_environment()


class Fleet:
    """Distributed training behind one object; the functions of `paddle.distributed.fleet` are the methods of one."""

    def __init__(self) -> None:
        self._role_maker: Any = None
        self._strategy = DistributedStrategy()
        self._groups: HybridCommunicateGroup | None = None
        self._is_collective = False
        self.util = UtilBase(self)

    def init(
        self, role_maker: Any = None, is_collective: bool = False, strategy: Any = None, log_level: Any = "INFO"
    ) -> Fleet:
        """Find out who this process is and, with `is_collective=True`, connect it with the others.

        Args:
            role_maker: who it is, default a PaddleCloudRoleMaker.
            is_collective: training by collectives.
            strategy: a DistributedStrategy. Built: data parallelism.

        Raises:
            TypeError: arguments of other types.
            ValueError: degrees that do not multiply to the number of processes.

        Example:
            >>> from paddle.distributed import fleet
            >>> fleet.init(is_collective=True)  # doctest: +SKIP
        """
        if strategy is not None and not isinstance(strategy, DistributedStrategy):
            raise errors.TypeError_(
                f"fleet.init: strategy must be a DistributedStrategy, got {errors.describe(strategy)}"
            )
        if role_maker is not None and not isinstance(role_maker, PaddleCloudRoleMaker):
            raise errors.TypeError_(f"fleet.init: role_maker must be a role maker, got {errors.describe(role_maker)}")
        self._role_maker = PaddleCloudRoleMaker(is_collective) if role_maker is None else role_maker
        self._is_collective = self._role_maker._is_collective
        self._strategy = DistributedStrategy() if strategy is None else strategy
        if self._is_collective:
            init_parallel_env()
            self._arrange()
        return self

    def _arrange(self) -> None:
        degrees, size = self._strategy.hybrid_configs, world.current().size
        others = {name: degrees[name] for name in _OTHER_DEGREES if degrees[name] not in (1, -1)}
        if others:
            raise errors.NotImplemented_(
                "fleet.init: of hybrid_configs only dp_degree is built, got "
                + ", ".join(f"{name}={value}" for name, value in others.items())
            )
        if degrees["dp_degree"] not in (-1, 0, 1, size):
            raise errors.ValueError_(
                f"fleet.init: dp_degree must be the number of processes ({size}), got {degrees['dp_degree']}"
            )
        names = ["data", "pipe", "sharding", "sep", "model"]
        self._groups = HybridCommunicateGroup(CommunicateTopology(names, [size, 1, 1, 1, 1]))

    def _role(self) -> Any:
        if self._role_maker is None:
            raise errors.RuntimeError_("fleet: call fleet.init() first")
        return self._role_maker

    def get_hybrid_communicate_group(self) -> HybridCommunicateGroup:
        """The groups of this process."""
        if self._groups is None:
            raise errors.RuntimeError_("fleet: call fleet.init(is_collective=True) first")
        return self._groups

    def get_hybrid_parallel_topology(self) -> CommunicateTopology:
        """The grid of the processes."""
        return self.get_hybrid_communicate_group().topology()

    # ---- who is who ----
    def is_first_worker(self) -> bool:
        """Whether this is trainer 0."""
        return self._role()._is_first_worker()

    def worker_index(self) -> int:
        """The number of this trainer."""
        return self._role()._worker_index()

    def worker_num(self) -> int:
        """The number of trainers."""
        return self._role()._worker_num()

    def node_num(self) -> int:
        """The number of machines."""
        return max(1, len({e.rsplit(":", 1)[0] for e in self.worker_endpoints()}))

    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return world.ParallelEnv()._local_rank

    def local_device_ids(self) -> list[int]:
        """The devices of this process."""
        return [world.ParallelEnv().device_id]

    def world_device_ids(self) -> list[list[int]]:
        """The devices of all processes."""
        return self.util.all_gather(self.local_device_ids())

    def is_worker(self) -> bool:
        """Whether this is a trainer."""
        return self._role()._is_worker()

    def is_server(self) -> bool:
        """Whether this is a parameter server."""
        return self._role()._is_server()

    def is_coordinator(self) -> bool:
        """Whether this is a coordinator."""
        return self._role()._is_coordinator()

    def worker_endpoints(self, to_string: bool = False) -> Any:
        """Host and port of all trainers."""
        found = self._role()._get_trainer_endpoints()
        return ",".join(found) if to_string else found

    def server_num(self) -> int:
        """The number of parameter servers."""
        return self._role()._server_num()

    def server_index(self) -> int:
        """The number of this server."""
        return self._role()._server_index()

    def server_endpoints(self, to_string: bool = False) -> Any:
        """Host and port of all servers."""
        found = self._role()._get_pserver_endpoints()
        return ",".join(found) if to_string else found

    def barrier_worker(self) -> None:
        """Wait for all trainers."""
        self.util.barrier()

    def all_reduce(self, input: Any, mode: str = "sum") -> Any:
        """See `UtilBase.all_reduce`."""
        return self.util.all_reduce(input, mode)

    # ---- training ----
    def distributed_model(self, model: Any) -> Any:
        """The model for training with the other processes: in `DataParallel`, or itself where there are none."""
        self.get_hybrid_communicate_group()
        if world.current().size == 1:
            return model
        s = self._strategy
        return DataParallel(
            model,
            comm_buffer_size=s.fuse_grad_size_in_MB,
            last_comm_buffer_size=s.last_comm_group_size_MB,
            find_unused_parameters=s.find_unused_parameters,
        )

    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> Any:
        """The optimizer for training with the other processes. Data parallelism needs no other: the gradients are averages
        already."""
        if strategy is not None:
            self._strategy = strategy
        if not self._is_collective:
            raise errors.NotImplemented_("fleet.distributed_optimizer: parameter servers")
        self._optimizer = optimizer
        return optimizer

    def distributed_scaler(self, scaler: Any) -> Any:
        """The GradScaler for training with the other processes: averaged gradients overflow in all of them at once."""
        return scaler

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> Any:
        """`minimize` of the optimizer given to `distributed_optimizer`."""
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
