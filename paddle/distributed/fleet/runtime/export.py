"""Models for inference out of training with parameter servers."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ....engine import errors

LARGEST = 2 * 2**30  # bytes of a table that becomes one array
_CHUNK = 1 << 18


def write_inference_model(runtime: Any, prefix: str, feeded_var_names: list[str], target_vars: list[Any]) -> None:
    """Write the program as it was before its lookups became pulls, with the dense parameters and the tables as arrays."""
    from ....static import Program, Scope, io

    if runtime._rewritten is None:
        raise errors.RuntimeError_("fleet.save_inference_model: call minimize first")
    runtime.pull_dense()
    before = runtime._rewritten
    program = Program()
    program.block.operators = list(before.block.operators)
    program.inputs, program.states = dict(before.inputs), {n: s.copy() for n, s in before.states.items()}
    program.ticks = before.ticks
    if runtime.geo is None:
        for name in runtime.dense:
            state = program.states[name]
            state.value = state.update  # what the pull defines was the parameter
    program.changed()
    scope = Scope()
    for name in program.states:
        if name in runtime.tables:
            continue
        variable = runtime.scope.find_var(name)
        if variable is not None and variable.array is not None:
            scope.var(name).array = variable.array
    for name, spec in runtime.tables.items():
        if name in program.states:
            scope.var(name).array = jnp.asarray(
                whole(runtime, name, program.states[name].value.shape[0], spec["width"])
            )
    feeds = [program.global_block().vars[n] for n in feeded_var_names]
    normalized = io._normalized("save_inference_model", program, feeds, target_vars)
    io.write_inference_model(normalized, prefix, scope)


def whole(runtime: Any, name: str, rows: int, width: int) -> np.ndarray:
    """All rows of a table, those that are not there with the values that they would start with."""
    if rows * width * 4 > LARGEST:
        raise errors.NotImplemented_(
            f"fleet.save_inference_model: table {name} has {rows} rows of {width} numbers, more than {LARGEST >> 30} GB; use "
            "save_persistables"
        )
    out = np.empty((rows, width), np.float32)
    for start in range(0, rows, _CHUNK):
        ids = np.arange(start, min(start + _CHUNK, rows))
        out[ids] = runtime._pull({name: ids}, False)[0][name]
    return out
