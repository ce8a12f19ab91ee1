"""Optimizers for training with other processes. They are imported when they are first used."""

from .....utils.lazy import on_demand as _on_demand

_WHERE = {
    "dygraph_sharding_optimizer": "DygraphShardingOptimizer DygraphShardingOptimizerV2",
    "hybrid_parallel_gradscaler": "HybridParallelGradScaler",
    "hybrid_parallel_optimizer": "HybridParallelClipGrad HybridParallelOptimizer",
}

__all__: list[str] = []

__getattr__, __dir__ = _on_demand(__name__, _WHERE)
