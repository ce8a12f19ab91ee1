"""print and assert inside of programs."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...engine.executable import Kernel
from ...engine.modes import modes
from ...engine.tensor import Tensor, _make
from ...ir import serialize
from .runtime import condition, tensor_of

failures: list[str] = []  # assertions that failed in the run that is going on


class EffectKernel(Kernel):
    """An operator that does something on the host and gives nothing; it runs although nobody reads it.

    Args:
        name: "print" or "assert".
        words: what is printed, None where a tensor stands; for an assertion its message.
        options: `sep`, `end` and `flush` of print.
    """

    def __init__(self, name: str, words: list[str | None], options: dict[str, Any]):
        self.words, self.options = words, options
        act = self.show if name == "print" else self.test

        def body(*arrays: Any) -> tuple:
            jax.debug.callback(act, *arrays)
            return ()

        super().__init__(body, name, ("",) * max(1, words.count(None)), differentiable=False)
        self.effect = True

    def show(self, *arrays: Any) -> None:
        source = iter(arrays)
        shown = [str(_make(jax.numpy.asarray(np.asarray(next(source))))) if w is None else w for w in self.words]
        print(*shown, **self.options)

    def test(self, array: Any) -> None:
        if not bool(np.asarray(array).reshape(())):
            failures.append(self.words[0] or "")


def record_print(args: tuple, options: dict) -> None:
    """Print tensors, and what stands between them, whenever the program runs."""
    parts = [tensor_of(a) for a in args]
    tensors = [p for p in parts if isinstance(p, Tensor)]
    words = [None if isinstance(p, Tensor) else str(p) for p in parts]
    modes.program.record(EffectKernel("print", words, options), tuple(tensors))


def record_check(value: Any, message: str) -> None:
    """An assertion that is tested whenever the program runs."""
    modes.program.record(EffectKernel("assert", [message], {}), (condition(value),))


def finish() -> None:
    """Wait until prints are printed; AssertionError when an assertion failed."""
    jax.effects_barrier()
    if failures:
        message = failures[0]
        failures.clear()
        raise AssertionError(message)


def _to_json(kernel: EffectKernel) -> dict:
    options = {k: v for k, v in kernel.options.items() if k in ("sep", "end") and isinstance(v, str)}
    return {"words": kernel.words, "options": options}


def _from_json(name: str, own: Any) -> EffectKernel:
    words, options = own["words"], own["options"]
    right = all(w is None or isinstance(w, str) for w in words) and set(options) <= {"sep", "end"}
    if name not in ("print", "assert") or not right or not all(isinstance(v, str) for v in options.values()):
        raise ValueError("a print or an assertion")
    return EffectKernel(name, list(words), dict(options))


serialize.FAMILIES["effect"] = (EffectKernel, _to_json, _from_json)
