"""Where the row of an id is, and the values with which it starts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine import errors

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_EMPTY = np.int32(-1)


def mixed(ids: np.ndarray) -> np.ndarray:
    """A well spread uint64 for each 64-bit id (the finalizer of SplitMix64; Steele, Lea and Flood, 2014)."""
    x = ids.astype(np.uint64) + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def owners(ids: np.ndarray, servers: int) -> np.ndarray:
    """The number of the server that holds each id."""
    return ((mixed(ids) >> np.uint64(33)) % np.uint64(servers)).astype(np.int64)


class Index:
    """From int64 ids to consecutive numbers: an open hash table whose search and insertion are array operations.

    Example:
        >>> import numpy as np
        >>> from paddle.distributed.ps.rows import Index
        >>> index = Index()
        >>> index.add(np.array([70, 10**12])).tolist(), index.find(np.array([10**12, 3])).tolist()
        ([0, 1], [1, -1])
    """

    def __init__(self, room: int = 1024):
        self.size = 0
        self._make(room)

    def _make(self, room: int) -> None:
        self._keys = np.zeros(room, np.int64)
        self._numbers = np.full(room, _EMPTY, np.int32)
        self._mask = np.uint64(room - 1)

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The numbers of ids, -1 for those that are not there."""
        found = np.full(len(ids), _EMPTY, np.int32)
        at = (mixed(ids) & self._mask).astype(np.int64)
        open_ = np.arange(len(ids))
        while len(open_):
            place = at[open_]
            numbers = self._numbers[place]
            hit = (numbers >= 0) & (self._keys[place] == ids[open_])
            found[open_[hit]] = numbers[hit]
            open_ = open_[(numbers >= 0) & ~hit]
            at[open_] = (at[open_] + 1) & np.int64(self._mask)
        return found

    def add(self, ids: np.ndarray) -> np.ndarray:
        """Give numbers to ids, all different, that are not there; the numbers."""
        if self.size + len(ids) > len(self._keys) // 2:
            full = self._numbers >= 0
            keys, numbers = self._keys[full], self._numbers[full]
            self._make(1 << max(10, math.ceil(math.log2(2 * (self.size + len(ids)) + 1))))
            self._place(keys, numbers)
        numbers = np.arange(self.size, self.size + len(ids), dtype=np.int32)
        self._place(ids, numbers)
        self.size += len(ids)
        return numbers

    def _place(self, ids: np.ndarray, numbers: np.ndarray) -> None:
        at = (mixed(ids) & self._mask).astype(np.int64)
        open_ = np.arange(len(ids))
        while len(open_):
            place = at[open_]
            free = self._numbers[place] < 0
            self._numbers[place[free]] = numbers[open_[free]]  # of several that want a place the last one has it
            self._keys[place[free]] = ids[open_[free]]
            lost = self._numbers[place] != numbers[open_]
            open_ = open_[lost]
            at[open_] = (at[open_] + 1) & np.int64(self._mask)


# ---- first values ----


def uniform_of(ids: np.ndarray, width: int, seed: int) -> np.ndarray:
    """Numbers in (0, 1), float64 [ids, width], that depend on seed, id and column only."""
    start = mixed(mixed(ids) ^ np.uint64(seed & 0xFFFFFFFFFFFFFFFF))
    words = mixed(start[:, None] + np.arange(width, dtype=np.uint64))
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normal_of(ids: np.ndarray, width: int, seed: int) -> np.ndarray:
    """Standard normal numbers by the method of Box and Muller (1958)."""
    u = uniform_of(ids, 2 * width, seed)
    return np.sqrt(-2 * np.log(u[:, :width])) * np.cos(2 * math.pi * u[:, width:])


def first_rows(kind: tuple, ids: np.ndarray, width: int, seed: int) -> np.ndarray:
    """The first values of rows, float32 [ids, width]; `kind` as `initializer_kind` gives it."""
    name, *numbers = kind
    if name == "constant":
        return np.full((len(ids), width), numbers[0], np.float32)
    if name == "uniform":
        low, high = numbers
        return (low + (high - low) * uniform_of(ids, width, seed)).astype(np.float32)
    mean, std, *bounds = numbers
    values = mean + std * normal_of(ids, width, seed)
    if bounds:
        for attempt in range(1, 64):
            beyond = (values < bounds[0]) | (values > bounds[1])
            if not beyond.any():
                break
            values = np.where(beyond, mean + std * normal_of(ids, width, seed + attempt), values)
        values = np.clip(values, *bounds)
    return values.astype(np.float32)


def initializer_kind(initializer: Any, shape: tuple[int, ...], who: str) -> tuple:
    """An initializer as a name and numbers; of those whose values do not depend on other rows.

    Raises:
        NotImplementedError: for the others.
    """
    from ...nn import initializer as init

    rows, width = shape
    found = initializer
    if found is None or isinstance(found, init.XavierUniform | init.XavierNormal):
        first = getattr(found, "_fan_in", None) or rows
        second = getattr(found, "_fan_out", None)
        std = getattr(found, "_gain", 1.0) * math.sqrt(2 / (first + (width if second is None else second)))
        if isinstance(found, init.XavierNormal):
            return ("normal", 0.0, std)
        return ("uniform", -std * math.sqrt(3), std * math.sqrt(3))
    if isinstance(found, init.Constant):
        return ("constant", float(found._value))
    if isinstance(found, init.Uniform):
        return ("uniform", float(found._low), float(found._high))
    if isinstance(found, init.TruncatedNormal):
        return ("normal", float(found._mean), float(found._std), float(found._a), float(found._b))
    if isinstance(found, init.Normal):
        return ("normal", float(found._mean), float(found._std))
    raise errors.NotImplemented_(
        f"{who}: the initializer {type(found).__name__} for tables of parameter servers; there are Constant, Uniform, "
        "Normal, TruncatedNormal, XavierUniform, XavierNormal"
    )
