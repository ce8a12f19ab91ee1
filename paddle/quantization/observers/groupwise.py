"""Scales for groups of rows of a weight."""

from __future__ import annotations

from ...engine import errors
from ...engine.modes import set_mode
from ..base_observer import BaseObserver
from ..factory import ObserverFactory


class GroupWiseWeightObserver(ObserverFactory):
    """The largest magnitude of each column of a weight in groups of rows, shape [groups, N], for weights [K, N].

    Args:
        quant_bits: width of the integers.
        group_size: 64 or 128 rows.

    Example:
        >>> from paddle.quantization.observers.groupwise import GroupWiseWeightObserverLayer
        >>> observer = GroupWiseWeightObserverLayer(None, 4, 64)
        >>> _ = observer(paddle.ones([128, 3])); observer.scales().shape
        [2, 3]
    """

    def __init__(self, quant_bits=8, group_size=128):
        super().__init__(quant_bits=quant_bits, group_size=group_size)

    def _get_class(self):
        return GroupWiseWeightObserverLayer


class GroupWiseWeightObserverLayer(BaseObserver):
    """What the factory GroupWiseWeightObserver makes for a layer.

    Raises:
        ValueError: another group size, a weight that is not 2-D or whose rows do not split.
    """

    def __init__(self, layer, quant_bits=8, group_size=128):
        super().__init__()
        if group_size not in (64, 128):
            raise errors.ValueError_(f"GroupWiseWeightObserver: group_size must be 64 or 128, got {group_size!r}")
        self._quant_bits, self.group_size = quant_bits, group_size
        self._max = None

    def forward(self, input):
        if input.ndim != 2 or input.shape[0] % self.group_size:
            raise errors.ValueError_(
                f"GroupWiseWeightObserver: the weight must be 2-D, its rows a multiple of {self.group_size}, got shape {input.shape}"
            )
        with set_mode(grad=False):
            largest = input.detach().abs().reshape([-1, self.group_size, input.shape[1]]).max(1).cast("float32")
            self._max = largest.clip(min=1e-8)
        return input

    def cal_thresholds(self):
        """Nothing is left to compute."""

    def min_value(self):
        return 0.0

    def max_value(self):
        return self._max

    def scales(self):
        return self._max

    def zero_points(self):
        return None if self._max is None else self._max * 0

    def quant_axis(self):
        return -1

    def bit_length(self):
        return self._quant_bits
