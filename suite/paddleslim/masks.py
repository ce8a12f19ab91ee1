"""Masks of sparsity: which elements of weights stay, by their magnitudes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paddle.engine import errors


def checked_block(block: Any, function: str) -> tuple[int, int]:
    """Two positive ints."""
    if not isinstance(block, (list, tuple)) or len(block) != 2 or not all(isinstance(n, int) and n > 0 for n in block):
        raise errors.ValueError_(f"{function}: sparse_block must be two positive ints, got {block!r}")
    return block[0], block[1]


def check_settings(function: str, mode: str, ratio: float, prune_params_type: str | None, local_sparsity: bool) -> None:
    """What the pruners of layers and of programs take. ValueError for anything else."""
    if mode not in ("ratio", "threshold"):
        raise errors.ValueError_(f"{function}: mode must be 'ratio' or 'threshold', got {mode!r}")
    if prune_params_type not in (None, "conv1x1_only"):
        raise errors.ValueError_(
            f"{function}: prune_params_type must be None or 'conv1x1_only', got {prune_params_type!r}"
        )
    if local_sparsity and mode == "threshold":
        raise errors.ValueError_(f"{function}: local_sparsity needs mode='ratio'")
    if not 0 <= ratio < 1:
        raise errors.ValueError_(f"{function}: ratio must lie in [0, 1), got {ratio!r}")


def magnitudes(array: np.ndarray, block: tuple[int, int] = (1, 1)) -> np.ndarray:
    """|array|, or for blocks of rows and columns (of the array seen as a matrix) the mean of each block in its place."""
    found = np.abs(np.asarray(array, np.float32))
    if block == (1, 1):
        return found
    matrix = found.reshape(found.shape[0], -1)
    m, n = block
    rows, columns = -(-matrix.shape[0] // m), -(-matrix.shape[1] // n)
    padded = np.full((rows * m, columns * n), np.nan, np.float32)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    means = np.nanmean(padded.reshape(rows, m, columns, n), (1, 3))
    whole = np.repeat(np.repeat(means, m, 0), n, 1)
    return whole[: matrix.shape[0], : matrix.shape[1]].reshape(found.shape)


def threshold_of(values: np.ndarray, ratio: float) -> float:
    """The magnitude up to which a share of the values lies; -1 for none."""
    n = int(round(ratio * values.size))
    return float(np.partition(values.reshape(-1), n - 1)[n - 1]) if n else -1.0


def masks_of(
    arrays: Mapping[str, np.ndarray],
    ratio: float | None = None,
    threshold: float | None = None,
    local: bool = False,
    block: tuple[int, int] = (1, 1),
) -> tuple[dict[str, np.ndarray], float]:
    """Masks by the names of arrays, and the last threshold.

    Args:
        arrays: weights by name.
        ratio: the share of elements that goes, of all together or, with `local`, of each.
        threshold: in place of a ratio: smaller magnitudes go.
        local: see above.
        block: elements go in blocks of this shape.
    """
    sizes = {n: magnitudes(a, block) for n, a in arrays.items()}
    if threshold is not None:
        return {n: m >= threshold for n, m in sizes.items()}, threshold
    assert ratio is not None
    if local:
        bounds = {n: threshold_of(m, ratio) for n, m in sizes.items()}
    else:
        whole = np.concatenate([m.reshape(-1) for m in sizes.values()]) if sizes else np.zeros(0)
        bounds = dict.fromkeys(sizes, threshold_of(whole, ratio))
    return {n: m > bounds[n] for n, m in sizes.items()}, max(bounds.values(), default=-1.0)


def zeros_share(arrays: Any) -> float:
    """The share of zeros in arrays."""
    arrays = list(arrays)
    total = sum(a.size for a in arrays)
    return 1 - sum(int(np.count_nonzero(a)) for a in arrays) / total if total else 0.0


def is_pointwise(shape: Any) -> bool:
    """Whether a weight is that of a 1x1 convolution."""
    return len(shape) == 4 and tuple(shape[2:]) == (1, 1)


class Schedule:
    """Gradual magnitude pruning: ratios by iteration that rise steeply first (Zhu and Gupta, "To prune, or not to prune",
    2017), from an initial one to the wanted one.

    Args:
        configs: `stable_iterations`, `pruning_iterations`, `tunning_iterations`, `pruning_steps`, `initial_ratio`,
            `resume_iteration`.
        ratio: the wanted one.

    Raises:
        ValueError: a key is missing, or there are fewer than ten iterations for each step.
    """

    def __init__(self, configs: Any, ratio: float):
        needed = ("stable_iterations", "pruning_iterations", "tunning_iterations", "pruning_steps", "initial_ratio")
        missing = [k for k in needed if not isinstance(configs, dict) or configs.get(k) is None]
        if missing:
            raise errors.ValueError_(
                f"GMPUnstructuredPruner: configs must be a dict with {missing[0]!r}, got {configs!r}"
            )
        self.stable, self.pruning = int(configs["stable_iterations"]), int(configs["pruning_iterations"])
        self.steps, self.first, self.ratio = int(configs["pruning_steps"]), float(configs["initial_ratio"]), ratio
        if self.steps < 1 or self.pruning / self.steps < 10:
            raise errors.ValueError_(
                "GMPUnstructuredPruner: pruning_iterations must be at least ten times pruning_steps, got "
                f"{self.pruning} and {self.steps}"
            )

    def at(self, iteration: int) -> float:
        """The ratio of an iteration."""
        if iteration < self.stable:
            return 0.0
        step = (iteration - self.stable) // (self.pruning // self.steps)
        if step >= self.steps:
            return self.ratio
        return self.first + (self.ratio - self.first) * (1 - (1 - step / self.steps) ** 3)
