"""Sparsity of two in four, or n in m, for weights."""

from .masks import (
    CheckMethod,
    MaskAlgo,
    calculate_density,
    check_mask_1d,
    check_mask_2d,
    check_sparsity,
    create_mask,
    get_mask_1d,
    get_mask_2d_best,
    get_mask_2d_greedy,
)
from .pruning import (
    ALGORITHMS,
    OptimizerWithSparsityGuarantee,
    add_supported_layer,
    decorate,
    prune_model,
    reset_excluded_layers,
    set_excluded_layers,
)


class ASPHelper:
    """The functions of this module as static methods."""

    set_excluded_layers = staticmethod(set_excluded_layers)
    reset_excluded_layers = staticmethod(reset_excluded_layers)
    decorate = staticmethod(decorate)
    prune_model = staticmethod(prune_model)
    MASK_ALGORITHMS = ALGORITHMS


__all__ = [
    "calculate_density",
    "decorate",
    "prune_model",
    "set_excluded_layers",
    "reset_excluded_layers",
    "add_supported_layer",
]
