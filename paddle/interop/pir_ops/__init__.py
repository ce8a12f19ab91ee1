"""The operators of official `.json` model files: their interfaces, their notation, and how each is translated."""

from . import read_elementwise, read_fused, read_indexing, read_linear, read_network, read_shape  # noqa: F401
from . import write_elementwise, write_linear, write_loss, write_network, write_rare, write_shape, write_vision  # noqa: F401
from .read_shape import LAZY
from .reading import READERS
from .writing import COMPOSED, WRITERS

__all__ = ["COMPOSED", "LAZY", "READERS", "WRITERS"]
