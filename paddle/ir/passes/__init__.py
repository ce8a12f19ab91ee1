"""Passes: functions from graphs to graphs.

A pass takes a `Graph` and the values that are wanted from it, and gives another graph that computes the same. Values keep
their identity, so what was wanted before is found after. To write one:

    from paddle.ir.passes import apply, register

    @register("double_transpose")
    def double_transpose(graph, wanted):
        uses = Uses(graph, wanted)
        ...
        return graph.with_operators(new_list)

    graph = apply(graph, wanted, ["double_transpose", "dead_code"])
"""

from .base import PASSES, Uses, apply, register
from .cleanup import common_subexpressions, constant_folding, dead_code, no_copies
from .fusion import attention, linear
from .inference import for_inference, with_arguments
from .normalization import fold_batch_norm
from .quantization import integer_products, real_integers

INFERENCE = (
    "inference",
    "no_copies",
    "linear",
    "integer_products",
    "constant_folding",
    "fold_batch_norm",
    "linear",
    "attention",
    "common_subexpressions",
    "no_copies",
    "dead_code",
)

__all__ = [
    "INFERENCE",
    "PASSES",
    "Uses",
    "apply",
    "attention",
    "common_subexpressions",
    "constant_folding",
    "dead_code",
    "fold_batch_norm",
    "for_inference",
    "integer_products",
    "linear",
    "no_copies",
    "real_integers",
    "register",
    "with_arguments",
]
