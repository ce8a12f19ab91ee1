"""The official package's tracer of bytecode; here functions are converted by their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .static_function import to_static

__all__ = ["symbolic_translate"]


def symbolic_translate(fn: Callable, **kwargs: Any) -> Callable:
    """The same as `to_static`: what cannot become a program runs eagerly.

    Example:
        >>> from paddle.jit.sot import symbolic_translate
        >>> symbolic_translate(lambda x: x * 2)(paddle.ones([1])).tolist()
        [2.0]
    """
    return to_static(fn, full_graph=False)
