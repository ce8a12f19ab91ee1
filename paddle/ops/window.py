"""Reading the arguments of operators that slide windows (convolution, pooling, unfold): sizes, padding, layout."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..engine import errors

FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def channel_last(name: str, data_format: str, n: int) -> bool:
    """Whether the channels come last in the layout of n spatial axes; ValueError for another layout."""
    if data_format not in FORMATS[n]:
        raise errors.ValueError_(f"{name}: data_format must be {FORMATS[n][0]} or {FORMATS[n][1]}, got {data_format!r}")
    return data_format == FORMATS[n][1]


def spatial_axes(n: int, last: bool) -> tuple[int, ...]:
    return tuple(range(1, n + 1) if last else range(2, n + 2))


def check_rank(name: str, x: Any, n: int) -> None:
    if x.ndim != n + 2:
        raise errors.ValueError_(f"{name}: x must be {n + 2}-D, got shape {list(x.shape)}")


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def sizes(name: str, argument: str, value: Any, n: int, least: int = 1) -> tuple[int, ...]:
    """An int or a list of n ints as n ints of at least `least`; ValueError otherwise."""
    found = (value,) * n if _is_int(value) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if len(found) == 1:
        found *= n
    if len(found) != n or not all(_is_int(v) and v >= least for v in found):
        raise errors.ValueError_(
            f"{name}: {argument} must be an int or a list of {n} ints of at least {least}, got {errors.describe(value)}"
        )
    return tuple(int(v) for v in found)


def pairs(
    name: str, padding: Any, n: int, last: bool, lengths: tuple, kernel: tuple, stride: tuple
) -> list[tuple[int, int]]:
    """Padding in any official form, as (before, after) for each spatial axis.

    "SAME" (ceil(length / stride) windows, dilation ignored, the odd element after), "VALID", an int, n ints, 2n ints
    (before, after of each axis), or a pair for every axis of x with zeros for batch and channels.
    """
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0)] * n
        if padding.upper() == "SAME":
            totals = [jax.core.max_dim((-(-l // s) - 1) * s + k - l, 0) for l, k, s in zip(lengths, kernel, stride)]
            return [(t // 2, t - t // 2) for t in totals]
        raise errors.ValueError_(f"{name}: padding must be 'SAME', 'VALID' or numbers, got {padding!r}")
    found = None
    if _is_int(padding):
        found = [(padding, padding)] * n
    elif isinstance(padding, (list, tuple)):
        if len(padding) == n + 2 and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in padding):
            outside = [padding[0], padding[-1 if last else 1]]
            if any(v != 0 for p in outside for v in p):
                raise errors.ValueError_(
                    f"{name}: batch and channels cannot be padded, got padding={list(map(list, padding))}"
                )
            found = list(padding[1:-1] if last else padding[2:])
        elif len(padding) == n:
            found = [(p, p) for p in padding]
        elif len(padding) == 2 * n:
            found = list(zip(padding[::2], padding[1::2]))
    if found is None or not all(_is_int(v) and v >= 0 for p in found for v in p):
        raise errors.ValueError_(
            f"{name}: padding must be 'SAME', 'VALID', an int, {n} ints, {2 * n} ints or a pair "
            f"for each axis, none negative, got {errors.describe(padding)}"
        )
    return [(int(a), int(b)) for a, b in found]
