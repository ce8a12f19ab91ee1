"""Which stored values a sliding window meets: for each place of the result, one row of a table."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ....engine import errors
from ....engine.tensor import Tensor
from ...creation import coalesce, sparse_of
from ...pattern import Coo, Pattern, flat_keys, index_tensor, unique_columns
from ...tensor import SparseTensor


def read(name: str, x: Any, n: int) -> SparseTensor:
    """A COO tensor of shape [N, spatial axes, C] whose channels are dense, every position stored once."""
    x = sparse_of(name, x, layout="coo")
    if x.ndim != n + 2 or x._pattern.sparse_dim != n + 1:
        raise errors.ValueError_(
            f"{name}: x must have {n + 1} sparse dimensions (batch and space) and one dense "
            f"(channels), got shape {list(x.shape)} with {x._pattern.sparse_dim} sparse ones"
        )
    return x if x._pattern.distinct else coalesce(x)


def table_of(
    pattern: Pattern, kernel: tuple, stride: tuple, pads: list, dilation: tuple, lengths: list, same: bool
) -> tuple[Pattern, Tensor]:
    """The pattern of the result over spatial axes of `lengths` (channels not yet in its shape), and a table [places,
    positions of the window] with the number of the stored value that is met, or the number of values where none is.

    With `same` the result has the pattern of the input. The pattern remembers what was asked.
    """
    asked = ("window", kernel, stride, tuple(pads), dilation, tuple(lengths), same)
    if asked not in pattern.cache:
        pattern.cache[asked] = _find_table(pattern, kernel, stride, pads, dilation, lengths, same)
    found, table = pattern.cache[asked]
    return pattern if same else found, table


def _find_table(
    pattern: Pattern, kernel: tuple, stride: tuple, pads: list, dilation: tuple, lengths: list, same: bool
) -> tuple[Pattern | None, Tensor]:
    coords, nnz = pattern.coords, pattern.nnz
    offsets = np.array(list(itertools.product(*map(range, kernel)))).reshape(-1, len(kernel))
    before = np.array([p[0] for p in pads])
    # A value at p lies at position k of the window at q when p + before = q * stride + k * dilation.
    places = coords[1:, None] + (before - offsets * np.array(dilation)).T[:, :, None]  # [axes, positions, values]
    where, rest = np.divmod(places, np.array(stride)[:, None, None])
    hit = ((rest == 0) & (where >= 0) & (where < np.array(lengths)[:, None, None])).all(0)
    position, value = np.nonzero(hit)
    out = np.concatenate([coords[0, value][None], where[:, position, value]])
    shape = (pattern.shape[0], *lengths)
    if same:
        own, wanted = flat_keys(coords, shape), flat_keys(out, shape)
        if own is None:
            raise errors.ValueError_(f"a sparse window: shape {list(shape)} has too many places to number them")
        order = np.argsort(own)
        at = np.searchsorted(own[order], wanted)
        number = order[np.minimum(at, nnz - 1)] if nnz else at
        stored = own[number] == wanted if nnz else np.zeros(0, bool)
        number, position, value = number[stored], position[stored], value[stored]
        found, count = None, nnz
    else:
        unique, number = unique_columns(out, shape)
        found, count = Coo(shape, index_tensor(unique.astype(pattern.index_dtype.numpy)), True), unique.shape[1]
    table = np.full((count, math.prod(kernel)), nnz, np.int64)
    table[number, position] = value
    return found, index_tensor(table)


def with_channels(pattern: Pattern, channels: int) -> Pattern:
    """The same places in a tensor with so many channels."""
    made = Coo((*pattern.shape[: pattern.sparse_dim], channels), pattern.indices, pattern.coalesced)  # type: ignore[attr-defined]
    made._coords, made._distinct, made.cache = pattern._coords, pattern._distinct, pattern.cache
    return made
