"""Activations of sparse tensors: of the stored values, the others stay zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ....engine import errors
from ....engine.op import api
from ....engine.promotion import as_float
from ....ops import activation
from ...creation import sparse_of
from ...pattern import index_tensor, unique_columns
from ...unary import on_values
from ...values import value_op

relu = on_values("relu", activation.relu, "The rectifier max(x, 0)", "-3.0 -> 0.0", "paddle.sparse.nn.functional")
relu6 = on_values("relu6", activation.relu6, "The rectifier bounded by 6", "9.0 -> 6.0", "paddle.sparse.nn.functional")


@api(method=False)
def leaky_relu(x, negative_slope=0.01):
    """The leaky rectifier of each stored value; the pattern stays.

    Args:
        x: a sparse tensor, COO or CSR.
        negative_slope: the slope below zero.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [-2.0], [3])
        >>> paddle.sparse.nn.functional.leaky_relu(x, 0.5).values().tolist()
        [-1.0]
    """
    return sparse_of("leaky_relu", x).like(activation.leaky_relu(x._values, negative_slope))


@value_op(name="sparse_softmax")
def group_softmax(values, label, n, keep=None):
    """The softmax of the values of each group, without those that `keep` excludes; 0 for a group without any."""
    values = as_float(values)
    if keep is not None:
        values = jnp.where(keep, values, -jnp.inf)
    top = jax.lax.stop_gradient(jax.ops.segment_max(values, label, n))
    top = jnp.where(jnp.isfinite(top), top, 0)
    powers = jnp.exp(values - top[label])
    total = jax.ops.segment_sum(powers, label, n)
    return powers / jnp.where(total == 0, 1, total)[label]


@api(method=False)
def softmax(x, axis=-1):
    """The softmax of the stored values along an axis; what is not stored counts as minus infinity and stays so.

    Args:
        x: a sparse tensor; COO, or CSR with axis -1.
        axis: an int.

    Raises:
        ValueError: an axis out of range.
        NotImplementedError: another axis than the last for CSR.

    Example:
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2, 3], [0, 1, 2], [1.0, 1.0, 5.0], [2, 3])
        >>> paddle.sparse.nn.functional.softmax(x).values().tolist()
        [0.5, 0.5, 1.0]
    """
    x = sparse_of("softmax", x)
    if isinstance(axis, bool) or not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise errors.ValueError_(f"softmax: axis must be an int from {-x.ndim} to {x.ndim - 1}, got {axis!r}")
    axis, pattern = axis % x.ndim, x._pattern
    if x.is_sparse_csr() and axis != x.ndim - 1:
        raise errors.NotImplemented_(f"softmax: a CSR tensor has a softmax over its last axis only, got axis={axis}")
    if axis >= pattern.sparse_dim:
        return x.like(activation.softmax(x._values, axis - pattern.sparse_dim + 1))
    if ("softmax", axis) not in pattern.cache:
        others = [a for a in range(pattern.sparse_dim) if a != axis]
        found, groups = unique_columns(pattern.coords[others], [pattern.shape[a] for a in others])
        # of one sparse axis nothing remains: all values are one group
        pattern.cache["softmax", axis] = index_tensor(groups if others else groups * 0), found.shape[1] if others else 1
    groups, n = pattern.cache["softmax", axis]
    return x.like(group_softmax(x._values, groups, n))
