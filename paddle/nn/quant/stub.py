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


class QuanterStub(Layer):
    """What `QAT` and `PTQ` put in the place of a Stub: the quanter of the stub, or that of the configuration.

    Args:
        layer: the Stub.
        q_config: has `activation`, a factory of quanters, or None.
    """

    def __init__(self, layer, q_config):
        super().__init__()
        factory = layer._observer if layer._observer is not None else q_config.activation
        self._observer = None if factory is None else factory._instance(layer)

    def forward(self, input):
        return input if self._observer is None else self._observer(input)
