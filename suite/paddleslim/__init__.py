"""paddleslim: smaller networks - pruning, sparsity, distillation, quantisation, low rank."""

from . import analysis, dygraph, prune, structure

__all__ = ["analysis", "dygraph", "prune", "structure"]
