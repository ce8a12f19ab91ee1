"""Pooling of sparse tensors."""

from __future__ import annotations

import jax.numpy as jnp

from ....engine import errors
from ....engine.op import api
from ....ops import window
from ...tensor import SparseTensor
from ...values import value_op
from .windows import read, table_of, with_channels


def _met(values, table):
    low = jnp.array(
        -jnp.inf if jnp.issubdtype(values.dtype, jnp.inexact) else jnp.iinfo(values.dtype).min, values.dtype
    )
    return jnp.concatenate([values, jnp.full((1, values.shape[1]), low)])[table]


def _max_grad(inputs, outputs, cotangents):
    values, table = inputs
    gradient = jnp.where(_met(values, table) == outputs[0][:, None], cotangents[0][:, None], 0)
    return jnp.zeros((values.shape[0] + 1, values.shape[1]), gradient.dtype).at[table].add(gradient)[:-1], None


@value_op(name="sparse_max_pool", gradient=_max_grad)
def _max_pool(values, table):
    """The largest value that each window meets; as officially, all that equal it get the whole gradient."""
    return _met(values, table).max(1)


@api(method=False)
def max_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC"):
    """The maxima of the stored values in each window; it stores every place whose window meets one.

    Args:
        x: COO, shape [N, D, H, W, C] with dense channels.
        kernel_size, stride, padding, ceil_mode: as in `paddle.nn.functional.max_pool3d`.
        data_format: "NDHWC".

    Raises:
        ValueError: shapes that do not fit, values out of range.
        TypeError: x is no COO tensor.

    Example:
        >>> x = paddle.eye(4).reshape([1, 1, 4, 4, 1]).to_sparse_coo(4)
        >>> paddle.sparse.nn.functional.max_pool3d(x, [1, 2, 2]).to_dense().squeeze().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    name = "max_pool3d"
    if data_format != "NDHWC":
        raise errors.ValueError_(f"{name}: the data_format of a sparse tensor is NDHWC, got {data_format!r}")
    x = read(name, x, 3)
    kernel = window.sizes(name, "kernel_size", kernel_size, 3)
    stride = kernel if stride is None else window.sizes(name, "stride", stride, 3)
    lengths = tuple(x.shape[1:-1])
    pads = window.pairs(name, padding, 3, True, lengths, kernel, stride)
    same = isinstance(padding, str) and padding.upper() == "SAME"
    if not same and any(max(p) >= k for p, k in zip(pads, kernel)):
        raise errors.ValueError_(f"{name}: padding must be less than the kernel {list(kernel)}, got {padding!r}")
    if any(length + sum(p) < k for length, p, k in zip(lengths, pads, kernel)):
        raise errors.ValueError_(
            f"{name}: the kernel {list(kernel)} is larger than x of shape {list(x.shape)} with "
            f"its padding {[list(p) for p in pads]}"
        )
    up = ceil_mode and not same
    out = [(n + sum(p) - k + (s - 1 if up else 0)) // s + 1 for n, p, k, s in zip(lengths, pads, kernel, stride)]
    pattern, table = table_of(x._pattern, kernel, stride, pads, (1, 1, 1), out, False)
    return SparseTensor(with_channels(pattern, x.shape[-1]), _max_pool(x._values, table))
