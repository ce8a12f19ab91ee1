"""paddleslim.auto_compression: compression of saved models."""

from .analysis import analysis_prune
from .compressor import AutoCompression
from .strategy_config import (
    ASPPrune,
    ChannelPrune,
    Distillation,
    HyperParameterOptimization,
    QuantAware,
    QuantPost,
    TrainConfig,
    TransformerPrune,
    UnstructurePrune,
    load_config,
)

__all__ = [
    "ASPPrune",
    "AutoCompression",
    "ChannelPrune",
    "Distillation",
    "HyperParameterOptimization",
    "QuantAware",
    "QuantPost",
    "TrainConfig",
    "TransformerPrune",
    "UnstructurePrune",
    "analysis_prune",
    "load_config",
]
