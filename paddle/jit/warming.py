"""Compiling a program before it is needed, also in the background."""

from __future__ import annotations

import threading
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine.modes import modes, set_mode
from ..engine.tensor import Tensor, _make
from ..ir.buckets import signature
from ..static.input_spec import InputSpec
from .bucketing import with_gradients
from .nest import flatten, unflatten

__all__ = ["Warming", "stand_ins"]


def stand_ins(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments with zeros in place of InputSpecs, data that wants no gradient. ValueError for a spec with open lengths."""
    leaves: list = []
    structure = flatten((args, kwargs), leaves)
    what = "warm_up: every length"
    return unflatten(structure, [_make(jnp.asarray(x.zeros(what))) if isinstance(x, InputSpec) else x for x in leaves])


class Warming:
    """The compilations of one function that run in the background."""

    def __init__(self) -> None:
        self._threads: dict[tuple, threading.Thread] = {}

    def start(self, traced: Any, tensors: list[Tensor], background: bool) -> threading.Thread | None:
        """Compile forward and, where something wants a gradient, backward; nothing that the program changes is changed,
        and no random numbers are drawn."""
        words = np.zeros(4, np.uint32) if traced.run.ticks else None
        states = [*map(traced._state, traced.states, traced.readers)]
        recording = modes.grad

        def work() -> None:
            with set_mode(grad=recording, amp=None, program=None):
                if traced.run.overwritten:
                    traced.run.replacing([_make(jnp.array(t._value, copy=True)) for t in (*tensors, *states)], words)
                    return
                with_gradients(lambda leaves: traced.run(leaves, words), [*tensors, *states])

        if not background:
            work()
            return None
        thread = threading.Thread(target=work, name="paddle-xla compiling")  # the end of the process waits for it
        self._threads[_key(traced, tensors)] = thread
        thread.start()
        return thread

    def wait(self, traced: Any, tensors: list[Tensor]) -> None:
        """Wait for a compilation of this program for these shapes, so that it is not done twice."""
        if self._threads:
            thread = self._threads.pop(_key(traced, tensors), None)
            if thread is not None:
                thread.join()


def _key(traced: Any, tensors: list[Tensor]) -> tuple:
    return (id(traced), *signature([t._value for t in tensors]))
