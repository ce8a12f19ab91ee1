"""A recorded program as one operator of the tape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp

from ..engine.dispatch import dispatch
from ..engine.executable import Kernel
from ..engine.meshed import compiled
from ..engine.modes import set_mode
from ..engine.random import generator
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from ..ir.interpret import Tape
from ..ir.layout import inside as channels_last_inside
from ..ir.program import Graph, Operator
from ..ir.run import Environment, NeedsHost, check_closed, execute, meshes, named, needs_host, the_mesh
from .outside import own


class GraphFunction:
    """Runs operators with tensors: forward is one executable, backward another. Where operators need the host, they run
    one by one on the tape.

    Args:
        operators: in order.
        values: what the tensors of a call stand for.
        outputs: what a call gives.
        ticks: how many random numbers a call draws.
        gradient: (environment after the operators, cotangents) -> a gradient or None for each of `values`, where the
            one of the operators is not wanted.
        overwritten: positions of the values whose memory `replacing` gives to the outputs, and how many slots hold them.
    """

    def __init__(
        self,
        operators: list[Operator],
        values: list[Value],
        outputs: list[Value],
        ticks: int = 0,
        gradient: Callable | None = None,
        overwritten: Mapping[int, int] | None = None,
    ):
        check_closed(operators, values, outputs)
        self.overwritten = dict(overwritten or {})
        self.operators, self.values, self.outputs, self.ticks = operators, values, outputs, ticks
        self.on_host = any(needs_host(o) for o in operators) or len(meshes(operators)) > 1
        mesh = None if self.on_host else the_mesh(operators)
        self.effects = any(getattr(o.kernel, "effect", False) for o in operators)
        self._own_gradient = gradient
        roles = ("",) * (len(values) + bool(ticks))
        run = channels_last_inside(operators, self._run)
        if gradient is None:
            self.kernel = Kernel(run, "run_program", roles, save="residuals", mesh=mesh)
        else:
            self.kernel = Kernel(run, "run_program", roles, gradient=self._gradient, mesh=mesh)
        replacing = channels_last_inside(operators, self._run_replacing)
        self._replacing = compiled(named("run_program", replacing), mesh, (0,))

    def _environment(self, arrays: Any) -> Environment:
        words = None
        if self.ticks:
            words, *arrays = arrays
        environment = Environment(dict(zip(self.values, arrays)), words)
        execute(self.operators, environment)
        return environment

    def _run(self, *arrays: Any) -> tuple:
        found = self._environment(arrays).arrays
        return tuple(jnp.asarray(found[v]) for v in self.outputs)

    def _run_replacing(self, old: list, kept: list, words: Any) -> tuple:
        sources = {True: iter(old), False: iter(kept)}
        arrays = [next(sources[i in self.overwritten]) for i in range(len(self.values))]
        return self._run(*([] if words is None else [words]), *arrays)

    def replacing(self, tensors: list[Tensor], words: Any = None) -> list[Tensor]:
        """Run without a tape; what is overwritten loses its arrays."""
        if words is None and self.ticks:
            words = generator().ticks(self.ticks)
        arrays = [None if i in self.overwritten else t._value for i, t in enumerate(tensors)]
        kept = [a for i, a in enumerate(arrays) if i not in self.overwritten]
        old = [own(tensors[i], holders) for i, holders in self.overwritten.items()]
        try:
            return list(map(_make, self._replacing(old, kept, words)))
        except NeedsHost:
            self.on_host = True
            return self(tensors, words)

    def _gradient(self, inputs: list, outputs: tuple, cotangents: list) -> list:
        found = self._own_gradient(self._environment(inputs), cotangents)  # type: ignore[misc]
        return [None] * bool(self.ticks) + found

    def __call__(self, tensors: list[Tensor], words: Any = None) -> list[Tensor]:
        """Run; `words` is the first random key where it is not to be drawn."""
        if words is None and self.ticks:
            words = generator().ticks(self.ticks)
        outs: Any = None
        with set_mode(amp=None, program=None):
            if not self.on_host:
                args = tuple(tensors) if words is None else (words, *tensors)
                try:
                    outs = dispatch(self.kernel, args)
                except NeedsHost:
                    self.on_host = True
            if outs is None:
                tape = Tape(dict(zip(self.values, tensors)), words)
                tape.run(self.operators)
                outs = [tape.arrays[v] for v in self.outputs]
        if self.effects:
            from .transform import effects

            effects.finish()
        return list(outs)


def as_program(graph: Graph) -> Any:
    """A graph as a Program, which can be looked at and printed."""
    from ..static.program import Program

    made = Program()
    made.block, made.inputs, made.states, made.ticks = graph.block, graph.inputs, graph.states, graph.ticks
    for state in made.states.values():
        if state.parameter is None and state.tensor is not None and hasattr(state.tensor, "trainable"):
            state.parameter = state.tensor
    made.feeds, made.fetches = list(graph.inputs), list(graph.block.outputs)
    return made
