"""Embeddings kept as integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.ir.passes import apply
from paddle.ir.passes.quantization import Weight, integers_of, scales_of, with_integer_weights
from paddle.static import Program, global_scope
from paddle.static.io import _as_program

from ..structure.programs import array_of, refuse_training, results_of

_DEFAULTS = {"quantize_type": "abs_max", "quantize_bits": 8, "dtype": "int8", "quantize_op_types": ["lookup_table_v2"]}


def quant_embedding(program: Program, place: Any, config: dict[str, Any] | None = None, scope: Any = None) -> Program:
    """A program whose embeddings are kept as integers of 8 bits, with a scale for each word.

    Args:
        program: a Program without gradients.
        place: accepted.
        config: `quantize_type` "abs_max" (another raises NotImplementedError), `quantize_bits` 8, `dtype` "int8",
            `quantize_op_types`.
        scope: holds the variables; the integers are put there as well; default: the global one.

    Returns:
        The program.

    Raises:
        ValueError: an unknown setting; no embedding in the program.
        NotImplementedError: a program with gradients, "log" quantisation.
    """
    if not isinstance(program, Program):
        raise errors.TypeError_(f"quant_embedding: program must be a Program, got {errors.describe(program)}")
    settings = {**_DEFAULTS, **(config or {})}
    for key in config or {}:
        if key not in _DEFAULTS:
            raise errors.ValueError_(f"quant_embedding: there is no setting {key!r}; there are {', '.join(_DEFAULTS)}")
    if settings["quantize_type"] != "abs_max" or settings["quantize_bits"] != 8 or settings["dtype"] != "int8":
        raise errors.NotImplemented_(f"quant_embedding: {settings}; abs_max with 8 bits is built")
    refuse_training(program, "quant_embedding")
    scope = scope or global_scope()
    weights = {}
    states = {s.value: s for s in program.states.values()}
    for operator in program.block.operators:
        weight = operator.arguments().get("weight") if operator.name == "embedding" else None
        if weight in states:
            array = np.asarray(array_of(states[weight], scope, "quant_embedding"), np.float32)
            scale = scales_of(array, 0)
            weights[weight] = Weight(integers_of(array, scale, 8, 0), scale, 8, 0)
    if not weights:
        raise errors.ValueError_("quant_embedding: the program has no embedding")
    results = results_of(program)
    made = apply(with_integer_weights(program, weights), results, ["dead_code"])
    made.states = {n: s.copy() for n, s in made.states.items()}
    return _as_program(made, list(program.feeds) or list(program.inputs), results, scope)
