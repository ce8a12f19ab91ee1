"""Averages of parameters over the steps of training."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.modes import set_mode
from ..engine.tensor import Tensor
from ..utils import unique_name
from .executor import global_scope
from .program import default_main_program
from .variables import create_global_var

__all__ = ["ExponentialMovingAverage"]


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
        for name, average in self._names.items():
            self._saved[name] = scope.var(name).array
            value = scope.var(average).array
            scope.var(name).array = value / (1 - rate**steps) if steps else value
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor: Any) -> None:
        """Put back the parameters that `apply` replaced."""
        scope = global_scope()
        for name, value in self._saved.items():
            scope.var(name).array = value
        self._saved = {}
