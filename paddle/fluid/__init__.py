"""The interface before version 2: thin forms of the present one, with the older names and arguments.

The first input that is declared with `fluid.data` or `fluid.layers.data` switches to static mode, which was the only one;
`fluid.dygraph.guard` is imperative mode.
"""

from ..engine.flags import get_flags, set_flags
from ..engine.place import CPUPlace, CUDAPinnedPlace, CUDAPlace, XPUPlace
from ..engine.tensor import Tensor as LoDTensor
from ..nn.functional import one_hot
from ..nn.parameter import ParamAttr
from ..static.executor import CompiledProgram, Executor, Scope, global_scope, scope_guard
from ..static.nn import embedding
from ..static.strategy import BuildStrategy, ExecutionStrategy
from ..static.variables import WeightNormParamAttr
from ..utils import unique_name
from . import (
    backward,
    clip,
    compiler,
    core,
    executor,
    framework,
    initializer,
    layers,
    metrics,
    nets,
    optimizer,
    regularizer,
)
from . import contrib, dygraph, io
from .backward import gradients
from .data_feeder import DataFeeder
from .dygraph.base import disable_dygraph, enable_dygraph
from .framework import *
from .framework import begin_static as _begin_static
from .io import DataLoader, PyReader, load, save

enable_imperative, disable_imperative = enable_dygraph, disable_dygraph
in_dygraph_mode = framework.in_dygraph_mode


def data(name, shape, dtype="float32", lod_level=0):
    """An input of the program, as `paddle.static.data`; it switches to static mode.

    Args:
        name: the key under which it is fed.
        shape: its lengths; None or -1 for those that may change from run to run.
        dtype: its type.
    """
    from ..static.program import data as declared

    _begin_static()
    return declared(name, shape, dtype, lod_level)
