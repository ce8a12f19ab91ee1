"""Row-sparse gradients: a lookup in a large table touches few rows, so its gradient is those rows and their values.

`RowSparse` is what the tape carries in place of an array of the size of the table, `SelectedRows` the tensor that `.grad`
shows. A row may occur more than once; the gradient is the sum.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import errors
from .deferred import settled
from .storage import Storage
from .tensor import Tensor, _make


class RowSparse:
    """Rows of a table of `height` rows (int32 or int64, [n]; a number beyond the table stands for no row) and their
    values ([n, ...]). `summed`: several gradients were added, and who looks wants to see every row once."""

    __slots__ = ("rows", "values", "height", "summed")

    def __init__(self, rows: Any, values: Any, height: int, summed: bool = False):
        self.rows, self.values, self.height, self.summed = rows, values, height, summed

    @property
    def shape(self) -> tuple:
        """The shape of the table."""
        return (self.height, *self.values.shape[1:])

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def with_values(self, values: Any) -> RowSparse:
        return RowSparse(self.rows, values, self.height, self.summed)

    def merged(self) -> RowSparse:
        """Every row once, in order, with as many entries as before (compiled code cannot know how many there are): the
        last ones may name no row."""
        n = len(self.rows)
        rows, places = jnp.unique(self.rows, return_inverse=True, size=n, fill_value=self.height)
        return RowSparse(rows, jnp.zeros_like(self.values).at[places.reshape(-1)].add(self.values), self.height, True)

    def dense(self) -> Any:
        """An array of the size of the table."""
        return jnp.zeros(self.shape, self.dtype).at[self.rows].add(self.values, mode="drop")


jax.tree_util.register_pytree_node(
    RowSparse, lambda g: ((g.rows, g.values), (g.height, g.summed)), lambda fixed, parts: RowSparse(*parts, *fixed)
)


def add(x: Any, y: Any) -> Any:
    """The sum of two gradients of a table, at least one of them row-sparse: row-sparse when both are."""
    return _add(*jax.tree.map(settled, (x, y)))


@jax.jit
def _add(x: Any, y: Any) -> Any:
    if x.__class__ is not RowSparse:
        x, y = y, x
    if y.__class__ is not RowSparse:
        return y.at[x.rows].add(x.values.astype(y.dtype), mode="drop")
    join = functools.partial(jnp.concatenate, axis=0)
    return RowSparse(join([x.rows, y.rows]), join([x.values, y.values.astype(x.dtype)]), x.height, True)


_merged = jax.jit(RowSparse.merged)
_dense = jax.jit(RowSparse.dense)


class SelectedRows(Tensor):
    """A row-sparse gradient, as `.grad` of a table that was used by `embedding(sparse=True)`. As a tensor it is its
    values, of shape [number of rows, width].

    Example:
        >>> w = paddle.ones([4, 2]); w.stop_gradient = False
        >>> paddle.nn.functional.embedding(paddle.to_tensor([3, 1]), w, sparse=True).sum().backward()
        >>> w.grad.rows(), w.grad.shape
        ([3, 1], [2, 2])
    """

    type = "VarType.SELECTED_ROWS"  # type: ignore[assignment]

    def __init__(self, gradient: RowSparse):
        self._node, self._index, self._stop = None, 0, True
        self._storage = Storage(None)
        self._take(gradient)

    def _take(self, gradient: RowSparse) -> None:
        self._gradient = gradient
        if gradient.summed:
            self._storage.postpone(self._merge)
        else:
            self._storage.write(gradient.values)

    def _merge(self) -> Any:
        """The values of all rows, every row once."""
        found = _merged(self._gradient)
        n = int(np.searchsorted(np.asarray(found.rows), found.height))
        self._gradient = RowSparse(found.rows[:n], found.values[:n], found.height)
        return self._gradient.values

    def _payload(self) -> RowSparse:
        value = self._storage.value
        return self._gradient if value is None else self._gradient.with_values(value)

    def _write_array(self, new: Any) -> None:
        if new.__class__ is RowSparse:
            self._take(new)
        else:
            super()._write_array(new)

    def merged(self) -> SelectedRows:
        """The same gradient, every row once."""
        gradient = self._payload()
        return SelectedRows(RowSparse(gradient.rows, gradient.values, gradient.height, True))

    def rows(self) -> list[int]:
        """The number of the row of each value."""
        self._value
        return np.asarray(self._gradient.rows).tolist()

    def height(self) -> int:
        """How many rows the table has."""
        return self._gradient.height

    def to_dense(self) -> Tensor:
        """A tensor of the size of the table."""
        return _make(_dense(self._payload()))

    def get_selected_rows(self) -> SelectedRows:
        return self

    def get_tensor(self) -> Tensor:
        """The values."""
        return _make(self._value)

    def is_selected_rows(self) -> bool:
        return True

    def is_dense(self) -> bool:
        return False

    def detach(self) -> SelectedRows:
        return SelectedRows(self._payload())

    def clone(self) -> SelectedRows:
        return SelectedRows(self._payload())

    def __deepcopy__(self, memo: dict) -> SelectedRows:
        return self.clone()

    def __reduce__(self) -> Any:
        self._value
        gradient = self._payload()
        return _rebuild, (np.asarray(gradient.rows), np.asarray(gradient.values), gradient.height)

    def astype(self, dtype: Any) -> SelectedRows:
        gradient = self._payload()
        return SelectedRows(gradient.with_values(_make(gradient.values).astype(dtype)._value))

    def _scaled(self, factor: Any, inverse: bool) -> Any:
        gradient = self._payload()
        values = _make(gradient.values)
        out = values / factor if inverse else values * factor
        if out._raw.shape != gradient.values.shape:
            raise errors.ValueError_(
                f"a row-sparse gradient of shape {list(self.shape)} can be multiplied by a number, got a tensor of shape "
                f"{list(factor.shape)}; use to_dense()"
            )
        return SelectedRows(gradient.with_values(out._value))

    def __mul__(self, other: Any) -> Any:
        return self._scaled(other, False)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._scaled(other, True)

    def __repr__(self) -> str:
        return super().__repr__().replace(",\n", f", rows={self.rows()},\n", 1)

    __str__ = __repr__


def _rebuild(rows: Any, values: Any, height: int) -> SelectedRows:
    return SelectedRows(RowSparse(jnp.asarray(rows), jnp.asarray(values), height))


def wrap(gradient: Any) -> Tensor:
    """A gradient of the tape as a tensor."""
    return SelectedRows(gradient) if gradient.__class__ is RowSparse else _make(gradient)


def payload(gradient: Tensor) -> Any:
    """What the tape and the optimizers work on: the array of a tensor, or a RowSparse."""
    return gradient._payload() if gradient.__class__ is SelectedRows else gradient._raw  # type: ignore[attr-defined]
