"""Nested structures of lists, tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def is_sequence(seq: Any) -> bool:
    """Whether a value is a nested structure (a dict, or a sequence that is no string)."""
    return isinstance(seq, dict) or isinstance(seq, Sequence) and not isinstance(seq, (str, bytes))


def to_sequence(nest: Any) -> list:
    return list(nest) if is_sequence(nest) else [nest]


def flatten(nest: Any) -> list:
    """The leaves of a nested structure, dicts in the order of their sorted keys."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in flatten(nest[key])]
    if is_sequence(nest):
        return [leaf for item in nest for leaf in flatten(item)]
    return [nest]


def pack_sequence_as(structure: Any, flat_sequence: Sequence) -> Any:
    """The reverse of `flatten`. ValueError when the number of leaves differs."""
    leaves = list(flat_sequence)
    if len(leaves) != len(flatten(structure)):
        raise ValueError(
            f"(InvalidArgument) pack_sequence_as: the structure has {len(flatten(structure))} leaves, {len(leaves)} were given"
        )
    source = iter(leaves)

    def build(part: Any) -> Any:
        if isinstance(part, dict):
            values = {key: build(part[key]) for key in sorted(part)}
            return type(part)((key, values[key]) for key in part)
        if is_sequence(part):
            items = [build(item) for item in part]
            return type(part)(*items) if hasattr(part, "_fields") else type(part)(items)
        return next(source)

    return build(structure)


def map_structure(func: Callable, *structure: Any) -> Any:
    """Apply `func` to the corresponding leaves of nested structures."""
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])
