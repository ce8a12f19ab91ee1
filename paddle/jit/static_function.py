"""Functions that run as programs: one for each kind of arguments."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors, flags
from ..engine.dtype import default_dtype
from ..engine.modes import modes
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor, _make
from ..ir.buckets import Buckets, from_environment
from ..nn.layer import Layer
from ..static.input_spec import InputSpec
from .bucketing import Bucketed
from .errors import GraphBreak, Grows
from .nest import LEAF, Structure, flatten, unflatten
from .options import Shown
from .program import as_program
from .trace import Argument, ChangesState, Traced, Tracer
from .transform import convert, converted_tree
from .transform.source import NoSource
from .trials import with_trials
from .warming import Warming, stand_ins

VARIANTS = 16  # programs for one kind of arguments, beyond which calls run eagerly
PATIENCE = 3  # how often a call may change Python attributes before calls of its kind stay eager

KINDS = 512  # kinds of arguments whose programs are kept; then the oldest go

_breaks: deque[str] = deque(maxlen=1000)


class Switch:
    """Whether converted functions run as programs."""

    on = True


def graph_breaks() -> list[str]:
    """Why calls ran eagerly instead of as a program, in this process."""
    return list(_breaks)


class ConcreteProgram:
    """The program of one kind of arguments, as `StaticFunction.concrete_program` shows it."""

    def __init__(self, function: Callable, traced: Traced):
        self.function, self.traced = function, traced

    @property
    def inputs(self) -> list[InputSpec]:
        return [
            InputSpec(tuple(None if d < 0 else d for d in v.shape), v.dtype.name, name)
            for name, v in self.traced.graph.inputs.items()
        ]

    @property
    def outputs(self) -> list[Tensor]:
        return [_make(v) for v in self.traced.graph.block.outputs[: self.traced.n_results]]

    @property
    def parameters(self) -> list[Parameter]:
        return [s.tensor for s in self.traced.states if isinstance(s.tensor, Parameter)]

    @property
    def main_program(self) -> Any:
        return as_program(self.traced.graph)

    def __repr__(self) -> str:
        return str(self.main_program)


class FunctionSpec:
    """The signature of a function and its InputSpecs."""

    def __init__(self, function: Callable, input_spec: Any):
        self.function, self.input_spec = function, input_spec
        try:
            self.signature: Any = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None

    @property
    def args_name(self) -> list[str]:
        return list(self.signature.parameters) if self.signature is not None else []

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"function: {name}({','.join(self.args_name)}), input_spec: {self.input_spec}"


class StaticFunction:
    """A function that is recorded as a program when it is called with arguments of a new kind; made by `to_static`."""

    def __init__(
        self,
        function: Callable,
        input_spec: Any = None,
        full_graph: bool = False,
        instance: Any = None,
        **options: Any,
    ):
        if isinstance(function, types.MethodType):
            function, instance = function.__func__, function.__self__
        if input_spec is not None and not isinstance(input_spec, (list, tuple)):
            raise errors.TypeError_(
                f"to_static: input_spec must be a tuple or a list, got {errors.describe(input_spec)}"
            )
        self._dygraph_function = function
        self._class_instance = instance
        self._input_spec = input_spec
        self._full_graph = full_graph
        self._options = options
        buckets = options.get("buckets") or from_environment()
        self._warming = Warming()
        self._bucketed = None if buckets is None else Bucketed(buckets)
        self._programs: dict[Any, list[Traced]] = {}
        self._eager: dict[Any, str] = {}
        self._changing: dict[Any, int] = {}
        self._moving: set[tuple[int, str]] = set()  # attributes of layers that are new tensors after each call
        self._kept: dict[Any, list] = {}  # by the kind of call: what its key needs alive
        self._last: Traced | None = None
        self._name: str | None = None
        functools.update_wrapper(self, function, updated=())
        self.__dict__.setdefault("__name__", getattr(getattr(function, "func", function), "__name__", "function"))
        self.__dict__.setdefault("__qualname__", self.__dict__["__name__"])

    # ---- methods ----
    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        name = self._name or self.__name__  # type: ignore[attr-defined]
        bound = self._clone(instance)
        if getattr(type(instance), name, None) is self and hasattr(instance, "__dict__"):
            instance.__dict__[name] = bound  # found first from now on
        return bound

    def _clone(self, instance: Any) -> StaticFunction:
        made = type(self)(self._dygraph_function, self._input_spec, self._full_graph, instance, **self._options)
        made._name = self._name
        return made

    def __deepcopy__(self, memo: dict) -> StaticFunction:
        return self._clone(copy.deepcopy(self._class_instance, memo))

    def __reduce__(self) -> Any:
        if self._class_instance is None:
            return self.__qualname__  # type: ignore[attr-defined]  # found by its name
        name = self._name or self.__name__  # type: ignore[attr-defined]
        return _method, (self._class_instance, name, self._input_spec, self._full_graph)

    def _in_order(self, kwargs: dict) -> dict:
        """Keyword arguments in the order of the parameters."""
        if len(kwargs) < 2 or not hasattr(self._dygraph_function, "__code__"):
            return kwargs
        code = self._dygraph_function.__code__
        order = {n: i for i, n in enumerate(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])}
        return dict(sorted(kwargs.items(), key=lambda item: order.get(item[0], len(order))))

    @property
    def dygraph_function(self) -> Callable:
        """The function as the user wrote it."""
        function = self._dygraph_function
        return function if self._class_instance is None else types.MethodType(function, self._class_instance)

    _paddle_jit_inline = dygraph_function.fget  # inside of another program its code becomes part of that one

    @property
    def class_instance(self) -> Any:
        return self._class_instance

    @property
    def function_spec(self) -> FunctionSpec:
        return FunctionSpec(self.dygraph_function, self._input_spec)

    _function_spec = function_spec

    @property
    def is_property(self) -> bool:
        return False

    def rollback(self) -> Callable:
        """The function as it was; a layer's method becomes it again."""
        instance = self._class_instance
        if instance is not None:
            name = self._name or self.__name__  # type: ignore[attr-defined]
            if instance.__dict__.get(name) is self:
                del instance.__dict__[name]
                if getattr(type(instance), name, None) is not self._dygraph_function:
                    instance.__dict__[name] = self.dygraph_function
        return self.dygraph_function

    # ---- the call ----
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not Switch.on or modes.program is not None or modes.ticks is not None:
            function = self.dygraph_function
            if modes.program is not None and Switch.on:
                if isinstance(modes.program, Tracer):
                    modes.program.note_function(function)
                function = convert(function)
            return function(*args, **kwargs)
        try:
            return self._call(args, kwargs)
        except Exception as e:
            errors.trim(e)
            raise

    def warm_up(self, *args: Any, background: bool = False, **kwargs: Any) -> threading.Thread | None:
        """Compile for arguments of this kind before the first call.

        Args:
            args, kwargs: as for a call; InputSpecs whose lengths are all known may stand for tensors.
            background: compile in a thread, which is returned; a call that needs the program waits for it.

        Raises:
            ValueError: an InputSpec with open lengths.

        Example:
            >>> net = paddle.jit.to_static(paddle.nn.Linear(2, 1))
            >>> net.forward.warm_up(paddle.static.InputSpec([8, 2]), background=True).join()
        """
        args, kwargs = stand_ins(args, kwargs)
        _, traced = self.get_concrete_program(*args, **kwargs)
        return self._warming.start(traced, Call(self, args, kwargs).tensors, background)

    def _call(self, args: tuple, kwargs: dict) -> Any:
        call = Call(self, args, kwargs)
        if call.key in self._eager:
            return self.dygraph_function(*args, **kwargs)
        variants = self._programs.get(call.key, ())
        for traced in variants:
            if traced.fits():
                self._last = traced
                return self._run(traced, call.tensors)
        if len(variants) >= VARIANTS:
            return self._break(call, GraphBreak("what the function reads changes in every call"), args, kwargs)
        try:
            traced = call.trace()
        except Exception as e:
            if self._full_graph and not isinstance(e, Grows):
                raise
            return self._break(call, e, args, kwargs)
        self._programs.setdefault(call.key, []).append(traced)
        self._keep(call)
        self._last = traced
        return self._run(traced, call.tensors)

    def _keep(self, call: Call) -> None:
        """Note a new kind of call, and forget the oldest when there are many."""
        self._kept.setdefault(call.key, []).extend(call.kept)
        while len(self._kept) > KINDS:
            oldest = next(iter(self._kept))
            for known in (self._kept, self._programs, self._eager, self._changing):
                known.pop(oldest, None)  # type: ignore[attr-defined]

    def _run(self, traced: Traced, tensors: list[Tensor]) -> Any:
        self._warming.wait(traced, tensors)
        return traced(tensors) if self._bucketed is None else self._bucketed.call(traced, tensors)

    def _break(self, call: Call, error: Exception, args: tuple, kwargs: dict) -> Any:
        """Run the function itself; its kind of call stays eager when that works."""
        out = self.dygraph_function(*args, **kwargs)
        if isinstance(error, ChangesState):
            n = self._changing[call.key] = self._changing.get(call.key, 0) + 1
            self._keep(call)
            if n < PATIENCE:
                return out
        report = f"{self.__qualname__} runs eagerly: {_where(error)}{type(error).__name__}: {error}"  # type: ignore[attr-defined]
        self._eager[call.key] = report
        self._keep(call)
        _breaks.append(report)
        if flags.debug_level() >= 1 or Shown.verbosity >= 1:
            print(f"[paddle-xla] {report}", file=sys.stderr)
        return out

    # ---- programs ----
    def get_concrete_program(self, *args: Any, **kwargs: Any) -> tuple[ConcreteProgram, Traced]:
        """The program for arguments of this kind (tensors or InputSpecs), recorded if it is new."""
        kwargs.pop("is_train", None)
        call = Call(self, args, kwargs)
        for traced in self._programs.get(call.key, ()):
            if traced.fits():
                return ConcreteProgram(self.dygraph_function, traced), traced
        traced = call.trace()
        self._programs.setdefault(call.key, []).append(traced)
        self._keep(call)
        self._last = self._last or traced
        return ConcreteProgram(self.dygraph_function, traced), traced

    @property
    def concrete_program(self) -> ConcreteProgram:
        """The program of the last call, or that of the InputSpecs."""
        if self._last is not None:
            return ConcreteProgram(self.dygraph_function, self._last)
        return self.concrete_program_specify_input_spec()

    def concrete_program_specify_input_spec(self, input_spec: Any = None, *args: Any, **kwargs: Any) -> ConcreteProgram:
        """The program for the given InputSpecs, by default those of `to_static`."""
        spec = self._input_spec if input_spec is None else input_spec
        if spec is None:
            if self._last is not None:
                return ConcreteProgram(self.dygraph_function, self._last)
            raise errors.ValueError_(
                f"there is no program of {self.function_spec} yet: give input_spec to to_static, or call it once"
            )
        return self.get_concrete_program(*spec)[0]

    @property
    def main_program(self) -> Any:
        return self.concrete_program.main_program

    @property
    def inputs(self) -> list:
        return self.concrete_program.inputs

    @property
    def outputs(self) -> list:
        return self.concrete_program.outputs

    @property
    def parameters(self) -> list:
        return self.concrete_program.parameters

    @property
    def program_cache(self) -> Any:
        """The programs, by kinds of arguments."""
        return self._programs

    def get_traced_count(self) -> int:
        return sum(map(len, self._programs.values()))

    @property
    def code(self) -> str:
        """The converted source."""
        return code_of(self.dygraph_function)

    def train(self) -> None:
        if isinstance(self._class_instance, Layer):
            self._class_instance.train()

    def eval(self) -> None:
        if isinstance(self._class_instance, Layer):
            self._class_instance.eval()


def _method(instance: Any, name: str, input_spec: Any, full_graph: bool) -> StaticFunction:
    """A method of an object that comes out of a file or another process."""
    found = getattr(type(instance), name)
    function = found._dygraph_function if isinstance(found, StaticFunction) else found
    made = StaticFunction(function, input_spec, full_graph, instance)
    made._name = name
    return made


def code_of(function: Any) -> str:
    """The source of a function as it is recorded."""
    function = getattr(function, "__func__", function)
    try:
        return ast.unparse(converted_tree(function))
    except (NoSource, AttributeError):
        return inspect.getsource(function)


def _where(error: Exception) -> str:
    """ "file.py:12: " of the last line outside of the package."""
    found = ""
    tb = error.__traceback__
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if not errors._library(name):
            found = f"{name}:{tb.tb_lineno}: "
        tb = tb.tb_next
    return found


class Call:
    """The arguments of a call: tensors apart, and a key of everything else."""

    def __init__(self, function: StaticFunction, args: tuple, kwargs: dict):
        self.function = function
        leaves: list = []
        kwargs = function._in_order(kwargs)
        self.structure = flatten((args, kwargs), leaves)
        self.arguments = args, kwargs
        specs = self._specs(args, kwargs, len(leaves))
        self.tensors: list[Tensor] = []
        self.named: list[tuple[int, Any, Any]] = []
        self.leaves: list = []
        self.kept: list = []
        key: list = [self.structure]
        for i, (leaf, spec) in enumerate(zip(leaves, specs)):
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufc":
                leaf = Tensor(leaf)
            if isinstance(leaf, (Tensor, InputSpec)):
                key.append(self._tensor(leaf, i, spec))
                continue
            key.append(self._plain(leaf))
            self.leaves.append(leaf)
        self.layers = _layers(function._class_instance, leaves)
        if modes.amp is not None:
            self.kept.append(modes.amp)
        self._start = (*key, modes.grad, modes.amp and id(modes.amp), default_dtype().name)
        self.key = (*self._start, *self._layer_state())

    def _tensor(self, leaf: Any, position: int, spec: Any) -> tuple:
        if isinstance(leaf, InputSpec):
            spec, tensor = leaf, None
        else:
            tensor = leaf
            self.tensors.append(leaf)
            if isinstance(spec, InputSpec) and not _admits(spec, leaf):
                spec = None
        self.leaves.append(Argument(len(self.named)))
        spec = spec if isinstance(spec, InputSpec) else None
        self.named.append((position, tensor, spec))
        if spec is not None:
            stop = spec.stop_gradient if tensor is None else tensor._stop
            return spec.shape, spec.dtype.name if spec.dtype is not None else tensor._raw.dtype.name, stop, spec.name
        value = tensor._value
        return value.shape, value.dtype, tensor._stop

    def _plain(self, leaf: Any) -> Any:
        try:
            hash(leaf)
        except TypeError:
            self.kept.append(leaf)
            return id(leaf)
        if leaf.__class__ is float:
            return float, leaf.hex()
        return leaf.__class__, leaf

    def _specs(self, args: tuple, kwargs: dict, n: int) -> list:
        """The InputSpec of each leaf of the arguments, None where there is none."""
        given = self.function._input_spec
        if given is None:
            return [None] * n
        spans: list = []
        for i, arg in enumerate(args):
            _matched(arg, given[i] if i < len(given) else None, spans)
        names = list(kwargs)
        order = [p for p in self.function.function_spec.args_name if p not in ("self",)]
        for name in names:
            position = order.index(name) if name in order else len(given)
            _matched(kwargs[name], given[position] if position < len(given) else None, spans)
        return spans if len(spans) == n else [None] * n

    def _layer_state(self) -> list:
        """Which tensors the layers have now, and their modes."""
        found: list = []
        for layer in self.layers:
            found.append(layer.training)
            found += map(id, layer._parameters.values())
            found += [id(v) for k, v in layer._buffers.items() if (id(layer), k) not in self.function._moving]
        return found

    def trace(self) -> Traced:
        args, kwargs = unflatten(self.structure, self.leaves)
        if Shown.level >= 0:
            print(self.function.code)
        names = _names(*self.arguments, self.function)
        named = [(spec.name if spec is not None and spec.name else names[i], t, spec) for i, t, spec in self.named]
        function, owners = self.function, list(self.layers)
        if hasattr(function._class_instance, "__dict__") and not isinstance(function._class_instance, (Layer, type)):
            owners.append(function._class_instance)
        plain, once = function.dygraph_function, function._full_graph
        traced = with_trials(lambda named: Traced(plain, args, kwargs, named, owners, once), named)
        moving = {(id(a.layer), a.name) for a in traced.attributes}
        if not moving <= self.function._moving:
            self.function._moving |= moving
            self.key = (*self._start, *self._layer_state())
        return traced


def _admits(spec: InputSpec, tensor: Tensor) -> bool:
    shape = tensor._raw.shape
    if len(spec.shape) != len(shape) or any(d not in (None, -1, n) for d, n in zip(spec.shape, shape)):
        return False
    return spec.dtype is None or spec.dtype.numpy == tensor._raw.dtype


def _matched(arg: Any, spec: Any, out: list) -> None:
    """Append the spec of each leaf of an argument."""
    leaves: list = []
    structure = flatten(arg, leaves)
    specs: list = []
    if flatten(spec, specs) == structure or structure is LEAF:
        out += specs if len(specs) == len(leaves) else [None] * len(leaves)
    elif _children(structure, spec):
        items = arg.values() if isinstance(arg, dict) else arg
        given = [spec.get(k) for k in arg] if isinstance(spec, dict) else list(spec)
        for a, s in zip(items, [*given, *[None] * len(arg)]):
            _matched(a, s, out)
    else:
        out += [None] * len(leaves)


def _children(structure: Structure, spec: Any) -> bool:
    return isinstance(spec, dict) == issubclass(structure.kind, dict) and isinstance(spec, (list, tuple, dict))


def _names(args: tuple, kwargs: dict, function: StaticFunction) -> list[str]:
    """A name for each leaf of the arguments, from the parameters of the function."""
    code = getattr(function._dygraph_function, "__code__", None)
    params = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    if function._class_instance is not None:
        params = params[1:]
    found: list[str] = []
    pairs = [(params[i] if i < len(params) else f"arg{i}", a) for i, a in enumerate(args)]
    for name, value in [*pairs, *kwargs.items()]:
        leaves: list = []
        structure = flatten(value, leaves)
        found += [name] if structure is LEAF else [f"{name}_{i}" for i in range(len(leaves))]
    return found


def _layers(instance: Any, leaves: list) -> list[Layer]:
    roots = [x for x in (instance, *leaves) if isinstance(x, Layer)]
    found: dict[int, Layer] = {}
    stack = roots[::-1]
    while stack:
        layer = stack.pop()
        if id(layer) not in found:
            found[id(layer)] = layer
            stack.extend(x for x in layer._sub_layers.values() if isinstance(x, Layer))
    return list(found.values())


def to_static(
    function: Any = None, input_spec: Any = None, build_strategy: Any = None, backend: Any = "CINN", **kwargs: Any
) -> Any:
    """Let a function, a method or a Layer run as a compiled program: a function, a decorator with or without arguments.

    The first call with arguments of a new kind (shapes, types, values of what is no tensor, modes) records the function
    as one program; control flow that a tensor decides becomes part of it. The program is one operator of the tape.

    Args:
        function: what to convert; of a Layer the `forward` is replaced, and the Layer returned.
        input_spec: a list of InputSpec; programs are shared by all lengths that a spec leaves open.
        build_strategy: None or a BuildStrategy; the compiler needs none.
        backend: "CINN" or None, the same here.
        full_graph: True raises an error where a function cannot become a program; by default the call then runs
            eagerly (`paddle.jit.graph_breaks()` tells why).
        buckets: a list of lengths, or `paddle.jit.Buckets`: lengths that `input_spec` leaves open are padded to them, so
            that few programs are compiled. Default: what PADDLE_XLA_BUCKETS says.

    Raises:
        TypeError: `function` cannot be called, or `input_spec` is no list.
        ValueError: an unknown backend.

    Example:
        >>> @paddle.jit.to_static
        ... def f(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> f(paddle.to_tensor([-3.0])).tolist()
        [3.0]
    """
    full_graph = bool(kwargs.pop("full_graph", False))
    buckets = kwargs.pop("buckets", None)
    if buckets is not None and not isinstance(buckets, Buckets):
        buckets = Buckets(buckets)
    for name in ("property", "combine"):
        kwargs.pop(name, None)
    if backend not in ("CINN", None):
        raise errors.ValueError_(f"to_static: backend must be 'CINN' or None, got {backend!r}")
    if build_strategy is not None and type(build_strategy).__name__ != "BuildStrategy":
        raise errors.TypeError_(
            f"to_static: build_strategy must be a BuildStrategy, got {errors.describe(build_strategy)}"
        )

    def decorate(target: Any) -> Any:
        if isinstance(target, Layer):
            forward = target.forward
            if isinstance(forward, StaticFunction):
                forward = forward.dygraph_function
            made = StaticFunction(forward, input_spec, full_graph, buckets=buckets)
            made._name = "forward"
            if made._class_instance is None:
                made._class_instance, made._dygraph_function = None, forward
            object.__setattr__(target, "forward", made)
            return target
        if isinstance(target, (staticmethod, classmethod)):
            return type(target)(decorate(target.__func__))
        if isinstance(target, StaticFunction):
            return StaticFunction(
                target.dygraph_function, input_spec or target._input_spec, full_graph, buckets=buckets
            )
        if not callable(target):
            raise errors.TypeError_(f"to_static: a function or a Layer can be converted, got {errors.describe(target)}")
        return StaticFunction(target, input_spec, full_graph, buckets=buckets)

    return decorate if function is None else decorate(function)


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Switch on or off that converted functions run as programs; off, they run as they were written.

    Example:
        >>> paddle.jit.enable_to_static(True)
    """
    if not isinstance(enable_to_static_bool, bool):
        warnings.warn(f"enable_to_static takes a bool, got {enable_to_static_bool!r}", stacklevel=2)
    Switch.on = bool(enable_to_static_bool)
