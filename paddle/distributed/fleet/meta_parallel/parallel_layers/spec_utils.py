"""Layers described by data: a class, or where it is to be imported from, and its arguments."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .....engine import errors

__all__: list[str] = []


@dataclass
class LayerSpec:
    """A layer: a class, a function or (module, name), the arguments, and what its constructor gets as
    `sublayers_spec`.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import LayerSpec, build_spec_layer
        >>> build_spec_layer(LayerSpec(("paddle.nn", "Linear"), {"in_features": 2, "out_features": 3})).weight.shape
        [2, 3]
    """

    layer: Any
    extra_kwargs: dict = field(default_factory=dict)
    sublayers_spec: Any = None


def import_spec_layer(layer_path: tuple[str, str]) -> Any:
    """The object of that name in that module. Raises ImportError or AttributeError where there is none."""
    module, name = layer_path
    return getattr(importlib.import_module(module), name)


def get_spec_layer(spec_or_layer: Any, **additional_kwargs: Any) -> Any:
    """The class or function of a LayerSpec; a class or function itself."""
    layer = spec_or_layer.layer if isinstance(spec_or_layer, LayerSpec) else spec_or_layer
    return import_spec_layer(layer) if isinstance(layer, tuple) else layer


def build_spec_layer(spec_or_layer: Any, *args: Any, **kwargs: Any) -> Any:
    """The layer that a LayerSpec describes, whose own arguments come before `kwargs`; a function itself.

    Raises:
        TypeError: neither a LayerSpec nor a class or function.
    """
    found: Callable = get_spec_layer(spec_or_layer)
    if inspect.isfunction(found):
        return found
    if not isinstance(found, type):
        raise errors.TypeError_(
            f"build_spec_layer: expected a LayerSpec or a class, got {errors.describe(spec_or_layer)}"
        )
    if isinstance(spec_or_layer, LayerSpec):
        kwargs = {**kwargs, **spec_or_layer.extra_kwargs}
        if spec_or_layer.sublayers_spec is not None:
            kwargs["sublayers_spec"] = spec_or_layer.sublayers_spec
    return found(*args, **kwargs)
