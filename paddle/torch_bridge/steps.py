"""What a converted module does, as plain data that needs no PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Input", "Late", "Owner", "Plan", "Ref", "Step", "filled"]


class Late:
    """Something of an argument that the values of a run decide."""

    __slots__ = ()

    def of(self, values: list) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Ref(Late):
    """A value: its place in the list of values of a run."""

    slot: int

    def of(self, values: list) -> Any:
        return values[self.slot]


@dataclass(frozen=True)
class Owner:
    """The module whose call made a node, by its path."""

    path: str


@dataclass
class Step:
    """A call: `function(*args, **kwargs)` with the Refs replaced; the values in `drop` are not needed afterwards."""

    function: Callable
    args: list
    kwargs: dict[str, Any]
    out: int
    drop: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Input:
    """A tensor that a call gives: shape with None for an open axis, name of its type, value of what is no tensor."""

    name: str
    slot: int | None
    shape: tuple | None = None
    dtype: str | None = None
    value: Any = None


@dataclass
class Plan:
    """What one call of the module does.

    Attributes:
        size: how many values there are.
        names: of the positional arguments.
        inputs: by position in the flat list of the arguments.
        arguments: (args, kwargs) with positions in `inputs` instead of tensors.
        states: places of parameters, buffers and constants by their names.
        constants: the values of the constants.
        steps: the calls in order.
        results: what is returned, with Refs.
        updates: buffers by name, with the places of their new values.
    """

    size: int
    names: list[str]
    inputs: list[Input]
    arguments: Any
    states: dict[str, int]
    constants: dict[str, Any]
    steps: list[Step]
    results: Any
    updates: dict[str, int]


def filled(x: Any, values: list) -> Any:
    """A structure with what a run has in the place of Refs and their like."""
    if isinstance(x, Late):
        return x.of(values)
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([filled(y, values) for y in x])
    if kind is dict:
        return {k: filled(y, values) for k, y in x.items()}
    if kind is slice:
        return slice(filled(x.start, values), filled(x.stop, values), filled(x.step, values))
    return x
