"""What can run a model: ONNX Runtime's execution providers under the names that are used for them.

`BACKENDS` has a row for each back end, `TARGETS` tells which of them stands for an official target name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .enums import TargetType

__all__ = ["BACKENDS", "Backend", "Found", "TARGETS", "Wishes", "backend_of", "backends", "chosen", "runtime",
           "target_names"]  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """What a back end is asked for, beside the model."""

    half: bool = False  # compute in float16 where it can
    threads: int = 1
    device: int = 0
    cache: str = ""  # folder for what it compiles


@dataclass(frozen=True)
class Backend:
    """A row of the table.

    Attributes:
        providers: names of execution providers, the first that is there is taken.
        needs: what has to be installed, for messages.
        options: (wishes) -> options of the provider.
        session: entries of the session's configuration.
        own_threads: it has threads of its own; the runtime's would only compete with them.
    """

    name: str
    providers: tuple[str, ...]
    hardware: str
    needs: str
    options: Callable[[Wishes], dict[str, str]] = lambda wishes: {}
    session: dict[str, str] = field(default_factory=dict)
    own_threads: bool = False


def _coreml(wishes: Wishes) -> dict[str, str]:
    options = {"ModelFormat": "MLProgram", "MLComputeUnits": "ALL"}
    return {**options, "ModelCacheDirectory": wishes.cache} if wishes.cache else options


def _qnn(wishes: Wishes) -> dict[str, str]:
    return {"backend_type": "htp", "enable_htp_fp16_precision": "1" if wishes.half else "0"}


def _cann(wishes: Wishes) -> dict[str, str]:
    mode = "force_fp16" if wishes.half else "must_keep_origin_dtype"
    return {"device_id": str(wishes.device), "precision_mode": mode}


def _openvino(wishes: Wishes) -> dict[str, str]:
    options = {"device_type": "CPU", "num_of_threads": str(wishes.threads)}  # AUTO takes no part of a model
    return {**options, "cache_dir": wishes.cache} if wishes.cache else options


def _tensorrt(wishes: Wishes) -> dict[str, str]:
    options = {"device_id": str(wishes.device), "trt_fp16_enable": "True" if wishes.half else "False"}
    if wishes.cache:
        options |= {"trt_engine_cache_enable": "True", "trt_engine_cache_path": wishes.cache}
    return options


def _rocm(wishes: Wishes) -> dict[str, str]:
    return {"device_id": str(wishes.device), "migraphx_fp16_enable": "1" if wishes.half else "0"}


_ROWS = (
    Backend("nnapi", ("NnapiExecutionProvider",), "Android NPUs, GPUs, DSPs", "ONNX Runtime for Android, with NNAPI"),
    Backend("coreml", ("CoreMLExecutionProvider",), "Apple CPU, GPU, Neural Engine",
            "ONNX Runtime for macOS or iOS (pip install onnxruntime, on a Mac)", _coreml),
    Backend("xnnpack", ("XnnpackExecutionProvider",), "ARM and x86 CPUs", "ONNX Runtime built with XNNPACK",
            lambda w: {"intra_op_num_threads": str(w.threads)}, {"session.intra_op.allow_spinning": "0"},
            own_threads=True),
    Backend("qnn", ("QNNExecutionProvider",), "Qualcomm NPU, GPU", "pip install onnxruntime-qnn", _qnn),
    Backend("cann", ("CANNExecutionProvider",), "Huawei Ascend NPU", "pip install onnxruntime-cann", _cann),
    Backend("openvino", ("OpenVINOExecutionProvider",), "Intel CPU, GPU, NPU", "pip install onnxruntime-openvino",
            _openvino),
    Backend("tensorrt", ("TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider"), "NVIDIA GPU",
            "pip install onnxruntime-gpu tensorrt", _tensorrt),
    Backend("rocm", ("MIGraphXExecutionProvider", "ROCMExecutionProvider"), "AMD GPU",
            "ONNX Runtime built with MIGraphX", _rocm),
    Backend("directml", ("DmlExecutionProvider",), "any GPU on Windows", "pip install onnxruntime-directml",
            lambda w: {"device_id": str(w.device)}),
    Backend("acl", ("ACLExecutionProvider",), "ARM CPU (Arm Compute Library)", "ONNX Runtime built with ACL",
            lambda w: {"enable_fast_math": "true" if w.half else "false"}),
    Backend("rknpu", ("RknpuExecutionProvider",), "Rockchip NPU", "ONNX Runtime built with RKNPU"),
    Backend("webgpu", ("WebGpuExecutionProvider", "JsExecutionProvider"), "any GPU (Vulkan, Metal, D3D12)",
            "pip install onnxruntime-webgpu"),
)  # fmt: skip
_CPU = Backend("cpu", ("CPUExecutionProvider",), "the CPU", "pip install onnxruntime")
BACKENDS = {row.name: row for row in (*_ROWS, _CPU)}

# Official target names and the back end for each; None: ONNX Runtime has none, such a file runs on the CPU.
TARGETS: dict[str, str | None] = {
    **{name: name for name in BACKENDS},
    "arm": "cpu", "host": "cpu", "x86": "cpu", "any": "cpu",
    "opencl": "webgpu", "x86_opencl": "webgpu", "metal": "coreml",
    "npu": "nnapi", "nnadapter": "nnapi", "android_nnapi": "nnapi", "huawei_kirin_npu": "nnapi",
    "mediatek_apu": "nnapi", "apu": "nnapi", "imagination_nna": "nnapi", "google_xnnpack": "xnnpack",
    "huawei_ascend_npu": "cann", "qualcomm_qnn": "qnn", "rockchip_npu": "rknpu",
    "nvidia_tensorrt": "tensorrt", "cuda": "tensorrt", "intel_openvino": "openvino",
    "kunlunxin_xtcl": None, "xpu": None, "cambricon_mlu": None, "mlu": None, "bm": None, "fpga": None,
    "intel_fpga": None, "amlogic_npu": None, "verisilicon_timvx": None, "eeasytech_npu": None,
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A line of the report of `backends`."""

    name: str
    present: bool
    provider: str
    hardware: str
    needs: str

    def __str__(self) -> str:
        state = "present" if self.present else f"absent, needs {self.needs}"
        return f"{self.name:<9} {self.hardware:<31} {self.provider:<27} {state}"


def runtime() -> Any:
    """The package onnxruntime. ImportError, which says what to install, where it is missing."""
    try:
        import onnxruntime
    except ImportError as e:
        raise ImportError(
            f"paddlelite runs models with the package 'onnxruntime', which cannot be imported ({e}): "
            "pip install onnxruntime"
        ) from e
    return onnxruntime


def _here() -> set[str]:
    try:
        return set(runtime().get_available_providers())
    except ImportError:
        return set()


def backends() -> list[Found]:
    """Which back ends there are, and which of them this machine's ONNX Runtime has.

    "Present" says that the runtime was built with the provider; whether its hardware is there shows when a predictor is made.

    Example:
        >>> import paddlelite as lite
        >>> len(lite.backends())
        13
        >>> [b.present for b in lite.backends() if b.name == "cpu"]
        [True]
    """
    here = _here()
    found = []
    for row in BACKENDS.values():
        present = [p for p in row.providers if p in here]
        found.append(Found(row.name, bool(present), (present or row.providers)[0], row.hardware, row.needs))
    return found


def backend_of(where: str, name: Any) -> Backend | None:
    """The back end of a target's name; None for a target that has none. ValueError for a name that is unknown."""
    if not isinstance(name, str) or name.lower() not in TARGETS:
        raise ValueError(f"{where}: there is no target {name!r}; there are {', '.join(sorted(TARGETS))}")
    found = TARGETS[name.lower()]
    return None if found is None else BACKENDS[found]


def target_names(where: str, targets: Any) -> list[str]:
    """Names of targets from a string with commas or blanks between them, or a list of names, TargetTypes and Places."""
    parts = targets.replace(",", " ").split() if isinstance(targets, str) else targets
    if not isinstance(parts, Iterable):
        parts = [parts]
    names: list[str] = []
    for part in parts:
        target = getattr(part, "target", part)  # of a Place
        name = target.name if isinstance(target, TargetType) else target
        backend_of(where, name)
        if name.lower() not in names:
            names.append(name.lower())
    if not names:
        raise ValueError(f"{where}: no target is named")
    return names


def chosen(where: str, targets: list[str], strict: bool) -> list[tuple[Backend, str]]:
    """The back ends for targets that this machine has, each with its provider, in order, without the CPU.

    For those that are absent there is one warning, or, `strict`, a RuntimeError.
    """
    here = set(runtime().get_available_providers())
    found: list[tuple[Backend, str]] = []
    missing = []
    for target in targets:
        row = backend_of(where, target)
        if row is None:
            missing.append(f"{target!r} (ONNX Runtime has no execution provider for it)")
            continue
        present = [p for p in row.providers if p in here]
        if not present:
            missing.append(f"{target!r} ({row.providers[0]}; {row.needs})")
        elif row is not _CPU and all(row is not b for b, _ in found):
            found.append((row, present[0]))
    if missing:
        message = f"{where}: absent on this machine: {', '.join(missing)}"
        if strict:
            raise RuntimeError(message)
        warnings.warn(f"{message}; the model runs on {found[0][0].name if found else 'the CPU'}", stacklevel=4)
    return found
