"""The model of tensor parallelism."""

from __future__ import annotations

from typing import Any

from ..utils.hybrid_parallel_util import (
    broadcast_dp_parameters,
    broadcast_input_data,
    broadcast_mp_parameters,
    broadcast_sep_parameters,
    broadcast_sharding_parameters,
)
from .meta_parallel_base import MetaParallelBase

__all__: list[str] = []


class TensorParallel(MetaParallelBase):
    """A model whose layers are divided over the processes of a group (`ColumnParallelLinear` and others). What is not
    divided is made equal at the start; inputs are those of the first process of the group (`need_broadcast_data` of
    `mp_configs`).

    Args:
        layers: a Layer.
        hcg: the HybridCommunicateGroup.
        strategy: the DistributedStrategy.

    Source: Shoeybi et al., "Megatron-LM", 2019.
    """

    def _prepare_for_model(self) -> None:
        groups = self._hcg
        broadcast_mp_parameters(self._layers, groups)
        for size, spread in (
            (groups.get_sep_parallel_world_size(), broadcast_sep_parameters),
            (groups.get_sharding_parallel_world_size(), broadcast_sharding_parameters),
            (groups.get_data_parallel_world_size(), broadcast_dp_parameters),
        ):
            if size > 1:
                spread(self._layers, groups)

    def _pre_forward(self, *inputs: Any, **kwargs: Any) -> None:
        if self._strategy is None or self._strategy.hybrid_configs["mp_configs"].need_broadcast_data:
            broadcast_input_data(self._hcg, *inputs, **kwargs)
