"""Penalties by their names before version 2."""

from ..regularizer import L1Decay, L2Decay, WeightDecayRegularizer

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer", "WeightDecayRegularizer"]


class L1DecayRegularizer(L1Decay):
    """`paddle.regularizer.L1Decay`."""

    def __init__(self, regularization_coeff=0.0):
        super().__init__(regularization_coeff)


class L2DecayRegularizer(L2Decay):
    """`paddle.regularizer.L2Decay`."""

    def __init__(self, regularization_coeff=0.0):
        super().__init__(regularization_coeff)


L1Decay, L2Decay = L1DecayRegularizer, L2DecayRegularizer  # type: ignore[misc,assignment]
