"""Helpers of distributed training."""

from . import moe_utils

__all__: list[str] = []
