"""Official switches of the primitive-operator system. Every operator here is made of primitives (XLA's) already."""

from __future__ import annotations

from typing import Any

_enabled = False


def enable_prim() -> None:
    """Accepted for compatibility; only `prim_enabled` changes."""
    global _enabled
    _enabled = True


def disable_prim() -> None:
    """Accepted for compatibility; only `prim_enabled` changes."""
    global _enabled
    _enabled = False


def prim_enabled() -> bool:
    """Whether `enable_prim` was called last."""
    return _enabled


def prim2orig(block: Any = None, blacklist: Any = None) -> None:
    """Accepted for compatibility: programs here hold framework operators only, there is nothing to convert."""
