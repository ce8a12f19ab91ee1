"""Averaging of gradients and spreading of parameters by hand, for loops that do not use `DataParallel`'s own."""

from __future__ import annotations

from typing import Any

from ....engine.tensor import Tensor
from ...communication.collectives import fill
from ...communication.group import Group, group_of
from ...communication.mesh import over_mesh
from ...parallel import sync_params_buffers
from ...reducer import _divide

__all__: list[str] = []


def fused_allreduce_gradients_with_group(
    parameter_list: list[Tensor], group: Group | None, bucket_size: int = 128 * 1024 * 1024, scale: float | None = None
) -> None:
    """Average the gradients of parameters over a group, in buckets of `bucket_size` bytes.

    Args:
        parameter_list: the parameters; those without gradients are left out, the same ones in all processes.
        group: the processes, None for all.
        scale: divide the sums by this number instead of the number of processes.
    """
    found = group_of(group, "fused_allreduce_gradients")
    params = [p for p in parameter_list if p._grad is not None and p._grad.size]
    if found.nranks == 1:
        return
    for bucket in _divide(params, (bucket_size, bucket_size)):
        means = over_mesh(found, "mean_of_bucket", [p._grad._value for p in bucket])  # type: ignore[union-attr]
        for param, mean in zip(bucket, means):
            fill(param._grad, mean if scale is None else mean * (found.nranks / scale))  # type: ignore[arg-type]


def fused_allreduce_gradients(parameter_list: list[Tensor], hcg: Any) -> None:
    """Average the gradients over the processes that share the parameters, those of data parallelism in `hcg`, a
    HybridCommunicateGroup (None: all). For use behind `no_sync()` or without `DataParallel`."""
    fused_allreduce_gradients_with_group(parameter_list, None if hcg is None else hcg.get_data_parallel_group())


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
