"""Layers without memory: parameters that are made when they are first used."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine.dtype import DType
from ..engine.parameter import Parameter
from ..engine.shape import CallableInt, Size
from ..engine.storage import Storage


class _Depth(threading.local):
    value = 0


_depth = _Depth()


class LazyGuard:
    """Layers that are made inside have parameters with a shape and a type but no memory: a context manager.

    A parameter gets its value by `initialize()`, or from a state dict, or else when an operator first reads it.

    Example:
        >>> with paddle.LazyGuard():
        ...     layer = paddle.nn.Linear(2, 3)
        >>> layer.weight.shape, layer.weight.is_initialized()
        ([2, 3], False)
        >>> layer.weight.initialize(); layer.weight.is_initialized()
        True
    """

    def __enter__(self) -> None:
        _depth.value += 1

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        _depth.value -= 1


def is_lazy() -> bool:
    """Whether the caller is inside a LazyGuard."""
    return _depth.value > 0


class LazyParameter(Parameter):
    """A parameter before it has a value; the first one that it gets makes it an ordinary Parameter."""

    _spec: tuple[tuple[int, ...], DType]

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return Size(self._spec[0])

    @property
    def dtype(self) -> DType:
        return self._spec[1]

    @property
    def ndim(self) -> int:
        return len(self._spec[0])

    @property
    def size(self) -> int:
        size = CallableInt(math.prod(self._spec[0]))
        size._shape = self._spec[0]
        return size

    def is_initialized(self) -> bool:
        return False

    _is_initialized = is_initialized

    def initialize(self) -> None:
        """Make the value now."""
        self._value

    def set_value(self, value: Any) -> None:
        """The first value, in place of the initializer's; shape and type are checked and kept as for any tensor."""
        shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
        if shape == self._spec[0]:
            self._storage.write(jnp.zeros(shape, self._spec[1].numpy))
        Parameter.set_value(self, value)


class _LazyStorage(Storage):
    """The slot of a parameter without a value: `pending` makes it."""

    __slots__ = ("owner",)

    def __init__(self, owner: LazyParameter, pending: Callable[[], Any]):
        super().__init__(None)
        self.owner = owner
        self.pending = pending

    def read(self, owner: Any) -> Any:
        if self.pending is not None:
            self.write(self.pending())
        return self.value

    def write(self, value: Any) -> None:
        super().write(value)
        if self.owner is not None:
            self.owner.__class__ = Parameter
            self.owner = None  # type: ignore[assignment]


def lazy_parameter(
    shape: tuple[int, ...], dtype: DType, pending: Callable[[], Any], name: str, trainable: bool, **attributes: Any
) -> Parameter:
    """A parameter whose array `pending()` makes when it is needed."""
    out = LazyParameter.__new__(LazyParameter)
    out._spec = (shape, dtype)
    out._storage, out._node, out._index, out._stop = _LazyStorage(out, pending), None, 0, True
    out._name = name
    out._setup(trainable, **attributes)
    return out
