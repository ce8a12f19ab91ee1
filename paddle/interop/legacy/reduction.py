"""Reductions, norms, searching and sorting."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from .call import TRANSLATORS, Call, number, translates

REDUCTIONS = {
    "reduce_sum": paddle.sum,
    "reduce_mean": paddle.mean,
    "reduce_max": paddle.max,
    "reduce_min": paddle.min,
    "reduce_amax": paddle.amax,
    "reduce_amin": paddle.amin,
    "reduce_prod": paddle.prod,
    "reduce_all": paddle.all,
    "reduce_any": paddle.any,
}


def _axes(op: Call, x, name: str = "dim", flag: str = "reduce_all") -> list | None:
    """The axes of a reduction, None for all."""
    axes = (
        op.numbers(name, "AxisTensorList", "AxisTensor") if name in op.desc.attributes or op.has("AxisTensor") else [0]
    )
    if op.attr(flag, False) or not axes or len(axes) == len(x.shape):
        return None
    return axes


def reduce(op: Call):
    x, dtype = op["X"], op.dtype("out_dtype")
    axes, keep = _axes(op, x), bool(op.attr("keep_dim", False))
    if op.type in ("reduce_sum", "reduce_prod"):
        return REDUCTIONS[op.type](x, axes, keepdim=keep, dtype=dtype)
    out = REDUCTIONS[op.type](x, axes, keepdim=keep)
    return out.cast(dtype) if dtype is not None and out.dtype.name != dtype else out


for _kind in REDUCTIONS:
    TRANSLATORS[_kind] = reduce


@translates("mean")
def mean(op):
    return paddle.mean(op["X"])


@translates("logsumexp")
def logsumexp(op):
    x = op["X"]
    name = "axis" if "axis" in op.desc.attributes else "dim"
    keep = op.attr("keepdim", op.attr("keep_dim", False))
    return paddle.logsumexp(x, _axes(op, x, name), bool(keep))


@translates("var", "std")
def variance(op):
    x = op["x"] if op.has("x") else op["X"]
    axes = op.attr("axis", []) or None
    return (paddle.var if op.type == "var" else paddle.std)(
        x, axes, bool(op.attr("unbiased", True)), bool(op.attr("keepdim", False))
    )


@translates("frobenius_norm")
def frobenius_norm(op):
    x = op["X"]
    return paddle.sqrt(paddle.sum(x * x, _axes(op, x), keepdim=bool(op.attr("keep_dim", False))))


@translates("p_norm")
def p_norm(op):
    x, p, keep = op["X"], op.attr("porder", 2.0), bool(op.attr("keepdim", False))
    if op.attr("asvector", False):
        x, axis = x.flatten(), 0
    else:
        axis = op.attr("axis", -1)
    size = paddle.abs(x)
    if p == 0:
        return paddle.sum((x != 0).cast(x.dtype), axis, keepdim=keep)
    if p in (float("inf"), float("-inf")):
        return (paddle.max if p > 0 else paddle.min)(size, axis, keepdim=keep)
    if p == 1:
        return paddle.sum(size, axis, keepdim=keep)
    if p == 2:
        return paddle.sqrt(paddle.sum(x * x, axis, keepdim=keep))
    return paddle.sum(size**p, axis, keepdim=keep) ** (1.0 / p)


@translates("norm")
def norm(op):
    x = op["X"]
    length = paddle.sqrt(paddle.sum(x * x, op.attr("axis", -1), keepdim=True) + op.attr("epsilon", 1e-10))
    return {"Out": x / length, "Norm": length}


@translates("l1_norm")
def l1_norm(op):
    return paddle.sum(paddle.abs(op["X"]))


@translates("squared_l2_norm")
def squared_l2_norm(op):
    return paddle.sum(paddle.square(op["X"])).reshape([1])


@translates("trace")
def trace(op):
    return paddle.trace(op["Input"], op.attr("offset", 0), op.attr("axis1", 0), op.attr("axis2", 1))


# ---- searching ----


@translates("arg_max", "arg_min")
def arg_max(op):
    axis = None if op.attr("flatten", False) else number(op.attr("axis", -1))
    function = paddle.argmax if op.type == "arg_max" else paddle.argmin
    return function(op["X"], axis, bool(op.attr("keepdims", False)), dtype=op.dtype("dtype", "int64"))


@translates("argsort")
def argsort(op):
    x, axis, descending = op["X"], op.attr("axis", -1), bool(op.attr("descending", False))
    order = paddle.argsort(x, axis, descending, bool(op.attr("stable", False)))
    return {"Indices": order, "Out": paddle.sort(x, axis, descending)}


@translates("top_k", "top_k_v2")
def top_k(op):
    k = number(op["K"]) if op.has("K") else number(op.attr("k", 1))
    axis = op.attr("axis", -1) if op.type == "top_k_v2" else -1
    out, indices = paddle.topk(op["X"], k, axis, bool(op.attr("largest", True)), bool(op.attr("sorted", True)))
    return {"Out": out, "Indices": indices}


@translates("kthvalue")
def kthvalue(op):
    out, indices = paddle.kthvalue(op["X"], op.attr("k", 1), op.attr("axis", -1), bool(op.attr("keepdim", False)))
    return {"Out": out, "Indices": indices}


@translates("mode")
def mode(op):
    out, indices = paddle.mode(op["X"], op.attr("axis", -1), bool(op.attr("keepdim", False)))
    return {"Out": out, "Indices": indices}


@translates("searchsorted")
def searchsorted(op):
    return paddle.searchsorted(
        op["SortedSequence"], op["Values"], bool(op.attr("out_int32", False)), bool(op.attr("right", False))
    )


@translates("where_index")
def where_index(op):
    return paddle.nonzero(op["Condition"])


@translates("where")
def where(op):
    return paddle.where(op["Condition"], op["X"], op["Y"])


@translates("masked_select")
def masked_select(op):
    return {"Y": paddle.masked_select(op["X"], op["Mask"])}


@translates("unique")
def unique(op):
    """Values, the index of each element's value, the first position of each value, how often each is there."""
    axis = op.attr("axis", [])
    kind = op.dtype("dtype", "int64")
    if not op.attr("is_sorted", False):
        raise NotImplementedError("unique: values in the order of their first appearance (is_sorted is False)")
    out, first, inverse, counts = paddle.unique(op["X"], True, True, True, axis[0] if axis else None, kind)
    return {"Out": out, "Indices": first, "Index": inverse, "Counts": counts}


@translates("softmax_with_cross_entropy")
def softmax_with_cross_entropy(op):
    axis = op.attr("axis", -1)
    loss = F.softmax_with_cross_entropy(
        op["Logits"], op["Label"], bool(op.attr("soft_label", False)), op.attr("ignore_index", -100), axis=axis
    )
    return {"Loss": loss, "Softmax": F.softmax(op["Logits"], axis)}


@translates("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(op):
    x, label, ignored = op["X"], op["Label"], op.attr("ignore_index", -100)
    loss = F.binary_cross_entropy_with_logits(x, label, reduction="none")
    kept = (label != ignored).cast(x.dtype)
    loss = loss * kept
    return loss / paddle.clip(paddle.sum(kept), 1e-5) if op.attr("normalize", False) else loss
