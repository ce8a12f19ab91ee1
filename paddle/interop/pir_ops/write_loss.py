"""Writers of losses and of operators on graphs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import paddle as P

from ...engine import errors
from .writing import COMPOSED, WRITERS, Writing, composes, writes

F = P.nn.functional

# ---- losses ----


def _reduced(loss: Any, reduction: str) -> Any:
    return P.mean(loss) if reduction == "mean" else P.sum(loss) if reduction == "sum" else loss


@composes("reduce_loss")
def _reduce_loss(loss: Any, weight: Any = None, reduction: str = "mean") -> Any:
    loss = loss if weight is None else loss * weight
    return P.assign(loss) if reduction == "none" else _reduced(loss, reduction)


COMPOSED["mse_loss"] = lambda input, label, reduction: _reduced(P.square(input - label), reduction)
COMPOSED["l1_loss"] = lambda input, label, reduction: _reduced(P.abs(input - label), reduction)
WRITERS["log_loss"] = lambda w, a: w.op("log_loss", a.input, a.label, epsilon=float(a.epsilon))
WRITERS["kl_div"] = lambda w, a: w.op("kldiv_loss", a.input, a.label, reduction=a.reduction, log_target=a.log_target)


@writes("bce_loss")
def _bce(w: Writing, a: SimpleNamespace) -> Any:
    return w.op("bce_loss", a.x, a.label) if getattr(a, "weight", None) is None else NotImplemented


@composes("bce_loss")
def _weighted_bce(x: Any, label: Any, weight: Any) -> Any:
    return F.binary_cross_entropy(x, label, reduction="none") * weight


@composes("smooth_l1_loss")
def _smooth_l1(input: Any, label: Any, reduction: str, delta: Any, is_huber: bool) -> Any:
    d = P.abs(input - label)
    loss = P.where(d <= delta, 0.5 * d * d, delta * d - 0.5 * delta * delta)
    return _reduced(loss if is_huber else loss / delta, reduction)


@composes("binary_cross_entropy_with_logits")
def _bce_with_logits(
    logit: Any, label: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    softened = P.log1p(P.exp(-P.abs(logit))) + P.clip(-logit, min=0.0)
    factor = 1.0 if pos_weight is None else (pos_weight - 1) * label + 1
    loss = (1 - label) * logit + softened * factor
    return _reduced(loss if weight is None else loss * weight, reduction)


@composes("margin_ranking_loss")
def _margin_ranking(input: Any, other: Any, label: Any, margin: float, reduction: str) -> Any:
    return _reduced(F.relu(-label * (input - other) + margin), reduction)


@writes("nll_loss")
def _nll_loss(w: Writing, a: SimpleNamespace) -> Any:
    weight = getattr(a, "weight", None)
    x = w.ref(a.x)
    return w.op(
        "nll_loss", x, a.label, weight, results=[w.results[0], (x.dtype, ())], ignore_index=a.ignore_index,
        reduction=a.reduction,
    )[:1]  # fmt: skip


@writes("cross_entropy")
def _cross_entropy(w: Writing, a: SimpleNamespace) -> Any:
    if getattr(a, "weight", None) is not None or a.label_smoothing or a.reduction != "none":
        return NotImplemented
    x, label = w.ref(a.x), w.ref(a.label)
    axis = a.axis % x.ndim
    shape = list(x.shape)
    shape[axis] = 1
    if not a.soft_label and label.ndim < x.ndim:
        label = w.op("unsqueeze", label, w.ints([axis]), results=[(label.dtype, shape)])[0]
    out = w.op(
        "cross_entropy_with_softmax", x, label, results=[(x.dtype, x.shape), (x.dtype, shape)],
        soft_label=a.soft_label, use_softmax=a.use_softmax, ignore_index=a.ignore_index, axis=axis,
    )[1]  # fmt: skip
    if len(w.results[0][1]) < x.ndim:
        out = w.op("squeeze", out, w.ints([axis]))[0]
    return [out]


@composes("cross_entropy")
def _cross_entropy_composed(x: Any, label: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", soft_label: bool = False, axis: int = -1, use_softmax: bool = True, label_smoothing: float = 0.0) -> Any:  # fmt: skip  # noqa: E501
    if label_smoothing and not soft_label:
        index = P.squeeze(label, axis) if label.ndim == x.ndim else label
        label, soft_label = F.one_hot(index, int(x.shape[axis])), True
        if axis % x.ndim != x.ndim - 1:
            raise errors.NotImplemented_("label smoothing along another axis than the last")
    if label_smoothing:
        label = F.label_smooth(label, None, label_smoothing)
    if weight is not None:
        if soft_label or axis % x.ndim != x.ndim - 1:
            raise errors.NotImplemented_("weights of classes with soft labels or along another axis than the last")
        index = P.squeeze(label, axis) if label.ndim == x.ndim else label
        kept = index != ignore_index
        share = P.gather(weight, P.flatten(P.where(kept, index, P.zeros_like(index)))).reshape(list(index._raw.shape))
        share = share * kept.astype(x.dtype)
        loss = F.cross_entropy(x, label, None, ignore_index, "none", False, axis, use_softmax)
        loss = loss * (P.unsqueeze(share, axis) if loss.ndim > share.ndim else share)
        return P.sum(loss) / P.sum(share) if reduction == "mean" else _reduced(loss, reduction)
    loss = F.cross_entropy(x, label, None, ignore_index, "none", soft_label, axis, use_softmax)
    if reduction == "sum" or soft_label:
        return _reduced(loss, reduction)
    kept = (label != ignore_index).astype(x.dtype)
    return P.sum(loss) / P.clip(P.sum(kept), min=1.0)


@writes("accuracy")
def _accuracy(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.input)
    shape = (x.shape[0], a.k)
    best = w.op("topk", x, w.full(a.k, "int32", [1], "cpu"), results=[(x.dtype, shape), ("int64", shape)])
    return w.op("accuracy", *best, w.cast(a.label, "int64"))


# ---- graphs ----


@composes("segment_reduce")
def _segment_reduce(x: Any, index: Any, n: Any, kind: str) -> Any:
    if kind != "sum":
        raise errors.NotImplemented_(f"the kind {kind!r}")
    zeros = P.zeros([n, *x._raw.shape[1:]], x.dtype)
    return P.scatter_nd_add(zeros, P.unsqueeze(index, 1), x)


@composes("shard_index")
def _shard_index(x: Any, size: int, shard_id: int, ignore_value: int) -> Any:
    return P.where(P.floor_divide(x, size) == shard_id, P.remainder(x, size), P.full_like(x, ignore_value))
