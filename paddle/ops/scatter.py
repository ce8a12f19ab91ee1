"""Reading and writing at computed places: gather, scatter, and their kin along an axis."""

from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import _write_out, api, op
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT, Dim, Value
from .axes import axis_of
from .checks import host_value
from .creation import clone, full, zeros
from .expansion import broadcast_to
from .manipulation import alike, common_shape, flatten, reshape, tensor_of, unsqueeze

# ---- index arguments ----


def index_of(name: str, index: Any, argument: str = "index") -> Tensor:
    """An int32 or int64 tensor of indices; TypeError for anything else."""
    if not isinstance(index, Tensor):
        raise errors.TypeError_(f"{name}: {argument} must be a Tensor, got {errors.describe(index)}")
    if index.dtype.name not in ("int32", "int64"):
        raise errors.TypeError_(f"{name}: {argument} must be int32 or int64, got {index.dtype.name}")
    return index


def check_range(name: str, index: Tensor, n: int, argument: str = "index", low: int | None = None) -> None:
    """IndexError for an index outside [low, n), low being -n by default. Only where looking is cheap, for values on
    the CPU; elsewhere a read out of range gives NaN and a write is dropped."""
    array = None if isinstance(n, Dim) else host_value(index)
    if array is None:
        return
    smallest, largest = array.min(), array.max()
    low = -n if low is None else low
    if smallest < low or largest >= n:
        raise errors.IndexError_(
            f"{name}: {argument} {smallest if smallest < low else largest} is out of range, "
            "allowed are "
            f"{low} to {n - 1}"
            if n
            else f"{name}: {argument} points into an axis of length 0"
        )


def concrete(name: str, x: Tensor) -> np.ndarray:
    """The values of a tensor on which the shape of a result depends."""
    if isinstance(x._raw, ABSTRACT):
        raise errors.RuntimeError_(
            f"{name}: the shape of the result depends on values, which a compiled function "
            "does not know; keep this call outside, or use a form of fixed shape such as where"
        )
    return np.asarray(x._value)


# ---- gather ----


@op(method=False, export=False, name="gather")
def _gather(x, index, axis):
    return jnp.take(x, index, axis)


@api(method="gather")
def gather(x, index, axis=None, name=None, out=None):
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
    found = _take_axis("gather", x, index, 0 if axis is None else axis)
    return found if out is None else _write_out("gather", found, out)


def _take_axis(name: str, x: Any, index: Any, axis: Any) -> Tensor:
    index = index_of(name, index)
    if not tensor_of(name, x).ndim:
        raise errors.ValueError_(f"{name}: x has no dimensions to choose from")
    axis = axis_of(name, axis, x.ndim)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index.flatten()
    if index.ndim > 1:
        raise errors.ValueError_(f"{name}: index must have shape [n] or [n, 1], got {list(index.shape)}")
    check_range(name, index, x._raw.shape[axis])
    return _gather(x, index, axis)


@api
def index_select(x, index, axis=0):
    """Slices of x along an axis, in the order of `index`, int32 or int64 of shape [n].

    Raises:
        IndexError: an index out of range.
        ValueError: an axis out of range, an index of another shape.

    Example:
        >>> paddle.index_select(paddle.to_tensor([[1, 2, 3]]), paddle.to_tensor([2, 0]), axis=1).tolist()
        [[3, 1]]
    """
    if not index_of("index_select", index).ndim:
        raise errors.ValueError_("index_select: index must have one dimension, got none")
    return _take_axis("index_select", x, index, axis)


@op(method=False, export=False, name="gather_nd")
def _gather_nd(x, index):
    if index.shape[-1] == 0:
        return jnp.broadcast_to(x, index.shape[:-1] + x.shape)
    return x[tuple(jnp.moveaxis(index, -1, 0))]


@api
def gather_nd(x, index):
    """Elements or slices of x at index vectors, which lie along the last axis of `index` and name the first axes of x.

    Raises:
        IndexError: an index out of range.
        ValueError: index vectors longer than x has dimensions.

    Example:
        >>> paddle.gather_nd(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[1, 0]])).tolist()
        [3]
    """
    _check_vectors("gather_nd", tensor_of("gather_nd", x)._raw.shape, index)
    return _gather_nd(x, index)


def _check_vectors(name: str, shape: tuple[int, ...], index: Any) -> None:
    if not index_of(name, index).ndim or index.shape[-1] > len(shape):
        raise errors.ValueError_(
            f"{name}: the last axis of index must have at most {len(shape)} elements, one for "
            f"each axis of x, got shape {list(index.shape)}"
        )
    array = host_value(index)
    if array is None:
        return
    bounds = np.array([np.iinfo(np.int64).max if isinstance(n, Dim) else n for n in shape[: array.shape[-1]]])
    bad = (array < -bounds) | (array >= bounds)
    if bad.any():
        raise errors.IndexError_(
            f"{name}: index {array[bad.any(-1)][0].tolist()} is out of range for shape {list(shape)}"
        )


@op(method=False, export=False, name="take", static="mode")
def _take(x, index, mode):
    x = x.reshape(-1)
    index = index % x.size if mode == "wrap" else jnp.clip(index, 0, x.size - 1) if mode == "clip" else index
    return jnp.take(x, index, 0)


@api
def take(x, index, mode="raise"):
    """Elements of the flattened x, in the shape of `index`.

    Args:
        index: int32 or int64.
        mode: for an index out of range: "raise", "wrap" (count on from the other end) or "clip" (to the ends; negative
            ones too).

    Raises:
        IndexError: an index out of range with mode "raise".

    Example:
        >>> paddle.take(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([3, 0])).tolist()
        [4, 1]
    """
    if mode not in ("raise", "wrap", "clip"):
        raise errors.ValueError_(f"take: mode must be raise, wrap or clip, got {mode!r}")
    size = tensor_of("take", x)._raw.size
    if mode == "raise" or not size:
        check_range("take", index_of("take", index), size)
    return _take(x, index_of("take", index), mode)


# ---- along an axis ----


def _along(index, axis):
    """The full index of the elements that `index` names along an axis."""
    grid = list(jnp.meshgrid(*(jnp.arange(n) for n in index.shape), indexing="ij", sparse=True))
    grid[axis] = index
    return tuple(grid)


@op(method=False, export=False, name="take_along_axis")
def _take_along_axis(x, index, axis):
    return x[_along(index, axis)]


def _along_arguments(name: str, arr: Any, indices: Any, axis: Any, broadcast: bool) -> tuple[int, list[int]]:
    """The axis as a number, and the shape of the indices after broadcasting."""
    shape = list(tensor_of(name, arr, "arr").shape)
    if index_of(name, indices, "indices").ndim != len(shape) or not shape:
        raise errors.ValueError_(
            f"{name}: indices must have as many dimensions as arr, at least one, got shapes "
            f"{list(indices.shape)} and {shape}"
        )
    axis = axis_of(name, axis, len(shape))
    check_range(name, indices, shape[axis], "indices")
    index_shape = list(indices.shape)
    others = [(i, a) for k, (i, a) in enumerate(zip(index_shape, shape)) if k != axis]
    if broadcast:
        if any(i != a and 1 not in (i, a) for i, a in others):
            raise errors.ValueError_(
                f"{name}: indices of shape {index_shape} do not broadcast against arr of shape "
                f"{shape} outside of axis {axis}"
            )
        return axis, [
            i if k == axis else builtins.max(i, a) if 0 not in (i, a) else 0
            for k, (i, a) in enumerate(zip(index_shape, shape))
        ]
    if any(i > a for i, a in others):
        raise errors.ValueError_(
            f"{name}: indices of shape {index_shape} must not be longer than arr, of shape "
            f"{shape}, outside of axis {axis}"
        )
    return axis, index_shape


@api(method="take_along_axis")
def take_along_axis(arr, indices, axis, broadcast=True):
    """Elements of `arr` that `indices` names along an axis, such as `argsort` gives them.

    Args:
        indices: int32 or int64, with as many dimensions as `arr`.
        broadcast: the other axes broadcast; otherwise indices may be shorter there and the first elements are taken.

    Raises:
        IndexError: an index out of range.
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.take_along_axis(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[1], [0]]), 1).tolist()
        [[2], [3]]
    """
    axis, shape = _along_arguments("take_along_axis", arr, indices, axis, broadcast)
    if broadcast:
        arr = fit(arr, [arr.shape[axis] if k == axis else n for k, n in enumerate(shape)])
    return _take_along_axis(arr, fit(indices, shape), axis)


def fit(x: Tensor, shape: list[int]) -> Tensor:
    return x if list(x.shape) == shape else broadcast_to(x, shape)


@api(method="take_along_dim")
def take_along_dim(arr, indices, axis, broadcast=True):
    """The same as `take_along_axis`."""
    return take_along_axis(arr, indices, axis, broadcast)


@api
def index_sample(x, index):
    """For each row of x the elements that the same row of `index` names.

    Args:
        x, index: matrices with as many rows.

    Example:
        >>> paddle.index_sample(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([[1], [0]])).tolist()
        [[2], [3]]
    """
    tensor_of("index_sample", x), index_of("index_sample", index)
    if x.ndim != 2 or index.ndim != 2 or x.shape[0] != index.shape[0]:
        raise errors.ValueError_(
            f"index_sample: x and index must be matrices with as many rows, got {list(x.shape)} and {list(index.shape)}"
        )
    return take_along_axis(x, index, 1, broadcast=False)


@jax.custom_vjp
def _scatter_product(x, index, value):
    return x.at[index].multiply(value)


def _scatter_product_forward(x, index, value):
    return _scatter_product(x, index, value), (x, index, value)


def _scatter_product_backward(saved, g):
    """Each factor gets the product of the others, which for one zero among them is the product of the non-zero ones."""
    x, index, value = saved
    zeros = (x == 0).astype(g.dtype).at[index].add((value == 0).astype(g.dtype))
    others = g * _scatter_product(jnp.where(x == 0, 1, x), index, jnp.where(value == 0, 1, value))

    def factor(v, zeros, others):
        return jnp.where(zeros == 0, others / jnp.where(v == 0, 1, v), jnp.where((zeros == 1) & (v == 0), others, 0))

    return factor(x, zeros, others), None, factor(value, zeros[index], others[index])


_scatter_product.defvjp(_scatter_product_forward, _scatter_product_backward)


@op(method=False, export=False, name="put_along_axis", static="reduce include_self")
def _put_along_axis(x, index, value, axis, reduce, include_self):
    where = _along(index, axis)
    value = value[tuple(builtins.slice(n) for n in index.shape)]
    if reduce == "assign":
        return x.at[where].set(value)
    if not include_self:
        x = x.at[where].set(1 if reduce == "mul" else 0)
    if reduce == "mul":
        return _scatter_product(x, where, value)
    total = x.at[where].add(value)
    if reduce == "add":
        return total
    count = jnp.full(x.shape, 1, x.dtype) if include_self else jnp.ones_like(x).at[where].set(0)
    count = count.at[where].add(1)
    return total / count if jnp.issubdtype(x.dtype, jnp.inexact) else jax.lax.div(total, count)


def _put_extreme_gradient(inputs, outputs, cotangents, axis, largest, include_self):
    """Divided evenly among the elements that equal the result."""
    x, index, value = inputs
    out, g = outputs[0], cotangents[0]
    where = _along(index, axis)
    inside = tuple(builtins.slice(n) for n in index.shape)
    own = x == out
    if not include_self:
        own = own.at[where].set(False) | (jnp.ones(x.shape, bool).at[where].set(False))
    given = value[inside] == out[where]
    count = own.astype(g.dtype).at[where].add(given.astype(g.dtype))
    share = jnp.where(count > 0, g / jnp.where(count > 0, count, 1), 0)
    return (jnp.where(own, share, 0), None, jnp.zeros_like(value).at[inside].set(jnp.where(given, share[where], 0)))


@op(
    method=False,
    export=False,
    name="put_along_axis_extreme",
    static="largest include_self",
    gradient=_put_extreme_gradient,
)
def _put_extreme(x, index, value, axis, largest, include_self):
    where = _along(index, axis)
    value = value[tuple(builtins.slice(n) for n in index.shape)]
    if not include_self:
        if x.dtype == bool:
            lowest = not largest
        elif jnp.issubdtype(x.dtype, jnp.inexact):
            lowest = -jnp.inf if largest else jnp.inf
        else:
            lowest = getattr(jnp.iinfo(x.dtype), "min" if largest else "max")
        x = x.at[where].set(lowest)
    return x.at[where].max(value) if largest else x.at[where].min(value)


_REDUCTIONS = {
    "assign": "assign",
    "add": "add",
    "sum": "add",
    "mul": "mul",
    "multiply": "mul",
    "prod": "mul",
    "mean": "mean",
    "amax": "amax",
    "amin": "amin",
}


@api(method="put_along_axis", inplace=True)
def put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True):
    """`arr` with values written to the places that `indices` names along an axis.

    Args:
        indices: int32 or int64, with as many dimensions as `arr`.
        values: a number, or a tensor of the type of `arr`.
        reduce: what happens where a value is: "assign", "add", "mul" (or "multiply"), "mean", "amax", "amin".
        include_self: whether the old value takes part.
        broadcast: the other axes of indices and values broadcast; otherwise they may be shorter than arr.

    Raises:
        IndexError: an index out of range.
        ValueError: shapes or types that do not fit, an unknown `reduce`.

    Example:
        >>> paddle.put_along_axis(paddle.zeros([2, 2]), paddle.to_tensor([[1], [0]]), 5.0, 1).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    return _put("put_along_axis", arr, indices, values, axis, reduce, include_self, broadcast)


def _put(
    name: str, arr: Any, indices: Any, values: Any, axis: Any, reduce: str, include_self: bool, broadcast: bool
) -> Tensor:
    if reduce not in _REDUCTIONS:
        raise errors.ValueError_(f"{name}: reduce must be one of {', '.join(_REDUCTIONS)}, got {reduce!r}")
    axis, shape = _along_arguments(name, arr, indices, axis, broadcast)
    if any(n > a for k, (n, a) in enumerate(zip(shape, arr.shape)) if k != axis):
        raise errors.ValueError_(
            f"{name}: indices of shape {list(indices.shape)} reach outside of arr, of shape {list(arr.shape)}"
        )
    indices = fit(indices, shape)
    if not isinstance(values, Tensor):
        values = full(shape, values, arr.dtype)
    elif broadcast or not values.ndim:
        values = fit(values, shape)
    elif values.ndim != len(shape) or any(v < n for v, n in zip(values.shape, shape)):
        raise errors.ValueError_(
            f"{name}: values of shape {list(values.shape)} are too few for indices of shape {shape}"
        )
    same_type(name, arr, values, "values")
    if not indices.size:
        return clone(arr)
    how = _REDUCTIONS[reduce]
    if how in ("add", "mul", "mean"):
        _no_sums_of_bools(name, arr, f"reduce={reduce!r}")
    if how in ("amax", "amin"):
        return _put_extreme(arr, indices, values, axis, how == "amax", builtins.bool(include_self))
    return _put_along_axis(arr, indices, values, axis, how, builtins.bool(include_self))


def _no_sums_of_bools(name: str, x: Tensor, what: str) -> None:
    if x.dtype.name == "bool":
        raise errors.TypeError_(f"{name}: {what} needs numbers, got bool")


def _places(mask: Tensor) -> list[Tensor]:
    """The positions of the True elements of a mask, a vector for each axis."""
    if isinstance(mask._raw, Value):
        from .selection import nonzero

        return [i.reshape([-1]) for i in nonzero(mask, as_tuple=True)]
    return [_make(put(i)) for i in concrete("index_put", mask).nonzero()]


def same_type(name: str, x: Tensor, value: Any, argument: str) -> None:
    if not alike(tensor_of(name, value, argument), x):
        raise errors.ValueError_(f"{name}: {argument} must have the type of x, {x.dtype.name}, got {value.dtype.name}")


@api(method="scatter_add", inplace=True)
def scatter_add(input, dim, index, src):
    """`input` with the elements of `src` added at the places that `index` names along the axis `dim`.

    Example:
        >>> paddle.scatter_add(paddle.zeros([1, 2]), 1, paddle.to_tensor([[1, 1]]), paddle.ones([1, 2])).tolist()
        [[0.0, 2.0]]
    """
    return _put("scatter_add", input, index, src, dim, "add", True, False)


@api(method="scatter_reduce")
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """`input` with the elements of `src` joined to the places that `index` names along the axis `dim`.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".

    Example:
        >>> i = paddle.to_tensor([[1, 1]])
        >>> paddle.scatter_reduce(paddle.zeros([1, 2]), 1, i, paddle.ones([1, 2]), "sum").tolist()
        [[0.0, 2.0]]
    """
    return _put("scatter_reduce", input, index, src, dim, reduce, include_self, False)


# ---- scatter ----


@op(method=False, export=False, name="scatter", static="overwrite")
def _scatter(x, index, updates, overwrite):
    updates = updates[: index.shape[0]]
    return x.at[index].set(updates) if overwrite else x.at[index].set(0).at[index].add(updates)


@api
def scatter(x, index, updates, overwrite=True, name=None, out=None):
    """x with the slices at `index` of the first axis replaced by `updates`.

    Args:
        index: int32 or int64, of shape [n], [n, 1] or none.
        updates: n slices of x.
        overwrite: False adds up the updates of an index that comes several times (the old value does not count).

    Raises:
        IndexError: an index out of range.
        ValueError: shapes or types that do not fit.

    Example:
        >>> paddle.scatter(paddle.zeros([3]), paddle.to_tensor([2, 0]), paddle.to_tensor([1.0, 2.0])).tolist()
        [2.0, 0.0, 1.0]
    """
    if not tensor_of("scatter", x).ndim:
        raise errors.ValueError_("scatter: x has no dimensions")
    same_type("scatter", x, updates, "updates")
    if not index_of("scatter", index).ndim:
        index, updates = reshape(index, [1]), unsqueeze(updates, 0)
    elif index.ndim == 2 and index.shape[1] == 1:
        index = flatten(index)
    n = index.shape[0]
    if index.ndim != 1 or updates.ndim != x.ndim or updates.shape[0] < n or updates.shape[1:] != x.shape[1:]:
        raise errors.ValueError_(
            f"scatter: index must have shape [n] and updates [n, "
            f"{', '.join(map(str, x.shape[1:]))}], got "
            f"{list(index.shape)} and {list(updates.shape)}"
        )
    check_range("scatter", index, x.shape[0])
    if not overwrite:
        _no_sums_of_bools("scatter", x, "overwrite=False")
    found = _scatter(x, index, updates, builtins.bool(overwrite)) if n else clone(x)
    return found if out is None else _write_out("scatter", found, out)


@api(method=False)
def scatter_(*args, **kwargs):
    """In-place form of `scatter`: ``scatter_(x, index, updates, overwrite=True)``."""
    kwargs.pop("name", None)
    x = kwargs.pop("x", None) if not args else args[0]
    return tensor_of("scatter_", x)._inplace(scatter, *args[1:], **kwargs)


def _scatter_method(self, *args, **kwargs):
    """In place: ``scatter_(index, updates, overwrite=True)``, slices of the first axis as in `paddle.scatter`; or
    ``scatter_(dim, index, src=None, reduce=None, value=None)``, elements along an axis as in `put_along_axis`."""
    if "dim" not in kwargs and not (args and isinstance(args[0], int)):
        return scatter_(self, *args, **kwargs)

    def along(x, dim, index, src=None, reduce=None, value=None):
        return _put("scatter_", x, index, src if src is not None else value, dim, reduce or "assign", True, False)

    return self._inplace(along, *args, **kwargs)


Tensor.scatter_ = _scatter_method


@op(method=False, export=False, name="scatter_nd_add")
def _scatter_nd_add(x, index, updates):
    if index.shape[-1] == 0:
        return x + updates.sum(tuple(range(index.ndim - 1)))
    return x.at[tuple(jnp.moveaxis(index, -1, 0))].add(updates)


@api
def scatter_nd_add(x, index, updates):
    """x with updates added at index vectors (see `gather_nd`, whose counterpart it is); repeated places add up.

    Raises:
        IndexError: an index out of range.
        ValueError: shapes that do not fit.
        TypeError: `updates` has another type than x.

    Example:
        >>> paddle.scatter_nd_add(paddle.zeros([3]), paddle.to_tensor([[1], [1]]), paddle.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    if not alike(tensor_of("scatter_nd_add", updates, "updates"), tensor_of("scatter_nd_add", x)):
        raise errors.TypeError_(
            f"scatter_nd_add: updates must have the type of x, {x.dtype.name}, got {updates.dtype.name}"
        )
    _check_vectors("scatter_nd_add", x._raw.shape, index)
    want = list(index.shape[:-1]) + list(x.shape[index.shape[-1] :])
    if list(updates.shape) != want:
        raise errors.ValueError_(f"scatter_nd_add: updates must have shape {want}, got {list(updates.shape)}")
    return _scatter_nd_add(x, index, updates)


@api(method=False)
def scatter_nd(index, updates, shape):
    """Zeros of a shape with updates added at index vectors, see `scatter_nd_add`.

    Example:
        >>> paddle.scatter_nd(paddle.to_tensor([[1]]), paddle.to_tensor([5.0]), [3]).tolist()
        [0.0, 5.0, 0.0]
    """
    return scatter_nd_add(zeros(shape, tensor_of("scatter_nd", updates, "updates").dtype), index, updates)


Tensor.scatter_nd = scatter_nd


# ---- index_* ----


def _front(axis):
    return (builtins.slice(None),) * axis


@op(method=False, export=False, name="index_add", scalars="alpha")
def _index_add(x, index, axis, value, alpha):
    return x.at[(*_front(axis), index)].add((value * alpha).astype(x.dtype))


@api(inplace=True)
def index_add(x, index, axis, value, alpha=1):
    """x with the slices of `value`, times `alpha`, added at `index` along an axis.

    Args:
        index: int32 or int64 of shape [n].
        value: the shape of x, with length n along the axis.

    Raises:
        IndexError: an index out of range.
        ValueError: shapes or types that do not fit, an axis out of range.

    Example:
        >>> paddle.index_add(paddle.zeros([3]), paddle.to_tensor([1, 1]), 0, paddle.ones([2])).tolist()
        [0.0, 2.0, 0.0]
    """
    axis = axis_of("index_add", axis, tensor_of("index_add", x).ndim)
    same_type("index_add", x, value, "value")
    if index_of("index_add", index).ndim != 1 or not x.ndim:
        raise errors.ValueError_(
            f"index_add: index must have one dimension and x at least one, got {list(index.shape)} and {list(x.shape)}"
        )
    want = [index.shape[0] if i == axis else n for i, n in enumerate(x.shape)]
    if list(value.shape) != want:
        raise errors.ValueError_(f"index_add: value must have shape {want}, got {list(value.shape)}")
    check_range("index_add", index, x.shape[axis])
    return _index_add(x, index, axis, value, alpha)


@op(method=False, export=False, name="index_fill", scalars="value")
def _index_fill(x, index, axis, value):
    return x.at[(*_front(axis), index)].set(jnp.asarray(value).astype(x.dtype))


@api(inplace=True)
def index_fill(x, index, axis, value):
    """x with the slices at `index` along an axis filled with a number (or a tensor without dimensions).

    Raises:
        IndexError: an index out of range.
        ValueError: an axis out of range, a value of several elements or another type.

    Example:
        >>> paddle.index_fill(paddle.zeros([3]), paddle.to_tensor([1]), 0, 5.0).tolist()
        [0.0, 5.0, 0.0]
    """
    axis = axis_of("index_fill", axis, tensor_of("index_fill", x).ndim)
    if not index_of("index_fill", index).ndim or not x.ndim:
        raise errors.ValueError_("index_fill: index and x must have at least one dimension")
    if isinstance(value, Tensor):
        same_type("index_fill", x, value, "value")
        if value.ndim:
            raise errors.ValueError_(
                f"index_fill: value must be a number or a tensor without dimensions, got {list(value.shape)}"
            )
    check_range("index_fill", index, x.shape[axis])
    return _index_fill(x, flatten(index), axis, value)


@op(method=False, export=False, name="index_put", static="accumulate")
def _index_put(x, indices, value, accumulate):
    at = x.at[tuple(indices)]
    return at.add(value) if accumulate else at.set(value)


@api(inplace=True)
def index_put(x, indices, value, accumulate=False):
    """x with values written at ``x[indices]``.

    Args:
        indices: a tuple of int tensors that broadcast, one for each of the first axes; or bool tensors as masks.
        value: a tensor of the type of x that broadcasts to the indexed shape.
        accumulate: add instead of overwrite.

    Raises:
        IndexError: an index out of range, more indices than axes.
        ValueError: types or shapes that do not fit.

    Example:
        >>> paddle.index_put(paddle.zeros([3]), (paddle.to_tensor([1]),), paddle.to_tensor([5.0])).tolist()
        [0.0, 5.0, 0.0]
    """
    same_type("index_put", tensor_of("index_put", x), value, "value")
    if not isinstance(indices, (list, tuple)) or not indices:
        raise errors.ValueError_(f"index_put: indices must be a tuple of Tensors, got {errors.describe(indices)}")
    found: list[Tensor] = []
    for each in indices:
        if tensor_of("index_put", each, "each of indices").dtype.name == "bool":
            shape = x._raw.shape[len(found) : len(found) + each.ndim]
            if tuple(each.shape) != shape:
                raise errors.IndexError_(
                    f"index_put: a mask of shape {list(each.shape)} does not fit axes of shape {list(shape)}"
                )
            found.extend(_places(each))
            continue
        if len(found) >= x.ndim:
            raise errors.IndexError_(f"index_put: more indices than the {x.ndim} axes of x")
        check_range("index_put", index_of("index_put", each, "indices"), x._raw.shape[len(found)], "indices")
        found.append(each)
    common = common_shape("index_put", *(i._raw.shape for i in found))
    if 0 in common:
        return clone(x)
    want = (*common, *x._raw.shape[len(found) :])
    if tuple(common_shape("index_put", want, value._raw.shape)) != want:
        raise errors.ValueError_(
            f"index_put: value of shape {list(value.shape)} does not fit into a region of shape {list(want)}"
        )
    return _index_put(x, found, value, builtins.bool(accumulate))
