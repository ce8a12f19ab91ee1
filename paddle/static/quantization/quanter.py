"""Training with rounding, and what is left of it for use."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...ir.program import Pullback
from ..program import Program
from .transform import (
    ACTIVATIONS,
    WEIGHTS,
    Rounding,
    chosen_of,
    round_inputs,
    round_weighted,
    weighted_kinds,
    with_integers,
)

_DEFAULTS: dict[str, Any] = {
    "weight_quantize_type": "channel_wise_abs_max",
    "activation_quantize_type": "moving_average_abs_max",
    "weight_bits": 8,
    "activation_bits": 8,
    "not_quant_pattern": ["skip_quant"],
    "quantize_op_types": ["conv2d", "depthwise_conv2d", "mul"],
    "dtype": "int8",
    "window_size": 10000,
    "moving_rate": 0.9,
    "for_tensorrt": False,
    "is_full_quantize": False,
    "onnx_format": True,
    "quant_post_first": False,
    "scale_trainable": True,
}


def _settings(config: dict[str, Any] | None) -> dict[str, Any]:
    if config is not None and not isinstance(config, dict):
        raise AssertionError(f"(InvalidArgument) config must be a dict, got {config!r}")
    unknown = [k for k in config or {} if k not in _DEFAULTS]
    if unknown:
        raise errors.ValueError_(f"quant_aware: there is no setting {unknown[0]!r}; there are {', '.join(_DEFAULTS)}")
    found = {**_DEFAULTS, **(config or {})}
    chosen_of("weight_quantize_type", found["weight_quantize_type"], WEIGHTS)
    chosen_of("activation_quantize_type", found["activation_quantize_type"], ACTIVATIONS)
    for key in ("weight_bits", "activation_bits"):
        if not isinstance(found[key], int) or not 2 <= found[key] <= 16:
            raise errors.ValueError_(f"quant_aware: {key} must be an int from 2 to 16, got {found[key]!r}")
    if found["dtype"] != "int8":
        raise errors.ValueError_(f"quant_aware: dtype must be 'int8', got {found['dtype']!r}")
    if isinstance(found["not_quant_pattern"], str):
        found["not_quant_pattern"] = [found["not_quant_pattern"]]
    if found["quant_post_first"]:
        raise errors.NotImplemented_("quant_aware: quant_post_first; run PostTrainingQuantizationProgram by itself")
    return found


def quant_aware(
    program,
    place,
    config=None,
    scope=None,
    for_test=False,
    weight_quantize_func=None,
    act_quantize_func=None,
    weight_preprocess_func=None,
    act_preprocess_func=None,
    optimizer_func=None,
    executor=None,
    return_program=False,
    calib_config={},  # noqa: B006
    draw_graph=False,
    return_scale_dict=False,
    scale_dict=None,
    model_type=None,
    pattern_ops=None,
):
    """A copy of a program that rounds weights and inputs of its operators; with `for_test` its statistics rest. Both copies
    share the statistics, by name, in the scope.

    Args:
        program: a Program, for training after `minimize`.
        place: accepted.
        config: a dict: `quantize_op_types`, `weight_quantize_type`, `activation_quantize_type`, `weight_bits`,
            `activation_bits`, `moving_rate`, `not_quant_pattern` and the other official keys.
        scope: where the statistics are kept; default: the global one.
        for_test: for a program without gradients.
        the others: functions of the user's own raise NotImplementedError; the rest is accepted.

    Raises:
        ValueError: a setting that does not exist; a training program without gradients.
        NotImplementedError: see above.
    """
    for name, given in (
        ("weight_quantize_func", weight_quantize_func), ("act_quantize_func", act_quantize_func),
        ("weight_preprocess_func", weight_preprocess_func), ("act_preprocess_func", act_preprocess_func),
    ):  # fmt: skip
        if given is not None:
            raise errors.NotImplemented_(f"quant_aware: {name}")
    if not isinstance(program, Program):
        raise errors.TypeError_(f"quant_aware: program must be a Program, got {errors.describe(program)}")
    if not for_test and not any(isinstance(o, Pullback) for o in program.block.operators):
        raise errors.ValueError_(
            "quant_aware: the program has no gradients yet: call optimizer.minimize() first, or pass for_test=True"
        )
    settings = _settings(config)
    other = program.clone()
    is_test = for_test or not settings["scale_trainable"]
    rate, linear = settings["moving_rate"], settings["onnx_format"]
    kind = settings["activation_quantize_type"]
    rounding = Rounding(other, scope, settings["activation_bits"], kind, rate, is_test, linear)
    with_weights, without = weighted_kinds(settings["quantize_op_types"])
    skip = settings["not_quant_pattern"]
    round_weighted(other, rounding, with_weights, settings["weight_bits"], settings["weight_quantize_type"], skip)
    if without:
        round_inputs(other, rounding, without, skip)
    return (other, scale_dict, model_type, pattern_ops) if return_scale_dict else other


def convert(program, place, config=None, scope=None, save_int8=False):
    """The program for use of what `quant_aware(for_test=True)` gave: weights are integers.

    Args:
        program: it.
        place: accepted.
        config: what `quant_aware` was given.
        scope: where its variables are.
        save_int8: give the program twice, as officially.
    """
    _settings(config)
    made = with_integers(program, scope)
    return (made, made) if save_int8 else made
