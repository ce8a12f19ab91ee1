"""Optimizers for training with other processes. They are imported when they are first used."""

from importlib import import_module as _import_module

__all__: list[str] = []


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f"{__name__}.dygraph_optimizer"), name)
