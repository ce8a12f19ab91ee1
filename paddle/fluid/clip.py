"""Rules for clipping gradients by their names before version 2."""

from __future__ import annotations

from typing import Any

from ..nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue

__all__ = ["GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue", "set_gradient_clip"]

GradientClipByGlobalNorm = ClipGradByGlobalNorm
GradientClipByNorm = ClipGradByNorm
GradientClipByValue = ClipGradByValue


def set_gradient_clip(clip: Any, param_list: Any = None, program: Any = None) -> None:
    """Not available: give the rule to the optimizer, ``grad_clip=``."""
    from ..engine import errors

    raise errors.NotImplemented_("set_gradient_clip; give the rule to the optimizer as grad_clip=")
