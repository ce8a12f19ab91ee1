"""What the translators of operators from official model files work with.

A translator takes a `Call` and calls public functions of the framework, which a recorder turns into operators. Small
integers that follow from constants and shapes are also followed as numbers (`Slot.elements`, in which unknown lengths are
`Dim`s), so that they can be shapes, axes and sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import to_dtype
from ...engine.modes import modes
from ...engine.tensor import Tensor
from ...engine.value import Dim
from .format import Node, Type, damaged
from .schema import Interface

FEW = 64  # elements up to which numbers are followed

READERS: dict[str, Callable] = {}
FOLDERS: dict[str, Callable] = {}


def reads(*names: str) -> Callable:
    """Make a function the translator of operators; names without `_` stand for the in-place forms too."""

    def decorate(function: Callable) -> Callable:
        for name in names:
            READERS[name] = function
        return function

    return decorate


def folds(*names: str) -> Callable:
    """Make a function follow numbers through operators: it takes a Call and gives an array of the elements."""

    def decorate(function: Callable) -> Callable:
        for name in names:
            FOLDERS[name] = function
        return function

    return decorate


class Slot:
    """A value of the file: a tensor, made when it is first wanted, and its elements when they are known."""

    __slots__ = ("_tensor", "_make", "_block", "elements", "items", "type")

    def __init__(
        self,
        tensor: Tensor | None = None,
        make: Callable | None = None,
        elements: np.ndarray | None = None,
        items: list[Slot | None] | None = None,
        type: Type | None = None,
    ):
        self._tensor = tensor
        self._make = make
        self._block: Any = None
        self.elements = elements
        self.items = items  # for lists
        self.type = type

    @property
    def tensor(self) -> Any:
        """The Tensor, or the list of Tensors."""
        if self.items is not None:
            return [None if s is None else s.tensor for s in self.items]
        if self._make is not None and self._block is not modes.program.block:  # type: ignore[union-attr]
            self._tensor = self._make()
            self._block = modes.program.block  # type: ignore[union-attr]
        return self._tensor


class Call:
    """An operator of the file with what it gets: `call.x` is the operand or the attribute x.

    Operands are Tensors, lists of them, or None where the file gives none.
    """

    def __init__(self, node: Node, name: str, interface: Interface, slots: list[Slot | None]):
        self.node = node
        self.op = name
        self.interface = interface
        self.slots = dict(zip(interface.operands, slots))

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("slots", ()):
            slot = self.slots[name]
            return None if slot is None else slot.tensor
        return self.attribute(name)

    def attribute(self, name: str) -> Any:
        if name in self.node.attributes:
            return self.node.attributes[name]
        entry = self.interface.attributes.get(name)
        if entry is None:
            raise damaged(f"{self.op} has no {name!r}")
        if entry[1] is None:
            raise damaged(f"{self.op} lacks the attribute {name!r}")
        return entry[1]

    def has(self, name: str) -> bool:
        return self.slots.get(name) is not None

    def elements(self, name: str) -> np.ndarray | None:
        """The known elements of an operand, as an array of numbers and Dims."""
        slot = self.slots.get(name)
        if slot is None:
            return None
        if slot.items is not None:
            parts = [None if s is None else s.elements for s in slot.items]
            if any(p is None for p in parts):
                return None
            return np.array([p.reshape(-1)[0] for p in parts if p is not None and p.size], dtype=object)
        return slot.elements

    def ints(self, name: str) -> Any:
        """A list of ints and Dims, or what holds them when the program runs: a Tensor or a list of Tensors."""
        if name not in self.slots:
            value = self.attribute(name)
            return [value] if isinstance(value, int) else list(value)
        found = self.elements(name)
        if found is not None:
            return [e if isinstance(e, Dim) else int(e) for e in found.reshape(-1)]
        return getattr(self, name)

    def fixed(self, name: str) -> list:
        """The same, where it must be known."""
        found = self.ints(name)
        if not isinstance(found, list) or any(isinstance(e, Tensor) for e in found):
            raise errors.NotImplemented_(f"{self.op} of official model files with a {name} that depends on data")
        return found

    def number(self, name: str) -> Any:
        """A Python number when it is known, the Tensor otherwise."""
        if name not in self.slots:
            return self.attribute(name)
        found = self.elements(name)
        if found is None or found.size != 1:
            return getattr(self, name)
        e = found.reshape(-1)[0]
        return e if isinstance(e, Dim) or not hasattr(e, "item") else e.item()

    def dtype(self, name: str = "dtype") -> str | None:
        """The data type of an attribute, None for the type of the input."""
        found = self.attribute(name)
        if not found or found.startswith("Undefined"):
            return None
        try:
            return to_dtype(found).name
        except (TypeError, ValueError):
            raise damaged(f"the data type {found!r} of {self.op}") from None

    def result(self, i: int = 0) -> Type:
        """The type of a result in the file."""
        if i >= len(self.node.results):
            raise damaged(f"{self.op} lacks its result {i}")
        found = self.node.results[i][1]
        return found if found is not None else Type(None, ())


# ---- following numbers ----


def _binary(function: Callable) -> Callable:
    def fold(call: Call) -> Any:
        x, y = call.elements("x"), call.elements("y")
        return None if x is None or y is None else np.asarray(function(x, y), dtype=object)

    return fold


FOLDERS["add"] = _binary(lambda x, y: x + y)
FOLDERS["subtract"] = _binary(lambda x, y: x - y)
FOLDERS["multiply"] = _binary(lambda x, y: x * y)
FOLDERS["floor_divide"] = _binary(lambda x, y: x // y)
FOLDERS["remainder"] = _binary(lambda x, y: x % y)


@folds("shape64", "shape")
def _shape(call: Call) -> Any:
    return np.array(list(call.input._raw.shape), dtype=object)


@folds("numel")
def _numel(call: Call) -> Any:
    return np.array(call.x._raw.size, dtype=object)


@folds("assign", "cast", "share_data", "memcpy_d2h", "memcpy_h2d")
def _same(call: Call) -> Any:
    found = call.elements(call.interface.operands[0])
    integer = (call.result().dtype or "").startswith(("int", "uint"))
    if found is None or not integer:
        return found if call.op != "cast" else None
    return np.array([e if isinstance(e, Dim) else int(e) for e in found.reshape(-1)], object).reshape(found.shape)


@folds("scale")
def _scale(call: Call) -> Any:
    x, scale = call.elements("x"), call.elements("scale")
    if x is None or scale is None or not (call.result().dtype or "").startswith("int"):
        return None
    factor, bias = scale.reshape(-1)[0], call.bias
    if float(factor) != int(factor) or bias != int(bias):
        return None
    factor, bias = int(factor), int(bias)
    return np.asarray(x * factor + bias if call.bias_after_scale else (x + bias) * factor, dtype=object)


@folds("increment")
def _increment(call: Call) -> Any:
    return None  # of loop counters: followed, they would stay what they are before the loop


@folds("slice")
def _slice(call: Call) -> Any:
    x, starts, ends = (call.elements(n) for n in ("input", "starts", "ends"))
    if x is None or starts is None or ends is None:
        return None
    index: list = [slice(None)] * x.ndim
    for axis, start, end in zip(call.axes, starts.reshape(-1), ends.reshape(-1)):
        if isinstance(start, Dim) or isinstance(end, Dim) or not 0 <= axis < x.ndim:
            return None
        index[axis] = slice(int(start), int(end))
    x = x[tuple(index)]
    drop = tuple(a for a in call.decrease_axis if a < x.ndim and x.shape[a] == 1)
    return x.reshape([n for a, n in enumerate(x.shape) if a not in drop])


@folds("concat", "stack")
def _joined(call: Call) -> Any:
    slot = call.slots["x"]
    if slot is None or slot.items is None or any(s is None or s.elements is None for s in slot.items):
        return None
    parts = [s.elements for s in slot.items if s is not None and s.elements is not None]
    axis = call.number("axis")
    if not isinstance(axis, int) or any(p.ndim > 1 for p in parts) or not parts:
        return None
    return np.concatenate(parts, axis) if call.op == "concat" else np.stack(parts, axis)


@folds("squeeze", "unsqueeze", "reshape", "flatten")
def _reshaped(call: Call) -> Any:
    found = call.elements("x")
    shape = call.result().shape
    if found is None or any(n < 0 for n in shape) or found.size != int(np.prod(shape)):
        return None
    return found.reshape(shape)


@folds("gather")
def _gather(call: Call) -> Any:
    x, index = call.elements("x"), call.elements("index")
    if x is None or index is None or x.ndim != 1 or any(isinstance(i, Dim) for i in index.reshape(-1)):
        return None
    places = [int(i) for i in index.reshape(-1)]
    return x[places].reshape(index.shape) if all(0 <= i < len(x) for i in places) else None


def fold(call: Call) -> np.ndarray | None:
    """The elements of an operator's first result, when they are few and known."""
    function = FOLDERS.get(call.op)
    if function is None:
        return None
    try:
        found = function(call)
    except (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError, AttributeError):
        return None  # the translator says what is wrong
    return found if found is not None and found.size <= FEW else None
