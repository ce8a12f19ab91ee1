"""The operators of official `.json` model files: their interfaces, their notation, and how each is translated."""

from . import read_elementwise, read_indexing, read_linear, read_network, read_shape  # noqa: F401
from .reading import READERS
from .read_shape import LAZY

__all__ = ["LAZY", "READERS"]
