"""Learning-rate schedules: numbers on the host that an optimizer reads at each step, so that a change never recompiles.

Every schedule here is a closed form of the epoch: `step(epoch)` and as many single steps give the same rate.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.modes import note_effect
from ..engine.tensor import Tensor

__all__ = [
    "LRScheduler",
    "NoamDecay",
    "PiecewiseDecay",
    "NaturalExpDecay",
    "InverseTimeDecay",
    "PolynomialDecay",
    "LinearWarmup",
    "ExponentialDecay",
    "MultiStepDecay",
    "StepDecay",
    "LambdaDecay",
    "ReduceOnPlateau",
    "CosineAnnealingDecay",
    "MultiplicativeDecay",
    "OneCycleLR",
    "CyclicLR",
    "LinearLR",
    "CosineAnnealingWarmRestarts",
]


def _check(condition: bool, owner: Any, text: str) -> None:
    if not condition:
        raise errors.ValueError_(f"{type(owner).__name__}: {text}")


def _check_type(value: Any, kinds: Any, owner: Any, name: str) -> None:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        words = " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise errors.TypeError_(f"{type(owner).__name__}: {name} must be {words}, got {errors.describe(value)}")


class LRScheduler(errors.Explains):
    """Base class of the schedules: subclasses define `get_lr()`, the rate at `self.last_epoch`.

    Args:
        learning_rate: the initial rate, kept as `base_lr`.
        last_epoch: the epoch before the first; -1 starts at the beginning.
        verbose: print the rate at each step.

    Raises:
        TypeError: `learning_rate` is no number.
        ValueError: it is negative.

    Example:
        >>> class Halving(paddle.optimizer.lr.LRScheduler):
        ...     def get_lr(self):
        ...         return self.base_lr * 0.5 ** self.last_epoch
        >>> s = Halving(1.0)
        >>> s.step()
        >>> s()
        0.5
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False):
        if not isinstance(learning_rate, (float, int)):
            raise errors.TypeError_(
                f"{type(self).__name__}: learning_rate must be a float, got {errors.describe(learning_rate)}"
            )
        _check(learning_rate >= 0, self, f"learning_rate must not be negative, got {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._var_name = None
        self.step()

    def __call__(self) -> float:
        """The rate now."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to `epoch`, and compute its rate."""
        note_effect(f"{type(self).__name__}.step")
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        self._report()

    def _report(self) -> None:
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """The rate at `self.last_epoch`; to be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr()")

    def state_keys(self) -> None:
        """Set `self.keys`, the names of the attributes that `state_dict` saves."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """The state as a dict of numbers."""
        self.state_keys()
        state = {}
        for key in self.keys:
            if key in self.__dict__:
                value = self.__dict__[key]
                state[key] = float(value) if isinstance(value, Tensor) else value
        return state

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put back what `state_dict` returned. RuntimeError when an entry is missing."""
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise errors.RuntimeError_(f"{type(self).__name__}.set_state_dict: there is no {key!r} in state_dict")
            self.__dict__[key] = state_dict[key]

    set_dict = set_state_dict


class NoamDecay(LRScheduler):
    """base / sqrt(d_model) * min(1 / sqrt(epoch), epoch / warmup_steps**1.5) (Vaswani et al. 2017, section 5.3).

    Args:
        d_model: the width of the model.
        warmup_steps: how many steps the rate rises.
        learning_rate, last_epoch, verbose: see LRScheduler.

    Example:
        >>> round(paddle.optimizer.lr.NoamDecay(64, 5, last_epoch=0)(), 4)
        0.0112
    """

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        _check(d_model > 0, self, f"d_model must be positive, got {d_model}")
        _check(warmup_steps > 0, self, f"warmup_steps must be positive, got {warmup_steps}")
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        epoch = self.last_epoch
        rising = epoch * self.warmup_steps**-1.5
        return self.base_lr * self.d_model**-0.5 * (min(epoch**-0.5, rising) if epoch > 0 else rising)


class PiecewiseDecay(LRScheduler):
    """`values[i]` up to `boundaries[i]`, the last value after all boundaries.

    Args:
        boundaries: epochs, ascending.
        values: rates, one more than boundaries.

    Example:
        >>> paddle.optimizer.lr.PiecewiseDecay([3, 6], [0.1, 0.2, 0.3], last_epoch=3)()
        0.2
    """

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        _check(len(boundaries) > 0, self, "boundaries must not be empty")
        _check(
            len(values) == len(boundaries) + 1,
            self,
            f"values must have one element more than boundaries, got {len(values)} and {len(boundaries)}",
        )
        self.boundaries = boundaries
        self.values = values
        super().__init__(values[0] if isinstance(values[0], (int, float)) else 0.1, last_epoch, verbose)

    def get_lr(self):
        for boundary, value in zip(self.boundaries, self.values):
            if self.last_epoch < boundary:
                return value
        return self.values[-1]


class NaturalExpDecay(LRScheduler):
    """base * exp(-gamma * epoch).

    Example:
        >>> round(paddle.optimizer.lr.NaturalExpDecay(0.5, 0.1, last_epoch=0)(), 4)
        0.4524
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        _check(gamma > 0, self, f"gamma must be positive, got {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """base / (1 + gamma * epoch).

    Example:
        >>> paddle.optimizer.lr.InverseTimeDecay(0.5, 1.0, last_epoch=0)()
        0.25
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From base to `end_lr` in `decay_steps` epochs along (1 - epoch / decay_steps)**power.

    Args:
        decay_steps: a positive int.
        end_lr: the rate at the end.
        power: the exponent, positive.
        cycle: start again, with a span that is a multiple of decay_steps, instead of staying at end_lr.

    Example:
        >>> paddle.optimizer.lr.PolynomialDecay(0.5, 8, end_lr=0.0, last_epoch=3)()
        0.25
    """

    def __init__(self, learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, verbose=False):
        _check(
            isinstance(decay_steps, int) and decay_steps > 0,
            self,
            f"decay_steps must be a positive int, got {decay_steps}",
        )
        _check(power > 0, self, f"power must be positive, got {power}")
        self.decay_steps = decay_steps
        self.end_lr = end_lr
        self.power = power
        self.cycle = cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        epoch, span = self.last_epoch, self.decay_steps
        if self.cycle:
            span *= max(1, math.ceil(epoch / span))
        else:
            epoch = min(epoch, span)
        return (self.base_lr - self.end_lr) * (1 - epoch / span) ** self.power + self.end_lr


class LinearWarmup(LRScheduler):
    """From `start_lr` to `end_lr` in `warmup_steps` epochs, then `learning_rate`, a number or another schedule.

    Args:
        learning_rate: a number or an LRScheduler, which starts when the warm-up ends.
        warmup_steps: a positive int.
        start_lr, end_lr: rates, start_lr the smaller one.

    Raises:
        TypeError: `learning_rate` is neither.
        ValueError: `end_lr` is below `start_lr`.

    Example:
        >>> s = paddle.optimizer.lr.LinearWarmup(paddle.optimizer.lr.StepDecay(0.5, 4), 4, 0.0, 0.5)
        >>> s.step(1); s()
        0.125
    """

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        _check_type(learning_rate, (int, float, LRScheduler), self, "learning_rate")
        _check(
            isinstance(warmup_steps, int) and warmup_steps > 0,
            self,
            f"warmup_steps must be a positive int, got {warmup_steps}",
        )
        _check(end_lr >= start_lr, self, f"end_lr ({end_lr}) must not be below start_lr ({start_lr})")
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.start_lr = start_lr
        self.end_lr = end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def state_dict(self):
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler) and "LinearWarmup_LR" in state_dict:
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict

    def get_lr(self):
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ExponentialDecay(LRScheduler):
    """base * gamma**epoch, with gamma between 0 and 1.

    Example:
        >>> paddle.optimizer.lr.ExponentialDecay(0.5, 0.5, last_epoch=0)()
        0.25
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        _check(0 < gamma < 1, self, f"gamma must be between 0 and 1, got {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.gamma**self.last_epoch


class MultiStepDecay(LRScheduler):
    """base * gamma**(how many milestones have been reached).

    Args:
        milestones: a list or tuple of epochs, ascending.
        gamma: below 1.

    Example:
        >>> paddle.optimizer.lr.MultiStepDecay(0.5, [3, 7], gamma=0.5, last_epoch=4)()
        0.25
    """

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        _check_type(milestones, (tuple, list), self, "milestones")
        _check(
            all(a < b for a, b in zip(milestones, milestones[1:])), self, f"milestones must ascend, got {milestones}"
        )
        _check(gamma < 1, self, f"gamma must be below 1, got {gamma}")
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.gamma ** sum(m <= self.last_epoch for m in self.milestones)


class StepDecay(LRScheduler):
    """base * gamma**(epoch // step_size), with gamma below 1.

    Example:
        >>> paddle.optimizer.lr.StepDecay(0.5, 4, gamma=0.5, last_epoch=4)()
        0.25
    """

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        _check_type(step_size, int, self, "step_size")
        _check(step_size > 0, self, f"step_size must be positive, got {step_size}")
        _check(gamma < 1, self, f"gamma must be below 1, got {gamma}")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class LambdaDecay(LRScheduler):
    """base * lr_lambda(epoch).

    Example:
        >>> paddle.optimizer.lr.LambdaDecay(0.5, lambda epoch: 0.5 ** epoch, last_epoch=0)()
        0.25
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise errors.TypeError_(f"LambdaDecay: lr_lambda must be a function, got {errors.describe(lr_lambda)}")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """base * lr_lambda(1) * lr_lambda(2) * ... * lr_lambda(epoch).

    Example:
        >>> paddle.optimizer.lr.MultiplicativeDecay(0.5, lambda epoch: 0.5, last_epoch=0)()
        0.25
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise errors.TypeError_(
                f"MultiplicativeDecay: lr_lambda must be a function, got {errors.describe(lr_lambda)}"
            )
        self.lr_lambda = lr_lambda
        self._product = (0, 1.0)  # of the factors up to this epoch
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        epoch, product = self._product
        if epoch > self.last_epoch:
            epoch, product = 0, 1.0
        while epoch < self.last_epoch:
            epoch += 1
            product *= self.lr_lambda(epoch)
        self._product = (epoch, product)
        return self.base_lr * product


class ReduceOnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a metric has not become better for more than `patience` epochs.

    Args:
        learning_rate: the initial rate.
        mode: "min" (a smaller metric is better) or "max".
        factor: below 1.
        patience: how many bad epochs are tolerated.
        threshold, threshold_mode: how much better counts: "rel", a fraction of the best metric, or "abs".
        cooldown: epochs after a reduction in which metrics are ignored.
        min_lr: the lowest rate.
        epsilon: reductions that are smaller are not made.

    Raises:
        ValueError, TypeError: arguments out of these bounds.

    Example:
        >>> s = paddle.optimizer.lr.ReduceOnPlateau(1.0, patience=0, factor=0.5)
        >>> s.step(3.0); s.step(3.0); s()
        0.5
    """

    def __init__(
        self,
        learning_rate,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        epsilon=1e-8,
        verbose=False,
    ):
        _check(mode in ("min", "max"), self, f"mode must be 'min' or 'max', got {mode!r}")
        _check(factor < 1, self, f"factor must be below 1, got {factor}")
        _check(threshold_mode in ("rel", "abs"), self, f"threshold_mode must be 'rel' or 'abs', got {threshold_mode!r}")
        _check_type(learning_rate, (float, int), self, "learning_rate")
        self.mode = mode
        self.factor = factor
        self.threshold_mode = threshold_mode
        self.patience = patience
        self.threshold = threshold
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epsilon = epsilon
        self.cooldown_counter = 0
        self.best = None
        self.num_bad_epochs = 0
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = 0
        self.verbose = verbose
        self._var_name = None

    def state_keys(self):
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics, epoch=None):
        """Tell the metric of an epoch: a number, or an array or tensor of one element."""
        note_effect("ReduceOnPlateau.step")
        if isinstance(metrics, (Tensor, np.ndarray)):
            _check(
                int(metrics.size) == 1,
                self,
                f"metrics must be one number, got shape {list(metrics.shape)}; take its mean",
            )
            metrics = float(metrics.item())
        elif not isinstance(metrics, numbers.Real):
            raise errors.TypeError_(
                f"ReduceOnPlateau: metrics must be a number, array or Tensor, got {errors.describe(metrics)}"
            )
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(metrics, self.best):
            self.best = metrics
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
            new = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - new > self.epsilon:
                self.last_lr = new
                self._report()

    def _is_better(self, metric: float, best: float) -> bool:
        margin = self.threshold * (best if self.threshold_mode == "rel" else 1.0)
        return metric < best - margin if self.mode == "min" else metric > best + margin


class CosineAnnealingDecay(LRScheduler):
    """Half a cosine wave from base to `eta_min` in `T_max` epochs, and back (Loshchilov and Hutter 2017, without restarts).

    Args:
        T_max: a positive int.
        eta_min: the lowest rate.

    Example:
        >>> round(paddle.optimizer.lr.CosineAnnealingDecay(0.5, 10, last_epoch=4)(), 6)
        0.25
    """

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        _check_type(T_max, int, self, "T_max")
        _check_type(eta_min, (float, int), self, "eta_min")
        _check(T_max > 0, self, f"T_max must be positive, got {T_max}")
        self.T_max = T_max
        self.eta_min = float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave from base to `eta_min`, again and again (SGDR; Loshchilov and Hutter 2017).

    Args:
        T_0: epochs of the first wave.
        T_mult: each wave is so many times longer than the one before.
        eta_min: the lowest rate.

    Example:
        >>> s = paddle.optimizer.lr.CosineAnnealingWarmRestarts(0.5, 4)
        >>> s.step(6); round(s(), 6)
        0.25
    """

    def __init__(self, learning_rate, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        _check(isinstance(T_0, int) and T_0 > 0, self, f"T_0 must be a positive int, got {T_0}")
        _check(isinstance(T_mult, int) and T_mult >= 1, self, f"T_mult must be an int of at least 1, got {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(learning_rate, last_epoch, verbose)

    def step(self, epoch=None):
        """Go to the next epoch, or to `epoch`, which may be a fraction. ValueError when it is negative."""
        _check(epoch is None or epoch >= 0, self, f"step: epoch must not be negative, got {epoch}")
        super().step(epoch)

    def get_lr(self):
        past, span = self.last_epoch, self.T_0
        if self.T_mult == 1:
            past %= span
        else:
            while past >= span:
                past -= span
                span *= self.T_mult
        self.T_cur, self.T_i = past, span
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * past / span)) / 2


class OneCycleLR(LRScheduler):
    """Up to `max_learning_rate` and down again, once (Smith and Topin 2018).

    Args:
        max_learning_rate: the highest rate.
        total_steps: the length of the cycle.
        divide_factor: the first rate is max_learning_rate / divide_factor.
        end_learning_rate: the last rate.
        phase_pct: the part of the steps in which the rate rises.
        anneal_strategy: "cos" or "linear".
        three_phase: fall to the first rate, symmetrically, before falling to the last.

    Raises:
        ValueError, TypeError: arguments out of bounds; a step beyond total_steps.

    Example:
        >>> s = paddle.optimizer.lr.OneCycleLR(1.0, 10, phase_pct=0.5)
        >>> s.step(4); s()
        1.0
    """

    def __init__(
        self,
        max_learning_rate,
        total_steps,
        divide_factor=25.0,
        end_learning_rate=0.0001,
        phase_pct=0.3,
        anneal_strategy="cos",
        three_phase=False,
        last_epoch=-1,
        verbose=False,
    ):
        _check_type(max_learning_rate, (float, int), self, "max_learning_rate")
        _check(max_learning_rate >= 0, self, f"max_learning_rate must not be negative, got {max_learning_rate}")
        _check_type(end_learning_rate, (float, int), self, "end_learning_rate")
        _check(end_learning_rate >= 0, self, f"end_learning_rate must not be negative, got {end_learning_rate}")
        _check_type(total_steps, int, self, "total_steps")
        _check(total_steps > 0, self, f"total_steps must be positive, got {total_steps}")
        _check_type(phase_pct, (float, int), self, "phase_pct")
        _check(0 <= phase_pct <= 1, self, f"phase_pct must be between 0 and 1, got {phase_pct}")
        _check(
            anneal_strategy in ("cos", "linear"),
            self,
            f"anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}",
        )
        _check(divide_factor != 0, self, "divide_factor must not be 0")
        first, top, end = max_learning_rate / float(divide_factor), float(max_learning_rate), float(end_learning_rate)
        rise = phase_pct * total_steps - 1
        if three_phase:
            _check(phase_pct < 0.5, self, f"phase_pct must be below 0.5 when three_phase is True, got {phase_pct}")
            self._knots = [(0.0, first), (rise, top), (2 * rise, first), (total_steps - 1.0, end)]
        else:
            self._knots = [(0.0, first), (rise, top), (total_steps - 1.0, end)]
        self.total_steps = total_steps
        self._cosine = anneal_strategy == "cos"
        super().__init__(first, last_epoch, verbose)

    def get_lr(self):
        step = self.last_epoch
        _check(step <= self.total_steps, self, f"step {step} lies beyond total_steps, {self.total_steps}")
        for (begin, start), (end, stop) in zip(self._knots, self._knots[1:]):  # noqa: B007
            if step <= end:
                break
        part = (step - begin) / (end - begin) if end != begin else 1.0
        return stop + (start - stop) * ((1 + math.cos(math.pi * part)) / 2 if self._cosine else 1 - part)


class CyclicLR(LRScheduler):
    """Up and down between two rates (Smith 2017).

    Args:
        base_learning_rate, max_learning_rate: the two rates.
        step_size_up, step_size_down: steps of the rise and of the fall (None: as of the rise).
        mode: "triangular", "triangular2" (the height halves with each cycle) or "exp_range" (it shrinks with
            exp_gamma**step).
        exp_gamma: see mode.
        scale_fn: a function that gives the height instead; mode is then ignored.
        scale_mode: whether scale_fn gets the number of the "cycle" or of "iterations".

    Example:
        >>> s = paddle.optimizer.lr.CyclicLR(0.5, 1.0, 4)
        >>> s.step(2); s()
        0.75
    """

    def __init__(
        self,
        base_learning_rate,
        max_learning_rate,
        step_size_up,
        step_size_down=None,
        mode="triangular",
        exp_gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
        verbose=False,
    ):
        _check_type(max_learning_rate, (float, int), self, "max_learning_rate")
        _check(max_learning_rate >= 0, self, f"max_learning_rate must not be negative, got {max_learning_rate}")
        _check_type(step_size_up, int, self, "step_size_up")
        _check(step_size_up > 0, self, f"step_size_up must be positive, got {step_size_up}")
        if step_size_down is not None:
            _check_type(step_size_down, int, self, "step_size_down")
            _check(step_size_down > 0, self, f"step_size_down must be positive, got {step_size_down}")
        _check_type(exp_gamma, (float, int), self, "exp_gamma")
        step_size_down = step_size_up if step_size_down is None else step_size_down
        scales = {
            "triangular": (self._flat_scale, "cycle"),
            "triangular2": (self._halving_scale, "cycle"),
            "exp_range": (self._exponential_scale, "iterations"),
        }
        _check(mode in scales or scale_fn is not None, self, f"mode must be one of {', '.join(scales)}, got {mode!r}")
        _check(
            scale_mode in ("cycle", "iterations"),
            self,
            f"scale_mode must be 'cycle' or 'iterations', got {scale_mode!r}",
        )
        if scale_fn is not None and not callable(scale_fn):
            raise errors.TypeError_(f"CyclicLR: scale_fn must be a function, got {errors.describe(scale_fn)}")
        self.cycle_size = float(step_size_up + step_size_down)
        self.step_up_pct = step_size_up / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.mode = mode
        self.gamma = exp_gamma
        self.scale_fn, self.scale_mode = scales[mode] if scale_fn is None else (scale_fn, scale_mode)
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _flat_scale(self, cycle: float) -> float:
        return 1.0

    def _halving_scale(self, cycle: float) -> float:
        return 1 / 2.0 ** (cycle - 1)

    def _exponential_scale(self, iterations: float) -> float:
        return self.gamma**iterations

    def get_lr(self):
        step = self.last_epoch
        cycle = 1 + step // self.cycle_size
        part = 1 + step / self.cycle_size - cycle
        height = part / self.step_up_pct if part <= self.step_up_pct else (1 - part) / (1 - self.step_up_pct)
        return self.base_lr + self.amplitude * height * self.scale_fn(cycle if self.scale_mode == "cycle" else step)


class LinearLR(LRScheduler):
    """From base * start_factor to base * end_factor in `total_steps` epochs.

    Args:
        total_steps: a positive int.
        start_factor: above 0, at most 1.
        end_factor: between 0 and 1.

    Example:
        >>> paddle.optimizer.lr.LinearLR(0.5, 4, start_factor=0.5, last_epoch=1)()
        0.375
    """

    def __init__(self, learning_rate, total_steps, start_factor=1.0 / 3, end_factor=1.0, last_epoch=-1, verbose=False):
        _check(0 < start_factor <= 1, self, f"start_factor must be above 0 and at most 1, got {start_factor}")
        _check(0 <= end_factor <= 1, self, f"end_factor must be between 0 and 1, got {end_factor}")
        _check(total_steps > 0, self, f"total_steps must be positive, got {total_steps}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_steps = total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        part = min(self.last_epoch, self.total_steps) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)
