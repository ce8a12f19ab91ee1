"""Gathering and scattering of JAX as nodes of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from .primitives import _as_ref, _overwritten, _window, rule
from .writer import Ref, Unsupported, Writer, count, is_open


def _coordinates(g: Writer, index: Any, aval: Any, batching: tuple, columns: int) -> Any:
    """Indices [..., columns] with those of batch axes in front: [..., batching + columns]."""
    parts = []
    rank = len(aval.shape) - 1
    for axis in batching:
        n = aval.shape[axis]
        row = g("Range", np.int64(0), g.scalar(n), np.int64(1))
        row = g.unsqueeze(row, *[i for i in range(rank + 1) if i != axis])
        parts.append(g.expand(row, [*aval.shape[:-1], 1]))
    parts.append(g.cast(_as_ref(index, aval), np.int64))
    return parts[0] if len(parts) == 1 else g("Concat", *parts, axis=rank)


@rule("gather")
def _gather(g: Writer, e: Any, x: Any, index: Any) -> Any:
    d, sizes, shape = e.params["dimension_numbers"], e.params["slice_sizes"], e.invars[0].aval.shape
    start, batch = tuple(d.start_index_map), tuple(d.operand_batching_dims)
    aval, out = e.invars[1].aval, e.outvars[0].aval
    chosen = [*batch, *start]
    rest = [i for i in range(len(shape)) if i not in chosen]
    if any(not sizes[i] == 1 for i in chosen) or any(not sizes[i] == shape[i] for i in rest):
        return _gather_windows(g, e, x, index)
    index = _bounded(g, e, index, [shape[i] for i in start], [1] * len(start))
    n = aval.ndim - 1  # axes of the index
    batch_axes = [i for i in range(out.ndim) if i not in d.offset_dims]
    kept = [i for i in chosen if i not in d.collapsed_slice_dims and i not in batch]  # of length 1 in the result
    offsets = [i for i in range(len(shape)) if i not in d.collapsed_slice_dims and i not in batch]
    place = dict(zip(offsets, d.offset_dims))
    if len(start) == 1 and not batch and not kept:
        axis = start[0]
        flat = g.squeeze(index, n) if not isinstance(index, np.ndarray) else index.reshape(index.shape[:-1])
        made = g("Gather", x, flat, axis=axis)
        source = [*[place[i] for i in rest if i < axis], *batch_axes, *[place[i] for i in rest if i > axis]]
        return g.transpose(made, np.argsort(source))
    turned = g.transpose(x, [*chosen, *rest])
    made = g("GatherND", turned, _coordinates(g, index, aval, tuple(d.start_indices_batching_dims), len(start)))
    source = [*batch_axes, *[place[i] for i in rest]]
    made = g.unsqueeze(made, *range(len(source), len(source) + len(kept))) if kept else made
    source += [place[i] for i in kept]
    return g.transpose(made, np.argsort(source))


def _bounded(g: Writer, e: Any, index: Any, lengths: list, sizes: list) -> Any:
    """Indices as they are read: moved into the range where the mode says so."""
    mode = str(e.params["mode"])
    if "CLIP" not in mode or any(not isinstance(n, (int, np.integer)) for n in lengths):
        return index
    top = np.array([n - s for n, s in zip(lengths, sizes)], e.invars[1].aval.dtype)
    if isinstance(index, np.ndarray):
        return np.clip(index, 0, top)
    low = g("Max", index, np.zeros((), e.invars[1].aval.dtype))
    return Ref(g("Min", low, top), e.invars[1].aval.shape, e.invars[1].aval.dtype)


def _gather_windows(g: Writer, e: Any, x: Any, index: Any) -> Any:
    """Windows longer than 1: every element of each is addressed by itself."""
    d, sizes, shape = e.params["dimension_numbers"], e.params["slice_sizes"], e.invars[0].aval.shape
    start, aval, out = tuple(d.start_index_map), e.invars[1].aval, e.outvars[0].aval
    if aval.ndim == 1:  # one window
        starts = _components(g, index, aval, start, len(shape))
        return g.squeeze(_window(g, x, starts, shape, sizes), *d.collapsed_slice_dims)
    if d.operand_batching_dims or is_open(sizes):
        raise Unsupported("gathering windows of open lengths or in batches")
    n = aval.ndim - 1
    index = _bounded(g, e, index, [shape[i] for i in start], [sizes[i] for i in start])
    index = g.cast(_as_ref(index, aval), np.int64)
    columns = []
    for axis in range(len(shape)):
        steps = np.arange(sizes[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        steps = steps.reshape([1] * n + list(steps.shape))
        if axis in start:
            at = g("Gather", index, np.asarray(start.index(axis), np.int64), axis=n)
            column = g("Add", g.unsqueeze(at, *range(n, n + len(shape))), steps)
        else:
            column = g.constant(steps)
        columns.append(g.unsqueeze(g.expand(column, [*aval.shape[:-1], *sizes]), n + len(shape)))
    made = g("GatherND", x, g("Concat", *columns, axis=n + len(shape)))
    made = g.squeeze(made, *[n + i for i in d.collapsed_slice_dims])
    batch_axes = [i for i in range(out.ndim) if i not in d.offset_dims]
    return g.transpose(made, np.argsort([*batch_axes, *d.offset_dims]))


_COMBINE = {"scatter": "none", "scatter-add": "add", "scatter_add": "add", "scatter-mul": "mul", "scatter_mul": "mul",
            "scatter-max": "max", "scatter_max": "max", "scatter-min": "min", "scatter_min": "min"}  # fmt: skip


@rule(*_COMBINE)
def _scatter(g: Writer, e: Any, x: Any, index: Any, updates: Any) -> Any:
    d, shape = e.params["dimension_numbers"], e.invars[0].aval.shape
    aval, given = e.invars[1].aval, e.invars[2].aval
    start, batch = tuple(d.scatter_dims_to_operand_dims), tuple(d.operand_batching_dims)
    chosen = [*batch, *start]
    rest = [i for i in range(len(shape)) if i not in chosen]
    windows = [i for i in range(len(shape)) if i not in d.inserted_window_dims and i not in batch]
    place = dict(zip(windows, d.update_window_dims))
    combine = _COMBINE[e.primitive.name]
    if any(not given.shape[place[i]] == shape[i] for i in rest if i in place) or any(
        i in place and not given.shape[place[i]] == 1 for i in start
    ):
        if count(aval.shape[:-1]) != 1 or combine != "none":
            raise Unsupported("scattering parts of rows")
        return _scatter_window(g, e, x, index, updates)
    if combine != "none" and g.opset < (18 if combine in ("max", "min") else 16):
        raise Unsupported(f"scattering by {combine} at opset {g.opset}")
    batch_axes = [i for i in range(given.ndim) if i not in d.update_window_dims]
    single = [place[i] for i in start if i in place]
    updates = g.transpose(_as_ref(updates, given), [*batch_axes, *[place[i] for i in rest], *single])
    if single:
        updates = g.squeeze(updates, *range(given.ndim - len(single), given.ndim))
    dropping = _dropping(e, index, [shape[i] for i in start])
    if dropping:  # what lies outside is written into a margin, which is cut off
        x, index = _with_margin(g, x, index, aval, shape, start)
    index = _coordinates(g, index, aval, tuple(d.scatter_indices_batching_dims), len(start))
    more = {} if combine == "none" else {"reduction": combine}
    order = [*chosen, *rest]
    made = g.transpose(g("ScatterND", g.transpose(x, order), index, updates, **more), np.argsort(order))
    return g.slice(made, [0] * len(start), [shape[i] for i in start], start) if dropping else made


def _scatter_window(g: Writer, e: Any, x: Any, index: Any, updates: Any) -> Any:
    """One window is replaced."""
    d, shape = e.params["dimension_numbers"], e.invars[0].aval.shape
    aval, given = e.invars[1].aval, e.invars[2].aval
    kept = [i for i in range(given.ndim) if i in d.update_window_dims]
    updates = g.reshape(updates, given.shape, [given.shape[i] for i in kept])
    window = g.unsqueeze(updates, *d.inserted_window_dims) if d.inserted_window_dims else updates
    lengths = iter([given.shape[i] for i in kept])
    sizes = tuple(1 if i in d.inserted_window_dims else next(lengths) for i in range(len(shape)))
    flat = g.reshape(index, aval.shape, [aval.shape[-1]])
    starts = _components(g, flat, aval, tuple(d.scatter_dims_to_operand_dims), len(shape))
    return _overwritten(g, x, window, starts, shape, sizes)


def _components(g: Writer, index: Any, aval: Any, axes: tuple, rank: int) -> list:
    """The numbers of an index of one window by the axes that they belong to, 0 for the others."""
    starts: list[Any] = [np.asarray(0, np.int64)] * rank
    for column, axis in enumerate(axes):
        if isinstance(index, np.ndarray):
            starts[axis] = np.asarray(index[column])
        else:
            starts[axis] = Ref(g("Gather", index, np.asarray(column, np.int64)), (), aval.dtype)
    return starts


def _dropping(e: Any, index: Any, lengths: list) -> bool:
    """Whether indices may lie outside, where they are not to be written."""
    if "PROMISE" in str(e.params["mode"]) or "CLIP" in str(e.params["mode"]):
        return False
    if isinstance(index, np.ndarray) and not is_open(lengths):
        return bool(((index < 0) | (index >= np.array(lengths))).any())
    return True


def _with_margin(g: Writer, x: Any, index: Any, aval: Any, shape: tuple, start: tuple) -> tuple:
    pads = [0] * (2 * len(shape))
    for i in start:
        pads[len(shape) + i] = 1
    x = g("Pad", x, g.ints(*pads))
    limits = g.shape_of([shape[i] for i in start])
    wide = g.cast(_as_ref(index, aval), np.int64)
    outside = g("Or", g("Less", wide, np.asarray(0, np.int64)), g("GreaterOrEqual", wide, limits))
    return x, Ref(g("Where", outside, limits, wide), aval.shape, np.int64)
