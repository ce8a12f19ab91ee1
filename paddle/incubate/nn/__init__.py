"""paddle.incubate.nn: layers on operators that officially are one kernel."""

from . import functional
from .fused import (
    FusedBiasDropoutResidualLayerNorm,
    FusedDropout,
    FusedDropoutAdd,
    FusedFeedForward,
    FusedLinear,
    FusedMultiHeadAttention,
    FusedMultiTransformer,
    FusedTransformerEncoderLayer,
)
