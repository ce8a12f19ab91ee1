"""Order and search: positions of extrema, sorting, selection, binary search, distinct values."""

from __future__ import annotations

import functools
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api, op
from ..engine.tensor import Tensor, _device_of, _make
from ..engine.value import ABSTRACT, at_least
from . import data_shapes
from .reduction import check_tensor, tensor_axis

TopKRetType = namedtuple("TopKRetType", ["values", "indices"])


def index_type(name, dtype):
    """The NumPy type of an index result; ValueError unless it is int32 or int64."""
    dtype = None if dtype is None else to_dtype(dtype)
    if dtype not in (dtypes.int32, dtypes.int64):
        raise errors.ValueError_(f"{name}: dtype must be int32 or int64, got {dtype}")
    return dtype.numpy


# ---- positions of extrema ----


def _place(x, axis, dtype, reduce, search):
    """The first position of an extremum (NaN wins) along an axis. Two plain reductions of floats run several times
    faster on the CPU than the one over pairs that XLA makes of argmax."""
    if not jnp.issubdtype(x.dtype, jnp.floating) or at_least(x.shape[axis], 2**31):
        return search(x.astype(np.uint8) if x.dtype == np.bool_ else x, axis, dtype)
    x = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    hit = (x == reduce(x, axis, keepdims=True)) | jnp.isnan(x)
    place = jnp.where(hit, jax.lax.broadcasted_iota(np.int32, x.shape, axis), x.shape[axis] - 1)
    return jnp.min(place, axis).astype(dtype)


def _arg_extremum(name, reduce, search, x, axis, keepdim, dtype):
    dtype = index_type(name, dtype)
    check_tensor(name, x)
    if axis is None:
        if x.size == 0:
            raise errors.ValueError_(
                f"{name}: there is no extremum of no elements, the tensor has shape {list(x.shape)}"
            )
        out = _place(x.reshape(-1), 0, dtype, reduce, search)
        return out.reshape((1,) * x.ndim) if keepdim else out
    axis = tensor_axis(name, x, axis)
    if x.ndim == 0:
        return jnp.zeros((1,) if keepdim else (), dtype)
    if x.shape[axis] == 0 and x.size == 0 and 0 not in x.shape[:axis] + x.shape[axis + 1 :]:
        raise errors.ValueError_(f"{name}: there is no extremum of no elements, the tensor has shape {list(x.shape)}")
    if x.size == 0:
        out = jnp.zeros(x.shape[:axis] + x.shape[axis + 1 :], dtype)
    else:
        out = _place(x, axis, dtype, reduce, search)
    return jnp.expand_dims(out, axis) if keepdim else out


@op(differentiable=False)
def argmax(x, axis=None, keepdim=False, dtype="int64"):
    """The position of the largest element: along an axis, or in the flat tensor. The first of equals; NaN is the largest.

    Args:
        dtype: "int64" or "int32".

    Raises:
        ValueError: no elements, the axis is out of range, another dtype.

    Example:
        >>> paddle.argmax(paddle.to_tensor([[1, 5], [7, 2]]), axis=1).tolist()
        [1, 0]
    """
    return _arg_extremum("argmax", jnp.max, jax.lax.argmax, x, axis, keepdim, dtype)


@op(differentiable=False)
def argmin(x, axis=None, keepdim=False, dtype="int64"):
    """The position of the smallest element; see `argmax`.

    Example:
        >>> paddle.argmin(paddle.to_tensor([3, 1, 2])).item()
        1
    """
    return _arg_extremum("argmin", jnp.min, jax.lax.argmin, x, axis, keepdim, dtype)


# ---- sorting ----


# XLA sorts integers natively and everything else by calling a comparator, which takes several times longer on the CPU.


def _mirrored(bits):
    """The bits of a float as an integer of the same order, or the inverse."""
    return jnp.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _integers(x):
    """Floats as integers of the same order: -0.0 before 0.0, NaN last."""
    x = jnp.where(jnp.isnan(x), jnp.full_like(x, jnp.nan), x)  # of positive sign
    return _mirrored(jax.lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.dtype.itemsize}")))


def _key(x):
    """Signed integers in the order of the elements of x: equal for equal ones, NaN last."""
    if x.dtype == np.bool_:
        return x.astype(np.int8)
    if jnp.issubdtype(x.dtype, jnp.floating):
        return _integers(jnp.where(x == 0, jnp.zeros_like(x), x))
    if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        half = np.array(1 << (8 * x.dtype.itemsize - 1), x.dtype)
        return jax.lax.bitcast_convert_type(x ^ half, np.dtype(f"int{8 * x.dtype.itemsize}"))
    return x


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def in_order(x, axis, descending=False):
    """The elements of x in order along an axis: NaN last, or first when descending."""
    if descending:
        return jnp.flip(in_order(x, axis), axis)
    if jnp.iscomplexobj(x):
        return jnp.sort(x, axis)
    floats = jnp.issubdtype(x.dtype, jnp.floating)
    key = _integers(x) if floats else x.astype(np.uint8) if x.dtype == np.bool_ else x
    key = jnp.moveaxis(jax.lax.sort(jnp.moveaxis(key, axis, -1)), -1, axis)
    return jax.lax.bitcast_convert_type(_mirrored(key), x.dtype) if floats else key.astype(x.dtype)


@in_order.defjvp
def _in_order_jvp(axis, descending, primals, tangents):
    index = order(*primals, axis, descending)
    return in_order(*primals, axis, descending), jnp.take_along_axis(*tangents, index, axis)


def order(x, axis, descending=False):
    """Stable positions that sort x: NaN last, or first when descending; equal elements keep their order."""
    if jnp.iscomplexobj(x):
        index = jnp.argsort(jnp.flip(x, axis) if descending else x, axis, stable=True)
        return jnp.flip(x.shape[axis] - 1 - index, axis) if descending else index
    key = jnp.moveaxis(_key(x), axis, -1)
    return jnp.moveaxis(_order(~key if descending else key), -1, axis)


def _order(key):
    """Stable positions that sort signed integers along the last axis."""
    place = jax.lax.broadcasted_iota(np.int64, key.shape, key.ndim - 1)  # below 2**32, else the memory would not do

    def positions(word):
        """Words of 32 bits sorted together with their places, in one integer."""
        return jax.lax.sort(word.astype(np.int64) << 32 | place) & 0xFFFFFFFF

    if key.dtype.itemsize < 8:
        return positions(key)
    lower = positions(jax.lax.bitcast_convert_type(key.astype(np.uint32) ^ np.uint32(1 << 31), np.int32))
    return jnp.take_along_axis(lower, positions(jnp.take_along_axis(key >> 32, lower, -1)), -1)  # then by the upper


def scatter_along(g, index, shape, axis):
    """Zeros of a shape with g added at positions along an axis: the gradient of `take_along_axis`."""
    grid = list(jnp.indices(index.shape, sparse=True))
    grid[axis] = index
    return jnp.zeros(shape, g.dtype).at[tuple(grid)].add(g)


@op
def sort(x, axis=-1, descending=False, stable=False):
    """The elements in order along an axis; NaN last, or first when descending. Always stable.

    Raises:
        ValueError: the axis is out of range.

    Example:
        >>> paddle.sort(paddle.to_tensor([3, 1, 2]), descending=True).tolist()
        [3, 2, 1]
    """
    axis = tensor_axis("sort", x, axis)
    if x.ndim == 0:
        return x
    return in_order(x, axis, bool(descending))


@op(differentiable=False)
def argsort(x, axis=-1, descending=False, stable=False):
    """The positions that sort along an axis, int64; see `sort`. Equal elements keep their order.

    Example:
        >>> paddle.argsort(paddle.to_tensor([30, 10, 20])).tolist()
        [1, 2, 0]
    """
    axis = tensor_axis("argsort", x, axis)
    if x.ndim == 0:
        return jnp.zeros((), np.int64)
    return order(x, axis, descending).astype(np.int64)


@api(method="msort")
def msort(input):
    """The elements in order along the first axis.

    Example:
        >>> paddle.msort(paddle.to_tensor([[3, 1], [2, 4]])).tolist()
        [[2, 1], [3, 4]]
    """
    return sort(input, 0)


# ---- selection ----


def _largest(key, k):
    """Positions of the k largest signed integers along the last axis, in order; of equal ones the first come first."""
    if k > key.shape[-1] // 8 + 16:
        return _order(~key)[..., :k]
    if key.dtype.itemsize == 8:
        short = np.iinfo(np.int32)
        return jax.lax.cond(
            jnp.all((key >= short.min) & (key <= short.max)),
            lambda: _largest(key.astype(np.int32), k).astype(np.int64),
            lambda: _order(~key)[..., :k],
        )
    # On the CPU the selection is fast for float32 only, of which it compares the bits.
    return jax.lax.platform_dependent(
        key.astype(np.int32),
        cpu=lambda key: jax.lax.top_k(jax.lax.bitcast_convert_type(_mirrored(key), np.float32), k)[1],
        default=lambda key: jax.lax.top_k(key, k)[1],
    )


def _number_of(name, k, n):
    if isinstance(k, tuple) and len(k) == 1:
        k = k[0]
    if not isinstance(k, (int, np.integer)):
        raise errors.TypeError_(f"{name}: k must be an int, got {errors.describe(k)}")
    if not 1 <= k <= n:
        raise errors.ValueError_(f"{name}: k must lie between 1 and the length {n} of the axis, got {k}")
    return int(k)


@op(method=False, export=False, name="topk")
def _topk(x, k, axis, largest):
    axis = tensor_axis("topk", x, -1 if axis is None else axis)
    if x.ndim == 0:
        _number_of("topk", k, 1)
        return x, jnp.zeros((), np.int64)
    k = _number_of("topk", k, x.shape[axis])
    if jnp.iscomplexobj(x):
        raise errors.TypeError_(f"topk: complex numbers have no order, got {x.dtype.name}")
    key = jnp.moveaxis(_key(jax.lax.stop_gradient(x)), axis, -1)
    index = jnp.moveaxis(_largest(key if largest else ~key, k), -1, axis)
    return jnp.take_along_axis(x, index, axis), index.astype(np.int64)


@api
def topk(x, k, axis=None, largest=True, sorted=True):
    """The k largest (or smallest) elements along an axis, in order, and their positions (int64).

    Args:
        axis: default the last.
        sorted: the results come in order in any case.

    Raises:
        ValueError: k is not between 1 and the length of the axis, or the axis is out of range.

    Example:
        >>> paddle.topk(paddle.to_tensor([1, 5, 3]), 2)[1].tolist()
        [1, 2]
    """
    return TopKRetType(*_topk(x, k, axis, largest))


@op
def kthvalue(x, k, axis=None, keepdim=False):
    """The k-th smallest element (k counts from 1) along an axis, by default the last, and its position (int64).

    Raises:
        ValueError: k is not between 1 and the length of the axis, or the axis is out of range.

    Example:
        >>> [t.item() for t in paddle.kthvalue(paddle.to_tensor([5, 1, 3]), 2)]
        [3, 2]
    """
    axis = tensor_axis("kthvalue", x, -1 if axis is None else axis)
    if x.ndim == 0:
        _number_of("kthvalue", k, 1)
        return x, jnp.zeros((), np.int64)
    k = _number_of("kthvalue", k, x.shape[axis])
    index = jax.lax.slice_in_dim(order(jax.lax.stop_gradient(x), axis), k - 1, k, axis=axis)
    values = jnp.take_along_axis(x, index, axis)
    index = index.astype(np.int64)
    return (values, index) if keepdim else (values.squeeze(axis), index.squeeze(axis))


@op
def mode(x, axis=-1, keepdim=False):
    """The most frequent element along an axis and the position of its last occurrence (int64); of equally frequent
    ones the smallest.

    Raises:
        ValueError: no elements, or the axis is out of range.

    Example:
        >>> [t.item() for t in paddle.mode(paddle.to_tensor([3, 2, 2, 3, 1]))]
        [2, 2]
    """
    axis = tensor_axis("mode", x, axis)
    if x.ndim == 0:
        return x, jnp.zeros((), np.int64)
    n = x.shape[axis]
    if n == 0:
        raise errors.ValueError_(f"mode: axis {axis} has no elements, the tensor has shape {list(x.shape)}")
    last = jnp.moveaxis(jax.lax.stop_gradient(x), axis, -1)
    index = order(last, -1)
    ordered = jnp.take_along_axis(last, index, -1)
    # The length of the run of equals that ends at each position of the ordered elements.
    place = jnp.arange(n)
    fresh = jnp.concatenate([jnp.ones(ordered.shape[:-1] + (1,), bool), ordered[..., 1:] != ordered[..., :-1]], -1)
    length = place - jax.lax.cummax(jnp.where(fresh, place, 0), ordered.ndim - 1)
    best = jnp.argmax(length, -1, keepdims=True)
    index = jnp.moveaxis(jnp.take_along_axis(index, best, -1), -1, axis)
    values = jnp.take_along_axis(x, index, axis)
    index = index.astype(np.int64)
    return (values, index) if keepdim else (values.squeeze(axis), index.squeeze(axis))


# ---- binary search ----


@op(method=False, export=False, differentiable=False, name="searchsorted")
def _searchsorted(sorted_sequence, values, out_int32, right):
    check_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    check_tensor("searchsorted", values, "values")
    if sorted_sequence.ndim == 0:
        raise errors.ValueError_("searchsorted: sorted_sequence must have at least one dimension, got a 0-D tensor")
    if jnp.iscomplexobj(sorted_sequence) or jnp.iscomplexobj(values):
        raise errors.TypeError_("searchsorted: complex numbers have no order")
    side = "right" if right else "left"
    dtype = np.int32 if out_int32 else np.int64
    wide = jnp.promote_types(sorted_sequence.dtype, values.dtype)
    sorted_sequence, values = sorted_sequence.astype(wide), values.astype(wide)
    if sorted_sequence.ndim == 1:
        return jnp.searchsorted(sorted_sequence, values, side=side).astype(dtype)
    lead = sorted_sequence.shape[:-1]
    if values.ndim != sorted_sequence.ndim or values.shape[:-1] != lead:
        raise errors.ValueError_(
            f"searchsorted: values of shape {list(values.shape)} must match sorted_sequence of "
            f"shape {list(sorted_sequence.shape)} in every axis but the last"
        )
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    columns = values.reshape(rows.shape[0], values.shape[-1])
    found = jax.vmap(lambda s, v: jnp.searchsorted(s, v, side=side))(rows, columns)
    return found.reshape(values.shape).astype(dtype)


@api(method=False, aliases={"input": "values"})
def searchsorted(sorted_sequence, values, out_int32=False, right=False, *, side=None, sorter=None):
    """The positions at which values would be inserted to keep the last axis of a sequence in ascending order.

    Args:
        sorted_sequence: one row, or rows whose leading axes equal those of `values`.
        right: insert behind equal elements instead of in front of them; `side="right"` is the same.
        sorter: int64 positions that sort `sorted_sequence`, when it is not in order itself.

    Raises:
        ValueError: the shapes do not match.

    Example:
        >>> paddle.searchsorted(paddle.to_tensor([1, 3, 5]), paddle.to_tensor([3, 6])).tolist()
        [1, 3]
    """
    if side not in (None, "left", "right"):
        raise errors.ValueError_(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if side == "left" and right:
        raise errors.ValueError_("searchsorted: side='left' and right=True contradict each other")
    if sorter is not None:
        sorted_sequence = _in_order(sorted_sequence, sorter)
    return _searchsorted(sorted_sequence, values, out_int32, right or side == "right")


@op(method=False, export=False, differentiable=False, name="searchsorted_sorter")
def _in_order(sequence, sorter):
    if sequence.shape != sorter.shape:
        raise errors.ValueError_(
            f"searchsorted: sorter has shape {list(sorter.shape)}, sorted_sequence {list(sequence.shape)}"
        )
    return jnp.take_along_axis(sequence, sorter, -1)


@api(aliases={"boundaries": "sorted_sequence"})
def bucketize(x, sorted_sequence, out_int32=False, right=False):
    """For each element the number of the interval between ascending boundaries (a 1-D tensor) that it falls into.

    Raises:
        ValueError: the boundaries are not 1-D.

    Example:
        >>> paddle.bucketize(paddle.to_tensor([0, 3, 9]), paddle.to_tensor([1, 4])).tolist()
        [0, 1, 2]
    """
    check_tensor("bucketize", sorted_sequence, "sorted_sequence")
    if sorted_sequence.ndim != 1:
        raise errors.ValueError_(f"bucketize: sorted_sequence must be 1-D, got shape {list(sorted_sequence.shape)}")
    return _searchsorted(sorted_sequence, x, out_int32, right)


# ---- distinct values: the shapes depend on data, so NumPy does it ----


def host_array(name, x):
    """The values of a tensor for an operator whose result's shape depends on them."""
    check_tensor(name, x)
    if isinstance(x, Tensor):
        if isinstance(x._value, ABSTRACT):
            raise errors.RuntimeError_(
                f"{name}: the shape of the result depends on the values, which a compiled "
                f"function "
                "cannot have; call it outside"
            )
        return np.asarray(x._value)
    return np.asarray(x)


def device_tensor(array, like):
    """A tensor of a NumPy array on the device of another tensor."""
    device = _device_of(like._value) if isinstance(like, Tensor) else None
    return _make(jax.device_put(np.ascontiguousarray(array).reshape(array.shape), device))


def _one_axis(axis):
    if isinstance(axis, (list, tuple)) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, Tensor):
        axis = axis.item()
    return axis


@api(on_host=data_shapes.unique)
def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, dtype="int64", sorted=True):
    """The distinct elements in ascending order; with an axis the distinct slices along it.

    Args:
        return_index: also the position of the first occurrence of each.
        return_inverse: also, for each element (of the flat tensor), the position of its value in the result.
        return_counts: also how often each occurs.
        dtype: of these positions and counts, "int64" or "int32".
        sorted: the result is in order in any case.

    Raises:
        ValueError: the axis is out of range.
        RuntimeError: inside a compiled function.

    Example:
        >>> paddle.unique(paddle.to_tensor([2, 3, 3, 1])).tolist()
        [1, 2, 3]
    """
    array = host_array("unique", x)
    positions = index_type("unique", dtype)
    axis = _one_axis(axis)
    if axis is None:
        # Always with counts: without, NumPy hashes, which is slow for many distinct elements.
        parts = iter(np.unique(array.reshape(-1), return_index, return_inverse, True, equal_nan=False))
        found = [next(parts), *(next(parts) if w else None for w in (return_index, return_inverse, True))]
    else:
        axis = tensor_axis("unique", x, axis)
        if array.shape[axis] == 0:
            found = (array, *[np.zeros(0, np.int64)] * 3)
        else:
            found = np.unique(array if array.ndim else array.reshape(1), True, True, True, axis=axis, equal_nan=False)
    out = [device_tensor(found[0], x)]
    out += [
        device_tensor(a.reshape(-1).astype(positions), x)
        for a, wanted in zip(found[1:], (return_index, return_inverse, return_counts))
        if wanted
    ]
    return out[0] if len(out) == 1 else tuple(out)


@api(on_host=data_shapes.unique_consecutive)
def unique_consecutive(x, return_inverse=False, return_counts=False, axis=None, dtype="int64"):
    """The elements with repetitions in a row removed; with an axis the slices along it.

    Args:
        return_inverse: also, for each element (of the flat tensor), the position of its run in the result.
        return_counts: also the length of each run.
        dtype: of these, "int64" or "int32".

    Raises:
        ValueError: the axis is out of range.
        RuntimeError: inside a compiled function.

    Example:
        >>> paddle.unique_consecutive(paddle.to_tensor([1, 1, 2, 1])).tolist()
        [1, 2, 1]
    """
    array = host_array("unique_consecutive", x)
    positions = index_type("unique_consecutive", dtype)
    axis = _one_axis(axis)
    if axis is None:
        array, axis = array.reshape(-1), 0
    else:
        axis = tensor_axis("unique_consecutive", x, axis)
        array = array if array.ndim else array.reshape(1)
    rows = np.moveaxis(array, axis, 0)
    n = len(rows)
    fresh = np.ones(n, bool)
    if n > 1:
        fresh[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, -1).any(1)
    starts = np.flatnonzero(fresh)
    out = [device_tensor(np.take(array, starts, axis), x)]
    if return_inverse:
        out.append(device_tensor((np.cumsum(fresh) - 1).astype(positions), x))
    if return_counts:
        out.append(device_tensor(np.diff(np.append(starts, n)).astype(positions), x))
    return out[0] if len(out) == 1 else tuple(out)
