"""What runs in the background."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable

import jax

from ...engine import errors
from ..store import Timeout


class Task:
    """A communication that was started; `wait()` returns when it is done. The tensors that it fills can be used before:
    reading them waits."""

    def __init__(self, function: str, arrays: list, sync: bool = False):
        self._function, self._arrays, self._sync = function, arrays, sync

    def wait(self, timeout: float | datetime.timedelta | None = None) -> bool:
        """Wait until it is done.

        Args:
            timeout: seconds or a timedelta; by default the time of the group.

        Raises:
            TimeoutError: it was not done in time. It still runs.
            RuntimeError: the transport gave it up.
        """
        try:
            if timeout is not None:
                self._poll(seconds_of(timeout))
            jax.block_until_ready(self._arrays)
        except Timeout:
            raise
        except Exception as error:
            raise failure(self._function, error) from None
        return True

    def _poll(self, seconds: float) -> None:
        end, pause = time.monotonic() + seconds, 1e-4
        while not self.is_completed():
            if time.monotonic() > end:
                raise Timeout(f"(ExecutionTimeout) {self._function}: not done within {seconds:g} seconds")
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

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

    def wait(self, timeout: float | datetime.timedelta | None = None) -> bool:
        if self._finish is not None:
            if timeout is not None:
                self._poll(seconds_of(timeout))
            self._finish()
            self._finish = None
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        return self._finish is None or self._arrived()


def seconds_of(timeout: float | datetime.timedelta) -> float:
    return timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)


def failure(function: str, error: Exception) -> Exception:
    """The error of a collective that the transport gave up."""
    text = str(error).strip().split("\n")[0]
    return errors.RuntimeError_(
        f"{function}: the communication failed; another process of the group has probably ended or called something "
        f"else (set FLAGS_check_collectives=1 to see which). The transport said: {text[:300]}"
    )
