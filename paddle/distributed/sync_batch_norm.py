"""Batch normalization by the statistics of all processes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ..autograd import PyLayer
from ..engine import errors
from ..engine.modes import modes
from ..engine.tensor import Tensor, _make
from ..ops.joining import concat
from .communication.group import Group
from .communication.mesh import check_agreement, over_mesh


class _Gather(PyLayer):
    """The rows [k] of all processes, [number of processes, k]; the gradient of a row is the sum of what all give it."""

    @staticmethod
    def forward(ctx: Any, row: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return _make(over_mesh(group, "all_gather", [row._value.reshape(1, -1)], False)[0])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = over_mesh(ctx.group, "all_reduce", [gradient._value], "sum")[0]
        return _make(total[ctx.group.rank])


def sync_batch_norm(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    epsilon: float,
    channel: int,
    group: Group,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and variance over the batches of all processes of
    the group, which may be of different sizes; moves the running ones. The statistics of the parts are joined by the
    formula of Chan, Golub and LeVeque (1979), which does not cancel."""
    if modes.program is not None:
        raise errors.NotImplemented_("SyncBatchNorm: several processes inside of a program or of to_static")
    if x.ndim < 2 or x.shape[channel] != mean.shape[0]:
        raise errors.ValueError_(
            f"SyncBatchNorm: the input must have at least 2 axes and {mean.shape[0]} channels, got shape {x.shape}"
        )
    axes = [a for a in range(x.ndim) if a != channel]
    shape = [1] * x.ndim
    shape[channel] = -1
    channels = x.shape[channel]
    check_agreement(group, "SyncBatchNorm", channels, x.dtype)
    wide = x if x.dtype.name in ("float32", "float64") else x.astype("float32")
    count = x.size // channels if channels else 0
    own = wide.sum(axes) / max(count, 1)
    spread = ((wide - own.reshape(shape)) ** 2).sum(axes)
    counted = _make(jnp.full((1,), count, wide._value.dtype))
    rows = _Gather.apply(concat([counted, own, spread]), group)
    counts, means, spreads = rows[:, :1], rows[:, 1 : channels + 1], rows[:, channels + 1 :]
    number = counts.sum()
    joint = (counts * means).sum(0) / number
    deviation = (spreads.sum(0) + (counts * (means - joint) ** 2).sum(0)) / number
    for running, found in ((mean, joint), (variance, deviation)):
        new = running._value * momentum + found._value.astype(running._value.dtype) * (1 - momentum)
        running._write_array(new)
    y = (wide - joint.reshape(shape)) * (deviation + epsilon).rsqrt().reshape(shape)
    if weight is not None:
        y = y * weight.reshape(shape)
    if bias is not None:
        y = y + bias.reshape(shape)
    return y.astype(x.dtype)
