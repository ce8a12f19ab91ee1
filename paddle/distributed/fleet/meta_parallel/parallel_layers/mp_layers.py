"""The official place of `layers.mpu.mp_layers`."""

from ...layers.mpu.mp_layers import (
    ColumnParallelLinear,
    ParallelCrossEntropy,
    RowParallelLinear,
    VocabParallelEmbedding,
)

__all__ = [
    "ColumnParallelLinear",
    "ParallelCrossEntropy",
    "RowParallelLinear",
    "VocabParallelEmbedding",
]
