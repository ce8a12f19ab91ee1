"""Shapes and layouts: types, views of the whole tensor, order."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.executable import Frozen
from ..engine.modes import modes
from ..engine.op import api, op
from ..engine.promotion import converted
from ..engine.shape import fixed_ints, official_strides
from ..engine.storage import Storage, View
from ..engine.tensor import Tensor
from .axes import axes_of, axis_of

# ---- data types ----


@op(method=False, export=False, name="cast")
def _cast(x, dtype):
    return converted(x, dtype)


@api(method="cast astype", inplace="reshapes")
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
    if modes.grad and not x._stop and out._stop:  # an integer tensor carries the flag on, as officially
        out._stop = False
    return out


def _caster(name: str, dtype: dtypes.DType) -> Callable:
    def to(x):
        return cast(x, dtype)

    to.__name__ = to.__qualname__ = name
    to.__doc__ = f"The tensor as {dtype.name}; itself when it has that type already."
    return to


for _name, _dtype in dict(
    bool=dtypes.bool,
    byte=dtypes.uint8,
    uint8=dtypes.uint8,
    char=dtypes.int8,
    int8=dtypes.int8,
    short=dtypes.int16,
    int16=dtypes.int16,
    int=dtypes.int32,
    int32=dtypes.int32,
    long=dtypes.int64,
    int64=dtypes.int64,
    half=dtypes.float16,
    float16=dtypes.float16,
    bfloat16=dtypes.bfloat16,
    float=dtypes.float32,
    float32=dtypes.float32,
    double=dtypes.float64,
    float64=dtypes.float64,
    cfloat=dtypes.complex64,
    complex64=dtypes.complex64,
    cdouble=dtypes.complex128,
    complex128=dtypes.complex128,
).items():
    setattr(Tensor, _name, _caster(_name, _dtype))


@api(method=True, export=False)
def type_as(x, other):
    """The tensor in the data type of another."""
    return cast(x, other.dtype)


# ---- helpers ----


def star(*names: str, at: int = 1) -> Callable:
    """Let a function take the list at position `at` as separate ints: ``x.reshape(2, 3)``. `names` are its methods."""

    def decorate(public: Callable) -> Callable:
        @functools.wraps(public)
        def packed(*args, **kwargs):
            if len(args) > at + 1:
                end = at
                while end < len(args) and (
                    args[end].__class__ is builtins.int or isinstance(args[end], (Tensor, np.integer))
                ):
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
    try:
        return Frozen(fixed_ints(value))
    except (TypeError, AttributeError):
        raise errors.TypeError_(f"{name}: {argument} must hold integers, got {errors.describe(value)}") from None


def alike(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have one type, or floating types that mixed precision makes one."""
    return x.dtype is y.dtype or modes.amp is not None and x.dtype.is_floating and y.dtype.is_floating


def tensors_of(name: str, x: Any, argument: str = "x") -> list:
    """A list of at least one tensor, all of one type."""
    if isinstance(x, Tensor) or not isinstance(x, (list, tuple)):
        raise errors.ValueError_(f"{name}: {argument} must be a list of Tensors, got {errors.describe(x)}")
    if not x:
        raise errors.ValueError_(f"{name}: {argument} is an empty list, at least one Tensor is needed")
    for i, each in enumerate(x):
        if not alike(tensor_of(name, each, f"each element of {argument}"), x[0]):
            raise errors.ValueError_(
                f"{name}: the tensors must have one data type, but the first has "
                f"{x[0].dtype.name} and number {i} {each.dtype.name}"
            )
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
                    raise errors.ValueError_(
                        f"reshape: the 0 at position {i} of shape {list(new)} stands for an axis "
                        f"of x, which has {len(shape)}"
                    )
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
    return _reshape(value, Frozen(base._raw.shape))


def _reshape_strides(strides, out, base, *attributes):
    found = _viewed_strides(base._raw.shape, strides, out._raw.shape)
    return found or None


def _copy_if_scattered(out: Tensor, x: Tensor) -> Tensor:
    """A slot of its own for a reshaped tensor whose elements do not lie evenly in the memory of x."""
    if x._storage.__class__ is View and out._storage.__class__ is View:
        if _viewed_strides(x._raw.shape, official_strides(x), out._raw.shape) is None:
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


@op(
    method=False,
    export=False,
    name="view_dtype",
    view=lambda base, value, dtype: _view_dtype(value, base.dtype),
    differentiable=False,
)
def _view_dtype(x, dtype):
    old, new = x.dtype.itemsize, dtype.itemsize
    wide = x.dtype == np.bool_
    if wide or dtype is dtypes.bool:
        x = x.astype(np.uint8) if wide else x
        if dtype is dtypes.bool:
            return (x if old == 1 else _bitcast(x, np.dtype(np.uint8)).reshape(*x.shape[:-1], -1)) != 0
    if old == new:
        return _bitcast(x, dtype.numpy)
    if x.ndim == 0:
        raise errors.ValueError_(
            f"view: a tensor without dimensions cannot be seen as {dtype.name}, whose elements have another size"
        )
    if old > new:
        out = _bitcast(x, dtype.numpy)
        return out.reshape(*x.shape[:-1], x.shape[-1] * (old // new))
    ratio = new // old
    if x.shape[-1] % ratio:
        raise errors.ValueError_(
            f"view: the last axis of {errors.describe(x)} must be divisible by {ratio} to be seen as {dtype.name}"
        )
    return _bitcast(x.reshape(*x.shape[:-1], x.shape[-1] // ratio, ratio), dtype.numpy)


def _bitcast(x, dtype):
    if jnp.iscomplexobj(x):
        part = np.dtype(f"f{x.dtype.itemsize // 2}")
        x = jnp.stack([x.real, x.imag], -1).astype(part)
        if part == dtype:
            return x
        if dtype.itemsize > part.itemsize:
            x = x.reshape(*x.shape[:-2], -1)
        return jax.lax.bitcast_convert_type(x, dtype)
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
        raise errors.ValueError_(
            f"view: a tensor of shape {list(x.shape)} and strides {x.strides} cannot be seen as "
            f"{list(out.shape)} without a copy; use reshape"
        )
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
    start = axis_of("flatten", start_axis, x.ndim, "start_axis")
    stop = axis_of("flatten", stop_axis, x.ndim, "stop_axis")
    if start > stop:
        raise errors.ValueError_(f"flatten: start_axis {start_axis} comes after stop_axis {stop_axis}")
    return x.reshape(*x.shape[:start], math.prod(x.shape[start : stop + 1]), *x.shape[stop + 1 :])


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
    perm = _perm_of("transpose", perm, base._raw.ndim)
    return _transpose(value, Frozen(perm.index(i) for i in range(len(perm))))


@op(
    method=False,
    export=False,
    name="transpose",
    view=_transpose_back,
    view_strides=lambda strides, out, base, perm: [strides[p] for p in _perm_of("transpose", perm, len(strides))],
)
def _transpose(x, perm):
    if len(perm) > x.ndim:
        raise errors.ValueError_(f"transpose: perm {list(perm)} is longer than the {x.ndim} dimensions of x")
    perm = _perm_of("transpose", perm, x.ndim)
    if sorted(perm) != list(range(x.ndim)):
        raise errors.ValueError_(f"transpose: perm {list(perm)} is no permutation of the axes of x")
    return jnp.transpose(x, perm)


def _swap(x: Tensor, a: int, b: int) -> Tensor:
    perm = list(range(x._raw.ndim))
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


Tensor.T = property(
    lambda self: _transpose(self, Frozen(range(self._raw.ndim)[::-1])), doc="All axes in reverse order."
)
Tensor.mT = property(lambda self: matrix_transpose(self), doc="The last two axes swapped.")


@api
def moveaxis(x, source, destination):
    """Move axes to other positions, keeping the order of the others.

    Example:
        >>> paddle.zeros([2, 3, 4]).moveaxis(0, -1).shape
        [3, 4, 2]
    """
    source, destination = (
        axes_of("moveaxis", ints_of("moveaxis", a, n), x.ndim, n)
        for a, n in ((source, "source"), (destination, "destination"))
    )
    if len(source) != len(destination):
        raise errors.ValueError_(
            f"moveaxis: source and destination differ in length: {list(source)}, {list(destination)}"
        )
    perm = [i for i in range(x.ndim) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        perm.insert(to, axis)
    return _transpose(x, Frozen(perm[: x.ndim]))


@star("swapaxes")
@api
def swapaxes(x, perm):
    """Exchange two axes (``swapaxes(x, 0, 1)``), or reorder all, as `transpose`, when `perm` is a list.

    Example:
        >>> paddle.zeros([2, 3, 4]).swapaxes(0, 2).shape
        [4, 3, 2]
    """
    return transpose(x, _exchanged("swapaxes", x, perm))


def _exchanged(name, x, perm):
    if not isinstance(perm, tuple) or len(perm) != 2:
        return perm
    first, second = (axis_of(name, axis, x.ndim) for axis in perm)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return order


@star("swapdims")
@api
def swapdims(x, perm):
    """Exchange two axes, or reorder all (see `swapaxes`)."""
    return transpose(x, _exchanged("swapdims", x, perm))


def _squeeze_axes(ndim, axis):
    return tuple(range(ndim)) if not axis else axes_of("squeeze", axis, ndim, unique=False)


@op(
    method=False,
    export=False,
    name="squeeze",
    view=_reshape_back,
    tensors="axis",
    view_strides=lambda strides, out, base, axis: [
        s for i, s in enumerate(strides) if not (base._raw.shape[i] == 1 and i in _squeeze_axes(len(strides), axis))
    ],
)
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
    kept, shape = _unsqueeze_positions(len(strides), axis), out._raw.shape
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
    return reshape(x, [*x.shape[:axis], *inner, *x.shape[axis + 1 :]])


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
    shape = x._raw.shape
    lengths = [x._raw.size] if axis is None else [shape[axis_of("roll", a, len(shape))] for a in axis]
    return _roll(x, np.array([s % n if n > 0 else s for s, n in zip(shifts, lengths)], np.int64), axis)


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
        raise errors.ValueError_(
            f"rot90: two axes of a tensor of at least 2 dimensions are needed, got "
            f"{errors.describe(axes)} for shape {list(x.shape)}"
        )
    (turns,) = ints_of("rot90", k, "k")
    return _rot90(x, turns % 4, Frozen(axes_of("rot90", ints_of("rot90", axes, "axes"), x.ndim, "axes")))


# ---- at least so many dimensions ----


def _atleast(name: str, place: Callable) -> Callable:
    def function(*inputs, name=None):
        from .creation import to_tensor

        listed = (
            inputs[0]
            if len(inputs) == 1
            and isinstance(inputs[0], (list, tuple))
            and builtins.any(isinstance(i, Tensor) for i in inputs[0])
            else inputs
        )
        out = []
        for each in listed:
            each = each if isinstance(each, Tensor) else to_tensor(each)
            axes = place(each.ndim)
            out.append(unsqueeze(each, axes) if axes else each)
        return out[0] if len(out) == 1 and listed is inputs else out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The inputs with at least {name[8]} dimension{"s" * (name[8] > "1")}; new axes have length 1.

    Several inputs give a list.

    Example:
        >>> paddle.{name}(paddle.to_tensor(1.0)).shape
        {[1] * builtins.int(name[8])}
    """
    return api(function, method=name)


atleast_1d = _atleast("atleast_1d", lambda ndim: [0] * (ndim == 0))
atleast_2d = _atleast("atleast_2d", lambda ndim: ([0, 0], [0], [])[min(ndim, 2)])
atleast_3d = _atleast("atleast_3d", lambda ndim: ([0, 0, 0], [0, 2], [2], [])[min(ndim, 3)])
