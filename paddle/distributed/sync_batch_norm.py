"""Batch normalization by the statistics of all processes, also inside of programs."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh

from ..engine import errors
from ..engine.dispatch import dispatch
from ..engine.executable import Kernel
from ..engine.modes import set_mode
from ..engine.tensor import Tensor
from .communication.group import Group
from .communication.mesh import check_agreement


@functools.cache
def _statistics(mesh: Mesh) -> Kernel:
    """Mean and variance [channels] over the batches of all processes of a mesh. The parts are joined by the formula of
    Chan, Golub and LeVeque (1979), which does not cancel."""

    def statistics(x: Any, channel: int) -> tuple:
        axes = tuple(a for a in range(x.ndim) if a != channel)
        channels = x.shape[channel]
        wide = x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)
        count = x.size // channels if channels else 0
        own = wide.sum(axes) / max(count, 1)
        spread = ((wide - jnp.expand_dims(own, axes)) ** 2).sum(axes)
        row = jnp.concatenate([jnp.full((1,), count, wide.dtype), own, spread])
        rows = lax.all_gather(row, "ranks")
        counts, means, spreads = rows[:, :1], rows[:, 1 : channels + 1], rows[:, channels + 1 :]
        number = counts.sum()
        mean = (counts * means).sum(0) / number
        return mean, (spreads.sum(0) + (counts * (means - mean) ** 2).sum(0)) / number

    return Kernel(statistics, "sync_batch_norm_statistics", ("", "static"), save="residuals", mesh=mesh)


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
    the group, which may be of different sizes; moves the running ones. Their gradients flow to all processes."""
    if x.ndim < 2 or x.shape[channel] != mean.shape[0]:
        raise errors.ValueError_(
            f"SyncBatchNorm: the input must have at least 2 axes and {mean.shape[0]} channels, got shape {x.shape}"
        )
    shape = [1] * x.ndim
    shape[channel] = -1
    check_agreement(group, "SyncBatchNorm", mean.shape[0], x.dtype)
    joint, deviation = dispatch(_statistics(group.mesh), (x, channel))
    with set_mode(grad=False):
        for running, found in ((mean, joint), (variance, deviation)):
            running._rebind((running * momentum + found.astype(running.dtype) * (1 - momentum)).astype(running.dtype))
    wide = x.astype(joint.dtype)
    y = (wide - joint.reshape(shape)) * (deviation + epsilon).rsqrt().reshape(shape)
    if weight is not None:
        y = y * weight.reshape(shape)
    if bias is not None:
        y = y + bias.reshape(shape)
    return y.astype(x.dtype)
