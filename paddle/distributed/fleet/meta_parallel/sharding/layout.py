"""Which process keeps which elements of some arrays, and the computations that bring them there and back.

The arrays of a bucket are cut into as many parts as there are processes. A process keeps its parts one after the other in a
flat array; all have the same width, so that one reduce-scatter brings the sums of gradients to where they are needed and
one all-gather brings the new parameters back (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models", 2020).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ....communication.mesh import BODIES, average

Piece = tuple[int, int, int]  # the number of an array, the first of its elements and the end


class Layout(NamedTuple):
    """The parts of some arrays: for each process its pieces in order; `width` is the most elements that one has."""

    shapes: tuple[tuple[int, ...], ...]
    pieces: tuple[tuple[Piece, ...], ...]
    width: int


def divide(shapes: list[tuple[int, ...]], n: int, whole: bool = False) -> Layout:
    """A layout for arrays of these shapes over `n` processes.

    Args:
        shapes: their shapes.
        n: the number of processes.
        whole: give each array to one process, the one with the fewest elements so far. Otherwise every array is cut into
            equal slices, of which the last may be shorter.
    """
    pieces: list[list[Piece]] = [[] for _ in range(n)]
    held = [0] * n
    for number, shape in enumerate(shapes):
        size = math.prod(shape)
        if whole:
            owner = held.index(min(held))
            pieces[owner].append((number, 0, size))
            held[owner] += size
            continue
        step = -(-size // n)
        for rank in range(n):
            start, stop = min(rank * step, size), min((rank + 1) * step, size)
            if start < stop:
                pieces[rank].append((number, start, stop))
                held[rank] += stop - start
    return Layout(tuple(tuple(s) for s in shapes), tuple(map(tuple, pieces)), max(1, *held))


def _scatter_gradients(blocks: tuple, n: int, layout: Layout) -> tuple:
    """The means over all processes of this one's parts, flat; and how many of the processes used each array."""
    *arrays, marks = blocks
    flat = [a.reshape(-1) for a in arrays]
    rows = []
    for pieces in layout.pieces:
        row = [flat[number][start:stop] for number, start, stop in pieces]
        missing = layout.width - sum(stop - start for _, start, stop in pieces)
        if missing:
            row.append(jnp.zeros(missing, flat[0].dtype))
        rows.append(jnp.concatenate(row))
    total = lax.psum_scatter(jnp.concatenate(rows), "ranks", tiled=True)
    return average(total, n), lax.psum(marks, "ranks")


def _gather_parameters(blocks: tuple, n: int, layout: Layout) -> list:
    """The arrays that the flat parts of all processes make together."""
    rows = lax.all_gather(blocks[0], "ranks")
    parts: list[list] = [[] for _ in layout.shapes]
    for rank, pieces in enumerate(layout.pieces):
        at = 0
        for number, start, stop in pieces:
            parts[number].append(rows[rank, at : at + stop - start])
            at += stop - start
    return [
        (jnp.concatenate(p) if len(p) > 1 else p[0]).reshape(shape or (1,)) if p else jnp.zeros(shape, rows.dtype)
        for p, shape in zip(parts, layout.shapes)
    ]


BODIES["scatter_gradients"] = _scatter_gradients
BODIES["gather_parameters"] = _gather_parameters


@functools.partial(jax.jit, static_argnums=1)
def cut(flat: Any, sizes: tuple[int, ...]) -> list:
    """The parts of a flat array."""
    return jnp.split(flat[: sum(sizes)], np.cumsum(sizes)[:-1])


@functools.partial(jax.jit, static_argnums=1)
def join(parts: list, width: int) -> Any:
    """Parts one after the other, filled up with zeros."""
    flat = jnp.concatenate(parts)
    return jnp.pad(flat, (0, width - flat.shape[0]))


@functools.partial(jax.jit, static_argnums=1)
def take(arrays: list, pieces: tuple[Piece, ...]) -> list:
    """The pieces of some arrays, flat."""
    return [arrays[number].reshape(-1)[start:stop] for number, start, stop in pieces]
