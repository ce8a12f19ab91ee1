"""The official place of the layers of tensor and pipeline parallelism. They are imported when they are first used."""

from .....utils.lazy import on_demand as _on_demand

_WHERE = {
    "mp_layers": "ColumnParallelLinear ParallelCrossEntropy RowParallelLinear VocabParallelEmbedding",
    "pp_layers": "LayerDesc LocalSharedLayerDesc PipelineLayer SharedLayerDesc",
    "random": "RNGStatesTracker get_rng_state_tracker model_parallel_random_seed",
}

__all__: list[str] = []

__getattr__, __dir__ = _on_demand(__name__, _WHERE)
