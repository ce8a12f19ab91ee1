"""Helpers of distributed training."""

from importlib import import_module as _import_module

from ..recompute import recompute, recompute_sequential

_WHERE = {"fs": "HDFSClient LocalFS"}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
_MODULES = frozenset("fs hybrid_parallel_util log_util sequence_parallel_utils".split())

__all__ = ["HDFSClient", "LocalFS", "recompute"]


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})


def __getattr__(name: str):
    if name in _NAMES:
        found = globals()[name] = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        return found
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
