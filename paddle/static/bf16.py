"""Mixed precision of programs in bfloat16, by the names of `paddle.static.amp.bf16`."""

from __future__ import annotations

from typing import Any

from .mixed_precision import (
    AutoMixedPrecisionLists,
    OptimizerWithMixedPrecision,
    cast_model_to_fp16,
    cast_parameters_to_fp16,
    decorated,
)
from .mixed_precision import fp16_guard as bf16_guard

__all__ = [
    "AutoMixedPrecisionListsBF16",
    "bf16_guard",
    "cast_model_to_bf16",
    "cast_parameters_to_bf16",
    "decorate_bf16",
]


class AutoMixedPrecisionListsBF16(AutoMixedPrecisionLists):
    """Operators that compute in bfloat16 and those that compute in float32, beside the built-in lists."""

    def __init__(self, custom_bf16_list: Any = None, custom_fp32_list: Any = None, custom_fp32_varnames: Any = None):
        super().__init__(custom_bf16_list, custom_fp32_list, custom_fp32_varnames, "bfloat16")


def decorate_bf16(
    optimizer: Any, amp_lists: Any = None, use_pure_bf16: bool = False, use_bf16_guard: bool | None = None
) -> OptimizerWithMixedPrecision:
    """`paddle.static.amp.decorate` for bfloat16, which needs no scale."""
    level = "O2" if use_pure_bf16 else "O1"
    return decorated(optimizer, amp_lists, level, "bfloat16", use_fp16_guard=use_bf16_guard)


def cast_model_to_bf16(
    program: Any, startup_prog: Any = None, amp_lists: Any = None, use_bf16_guard: bool = True
) -> set:
    """`cast_model_to_fp16` with bfloat16."""
    return cast_model_to_fp16(program, amp_lists, use_bf16_guard, "bfloat16")


def cast_parameters_to_bf16(place: Any, program: Any, scope: Any = None, to_bf16_var_names: Any = None) -> None:
    """`cast_parameters_to_fp16` with bfloat16."""
    cast_parameters_to_fp16(place, program, scope, to_bf16_var_names, "bfloat16")
