"""A place in a network where quantisation is to happen."""

from __future__ import annotations

from ..layer import Layer


class Stub(Layer):
    """Marks where activations that no layer makes are to be quantised; it passes its input on.

    Args:
        observer: what quantises there, a factory of `paddle.quantization`; None: what the configuration says.

    Example:
        >>> paddle.nn.quant.Stub()(paddle.ones([1])).tolist()
        [1.0]
    """

    def __init__(self, observer=None):
        super().__init__()
        self._observer = observer

    def forward(self, input):
        return input
