"""How much a channel matters: one number for each index of an axis of a weight; the smallest are removed first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paddle.engine import errors


def _rows(weight: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(np.asarray(weight, np.float64), axis, 0).reshape(weight.shape[axis], -1)


def l1_norm(weight: np.ndarray, axis: int) -> np.ndarray:
    """The sum of magnitudes (Li et al., "Pruning Filters for Efficient ConvNets", 2017)."""
    return np.abs(_rows(weight, axis)).sum(1)


def l2_norm(weight: np.ndarray, axis: int) -> np.ndarray:
    """The Euclidean length."""
    return np.sqrt((_rows(weight, axis) ** 2).sum(1))


def geometry_median(weight: np.ndarray, axis: int) -> np.ndarray:
    """The sum of distances to the others: what lies in the middle can be replaced by them (He et al., "Filter Pruning via
    Geometric Median", 2019)."""
    rows = _rows(weight, axis)
    squares = (rows**2).sum(1)
    distances = np.maximum(squares[:, None] + squares[None] - 2 * rows @ rows.T, 0)
    return np.sqrt(distances).sum(1)


CRITERIA: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "l1_norm": l1_norm,
    "l2_norm": l2_norm,
    "geometry_median": geometry_median,
    "fpgm": geometry_median,
}


def criterion_of(given: str | Callable, function: str) -> Callable[[np.ndarray, int], np.ndarray]:
    """A criterion by its name, or the function itself. ValueError for an unknown name."""
    if callable(given):
        return given
    if given not in CRITERIA:
        raise errors.ValueError_(f"{function}: criterion must be one of {', '.join(CRITERIA)}, got {given!r}")
    return CRITERIA[given]
