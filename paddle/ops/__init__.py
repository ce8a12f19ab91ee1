"""The operators, one file a family. Importing this package defines all of them and gives Tensor its methods."""
from . import (comparison, creation, elementwise, indexing, joining, manipulation, math, random, reduction,  # noqa: F401
               scatter)
