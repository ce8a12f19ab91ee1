"""The official passes of quantisation, as classes whose `apply` changes a Program in place."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ..program import Program
from .transform import Rounding, round_inputs, round_weighted, with_integers


def _program(name: str, graph: Any) -> Program:
    if not isinstance(graph, Program):
        raise errors.TypeError_(f"{name}.apply: graph must be a Program, got {errors.describe(graph)}")
    return graph


class QuantizationTransformPass:
    """Rounds weights and inputs of operators with weights, for training (`is_test` False) or evaluation.

    Args:
        scope: where the statistics are kept; default: the global one.
        place, window_size, executor, optimizer_func: accepted.
        weight_bits, activation_bits: widths of the integers.
        activation_quantize_type: "abs_max", "moving_average_abs_max" or "range_abs_max" (the same as the second).
        weight_quantize_type: "abs_max" or "channel_wise_abs_max".
        moving_rate: of running means.
        skip_pattern: operators with a variable whose name contains one of these are left out.
        quantizable_op_type: kinds of operators.
        weight_quantize_func, act_quantize_func, weight_preprocess_func, act_preprocess_func: raise NotImplementedError.
        is_test: the statistics rest; default: where the program has no gradients.
    """

    _linear = False

    def __init__(
        self,
        scope=None,
        place=None,
        weight_bits=8,
        activation_bits=8,
        activation_quantize_type="abs_max",
        weight_quantize_type="abs_max",
        window_size=10000,
        moving_rate=0.9,
        skip_pattern=["skip_quant"],  # noqa: B006
        quantizable_op_type=["conv2d", "depthwise_conv2d", "mul"],  # noqa: B006
        weight_quantize_func=None,
        act_quantize_func=None,
        weight_preprocess_func=None,
        act_preprocess_func=None,
        optimizer_func=None,
        executor=None,
        is_test=None,
    ):
        if any(
            f is not None
            for f in (weight_quantize_func, act_quantize_func, weight_preprocess_func, act_preprocess_func)
        ):
            raise errors.NotImplemented_(f"{type(self).__name__}: functions of the user's own")
        self._scope, self._weight_bits, self._bits = scope, weight_bits, activation_bits
        self._kind, self._weight_kind, self._rate = activation_quantize_type, weight_quantize_type, moving_rate
        self._skip, self._kinds, self._is_test = skip_pattern, quantizable_op_type, is_test

    def apply(self, graph):
        """Change a Program in place, and give it back."""
        program = _program(type(self).__name__, graph)
        is_test = not program.training if self._is_test is None else self._is_test
        rounding = Rounding(program, self._scope, self._bits, self._kind, self._rate, is_test, self._linear)
        skip = [self._skip] if isinstance(self._skip, str) else self._skip
        round_weighted(program, rounding, self._kinds, self._weight_bits, self._weight_kind, skip)
        return program


class QuantizationTransformPassV2(QuantizationTransformPass):
    """The same, with the rounding of `quantize_linear`."""

    _linear = True


class AddQuantDequantPass:
    """Rounds the inputs of operators without weights; the arguments are those of QuantizationTransformPass.

    Args:
        scale_dict: accepted.
    """

    _linear = False

    def __init__(
        self,
        scope=None,
        place=None,
        moving_rate=0.9,
        quant_bits=8,
        skip_pattern=["skip_quant"],  # noqa: B006
        quantizable_op_type=["elementwise_add", "pool2d"],  # noqa: B006
        is_test=None,
        scale_dict=None,
    ):
        self._scope, self._rate, self._bits = scope, moving_rate, quant_bits
        self._skip, self._kinds, self._is_test = skip_pattern, quantizable_op_type, is_test

    def apply(self, graph):
        """Change a Program in place, and give it back."""
        program = _program(type(self).__name__, graph)
        is_test = not program.training if self._is_test is None else self._is_test
        rounding = Rounding(
            program, self._scope, self._bits, "moving_average_abs_max", self._rate, is_test, self._linear
        )
        round_inputs(program, rounding, self._kinds, [self._skip] if isinstance(self._skip, str) else self._skip)
        return program


class AddQuantDequantPassV2(AddQuantDequantPass):
    """The same, with the rounding of `quantize_linear`."""

    _linear = True


class _ToIntegers:
    """What the passes share that make integers of rounded weights."""

    _passes: tuple[str, ...] = ("real_integers",)
    _scope: Any = None

    def apply(self, graph):
        """Change a Program in place, and give it back."""
        program = _program(type(self).__name__, graph)
        made = with_integers(program, self._scope, self._passes)
        program.block.operators[:] = made.block.operators
        program.states = made.states
        program.training, program.training_states = set(), set()
        program.changed()
        return program


class QuantizationFreezePass(_ToIntegers):
    """Weights that are rounded become integers.

    Args:
        scope: where the weights are.
        place, weight_bits, activation_bits, weight_quantize_type, quantizable_op_type: accepted, they follow from the
            program.
        bias_correction: True raises NotImplementedError.
        round_type: "round"; others raise NotImplementedError.
    """

    def __init__(
        self,
        scope,
        place,
        bias_correction=False,
        weight_bits=8,
        activation_bits=8,
        round_type="round",
        weight_quantize_type="abs_max",
        quantizable_op_type=None,
    ):
        if bias_correction or round_type != "round":
            raise errors.NotImplemented_(
                "QuantizationFreezePass: bias_correction, other values of round_type than 'round'"
            )
        self._scope = scope


class ConvertToInt8Pass(_ToIntegers):
    """Weights that are rounded become integers; after QuantizationFreezePass nothing is left to do.

    Args:
        scope: where the weights are.
        place, quantizable_op_type: accepted.
    """

    def __init__(self, scope, place, quantizable_op_type=None):
        self._scope = scope


class QuantWeightPass(_ToIntegers):
    """Weights that are rounded become integers.

    Args:
        scope: where the weights are.
        place, quant_bits: accepted.
        bias_correction: True raises NotImplementedError.
        save_int_weight: False raises NotImplementedError.
    """

    def __init__(self, scope, place, bias_correction=False, quant_bits=8, save_int_weight=True):
        if bias_correction or not save_int_weight:
            raise errors.NotImplemented_("QuantWeightPass: bias_correction, save_int_weight=False")
        self._scope = scope


class ReplaceFakeQuantDequantPass(_ToIntegers):
    """Rounding becomes a `quantize_linear` and a `dequantize_linear`.

    Args:
        scope: where the weights are.
        place, quant_bits: accepted.
    """

    def __init__(self, scope, place, quant_bits=8):
        self._scope = scope


class _Unbuilt:
    _why = ""

    def apply(self, graph):
        raise errors.NotImplemented_(f"{type(self).__name__}: {self._why}")


class AddQuantDequantForInferencePass(_Unbuilt):
    """Not built: thresholds of results as rounding in programs for use."""

    _why = "thresholds of results"

    def __init__(
        self,
        scope,
        place,
        quant_bits=8,
        quantizable_op_type=[],
        calibration_range_dict=None,
        only_observer=True,  # noqa: B006
    ):
        pass


class OutScaleForTrainingPass(_Unbuilt):
    """Not built: thresholds of results."""

    _why = "thresholds of results as attributes of operators"

    def __init__(self, scope=None, place=None, moving_rate=0.9, is_test=None, scale_dict=None):
        pass


class OutScaleForInferencePass(_Unbuilt):
    """Not built: thresholds of results."""

    _why = "thresholds of results as attributes of operators"

    def __init__(self, scope=None):
        pass


class TransformForMobilePass(_Unbuilt):
    """Not built: the older form of programs for phones."""

    _why = "the older form of programs for phones"


class QuantInt8OnednnPass(_Unbuilt):
    """Not built: operators of oneDNN; `paddle.inference` multiplies integers by itself."""

    _why = "operators of oneDNN; paddle.inference multiplies the integers of linear layers by itself"

    def __init__(self, _scope=None, _place=None):
        pass


class Quant2Int8OnednnPass(_Unbuilt):
    """Not built, see QuantInt8OnednnPass."""

    _why = QuantInt8OnednnPass._why

    def __init__(self, _ops_to_quantize, _op_ids_to_skip=None, _scope=None, _place=None, _core=None, _debug=False):
        pass

    def prepare_and_optimize_fp32(self, graph):
        self.apply(graph)


class QuantInt8MkldnnPass(QuantInt8OnednnPass):
    """The older name."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class Quant2Int8MkldnnPass(Quant2Int8OnednnPass):
    """The older name."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
