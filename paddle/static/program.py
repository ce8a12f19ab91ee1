"""Programs as users build them: Program, the default ones, `program_guard`, `data`."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.modes import modes, set_mode
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor, _make
from ..engine.value import Value, trial_shapes
from ..ir.program import Block, Graph, Operator, Pullback
from ..ir.record import HostKernel, Recorder
from ..ir.text import graph_text
from .block import BlockView

__all__ = [
    "Program",
    "Variable",
    "data",
    "default_main_program",
    "default_startup_program",
    "name_scope",
    "program_guard",
]


programs: weakref.WeakSet[Program] = weakref.WeakSet()  # all that are alive


class Program(Graph):
    """A list of operators with the inputs that it is fed and the variables that it keeps in a scope.

    Operators are added while the program is current (`program_guard`, or `default_main_program()` after
    `paddle.enable_static()`). `print(program)` shows it.

    Example:
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     x = paddle.static.data("x", [None, 2])
        ...     y = x * 2.0
        >>> exe = paddle.static.Executor()
        >>> exe.run(main, feed={"x": [[1.0, 2.0]]}, fetch_list=[y])[0].tolist()
        [[2.0, 4.0]]
    """

    def __init__(self) -> None:
        super().__init__()
        self.block = MainBlock(self)
        self.recorder = StaticRecorder(self, static=True)
        self._seed = 0
        self.guarded: set[Operator] = set()  # what mixed precision may change when it is restricted
        self.training: set[Operator] = set()  # what a clone for testing leaves out
        self.training_states: set[str] = set()
        self.feeds: list[str] = []  # of a loaded program
        self.fetches: list[Value] = []
        self.executables: dict[tuple, Any] = {}
        programs.add(self)

    # ---- text ----
    def __str__(self) -> str:
        return graph_text(self)

    __repr__ = __str__

    def to_string(self, throw_on_error: bool = False, with_details: bool = False) -> str:
        """The program as text."""
        return graph_text(self)

    @staticmethod
    def parse_from_string(binary_str: bytes) -> Program:
        """The program of bytes that `paddle.static.serialize_program` gave."""
        from .io import deserialize_program

        return deserialize_program(binary_str)

    # ---- random numbers ----
    @property
    def random_seed(self) -> int:
        """The seed of the random operators; with 0 they follow `paddle.seed`, else every run draws the same numbers."""
        return self._seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise errors.ValueError_(f"random_seed must be an integer, got {errors.describe(seed)}")
        self._seed = seed

    def global_seed(self, seed: int) -> None:
        """Set `random_seed`."""
        self.random_seed = seed

    # ---- what it holds ----
    @property
    def blocks(self) -> list[BlockView]:
        return [BlockView(self, self.block), *(BlockView(self, b) for b in self.block.blocks())]

    @property
    def num_blocks(self) -> int:
        return len(self.blocks)

    def global_block(self) -> BlockView:
        return BlockView(self, self.block)

    def current_block(self) -> BlockView:
        return BlockView(self, self.recorder.block)

    def list_vars(self) -> Iterator[Tensor]:
        """All variables: inputs, variables in scopes, results of operators."""
        yield from self.global_block().vars.values()

    def all_parameters(self) -> list[Parameter]:
        """The parameters, in the order in which they were made."""
        return [s.parameter for s in self.states.values() if s.parameter is not None]

    def num_ops(self) -> int:
        """How many operators the main block has."""
        return len(self.block.operators)

    def parameters_num(self) -> int:
        return len(self.all_parameters())

    def get_output_value_by_name(self, name: str) -> Tensor:
        """The variable of a name. ValueError when there is none."""
        return _make(self.find(name))

    def get_parameter_value_by_name(self, name: str) -> Tensor:
        """The parameter of a name. ValueError when there is none."""
        for p in self.all_parameters():
            if p.name == name:
                return p
        raise errors.ValueError_(f"the program has no parameter {name!r}")

    def get_all_parameter_values(self) -> list[Parameter]:
        return self.all_parameters()

    # ---- state ----
    def state_dict(self, mode: str = "all", scope: Any = None) -> dict[str, Tensor]:
        """The values in a scope: those of parameters ("param"), of optimizers ("opt"), or "all"."""
        from .executor import global_scope

        if mode not in ("all", "param", "opt"):
            raise errors.ValueError_(f"state_dict: mode must be 'all', 'param' or 'opt', got {mode!r}")
        scope = scope or global_scope()
        found = {}
        for name, state in self.states.items():
            optimizer = name in self.training_states
            if mode == "param" and optimizer or mode == "opt" and not optimizer:
                continue
            array = scope.array_of(state)
            if array is not None:
                found[name] = _make(array)
                found[name]._name = name
        return found

    def set_state_dict(self, state_dict: dict[str, Any], scope: Any = None, copy_tensor: bool = False) -> None:
        """Put values into a scope. Names that the program does not have are left alone.

        Raises:
            ValueError: a value has another shape than its variable.
        """
        from .executor import global_scope

        scope = scope or global_scope()
        for name, value in state_dict.items():
            state = self.states.get(name)
            if state is None:
                continue
            array = value._value if isinstance(value, Tensor) else np.asarray(value)
            if tuple(array.shape) != tuple(state.value.shape):
                raise errors.ValueError_(
                    f"set_state_dict: {name} has shape {list(state.value.shape)}, the value {list(array.shape)}"
                )
            scope.put(state, array)

    # ---- copies ----
    def clone(self, for_test: bool = False) -> Program:
        """A copy that can be changed without changing this one.

        Args:
            for_test: leave out gradients and updates of parameters, and switch dropout and batch normalisation to
                inference.

        Returns:
            The copy. Its variables are those of this program, so either can be fetched from both.
        """
        from ..ir.passes import for_inference

        other = Program()
        operators = self.block.operators
        if for_test:
            operators = [o for o in operators if o not in self.training and not isinstance(o, Pullback)]
            before, operators = operators, for_inference(operators)
        other.block.operators = list(operators)
        other.inputs = {n: v for n, v in self.inputs.items() if not (for_test and n in self.provided)}
        other.states = {n: s.copy() for n, s in self.states.items() if not (for_test and n in self.training_states)}
        if for_test:
            same = {id(o) for o in before}  # others do not change statistics any more
            defined = {v for o in operators if id(o) in same for v in o.outputs}
            for name, state in other.states.items():
                if state.update is not None and state.update not in defined or name in self.training_states:
                    state.update = None
        else:
            other.provided = dict(self.provided)
            other.training = set(self.training)
            other.training_states = set(self.training_states)
        other.ticks = self.ticks
        other.random_seed = self.random_seed
        other.feeds, other.fetches = list(self.feeds), list(self.fetches)
        other.recorder.names.update(self.recorder.names)
        other.recorder.captured = {
            k: other.states[s.name] for k, s in self.recorder.captured.items() if s.name in other.states
        }
        other.recorder.holders = list(self.recorder.holders)
        other.recorder.slots = {
            k: other.states[s.name] for k, s in self.recorder.slots.items() if s.name in other.states
        }
        other.changed()
        return other

    # ---- building ----
    @contextlib.contextmanager
    def training_part(self) -> Iterator[None]:
        """A context: a clone for testing leaves out what is added inside."""
        block = self.recorder.block
        start = len(block.operators)
        try:
            yield
        finally:
            self.training.update(block.operators[start:])

    def add_input(self, name: str, shape: Any, dtype: Any) -> Value:
        value = Value(name, trial_shapes(shape), dtype)
        self.inputs[name] = value
        self.changed()
        return value


class MainBlock(Block):
    """The block of a program; ``program.block(i)`` is the block with a number, as users look at it."""

    def __init__(self, program: Program):
        super().__init__()
        self._program = weakref.ref(program)

    def __call__(self, index: int) -> BlockView:
        program = self._program()
        assert program is not None
        return program.blocks[index]


class StaticRecorder(Recorder):
    """The recorder of a program; parameters made while it is active get their first value in the startup program."""

    def new_parameter(self, name: str, shape: tuple, dtype: Any, first: Callable[[], Any]) -> Tensor:
        tensor = self.add_state(name, shape, dtype.numpy)
        initialize(name, shape, dtype, first)
        return tensor

    def shared_parameter(self, name: str, shape: tuple) -> Any:
        """The parameter of this name that the program has already, or None. ValueError when it has another shape."""
        state = self.graph.states.get(name)
        if state is None or state.parameter is None:
            return None
        if tuple(state.value.shape) != tuple(shape):
            raise errors.ValueError_(
                f"create_parameter: the program has a parameter {name!r} of shape {list(state.value.shape)}, asked for is "
                f"{list(shape)}"
            )
        return state.parameter

    def new_state(self, name: str, shape: tuple, dtype: Any, first: Callable[[], Any]) -> Tensor:
        """A variable of the scope that only training uses, such as a moment of an optimizer."""
        self.graph.training_states.add(name)
        return self.new_parameter(name, shape, dtype, first)

    def new_state_from(
        self, name: str, shape: tuple, dtype: Any, source: str, function: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Like `new_state`, with a first value that follows from that of another variable."""
        self.graph.training_states.add(name)
        tensor = self.add_state(name, shape, dtype.numpy)
        initialize_from(name, shape, dtype, source, function)
        return tensor


def initialize(name: str, shape: tuple, dtype: Any, first: Callable[[], Any]) -> None:
    """Let the startup program give a variable of the scope its first value, `first()`."""
    startup = default_startup_program()
    recorder = startup.recorder
    tensor = recorder.add_state(name, shape, dtype.numpy)
    if startup.states[name].update is not None:
        return  # another program has the same variable
    kernel = HostKernel(
        lambda: _make(first()), "initialize", (), lambda specs, trial: (tuple(shape), dtype.numpy), True
    )
    with recorder, set_mode(grad=False, amp=None):
        made = recorder.record(kernel, ())
        tensor._storage.write(made._value)


def initialize_from(name: str, shape: tuple, dtype: Any, source: str, function: Callable[[Tensor], Tensor]) -> None:
    """Let the startup program give a variable its first value, a function of the first value of another one."""
    startup = default_startup_program()
    recorder = startup.recorder
    tensor = recorder.add_state(name, shape, dtype.numpy)
    if startup.states[name].update is not None:
        return
    first = startup.states[source]
    with recorder, set_mode(grad=False, amp=None):
        tensor._storage.write(function(_make(first.update or first.value))._value)


class _Current(threading.local):
    main: Program | None = None
    startup: Program | None = None
    static = False


_current = _Current()
_defaults: dict[str, Program] = {}


def default_main_program() -> Program:
    """The program that operators are added to."""
    if _current.main is not None:
        return _current.main
    if "main" not in _defaults:
        _defaults["main"] = Program()
    return _defaults["main"]


def default_startup_program() -> Program:
    """The program that gives parameters their first values."""
    if _current.startup is not None:
        return _current.startup
    if "startup" not in _defaults:
        _defaults["startup"] = Program()
    return _defaults["startup"]


def enable() -> None:
    """Static mode: operators are added to the default program from now on."""
    _current.static = True
    set_recorder(default_main_program().recorder)


def disable() -> None:
    _current.static = False
    set_recorder(None)


def set_recorder(recorder: Recorder | None) -> None:
    modes.program = recorder
    modes.update()


@contextlib.contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Build `main_program` inside the `with` block, and `startup_program` with the first values of its parameters.

    Raises:
        TypeError: what is no Program.
    """
    for argument, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and not (program is None and argument == "startup_program"):
            raise errors.TypeError_(f"program_guard: {argument} must be a Program, got {errors.describe(program)}")
    before = (_current.main, _current.startup, modes.program)
    _current.main, _current.startup = main_program, startup_program or _current.startup
    set_recorder(main_program.recorder)
    try:
        yield
    finally:
        _current.main, _current.startup = before[0], before[1]
        set_recorder(before[2])


@contextlib.contextmanager
def name_scope(prefix: str | None = None) -> Iterator[None]:
    """Groups operators under a name, for readers of the program. It does not change what they compute."""
    yield


def data(name: str, shape: Any, dtype: Any = None, lod_level: int = 0) -> Tensor:
    """An input of the current program.

    Args:
        name: the key under which it is fed.
        shape: its lengths; None or -1 for those that may change from run to run.
        dtype: by default the default dtype.
        lod_level: 0; sequences of ragged length are not supported.

    Raises:
        TypeError: a name that is no string, a shape that is no list.
        RuntimeError: no program is being built.
    """
    if not isinstance(name, str):
        raise errors.TypeError_(f"data: name must be a string, got {errors.describe(name)}")
    if not isinstance(shape, (list, tuple)):
        raise errors.TypeError_(f"data: shape must be a list or tuple, got {errors.describe(shape)}")
    if lod_level:
        raise errors.NotImplemented_("data: lod_level other than 0")
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    program = default_main_program()
    tensor = _make(program.add_input(name, shape, dtype.numpy))
    tensor._name = name
    return tensor


class _Symbolic(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and isinstance(instance._storage.value, Value)

    def __getattr__(cls, name: str) -> Any:
        return getattr(Tensor, name)

    def __dir__(cls) -> list[str]:
        return dir(Tensor)


class Variable(metaclass=_Symbolic):
    """A tensor of a program: ``isinstance(x, paddle.static.Variable)`` tells whether x is one."""
