"""From the values that pass to the magnitude that becomes the largest integer: what observers and the quantisation of
programs share. Everything is NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors

SHARES = [0.3 + 0.02 * i for i in range(35)]  # of the largest magnitude, that a search tries; officially up to 0.98


def largest(array: np.ndarray, axis: int | None = None) -> Any:
    """max |array|, or for each index of an axis; 0 of nothing."""
    rest = None if axis is None else tuple(i for i in range(array.ndim) if i != axis % array.ndim)
    return np.abs(np.asarray(array, np.float32)).max(rest, initial=0.0)


def rounded(array: np.ndarray, scale: Any, bits: int) -> np.ndarray:
    """The array after rounding to integers, as numbers again."""
    top = 2 ** (bits - 1) - 1
    scale = np.where(np.asarray(scale) > 0, scale, 1e-8)
    return np.clip(np.round(array / scale * top), -top - 1, top) / top * scale


class Statistic:
    """Takes arrays one after the other, and gives a magnitude.

    Args:
        bits: width of the integers.
    """

    def __init__(self, bits: int = 8):
        self.bits = bits
        self.seen = False

    def add(self, array: Any) -> None:
        """Take an array of any shape into account; one without elements does not count. ValueError for NaN and infinity."""
        array = np.asarray(array)
        if array.size:
            array = array.astype(np.float32, copy=False)
            if not np.isfinite(array).all():
                raise errors.ValueError_("quantization: the values that are observed hold NaN or infinity")
            self._add(array)
            self.seen = True

    def _add(self, array: np.ndarray) -> None:
        raise NotImplementedError

    def magnitude(self) -> float:
        raise NotImplementedError


class Largest(Statistic):
    """The largest magnitude of all."""

    value = 0.0

    def _add(self, array: np.ndarray) -> None:
        self.value = max(self.value, float(largest(array)))

    def magnitude(self) -> float:
        return self.value


class Average(Statistic):
    """The mean over the batches of the mean over their samples of the largest magnitude."""

    def __init__(self, bits: int = 8):
        super().__init__(bits)
        self.means: list[float] = []

    def _add(self, array: np.ndarray) -> None:
        self.means.append(float(np.abs(array.reshape(len(array) if array.ndim else 1, -1)).max(1).mean()))

    def magnitude(self) -> float:
        return float(np.mean(self.means)) if self.means else 0.0


class MovingAverage(Statistic):
    """A running mean of the largest magnitude of each batch.

    Args:
        rate: what is kept of the mean at each step.
    """

    def __init__(self, bits: int = 8, rate: float = 0.9):
        super().__init__(bits)
        self.rate, self.state, self.accum = rate, 0.0, 0.0

    def _add(self, array: np.ndarray) -> None:
        self.state = self.state * self.rate + 1
        self.accum = self.accum * self.rate + float(largest(array))

    def magnitude(self) -> float:
        return self.accum / self.state if self.state else 0.0


class Search(Statistic):
    """The share of the largest magnitude of a batch with the smallest loss of all that were tried.

    Args:
        loss: of (numbers, rounded numbers).
    """

    loss: Callable[[np.ndarray, np.ndarray], float]

    def __init__(self, bits: int = 8):
        super().__init__(bits)
        self.best, self.value = math.inf, 0.0

    def _add(self, array: np.ndarray) -> None:
        array = array.ravel()
        top = float(largest(array)) or 1e-8
        for share in SHARES:
            found = self.loss(array, rounded(array, share * top, self.bits))
            if found <= self.best:
                self.best, self.value = found, share * top

    def magnitude(self) -> float:
        return self.value


class SquaredError(Search):
    """The smallest mean squared error."""

    @staticmethod
    def loss(x, y):
        return float(((x - y) ** 2).mean())


class EarthMover(Search):
    """The smallest difference of means and standard deviations."""

    @staticmethod
    def loss(x, y):
        return float(abs(x.mean() - y.mean()) + abs(x.std() - y.std()))


class Histogram(Statistic):
    """Magnitudes in bins from 0 up. A larger magnitude than before makes the bins wider: each is split into
    `upsample` parts, which are put together anew.

    Args:
        bins: how many.
        upsample: into how many parts.
    """

    def __init__(self, bits: int = 8, bins: int = 1024, upsample: int = 64):
        super().__init__(bits)
        self.bins, self.upsample = bins, upsample
        self.low = self.top = 0.0
        self.counts: np.ndarray | None = None

    def between(self, low: float, top: float) -> None:
        """Fix the ends of the bins before anything is taken."""
        self.low, self.top, self.counts = low, top, np.zeros(self.bins, np.float32)

    @property
    def width(self) -> float:
        return (self.top - self.low) / self.bins

    def _add(self, array: np.ndarray) -> None:
        top = float(largest(array))
        if self.counts is None:
            if top:
                self.top, self.counts = top, self._count(array, top)
            return
        if top > self.top:
            self._widen(top)
        if top:
            self.counts = self._count(array, self.top) + self.counts

    def _count(self, array: np.ndarray, top: float) -> np.ndarray:
        return np.histogram(np.abs(array), bins=self.bins, range=(self.low, top))[0].astype(np.float32)

    def _widen(self, top: float) -> None:
        width = self.top / (self.bins * self.upsample)
        parts = math.ceil(top / (self.bins * width))
        fine = np.zeros(self.bins * parts, np.float32)
        fine[: self.bins * self.upsample] = np.repeat(self.counts, self.upsample)  # type: ignore[arg-type]
        whole = np.cumsum(fine, dtype=np.float64)[parts - 1 :: parts]
        self.counts = (np.diff(whole, prepend=0.0) / self.upsample).astype(np.float32)
        self.top = self.bins * width * parts

    def magnitude(self) -> float:
        return self.top


class Percentile(Histogram):
    """The magnitude below which a share of all lies.

    Args:
        percent: the share.
    """

    def __init__(self, bits: int = 8, bins: int = 2048, upsample: int = 64, percent: float = 0.99999):
        super().__init__(bits, bins, upsample)
        if not 0 < percent <= 1:
            raise errors.ValueError_(f"quantization: percent must lie in (0, 1], got {percent!r}")
        self.percent = percent

    def magnitude(self) -> float:
        return self.top if self.counts is None else percentile(self.counts, self.width, self.percent)


class Divergence(Histogram):
    """The magnitude whose rounding changes the distribution least, by the divergence of Kullback and Leibler (Migacz,
    "8-bit Inference with TensorRT", 2017)."""

    def __init__(self, bits: int = 8, bins: int = 2048, upsample: int = 64):
        super().__init__(bits, bins, upsample)

    def magnitude(self) -> float:
        return self.top if self.counts is None else least_divergence(self.counts, self.width, self.bits)


def percentile(counts: np.ndarray, width: float, percent: float) -> float:
    """The middle of the bin in which a share of all is reached."""
    share = np.cumsum(counts / np.sum(counts, dtype=np.float64))
    at = int(np.argmax(share >= percent)) if share[-1] >= percent else len(counts) - 1
    return float((at + 0.5) * width)


def least_divergence(counts: np.ndarray, width: float, bits: int) -> float:
    """The end of the bins, at least half of them, at which the divergence is smallest; what lies beyond counts as the last.

    Args:
        counts: of the bins of magnitudes.
        width: of a bin.
        bits: width of the integers.
    """
    counts = np.asarray(counts, np.float64)
    levels, total, n = 2 ** (bits - 1) - 1, counts.sum(), len(counts)
    start = int((n - 1) * 0.5)
    best, best_at = math.inf, 0
    for end in range(start, n):
        if end == 0 or counts[end - 1] == 0:
            continue
        kept = counts[:end].copy()
        wanted = kept.copy()
        wanted[-1] += counts[end:].sum()
        merged = max(1, end // levels)
        starts = np.arange(min(levels, end)) * merged
        used = wanted != 0
        sums = np.add.reduceat(kept, starts)
        filled = np.add.reduceat(used.astype(np.float64), starts)
        mean = np.divide(sums, filled, out=np.zeros_like(sums), where=filled > 0)
        given = np.where(used, np.repeat(mean, np.diff(starts, append=end)), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = wanted[used] * (np.log(given.sum() * wanted[used]) - np.log(total * given[used]))
        found = terms.sum() / total
        if found < best:
            best, best_at = found, end
    if best_at == 0:
        while start > 0 and counts[start] == 0:
            start -= 1
        best_at = start
    return float((best_at + 0.5) * width)


ALGORITHMS: dict[str, type[Statistic]] = {
    "abs_max": Largest,
    "min_max": Largest,
    "avg": Average,
    "mse": SquaredError,
    "emd": EarthMover,
    "hist": Percentile,
    "KL": Divergence,
}


def statistic(algo: str, bits: int = 8, **options: Any) -> Statistic:
    """The statistic of an official name. ValueError for another name."""
    if algo not in ALGORITHMS:
        raise errors.ValueError_(f"quantization: algo must be one of {', '.join(ALGORITHMS)}, got {algo!r}")
    return ALGORITHMS[algo](bits, **options)
