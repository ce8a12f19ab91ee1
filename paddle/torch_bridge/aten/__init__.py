"""ATen operators as functions of our tensors, one file a family; `OPERATORS` is their table."""

from . import elementwise, network, recurrent, reduction, shape  # noqa: F401
from .table import OPERATORS, VIEWS

__all__ = ["OPERATORS", "VIEWS"]
