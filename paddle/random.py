"""The seed of the current device."""

from __future__ import annotations

from .engine.random import generator

__all__ = ["initial_seed"]


def initial_seed() -> int:
    """The seed of the generator of the current device.

    Example:
        >>> paddle.seed(7) and paddle.random.initial_seed()
        7
    """
    return generator().initial_seed()
