"""The generators of the devices."""

from __future__ import annotations

from typing import Any

from ..engine import place as _place
from ..engine import random as _random

__all__ = ["get_rng_state", "set_rng_state", "manual_seed", "manual_seed_all"]


def get_rng_state(device: Any = None) -> Any:
    """The state of the generator of a device (default: the current one).

    Example:
        >>> state = paddle.device.get_rng_state()
        >>> paddle.device.set_rng_state(state)
    """
    return _random.generator(_name(device)).get_state()


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Put back what `get_rng_state` returned (alone or in a list of one). TypeError for anything else."""
    if isinstance(new_state, (list, tuple)) and len(new_state) == 1:
        new_state = new_state[0]
    _random.generator(_name(device)).set_state(new_state)


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device.

    Example:
        >>> paddle.device.manual_seed(1)
    """
    _random.generator().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    _random.seed(seed)


def _name(device: Any) -> str | None:
    return None if device is None else _place.parse_place(f"gpu:{device}" if isinstance(device, int) else device).name
