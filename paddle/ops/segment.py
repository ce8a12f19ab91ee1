"""Reductions of rows that carry a number: the groundwork of graph and sparse operators."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.tensor import Tensor
from ..engine.value import Value
from .checks import check_ids, host_value
from .manipulation import tensor_of
from .scatter import concrete

KINDS = ("sum", "mean", "max", "min")


def _rows(counts: Any, x: Any) -> Any:
    """One number a row, shaped to stand beside x."""
    return counts.reshape(counts.shape + (1,) * (x.ndim - 1))


def _reduce(x, index, n, kind):
    if kind in ("sum", "mean"):
        out = jax.ops.segment_sum(x, index, n)
        if kind == "sum":
            return out
        counts = _rows(jnp.maximum(jnp.bincount(index, length=n), 1), x).astype(x.dtype)
        return jax.lax.div(out, jnp.broadcast_to(counts, out.shape))  # ints are truncated, as officially
    reduce = jax.ops.segment_max if kind == "max" else jax.ops.segment_min
    return jnp.where(_rows(jnp.bincount(index, length=n) > 0, x), reduce(x, index, n), jnp.zeros((), x.dtype))


def _reduce_grad(inputs, outputs, cotangents, n, kind):
    x, index = inputs
    gradient = cotangents[0]
    if kind == "mean":
        counts = _rows(jnp.maximum(jnp.bincount(index, length=n), 1), gradient).astype(gradient.dtype)
        gradient = gradient / counts
    if kind in ("sum", "mean"):
        return gradient[index], None
    return jnp.where(x == outputs[0][index], gradient[index], jnp.zeros((), gradient.dtype)), None


@op(method=False, export=False, name="segment_reduce", static="n kind", gradient=_reduce_grad)
def segment_reduce(x, index, n, kind):
    """Row i of the result reduces the rows of x whose index is i, 0 where there are none; shape [n, ...]. As
    officially,
    every row that equals the maximum or minimum gets the whole gradient."""
    return _reduce(x, index, n, kind)


def check_index(name: str, index: Any, argument: str) -> Tensor:
    """An index tensor of shape [n] or [n, 1] as one of shape [n]; TypeError and ValueError for another."""
    index = tensor_of(name, index, argument)
    if index.dtype.name not in ("int32", "int64"):
        raise errors.TypeError_(f"{name}: {argument} must be int32 or int64, got {index.dtype.name}")
    if index.ndim == 2 and index.shape[1] == 1:
        index = index.reshape([-1])
    if index.ndim != 1:
        raise errors.ValueError_(f"{name}: {argument} must have shape [n] or [n, 1], got {list(index.shape)}")
    return index


def _segment(name: str, data: Any, segment_ids: Any) -> Tensor:
    data = tensor_of(name, data, "data")
    ids = check_index(name, segment_ids, "segment_ids")
    if data.ndim == 0 or ids.shape[0] != data.shape[0]:
        raise errors.ValueError_(f"{name}: {ids.shape[0]} segment_ids do not fit data of shape {list(data.shape)}")
    if data.dtype.name == "bool":
        raise errors.TypeError_(f"{name}: data must be numbers, got bool")
    if isinstance(ids._value, Value):  # how many segments there are is read when the program runs
        return segment_reduce(data, ids, ids.max() + 1, name[len("segment_") :])
    numbers = concrete(name, ids)
    if numbers.size and numbers[0] < 0:
        raise errors.IndexError_(f"{name}: segment_ids must not be negative, got {numbers[0]}")
    if (np.diff(numbers) < 0).any():
        raise errors.ValueError_(f"{name}: segment_ids must be sorted")
    n = int(numbers[-1]) + 1 if numbers.size else 0
    return segment_reduce(data, ids, n, name[len("segment_") :])


@api(method=False)
def segment_sum(data, segment_ids):
    """The sums of the rows of each segment; a number that does not occur gives 0.

    Args:
        data: shape [n, ...], numbers.
        segment_ids: shape [n], int32 or int64, sorted, not negative.

    Returns:
        Shape [max(segment_ids) + 1, ...].

    Raises:
        ValueError: lengths that do not fit, or unsorted numbers.
        IndexError: a negative number.

    Example:
        >>> paddle.geometric.segment_sum(paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0, 0, 1])).tolist()
        [3.0, 3.0]
    """
    return _segment("segment_sum", data, segment_ids)


@api(method=False)
def segment_mean(data, segment_ids):
    """The means of the rows of each segment (see `segment_sum`); integers are truncated.

    Example:
        >>> paddle.geometric.segment_mean(paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0, 0, 1])).tolist()
        [1.5, 3.0]
    """
    return _segment("segment_mean", data, segment_ids)


@api(method=False)
def segment_min(data, segment_ids):
    """The minima of the rows of each segment (see `segment_sum`).

    Example:
        >>> paddle.geometric.segment_min(paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0, 0, 1])).tolist()
        [1.0, 3.0]
    """
    return _segment("segment_min", data, segment_ids)


@api(method=False)
def segment_max(data, segment_ids):
    """The maxima of the rows of each segment (see `segment_sum`).

    Example:
        >>> paddle.geometric.segment_max(paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0, 0, 1])).tolist()
        [2.0, 3.0]
    """
    return _segment("segment_max", data, segment_ids)


def check_rows(name: str, index: Tensor, n: int, argument: str) -> None:
    """IndexError for a row number outside [0, n), where looking is cheap."""
    if n == 0 and index.shape[0] and host_value(index) is not None:
        raise errors.IndexError_(f"{name}: {argument} points into a tensor without rows")
    check_ids(name, index, n, argument)
