"""Rows for operators that move, choose, sort and reduce elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .convert import ROWS, Converter, row
from .operators_elementwise import number
from .writer import Ref, Unsupported, is_open

# ---- shapes ----


@row("reshape", "flatten", "view")
def _reshape(g: Converter, a: SimpleNamespace) -> Any:
    shape = getattr(a, "shape", None)
    if isinstance(shape, Ref):
        return g("Reshape", a.x, g.cast(shape, np.int64))
    if isinstance(shape, (list, tuple)) and any(isinstance(n, Ref) for n in shape):
        return g("Reshape", a.x, _numbers(g, shape))
    (after,) = g.shapes(g.operator)
    return g.reshape(a.x, a.x.shape, after)


def _numbers(g: Converter, values: Any) -> str:
    """A list of numbers, lengths and tensors of one number as one tensor."""
    if isinstance(values, Ref):
        return g.cast(values, np.int64)
    if not any(isinstance(n, Ref) for n in values):
        return g.shape_of(values)
    parts = []
    for n in values:
        if isinstance(n, Ref):
            n = g.cast(n, np.int64)
            parts.append(n if n.ndim else g.unsqueeze(n, 0))
        else:
            parts.append(g.length(n))
    return g("Concat", *parts, axis=0)


@row("squeeze")
def _squeeze(g: Converter, a: SimpleNamespace) -> Any:
    (after,) = g.shapes(g.operator)
    axes = a.axis if isinstance(a.axis, (list, tuple)) else [] if a.axis is None else [a.axis]
    axes = [i % a.x.ndim for i in axes if not isinstance(i, Ref)]
    if len(axes) != a.x.ndim - len(after):
        return g.reshape(a.x, a.x.shape, after)
    return g.squeeze(a.x, *sorted(axes))


@row("unsqueeze")
def _unsqueeze(g: Converter, a: SimpleNamespace) -> Any:
    axes = list(a.axis) if isinstance(a.axis, (list, tuple)) else [a.axis]
    if len(axes) != 1 or isinstance(axes[0], Ref):  # one after the other, officially
        (after,) = g.shapes(g.operator)
        return g.reshape(a.x, a.x.shape, after)
    return g.unsqueeze(a.x, *axes)


@row("transpose")
def _transpose(g: Converter, a: SimpleNamespace) -> Any:
    return g.transpose(a.x, [p % a.x.ndim for p in a.perm])


@row("concat")
def _concat(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    return g("Concat", *[g.cast(x, dtype) for x in a.x], axis=int(a.axis)) if type(a.axis) is int else NotImplemented


@row("stack")
def _stack(g: Converter, a: SimpleNamespace) -> Any:
    dtype, rank = g.operator.outputs[0].dtype, a.x[0].ndim + 1
    axis = a.axis % rank
    return g("Concat", *[g.unsqueeze(g.cast(x, dtype), axis) for x in a.x], axis=axis)


@row("split")
def _split(g: Converter, a: SimpleNamespace) -> Any:
    axis = int(a.axis)
    sizes = [shape[axis] for shape in g.shapes(g.operator)]
    if len(sizes) == 1:
        return [a.x]
    return g("Split", a.x, g.shape_of(sizes), outputs=len(sizes), axis=axis)


@row("unbind")
def _unbind(g: Converter, a: SimpleNamespace) -> Any:
    axis = a.axis % a.x.ndim
    return [g("Gather", a.x, np.asarray(i, np.int64), axis=axis) for i in range(len(g.operator.outputs))]


@row("expand")
def _expand(g: Converter, a: SimpleNamespace) -> Any:
    (after,) = g.shapes(g.operator)
    if isinstance(a.shape, Ref) or any(isinstance(n, Ref) for n in a.shape):
        wanted = _numbers(g, a.shape)  # -1 keeps a length
        return g("Expand", a.x, g("Max", wanted, np.asarray(1, np.int64)))
    return g.expand(a.x, after)


@row("tile")
def _tile(g: Converter, a: SimpleNamespace) -> Any:
    times = a.repeat_times if isinstance(a.repeat_times, (list, tuple)) else [a.repeat_times]
    rank = max(len(times), a.x.ndim)
    x = g.unsqueeze(a.x, *range(rank - a.x.ndim))
    return g("Tile", x, _numbers(g, [1] * (rank - len(times)) + list(times)))


@row("full")
def _full(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    if isinstance(a.shape, Ref) or any(isinstance(n, Ref) for n in a.shape):
        return g("Expand", g.ref(a.fill_value, dtype), _numbers(g, a.shape))
    value = g.ref(a.fill_value, dtype)
    return g.expand(g.reshape(value, value.shape, []), a.shape)


@row("full_like")
def _full_like(g: Converter, a: SimpleNamespace) -> Any:
    value = g.ref(a.fill_value, g.operator.outputs[0].dtype)
    return g.expand(g.reshape(value, value.shape, []), a.x.shape)


@row("arange")
def _arange(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    if dtype.kind not in "fi" or dtype.itemsize < 4:
        return NotImplemented
    bounds = []
    for n in (a.start, a.end, a.step):
        ref = g.ref(n)
        bounds.append(g.cast(Ref(g.reshape(ref, ref.shape, []), (), ref.dtype), dtype))
    return g("Range", *bounds)


@row("shape")
def _shape(g: Converter, a: SimpleNamespace) -> Any:
    out = g.operator.outputs[0]
    return g.cast(Ref(g.shape_of(a.x.shape), (a.x.ndim,), np.int64), out.dtype)


@row("pad")
def _pad(g: Converter, a: SimpleNamespace) -> Any:
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "edge": "edge", "circular": "wrap"}
    pairs = a.pads
    mode = modes.get(a.mode)
    if mode is None or mode == "wrap" and g.opset < 19 or not isinstance(pairs, (list, tuple)):
        return NotImplemented
    flat = [n for pair in pairs for n in (pair if isinstance(pair, (list, tuple)) else [pair])]
    if len(flat) != 2 * a.x.ndim or any(isinstance(n, Ref) for n in flat) or any(
        isinstance(n, int) and n < 0 for n in flat
    ):  # fmt: skip
        return NotImplemented
    value = None if mode != "constant" else g.ref(a.value, a.x.dtype)
    return g("Pad", a.x, g.shape_of([*flat[::2], *flat[1::2]]), value, mode=mode)


def _triangle(upper: int) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        if g.opset < 14 or a.x.dtype.kind not in "fi":
            return NotImplemented
        return g("Trilu", a.x, np.asarray(a.diagonal, np.int64), upper=upper)

    return translate


ROWS["triu"], ROWS["tril"] = _triangle(1), _triangle(0)


# ---- choosing ----


@row("gather")
def _gather(g: Converter, a: SimpleNamespace) -> Any:
    axis = 0 if a.axis is None else a.axis
    if isinstance(axis, Ref) or a.index.ndim > 1:
        return NotImplemented
    index = g.array(a.index)
    if index is None or (index >= 0).all():
        return g("Gather", a.x, a.index, axis=int(axis))
    return NotImplemented


@row("take_along_axis")
def _take_along_axis(g: Converter, a: SimpleNamespace) -> Any:
    axis = a.axis % a.x.ndim
    same = all(n == m for i, (n, m) in enumerate(zip(a.x.shape, a.index.shape)) if i != axis)
    return g("GatherElements", a.x, a.index, axis=axis) if same else NotImplemented


@row("gather_nd")
def _gather_nd(g: Converter, a: SimpleNamespace) -> Any:
    return g("GatherND", a.x, g.cast(a.index, np.int64))


@row("nonzero")
def _nonzero(g: Converter, a: SimpleNamespace) -> Any:
    x = a.x
    found = g("NonZero", g.cast(x, np.int32) if x.dtype == np.bool_ else x)
    if a.as_tuple:
        return [g("Gather", found, np.asarray(i, np.int64)) for i in range(x.ndim)]
    return g.transpose(found, [1, 0])


@row("masked_select")
def _masked_select(g: Converter, a: SimpleNamespace) -> Any:
    if a.x.shape != a.mask.shape:
        raise Unsupported("a mask of another shape")
    return g("Compress", g("Reshape", a.x, g.ints(-1)), g("Reshape", a.mask, g.ints(-1)), axis=0)


# ---- sorting ----


def _count(g: Converter, k: Any) -> Any:
    if not isinstance(k, Ref):
        return g.length(k)
    k = g.cast(k, np.int64)
    return k if k.ndim else g.unsqueeze(k, 0)


@row("topk")
def _topk(g: Converter, a: SimpleNamespace) -> Any:
    axis = -1 if a.axis is None else a.axis
    return g("TopK", a.x, _count(g, a.k), outputs=2, axis=axis, largest=int(a.largest), sorted=1)


@row("sort", "argsort")
def _sort(g: Converter, a: SimpleNamespace) -> Any:
    axis = a.axis % a.x.ndim if a.x.ndim else None
    if axis is None or a.x.dtype.kind not in "fi":
        return NotImplemented
    found = g("TopK", a.x, g.length(a.x.shape[axis]), outputs=2, axis=axis, largest=int(a.descending), sorted=1)
    return found[g.operator.name == "argsort"]


def _arg(kind: str) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        if a.x.dtype not in (np.float32, np.float64, np.int32) or not a.x.ndim:
            return NotImplemented
        if a.axis is None:
            if a.keepdim:
                return NotImplemented
            out = g(kind, g("Reshape", a.x, g.ints(-1)), axis=0, keepdims=0)
        else:
            out = g(kind, a.x, axis=a.axis, keepdims=int(a.keepdim))
        return g.cast(Ref(out, (), np.int64), g.operator.outputs[0].dtype)

    return translate


ROWS["argmax"], ROWS["argmin"] = _arg("ArgMax"), _arg("ArgMin")


# ---- reductions ----


def _reduction(kind: str) -> Any:
    def translate(g: Converter, a: SimpleNamespace) -> Any:
        dtype = g.operator.outputs[0].dtype
        if dtype.kind not in "fi" or dtype.itemsize < 4 or not a.x.ndim or isinstance(a.axis, Ref):
            return NotImplemented
        axes = range(a.x.ndim) if a.axis is None or a.axis == () else a.axis if isinstance(a.axis, (list, tuple)) else [
            a.axis]  # fmt: skip
        return g.reduce(kind, g.cast(a.x, dtype), [i % a.x.ndim for i in axes], bool(a.keepdim))

    return translate


for _name, _kind in {
    "sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "amax": "ReduceMax",
    "amin": "ReduceMin", "prod": "ReduceProd", "logsumexp": "ReduceLogSumExp",
}.items():  # fmt: skip
    ROWS[_name] = _reduction(_kind)


@row("cumsum")
def _cumsum(g: Converter, a: SimpleNamespace) -> Any:
    dtype = g.operator.outputs[0].dtype
    if a.axis is None or not isinstance(a.axis, int) or dtype.kind not in "fi" or dtype.itemsize < 4:
        return NotImplemented
    return g("CumSum", g.cast(a.x, dtype), np.asarray(a.axis, np.int64))


@row("one_hot")
def _one_hot(g: Converter, a: SimpleNamespace) -> Any:
    if isinstance(a.classes, Ref) or is_open([a.classes]):
        return NotImplemented
    values = np.array([0, 1], g.operator.outputs[0].dtype)
    return g("OneHot", a.x, np.asarray(a.classes, np.int64), values, axis=-1)


@row("normalize")
def _normalize(g: Converter, a: SimpleNamespace) -> Any:
    if a.p != 2 or a.x.dtype.kind != "f" or not isinstance(a.axis, int):
        return NotImplemented
    size = g.reduce("ReduceL2", a.x, [a.axis % a.x.ndim], True)
    return g("Div", a.x, g("Max", size, np.asarray(number(g, a.epsilon), a.x.dtype)))
