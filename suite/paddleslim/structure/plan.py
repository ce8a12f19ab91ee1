"""What can be removed from a program, and what goes with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from paddle.engine import errors
from paddle.engine.value import Value
from paddle.ir.program import Graph

from . import rules  # noqa: F401  the rules
from .propagation import Propagation, compressed
from .units import KEPT


class Group(NamedTuple):
    """Weights whose output channels leave together.

    Attributes:
        name: the weight that comes first in the program.
        axis: of its output channels.
        units: how many can be removed, one by one.
        members: (name, axis) of the weights whose output channels belong to the same units.
        reason: why nothing can be removed; None otherwise.
    """

    name: str
    axis: int
    units: int
    members: tuple[tuple[str, int], ...]
    reason: str | None


class Structure:
    """The dependencies of the channels of a program.

    Args:
        graph: a program; its operators are followed in order.
        results: the values that it computes for others; their channels stay.
        fixed: names of states that nobody can make smaller, such as constants of the code.

    Attributes:
        graph, results: as given.
        propagation: the labels of all values.

    Example:
        >>> import paddleslim
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 2))
        >>> structure = paddleslim.structure.of_layer(net, [1, 4])
        >>> [(g.axis, g.units, g.reason) for g in structure.groups()]
        [(1, 8, None), (1, 0, 'it is a result of the network')]
    """

    def __init__(self, graph: Graph, results: Iterable[Value], fixed: Collection[str] = ()):
        self.graph, self.results, self._fixed = graph, list(results), set(fixed)
        self.propagation = Propagation(graph, self.results, fixed=fixed)
        self.units = self.propagation.units

    def ids(self, name: str, axis: int, function: str = "prune") -> np.ndarray:
        """The unit of each index of an axis of a state.

        Raises:
            ValueError: the program has no such state or axis, or does not use it as a weight.
        """
        states = self.graph.states
        if name not in states:
            raise errors.ValueError_(
                f"{function}: the network has no parameter {name!r}; it has {', '.join(list(states)[:8])}, ..."
            )
        ndim = states[name].value.ndim
        if not -ndim <= axis < ndim:
            raise errors.ValueError_(f"{function}: axis must lie in [0, {ndim}) for {name}, got {axis}")
        found = self.propagation.axes.get((name, axis % ndim))
        if found is None:
            raise errors.ValueError_(f"{function}: axis {axis} of {name} has no channels that could be removed")
        return self.units.find(found)

    def reason(self, name: str, axis: int) -> str | None:
        """Why no channel of this axis can be removed; None when some can."""
        ids = self.ids(name, axis)
        if not self.units.is_held(ids).all():
            return None
        return next((r for r in map(self.units.reason, ids) if r and r != "it has no channels"), "it has no channels")

    def groups(self) -> list[Group]:
        """The weights with output channels, in the order of the program, those that depend on each other together."""
        found: list[Group] = []
        owners = {n: a for n, a in self.propagation.owners.items() if (n, a) in self.propagation.axes}
        sets = {n: set(self.ids(n, a).tolist()) - {KEPT} for n, a in owners.items()}
        left = list(owners)
        while left:
            first = left.pop(0)
            members, units, grown = [first], set(sets[first]), True
            while grown:
                more = [n for n in left if sets[n] & units]
                grown = bool(more)
                for n in more:
                    left.remove(n)
                    members.append(n)
                    units |= sets[n]
            free = np.array(sorted(units), np.int64)
            n_free = int((~self.units.is_held(free)).sum()) if len(free) else 0
            reason = None if n_free else self.reason(first, owners[first])
            order = [n for n in owners if n in members]
            found.append(Group(order[0], owners[order[0]], n_free, tuple((n, owners[n]) for n in order), reason))
        return found

    def keep(self, removed: Iterable[int]) -> dict[tuple[str, int], np.ndarray]:
        """Without these units: the indices that are left, by (name, axis), of the axes that change.

        Raises:
            ValueError: a unit must stay, or of an axis nothing would be left.
        """
        gone = np.unique(self.units.find(np.fromiter(removed, np.int64)))
        held = gone[self.units.is_held(gone)]
        if len(held):
            raise errors.ValueError_(f"prune: channels that must stay were chosen: {self.units.reason(int(held[0]))}")
        kept = {}
        for (name, axis), ids in self.propagation.axes.items():
            stays = ~np.isin(self.units.find(ids), gone)
            if not stays.any():
                raise errors.ValueError_(f"prune: nothing would be left of axis {axis} of {name}")
            if not stays.all():
                kept[name, axis] = np.flatnonzero(stays)
        return kept

    def spared(self, removed: Iterable[int]) -> list[int]:
        """The units without those that have to stay so that every axis keeps a channel: of such an axis the last one."""
        order = list(dict.fromkeys(self.units.find(np.fromiter(removed, np.int64)).tolist()))
        for ids in self.propagation.axes.values():
            own = set(self.units.find(ids).tolist())
            if own <= set(order):
                order.remove(max(own, key=order.index))
        return order

    def left(self, value: Value, removed: np.ndarray) -> np.ndarray:
        """The labels of a value without what is removed."""
        labels = self.units.find(self.propagation.labels[value])
        stays = ~np.isin(labels, removed)
        for axis in range(labels.ndim):
            rows = np.moveaxis(stays, axis, 0).reshape(labels.shape[axis], -1).any(1)
            labels, stays = (np.compress(rows, a, axis) for a in (labels, stays))
        return labels

    def lengths_left(self, value: Value, removed: np.ndarray) -> list[int]:
        """The lengths of a value without what is removed."""
        labels, left = self.propagation.labels[value], self.left(value, removed)
        return [b if a > 1 else n for a, b, n in zip(labels.shape, left.shape, value.trials[0])]

    def check(self, graph: Graph, results: Iterable[Value], removed: Iterable[int], name: str = "prune") -> None:
        """Follow the channels through a program that was pruned: every value must carry exactly those that were to stay.

        Raises:
            ValueError: it computes something else; the message names the operator.
        """
        gone = np.unique(self.units.find(np.fromiter(removed, np.int64)))
        kept = self.keep(gone)
        axes = {}
        for (state, axis), ids in self.propagation.axes.items():
            axes[state, axis] = ids[kept[state, axis]] if (state, axis) in kept else ids
        units = self.units.copy()
        constants = self._fixed | (set(graph.states) - set(self.graph.states))
        again = Propagation(graph, results, units, axes, constants)
        old, new = self.graph.block.operators, graph.block.operators
        if [o.name for o in old] != [o.name for o in new]:
            raise errors.ValueError_(f"{name}: the pruned network runs other operators than before")
        for before, after in zip(old, new):
            for a, b in zip(before.outputs, after.outputs):
                expected = compressed(self.left(a, gone))
                found = compressed(units.find(again.labels[b]))
                lengths = self.lengths_left(a, gone)
                same = expected.shape == found.shape and (expected == found).all()
                if not same or (not before.known and lengths != list(b.trials[0])):
                    raise errors.ValueError_(
                        f"{name}: after pruning, {before.name}{' at ' + str(before.line) if before.line else ''} would give "
                        f"{list(b.trials[0])} where {lengths} channels are left: the code counts with fixed numbers there"
                    )
        if units.joins != self.units.joins:
            raise errors.ValueError_(f"{name}: the pruned network mixes channels that were apart")


def ratio_of(name: str, ratio: Any) -> float:
    """A share in [0, 1)."""
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float, np.floating)) or not 0 <= ratio < 1:
        raise errors.ValueError_(f"{name}: a ratio must lie in [0, 1), got {ratio!r}")
    return float(ratio)


def chosen(
    structure: Structure, name: str, axis: int, ratio: float, scores: np.ndarray, function: str = "prune"
) -> list[int]:
    """The units with the smallest scores.

    Args:
        structure: of the program.
        name, axis: of a weight.
        ratio: how many of its units, a share; they are rounded to the nearest number, and one stays.
        scores: one for each index of the axis; those of a unit are added.

    Raises:
        ValueError: nothing of the axis can be removed; the message says why.
    """
    ratio = ratio_of(function, ratio)
    ids = structure.ids(name, axis, function)
    reason = structure.reason(name, axis)
    if reason is not None:
        raise errors.ValueError_(f"{function}: no channel of axis {axis} of {name} can be removed: {reason}")
    units, at = np.unique(ids, return_inverse=True)
    total = np.zeros(len(units))
    np.add.at(total, at.reshape(-1), np.asarray(scores, np.float64))
    free = ~structure.units.is_held(units)
    n = min(int(round(ratio * len(units))), int(free.sum()), len(units) - 1)
    order = np.argsort(np.where(free, total, np.inf), kind="stable")
    return units[order[:n]].tolist()
