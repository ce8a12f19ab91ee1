"""Recurrent networks: one operator runs a layer in one direction, another makes one step of a cell.

A cell is an elementwise function of the projected input z, the projected state u and the state itself. What is linear
stays outside of it, so that the input is projected for all times in one matrix product, and the gradient of the weights
is one product, too, instead of a sum that grows inside the loop. The gradient of a cell is linear in what comes from
later times; its factors do not depend on the loop and are computed for all times at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.op import op
from ..engine.tensor import Tensor
from .checks import host_value

nn_op = functools.partial(op, method=False, export=False)


class _Cell(NamedTuple):
    gates: int
    states: int
    step: Callable  # (z, u, *states) -> (new states, what the gradient needs of this step)
    factors: Callable  # (what the gradient needs, *states) -> factors, for any number of steps
    pull: Callable  # (factors, *gradients of new states) -> those of z, of u (None: the same) and, apart from u, of the states


def _simple(function: Callable, slope: Callable) -> _Cell:
    """h' = function(z + u), whose derivative is slope(h')."""

    def step(z, u, h):
        new = function(z + u)
        return (new,), (new,)

    def pull(factors, d_h):
        d = factors[0] * d_h
        return d, None, (None,)

    return _Cell(1, 1, step, lambda kept, h: (slope(kept[0]),), pull)


def _lstm_step(z, u, h, c):
    gates = (
        z + u
    )  # the sigmoid of all in one loop, also of g: a loop over parts of the array runs much slower on the CPU
    s = jax.nn.sigmoid(gates)
    i, f, _, o = jnp.split(s, 4, -1)
    g = jnp.tanh(jnp.split(gates, 4, -1)[2])
    c = f * c + i * g
    t = jnp.tanh(c)
    return (o * t, c), (s, g, t)


def _lstm_factors(kept, h, c):
    s, g, t = kept
    i, f, _, o = jnp.split(s, 4, -1)
    of_gates = jnp.concatenate([g * i * (1 - i), c * f * (1 - f), i * (1 - g * g), t * o * (1 - o)], -1)
    return of_gates, o * (1 - t * t), f


def _lstm_pull(factors, d_h, d_c):
    of_gates, through, f = factors
    d_c = d_c + d_h * through
    return of_gates * jnp.concatenate([d_c, d_c, d_c, d_h], -1), None, (None, d_c * f)


def _gru_step(z, u, h):
    size = h.shape[-1]
    s = jax.nn.sigmoid(z[..., : 2 * size] + u[..., : 2 * size])
    reset, update = jnp.split(s, 2, -1)
    u_c = u[..., 2 * size :]
    candidate = jnp.tanh(z[..., 2 * size :] + reset * u_c)
    return (update * h + (1 - update) * candidate,), (s, candidate, u_c)


def _gru_factors(kept, h):
    s, candidate, u_c = kept
    reset, update = jnp.split(s, 2, -1)
    inner = (1 - update) * (1 - candidate * candidate)
    gates = [inner * u_c * reset * (1 - reset), (h - candidate) * update * (1 - update)]
    return jnp.concatenate([*gates, inner], -1), jnp.concatenate([*gates, inner * reset], -1), update


def _gru_pull(factors, d_h):
    of_z, of_u, update = factors
    d = jnp.concatenate([d_h, d_h, d_h], -1)
    return of_z * d, of_u * d, (d_h * update,)


CELLS = {
    "LSTM": _Cell(4, 2, _lstm_step, _lstm_factors, _lstm_pull),
    "GRU": _Cell(3, 1, _gru_step, _gru_factors, _gru_pull),
    "RNN_TANH": _simple(jnp.tanh, lambda h: 1 - h * h),
    "RNN_RELU": _simple(jax.nn.relu, lambda h: (h > 0).astype(h.dtype)),
}


def _project(x, weight, bias):
    out = x @ weight.T
    return out if bias is None else out + bias


def _run(cell, reverse, keep, z, state, weight, bias, projection, mask):
    """The loop over time: (final state, outputs, what the gradient needs of each step)."""

    def step(state, now):
        z, seen = now
        new, kept = cell.step(z, _project(state[0], weight, bias), *state)
        inner = None if projection is None else new[0]
        if projection is not None:
            new = (new[0] @ projection, *new[1:])
        after = new if seen is None else tuple(jnp.where(seen, n, s) for n, s in zip(new, state))
        return after, (new[0], (state, inner, kept) if keep else None)

    last, (outputs, saved) = jax.lax.scan(step, state, (z, mask), reverse=reverse)
    return last, outputs, saved


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _recur(cell, reverse, z, state, weight, bias, projection, mask):
    return _run(cell, reverse, False, z, state, weight, bias, projection, mask)[:2]


def _recur_forward(cell, reverse, z, state, weight, bias, projection, mask):
    last, outputs, saved = _run(cell, reverse, True, z, state, weight, bias, projection, mask)
    return (last, outputs), (saved, weight, bias, projection, mask)


def _recur_backward(cell, reverse, saved, cotangents):
    (before, inner, kept), weight, bias, projection, mask = saved

    def step(d_state, now):
        d_out, factors, seen = now
        d_new = d_state if seen is None else tuple(jnp.where(seen, d, 0) for d in d_state)
        d_h = d_new[0] + d_out
        d_z, d_u, d_before = cell.pull(factors, d_h if projection is None else d_h @ projection.T, *d_new[1:])
        by_u = (d_z if d_u is None else d_u) @ weight
        d_before = [by_u if d_before[0] is None else by_u + d_before[0], *d_before[1:]]
        if seen is not None:
            d_before = [jnp.where(seen, 0, d) + b for d, b in zip(d_state, d_before)]
        return tuple(d_before), (d_z, d_u, None if projection is None else d_h)

    times = (cotangents[1], cell.factors(kept, *before), mask)
    d_state, (d_z, d_u, d_h) = jax.lax.scan(step, cotangents[0], times, reverse=not reverse)
    d_u = d_z if d_u is None else d_u
    d_weight = jnp.einsum("tbg,tbh->gh", d_u, before[0])
    d_bias = None if bias is None else d_u.sum((0, 1))
    d_projection = None if projection is None else jnp.einsum("tbr,tbh->rh", inner, d_h)
    return d_z, d_state, d_weight, d_bias, d_projection, None


_recur.defvjp(_recur_forward, _recur_backward)


def _read(name, mode, x, states, weights):
    """Check shapes and types; returns (cell, initial states)."""
    cell = CELLS[mode]
    weight_ih, weight_hh, bias_ih, bias_hh, projection = weights
    inner = weight_ih.shape[0] // cell.gates
    outer = weight_hh.shape[1]
    batch = x.shape[-2]
    if x.shape[-1] != weight_ih.shape[1]:
        raise errors.ValueError_(
            f"{name}: the last axis of the input must have {weight_ih.shape[1]} elements, its shape is {list(x.shape)}"
        )
    if x.dtype != weight_ih.dtype:
        raise errors.ValueError_(
            f"{name}: the input must have the type of the weights, {weight_ih.dtype.name}, got {x.dtype.name}"
        )
    sizes = (outer, inner)[: cell.states]
    if states is None:
        return cell, tuple(jnp.zeros((batch, size), x.dtype) for size in sizes)
    if len(states) != cell.states:
        raise errors.ValueError_(f"{name}: there must be {cell.states} states, got {len(states)}")
    for state, size in zip(states, sizes):
        if state.shape != (batch, size):
            raise errors.ValueError_(f"{name}: a state must have shape {[batch, size]}, got {list(state.shape)}")
        if state.dtype != x.dtype:
            raise errors.ValueError_(
                f"{name}: a state must have the type of the input, {x.dtype.name}, got {state.dtype.name}"
            )
    return cell, tuple(states)


@nn_op(name="rnn", save="residuals")
def _rnn(x, states, weights, lengths, mode, reverse, time_major, padded):
    cell, state = _read("rnn", mode, x if time_major else jnp.swapaxes(x, 0, 1), states, weights)
    weight_ih, weight_hh, bias_ih, bias_hh, projection = weights
    z = _project(x, weight_ih, bias_ih)
    z = z if time_major else jnp.swapaxes(z, 0, 1)
    mask = None if lengths is None else (jnp.arange(z.shape[0])[:, None] < lengths)[..., None]
    last, out = _recur(cell, reverse, z, state, weight_hh, bias_hh, projection, mask)
    if mask is not None and padded:
        out = jnp.where(mask, out, 0)
    return (out if time_major else jnp.swapaxes(out, 0, 1), *last)


def rnn(
    x: Tensor,
    states: list | None,
    weights: list,
    lengths: Tensor | None,
    mode: str,
    reverse: bool,
    time_major: bool,
    padded: bool,
) -> tuple:
    """A recurrent layer in one direction: (outputs, final state ...).

    Args:
        x: shape [batch, time, input], or [time, batch, input] with `time_major`.
        states: the initial ones, each of shape [batch, size]; zeros when None.
        weights: of the input [gates * hidden, input], of the state [gates * hidden, output], their biases, and the
            projection [hidden, output] or None.
        lengths: of the sequences, shape [batch]; behind its end a sequence keeps its state.
        mode: a key of CELLS.
        reverse: run from the end to the beginning.
        padded: the outputs behind the end of a sequence are zero; otherwise what the cell makes of the input there.
    """
    if x.ndim != 3:
        raise errors.ValueError_(f"rnn: the input must be 3-D, got shape {list(x.shape)}")
    if lengths is not None:
        lengths = _checked_lengths(lengths, *(x.shape[:2] if time_major else x.shape[1::-1]))
    return _rnn(x, states, weights, lengths, mode, reverse, time_major, padded)


def _checked_lengths(lengths: Any, time: int, batch: int) -> Any:
    if not isinstance(lengths, Tensor):
        raise errors.TypeError_(f"rnn: sequence_length must be a Tensor, got {errors.describe(lengths)}")
    if lengths.dtype.name not in ("int32", "int64") or list(lengths.shape) != [batch]:
        raise errors.ValueError_(
            f"rnn: sequence_length must be int32 or int64 of shape {[batch]}, got "
            f"{lengths.dtype.name} of shape {list(lengths.shape)}"
        )
    values = host_value(lengths)
    if values is not None and (values.min() < 0 or values.max() > time):
        raise errors.ValueError_(
            f"rnn: sequence_length must be between 0 and the {time} steps of the input, got {values.tolist()}"
        )
    return lengths


@nn_op(name="rnn_cell")
def rnn_step(x, states, weights, mode):
    """One step of a cell: the new states, of which the first is the output. `x` has shape [batch, input]."""
    if x.ndim != 2:
        raise errors.ValueError_(f"rnn_cell: the input must be 2-D, got shape {list(x.shape)}")
    cell, state = _read("rnn_cell", mode, x, states, weights)
    weight_ih, weight_hh, bias_ih, bias_hh, projection = weights
    new, _ = cell.step(_project(x, weight_ih, bias_ih), _project(state[0], weight_hh, bias_hh), *state)
    return new if projection is None else (new[0] @ projection, *new[1:])
