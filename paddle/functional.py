"""Functions of tensors under the name of a package of PyTorch."""

from .compat.functions import split
from .ops.attributes import broadcast_shapes
from .ops.creation import meshgrid
from .ops.linalg import einsum
from .ops.manipulation import atleast_1d, atleast_2d, atleast_3d
from .ops.norm import norm
from .ops.search import unique_consecutive

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_shapes",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "unique_consecutive",
]
