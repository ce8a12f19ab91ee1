"""What runs in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from ...engine import errors


class Task:
    """A communication that was started; `wait()` returns when it is done. The tensors that it fills can be used before:
    reading them waits."""

    def __init__(self, function: str, arrays: list, sync: bool = False):
        self._function, self._arrays, self._sync = function, arrays, sync

    def wait(self, timeout: Any = None) -> bool:
        """Wait until it is done."""
        try:
            jax.block_until_ready(self._arrays)
        except Exception as error:
            raise failure(self._function, error) from None
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        """Whether it is done."""
        return all(a.is_ready() for a in self._arrays)

    def is_sync(self) -> bool:
        """Whether it was started with sync_op=True."""
        return self._sync


class Transfer(Task):
    """A message that has still to be taken in."""

    def __init__(self, function: str, finish: Callable[[], None], arrived: Callable[[], bool]):
        super().__init__(function, [])
        self._finish: Callable[[], None] | None = finish
        self._arrived = arrived

    def wait(self, timeout: Any = None) -> bool:
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        return self._finish is None or self._arrived()


def failure(function: str, error: Exception) -> Exception:
    """The error of a collective that the transport gave up."""
    text = str(error).strip().split("\n")[0]
    return errors.RuntimeError_(
        f"{function}: the communication failed; another process of the group has probably ended or called something "
        f"else (set FLAGS_check_collectives=1 to see which). The transport said: {text[:300]}"
    )
