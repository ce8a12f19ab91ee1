"""The front of distributed training: who this process is, and models and optimizers that know of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import amp
from ...engine import errors
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from .. import world
from ..communication import objects
from ..communication.group import barrier, group_of
from ..parallel import DataParallel, init_parallel_env
from .base.distributed_strategy import DistributedStrategy
from .base.role_maker import PaddleCloudRoleMaker
from .base.topology import CommunicateTopology, EPHybridCommunicateGroup, HybridCommunicateGroup, ParallelMode
from .runtime.front import ServerMethods
from .timing import CollectiveTests
from .utils.log_util import set_log_level

_AXES = {"dp": "data", "pp": "pipe", "sharding": "sharding", "sep": "sep", "cp": "context", "mp": "model"}
_PLAIN = tuple(_AXES)
_AXES |= {"ep": "expert", "moe_sharding": "moe_sharding"}


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
        servers = _servers(self._fleet)
        if servers is not None:
            return servers.gather(input)
        return objects.exchange(input, group_of(None, "all_gather"), "all_gather") if world.is_connected() else [input]

    def barrier(self, comm_world: str = "worker") -> None:
        """Wait for all processes."""
        _only_workers(comm_world)
        servers = _servers(self._fleet)
        if servers is not None:
            servers.barrier()
        elif world.is_connected():
            barrier()

    def get_file_shard(self, files: list[str]) -> list[str]:
        """The part of a list of files that is this process's: equal ones, the first a file more."""
        if not isinstance(files, list):
            raise errors.TypeError_(f"get_file_shard: files must be a list, got {errors.describe(files)}")
        rank, size = _identity(self._fleet)
        ends = np.cumsum([0, *(len(files) // size + (i < len(files) % size) for i in range(size))])
        return files[ends[rank] : ends[rank + 1]]

    get_heter_file_shard = get_file_shard

    def print_on_rank(self, message: Any, rank_id: int) -> None:
        """Print in one process only."""
        if _identity(self._fleet)[0] == rank_id:
            print(message, flush=True)


def _servers(fleet: Fleet | None) -> Any:
    """What connects the workers of a job with parameter servers, None in others."""
    runtime = None if fleet is None or fleet._role_maker is None else fleet._runtime()
    if runtime is None or runtime.client is None and runtime.role._worker_num() == 1:
        return None
    if runtime.client is None:
        raise errors.RuntimeError_(
            "fleet: workers can wait for each other between init_worker() and stop_worker() only"
        )
    return runtime


def _only_workers(comm_world: str) -> None:
    if comm_world != "worker":
        raise errors.NotImplemented_(f"fleet.util: comm_world={comm_world!r}")


def _identity(fleet: Fleet | None) -> tuple[int, int]:
    role = None if fleet is None else fleet._role_maker
    if role is not None and not role._is_collective:
        return role._worker_index(), role._worker_num()
    if world.is_connected():
        return world.current().rank, world.current().size
    return world.rank_of_environment(), world.size_of_environment()


def _pipeline(model: Any, groups: HybridCommunicateGroup, strategy: DistributedStrategy) -> Any:
    from . import meta_parallel as kinds

    if not isinstance(model, kinds.PipelineLayer):
        raise errors.TypeError_(
            f"fleet.distributed_model: with pp_degree > 1 model must be a PipelineLayer, got {errors.describe(model)}"
        )
    stages, configs = groups.get_pipe_parallel_world_size(), strategy.hybrid_configs["pp_configs"]
    if stages == 1:
        return kinds.NoPipelineParallel(model, strategy, groups)
    if configs.use_dualpipev:
        return kinds.DualPipeVParallel(model, groups, strategy=strategy)
    if model.get_num_virtual_stages() == 1:
        return kinds.PipelineParallel(model, groups, strategy=strategy)
    steps = strategy.pipeline_configs["accumulate_steps"]
    if steps >= 2 * stages:
        return kinds.PipelineParallelWithInterleave(model, groups, strategy=strategy)
    if steps < stages:
        raise errors.ValueError_(
            "fleet.distributed_model: accumulate_steps of pipeline_configs must be at least the number of stages "
            f"({stages}), got {steps}"
        )
    if configs.best_unbalanced_scheduler:
        return kinds.VPPFhenBInBalancedMemory(model, groups, strategy=strategy)
    return kinds.PipelineParallelWithInterleaveFthenB(model, groups, strategy=strategy)


class Fleet(CollectiveTests, ServerMethods):
    """Distributed training behind one object; the functions of `paddle.distributed.fleet` are the methods of one."""

    def __init__(self) -> None:
        self._role_maker: Any = None
        self._user_defined_strategy = DistributedStrategy()
        self._hcg: HybridCommunicateGroup | None = None
        self._is_collective = False
        self.util = UtilBase(self)

    def init(
        self, role_maker: Any = None, is_collective: bool = False, strategy: Any = None, log_level: Any = "INFO"
    ) -> Fleet:
        """Find out who this process is and, with `is_collective=True`, connect it with the others.

        Args:
            role_maker: who it is, default a PaddleCloudRoleMaker.
            is_collective: training by collectives.
            strategy: a DistributedStrategy, whose `hybrid_configs` say how the processes share the work.
            log_level: of `fleet`'s log, see `set_log_level`.

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
        set_log_level(log_level)
        self._role_maker = PaddleCloudRoleMaker(is_collective) if role_maker is None else role_maker
        self._is_collective = self._role_maker._is_collective
        self._user_defined_strategy = DistributedStrategy() if strategy is None else strategy
        if self._is_collective:
            init_parallel_env()
            self._arrange()
        return self

    def _arrange(self) -> None:
        """The grid of the processes: the degrees of `hybrid_configs`, dp_degree=-1 what is left."""
        asked, size = self._user_defined_strategy.hybrid_configs, world.current().size
        degrees = {axis: max(asked[f"{axis}_degree"], 1) for axis in _AXES}
        if asked["dp_degree"] < 0:
            rest = int(np.prod([n for axis, n in degrees.items() if axis in _PLAIN and axis != "dp"]))
            degrees["dp"] = max(size // rest, 1)
        order = self._user_defined_strategy.hybrid_parallel_order
        hidden = [axis for axis, n in degrees.items() if n > 1 and axis not in order]
        if hidden:
            raise errors.ValueError_(
                f"fleet.init: the order {order} lacks {hidden[0]!r}, whose degree is {degrees[hidden[0]]}"
            )
        experts = degrees["ep"] > 1
        product = int(
            np.prod([n for axis, n in degrees.items() if not (experts and axis in ("ep", "moe_sharding", "cp"))])
        )
        if product != size:
            raise errors.ValueError_(
                "fleet.init: the degrees of hybrid_configs must multiply to the number of processes "
                f"({size}), got {', '.join(f'{axis}_degree={n}' for axis, n in degrees.items())}"
            )
        if experts:
            names, dims = [_AXES[a] for a in order], [degrees[a] for a in order]
            self._hcg = EPHybridCommunicateGroup(names, dims, asked)
        else:
            order = [axis for axis in order if axis in _PLAIN]
            order += [axis for axis in _PLAIN if axis not in order]
            topology = CommunicateTopology([_AXES[a] for a in order], [degrees[a] for a in order])
            self._hcg = HybridCommunicateGroup(topology, asked)
        self._topology = self._hcg.topology()
        if degrees["mp"] > 1:
            from .meta_parallel.parallel_layers.random import model_parallel_random_seed

            seed = self._user_defined_strategy.tensor_parallel_configs["tensor_init_seed"]
            model_parallel_random_seed(None if seed == -1 else seed)

    def _role(self) -> Any:
        if self._role_maker is None:
            raise errors.RuntimeError_("fleet: call fleet.init() first")
        return self._role_maker

    def get_hybrid_communicate_group(self) -> HybridCommunicateGroup:
        """The groups of this process."""
        if self._hcg is None:
            raise errors.RuntimeError_("fleet: call fleet.init(is_collective=True) first")
        return self._hcg

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
        """The model for training with the other processes, by what `hybrid_configs` asks for: `PipelineParallel` (the
        model has to be a PipelineLayer), `TensorParallel`, `SegmentParallel`, `ShardingParallel` or `DataParallel`; the
        model itself where there are no others.

        Args:
            model: a Layer.

        Raises:
            TypeError: no Layer, or no PipelineLayer with pp_degree > 1.
        """
        if self._role_maker is not None and not self._is_collective:
            return self._server_model(model)
        groups, s = self.get_hybrid_communicate_group(), self._user_defined_strategy
        if not isinstance(model, Layer):
            raise errors.TypeError_(f"fleet.distributed_model: model must be a Layer, got {errors.describe(model)}")
        for name, dtype in (("use_pure_fp16", "float16"), ("use_pure_bf16", "bfloat16")):
            if s.amp and s.amp_configs[name]:
                model = amp.decorate(models=model, level="O2", dtype=dtype)
                break
        mode = groups.get_parallel_mode()
        if mode == ParallelMode.PIPELINE_PARALLEL or type(model).__name__ == "PipelineLayer":
            return _pipeline(model, groups, s)
        if world.current().size == 1:
            return model
        if mode == ParallelMode.DATA_PARALLEL:
            return DataParallel(
                model,
                comm_buffer_size=s.fuse_grad_size_in_MB,
                last_comm_buffer_size=s.last_comm_group_size_MB,
                find_unused_parameters=s.find_unused_parameters,
                group=groups.get_data_parallel_group(),
            )
        if mode == ParallelMode.TENSOR_PARALLEL:
            from .meta_parallel.tensor_parallel import TensorParallel as wrapper
        elif mode == ParallelMode.SEGMENT_PARALLEL:
            from .meta_parallel.segment_parallel import SegmentParallel as wrapper
        else:
            from .meta_parallel.sharding_parallel import ShardingParallel as wrapper
        return wrapper(model, groups, strategy=s)

    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> Any:
        """The optimizer for training with the other processes: a `HybridParallelOptimizer` around it, or itself where
        there are none. With `gradient_merge` it makes a step at every k_steps-th call.

        Args:
            optimizer: an Optimizer.
            strategy: a DistributedStrategy in place of that of `init`.
        """
        if strategy is not None:
            self._user_defined_strategy = strategy
        if not self._is_collective:
            self.user_defined_optimizer = self._server_optimizer(optimizer, strategy)
            return self.user_defined_optimizer
        if world.current().size > 1:
            from .meta_optimizers.dygraph_optimizer.hybrid_parallel_optimizer import HybridParallelOptimizer

            optimizer = HybridParallelOptimizer(
                optimizer, self.get_hybrid_communicate_group(), self._user_defined_strategy
            )
        if self._user_defined_strategy.gradient_merge:
            from ...incubate.optimizer import GradientMergeOptimizer

            configs = self._user_defined_strategy.gradient_merge_configs
            optimizer = GradientMergeOptimizer(optimizer, configs["k_steps"], configs["avg"])
        self.user_defined_optimizer = optimizer
        return optimizer

    def distributed_scaler(self, scaler: Any) -> Any:
        """The GradScaler for training with the other processes: a step is left out by all of them or by none.

        Args:
            scaler: a `paddle.amp.GradScaler`; it is changed and returned.
        """
        from .meta_optimizers.dygraph_optimizer.hybrid_parallel_gradscaler import share_overflow

        groups = self.get_hybrid_communicate_group()
        if groups.nranks > 1 and groups.get_parallel_mode() != ParallelMode.DATA_PARALLEL:
            share_overflow(scaler)
        return scaler

    def _static_amp(self, function: str) -> Any:
        optimizer = getattr(self, "user_defined_optimizer", None)
        if not hasattr(optimizer, "amp_init"):
            raise errors.RuntimeError_(
                f"fleet.{function}: distributed_optimizer was not called with an optimizer of "
                "paddle.static.amp.decorate"
            )
        return optimizer

    def get_loss_scaling(self) -> Any:
        """The loss scale of an optimizer of `paddle.static.amp.decorate`."""
        return self._static_amp("get_loss_scaling").get_loss_scaling()

    def amp_init(self, place: Any, scope: Any = None, test_program: Any = None, use_fp16_test: bool = False) -> Any:
        """Cast the parameters for an optimizer of `paddle.static.amp.decorate`, after the startup program."""
        return self._static_amp("amp_init").amp_init(place, scope, test_program, use_fp16_test)

    def qat_init(self, place: Any, scope: Any = None, test_program: Any = None) -> Any:
        """Training with simulated quantization of a program."""
        raise errors.NotImplemented_("fleet.qat_init: quantization in programs of fleet; use paddle.quantization")

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> Any:
        """`minimize` of the optimizer given to `distributed_optimizer`."""
        return self.user_defined_optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)
