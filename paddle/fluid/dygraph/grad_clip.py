"""Rules for clipping gradients under their older names."""

from ...nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue

GradientClipByGlobalNorm = ClipGradByGlobalNorm
GradientClipByNorm = ClipGradByNorm
GradientClipByValue = ClipGradByValue

__all__ = ["GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue"]
