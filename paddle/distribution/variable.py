"""The domains and codomains of transforms: a constraint and the number of axes of one event."""

from __future__ import annotations

from ..engine import errors
from ..ops.joining import stack
from ..ops.parts import unbind
from . import constraint as constraints


class Variable:
    """A random variable's kind.

    Args:
        is_discrete: whether it takes integers only.
        event_rank: the number of axes of one event.
        constraint: a Constraint, the set of its values.
    """

    def __init__(self, is_discrete=False, event_rank=0, constraint=None):
        self._is_discrete = is_discrete
        self._event_rank = event_rank
        self._constraint = constraint

    @property
    def is_discrete(self):
        return self._is_discrete

    @property
    def event_rank(self):
        return self._event_rank

    def constraint(self, value):
        """Which elements of `value` the variable can take."""
        return self._constraint(value)


class Real(Variable):
    """Any number."""

    def __init__(self, event_rank=0):
        super().__init__(False, event_rank, constraints.real)


class Positive(Variable):
    """A number that is not negative."""

    def __init__(self, event_rank=0):
        super().__init__(False, event_rank, constraints.positive)


class Independent(Variable):
    """A variable whose last `reinterpreted_batch_rank` batch axes count as axes of the event."""

    def __init__(self, base, reinterpreted_batch_rank):
        self._base, self._rank = base, reinterpreted_batch_rank
        super().__init__(base.is_discrete, base.event_rank + reinterpreted_batch_rank)

    def constraint(self, value):
        """Whether all elements of each event can be taken."""
        found = self._base.constraint(value)
        if found.ndim < self._rank:
            raise errors.ValueError_(
                f"Independent: value must have at least {self._rank} dimensions, got {errors.describe(value)}"
            )
        return found.all(list(range(-self._rank, 0))) if self._rank else found


class Stack(Variable):
    """Several variables along an axis."""

    def __init__(self, vars, axis=0):
        self._vars, self._axis = list(vars), axis
        super().__init__()

    @property
    def is_discrete(self):
        return any(v.is_discrete for v in self._vars)

    @property
    def event_rank(self):
        rank = max(v.event_rank for v in self._vars)
        return rank + 1 if self._axis + rank < 0 else rank

    def constraint(self, value):
        """Which elements of `value` the variables can take."""
        if not -value.ndim <= self._axis < value.ndim or value.shape[self._axis] != len(self._vars):
            raise errors.ValueError_(
                f"Stack: axis {self._axis} of value must have length {len(self._vars)}, got {errors.describe(value)}"
            )
        return stack([v.constraint(part) for v, part in zip(self._vars, unbind(value, self._axis))], self._axis)


real = Real()
positive = Positive()
