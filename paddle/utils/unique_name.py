"""Names that occur once: ``linear_0``, ``linear_0.w_0``. A generator counts each key; ``guard`` puts in a fresh one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..engine import errors

__all__ = ["generate", "switch", "guard"]


class UniqueNameGenerator:
    """Counts how often each key was asked for; `prefix` goes in front of every name."""

    def __init__(self, prefix: str | None = None):
        self.prefix = prefix or ""
        self.ids: dict[str, int] = {}

    def __call__(self, key: str) -> str:
        number = self.ids.get(key, 0)
        self.ids[key] = number + 1
        return f"{self.prefix}{key}_{number}"


class ParameterNames:
    """Remembers the names that users gave to parameters; a second use is an error."""

    def __init__(self):
        self._taken: set[str] = set()

    def __call__(self, name: str) -> None:
        if name in self._taken:
            raise errors.ValueError_(
                f"parameter name {name!r} was used before; give each parameter its own, or create the "
                "second model under paddle.utils.unique_name.guard()"
            )
        self._taken.add(name)


_generator = UniqueNameGenerator()
_parameters = ParameterNames()


def generate(key: str) -> str:
    """The key with a number that makes it unique.

    Example:
        >>> with paddle.utils.unique_name.guard():
        ...     paddle.utils.unique_name.generate("fc"), paddle.utils.unique_name.generate("fc")
        ('fc_0', 'fc_1')
    """
    return _generator(key)


def claim(name: str) -> str:
    """Take a parameter name that the user chose. ValueError when it was taken before."""
    _parameters(name)
    return name


def switch(
    new_generator: UniqueNameGenerator | None = None, new_para_name_checker: ParameterNames | None = None
) -> tuple[UniqueNameGenerator, ParameterNames]:
    """Put in another generator (default: a fresh one); returns the former generator and its taken parameter names."""
    global _generator, _parameters
    old = _generator, _parameters
    _generator = UniqueNameGenerator() if new_generator is None else new_generator
    _parameters = ParameterNames() if new_para_name_checker is None else new_para_name_checker
    return old


@contextlib.contextmanager
def guard(new_generator: Any = None) -> Iterator[None]:
    """Context with a fresh generator, so that the same code gives the same names.

    Args:
        new_generator: a generator, or a string that becomes the prefix of all names.

    Raises:
        TypeError: something else.
    """
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if isinstance(new_generator, str):
        new_generator = UniqueNameGenerator(new_generator)
    if new_generator is not None and not callable(new_generator):
        raise errors.TypeError_(
            f"guard: new_generator must be a generator or a prefix, got {errors.describe(new_generator)}"
        )
    old = switch(new_generator)
    try:
        yield
    finally:
        switch(*old)
