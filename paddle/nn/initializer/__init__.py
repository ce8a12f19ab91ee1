"""Initializers: how parameters get their first value."""

from __future__ import annotations

from .base import Initializer, calculate_gain, global_initializer, set_global_initializer
from .fixed import Assign, Bilinear, Constant, ConstantInitializer, Dirac, NumpyArrayInitializer
from .sampled import (
    KaimingNormal,
    KaimingUniform,
    MSRAInitializer,
    Normal,
    NormalInitializer,
    Orthogonal,
    TruncatedNormal,
    TruncatedNormalInitializer,
    Uniform,
    UniformInitializer,
    XavierInitializer,
    XavierNormal,
    XavierUniform,
)

__all__ = [
    "Bilinear",
    "Constant",
    "KaimingUniform",
    "KaimingNormal",
    "XavierNormal",
    "XavierUniform",
    "Assign",
    "Normal",
    "TruncatedNormal",
    "Uniform",
    "Orthogonal",
    "Dirac",
    "set_global_initializer",
    "calculate_gain",
]
