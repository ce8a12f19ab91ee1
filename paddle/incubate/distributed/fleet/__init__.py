"""Recomputation for layers in a row and for split models."""

from ....distributed.fleet.recompute import recompute_hybrid, recompute_sequential

__all__ = ["recompute_hybrid", "recompute_sequential"]
