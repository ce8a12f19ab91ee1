"""The operators that move values between sparse and dense tensors; on the device and on the tape."""

from __future__ import annotations

import functools

import jax.numpy as jnp

from ..engine.op import op

value_op = functools.partial(op, method=False, export=False)


@value_op(name="sparse_to_dense")
def scatter_values(values, where, shape):
    """A dense array of a shape from values [nnz, ...] at coordinates [dims, nnz]; repeated places add up."""
    if values.dtype == bool:
        return jnp.zeros(shape, bool).at[tuple(where)].max(values)
    return jnp.zeros(shape, values.dtype).at[tuple(where)].add(values)


@value_op(name="sparse_from_dense")
def gather_values(x, where):
    """The elements (or slices) of a dense array at coordinates [dims, nnz]."""
    return x[tuple(where)]


@value_op(name="sparse_take")
def take_rows(values, index):
    """Values in another order, or some of them."""
    return values[index]


@value_op(name="sparse_fill")
def place_rows(values, index, n):
    """n values, zero but at `index` (distinct places)."""
    return jnp.zeros((n, *values.shape[1:]), values.dtype).at[index].set(values)
