"""paddle-xla: the PaddlePaddle programming model on the XLA compiler."""
from .engine import compile as _compile  # noqa: F401  (sets the compiler up before anything else)
from .engine.dtype import *  # noqa: F401,F403
from .engine.tensor import Tensor
from .ops.creation import *
from .ops.math import *
