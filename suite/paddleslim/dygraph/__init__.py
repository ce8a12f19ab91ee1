"""paddleslim.dygraph: compression of layers."""

from ..sensitivities import get_ratios_by_loss, load_sensitivities, merge_sensitive
from .distill import Distill
from .filter_pruner import FilterPruner, FPGMFilterPruner, L1NormFilterPruner, L2NormFilterPruner, PruningPlan
from .quant import PACT, PTQ, QAT
from .unstructured_pruner import GMPUnstructuredPruner, UnstructuredPruner

__all__ = [
    "Distill",
    "FPGMFilterPruner",
    "FilterPruner",
    "GMPUnstructuredPruner",
    "L1NormFilterPruner",
    "L2NormFilterPruner",
    "PACT",
    "PTQ",
    "PruningPlan",
    "QAT",
    "UnstructuredPruner",
    "get_ratios_by_loss",
    "load_sensitivities",
    "merge_sensitive",
]
