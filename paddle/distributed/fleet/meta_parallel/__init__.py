"""Models whose parts are spread over processes. The kinds are imported when they are first used."""

from ....utils.lazy import on_demand as _on_demand

_WHERE = {
    "meta_parallel_base": "MetaParallelBase",
    "parallel_layers.mp_layers": "ColumnParallelLinear ParallelCrossEntropy RowParallelLinear VocabParallelEmbedding",
    "parallel_layers.pp_layers": "LayerDesc LocalSharedLayerDesc PipelineLayer SharedLayerDesc",
    "parallel_layers.spec_utils": "LayerSpec build_spec_layer get_spec_layer import_spec_layer",
    "parallel_layers.random": "RNGStatesTracker get_rng_state_tracker model_parallel_random_seed",
    "pipeline_parallel": """DualPipeVParallel NoPipelineParallel PipelineDatasetPreprocessor PipelineParallel
        PipelineParallelMicroStepLocations PipelineParallelWithInterleave PipelineParallelWithInterleaveFthenB
        VPPFhenBInBalancedMemory register_global_pipeline_parallel_hook""",
    "pp_utils.forward_backward_overlap_utils": "ScheduleChunk ScheduleNode",
    "pp_utils.utils": "dict_to_tuple_helper",
    "segment_parallel": "SegmentParallel",
    "sharding_parallel": "ShardingParallel",
    "tensor_parallel": "TensorParallel",
}
_MODULES = {where.split(".")[0] for where in _WHERE} | {"sharding", "pp_utils"}

__all__: list[str] = []

__getattr__, __dir__ = _on_demand(__name__, _WHERE, _MODULES)
