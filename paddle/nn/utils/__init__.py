"""paddle.nn.utils: helpers for parameters and gradients."""

from __future__ import annotations

from .reparametrize import remove_weight_norm, spectral_norm, weight_norm
from .vector import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters

__all__ = [
    "weight_norm",
    "remove_weight_norm",
    "spectral_norm",
    "parameters_to_vector",
    "vector_to_parameters",
    "clip_grad_norm_",
    "clip_grad_value_",
]
