"""Shapes and layouts: types, views, repetition, order."""
from __future__ import annotations

import builtins
import functools
import math
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.storage import Storage, View
from ..engine.tensor import Tensor, official_strides
from .axes import axes_of, axis_of
from .indexing import _plan, slice_get


# ---- data types ----

@op(method=False, export=False, name="cast")
def _cast(x, dtype):
    if jnp.iscomplexobj(x) and not dtype.is_complex:
        x = x.real
    return x.astype(dtype.numpy)


@api(method="cast astype", inplace=True)
def cast(x, dtype):
    """The tensor in another data type (itself when it has that type already). Floats truncate to integers.

    Example:
        >>> paddle.to_tensor([1.9, -1.9]).astype("int64").tolist()
        [1, -1]
    """
    dtype = to_dtype(dtype)
    if x.dtype is dtype:
        return x
    out = _cast(x, dtype)
    if not x._stop and out._stop:  # an integer tensor carries the flag on, as officially
        out._stop = False
    return out


def _caster(name: str, dtype: dtypes.DType) -> Callable:
    def to(x):
        return cast(x, dtype)
    to.__name__ = to.__qualname__ = name
    to.__doc__ = f"The tensor as {dtype.name}; itself when it has that type already."
    return to


for _name, _dtype in dict(
        bool=dtypes.bool, byte=dtypes.uint8, uint8=dtypes.uint8, char=dtypes.int8, int8=dtypes.int8, short=dtypes.int16,
        int16=dtypes.int16, int=dtypes.int32, int32=dtypes.int32, long=dtypes.int64, int64=dtypes.int64, half=dtypes.float16,
        float16=dtypes.float16, bfloat16=dtypes.bfloat16, float=dtypes.float32, float32=dtypes.float32, double=dtypes.float64,
        float64=dtypes.float64, cfloat=dtypes.complex64, complex64=dtypes.complex64, cdouble=dtypes.complex128,
        complex128=dtypes.complex128).items():
    setattr(Tensor, _name, _caster(_name, _dtype))


@api(method=True, export=False)
def type_as(x, other):
    """The tensor in the data type of another."""
    return cast(x, other.dtype)


# ---- helpers ----

def star(*names: str, at: int = 1) -> Callable:
    """Let a function take the list at position `at` as separate ints too: ``x.reshape(2, 3)``. `names` are its methods."""
    def decorate(public: Callable) -> Callable:
        @functools.wraps(public)
        def packed(*args, **kwargs):
            if len(args) > at + 1:
                end = at
                while end < len(args) and (args[end].__class__ is builtins.int or isinstance(args[end], (Tensor, np.integer))):
                    end += 1
                if end > at + 1:
                    args = (*args[:at], args[at:end], *args[end:])
            try:
                return public(*args, **kwargs)
            except Exception as e:
                errors.trim(e)
                raise
        for name in names:
            setattr(Tensor, name, packed)
        return packed
    return decorate


def tensor_of(name: str, x: Any, argument: str = "x") -> Tensor:
    """The argument when it is a Tensor, a TypeError otherwise."""
    if not isinstance(x, Tensor):
        raise errors.TypeError_(f"{name}: {argument} must be a Tensor, got {errors.describe(x)}")
    return x


def ints_of(name: str, value: Any, argument: str) -> Frozen:
    """An int, a list of ints (tensors allowed in it) or a Tensor as a frozen tuple of ints."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if not isinstance(value, (list, tuple, np.ndarray)):
        value = (value,)
    try:
        return Frozen(v.__index__() for v in value)
    except (TypeError, AttributeError):
        raise errors.TypeError_(f"{name}: {argument} must hold integers, got {errors.describe(value)}") from None


# ---- views ----

def _resolve_shape(shape, new):
    """The lengths that a shape with zeros and a -1 stands for."""
    size = math.prod(shape)
    if builtins.any(n < -1 for n in new) or new.count(-1) > 1:
        raise errors.ValueError_(f"reshape: shape may hold one -1 and no other negative length, got {list(new)}")
    out = list(new)
    if size:
        for i, n in enumerate(out):
            if n == 0:
                if i >= len(shape):
                    raise errors.ValueError_(f"reshape: the 0 at position {i} of shape {list(new)} stands for an axis of x, "
                                             f"which has {len(shape)}")
                out[i] = shape[i]
    if -1 in out:
        i = out.index(-1)
        if 0 in out:  # an empty tensor: the axis takes what is left of the other lengths
            rest = math.prod(n for n in out if n > 0)
            out[i] = math.prod(n for n in shape if n) // rest
        else:
            out[i] = size // math.prod(n for n in out if n != -1)
    if math.prod(out) != size:
        raise errors.ValueError_(f"reshape: a tensor of shape {list(shape)} does not fit into shape {list(new)}")
    return out


def _viewed_strides(shape, strides, new):
    """Strides of a tensor seen with another shape, None where that needs a copy.

    Axes that together are one even stretch of memory merge; each new axis must divide such a stretch.
    """
    if 0 in shape or not new:
        return []
    blocks: list[list[int]] = []  # (length, stride) from the last axis on
    for n, s in zip(reversed(shape), reversed(strides)):
        if n == 1:
            continue
        if blocks and s == blocks[-1][0] * blocks[-1][1]:
            blocks[-1][0] *= n
        else:
            blocks.append([n, s])
    out: list[int] = []
    position, used = 0, 1
    for n in reversed(new):
        length, stride = blocks[position] if position < len(blocks) else (1, 1)
        if n > 1 and length % (used * n):
            return None
        out.append(stride * used)
        used *= n
        if used == length and position + 1 < len(blocks):
            position, used = position + 1, 1
    return out[::-1]


def _reshape_back(base, value, *attributes):
    return _reshape(value, Frozen(base._value.shape))


def _reshape_strides(strides, out, base, *attributes):
    found = _viewed_strides(base._value.shape, strides, out._value.shape)
    return found or None


def _copy_if_scattered(out: Tensor, x: Tensor) -> Tensor:
    """A slot of its own for a reshaped tensor whose elements do not lie evenly in the memory of x."""
    if x._storage.__class__ is View and out._storage.__class__ is View:
        if _viewed_strides(x._value.shape, official_strides(x), out._value.shape) is None:
            out._storage = Storage(out._value)
    return out


@op(method=False, export=False, name="reshape", view=_reshape_back, view_strides=_reshape_strides)
def _reshape(x, shape):
    return jnp.reshape(x, _resolve_shape(x.shape, shape))


@star("reshape")
@api(inplace="reshapes")
def reshape(x, shape):
    """The same elements in another shape; shares memory with x where the layout allows it.

    Args:
        shape: a list of ints (tensors allowed in it) or a Tensor; one -1 is what is left, a 0 copies the length of that
            axis of x (unless x is empty).

    Raises:
        ValueError: the shape has another number of elements.

    Example:
        >>> paddle.arange(6).reshape([2, -1]).shape
        [2, 3]
    """
    return _copy_if_scattered(_reshape(tensor_of("reshape", x), ints_of("reshape", shape, "shape")), x)


@op(method=False, export=False, name="view_dtype", view=lambda base, value, dtype: _view_dtype(value, base.dtype),
    differentiable=False)
def _view_dtype(x, dtype):
    old, new = x.dtype.itemsize, dtype.itemsize
    wide = x.dtype == np.bool_
    if wide or dtype is dtypes.bool:
        x = x.astype(np.uint8) if wide else x
        if dtype is dtypes.bool:
            return jax.lax.bitcast_convert_type(x, np.uint8).reshape(*x.shape[:-1], -1).astype(np.bool_) if old > 1 else x != 0
    if old == new:
        return _bitcast(x, dtype.numpy)
    if x.ndim == 0:
        raise errors.ValueError_(f"view: a tensor without dimensions cannot be seen as {dtype.name}, whose elements have "
                                 "another size")
    if old > new:
        out = _bitcast(x, dtype.numpy)
        return out.reshape(*x.shape[:-1], x.shape[-1] * (old // new))
    ratio = new // old
    if x.shape[-1] % ratio:
        raise errors.ValueError_(f"view: the last axis of {errors.describe(x)} must be divisible by {ratio} to be seen as "
                                 f"{dtype.name}")
    return _bitcast(x.reshape(*x.shape[:-1], x.shape[-1] // ratio, ratio), dtype.numpy)


def _bitcast(x, dtype):
    if jnp.iscomplexobj(x):
        part = np.dtype(f"f{x.dtype.itemsize // 2}")
        x = jnp.stack([x.real, x.imag], -1).astype(part)
        return x if part == dtype else jax.lax.bitcast_convert_type(x.reshape(*x.shape[:-2], -1) if dtype.itemsize > part.itemsize else x, dtype)
    if np.issubdtype(dtype, np.complexfloating):
        part = np.dtype(f"f{dtype.itemsize // 2}")
        parts = jax.lax.bitcast_convert_type(x, part)
        parts = parts.reshape(*parts.shape[:-1], 2) if parts.shape[-1:] != (2,) else parts
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    return jax.lax.bitcast_convert_type(x, dtype)


@star("view")
@api
def view(x, shape_or_dtype):
    """The same memory in another shape, or its bytes as another data type. Never copies.

    Args:
        shape_or_dtype: as in `reshape`, or a data type (the last axis then grows or shrinks with the element size).

    Raises:
        ValueError: the layout of x (say, after transpose) does not allow it without a copy; use reshape.

    Example:
        >>> paddle.zeros([2, 3]).view([6]).shape
        [6]
    """
    tensor_of("view", x)
    if isinstance(shape_or_dtype, (str, dtypes.DType, np.dtype, type)):
        dtype = to_dtype(shape_or_dtype)
        return x if dtype is x.dtype else _view_dtype(x, dtype)
    out = _reshape(x, ints_of("view", shape_or_dtype, "shape_or_dtype"))
    if _copy_if_scattered(out, x)._storage.__class__ is not View:
        raise errors.ValueError_(f"view: a tensor of shape {list(x.shape)} and strides {x.strides} cannot be seen as "
                                 f"{list(out.shape)} without a copy; use reshape")
    return out


@api
def view_as(x, other):
    """The tensor seen in the shape of another.

    Example:
        >>> paddle.zeros([6]).view_as(paddle.zeros([2, 3])).shape
        [2, 3]
    """
    return view(x, other.shape)


@op(method=False, export=False, name="flatten", view=_reshape_back, view_strides=_reshape_strides)
def _flatten(x, start_axis, stop_axis):
    if x.ndim == 0:
        axis_of("flatten", start_axis, 0, "start_axis"), axis_of("flatten", stop_axis, 0, "stop_axis")
        return x.reshape(1)
    start, stop = axis_of("flatten", start_axis, x.ndim, "start_axis"), axis_of("flatten", stop_axis, x.ndim, "stop_axis")
    if start > stop:
        raise errors.ValueError_(f"flatten: start_axis {start_axis} comes after stop_axis {stop_axis}")
    return x.reshape(*x.shape[:start], math.prod(x.shape[start:stop + 1]), *x.shape[stop + 1:])


@api(inplace="reshapes")
def flatten(x, start_axis=0, stop_axis=-1):
    """Merge the axes from `start_axis` to `stop_axis` (inclusive) into one.

    Raises:
        ValueError: an axis out of range, or in the wrong order.

    Example:
        >>> paddle.zeros([2, 3, 4]).flatten(1).shape
        [2, 12]
    """
    return _copy_if_scattered(_flatten(tensor_of("flatten", x), start_axis, stop_axis), x)


@api(method="ravel")
def ravel(input):
    """All elements in one axis.

    Example:
        >>> paddle.zeros([2, 3]).ravel().shape
        [6]
    """
    return flatten(input)


def _perm_of(name, perm, ndim):
    perm = axes_of(name, perm, ndim, "perm") if ndim else ()
    return perm + tuple(range(len(perm), ndim))


def _transpose_back(base, value, perm):
    perm = _perm_of("transpose", perm, base._value.ndim)
    return _transpose(value, Frozen(perm.index(i) for i in range(len(perm))))


@op(method=False, export=False, name="transpose", view=_transpose_back,
    view_strides=lambda strides, out, base, perm: [strides[p] for p in _perm_of("transpose", perm, len(strides))])
def _transpose(x, perm):
    if len(perm) > x.ndim:
        raise errors.ValueError_(f"transpose: perm {list(perm)} is longer than the {x.ndim} dimensions of x")
    perm = _perm_of("transpose", perm, x.ndim)
    if sorted(perm) != list(range(x.ndim)):
        raise errors.ValueError_(f"transpose: perm {list(perm)} is no permutation of the axes of x")
    return jnp.transpose(x, perm)


def _swap(x: Tensor, a: int, b: int) -> Tensor:
    perm = list(range(x._value.ndim))
    perm[a], perm[b] = perm[b], perm[a]
    return _transpose(x, Frozen(perm))


@star("transpose")
@api(inplace="reshapes")
def transpose(x, perm):
    """Reorder the axes: axis i of the result is axis `perm[i]` of x. Shares memory with x.

    Raises:
        ValueError: `perm` is no permutation of the axes.

    Example:
        >>> paddle.zeros([2, 3, 4]).transpose([2, 0, 1]).shape
        [4, 2, 3]
    """
    return _transpose(tensor_of("transpose", x), ints_of("transpose", perm, "perm"))


@star("permute")
@api(method="permute")
def permute(input, dims):
    """Reorder the axes, all of which must be named.

    Example:
        >>> paddle.zeros([2, 3]).permute(1, 0).shape
        [3, 2]
    """
    dims = ints_of("permute", dims, "dims")
    if len(dims) != input.ndim:
        raise errors.ValueError_(f"permute: dims {list(dims)} must name each of the {input.ndim} axes once")
    return _transpose(input, dims)


@api(method="t", inplace="reshapes")
def t(input):
    """The transpose of a matrix; vectors and scalars as they are.

    Raises:
        ValueError: more than two dimensions.

    Example:
        >>> paddle.zeros([2, 3]).t().shape
        [3, 2]
    """
    if input.ndim > 2:
        raise errors.ValueError_(f"t: at most 2 dimensions are allowed, got shape {list(input.shape)}; use transpose")
    return _transpose(input, Frozen(range(input.ndim)[::-1]))


@api
def matrix_transpose(x):
    """Swap the last two axes.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> paddle.zeros([5, 2, 3]).mT.shape
        [5, 3, 2]
    """
    if x.ndim < 2:
        raise errors.ValueError_(f"matrix_transpose: at least 2 dimensions are needed, got shape {list(x.shape)}")
    return _swap(x, -1, -2)


Tensor.T = property(lambda self: _transpose(self, Frozen(range(self._value.ndim)[::-1])), doc="All axes in reverse order.")
Tensor.mT = property(lambda self: matrix_transpose(self), doc="The last two axes swapped.")


@api
def moveaxis(x, source, destination):
    """Move axes to other positions, keeping the order of the others.

    Example:
        >>> paddle.zeros([2, 3, 4]).moveaxis(0, -1).shape
        [3, 4, 2]
    """
    source, destination = (axes_of("moveaxis", ints_of("moveaxis", a, n), x.ndim, n)
                           for a, n in ((source, "source"), (destination, "destination")))
    if len(source) != len(destination):
        raise errors.ValueError_(f"moveaxis: source and destination differ in length: {list(source)}, {list(destination)}")
    perm = [i for i in range(x.ndim) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        perm.insert(to, axis)
    return _transpose(x, Frozen(perm[:x.ndim]))


@star("swapaxes")
@api
def swapaxes(x, perm):
    """Reorder the axes, as `transpose` (the official meaning of this name)."""
    return transpose(x, perm)


@star("swapdims")
@api
def swapdims(x, perm):
    """Reorder the axes, as `transpose` (the official meaning of this name)."""
    return transpose(x, perm)


def _squeeze_axes(ndim, axis):
    return tuple(range(ndim)) if not axis else axes_of("squeeze", axis, ndim, unique=False)


@op(method=False, export=False, name="squeeze", view=_reshape_back, tensors="axis",
    view_strides=lambda strides, out, base, axis: [s for i, s in enumerate(strides) if not (
        base._value.shape[i] == 1 and i in _squeeze_axes(len(strides), axis))])
def _squeeze(x, axis):
    axes = _squeeze_axes(x.ndim, axis)
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in axes])


@star("squeeze")
@api(inplace="reshapes")
def squeeze(x, axis=None):
    """Without the axes of length 1, or without those among `axis`; axes of another length stay.

    Args:
        axis: None, an int or a list.

    Raises:
        ValueError: an axis out of range.

    Example:
        >>> paddle.zeros([1, 3, 1]).squeeze().shape
        [3]
    """
    return _squeeze(tensor_of("squeeze", x), Frozen() if axis is None else ints_of("squeeze", axis, "axis"))


def _unsqueeze_positions(ndim, axis):
    """Where the new axes of length 1 come, in the result; each axis counts in what the earlier ones left."""
    kept: list = [True] * ndim
    for a in axis:
        n = len(kept) + 1
        if not -n <= a < n:
            raise errors.ValueError_(f"unsqueeze: axis {a} is out of range, allowed are {-n} to {n - 1}")
        kept.insert(a + n if a < 0 else a, False)
    return kept


def _unsqueeze_strides(strides, out, base, axis):
    kept, shape = _unsqueeze_positions(len(strides), axis), out._value.shape
    result, source = [], list(strides)
    step = 1
    for i in range(len(kept) - 1, -1, -1):
        result.append(source.pop() if kept[i] else step)
        step = result[-1] * shape[i]
    return result[::-1]


@op(method=False, export=False, name="unsqueeze", view=_reshape_back, view_strides=_unsqueeze_strides)
def _unsqueeze(x, axis):
    lengths = iter(x.shape)
    return x.reshape([next(lengths) if kept else 1 for kept in _unsqueeze_positions(x.ndim, axis)])


@star("unsqueeze")
@api(inplace="reshapes")
def unsqueeze(x, axis):
    """With new axes of length 1 at the positions `axis` (an int or a list, taken one after the other).

    Raises:
        ValueError: a position out of range.

    Example:
        >>> paddle.zeros([3]).unsqueeze(0).shape
        [1, 3]
    """
    return _unsqueeze(tensor_of("unsqueeze", x), ints_of("unsqueeze", axis, "axis"))


@api
def unflatten(x, axis, shape):
    """Split one axis into several; `shape` may hold one -1.

    Example:
        >>> paddle.zeros([2, 12]).unflatten(1, [3, -1]).shape
        [2, 3, 4]
    """
    axis = axis_of("unflatten", axis, x.ndim)
    if not isinstance(shape, (list, tuple, Tensor)):
        raise errors.TypeError_(f"unflatten: shape must be a list or a Tensor, got {errors.describe(shape)}")
    lengths = ints_of("unflatten", shape, "shape")
    inner = _resolve_shape((x.shape[axis],), lengths) if x.ndim else lengths
    return reshape(x, [*x.shape[:axis], *inner, *x.shape[axis + 1:]])


# ---- repetition ----

def _expanded(name, shape, new):
    if len(new) < len(shape):
        raise errors.ValueError_(f"{name}: shape {list(new)} has fewer axes than x, whose shape is {list(shape)}")
    out = []
    for i, n in enumerate(new):
        own = i - (len(new) - len(shape))
        have = shape[own] if own >= 0 else 1
        if n == -1 and own >= 0:
            n = have
        if n < 0 or have not in (1, n):
            raise errors.ValueError_(f"{name}: axis {i}, of length {have if own >= 0 else 'none'}, cannot become {n}; "
                                     f"x has shape {list(shape)}, shape is {list(new)}")
        out.append(n)
    return out


@op(method=False, export=False, name="expand")
def _expand(x, shape):
    return jnp.broadcast_to(x, _expanded("expand", x.shape, shape))


@star("expand")
@api(method=True)
def expand(x, shape):
    """Repeat axes of length 1 to the lengths of `shape`; new axes may come in front, -1 keeps a length.

    Raises:
        ValueError: an axis of another length than 1 would change.

    Example:
        >>> paddle.ones([1, 3]).expand([2, 3]).shape
        [2, 3]
    """
    return _expand(tensor_of("expand", x), ints_of("expand", shape, "shape"))


@api
def broadcast_to(x, shape):
    """The same as `expand`.

    Example:
        >>> paddle.ones([3]).broadcast_to([2, 3]).shape
        [2, 3]
    """
    return _expand(tensor_of("broadcast_to", x), ints_of("broadcast_to", shape, "shape"))


@api
def expand_as(x, y):
    """Expand to the shape of y.

    Example:
        >>> paddle.ones([1, 3]).expand_as(paddle.ones([2, 3])).shape
        [2, 3]
    """
    return _expand(tensor_of("expand_as", x), Frozen(tensor_of("expand_as", y, "y")._value.shape))


@api(method="broadcast_tensors")
def broadcast_tensors(input):
    """The tensors, which must have one type, each expanded to their common shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> [t.shape for t in paddle.broadcast_tensors([paddle.ones([2, 1]), paddle.ones([3])])]
        [[2, 3], [2, 3]]
    """
    listed = tensors_of("broadcast_tensors", input, "input")
    shape = Frozen(common_shape("broadcast_tensors", *(t._value.shape for t in listed)))
    return [_expand(t, shape) for t in listed]


def tensors_of(name: str, x: Any, argument: str = "x") -> list:
    """A list of at least one tensor, all of one type."""
    if isinstance(x, Tensor) or not isinstance(x, (list, tuple)):
        raise errors.ValueError_(f"{name}: {argument} must be a list of Tensors, got {errors.describe(x)}")
    if not x:
        raise errors.ValueError_(f"{name}: {argument} is an empty list, at least one Tensor is needed")
    for i, each in enumerate(x):
        if tensor_of(name, each, f"each element of {argument}").dtype is not x[0].dtype:
            raise errors.ValueError_(f"{name}: the tensors must have one data type, but the first has {x[0].dtype.name} and "
                                     f"number {i} {each.dtype.name}")
    return list(x)


def common_shape(name: str, *shapes: Any) -> tuple[int, ...]:
    """The shape to which shapes broadcast; a -1 stands for a length that is not known."""
    out: list[int] = []
    for i in range(-max(map(len, shapes), default=0), 0):
        lengths = {s[i] for s in shapes if len(s) >= -i} - {1}
        if len(lengths) > 1:
            lengths -= {-1}
        if len(lengths) > 1:
            raise errors.ValueError_(f"{name}: the shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast")
        out.append(lengths.pop() if lengths else 1)
    return tuple(out)


@op(method=False, export=False, name="tile")
def _tile(x, repeat_times):
    if builtins.any(n < 0 for n in repeat_times):
        raise errors.ValueError_(f"tile: repeat_times cannot be negative, got {list(repeat_times)}")
    return jnp.tile(x, repeat_times)


@api
def tile(x, repeat_times):
    """Repeat the whole tensor along its axes; more numbers than axes add axes in front.

    Raises:
        ValueError: a negative number.

    Example:
        >>> paddle.to_tensor([1, 2]).tile([2, 2]).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return _tile(tensor_of("tile", x), ints_of("tile", repeat_times, "repeat_times"))


def _repeat(x, repeats):
    """The same as `tile` (the PyTorch name)."""
    return tile(x, repeats)


Tensor.repeat = star("repeat")(_repeat)


@op(method=False, export=False, name="repeat_interleave", static="total")
def _repeat_interleave(x, repeats, axis, total):
    return jnp.repeat(x, repeats, axis, total_repeat_length=total)


@api
def repeat_interleave(x, repeats, axis=None, *, output_size=None):
    """Repeat each element (or each slice along `axis`) in place.

    Args:
        repeats: an int, or an int tensor with a number for each element along the axis.
        axis: default None, the flattened tensor.
        output_size: the sum of `repeats`, where it is known.

    Raises:
        ValueError: no or negative repetitions, a tensor of another length than the axis.

    Example:
        >>> paddle.to_tensor([1, 2]).repeat_interleave(2).tolist()
        [1, 1, 2, 2]
    """
    if tensor_of("repeat_interleave", x).ndim == 0 or axis is None:
        x, axis = flatten(x), 0
    axis = axis_of("repeat_interleave", axis, x.ndim)
    n = x._value.shape[axis]
    if not isinstance(repeats, Tensor):
        times, = ints_of("repeat_interleave", repeats, "repeats")
        if times <= 0:
            raise errors.ValueError_(f"repeat_interleave: repeats must be positive, got {times}")
        return _repeat_interleave(x, times, axis, n * times)
    if tuple(repeats.shape) != (n,) or not repeats.dtype.is_integer:
        raise errors.ValueError_(f"repeat_interleave: repeats must be an int tensor of shape [{n}], one number for each "
                                 f"element along the axis, got {errors.describe(repeats)}")
    if output_size is None:
        counts = repeats.numpy()
        if (counts < 0).any():
            raise errors.ValueError_("repeat_interleave: repeats cannot be negative")
        output_size = counts.sum()
    return _repeat_interleave(x, repeats, axis, builtins.int(output_size))


# ---- order ----

@op(method=False, export=False, name="flip")
def _flip(x, axis):
    return jnp.flip(x, axes_of("flip", axis, x.ndim))


@star("flip")
@api
def flip(x, axis):
    """Reverse the order along axes (an int or a list).

    Raises:
        ValueError: an axis out of range, or given twice.

    Example:
        >>> paddle.to_tensor([1, 2, 3]).flip(0).tolist()
        [3, 2, 1]
    """
    return _flip(tensor_of("flip", x), ints_of("flip", axis, "axis"))


@star("reverse")
@api
def reverse(x, axis):
    """The same as `flip`."""
    return flip(x, axis)


@op(method=False, export=False, name="roll", tensors="shifts")
def _roll(x, shifts, axis):
    if axis is None:
        return jnp.roll(x.reshape(-1), shifts[0]).reshape(x.shape)
    return jnp.roll(x, shifts, axes_of("roll", axis, x.ndim, unique=False))


@api
def roll(x, shifts, axis=None):
    """Shift the elements along axes; what leaves at one end comes in at the other.

    Args:
        shifts: an int, a list of ints or a Tensor; one number for each axis.
        axis: an int or a list; None rolls the flattened tensor.

    Raises:
        ValueError: an axis out of range, or as many axes as shifts are not given.

    Example:
        >>> paddle.to_tensor([1, 2, 3]).roll(1).tolist()
        [3, 1, 2]
    """
    shifts = ints_of("roll", shifts, "shifts")
    axis = None if axis is None or isinstance(axis, (list, tuple)) and not axis else ints_of("roll", axis, "axis")
    if len(shifts) != (1 if axis is None else len(axis)):
        raise errors.ValueError_(f"roll: {len(shifts)} shifts for {1 if axis is None else len(axis)} axes")
    if not tensor_of("roll", x).ndim:
        return _flip(x, Frozen())
    return _roll(x, np.array(shifts, np.int64), axis)


@op(method=False, export=False, name="rot90")
def _rot90(x, k, axes):
    return jnp.rot90(x, k, axes)


@api
def rot90(x, k=1, axes=[0, 1]):
    """Rotate by k times 90 degrees in the plane of two axes, from the first towards the second.

    Raises:
        ValueError: not two different axes.

    Example:
        >>> paddle.to_tensor([[1, 2], [3, 4]]).rot90().tolist()
        [[2, 4], [1, 3]]
    """
    if tensor_of("rot90", x).ndim < 2 or not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise errors.ValueError_(f"rot90: two axes of a tensor of at least 2 dimensions are needed, got {errors.describe(axes)} "
                                 f"for shape {list(x.shape)}")
    turns, = ints_of("rot90", k, "k")
    return _rot90(x, turns % 4, Frozen(axes_of("rot90", ints_of("rot90", axes, "axes"), x.ndim, "axes")))


# ---- views of parts ----

def _strided_index(shape, stride, offset):
    index = jnp.full(shape, offset)
    for axis, (n, s) in enumerate(zip(shape, stride)):
        index = index + jnp.expand_dims(jnp.arange(n) * s, [i for i in range(len(shape)) if i != axis])
    return index


def _strided_back(base, value, shape, stride, offset):
    return _as_strided_write(base, value, shape, stride, offset)


@op(method=False, export=False, name="as_strided", static="stride", view=_strided_back,
    view_strides=lambda strides, out, base, shape, stride, offset: stride)
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
        raise errors.ValueError_("as_strided: shape and stride must have one length and no negative entries, offset must be "
                                 f"a multiple of {x.dtype.itemsize} bytes, got {list(shape)}, {list(stride)}, {offset}")
    start = offset // x.dtype.itemsize
    last = start + sum((n - 1) * s for n, s in zip(shape, stride))
    if 0 not in shape and last >= base._value.size:
        raise errors.ValueError_(f"as_strided: element {last} is outside of the memory, which has {base._value.size} elements")
    return _as_strided(base, shape, stride, start)


def _unfold_index(n, size, step):
    return jnp.arange((n - size) // step + 1)[:, None] * step + jnp.arange(size)


def _unfold_back(base, value, axis, size, step):
    return _unfold_write(base, value, axis, size, step)


def _unfold_strides(strides, out, base, axis, size, step):
    return [s * step if i == axis else s for i, s in enumerate(strides)] + [strides[axis]]


@op(method=False, export=False, name="tensor_unfold", static="size step", view=_unfold_back, view_strides=_unfold_strides)
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
    if step <= 0 or not 0 <= size <= x._value.shape[axis]:
        raise errors.ValueError_(f"unfold: size must be between 0 and {x._value.shape[axis]}, the length of the axis, and step "
                                 f"positive, got size {size}, step {step}")
    return _unfold(x, axis, size, step)


def _piece_back(base, value, index, axis):
    return piece_write(base, value, index, axis)


@op(method=False, export=False, name="select", scalars="index", view=_piece_back,
    view_strides=lambda strides, out, base, index, axis: strides[:axis] + strides[axis + 1:])
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
    if not input._value.shape[axis]:
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
    return slice_get(x, *_plan(x._value.shape, slices_of(name, x, axes, starts, ends, strides)))


def slices_of(name: str, x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any) -> list:
    """A slice for each axis of x, from lists that name some of them."""
    ndim = tensor_of(name, x)._value.ndim
    if not ndim:
        raise errors.ValueError_(f"{name}: the tensor has no dimensions to slice")
    axes, starts, ends = (ints_of(name, v, n) for v, n in ((axes, "axes"), (starts, "starts"), (ends, "ends")))
    strides = (1,) * len(axes) if strides is None else ints_of(name, strides, "strides")
    if not len(axes) == len(starts) == len(ends) == len(strides):
        raise errors.ValueError_(f"{name}: axes, starts, ends and strides must have one length, got {len(axes)}, {len(starts)}, "
                                 f"{len(ends)}, {len(strides)}")
    out = [builtins.slice(None)] * ndim
    for axis, start, end, stride in zip(axes_of(name, axes, ndim, "axes"), starts, ends, strides):
        out[axis] = builtins.slice(start, end, stride)
    return out


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
        raise errors.ValueError_(f"crop: shape and offsets must have {ndim} entries, got {list(shape)}, {list(offsets)}")
    ends = [o + (n if n != -1 else have - o) for o, n, have in zip(offsets, shape, x.shape)]
    if builtins.any(o < 0 or n < -1 or not o <= e <= have for o, n, e, have in zip(offsets, shape, ends, x.shape)):
        raise errors.ValueError_(f"crop: the part of shape {list(shape)} at {list(offsets)} is not inside of {list(x.shape)}")
    from .creation import clone
    return clone(_sliced("crop", x, list(range(ndim)), offsets, ends, None) if ndim else x)


def _atleast(name: str, place: Callable) -> Callable:
    def function(*inputs, name=None):
        from .creation import to_tensor
        listed = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) and builtins.any(
            isinstance(i, Tensor) for i in inputs[0]) else inputs
        out = []
        for each in listed:
            each = each if isinstance(each, Tensor) else to_tensor(each)
            axes = place(each.ndim)
            out.append(unsqueeze(each, axes) if axes else each)
        return out[0] if len(out) == 1 and listed is inputs else out
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The inputs with at least {name[8]} dimension{'s' * (name[8] > '1')}; new axes have length 1. Several inputs give a list.

    Example:
        >>> paddle.{name}(paddle.to_tensor(1.0)).shape
        {[1] * builtins.int(name[8])}
    """
    return api(function, method=name)


atleast_1d = _atleast("atleast_1d", lambda ndim: [0] * (ndim == 0))
atleast_2d = _atleast("atleast_2d", lambda ndim: ([0, 0], [0], [])[min(ndim, 2)])
atleast_3d = _atleast("atleast_3d", lambda ndim: ([0, 0, 0], [0, 2], [2], [])[min(ndim, 3)])


# ---- complex numbers ----

@op(view=lambda base, value: as_real(value), view_strides=lambda strides, out, base: [s // 2 for s in strides[:-1]])
def as_complex(x):
    """Pairs of real numbers along the last axis, which must have length 2, seen as complex numbers.

    Raises:
        ValueError: another length.
        TypeError: a type other than float32 and float64.

    Example:
        >>> paddle.to_tensor([[1.0, 2.0]]).as_complex().tolist()
        [(1+2j)]
    """
    if x.dtype not in (np.float32, np.float64):
        raise errors.TypeError_(f"as_complex: x must be float32 or float64, got {x.dtype.name}")
    if x.shape[-1:] != (2,):
        raise errors.ValueError_(f"as_complex: the last axis must have length 2, got shape {list(x.shape)}")
    return jax.lax.complex(x[..., 0], x[..., 1])


@op(view=lambda base, value: as_complex(value), view_strides=lambda strides, out, base: [2 * s for s in strides] + [1])
def as_real(x):
    """Complex numbers seen as pairs of real numbers along a new last axis.

    Raises:
        TypeError: x is not complex.

    Example:
        >>> paddle.to_tensor([1 + 2j]).as_real().tolist()
        [[1.0, 2.0]]
    """
    if not jnp.iscomplexobj(x):
        raise errors.TypeError_(f"as_real: x must be complex, got {x.dtype.name}")
    return jnp.stack([x.real, x.imag], -1)


@api(method="view_as_complex")
def view_as_complex(input):
    """The same as `as_complex`."""
    return as_complex(input)


@api(method="view_as_real")
def view_as_real(input):
    """The same as `as_real`."""
    return as_real(input)


@op(method=False, export=False)
def _with_real(x, value):
    return jax.lax.complex(value, x.imag) if jnp.iscomplexobj(x) else value


@op(method=False, export=False)
def _with_imag(x, value):
    return jax.lax.complex(x.real, value) if jnp.iscomplexobj(x) else x


@op(view=lambda base, value: _with_real(base, value), view_strides=lambda strides, out, base: [2 * s for s in strides])
def real(x):
    """The real parts; shares memory with x.

    Example:
        >>> paddle.to_tensor([1 + 2j]).real().tolist()
        [1.0]
    """
    return x.real


@op(view=lambda base, value: _with_imag(base, value), view_strides=lambda strides, out, base: [2 * s for s in strides])
def imag(x):
    """The imaginary parts; shares memory with x.

    Example:
        >>> paddle.to_tensor([1 + 2j]).imag().tolist()
        [2.0]
    """
    return x.imag


@op
def conj(x):
    """The complex conjugate; real numbers as they are.

    Example:
        >>> paddle.to_tensor([1 + 2j]).conj().tolist()
        [(1-2j)]
    """
    return jnp.conj(x)


# ---- padding ----

@op(method=False, export=False, name="pad", static="pads mode", scalars="value")
def _pad(x, pads, mode, value):
    if mode == "constant":
        zero = jnp.asarray(value).astype(x.dtype)
        return jax.lax.pad(x, zero, [(before, after, 0) for before, after in pads])
    return jnp.pad(x, pads, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


_FORMATS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def _spatial_axes(ndim: int, data_format: str | None) -> list[int]:
    """The spatial axes, last one first, which is the order in which pads are given."""
    formats = _FORMATS[ndim]
    if data_format is not None and data_format not in formats:
        raise errors.ValueError_(f"pad: data_format must be {formats[0]} or {formats[1]} for {ndim} dimensions, got {data_format!r}")
    first = 1 if data_format == formats[1] else 2
    return list(range(first, first + ndim - 2))[::-1]


@api(method=False, export=False)
def pad(x, pad, mode="constant", value=0.0, data_format=None, pad_from_left_axis=True):
    """Add elements around a tensor.

    Args:
        pad: numbers of elements before and after each axis. 2 * ndim numbers (constant mode) start from the first axis, or
            from the last with ``pad_from_left_axis=False``; 2 * (ndim - 2) numbers are for the spatial axes, last one first;
            with other lengths (constant mode) they start from the last axis. Negative numbers (constant mode) cut off.
        mode: "constant" (`value`), "reflect" (mirror without the edge), "replicate" (the edge), "circular".
        data_format: where the spatial axes are: "NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC"; default channels second.

    Raises:
        ValueError: lengths that do not fit, a reflection longer than the axis.

    Example:
        >>> paddle.nn.functional.pad(paddle.ones([1, 2]), [0, 1, 2, 0]).shape
        [2, 4]
    """
    ndim = tensor_of("pad", x).ndim
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise errors.ValueError_(f"pad: mode must be constant, reflect, replicate or circular, got {mode!r}")
    if not isinstance(pad, (list, tuple, Tensor)):
        raise errors.TypeError_(f"pad: pad must be a list of ints or a Tensor, got {errors.describe(pad)}")
    given = ints_of("pad", pad, "pad")
    spatial = _spatial_axes(ndim, data_format) if ndim in _FORMATS else []
    if len(given) % 2 or len(given) > 2 * ndim or not given:
        raise errors.ValueError_(f"pad: pad must hold two numbers for each padded axis of x, which has {ndim} dimensions, got "
                                 f"{list(given)}")
    if mode == "constant" and len(given) == 2 * ndim:
        axes = list(range(ndim)) if pad_from_left_axis else list(range(ndim))[::-1]
    elif spatial and len(given) == 2 * len(spatial):
        axes = spatial
    elif mode == "constant":
        axes = list(range(ndim))[::-1]
    else:
        raise errors.ValueError_(f"pad: mode {mode!r} pads the spatial axes of a tensor of 3 to 5 dimensions and needs two numbers "
                                 f"for each of them, got {list(given)} for shape {list(x.shape)}")
    pads = [(0, 0)] * ndim
    for axis, before, after in zip(axes, given[::2], given[1::2]):
        pads[axis] = (before, after)
        _check_pad(axis, x._value.shape[axis], before, after, mode)
    return _pad(x, Frozen(pads), mode, 0.0 if mode != "constant" else value.item() if isinstance(value, Tensor) else value)


def _check_pad(axis: int, n: int, before: int, after: int, mode: str) -> None:
    most = {"constant": None, "reflect": n - 1, "replicate": None if n else 0, "circular": None if n else 0}[mode]
    least = builtins.min(before, after)
    if least < 0 and (mode != "constant" or n + before + after < 0):
        raise errors.ValueError_(f"pad: axis {axis}, of length {n}, cannot be padded by {before} and {after}")
    if most is not None and builtins.max(before, after, 0) > builtins.max(most, 0):
        raise errors.ValueError_(f"pad: mode {mode!r} can add at most {most} elements at each end of axis {axis}, of length {n}; "
                                 f"got {before} and {after}")
