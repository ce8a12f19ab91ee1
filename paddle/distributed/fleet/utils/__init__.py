"""Helpers of distributed training."""

from ..recompute import recompute, recompute_sequential

__all__ = ["recompute"]
