"""Losses for very many classes: adaptive softmax, angular margins."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT
from .checks import check_ids
from .loss import check_reduction, reduce
from .random import randperm

nn_op = functools.partial(op, method=False, export=False)
nn_api = functools.partial(api, method=False)


@nn_op(name="adaptive_log_softmax")
def _adaptive_log_softmax(x, label, head_weight, head_bias, tails, cutoffs):
    """The log probability of each label; `tails` are the two factors of each cluster, one after the other."""
    head = x @ head_weight
    head = jax.nn.log_softmax(head if head_bias is None else head + head_bias, -1)

    def pick(logs, at, inside):
        return jnp.take_along_axis(logs, jnp.where(inside, at, 0)[:, None], 1)[:, 0]

    short = cutoffs[0]
    inside = (label >= 0) & (label < short)
    out = jnp.where(inside, pick(head, label, inside), jnp.nan)
    for i, (low, high) in enumerate(zip(cutoffs, cutoffs[1:])):
        inside = (label >= low) & (label < high)
        logs = jax.nn.log_softmax(x @ tails[2 * i] @ tails[2 * i + 1], -1)
        out = jnp.where(inside, head[:, short + i] + pick(logs, label - low, inside), out)
    return out


@nn_api
def adaptive_log_softmax_with_loss(input, label, head_weight, tail_weights, cutoffs, head_bias=None):
    """The adaptive softmax (Grave et al., Efficient softmax approximation for GPUs, 2017): frequent classes directly,
    rare ones in clusters with smaller projections.

    Args:
        input: shape [N, width] or [width].
        label: class numbers, shape [N] or [].
        head_weight: shape [width, cutoffs[0] + number of clusters].
        tail_weights: for each cluster a pair of weights, [width, projection] and [projection, size of the cluster].
        cutoffs: where the clusters start, rising, then the number of classes.
        head_bias: shape [cutoffs[0] + number of clusters], or None.

    Returns:
        (the log probability of each label, minus their mean).

    Raises:
        ValueError: a label out of range, shapes that do not fit.

    Example:
        >>> x, label, head = paddle.zeros([1, 2]), paddle.to_tensor([2]), paddle.ones([2, 2])
        >>> tails = [[paddle.ones([2, 1]), paddle.ones([1, 2])]]
        >>> out, loss = paddle.nn.functional.adaptive_log_softmax_with_loss(x, label, head, tails, [1, 3])
        >>> round(loss.item(), 4)
        1.3863
    """
    name = "adaptive_log_softmax_with_loss"
    cutoffs = tuple(int(c) for c in cutoffs)
    alone = len(input.shape) == 1
    if not 1 <= len(input.shape) <= 2 or list(label.shape) != list(input.shape)[:-1]:
        raise errors.ValueError_(
            f"{name}: input [N, width] and label [N] are required, got {list(input.shape)} and {list(label.shape)}"
        )
    if not cutoffs or list(cutoffs) != sorted(set(cutoffs)) or cutoffs[0] < 1 or len(tail_weights) != len(cutoffs) - 1:
        raise errors.ValueError_(
            f"{name}: cutoffs must rise and have one more element than tail_weights, got {list(cutoffs)}"
        )
    if list(head_weight.shape) != [input.shape[-1], cutoffs[0] + len(tail_weights)]:
        raise errors.ValueError_(
            f"{name}: head_weight must have shape "
            f"{[input.shape[-1], cutoffs[0] + len(tail_weights)]}, got "
            f"{list(head_weight.shape)}"
        )
    for pair, low, high in zip(tail_weights, cutoffs, cutoffs[1:]):
        if list(pair[1].shape) != [pair[0].shape[1], high - low] or pair[0].shape[0] != input.shape[-1]:
            raise errors.ValueError_(
                f"{name}: the weights of the cluster [{low}, {high}) have shapes "
                f"{list(pair[0].shape)} and "
                f"{list(pair[1].shape)}"
            )
    check_ids(name, label, cutoffs[-1], "the label", None, errors.ValueError_)
    if alone:
        input, label = input.unsqueeze(0), label.unsqueeze(0)
    flat = [weight for pair in tail_weights for weight in pair]
    out = _adaptive_log_softmax(input, label, head_weight, head_bias, flat, cutoffs)
    loss = -out.mean()
    return (out.squeeze(0) if alone else out), loss


@nn_op(name="margin_cross_entropy")
def _margin_cross_entropy(x, label, margin1, margin2, margin3, scale, reduction):
    here = label.reshape(-1, 1) == jnp.arange(x.shape[1])
    cosine = jnp.where(here, x, 0)
    angle = jnp.arccos(jnp.clip(cosine, -1 + 1e-6, 1 - 1e-6)) if margin1 != 1 or margin2 != 0 else None
    target = (cosine if angle is None else jnp.cos(margin1 * angle + margin2)) - margin3
    logs = jax.nn.log_softmax(scale * jnp.where(here, target, x), -1)
    loss = -jnp.sum(jnp.where(here, logs, 0), 1, keepdims=True)
    loss = jnp.where(jnp.any(here, 1, keepdims=True), loss, jnp.nan)
    return reduce("margin_cross_entropy", loss, reduction), jnp.exp(logs)


@nn_api
def margin_cross_entropy(
    logits, label, margin1=1.0, margin2=0.5, margin3=0.0, scale=64.0, group=None, return_softmax=False, reduction="mean"
):
    """Cross entropy of cosines with a margin at the label: scale * (cos(margin1 * angle + margin2) - margin3) there and
    scale * cosine elsewhere (Deng et al., ArcFace, 2018).

    Args:
        logits: cosines in [-1, 1], shape [N, C].
        label: class numbers, shape [N] or [N, 1].
        group: None or False; classes split over devices are not built.
        return_softmax: also return the probabilities.
        reduction: "mean", "sum" or None.

    Returns:
        A number, or shape [N, 1] without reduction.

    Raises:
        ValueError: shapes that do not fit, a label out of range, an unknown reduction.
        NotImplementedError: a group.

    Example:
        >>> x = paddle.to_tensor([[0.0, 0.0]])
        >>> round(paddle.nn.functional.margin_cross_entropy(x, paddle.to_tensor([0]), 1.0, 0.0, 0.0, 1.0).item(), 4)
        0.6931
    """
    if group:
        raise errors.NotImplemented_("margin_cross_entropy: classes split over a group of devices are not built")
    reduction = "none" if reduction is None else reduction
    check_reduction("margin_cross_entropy", reduction)
    shape = list(logits.shape)
    if len(shape) != 2 or list(label.shape) not in (shape[:1], [shape[0], 1]):
        raise errors.ValueError_(
            f"margin_cross_entropy: logits [N, C] and label [N] are required, got {shape} and {list(label.shape)}"
        )
    check_ids("margin_cross_entropy", label, shape[1], "the label", None, errors.ValueError_)
    loss, softmax = _margin_cross_entropy(logits, label, margin1, margin2, margin3, scale, reduction)
    return (loss, softmax) if return_softmax else loss


@nn_api
def class_center_sample(label, num_classes, num_samples, group=None):
    """The classes that occur in a batch and as many others, drawn at random, as fill them up to `num_samples`: to
    compute a loss on a part of very many classes (An et al., Partial FC, 2020).

    Args:
        label: class numbers, shape [N], not empty.
        num_classes: how many classes there are.
        num_samples: from 1 to num_classes. If more classes occur, all of them are returned.
        group: None or False; classes split over devices are not built.

    Returns:
        (label as positions in the second result, the sampled classes: those that occur in order, then the others).

    Raises:
        ValueError: a label out of range, an empty one or one of another rank, num_samples out of range.
        NotImplementedError: a group.

    Example:
        >>> label, classes = paddle.nn.functional.class_center_sample(paddle.to_tensor([7, 2, 7]), 9, 2)
        >>> label.tolist(), classes.tolist()
        ([1, 0, 1], [2, 7])
    """
    name = "class_center_sample"
    if group not in (None, False):
        if not hasattr(group, "is_member"):
            raise errors.ValueError_(
                f"{name}: group must be None, False or a group of devices, got {errors.describe(group)}"
            )
        raise errors.NotImplemented_(f"{name}: classes split over a group of devices are not built")
    if not isinstance(label, Tensor) or not label.dtype.is_integer:
        raise errors.TypeError_(f"{name}: label must be a Tensor of integers, got {errors.describe(label)}")
    if label.ndim != 1 or not label.shape[0]:
        raise errors.ValueError_(f"{name}: label must have shape [N] and not be empty, got {list(label.shape)}")
    if not 0 < num_samples <= num_classes:
        raise errors.ValueError_(
            f"{name}: num_samples must be in [1, {num_classes}], the number of classes, got {num_samples}"
        )
    if isinstance(label._value, ABSTRACT):
        raise errors.RuntimeError_(f"{name}: the size of the result depends on the values, so it cannot be compiled")
    check_ids(name, label, num_classes, "the label", None, errors.ValueError_)
    present, place = np.unique(np.asarray(label._value), return_inverse=True)
    order = np.asarray(randperm(num_classes)._value)
    others = order[~np.isin(order, present)][: max(num_samples - len(present), 0)]
    sampled = np.concatenate([present, others]).astype(present.dtype)
    return _make(put(place.reshape(-1).astype(present.dtype))), _make(put(sampled))
