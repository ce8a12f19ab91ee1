"""Automatic mixed precision: computing in 16 or 8 bits where it is safe, with 32-bit weights behind."""

from . import amp_lists, debugging
from .amp_lists import black_list, white_list
from .autocast import (
    amp_guard,
    auto_cast,
    autocast,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_enabled,
)
from .decoration import amp_decorate, decorate, is_bfloat16_supported, is_float16_supported
from .scaler import AmpScaler, GradScaler, OptimizerState

__all__ = [
    "GradScaler",
    "auto_cast",
    "debugging",
    "decorate",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
    "is_bfloat16_supported",
    "is_float16_supported",
]
