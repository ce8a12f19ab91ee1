"""paddleslim: smaller networks - pruning, sparsity, distillation, quantisation, low rank."""

from . import analysis, auto_compression, dist, dygraph, low_rank, prune, quant, structure
from .dygraph import PTQ, QAT

__all__ = [
    "PTQ",
    "QAT",
    "analysis",
    "auto_compression",
    "dist",
    "dygraph",
    "low_rank",
    "prune",
    "quant",
    "structure",
]
