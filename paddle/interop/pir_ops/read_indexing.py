"""Translators of operators that pick and put elements, sort and search."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine import errors
from ...engine.tensor import Tensor
from .format import damaged
from .reading import READERS, Call, reads

F = P.nn.functional


def _bounds(call: Call, name: str) -> list:
    """Starts, ends or steps: ints, Dims and tensors."""
    found = call.ints(name)
    if isinstance(found, Tensor):
        n = found.shape[0] if found.ndim else 1
        found = [found.reshape([-1])[i] for i in range(n)]
    return [f.reshape([]) if isinstance(f, Tensor) and f.ndim else f for f in found]


def _index(call: Call, x: Any, strides: list | None) -> tuple:
    axes, starts, ends = list(call.axes), _bounds(call, "starts"), _bounds(call, "ends")
    strides = [1] * len(axes) if strides is None else strides
    if not len(axes) == len(starts) == len(ends) == len(strides):
        raise damaged(f"{call.op} with {len(axes)} axes, {len(starts)} starts and {len(ends)} ends")
    index: list = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, strides):
        if not -x.ndim <= axis < x.ndim:
            raise damaged(f"{call.op} along axis {axis} of a tensor of shape {list(x.shape)}")
        length = x._raw.shape[axis]
        if isinstance(step, int) and step < 0:
            if isinstance(end, int) and not isinstance(length, P.engine.value.Dim) and end < -length:
                end = None
            elif isinstance(end, int) and end <= -(2**31) + 1:
                end = None
        index[axis] = slice(start, end, None if step == 1 else step)
    return tuple(index)


def _without(x: Any, axes: list) -> Any:
    drop = [a for a in axes if -x.ndim <= a < x.ndim]
    return P.squeeze(x, drop) if drop else x


@reads("slice")
def _slice(call: Call) -> Any:
    x = call.input
    return _without(x[_index(call, x, None)], call.decrease_axis)


@reads("strided_slice")
def _strided_slice(call: Call) -> Any:
    return call.x[_index(call, call.x, _bounds(call, "strides"))]


@reads("set_value", "set_value_", "set_value_with_tensor")
def _set_value(call: Call) -> Any:
    x = call.x
    index = list(_index(call, x, _bounds(call, "steps")))
    for axis in call.decrease_axes:
        if not 0 <= axis < x.ndim:
            raise damaged(f"set_value along axis {axis}")
        start = index[axis].start
        index[axis] = start
    for axis in sorted(call.none_axes):
        index.insert(axis, None)
    if call.op == "set_value_with_tensor":
        value = call.values
    else:
        import numpy as np

        if len(call.values) != int(np.prod(call.shape, dtype=object)):
            raise damaged(f"set_value with {len(call.values)} values for the shape {call.shape}")
        value = P.to_tensor(np.array(call.values).reshape(call.shape).astype(x.dtype.name))
    out = P.assign(x)
    out[tuple(index)] = value
    return out


READERS["gather"] = lambda c: P.gather(c.x, c.index, c.number("axis"))
READERS["gather_nd"] = lambda c: P.gather_nd(c.x, c.index)
READERS["index_select"] = lambda c: P.index_select(c.x, c.index, c.axis)
READERS["index_sample"] = lambda c: P.index_sample(c.x, c.index)
READERS["take_along_axis"] = lambda c: P.take_along_axis(c.arr, c.indices, c.axis, broadcast=False)
READERS["scatter"] = lambda c: P.scatter(c.x, c.index, c.updates, c.overwrite)
READERS["scatter_nd_add"] = lambda c: P.scatter_nd_add(c.x, c.index, c.updates)
READERS["index_add"] = lambda c: P.index_add(c.x, c.index, c.axis, c.add_value)
READERS["index_put"] = lambda c: P.index_put(c.x, tuple(c.indices), c.value, c.accumulate)
READERS["masked_fill"] = lambda c: P.masked_fill(c.x, c.mask, c.value)
READERS["multiplex"] = lambda c: P.multiplex(c.inputs, c.index)
READERS["searchsorted"] = lambda c: P.searchsorted(c.sorted_sequence, c.values, c.out_int32, c.right)
READERS["one_hot"] = lambda c: F.one_hot(c.x, c.fixed("num_classes")[0])
READERS["shard_index"] = lambda c: P.shard_index(c.input, c.index_num, c.nshards, c.shard_id, c.ignore_value)
READERS["fill_diagonal"] = lambda c: P.assign(c.x).fill_diagonal_(c.value, c.offset, c.wrap)


@reads("put_along_axis")
def _put_along_axis(call: Call) -> Any:
    words = {"multiply": "mul", "amax": "amax", "amin": "amin"}
    return P.put_along_axis(
        call.arr, call.indices, call.values, call.axis, words.get(call.reduce, call.reduce), call.include_self, False
    )


@reads("topk")
def _topk(call: Call) -> Any:
    return tuple(P.topk(call.x, call.number("k"), call.axis, call.largest, call.sorted))


@reads("argsort")
def _argsort(call: Call) -> Any:
    index = P.argsort(call.x, call.axis, call.descending, call.stable)
    return P.take_along_axis(call.x, index, call.axis), index


# ---- shapes that depend on data ----

READERS["nonzero"] = lambda c: P.nonzero(c.condition)
READERS["masked_select"] = lambda c: P.masked_select(c.x, c.mask)
READERS["bincount"] = lambda c: P.bincount(c.x, c.weights, c.fixed("minlength")[0])


@reads("unique")
def _unique(call: Call) -> Any:
    axis = list(call.axis)
    out, index, inverse, counts = P.unique(call.x, True, True, True, axis[0] if axis else None, call.dtype() or "int64")
    return out, index, inverse, counts


@reads("unique_consecutive")
def _unique_consecutive(call: Call) -> Any:
    axis = list(call.axis)
    return tuple(P.unique_consecutive(call.x, True, True, axis[0] if axis else None, call.dtype() or "int64"))


@reads("histogram")
def _histogram(call: Call) -> Any:
    if not 0 < call.bins <= 1 << 24:
        raise damaged(f"histogram with {call.bins} bins")
    return P.histogram(call.input, call.bins, call.min, call.max, call.weight, call.density)


@reads("sequence_mask")
def _sequence_mask(call: Call) -> Any:
    longest = call.fixed("max_len")[0] if call.has("max_len") or "max_len" in call.interface.attributes else -1
    if longest < 0:
        raise errors.NotImplemented_("official model files with sequence_mask whose length depends on data")
    return F.sequence_mask(call.x, longest, call.dtype("out_dtype") or "int64")


@reads("accuracy")
def _accuracy(call: Call) -> Any:
    hit = (call.indices == call.label).any(-1)
    correct, total = hit.astype("int32").sum(), P.numel(hit).astype("int32")
    return correct.astype("float32") / total.astype("float32"), correct.astype("int32"), total
