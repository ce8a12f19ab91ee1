"""Where a sparse tensor has values: index arithmetic on the host, with NumPy.

A sparse tensor is a pattern and values. What a pattern becomes in an operation depends on the indices themselves, so it
is computed here, at once; what happens to the values goes through operators, on the device and on the tape.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..ops.scatter import concrete


def index_tensor(array: np.ndarray) -> Tensor:
    """Indices on the device. They are constants of a function that is being compiled, since patterns outlive it."""
    with jax.ensure_compile_time_eval():
        return _make(put(np.ascontiguousarray(array)))


def _cast(index: Tensor, dtype: Any) -> Tensor:
    return index_tensor(concrete("sparse", index).astype(to_dtype(dtype).numpy))


class Pattern:
    """The indices of a sparse tensor of a shape: `Coo` or `Csr`.

    `coords` holds them on the host, [sparse dimensions, stored values], whatever the layout; `where` is the same on the
    device. Patterns never change, so that tensors share them.
    """

    layout = ""

    def __init__(self, shape: Any):
        self.shape = tuple(int(n) for n in shape)
        self._coords: np.ndarray | None = None
        self._where: Tensor | None = None
        self._distinct: bool | None = None
        self.cache: dict[Any, Any] = {}  # what costs time to derive, such as the neighbours of a kernel

    @property
    def coords(self) -> np.ndarray:
        if self._coords is None:
            self._coords = self._find_coords()
        return self._coords

    def _find_coords(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def where(self) -> Tensor:
        if self._where is None:
            self._where = index_tensor(self.coords)
        return self._where

    @property
    def nnz(self) -> int:
        raise NotImplementedError

    @property
    def sparse_dim(self) -> int:
        raise NotImplementedError

    @property
    def index_dtype(self) -> Any:
        raise NotImplementedError

    @property
    def distinct(self) -> bool:
        """Whether no position occurs twice."""
        if self._distinct is None:
            self._distinct = unique_columns(self.coords, self.shape)[0].shape[1] == self.nnz
        return self._distinct

    def same_places(self, other: Pattern) -> bool:
        return self is other or self.nnz == other.nnz and np.array_equal(self.coords, other.coords)

    def on(self, place: Any) -> Pattern:
        raise NotImplementedError

    def cast(self, dtype: Any) -> Pattern:
        """The same pattern with indices of another integer type."""
        raise NotImplementedError

    def remade(self, shape: Any, coords: np.ndarray, coalesced: bool = False) -> Pattern:
        """A pattern of the same layout and index type from sorted coordinates."""
        raise NotImplementedError


class Coo(Pattern):
    """Coordinates of each value: `indices` of shape [sparse dimensions, stored values]. Dimensions of `shape` beyond
    them are dense: each stored value is an array."""

    layout = "coo"

    def __init__(self, shape: Any, indices: Tensor, coalesced: bool = False):
        super().__init__(shape)
        self.indices = indices
        self.coalesced = coalesced  # sorted and distinct, as officially told by is_coalesced()
        if coalesced:
            self._distinct = True

    def _find_coords(self) -> np.ndarray:
        return concrete("sparse", self.indices).astype(np.int64, copy=False)

    @property
    def where(self) -> Tensor:
        return self.indices

    @property
    def nnz(self) -> int:
        return self.indices.shape[1]

    @property
    def sparse_dim(self) -> int:
        return self.indices.shape[0]

    @property
    def index_dtype(self) -> Any:
        return self.indices.dtype

    def on(self, place: Any) -> Coo:
        return Coo(self.shape, self.indices._on(place), self.coalesced)

    def cast(self, dtype: Any) -> Coo:
        return Coo(self.shape, _cast(self.indices, dtype), self.coalesced)

    def remade(self, shape: Any, coords: np.ndarray, coalesced: bool = False) -> Coo:
        return Coo(shape, index_tensor(coords.astype(self.index_dtype.numpy)), coalesced)


class Csr(Pattern):
    """Rows one after the other: the values of row i stand from `crows[i]` to `crows[i + 1]`, their columns in `cols`.
    With three dimensions there is one such list of rows for each matrix, each starting from 0 as officially."""

    layout = "csr"

    def __init__(self, shape: Any, crows: Tensor, cols: Tensor):
        super().__init__(shape)
        self.crows, self.cols = crows, cols

    def _find_coords(self) -> np.ndarray:
        crows, cols = concrete("sparse", self.crows), concrete("sparse", self.cols)
        counts = np.diff(crows.reshape(-1, self.shape[-2] + 1), axis=1)
        coords = [np.repeat(np.indices(counts.shape)[i].reshape(-1), counts.reshape(-1)) for i in range(2)] + [cols]
        return np.stack(coords[-len(self.shape) :]).astype(np.int64, copy=False)

    @property
    def nnz(self) -> int:
        return self.cols.shape[0]

    @property
    def sparse_dim(self) -> int:
        return len(self.shape)

    @property
    def index_dtype(self) -> Any:
        return self.cols.dtype

    def on(self, place: Any) -> Csr:
        return Csr(self.shape, self.crows._on(place), self.cols._on(place))

    def cast(self, dtype: Any) -> Csr:
        return Csr(self.shape, _cast(self.crows, dtype), _cast(self.cols, dtype))

    def remade(self, shape: Any, coords: np.ndarray, coalesced: bool = False) -> Csr:
        return csr_of(shape, coords, self.index_dtype.numpy)


def csr_of(shape: Any, coords: np.ndarray, dtype: Any = np.int64) -> Csr:
    """A CSR pattern from coordinates that are sorted by rows."""
    if len(shape) not in (2, 3):
        raise errors.ValueError_(f"a CSR tensor has two or three dimensions, not the shape {list(shape)}")
    rows, batches = shape[-2], math.prod(shape[:-2])
    flat = coords[-2] if len(shape) == 2 else coords[0] * rows + coords[1]
    counts = np.bincount(flat, minlength=batches * rows).reshape(batches, rows)
    crows = np.zeros((batches, rows + 1), np.int64)
    np.cumsum(counts, axis=1, out=crows[:, 1:])
    return Csr(shape, index_tensor(crows.reshape(-1).astype(dtype)), index_tensor(coords[-1].astype(dtype)))


def flat_keys(coords: np.ndarray, shape: Any) -> np.ndarray | None:
    """One number for each column of coordinates, in row-major order; None where int64 cannot hold them."""
    if math.prod(shape[: len(coords)]) >= 2**63:
        return None
    keys = np.zeros(coords.shape[1], np.int64)
    for index, n in zip(coords, shape):
        keys = keys * n + index
    return keys


def sorted_order(coords: np.ndarray, shape: Any) -> np.ndarray:
    """The stable order that sorts columns of coordinates row-major."""
    keys = flat_keys(coords, shape)
    return np.lexsort(coords[::-1]) if keys is None else np.argsort(keys, kind="stable")


def unique_columns(coords: np.ndarray, shape: Any) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of coordinates in row-major order, and for each column its number among them."""
    if coords.shape[1] == 0:
        return coords, np.zeros(0, np.int64)
    keys = flat_keys(coords, shape)
    if keys is None:
        found, numbers = np.unique(coords, axis=1, return_inverse=True)
        return found, numbers.reshape(-1)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return coords[:, first], numbers.reshape(-1)
