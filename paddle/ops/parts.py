"""Parts of a tensor: strided windows, slices, single entries of an axis."""

from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.modes import modes
from ..engine.op import api, op
from ..engine.storage import View
from ..engine.tensor import Tensor
from ..engine.value import Value
from .axes import axes_of, axis_of
from .indexing import _plan, getitem, slice_get
from .manipulation import flatten, ints_of, tensor_of


def _strided_index(shape, stride, offset):
    index = jnp.full(shape, offset)
    for axis, (n, s) in enumerate(zip(shape, stride)):
        index = index + jnp.expand_dims(jnp.arange(n) * s, [i for i in range(len(shape)) if i != axis])
    return index


def _strided_back(base, value, shape, stride, offset):
    return _as_strided_write(base, value, shape, stride, offset)


@op(
    method=False,
    export=False,
    name="as_strided",
    static="stride",
    view=_strided_back,
    view_strides=lambda strides, out, base, shape, stride, offset: stride,
)
def _as_strided(x, shape, stride, offset):
    return x.reshape(-1)[_strided_index(shape, stride, offset)]


@op(method=False, export=False, static="stride", name="as_strided_write")
def _as_strided_write(x, value, shape, stride, offset):
    return x.reshape(-1).at[_strided_index(shape, stride, offset).reshape(-1)].set(value.reshape(-1)).reshape(x.shape)


@api
def as_strided(x, shape, stride, offset=0):
    """The memory of x read with other strides: element (i, j) is at ``offset + i * stride[0] + j * stride[1]``.

    Args:
        shape, stride: lists of equal length; strides in elements.
        offset: where the memory is entered, in bytes (official), counted from the start of the memory that x shares.

    Raises:
        ValueError: negative strides, or elements outside of the memory.

    Example:
        >>> paddle.arange(6).as_strided([2, 2], [1, 2]).tolist()
        [[0, 2], [1, 3]]
    """
    shape, stride = ints_of("as_strided", shape, "shape"), ints_of("as_strided", stride, "stride")
    base = tensor_of("as_strided", x)
    while base._storage.__class__ is View and base._storage.base.dtype is x.dtype:
        base = base._storage.base
    if len(shape) != len(stride) or builtins.any(v < 0 for v in (*shape, *stride, offset)) or offset % x.dtype.itemsize:
        raise errors.ValueError_(
            "as_strided: shape and stride must have one length and no negative entries, offset "
            "must be "
            f"a multiple of {x.dtype.itemsize} bytes, got {list(shape)}, {list(stride)}, {offset}"
        )
    start = offset // x.dtype.itemsize
    last = start + sum((n - 1) * s for n, s in zip(shape, stride))
    if 0 not in shape and last >= base._raw.size:
        raise errors.ValueError_(
            f"as_strided: element {last} is outside of the memory, which has {base._raw.size} elements"
        )
    return _as_strided(base, shape, stride, start)


def _unfold_index(n, size, step):
    return jnp.arange((n - size) // step + 1)[:, None] * step + jnp.arange(size)


def _unfold_back(base, value, axis, size, step):
    return _unfold_write(base, value, axis, size, step)


def _unfold_strides(strides, out, base, axis, size, step):
    return [s * step if i == axis else s for i, s in enumerate(strides)] + [strides[axis]]


@op(
    method=False,
    export=False,
    name="tensor_unfold",
    static="size step",
    view=_unfold_back,
    view_strides=_unfold_strides,
)
def _unfold(x, axis, size, step):
    windows = jnp.take(x, _unfold_index(x.shape[axis], size, step), axis)
    return jnp.moveaxis(windows, axis + 1, -1)


@op(method=False, export=False, name="tensor_unfold_write", static="size step")
def _unfold_write(x, value, axis, size, step):
    index = (builtins.slice(None),) * axis + (_unfold_index(x.shape[axis], size, step),)
    return x.at[index].set(jnp.moveaxis(value, -1, axis + 1))


@api
def unfold(x, axis, size, step):
    """All windows of length `size` along an axis, `step` apart; the window becomes the last axis.

    Raises:
        ValueError: a window longer than the axis, a step below 1.

    Example:
        >>> paddle.arange(5).unfold(0, 2, 2).tolist()
        [[0, 1], [2, 3]]
    """
    axis = axis_of("unfold", axis, tensor_of("unfold", x).ndim)
    (size,), (step,) = ints_of("unfold", size, "size"), ints_of("unfold", step, "step")
    if x.ndim == 0:
        x = flatten(x)
    if step <= 0 or not 0 <= size <= x._raw.shape[axis]:
        raise errors.ValueError_(
            f"unfold: size must be between 0 and {x._raw.shape[axis]}, the length of the axis, "
            f"and step positive, got size {size}, step {step}"
        )
    return _unfold(x, axis, size, step)


def _piece_back(base, value, index, axis):
    return piece_write(base, value, index, axis)


@op(
    method=False,
    export=False,
    name="select",
    scalars="index",
    view=_piece_back,
    view_strides=lambda strides, out, base, index, axis: strides[:axis] + strides[axis + 1 :],
)
def piece(x, index, axis):
    """x[index] along an axis that disappears."""
    return jax.lax.dynamic_index_in_dim(x, index, axis, keepdims=False)


@op(method=False, export=False, name="select_write", scalars="index")
def piece_write(x, value, index, axis):
    return jax.lax.dynamic_update_index_in_dim(x, value, index, axis)


@op(method=False, export=False, name="unbind")
def unstacked(x, axis):
    """The slices along an axis that disappears."""
    return tuple(jnp.squeeze(p, axis) for p in jnp.split(x, x.shape[axis], axis))


@api(method="unbind")
def unbind(input, axis=0):
    """The slices along an axis, as a list of tensors that share memory with the input.

    Raises:
        ValueError: an axis out of range.

    Example:
        >>> [t.tolist() for t in paddle.to_tensor([[1, 2], [3, 4]]).unbind()]
        [[1, 2], [3, 4]]
    """
    if not tensor_of("unbind", input, "input").ndim:
        raise errors.ValueError_("unbind: the input has no dimensions")
    axis = axis_of("unbind", axis, input.ndim)
    if not input._raw.shape[axis]:
        return []
    outs = list(unstacked(input, axis))
    for i, out in enumerate(outs):
        out._storage = View(out._storage.value, input, piece.op, (i, axis))
    return outs


@api(method="slice")
def slice(input, axes, starts, ends):
    """The part between `starts` and `ends` along some axes; as in Python, negative ones count from the end and those
    outside are cut off.

    Raises:
        ValueError: an axis out of range, lists of different lengths.

    Example:
        >>> paddle.slice(paddle.arange(5), [0], [1], [-1]).tolist()
        [1, 2, 3]
    """
    return _sliced("slice", input, axes, starts, ends, None)


@api
def strided_slice(x, axes, starts, ends, strides):
    """Like `slice` with a step along each axis, which may be negative.

    Example:
        >>> paddle.strided_slice(paddle.arange(5), [0], [4], [0], [-2]).tolist()
        [4, 2]
    """
    return _sliced("strided_slice", x, axes, starts, ends, strides)


def _sliced(name: str, x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any) -> Tensor:
    slices = slices_of(name, x, axes, starts, ends, strides)
    if modes.program is not None:
        return getitem(x, tuple(slices))
    return slice_get(x, *_plan(x._raw.shape, slices))


def slices_of(name: str, x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any) -> list:
    """A slice for each axis of x, from lists that name some of them."""
    ndim = tensor_of(name, x)._raw.ndim
    if not ndim:
        raise errors.ValueError_(f"{name}: the tensor has no dimensions to slice")
    axes = ints_of(name, axes, "axes")
    starts, ends = _bounds(name, starts, "starts"), _bounds(name, ends, "ends")
    strides = (1,) * len(axes) if strides is None else ints_of(name, strides, "strides")
    if not len(axes) == len(starts) == len(ends) == len(strides):
        raise errors.ValueError_(
            f"{name}: axes, starts, ends and strides must have one length, got {len(axes)}, "
            f"{len(starts)}, {len(ends)}, {len(strides)}"
        )
    out = [builtins.slice(None)] * ndim
    for axis, start, end, stride in zip(axes_of(name, axes, ndim, "axes"), starts, ends, strides):
        out[axis] = builtins.slice(start, end, stride)
    return out


def _bounds(name: str, value: Any, argument: str) -> Any:
    """A list of ints; in programs tensors that have no elements yet stay in it."""
    if isinstance(value, Tensor) and isinstance(value._raw, Value):
        return [value[i] for i in builtins.range(value.shape[0])] if value.ndim else [value]
    if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) and isinstance(v._raw, Value) for v in value):
        return [v.reshape([]) if isinstance(v, Tensor) and v.ndim else v for v in value]
    return ints_of(name, value, argument)


@api(method="narrow")
def narrow(input, dim, start, length):
    """`length` elements along the axis `dim`, from `start` on; shares memory with the input.

    Raises:
        ValueError: elements outside of the axis.

    Example:
        >>> paddle.arange(5).narrow(0, 1, 2).tolist()
        [1, 2]
    """
    (start,), (length,) = ints_of("narrow", start, "start"), ints_of("narrow", length, "length")
    axis = axis_of("narrow", dim, input.ndim, "dim")
    n = input.shape[axis] if input.ndim else 0
    begin = start + n if start < 0 else start
    if begin < 0 or length < 0 or begin + length > n:
        raise errors.ValueError_(f"narrow: start {start} and length {length} do not fit into axis {axis} of length {n}")
    return _sliced("narrow", input, [axis], [begin], [begin + length], None)


@api
def crop(x, shape=None, offsets=None):
    """The part of x with a shape that starts at `offsets` (default 0).

    Args:
        shape: a length for each axis, -1 takes what is left; default all.

    Raises:
        ValueError: the part is not inside of x.

    Example:
        >>> paddle.crop(paddle.arange(6).reshape([2, 3]), [1, -1], [1, 1]).tolist()
        [[4, 5]]
    """
    ndim = tensor_of("crop", x).ndim
    offsets = (0,) * ndim if offsets is None else ints_of("crop", offsets, "offsets")
    shape = (-1,) * ndim if shape is None else ints_of("crop", shape, "shape")
    if len(shape) != ndim or len(offsets) != ndim:
        raise errors.ValueError_(
            f"crop: shape and offsets must have {ndim} entries, got {list(shape)}, {list(offsets)}"
        )
    if builtins.any(n < 0 for n in x.shape):  # lengths that are known when the program runs
        ends = [x.shape[i] if n == -1 else o + n for i, (o, n) in enumerate(zip(offsets, shape))]
        return _sliced("crop", x, list(range(ndim)), offsets, ends, None)
    ends = [o + (n if n != -1 else have - o) for o, n, have in zip(offsets, shape, x.shape)]
    if builtins.any(o < 0 or n < -1 or not o <= e <= have for o, n, e, have in zip(offsets, shape, ends, x.shape)):
        raise errors.ValueError_(
            f"crop: the part of shape {list(shape)} at {list(offsets)} is not inside of {list(x.shape)}"
        )
    from .creation import clone

    return clone(_sliced("crop", x, list(range(ndim)), offsets, ends, None) if ndim else x)
