"""Optimizers for training with other processes. They are imported when they are first used."""

from importlib import import_module as _import_module

_WHERE = {
    "dygraph_sharding_optimizer": "DygraphShardingOptimizer DygraphShardingOptimizerV2",
    "hybrid_parallel_gradscaler": "HybridParallelGradScaler",
    "hybrid_parallel_optimizer": "HybridParallelClipGrad HybridParallelOptimizer",
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
