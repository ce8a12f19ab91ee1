"""Branches and loops of ONNX: run from Python, and recorded as ours while a program is built."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle as P
from paddle.engine.modes import modes

from .load import Node, elements, reads, tensor


def _is_open(x: Any) -> bool:
    """Whether a value is only known when the program that is being built runs."""
    return modes.program is not None and isinstance(x, P.Tensor)


@reads("If")
def _if(node: Node, test: Any) -> tuple:
    branches = [node.attributes[n] for n in ("then_branch", "else_branch")]
    if not _is_open(test):
        return tuple(node.run(branches[not elements(node, test)[0]], {}))
    made = P.static.nn.cond(P.reshape(test, []), *[lambda b=b: [tensor(t) for t in node.run(b, {})] for b in branches])
    return tuple(made) if isinstance(made, (list, tuple)) else (made,)


@reads("Loop")
def _loop(node: Node, limit: Any, go_on: Any, *state: Any) -> tuple:
    body = node.attributes["body"]
    if len(body.names) != len(state) + 2:
        raise ValueError(
            f"onnx.load: the body of Loop{node.where} takes {len(body.names)} inputs for {len(state)} states"
        )
    n_scans = len(body.outputs) - 1 - len(state)
    if any(map(_is_open, (limit, go_on, *state))):
        return _recorded(node, body, limit, go_on, state, n_scans)
    many = None if limit is None else int(elements(node, limit)[0])
    alive, number, rows = go_on is None or bool(elements(node, go_on)[0]), 0, [[] for _ in range(n_scans)]
    now = list(state)
    while alive and (many is None or number < many):
        given = [np.asarray(number, np.int64), np.asarray(True), *now]
        test, *outs = node.run(body, dict(zip(body.names, given)))
        alive = bool(elements(node, test)[0])
        now = outs[: len(state)]
        for row, out in zip(rows, outs[len(state) :]):
            row.append(tensor(out))
        number += 1
    if any(not row for row in rows):
        raise node.missing("results of each iteration, but no iteration")
    return (*now, *[P.stack(row, 0) for row in rows])


def _recorded(node: Node, body: Any, limit: Any, go_on: Any, state: tuple, n_scans: int) -> tuple:
    if n_scans:
        raise node.missing("results of each iteration, in a program")
    many = None if limit is None else P.reshape(tensor(limit), [])
    first = [P.zeros([], "int64"), P.full([], True, "bool") if go_on is None else P.reshape(tensor(go_on), [])]

    def test(number: Any, alive: Any, *now: Any) -> Any:
        return alive if many is None else P.logical_and(alive, number < many)

    def step(number: Any, alive: Any, *now: Any) -> list:
        more, *outs = node.run(body, dict(zip(body.names, [number, alive, *now])))
        return [number + 1, P.reshape(tensor(more), []), *map(tensor, outs)]

    return tuple(P.static.nn.while_loop(test, step, [*first, *map(tensor, state)])[2:])


@reads("Scan")
def _scan(node: Node, *inputs: Any) -> tuple:
    body, n_rows = node.attributes["body"], node.get("num_scan_inputs")
    if node.opset < 9 or any(node.get("scan_input_axes") or []) or any(node.get("scan_output_axes") or []):
        raise node.missing("other axes than the first")
    now, rows = list(inputs[: len(inputs) - n_rows]), [tensor(x) for x in inputs[len(inputs) - n_rows :]]
    backwards = node.get("scan_input_directions") or [0] * n_rows
    length = int(rows[0].shape[0])
    if length < 0:
        raise node.missing("a length that is not known")
    outs: list[list] = [[] for _ in range(len(body.outputs) - len(now))]
    for i in range(length):
        given = [r[length - 1 - i if back else i] for r, back in zip(rows, backwards)]
        found = node.run(body, dict(zip(body.names, [*now, *given])))
        now, made = found[: len(now)], found[len(now) :]
        for out, x in zip(outs, made):
            out.append(tensor(x))
    turned = node.get("scan_output_directions") or [0] * len(outs)
    return (*now, *[P.stack(out[::-1] if back else out, 0) for out, back in zip(outs, turned)])
