"""paddleslim.dygraph: compression of layers."""

from ..sensitivities import get_ratios_by_loss, load_sensitivities, merge_sensitive
from .filter_pruner import FilterPruner, FPGMFilterPruner, L1NormFilterPruner, L2NormFilterPruner, PruningPlan

__all__ = [
    "FPGMFilterPruner",
    "FilterPruner",
    "L1NormFilterPruner",
    "L2NormFilterPruner",
    "PruningPlan",
    "get_ratios_by_loss",
    "load_sensitivities",
    "merge_sensitive",
]
