"""Sharding as one axis of hybrid parallelism."""

from __future__ import annotations

from typing import Any

from .....engine.tensor import Tensor
from ...meta_parallel.sharding.group_sharded_optimizer_stage2 import ShardedSteps, shard_optimizer

__all__: list[str] = []


class DygraphShardingOptimizer(ShardedSteps):
    """Divide an optimizer over the axis of sharding of a HybridCommunicateGroup: each process keeps the state of its part
    of every parameter, steps there, and gives the others the new values. The optimizer itself becomes one.

    Averaging over data parallelism is left to who asks for the gradients (`filter_parameters`).

    Args:
        optimizer: an Optimizer.
        hcg: the HybridCommunicateGroup.

    Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020.
    """

    def __new__(cls, optimizer: Any = None, hcg: Any = None) -> Any:
        if optimizer is None:  # a copy is made
            return object.__new__(cls)
        made = shard_optimizer(optimizer, cls, cls.__name__, hcg.get_sharding_parallel_group())
        made._hcg = hcg
        return made

    def __init__(self, *args: Any, **kwargs: Any):
        """The optimizer was made before."""

    def reduce_gradients(self, parameter_list: list[Tensor], hcg: Any = None) -> None:
        """Give each process the averages of the gradients of its part."""
        self._exchange.complete()

    def filter_parameters(self, parameter_list: list[Tensor], hcg: Any = None) -> list[Tensor]:
        """This process's parts of the parameters, with their gradients."""
        chosen = {id(p) for p in parameter_list}
        return [
            shard
            for bucket in self._exchange.buckets
            for shard, number in zip(bucket.shards, bucket.sources)
            if id(bucket.params[number]) in chosen
        ]


class DygraphShardingOptimizerV2(DygraphShardingOptimizer):
    """The same: the parameters are cut into slices in both."""
