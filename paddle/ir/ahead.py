"""Executables that are compiled before they are needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any

__all__ = ["Ahead"]


class Ahead:
    """What was compiled for one program, by the types and shapes of what is fed and by what may be overwritten. A run that
    needs what a thread compiles waits for it; where that fails, the run compiles by itself and tells what is wrong."""

    def __init__(self) -> None:
        self._found: dict[tuple, Future] = {}

    def start(
        self, feeds: dict[str, Any], donate: Collection[str], compile: Callable[[], Callable], background: bool
    ) -> threading.Thread | None:
        key, future = _key(feeds, donate), Future()
        if key in self._found:
            return None
        self._found[key] = future

        def work() -> None:
            try:
                future.set_result(compile())
            except BaseException as e:
                self._found.pop(key, None)
                future.set_exception(e)

        if background:
            thread = threading.Thread(target=work, name="paddle-xla compiling")  # the end of the process waits for it
            thread.start()
            return thread
        work()
        future.result()
        return None

    def get(self, feeds: dict[str, Any], donate: Collection[str]) -> Callable | None:
        """The executable for these, None when it was not compiled ahead."""
        if not self._found:
            return None
        future = self._found.get(_key(feeds, donate))
        return None if future is None or future.exception() is not None else future.result()


def _key(feeds: dict[str, Any], donate: Collection[str]) -> tuple:
    return tuple((n, tuple(a.shape), str(a.dtype)) for n, a in sorted(feeds.items())), frozenset(donate)
