"""Random numbers: one counter-based generator for each device, seeded by ``paddle.seed``.

A generator is a seed and a counter. Each random operator takes one tick: its key is the pair, folded inside the
compiled operator (Threefry; Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011). The state is
therefore plain data, and a compiled program that counts the same ticks draws the same numbers.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import jax
import numpy as np

from . import errors, place
from .modes import modes, note_effect, set_mode


class GeneratorState:
    """A snapshot of a generator: `seed`, `counter` and the device it belongs to. Can be pickled."""

    def __init__(self, device: str, seed: int, counter: int):
        self.device, self.seed, self.counter = device, seed, counter

    def current_seed(self) -> int:
        return self.seed

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, GeneratorState) and (self.seed, self.counter) == (other.seed, other.counter)

    def __hash__(self) -> int:
        return hash((self.seed, self.counter))

    def __repr__(self) -> str:
        return f"GeneratorState(device={self.device!r}, seed={self.seed}, counter={self.counter})"


class Generator:
    """A source of random keys.

    Example:
        >>> g = paddle.seed(7)
        >>> g.initial_seed()
        7
    """

    def __init__(self, device: Any = None):
        self._device = "cpu" if device is None else place.parse_place(device).name
        self._lock = threading.Lock()
        self._counter = 0
        self._seed = int.from_bytes(os.urandom(6), "little")

    def manual_seed(self, seed: int) -> Generator:
        with self._lock:
            self._seed, self._counter = int(seed) & 0xFFFFFFFFFFFFFFFF, 0
        return self

    def seed(self) -> int:
        """Seed from the operating system; returns the seed."""
        return self.manual_seed(int.from_bytes(os.urandom(6), "little"))._seed

    def initial_seed(self) -> int:
        return self._seed

    def random(self) -> int:
        """A random integer below 2**32 on the host."""
        return int(jax.random.bits(fold(self.tick()), (), np.uint32))

    def get_state(self) -> GeneratorState:
        return GeneratorState(self._device, self._seed, self._counter)

    def set_state(self, state: GeneratorState) -> None:
        if not isinstance(state, GeneratorState):
            raise errors.TypeError_(f"set_state: state must come from get_state(), got {type(state).__name__}")
        with self._lock:
            self._seed, self._counter = state.seed, state.counter

    def tick(self) -> Any:
        """The data of the next key: seed (two words) and counter (two words), uint32[4]."""
        return self.ticks(1) if modes.ticks is None else modes.ticks.next()

    def ticks(self, number: int) -> np.ndarray:
        """Like `tick`, and the counter goes on by `number`."""
        with self._lock:
            counter = self._counter
            self._counter = counter + number
        seed = self._seed
        return np.array((seed >> 32, seed & 0xFFFFFFFF, counter >> 32, counter & 0xFFFFFFFF), np.uint32)


class compiled_ticks(set_mode):
    """While a function is compiled, ticks count on from four words that are its input (what `ticks` returned). It then
    draws in every call what eager code would draw there; `used` tells how many ticks one call takes.

    For example::

        def step(words, x):
            with compiled_ticks(words) as ticks:
                y = paddle.nn.functional.dropout(_make(x), 0.5)._value
            return y
    """

    def __init__(self, words: Any):
        super().__init__(ticks=self)
        self.words, self.used = words, 0

    def next(self) -> Any:
        words = advanced(self.words, self.used)
        self.used += 1
        return words


def advanced(words: Any, number: int) -> Any:
    """The four words of the key that comes `number` keys later."""
    xp = jax.numpy if isinstance(words, jax.Array) else np
    low = words[3] + np.uint32(number)
    carry = (low < words[3]).astype(np.uint32)
    return xp.stack([words[0], words[1], words[2] + carry, low])


def fold(words: Any) -> jax.Array:
    """The JAX key of the four words that `tick` returned; to be called inside a compiled function."""
    key = jax.random.wrap_key_data(jax.numpy.stack([words[0], words[1]]), impl="threefry2x32")
    return jax.random.fold_in(jax.random.fold_in(key, words[2]), words[3])


_generators: dict[str, Generator] = {}
_last_seed: int | None = None


def generator(device: str | None = None) -> Generator:
    """The generator of a device, by default the current one."""
    name = device or place.get_device()
    found = _generators.get(name)
    if found is None:
        found = _generators[name] = Generator(name)
        if _last_seed is not None:
            found.manual_seed(_last_seed)
    return found


def seed(seed: int) -> Generator:
    """Seed the generators of all devices; the same seed gives the same run.

    Args:
        seed: an integer.

    Returns:
        The generator of the current device.

    Raises:
        TypeError: `seed` is no integer.
    """
    global _last_seed
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise errors.TypeError_(f"seed: seed must be an int, got {type(seed).__name__}")
    note_effect("paddle.seed")
    _last_seed = int(seed)
    for existing in _generators.values():
        existing.manual_seed(_last_seed)
    return generator().manual_seed(_last_seed)


def get_rng_state(device: str | None = None) -> list[GeneratorState]:
    """The state of the generator of `device` (default: the current one), as a list of one state."""
    return [generator(_name(device)).get_state()]


def set_rng_state(state_list: list[GeneratorState], device: str | None = None) -> None:
    """Put back what `get_rng_state` returned. ValueError when the list does not hold exactly one state."""
    if not isinstance(state_list, (list, tuple)) or len(state_list) != 1:
        raise errors.ValueError_("set_rng_state: state_list must hold one state for each device (one here)")
    generator(_name(device)).set_state(state_list[0])


def _name(device: Any) -> str | None:
    return None if device is None else place.parse_place(device).name
