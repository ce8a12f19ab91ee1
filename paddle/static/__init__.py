"""Programs that are built first and run later."""

from ..engine.tensor import Parameter
from ..nn.parameter import create_parameter
from . import amp, nn
from .backward import append_backward, gradients
from .executor import (
    BuildStrategy,
    CompiledProgram,
    ExecutionStrategy,
    Executor,
    Scope,
    global_scope,
    scope_guard,
)
from .nn.control_flow import Print
from .input_spec import InputSpec
from .program import (
    Program,
    Variable,
    data,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
)
