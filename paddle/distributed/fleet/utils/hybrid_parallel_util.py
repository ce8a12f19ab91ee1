"""Averaging of gradients and spreading of parameters by hand, for loops that do not use `DataParallel`'s own."""

from __future__ import annotations

from typing import Any

from ....engine import errors
from ....engine.row_sparse import SelectedRows
from ....engine.tensor import Tensor
from ....engine.value import ABSTRACT
from ...communication import objects
from ...communication.collectives import fill, run
from ...communication.group import Group, group_of
from ...parallel import sync_params_buffers
from ...reducer import Reducer

__all__: list[str] = []


def fused_allreduce_gradients_with_group(
    parameter_list: list[Tensor], group: Group | None, bucket_size: int = 128 * 1024 * 1024, scale: float | None = None
) -> None:
    """Average the gradients of parameters over a group, in buckets of `bucket_size` bytes.

    Args:
        parameter_list: the parameters; one that no process has a gradient of keeps none.
        group: the processes, None for all.
        scale: a factor for the sums; by default one over the number of processes.
    """
    found = group_of(group, "fused_allreduce_gradients")
    params = [p for p in parameter_list if not p.stop_gradient and p.size]
    if found.nranks == 1 or not params:
        return
    tables = [p for p in params if isinstance(p._grad, SelectedRows)]
    factor = 1.0 if scale is None else scale * found.nranks
    Reducer(params, tables, found, (bucket_size, bucket_size), factor, hooks=False).combine()


def fused_allreduce_gradients(parameter_list: list[Tensor], hcg: Any) -> None:
    """Combine the gradients of the processes that share the parameters: averages over data parallelism, sums over
    segment parallelism, whose processes see parts of one sequence. For use behind `no_sync()` or without `DataParallel`.

    Args:
        parameter_list: the parameters; one that no process has a gradient of keeps none. Those with an attribute `no_sync`
            that is true (experts) are left out.
        hcg: a HybridCommunicateGroup; None: averages over all processes.
    """
    parameter_list = [p for p in parameter_list if not getattr(p, "no_sync", False)]
    if hcg is None:
        fused_allreduce_gradients_with_group(parameter_list, None)
    elif hcg.get_sep_parallel_world_size() > 1:
        scale = 1.0 / hcg.get_data_parallel_world_size()
        fused_allreduce_gradients_with_group(parameter_list, hcg.get_dp_sep_parallel_group(), scale=scale)
    else:
        fused_allreduce_gradients_with_group(parameter_list, hcg.get_data_parallel_group())


def broadcast_input_data(hcg: Any, *inputs: Any, **kwargs: Any) -> tuple[tuple, dict]:
    """Give the inputs of the first process of the group of tensor parallelism to all of it: tensors in place, in lists
    and dicts as well.

    Raises:
        ValueError: a tensor has another shape or dtype than in the first process.
    """
    group = hcg.get_model_parallel_group()
    tensors = [t for t in _tensors((inputs, kwargs)) if not isinstance(t._raw, ABSTRACT)]
    if group.nranks > 1 and tensors:
        source = hcg.get_model_parallel_group_src_rank()
        given = objects.exchange([_kind(t) for t in tensors], group, "broadcast_input_data")
        place = group.ranks.index(source)
        for rank, kinds in zip(group.ranks, given):  # alike in all processes, so that none waits for one that fails
            if kinds != given[place]:
                raise errors.ValueError_(
                    f"broadcast_input_data: the inputs of rank {rank} must have the shapes and dtypes of those of rank "
                    f"{source}, {given[place]}, got {kinds}"
                )
        for tensor, array in zip(tensors, run(group, "broadcast_input_data", "broadcast", tensors, place)):
            if group.rank != place:
                fill(tensor, array)
    return inputs, kwargs


def _kind(tensor: Tensor) -> str:
    return f"{tensor.dtype.name}{tensor.shape}"


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def broadcast_dp_parameters(model: Any, hcg: Any, fuse_params: bool = True) -> None:
    """Spread the parameters and buffers of the first process along the axis of data parallelism."""
    sync_params_buffers(model, hcg.get_data_parallel_group(), hcg.get_data_parallel_group_src_rank())


def broadcast_mp_parameters(model: Any, hcg: Any, fuse_params: bool = True) -> None:
    """The same along the axis of tensor parallelism, but for what is divided over it."""
    sync_params_buffers(model, hcg.get_model_parallel_group(), hcg.get_model_parallel_group_src_rank(), True)


def broadcast_sharding_parameters(model: Any, hcg: Any, fuse_params: bool = True) -> None:
    """The same along the axis of sharding."""
    sync_params_buffers(model, hcg.get_sharding_parallel_group(), hcg.get_sharding_parallel_group_src_rank())


def broadcast_sep_parameters(model: Any, hcg: Any, fuse_params: bool = True) -> None:
    """The same along the axis of segment parallelism."""
    sync_params_buffers(model, hcg.get_sep_parallel_group(), hcg.get_sep_parallel_group_src_rank())


def broadcast_moe_sharding_parameters(model: Any, hcg: Any, fuse_params: bool = True) -> None:
    """The same along the axis of sharding of experts."""
    group = hcg.get_moe_sharding_parallel_group()
    sync_params_buffers(model, group, hcg.get_moe_sharding_parallel_group_src_rank())


def obtain_optimizer_parameters_list(optimizer: Any) -> list[Tensor]:
    """The parameters of an optimizer, of all its groups."""
    return list(optimizer._parameter_list)


def unwrap_optimizer(optimizer: Any, optimizer_instances: Any = ()) -> Any:
    """The optimizer inside of wrappers of the given classes."""
    while isinstance(optimizer, optimizer_instances):
        optimizer = optimizer._inner_opt
    return optimizer
