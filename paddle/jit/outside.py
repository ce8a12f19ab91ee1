"""What a recorded function may read and change beside its arguments: attributes, lists and dicts, variables, gradients."""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from ..engine.dispatch import dispatch
from ..engine.executable import Kernel
from ..engine.storage import Storage
from ..engine.tensor import Tensor, _make
from ..nn.layer import Layer
from .nest import Structure, unflatten

MOST_WATCHED = 10_000  # entries of a list or dict up to which changes of it are noticed
MOST_COMPARED = 64  # entries of a list or dict up to which what it holds is a condition to use a program again
PLAIN = (bool, int, float, str, type(None))
ABSENT = object()  # what stands for an attribute or a variable that is not there


# ---- attributes ----


class Attributes:
    """The attributes of layers (and of the object whose method runs) before a function is recorded, and what it assigns."""

    def __init__(self, layers: list[Any]):
        self.layers = layers
        self.before = [[dict(r) for r in self._registries(layer)] for layer in layers]

    @staticmethod
    def _registries(layer: Any) -> tuple:
        if not isinstance(layer, Layer):
            return (layer.__dict__,)
        return layer.__dict__, layer._parameters, layer._buffers, layer._sub_layers

    def changes(self) -> Iterator[tuple[Any, int, str, Any, Any]]:
        """(layer, registry, name, before, now)"""
        for layer, before in zip(self.layers, self.before):
            for i, (old, registry) in enumerate(zip(before, self._registries(layer))):
                for name in {**old, **registry}:
                    a, b = old.get(name, ABSENT), registry.get(name, ABSENT)
                    if a is not b:
                        yield layer, i, name, a, b

    def restore(self, kept: set[tuple[int, str]]) -> None:
        """Put everything back but the attributes in `kept`, (id of the owner, name)."""
        for layer, before in zip(self.layers, self.before):
            for old, registry in zip(before, self._registries(layer)):
                for name in [n for n in registry if n not in old and (id(layer), n) not in kept]:
                    del registry[name]
                for name, value in old.items():
                    if registry.get(name, ABSENT) is not value and (id(layer), name) not in kept:
                        registry[name] = value


class Attribute:
    """An attribute of a layer that a program gives a new value."""

    def __init__(self, layer: Any, registry: int, name: str, structure: Structure, places: list):
        self.layer, self.registry, self.name = layer, registry, name
        self.structure, self.places = structure, places

    def read(self) -> Any:
        return Attributes._registries(self.layer)[self.registry].get(self.name)

    def write(self, outs: list) -> None:
        value = unflatten(self.structure, [p(outs) for p in self.places])
        Attributes._registries(self.layer)[self.registry][self.name] = value


# ---- lists, dicts, variables ----

HOLDERS = (list, dict, set, deque)


def is_users(value: Any) -> bool:
    """Whether it is an object of a class of the user, whose attributes a function may change."""
    kind = value.__class__
    if isinstance(value, (Layer, Tensor, type, types.ModuleType, types.FunctionType)) or kind in PLAIN:
        return False
    return kind.__module__.partition(".")[0] not in LIBRARIES and isinstance(getattr(value, "__dict__", None), dict)


LIBRARIES = ("paddle", "numpy", "jax", "builtins", "logging", "functools")


class Global:
    """A global variable of a function, or an attribute of a class."""

    def __init__(self, names: Any, name: str):
        self.names, self.name = names, name

    def read(self) -> Any:
        names = vars(self.names) if isinstance(self.names, type) else self.names
        return names.get(self.name, ABSENT)

    def write(self, value: Any) -> None:
        if isinstance(self.names, type):
            setattr(self.names, self.name, value)
        elif value is ABSENT:
            del self.names[self.name]
        else:
            self.names[self.name] = value


class Cell:
    """A variable of a closure."""

    def __init__(self, cell: Any):
        self.cell = cell

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return ABSENT

    def is_left(self) -> bool:
        """Whether no function has this variable any more."""
        return sys.getrefcount(self.cell) <= 2

    def write(self, value: Any) -> None:
        if value is ABSENT:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


def same(container: Any, copy: Any) -> bool:
    if len(container) != len(copy):
        return False
    if isinstance(container, dict):
        return all(k in copy and copy[k] is v for k, v in container.items())
    if isinstance(container, set):
        return container == copy
    return all(a is b for a, b in zip(container, copy))


def contents(value: Any, depth: int = 3) -> Any:
    """What a condition compares of a list or a dict: numbers and strings by their values, everything else by identity."""
    if value.__class__ in PLAIN:
        return value.__class__, value
    if isinstance(value, (list, tuple, dict)) and depth and len(value) <= MOST_COMPARED:
        items = value.values() if isinstance(value, dict) else value
        return tuple(value) if isinstance(value, dict) else len(value), [contents(v, depth - 1) for v in items]
    return id(value)


def refill(container: Any, content: Any) -> None:
    container.clear()
    if isinstance(container, (list, deque)):
        container.extend(content)
    else:
        container.update(content)


# ---- arrays ----


class Provided:
    """An array from outside that is no tensor's, such as the state of an optimizer.

    Args:
        read: gives the array.
        write: takes the new one; None where it is asked for in every run and does not change.
    """

    def __init__(self, read: Callable[[], Any], write: Callable | None = None):
        self.get, self.write = read, write

    def read(self) -> Tensor:
        return _make(self.get())


def own(tensor: Tensor, holders: int) -> Any:
    """The array of a tensor, or a copy where others than so many slots hold it: one that may be overwritten."""
    slot = tensor._storage
    if isinstance(slot.value, jax.Array) and sys.getrefcount(slot.value) <= _ALONE + holders - 1:
        return slot.value
    return jnp.array(tensor._value, copy=True)


def _references() -> int:
    """How often an array is referenced that only its slot holds, counted as above."""
    slot = Storage(object())
    return sys.getrefcount(slot.value)


_ALONE = _references()


# ---- gradients ----

_zeros = Kernel(lambda x: jnp.zeros(x.shape, x.dtype), "zeros_like", ("",))


def clear(gradient: Tensor) -> None:
    """Make a gradient zero while a program is recorded; zeros are part of it only where somebody reads them."""
    like, slot = gradient._snapshot(), gradient._storage
    slot.postpone(lambda: dispatch(_zeros, (like,))._value)
    gradient._node, gradient._stop = None, True


def leave_zeros(tensor: Tensor, shape: tuple, dtype: Any) -> None:
    """The gradient of a tensor is zero from now on, as after `clear_grad`."""
    if tensor._grad is not None:
        tensor.clear_gradient()
    else:
        tensor._grad = _make(None)
        tensor._grad._storage.postpone(lambda: jnp.zeros(shape, dtype))
