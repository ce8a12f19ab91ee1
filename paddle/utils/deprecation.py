"""Marking functions as deprecated."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def deprecated(update_to: str = "", since: str = "", reason: str = "", level: int = 0) -> Callable:
    """A decorator that warns when a deprecated function is used.

    Args:
        update_to: the name to use instead.
        since: the version that deprecated it.
        reason: why.
        level: 0 or 1 warns, 2 raises RuntimeError.

    Example:
        >>> @paddle.utils.deprecated(update_to="paddle.new", since="3.0")
        ... def old():
        ...     return 1
    """

    def decorator(function: Callable) -> Callable:
        text = f"{function.__module__}.{function.__name__} is deprecated"
        text += (f" since {since}" if since else "") + (f", use {update_to} instead" if update_to else "")
        text += f" ({reason})" if reason else ""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if level == 2:
                raise RuntimeError(text)
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return wrapper

    return decorator
