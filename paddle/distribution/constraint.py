"""Sets of values, as tests of tensors."""

from __future__ import annotations

from ..ops.comparison import logical_and


class Constraint:
    """A set: `constraint(value)` tells which elements lie in it."""

    def __call__(self, value):
        raise NotImplementedError(f"{type(self).__name__} has no test")

    def check(self, value):
        """The same as calling the constraint."""
        return self(value)


class Real(Constraint):
    """All numbers but NaN."""

    def __call__(self, value):
        return value == value


class Range(Constraint):
    """The numbers from `lower` to `upper`."""

    def __init__(self, lower, upper):
        self._lower, self._upper = lower, upper

    def __call__(self, value):
        return logical_and(value >= self._lower, value <= self._upper)


class Positive(Constraint):
    """The numbers from 0."""

    def __call__(self, value):
        return value >= 0


class Simplex(Constraint):
    """Vectors along the last axis without negative elements, which sum to 1."""

    def __call__(self, value):
        return logical_and((value >= 0).all(-1), (value.sum(-1) - 1).abs() < 1e-6)


real = Real()
positive = Positive()
simplex = Simplex()
