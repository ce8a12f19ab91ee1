"""The official place of the layers of tensor and pipeline parallelism. They are imported when they are first used."""

from importlib import import_module as _import_module

_WHERE = {
    "mp_layers": "ColumnParallelLinear ParallelCrossEntropy RowParallelLinear VocabParallelEmbedding",
    "pp_layers": "LayerDesc LocalSharedLayerDesc PipelineLayer SharedLayerDesc",
    "random": "RNGStatesTracker get_rng_state_tracker model_parallel_random_seed",
}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_WHERE})


def __getattr__(name: str):
    if name in _NAMES:
        found = globals()[name] = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        return found
    if name in _WHERE:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
