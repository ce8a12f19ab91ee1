"""Rounding with a running mean of the largest magnitude as the scale."""

from __future__ import annotations

from ...nn.quant.quant_layers import FakeQuantMovingAverageAbsMax
from ..base_quanter import BaseQuanter
from ..factory import QuanterFactory


class FakeQuanterWithAbsMaxObserver(QuanterFactory):
    """Rounds to integers whose scale is a running mean of max |input|; the gradient passes as if it did not.

    Args:
        moving_rate: what is kept of the mean at each step.
        bit_length: width of the integers.
        dtype: of the statistics.
        name: beginning of the names of the statistics.

    Example:
        >>> from paddle.quantization.quanters import FakeQuanterWithAbsMaxObserver
        >>> FakeQuanterWithAbsMaxObserver(moving_rate=0.99)
        FakeQuanterWithAbsMaxObserver(name=None,moving_rate=0.99,bit_length=8,dtype=float32)
    """

    def __init__(self, moving_rate=0.9, bit_length=8, dtype="float32", name=None):
        super().__init__(name=name, moving_rate=moving_rate, bit_length=bit_length, dtype=dtype)

    def _get_class(self):
        return FakeQuanterWithAbsMaxObserverLayer


class FakeQuanterWithAbsMaxObserverLayer(FakeQuantMovingAverageAbsMax, BaseQuanter):
    """What the factory FakeQuanterWithAbsMaxObserver makes for a layer."""

    def __init__(self, layer, name=None, moving_rate=0.9, bit_length=8, dtype="float32"):
        super().__init__(name or "quant_dequant", moving_rate, bit_length, dtype)

    def scales(self):
        return self._scale

    def zero_points(self):
        return None

    def quant_axis(self):
        return -1

    def bit_length(self):
        return self._quant_bits
