"""Quantizers: they are fed with tensors and compute thresholds, the magnitudes that become the largest integer."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from ... import nn
from ..calibration import Divergence, Histogram, Percentile, largest, percentile


def _array(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().cast("float32").numpy())


class BaseQuantizer(metaclass=abc.ABCMeta):
    """What quantizers share.

    Args:
        quant_bits: width of the integers, 1 to 16.

    Attributes:
        abs_max_vals: the largest magnitude of each tensor.
        thresholds: the result, one for each tensor.

    Raises:
        AssertionError: another width.
    """

    def __init__(self, quant_bits=8):
        assert isinstance(quant_bits, int) and 0 < quant_bits <= 16, (
            f"(InvalidArgument) {type(self).__name__}: quant_bits must be an int from 1 to 16, got {quant_bits!r}"
        )
        self.quant_bits = quant_bits
        self.abs_max_vals: list = []
        self.thresholds: list = []

    @abc.abstractmethod
    def sample_data(self, layer, tensors):
        """Take a tuple of tensors into account."""

    @abc.abstractmethod
    def cal_thresholds(self):
        """Compute `thresholds`."""


class AbsmaxQuantizer(BaseQuantizer):
    """The largest magnitude of each tensor.

    Args:
        quant_bits: width of the integers.

    Example:
        >>> quantizer = paddle.quantization.AbsmaxQuantizer()
        >>> quantizer.sample_data(None, (paddle.to_tensor([1.0, -3.0]),))
        >>> quantizer.cal_thresholds(); quantizer.thresholds
        [3.0]
    """

    def sample_data(self, layer, tensors):
        assert isinstance(tensors, tuple), "(InvalidArgument) sample_data: tensors must be a tuple"
        found = [float(largest(_array(t))) for t in tensors]
        before = self.abs_max_vals or found
        self.abs_max_vals = [max(a, b) for a, b in zip(before, found)]

    def cal_thresholds(self):
        self.thresholds = self.abs_max_vals


class PerChannelAbsmaxQuantizer(BaseQuantizer):
    """The largest magnitude of each output channel of a weight, as a list.

    Args:
        quant_bits: width of the integers.
    """

    def sample_data(self, layer, tensors):
        assert isinstance(layer, nn.Layer), "(InvalidArgument) sample_data: layer must be a Layer"
        assert isinstance(tensors, tuple), "(InvalidArgument) sample_data: tensors must be a tuple"
        axis = 1 if isinstance(layer, (nn.Linear, nn.Conv2DTranspose)) else 0
        found = [largest(_array(t), axis) for t in tensors]
        before = self.abs_max_vals or found
        self.abs_max_vals = [np.maximum(a, b).tolist() for a, b in zip(before, found)]

    def cal_thresholds(self):
        self.thresholds = self.abs_max_vals


class BaseHistQuantizer(BaseQuantizer, metaclass=abc.ABCMeta):
    """What quantizers with histograms share.

    Args:
        quant_bits: width of the integers.
        bins: of a histogram.
        upsample_bins: parts of a bin when the histogram grows.
    """

    _kind: type[Histogram] = Histogram

    def __init__(self, quant_bits=8, bins=1024, upsample_bins=64):
        super().__init__(quant_bits)
        self.bins, self.upsample_bins = bins, upsample_bins
        self._seen: list[Histogram] = []

    def sample_data(self, layer, tensors):
        assert isinstance(tensors, tuple), "(InvalidArgument) sample_data: tensors must be a tuple"
        if not self._seen:
            self._seen = [self._kind(self.quant_bits, self.bins, self.upsample_bins) for _ in tensors]
        assert len(self._seen) == len(tensors), "(InvalidArgument) sample_data: another number of tensors than before"
        for each, tensor in zip(self._seen, tensors):
            each.add(_array(tensor))
        self.abs_max_vals = [h.top for h in self._seen]

    @property
    def hists(self) -> list:
        """The counts of the histograms, None where everything was zero."""
        return [h.counts for h in self._seen]

    def cal_thresholds(self):
        self.thresholds = [self._threshold(h) if h.counts is not None else h.top for h in self._seen]

    def _threshold(self, seen: Histogram) -> float:
        return seen.magnitude()


class HistQuantizer(BaseHistQuantizer):
    """The magnitude below which a share of all lies.

    Args:
        quant_bits, bins, upsample_bins: see BaseHistQuantizer.
        hist_percent: the share.
    """

    _kind = Percentile

    def __init__(self, quant_bits=8, bins=1024, upsample_bins=64, hist_percent=0.99999):
        super().__init__(quant_bits, bins, upsample_bins)
        self.hist_percent = hist_percent

    def _threshold(self, seen):
        # officially half a bin below the bin that reaches the share, not its middle
        return percentile(seen.counts, seen.width, self.hist_percent) - seen.width


class KLQuantizer(BaseHistQuantizer):
    """The magnitude that changes the distribution least, by its divergence.

    Args:
        quant_bits, bins, upsample_bins: see BaseHistQuantizer.
    """

    _kind = Divergence


SUPPORT_ACT_QUANTIZERS = [AbsmaxQuantizer, HistQuantizer, KLQuantizer]
SUPPORT_WT_QUANTIZERS = [AbsmaxQuantizer, PerChannelAbsmaxQuantizer]
