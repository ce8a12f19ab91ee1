"""Schedules of imperative mode: an optimizer of `fluid.optimizer` moves them on in each `minimize`."""

from __future__ import annotations

import numpy as np

from ..layers import learning_rate as formulas
from ..layers.learning_rate import StepDecay

__all__ = [
    "CosineDecay",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LinearLrWarmup",
    "NaturalExpDecay",
    "NoamDecay",
    "PiecewiseDecay",
    "PolynomialDecay",
]


class _Scheduled(StepDecay):
    """A schedule whose step counts from `begin` in steps of `step`."""

    def _start(self, made: StepDecay, begin: float, step: float) -> None:
        function = made.function
        super().__init__(lambda n, m: function(np.float32(begin + n * step), m), 0)


class ExponentialDecay(_Scheduled):
    """See `fluid.layers.exponential_decay`."""

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        self._start(_made("exponential_decay", learning_rate, decay_steps, decay_rate, staircase), begin, step)


class NaturalExpDecay(_Scheduled):
    """See `fluid.layers.natural_exp_decay`."""

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        self._start(_made("natural_exp_decay", learning_rate, decay_steps, decay_rate, staircase), begin, step)


class InverseTimeDecay(_Scheduled):
    """See `fluid.layers.inverse_time_decay`."""

    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        self._start(_made("inverse_time_decay", learning_rate, decay_steps, decay_rate, staircase), begin, step)


class PolynomialDecay(_Scheduled):
    """See `fluid.layers.polynomial_decay`."""

    def __init__(
        self,
        learning_rate,
        decay_steps,
        end_learning_rate=0.0001,
        power=1.0,
        cycle=False,
        begin=0,
        step=1,
        dtype="float32",
    ):
        made = _made("polynomial_decay", learning_rate, decay_steps, end_learning_rate, power, cycle)
        self._start(made, begin, step)


class CosineDecay(_Scheduled):
    """See `fluid.layers.cosine_decay`."""

    def __init__(self, learning_rate, step_each_epoch, epochs, begin=0, step=1, dtype="float32"):
        self._start(_made("cosine_decay", learning_rate, step_each_epoch, epochs), begin, step)


class NoamDecay(_Scheduled):
    """See `fluid.layers.noam_decay`."""

    def __init__(self, d_model, warmup_steps, begin=1, step=1, dtype="float32", learning_rate=1.0):
        self._start(_made("noam_decay", d_model, warmup_steps, learning_rate), begin, step)


class PiecewiseDecay(_Scheduled):
    """See `fluid.layers.piecewise_decay`."""

    def __init__(self, boundaries, values, begin, step=1, dtype="float32"):
        self._start(_made("piecewise_decay", boundaries, values), begin, step)


class LinearLrWarmup(_Scheduled):
    """See `fluid.layers.linear_lr_warmup`."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, begin=1, step=1, dtype="float32"):
        self._start(_made("linear_lr_warmup", learning_rate, warmup_steps, start_lr, end_lr), begin, step)


def _made(name: str, *args) -> StepDecay:
    from ..framework import imperative

    with imperative():
        return getattr(formulas, name)(*args)
