"""Which unit each element of each value of a program belongs to.

The rows of the weights are numbered; the numbers travel through the operators (`rules`). The labels of a value are an array
of numbers whose axes have the value's lengths, or 1 where the number does not change along an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from paddle.engine.value import Value
from paddle.ir.passes.base import plain
from paddle.ir.program import Graph, Operator

from .units import KEPT, Units

Rule = Callable[["Propagation", Operator, dict[str, Any]], None]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Give operators a rule: a function of the propagation, the operator and its arguments by name."""

    def add(function: Rule) -> Rule:
        RULES.update((name, function) for name in names)
        return function

    return add


def compressed(labels: np.ndarray) -> np.ndarray:
    """Length 1 along the axes along which nothing changes."""
    for axis in range(labels.ndim):
        if labels.shape[axis] > 1:
            first = labels[(slice(None),) * axis + (slice(0, 1),)]
            if (labels == first).all():
                labels = first
    return labels


def varying(labels: np.ndarray) -> list[int]:
    return [i for i, n in enumerate(labels.shape) if n > 1]


class Propagation:
    """The labels of all values of a graph.

    Args:
        graph: operators in order.
        results: values that must keep all of their channels.
        units: where the units are; default: new ones.
        axes: the numbers of the axes of states that are known already, by (name, axis).
        fixed: names of states that nobody can make smaller.

    Attributes:
        axes: the numbers of the axes of states, by (name, axis), in the order in which operators read them.
        labels: of the values.
        owners: for weights with rows: (name, axis of the output channels).
        depthwise: for weights of depthwise convolutions: how many outputs an input has.
    """

    def __init__(
        self,
        graph: Graph,
        results: Iterable[Value],
        units: Units | None = None,
        axes: dict | None = None,
        fixed: Collection[str] = (),
    ):
        self.graph = graph
        self.units = Units() if units is None else units
        self.axes: dict[tuple[str, int], np.ndarray] = {}
        self._given, self._fixed = axes or {}, fixed
        self.states = {s.value: name for name, s in graph.states.items()}
        self.labels: dict[Value, np.ndarray] = {}
        self.owners: dict[str, int] = {}
        self.depthwise: dict[str, int] = {}
        for operator in graph.block.operators:
            self._visit(operator)
        for value in results:
            self.block(value, "it is a result of the network")
        self._make_rectangular()
        if axes is None:
            self._keep_one()

    # ---- reading and writing labels ----
    def of(self, x: Any, like: np.ndarray | None = None) -> np.ndarray:
        """The labels of an argument. Of a state it is the axis that varies in `like` (aligned at the end), or its only
        axis longer than 1; its other axes are kept as they are."""
        if not isinstance(x, Value):
            return np.full((1,) * np.ndim(x), KEPT)
        found = self.labels.get(x)
        if found is None:
            found = self._of_state(x, like) if x in self.states else np.full((1,) * x.ndim, KEPT)
        return found

    def _of_state(self, x: Value, like: np.ndarray | None) -> np.ndarray:
        name = self.states[x]  # of a pruned program an axis may have one channel left
        long = [i for i, n in enumerate(x.shape) if n > 1 or (self._given.get((name, i), KEPT) != KEPT)]
        wanted = [] if like is None else [i - like.ndim + x.ndim for i in varying(like)]
        chosen = [i for i in long if i in wanted] or (long if len(long) == 1 else [])
        if len(chosen) != 1:
            self.hold_state(x, "it is read as a whole")
            return np.full((1,) * x.ndim, KEPT)
        shape = [1] * x.ndim
        shape[chosen[0]] = -1
        return self.axis(x, chosen[0]).reshape(shape)

    def shape(self, x: Any) -> tuple[int, ...]:
        return tuple(x.trials[0]) if isinstance(x, Value) else tuple(np.shape(x))

    def is_state(self, x: Any) -> bool:
        return isinstance(x, Value) and x in self.states

    def axis(self, state: Value, axis: int) -> np.ndarray:
        """The numbers of an axis of a state."""
        key = (self.states[state], axis)
        if key not in self.axes:
            given = self._given.get(key)
            if given is None:
                given = np.full(state.shape[axis], KEPT) if key[0] in self._fixed else self.units.new(state.shape[axis])
            self.axes[key] = given
        return self.axes[key]

    def put(self, value: Value, labels: Any) -> None:
        self.labels[value] = compressed(np.asarray(labels))

    def put_along(self, value: Value, axis: int, ids: np.ndarray) -> None:
        """Labels that change along one axis only."""
        shape = [1] * value.ndim
        shape[axis] = len(ids)
        self.put(value, ids.reshape(shape))

    def along(self, x: Any, axis: int) -> np.ndarray:
        """The numbers along an axis; along the others they become one."""
        length = self.shape(x)[axis]
        labels = self.of(x, np.empty([2 if i == axis % x.ndim else 1 for i in range(x.ndim)]))
        rows = np.moveaxis(labels, axis, 0).reshape(labels.shape[axis], -1)
        if len(rows) != length:  # the numbers change along other axes only
            self.units.hold(rows, f"channels lie along another axis than axis {axis} of %{x.name}")
            return np.full(length, KEPT)
        self.units.join(rows, rows[:, :1])
        return rows[:, 0]

    def joined(self, operands: Iterable[Any], reason: str = "an operand without channels") -> np.ndarray:
        """The labels of operands that broadcast, made one element by element."""
        operands = [x for x in operands if isinstance(x, Value) or np.ndim(x)]
        own = [self.of(x) if not self.is_state(x) else None for x in operands]
        like = max((o for o in own if o is not None), key=lambda o: (len(varying(o)), o.ndim), default=None)
        given = [(self.of(x, like) if o is None else o, self.shape(x)) for x, o in zip(operands, own)]
        return self.joined_labels(given, reason)

    def joined_labels(self, given: list[tuple[np.ndarray, tuple]], reason: str = "an operand without channels") -> Any:
        """The same for (labels, shape)."""
        ndim = max((o.ndim for o, _ in given), default=0)
        with_units = [o for o, _ in given if (o != KEPT).any()]
        if not with_units:
            return np.full((1,) * ndim, KEPT)
        out = with_units[0]
        for other in with_units[1:]:
            self.units.join(out, other)
            a, b = np.broadcast_arrays(out, other)
            out = np.where(a != KEPT, a, b)
        out = out.reshape((1,) * (ndim - out.ndim) + out.shape)
        for labels, shape in given:
            if (labels != KEPT).any():
                continue
            lengths = (1,) * (ndim - len(shape)) + tuple(shape)
            if any(lengths[axis] > 1 for axis in varying(out)):
                self.units.hold(out, reason)
        return out

    # ---- what cannot be removed ----
    def block(self, value: Any, reason: str) -> None:
        """Hold the units of a value."""
        if self.is_state(value):
            self.hold_state(value, reason)
        elif isinstance(value, Value) and value in self.labels:
            self.units.hold(self.labels[value], reason)

    def hold_state(self, state: Value, reason: str) -> None:
        for axis in range(state.ndim):
            self.units.hold(self.axis(state, axis), reason)

    def block_operator(self, operator: Operator, reason: str | None = None) -> None:
        """Hold everything that an operator reads; its results have no units."""
        where = f" at {operator.line}" if operator.line else ""
        reason = f"operator {operator.name}{where} {reason or 'is not known to the analysis'}"
        read = set(operator.reads())
        for block in getattr(operator.kernel, "blocks", ()):
            read.update(block.free())
        for value in read:
            self.block(value, reason)
        for value in operator.outputs:
            self.put(value, np.full((1,) * value.ndim, KEPT))

    def _visit(self, operator: Operator) -> None:
        apply = RULES.get(operator.name)
        given = operator.arguments() if apply is not None else {}
        if operator.known or operator.name == "shape":
            for value in operator.outputs:
                self.put(value, np.full((1,) * value.ndim, KEPT))
        elif apply is None or type(operator) is not Operator:
            self.block_operator(operator)
        else:
            apply(self, operator, {n: plain(x) for n, x in given.items()})

    # ---- at the end ----
    def _make_rectangular(self) -> None:
        """What is removed of a value must be whole rows along one axis: where units change along several, the ones with
        equal indices of the last of them become one (of channels in groups, the same of each group)."""
        several = [labels for labels in self.labels.values() if len(varying(labels)) > 1]
        before = -1
        while before != self.units.joins:
            before = self.units.joins
            for labels in several:
                found = compressed(self.units.find(labels))
                if self.units.is_held(found).all():
                    continue
                for axis in varying(found)[:-1]:
                    self.units.join(found, np.take(found, [0], axis))

    def _keep_one(self) -> None:
        """An axis that is one unit as a whole stays."""
        for ids in self.axes.values():
            if len(np.unique(self.units.find(ids))) == 1:
                self.units.hold(ids, "its channels all depend on each other")
