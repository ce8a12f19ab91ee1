"""Predictors and the tensors of their inputs and outputs, with the names of Python and those of Java."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy as np

from .accelerators import Wishes, chosen, runtime
from .config import ConfigBase, CxxConfig, MobileConfig, positive
from .container import Packed, pack, unpack, unpack_file
from .enums import PD_INFER_MODEL, PD_INFER_PARAMS, PowerMode, PrecisionType, TargetType
from .power import settings

__all__ = ["PaddleMobileConfig", "PaddlePredictor", "Tensor", "create_paddle_predictor", "create_predictor"]

# ONNX Runtime's names of types, and the numbers of the interface
_TYPES = {
    "tensor(float)": ("float32", PrecisionType.FP32),
    "tensor(double)": ("float64", PrecisionType.FP64),
    "tensor(float16)": ("float16", PrecisionType.FP16),
    "tensor(int8)": ("int8", PrecisionType.INT8),
    "tensor(uint8)": ("uint8", PrecisionType.UINT8),
    "tensor(int16)": ("int16", PrecisionType.INT16),
    "tensor(int32)": ("int32", PrecisionType.INT32),
    "tensor(int64)": ("int64", PrecisionType.INT64),
    "tensor(bool)": ("bool", PrecisionType.BOOL),
    "tensor(uint16)": ("uint16", PrecisionType.Unk),
    "tensor(uint32)": ("uint32", PrecisionType.Unk),
    "tensor(uint64)": ("uint64", PrecisionType.Unk),
}
LARGEST = 2**40  # elements: more is a mistake, not a picture


class Tensor:
    """An input or output of a predictor. Inputs are copied when they are given, outputs when they are taken."""

    def __init__(self, name: str, kind: str, shape: list[int], writable: bool):
        self._name = name
        self._dtype = np.dtype(_TYPES[kind][0])
        self._precision = _TYPES[kind][1]
        self._wanted = tuple(shape)  # -1 where a length may vary
        self._writable = writable
        self._array: np.ndarray | None = None
        self._shape: tuple[int, ...] | None = None

    def name(self) -> str:
        return self._name

    def shape(self) -> list[int]:
        """The shape of the value, or what `resize` announced; -1 for lengths that vary when there is neither."""
        if self._shape is not None:
            return list(self._shape)
        return list(self._wanted if self._array is None else self._array.shape)

    def target(self) -> TargetType:
        """Where the value is: on the host."""
        return TargetType.Host

    def precision(self) -> PrecisionType:
        """The type of the elements."""
        return self._precision

    def lod(self) -> list:
        return []

    def set_lod(self, lod: Any) -> None:
        """Sequences of ragged length are not supported: NotImplementedError for a LoD that is not empty."""
        self._check_writable("set_lod")
        if len(lod):
            raise NotImplementedError("set_lod: sequences of ragged length are not supported; pad them")

    def is_initialized(self) -> bool:
        """Whether there is a value."""
        return self._array is not None

    # ---- writing ----
    def resize(self, shape: Any) -> bool:
        """Announce the shape of the values that are given next. The value so far is dropped if the shape is another one.

        Raises:
            TypeError: what is no list of ints.
            ValueError: a shape that the input does not have, or a tensor that is an output.
        """
        self._check_writable("resize")
        try:
            lengths = tuple(positive("resize: shape", n, 0) for n in shape)
        except TypeError:
            raise TypeError(f"resize: shape must be a list of ints, got {shape!r:.80}") from None
        self._check_shape("resize", lengths)
        if self._array is not None and self._array.shape != lengths:
            self._array = None
        self._shape = lengths
        return True

    def from_numpy(self, array: Any, place: Any = TargetType.Host) -> None:
        """Give the input a value; it is copied, and decides the shape.

        Args:
            array: an array of NumPy of the input's type; the order of its elements in memory does not matter.
            place: must be the host.

        Raises:
            TypeError: what is no array.
            ValueError: another type or shape than the input's, or a tensor that is an output.
        """
        self._check_writable("from_numpy")
        if not isinstance(array, np.ndarray):
            raise TypeError(f"from_numpy: a numpy.ndarray is needed, got {type(array).__name__}")
        if place not in (TargetType.Host, TargetType.ARM, TargetType.X86):
            raise ValueError(f"from_numpy: place must be TargetType.Host, got {place!r}")
        if array.dtype.newbyteorder("=") != self._dtype:
            raise ValueError(f"from_numpy: the input {self._name!r} has type {self._dtype}, got {array.dtype}")
        self._check_shape("from_numpy", array.shape)
        self._array, self._shape = np.array(array, self._dtype, order="C", copy=True, subok=False), None

    def _set_flat(self, where: str, data: Any, dtype: Any = None) -> bool:
        """A value from numbers in a row, in the shape that was announced."""
        self._check_writable(where)
        if dtype is not None and dtype != self._dtype:
            raise ValueError(f"{where}: the input {self._name!r} has type {self._dtype}")
        if isinstance(data, np.ndarray) and data.dtype.newbyteorder("=") != self._dtype:
            raise ValueError(f"{where}: the input {self._name!r} has type {self._dtype}, got {data.dtype}")
        try:
            flat = np.asarray(data)
            if not isinstance(data, np.ndarray):
                flat = _exact(flat, self._dtype)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"{where}: {self._dtype} numbers in a row are needed, got {type(data).__name__}") from None
        shape = self._shape or (None if self._array is None else self._array.shape)
        if shape is None:
            if any(n < 0 for n in self._wanted):
                raise RuntimeError(f"{where}: the shape of {self._name!r} is not known yet; call resize first")
            shape = self._wanted
        if flat.ndim != 1 or flat.size != _count(shape):
            raise ValueError(
                f"{where}: {self._name!r} of shape {list(shape)} has {_count(shape)} elements, got shape {list(flat.shape)}"
            )
        self._array, self._shape = np.array(flat, self._dtype, order="C", copy=True).reshape(shape), None
        return True

    def set_float_data(self, data: Any, type: Any = TargetType.Host) -> None:
        """Give a float32 input its elements in a row; the shape is that of `resize`."""
        self._set_flat("set_float_data", data, np.float32)

    def set_int8_data(self, data: Any, type: Any = TargetType.Host) -> None:
        """The same for int8."""
        self._set_flat("set_int8_data", data, np.int8)

    def set_uint8_data(self, data: Any, type: Any = TargetType.Host) -> None:
        """The same for uint8."""
        self._set_flat("set_uint8_data", data, np.uint8)

    def set_int32_data(self, data: Any, type: Any = TargetType.Host) -> None:
        """The same for int32."""
        self._set_flat("set_int32_data", data, np.int32)

    def set_int64_data(self, data: Any, type: Any = TargetType.Host) -> None:
        """The same for int64."""
        self._set_flat("set_int64_data", data, np.int64)

    def setData(self, data: Any) -> bool:
        """Give the input its elements in a row; the shape is that of `resize`.

        Raises:
            ValueError: another number of elements, or another type.
            RuntimeError: the shape is not known yet.
        """
        return self._set_flat("setData", data)

    # ---- reading ----
    def numpy(self) -> np.ndarray:
        """A copy of the value. RuntimeError when there is none."""
        return self._value("numpy").copy()

    def _flat(self, where: str, *dtypes: Any) -> np.ndarray:
        array = self._value(where)
        if array.dtype not in dtypes:
            raise ValueError(f"{where}: {self._name!r} has type {array.dtype}")
        return array.reshape(-1).copy()

    def float_data(self) -> list[float]:
        """The elements of a float32 value in a row."""
        return self._flat("float_data", np.float32).tolist()

    def int8_data(self) -> list[int]:
        """The same for int8."""
        return self._flat("int8_data", np.int8).tolist()

    def uint8_data(self) -> list[int]:
        """The same for uint8."""
        return self._flat("uint8_data", np.uint8).tolist()

    def int32_data(self) -> list[int]:
        """The same for int32."""
        return self._flat("int32_data", np.int32).tolist()

    def int64_data(self) -> list[int]:
        """The same for int64."""
        return self._flat("int64_data", np.int64).tolist()

    def getFloatData(self) -> np.ndarray:
        """The elements of a float32 value in a row, as an array."""
        return self._flat("getFloatData", np.float32)

    def getByteData(self) -> np.ndarray:
        """The same for int8, uint8 and bool."""
        return self._flat("getByteData", np.int8, np.uint8, np.bool_)

    def getIntData(self) -> np.ndarray:
        """The same for int32."""
        return self._flat("getIntData", np.int32)

    def getLongData(self) -> np.ndarray:
        """The same for int64."""
        return self._flat("getLongData", np.int64)

    def isReadOnly(self) -> bool:
        """Whether this is an output."""
        return not self._writable

    # ---- checks ----
    def _value(self, where: str) -> np.ndarray:
        if self._array is None:
            raise RuntimeError(
                f"{where}: {self._name!r} has no value yet"
                + ("; give it one" if self._writable else "; run the predictor first")
            )
        return self._array

    def _check_writable(self, where: str) -> None:
        if not self._writable:
            raise ValueError(f"{where}: {self._name!r} is an output")

    def _check_shape(self, where: str, shape: tuple[int, ...]) -> None:
        wanted = self._wanted
        if len(wanted) != len(shape) or any(w >= 0 and w != n for w, n in zip(wanted, shape)):
            raise ValueError(f"{where}: the input {self._name!r} has shape {list(wanted)}, got {list(shape)}")
        if _count(shape) > LARGEST:
            raise ValueError(f"{where}: a tensor of shape {list(shape)} has too many elements")


def _count(shape: Any) -> int:
    total = 1
    for n in shape:
        total *= int(n)
    return total


def _exact(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers of a list in another type; TypeError where integers would lose something."""
    if values.size and values.dtype.kind not in ("biuf" if dtype.kind == "f" else "biu"):
        raise TypeError
    made = values.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(made, values):
        raise TypeError
    return made


class _Model:
    """What the clones of a predictor share: a session of ONNX Runtime."""

    def __init__(self, packed: Packed, config: ConfigBase, name: str):
        package = runtime()
        about, targets = packed.about, config._targets or packed.about["target"]
        self.packed = packed
        threads, entries = settings(config._power, config._threads)
        found = chosen("create_predictor", targets, config._strict)
        half = config._half if config._half is not None else about["precision"] == "fp16"
        wishes = Wishes(half, threads, config._device, config._cache)
        providers: list[Any] = []
        for row, provider in found:
            providers.append((provider, {**row.options(wishes), **config._options.get(row.name, {})}))
            entries = {**row.session, **entries}
            if row.own_threads:
                threads, entries = 1, {k: v for k, v in entries.items() if not k.endswith("affinities")}
        failure = "it takes no part of this model"
        try:
            self.session = _session(package, packed, providers, threads, entries)
        except Exception as e:  # the runtime has a class of its own for each kind of failure
            failure = str(e)
            try:
                self.session = _session(package, packed, [], threads, entries)
            except Exception as why:
                raise ValueError(f"{name}: ONNX Runtime refuses the model: {why}") from why
        working = _working(self.session)
        self.providers = [p for p in self.session.get_providers() if p in working or p == "CPUExecutionProvider"]
        lost = [provider for _, provider in found if provider not in self.providers]
        if lost:
            message = f"create_predictor: {', '.join(lost)} cannot be used here: {failure}"
            if config._strict:
                raise RuntimeError(message)
            warnings.warn(f"{message}; the CPU computes in its place", stacklevel=3)
        self.inputs = [(a.name, a.type, _lengths(a.shape)) for a in self.session.get_inputs()]
        self.outputs = [(a.name, a.type, _lengths(a.shape)) for a in self.session.get_outputs()]
        for port in (*self.inputs, *self.outputs):
            if port[1] not in _TYPES:
                raise ValueError(f"{name}: {port[0]!r} has type {port[1]}, which is not supported")
        for field, ports in (("inputs", self.inputs), ("outputs", self.outputs)):
            said = [(r["name"], r["dtype"], r["shape"]) for r in about[field]]
            if said != [(n, _TYPES[t][0], s) for n, t, s in ports]:
                raise ValueError(f"{name}: the description in the file is wrong: its {field} are not the model's")


def _session(package: Any, packed: Packed, providers: list, threads: int, entries: dict[str, str]) -> Any:
    options = package.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.enable_mem_pattern = not any(p == "DmlExecutionProvider" for p, _ in providers)
    if packed.about["quantized"] in ("int8", "int16"):
        entries = {**entries, "session.disable_quant_qdq": "1"}  # only weights: they are unpacked once
    if providers:
        entries = {**entries, "session.record_ep_graph_assignment_info": "1"}
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    return package.InferenceSession(packed.model, options, providers=[*providers, "CPUExecutionProvider"])


def _working(session: Any) -> set[str]:
    """The providers that take part of the model; all of the session's where the runtime is too old to tell."""
    if len(session.get_providers()) == 1 or not hasattr(session, "get_provider_graph_assignment_info"):
        return set(session.get_providers())
    return {part.ep_name for part in session.get_provider_graph_assignment_info()}


def _lengths(shape: list) -> list[int]:
    return [n if isinstance(n, int) else -1 for n in shape]


class PaddleMobileConfig:
    """`MobileConfig` as the calls of Java chain it: each setter returns the configuration."""

    def __init__(self) -> None:
        self.config = MobileConfig()

    @staticmethod
    def create() -> PaddleMobileConfig:
        """An empty configuration."""
        return PaddleMobileConfig()

    def setModelFromFile(self, path: Any) -> PaddleMobileConfig:
        """Name the `.nb` file."""
        self.config.set_model_from_file(path)
        return self

    def setModelFromBuffer(self, buffer: Any, size: int | None = None) -> PaddleMobileConfig:
        """Take the contents of an `.nb` file."""
        self.config.set_model_from_buffer(buffer, size)
        return self

    def setPowerMode(self, mode: PowerMode) -> PaddleMobileConfig:
        """Which cores work."""
        self.config.set_power_mode(mode)
        return self

    def setThreads(self, threads: int) -> PaddleMobileConfig:
        """How many threads compute."""
        self.config.set_threads(threads)
        return self

    def setBackend(self, name: str, strict: bool = False) -> PaddleMobileConfig:
        """What runs the model."""
        self.config.set_backend(name, strict)
        return self


class PaddlePredictor:
    """Runs a model; made by `create_predictor`, or from Java's call `createPaddlePredictor`.

    One predictor serves one thread at a time (`run` says so otherwise); `clone` gives others that share the model.
    """

    PaddleMobileConfig = PaddleMobileConfig
    PowerMode = PowerMode

    def __init__(self, model: _Model):
        self._model = model
        self._inputs = [Tensor(*port, writable=True) for port in model.inputs]
        self._outputs = [Tensor(*port, writable=False) for port in model.outputs]
        self._names = [t.name() for t in self._outputs]
        self._busy = threading.Lock()

    @staticmethod
    def createPaddlePredictor(config: Any) -> PaddlePredictor:
        """`create_predictor`, for Java's calls."""
        return create_predictor(config)

    # ---- tensors ----
    def get_input(self, index: int) -> Tensor:
        """An input by number. IndexError when there are fewer."""
        return self._at("get_input", self._inputs, index)

    def get_output(self, index: int) -> Tensor:
        """An output by number. IndexError when there are fewer."""
        return self._at("get_output", self._outputs, index)

    def get_input_names(self) -> list[str]:
        return [t.name() for t in self._inputs]

    def get_output_names(self) -> list[str]:
        return list(self._names)

    def get_input_by_name(self, name: str) -> Tensor:
        """An input by name. ValueError for an unknown one."""
        return self._called("get_input_by_name", self._inputs, name)

    def get_output_by_name(self, name: str) -> Tensor:
        """An output by name. ValueError for an unknown one."""
        return self._called("get_output_by_name", self._outputs, name)

    def get_tensor(self, name: str) -> Tensor:
        """An output or input by name. ValueError for another one: values in between are not kept."""
        return self._called("get_tensor", [*self._outputs, *self._inputs], name)

    @staticmethod
    def _at(where: str, tensors: list[Tensor], index: Any) -> Tensor:
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise TypeError(f"{where}: a number is needed, got {type(index).__name__}")
        if not 0 <= index < len(tensors):
            raise IndexError(f"{where}: the model has {len(tensors)}, numbered from 0; got {index}")
        return tensors[index]

    @staticmethod
    def _called(where: str, tensors: list[Tensor], name: Any) -> Tensor:
        for tensor in tensors:
            if tensor.name() == name:
                return tensor
        raise ValueError(f"{where}: there is no {name!r}; there are {', '.join(t.name() for t in tensors)}")

    # ---- running ----
    def run(self) -> bool:
        """Compute the outputs from the inputs; after a failure there are none.

        Raises:
            RuntimeError: an input has no value, the model failed, or another thread runs this predictor.
        """
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("run: the predictor is running in another thread; give each thread a clone()")
        try:
            feeds = {}
            for tensor in self._inputs:
                if tensor._array is None:
                    raise RuntimeError(f"run: the input {tensor.name()!r} has no value; call from_numpy first")
                feeds[tensor.name()] = tensor._array
            for tensor in self._outputs:
                tensor._array = None
            try:
                found = self._model.session.run(self._names, feeds)
            except Exception as e:  # the runtime has a class of its own for each kind of failure
                shapes = ", ".join(f"{n} {list(a.shape)}" for n, a in feeds.items())
                raise RuntimeError(f"run: the model failed with the inputs {shapes}: {e}") from e
            for tensor, array in zip(self._outputs, found):
                tensor._array = array
        finally:
            self._busy.release()
        return True

    def clone(self) -> PaddlePredictor:
        """Another predictor over the same model, with inputs and outputs of its own."""
        return PaddlePredictor(self._model)

    def try_shrink_memory(self) -> bool:
        """Let go of inputs and outputs."""
        for tensor in (*self._inputs, *self._outputs):
            tensor._array = None
        return True

    def get_version(self) -> str:
        """The version of this package and of the runtime."""
        from . import __version__

        return f"paddlelite {__version__}, onnxruntime {runtime().__version__}"

    def providers(self) -> list[str]:
        """ONNX Runtime's execution providers that run parts of the model, the first choice first; the CPU is always there."""
        return list(self._model.providers)

    def save_optimized_model(self, path: Any) -> None:
        """Write the model as an `.nb` file (``path`` without the ending)."""
        from .config import as_path

        name = as_path("save_optimized_model", path)
        name = name if name.endswith(".nb") else name + ".nb"
        temporary = f"{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        try:
            with open(temporary, "xb") as file:
                file.write(pack(self._model.packed.about, self._model.packed.model))
            os.replace(temporary, name)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    getInput, getOutput, getTensor, getVersion = get_input, get_output, get_tensor, get_version
    getInputNames, getOutputNames, saveOptimizedModel = get_input_names, get_output_names, save_optimized_model


def create_predictor(config: Any) -> PaddlePredictor:
    """Load a model.

    Args:
        config: a MobileConfig or CxxConfig.

    Raises:
        TypeError: what is no configuration.
        FileNotFoundError: a file that is not there.
        ValueError: no model is named, or the file is damaged or no model.
        ImportError: onnxruntime is missing; for models that are not `.nb` files also paddle or onnx.
        RuntimeError: a back end that was asked for strictly is not there.
    """
    if isinstance(config, PaddleMobileConfig):
        config = config.config
    if isinstance(config, MobileConfig):
        return PaddlePredictor(_Model(*_of_mobile(config)))
    if isinstance(config, CxxConfig):
        return PaddlePredictor(_Model(*_of_saved(config)))
    raise TypeError(f"create_predictor: a MobileConfig or CxxConfig is needed, got {type(config).__name__}")


create_paddle_predictor = create_predictor


def _of_mobile(config: MobileConfig) -> tuple[Packed, ConfigBase, str]:
    where = "create_predictor"
    if config._buffer is not None:
        return unpack(config._buffer), config, "the buffer"
    if config._pair is not None:
        return _converted(config, contents=config._pair)
    model = config._files.get(PD_INFER_MODEL, "")
    params = config._files.get(PD_INFER_PARAMS, "")
    if params:
        if not model:
            raise ValueError(f"{where}: weights are named, {params!r}, but no model")
        return _converted(config, model=model, params=params)
    if model:
        if os.path.splitext(model)[1] in (".pdmodel", ".json"):
            raise ValueError(
                f"{where}: {model!r} needs its weights: set_model_from_file(path, paddlelite.PD_INFER_PARAMS)"
            )
        return unpack_file(model, where), config, model
    if config._model_dir:
        return _converted(config, folder=config._model_dir)
    raise ValueError(f"{where}: the configuration names no model; call set_model_from_file or set_model_from_buffer")


def _of_saved(config: CxxConfig) -> tuple[Packed, ConfigBase, str]:
    if config._contents is not None:
        parts = config._contents.get_program(), config._contents.get_params()
        return _converted(config, passes=config._passes, contents=parts)
    return _converted(
        config, passes=config._passes, model=config._model_file, params=config._param_file, folder=config._model_dir
    )


def _converted(config: ConfigBase, passes: list[str] | None = None, **source: Any) -> tuple[Packed, ConfigBase, str]:
    """A saved model, optimised in memory."""
    from .convert import optimise, saved

    made = optimise(saved("create_predictor", **source), passes=passes, discarded=config.get_discarded_passes())
    name = str(source.get("model") or source.get("folder") or "the model")
    return Packed(made.about(config._targets or ["host"], False), made.model), config, name
