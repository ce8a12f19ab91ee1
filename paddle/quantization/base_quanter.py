"""What quanters have in common."""

from __future__ import annotations

import abc
from typing import Any

from ..nn.layer import Layer


class BaseQuanter(Layer, metaclass=abc.ABCMeta):
    """A layer that rounds its input as integers would, or watches it, and knows the scales.

    Example:
        >>> class Double(paddle.quantization.BaseQuanter):
        ...     def forward(self, input): return input * 2
        ...     def scales(self): return None
        ...     def zero_points(self): return None
        ...     def quant_axis(self): return None
        ...     def bit_length(self): return 8
        >>> Double()(paddle.ones([1])).tolist()
        [2.0]
    """

    @abc.abstractmethod
    def forward(self, input): ...

    @abc.abstractmethod
    def scales(self) -> Any:
        """The magnitudes that become the largest integer; None when there are none yet."""

    @abc.abstractmethod
    def zero_points(self) -> Any:
        """What zero becomes; None stands for zeros."""

    @abc.abstractmethod
    def quant_axis(self) -> Any:
        """The axis that several scales belong to; None or -1 with one scale for all."""

    @abc.abstractmethod
    def bit_length(self) -> Any:
        """The width of the integers."""
