"""Training with quantisation in mind."""

from __future__ import annotations

import copy

from .quantize import Quantization


class QAT(Quantization):
    """Makes a model round its weights and activations while it trains (Jacob et al., "Quantization and Training of Neural
    Networks", 2018).

    Args:
        config: which layers, and how.

    Example:
        >>> from paddle.quantization import QAT, QuantConfig
        >>> from paddle.quantization.quanters import FakeQuanterWithAbsMaxObserver
        >>> quanter = FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        >>> qat = QAT(QuantConfig(activation=quanter, weight=quanter))
        >>> net = qat.quantize(paddle.nn.Sequential(paddle.nn.Linear(2, 2)))
        >>> type(net[0]).__name__
        'QuantedLinear'
    """

    def quantize(self, model, inplace=False):
        """The model with quanters.

        Args:
            model: a Layer in training mode.
            inplace: change the model itself.

        Raises:
            AssertionError: the model is in evaluation mode.
        """
        assert model.training, (
            "(PreconditionNotMet) QAT.quantize: the model must be in training mode, call model.train() first"
        )
        return self._prepare(model if inplace else copy.deepcopy(model))
