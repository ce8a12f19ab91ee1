"""Packages whose parts are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def names_of(where: Mapping[str, str]) -> dict[str, str]:
    """For each public name its module, from a mapping of modules to their names, separated by blanks."""
    return {name: module for module, names in where.items() for name in names.split()}


def on_demand(
    package: str, where: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package (PEP 562).

    Args:
        package: its `__name__`.
        where: the public names in its modules, as for `names_of`.
        modules: what can be had as a module, beside those of `where` that lie directly in the package.
    """
    names = names_of(where)
    parts = frozenset(modules) | {module for module in where if "." not in module and module not in names}

    def __getattr__(name: str) -> Any:
        if name in names:
            found = getattr(import_module(f"{package}.{names[name]}"), name)
            setattr(sys.modules[package], name, found)
            return found
        if name in parts:
            return import_module(f"{package}.{name}")
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}: no part of the API, or not built yet (docs/status.md)"
        )

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names, *parts})

    return __getattr__, __dir__
