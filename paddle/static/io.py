"""Files of programs: their variables, and models for inference."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors, flags
from ..engine.parameter import as_parameter
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from ..framework.io import load as _read_pickle
from ..framework.io import save as _write_pickle
from ..interop import params as binary
from ..ir import serialize
from ..ir.passes import for_inference
from ..ir.program import Graph, State
from ..utils.files import atomic_write
from .executor import Scope, global_scope, program_of
from .program import Program

__all__ = [
    "deserialize_persistables",
    "deserialize_program",
    "load",
    "load_from_file",
    "load_inference_model",
    "load_program_state",
    "load_vars",
    "normalize_program",
    "save",
    "save_inference_model",
    "save_to_file",
    "save_vars",
    "serialize_persistables",
    "serialize_program",
    "set_program_state",
]


def _path(name: str, path: Any, suffixes: tuple[str, ...] = ()) -> str:
    if not isinstance(path, (str, os.PathLike)) or not os.path.basename(os.fspath(path)):
        raise errors.ValueError_(f"{name}: the path must end in a file name, got {errors.describe(path)}")
    path = os.fspath(path)
    for suffix in suffixes:
        path = path.removesuffix(suffix)
    return path


def _bytes_of(name: str, path: str) -> bytes:
    if not os.path.isfile(path):
        raise errors.ValueError_(f"{name}: there is no file {path!r}")
    with open(path, "rb") as f:
        return f.read()


def _array(name: str, scope: Scope, state: State) -> np.ndarray:
    found = scope.array_of(state)
    if found is None:
        raise errors.RuntimeError_(f"{name}: variable {state.name} has no value; run the startup program first")
    return np.asarray(found)


def _put(name: str, scope: Scope, state: State, value: Any) -> None:
    array = value._value if isinstance(value, Tensor) else np.asarray(value)
    if array.dtype == np.uint16 and state.value.dtype.name == "bfloat16":
        array = np.asarray(array).view(state.value.dtype)
    if tuple(array.shape) != tuple(state.value.shape):
        raise errors.RuntimeError_(
            f"{name}: variable {state.name} has shape {list(state.value.shape)}, the value {list(array.shape)}"
        )
    if array.dtype != state.value.dtype:
        raise errors.RuntimeError_(
            f"{name}: variable {state.name} has type {state.value.dtype.name}, the value {array.dtype.name}"
        )
    scope.put(state, array)


# ---- the variables of a program, as pickles ----


@errors.clean
def save(program: Program, model_path: str, protocol: int = 4, **configs: Any) -> None:
    """Write a program: its parameters in ``model_path.pdparams``, the variables of its optimizers in ``model_path.pdopt``,
    and what it computes in ``model_path.pdmodel``, which `deserialize_program` reads. The steps of optimizers and Python
    functions have no place in such a file: without the former it holds what comes before training, and none is written of
    a program with the latter.

    Args:
        program: a Program, whose variables have values in the scope.
        model_path: folder and the beginning of the file names.
        protocol: the pickle protocol, 2 to 4.

    Raises:
        RuntimeError: a variable has no value.
        ValueError: `model_path` ends in no name.
    """
    program, path, scope = program_of("save", program), _path("save", model_path), global_scope()
    params, opt = {}, {}
    for name, state in program.states.items():
        if state.parameter is not None:
            params[name] = _array("save", scope, state)
        elif name in program.training_states and scope.array_of(state) is not None:
            opt[name] = _array("save", scope, state)
    plain = {n: a.view(np.uint16) if a.dtype.name == "bfloat16" else a for n, a in params.items()}
    _write_pickle(plain, path + ".pdparams", protocol=protocol)
    _write_pickle(opt, path + ".pdopt", protocol=protocol)
    content = _program_content(program)
    if content is not None:
        with atomic_write(path + ".pdmodel") as f:
            f.write(content)
    elif os.path.isfile(path + ".pdmodel"):  # of another program
        os.remove(path + ".pdmodel")


def _program_content(program: Program) -> bytes | None:
    """A program as a file, without its training where that cannot be written, None when nothing can."""
    for whole in (True, False):
        operators = [o for o in program.block.operators if whole or o not in program.training]
        graph = program.with_operators(operators)
        if not whole:
            graph.states = {n: s.copy() for n, s in graph.states.items() if n not in program.training_states}
            defined = {v for o in operators for v in o.outputs}
            for state in graph.states.values():
                state.update = state.update if state.update in defined else None
            graph.inputs = {n: v for n, v in graph.inputs.items() if n not in program.provided}
        try:
            return _as_bytes({**serialize.to_json(graph), "feeds": list(graph.inputs), "fetches": []})
        except NotImplementedError as e:
            if flags.debug_level() >= 1:
                print(
                    f"[paddle-xla] {'without its training' if whole else 'no'} .pdmodel is written: {e}",
                    file=sys.stderr,
                )
    return None


def _as_bytes(document: dict) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


@errors.clean
def load(program: Program, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Put what `save` (or the official one) wrote into the scope.

    Args:
        program: the program whose variables they are.
        model_path: the path that `save` was given.
        executor: accepted.
        var_list: variables to load; default: all.

    Raises:
        ValueError: there is no such file.
        RuntimeError: a variable is missing in the file, or has another shape or type there.
    """
    program, scope = program_of("load", program), global_scope()
    path = _path("load", model_path, (".pdparams", ".pdopt", ".pdmodel"))
    chosen = None if var_list is None else {v if isinstance(v, str) else v.name for v in var_list}
    params = _state_files("load", path)
    for name, state in program.states.items():
        if chosen is not None and name not in chosen:
            continue
        if name in params:
            _put("load", scope, state, params[name])
        elif state.parameter is not None or chosen is not None:
            raise errors.RuntimeError_(f"load: the file {path}.pdparams has no variable {name}")


def _state_files(name: str, path: str) -> dict[str, np.ndarray]:
    if not os.path.isfile(path + ".pdparams"):
        raise errors.ValueError_(f"{name}: there is no file {path + '.pdparams'!r}")
    found: dict[str, Any] = {}
    for suffix in (".pdparams", ".pdopt"):
        if os.path.isfile(path + suffix):
            contents = _read_pickle(path + suffix, return_numpy=True)
            if not isinstance(contents, dict):
                raise errors.ValueError_(f"{name}: {path + suffix} holds no dict of variables")
            found.update({k: np.asarray(v) for k, v in contents.items() if isinstance(v, (np.ndarray, np.generic))})
    return found


@errors.clean
def load_program_state(model_path: str, var_list: Any = None) -> dict[str, np.ndarray]:
    """What `save` wrote, as a dict of arrays by name; also the files of a folder with one variable each.

    Args:
        model_path: the path that `save` was given, or such a folder.
        var_list: variables to read; default: all.
    """
    names = None if var_list is None else [v if isinstance(v, str) else v.name for v in var_list]
    if os.path.isdir(model_path):
        if names is None:
            names = [n for n in os.listdir(model_path) if os.path.isfile(os.path.join(model_path, n))]
        return binary.read_folder(model_path, names)
    found = _state_files(
        "load_program_state", _path("load_program_state", model_path, (".pdparams", ".pdopt", ".pdmodel"))
    )
    return found if names is None else {n: found[n] for n in names if n in found}


@errors.clean
def set_program_state(program: Program, state_dict: dict[str, Any]) -> None:
    """Put arrays into the scope, for the variables of the program that have their names.

    Raises:
        RuntimeError: another shape or type.
    """
    program, scope = program_of("set_program_state", program), global_scope()
    for name, value in state_dict.items():
        state = program.states.get(name)
        if state is not None:
            _put("set_program_state", scope, state, value)
    unused = [n for n in state_dict if n not in program.states]
    if unused:
        warnings.warn(f"set_program_state: the program does not have {', '.join(unused)}", stacklevel=3)


# ---- the variables of a program, in the official binary format ----


def _chosen(program: Program, vars: Any, predicate: Callable | None) -> list[State]:
    if vars is not None:
        names = [v if isinstance(v, str) else v.name for v in vars]
        return [program.states[n] for n in names if n in program.states]
    found = program.global_block().vars
    return [s for n, s in program.states.items() if predicate is None or predicate(_persistable(found[n]))]


def _persistable(tensor: Tensor) -> Tensor:
    tensor.persistable = True
    return tensor


@errors.clean
def save_vars(
    executor: Any,
    dirname: str | None,
    main_program: Any = None,
    vars: Any = None,
    predicate: Callable | None = None,
    filename: str | None = None,
) -> None:
    """Write variables to a folder, each in a file of its name, or all in one file.

    Args:
        executor: accepted.
        dirname: the folder.
        main_program: the program; default: the default one.
        vars: the variables; default: those that `predicate` accepts.
        filename: one file for all.
    """
    program, scope = program_of("save_vars", main_program), global_scope()
    arrays = {s.name: _array("save_vars", scope, s) for s in _chosen(program, vars, predicate)}
    folder = dirname or ""
    files = {filename: arrays} if filename is not None else {name: {name: a} for name, a in arrays.items()}
    for name, contents in files.items():
        with atomic_write(os.path.join(folder, name)) as f:
            f.write(binary.write_combined(contents))


@errors.clean
def load_vars(
    executor: Any,
    dirname: str | None,
    main_program: Any = None,
    vars: Any = None,
    predicate: Callable | None = None,
    filename: str | None = None,
) -> None:
    """Read what `save_vars` (or the official one) wrote into the scope; see there.

    Raises ValueError when a file is missing or damaged.
    """
    program, scope = program_of("load_vars", main_program), global_scope()
    states = {s.name: s for s in _chosen(program, vars, predicate)}
    folder = dirname or "."
    if filename is not None:
        data = _bytes_of("load_vars", os.path.join(folder, filename))
        arrays = binary.read_combined(data, sorted(states))
    else:
        arrays = binary.read_folder(folder, states)
    for name, state in states.items():
        _put("load_vars", scope, state, arrays[name])


# ---- models for inference ----


def _variables(name: str, argument: str, given: Any) -> list[Tensor]:
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    if not all(isinstance(v, Tensor) and isinstance(v._value, Value) for v in found):
        raise errors.TypeError_(f"{name}: {argument} must be a variable of the program or a list of them")
    return found


@errors.clean
def normalize_program(program: Program, feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> Program:
    """The part of a program that computes `fetch_vars` from `feed_vars`, for inference.

    Args:
        program: a Program.
        feed_vars, fetch_vars: a variable or a list of variables.

    Raises:
        TypeError: what is no program, no variable.
        ValueError: the result needs an input that is not among the feeds.
    """
    return _normalized("normalize_program", program_of("normalize_program", program), feed_vars, fetch_vars)


def _normalized(name: str, program: Program, feed_vars: Any, fetch_vars: Any) -> Program:
    feeds, fetches = _variables(name, "feed_vars", feed_vars), _variables(name, "fetch_vars", fetch_vars)
    names = {v: n for n, v in program.inputs.items()}
    for v in feeds:
        if v._value not in names:
            raise errors.ValueError_(f"{name}: {v.name} is no input of the program")
    other = program.clone()
    wanted = [v._value for v in fetches]
    other.block.operators = for_inference(program.kept(wanted, False))
    other.block.operators = other.kept(wanted, False)
    needed = {v for o in other.block.operators for v in o.reads()} | set(wanted)
    other.feeds = [names[v._value] for v in feeds]
    missing = [n for n, v in program.inputs.items() if v in needed and n not in other.feeds]
    if missing:
        raise errors.ValueError_(f"{name}: the results need the input {missing[0]!r}, which is not among feed_vars")
    other.inputs = {n: program.inputs[n] for n in other.feeds}
    other.states = {n: s for n, s in other.states.items() if s.value in needed}
    for state in other.states.values():
        state.update = None
    other.training, other.training_states, other.provided = set(), set(), {}
    other.fetches = wanted
    other.changed()
    return other


def _with_arrays(name: str, program: Program, scope: Scope) -> Graph:
    """The graph with tensors in its states, as files want it."""
    graph = program.with_operators(program.block.operators)
    graph.states = {n: s.copy() for n, s in program.states.items()}
    for state in graph.states.values():
        tensor = _make(jnp.asarray(_array(name, scope, state)))
        state.tensor = tensor
    return graph


def _as_program(graph: Graph, feeds: list[str], fetches: list[Value], scope: Scope | None) -> Program:
    """A program for a graph that was read; its states move into the scope."""
    program = Program()
    program.block.operators = graph.block.operators
    program.inputs, program.states, program.ticks = graph.inputs, graph.states, graph.ticks
    program.feeds, program.fetches = list(feeds), list(fetches)
    for name, state in program.states.items():
        held, state.tensor = state.tensor, None
        if scope is not None and held is not None:
            scope.var(name).array = held._value
        trainable = isinstance(held, Tensor) and not held.stop_gradient
        if state.parameter is not None:
            state.parameter = as_parameter(_make(state.value), name, trainable)
            program.recorder.hold(state, state.parameter)
    program.changed()
    return program


def write_inference_model(program: Program, prefix: str, scope: Scope, **names: str | None) -> None:
    """Write a normalized program: the one place where such files are written."""
    from ..interop.models import write_model

    graph = _with_arrays("save_inference_model", program, scope)
    model, params = _files(prefix, **names)
    write_model(graph, program.feeds, program.fetches, model or prefix + ".pdmodel", params or prefix + ".pdiparams")


def read_inference_model(prefix: str, scope: Scope, **names: str | None) -> Program:
    """Read a model of any kind: the one place where such files are read."""
    from ..interop.models import read_model

    model, params = _files(prefix, **names)
    candidates = [model] if model else [prefix + ".pdmodel", prefix + ".json", os.path.join(prefix, "__model__")]
    path = next((p for p in candidates if os.path.isfile(p)), None)
    if path is None:
        raise errors.ValueError_(f"load_inference_model: there is no file {candidates[0]!r}")
    contents: Any
    if params is None and os.path.basename(path) == "__model__":
        contents = _folder(os.path.dirname(path), "__model__")
    else:
        params = params or prefix + ".pdiparams"
        contents = _bytes_of("load_inference_model", params) if os.path.isfile(params) else b""
    graph, feeds, fetches = read_model(_bytes_of("load_inference_model", path), contents)
    return _as_program(graph, feeds, fetches, scope)


def _folder(folder: str, but: str) -> dict[str, Any]:
    names = [n for n in os.listdir(folder) if n != but and os.path.isfile(os.path.join(folder, n))]
    if names == ["__params__"]:
        return _bytes_of("load_inference_model", os.path.join(folder, "__params__"))  # type: ignore[return-value]
    return binary.read_folder(folder, names)


def _files(prefix: str, model_filename: str | None = None, params_filename: str | None = None) -> tuple:
    folder = prefix if os.path.isdir(prefix) else os.path.dirname(prefix)
    return tuple(None if n is None else os.path.join(folder, n) for n in (model_filename, params_filename))


def _options(name: str, kwargs: dict, *allowed: str) -> None:
    for key in kwargs:
        if key not in allowed:
            raise errors.ValueError_(f"{name}: there is no option {key!r}; there are {', '.join(allowed)}")


@errors.clean
def save_inference_model(path_prefix: str, feed_vars: Any, fetch_vars: Any, executor: Any, **kwargs: Any) -> None:
    """Write the part of a program that computes `fetch_vars` from `feed_vars`, and its parameters.

    Args:
        path_prefix: folder and beginning of the names; ``path_prefix.pdmodel`` and ``path_prefix.pdiparams`` are written.
        feed_vars, fetch_vars: a variable or a list of variables.
        executor: accepted.
        program: the program, by keyword; default: the default one.
        stablehlo: also write ``path_prefix.stablehlo``, see `paddle.jit.export_stablehlo`, by keyword.
        clip_extra, legacy_format: accepted, by keyword.

    Raises:
        TypeError: what is no variable.
        ValueError: the result needs an input that is not among the feeds.
        RuntimeError: a parameter has no value.
    """
    _options(
        "save_inference_model",
        kwargs,
        "program",
        "clip_extra",
        "legacy_format",
        "skip_prune_program",
        "optimize_passes",
        "stablehlo",
    )
    prefix = _path("save_inference_model", path_prefix)
    program = program_of("save_inference_model", kwargs.get("program"))
    write_inference_model(_normalized("save_inference_model", program, feed_vars, fetch_vars), prefix, global_scope())
    if kwargs.get("stablehlo"):
        from ..jit.stablehlo import export_stablehlo

        export_stablehlo(prefix)


@errors.clean
def load_inference_model(path_prefix: str | None, executor: Any, **kwargs: Any) -> list[Any]:
    """Read a model for inference, ours or an official one; its parameters go into the scope.

    Args:
        path_prefix: the path that `save_inference_model` was given; None when the keywords hold contents.
        executor: accepted.
        model_filename, params_filename: other file names in the same folder, by keyword; without `path_prefix` the
            contents of the two files.

    Returns:
        [program, names of its inputs, variables of its results].

    Raises:
        ValueError: there is no such file, or it is damaged.
        NotImplementedError: an operator that is not supported.
    """
    _options("load_inference_model", kwargs, "model_filename", "params_filename", "pserver_endpoints")
    names = {k: kwargs.get(k) for k in ("model_filename", "params_filename")}
    scope = global_scope()
    if path_prefix is None:
        from ..interop.models import read_model

        if not isinstance(names["model_filename"], bytes):
            raise errors.ValueError_("load_inference_model: without path_prefix, model_filename must be the contents")
        graph, feeds, fetches = read_model(names["model_filename"], names["params_filename"] or b"")
        program = _as_program(graph, feeds, fetches, scope)
    else:
        prefix = os.fspath(path_prefix)
        program = read_inference_model(prefix, scope, **names)
    return [program, list(program.feeds), [_make(v) for v in program.fetches]]


# ---- in memory ----


@errors.clean
def serialize_program(feed_vars: Any, fetch_vars: Any, **kwargs: Any) -> bytes:
    """The part of a program that computes `fetch_vars` from `feed_vars`, as bytes.

    Args:
        program: by keyword; default: the default one.
    """
    _options("serialize_program", kwargs, "program", "legacy_format")
    program = _normalized(
        "serialize_program", program_of("serialize_program", kwargs.get("program")), feed_vars, fetch_vars
    )
    return _as_bytes(serialize.document_of(program, program.feeds, program.fetches))


@errors.clean
def deserialize_program(data: bytes) -> Program:
    """The program of bytes that `serialize_program` gave; its variables have no values yet.

    Raises ValueError for other bytes.
    """
    document = serialize.read_document(data)

    def read() -> tuple:
        graph, reader = serialize._from_json(document)
        return graph, list(document["feeds"]), [reader.read(n) for n in document["fetches"]]

    return _as_program(*serialize._checked(read), None)


@errors.clean
def serialize_persistables(feed_vars: Any, fetch_vars: Any, executor: Any, **kwargs: Any) -> bytes:
    """The parameters that `fetch_vars` need, as bytes in the official binary format.

    Args:
        program: by keyword; default: the default one.
    """
    _options("serialize_persistables", kwargs, "program")
    name = "serialize_persistables"
    program = _normalized(name, program_of(name, kwargs.get("program")), feed_vars, fetch_vars)
    return binary.write_combined({n: _array(name, global_scope(), s) for n, s in program.states.items()})


@errors.clean
def deserialize_persistables(program: Program, data: bytes, executor: Any) -> None:
    """Put the parameters of bytes that `serialize_persistables` gave into the scope.

    Raises ValueError when they do not belong to the program.
    """
    program, scope = program_of("deserialize_persistables", program), global_scope()
    arrays = binary.read_combined(data, sorted(program.states))
    for name, state in program.states.items():
        _put("deserialize_persistables", scope, state, arrays[name])


@errors.clean
def save_to_file(path: str, content: bytes) -> None:
    """Write bytes to a file. ValueError for what is no bytes."""
    if not isinstance(content, bytes):
        raise errors.ValueError_(f"save_to_file: content must be bytes, got {errors.describe(content)}")
    with atomic_write(_path("save_to_file", path)) as f:
        f.write(content)


def load_from_file(path: str) -> bytes:
    """The bytes of a file."""
    return _bytes_of("load_from_file", path)
