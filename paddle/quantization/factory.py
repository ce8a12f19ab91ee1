"""Factories: what a configuration holds, to make a quanter for each layer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..engine import errors


class QuanterFactory:
    """The class of a quanter and the arguments that it will be made with.

    Args:
        args, kwargs: of the quanter, without its first argument, the layer that it is for.
    """

    _class: type | None = None

    def __init__(self, *args: Any, **kwargs: Any):
        self._args, self._kwargs = args, kwargs

    @property
    def args(self) -> tuple:
        return self._args

    @property
    def kwargs(self) -> dict[str, Any]:
        return self._kwargs

    def _get_class(self) -> Any:
        return self._class

    def _instance(self, layer: Any) -> Any:
        """The quanter for a layer."""
        return self._get_class()(layer, *self._args, **self._kwargs)

    def __str__(self) -> str:
        shown = [*map(str, self._args), *(f"{k}={v}" for k, v in self._kwargs.items())]
        return f"{type(self).__name__}({','.join(shown)})"

    __repr__ = __str__


ObserverFactory = QuanterFactory


def quanter(class_name: str) -> Callable[[type], type]:
    """A decorator for quanters that declares their factory, in the module of the quanter.

    Args:
        class_name: the name of the factory.

    Raises:
        TypeError: a name that is no string.

    Example:
        >>> @paddle.quantization.quanter("Same")
        ... class SameLayer(paddle.quantization.BaseQuanter):
        ...     def __init__(self, layer, bits=8): super().__init__(); self.bits = bits
        ...     def forward(self, input): return input
        ...     def scales(self): return None
        ...     def zero_points(self): return None
        ...     def quant_axis(self): return None
        ...     def bit_length(self): return self.bits
        >>> Same(bits=4)
        Same(bits=4)
    """
    if not isinstance(class_name, str) or not class_name.isidentifier():
        raise errors.TypeError_(f"quanter: class_name must be the name of a class, got {errors.describe(class_name)}")

    def declare(target: type) -> type:
        made = type(class_name, (QuanterFactory,), {"_class": target, "__module__": target.__module__})
        made.__doc__ = f"The factory of {target.__name__}."
        home = sys._getframe(1).f_globals
        home[class_name] = made
        if isinstance(home.get("__all__"), list):
            home["__all__"].append(class_name)
        return target

    return declare
