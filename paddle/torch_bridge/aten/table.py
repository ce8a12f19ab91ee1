"""The table of ATen operators: from their names ("add", or "max.dim" for one overload) to functions of our tensors.

A function has the argument names of the operator's schema. Types arrive as names ("float32"), layouts, devices and memory
formats do not arrive. In-place operators use the function of their name without the underscore.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["OPERATORS", "VIEWS", "WITH_MODULE", "aten"]

OPERATORS: dict[str, Callable] = {}
WITH_MODULE: set[str] = set()  # operators whose function also gets `module`, the layer that owns their statistics
# Operators that may share memory with their first argument; what is written into the result changes the argument.
VIEWS = frozenset(
    "alias detach diagonal expand expand_as flatten lift_fresh narrow permute reshape select slice squeeze t transpose "
    "unflatten unsqueeze view view_as chunk split split_with_sizes unbind contiguous to movedim swapaxes".split()
)


def aten(*names: str, module: bool = False) -> Callable:
    """Make a function the translation of operators of ATen."""

    def add(function: Callable) -> Callable:
        for name in names:
            OPERATORS[name] = function
            if module:
                WITH_MODULE.add(name)
        return function

    return add
