"""What a predictor is made from: `MobileConfig` for `.nb` files, `CxxConfig` for models as they were saved."""

from __future__ import annotations

import os
from typing import Any

from .accelerators import backend_of, target_names
from .enums import (
    PD_INFER_MODEL,
    PD_INFER_PARAMS,
    CLPrecisionType,
    CLTuneMode,
    PowerMode,
    PrecisionMode,
    member,
)

__all__ = ["ConfigBase", "CxxConfig", "CxxModelBuffer", "MobileConfig"]


def positive(where: str, value: Any, smallest: int = 1) -> int:
    """An int that is large enough; TypeError or ValueError otherwise."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where}: an int is needed, got {type(value).__name__}")
    if int(value) < smallest:
        raise ValueError(f"{where}: a number from {smallest} is needed, got {value}")
    return int(value)


def as_path(where: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{where}: a path is needed, got {type(value).__name__}")
    return os.fspath(value)


def as_bytes(where: str, data: Any, size: Any = None) -> bytes:
    """A buffer as bytes; `size` says how many of them count."""
    if isinstance(data, str):
        raise TypeError(f"{where}: the model is bytes, got a str")
    try:
        contents = data if type(data) is bytes else memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"{where}: bytes are needed, got {type(data).__name__}") from None
    if size is None:
        return contents
    if positive(where, size, 0) > len(contents):
        raise ValueError(f"{where}: the size is {size}, but the buffer has {len(contents)} bytes")
    return contents[: int(size)]


class ConfigBase:
    """What both kinds of configuration have: threads, power, accelerators."""

    def __init__(self) -> None:
        self._model_dir = ""
        self._threads = 1
        self._power = PowerMode.LITE_POWER_NO_BIND
        self._targets: list[str] = []
        self._strict = False
        self._options: dict[str, dict[str, str]] = {}
        self._cache = ""
        self._device = 0
        self._half: bool | None = None
        self._recorded: dict[str, Any] = {}

    # ---- the model ----
    def set_model_dir(self, path: Any) -> None:
        """Name the folder of a model."""
        self._model_dir = as_path("set_model_dir", path)

    def model_dir(self) -> str:
        return self._model_dir

    # ---- the processor ----
    def set_threads(self, threads: int) -> None:
        """How many threads compute; not more than the cores of the power mode are used. ValueError below 1."""
        self._threads = positive("set_threads", threads)

    def threads(self) -> int:
        return self._threads

    def set_x86_math_num_threads(self, threads: int) -> None:
        """The same as `set_threads`."""
        self._threads = positive("set_x86_math_num_threads", threads)

    def x86_math_num_threads(self) -> int:
        return self._threads

    def set_power_mode(self, mode: PowerMode) -> None:
        """Which cores work: on processors with fast and slow cores HIGH binds the runtime's threads to the fast ones, LOW to the
        slow ones; LOW threads sleep while they wait. ValueError for what is no PowerMode."""
        self._power = member("set_power_mode", PowerMode, mode)

    def power_mode(self) -> PowerMode:
        return self._power

    # ---- the accelerator ----
    def set_backend(self, name: str, strict: bool = False, options: dict[str, Any] | None = None) -> None:
        """Choose what runs the model, in place of what its file says.

        Args:
            name: of a back end or a target, see `paddlelite.backends`.
            strict: raise a RuntimeError, when the predictor is made, if it is not there; otherwise there is a warning and the CPU
                computes.
            options: of ONNX Runtime's execution provider, beside those that are set here.

        Raises:
            ValueError: an unknown name.
        """
        row = backend_of("set_backend", name)
        if options is not None and not isinstance(options, dict):
            raise TypeError(f"set_backend: options must be a dict, got {type(options).__name__}")
        self._targets, self._strict = [name.lower()], bool(strict)
        self._options = {row.name: {str(k): str(v) for k, v in (options or {}).items()}} if row else {}

    def set_device_id(self, device: int) -> None:
        """Which of several accelerators."""
        self._device = positive("set_device_id", device, 0)

    def get_device_id(self) -> int:
        return self._device

    def set_nnadapter_device_names(self, names: list[str]) -> None:
        """Choose accelerators by their official names, such as "huawei_ascend_npu", in order. ValueError for an unknown one."""
        self._targets = target_names("set_nnadapter_device_names", names)

    def nnadapter_device_names(self) -> list[str]:
        return list(self._targets)

    def check_nnadapter_device_name(self, name: str) -> bool:
        """Whether this machine's ONNX Runtime has the back end of a name."""
        from .accelerators import backends

        row = backend_of("check_nnadapter_device_name", name)
        return row is not None and any(f.present for f in backends() if f.name == row.name)

    def set_nnadapter_model_cache_dir(self, folder: Any) -> None:
        """Where TensorRT, OpenVINO and CoreML keep what they compiled."""
        self._cache = as_path("set_nnadapter_model_cache_dir", folder)

    def nnadapter_model_cache_dir(self) -> str:
        return self._cache

    set_subgraph_model_cache_dir = set_nnadapter_model_cache_dir
    subgraph_model_cache_dir = nnadapter_model_cache_dir

    # ---- recorded: drivers of Paddle-Lite's own read these, ONNX Runtime has nothing like them ----
    def set_nnadapter_context_properties(self, properties: str) -> None:
        """Recorded only."""
        self._recorded["context_properties"] = str(properties)

    def nnadapter_context_properties(self) -> str:
        return self._recorded.get("context_properties", "")

    def set_nnadapter_subgraph_partition_config_path(self, path: Any) -> None:
        """Recorded only."""
        self._recorded["partition"] = as_path("set_nnadapter_subgraph_partition_config_path", path)

    def nnadapter_subgraph_partition_config_path(self) -> str:
        return self._recorded.get("partition", "")

    def set_nnadapter_mixed_precision_quantization_config_path(self, path: Any) -> None:
        """Recorded only."""
        self._recorded["mixed"] = as_path("set_nnadapter_mixed_precision_quantization_config_path", path)

    def nnadapter_mixed_precision_quantization_config_path(self) -> str:
        return self._recorded.get("mixed", "")

    def set_nnadapter_dynamic_shape_info(self, shapes: dict[str, Any]) -> None:
        """Recorded only."""
        self._recorded["dynamic_shapes"] = dict(shapes)

    def set_nnadapter_model_cache_buffers(self, token: str, buffer: Any) -> None:
        """Compiled models in memory are not taken: raises NotImplementedError."""
        raise NotImplementedError("set_nnadapter_model_cache_buffers: use set_nnadapter_model_cache_dir")

    def set_opencl_binary_path_name(self, path: str, name: str) -> None:
        """Recorded only."""
        self._recorded["opencl_binary"] = (str(path), str(name))

    def set_opencl_tune(
        self, mode: Any = CLTuneMode.CL_TUNE_NONE, path: str = "", name: str = "", repeats: int = 4
    ) -> None:
        """Recorded only."""
        self._recorded["opencl_tune"] = member("set_opencl_tune", CLTuneMode, mode)

    def set_opencl_precision(self, precision: Any = CLPrecisionType.CL_PRECISION_AUTO) -> None:
        """FP16 lets the accelerator compute in half precision, as `set_precision_mode` does."""
        kind = member("set_opencl_precision", CLPrecisionType, precision)
        self._half = None if kind == CLPrecisionType.CL_PRECISION_AUTO else kind == CLPrecisionType.CL_PRECISION_FP16

    def set_metal_use_mps(self, flag: bool = True) -> None:
        """Recorded only."""
        self._recorded["metal_use_mps"] = bool(flag)

    def set_metal_use_memory_reuse(self, flag: bool) -> None:
        """Recorded only."""
        self._recorded["metal_use_memory_reuse"] = bool(flag)

    def set_metal_lib_path(self, path: Any) -> None:
        """Recorded only."""
        self._recorded["metal_lib_path"] = as_path("set_metal_lib_path", path)

    def add_discarded_pass(self, name: str) -> None:
        """Leave out a pass while a saved model is optimised."""
        self._recorded.setdefault("discarded", []).append(str(name))

    def get_discarded_passes(self) -> list[str]:
        return list(self._recorded.get("discarded", []))


class MobileConfig(ConfigBase):
    """The model and how it is run.

    Example:
        >>> import paddlelite as lite
        >>> config = lite.MobileConfig()
        >>> config.set_threads(2)
        >>> config.set_power_mode(lite.PowerMode.LITE_POWER_HIGH)
        >>> config.threads(), config.is_model_from_memory()
        (2, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[int, str] = {}
        self._buffer: bytes | None = None
        self._pair: tuple[bytes, bytes] | None = None

    def set_model_from_file(self, path: Any, kind: int = PD_INFER_MODEL) -> None:
        """Name the model's file: an `.nb` file, which needs nothing else, or the graph of a saved model, whose weights are named
        by a second call. The latter needs paddle and optimises each time a predictor is made.

        Args:
            path: the file.
            kind: PD_INFER_MODEL, or PD_INFER_PARAMS for the weights.

        Raises:
            TypeError: what is no path.
            ValueError: another kind.
        """
        if kind not in (PD_INFER_MODEL, PD_INFER_PARAMS):
            raise ValueError(f"set_model_from_file: kind must be PD_INFER_MODEL or PD_INFER_PARAMS, got {kind!r}")
        self._files[kind] = as_path("set_model_from_file", path)
        self._buffer = self._pair = None

    def lite_model_file(self) -> str:
        """The file of the model, "" when there is none."""
        return self._files.get(PD_INFER_MODEL, "")

    def set_model_from_buffer(self, buffer: Any, size: int | None = None) -> None:
        """Take the contents of an `.nb` file. ValueError when `size` is more than there is."""
        self._buffer = as_bytes("set_model_from_buffer", buffer, size)
        self._pair = None
        self._files = {}

    def set_model_buffer(self, model: Any, model_size: int, params: Any, params_size: int) -> None:
        """Take the contents of both files of a saved model; needs paddle."""
        self._pair = (
            as_bytes("set_model_buffer", model, model_size),
            as_bytes("set_model_buffer", params, params_size),
        )
        self._buffer = None
        self._files = {}

    def is_model_from_memory(self) -> bool:
        return self._buffer is not None or self._pair is not None

    def set_precision_mode(self, mode: Any) -> None:
        """LITE_PRECISION_LOW lets an accelerator compute in half precision; the CPU keeps float32."""
        self._half = member("set_precision_mode", PrecisionMode, mode) == PrecisionMode.LITE_PRECISION_LOW

    def precision_mode(self) -> PrecisionMode:
        return PrecisionMode.LITE_PRECISION_LOW if self._half else PrecisionMode.LITE_PRECISION_NORMAL

    def check_fp16_valid(self) -> bool:
        """Whether the CPU computes in half precision: no."""
        return False


class CxxModelBuffer:
    """The contents of both files of a saved model."""

    def __init__(self, program: Any, program_size: int, params: Any, params_size: int):
        self._program = as_bytes("CxxModelBuffer", program, program_size)
        self._params = as_bytes("CxxModelBuffer", params, params_size)

    def get_program(self) -> bytes:
        return self._program

    def get_params(self) -> bytes:
        return self._params

    def is_empty(self) -> bool:
        return not self._program


class CxxConfig(ConfigBase):
    """A model as it was saved, optimised when a predictor is made; needs paddle.

    Example:
        >>> import paddlelite as lite
        >>> config = lite.CxxConfig()
        >>> config.set_model_file("model.pdmodel")
        >>> config.set_param_file("model.pdiparams")
        >>> config.set_valid_places([lite.Place(lite.TargetType.X86)])
    """

    def __init__(self) -> None:
        super().__init__()
        self._model_file = self._param_file = ""
        self._contents: CxxModelBuffer | None = None
        self._passes: list[str] = []

    def set_model_file(self, path: Any) -> None:
        self._model_file = as_path("set_model_file", path)

    def model_file(self) -> str:
        return self._model_file

    def set_param_file(self, path: Any) -> None:
        self._param_file = as_path("set_param_file", path)

    def param_file(self) -> str:
        return self._param_file

    def set_model_buffer(self, *parts: Any) -> None:
        """Take a CxxModelBuffer, or what makes one."""
        if len(parts) == 1 and isinstance(parts[0], CxxModelBuffer):
            self._contents = parts[0]
        elif len(parts) == 4:
            self._contents = CxxModelBuffer(*parts)
        else:
            raise TypeError("set_model_buffer: a CxxModelBuffer is needed, or program, size, params, size")

    def is_model_from_memory(self) -> bool:
        return self._contents is not None

    def set_valid_places(self, places: list[Any]) -> None:
        """Where the model runs: Places, TargetTypes or names, the first choice first. ValueError for an unknown one."""
        self._targets = target_names("set_valid_places", places)

    def set_passes_internal(self, passes: list[str] = []) -> None:  # noqa: B006
        """Run these passes of `paddle.ir` and no others while optimising."""
        self._passes = [str(p) for p in passes]

    def get_passes_internal(self) -> list[str]:
        return list(self._passes)
