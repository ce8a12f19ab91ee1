"""Scales from the largest magnitude."""

from __future__ import annotations

from ...engine.modes import set_mode
from ...ops.quantization import largest_magnitude
from ..base_observer import BaseObserver
from ..factory import ObserverFactory


class AbsmaxObserver(ObserverFactory):
    """The largest magnitude of everything seen is the scale.

    Args:
        quant_bits: width of the integers.

    Example:
        >>> from paddle.quantization.observers import AbsmaxObserver
        >>> AbsmaxObserver(quant_bits=4)
        AbsmaxObserver(quant_bits=4)
    """

    def __init__(self, quant_bits=8):
        super().__init__(quant_bits=quant_bits)

    def _get_class(self):
        return AbsmaxObserverLayer


class AbsmaxObserverLayer(BaseObserver):
    """What the factory AbsmaxObserver makes for a layer."""

    INIT_ABS_MAX = 1e-7

    def __init__(self, layer, quant_bits=8):
        super().__init__()
        self._quant_bits = quant_bits
        self._max = None
        self._scale = None

    def forward(self, input):
        with set_mode(grad=False):
            found = largest_magnitude(input.detach(), None)[0]
            self._max = found if self._max is None else self._max.cast(found.dtype).maximum(found)
        return input

    def cal_thresholds(self):
        self._scale = self._max

    def scales(self):
        if self._scale is None:
            self.cal_thresholds()
        return self._scale

    def zero_points(self):
        return None if self.scales() is None else self.scales() * 0

    def quant_axis(self):
        return -1

    def bit_length(self):
        return self._quant_bits
