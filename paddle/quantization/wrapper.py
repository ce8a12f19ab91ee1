"""A layer with its observer."""

from __future__ import annotations

from ..nn.layer import Layer


class ObserveWrapper(Layer):
    """A layer whose input, or output, passes through an observer or quanter.

    Args:
        observer: the observer.
        observed: the layer.
        observe_input: False puts the observer behind the layer.
    """

    def __init__(self, observer, observed, observe_input=True):
        super().__init__()
        self._observer, self._observed, self._observe_input = observer, observed, observe_input

    def forward(self, *inputs, **kwargs):
        if not self._observe_input:
            return self._observer(self._observed(*inputs, **kwargs))
        if not inputs:
            return self._observed(**kwargs)
        return self._observed(self._observer(inputs[0]), *inputs[1:], **kwargs)
