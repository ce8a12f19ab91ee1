"""Rows for branches and loops: their blocks become subgraphs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .convert import Converter, row
from .primitives import choose, loop
from .writer import Ref


def _outputs(g: Converter, block: Any) -> list[Ref]:
    g.write(block.operators)
    return [g.ref(v) for v in block.outputs]


@row("a branch")
def _branches(g: Converter, a: SimpleNamespace) -> list:
    operator = g.operator
    kernel: Any = operator.kernel
    choice = g.ref(operator.inputs[0])
    choice = Ref(g.reshape(choice, choice.shape, []), (), choice.dtype)

    def hit(i: int) -> str:
        return (
            choice
            if kernel.keys is None
            else g("Equal", g.cast(choice, np.int64), np.asarray(kernel.keys[i], np.int64))
        )

    return choose(g, hit, [g.inside(lambda b=b: _outputs(g, b)) for b in kernel.blocks])


@row("a loop")
def _while(g: Converter, a: SimpleNamespace) -> list:
    operator = g.operator
    kernel: Any = operator.kernel
    test, step = kernel.blocks
    types = []
    for value, x in zip(step.inputs, operator.inputs):
        first = g.ref(x, value.dtype)
        steady = value.is_static or not kernel.shapes_change
        types.append((first.shape if steady else g.symbols(g.name("n"), value.shape), value.dtype))
    firsts = [g.ref(x, v.dtype) for v, x in zip(step.inputs, operator.inputs)]

    def run(block: Any) -> Any:
        def body(state: list) -> list:
            def inner() -> list:
                for value, ref in zip(block.inputs, state):
                    g.define(value, ref, ref.shape)
                return _outputs(g, block)

            return g.inside(inner)()

        return body

    def go_on(state: list) -> Any:
        (found,) = run(test)(state)
        return Ref(g.reshape(found, found.shape, []), (), np.bool_)

    return loop(g, firsts, types, go_on, run(step))
