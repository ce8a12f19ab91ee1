"""Predictors: a model that is loaded, optimised, and run with whatever shapes come in."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine import place as places
from ..engine import tensor as engine_tensor
from ..engine.modes import set_mode
from ..engine.random import generator
from ..engine.tensor import _make
from ..engine.value import Value
from ..interop.models import read_model
from ..ir.buckets import BucketedExecutable, from_environment
from ..ir.passes import apply
from ..ir.program import Graph, Operator
from ..ir.run import Environment, Executable, execute
from ..static.executor import native
from . import backends
from .config import Config, clean_methods
from .enums import NAMES, DataType, PrecisionType
from .mixed_precision import to_low_precision

__all__ = ["Predictor", "PredictorPool", "Tensor", "create_predictor"]

_BY_NAME = {name: kind for kind, name in NAMES.items()}


class Tensor:
    """The handle of an input or output of a predictor. An input is copied when it is given, an output when it is taken;
    `share_external_data` takes an array without a copy."""

    def __init__(self, name: str, value: Value, is_input: bool):
        self._name = name
        self._value = value
        self._is_input = is_input
        self._array: Any = None
        self._shape: tuple[int, ...] | None = None

    def name(self) -> str:
        return self._name

    def reshape(self, shape: Any) -> None:
        """Announce the shape of the next input."""
        try:
            self._shape = tuple(int(n) for n in shape)
        except (TypeError, ValueError):
            raise errors.TypeError_(f"reshape: shape must be a list of ints, got {errors.describe(shape)}") from None

    def copy_from_cpu(self, data: Any) -> None:
        """Give the input an array; it is copied.

        Raises:
            TypeError: what is no array.
            ValueError: another type than the model's input, or a shape that it does not have.
        """
        if not isinstance(data, np.ndarray):
            raise errors.TypeError_(f"copy_from_cpu: a numpy.ndarray is needed, got {errors.describe(data)}")
        self._take(np.array(data, copy=True), "copy_from_cpu")

    def share_external_data(self, data: Any) -> None:
        """Give the input an array of NumPy or a Tensor without a copy; it must not change until the run ends."""
        if isinstance(data, engine_tensor.Tensor):
            data = data._value
        elif not isinstance(data, (np.ndarray, jax.Array)):
            raise errors.TypeError_(f"share_external_data: an array is needed, got {errors.describe(data)}")
        self._take(data, "share_external_data")

    def share_external_data_by_ptr_name(self, data: Any, shape: Any, dtype: Any, place: Any) -> None:
        """Addresses of foreign memory are not taken: raises NotImplementedError."""
        raise errors.NotImplemented_("share_external_data_by_ptr_name: pass an array, or a tensor through DLPack")

    def _take(self, array: Any, what: str) -> None:
        if not self._is_input:
            raise errors.ValueError_(f"{what}: {self._name!r} is an output")
        value, array = self._value, native(array)
        if array.dtype != value.dtype:
            raise errors.ValueError_(
                f"{what}: the input {self._name!r} has type {value.dtype.name}, got {array.dtype.name}"
            )
        if self._shape is not None and array.size == np.prod(self._shape, dtype=np.int64):
            array = array.reshape(self._shape)
        self._shape = None
        wanted = value.shape
        if len(wanted) != array.ndim or any(w >= 0 and w != n for w, n in zip(wanted, array.shape)):
            raise errors.ValueError_(
                f"{what}: the input {self._name!r} has shape {[int(d) for d in wanted]}, got {list(array.shape)}"
            )
        self._array = array

    def copy_to_cpu(self) -> np.ndarray:
        """A copy of the array. RuntimeError when there is none yet."""
        if self._array is None:
            raise errors.RuntimeError_(f"copy_to_cpu: {self._name!r} has no value; run the predictor first")
        return np.array(self._array)

    def to_numpy(self) -> np.ndarray:
        return self.copy_to_cpu()

    def shape(self) -> list[int]:
        """The shape of the array, or of the model's variable (-1 for lengths that vary) when there is none."""
        if self._array is None:
            return list(self._shape) if self._shape is not None else [int(d) for d in self._value.shape]
        return list(self._array.shape)

    def type(self) -> DataType:
        """The type of the elements."""
        return _BY_NAME[self._value.dtype.name]

    def lod(self) -> list:
        return []

    def set_lod(self, lod: Any) -> None:
        """Sequences of ragged length are not supported: ValueError for a LoD that is not empty."""
        if lod:
            raise errors.ValueError_("set_lod: sequences of ragged length are not supported")


class Model:
    """What the clones of a predictor share: the optimised graph, its weights, its executable."""

    def __init__(self, config: Config):
        graph, self.feeds, fetches = _read(config)
        names = config.pass_builder().all_passes() if config.ir_optim() else ["inference"]
        make = backends.wanted(config)
        if make is not None:
            names = [n for n in names if n not in backends.NOT_FOR_OTHERS]
        graph = apply(graph, fetches, names)
        settings = config._settings
        if settings["use_gpu"] and config._precision in (PrecisionType.Half, PrecisionType.Bfloat16):
            low = "float16" if config._precision == PrecisionType.Half else "bfloat16"
            graph = to_low_precision(graph, fetches, low, settings.get("black_list", set()))
        self.graph: Graph = graph
        self.fetches = fetches
        self.executable: Any = Executable(graph, fetches, updates=False)
        buckets = from_environment()
        if buckets is not None:
            self.executable = BucketedExecutable(self.executable, buckets)
        device = (
            places.CUDAPlace(config.gpu_device_id()).device() if settings["use_gpu"] else places.CPUPlace().device()
        )
        self.device = device
        self.arrays = {n: jax.device_put(s.tensor._value, device) for n, s in self.executable.states.items()}
        self.backend: Any = None
        if make is not None:
            used = [n for n in self.feeds if n in self.executable.inputs]
            self.backend = backends.session_of(make, graph, used, fetches, config)
        self.names = _different(graph.output_names or [f"fetch_name_{i}" for i in range(len(fetches))])

    def run(self, feeds: dict[str, Any]) -> list:
        if self.backend is not None:
            return self.backend.run(feeds)
        words = generator().ticks(self.executable.ticks) if self.executable.ticks else None
        with set_mode(program=None, grad=False, amp=None), jax.default_device(self.device):
            return self.executable.run(feeds, self.arrays, words)[0]

    def compile(self, feeds: dict[str, Any], background: bool) -> threading.Thread | None:
        if self.backend is not None:  # it is compiled for all shapes
            return None
        words = np.zeros(4, np.uint32) if self.executable.ticks else None
        with set_mode(program=None, grad=False, amp=None), jax.default_device(self.device):
            return self.executable.compile(feeds, self.arrays, words, (), background)


def _different(names: list[str]) -> list[str]:
    """The names, with a number behind one that occurred before."""
    return [n if n not in names[:i] else f"{n}_{i}" for i, n in enumerate(names)]


def _read(config: Config) -> tuple[Graph, list[str], list[Value]]:
    if config._buffers is not None:
        return read_model(*config._buffers)
    if config.model_dir():
        return read_model(*_in_folder(config.model_dir()))
    if not config.prog_file():
        raise errors.ValueError_("create_predictor: the config names no model")
    params = config.params_file()
    return read_model(_contents(config.prog_file()), _contents(params) if params else None)


def _in_folder(folder: str) -> tuple[bytes, Any]:
    for program, params in (
        ("__model__", "__params__"),
        ("inference.pdmodel", "inference.pdiparams"),
        ("model.pdmodel", "model.pdiparams"),
        ("inference.json", "inference.pdiparams"),
        ("model.json", "model.pdiparams"),
    ):
        if os.path.isfile(os.path.join(folder, program)):
            path = os.path.join(folder, params)
            if os.path.isfile(path):
                return _contents(os.path.join(folder, program)), _contents(path)
            separate = {f: _contents(os.path.join(folder, f)) for f in os.listdir(folder) if f != program}
            return _contents(os.path.join(folder, program)), separate
    raise errors.NotFound(f"create_predictor: the folder {folder!r} holds no model (__model__, inference.pdmodel, ...)")


def _contents(path: str) -> bytes:
    if not isinstance(path, (str, os.PathLike)):
        raise errors.TypeError_(f"a model file is named by a path, got {errors.describe(path)}")
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as e:
        raise errors.NotFound(f"the model file {path!r} cannot be read: {e.strerror}") from None


class Predictor:
    """Runs a model. Made by `create_predictor`.

    One predictor serves one thread at a time; `clone()` gives others that share the model.
    """

    def __init__(self, config: Any):
        self._model = config if isinstance(config, Model) else Model(config)
        self._profile = isinstance(config, Config) and config._settings["profile"]
        self._inputs = {n: Tensor(n, self._model.graph.inputs[n], True) for n in self._model.feeds}
        self._outputs = {n: Tensor(n, v, False) for n, v in zip(self._model.names, self._model.fetches)}
        self._hooks: dict[str, list[Callable]] = {"input": [], "output": []}
        self._times: dict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    def get_input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return list(self._inputs)

    def get_output_names(self) -> list[str]:
        """The names of the outputs, in order."""
        return list(self._outputs)

    def get_input_handle(self, name: str) -> Tensor:
        """The handle of an input. ValueError for an unknown name."""
        return self._handle(self._inputs, name, "input")

    def get_output_handle(self, name: str) -> Tensor:
        """The handle of an output. ValueError for an unknown name."""
        return self._handle(self._outputs, name, "output")

    @staticmethod
    def _handle(handles: dict[str, Tensor], name: str, what: str) -> Tensor:
        if not isinstance(name, str) or name not in handles:
            raise errors.ValueError_(
                f"get_{what}_handle: the model has no {what} {name!r}; it has {', '.join(handles)}"
            )
        return handles[name]

    def run(self, inputs: Any = None) -> Any:
        """Run the model on what the input handles hold, or on a list of Tensors.

        Returns:
            The outputs as a list of Tensors when a list was given, else True.

        Raises:
            RuntimeError: an input was given no value.
            ValueError: a list of another length, or a value that does not fit.
        """
        if inputs is not None:
            if not isinstance(inputs, (list, tuple)) or len(inputs) != len(self._inputs):
                raise errors.ValueError_(f"run: inputs must be a list of {len(self._inputs)} Tensors")
            for handle, given in zip(self._inputs.values(), inputs):
                handle.share_external_data(given)
        feeds = {}
        for name, handle in self._inputs.items():
            if handle._array is None:
                raise errors.RuntimeError_(f"run: the input {name!r} has no value")
            feeds[name] = handle._array
        used = {n: a for n, a in feeds.items() if n in self._model.executable.inputs}
        if self._profile or self._hooks["input"] or self._hooks["output"]:
            found = self._run_operator_by_operator(used)
        else:
            found = self._model.run(used)
        for handle, array in zip(self._outputs.values(), found):
            handle._array = array
        return [_make(jnp.asarray(a)) for a in found] if inputs is not None else True

    def warm_up(self, shapes: Any = None, background: bool = False) -> threading.Thread | None:
        """Compile for inputs of these shapes before the first run, for this predictor and all its clones. With the
        persistent cache on (it is by default), processes that start later find the executable there and compile nothing.

        Args:
            shapes: a dict from the names of inputs to shapes; it may lack inputs whose lengths the model knows.
            background: compile in a thread, which is returned; a run with these shapes waits for it.

        Raises:
            ValueError: an unknown input, a shape that it does not have, an open length that nobody told.
            NotImplementedError: an operator runs on the host between executables.
        """
        if shapes is not None and not isinstance(shapes, dict):
            raise errors.TypeError_(f"warm_up: shapes must be a dict of shapes by name, got {errors.describe(shapes)}")
        given = shapes or {}
        unknown = [n for n in given if n not in self._inputs]
        if unknown:
            raise errors.ValueError_(
                f"warm_up: the model has no input {unknown[0]!r}; it has {', '.join(self._inputs)}"
            )
        feeds = {}
        for name, value in self._model.executable.inputs.items():
            wanted = [int(d) for d in value.shape]
            shape = given.get(name, wanted)
            fits = isinstance(shape, (list, tuple)) and len(shape) == len(wanted)
            if not fits or not all(isinstance(n, int) and n >= 0 and w in (-1, n) for n, w in zip(shape, wanted)):
                raise errors.ValueError_(f"warm_up: the input {name!r} has shape {wanted}, got {shape!r}")
            feeds[name] = jax.ShapeDtypeStruct(tuple(shape), value.dtype)
        return self._model.compile(feeds, background)

    def _run_operator_by_operator(self, feeds: dict[str, Any]) -> list:
        model = self._model
        arrays: dict[Value, Any] = {model.graph.states[n].value: a for n, a in model.arrays.items()}
        arrays.update((model.graph.inputs[n], jnp.asarray(a)) for n, a in feeds.items())
        environment = Environment(arrays, np.asarray(generator().ticks(max(model.graph.ticks, 1))))
        with set_mode(program=None, grad=False, amp=None):
            for operator in model.executable.operators:
                self._show("input", operator, operator.reads(), environment)
                start = time.perf_counter()
                execute([operator], environment)
                for value in operator.outputs:
                    jax.block_until_ready(environment.arrays[value])
                self._times[operator.name].append(time.perf_counter() - start)
                self._show("output", operator, operator.outputs, environment)
        return [environment.arrays[v] for v in model.fetches]

    def _show(self, kind: str, operator: Operator, values: Any, environment: Environment) -> None:
        for hook in self._hooks[kind]:
            for value in values:
                if value in environment.arrays:
                    hook(operator.name, value.name, _make(jnp.asarray(environment.arrays[value])))

    def register_output_hook(self, hook: Callable) -> None:
        """Call ``hook(operator, name, tensor)`` for every result; the model then runs operator by operator."""
        self._hooks["output"].append(_callable(hook, "register_output_hook"))

    def register_input_hook(self, hook: Callable) -> None:
        """Call ``hook(operator, name, tensor)`` for everything an operator reads; see `register_output_hook`."""
        self._hooks["input"].append(_callable(hook, "register_input_hook"))

    def profile_table(self) -> str:
        """The time of the operators so far, with `Config.enable_profile`."""
        rows = sorted(((sum(t), len(t), n) for n, t in self._times.items()), reverse=True)
        return "\n".join(
            ["operator                   calls     total ms"] + [f"{n:<26} {c:>5} {t * 1e3:>12.3f}" for t, c, n in rows]
        )

    def clone(self, stream: Any = None) -> Predictor:
        """Another predictor over the same model and weights, with inputs and outputs of its own."""
        made = Predictor(self._model)
        made._profile = self._profile
        return made

    def try_shrink_memory(self) -> int:
        """Let go of inputs and outputs; returns 0, as nothing else is held."""
        self.clear_intermediate_tensor()
        return 0

    def clear_intermediate_tensor(self) -> None:
        """Let go of inputs and outputs."""
        for handle in (*self._inputs.values(), *self._outputs.values()):
            handle._array = None

    def __del__(self) -> None:
        if getattr(self, "_profile", False) and self._times and not sys.is_finalizing():
            print(self.profile_table(), file=sys.stderr)


def _callable(hook: Any, what: str) -> Callable:
    if not callable(hook):
        raise errors.TypeError_(f"{what}: hook must be a function, got {errors.describe(hook)}")
    return hook


def create_predictor(config: Config) -> Predictor:
    """Load and optimise a model.

    Args:
        config: its files and switches.

    Raises:
        TypeError: what is no Config.
        FileNotFoundError: a file that is not there.
        ValueError: a file that is no model.
        NotImplementedError: the model has an operator that is not supported; it is named.
    """
    if not isinstance(config, Config):
        raise errors.TypeError_(f"create_predictor: config must be a Config, got {errors.describe(config)}")
    return Predictor(config)


class PredictorPool:
    """Several predictors over one model, one for each thread.

    Args:
        config: see `create_predictor`.
        size: how many.
    """

    def __init__(self, config: Config, size: int = 1):
        if not isinstance(size, int) or size < 1:
            raise errors.ValueError_(f"PredictorPool: size must be a positive int, got {size!r}")
        first = create_predictor(config)
        self._predictors = [first, *(first.clone() for _ in range(size - 1))]

    def retrieve(self, index: int) -> Predictor:
        """The predictor of a number. IndexError when there are fewer."""
        if not isinstance(index, int) or not 0 <= index < len(self._predictors):
            raise errors.IndexError_(f"retrieve: the pool has {len(self._predictors)} predictors, asked for {index}")
        return self._predictors[index]


for _class in (Tensor, Predictor, PredictorPool):
    clean_methods(_class)
