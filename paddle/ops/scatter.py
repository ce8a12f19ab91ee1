"""Reading and writing at computed places: gather and scatter, masks, selection."""
from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import promote
from ..engine.tensor import Tensor, _make
from .axes import axis_of
from .manipulation import tensor_of


# ---- index arguments ----

def _index_of(name: str, index: Any, argument: str = "index") -> Tensor:
    """An int32 or int64 tensor of indices; TypeError for anything else."""
    if not isinstance(index, Tensor):
        raise errors.TypeError_(f"{name}: {argument} must be a Tensor, got {errors.describe(index)}")
    if index.dtype.name not in ("int32", "int64"):
        raise errors.TypeError_(f"{name}: {argument} must be int32 or int64, got {index.dtype.name}")
    return index


def check_range(name: str, index: Tensor, n: int, argument: str = "index", low: int | None = None) -> None:
    """IndexError for an index outside [low, n), low being -n by default. Only where looking is cheap, that is for values
    on the CPU; elsewhere a read out of range gives NaN and a write is dropped."""
    value = index._value
    if value.size == 0 or isinstance(value, jax.core.Tracer) or not index.place.is_cpu_place():
        return
    array = np.asarray(value)
    smallest, largest = array.min(), array.max()
    low = -n if low is None else low
    if smallest < low or largest >= n:
        raise errors.IndexError_(f"{name}: {argument} {smallest if smallest < low else largest} is out of range, allowed are "
                                 f"{low} to {n - 1}" if n else f"{name}: {argument} points into an axis of length 0")


# ---- gather ----

@op(method=False, export=False, name="gather")
def _gather(x, index, axis):
    return jnp.take(x, index, axis)


@api(method="gather")
def gather(x, index, axis=None):
    """Slices of x along an axis, in the order of `index`.

    Args:
        index: int32 or int64, of shape [n] or [n, 1], or a single index without dimensions, which removes the axis.
        axis: default 0.

    Raises:
        IndexError: an index out of range.
        ValueError: an axis out of range, an index of another shape.

    Example:
        >>> paddle.gather(paddle.to_tensor([10, 20, 30]), paddle.to_tensor([2, 0])).tolist()
        [30, 10]
    """
    if isinstance(axis, Tensor):
        axis = axis.item()
    return _take_axis("gather", x, index, 0 if axis is None else axis)


def _take_axis(name: str, x: Any, index: Any, axis: Any) -> Tensor:
    index = _index_of(name, index)
    if not tensor_of(name, x).ndim:
        raise errors.ValueError_(f"{name}: x has no dimensions to choose from")
    axis = axis_of(name, axis, x.ndim)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index.flatten()
    if index.ndim > 1:
        raise errors.ValueError_(f"{name}: index must have shape [n] or [n, 1], got {list(index.shape)}")
    check_range(name, index, x._value.shape[axis])
    return _gather(x, index, axis)


# ---- choosing ----

@op(method=False, export=False, name="where", scalars="x y")
def _where(condition, x, y):
    x, y = promote("where", x, y)
    return jnp.where(condition, x, y)


@api(method="where")
def where(condition, x=None, y=None):
    """Elements of x where the condition holds, of y elsewhere; shapes broadcast. Without x and y: `nonzero` as a tuple.

    Args:
        condition: a bool tensor.
        x, y: tensors of one type (floating types promote), or numbers.

    Example:
        >>> paddle.where(paddle.to_tensor([True, False]), paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).tolist()
        [1, 4]
    """
    if (x is None) != (y is None):
        raise errors.ValueError_("where: x and y must be given together")
    if tensor_of("where", condition, "condition").dtype.name != "bool":
        raise errors.ValueError_(f"where: condition must be a bool Tensor, got {condition.dtype.name}")
    if x is None:
        return nonzero(condition, as_tuple=True)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        from .creation import full
        x, y = (full([], v, _number_type(v)) if isinstance(v, (builtins.bool, int, float, complex)) else v for v in (x, y))
    return _where(condition, x, y)


def _number_type(value: Any) -> str | None:
    return "int64" if isinstance(value, int) and not isinstance(value, builtins.bool) else None


@api
def nonzero(x, as_tuple=False):
    """The indices of the elements that are not zero, int64 of shape [n, ndim]; or one vector for each axis.

    Raises:
        ValueError: x has no dimensions.
        RuntimeError: inside a compiled function, where the number of indices is not known.

    Example:
        >>> paddle.nonzero(paddle.to_tensor([0, 3, 0, 5])).tolist()
        [[1], [3]]
    """
    if not tensor_of("nonzero", x).ndim:
        raise errors.ValueError_("nonzero: x must have at least one dimension")
    found = np.nonzero(concrete("nonzero", x))
    if as_tuple:
        return tuple(_make(jnp.asarray(f)) for f in found)
    return _make(jnp.asarray(np.stack(found, 1)))


def concrete(name: str, x: Tensor) -> np.ndarray:
    """The values of a tensor on which the shape of a result depends."""
    if isinstance(x._value, jax.core.Tracer):
        raise errors.RuntimeError_(f"{name}: the shape of the result depends on values, which a compiled function does not "
                                   "know; keep this call outside, or use a form of fixed shape such as where")
    return np.asarray(x._value)
