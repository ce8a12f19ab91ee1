"""Losses on class labels: cross entropy and its relatives. Half-precision inputs are computed in float32.

Labels are looked at eagerly on the CPU: one out of range is an IndexError. Elsewhere and inside compiled functions it
makes the loss NaN.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float, promote_float
from ..engine.tensor import Tensor
from .activation import softmax, wide
from .axes import axis_of
from .checks import check_ids, host_value

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


def check_reduction(name: str, reduction: Any, allowed: tuple = ("mean", "sum", "none")) -> None:
    if reduction not in allowed:
        raise errors.ValueError_(f"{name}: reduction must be {', '.join(map(repr, allowed))}, got {reduction!r}")


def reduce(name: str, loss: Any, reduction: str, dtype: Any = None) -> Any:
    """The loss of each element, reduced ("mean", "sum", "none"), in the type `dtype`."""
    check_reduction(name, reduction)
    loss = jnp.mean(loss) if reduction == "mean" else jnp.sum(loss) if reduction == "sum" else loss
    return loss if dtype is None else loss.astype(dtype)


def same_shape(name: str, x: Any, label: Any, argument: str = "label") -> None:
    if x.shape != label.shape:
        raise errors.ValueError_(
            f"{name}: input and {argument} must have one shape, got {list(x.shape)} and {list(label.shape)}"
        )


# ---- cross entropy ----


def _over_axis(weight, like, axis):
    return weight.astype(like.dtype).reshape([-1 if i == axis else 1 for i in range(like.ndim)])


@nn_op(export=False, name="cross_entropy")
def _cross_entropy(x, label, weight, ignore_index, reduction, soft_label, axis, use_softmax, label_smoothing):
    """`label` has length 1 along `axis`, or, if soft, that of x. The result keeps the axis unless it is reduced."""
    v = wide(x)
    n = x.shape[axis]
    logs = jax.nn.log_softmax(v, axis) if use_softmax else jnp.log(v)
    total = None  # what the mean divides by
    if soft_label:
        target = label.astype(v.dtype)
        if label_smoothing:
            target = (1 - label_smoothing) * target + label_smoothing / n
        loss = -jnp.sum(target * logs, axis, keepdims=True)
        if weight is not None:
            total = jnp.sum(target * _over_axis(weight, v, axis), axis, keepdims=True)
            loss = loss * total
    else:
        label = label.astype(np.int64) if label.dtype != np.int32 else label
        counts = label != ignore_index
        valid = (label >= 0) & (label < n) | ~counts
        here = label == jax.lax.broadcasted_iota(label.dtype, v.shape, axis)
        per_class = None if weight is None else _over_axis(weight, v, axis)
        picked = jnp.sum(jnp.where(here, logs, 0), axis, keepdims=True)
        total = (
            jnp.where(counts, 1, 0).astype(v.dtype)
            if weight is None
            else jnp.sum(jnp.where(here & counts, per_class, 0), axis, keepdims=True)
        )
        if label_smoothing:
            picked = (1 - label_smoothing) * picked + label_smoothing * jnp.mean(logs, axis, keepdims=True)
            if weight is not None:
                total = jnp.where(counts, (1 - label_smoothing) * total + label_smoothing * jnp.mean(per_class), 0)
        loss = jnp.where(counts, -picked, 0)
        if weight is not None:
            loss = loss * total
        loss = jnp.where(valid, loss, jnp.nan)
    if reduction == "none":
        return loss.astype(x.dtype)
    whole = jnp.sum(loss)
    if reduction == "mean":
        if total is None or weight is None and ignore_index < 0:  # officially a negative one stays in the count
            count = loss.size
        else:
            count = jnp.sum(total)
            count = jnp.where(count == 0, 1, count)
        whole = whole / count
    return whole.astype(x.dtype)


def _prepare(name, x, label, ignore_index, soft_label, axis):
    """Check input and labels; returns (label with the class axis, axis, whether the axis was missing)."""
    if not isinstance(x, Tensor) or not isinstance(label, Tensor):
        raise errors.TypeError_(
            f"{name}: input and label must be Tensors, got {errors.describe(x)} and {errors.describe(label)}"
        )
    shape, given = list(x.shape), list(label.shape)
    if not shape:
        raise errors.ValueError_(f"{name}: input must have at least one dimension")
    if not x.dtype.is_floating:
        raise errors.TypeError_(f"{name}: input must be floating, got {x.dtype.name}")
    axis = axis_of(name, axis, len(shape))
    flat = len(given) == len(shape) - 1
    source = label  # whose elements are there already
    if flat:
        label = label.unsqueeze(axis)
        given = list(label.shape)
    wanted = list(shape)
    if not soft_label:
        wanted[axis] = 1
    if given != wanted:
        raise errors.ValueError_(
            f"{name}: a label of shape {wanted} is required for input of shape {shape} with axis "
            f"{axis} and soft_label={soft_label}, got {given}"
        )
    if not soft_label:
        if not label.dtype.is_integer:
            label = source = label.detach().astype("int64")
        check_ids(name, source, shape[axis], "the label", ignore_index)
    return label, axis, flat


@nn_api(aliases={"target": "label"})
def cross_entropy(
    input,
    label,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    soft_label=False,
    axis=-1,
    use_softmax=True,
    label_smoothing=0.0,
):
    """The cross entropy between softmax(input) and labels.

    Args:
        input: logits with C classes along `axis`; probabilities with use_softmax=False.
        label: class numbers, the shape of input without `axis` or with length 1 there; or, with soft_label, the
            probabilities of all classes, the shape of input.
        weight: a weight for each class, shape [C].
        ignore_index: a class number (it may be negative) whose samples have loss 0.
        reduction: "sum", "none" or "mean": divided by the sum of the weights of the labels that count; without weights
            by how many labels count, and if ignore_index is negative by how many there are, as officially.
        soft_label: `label` holds probabilities.
        axis: the axis of the classes.
        use_softmax: False when input holds probabilities already.
        label_smoothing: in [0, 1], how much of each label is spread evenly over the classes.

    Returns:
        A number, or with "none" the shape of label (with length 1 along `axis` for soft and smoothed labels). The mean
        is 0 when all labels are ignored, NaN when there are none.

    Raises:
        IndexError: a label outside [0, C) that is not ignore_index.
        ValueError: shapes that do not fit, an unknown reduction, label_smoothing out of range, ignore_index with
            soft labels.

    Example:
        >>> round(paddle.nn.functional.cross_entropy(paddle.zeros([1, 2]), paddle.to_tensor([1])).item(), 4)
        0.6931
    """
    check_reduction("cross_entropy", reduction)
    if not 0 <= label_smoothing <= 1:
        raise errors.ValueError_(f"cross_entropy: label_smoothing must be between 0 and 1, got {label_smoothing}")
    hard = not soft_label or label_smoothing > 0 and label.dtype.is_integer and list(label.shape) != list(input.shape)
    if soft_label and ignore_index >= 0:
        raise errors.ValueError_(f"cross_entropy: ignore_index={ignore_index} has no meaning with soft labels")
    label, axis, flat = _prepare("cross_entropy", input, label, ignore_index, not hard, axis)
    n = input._raw.shape[axis]
    if weight is not None and list(weight.shape) != [n]:
        raise errors.ValueError_(
            f"cross_entropy: weight must have shape [{n}], one for each class, got {list(weight.shape)}"
        )
    out = _cross_entropy(
        input, label, weight, ignore_index, reduction, not hard, axis, bool(use_softmax), float(label_smoothing)
    )
    return out.squeeze(axis) if reduction == "none" and flat and not label_smoothing else out


@nn_api
def softmax_with_cross_entropy(
    logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, return_softmax=False, axis=-1
):
    """The cross entropy of each sample, without reduction; the older form of `cross_entropy`.

    Args:
        logits: shape [..., C, ...] with the classes along `axis`.
        label: class numbers with length 1 along `axis`, or the probabilities of all classes with soft_label.
        ignore_index: a class number whose samples have loss 0.
        numeric_stable_mode: accepted; the computation is always stable.
        return_softmax: also return softmax(logits).

    Raises:
        IndexError: a label outside [0, C).
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.nn.functional.softmax_with_cross_entropy(paddle.zeros([1, 2]), paddle.to_tensor([[1]])).shape
        [1, 1]
    """
    if len(label.shape) != len(logits.shape):
        raise errors.ValueError_(
            f"softmax_with_cross_entropy: label must have as many dimensions as logits, got "
            f"{list(label.shape)} and {list(logits.shape)}"
        )
    label, axis, _ = _prepare("softmax_with_cross_entropy", logits, label, ignore_index, soft_label, axis)
    loss = _cross_entropy(logits, label, None, ignore_index, "none", bool(soft_label), axis, True, 0.0)
    if not return_softmax:
        return loss
    return loss, softmax(logits, axis)


@nn_op(export=False, name="nll_loss")
def _nll_loss(x, label, weight, ignore_index, reduction):
    v = wide(x)
    n = x.shape[1]
    label = jnp.expand_dims(label, 1)
    counts = label != ignore_index
    here = (label == jax.lax.broadcasted_iota(label.dtype, v.shape, 1)) & counts
    w = jnp.ones((), v.dtype) if weight is None else _over_axis(weight, v, 1)
    total = jnp.sum(jnp.where(here, w, 0), 1)
    loss = -jnp.sum(jnp.where(here, v * w, 0), 1)
    loss = jnp.where(jnp.squeeze((label >= 0) & (label < n) | ~counts, 1), loss, jnp.nan)
    if reduction == "none":
        return loss.astype(x.dtype)
    whole = jnp.sum(loss)
    if reduction == "mean":
        count = jnp.sum(total)
        whole = whole / jnp.where(count == 0, 1, count)
    return whole.astype(x.dtype)


@nn_api
def nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean"):
    """The negative log likelihood: minus the entry of input at the label.

    Args:
        input: log probabilities, shape [N, C] or [N, C, d1, ...].
        label: class numbers, shape [N] or [N, d1, ...].
        weight: a weight for each class, shape [C].
        ignore_index: a class number whose samples do not count.
        reduction: "mean" (divided by the sum of the weights of the labels; 0 when none counts), "sum" or "none".

    Raises:
        ValueError: shapes that do not fit, an unknown reduction, a label out of range.

    Example:
        >>> paddle.nn.functional.nll_loss(paddle.to_tensor([[-1.0, -2.0]]), paddle.to_tensor([1])).item()
        2.0
    """
    check_reduction("nll_loss", reduction)
    shape = list(input.shape)
    if len(shape) < 2 or list(label.shape) != shape[:1] + shape[2:]:
        raise errors.ValueError_(
            f"nll_loss: input [N, C, ...] and label [N, ...] are required, got {shape} and {list(label.shape)}"
        )
    if not label.dtype.is_integer:
        raise errors.TypeError_(f"nll_loss: label must be integers, got {label.dtype.name}")
    if weight is not None and list(weight.shape) != [shape[1]]:
        raise errors.ValueError_(
            f"nll_loss: weight must have shape [{shape[1]}], one for each class, got {list(weight.shape)}"
        )
    check_ids("nll_loss", label, shape[1], "the label", ignore_index, errors.ValueError_)
    return _nll_loss(input, label, weight, ignore_index, reduction)


# ---- binary ----


def _bce_gradient(inputs, outputs, cotangents, *attributes):
    x, label = inputs
    g = cotangents[0]
    return g * (x - label) / jnp.maximum((1 - x) * x, 1e-12), g * (_bounded_log(1 - x) - _bounded_log(x))


def _bounded_log(x):
    return jnp.maximum(jnp.log(x), -100)


@nn_op(export=False, name="bce_loss", gradient=_bce_gradient)
def _bce(x, label):
    return -(label * _bounded_log(x) + (1 - label) * _bounded_log(1 - x))


@nn_op(export=False, name="reduce_loss")
def _reduced(loss, weight, reduction):
    return reduce("reduce_loss", loss if weight is None else loss * weight, reduction)


@nn_api
def binary_cross_entropy(input, label, weight=None, reduction="mean"):
    """-(label * log(input) + (1 - label) * log(1 - input)), with logarithms bounded below by -100.

    Args:
        input: probabilities in [0, 1].
        label: in [0, 1], the shape of input.
        weight: multiplied with the loss of each element; it broadcasts.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that differ, an unknown reduction, input outside [0, 1] (seen eagerly on the CPU).

    Example:
        >>> round(paddle.nn.functional.binary_cross_entropy(paddle.to_tensor([0.5]), paddle.to_tensor([1.0])).item(), 4)
        0.6931
    """
    check_reduction("binary_cross_entropy", reduction)
    same_shape("binary_cross_entropy", input, label)
    array = host_value(input)
    if array is not None and (array.min() < 0 or array.max() > 1):
        raise errors.ValueError_(f"binary_cross_entropy: input must lie in [0, 1], got {array.min()} to {array.max()}")
    return _reduced(_bce(input, label), weight, reduction)


@nn_op
def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None):
    """`binary_cross_entropy` of sigmoid(logit), computed without overflow.

    Args:
        logit: any floating values.
        label: in [0, 1], the shape of logit.
        weight: multiplied with the loss of each element; it broadcasts.
        reduction: "mean", "sum" or "none".
        pos_weight: multiplied with the part of label 1; it broadcasts.

    Raises:
        ValueError: shapes that differ, an unknown reduction.

    Example:
        >>> x, y = paddle.zeros([1]), paddle.ones([1])
        >>> round(paddle.nn.functional.binary_cross_entropy_with_logits(x, y).item(), 4)
        0.6931
    """
    same_shape("binary_cross_entropy_with_logits", logit, label)
    x = wide(logit)
    y = label.astype(x.dtype)
    negative = jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.where(x < 0, -x, 0)  # -log(sigmoid(x))
    loss = (1 - y) * x + (negative if pos_weight is None else (1 + (pos_weight - 1) * y) * negative)
    return reduce(
        "binary_cross_entropy_with_logits", loss if weight is None else loss * weight, reduction, as_float(logit).dtype
    )


@nn_op
def sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum"):
    """The focal loss (Lin et al., 2017): binary cross entropy that weighs sure predictions down.

    Args:
        logit: any floating values.
        label: 0 or 1 (or between), the shape of logit.
        normalizer: a tensor of one element that divides the loss.
        alpha: the weight of label 1, 1 - alpha that of label 0; negative for none.
        gamma: the power of 1 - probability.
        reduction: "sum", "mean" or "none".

    Raises:
        ValueError: shapes that differ, a normalizer of several elements, an unknown reduction.

    Example:
        >>> round(paddle.nn.functional.sigmoid_focal_loss(paddle.zeros([1]), paddle.ones([1])).item(), 4)
        0.0433
    """
    same_shape("sigmoid_focal_loss", logit, label)
    if normalizer is not None and (normalizer.ndim > 1 or normalizer.size != 1):
        raise errors.ValueError_(
            f"sigmoid_focal_loss: normalizer must have one element, got shape {list(normalizer.shape)}"
        )
    x = as_float(logit)
    y = label.astype(x.dtype)
    loss = (1 - y) * x + jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.where(x < 0, -x, 0)
    p = jax.lax.logistic(x)
    loss = (alpha * y + (1 - alpha) * (1 - y)) * loss
    miss = 1 - (p * y + (1 - p) * (1 - y))
    loss = loss * jnp.where(miss == 0, 0.0 if gamma > 0 else 1.0, jnp.where(miss == 0, 1, miss) ** gamma)
    if normalizer is not None:
        loss = loss / normalizer.reshape(())
    return reduce("sigmoid_focal_loss", loss.astype(x.dtype), reduction)


@nn_op
def log_loss(input, label, epsilon=1e-4):
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon), for each element.

    Args:
        input: probabilities, shape [N, 1].
        label: the shape of input.

    Raises:
        ValueError: shapes that differ.

    Example:
        >>> round(paddle.nn.functional.log_loss(paddle.ones([1, 1]), paddle.ones([1, 1])).item(), 4)
        -0.0001
    """
    same_shape("log_loss", input, label)
    return -label * jnp.log(input + epsilon) - (1 - label) * jnp.log(1 - input + epsilon)


# ---- several classes, several labels ----


@nn_op
def dice_loss(input, label, epsilon=1e-5):
    """1 - 2 * overlap / size of both: for segmentation of unbalanced classes (Milletari et al., 2016).

    Args:
        input: probabilities, shape [N, ..., C].
        label: class numbers, shape [N, ..., 1].

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> x, y = paddle.to_tensor([[0.0, 1.0]]), paddle.to_tensor([[1]])
        >>> round(paddle.nn.functional.dice_loss(x, y).item(), 4)
        0.0
    """
    if input.ndim < 2 or label.shape != input.shape[:-1] + (1,):
        raise errors.ValueError_(
            f"dice_loss: input [N, ..., C] and label [N, ..., 1] are required, got "
            f"{list(input.shape)} and {list(label.shape)}"
        )
    onehot = jax.nn.one_hot(label[..., 0], input.shape[-1], dtype=input.dtype)
    axes = tuple(range(1, input.ndim))
    overlap = jnp.sum(input * onehot, axes)
    return jnp.mean(1 - 2 * overlap / (jnp.sum(input, axes) + jnp.sum(onehot, axes) + epsilon))


@nn_op(export=False, name="multi_margin_loss")
def _multi_margin_loss(x, label, p, margin, weight, reduction):
    v = as_float(x)
    n = v.shape[1]
    here = label[:, None] == jnp.arange(n)
    own = jnp.sum(jnp.where(here, v, 0), 1, keepdims=True)
    loss = margin - own + v
    loss = jnp.where(loss > 0, jnp.where(loss > 0, loss, 1) ** p, 0)
    if weight is not None:
        loss = loss * jnp.sum(jnp.where(here, weight, 0), 1, keepdims=True)
    loss = jnp.where(jnp.any(here, 1), jnp.sum(jnp.where(here, 0, loss), 1) / n, jnp.nan)
    return reduce("multi_margin_loss", loss, reduction)


@nn_api
def multi_margin_loss(input, label, p=1, margin=1.0, weight=None, reduction="mean"):
    """mean over classes i but the label y of weight[y] * max(0, margin - input[y] + input[i]) ** p.

    Args:
        input: shape [N, C].
        label: class numbers, shape [N].
        weight: shape [C], or None.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that do not fit, a label out of range, an unknown reduction.

    Example:
        >>> paddle.nn.functional.multi_margin_loss(paddle.zeros([1, 2]), paddle.to_tensor([0])).item()
        0.5
    """
    check_reduction("multi_margin_loss", reduction)
    shape = list(input.shape)
    if len(shape) != 2 or list(label.shape) != shape[:1]:
        raise errors.ValueError_(
            f"multi_margin_loss: input [N, C] and label [N] are required, got {shape} and {list(label.shape)}"
        )
    if weight is not None and list(weight.shape) != shape[1:]:
        raise errors.ValueError_(f"multi_margin_loss: weight must have shape {shape[1:]}, got {list(weight.shape)}")
    check_ids("multi_margin_loss", label, shape[1], "the label", None, errors.ValueError_)
    return _multi_margin_loss(input, label, p, margin, weight, reduction)


@nn_op(export=False, name="multi_label_margin_loss")
def _multi_label_margin_loss(x, label, reduction):
    n = x.shape[1]
    listed = jnp.cumprod(label >= 0, 1).astype(bool)  # up to the first -1
    mine = jnp.any((label[:, :, None] == jnp.arange(n)) & listed[:, :, None], 1)
    at = jnp.take_along_axis(x, jnp.clip(label, 0, n - 1), 1)
    loss = 1 - at[:, :, None] + x[:, None, :]
    loss = jnp.where(listed[:, :, None] & ~mine[:, None, :] & (loss > 0), loss, 0)
    return reduce("multi_label_margin_loss", jnp.sum(loss, (1, 2)) / n, reduction)


@nn_api
def multi_label_margin_loss(input, label, reduction="mean"):
    """mean over labels j and other classes i of max(0, 1 - (input[j] - input[i])).

    Args:
        input: shape [N, C].
        label: shape [N, C]: the class numbers of each sample, then -1.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that differ, a label out of range, an unknown reduction.

    Example:
        >>> paddle.nn.functional.multi_label_margin_loss(paddle.zeros([1, 2]), paddle.to_tensor([[0, -1]])).item()
        0.5
    """
    check_reduction("multi_label_margin_loss", reduction)
    if len(input.shape) != 2:
        raise errors.ValueError_(f"multi_label_margin_loss: input must be 2-D, got shape {list(input.shape)}")
    same_shape("multi_label_margin_loss", input, label)
    check_ids("multi_label_margin_loss", label, input.shape[1], "the label", -1, errors.ValueError_)
    return _multi_label_margin_loss(input, label, reduction)


@nn_op
def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean"):
    """The mean over classes of -(label * log(sigmoid(input)) + (1 - label) * log(sigmoid(-input))).

    Args:
        input: shape [N, C].
        label: 0 or 1, the shape of input.
        weight: a weight for each class, shape [C].
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that differ, an unknown reduction.

    Example:
        >>> x, y = paddle.zeros([1, 2]), paddle.ones([1, 2])
        >>> round(paddle.nn.functional.multi_label_soft_margin_loss(x, y).item(), 4)
        0.6931
    """
    same_shape("multi_label_soft_margin_loss", input, label)
    x, y = promote_float("multi_label_soft_margin_loss", input, label)
    loss = -(y * jax.nn.log_sigmoid(x) + (1 - y) * jax.nn.log_sigmoid(-x))
    loss = jnp.mean(loss if weight is None else loss * weight, -1)
    return reduce("multi_label_soft_margin_loss", loss, reduction)


@nn_op
def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """The N-pair loss (Sohn, 2016) with L2 regularisation of the embeddings.

    Args:
        anchor, positive: embeddings, shape [batch, width].
        labels: the class of each pair, shape [batch].
        l2_reg: the factor of the regularisation.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> paddle.nn.functional.npair_loss(paddle.zeros([1, 2]), paddle.zeros([1, 2]), paddle.to_tensor([0.0])).item()
        0.0
    """
    same_shape("npair_loss", anchor, positive, "positive")
    n = anchor.shape[0]
    if anchor.ndim != 2 or labels.size != n:
        raise errors.ValueError_(
            f"npair_loss: embeddings [batch, width] and labels [batch] are required, got "
            f"{list(anchor.shape)} and {list(labels.shape)}"
        )
    labels = labels.reshape(n, 1)
    target = (labels == labels.T).astype(anchor.dtype)
    target = target / jnp.sum(target, 1, keepdims=True)
    norm = (jnp.mean(jnp.sum(anchor * anchor, 1)) + jnp.mean(jnp.sum(positive * positive, 1))) * 0.25 * l2_reg
    logs = jax.nn.log_softmax(jnp.matmul(anchor, positive.T), 1)
    return norm + jnp.mean(-jnp.sum(target * logs, 1))
