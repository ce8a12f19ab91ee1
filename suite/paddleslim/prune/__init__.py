"""paddleslim.prune: pruning of static programs."""

from ..sensitivities import get_ratios_by_loss, load_sensitivities, merge_sensitive
from .pruner import Pruner, sensitivity

__all__ = ["Pruner", "get_ratios_by_loss", "load_sensitivities", "merge_sensitive", "sensitivity"]
