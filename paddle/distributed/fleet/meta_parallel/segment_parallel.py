"""The model of segment parallelism: processes that see parts of one sequence."""

from __future__ import annotations

from ..utils.hybrid_parallel_util import (
    broadcast_dp_parameters,
    broadcast_sep_parameters,
    broadcast_sharding_parameters,
)
from .meta_parallel_base import MetaParallelBase

__all__: list[str] = []


class SegmentParallel(MetaParallelBase):
    """A model of which each process sees a part of the sequences. Its attention has to look at the other parts
    (`paddle.distributed.ring_attention`, `ulysses_attention`); everything else works on tokens. The optimizer adds up the
    gradients.

    Args:
        layers: a Layer.
        hcg: the HybridCommunicateGroup.
        strategy: the DistributedStrategy.
    """

    def _prepare_for_model(self) -> None:
        groups = self._hcg
        broadcast_sep_parameters(self._layers, groups)
        if groups.get_sharding_parallel_world_size() > 1:
            broadcast_sharding_parameters(self._layers, groups)
        if groups.get_data_parallel_world_size() > 1:
            broadcast_dp_parameters(self._layers, groups)
