"""Losses over all alignments of a sequence with its labels, summed in log space by one scan.

Lengths and labels are looked at eagerly on the CPU: one out of range is a ValueError. Elsewhere and inside compiled
functions it makes the loss of its sample NaN.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .activation import wide
from .checks import check_ids, host_value
from .loss import _reduced, check_reduction

nn_op = functools.partial(op, method=False, export=False)
nn_api = functools.partial(api, method=False)

NEVER = -1e30  # the logarithm of a probability of 0; finite, so that gradients have no inf - inf


def _shift(x, n):
    """x moved to the right along its last axis."""
    fill = jnp.full((*x.shape[:-1], n), NEVER, x.dtype)
    return jnp.concatenate([fill, x], -1)[..., : x.shape[-1]]


def _add(*ways):
    """log(sum(exp(way))) of finite arrays."""
    top = jax.lax.stop_gradient(functools.reduce(jnp.maximum, ways))
    return top + jnp.log(functools.reduce(jnp.add, [jnp.exp(way - top) for way in ways]))


def _at(x, index):
    """x[b, index[b]]"""
    return jnp.take_along_axis(x, index[:, None], 1)[:, 0]


def _outside(labels, lengths, times, steps, classes):
    """(labels that count, samples with lengths or labels out of range)."""
    inside = jnp.arange(labels.shape[1]) < lengths[:, None]
    bad = jnp.any(inside & ((labels < 0) | (labels >= classes)), 1)
    return inside, bad | (lengths < 0) | (lengths > labels.shape[1]) | (times < 0) | (times > steps)


@nn_op(name="ctc_loss", save="residuals")
def _ctc_loss(logits, labels, times, lengths, blank, by_times):
    steps, batch, classes = logits.shape
    logs = jnp.maximum(jax.nn.log_softmax(wide(logits), -1), NEVER)
    inside, bad = _outside(labels, lengths, times, steps, classes)
    labels = jnp.where(inside & ~bad[:, None], labels, blank)
    lengths = jnp.clip(lengths, 0, labels.shape[1])
    path = jnp.full((batch, 2 * labels.shape[1] + 1), blank, labels.dtype).at[:, 1::2].set(labels)
    before = jnp.concatenate([jnp.full((batch, 2), blank, path.dtype), path], 1)[:, : path.shape[1]]
    skips = (path != blank) & (path != before)  # the blank between two different labels may be left out
    emitted = jnp.take_along_axis(logs, path[None], 2)

    def step(alpha, now):
        t, here = now
        new = _add(alpha, _shift(alpha, 1), jnp.where(skips, _shift(alpha, 2), NEVER)) + here
        return jnp.where((t < times)[:, None], new, alpha), None

    start = jnp.full(path.shape, NEVER, logs.dtype).at[:, 0].set(0)
    alpha, _ = jax.lax.scan(step, start, (jnp.arange(steps), emitted))
    on_label = jnp.where(lengths > 0, _at(alpha, jnp.maximum(2 * lengths - 1, 0)), NEVER)
    total = _add(_at(alpha, 2 * lengths), on_label)
    loss = jnp.where(total < NEVER / 2, 0, 0 - total)  # officially what cannot be costs nothing
    loss = jnp.where(bad, jnp.nan, loss)
    if by_times:
        scaled = loss / jnp.maximum(times, 1)
        loss = scaled + jax.lax.stop_gradient(loss - scaled)
    return loss.astype(logits.dtype)


@nn_op(name="ctc_mean")
def _sequence_mean(loss, lengths):
    return jnp.mean(loss / jnp.maximum(lengths, 1).astype(loss.dtype))


@nn_op(name="rnnt_loss", save="residuals", scalars="early")
def _rnnt_loss(logs, labels, times, lengths, blank, early):
    """The scan goes over the diagonals t + u = n of the grid, in which all cells are independent."""
    batch, steps, rows, classes = logs.shape
    labels = labels[:, : rows - 1]
    inside, bad = _outside(labels, lengths, times, steps, classes)
    bad = bad | (times == 0)
    labels = jnp.where(inside & ~bad[:, None], labels, blank)
    lengths, times = jnp.clip(lengths, 0, labels.shape[1]), jnp.clip(times, 1, steps)
    labels = jnp.pad(labels, ((0, 0), (0, rows - labels.shape[1])), constant_values=blank)
    values = jnp.maximum(wide(logs), NEVER)
    wait = values[..., blank]
    emit = jnp.take_along_axis(values, labels[:, None, :, None], 3)[..., 0]
    emit = emit * (1 + early) - jax.lax.stop_gradient(emit * early)  # FastEmit: only the gradient grows

    u = jnp.arange(rows)
    t = jnp.arange(steps + rows - 2)[:, None] - u  # of the cell before, which waits or emits

    def diagonals(x):
        """x[b, t[n, u], u] as [n, b, u]"""
        found = jnp.swapaxes(x, 0, 1)[jnp.clip(t, 0, steps - 1), :, u]
        return jnp.where(((t >= 0) & (t < steps))[..., None], found, NEVER).swapaxes(1, 2)

    def step(alpha, now):
        waited, emitted = now
        new = _add(alpha + waited, _shift(alpha + emitted, 1))
        return new, new

    start = jnp.full((batch, rows), NEVER, values.dtype).at[:, 0].set(0)
    _, alphas = jax.lax.scan(step, start, (diagonals(wait), diagonals(emit)))
    alphas = jnp.concatenate([start[None], alphas])
    sample = jnp.arange(batch)
    total = alphas[times - 1 + lengths, sample, lengths] + wait[sample, times - 1, lengths]
    return jnp.where(bad, jnp.nan, -total).astype(logs.dtype)


def _check(
    name: str,
    x: Any,
    labels: Any,
    times: Any,
    lengths: Any,
    blank: int,
    batch: int,
    steps: int,
    room: int,
    shortest: int,
) -> None:
    """Types and shapes, and where they can be seen the values, of labels and lengths."""
    for argument, tensor in (("label", labels), ("input_lengths", times), ("label_lengths", lengths)):
        if not isinstance(tensor, Tensor) or not tensor.dtype.is_integer:
            raise errors.TypeError_(f"{name}: {argument} must be a Tensor of integers, got {errors.describe(tensor)}")
    classes = x.shape[-1]
    if 0 in x.shape:
        raise errors.ValueError_(f"{name}: the input must not be empty, got shape {list(x.shape)}")
    if not 0 <= blank < classes:
        raise errors.ValueError_(f"{name}: blank must be in [0, {classes}), the classes, got {blank}")
    if labels.ndim != 2 or labels.shape[0] != batch:
        raise errors.ValueError_(f"{name}: labels of shape [{batch}, length] are required, got {list(labels.shape)}")
    for argument, tensor, low, high in (("input_lengths", times, shortest, steps), ("label_lengths", lengths, 0, room)):
        if list(tensor.shape) != [batch]:
            raise errors.ValueError_(f"{name}: {argument} must have shape [{batch}], got {list(tensor.shape)}")
        found = host_value(tensor)
        if found is not None and (found.min() < low or found.max() > high):
            raise errors.ValueError_(f"{name}: {argument} must be in [{low}, {high}], got {found.tolist()}")
    values, counts = host_value(labels), host_value(lengths)
    if values is not None and counts is not None:
        values = values[np.arange(values.shape[1]) < counts[:, None]]
        if values.size and (values.min() < 0 or values.max() >= classes):
            raise errors.ValueError_(f"{name}: labels must be in [0, {classes}), got {values.min()} to {values.max()}")


@nn_api
def ctc_loss(
    log_probs, labels, input_lengths, label_lengths, blank=0, reduction="mean", norm_by_times=False, zero_infinity=False
):
    """Minus the logarithm of the probability of a label sequence under all its alignments (Graves et al.,
    Connectionist temporal classification, 2006).

    Args:
        log_probs: unnormalised scores (the softmax is part of the loss), shape [time, batch, classes].
        labels: class numbers, shape [batch, longest]; what is behind the end of a sequence does not matter.
        input_lengths: shape [batch], at most time.
        label_lengths: shape [batch]; 0 is allowed.
        blank: the class that stands for no label.
        reduction: "mean" (each loss is divided by the length of its labels first), "sum" or "none".
        norm_by_times: divide gradients, not the loss, by input_lengths.
        zero_infinity: accepted: a sequence that is too short for its labels always has loss and gradient 0, as
            officially.

    Returns:
        A number, or shape [batch] without reduction.

    Raises:
        ValueError: shapes that do not fit, lengths, labels or blank out of range, an unknown reduction, empty input.
        TypeError: labels or lengths that are no integers.

    Example:
        >>> x, one = paddle.zeros([2, 1, 2]), paddle.to_tensor([1])
        >>> loss = paddle.nn.functional.ctc_loss(x, paddle.to_tensor([[1]]), one * 2, one)
        >>> round(loss.item(), 4)
        0.2877
    """
    check_reduction("ctc_loss", reduction)
    if not isinstance(log_probs, Tensor) or log_probs.ndim != 3 or not log_probs.dtype.is_floating:
        raise errors.ValueError_(
            f"ctc_loss: log_probs must be floating of shape [time, batch, classes], got {errors.describe(log_probs)}"
        )
    steps, batch, _ = log_probs.shape
    room = labels.shape[-1] if isinstance(labels, Tensor) and labels.ndim else 0
    _check("ctc_loss", log_probs, labels, input_lengths, label_lengths, blank, batch, steps, room, 0)
    loss = _ctc_loss(log_probs, labels, input_lengths, label_lengths, int(blank), bool(norm_by_times))
    return _sequence_mean(loss, label_lengths) if reduction == "mean" else _reduced(loss, None, reduction)


@nn_api
def rnnt_loss(input, label, input_lengths, label_lengths, blank=0, fastemit_lambda=0.001, reduction="mean"):
    """Minus the logarithm of the probability of a label sequence under a transducer (Graves, Sequence transduction
    with recurrent neural networks, 2012), with FastEmit regularization (Yu et al., 2021).

    Args:
        input: log probabilities of the classes after t inputs and u labels, shape [batch, time, labels + 1, classes].
        label: class numbers, shape [batch, labels].
        input_lengths: shape [batch], from 1 to time.
        label_lengths: shape [batch], at most labels.
        blank: the class that stands for no label.
        fastemit_lambda: by how much the gradients that emit labels grow; the value stays.
        reduction: "mean" (over the batch), "sum" or "none".

    Returns:
        A number, or shape [batch] without reduction.

    Raises:
        ValueError: shapes that do not fit, lengths, labels or blank out of range, an unknown reduction, empty input.
        TypeError: labels or lengths that are no integers.

    Example:
        >>> x, one = paddle.full([1, 1, 2, 2], 0.5).log(), paddle.to_tensor([1])
        >>> round(paddle.nn.functional.rnnt_loss(x, paddle.to_tensor([[1]]), one, one).item(), 4)
        1.3863
    """
    check_reduction("rnnt_loss", reduction)
    if not isinstance(input, Tensor) or input.ndim != 4 or not input.dtype.is_floating:
        raise errors.ValueError_(
            f"rnnt_loss: input must be floating of shape [batch, time, labels + 1, classes], got "
            f"{errors.describe(input)}"
        )
    batch, steps, rows, _ = input.shape
    room = min(rows - 1, label.shape[-1] if isinstance(label, Tensor) and label.ndim else 0)
    _check("rnnt_loss", input, label, input_lengths, label_lengths, blank, batch, steps, room, 1)
    loss = _rnnt_loss(input, label, input_lengths, label_lengths, int(blank), float(fastemit_lambda))
    return _reduced(loss, None, reduction)


def _node_of(depth, label, classes):
    """In a heap with the classes as leaves: the inner node `depth` levels above a leaf, and which child led there."""
    leaf = label + classes
    return (leaf >> (depth + 1)) - 1, (leaf >> depth) & 1


@nn_op(name="hsigmoid_loss")
def _hsigmoid_loss(x, label, weight, bias, table, code, classes):
    if table is None:
        label = label.reshape(-1, 1).astype(np.int64)
        node, code = _node_of(jnp.arange(max(classes - 1, 1).bit_length()), label, classes)
        bad = jnp.any((label < 0) | (label >= classes), 1)
    else:
        node, bad = table.astype(np.int64), jnp.any(table >= weight.shape[0], 1)
    valid = jnp.cumsum(node < 0, 1) == 0
    node = jnp.clip(node, 0, weight.shape[0] - 1)
    v = wide(x)
    score = jnp.einsum("nf,ndf->nd", v, weight[node].astype(v.dtype))
    if bias is not None:
        score = score + bias.reshape(-1)[node].astype(v.dtype)
    score = score + jax.lax.stop_gradient(jnp.clip(score, -40, 40) - score)  # officially bounded, in the value only
    score = jnp.where(valid, score, 0)  # a node that a short path lacks adds log 2, as officially
    loss = jnp.sum(jax.nn.softplus(score) - jnp.where(valid, code, 0) * score, 1, keepdims=True)
    return jnp.where(bad[:, None], jnp.nan, loss).astype(x.dtype)


@nn_api
def hsigmoid_loss(input, label, num_classes, weight, bias=None, path_table=None, path_code=None, is_sparse=False):
    """Cross entropy over a binary tree of classes: one decision at each inner node on the way from the root to the
    label (Morin and Bengio, Hierarchical probabilistic neural network language model, 2005).

    Args:
        input: shape [N, D].
        label: class numbers, shape [N] or [N, 1].
        num_classes: at least 2.
        weight: of the inner nodes, shape [num_classes - 1, D]; with a tree of one's own [nodes, D].
        bias: shape [num_classes - 1, 1] or None.
        path_table: a tree of one's own: the nodes on the way of each sample, shape [N, depth], filled up with -1.
        path_code: the decisions there, 0 or 1, the shape of path_table.
        is_sparse: accepted; gradients are dense.

    Returns:
        Shape [N, 1]. A path shorter than the longest adds log 2 for each node that it lacks, as officially.

    Raises:
        ValueError: shapes that do not fit, a label or node out of range, only one of path_table and path_code.

    Example:
        >>> x, w = paddle.zeros([1, 2]), paddle.zeros([3, 2])
        >>> round(paddle.nn.functional.hsigmoid_loss(x, paddle.to_tensor([2]), 4, w).item(), 4)
        1.3863
    """
    name = "hsigmoid_loss"
    n, shape = input.shape[0] if input.ndim else 0, list(input.shape)
    if len(shape) != 2 or list(label.shape) not in ([n], [n, 1]) or weight.ndim != 2 or weight.shape[1] != shape[1]:
        raise errors.ValueError_(
            f"{name}: input [N, D], label [N] or [N, 1] and weight [nodes, D] are required, got "
            f"{shape}, {list(label.shape)} and {list(weight.shape)}"
        )
    if num_classes < 2:
        raise errors.ValueError_(f"{name}: num_classes must be 2 or more, got {num_classes}")
    if bias is not None and bias.size != weight.shape[0]:
        raise errors.ValueError_(
            f"{name}: bias must have {weight.shape[0]} elements, one for each row of weight, got "
            f"shape {list(bias.shape)}"
        )
    if (path_table is None) != (path_code is None):
        raise errors.ValueError_(f"{name}: path_table and path_code must be given together")
    if path_table is None:
        if weight.shape[0] < num_classes - 1:
            raise errors.ValueError_(
                f"{name}: weight must have {num_classes - 1} rows, the inner nodes, got shape {list(weight.shape)}"
            )
        check_ids(name, label, num_classes, "the label", None, errors.ValueError_)
    else:
        if path_table.ndim != 2 or list(path_table.shape) != list(path_code.shape) or path_table.shape[0] != n:
            raise errors.ValueError_(
                f"{name}: path_table and path_code must have shape [{n}, depth], got "
                f"{list(path_table.shape)} and {list(path_code.shape)}"
            )
        nodes = host_value(path_table)
        if nodes is not None and nodes.max() >= weight.shape[0]:
            raise errors.ValueError_(
                f"{name}: path_table names the node {nodes.max()}, weight has {weight.shape[0]} rows"
            )
    return _hsigmoid_loss(input, label, weight, bias, path_table, path_code, int(num_classes))
