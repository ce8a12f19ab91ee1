"""The operators, one file a family. Importing this package defines all of them and gives Tensor its methods."""

from . import (
    attributes,
    comparison,
    creation,
    diagonals,
    elementwise,
    indexing,
    joining,  # noqa: F401
    manipulation,
    math,
    memory,
    random,
    reduction,
    scatter,
    selection,
)
