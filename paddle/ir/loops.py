"""A loop on arrays with a gradient although the number of its iterations is not known.

`jax.lax.while_loop` cannot be differentiated backwards, as it would have to keep the state of every iteration. Here the
forward run keeps states in a buffer of fixed capacity, one every `stride` iterations; whenever the buffer is full, every
second one is dropped and the stride doubled (Stumm and Walther, "New Algorithms for Optimal Online Checkpointing", SISC
2010, describe the family). The backward run walks the iterations in reverse and computes each state again from the nearest
one that was kept. It is such a loop itself, so derivatives of any order exist.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

BUFFER_BYTES = 1 << 26  # what the kept states may take together ...
CAPACITY = (8, 1024)  # ... within these numbers of states


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def while_loop(cond: Callable, body: Callable, constants: list, state: list) -> list:
    """Repeat `state = body(constants, t, state)` while `cond(constants, t, state)`, with t = 0, 1, ...

    Args:
        cond, body: functions of arrays that close over no traced ones.
        constants: a list of arrays.
        state: a list of arrays; the body gives arrays of the same shapes and types.
    """
    return _run(cond, body, constants, state)[1]


def _run(cond: Callable, body: Callable, constants: list, state: list) -> tuple[Any, list]:
    return jax.lax.while_loop(
        lambda carry: cond(constants, *carry),
        lambda carry: (carry[0] + 1, body(constants, *carry)),
        (np.int32(0), state),
    )


def _forward(cond: Callable, body: Callable, constants: list, state: list) -> tuple[list, tuple]:
    count, final, stride, kept = _keeping(cond, body, constants, state)
    return final, (constants, state, count, stride, kept)


def _backward(cond: Callable, body: Callable, saved: tuple, cotangents: list) -> tuple:
    return _reverse(body, *saved, cotangents, None)


while_loop.defvjp(_forward, _backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _keeping(cond: Callable, body: Callable, constants: list, state: list) -> tuple[Any, list, Any, list]:
    """The loop that keeps states: (iterations, last state, stride, buffer of the states at multiples of the stride)."""
    capacity = _capacity(state)

    def more(t, state, stride):
        return cond(constants, t, state) & (t // stride < capacity)

    def step(carry):
        t, state, stride, kept = carry
        slot = t // stride
        keep = slot * stride == t
        kept = [
            jax.lax.dynamic_update_index_in_dim(b, jnp.where(keep, s, b[slot]), slot, 0) for b, s in zip(kept, state)
        ]
        return t + 1, body(constants, t, state), stride, kept

    def fill(carry):
        t, state, stride, kept = jax.lax.while_loop(lambda c: more(*c[:3]), step, carry)
        full = t // stride >= capacity
        kept = [jnp.where(full, jnp.concatenate([b[::2], jnp.zeros_like(b[::2])]), b) for b in kept]
        return t, state, jnp.where(full, 2 * stride, stride), kept

    kept = [jnp.zeros((capacity, *s.shape), s.dtype) for s in state]
    carry = (np.int32(0), state, np.int32(1), kept)
    return jax.lax.while_loop(lambda c: cond(constants, *c[:2]), fill, carry)


def _keeping_forward(cond: Callable, body: Callable, constants: list, state: list) -> tuple[tuple, tuple]:
    count, final, stride, kept = out = _keeping(cond, body, constants, state)
    return out, (constants, state, count, stride, kept)


def _keeping_backward(cond: Callable, body: Callable, saved: tuple, cotangents: tuple) -> tuple:
    _, final, _, kept = cotangents
    return _reverse(body, *saved, final, kept)


_keeping.defvjp(_keeping_forward, _keeping_backward)


def _capacity(state: list) -> int:
    size = sum(s.size * s.dtype.itemsize for s in state)
    wanted = BUFFER_BYTES // max(size, 1)
    capacity = CAPACITY[0]
    while 2 * capacity <= min(wanted, CAPACITY[1]):
        capacity *= 2
    return capacity


def _reverse(
    body: Callable,
    constants: list,
    first: list,
    count: Any,
    stride: Any,
    kept: list,
    cotangents: list,
    kept_cotangents: list | None,
) -> tuple[list, list]:
    """The cotangents of the constants and of the first state."""
    inexact = [_is_inexact(s) for s in first]
    wanted = [_is_inexact(c) for c in constants]

    def pull(known, t, carry):
        constants, count, stride, kept, kept_cotangents = known
        arriving, gradients = carry
        j = count - 1 - t
        slot = j // stride
        state = _advance(body, constants, slot * stride, j, [b[slot] for b in kept])

        def step(some_constants, some_state):
            out = body(_merged(some_constants, constants, wanted), j, _merged(some_state, state, inexact))
            return _chosen(out, inexact)

        _, pullback = jax.vjp(step, _chosen(constants, wanted), _chosen(state, inexact))
        more, arriving = pullback(arriving)
        if kept_cotangents is not None:
            here = j == slot * stride
            arriving = [a + jnp.where(here, k[slot], jnp.zeros_like(a)) for a, k in zip(arriving, kept_cotangents)]
        return [arriving, [g + m for g, m in zip(gradients, more)]]

    known = [constants, count, stride, kept, None if kept_cotangents is None else _chosen(kept_cotangents, inexact)]
    carry = [_chosen(cotangents, inexact), [jnp.zeros_like(c) for c in _chosen(constants, wanted)]]
    arriving, gradients = _tree_loop(lambda known, t, carry: t < known[1], pull, known, carry)
    return _spread(gradients, constants, wanted), _spread(arriving, first, inexact)


def _advance(body: Callable, constants: list, start: Any, end: Any, state: list) -> list:
    """The state at iteration `end`, from that at iteration `start`."""
    return _tree_loop(
        lambda known, t, state: t < known[2] - known[1],
        lambda known, t, state: body(known[0], known[1] + t, state),
        [constants, start, end],
        state,
    )


def _tree_loop(cond: Callable, body: Callable, constants: Any, state: Any) -> Any:
    """`while_loop` on nested lists of arrays."""
    known, form = jax.tree.flatten(constants)
    carry, shape = jax.tree.flatten(state)

    def more(known, t, carry):
        return cond(form.unflatten(known), t, shape.unflatten(carry))

    def step(known, t, carry):
        return jax.tree.leaves(body(form.unflatten(known), t, shape.unflatten(carry)))

    return shape.unflatten(while_loop(more, step, known, carry))


def _is_inexact(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def _chosen(arrays: list, mask: list[bool]) -> list:
    return [a for a, m in zip(arrays, mask) if m]


def _merged(some: list, arrays: list, mask: list[bool]) -> list:
    source = iter(some)
    return [next(source) if m else a for a, m in zip(arrays, mask)]


def _spread(cotangents: list, arrays: list, mask: list[bool]) -> list:
    """Cotangents for all arrays: integers have none."""
    source = iter(cotangents)
    return [next(source) if m else np.zeros(a.shape, jax.dtypes.float0) for a, m in zip(arrays, mask)]
