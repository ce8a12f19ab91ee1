"""Models whose parts are spread over processes. The kinds are imported when they are first used."""

from importlib import import_module as _import_module

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
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
_MODULES = {where.split(".")[0] for where in _WHERE} | {"sharding", "pp_utils"}

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})


def __getattr__(name: str):
    if name in _NAMES:
        found = globals()[name] = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        return found
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}: no part of the API, or not built yet (docs/status.md)"
    )
