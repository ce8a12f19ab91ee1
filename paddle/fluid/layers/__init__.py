"""The functions of `paddle.fluid.layers`: thin forms of those of `paddle`, with the older names and arguments."""

from ...static.nn import (
    batch_norm,
    bilinear_tensor_product,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    group_norm,
    instance_norm,
    layer_norm,
    nce,
    py_func,
    row_conv,
    spectral_norm,
)
from ...static.nn.sequence import *
from . import control_flow, learning_rate, math, nn, tensor
from . import learning_rate as learning_rate_scheduler
from .control_flow import *
from .learning_rate import *
from .math import *
from .nn import *
from .tensor import *
