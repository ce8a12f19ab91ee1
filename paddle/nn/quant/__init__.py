"""Quantisation inside layers: products with stored weights, and layers that round while they train."""

from ...ops.quantization import (
    apply_per_channel_scale,
    llm_int8_linear,
    weight_dequantize,
    weight_only_linear,
    weight_quantize,
)
from . import format, qat, quant_layers
from .functional_layers import (
    FloatFunctionalLayer,
    add,
    concat,
    divide,
    flatten,
    matmul,
    multiply,
    reshape,
    subtract,
    transpose,
)
from .quant_layers import QuantStub
from .stub import Stub

__all__ = ["Stub", "weight_only_linear", "llm_int8_linear", "weight_quantize", "weight_dequantize"]
