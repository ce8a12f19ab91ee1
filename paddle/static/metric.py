"""Measures of predictions, as operators of programs."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.modes import modes
from ..engine.op import op
from ..engine.tensor import Tensor
from ..ops.creation import full
from .variables import create_global_var

__all__ = ["accuracy", "auc", "ctr_metric_bundle"]


@errors.clean
def accuracy(
    input: Tensor, label: Tensor, k: int = 1, correct: Tensor | None = None, total: Tensor | None = None
) -> Tensor:
    """The share of rows whose label is among the k largest entries.

    Args:
        input: scores [N, classes].
        label: shape [N, 1] or [N].
        k: how many entries count.
        correct, total: variables that become the number of such rows, and of all.

    Example:
        >>> float(paddle.static.accuracy(paddle.to_tensor([[0.1, 0.9]]), paddle.to_tensor([[1]])))
        1.0
    """
    from ..metric.metrics import _accuracy

    if label.ndim == 1:
        label = label.unsqueeze(1)
    share, right, rows = _accuracy(input, label, k)
    for given, found in ((correct, right), (total, rows)):
        if given is not None:
            given._rebind(found.astype(given.dtype).reshape(given.shape))
    return share


@op(method=False, export=False, differentiable=False, name="auc", static="bins")
def _histograms(predict, label, weight, bins):
    chance = (predict[:, -1] if predict.ndim == 2 else predict).reshape(-1)
    place = jnp.clip((chance * (bins - 1)).astype(np.int32), 0, bins - 1)
    weight = 1 if weight is None else (weight.reshape(-1) > 0).astype(np.int64)
    positive = (label.reshape(-1) != 0).astype(np.int64) * weight
    zeros = jnp.zeros((bins,), np.int64)
    all_rows = jnp.ones_like(positive) * weight
    return zeros.at[place].add(positive), zeros.at[place].add(all_rows - positive)


@op(method=False, export=False, differentiable=False, name="auc_area")
def _area(positive, negative, curve="ROC"):
    p = jnp.concatenate([jnp.zeros((1,)), jnp.cumsum(positive.reshape(-1)[::-1].astype(np.float64))])
    n = jnp.concatenate([jnp.zeros((1,)), jnp.cumsum(negative.reshape(-1)[::-1].astype(np.float64))])
    if curve == "PR":
        precision = jnp.where(p + n > 0, p / jnp.maximum(p + n, 1), 1.0)
        area, whole = jnp.sum((p[1:] - p[:-1]) * (precision[1:] + precision[:-1]) / 2), p[-1]
    else:
        area, whole = jnp.sum((n[1:] - n[:-1]) * (p[1:] + p[:-1]) / 2), p[-1] * n[-1]
    return jnp.where(whole > 0, area / jnp.maximum(whole, 1e-300), 0.0)


@op(method=False, export=False, differentiable=False, name="auc_window", static="steps")
def _window(state, new, steps):
    """The last `steps` histograms, the newest first, and their sum; further elements stay."""
    bins = new.shape[0]
    kept = jnp.concatenate([new, state[: bins * (steps - 1)]])
    whole = kept.reshape(steps, bins).sum(0)
    return jnp.concatenate([kept, whole, state[bins * (steps + 1) :] + 1]), whole


@errors.clean
def auc(
    input: Tensor,
    label: Tensor,
    curve: str = "ROC",
    num_thresholds: int = 2**12 - 1,
    topk: int = 1,
    slide_steps: int = 1,
    ins_tag_weight: Tensor | None = None,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """The area under the curve, over all runs and over the last ones, from histograms that the scope keeps.

    Args:
        input: probabilities [N, 2] or [N, 1]; the last column is that of the positive class.
        label: 0 or 1, [N, 1].
        curve: "ROC" or "PR".
        num_thresholds: bins of the histograms, less one.
        topk: accepted.
        slide_steps: how many runs the second result looks back; 0: all.
        ins_tag_weight: rows with 0 do not count, [N, 1].

    Returns:
        (area over all runs, area over the last runs, the variables with the histograms: of the last runs for the
        positive and the negative class, of all runs for both).

    Raises:
        ValueError: another curve.
        RuntimeError: no program is being built.
    """
    if curve not in ("ROC", "PR"):
        raise errors.ValueError_(f"auc: curve must be 'ROC' or 'PR', got {curve!r}")
    if modes.program is None:
        raise errors.RuntimeError_("auc: it keeps variables of a program; use paddle.metric.Auc in dynamic mode")
    bins = num_thresholds + 1
    long = (1 + slide_steps) * bins + 1 if slide_steps else bins
    recent = [create_global_var([long] if slide_steps else [1, bins], 0, "int64", True) for _ in range(2)]
    overall = [create_global_var([1, bins], 0, "int64", True) for _ in range(2)]
    now = _histograms(input, label, ins_tag_weight, bins)
    sums = []
    for state, all_runs, new in zip(recent, overall, now):
        if slide_steps:
            kept, whole = _window(state, new, slide_steps)
            state._rebind(kept)
        else:
            state._rebind(state + new)
            whole = state
        all_runs._rebind(all_runs + new)
        sums.append(whole)
    return _area(*overall, curve), _area(*sums, curve), [*recent, *overall]


@errors.clean
def ctr_metric_bundle(input: Tensor, label: Tensor, ins_tag_weight: Tensor | None = None) -> tuple[Tensor, ...]:
    """Sums over all runs from which the usual measures of click prediction follow.

    Args:
        input: predicted probabilities [N, 1].
        label: 0 or 1, [N, 1].
        ins_tag_weight: rows with 0 do not count, [N, 1].

    Returns:
        Variables of shape [1]: squared errors, absolute errors, predictions, sigmoids of the predictions ("q"), positive
        labels, rows.
    """
    if list(input.shape) != list(label.shape):
        raise errors.ValueError_(
            f"ctr_metric_bundle: input and label must have one shape, got {list(input.shape)} and {list(label.shape)}"
        )
    label = label.astype(input.dtype)
    weight = full([1], 1.0, input.dtype) if ins_tag_weight is None else ins_tag_weight.astype(input.dtype)
    difference = (input - label) * weight
    rows = (label * 0 + weight).sum()
    found = [
        (difference * difference).sum(),
        difference.abs().sum(),
        (input * weight).sum(),
        (Tensor.sigmoid(input) * weight).sum(),
        (label * weight).sum(),
        rows,
    ]
    states: list[Any] = []
    for number in found:
        state = create_global_var([1], 0.0, "float32", True)
        state._rebind(state + number.astype("float32"))
        states.append(state)
    return tuple(states)
