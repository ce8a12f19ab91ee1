"""paddleslim.dygraph: compression of layers."""

from ..sensitivities import get_ratios_by_loss, load_sensitivities, merge_sensitive
from .filter_pruner import FilterPruner, FPGMFilterPruner, L1NormFilterPruner, L2NormFilterPruner, PruningPlan
from .unstructured_pruner import GMPUnstructuredPruner, UnstructuredPruner

__all__ = [
    "FPGMFilterPruner",
    "FilterPruner",
    "GMPUnstructuredPruner",
    "L1NormFilterPruner",
    "L2NormFilterPruner",
    "PruningPlan",
    "UnstructuredPruner",
    "get_ratios_by_loss",
    "load_sensitivities",
    "merge_sensitive",
]
