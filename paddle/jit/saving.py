"""Programs in files: `save` writes a layer or a function, `load` makes a layer of the files."""

from __future__ import annotations

import functools
import os
import types
from typing import Any

from ..engine import errors
from ..engine.modes import modes, set_mode
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor
from ..engine.value import Value
from ..ir.control_flow import substituted
from ..ir.passes import apply
from ..ir.program import Graph
from ..nn.layer import Layer
from ..static.input_spec import InputSpec
from . import files
from .nest import flatten
from .program import GraphFunction, as_program
from .stablehlo import export_stablehlo
from .static_function import StaticFunction
from .trace import Traced
from .transform import effects  # noqa: F401  (so that files may hold them)

_OPTIONS = ("output_spec", "with_hook", "combine_params", "clip_extra", "skip_forward", "input_names_after_prune",
            "skip_prune_program", "use_combine", "model_filename", "params_filename", "separate_params", "return_numpy",
            "keep_name_table", "stablehlo")  # fmt: skip


def save(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> None:
    """Write a layer or a function as a program and its parameters: ``path.pdmodel`` and ``path.pdiparams``.

    Args:
        layer: a Layer, a function, or what `to_static` made of them. Methods of a layer that `to_static` decorates are
            saved as well.
        path: folder and the beginning of the file names.
        input_spec: a list of InputSpec or example tensors, one for each argument; may be missing where `to_static` got
            one or the layer was called.
        configs: `output_spec` (which results to keep), `with_hook` (keep the layer's hooks), `skip_forward`,
            `stablehlo=True` (also write ``path.stablehlo``, see `export_stablehlo`); the other official options are
            accepted.

    Raises:
        TypeError: `layer` is neither a Layer nor a function.
        ValueError: nothing tells what the inputs are, or the path has no file name.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/linear"
        >>> paddle.jit.save(paddle.nn.Linear(2, 1), path, [paddle.static.InputSpec([None, 2])])
        >>> paddle.jit.load(path)(paddle.ones([3, 2])).shape
        [3, 1]
    """
    unknown = [c for c in configs if c not in _OPTIONS]
    if unknown:
        raise errors.ValueError_(f"jit.save: unknown option {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    _check("jit.save", layer, input_spec)
    path = files.split_prefix(path)
    for method, function in _methods(layer, configs).items():
        spec = input_spec if method == "forward" else None
        traced = _program(layer, function, spec, bool(configs.get("with_hook")))
        _write(path, method, layer, traced, configs.get("output_spec"))
    if configs.get("stablehlo"):
        export_stablehlo(path)


def _check(name: str, layer: Any, input_spec: Any) -> None:
    if not isinstance(layer, (Layer, StaticFunction, types.FunctionType, types.MethodType, functools.partial)):
        raise errors.TypeError_(
            f"{name}: a Layer or a function can be saved, got {errors.describe(layer)} of type {type(layer).__name__}"
        )
    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        raise errors.TypeError_(f"{name}: input_spec must be a list or a tuple, got {errors.describe(input_spec)}")


def program_of(
    name: str, layer: Any, input_spec: Any, with_hook: bool = False, output_spec: Any = None
) -> tuple[Graph, list[str], list[Value]]:
    """The call of a layer or a function as (graph, names of the inputs, results), for writers of other files; `name` is
    what errors call it. See `save` for the arguments."""
    _check(name, layer, input_spec)
    traced = _program(layer, _methods(layer, {})["forward"], input_spec, with_hook)
    fetches = traced.graph.block.outputs[: traced.n_results]
    if output_spec is not None:
        fetches = _chosen(fetches, output_spec)
    if not fetches:
        raise errors.ValueError_(f"{name}: the call returns no tensor")
    return traced.graph, list(traced.graph.inputs), fetches


def _methods(layer: Any, configs: dict) -> dict[str, StaticFunction]:
    if not isinstance(layer, Layer):
        return {"forward": layer if isinstance(layer, StaticFunction) else StaticFunction(layer, full_graph=True)}
    found: dict[str, StaticFunction] = {}
    for name in dir(type(layer)):
        if isinstance(getattr(type(layer), name, None), StaticFunction):
            found[name] = getattr(layer, name)
    for name, value in vars(layer).items():
        if isinstance(value, StaticFunction):
            found[name] = value
    if "forward" not in found:
        found["forward"] = StaticFunction(layer.forward, full_graph=True)
    if configs.get("skip_forward"):
        del found["forward"]
    return found


def _program(layer: Any, function: StaticFunction, spec: Any, with_hook: bool) -> Traced:
    """The call that is saved."""
    if with_hook and isinstance(layer, Layer) and function._dygraph_function is not None:
        hooked = _Hooked(layer, function)
        function = StaticFunction(hooked.call, function._input_spec, True)
    with set_mode(grad=True, amp=None, program=None):  # a loaded model is trained further
        if spec is None and function._input_spec is None:
            if function._last is not None:
                return function._last
            if _takes_nothing(function):
                spec = []
            else:
                raise errors.ValueError_(
                    f"jit.save: nothing tells what the inputs of {function.function_spec} are: give input_spec, or call it first"
                )
        if not function._full_graph:  # what the function does to Python objects is no part of a file
            function = StaticFunction(
                function._dygraph_function, function._input_spec, True, function._class_instance, **function._options
            )
        given = [_as_spec(s) for s in (spec if spec is not None else function._input_spec)]
        return function.get_concrete_program(*given)[1]


def _takes_nothing(function: StaticFunction) -> bool:
    signature = function.function_spec.signature
    return signature is not None and not any(
        p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in signature.parameters.values()
    )


class _Hooked:
    """A layer whose call runs its hooks."""

    def __init__(self, layer: Layer, function: StaticFunction):
        self.layer, self.function = layer, function

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return self.layer(*args, **kwargs)


def _as_spec(x: Any) -> Any:
    leaves: list = []
    structure = flatten(x, leaves)
    found = [InputSpec.from_tensor(v) if isinstance(v, Tensor) else v for v in leaves]
    for given, spec in zip(leaves, found):
        if isinstance(given, Tensor) and given._name is None:
            spec.name = None
    return structure.build(iter(found))


def _write(path: str, method: str, layer: Any, traced: Traced, output_spec: Any) -> None:
    graph = traced.graph
    fetches = graph.block.outputs[: traced.n_results]
    if output_spec is not None:
        fetches = _chosen(fetches, output_spec)
    if not fetches:
        raise errors.ValueError_(f"jit.save: the method {method!r} returns no tensor")
    files.write_model(path, method, graph, list(graph.inputs), fetches)


def _chosen(fetches: list[Value], wanted: Any) -> list[Value]:
    """The results that `output_spec` names: by tensors of the program, InputSpecs with a name, or numbers."""
    found = []
    for each in wanted if isinstance(wanted, (list, tuple)) else [wanted]:
        name = each if isinstance(each, str) else getattr(each, "name", None)
        position = each if isinstance(each, int) else next((i for i, v in enumerate(fetches) if v.name == name), None)
        if position is None or not 0 <= position < len(fetches):
            raise errors.ValueError_(f"jit.save: output_spec has {each!r}, which is no result of the function")
        found.append(fetches[position])
    return found


class Method:
    """A method of a loaded model."""

    def __init__(self, graph: Graph, feeds: list[str], fetches: list[Value], tensors: dict[str, Tensor]):
        self.feeds, self.fetches, self.tensors = feeds, fetches, tensors
        self.graphs = {True: graph, False: apply(graph, fetches, ["inference", "dead_code"])}
        self.runs: dict[bool, tuple] = {}

    def run(self, training: bool) -> tuple[GraphFunction, list[Tensor], list[Tensor]]:
        """(the function, its states, those that it changes)"""
        found = self.runs.get(training)
        if found is None:
            graph = self.graphs[training]
            updates = {n: s.update for n, s in graph.states.items() if s.update is not None}
            operators = graph.kept(self.fetches)
            read = {v for o in operators for v in o.reads()} | set(self.fetches)
            names = [n for n, s in graph.states.items() if s.value in read]
            values = [graph.inputs[n] for n in self.feeds] + [graph.states[n].value for n in names]
            ticks = graph.ticks if any(o.tick is not None for o in operators) else 0
            function = GraphFunction(operators, values, [*self.fetches, *updates.values()], ticks)
            states, changed = [self.tensors[n] for n in names], [self.tensors[n] for n in updates]
            found = self.runs[training] = (function, states, changed)
        return found

    def __call__(self, args: tuple, training: bool) -> Any:
        if len(args) != len(self.feeds):
            raise errors.ValueError_(
                f"the model takes {len(self.feeds)} inputs ({', '.join(self.feeds)}), got {len(args)}"
            )
        inputs = []
        for name, arg in zip(self.feeds, args):
            value = self.graphs[training].inputs[name]
            inputs.append(_fitting(name, arg, value))
        function, states, changed = self.run(training)
        outs = function([*inputs, *states])
        for tensor, out in zip(changed, outs[len(self.fetches) :]):
            tensor._storage.write(out._value)
        outs = outs[: len(self.fetches)]
        return outs[0] if len(outs) == 1 else outs


def _fitting(name: str, arg: Any, value: Value) -> Tensor:
    tensor = arg if isinstance(arg, Tensor) else Tensor(arg)
    shape = tuple(tensor._raw.shape)
    if len(shape) != value.ndim or any(d >= 0 and d != n for d, n in zip(value.shape, shape)):
        raise errors.ValueError_(
            f"the input {name!r} has shape {[int(d) for d in value.shape]} in the model, got {list(shape)}"
        )
    if tensor._raw.dtype != value.dtype:
        raise errors.ValueError_(f"the input {name!r} is {value.dtype.name} in the model, got {tensor.dtype.name}")
    return tensor


class TranslatedLayer(Layer):
    """A Layer made of a saved program; `paddle.jit.load` returns it. It can be trained further.

    Args:
        programs: the methods by name.
        persistable_vars: the tensors of the program by name.
    """

    def __init__(self, programs: dict[str, Method], persistable_vars: dict[str, Tensor]):
        super().__init__()
        self._methods = programs
        self._names: dict[str, str] = {}
        kinds = {"param": 0, "buffer": 0}
        for name, tensor in sorted(persistable_vars.items()):
            kind = "param" if isinstance(tensor, Parameter) else "buffer"
            own = f"{kind}_{kinds[kind]}"
            kinds[kind] += 1
            self._names[own] = name
            if kind == "param":
                self.add_parameter(own, tensor)
            else:
                self.register_buffer(own, tensor)
        for name in programs:
            if name != "forward" and name.isidentifier() and not hasattr(type(self), name):
                object.__setattr__(self, name, functools.partial(self._run, name))
        self.training = False

    def forward(self, *args: Any) -> Any:
        """Run the program; several results come as a list."""
        return self._run("forward", *args)

    def _run(self, method: str, *args: Any) -> Any:
        if method not in self._methods:
            raise errors.RuntimeError_(f"the model was saved without the method {method!r}")
        found = self._methods[method]
        if modes.program is not None:
            return _inline(found, args, self.training)
        return found(args, self.training)

    def program(self, method_name: str = "forward") -> Any:
        """The program of a method. ValueError when there is none of this name."""
        if method_name not in self._methods:
            raise errors.ValueError_(
                f"program: the model has no method {method_name!r}; it has {', '.join(self._methods)}"
            )
        return as_program(self._methods[method_name].graphs[True])

    def _input_spec(self, method_name: str = "forward") -> list[InputSpec]:
        method = self._methods[method_name]
        values = [(n, method.graphs[True].inputs[n]) for n in method.feeds]
        return [InputSpec([int(d) for d in v.shape], v.dtype.name, n) for n, v in values]

    def _output_spec(self, method_name: str = "forward") -> list[InputSpec]:
        return [InputSpec([int(d) for d in v.shape], v.dtype.name, v.name) for v in self._methods[method_name].fetches]


def _inline(method: Method, args: tuple, training: bool) -> Any:
    """The operators of a loaded model as part of the program that is being built."""
    function, states, _ = method.run(training)
    tape = Inlined(modes.program, dict(zip(function.values, [*args, *states])))
    tape.run(function.operators)
    outs = [tape.tensors[v] for v in method.fetches]
    return outs[0] if len(outs) == 1 else outs


class Inlined:
    """Records operators again, with other tensors."""

    def __init__(self, recorder: Any, tensors: dict[Value, Tensor]):
        self.recorder, self.tensors = recorder, tensors

    def run(self, operators: list) -> None:
        recorder = self.recorder
        values = {v: recorder.value_of(t) for v, t in self.tensors.items()}
        tensors = dict(zip(values.values(), self.tensors.values()))
        for operator in operators:
            tick = None
            if operator.tick is not None:
                tick, recorder.graph.ticks = recorder.graph.ticks, recorder.graph.ticks + 1
            draft = substituted(operator, values).replaced(outputs=(), tick=tick)
            out = recorder.append(draft, [tensors[x] if isinstance(x, Value) else x for x in draft.inputs])
            for value, tensor in zip(operator.outputs, out if isinstance(out, tuple) else (out,)):
                self.tensors[value], values[value] = tensor, tensor._value
                tensors[tensor._value] = tensor


def load(path: str, **configs: Any) -> TranslatedLayer:
    """A layer made of the files that `save` wrote, or of an official model (`.pdmodel` or `.json` with `.pdiparams`).

    Args:
        path: folder and beginning of the file names.
        configs: `params_filename`, the name of the file of parameters where it is another one.

    Raises:
        ValueError: there are no such files, or they are damaged.
        NotImplementedError: an operator that is not supported.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/double"
        >>> f = paddle.jit.to_static(lambda x: x * 2, input_spec=[paddle.static.InputSpec([None])])
        >>> paddle.jit.save(f, path)
        >>> paddle.jit.load(path)(paddle.ones([2])).tolist()
        [2.0, 2.0]
    """
    if not isinstance(path, (str, os.PathLike)):
        raise errors.TypeError_(f"jit.load: path must be a string, got {errors.describe(path)}")
    path = os.fspath(path)
    stem = path[: -len(files.MODEL)] if path.endswith(files.MODEL) else path
    found: dict[str, Method] = {}
    tensors: dict[str, Tensor] = {}
    for method, (model, params) in files.model_files(stem, configs.get("params_filename")).items():
        graph, feeds, fetches = files.read_model(model, params)
        for name, state in graph.states.items():
            tensors.setdefault(name, state.tensor)  # type: ignore[arg-type]
        found[method] = Method(graph, feeds, fetches, tensors)
    return TranslatedLayer(found, tensors)


def json_to_pdmodel(net: Any, input_spec: Any, load_path: str, save_path: str) -> None:
    """Save a network with the parameters of a saved model.

    Args:
        net: the Layer.
        input_spec: a list of InputSpec.
        load_path: the model whose parameters are taken.
        save_path: folder and beginning of the new files.
    """
    loaded = load(load_path)
    by_name = {loaded._names[k]: v for k, v in loaded.state_dict().items()}
    own = dict(net.state_dict())
    for name, tensor in own.items():
        source = by_name.get(tensor.name, by_name.get(name))
        if source is None:
            raise errors.ValueError_(f"json_to_pdmodel: the model at {load_path!r} has no parameter {tensor.name!r}")
        tensor.set_value(source)
    save(net, save_path, input_spec)
