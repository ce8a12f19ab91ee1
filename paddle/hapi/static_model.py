"""`paddle.Model` in static mode: a program for each of training, evaluation and prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor


class StaticRunner:
    """The programs of a network, and what runs them.

    Args:
        network: a Layer made in static mode; its parameters lie in the default programs.
        inputs, labels: lists of InputSpec.
    """

    def __init__(self, network: Any, inputs: list | None, labels: list | None):
        from .. import static

        if not inputs:
            raise errors.ValueError_("Model: 'inputs' must be given in static mode, a list of InputSpec")
        self.network = network
        self.specs = {"inputs": inputs, "labels": labels or []}
        self._main, self._startup = static.default_main_program(), static.default_startup_program()
        self.executor = static.Executor()
        self._started = self._adds = False
        self._training: tuple = ()
        self._programs: dict[str, tuple] = {}

    def prepare(self, optimizer: Any, loss: Any, metrics: list, amp: Any) -> None:
        """Build the programs. `amp` are AmpSettings."""
        self._programs.clear()
        self._start()
        self._build("predict", None, None, [])
        if loss is not None or metrics:
            self._build("eval", None, loss, metrics)
        if optimizer is not None and loss is not None:
            self._training = optimizer, loss, metrics, amp
            self._build("train", amp.for_programs(optimizer), loss, metrics)

    def _start(self) -> None:
        if not self._started:
            self.executor.run(self._startup)
            self._started = True

    def aside(self) -> Any:
        """A context in which the network runs without leaving operators in its programs."""
        from .. import static

        return static.program_guard(self._main.clone(), static.Program())

    def _build(self, mode: str, optimizer: Any, loss: Any, metrics: list, adds: bool = False) -> None:
        """The program of a mode; with `adds` it has one more input, which says whether a step follows or the gradients are
        only added to what is there."""
        from .. import static
        from .model import _outputs, to_list

        program, startup = self._main.clone(), static.Program()
        held = [(t._storage, t._storage.value) for t in self.network.state_dict().values()]
        (self.network.train if mode == "train" else self.network.eval)()
        with static.program_guard(program, startup):
            inputs = self._data("inputs")
            labels = self._data("labels") if mode != "predict" else []
            outputs = _outputs(self.network(*inputs))
            losses = _outputs(loss(*outputs, *labels)) if loss is not None else []
            computed = [to_list(metric.compute(*outputs, *labels)) for metric in metrics]
            if optimizer is not None:
                total = losses[0]
                for part in losses[1:]:
                    total = total + part
                if adds:
                    labels = [*labels, self._accumulate(optimizer, total)]
                else:
                    optimizer.minimize(total)
        for storage, value in held:  # what the program writes to them is for its own readers
            storage.value = value
        self.executor.run(startup)
        names = [t.name for t in inputs + labels]
        self._programs[mode] = (program, names, outputs, losses, computed, inputs)
        self._adds = adds

    def _accumulate(self, optimizer: Any, loss: Tensor) -> Tensor:
        from .. import static
        from ..engine.modes import set_mode
        from ..ops.creation import full
        from ..ops.selection import where
        from ..optimizer.program import add_step
        from ..static.backward import append_backward, recorder_of

        step = static.data("step_follows", [], "bool")
        mixed = hasattr(optimizer, "amp_init")
        pairs = optimizer.backward(loss) if mixed else append_backward(loss, optimizer._given)
        sums = []
        with set_mode(grad=False, amp=None):
            for p, g in pairs:
                kept = static.create_global_var(list(p.shape), 0, g.dtype, True, name=f"{p.name}_gradient_sum")
                sums.append((p, kept + g))
                kept._rebind(where(step, full(list(p.shape), 0, g.dtype), sums[-1][1]))
            if mixed:
                optimizer.apply_gradients(sums, step)
            else:
                add_step(recorder_of([loss]), optimizer, sums, step.logical_not())
        return step

    def _data(self, kind: str) -> list[Tensor]:
        from .. import static

        return [
            static.data(s.name or f"{kind[:-1]}_{i}", [-1 if n is None else n for n in s.shape], s.dtype)
            for i, s in enumerate(self.specs[kind])
        ]

    def run(self, mode: str, inputs: list, labels: list, update: bool = True) -> tuple[list, list[list], list]:
        """Losses, what the metrics computed, and outputs, as arrays. `update`: whether a training step ends with that of
        the optimizer."""
        if mode not in self._programs:
            if mode != "predict":
                raise errors.RuntimeError_("Model: model not ready, please call `model.prepare()` first")
            self._start()
            self._build("predict", None, None, [])
        if not update and not self._adds:
            optimizer, loss, metrics, amp = self._training
            self._build("train", amp.for_programs(optimizer), loss, metrics, adds=True)
        program, names, outputs, losses, computed, _ = self._programs[mode]
        given = [*inputs, *(labels if mode != "predict" else [])]
        if mode == "train" and self._adds:
            given.append(np.array(update))
        if len(given) != len(names):
            raise errors.ValueError_(f"Model: {len(names)} inputs and labels are expected, got {len(given)}")
        wanted = [*losses, *(t for group in computed for t in group), *(outputs if mode == "predict" else [])]
        found = self.executor.run(program, dict(zip(names, map(_array, given))), wanted)
        count = len(losses)
        groups = []
        for group in computed:
            groups.append(found[count : count + len(group)])
            count += len(group)
        return found[: len(losses)], groups, found[count:]

    def state_dict(self) -> dict[str, np.ndarray]:
        """The values of the network's parameters and buffers."""
        from .. import static

        self._start()
        scope = static.global_scope()
        return {k: np.asarray(scope.find_var(v.name).get_tensor()) for k, v in self.network.state_dict().items()}

    def set_state_dict(self, values: dict[str, Any]) -> None:
        """Put values in their place."""
        from .. import static

        self._start()
        named = {v.name: np.asarray(values[k]) for k, v in self.network.state_dict().items() if k in values}
        scope = static.global_scope()
        for name, value in named.items():
            scope.find_var(name).get_tensor().set(value, None)

    def export(self, path: str) -> None:
        """Write the program for inference and its parameters."""
        from .. import static

        if "predict" not in self._programs:
            self._start()
            self._build("predict", None, None, [])
        program, _, outputs, _, _, inputs = self._programs["predict"]
        static.save_inference_model(path, inputs, outputs, self.executor, program=program)


def _array(value: Any) -> np.ndarray:
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)
