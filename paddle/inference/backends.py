"""Other runtimes behind a predictor: ONNX Runtime, OpenVINO, and TensorRT through ONNX Runtime.

The model becomes ONNX (`paddle.onnx`) in memory; what a Config switches on decides who runs it. A session takes and gives
arrays of NumPy, and clones of a predictor in several threads may share it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.value import Value
from ..ir.program import Graph
from ..utils.imports import try_import
from .enums import PrecisionType

__all__ = ["need", "tensorrt_missing", "wanted"]

# Passes that choose our own products of integers, or make floats of the integers that others multiply.
NOT_FOR_OTHERS = ("integer_products", "real_integers", "constant_folding")
PACKAGES = {"onnxruntime": ("onnx", "onnxruntime"), "openvino": ("onnx", "openvino")}


def need(switch: str, backend: str) -> None:
    """ImportError, which says what to install, where the packages of a back end are missing."""
    missing = [p for p in PACKAGES[backend] if importlib.util.find_spec(p) is None]
    if missing:
        raise ImportError(
            f"{switch}: the package{'s' if len(missing) > 1 else ''} {' and '.join(map(repr, missing))} "
            f"{'are' if len(missing) > 1 else 'is'} needed: pip install {' '.join(missing)}"
        )


def tensorrt_missing(gpu: bool) -> str:
    """What TensorRT lacks here, "" when it can be used."""
    if not gpu:
        return "no GPU is in use (call enable_use_gpu first)"
    if any(importlib.util.find_spec(p) is None for p in PACKAGES["onnxruntime"]):
        return "the packages 'onnx' and 'onnxruntime-gpu' are needed: pip install onnx onnxruntime-gpu tensorrt"
    if "TensorrtExecutionProvider" not in try_import("onnxruntime").get_available_providers():
        return "this onnxruntime has no TensorRT: pip install onnxruntime-gpu tensorrt"
    return ""


def wanted(config: Any) -> Callable | None:
    """The back end that a Config chooses, (model, config) -> session; None for our own."""
    settings = config._settings
    if settings["tensorrt"]:
        return _tensorrt
    if settings["openvino"]:
        return OpenVino
    if settings["onnxruntime"]:
        return _onnxruntime
    return None


def session_of(make: Callable, graph: Graph, feeds: list[str], fetches: list[Value], config: Any) -> Any:
    """A graph in a back end. NotImplementedError for operators that ONNX does not have."""
    from ..onnx.convert import DEFAULT, to_onnx

    return make(to_onnx(graph, feeds, fetches, DEFAULT), config)


# ---- ONNX Runtime ----


class OnnxRuntime:
    """A model in ONNX Runtime."""

    def __init__(self, model: Any, config: Any, providers: list):
        runtime = try_import("onnxruntime")
        options = runtime.SessionOptions()
        level = runtime.GraphOptimizationLevel
        settings = config._settings
        optimised = settings["ir_optim"] or settings["ort_optimization"]
        options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
        options.enable_mem_pattern = settings["memory_optim"]
        options.log_severity_level = 3
        if config._threads_given:
            options.intra_op_num_threads = config._threads
        self.session = runtime.InferenceSession(model.SerializeToString(), options, providers=providers)

    def run(self, feeds: dict[str, Any]) -> list:
        return self.session.run(None, {n: np.asarray(a) for n, a in feeds.items()})

    @property
    def providers(self) -> list[str]:
        """What runs the model, the first choice first."""
        return self.session.get_providers()


def _onnxruntime(model: Any, config: Any) -> OnnxRuntime:
    here = try_import("onnxruntime").get_available_providers()
    providers: list[Any] = ["CPUExecutionProvider"]
    if config._settings["use_gpu"] and "CUDAExecutionProvider" in here:
        providers.insert(0, ("CUDAExecutionProvider", {"device_id": config.gpu_device_id()}))
    return OnnxRuntime(model, config, providers)


def _tensorrt(model: Any, config: Any) -> OnnxRuntime:
    device = {"device_id": config.gpu_device_id()}
    providers = [
        ("TensorrtExecutionProvider", tensorrt_options(config)),
        ("CUDAExecutionProvider", device),
        "CPUExecutionProvider",
    ]
    return OnnxRuntime(model, config, providers)


def tensorrt_options(config: Any) -> dict[str, Any]:
    """The options of ONNX Runtime's provider for what `enable_tensorrt_engine` and its companions were given."""
    given, settings = config._trt, config._settings
    precision = given.get("precision", PrecisionType.Float32)
    options: dict[str, Any] = {
        "device_id": config.gpu_device_id(),
        "trt_max_workspace_size": given.get("workspace_size", 1 << 30),
        "trt_min_subgraph_size": given.get("min_subgraph_size", 3),
        "trt_fp16_enable": precision in (PrecisionType.Half, PrecisionType.Int8),
        "trt_bf16_enable": precision == PrecisionType.Bfloat16,
        "trt_int8_enable": precision == PrecisionType.Int8,
        "trt_cuda_graph_enable": bool(given.get("use_cuda_graph")),
        "trt_builder_optimization_level": config.tensorrt_optimization_level(),
    }
    if given.get("use_static"):
        options["trt_engine_cache_enable"] = options["trt_timing_cache_enable"] = True
        options["trt_engine_cache_path"] = options["trt_timing_cache_path"] = _cache_folder(config)
    if settings["tensorrt_dla_enabled"]:
        options["trt_dla_enable"], options["trt_dla_core"] = True, given.get("dla_core", 0)
    for name, shapes in zip(("min", "max", "opt"), given.get("shapes", ())):
        if shapes:
            options[f"trt_profile_{name}_shapes"] = ",".join(
                f"{n}:{'x'.join(map(str, shape))}" for n, shape in shapes.items()
            )
    return options


def _cache_folder(config: Any) -> str:
    """Where engines are kept: the folder that was named, or one beside the model."""
    named = config._settings.get("optim_cache_dir")
    beside = config.model_dir() or os.path.dirname(config.prog_file()) or "."
    folder = named or os.path.join(beside, "_opt_cache")
    os.makedirs(folder, exist_ok=True)
    return folder


# ---- OpenVINO ----


def _openvino() -> Any:
    """The package openvino without its telemetry, which would fork this process, whose threads hold locks, to report the
    import. It does without where that package is absent."""
    if "openvino" in sys.modules or "openvino_telemetry" in sys.modules:
        return try_import("openvino")
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    try:
        return try_import("openvino")
    finally:
        del sys.modules["openvino_telemetry"]


_PRECISIONS = {PrecisionType.Float32: "f32", PrecisionType.Half: "f16", PrecisionType.Bfloat16: "bf16"}


class OpenVino:
    """A model in OpenVINO, on the CPU."""

    def __init__(self, model: Any, config: Any):
        openvino = _openvino()
        core = openvino.Core()
        options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": _PRECISIONS.get(config._openvino_precision, "f32")}
        if config._threads_given:
            options["INFERENCE_NUM_THREADS"] = config._threads
        cache = config._settings.get("optim_cache_dir")
        if cache:
            core.set_property({"CACHE_DIR": cache})
        read = core.read_model(model=model.SerializeToString())
        self.compiled = core.compile_model(read, "CPU", options)
        self._names = [i.get_any_name() for i in self.compiled.inputs]
        self._types = [np.dtype(o.get_element_type().to_dtype()) for o in self.compiled.outputs]
        self._requests = threading.local()

    def run(self, feeds: dict[str, Any]) -> list:
        request = getattr(self._requests, "request", None)
        if request is None:
            request = self._requests.request = self.compiled.create_infer_request()
        request.infer({n: np.ascontiguousarray(feeds[n]).reshape(np.shape(feeds[n])) for n in self._names})
        return [np.array(request.get_output_tensor(i).data, t) for i, t in enumerate(self._types)]

    @property
    def providers(self) -> list[str]:
        return ["OpenVINO"]
