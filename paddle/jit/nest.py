"""Arguments and results as a list of leaves and a structure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any


class Structure:
    """How leaves are put together: `kind` is a type of container, or None for a leaf; `keys` are those of a dict."""

    __slots__ = ("kind", "keys", "parts", "template")

    def __init__(self, kind: Any, keys: tuple, parts: tuple, template: Any = None):
        self.kind, self.keys, self.parts, self.template = kind, keys, parts, template

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is Structure
            and self.kind is other.kind
            and self.keys == other.keys
            and self.parts == other.parts
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.parts))

    def build(self, source: Iterator) -> Any:
        """The structure filled with leaves from an iterator."""
        kind = self.kind
        if kind is None:
            return next(source)
        items = [p.build(source) for p in self.parts]
        if issubclass(kind, dict):
            pairs = zip(self.keys, items)
            if kind in (dict, OrderedDict):
                return kind(pairs)
            made = self.template() if self.template is not None else kind()
            made.update(pairs)
            return made
        return kind(*items) if hasattr(kind, "_fields") else kind(items)


LEAF = Structure(None, (), ())


def flatten(value: Any, leaves: list) -> Structure:
    """Append the leaves of nested lists, tuples and dicts to a list; returns their structure."""
    kind = value.__class__
    if kind in (list, tuple) or isinstance(value, tuple) and hasattr(value, "_fields"):
        return Structure(kind, (), tuple([flatten(v, leaves) for v in value]))
    if isinstance(value, dict):
        template = None
        if hasattr(value, "default_factory"):
            factory = value.default_factory

            def template() -> Any:
                return kind(factory)

        return Structure(kind, tuple(value), tuple([flatten(v, leaves) for v in value.values()]), template)
    leaves.append(value)
    return LEAF


def unflatten(structure: Structure, leaves: Any) -> Any:
    return structure.build(iter(leaves))


def mapped(function: Callable, value: Any) -> Any:
    """`function` of every leaf."""
    leaves: list = []
    structure = flatten(value, leaves)
    return unflatten(structure, map(function, leaves))
