"""ModelAverage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.modes import note_effect
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...optimizer.optimizer import Optimizer, _array, _clean

__all__ = ["ModelAverage"]

SUMS = ("sum_1", "sum_2", "sum_3")
COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")
MANY = 16384  # after so many updates a sum goes over into the next one, so that small terms are not lost


@jax.jit
def _add(sums: list, values: list) -> list:
    return [s + v.astype(s.dtype) for s, v in zip(sums, values)]


class ModelAverage(Optimizer):
    """The average of the parameters over the last steps of another optimizer, for evaluation.

    The window grows with the number of steps: it starts anew when it has at least min_average_window elements and at
    least min(max_average_window, steps * average_window_rate); the window before counts as well.

    Args:
        average_window_rate: the length of the window relative to the number of steps.
        parameters: a list of parameters.
        min_average_window, max_average_window: bounds of the length.

    Raises ValueError without parameters.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> average = paddle.incubate.ModelAverage(1.0, parameters=[w])
        >>> average.step(); w.set_value([3.0]); average.step()
        >>> with average.apply():
        ...     w.tolist()
        [2.0]
        >>> w.tolist()
        [3.0]
    """

    type = "average_accumulates"

    def __init__(
        self, average_window_rate, parameters=None, min_average_window=10000, max_average_window=10000, name=None
    ):
        if parameters is None:
            raise errors.ValueError_("ModelAverage: parameters must be given")
        super().__init__(0.0, parameters, None, None, name)
        self.average_window, self.min_average_window = average_window_rate, min_average_window
        self.max_average_window = max_average_window
        self._sums: dict[str, dict[str, Any]] = {}  # by the name of the parameter, then of the sum
        self._counts = dict.fromkeys(COUNTS, 0)
        self._kept: dict[str, jax.Array] = {}  # the parameters while the average is applied

    def _chosen(self) -> list[Tensor]:
        return [p for p in self._parameter_list if not p._stop]

    def _of(self, p: Tensor) -> dict[str, Any]:
        return self._sums.setdefault(p.name, {name: jnp.zeros_like(p._value) for name in SUMS})

    @_clean
    def step(self) -> None:
        """Add the parameters to the average."""
        note_effect("ModelAverage.step")
        chosen, counts = self._chosen(), self._counts
        held = [self._of(p) for p in chosen]
        for entry, total in zip(held, _add([entry["sum_1"] for entry in held], [p._value for p in chosen])):
            entry["sum_1"] = total
        counts["num_accumulates"] += 1
        counts["num_updates"] += 1
        if counts["num_updates"] % MANY == 0:
            for entry in held:
                entry["sum_2"], entry["sum_1"] = entry["sum_2"] + entry["sum_1"], jnp.zeros_like(entry["sum_1"])
        length = counts["num_accumulates"]
        if length >= self.min_average_window and length >= min(
            self.max_average_window, int(counts["num_updates"] * self.average_window)
        ):
            for entry in held:
                zero = jnp.zeros_like(entry["sum_1"])
                entry["sum_3"], entry["sum_1"], entry["sum_2"] = entry["sum_1"] + entry["sum_2"], zero, zero
            counts["old_num_accumulates"], counts["num_accumulates"] = length, 0

    @_clean
    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`step`, in a program as a part of it; the arguments have no effect."""
        if self._in_program():
            from ...static.average import record_average

            record_average(self, self._chosen())
            return
        self.step()

    def _in_program(self) -> bool:
        return any(isinstance(p._raw, Value) for p in self._parameter_list)

    @contextlib.contextmanager
    def _applied(self, need_restore: bool) -> Iterator[None]:
        counts = self._counts
        number = counts["num_accumulates"] + counts["old_num_accumulates"]
        for p in self._chosen() if number else ():
            entry = self._of(p)
            self._kept[p.name] = p._value
            total = entry["sum_1"] + entry["sum_2"] + entry["sum_3"]
            p._write_array((total / number).astype(p._raw.dtype))
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def apply(self, executor=None, need_restore=True):
        """A context in which the parameters are their averages.

        Args:
            executor: accepted.
            need_restore: False leaves the averages behind the context until `restore`.
        """
        if self._in_program():
            from ...static.average import averages, swapped

            return swapped(averages([p.name for p in self._chosen()]), self._kept, need_restore)
        return self._applied(need_restore)

    @_clean
    def restore(self, executor=None) -> None:
        """Put back the parameters that `apply` replaced."""
        if self._in_program():
            from ...static.average import put_back

            put_back(self._kept)
            return
        for p in self._chosen():
            if p.name in self._kept:
                p._write_array(self._kept.pop(p.name))

    def state_dict(self):
        """The sums and counts of each parameter, named as officially."""
        state: dict[str, Tensor] = {}
        for p in self._chosen():
            for name, value in self._of(p).items():
                state[f"{p.name}_{name}_0"] = _make(jnp.copy(value))
            for name, count in self._counts.items():
                state[f"{p.name}_{name}_0"] = _make(jax.device_put(np.array([count], np.int64)))
        return state

    @_clean
    def set_state_dict(self, state_dict):
        """Put back what `state_dict` returned. ValueError for a shape that is not that of the parameter."""
        for p in self._chosen():
            entry = self._of(p)
            for name in SUMS:
                value = state_dict.get(f"{p.name}_{name}_0")
                if value is not None:
                    array = jnp.array(_array(value))
                    if array.shape != p._raw.shape:
                        raise errors.ValueError_(
                            f"ModelAverage.set_state_dict: {p.name}_{name}_0 must have shape "
                            f"{list(p.shape)}, got {list(array.shape)}"
                        )
                    entry[name] = array
            for name in COUNTS:
                value = state_dict.get(f"{p.name}_{name}_0")
                if value is not None:
                    self._counts[name] = int(_array(value).reshape(-1)[0])

    load_state_dict = set_state_dict
    set_dict = set_state_dict
