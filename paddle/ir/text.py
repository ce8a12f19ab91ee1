"""Programs as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..engine.value import Held, Value
from .program import Block, Graph, Operator


def _argument(x: Any) -> str:
    if isinstance(x, Held):
        x = x.value
    if isinstance(x, Value):
        return "%" + x.name
    if isinstance(x, Tensor):
        return "%" + x.name
    if isinstance(x, np.ndarray) or hasattr(x, "addressable_shards"):
        return f"array({x.dtype}{list(x.shape)})" if np.size(x) > 8 else f"{np.asarray(x).tolist()}"
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(map(_argument, x)) + "]"
    return repr(x)


def _type(value: Value) -> str:
    return f"{value.dtype.name}[{', '.join(str(int(d)) if d >= 0 else '?' for d in value.shape)}]"


def operator_text(operator: Operator, indent: str = "") -> str:
    """One line: ``%relu_0.tmp_0: float32[?, 10] = relu(x=%x)``, and the blocks inside it."""
    left = ", ".join(f"%{v.name}: {_type(v)}" for v in operator.outputs)
    right = ", ".join(f"{n}={_argument(a)}" for n, a in operator.arguments().items() if a is not None)
    text = f"{indent}{left}{' = ' if left else ''}{operator.name}({right})"
    for block in getattr(operator.kernel, "blocks", ()):
        text += " {\n" + block_text(block, indent + "    ") + "\n" + indent + "}"
    return text


def block_text(block: Block, indent: str = "    ") -> str:
    lines = []
    if block.inputs:
        lines.append(f"{indent}take " + ", ".join(f"%{v.name}: {_type(v)}" for v in block.inputs))
    lines += [operator_text(o, indent) for o in block.operators]
    if block.outputs:
        lines.append(f"{indent}give " + ", ".join(f"%{v.name}" for v in block.outputs))
    return "\n".join(lines)


def graph_text(graph: Graph) -> str:
    """A whole program, readable: inputs, states, operators, what the states become."""
    head = [f"    input %{n}: {_type(v)}" for n, v in graph.inputs.items()]
    head += [f"    state %{n}: {_type(s.value)}" for n, s in graph.states.items()]
    tail = [f"    %{n} becomes %{s.update.name}" for n, s in graph.states.items() if s.update is not None]
    return "program {\n" + "\n".join([*head, block_text(graph.block), *tail]) + "\n}"
