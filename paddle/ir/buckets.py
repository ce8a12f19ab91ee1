"""Shape buckets: varying lengths are padded to a few, so that a program compiles a few times and not for each length.

Padding is only right where a program does not look at what was padded: where positions are masked, labels are ignored,
rows do not meet. So each bucket is checked when it is first used, against a run without padding; a program that gives
something else is run without buckets from then on, with a warning.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.meshed import axes_of
from ..engine.value import Dim, Value
from .passes import apply
from .run import Executable

__all__ = ["BucketedExecutable", "Buckets", "from_environment"]


CHANGES = (
    "the program gives other results when its inputs are padded, so it runs without shape buckets; mask what is padded, "
    "or give pad= a value that is ignored"
)


class Buckets:
    """Lengths that unknown lengths are padded to.

    Args:
        lengths: increasing ints. Beyond the last one, multiples of it.
        pad: what an input is padded with, by its name; zeros where nothing is said. A label that a loss ignores,
            an additive mask (-1e9).
        check: compare the first run of each bucket with one that is not padded.

    Raises:
        ValueError: lengths that are not positive and increasing.

    Example:
        >>> paddle.jit.Buckets([8, 16, 32]).up(9)
        16
    """

    def __init__(self, lengths: Sequence[int], pad: Mapping[str, Any] | None = None, check: bool = True):
        self.lengths = [int(n) for n in lengths]
        if not self.lengths or self.lengths[0] < 1 or any(a >= b for a, b in zip(self.lengths, self.lengths[1:])):
            raise errors.ValueError_(f"Buckets: lengths must be positive and increasing, got {list(lengths)}")
        self.pad = dict(pad or {})
        self.check = check

    def up(self, length: int) -> int:
        """The bucket of a length."""
        at = bisect.bisect_left(self.lengths, length)
        if at < len(self.lengths):
            return self.lengths[at]
        last = self.lengths[-1]
        return -(-length // last) * last

    def padded(self, name: str, array: Any, value: Value) -> Any:
        """An input with its unknown lengths padded."""
        widths = [(0, self.up(n) - n if isinstance(d, Dim) else 0) for n, d in zip(array.shape, value.shape)]
        if not any(after for _, after in widths):
            return array
        return np.pad(np.asarray(array), widths, constant_values=self.pad.get(name, 0))


def from_environment() -> Buckets | None:
    """The buckets that PADDLE_XLA_BUCKETS asks for: "16,32,64", or "powers" for powers of two. None when it is unset."""
    text = os.environ.get("PADDLE_XLA_BUCKETS", "")
    if text in ("", "0", "off"):
        return None
    if text == "powers":
        return Buckets([2**i for i in range(17)])
    try:
        return Buckets([int(n) for n in text.split(",")])
    except ValueError:
        raise errors.ValueError_(f"PADDLE_XLA_BUCKETS must be like '16,32,64' or 'powers', got {text!r}") from None


class Checked:
    """What is known about padding the runs of a program. `off` tells that padding changes the results."""

    def __init__(self, buckets: Buckets):
        self.buckets = buckets
        self.off = False
        self._seen: set[tuple] = set()

    def allows(self, key: tuple, compare: Callable[[], Iterable[tuple]]) -> bool:
        """Whether to pad. A bucket that is new is checked: `compare()` gives pairs of arrays, without padding and with it,
        which must be alike."""
        if self.buckets.check and key not in self._seen:
            self._seen.add(key)
            self.off = not all(map(_alike, compare()))
            if self.off:
                errors.warn(CHANGES)
        return not self.off


def _alike(pair: tuple) -> bool:
    a, b = pair
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)


def cut(array: Any, shape: tuple) -> Any:
    """The corner of an array that has this shape."""
    if tuple(array.shape) == tuple(shape):
        return array
    return jnp.asarray(np.asarray(array)[tuple(slice(0, n) for n in shape)])


class BucketedExecutable(Checked):
    """An Executable that is fed padded inputs; what it gives is cut to the lengths that it would have had."""

    def __init__(self, inner: Executable, buckets: Buckets):
        super().__init__(buckets)
        self.inner = inner
        self.inputs, self.states, self.ticks = inner.inputs, inner.states, inner.ticks
        self.operators, self.updates = inner.operators, inner.updates
        self._shapes: dict[tuple, tuple] = {}

    @property
    def on_host(self) -> bool:
        return self.inner.on_host

    def compile(
        self, feeds: dict, states: dict, words: Any, donate: Collection[str] = (), background: bool = False
    ) -> Any:
        """See `Executable.compile`; for the bucket of these shapes."""
        sizes = {n: [self.buckets.up(s) if isinstance(d, Dim) else s for s, d in zip(a.shape, self.inputs[n].shape)]
                 for n, a in feeds.items()}  # fmt: skip
        padded = {n: jax.ShapeDtypeStruct(sizes[n], a.dtype) for n, a in feeds.items()}
        return self.inner.compile(padded, states, words, donate, background)

    def run(
        self, feeds: dict[str, Any], states: dict[str, Any], words: Any, donate: Collection[str] = ()
    ) -> tuple[list, dict]:
        inner = self.inner
        if self.off or inner.on_host:
            return inner.run(feeds, states, words, donate)
        padded = {n: self.buckets.padded(n, a, inner.inputs[n]) for n, a in feeds.items()}
        if all(padded[n] is feeds[n] for n in feeds):
            return inner.run(feeds, states, words, donate)
        if not self.allows(signature(padded.values()), lambda: self._compared(feeds, padded, states, words)):
            return inner.run(feeds, states, words, donate)
        shapes = self._true_shapes(feeds, states, words)
        found, new = inner.run(padded, states, words, donate)
        return [cut(a, s) for a, s in zip(found, shapes)], new

    def _true_shapes(self, feeds: dict, states: dict, words: Any) -> tuple:
        key = signature(feeds.values())
        found = self._shapes.get(key)
        if found is None:
            specs = {n: jax.ShapeDtypeStruct(a.shape, a.dtype) for n, a in feeds.items()}
            with axes_of(self.inner.mesh):
                outs, _ = jax.eval_shape(self.inner._call, {}, states, specs, words)
            found = self._shapes[key] = tuple(o.shape for o in outs)
        return found

    def _compared(self, feeds: dict, padded: dict, states: dict, words: Any) -> list[tuple]:
        inner = self.inner
        if inner.ticks:  # other shapes draw other numbers: compare without them
            inner = Executable(apply(inner.graph, inner.fetches, ["inference"]), inner.fetches, updates=False)
            if any(o.tick is not None for o in inner.operators):
                return []
            states = {n: a for n, a in states.items() if n in inner.states}
            feeds, padded = ({n: a for n, a in f.items() if n in inner.inputs} for f in (feeds, padded))
        exact, exact_new = inner.run(feeds, states, words)
        found, new = inner.run(padded, states, words)
        return [(a, cut(b, a.shape)) for a, b in zip(exact, found)] + [(exact_new[n], new[n]) for n in exact_new]


def signature(arrays: Iterable[Any]) -> tuple:
    """Shapes and types."""
    return tuple((a.shape, str(a.dtype)) for a in arrays)
