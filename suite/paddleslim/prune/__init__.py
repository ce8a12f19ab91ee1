"""paddleslim.prune: pruning of static programs."""

from ..sensitivities import get_ratios_by_loss, load_sensitivities, merge_sensitive
from .pruner import Pruner, sensitivity
from .unstructured_pruner import GMPUnstructuredPruner, UnstructuredPruner

__all__ = [
    "GMPUnstructuredPruner",
    "Pruner",
    "UnstructuredPruner",
    "get_ratios_by_loss",
    "load_sensitivities",
    "merge_sensitive",
    "sensitivity",
]
