"""Recording with other trial lengths where those of `engine.value` do not fit, and telling which length has to be known."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from ..engine import errors
from ..engine.value import PROBES
from .errors import GraphBreak

__all__ = ["with_trials"]

SMALLER = ((8, 12), (2, 3))
LARGEST, MOST_NUMBERS, MOST_FIXED = 4096, 4, 6


def with_trials(record: Callable[[list], Any], named: list[tuple[str, Any, Any]]) -> Any:
    """`record(named)`, with other trial lengths when lengths that InputSpecs leave open do not fit.

    Args:
        record: records a function; `named` lists (name, tensor or None, InputSpec or None) of its arguments.

    Raises:
        what recording with the first trial lengths raised, with a note that names the length to fix.
    """
    places = [(i, k) for i, (_, _, spec) in enumerate(named) if spec is not None for k in _open(spec)]
    if not places:
        return record(named)
    PROBES.seen.clear()
    try:
        return record(named)
    except Exception as e:
        if not PROBES.seen or isinstance(e, (GraphBreak, errors.NoValue)):
            raise
        error = e
    tried = [tuple(PROBES)]
    for lengths in _others():
        tried.append(lengths)
        with PROBES.trying(lengths):
            found = _attempt(record, named)
        if found is not None:
            return found
    error.add_note(_advice(record, named, places, tried))
    raise error


def _open(spec: Any) -> list[int]:
    return [k for k, d in enumerate(spec.shape) if d is None or d < 0]


def _others() -> Iterator[tuple[int, int]]:
    yield from SMALLER
    for n in sorted(n for n in PROBES.seen if n <= LARGEST)[:MOST_NUMBERS]:
        yield 2 * n, 3 * n  # what is divided has to be a multiple
        yield 1, n  # what meets a fixed length is that length, or 1


def _attempt(record: Callable, named: list) -> Any:
    try:
        return record(named)
    except Exception:  # the first error is the one that is told
        return None


def _advice(record: Callable, named: list, places: list, tried: list) -> str:
    shown = ", ".join("/".join(map(str, lengths)) for lengths in tried)
    text = f"the lengths that InputSpec leaves open were tried with {shown}"
    for i, axis in places[:MOST_FIXED]:
        name, tensor, spec = named[i]
        lengths = [tensor._raw.shape[axis]] if tensor is not None else [1, *sorted(PROBES.seen)[:MOST_NUMBERS]]
        for n in lengths:
            fixed = copy.copy(spec)
            fixed.shape = tuple(n if k == axis else d for k, d in enumerate(spec.shape))
            if (
                _attempt(record, [(name, tensor, fixed) if k == i else entry for k, entry in enumerate(named)])
                is not None
            ):
                return f"{text}; fix axis {axis} of {name!r} in its InputSpec (for example to {n})"
    return f"{text}; fix more than one of {', '.join(f'axis {k} of {named[i][0]!r}' for i, k in places)}"
