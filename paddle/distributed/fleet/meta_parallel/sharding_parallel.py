"""The model of sharding as one axis of hybrid parallelism."""

from __future__ import annotations

from ..utils.hybrid_parallel_util import broadcast_dp_parameters, broadcast_sharding_parameters
from .meta_parallel_base import MetaParallelBase

__all__: list[str] = []


class ShardingParallel(MetaParallelBase):
    """A model that all processes have whole, while the optimizer is divided (`DygraphShardingOptimizer`): they begin with
    the same parameters.

    Args:
        layers: a Layer.
        hcg: the HybridCommunicateGroup.
        strategy: the DistributedStrategy.
    """

    def _prepare_for_model(self) -> None:
        broadcast_sharding_parameters(self._layers, self._hcg)
        if self._hcg.get_data_parallel_world_size() > 1:
            broadcast_dp_parameters(self._layers, self._hcg)
