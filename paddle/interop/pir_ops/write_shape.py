"""Writers of operators that make, reshape, join, cut and index tensors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from ...engine.tensor import _make
from ...engine.value import Dim, Held, Value
from .write_elementwise import axes_of
from .writing import COMPOSED, WRITERS, Ref, Writing, composes, writes

F = P.nn.functional
_END = 2**31 - 1


def _open(values: Any) -> bool:
    return isinstance(values, Held) or any(isinstance(v, (Dim, Held)) for v in values)


# ---- making ----


@writes("full")
def _full(w: Writing, a: SimpleNamespace) -> Any:
    dtype, shape = w.results[0]
    value = a.fill_value
    if not _open(a.shape) and not isinstance(value, (Value, Dim)):
        return [w.full(value, dtype, a.shape)]
    scalar = w.ref(value, dtype) if isinstance(value, (Value, Dim)) else w.full(value, dtype)
    if not isinstance(a.shape, Held) and not len(a.shape):
        return [scalar]
    return w.op("full_with_tensor", w.reshape(scalar, [1]), w.ints(a.shape), dtype=dtype)


@writes("full_like")
def _full_like(w: Writing, a: SimpleNamespace) -> Any:
    dtype = w.results[0][0]
    if isinstance(a.fill_value, Value):
        return NotImplemented
    return w.op("full_like", a.x, w.full(a.fill_value, dtype, [1], "cpu"), dtype=dtype)


COMPOSED["full_like"] = lambda x, fill_value, dtype=None, **_: P.expand_as(
    fill_value.astype(x.dtype).reshape([1] * x.ndim), x
)


@writes("eye")
def _eye(w: Writing, a: SimpleNamespace) -> Any:
    sizes = [w.scalar(n) if isinstance(n, (Dim, Held)) else w.full(n, "int64", [1], "cpu") for n in (a.rows, a.columns)]
    return w.op("eye", *sizes, dtype=w.results[0][0])


@writes("arange", "range")
def _arange(w: Writing, a: SimpleNamespace) -> Any:
    dtype = w.results[0][0]
    ends = [w.ref(v, dtype) for v in (a.start, a.end, a.step)]
    return w.op("arange", *ends, dtype=dtype)


@writes("one_hot")
def _one_hot(w: Writing, a: SimpleNamespace) -> Any:
    return w.op("one_hot", a.x, w.full(a.classes, "int32", [1], "cpu"))


# ---- shapes ----

WRITERS["shape"] = lambda w, a: w.op("shape64", next(iter(vars(a).values())))
WRITERS["numel"] = lambda w, a: w.op("numel", a.x)
WRITERS["reshape"] = lambda w, a: w.op("reshape", a.x, w.shape_operand(a.shape))
WRITERS["transpose"] = lambda w, a: w.op("transpose", a.x, perm=[p % w.ref(a.x).ndim for p in a.perm])
WRITERS["flatten"] = lambda w, a: (
    w.op("flatten", a.x, start_axis=a.start_axis, stop_axis=a.stop_axis)
    if w.ref(a.x).ndim
    else w.op("reshape", a.x, w.ints([1]))
)
WRITERS["squeeze"] = lambda w, a: w.op("squeeze", a.x, w.ints(axes_of(a)))
WRITERS["unsqueeze"] = lambda w, a: w.op("unsqueeze", a.x, w.ints(axes_of(a)))
WRITERS["expand"] = lambda w, a: w.op("expand", a.x, w.ints(a.shape))
WRITERS["tile"] = lambda w, a: w.op("tile", a.x, w.ints(a.repeat_times))
WRITERS["concat"] = lambda w, a: w.op("concat", list(a.x), w.full(a.axis, "int32", [1], "cpu"))
WRITERS["stack"] = lambda w, a: w.op("stack", list(a.x), axis=a.axis)
WRITERS["flip"] = lambda w, a: w.op("flip", a.x, axis=axes_of(a))
WRITERS["tril"] = lambda w, a: w.op("tril", a.x, diagonal=a.diagonal)
WRITERS["triu"] = lambda w, a: w.op("triu", a.x, diagonal=a.diagonal)
WRITERS["diag"] = lambda w, a: w.op("diag", a.x, offset=a.offset, padding_value=a.padding_value)
WRITERS["diag_embed"] = lambda w, a: w.op("diag_embed", a.input, offset=a.offset, dim1=a.dim1, dim2=a.dim2)
WRITERS["diagonal"] = lambda w, a: w.op("diagonal", a.x, offset=a.offset, axis1=a.axis1, axis2=a.axis2)
WRITERS["roll"] = lambda w, a: w.op("roll", a.x, w.ints(a.shifts), axis=axes_of(a))
WRITERS["meshgrid"] = lambda w, a: w.split("meshgrid", list(a.inputs)) if a.indexing == "ij" else NotImplemented
WRITERS["unbind"] = lambda w, a: w.split("unbind", a.x, axis=a.axis)


@composes("as_strided")
def _as_strided(x: Any, shape: Any, stride: Any, offset: int) -> Any:
    index = np.full([1] * len(shape), offset, np.int64)
    for axis, (n, step) in enumerate(zip(shape, stride)):
        index = index + np.arange(n).reshape([-1 if i == axis else 1 for i in range(len(shape))]) * step
    return P.reshape(P.gather(P.flatten(x), P.to_tensor(index.reshape(-1))), list(shape))


@composes("tensor_unfold")
def _tensor_unfold(x: Any, axis: int, size: int, step: int) -> Any:
    starts = np.arange(0, x._raw.shape[axis] - size + 1, step)
    index = (starts[:, None] + np.arange(size)).reshape(-1)
    parts = P.gather(x, P.to_tensor(index), axis)
    shape = x._raw.shape
    parts = P.reshape(parts, [*shape[:axis], len(starts), size, *shape[axis + 1 :]])
    order = [i for i in range(x.ndim + 1) if i != axis + 1]
    return P.transpose(parts, [*order, axis + 1])


@writes("split")
def _split(w: Writing, a: SimpleNamespace) -> Any:
    return w.split("split", a.x, w.ints(a.sections), w.full(a.axis, "int32", [1], "cpu"))


@writes("repeat_interleave")
def _repeat(w: Writing, a: SimpleNamespace) -> Any:
    if isinstance(a.repeats, int):
        return w.op("repeat_interleave", a.x, repeats=a.repeats, axis=a.axis)
    repeats = w.ref(a.repeats) if isinstance(a.repeats, Value) else w.ints(list(np.asarray(a.repeats).reshape(-1)))
    return w.op("repeat_interleave_with_tensor_index", a.x, repeats, axis=a.axis)


@composes("rot90")
def _rot90(x: Any, k: int, axes: Any) -> Any:
    a, b = axes
    perm = list(range(x.ndim))
    perm[a], perm[b] = perm[b], perm[a]
    if k % 4 == 0:
        return P.assign(x)
    if k % 4 == 2:
        return P.flip(x, [a, b])
    return P.transpose(P.flip(x, [b]), perm) if k % 4 == 1 else P.flip(P.transpose(x, perm), [b])


@writes("pad")
def _pad(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    pads = [list(p) for p in a.pads]
    if any(isinstance(n, (Dim, Held)) for p in pads for n in p) or not isinstance(a.value, (int, float)):
        raise errors.NotImplemented_("its amounts or its value depend on data")
    if a.mode == "constant":
        flat = [n for p in pads for n in p]
        return w.op("pad", x, w.full(a.value, x.dtype, [1], "cpu"), paddings=flat)
    if not 3 <= x.ndim <= 5 or any(n for p in pads[:2] for n in p):
        raise errors.NotImplemented_(f"the mode {a.mode!r} on other axes than the spatial ones")
    spatial = [[0, 0]] * (5 - x.ndim) + pads[2:]
    flat = [n for p in reversed(spatial) for n in p]
    extra = 5 - x.ndim
    wide = w.reshape(x, [*[0, 0], *[1] * extra, *[-1 if n < 0 else n for n in x.shape[2:]]]) if extra else x
    dtype, shape = w.results[0]
    out = w.op(
        "pad3d", wide, w.ints(flat), results=[(dtype, (*shape[:2], *[1] * extra, *shape[2:]))], mode=a.mode,
        pad_value=0.0, data_format="NCDHW",
    )  # fmt: skip
    return w.op("squeeze", out[0], w.ints(list(range(2, 2 + extra)))) if extra else out


# ---- indexing ----


def _slice(w: Writing, x: Ref, index: list, none: list, result: tuple) -> Any:
    """Basic indexing: `index` has an int or (start, stop, step) for each of the first axes."""
    axes, starts, ends, steps, drop = [], [], [], [], []
    for axis, item in enumerate(index):
        if isinstance(item, (int, np.integer, Held)):
            axes.append(axis)
            starts.append(item)
            ends.append(_END if isinstance(item, Held) or not isinstance(item, Dim) and item == -1 else item + 1)
            if isinstance(item, Held):
                ends[-1] = w.op("add", w.scalar(item), w.scalar(1), results=[("int64", ())])[0]
            steps.append(1)
            drop.append(axis)
            continue
        start, stop, step = item
        if start is None and stop is None and step is None:
            continue
        step = 1 if step is None else step
        axes.append(axis)
        starts.append((0 if step > 0 else _END) if start is None else start)
        ends.append((_END if step > 0 else -_END - 1) if stop is None else stop)
        steps.append(step)
    dtype, shape = result
    if not axes:
        out = x
    elif all(s == 1 for s in steps):
        kept = [n for n in shape]
        for position in sorted(none, reverse=True):
            del kept[position]
        out = w.op(
            "slice", x, w.ints(starts), w.ints(ends), results=[(dtype, kept)], axes=axes, infer_flags=[1] * len(axes),
            decrease_axis=drop,
        )[0]  # fmt: skip
    else:
        kept = [n for n in shape]
        for position in sorted(none, reverse=True):
            del kept[position]
        wide = list(kept)
        for axis in drop:
            wide.insert(axis, 1)
        out = w.op("strided_slice", x, w.ints(starts), w.ints(ends), w.ints(steps), results=[(dtype, wide)], axes=axes)[
            0
        ]
        if drop:
            out = w.op("squeeze", out, w.ints(drop), results=[(dtype, kept)])[0]
    if none:
        out = w.op("unsqueeze", out, w.ints(none), results=[(dtype, shape)])[0]
    return out if out is not x else w.op("assign", x)[0]


def _spread(form: Any) -> tuple[list, list]:
    """(index of each axis, positions of new axes in the result) of a form with "new" for new axes."""
    index, none, position = [], [], 0
    for item in form:
        if isinstance(item, str) or item is None:
            none.append(position)
            position += 1
        else:
            index.append(item)
            position += isinstance(item, tuple)
    return index, none


@writes("getitem")
def _getitem(w: Writing, a: SimpleNamespace) -> Any:
    if a.arrays:
        return NotImplemented
    index, none = _spread(a.form)
    return [_slice(w, w.ref(a.x), index, none, w.results[0])]


@composes("getitem")
def _getitem_arrays(x: Any, arrays: Any, form: Any) -> Any:
    """The basic part first, then the arrays."""
    from ...ops.indexing import gather_nd_axes

    given = iter(arrays)
    basic: list = []
    rest: list = []
    axis = position = 0
    for item in form:
        if item == "array":
            array = next(given)
            if array.ndim:
                basic.append(slice(None))
                rest.append((position, array))
                position += 1
            else:
                x = P.index_select(x, array.reshape([1]), axis)
                basic.append(0)
        elif item == "new":
            basic.append(None)
            position += 1
            continue
        else:
            basic.append(slice(*[_bound(b) for b in item]) if isinstance(item, tuple) else item)
            position += isinstance(item, tuple)
        axis += 1
    region = x[tuple(basic)]
    if not rest:
        return region
    axes = tuple(i for i, _ in rest)
    return gather_nd_axes(region, [t for _, t in rest], axes, any(b - a != 1 for a, b in zip(axes, axes[1:])))


def _bound(bound: Any) -> Any:
    return _make(bound.value) if isinstance(bound, Held) else bound


def _plan(a: SimpleNamespace) -> tuple[list, list, list, list, list]:
    """(starts, ends, steps, dropped axes, new axes) of a resolved basic index."""
    lengths, steps, drop, none = a.form
    starts, ends = [], []
    for low, length, step in zip(a.starts, lengths, steps):
        if isinstance(length, Dim) or isinstance(low, Value):
            raise errors.NotImplemented_("a slice whose length is not known")
        low, span = int(low), (length - 1) * abs(step)
        starts.append(low if step > 0 else low + span)
        ends.append(low + span + 1 if step > 0 else low - 1 if low > 0 else -_END - 1)
    return starts, ends, list(steps), list(drop), list(none)


@writes("slice_get")
def _slice_get(w: Writing, a: SimpleNamespace) -> Any:
    starts, ends, steps, drop, none = _plan(a)
    shape = w.ref(a.x).shape
    index: list = [
        start if i in drop else (None,) * 3 if (start, end, step) == (0, shape[i], 1) else (start, end, step)
        for i, (start, end, step) in enumerate(zip(starts, ends, steps))
    ]
    return [_slice(w, w.ref(a.x), index, none, w.results[0])]


def _set(
    w: Writing, a: SimpleNamespace, starts: list, ends: list, steps: list, drop: list, none: list, axes: list
) -> Any:
    x = w.ref(a.x)
    value = w.ref(a.value, x.dtype)
    return w.op(
        "set_value_with_tensor", x, value, w.ints(starts), w.ints(ends), w.ints(steps), axes=axes, decrease_axes=drop,
        none_axes=none,
    )  # fmt: skip


@writes("slice_set")
def _slice_set(w: Writing, a: SimpleNamespace) -> Any:
    plan = _plan(a)
    return _set(w, a, *plan, list(range(len(plan[0]))))


@writes("setitem")
def _setitem(w: Writing, a: SimpleNamespace) -> Any:
    if a.arrays:
        raise errors.NotImplemented_("an assignment to an index with tensors, of a tensor of unknown lengths")
    index, none = _spread(a.form)
    starts, ends, steps, drop, axes = [], [], [], [], []
    for axis, item in enumerate(index):
        start, stop, step = item if isinstance(item, tuple) else (item, _END if item == -1 else item + 1, 1)
        step = 1 if step is None else step
        if (start, stop, step) == (None, None, 1):
            continue
        axes.append(axis)
        drop += [] if isinstance(item, tuple) else [axis]
        starts.append((0 if step > 0 else _END) if start is None else start)
        ends.append((_END if step > 0 else -_END - 1) if stop is None else stop)
        steps.append(step)
    if not axes:
        axes, starts, ends, steps = [0], [0], [_END], [1]
    return _set(w, a, starts, ends, steps, drop, none, axes)


@composes("scatter_nd_axes")
def _scatter_nd_axes(x: Any, value: Any, indices: Any, axes: Any, front: bool) -> Any:
    axes = list(axes)
    if axes[0] != 0 and not front:
        raise errors.NotImplemented_("an assignment to an index with a tensor behind a slice")
    rest = [i for i in range(x.ndim) if i not in axes]
    order = [*axes, *rest]
    value = value.astype(x.dtype) if hasattr(value, "astype") else P.full([], value, x.dtype)
    if order == sorted(order):
        return P.index_put(x, tuple(indices), value)
    out = P.index_put(P.transpose(x, order), tuple(indices), value)
    return P.transpose(out, [order.index(i) for i in range(x.ndim)])


WRITERS["gather"] = lambda w, a: w.op("gather", a.x, a.index, w.full(a.axis, "int32", [1], "cpu"))
WRITERS["gather_nd"] = lambda w, a: w.op("gather_nd", a.x, a.index)
WRITERS["take_along_axis"] = lambda w, a: w.op("take_along_axis", a.x, a.index, axis=a.axis)
WRITERS["scatter"] = lambda w, a: w.op("scatter", a.x, a.index, a.updates, overwrite=a.overwrite)
WRITERS["scatter_nd_add"] = lambda w, a: w.op("scatter_nd_add", a.x, a.index, a.updates)
WRITERS["index_put"] = lambda w, a: w.op(
    "index_put", a.x, list(a.indices), w.ref(a.value, w.results[0][0]), accumulate=a.accumulate
)
WRITERS["multiplex"] = lambda w, a: w.op("multiplex", list(a.inputs), w.reshape(a.index, [-1, 1]))
WRITERS["masked_fill"] = lambda w, a: w.op("masked_fill", a.x, a.mask, w.ref(a.value, w.results[0][0]))
WRITERS["masked_select"] = lambda w, a: w.op("masked_select", a.x, a.mask)
WRITERS["fill_diagonal"] = lambda w, a: (
    w.op("fill_diagonal", a.x, value=a.value, offset=a.offset, wrap=a.wrap)
    if isinstance(a.value, (int, float))
    else NotImplemented
)
WRITERS["searchsorted"] = lambda w, a: w.op(
    "searchsorted", a.sorted_sequence, a.values, out_int32=a.out_int32, right=a.right
)
WRITERS["bincount"] = lambda w, a: w.op("bincount", a.x, a.weights, w.full(a.minlength, "int32", [1], "cpu"))


@writes("put_along_axis")
def _put_along_axis(w: Writing, a: SimpleNamespace) -> Any:
    word = {"mul": "mul", "multiply": "mul"}.get(a.reduce, a.reduce)
    value = w.ref(a.value, w.results[0][0])
    return w.op("put_along_axis", a.x, a.index, value, axis=a.axis, reduce=word, include_self=a.include_self)


@writes("index_add")
def _index_add(w: Writing, a: SimpleNamespace) -> Any:
    if a.alpha != 1:
        return NotImplemented
    return w.op("index_add", a.x, a.index, a.value, axis=a.axis)


@composes("index_add")
def _index_add_scaled(x: Any, index: Any, axis: int, value: Any, alpha: Any) -> Any:
    return P.index_add(x, index, axis, value * alpha)


@composes("gather_nd_axes")
def _gather_nd_axes(x: Any, indices: Any, axes: Any, front: bool) -> Any:
    """Indices into several axes at once: those axes first, one index of coordinates, and the result's axes in place."""
    indices = P.broadcast_tensors(list(indices)) if len(indices) > 1 else list(indices)
    axes = list(axes)
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = P.transpose(x, [*axes, *rest]) if axes != list(range(len(axes))) else x
    out = P.gather_nd(moved, P.stack([i.astype("int64") for i in indices], axis=-1))
    n = indices[0].ndim
    if front or axes[0] == 0:
        return out
    before = axes[0]
    order = [n + i for i in range(before)] + list(range(n)) + list(range(n + before, out.ndim))
    return P.transpose(out, order)


@writes("nonzero")
def _nonzero(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    found = w.op("nonzero", x, results=[("int64", (-1, x.ndim))])[0]
    if not a.as_tuple:
        return [found]
    return [_slice(w, found, [(None, None, None), i], [], ("int64", (-1,))) for i in range(x.ndim)]


@writes("unique")
def _unique(w: Writing, a: SimpleNamespace) -> Any:
    axis = axes_of(a)
    dtype = str(getattr(a.dtype, "name", a.dtype))
    first = w.results[0]
    found = w.op(
        "unique", a.x, results=[first, *[(dtype, (-1,))] * 3], return_index=True, return_inverse=True,
        return_counts=True, axis=axis, dtype=dtype, is_sorted=True,
    )  # fmt: skip
    wanted = (a.return_index, a.return_inverse, a.return_counts)
    return [found[0], *[f for f, want in zip(found[1:], wanted) if want]]


@writes("unique_consecutive")
def _unique_consecutive(w: Writing, a: SimpleNamespace) -> Any:
    dtype = str(getattr(a.dtype, "name", a.dtype))
    found = w.op(
        "unique_consecutive", a.x, results=[w.results[0], *[(dtype, (-1,))] * 2], return_inverse=True,
        return_counts=True, axis=axes_of(a), dtype=dtype,
    )  # fmt: skip
    return [found[0], *[f for f, want in zip(found[1:], (a.return_inverse, a.return_counts)) if want]]


# ---- order ----

WRITERS["argsort"] = lambda w, a: w.op(
    "argsort", a.x, results=[(w.ref(a.x).dtype, w.results[0][1]), w.results[0]], axis=a.axis, descending=a.descending,
    stable=a.stable,
)[1:]  # fmt: skip
WRITERS["sort"] = lambda w, a: w.op(
    "argsort", a.x, results=[w.results[0], ("int64", w.results[0][1])], axis=a.axis, descending=a.descending,
    stable=a.stable,
)[:1]  # fmt: skip
WRITERS["topk"] = lambda w, a: w.op(
    "topk", a.x, w.scalar(a.k) if isinstance(a.k, (Dim, Held)) else w.full(a.k, "int32", [1], "cpu"),
    axis=-1 if a.axis is None else a.axis, largest=a.largest, sorted=True,
)  # fmt: skip


@writes("histogram")
def _histogram(w: Writing, a: SimpleNamespace) -> Any:
    weight = getattr(a, "weight", None)
    return w.op("histogram", a.x, weight, bins=a.bins, min=a.low, max=a.high, density=a.density)


WRITERS["sequence_mask"] = lambda w, a: w.op(
    "sequence_mask", a.x, w.full(a.maxlen, "int32", [1], "cpu"), out_dtype=w.results[0][0]
)
