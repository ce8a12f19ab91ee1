"""Learning rates that follow the number of steps: variables of the program, or schedules in imperative mode."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle

from ...engine import place as places
from ...engine.dtype import to_dtype
from ...engine.modes import modes, set_mode
from ...engine.tensor import Tensor
from ...optimizer.lr import LRScheduler

__all__ = [
    "cosine_decay",
    "exponential_decay",
    "inverse_time_decay",
    "linear_lr_warmup",
    "natural_exp_decay",
    "noam_decay",
    "piecewise_decay",
    "polynomial_decay",
]

_COUNTER = "@LR_DECAY_COUNTER@"


class StepDecay(LRScheduler):
    """A rate that is a function of the number of steps; an optimizer of `fluid.optimizer` moves it on."""

    def __init__(self, function: Callable, begin: int = 0):
        self.function, self.begin = function, begin
        super().__init__(0.0)

    def get_lr(self) -> float:
        return float(self.function(np.float32(self.last_epoch + self.begin), _numbers))


class _numbers:
    """What the formulas use, for plain numbers; `_variables` has the same for variables."""

    floor, exp, cos = math.floor, math.exp, math.cos
    minimum, maximum, ceil = min, max, math.ceil
    where = staticmethod(lambda condition, a, b: a if condition else b)
    power = staticmethod(lambda a, b: a**b)


class _variables:
    floor, exp, cos, ceil = paddle.floor, paddle.exp, paddle.cos, paddle.ceil

    @staticmethod
    def _both(a: Any, b: Any) -> tuple:
        like = a if isinstance(a, Tensor) else b
        return tuple(v if isinstance(v, Tensor) else paddle.full_like(like, v) for v in (a, b))

    @classmethod
    def minimum(cls, a: Any, b: Any) -> Any:
        return paddle.minimum(*cls._both(a, b))

    @classmethod
    def maximum(cls, a: Any, b: Any) -> Any:
        return paddle.maximum(*cls._both(a, b))

    @classmethod
    def where(cls, condition: Any, a: Any, b: Any) -> Any:
        a, b = (v if isinstance(v, Tensor) else paddle.full([1], v, "float32") for v in (a, b))
        return paddle.where(condition, a, b)

    @classmethod
    def power(cls, a: Any, b: Any) -> Any:
        return paddle.exp(b * math.log(a)) if not isinstance(a, Tensor) else a**b


def _schedule(function: Callable, begin: int = 0) -> Any:
    """The rate `function(step, operations)`: a variable that counts the runs, or a StepDecay."""
    if modes.program is None:
        return StepDecay(function, begin)
    recorder = modes.program
    from ...static.backward import training_part

    with set_mode(grad=False, amp=None), training_part(recorder):
        return function(_step(recorder) + float(begin), _variables).reshape([1])


def _step(recorder: Any) -> Tensor:
    """The number of the run, from 0, as a float variable; one counter for the whole program."""
    counter = getattr(recorder.graph, "step_counter", None)
    if counter is None:
        first = functools.partial(places.put, np.full((1,), -1, np.int64), None)
        counter = recorder.new_state(_COUNTER, (1,), to_dtype("int64"), first)
        counter._rebind(counter + 1)
        recorder.graph.step_counter = counter
    return counter.astype("float32")


def noam_decay(d_model: float, warmup_steps: float, learning_rate: float = 1.0) -> Any:
    """``learning_rate * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)``; steps count from 1."""
    return _schedule(
        lambda n, m: m.minimum(m.power(n, -0.5), n * warmup_steps**-1.5) * (learning_rate * d_model**-0.5), 1
    )


def _periods(n: Any, m: Any, decay_steps: float, staircase: bool) -> Any:
    return m.floor(n / decay_steps) if staircase else n / decay_steps


def exponential_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Any:
    """``learning_rate * decay_rate ** (step / decay_steps)``."""
    return _schedule(lambda n, m: m.power(decay_rate, _periods(n, m, decay_steps, staircase)) * learning_rate)


def natural_exp_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Any:
    """``learning_rate * exp(-decay_rate * step / decay_steps)``."""
    return _schedule(lambda n, m: m.exp(_periods(n, m, decay_steps, staircase) * -decay_rate) * learning_rate)


def inverse_time_decay(learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False) -> Any:
    """``learning_rate / (1 + decay_rate * step / decay_steps)``."""
    return _schedule(lambda n, m: learning_rate / (_periods(n, m, decay_steps, staircase) * decay_rate + 1))


def polynomial_decay(
    learning_rate: float, decay_steps: float, end_learning_rate: float = 0.0001, power: float = 1.0, cycle: bool = False
) -> Any:
    """From `learning_rate` to `end_learning_rate` in `decay_steps` steps, along ``(1 - step / decay_steps) ** power``."""

    def rate(n, m):
        steps = decay_steps
        if cycle:
            steps = m.maximum(m.ceil(n / decay_steps), 1.0) * decay_steps
        else:
            n = m.minimum(n, float(decay_steps))
        return m.power(n / steps * -1 + 1, power) * (learning_rate - end_learning_rate) + end_learning_rate

    return _schedule(rate)


def piecewise_decay(boundaries: list, values: list) -> Any:
    """values[i] until step boundaries[i], then the last one."""

    def rate(n, m):
        out = m.where(n < boundaries[-1], values[-2], values[-1])
        for boundary, value in reversed(list(zip(boundaries[:-1], values))):
            out = m.where(n < boundary, value, out)
        return out

    return _schedule(rate)


def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> Any:
    """``learning_rate / 2 * (cos(epoch * pi / epochs) + 1)``."""
    return _schedule(
        lambda n, m: (m.cos(m.floor(n / step_each_epoch) * (math.pi / epochs)) + 1) * (0.5 * learning_rate)
    )


def linear_lr_warmup(learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float) -> Any:
    """From `start_lr` to `end_lr` in `warmup_steps` steps, then `learning_rate`, a number or another schedule."""

    def rate(n, m):
        later = learning_rate
        if isinstance(later, StepDecay):
            later = later.function(n + later.begin, m)
        return m.where(n < warmup_steps, n * ((end_lr - start_lr) / warmup_steps) + start_lr, later)

    return _schedule(rate)
