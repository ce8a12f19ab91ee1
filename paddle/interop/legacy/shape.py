"""Shapes: reshaping, joining, slicing, gathering, padding, copying."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from ...engine import errors
from ...engine.tensor import Tensor
from .call import Call, constant, elements, number, translates


@translates("reshape", "reshape2")
def reshape(op):
    return op["X"].reshape(op.numbers("shape", "ShapeTensor", "Shape"))


@translates("transpose", "transpose2")
def transpose(op):
    return op["X"].transpose(op.attr("axis"))


@translates("fused_transpose")
def fused_transpose(op):
    return op["X"].transpose(op.attr("axis"))


@translates("squeeze", "squeeze2")
def squeeze(op):
    x = op["X"]
    axes = sorted({a % len(x.shape) for a in op.numbers("axes", None, "AxesTensor")})
    if not axes:
        return paddle.squeeze(x)
    for axis in reversed(axes):  # a length that is not known yet is meant to be 1
        if x.shape[axis] == 1:
            x = paddle.squeeze(x, axis)
        elif int(x.shape[axis]) == -1:
            x = x[(slice(None),) * axis + (0,)]
    return x


@translates("unsqueeze", "unsqueeze2")
def unsqueeze(op):
    return paddle.unsqueeze(op["X"], op.numbers("axes", "AxesTensorList", "AxesTensor"))


@translates("flatten", "flatten2")
def flatten(op):
    x, axis = op["X"], op.attr("axis", 1)
    rows = 1
    for n in x.shape[:axis]:
        rows = rows * n
    return x.reshape([rows, -1] if 0 not in x.shape else [rows, _count(x.shape[axis:])])


def _count(lengths):
    n = 1
    for length in lengths:
        n = n * length
    return n


@translates("flatten_contiguous_range")
def flatten_contiguous_range(op):
    return paddle.flatten(op["X"], op.attr("start_axis", 1), op.attr("stop_axis", 1))


@translates("concat")
def concat(op):
    return paddle.concat(op.list("X"), op.axis("axis", 0, "AxisTensor"))


@translates("stack")
def stack(op):
    return {"Y": paddle.stack(op.list("X"), op.attr("axis", 0))}


@translates("unstack")
def unstack(op):
    return {"Y": paddle.unstack(op["X"], op.attr("axis", 0), op.attr("num", 0) or None)}


@translates("unbind")
def unbind(op):
    return paddle.unbind(op["X"], op.attr("axis", 0))


@translates("split")
def split(op):
    axis = op.axis("axis", 0, "AxisTensor")
    sections = op.numbers("sections", "SectionsTensorList")
    return paddle.split(op["X"], sections or op.attr("num", 0) or len(op.desc.outputs["Out"]), axis)


# ---- slices ----


def dropped(x, axes, empty_is_one: bool = False):
    """x without axes of length 1."""
    return paddle.squeeze(x, sorted(axes)) if axes else x


@translates("slice")
def slice_(op):
    x = op["Input"]
    if isinstance(x, list):
        return _slice_of_array(op, x)
    axes = [a % len(x.shape) for a in op.attr("axes")]
    starts = op.numbers("starts", "StartsTensorList", "StartsTensor")
    ends = op.numbers("ends", "EndsTensorList", "EndsTensor")
    decrease = [a % len(x.shape) for a in op.attr("decrease_axis", [])]
    if not len(axes) == len(starts) == len(ends):
        raise errors.ValueError_(f"slice: {len(axes)} axes, {len(starts)} starts, {len(ends)} ends")
    index: list = [slice(None)] * len(x.shape)
    for axis, start, end in zip(axes, starts, ends):
        if axis in decrease:
            index[axis] = start  # one position, and the axis goes
        elif isinstance(start, Tensor) or isinstance(end, Tensor) or (start, end) != (0, 2**31 - 1):
            index[axis] = slice(start, end)
    for axis in sorted(decrease, reverse=True):
        if isinstance(index[axis], Tensor):
            x = _at(x, index[axis], axis)
            index[axis] = slice(None)
            del index[axis]
    return x[tuple(index)]


def _at(x, position, axis):
    """x at one position of an axis, which a tensor gives; negative ones count from the end."""
    position = paddle.where(position < 0, position + x.shape[axis], position)
    return paddle.squeeze(paddle.index_select(x, position.reshape([1]), axis), axis)


def _slice_of_array(op: Call, array: list):
    start, end = (op.numbers(n, f"{n.title()}TensorList", f"{n.title()}Tensor")[0] for n in ("starts", "ends"))
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        raise NotImplementedError("slice: a part of an array of tensors that depends on data")
    return array[start] if op.attr("decrease_axis", []) else array[start:end]


@translates("strided_slice")
def strided_slice(op):
    x, axes = op["Input"], op.attr("axes")
    given = [op.numbers(n.lower(), f"{n}TensorList", f"{n}Tensor") for n in ("Starts", "Ends", "Strides")]
    if all(isinstance(step, int) and step > 0 for step in given[2]):
        index: list = [slice(None)] * len(x.shape)
        for axis, start, end, step in zip(axes, *given):
            index[axis] = slice(start, end, step)
        out = x[tuple(index)]
    else:
        out = paddle.strided_slice(x, axes, *given)
    return dropped(out, op.attr("decrease_axis", []))


@translates("set_value")
def set_value(op):
    x = op["Input"]
    axes = op.attr("axes", [])
    starts, ends, steps = (op.numbers(n.lower(), f"{n}TensorList") for n in ("Starts", "Ends", "Steps"))
    steps = steps or [1] * len(axes)
    index: list = [slice(None)] * len(x.shape)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        index[axis] = start if axis in op.attr("decrease_axes", []) else slice(start, end, step)
    for axis in sorted(op.attr("none_axes", [])):
        index.insert(axis, None)
    if op.has("ValueTensor"):
        value = op["ValueTensor"]
    else:
        value = values(op, x.dtype.name).reshape(op.attr("shape", [1]))
    out = x.clone()
    out[tuple(index)] = value.cast(out.dtype)
    return out


VALUES = (
    "values",
    "value",
    "fp32_values",
    "int32_values",
    "int64_values",
    "bool_values",
    "fp64_values",
    "fp16_values",
    "int8_values",
)


def values(op: Call, dtype: str):
    """The numbers that an operator carries, as a flat constant."""
    found = next((op.attr(n) for n in VALUES if op.attr(n)), [])
    return constant_of(found, dtype)


def constant_of(numbers: list, dtype: str):
    """A constant that a program knows while it is built when it is small."""
    if len(numbers) <= 16 and dtype in ("int32", "int64", "bool") and numbers:
        parts = [paddle.full([1], n, dtype) for n in numbers]
        return parts[0] if len(parts) == 1 else paddle.concat(parts)
    return paddle.to_tensor(numbers, dtype=dtype)


# ---- gathering ----


@translates("gather")
def gather(op):
    return paddle.gather(op["X"], op["Index"], op.axis("axis", 0, "Axis"))


@translates("gather_nd")
def gather_nd(op):
    return paddle.gather_nd(op["X"], op["Index"])


@translates("gather_tree")
def gather_tree(op):
    return F.gather_tree(op["Ids"], op["Parents"])


@translates("scatter")
def scatter(op):
    return paddle.scatter(op["X"], op["Ids"], op["Updates"], bool(op.attr("overwrite", True)))


@translates("scatter_nd_add")
def scatter_nd_add(op):
    return paddle.scatter_nd_add(op["X"], op["Index"], op["Updates"])


@translates("index_select")
def index_select(op):
    return paddle.index_select(op["X"], op["Index"], op.attr("dim", 0))


@translates("index_sample")
def index_sample(op):
    return paddle.index_sample(op["X"], op["Index"])


@translates("index_add")
def index_add(op):
    return paddle.index_add(op["X"], op["Index"], op.attr("axis", 0), op["AddValue"])


@translates("index_put")
def index_put(op):
    return paddle.index_put(op["x"], op.list("indices"), op["value"], bool(op.attr("accumulate", False)))


@translates("take_along_axis")
def take_along_axis(op):
    return {"Result": paddle.take_along_axis(op["Input"], op["Index"], op.attr("Axis", 0))}


@translates("put_along_axis")
def put_along_axis(op):
    out = paddle.put_along_axis(
        op["Input"], op["Index"], op["Value"], op.attr("Axis", 0), op.attr("Reduce", "assign"),
        include_self=bool(op.attr("Include_self", True)),
    )  # fmt: skip
    return {"Result": out}


@translates("multiplex")
def multiplex(op):
    return paddle.multiplex(op.list("X"), op["Ids"])


@translates("shard_index")
def shard_index(op):
    return paddle.shard_index(
        *(op["X"], *(op.attr(n) for n in ("index_num", "nshards", "shard_id"))), op.attr("ignore_value", -1)
    )


# ---- repeating ----


@translates("expand_v2")
def expand_v2(op):
    return paddle.expand(op["X"], op.numbers("shape", "expand_shapes_tensor", "Shape"))


@translates("expand_as_v2")
def expand_as_v2(op):
    return paddle.expand(op["X"], op["Y"].shape if op.has("Y") else op.attr("target_shape"))


@translates("expand")
def expand(op):
    return paddle.tile(op["X"], op.numbers("expand_times", "expand_times_tensor", "ExpandTimes"))


@translates("expand_as")
def expand_as(op):
    x, like = op["X"], op["target_tensor"]
    return paddle.tile(x, [b // a for a, b in zip(x.shape, like.shape)])


@translates("tile")
def tile(op):
    return paddle.tile(op["X"], op.numbers("repeat_times", "repeat_times_tensor", "RepeatTimes"))


@translates("broadcast_tensors")
def broadcast_tensors(op):
    return paddle.broadcast_tensors(op.list("X"))


@translates("meshgrid")
def meshgrid(op):
    return paddle.meshgrid(*op.list("X"))


@translates("repeat_interleave")
def repeat_interleave(op):
    repeats = op["RepeatsTensor"] if op.has("RepeatsTensor") else op.attr("Repeats", 0)
    if isinstance(repeats, Tensor) and constant(repeats) is not None:
        repeats = paddle.to_tensor(constant(repeats))
    return paddle.repeat_interleave(op["X"], repeats, op.attr("dim", 0))


# ---- order ----


@translates("flip", "reverse")
def flip(op):
    x = op["X"]
    if isinstance(x, list):
        return x[::-1]
    return paddle.flip(x, op.attr("axis"))


@translates("roll")
def roll(op):
    shifts = op.numbers("shifts", None, "ShiftsTensor")
    return paddle.roll(op["X"], shifts if len(shifts) != 1 else shifts[0], op.attr("axis", []) or None)


@translates("tril_triu")
def tril_triu(op):
    function = paddle.tril if op.attr("lower", True) else paddle.triu
    return function(op["X"], op.attr("diagonal", 0))


@translates("diag_v2")
def diag_v2(op):
    return paddle.diag(op["X"], op.attr("offset", 0), op.attr("padding_value", 0.0))


@translates("diag_embed")
def diag_embed(op):
    return paddle.diag_embed(op["Input"], op.attr("offset", 0), op.attr("dim1", -2), op.attr("dim2", -1))


@translates("diagonal")
def diagonal(op):
    return paddle.diagonal(op["Input"], op.attr("offset", 0), op.attr("axis1", 0), op.attr("axis2", 1))


# ---- cutting and padding ----


@translates("crop", "crop_tensor")
def crop(op):
    x = op["X"]
    shape = op["Y"].shape if op.has("Y") else op.numbers("shape", "ShapeTensor", "Shape")
    offsets = op.numbers("offsets", "OffsetsTensor", "Offsets") or [0] * len(x.shape)
    return paddle.crop(x, shape, offsets)


@translates("pad")
def pad(op):
    return F.pad(op["X"], list(op.attr("paddings")), "constant", op.attr("pad_value", 0.0))


@translates("pad2d")
def pad2d(op):
    """Paddings are top, bottom, left, right."""
    top, bottom, left, right = op.numbers("paddings", None, "Paddings")
    mode = {"edge": "replicate"}.get(op.attr("mode", "constant"), op.attr("mode", "constant"))
    return F.pad(op["X"], [left, right, top, bottom], mode, op.attr("pad_value", 0.0), op.attr("data_format", "NCHW"))


@translates("pad3d")
def pad3d(op):
    return F.pad(
        op["X"], op.numbers("paddings", None, "Paddings"), op.attr("mode", "constant"), op.attr("value", 0.0),
        op.attr("data_format", "NCDHW"),
    )  # fmt: skip


@translates("pad_constant_like")
def pad_constant_like(op):
    like, x = op["X"], op["Y"]
    after = [a - b for a, b in zip(like.shape, x.shape)]
    return F.pad(x, [n for a in after for n in (0, a)], "constant", op.attr("pad_value", 0.0))


# ---- copies, types, shapes ----


@translates(
    "assign", "share_data", "memcpy", "memcpy_d2h", "memcpy_h2d", "lod_reset", "npu_identity",
    "transfer_layout", "c_identity",
)  # fmt: skip
def same(op):
    return op["X"]


@translates("identity_loss")
def identity_loss(op):
    return (paddle.sum, paddle.mean, lambda x: x)[op.attr("reduction", 1)](op["X"])


@translates("print")
def print_(op):
    return op["In"]


@translates("share_buffer")
def share_buffer(op):
    return {"Out": op.list("X"), "XOut": op.list("X")}


@translates("cast")
def cast(op):
    return op["X"].cast(op.dtype("out_dtype"))


@translates("shape")
def shape(op):
    return paddle.shape(op["Input"]).cast("int32")


@translates("shape64")
def shape64(op):
    return paddle.shape(op["Input"])


@translates("size")
def size(op):
    return paddle.numel(op["Input"])


@translates("sequence_mask")
def sequence_mask(op):
    longest = number(op["MaxLenTensor"]) if op.has("MaxLenTensor") else op.attr("maxlen", -1)
    if not isinstance(longest, Tensor) and longest < 0:
        longest = None
    return {"Y": F.sequence_mask(op["X"], longest, op.dtype("out_dtype", "int64"))}


@translates("label_smooth")
def label_smooth(op):
    return F.label_smooth(op["X"], op.get("PriorDist"), op.attr("epsilon", 0.0))


__all__ = ["constant_of", "elements", "values"]
