"""Averages of parameters over the steps of training."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..engine import errors
from ..engine import place as places
from ..engine.dtype import to_dtype
from ..engine.modes import set_mode
from ..engine.tensor import Tensor
from ..ops.selection import where
from ..utils import unique_name
from .backward import recorder_of, training_part
from .executor import global_scope
from .program import default_main_program
from .variables import create_global_var

__all__ = ["ExponentialMovingAverage", "record_average", "record_lookahead", "swapped"]


class ExponentialMovingAverage:
    """Averages of the parameters of the default program, in which older values count less and less.

    After each step ``average = decay * average + (1 - decay) * parameter``; where it is used, it is divided by
    ``1 - decay ** steps``, because it starts from zeros.

    Args:
        decay: how much the averages keep.
        thres_steps: a variable with the number of steps; the decay is then at most (1 + steps) / (10 + steps).
        name: in front of the names of the averages.

    Example:
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     x = paddle.static.data("x", [None, 2])
        ...     loss = paddle.static.nn.fc(x, 1).mean()
        ...     _ = paddle.optimizer.SGD(0.1).minimize(loss)
        ...     ema = paddle.static.ExponentialMovingAverage(0.9)
        ...     ema.update()
    """

    def __init__(self, decay: float = 0.999, thres_steps: Tensor | None = None, name: str | None = None):
        if isinstance(decay, bool) or not isinstance(decay, (int, float)):
            raise errors.TypeError_(f"ExponentialMovingAverage: decay must be a number, got {errors.describe(decay)}")
        self._decay, self._thres_steps = float(decay), thres_steps
        self._name = name or ""
        self._program = default_main_program()
        self._saved: dict[str, Any] = {}
        with self._program.recorder, set_mode(grad=False, amp=None):
            self._steps = create_global_var(
                [1], 0, "int64", True, name=unique_name.generate("@EMA_STEP_COUNTER@").removesuffix("_0")
            )
            self._rate = create_global_var([1], self._decay, "float32", True, name=unique_name.generate("decay_rate"))
            self._averages = [
                (p, create_global_var(list(p.shape), 0.0, p.dtype, True, name=self._name_of(p)))
                for p in self._program.all_parameters()
                if not p.stop_gradient and getattr(p, "do_model_average", True) is not False
            ]
        self._names = {p.name: average.name for p, average in self._averages}
        self._counter, self._rate_name = self._steps.name, self._rate.name

    def _name_of(self, p: Tensor) -> str:
        return unique_name.generate(self._name + p.name + "_ema")

    @errors.clean
    def update(self) -> None:
        """Add the step of the averages to the program; to be called after `minimize`."""
        with self._program.recorder, set_mode(grad=False, amp=None), self._program.training_part():
            self._steps._rebind(self._steps + 1)
            if self._thres_steps is not None:
                steps = self._thres_steps.astype("float32").reshape([1])
                limit = (steps + 1.0) / (steps + 10.0)
                self._rate._rebind(limit.minimum(self._rate * 0 + self._decay))
            for p, average in self._averages:
                rate = self._rate.astype(average.dtype)
                average._rebind(average * rate + p.detach() * (1 - rate))

    @contextlib.contextmanager
    def apply(self, executor: Any, need_restore: bool = True) -> Iterator[None]:
        """A context in which the parameters are their averages.

        Args:
            executor: accepted.
            need_restore: put the parameters back at the end of the block; else `restore` does.
        """
        scope = global_scope()
        steps, rate = (np.asarray(scope.var(n).array).item() for n in (self._counter, self._rate_name))
        values = {name: scope.var(average).array for name, average in self._names.items()}
        if steps:
            values = {name: value / (1 - rate**steps) for name, value in values.items()}
        with swapped(values, self._saved, need_restore):
            yield

    def restore(self, executor: Any) -> None:
        """Put back the parameters that `apply` replaced."""
        put_back(self._saved)


# ---- optimizers of paddle.incubate in programs ----


def record_lookahead(loss: Tensor, alpha: float, k: int, parameters: list[Tensor]) -> None:
    """Append the step of slow weights after every k steps; see `paddle.incubate.LookAhead`."""
    recorder = recorder_of([loss, *parameters])
    with recorder, set_mode(grad=False, amp=None), training_part(recorder):
        count = _counter(recorder, unique_name.generate("lookahead_step"))
        count._rebind(count + 1)
        first, due = count == 1, (count % k) == 0
        for p in parameters:
            kind, shape = p.dtype, tuple(p.shape)
            slow = recorder.new_state_from(f"{p.name}_slow_0", shape, kind, p.name, lambda v: v * 1)
            start = where(first, p.detach(), slow)
            moved = where(due, start + (p.detach() - start) * alpha, start)
            slow._rebind(moved)
            p._storage.write(where(due, moved, p.detach())._value)


def record_average(average: Any, parameters: list[Tensor]) -> None:
    """Append the sums of a `paddle.incubate.ModelAverage` to the program of its parameters."""
    recorder = recorder_of(parameters)
    with recorder, set_mode(grad=False, amp=None), training_part(recorder):
        for p in parameters:
            kind, shape = p.dtype, tuple(p.shape)
            sums = [
                recorder.new_state(f"{p.name}_{n}_0", shape, kind, partial(_zeros, shape, kind))
                for n in ("sum_1", "sum_2", "sum_3")
            ]
            now, old, updates = (
                _counter(recorder, f"{p.name}_{n}_0") for n in ("num_accumulates", "old_num_accumulates", "num_updates")
            )
            one, two = sums[0] + p.detach(), sums[1]
            steps, total = now + 1, updates + 1
            full = (total % 16384) == 0
            two, one = where(full, two + one, two), where(full, one * 0, one)
            window = (total.astype("float32") * average.average_window).astype("int64")
            limit = where(window > average.max_average_window, window * 0 + average.max_average_window, window)
            anew = (steps >= average.min_average_window).logical_and(steps >= limit)
            sums[2]._rebind(where(anew, one + two, sums[2]))
            sums[0]._rebind(where(anew, one * 0, one))
            sums[1]._rebind(where(anew, two * 0, two))
            old._rebind(where(anew, steps, old))
            now._rebind(where(anew, steps * 0, steps))
            updates._rebind(total)


def averages(names: list[str]) -> dict[str, Any]:
    """The averages that `record_average` keeps in the scope, by the names of the parameters."""
    scope = global_scope()
    found = {}
    for name in names:
        arrays = {n: scope.var(f"{name}_{n}_0").array for n in ("sum_1", "sum_2", "sum_3")}
        counts = [scope.var(f"{name}_{n}_0").array for n in ("num_accumulates", "old_num_accumulates")]
        number = sum(int(np.asarray(c).item()) for c in counts)
        if number:
            found[name] = sum(arrays.values()) / number
    return found


@contextlib.contextmanager
def swapped(values: dict[str, Any], kept: dict[str, Any], need_restore: bool) -> Iterator[None]:
    """A context in which variables of the scope hold other values; what they held goes into `kept`."""
    scope = global_scope()
    for name, value in values.items():
        kept[name] = scope.var(name).array
        scope.var(name).array = value
    try:
        yield
    finally:
        if need_restore:
            put_back(kept)


def put_back(kept: dict[str, Any]) -> None:
    """Let the variables of the scope hold what they held before."""
    for name, value in kept.items():
        global_scope().var(name).array = value
    kept.clear()


def _counter(recorder: Any, name: str) -> Tensor:
    kind = to_dtype("int64")
    return recorder.new_state(name, (1,), kind, partial(_zeros, (1,), kind))


def _zeros(shape: tuple, kind: Any) -> Any:
    return places.put(np.zeros(shape, kind.numpy), None)
