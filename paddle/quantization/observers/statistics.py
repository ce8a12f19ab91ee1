"""Observers of activations by the statistics of `paddle.quantization.calibration`, and of weights by channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import errors
from ...engine.modes import modes
from .. import calibration
from ..base_observer import BaseObserver
from ..factory import ObserverFactory


class StatisticObserverLayer(BaseObserver):
    """What the factories here make for a layer; the values are looked at on the host.

    Args:
        layer: what it is for.
        quant_bits: width of the integers.
        options: of the statistic.
    """

    _statistic: type[calibration.Statistic] = calibration.Largest

    def __init__(self, layer: Any, quant_bits: int = 8, **options: Any):
        super().__init__()
        self._quant_bits = quant_bits
        self._seen = self._statistic(quant_bits, **options)
        self._scale: np.ndarray | None = None

    def forward(self, input):
        if modes.program is not None:
            raise errors.RuntimeError_(
                f"{type(self).__name__}: a model that is still being observed cannot be compiled or saved; convert() it first"
            )
        self._seen.add(input.detach().cast("float32").numpy())
        self._scale = None
        return input

    def cal_thresholds(self):
        self._scale = np.float32(self._seen.magnitude()) if self._seen.seen else None

    def scales(self):
        if self._scale is None:
            self.cal_thresholds()
        return self._scale

    def zero_points(self):
        return None

    def quant_axis(self):
        return -1

    def bit_length(self):
        return self._quant_bits


def _factory(name: str, statistic: type[calibration.Statistic], doc: str) -> type[ObserverFactory]:
    layer = type(name + "Layer", (StatisticObserverLayer,), {"_statistic": statistic, "__module__": __name__})
    layer.__doc__ = f"What the factory {name} makes for a layer."
    globals()[name + "Layer"] = layer
    return type(name, (ObserverFactory,), {"_class": layer, "__doc__": doc, "__module__": __name__})


_ARGUMENTS = """

    Args:
        quant_bits: width of the integers (default 8).
"""
AVGObserver = _factory(
    "AVGObserver", calibration.Average, "The mean over batches and samples of the largest magnitude." + _ARGUMENTS
)
MovingAverageAbsmaxObserver = _factory(
    "MovingAverageAbsmaxObserver",
    calibration.MovingAverage,
    "A running mean of the largest magnitude of each batch." + _ARGUMENTS + "        rate: what is kept of it (0.9).\n",
)
MSEObserver = _factory(
    "MSEObserver", calibration.SquaredError, "The magnitude with the smallest mean squared error." + _ARGUMENTS
)
EMDObserver = _factory(
    "EMDObserver",
    calibration.EarthMover,
    "The magnitude that changes mean and standard deviation least." + _ARGUMENTS,
)
_BINS = "        bins: of the histogram (2048).\n        upsample: parts of a bin when it grows (64).\n"
HistObserver = _factory(
    "HistObserver",
    calibration.Percentile,
    "The magnitude below which a share of all lies." + _ARGUMENTS + _BINS + "        percent: the share (0.99999).\n",
)
KLObserver = _factory(
    "KLObserver",
    calibration.Divergence,
    "The magnitude that changes the distribution least, by its divergence." + _ARGUMENTS + _BINS,
)


class AbsMaxChannelWiseWeightObserver(ObserverFactory):
    """The largest magnitude of each output channel of a weight.

    Args:
        quant_bits: width of the integers.

    Example:
        >>> from paddle.quantization.observers import AbsMaxChannelWiseWeightObserver
        >>> observer = AbsMaxChannelWiseWeightObserver()._instance(paddle.nn.Linear(2, 3))
        >>> _ = observer(paddle.ones([2, 3])); observer.scales().tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, quant_bits=8):
        super().__init__(quant_bits=quant_bits)

    def _get_class(self):
        return AbsMaxChannelWiseWeightObserverLayer


class AbsMaxChannelWiseWeightObserverLayer(BaseObserver):
    """What the factory AbsMaxChannelWiseWeightObserver makes: the axis follows from the class of the layer."""

    def __init__(self, layer, quant_bits=8):
        super().__init__()
        self._quant_bits = quant_bits
        name = type(layer).__name__
        self._axis = 1 if "Linear" in name or "Transpose" in name else 0
        self._scale = None

    def forward(self, input):
        self._scale = self._scales_of(input.detach().cast("float32").numpy())
        return input

    def _scales_of(self, weight: np.ndarray) -> np.ndarray:
        return np.maximum(calibration.largest(weight, self._axis), 1e-8)

    def cal_thresholds(self):
        """Nothing is left to compute."""

    def scales(self):
        return self._scale

    def zero_points(self):
        return None

    def quant_axis(self):
        return self._axis

    def bit_length(self):
        return self._quant_bits


class MSEChannelWiseWeightObserver(ObserverFactory):
    """For each output channel of a weight the magnitude with the smallest squared error.

    Args:
        quant_bits: width of the integers.
    """

    def __init__(self, quant_bits=8):
        super().__init__(quant_bits=quant_bits)

    def _get_class(self):
        return MSEChannelWiseWeightObserverLayer


class MSEChannelWiseWeightObserverLayer(AbsMaxChannelWiseWeightObserverLayer):
    """What the factory MSEChannelWiseWeightObserver makes for a layer."""

    def _scales_of(self, weight):
        rows = np.moveaxis(weight, self._axis, 0).reshape(weight.shape[self._axis], -1)
        top = np.maximum(calibration.largest(rows, 0), 1e-8)
        tried = np.stack([share * top for share in calibration.SHARES])
        losses = [((rows - calibration.rounded(rows, s[:, None], self._quant_bits)) ** 2).mean(1) for s in tried]
        best = np.argmin(np.stack(losses)[::-1], 0)  # of equal ones the largest
        return tried[::-1][best, np.arange(len(rows))].astype(np.float32)
