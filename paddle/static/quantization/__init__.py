"""Quantisation of programs: after training with data, or while they train."""

from .passes import (
    AddQuantDequantForInferencePass,
    AddQuantDequantPass,
    AddQuantDequantPassV2,
    ConvertToInt8Pass,
    OutScaleForInferencePass,
    OutScaleForTrainingPass,
    Quant2Int8MkldnnPass,
    Quant2Int8OnednnPass,
    QuantInt8MkldnnPass,
    QuantInt8OnednnPass,
    QuantizationFreezePass,
    QuantizationTransformPass,
    QuantizationTransformPassV2,
    QuantWeightPass,
    ReplaceFakeQuantDequantPass,
    TransformForMobilePass,
)
from .post_training import PostTrainingQuantization, PostTrainingQuantizationProgram, WeightQuantization
from .quanter import convert, quant_aware
