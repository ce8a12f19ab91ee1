"""The functions of tensors under the official package path; each is the one of `paddle`, `paddle.linalg` or Tensor.

As officially, the package can also be called: `paddle.tensor([1, 2])` makes a tensor (see
`paddle.ops.creation.tensor`).
"""

import sys
from types import ModuleType

from . import array, attribute, creation, linalg, logic, manipulation, math, ops, random, search, stat, to_string
from .array import *
from .attribute import *
from .creation import *
from .linalg import *
from .logic import *
from .manipulation import *
from .math import *
from .ops import *
from .random import *
from .search import *
from .stat import *
from .to_string import set_printoptions
from ..compat.nn.functional import softmax
from ..ops.elementwise import sigmoid
from ..ops.creation import tensor as _tensor


class _Package(ModuleType):
    """A package that makes tensors when it is called."""

    def __call__(self, data, dtype=None, device=None, requires_grad=False, pin_memory=False):
        return _tensor(data, dtype, device, requires_grad, pin_memory)


sys.modules[__name__].__class__ = _Package
