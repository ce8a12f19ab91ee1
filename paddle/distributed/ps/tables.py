"""What a server holds: sparse tables, rows by id that come into being when they are first needed, and dense parameters."""

from __future__ import annotations

import threading

import numpy as np

from ...engine import errors
from .rows import Index, first_rows, uniform_of
from .rules import RULES, Update

# of the score that `shrink` compares, as officially
_SHOW_PART, _CLICK_PART, _DECAY, _LEAST = 0.1, 1.0, 0.98, 0.8


def summed(ids: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different ids, ascending, and the sums of their values."""
    order = np.argsort(ids)
    ordered = ids[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(ids), 1), bool), ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(values[order], starts, axis=0) if len(starts) else values[:0]


class SparseTable:
    """Rows of floats by id. Arrays grow by doubling; all operations work on arrays of different ids.

    Args:
        name: by which it is asked for.
        width: the length of a row.
        initializer: the first values, see `rows.first_rows`; they depend on `seed` and the id only.
        update: the arguments of `rules.Update`.
        entry: which ids get a row, None for all: ("count", n) those seen n times in pushes, ("probability", p) each time
            with this probability, ("show_click",) all, with counts of shows and clicks for `shrink`.
        seed: of the first values.

    Example:
        >>> import numpy as np
        >>> from paddle.distributed.ps import SparseTable
        >>> table = SparseTable("users", 2, ("constant", 1.0), ("sgd", {}))
        >>> table.push(np.array([7]), np.ones((1, 2), "float32"), 0.5)
        >>> table.pull(np.array([7, 8])).tolist(), table.size
        ([[0.5, 0.5], [1.0, 1.0]], 1)
    """

    def __init__(
        self, name: str, width: int, initializer: tuple, update: tuple, entry: tuple | None = None, seed: int = 0
    ):
        self.spec = dict(name=name, width=width, initializer=initializer, update=update, entry=entry, seed=seed)
        self.name, self.width, self.seed = name, width, seed
        self.initializer, self.entry = tuple(initializer), entry
        self.update = Update(*update)
        self.lock = threading.RLock()
        self.changes = 0  # how many pushes
        self._clear()

    def _clear(self) -> None:
        self.index = Index()
        self.ids = np.empty(0, np.int64)
        self.columns: dict[str, np.ndarray] = {}  # "rows" and the states of the update
        self._make_room(0)

    @property
    def size(self) -> int:
        """How many ids it knows."""
        return self.index.size

    def _first(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        n = len(ids)
        found = {"rows": first_rows(self.initializer, ids, self.width, self.seed), **self.update.states(n, self.width)}
        found["unseen"] = np.zeros(n, np.float32)
        if self.update.rule is RULES["sum"]:
            found |= {name: np.zeros(n, np.int64) for name in ("round", "sharers", "sharers_before")}
        if self.entry is not None:
            if self.entry[0] == "show_click":
                found |= {"show": np.zeros(n, np.float32), "click": np.zeros(n, np.float32)}
            else:
                found |= {"count": np.zeros(n, np.float32), "admitted": np.zeros(n, np.float32)}
        return found

    def _make_room(self, count: int) -> None:
        if count <= len(self.ids) and self.columns:
            return
        room = max(1024, 2 * len(self.ids), count)
        old, self.columns = self.columns, {}
        for name, column in self._first(np.empty(0, np.int64)).items():
            new = self.columns[name] = np.empty((room, *column.shape[1:]), column.dtype)
            if old:
                new[: self.size] = old[name][: self.size]
        ids = np.empty(room, np.int64)
        ids[: self.size] = self.ids[: self.size]
        self.ids = ids

    def _append(self, ids: np.ndarray, columns: dict[str, np.ndarray]) -> np.ndarray:
        self._make_room(self.size + len(ids))
        at = self.index.add(ids)
        self.ids[at] = ids
        for name, column in self.columns.items():
            column[at] = columns[name]
        return at

    def _find_or_make(self, ids: np.ndarray) -> np.ndarray:
        at = self.index.find(ids)
        missing = at < 0
        if missing.any():
            at[missing] = self._append(ids[missing], self._first(ids[missing]))
        return at

    def pull(self, ids: np.ndarray, create: bool = False) -> np.ndarray:
        """The rows of different ids, float32 [ids, width]. Of an id without a row it gives what the row will start with, or
        zeros when an entry policy has not admitted it; `create` makes the row."""
        with self.lock:
            selective = self.entry is not None and self.entry[0] != "show_click"
            at = self._find_or_make(ids) if create and not selective else self.index.find(ids)
            missing = at < 0
            if not missing.any():
                out = self.columns["rows"][at]
            else:
                out = np.zeros((len(ids), self.width), np.float32)
                known = ~missing
                out[known] = self.columns["rows"][at[known]]
                if not selective:
                    out[missing] = first_rows(self.initializer, ids[missing], self.width, self.seed)
            if selective:
                out[~missing] *= self.columns["admitted"][at[~missing]][:, None]
            return out

    def push(
        self,
        ids: np.ndarray,
        gradients: np.ndarray,
        lr: float,
        counts: np.ndarray | None = None,
        shows: np.ndarray | None = None,
        clicks: np.ndarray | None = None,
    ) -> None:
        """Update the rows of different ids.

        Args:
            ids: int64 [n].
            gradients: float32 [n, width].
            lr: the learning rate.
            counts: how often each id was seen, for entry policies; default once.
            shows, clicks: counts that `shrink` looks at.
        """
        if gradients.shape != (len(ids), self.width):
            raise errors.ValueError_(
                f"parameter server: {len(ids)} gradients of length {self.width} are expected, got shape "
                f"{list(gradients.shape)}"
            )
        with self.lock:
            self.changes += 1
            at = self._find_or_make(ids)
            columns = self.columns
            columns["unseen"][at] = 0
            if self.entry is not None:
                if self.entry[0] == "show_click":
                    columns["show"][at] += 0 if shows is None else shows
                    columns["click"][at] += 0 if clicks is None else clicks
                else:
                    self._admit(at, ids, np.ones(len(ids), np.float32) if counts is None else counts)
                    chosen = columns["admitted"][at] > 0
                    at, gradients = at[chosen], gradients[chosen]
            rows = columns["rows"][at]
            states = {name: columns[name][at] for name in self.update.rule.states}
            self.update.apply(rows, states, gradients, lr)
            columns["rows"][at] = rows
            for name, state in states.items():
                columns[name][at] = state

    def add(self, ids: np.ndarray, differences: np.ndarray, worker: int, round_: int) -> None:
        """Add what a worker has changed in rows since it last asked (update "sum"). The differences of workers that change a
        row at the same time are averaged: each is divided by the number of workers that changed the row in this round or
        the one before.

        Args:
            ids: int64 [n], different.
            differences: float32 [n, width].
            worker: its number.
            round_: counts up when all workers have come by.
        """
        with self.lock:
            at = self._find_or_make(ids)
            columns = self.columns
            last, now, before = (columns[name][at] for name in ("round", "sharers", "sharers_before"))
            before = np.where(last == round_, before, np.where(last == round_ - 1, now, 0))
            now = np.where(last == round_, now, 0) | np.int64(1) << np.int64(worker % 63)
            columns["round"][at], columns["sharers"][at], columns["sharers_before"][at] = round_, now, before
            self.push(ids, differences / np.bitwise_count(now | before)[:, None].astype(np.float32), 1.0)

    def _admit(self, at: np.ndarray, ids: np.ndarray, counts: np.ndarray) -> None:
        policy, number = self.entry  # type: ignore[misc]
        seen = self.columns["count"][at]
        if policy == "count":
            admitted = seen + counts >= number
        else:  # the chance that one of `counts` looks succeeds, drawn by id and by how often it was seen
            draw = uniform_of(ids ^ seen.astype(np.int64) << 40, 1, self.seed + 1)[:, 0]
            admitted = draw < 1 - (1 - number) ** counts
        self.columns["count"][at] = seen + counts
        self.columns["admitted"][at] = np.maximum(self.columns["admitted"][at], admitted)

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Overwrite the rows of different ids."""
        with self.lock:
            at = self._find_or_make(ids)  # which may replace the arrays
            self.columns["rows"][at] = rows

    def shrink(self, threshold: float | None = None) -> int:
        """Forget rows that matter little; how many. With a policy of shows and clicks both decay by 0.98, and rows go whose
        score, 0.1 (show - click) + click, is below `threshold` (0.8); otherwise rows go that nobody has updated for more
        than `threshold` calls of this."""
        with self.lock:
            n = self.size
            columns = {name: column[:n] for name, column in self.columns.items()}
            columns["unseen"] += 1
            if "show" in columns:
                columns["show"] *= _DECAY
                columns["click"] *= _DECAY
                score = _SHOW_PART * (columns["show"] - columns["click"]) + _CLICK_PART * columns["click"]
                stay = score >= (_LEAST if threshold is None else threshold)
            else:
                stay = columns["unseen"] <= (np.inf if threshold is None else threshold)
            ids, kept = self.ids[:n][stay], {name: column[stay] for name, column in columns.items()}
            self._clear()
            self._append(ids, kept)
            return n - len(ids)

    def contents(self) -> dict[str, np.ndarray]:
        """Copies of the ids and all columns, for files."""
        with self.lock:
            return {"ids": self.ids[: self.size].copy()} | {n: c[: self.size].copy() for n, c in self.columns.items()}

    def take(self, contents: dict[str, np.ndarray]) -> None:
        """Add rows from a file; rows of the same ids are overwritten. States that the file does not have start anew."""
        ids = contents["ids"]
        with self.lock:
            at = self._find_or_make(ids)
            for name, column in self.columns.items():
                if name in contents and contents[name].shape[1:] == column.shape[1:]:
                    column[at] = contents[name]


def _precise(dtype: np.dtype) -> type:
    """The type in which servers keep a parameter."""
    return np.float64 if dtype == np.float64 else np.float32


class DenseTable:
    """Whole parameters by name, each with its update."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.version = 0
        self.values: dict[str, np.ndarray] = {}
        self._states: dict[str, dict[str, np.ndarray]] = {}
        self._updates: dict[str, Update] = {}
        self.specs: dict[str, tuple] = {}

    def add(self, name: str, value: np.ndarray, update: tuple) -> None:
        """A parameter with its first value; nothing when there is one of this name already, as after loading."""
        with self.lock:
            self.specs[name] = update
            self._updates[name] = Update(*update)
            if name not in self.values:
                kept = self.values[name] = np.array(value, _precise(value.dtype))
                self._states[name] = self._updates[name].states(1, kept.size, kept.dtype)
                self.version += 1

    def push(self, gradients: dict[str, np.ndarray], lr: float) -> None:
        """Update parameters."""
        if not gradients:
            return
        with self.lock:
            for name, gradient in gradients.items():
                value = self.values[name].copy()  # others may still read what was pulled
                row = value.reshape(1, -1)
                self._updates[name].apply(row, self._states[name], np.asarray(gradient, row.dtype).reshape(1, -1), lr)
                self.values[name] = value
            self.version += 1

    def pull(self, version: int = -1) -> tuple[int, dict[str, np.ndarray] | None]:
        """(version, values by name), None for values that the caller has already."""
        with self.lock:
            return self.version, None if version == self.version else dict(self.values)

    def put(self, values: dict[str, np.ndarray]) -> None:
        """Overwrite parameters."""
        with self.lock:
            self.values |= {n: np.array(v, _precise(v.dtype)) for n, v in values.items()}
            self.version += 1

    def contents(self) -> dict[str, np.ndarray]:
        with self.lock:
            out = {f"value/{n}": v for n, v in self.values.items()}
            return out | {f"{s}/{n}": c.copy() for n, states in self._states.items() for s, c in states.items()}

    def take(self, contents: dict[str, np.ndarray]) -> None:
        """Values and states from a file, as `contents` gives them."""
        with self.lock:
            for key, array in contents.items():
                kind, name = key.split("/", 1)
                if kind == "value":
                    self.values[name] = array
                elif kind in self._states.get(name, {}):
                    self._states[name][kind] = array
            self.version += 1
