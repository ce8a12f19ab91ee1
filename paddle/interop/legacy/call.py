"""What an operator translator sees: the tensors and attributes of one operator of a legacy program.

A translator is a function from a `Call` to the operator's results: a tensor (or list) for the main output slot, or a
dict from slots to tensors. It only calls public functions, so it records a program under a Recorder and computes at once
without one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor
from ...engine.value import Value
from ..programdesc import DTYPES, Name, OpDesc

TRANSLATORS: dict[str, Callable[[Call], Any]] = {}


def translates(*types: str) -> Callable:
    """Make a function the translator of operators."""

    def register(function: Callable[[Call], Any]) -> Callable[[Call], Any]:
        for kind in types:
            assert kind not in TRANSLATORS, kind
            TRANSLATORS[kind] = function
        return function

    return register


class Branch:
    """The results of a block that runs only under a condition, until it is known what stands in for them otherwise."""

    def __init__(self, condition: Tensor, block: int, names: list[str], scope: Any):
        self.condition = condition
        self.block = block
        self.names = names
        self.scope = scope


class Call:
    """An operator with its tensors: ``op["X"]`` is an input that must be there.

    Args:
        desc: the operator.
        scope: the tensors by the names of variables; a list of tensors for an array of tensors.
        translation: the translation that is going on, for control flow.
    """

    def __init__(self, desc: OpDesc, scope: Any, translation: Any):
        self.desc = desc
        self.type = desc.type
        self.scope = scope
        self.translation = translation

    def __getitem__(self, slot: str) -> Any:
        found = self.get(slot)
        if found is None:
            raise errors.ValueError_(f"{self.type}: the input {slot!r} is missing in the model")
        return found

    def get(self, slot: str) -> Any:
        """The tensor of a slot, None when there is none."""
        names = self.desc.inputs.get(slot)
        return self.variable(names[0]) if names else None

    def list(self, slot: str) -> list:
        """The tensors of a slot with several."""
        return [self.variable(n) for n in self.desc.inputs.get(slot, ())]

    def variable(self, name: str) -> Any:
        found = self.scope.get(name)
        if found is None:
            raise errors.ValueError_(f"{self.type}: the variable {name!r} is read before an operator defines it")
        if isinstance(found, Branch):
            raise errors.ValueError_(
                f"{self.type}: the variable {name!r} is defined under a condition that may be false in another run"
            )
        return found

    def has(self, slot: str) -> bool:
        return bool(self.desc.inputs.get(slot))

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute; one that names a variable is its tensor."""
        value = self.desc.attributes.get(name, default)
        if isinstance(value, Name):
            return self.variable(value)
        if isinstance(value, list) and value and isinstance(value[0], Name):
            return [number(self.variable(n)) for n in value]
        return value

    def dtype(self, name: str = "dtype", default: Any = None) -> str | None:
        """The element type that an attribute says; the default where it says -1 or nothing."""
        code = self.attr(name, -1)
        if code == -1 or code is None:
            return default
        if code not in DTYPES:
            raise errors.ValueError_(f"{self.type}: {name} says element type {code}; known are {DTYPES}")
        return DTYPES[code]

    def axis(self, name: str = "axis", default: int = 0, tensor: str | None = None) -> int:
        """A number that an attribute or a tensor gives and that must be known while translating."""
        value = self.attr(name, default)
        if tensor is not None and self.has(tensor):
            value = self[tensor]
        if isinstance(value, Tensor):
            value = number(value)
            if isinstance(value, Tensor):
                raise NotImplementedError(f"{self.type}: {tensor or name} is an axis that depends on data")
        return int(value)

    def numbers(self, name: str | None, tensors: str | None = None, tensor: str | None = None) -> list:
        """A list of integers from the list of tensors, the tensor or the attribute, the first that there is: ints, and
        tensors without axes where a number is known when the program runs."""
        if tensors is not None and self.has(tensors):
            return [number(t) for t in self.list(tensors)]
        found = self[tensor] if tensor is not None and self.has(tensor) else self.attr(name, []) if name else []
        if isinstance(found, Tensor):
            return elements(found)
        return list(found) if isinstance(found, (list, tuple)) else [found]


_constants: weakref.WeakKeyDictionary[Value, np.ndarray] = weakref.WeakKeyDictionary()


def remember(tensor: Tensor, array: Any) -> Tensor:
    """Note the elements of a small constant; those of integers a program knows by itself."""
    if isinstance(tensor._value, Value):
        _constants[tensor._value] = np.asarray(array)
    return tensor


def constant(tensor: Tensor) -> np.ndarray | None:
    """The elements of a tensor when they are the same in every run."""
    value = tensor._value
    if not isinstance(value, Value):
        return np.asarray(value)
    if value in _constants:
        return _constants[value]
    known = value.known
    if known is None or not all(np.array_equal(k, known[0]) for k in known):
        return None
    return np.asarray(known[0])


def number(tensor: Any) -> Any:
    """The element of a tensor with one: an int or float, or the tensor without its axes."""
    if not isinstance(tensor, Tensor):
        return tensor
    array = constant(tensor)
    if array is not None:
        return array.reshape(-1)[0].item()
    return tensor.reshape([]) if len(tensor.shape) else tensor


def elements(tensor: Tensor) -> list:
    """The elements of a small tensor, see `number`."""
    array = constant(tensor)
    if array is not None:
        return array.reshape(-1).tolist()
    if len(tensor.shape) == 0:
        return [tensor]
    if len(tensor.shape) != 1 or tensor.shape[0] < 0:
        raise NotImplementedError(f"a list of numbers from a tensor of shape {list(tensor.shape)}")
    return [tensor[i] for i in range(int(tensor.shape[0]))]


def wants(op: Call, slot: str) -> bool:
    """Whether the operator has a variable for an output."""
    return bool(op.desc.outputs.get(slot))
