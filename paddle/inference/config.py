"""What a predictor is made of: model files and switches.

Switches of hardware that is not here warn once and change nothing; results are the same. Those of other runtimes
(`backends`) raise ImportError where the package is missing.
"""

from __future__ import annotations

import os
import types
import warnings
from collections.abc import Callable
from typing import Any

from ..engine import errors
from ..engine import place as places
from ..ir.passes import INFERENCE
from . import backends
from .enums import PrecisionType

__all__ = ["Config", "PassBuilder", "XpuConfig"]


class XpuConfig:
    """Settings of Kunlun devices; kept, without effect."""

    device_id = 0
    l3_size = 0
    l3_ptr: Any = None
    l3_autotune_size = 0
    context_gm_size = -1
    context: Any = None
    stream: Any = None
    conv_autotune_level = 0
    conv_autotune_file = ""
    conv_autotune_file_writeback = False
    fc_autotune_level = 0
    fc_autotune_file = ""
    fc_autotune_file_writeback = False
    gemm_compute_precision = 1
    transformer_softmax_optimize_level = 0
    transformer_encoder_adaptive_seqlen = True
    quant_post_static_gelu_out_threshold = 10.0
    quant_post_dynamic_activation_method = 0
    quant_post_dynamic_weight_precision = 1
    quant_post_dynamic_op_types: list[str] = []

    def __init__(self) -> None:
        self.quant_post_dynamic_op_types = []


class PassBuilder:
    """The passes that a predictor runs over the model, in order (see `paddle.ir.passes`)."""

    def __init__(self, names: list[str]):
        self._names = names

    def all_passes(self) -> list[str]:
        return list(self._names)

    def append_pass(self, name: str) -> None:
        self._names.append(name)

    def insert_pass(self, index: int, name: str) -> None:
        self._names.insert(index, name)

    def delete_pass(self, name: Any) -> None:
        """Take out a pass, by name or position; a name that is not there is left alone."""
        if isinstance(name, int):
            if not -len(self._names) <= name < len(self._names):
                raise errors.IndexError_(f"delete_pass: there are {len(self._names)} passes, asked for {name}")
            del self._names[name]
        elif name in self._names:
            self._names.remove(name)

    def turn_on_debug(self) -> None:
        """Accepted; PADDLE_XLA_DEBUG=3 prints what each pass does."""


def _with_endings(prefix: str) -> tuple[str, str | None]:
    """The files of a model that was saved under a prefix; the prefix itself where there are none."""
    for ending in (".pdmodel", ".json"):
        if os.path.isfile(prefix + ending):
            return prefix + ending, prefix + ".pdiparams"
    return prefix, None


def _reader(field: str, doc: str) -> Callable:
    def read(self):
        return self._settings[field]

    read.__doc__ = doc
    return read


def _switch(field: str, value: Any, doc: str) -> Callable:
    def switch(self):
        self._settings[field] = value

    switch.__doc__ = doc
    return switch


def _setter(field: str, doc: str) -> Callable:
    def set_(self, x=True):
        self._settings[field] = bool(x)

    set_.__doc__ = doc
    return set_


class Config:
    """The files of a model and how to run it.

    Args:
        prog_file: the program (`.pdmodel`, `.json`), or a folder that holds a model.
        params_file: the parameters (`.pdiparams`).

    Example:
        >>> config = paddle.inference.Config("model.pdmodel", "model.pdiparams")
        >>> config.switch_ir_optim(False); config.ir_optim()
        False
    """

    Precision = PrecisionType
    Float32, Int8, Half, Bfloat16 = PrecisionType

    def __init__(self, prog_file: str | None = None, params_file: str | None = None):
        self._prog_file, self._params_file, self._model_dir = "", "", ""
        self._buffers: tuple[bytes, bytes] | None = None
        self._settings: dict[str, Any] = dict(_DEFAULTS)
        self._device = 0
        self._threads, self._threads_given = 1, False
        self._openvino_precision = PrecisionType.Float32
        self._precision = PrecisionType.Float32
        self._trt: dict[str, Any] = {}
        self._xpu = XpuConfig()
        self._passes = PassBuilder(list(INFERENCE))
        self._pool_mb = 0
        self._shape_file = ""
        if prog_file is not None:
            self.set_model(prog_file, params_file)

    # ---- files ----
    def set_model(self, prog_file: str, params_file: str | None = None) -> None:
        """Choose the model files, or with one argument a folder or the beginning of their names."""
        for argument, value in (("prog_file", prog_file), ("params_file", params_file)):
            if value is not None and not isinstance(value, (str, os.PathLike)):
                raise errors.TypeError_(f"Config: {argument} must be a path, got {errors.describe(value)}")
        if params_file is None and os.path.isdir(prog_file):
            self._model_dir = os.fspath(prog_file)
            self._prog_file = self._params_file = ""
        else:
            if params_file is None and not os.path.isfile(prog_file):
                prog_file, params_file = _with_endings(os.fspath(prog_file))
            self._prog_file, self._params_file = os.fspath(prog_file), os.fspath(params_file or "")
            self._model_dir = ""
        self._buffers = None

    def set_model_buffer(self, prog: bytes, prog_size: int, params: bytes, params_size: int) -> None:
        """Take the model from memory: the contents of the files and their sizes."""
        self._buffers = (bytes(_bytes(prog)[:prog_size]), bytes(_bytes(params)[:params_size]))

    def set_prog_file(self, path: str) -> None:
        """Choose the program file."""
        self._prog_file = os.fspath(path)

    def set_params_file(self, path: str) -> None:
        """Choose the file of the parameters."""
        self._params_file = os.fspath(path)

    def model_dir(self) -> str:
        """The folder of the model, "" when files were given."""
        return self._model_dir

    def prog_file(self) -> str:
        """The program file."""
        return self._prog_file

    def params_file(self) -> str:
        """The file of the parameters."""
        return self._params_file

    def model_from_memory(self) -> bool:
        """Whether the model comes from memory."""
        return self._buffers is not None

    # ---- devices ----
    def enable_use_gpu(
        self,
        memory_pool_init_size_mb: int,
        device_id: int = 0,
        precision_mode: PrecisionType = PrecisionType.Float32,
    ) -> None:
        """Run on a GPU, if there is one; otherwise a warning, and the CPU is used.

        Args:
            memory_pool_init_size_mb: accepted; XLA manages memory.
            device_id: which GPU.
            precision_mode: compute in Half or Bfloat16 on the GPU.
        """
        self._pool_mb, self._device = int(memory_pool_init_size_mb), int(device_id)
        if not places.backend_devices("gpu"):
            _warn("enable_use_gpu: no GPU was found, the CPU is used")
            return
        self._settings["use_gpu"] = True
        self._precision = precision_mode

    def disable_gpu(self) -> None:
        """Run on the CPU."""
        self._settings["use_gpu"] = False

    def gpu_device_id(self) -> int:
        """The number of the GPU."""
        return self._device

    def memory_pool_init_size_mb(self) -> int:
        """What `enable_use_gpu` was given."""
        return self._pool_mb

    def fraction_of_gpu_memory_for_pool(self) -> float:
        """Memory is not reserved ahead: 0.0."""
        return 0.0

    def enable_xpu(
        self,
        l3_size: int = 16777216,
        l3_locked: bool = False,
        conv_autotune: bool = False,
        conv_autotune_file: str = "",
        transformer_encoder_precision: str = "int16",
        transformer_encoder_adaptive_seqlen: bool = False,
        enable_multi_stream: bool = False,
    ) -> None:
        """Kunlun devices are not supported: warns."""
        _warn("enable_xpu: XPU devices are not supported, the current device is used")

    def set_xpu_device_id(self, device_id: int = 0) -> None:
        """Kept, without effect."""
        self._xpu.device_id = device_id

    def set_xpu_config(self, config: XpuConfig) -> None:
        """Kept, without effect."""
        if not isinstance(config, XpuConfig):
            raise errors.TypeError_(f"set_xpu_config: an XpuConfig is needed, got {errors.describe(config)}")
        self._xpu = config

    def xpu_config(self) -> XpuConfig:
        """What `set_xpu_config` was given."""
        return self._xpu

    def xpu_device_id(self) -> int:
        """What `set_xpu_device_id` was given."""
        return self._xpu.device_id

    def enable_custom_device(
        self, device_type: str, device_id: int = 0, precision: PrecisionType = PrecisionType.Float32
    ) -> None:
        """A device whose PJRT plugin is installed; otherwise warns."""
        _warn(f"enable_custom_device: {device_type} was not found, the current device is used")

    def enable_ipu(
        self,
        ipu_device_num: int = 1,
        ipu_micro_batch_size: int = 1,
        ipu_enable_pipelining: bool = False,
        ipu_batches_per_step: int = 1,
    ) -> None:
        """IPUs are not supported: warns."""
        _warn("enable_ipu: IPUs are not supported, the current device is used")

    def set_ipu_config(
        self,
        ipu_enable_fp16: bool = False,
        ipu_replica_num: int = 1,
        ipu_available_memory_proportion: float = 1.0,
        ipu_enable_half_partial: bool = False,
        ipu_enable_model_runtime_executor: bool = False,
    ) -> None:
        """IPUs are not supported: without effect."""

    def set_ipu_custom_info(self, ipu_custom_ops_info: Any = [], ipu_custom_patterns: Any = {}) -> None:  # noqa: B006
        """IPUs are not supported: without effect."""

    def load_ipu_config(self, config_path: str) -> None:
        """IPUs are not supported: raises NotImplementedError."""
        raise errors.NotImplemented_("load_ipu_config: IPUs are not supported")

    # ---- TensorRT ----
    def enable_tensorrt_engine(
        self,
        workspace_size: int = 1 << 30,
        max_batch_size: int = 1,
        min_subgraph_size: int = 3,
        precision_mode: PrecisionType = PrecisionType.Float32,
        use_static: bool = False,
        use_calib_mode: bool = True,
        use_cuda_graph: bool = False,
    ) -> None:
        """Run on TensorRT, through ONNX Runtime's provider; where it or a GPU is missing, a warning says what, and XLA runs
        the model.

        Args:
            workspace_size: bytes that TensorRT may use while it builds an engine.
            max_batch_size, use_calib_mode: accepted; engines take any batch, int8 models hold their scales.
            min_subgraph_size: smaller parts of the model stay outside.
            precision_mode: compute in Half, Bfloat16 or (quantised models) Int8.
            use_static: keep engines on disk, in the folder of `set_optim_cache_dir` or in ``_opt_cache`` beside the model.
            use_cuda_graph: run it as a CUDA graph.
        """
        self._trt.update(
            precision=precision_mode, workspace_size=int(workspace_size), min_subgraph_size=int(min_subgraph_size),
            use_static=bool(use_static), use_cuda_graph=bool(use_cuda_graph),
        )  # fmt: skip
        missing = backends.tensorrt_missing(self._settings["use_gpu"])
        if missing:
            _warn(f"enable_tensorrt_engine: TensorRT is not used, XLA runs the model: {missing}")
        else:
            self._settings["tensorrt"] = True

    def tensorrt_precision_mode(self) -> PrecisionType:
        """What `enable_tensorrt_engine` was given."""
        return self._trt.get("precision", PrecisionType.Float32)

    def enable_tensorrt_memory_optim(self, engine_memory_sharing: bool = True, sharing_identifier: int = 0) -> None:
        """Without effect: TensorRT is not connected."""

    def set_trt_dynamic_shape_info(
        self,
        min_input_shape: Any = {},  # noqa: B006
        max_input_shape: Any = {},  # noqa: B006
        optim_input_shape: Any = {},  # noqa: B006
        disable_trt_plugin_fp16: bool = False,
    ) -> None:
        """The shapes, by input, for which TensorRT's engines are built; other back ends take any."""
        self._trt["shapes"] = (dict(min_input_shape), dict(max_input_shape), dict(optim_input_shape))
        self._settings["tensorrt_dynamic_shape_enabled"] = bool(min_input_shape)

    def mark_trt_engine_outputs(self, output_tensor_names: Any = []) -> None:  # noqa: B006
        """Without effect: TensorRT is not connected."""

    def enable_tuned_tensorrt_dynamic_shape(
        self, shape_range_info_path: str = "", allow_build_at_runtime: bool = True
    ) -> None:
        """Kept, without effect."""
        self._settings["tuned_tensorrt_dynamic_shape"] = True
        self._settings["trt_allow_build_at_runtime"] = allow_build_at_runtime

    def exp_disable_tensorrt_ops(self, ops: Any) -> None:
        """Without effect: TensorRT is not connected."""

    def exp_disable_tensorrt_subgraph(self, names: Any) -> None:
        """Without effect: TensorRT is not connected."""

    def exp_specify_tensorrt_subgraph_precision(self, half: Any, bfloat: Any, single: Any) -> None:
        """Without effect: TensorRT is not connected."""

    def exp_disable_tensorrt_dynamic_shape_ops(self, flag: bool) -> None:
        """Without effect: TensorRT is not connected."""

    def enable_tensorrt_dla(self, dla_core: int = 0) -> None:
        """Use a core for deep learning of a Jetson."""
        self._trt["dla_core"] = int(dla_core)
        self._settings["tensorrt_dla_enabled"] = True

    def enable_tensorrt_inspector(self, inspector_serialize: bool = False) -> None:
        """Kept, without effect."""
        self._settings["tensorrt_inspector_enabled"] = True

    def set_tensorrt_optimization_level(self, level: int) -> None:
        """How long TensorRT may look for a faster engine, 0 to 5."""
        self._trt["level"] = int(level)

    def tensorrt_optimization_level(self) -> int:
        """What `set_tensorrt_optimization_level` was given, 3 by default."""
        return self._trt.get("level", 3)

    def collect_shape_range_info(self, path: str) -> None:
        """Kept; shapes need not be announced, so nothing is collected."""
        self._shape_file = path

    def shape_range_info_path(self) -> str:
        """What `collect_shape_range_info` was given."""
        return self._shape_file

    def shape_range_info_collected(self) -> bool:
        """Whether `collect_shape_range_info` was called."""
        return bool(self._shape_file)

    # ---- the processor ----
    def set_cpu_math_library_num_threads(self, threads: int) -> None:
        """The threads of ONNX Runtime and OpenVINO; XLA's are those of the process."""
        if not isinstance(threads, int) or threads < 1:
            raise errors.ValueError_(f"set_cpu_math_library_num_threads: a positive int is needed, got {threads!r}")
        self._threads, self._threads_given = threads, True

    def cpu_math_library_num_threads(self) -> int:
        """What `set_cpu_math_library_num_threads` was given."""
        return self._threads

    def set_mkldnn_cache_capacity(self, capacity: int = 0) -> None:
        """Without effect: XLA keeps what it compiled."""

    set_onednn_cache_capacity = set_mkldnn_cache_capacity

    def set_bfloat16_op(self, ops: Any) -> None:
        """Without effect."""

    def set_mkldnn_op(self, ops: Any) -> None:
        """Without effect."""

    set_onednn_op = set_mkldnn_op

    def enable_mkldnn_int8(self, mkldnn_int8_enabled_op_types: Any = set()) -> None:  # noqa: B006, B008
        """Kept; quantised models run as they are."""
        self._settings["mkldnn_int8_enabled"] = True

    def enable_onednn_int8(self, onednn_int8_enabled_op_types: Any = set()) -> None:  # noqa: B006, B008
        """Kept; quantised models run as they are."""
        self._settings["mkldnn_int8_enabled"] = True

    # ---- backends of other runtimes ----
    def enable_openvino_engine(self, inference_precision: PrecisionType = PrecisionType.Float32) -> None:
        """Run on OpenVINO.

        Args:
            inference_precision: compute in Float32, Half or Bfloat16.

        Raises:
            ImportError: the package openvino or onnx is missing.
            ValueError: another precision.
        """
        if inference_precision not in (PrecisionType.Float32, PrecisionType.Half, PrecisionType.Bfloat16):
            raise errors.ValueError_(
                f"enable_openvino_engine: inference_precision must be Float32, Half or Bfloat16, got {inference_precision!r}"
            )
        backends.need("enable_openvino_engine", "openvino")
        self._openvino_precision = inference_precision
        self._settings["openvino"] = True

    def enable_onnxruntime(self) -> None:
        """Run on ONNX Runtime.

        Raises:
            ImportError: the package onnxruntime or onnx is missing.
        """
        backends.need("enable_onnxruntime", "onnxruntime")
        self._settings["onnxruntime"] = True

    # ---- optimisation ----
    def pass_builder(self) -> PassBuilder:
        """The list of passes, which can be changed."""
        return self._passes

    def delete_pass(self, name: str) -> None:
        """Take a pass out of the list."""
        self._passes.delete_pass(name)

    def enable_custom_passes(self, passes: Any = [], custom_pass_only: bool = False) -> None:  # noqa: B006
        """Run these registered passes too, or (`custom_pass_only`) instead of the others."""
        if custom_pass_only:
            self._passes = PassBuilder([])
        for name in passes:
            self._passes.append_pass(name)

    def switch_ir_debug(self, x: bool = True, passes: Any = []) -> None:  # noqa: B006
        """Accepted; PADDLE_XLA_DEBUG=3 prints what each pass does."""

    def set_optimization_level(self, opt_level: int = 2) -> None:
        """0 runs the model as it is; higher levels run the passes."""
        self._settings["ir_optim"] = opt_level > 0

    def set_optim_cache_dir(self, path: str) -> None:
        """Kept; executables are cached in the folder that PADDLE_XLA_CACHE_DIR names."""
        self._settings["optim_cache_dir"] = path

    def enable_save_optim_model(self, save_optimized_model: bool = False) -> None:
        """Kept, without effect."""

    def exp_disable_mixed_precision_ops(self, ops: Any) -> None:
        """Operators that stay in float32 when a predictor computes in a lower precision."""
        self._settings["black_list"] = set(ops)

    def exp_enable_mixed_precision_ops(self, ops: Any) -> None:
        """Accepted: every operator may compute in a lower precision."""

    def exp_sparse_conv_using_buffer(self, kernels: Any, strides: Any) -> None:
        """Without effect."""

    def to_native_config(self) -> Config:
        """Itself: there is one kind of configuration."""
        return self

    def summary(self) -> str:
        """The settings as a table."""
        rows = {
            "model_dir": self._model_dir,
            "model_file": self._prog_file,
            "params_file": self._params_file,
            "passes": ", ".join(self._passes.all_passes()) if self._settings["ir_optim"] else "none",
            "cpu_math_thread": self._threads,
            **{name: value for name, value in self._settings.items() if isinstance(value, bool)},
        }
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows.items())


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        raise errors.TypeError_("set_model_buffer: the model is bytes, got a string")
    return bytes(value)


_warned: set[str] = set()


def _warn(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, UserWarning, stacklevel=3)


_DEFAULTS: dict[str, Any] = {}


def _flag(
    field: str, default: Any, read: str = "", set_: str = "", on: str = "", off: str = "", note: str = ""
) -> None:
    """A setting and its official methods: one that reads it, one that sets it, one that switches it on, one off."""
    _DEFAULTS[field] = default
    about = note or f"the setting {field}"
    for name, method in (
        (read, _reader(field, f"Whether {field} is on.")),
        (set_, _setter(field, f"Switch {about}.")),
        (on, _switch(field, True, f"Switch on {about}.")),
        (off, _switch(field, False, f"Switch off {about}.")),
    ):
        if name:
            method.__name__ = method.__qualname__ = name
            setattr(Config, name, method)


_accepted = " (accepted, without effect)"
_flag("use_gpu", False, read="use_gpu")
_flag("use_xpu", False, read="use_xpu")
_flag("ir_optim", True, read="ir_optim", set_="switch_ir_optim", note="the passes over the model")
_flag("memory_optim", False, set_="enable_memory_optim", note="memory optimisation, which XLA always does")
_flag(
    "use_feed_fetch_ops_enabled",
    False,
    "use_feed_fetch_ops_enabled",
    "switch_use_feed_fetch_ops",
    note="feed operators" + _accepted,
)
_flag("specify_input_name", True, "specify_input_name", "switch_specify_input_names", note="inputs by name, always on")
_flag("new_ir", True, "new_ir_enabled", "enable_new_ir", note="the newer official representation" + _accepted)
_flag("new_executor", True, set_="enable_new_executor", note="the newer official executor" + _accepted)
_flag("optimized_model", False, set_="use_optimized_model", note="a model that is optimised already")
_flag("low_precision_io", False, set_="enable_low_precision_io", note="inputs and outputs of lower precision")
_flag("profile", False, on="enable_profile", note="a table of the time each operator takes")
_flag("glog_info_disabled", False, read="glog_info_disabled", on="disable_glog_info", note="silence")
_flag("onednn", False, "mkldnn_enabled", on="enable_mkldnn", off="disable_mkldnn", note="oneDNN" + _accepted)
_flag("onednn", False, "onednn_enabled", on="enable_onednn", off="disable_onednn", note="oneDNN" + _accepted)
_flag("mkldnn_bfloat16", False, on="enable_mkldnn_bfloat16", note="bfloat16 in oneDNN" + _accepted)
_flag("mkldnn_bfloat16", False, on="enable_onednn_bfloat16", note="bfloat16 in oneDNN" + _accepted)
_flag("mkldnn_int8_enabled", False, read="mkldnn_int8_enabled")
_flag("mkldnn_int8_enabled", False, read="onednn_int8_enabled")
_flag("fc_passes", True, off="disable_mkldnn_fc_passes", note="fused layers in oneDNN" + _accepted)
_flag("fc_passes", True, off="disable_onednn_fc_passes", note="fused layers in oneDNN" + _accepted)
_flag("onnxruntime", False, read="onnxruntime_enabled", off="disable_onnxruntime", note="ONNX Runtime")
_flag(
    "ort_optimization",
    False,
    on="enable_ort_optimization",
    note="optimisation in ONNX Runtime, also where the passes are off",
)
_flag("openvino", False, read="openvino_engine_enabled")
_flag("cutlass", False, on="exp_enable_use_cutlass", note="CUTLASS kernels" + _accepted)
_flag("cinn", False, on="enable_cinn", note="the official compiler; XLA always compiles")
_flag("tensorrt", False, read="tensorrt_engine_enabled")
_flag("tensorrt_dynamic_shape_enabled", False, read="tensorrt_dynamic_shape_enabled")
_flag(
    "tensorrt_varseqlen",
    False,
    "tensorrt_varseqlen_enabled",
    on="enable_tensorrt_varseqlen",
    note="variable lengths" + _accepted,
)
_flag("tuned_tensorrt_dynamic_shape", False, read="tuned_tensorrt_dynamic_shape")
_flag("trt_allow_build_at_runtime", False, read="trt_allow_build_at_runtime")
_flag("tensorrt_dla_enabled", False, read="tensorrt_dla_enabled")
_flag("tensorrt_inspector_enabled", False, read="tensorrt_inspector_enabled")
_flag(
    "explicit_quantization",
    False,
    "tensorrt_explicit_quantization_enabled",
    on="enable_tensorrt_explicit_quantization",
    note="explicit quantisation" + _accepted,
)


def clean_methods(kind: type) -> None:
    """Let the errors of all public methods name them."""
    for name, method in list(vars(kind).items()):
        if isinstance(method, types.FunctionType) and not name.startswith("_"):
            setattr(kind, name, errors.clean(method))


for _class in (Config, PassBuilder):
    clean_methods(_class)
