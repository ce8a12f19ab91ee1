"""Programs that are built first and run later."""

from ..engine.parameter import Parameter
from ..nn.parameter import create_parameter
from ..ops.reduction import mean
from ..utils.lazy import on_demand
from . import amp, nn, variable
from .average import ExponentialMovingAverage
from .backward import append_backward, gradients
from .block import OperatorView as Operator
from .executor import (
    CompiledProgram,
    Executor,
    Scope,
    global_scope,
    scope_guard,
)
from .input_spec import InputSpec
from .io import *
from .metric import *
from .nn.control_flow import Print
from .nn.functions import py_func
from .places import *
from .program import (
    Program,
    Variable,
    data,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
)
from .strategy import *
from .variables import *

__getattr__, __dir__ = on_demand(__name__, {}, ["quantization"])
