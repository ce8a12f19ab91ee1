"""The updates that servers make: NumPy, on rows of a table and their states, in place.

A dense parameter is one row. The formulas are those of `paddle.optimizer`; only the powers of Adam belong to a row and not
to the whole table, so that a row that is seen for the first time is corrected as in a first step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...engine import errors


class Rule(NamedTuple):
    """An update.

    Attributes:
        states: name -> (whether it is one number a row, the name of its first value among the numbers, or that value).
        numbers: the names of its numbers.
        update: (rows, states by name, gradients, learning rate, numbers by name).
    """

    states: dict[str, tuple[bool, Any]]
    numbers: tuple[str, ...]
    update: Callable


def _sum(p, s, g, lr, h):
    p += g


def _sgd(p, s, g, lr, h):
    p -= lr * g


def _momentum(p, s, g, lr, h):
    v = s["velocity"]
    v *= h["momentum"]
    v += g
    p -= lr * (g + h["momentum"] * v if h["use_nesterov"] else v)


def _adagrad(p, s, g, lr, h):
    s["moment"] += g * g
    p -= lr * g / (np.sqrt(s["moment"]) + h["epsilon"])


def _adam(p, s, g, lr, h):
    m, v, first, second = s["moment1"], s["moment2"], s["beta1_pow"], s["beta2_pow"]
    m += (1 - h["beta1"]) * (g - m)
    v += (1 - h["beta2"]) * (g * g - v)
    correction = np.sqrt(1 - second)
    p -= lr * correction / (1 - first) * m / (np.sqrt(v) + h["epsilon"] * correction)
    first *= h["beta1"]
    second *= h["beta2"]


def _adamw(p, s, g, lr, h):
    p *= 1 - lr * h["weight_decay"]
    _adam(p, s, g, lr, h)


_MOMENTS = {
    "moment1": (False, 0.0),
    "moment2": (False, 0.0),
    "beta1_pow": (True, "beta1"),
    "beta2_pow": (True, "beta2"),
}
RULES = {
    "sum": Rule({}, (), _sum),
    "sgd": Rule({}, (), _sgd),
    "momentum": Rule({"velocity": (False, 0.0)}, ("momentum", "use_nesterov"), _momentum),
    "adagrad": Rule(
        {"moment": (False, "initial_accumulator_value")}, ("epsilon", "initial_accumulator_value"), _adagrad
    ),
    "adam": Rule(_MOMENTS, ("beta1", "beta2", "epsilon"), _adam),
    "adamw": Rule(_MOMENTS, ("beta1", "beta2", "epsilon", "weight_decay"), _adamw),
}


class Update:
    """A rule with its numbers, a factor of the learning rate and the decay of weights.

    Args:
        name: of a rule.
        numbers: its numbers by name.
        rate: a factor of the learning rate.
        decay: None or ("l1" or "l2", coefficient), added to the gradient.
    """

    def __init__(self, name: str, numbers: dict[str, float], rate: float = 1.0, decay: tuple | None = None):
        self.rule = RULES[name]
        self.numbers, self.rate, self.decay = numbers, rate, decay

    def states(self, count: int, width: int, dtype: Any = np.float32) -> dict[str, np.ndarray]:
        """The first states of rows."""
        return {
            name: np.full((count, 1 if one else width), self.numbers[first] if isinstance(first, str) else first, dtype)
            for name, (one, first) in self.rule.states.items()
        }

    def apply(self, rows: np.ndarray, states: dict[str, np.ndarray], gradients: np.ndarray, lr: float) -> None:
        """Change rows and states, [n, width]."""
        if self.decay is not None:
            kind, coefficient = self.decay
            gradients = gradients + rows.dtype.type(coefficient) * (rows if kind == "l2" else np.sign(rows))
        self.rule.update(rows, states, gradients, rows.dtype.type(lr * self.rate), self.numbers)


def update_of(optimizer: Any, parameter: Any, who: str) -> tuple:
    """What an optimizer does to a parameter, as the arguments of `Update`.

    Raises:
        NotImplementedError: the servers do not know the optimizer, or an option of it.
    """
    name = type(optimizer).__name__.lower()
    if name not in RULES or name == "sum":
        raise errors.NotImplemented_(
            f"{who}: the optimizer {type(optimizer).__name__} in parameter servers; there are SGD, Momentum, Adagrad, "
            "Adam, AdamW, and any other with a_sync_configs k_steps > 0 for dense parameters"
        )
    if getattr(optimizer, "_amsgrad", False):
        raise errors.NotImplemented_(f"{who}: amsgrad in parameter servers")
    kind = optimizer._kind(parameter)
    group = optimizer._groups[optimizer._group_of.get(id(parameter), 0)]
    known = dict(zip(optimizer._hyper, optimizer._hyper_of(group)))
    known |= dict(zip(optimizer._per_parameter, kind.numbers))
    numbers = {}
    for n in RULES[name].numbers:
        value = known[n] if n in known else getattr(optimizer, "_" + n, None)
        numbers[n] = float(getattr(optimizer, n) if value is None else value)
    if known.get("rescale_grad", 1.0) != 1.0:
        raise errors.NotImplemented_(f"{who}: rescale_grad in parameter servers")
    rate = float(kind.rate) * known.get("lr_ratio", 1.0)
    if "weight_decay" in numbers:
        numbers["weight_decay"] *= known.get("decays", 1.0)
    return name, numbers, rate, kind.decay
