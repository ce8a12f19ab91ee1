"""Operators of ONNX that move, choose and make elements as functions of ours."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

import paddle as P
from paddle.engine.modes import modes

from .load import READERS, Node, elements, known, reads, tensor
from .readers_elementwise import dtype_of

F = P.nn.functional


def ints(node: Node, x: Any) -> list:
    return [n if isinstance(n, P.Tensor) else int(n) for n in elements(node, x)]


def _attribute_or_input(node: Node, name: str, x: Any) -> Any:
    return node.get(name) if x is None else ints(node, x)


# ---- shapes ----


@reads("Shape")
def _shape(node: Node, x: Any) -> Any:
    start, end = node.get("start", 0), node.get("end")
    if modes.program is not None and isinstance(x, P.Tensor):
        return P.shape(x).astype("int64")[start:end]
    return np.array([int(n) for n in tensor(x).shape][start:end], np.int64)


@reads("Size")
def _size(node: Node, x: Any) -> Any:
    x = tensor(x)
    return P.numel(x) if modes.program is not None else np.asarray(x.size, np.int64)


@reads("Reshape")
def _reshape(node: Node, x: Any, shape: Any) -> Any:
    x, wanted = tensor(x), ints(node, shape)
    if node.get("allowzero", 0) and 0 in [n for n in wanted if isinstance(n, int)]:
        return P.zeros([0 if n == -1 else n for n in wanted], x.dtype)
    return P.reshape(
        x, [x.shape[i] if isinstance(n, int) and n == 0 and i < x.ndim else n for i, n in enumerate(wanted)]
    )


@reads("Flatten")
def _flatten(node: Node, x: Any) -> Any:
    x = tensor(x)
    axis = node.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    if axis == 0:
        return P.reshape(x, [1, -1])
    return P.reshape(P.flatten(x, 0, axis - 1) if axis > 1 else x, [x.shape[0] if axis == 1 else -1, *_rest(x, axis)])


def _rest(x: Any, axis: int) -> list:
    lengths = [n for n in x.shape[axis:]]
    size = 1
    for n in lengths:
        size = size * n
    return [size]


@reads("Squeeze")
def _squeeze(node: Node, x: Any, axes: Any = None) -> Any:
    x, chosen = tensor(x), _attribute_or_input(node, "axes", axes)
    if chosen and any(int(x.shape[i]) not in (1, -1) for i in chosen):
        raise ValueError(f"onnx.load: Squeeze of axes {chosen} of shape {list(x.shape)}")
    return P.squeeze(x, chosen)


@reads("Unsqueeze")
def _unsqueeze(node: Node, x: Any, axes: Any = None) -> Any:
    x, chosen = tensor(x), _attribute_or_input(node, "axes", axes)
    rank = x.ndim + len(chosen)
    return P.unsqueeze(x, sorted(i % rank for i in chosen))


@reads("Transpose")
def _transpose(node: Node, x: Any) -> Any:
    x = tensor(x)
    return P.transpose(x, node.get("perm", list(range(x.ndim))[::-1]))


READERS["Concat"] = lambda node, *xs: P.concat([tensor(x) for x in xs], node.get("axis"))


@reads("Split")
def _split(node: Node, x: Any, sizes: Any = None) -> tuple:
    x, axis = tensor(x), node.get("axis", 0)
    given = _attribute_or_input(node, "split", sizes)
    if given is None:
        parts, length = len(node.outputs), x.shape[axis]
        size = -(-length // parts)
        given = parts if length % parts == 0 else [*[size] * (parts - 1), length - size * (parts - 1)]
    return tuple(P.split(x, given, axis))


@reads("Expand")
def _expand(node: Node, x: Any, shape: Any) -> Any:
    x, wanted = tensor(x), ints(node, shape)
    full = [1] * (x.ndim - len(wanted)) + wanted
    own = [1] * (len(full) - x.ndim) + list(x.shape)
    return P.expand(x, [m if isinstance(n, int) and n == 1 else n for n, m in zip(full, own)])


READERS["Tile"] = lambda node, x, times: P.tile(tensor(x), ints(node, times))


@reads("Pad")
def _pad(node: Node, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    x = tensor(x)
    amounts = _attribute_or_input(node, "pads", pads)
    fill = node.get("value", 0.0) if value is None else elements(node, value)[0]
    chosen = [i % x.ndim for i in ints(node, axes)] if axes is not None else list(range(x.ndim))
    pairs = [(0, 0)] * x.ndim
    for i, axis in enumerate(chosen):
        pairs[axis] = (amounts[i], amounts[len(chosen) + i])
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[
        node.get("mode", "constant")
    ]
    if mode == "constant":
        return F.pad(x, list(itertools.chain(*pairs)), mode, fill)
    if x.ndim < 3 or x.ndim > 5 or any(pair != (0, 0) for pair in pairs[:2]):
        raise node.missing(f"mode {mode} of these axes")
    return F.pad(x, list(itertools.chain(*reversed(pairs[2:]))), mode)


@reads("Slice")
def _slice(node: Node, x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    x = tensor(x)
    first, last = (_attribute_or_input(node, n, t) for n, t in (("starts", starts), ("ends", ends)))
    chosen = _attribute_or_input(node, "axes", axes) or list(range(len(first)))
    strides = ints(node, steps) if steps is not None else [1] * len(first)
    index: list[Any] = [slice(None)] * x.ndim
    for a, b, axis, step in zip(first, last, chosen, strides, strict=True):
        b = None if isinstance(b, int) and (b >= 2**31 - 1 or b <= -(2**31)) else b
        a = None if isinstance(a, int) and step < 0 and a >= 2**31 - 1 else a
        index[axis] = slice(a, b, step)
    return x[tuple(index)]


# ---- making ----


@reads("Constant")
def _constant(node: Node) -> Any:
    for name, found in node.attributes.items():
        if name == "value":
            return found
        if name in ("value_float", "value_floats"):
            return np.asarray(found, np.float32)
        if name in ("value_int", "value_ints"):
            return np.asarray(found, np.int64)
    raise node.missing("strings or a sparse tensor")


@reads("ConstantOfShape")
def _constant_of_shape(node: Node, shape: Any) -> Any:
    value = node.attributes.get("value", np.zeros(1, np.float32))
    return P.full(ints(node, shape), value.reshape(-1)[0].item(), value.dtype.name)


@reads("Range")
def _range(node: Node, start: Any, end: Any, step: Any) -> Any:
    (a,), (b,), (c,) = (elements(node, n) for n in (start, end, step))
    return P.arange(a, b, c, tensor(start).dtype)


@reads("EyeLike")
def _eye(node: Node, x: Any) -> Any:
    x = tensor(x)
    if node.get("k", 0):
        raise node.missing("k")
    return P.eye(x.shape[0], x.shape[1], dtype_of(node.get("dtype")) if node.get("dtype") else x.dtype)


@reads("OneHot")
def _one_hot(node: Node, index: Any, depth: Any, values: Any) -> Any:
    index, values = tensor(index), tensor(values)
    (count,) = ints(node, depth)
    index = P.where(index < 0, index + count, index)
    axis = node.get("axis", -1)
    found = P.unsqueeze(index, axis if axis >= 0 else axis + index.ndim + 1)
    shape = [1] * found.ndim
    shape[axis] = count
    return P.where(found == P.arange(count, dtype=index.dtype).reshape(shape), values[1], values[0])


@reads("Trilu")
def _trilu(node: Node, x: Any, k: Any = None) -> Any:
    diagonal = 0 if k is None else int(elements(node, k)[0])
    return (P.triu if node.get("upper", 1) else P.tril)(tensor(x), diagonal)


# ---- choosing ----


@reads("Gather")
def _gather(node: Node, x: Any, index: Any) -> Any:
    axis = node.get("axis", 0)
    if known(x) and known(index):
        return np.take(x, index, axis)
    x = tensor(x)
    axis = axis % x.ndim
    length = x.shape[axis]
    if known(index):
        if int(length) >= 0 and index.size and not (-length <= index.min() and index.max() < length):
            raise ValueError(f"onnx.load: Gather of the element {index.max()} of {length}{node.where}")
        if index.ndim == 0:
            return x[(*[slice(None)] * axis, int(index))]
        shape, flat = list(index.shape), index.reshape(-1)
        flat = tensor(flat if (flat >= 0).all() or int(length) < 0 else np.where(flat < 0, flat + length, flat))
    else:
        shape = list(index.shape)
        flat = P.reshape(index, [-1])
    if not known(index) or not (index >= 0).all():
        flat = P.where(flat < 0, flat + length, flat)
    out = P.gather(x, flat, axis=axis)
    return P.reshape(out, [*x.shape[:axis], *shape, *x.shape[axis + 1 :]]) if len(shape) != 1 else out


def _wrapped(index: Any, length: Any) -> Any:
    return P.where(index < 0, index + length, index)


@reads("GatherElements")
def _gather_elements(node: Node, x: Any, index: Any) -> Any:
    x, index, axis = tensor(x), tensor(index), node.get("axis", 0)
    return P.take_along_axis(x, _wrapped(index, x.shape[axis]), axis, broadcast=False)


@reads("GatherND")
def _gather_nd(node: Node, x: Any, index: Any) -> Any:
    if node.get("batch_dims", 0):
        raise node.missing("batch_dims")
    return P.gather_nd(tensor(x), tensor(index))


@reads("ScatterElements", "Scatter")
def _scatter_elements(node: Node, x: Any, index: Any, updates: Any) -> Any:
    x, index, axis = tensor(x), tensor(index), node.get("axis", 0)
    how = {"none": "assign", "add": "add", "mul": "multiply", "max": "amax", "min": "amin"}[
        node.get("reduction", "none")
    ]
    return P.put_along_axis(x, _wrapped(index, x.shape[axis]), tensor(updates), axis, how, broadcast=False)


@reads("ScatterND")
def _scatter_nd(node: Node, x: Any, index: Any, updates: Any) -> Any:
    x, index, updates = tensor(x), tensor(index), tensor(updates)
    how = node.get("reduction", "none")
    if how not in ("none", "add"):
        raise node.missing(f"reduction {how}")
    columns = tuple(index[..., i] for i in range(index.shape[-1]))
    return P.index_put(x, columns, updates, accumulate=how == "add")


@reads("NonZero")
def _nonzero(node: Node, x: Any) -> Any:
    return P.transpose(P.nonzero(tensor(x)), [1, 0])


@reads("Compress")
def _compress(node: Node, x: Any, mask: Any) -> Any:
    x, axis = tensor(x), node.get("axis")
    x = P.reshape(x, [-1]) if axis is None else x
    places = P.reshape(P.nonzero(tensor(mask)), [-1])
    return P.gather(x, places, axis=axis or 0)


@reads("TopK")
def _topk(node: Node, x: Any, k: Any = None) -> tuple:
    (count,) = [node.get("k")] if k is None else ints(node, k)
    return P.topk(tensor(x), count, node.get("axis", -1), bool(node.get("largest", 1)), True)


@reads("DepthToSpace")
def _depth_to_space(node: Node, x: Any) -> Any:
    x, b = tensor(x), node.get("blocksize")
    n, c, h, w = x.shape
    if node.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, b)
    x = P.transpose(P.reshape(x, [n, b, b, c // b**2, h, w]), [0, 3, 4, 1, 5, 2])
    return P.reshape(x, [n, c // b**2, h * b, w * b])


@reads("SpaceToDepth")
def _space_to_depth(node: Node, x: Any) -> Any:
    x, b = tensor(x), node.get("blocksize")
    n, c, h, w = x.shape
    x = P.transpose(P.reshape(x, [n, c, h // b, b, w // b, b]), [0, 3, 5, 1, 2, 4])
    return P.reshape(x, [n, c * b * b, h // b, w // b])
