"""What passes are made of: the registry, who uses a value, who defines it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...engine import errors, flags
from ...engine.executable import Static
from ...engine.value import Value
from ..program import Graph, Operator

Pass = Callable[[Graph, Sequence[Value]], Graph]
PASSES: dict[str, Pass] = {}


def register(name: str) -> Callable[[Pass], Pass]:
    """Give a pass a name, under which `apply` and `paddle.inference.Config` know it."""

    def add(function: Pass) -> Pass:
        PASSES[name] = function
        return function

    return add


def apply(graph: Graph, wanted: Iterable[Value], names: Iterable[str]) -> Graph:
    """Run passes one after the other.

    Args:
        graph: stays as it is.
        wanted: the values that must still be computed.
        names: of registered passes.

    Raises:
        ValueError: an unknown name.
    """
    wanted = list(wanted)
    for name in names:
        if name not in PASSES:
            raise errors.ValueError_(f"there is no pass {name!r}; there are {', '.join(sorted(PASSES))}")
        before = len(graph.block.operators)
        graph = PASSES[name](graph, wanted)
        if flags.debug_level() >= 3:
            print(f"[paddle-xla] pass {name}: {before} -> {len(graph.block.operators)} operators", file=sys.stderr)
    return graph


def plain(x: Any) -> Any:
    """An attribute as `Operator.arguments` gives it, without the wrapping of a key."""
    return x.value if isinstance(x, Static) else x


class Uses:
    """Who defines and who reads the values of a graph."""

    def __init__(self, graph: Graph, wanted: Iterable[Value] = ()):
        self.producer: dict[Value, Operator] = {}
        self.readers: dict[Value, list[Operator]] = {}
        self.wanted = {*wanted, *(s.update for s in graph.states.values() if s.update is not None)}
        self.states = {s.value: s for s in graph.states.values()}
        for operator in graph.block.operators:
            for value in operator.reads():
                self.readers.setdefault(value, []).append(operator)
            for block in getattr(operator.kernel, "blocks", ()):
                for value in block.free():
                    self.readers.setdefault(value, []).append(operator)
            for value in operator.outputs:
                self.producer[value] = operator

    def only_reader(self, value: Value) -> Operator | None:
        """The operator that alone reads a value, None when there are several or the value is wanted."""
        readers = self.readers.get(value, [])
        return readers[0] if len(readers) == 1 and value not in self.wanted else None

    def made_by(self, value: object, *names: str) -> Operator | None:
        """The operator that defines a value, if it is of one of these kinds."""
        found = self.producer.get(value) if isinstance(value, Value) else None  # type: ignore[call-overload]
        return found if found is not None and found.name in names else None

    def array(self, value: object):
        """The elements of a state that does not change, None for other values."""
        state = self.states.get(value) if isinstance(value, Value) else None  # type: ignore[call-overload]
        if state is None or state.update is not None or state.tensor is None:
            return None
        return state.tensor._value
