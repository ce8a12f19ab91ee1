"""Reading and writing by index: ``x[...]`` and ``x[...] = value`` in all their forms.

Ints and the starts of slices are inputs of the compiled operator, so a loop over ``x[i]`` compiles once. Basic indices
(ints, slices, None, ...) give a view; tensors, arrays, lists and masks gather. As officially, an int between advanced
indices counts as basic: ``x[0, :, idx]`` keeps the sliced axis in front.
"""

from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import Frozen
from ..engine.modes import modes, set_mode
from ..engine.op import op
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT, Dim, Held, Value, at_least
from .checks import host_value


def _is_mask(item: Any) -> bool:
    dtype = getattr(item, "dtype", None)
    return dtype is not None and getattr(dtype, "name", None) == "bool"


def _as_index(item: Any) -> Any:
    """Lists to arrays, 0-D integer tensors and NumPy integers to ints; other things as they are."""
    if isinstance(item, (list, tuple, range)):
        array = np.array([i.numpy() if isinstance(i, Tensor) else i for i in item])
        return array.astype(np.int64) if array.size == 0 else array
    if isinstance(item, np.generic):
        return item.item() if item.dtype.kind in "iu" else np.asarray(item)
    if (
        isinstance(item, Tensor)
        and item._raw.ndim == 0
        and item.dtype.is_integer
        and not isinstance(item._raw, ABSTRACT)
    ):
        return item.item()
    return item


def _normalise(x: Tensor, index: Any) -> list:
    """The index as a list with exactly one entry (int, slice, array) for each axis, and Nones."""
    if index.__class__ is int:
        return [index] + [slice(None)] * (x._raw.ndim - 1) if x._raw.ndim else _too_many(1, 0)
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_as_index(i) for i in items]
    used = 0
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, builtins.bool):
            continue
        used += item.ndim if _is_mask(item) else 1
        if not isinstance(item, (int, slice, Tensor, np.ndarray)):
            raise errors.ValueError_(
                "index: an index is made of ints, slices, None, ..., integer or boolean tensors and "
                f"lists; got {errors.describe(item)}"
            )
    ndim = x._raw.ndim
    if used > ndim:
        _too_many(used, ndim)
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise errors.ValueError_("index: only one ellipsis (...) is allowed")
    fill = [slice(None)] * (ndim - used)
    at = dots[0] if dots else len(items)
    return items[:at] + fill + items[at + len(dots) :]


def _too_many(used: int, ndim: int) -> list:
    raise errors.IndexError_(f"index: {used} axes are indexed, the tensor has {ndim}")


def _bound(value: Any) -> Any:
    if value is not None and not hasattr(value, "__index__"):
        raise errors.ValueError_(f"index: the bounds of a slice are integers, got {errors.describe(value)}")
    return value.__index__() if value is not None else None


def _plan(shape: tuple[int, ...], items: list) -> tuple[np.ndarray, Frozen]:
    """Resolve the basic entries of an index (array entries count as full slices) into data and structure.

    Returns the starts, one int an axis, and (lengths, steps, drop, new): length and step of the slice along each axis,
    the axes that an int removed, the positions in the result where None put an axis.
    """
    starts, lengths, steps, drop, new = [], [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            new.append(axis - len(drop) + len(new))
            continue
        n = shape[axis]
        if isinstance(item, int):
            if not -n <= item < n:
                raise errors.IndexError_(f"index: {item} is out of range for axis {axis} of length {n}")
            starts.append(item + n if item < 0 else item)
            lengths.append(1)
            steps.append(1)
            drop.append(axis)
        elif isinstance(item, slice):
            bounds = slice(_bound(item.start), _bound(item.stop), _bound(item.step))
            if bounds.step == 0:
                raise errors.ValueError_("index: the step of a slice cannot be zero")
            start, stop, step = bounds.indices(n)
            length = len(range(start, stop, step))
            starts.append(start if step > 0 else start + (length - 1) * step if length else 0)
            lengths.append(length)
            steps.append(step)
        else:
            starts.append(0)
            lengths.append(n)
            steps.append(1)
        axis += 1
    return np.array(starts, np.int64), Frozen((tuple(lengths), tuple(steps), tuple(drop), tuple(new)))


def _window(x, starts, lengths, steps):
    """The sliced region of x, and its size before the steps are taken."""
    spans = [(n - 1) * abs(s) + 1 if n else 0 for n, s in zip(lengths, steps)]
    if any(n != d for n, d in zip(spans, x.shape)):
        x = jax.lax.dynamic_slice(x, [starts[i] for i in range(x.ndim)], spans)
    return x, spans


def _stride(window, steps):
    if all(s == 1 for s in steps):
        return window
    return window[tuple(slice(None, None, s) for s in steps)]


def _write_slice(base, value, starts, form):
    return slice_set(base, value, starts, form)


def _slice_strides(strides, out, base, starts, form):
    _, steps, drop, new = form
    kept = [s * abs(k) if k > 0 else -s * abs(k) for i, (s, k) in enumerate(zip(strides, steps)) if i not in drop]
    shape, found = out.shape, []
    for axis in range(len(shape) - 1, -1, -1):
        found.append(kept.pop() if axis not in new else found[-1] * shape[axis + 1] if found else 1)
    return found[::-1]


@op(method=False, export=False, view=_write_slice, view_strides=_slice_strides)
def slice_get(x, starts, form):
    """The region of a basic index (see `_plan`)."""
    lengths, steps, drop, new = form
    window, _ = _window(x, starts, lengths, steps)
    out = _stride(window, steps)
    shape = [n for i, n in enumerate(out.shape) if i not in drop]
    for position in new:
        shape.insert(position, 1)
    return out.reshape(shape)


@op(method=False, export=False, scalars="value")
def slice_set(x, value, starts, form):
    """x with the region of a basic index replaced by `value`, which broadcasts to it."""
    lengths, steps, drop, new = form
    value = _cast_value(value, x.dtype)
    shape = [n for i, n in enumerate(lengths) if i not in drop]
    for position in new:
        shape.insert(position, 1)
    value = _broadcast(value, shape).reshape(lengths)
    if 0 in lengths:
        return x
    window, spans = _window(x, starts, lengths, steps)
    if any(s != 1 for s in steps):
        value = window.at[tuple(slice(None, None, s) for s in steps)].set(value)
    if tuple(spans) == x.shape:
        return value
    return jax.lax.dynamic_update_slice(x, value, [starts[i] for i in range(x.ndim)])


def _cast_value(value, dtype):
    if jnp.iscomplexobj(value) and not jnp.issubdtype(dtype, jnp.complexfloating):
        raise errors.ValueError_(f"setitem: a complex value does not fit into a tensor of type {dtype.name}")
    return jnp.asarray(value).astype(dtype)


def _broadcast(value, shape):
    """Broadcast a value to an indexed region; leading axes of length 1 may be dropped, as in NumPy."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    try:
        return jnp.broadcast_to(value, shape)
    except ValueError:
        raise errors.ValueError_(
            f"setitem: a value of shape {list(value.shape)} does not fit into a region of shape {list(shape)}"
        ) from None


# ---- advanced indices ----


@op(method=False, export=False, static="axes front")
def gather_nd_axes(x, indices, axes, front):
    """Index the axes `axes` of x with integer arrays that broadcast together; the result's axes of them stand in front
    (`front`) or where the first of them stood."""
    return x[_full_index(x.ndim, indices, axes)] if not front else _to_front(x, axes)[tuple(indices)]


@op(method=False, export=False, static="axes front", scalars="value")
def scatter_nd_axes(x, value, indices, axes, front):
    """x with the elements that `gather_nd_axes` would read replaced by `value`."""
    value = _cast_value(value, x.dtype)
    index = _full_index(x.ndim, indices, axes)
    shape = jax.eval_shape(lambda a, *i: gather_nd_axes.__wrapped__(a, list(i), axes, front), x, *indices).shape
    value = _broadcast(value, shape)
    if front:
        y = _to_front(x, axes).at[tuple(indices)].set(value)
        return jnp.moveaxis(y, range(len(axes)), axes)
    return x.at[index].set(value)


@op(method=False, export=False, static="axis", scalars="value")
def mask_set(x, mask, value, axis):
    """x with `value` where a mask over the axes from `axis` on is True; the value is one number, or (for `axis` 0) it
    broadcasts to the axes behind those of the mask."""
    value = _cast_value(value, x.dtype)
    behind = x.ndim - axis - mask.ndim
    value = value.reshape(()) if value.size == 1 else _broadcast(value, x.shape[x.ndim - behind :])
    return jnp.where(mask.reshape((1,) * axis + mask.shape + (1,) * behind), value, x)


def _to_front(x, axes):
    return jnp.moveaxis(x, axes, range(len(axes)))


def _full_index(ndim, indices, axes):
    index: list = [slice(None)] * ndim
    for axis, i in zip(axes, indices):
        index[axis] = i
    return tuple(index)


def _advanced(x: Tensor, items: list) -> tuple[list, list]:
    """Split a normalised index into its basic part (arrays replaced by full slices, bools by None) and the arrays, as
    (axis in the result of the basic part, integer tensor)."""
    basic: list = []
    arrays: list = []
    shape = x._raw.shape
    axis = 0  # of x
    position = 0  # in the result of the basic part
    for item in items:
        if item is None:
            basic.append(None)
            position += 1
        elif isinstance(item, builtins.bool) or _is_mask(item) and item.ndim == 0:
            basic.append(None)
            arrays.append((position, np.zeros(1 if bool(item) else 0, np.int64)))
            position += 1
        elif isinstance(item, int):
            basic.append(item)
            axis += 1
        elif isinstance(item, slice):
            basic.append(item)
            axis += 1
            position += 1
        elif _is_mask(item):
            if _traced(item):
                raise errors.RuntimeError_(
                    "index: a boolean mask gives a shape that depends on data, which a compiled "
                    "function cannot have; use paddle.where, or masked_fill"
                )
            _check_mask(item, shape, axis)
            mask = np.asarray(item._value if isinstance(item, Tensor) else item)
            for where in mask.nonzero():
                basic.append(slice(None))
                arrays.append((position, where))
                axis += 1
                position += 1
        else:
            if not (item.dtype.is_integer if isinstance(item, Tensor) else item.dtype.kind in "iu"):
                raise errors.ValueError_(f"index: index tensors are integer or bool, got {item.dtype.name}")
            _check_range(item, shape[axis], axis)
            basic.append(slice(None))
            arrays.append((position, item))
            axis += 1
            position += 1
    return basic, arrays


def _check_mask(mask: Any, shape: tuple[int, ...], axis: int) -> None:
    if tuple(mask.shape) != shape[axis : axis + mask.ndim]:
        raise errors.IndexError_(
            f"index: a mask of shape {list(mask.shape)} does not fit axes of shape "
            f"{list(shape[axis : axis + mask.ndim])}"
        )


def _traced(item: Any) -> bool:
    return isinstance(item, Tensor) and isinstance(item._raw, ABSTRACT)


def _check_range(index: Any, n: int, axis: int) -> None:
    """IndexError for an index that XLA would silently clamp; only where looking is cheap, that is on the CPU."""
    if isinstance(index, Tensor):
        index = host_value(index)
        if index is None:
            return
    array = np.asarray(index)
    if array.size == 0 or isinstance(n, Dim):
        return
    low, high = array.min(), array.max()
    if low < -n or high >= n:
        raise errors.IndexError_(f"index: {low if low < -n else high} is out of range for axis {axis} of length {n}")


def _is_basic(items: list) -> bool:
    return all(i is None or isinstance(i, (int, slice)) and not isinstance(i, builtins.bool) for i in items)


def _arrange(arrays: list) -> tuple[list, tuple, bool]:
    axes = tuple(a for a, _ in arrays)
    front = any(b - a != 1 for a, b in zip(axes, axes[1:]))
    shapes = [tuple(i.shape) for _, i in arrays]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise errors.ValueError_(
            f"index: index tensors of shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast"
        ) from None
    return [i for _, i in arrays], axes, front


# ---- in programs with lengths that are not known yet ----


def _is_open(x: Tensor, index: Any) -> bool:
    """Whether an index can only be resolved when the program runs."""
    if any(isinstance(n, Dim) for n in x._raw.shape):
        return True
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Tensor) and any(isinstance(n, Dim) for n in i._raw.shape) for i in items):
        return True
    bounds = [b for i in items if isinstance(i, slice) for b in (i.start, i.stop, i.step)]
    return any(isinstance(b, Dim) or isinstance(b, Tensor) and isinstance(b._raw, Value) for b in bounds)


def _without_masks(index: Any) -> Any:
    """The index with the positions of their True elements in place of masks without elements."""
    from .selection import nonzero

    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(i, Tensor) and _is_mask(i) and isinstance(i._raw, Value) and i.ndim for i in items):
        return index
    found: list = []
    for i in items:
        if isinstance(i, Tensor) and _is_mask(i) and i.ndim:
            places = nonzero(i, as_tuple=True)
            found.extend(p.reshape([-1]) for p in places)
        else:
            found.append(i)
    return tuple(found)


def _form(x: Tensor, index: Any) -> tuple[list, tuple]:
    """An index as its arrays and its structure, one entry for each item: an int, (start, stop, step), "new", or
    "array"."""
    arrays: list = []
    form: list = []
    for item in _normalise(x, index):
        if item is None:
            form.append("new")
        elif isinstance(item, int) and not isinstance(item, builtins.bool):
            form.append(item)
        elif isinstance(item, slice):
            form.append((_open_bound(item.start), _open_bound(item.stop), _open_bound(item.step)))
        elif isinstance(item, builtins.bool) or _is_mask(item):
            raise errors.NotImplemented_(
                "index: a boolean mask gives a shape that depends on data; use paddle.masked_select or paddle.where"
            )
        else:
            form.append("array")
            arrays.append(item)
    return arrays, tuple(form)


def _open_bound(value: Any) -> Any:
    if isinstance(value, Dim):
        return value
    if isinstance(value, Tensor) and isinstance(value._raw, Value):
        return Held((value.reshape([]) if value._raw.shape else value)._value)
    return _bound(value)


def _resolved(x, arrays, form):
    """The basic part of an index, and the axes and arrays of the rest in what that part gives."""
    given = iter(arrays)
    basic: list = []
    rest: list = []
    position = 0
    for entry in form:
        if entry == "array":
            array = next(given)
            if array.ndim == 0:
                axis = len([b for b in basic if b is not None])
                x = jax.lax.dynamic_index_in_dim(x, array, axis)
                basic.append(0)
                continue
            basic.append(slice(None))
            rest.append((position, array))
        elif entry == "new":
            basic.append(None)
        elif isinstance(entry, tuple):
            start, stop, step = entry  # officially the largest int32 stands for the end
            basic.append(slice(start, None if isinstance(stop, int) and stop >= 2**31 - 1 else stop, step))
        else:
            axis = len([b for b in basic if b is not None])
            if not at_least(x.shape[axis], entry + 1 if entry >= 0 else -entry):
                raise errors.IndexError_(f"index: {entry} is out of range for axis {axis} of length {x.shape[axis]}")
            basic.append(entry)
            continue
        position += 1
    return x, tuple(basic), rest


@op(name="getitem", method=False, export=False, static="form")
def _open_getitem(x, arrays, form):
    x, basic, rest = _resolved(x, arrays, form)
    x = x[basic]
    if not rest:
        return x
    found, axes, front = _arrange(rest)
    return gather_nd_axes.__wrapped__(x, found, axes, front)


@op(name="setitem", method=False, export=False, static="form", scalars="value")
def _open_setitem(x, value, arrays, form):
    value = _cast_value(value, x.dtype)
    if "array" not in form:
        _, basic, _ = _resolved(x, arrays, form)
        return x.at[basic].set(_broadcast(value, x[basic].shape))
    places = _open_getitem.__wrapped__(jnp.arange(x.size).reshape(x.shape), arrays, form)
    return x.reshape(-1).at[places].set(_broadcast(value, places.shape)).reshape(x.shape)


@errors.clean
def getitem(x: Tensor, index: Any) -> Tensor:
    """``x[index]``."""
    if modes.program is not None:
        index = _without_masks(index)
    if modes.program is not None and _is_open(x, index):
        return _open_getitem(x, *_form(x, index))
    items = _normalise(x, index)
    if _is_basic(items):
        return slice_get(x, *_plan(x._raw.shape, items))
    basic, arrays = _advanced(x, items)
    region = x if _whole(basic) else slice_get(x, *_plan(x._raw.shape, basic))
    return gather_nd_axes(region, *_arrange(arrays))


def _whole(basic: list) -> bool:
    """Whether the basic part of an index leaves the tensor as it is."""
    return all(isinstance(i, slice) and i == slice(None) for i in basic)


@errors.clean
def setitem(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``, in place, through the tape."""
    if modes.amp is not None:  # x keeps its type and its other elements their precision
        with set_mode(amp=None):
            return setitem(x, index, value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = _make(jnp.asarray(np.array(value)))
    elif not isinstance(value, (Tensor, int, float, builtins.bool, complex)):
        raise errors.ValueError_(f"setitem: the value is a Tensor, an array or a number, got {errors.describe(value)}")
    x._check_writable("setitem")
    if modes.program is not None and _is_open(x, index):
        (first, *others) = index if isinstance(index, tuple) and index else (index,)
        if _is_mask(first) and isinstance(first, Tensor) and not others and np.ndim(value) == 0:
            old = x._snapshot()
            x._rebind(mask_set(old, first, value, 0))
            return
        index = _without_masks(index)
        x._rebind(_open_setitem(x._snapshot(), value, *_form(x, index)))
        return
    items = _normalise(x, index)
    old = x._snapshot()
    if _is_basic(items):
        x._rebind(slice_set(old, value, *_plan(x._raw.shape, items)))
        return
    masks = [(axis, i) for axis, i in enumerate(items) if _is_mask(i)]
    if len(masks) == 1 and _whole([i for i in items if not _is_mask(i)]):
        axis, mask = masks[0]
        shape = np.shape(value._value if isinstance(value, Tensor) else value)
        if mask.ndim and (int(np.prod(shape)) == 1 or not axis and len(shape) <= x._raw.ndim - mask.ndim):
            _check_mask(mask, x._raw.shape, axis)
            x._rebind(mask_set(old, mask, value, axis))
            return
    if modes.program is not None and any(isinstance(mask, Tensor) and mask.ndim for _, mask in masks):
        return setitem(x, _without_masks(index), value)
    basic, arrays = _advanced(x, items)
    if _whole(basic):
        x._rebind(scatter_nd_axes(old, value, *_arrange(arrays)))
        return
    plan = _plan(x._raw.shape, basic)
    written = scatter_nd_axes(slice_get(old, *plan), value, *_arrange(arrays))
    x._rebind(slice_set(old, written, *plan))


Tensor.__getitem__ = getitem  # type: ignore[attr-defined]
Tensor.__setitem__ = setitem  # type: ignore[attr-defined]
