"""Imperative mode before version 2: layers and the checkpoint guard."""

from ...nn.layer import Layer
from . import base, grad_clip
from .base import no_grad, to_variable
from .checkpoint import checkpoint_guard

__all__ = ["Layer", "checkpoint_guard", "no_grad", "to_variable"]
