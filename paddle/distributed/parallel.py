"""Data parallel training: the environment, and what averages the gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..engine import errors
from ..engine.modes import modes
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..ops.joining import concat
from . import world
from .communication.collectives import fill, run
from .communication.group import Group, get_rank, get_world_size, group_of, is_initialized, rank_in, start_global_group
from .reducer import MEGABYTE, Reducer
from .world import ParallelEnv
from .wrapper import Wrapper

__all__ = [
    "DataParallel",
    "ParallelEnv",
    "ParallelStrategy",
    "build_groups",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "sync_params_buffers",
]

ParallelStrategy = ParallelEnv


@errors.clean
def init_parallel_env(nccl_config: Any = None) -> Group:
    """Connect this process with the others that the environment names (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and
    PADDLE_MASTER or PADDLE_TRAINER_ENDPOINTS, which `paddle.distributed.launch` and `spawn` set); without them it is a
    job of one process. Every process calls it; a second call does nothing.

    Returns:
        The group of all processes.

    Raises:
        RuntimeError: a process did not come, or two have one rank; the message names it.
        ValueError: variables that contradict each other.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.init_parallel_env()  # doctest: +SKIP
        rank: 0, nranks: 2, id: 0, ranks: 0, 1; name: _default_pg
    """
    return start_global_group(world.start().timeout)


def sync_params_buffers(
    model: Layer,
    comm_group: Group | None = None,
    src_rank: int = 0,
    is_model_parallel: bool = False,
    fuse_params: bool = True,
    is_moe_sharding_parallel: bool = False,
) -> None:
    """Give the parameters and buffers of the process `src_rank` to all processes of a group, but for those with an attribute
    `no_sync` that is true, which are each process's own, as experts are.

    Args:
        model: a layer, built alike in all processes.
        comm_group: by default all processes.
        src_rank: a rank of the job.
        is_model_parallel: leave out what is divided over the group (`is_distributed`).
    """
    group = group_of(comm_group, "sync_params_buffers")
    source = rank_in(group, src_rank, "sync_params_buffers", "src_rank")
    tensors = [t for t in (*model.parameters(), *model.buffers()) if t is not None]
    if is_model_parallel:
        tensors = [t for t in tensors if not t.is_distributed]
    _share(tensors, group, source)


def _share(tensors: list[Tensor], group: Group, source: int) -> None:
    """Give the values of the member number `source` to all."""
    tensors = [t for t in tensors if t.size and not getattr(t, "no_sync", False)]
    if not tensors or group.nranks == 1:
        return
    for tensor, array in zip(tensors, run(group, "sync_params_buffers", "broadcast", tensors, source)):
        if group.rank != source:
            fill(tensor, array)


def _parameters_of(layer: Layer, into: dict[int, Tensor]) -> dict[int, Tensor]:
    """What `layer.parameters()` gives, quickly, as it is asked for in each forward."""
    for param in layer._parameters.values():
        if param is not None:
            into[id(param)] = param
    for inner in layer._sub_layers.values():
        if inner is not None:
            _parameters_of(inner, into)
    return into


class DataParallel(Wrapper):
    """Trains a layer on the data of several processes: each computes with its own batches, and `backward()` leaves in
    `.grad` the averages over all of them.

    The gradients are averaged in buckets that start while the backward still runs. A parameter that no process used
    keeps no gradient; unused ones need no special care, whatever `find_unused_parameters` says. Parameters with an attribute
    `no_sync` that is true are each process's own, as experts are. What is added to the layer later, or becomes trainable,
    takes part from the next forward on; it has to be done in all processes.

    Args:
        layers: the layer; the parameters and buffers of the first process of the group go to all of them.
        strategy: not used, as officially.
        comm_buffer_size: megabytes of a bucket.
        last_comm_buffer_size: megabytes of the bucket of the last parameters, which is sent first.
        find_unused_parameters: for the official interface.
        group: the processes, by default all.

    Raises:
        TypeError: `layers` is no Layer.
        ValueError: nothing to train, or a size that is not positive.

    Example:
        >>> model = paddle.DataParallel(paddle.nn.Linear(2, 1))
        >>> model(paddle.ones([3, 2])).shape
        [3, 1]
    """

    def __init__(
        self,
        layers: Layer,
        strategy: Any = None,
        comm_buffer_size: float = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Group | None = None,
    ):
        super().__init__(layers.full_name() + "_data_parallel" if isinstance(layers, Layer) else None)
        if not isinstance(layers, Layer):
            raise errors.TypeError_(f"DataParallel: layers must be a Layer, got {errors.describe(layers)}")
        for name, size in (("comm_buffer_size", comm_buffer_size), ("last_comm_buffer_size", last_comm_buffer_size)):
            if isinstance(size, bool) or not isinstance(size, (int, float)) or size <= 0:
                raise errors.ValueError_(f"DataParallel: {name} must be a positive number of megabytes, got {size!r}")
        if group is not None and group_of(group, "DataParallel").rank < 0:
            raise errors.ValueError_(f"DataParallel: this process is not a member of the group {group}")
        self._layers = layers
        self.find_unused_parameters = find_unused_parameters
        self.group = group
        self.comm_buffer_size, self.last_comm_buffer_size = comm_buffer_size, last_comm_buffer_size
        self._reducer: Reducer | None = None
        if is_initialized():
            self.group = group_of(group, "DataParallel")
            if self.group.nranks > 1:
                sync_params_buffers(layers, self.group, self.group.ranks[0])
                if not self._trainable():
                    raise errors.ValueError_("DataParallel: the layer has no parameter to train")
                self.init_reducer()
        elif world.size_of_environment() > 1:
            raise errors.RuntimeError_("DataParallel: call paddle.distributed.init_parallel_env() first")

    @property
    def grad_need_sync(self) -> bool:
        """Whether backward averages the gradients now."""
        return self._reducer is None or self._reducer.enabled

    @grad_need_sync.setter
    def grad_need_sync(self, value: bool) -> None:
        if self._reducer is not None:
            self._reducer.enabled = bool(value)

    def init_reducer(self) -> None:
        """Put the averaging into the gradients of the parameters."""
        params = self._trainable()
        sparse = [s.weight for s in self._layers.sublayers(include_self=True) if getattr(s, "_sparse", False) is True]
        sizes = self.comm_buffer_size * MEGABYTE, self.last_comm_buffer_size * MEGABYTE
        self._reducer = Reducer(params, sparse, self.group, sizes)  # type: ignore[arg-type]
        self._shared = self._layers.parameters()

    def _trainable(self) -> list[Tensor]:
        params = [p for p in _parameters_of(self._layers, {}).values() if not p.stop_gradient and not p.is_distributed]
        return [p for p in params if not getattr(p, "no_sync", False)]

    def _follow(self) -> None:
        """The layer may have got other parameters, or others may be trained; the copy of a wrapped layer has no reducer."""
        params, before = self._trainable(), self._reducer
        if before is not None:
            if len(params) == len(before.params) and all(p is q for p, q in zip(params, before.params)):
                return
            before.detach()
            known = {id(p) for p in self._shared}
            _share([p for p in self._layers.parameters() if id(p) not in known], self.group, 0)
        self.init_reducer()
        if before is not None:
            self._reducer.enabled = before.enabled

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.group is not None and self.group.nranks > 1 and modes.grad:
            self._follow()
        return self._layers(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within it `backward()` only adds up this process's own gradients; the next one outside averages the sums.

        Example:
            >>> model = paddle.DataParallel(paddle.nn.Linear(2, 1))
            >>> with model.no_sync():
            ...     model(paddle.ones([3, 2])).mean().backward()
        """
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    def scale_loss(self, loss: Tensor) -> Tensor:
        """The loss itself: the gradients are averaged, so that it needs no scaling."""
        return loss

    def apply_collective_grads(self) -> None:
        """Nothing: `backward()` has averaged the gradients."""


def build_groups(vars: list[Tensor], group_size: int) -> list[list]:
    """Tensors in the order given, in groups of one dtype and of about `group_size` bytes: (together and flat, the
    tensors, their shapes)."""
    groups: list[list[Tensor]] = []
    used = 0
    for tensor in vars:
        if not groups or groups[-1][0].dtype is not tensor.dtype or used + tensor._value.nbytes > group_size:
            groups.append([])
            used = 0
        groups[-1].append(tensor)
        used += tensor._value.nbytes
    return [[concat([t.reshape([-1]) for t in g]), g, [t.shape for t in g]] for g in groups]
