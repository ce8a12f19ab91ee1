"""What is converted, and what is shown of it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from ..engine import errors
from .transform import LIBRARIES, SKIP


def not_to_static(func: Callable | None = None) -> Any:
    """Leave a function as it is when a function that calls it is converted: a decorator.

    Example:
        >>> @paddle.jit.not_to_static
        ... def f(x):
        ...     return x + 1
    """
    if func is None:
        return not_to_static
    if not callable(func):
        raise errors.TypeError_(f"not_to_static: a function is needed, got {errors.describe(func)}")
    target = getattr(func, "__func__", func)
    if isinstance(func, type) and hasattr(func, "forward"):
        target = func.forward  # type: ignore[attr-defined]
    try:
        setattr(target, SKIP, True)
    except AttributeError:
        pass
    return func


def ignore_module(modules: list[Any]) -> None:
    """Leave the functions of modules as they are.

    Args:
        modules: a list of modules.

    Example:
        >>> import statistics
        >>> paddle.jit.ignore_module([statistics])
    """
    for module in modules:
        name = module.__name__ if isinstance(module, types.ModuleType) else str(module)
        LIBRARIES.add(name)


class Shown:
    """How much of the conversion is printed."""

    level = -1
    verbosity = 0


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Print the converted source of functions when they are recorded (any level from 0 on).

    Example:
        >>> paddle.jit.set_code_level(-1)
    """
    Shown.level = level


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Tell more about the conversion: from level 1 on, why calls run eagerly.

    Example:
        >>> paddle.jit.set_verbosity(0)
    """
    Shown.verbosity = level


def unified(fn: Callable | None = None, *, for_sot: bool = True, for_ast: bool = True) -> Any:
    """Leave a function as it is, like `not_to_static`."""
    if fn is None:
        return functools.partial(unified, for_sot=for_sot, for_ast=for_ast)
    return not_to_static(fn)
