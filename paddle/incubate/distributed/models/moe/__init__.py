"""Mixtures of experts, which may be spread over processes."""

from .gate import BaseGate, GShardGate, NaiveGate, SwitchGate
from .grad_clip import ClipGradForMOEByGlobalNorm
from .moe_layer import MoELayer

ClipGradByGlobalNorm = ClipGradForMOEByGlobalNorm

__all__: list[str] = []
