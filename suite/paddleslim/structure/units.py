"""Units: what is removed as a whole. Channels that depend on each other are made one unit (union-find)."""

from __future__ import annotations

from typing import Any

import numpy as np

KEPT = 0  # the number of what belongs to no unit: batch, positions, inputs


class Units:
    """Numbered units that can be joined, and held so that nothing removes them.

    Example:
        >>> units = Units()
        >>> a, b = units.new(3), units.new(3)
        >>> units.join(a, b); units.hold(a[:1], "a result")
        >>> units.find(b).tolist() == units.find(a).tolist(), units.reason(b[0])
        (True, 'a result')
    """

    def __init__(self) -> None:
        self._parent = np.zeros(1, np.int64)
        self._held: dict[int, str] = {}
        self.joins = 0  # how many times two units became one, or one was held

    def new(self, n: int) -> np.ndarray:
        """n further units; for n = 1 none, as the only channel cannot be removed."""
        if n < 2:
            return np.full(n, KEPT)
        first = len(self._parent)
        self._parent = np.concatenate([self._parent, np.arange(first, first + n)])
        return np.arange(first, first + n)

    def find(self, ids: Any) -> np.ndarray:
        """The representative of each unit."""
        roots = self._parent[ids]
        while True:
            above = self._parent[roots]
            if np.array_equal(above, roots):
                return roots
            self._parent[ids] = above
            roots = above

    def join(self, a: Any, b: Any, reason: str = "an operand without channels") -> None:
        """Make units one, pair by pair (arrays that broadcast). A unit paired with KEPT is held."""
        a, b = np.broadcast_arrays(self.find(a), self.find(b))
        different = a != b
        if not different.any():
            return
        pairs = np.unique(np.stack([a[different], b[different]], -1).reshape(-1, 2), axis=0)
        for x, y in pairs:
            x, y = int(self.find(x)), int(self.find(y))
            if x == y:
                continue
            if KEPT in (x, y):
                self.hold(np.array([x + y]), reason)
                continue
            self._parent[max(x, y)] = min(x, y)
            self.joins += 1
            held = self._held.pop(max(x, y), None)
            if held is not None:
                self._held.setdefault(min(x, y), held)

    def join_all(self, ids: Any) -> None:
        """Make all of them one."""
        ids = np.unique(np.asarray(ids))
        self.join(ids[1:], ids[:1])

    def hold(self, ids: Any, reason: str) -> None:
        """Let nothing remove these units."""
        for root in np.unique(self.find(np.asarray(ids))).tolist():
            if root != KEPT and root not in self._held:
                self._held[root] = reason
                self.joins += 1

    def reason(self, unit: int) -> str | None:
        """Why a unit is held; None when it can be removed."""
        root = int(self.find(unit))
        return "it has no channels" if root == KEPT else self._held.get(root)

    def is_held(self, ids: Any) -> np.ndarray:
        """Whether each can not be removed."""
        held = np.fromiter([KEPT, *self._held], np.int64)
        return np.isin(self.find(ids), held)

    def copy(self) -> Units:
        other = Units()
        other._parent, other._held, other.joins = self._parent.copy(), dict(self._held), self.joins
        return other
