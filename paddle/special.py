"""Special functions."""

from .compat.nn.functional import softmax
from .ops.elementwise import expm1
from .ops.reduction import logsumexp

__all__ = ["expm1", "logsumexp", "softmax"]
