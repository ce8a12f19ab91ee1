"""Quantisation after training."""

from __future__ import annotations

import copy

from .quantize import Quantization


class PTQ(Quantization):
    """Makes a trained model watch its weights and activations; `convert` then quantises it with the scales it has seen.

    Args:
        config: which layers, and how.

    Example:
        >>> from paddle.quantization import PTQ, QuantConfig
        >>> from paddle.quantization.observers import AbsmaxObserver
        >>> ptq = PTQ(QuantConfig(activation=AbsmaxObserver(), weight=AbsmaxObserver()))
        >>> net = ptq.quantize(paddle.nn.Sequential(paddle.nn.Linear(2, 2)).eval())
        >>> _ = net(paddle.ones([4, 2]))
        >>> ptq.convert(net)(paddle.ones([1, 2])).shape
        [1, 2]
    """

    def quantize(self, model, inplace=False):
        """The model with observers; run it on some data, then `convert` it.

        Args:
            model: a Layer in evaluation mode.
            inplace: change the model itself.

        Raises:
            AssertionError: the model is in training mode.
        """
        assert not model.training, (
            "(PreconditionNotMet) PTQ.quantize: the model must be in evaluation mode, call model.eval() first"
        )
        model = model if inplace else copy.deepcopy(model)
        self._prepare(model)
        model.eval()
        return model
