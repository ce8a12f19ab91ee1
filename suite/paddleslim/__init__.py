"""paddleslim: smaller networks - pruning, sparsity, distillation, quantisation, low rank."""

from . import analysis, auto_compression, dist, dygraph, prune, structure

__all__ = ["analysis", "auto_compression", "dist", "dygraph", "prune", "structure"]
