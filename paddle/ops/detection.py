"""What the operators of detectors share: reading their arguments."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.tensor import Tensor


def check(name: str, argument: str, x: Any, kind: str, shape: list) -> None:
    """An error unless x is a Tensor of that kind ("floating" or "int") and shape, in which words stand for any length.
    Lengths that are unknown while a program is built pass."""
    if not isinstance(x, Tensor) or not (x.dtype.is_floating if kind == "floating" else x.dtype.is_integer):
        raise errors.TypeError_(f"{name}: {argument} must be a {kind} Tensor, got {errors.describe(x)}")
    if not fits(x.shape, shape):
        wanted = ", ".join("any" if not isinstance(w, str) and w < 0 else str(w) for w in shape)
        raise errors.ValueError_(f"{name}: {argument} must have shape [{wanted}], got {list(x.shape)}")


def fits(shape: Any, wanted: Any) -> bool:
    """Whether a shape is the one that is wanted, as far as both are known."""
    return len(shape) == len(wanted) and all(
        isinstance(w, str) or g == w or g < 0 or w < 0 for g, w in zip(shape, wanted)
    )
