"""Values of a program that is being built: what a tensor holds there in place of an array.

A `Value` has a type and a shape, but no elements. Lengths that are not known yet are `Dim`s: ints that read as -1, as
officially, and remember where they come from. To find the shapes of results without asking operators to reason about
unknown lengths, every unknown length stands for two trial lengths (`PROBES`): an operator's shapes are inferred for both,
and a result's length is unknown where the two differ.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from . import errors


class Probes(threading.local):
    """What an unknown length is tried with, two numbers; others inside of `trying`.

    Attributes:
        seen: the numbers in shapes and attributes of operators that did not fit; further lengths are made of them.
    """

    lengths = (64, 96)  # divisible by the strides of common networks, small enough to multiply

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, trial: int) -> int:
        return self.lengths[trial]

    def __iter__(self) -> Iterator[int]:
        return iter(self.lengths)

    @contextlib.contextmanager
    def trying(self, lengths: tuple[int, int]) -> Iterator[None]:
        """Use other lengths inside."""
        before, self.lengths = self.lengths, lengths
        try:
            yield
        finally:
            self.lengths = before


PROBES = Probes()


def trial_shapes(shape: Iterable[int | None]) -> tuple[tuple[int, ...], ...]:
    """A shape once for each trial; None and negative lengths are unknown."""
    lengths = [-1 if d is None else int(d) for d in shape]
    return tuple(tuple(p if d < 0 else d for d in lengths) for p in PROBES)


class Dim(int):
    """A length that is not known while a program is built. It is the int -1; sums, products and quotients of it are Dims.

    `trials` are its trial lengths; `evaluate(lengths)` gives the length when the program runs, where `lengths(value)` is
    the shape of a value.
    """

    trials: tuple[int, ...]
    source: tuple  # ("dim", value, axis), or (name of an operator, operand, operand)

    def __new__(cls, source: tuple, trials: tuple[int, ...]):
        self = super().__new__(cls, -1)
        self.source = source
        self.trials = trials
        return self

    def evaluate(self, lengths: Callable[[Value], Any]) -> Any:
        kind, a, b = self.source
        if kind == "dim":
            return lengths(a)[b]
        a, b = (x.evaluate(lengths) if isinstance(x, Dim) else x for x in (a, b))
        return _OPERATORS[kind](a, b)

    def values(self) -> Iterator[Value]:
        """The values whose shapes decide."""
        kind, a, b = self.source
        if kind == "dim":
            yield a
        else:
            for x in (a, b):
                if isinstance(x, Dim):
                    yield from x.values()

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, Dim):
            return self.trials == other.trials
        return int.__eq__(self, other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = int.__hash__

    def __reduce__(self):
        return int, (-1,)

    def __deepcopy__(self, memo: dict) -> Dim:
        return self

    def __neg__(self) -> Any:
        return self * -1

    def _no_number(self, other: Any = None) -> Any:
        raise errors.NoValue(
            "a length that is not known while the program is built (-1) cannot be used in this way: it adds, subtracts, "
            "multiplies and divides (//, %) with ints; paddle.shape(x) gives lengths as a tensor"
        )

    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __float__ = _no_number  # type: ignore[assignment]


_OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}


def _arithmetic(kind: str) -> None:
    function = _OPERATORS[kind]

    def combine(a: Any, b: Any) -> Any:
        for x in (a, b):
            if isinstance(x, (float, np.floating)):
                a._no_number() if isinstance(a, Dim) else b._no_number()
            if not isinstance(x, (int, np.integer)):
                return NotImplemented
        pairs = zip(*(x.trials if isinstance(x, Dim) else (int(x),) * len(PROBES) for x in (a, b)))
        return Dim((kind, *(x if isinstance(x, Dim) else int(x) for x in (a, b))), tuple(function(*p) for p in pairs))

    setattr(Dim, f"__{kind}__", lambda self, other: combine(self, other))
    setattr(Dim, f"__r{kind}__", lambda self, other: combine(other, self))


for _kind in _OPERATORS:
    _arithmetic(_kind)


class Value:
    """The result of an operator of a program, or one of its inputs.

    Args:
        name: as users see and feed it.
        trials: its shape, once for each entry of PROBES.
        dtype: a NumPy dtype.
        known: its elements for each trial, for small integer values that follow from shapes and constants.
    """

    __slots__ = ("name", "shape", "trials", "dtype", "known", "__weakref__")
    weak_type = False

    def __init__(self, name: str, trials: tuple[tuple[int, ...], ...], dtype: Any, known: tuple | None = None):
        self.name = name
        self.trials = trials
        self.dtype = np.dtype(dtype)
        self.known = known
        first = trials[0]
        if all(t == first for t in trials):
            self.shape = first
        else:
            lengths = zip(*trials)
            self.shape = tuple(n[0] if len(set(n)) == 1 else Dim(("dim", self, i), n) for i, n in enumerate(lengths))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n: int = 1
        for d in self.shape:
            n = n * d
        return n

    @property
    def is_static(self) -> bool:
        """Whether every length is known."""
        return len(set(self.trials)) == 1

    def spec(self, trial: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.trials[trial], self.dtype)

    def __repr__(self) -> str:
        return f"%{self.name}: {self.dtype.name}[{', '.join(str(int(d)) for d in self.shape)}]"

    def __deepcopy__(self, memo: dict) -> Value:
        return self

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise errors.RuntimeError_(f"the tensor {self.name!r} has no value here, the program is being built")


def at_least(length: Any, bound: int) -> bool:
    """Whether a length reaches a bound that decides between ways to compute the same; one that stays open in an exported
    program does."""
    return not isinstance(length, (int, np.integer)) or bool(length >= bound)


class Held:
    """A value where an operator wants a plain number or list: it is read when the program runs."""

    __slots__ = ("value",)

    def __init__(self, value: Value):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: Any) -> bool:
        return type(other) is Held and other.value is self.value


# Values without elements: what stands in a tensor's slot while JAX compiles a function or a program is built.
ABSTRACT = (jax.core.Tracer, Value)
