"""Programs, places and modes by their names before version 2."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine.dtype import to_dtype
from ..engine.modes import modes
from ..engine.parameter import Parameter
from ..static.places import cpu_places, cuda_places, device_guard
from ..static.program import (
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
)
from ..static.program import enable as _enable

__all__ = [
    "Parameter",
    "Program",
    "Variable",
    "begin_static",
    "convert_np_dtype_to_dtype_",
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "in_dygraph_mode",
    "is_compiled_with_cuda",
    "name_scope",
    "program_guard",
    "require_version",
]

_dygraph = [0]  # how many `fluid.dygraph.guard` blocks are open


def begin_static() -> None:
    """Programs were the only mode of this interface: the first input that is declared switches to it."""
    if modes.program is None and not _dygraph[0]:
        _enable()


@contextlib.contextmanager
def imperative() -> Iterator[None]:
    """A context in which operations run at once."""
    from ..engine.modes import set_mode

    _dygraph[0] += 1
    try:
        with set_mode(program=None):
            yield
    finally:
        _dygraph[0] -= 1


def in_dygraph_mode() -> bool:
    """Whether operations run at once."""
    return modes.program is None


def is_compiled_with_cuda() -> bool:
    from ..device import is_compiled_with_cuda as found

    return found()


def cuda_pinned_places(device_count: int | None = None) -> list[Any]:
    from ..engine.place import CUDAPinnedPlace

    return [CUDAPinnedPlace() for _ in range(device_count or 1)]


def convert_np_dtype_to_dtype_(np_dtype: Any) -> Any:
    return to_dtype(np.dtype(np_dtype).name)


def require_version(min_version: str, max_version: str | None = None) -> None:
    from ..utils import require_version as check

    check(min_version, max_version)
