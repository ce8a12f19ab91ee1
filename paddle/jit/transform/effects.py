"""print and assert inside of programs."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ...engine.executable import Kernel
from ...engine.modes import modes
from ...engine.tensor import Tensor, _make
from .runtime import condition, tensor_of

failures: list[str] = []  # assertions that failed in the run that is going on


class EffectKernel(Kernel):
    """An operator that does something on the host and gives nothing; it runs although nobody reads it."""

    effect = True

    def __init__(self, name: str, act: Any, attribute: str):
        self.attribute = attribute

        def body(*arrays: Any) -> tuple:
            jax.debug.callback(act, *arrays)
            return ()

        super().__init__(body, name, ("",) * 32, differentiable=False)
        self.effect = True

    def __repr__(self) -> str:
        return f"<op {self.name} {self.attribute!r}>"


def record_print(args: tuple, options: dict) -> None:
    """Print tensors, and what stands between them, whenever the program runs."""
    parts = [tensor_of(a) for a in args]
    tensors = [p for p in parts if isinstance(p, Tensor)]
    words = [None if isinstance(p, Tensor) else str(p) for p in parts]

    def show(*arrays: Any) -> None:
        source = iter(arrays)
        shown = [str(_make(jax.numpy.asarray(np.asarray(next(source))))) if w is None else w for w in words]
        print(*shown, **options)

    modes.program.record(EffectKernel("print", show, " ".join(w or "{}" for w in words)), tuple(tensors))


def record_check(value: Any, message: str) -> None:
    """An assertion that is tested whenever the program runs."""

    def test(array: Any) -> None:
        if not bool(np.asarray(array).reshape(())):
            failures.append(message)

    modes.program.record(EffectKernel("assert", test, message), (condition(value),))


def finish() -> None:
    """Wait until prints are printed; AssertionError when an assertion failed."""
    jax.effects_barrier()
    if failures:
        message = failures[0]
        failures.clear()
        raise AssertionError(message)


__all__ = ["EffectKernel", "finish", "record_check", "record_print"]
