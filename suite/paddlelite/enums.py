"""The constants of the interface, with the official names and numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

__all__ = ["CLPrecisionType", "CLTuneMode", "DataLayoutType", "PD_INFER_MODEL", "PD_INFER_PARAMS", "Place", "PowerMode",
           "PrecisionMode", "PrecisionType", "QuantType", "TargetType", "member"]  # fmt: skip

PD_INFER_MODEL, PD_INFER_PARAMS = 0, 1  # what a file given to `MobileConfig.set_model_from_file` holds


class PowerMode(IntEnum):
    """Which cores work, see docs/lite.md."""

    LITE_POWER_HIGH = 0
    LITE_POWER_LOW = 1
    LITE_POWER_FULL = 2
    LITE_POWER_NO_BIND = 3
    LITE_POWER_RAND_HIGH = 4
    LITE_POWER_RAND_LOW = 5


class TargetType(IntEnum):
    """Kinds of hardware."""

    Unk = 0
    Host = 1
    X86 = 2
    CUDA = 3
    ARM = 4
    OpenCL = 5
    Any = 6
    FPGA = 7
    NPU = 8
    XPU = 9
    BM = 10
    MLU = 11
    RKNPU = 12
    APU = 13
    HUAWEI_ASCEND_NPU = 14
    IMAGINATION_NNA = 15
    INTEL_FPGA = 16
    Metal = 17
    NNAdapter = 18


class PrecisionType(IntEnum):
    """Types of elements."""

    Unk = 0
    FP32 = 1
    INT8 = 2
    INT32 = 3
    Any = 4
    FP16 = 5
    BOOL = 6
    INT64 = 7
    INT16 = 8
    UINT8 = 9
    FP64 = 10


class DataLayoutType(IntEnum):
    """Orders of axes; what runs is always NCHW."""

    Unk = 0
    NCHW = 1
    Any = 2
    NHWC = 3
    ImageDefault = 4
    ImageFolder = 5
    ImageNW = 6
    MetalTexture2DArray = 7
    MetalTexture2D = 8


class PrecisionMode(IntEnum):
    """LOW lets an accelerator compute in half precision."""

    LITE_PRECISION_NORMAL = 0
    LITE_PRECISION_LOW = 1


class CLTuneMode(IntEnum):
    """Tuning of OpenCL; recorded only."""

    CL_TUNE_NONE = 0
    CL_TUNE_RAPID = 1
    CL_TUNE_NORMAL = 2
    CL_TUNE_EXHAUSTIVE = 3


class CLPrecisionType(IntEnum):
    """Precision of OpenCL; recorded only."""

    CL_PRECISION_AUTO = 0
    CL_PRECISION_FP32 = 1
    CL_PRECISION_FP16 = 2


class QuantType(IntEnum):
    """Widths of quantised weights."""

    QUANT_INT8 = 0
    QUANT_INT16 = 1


def member(where: str, kind: type, value: Any) -> Any:
    """A member of an enumeration, from itself, its number or its name. ValueError for anything else."""
    if isinstance(value, str) and value in kind.__members__:  # type: ignore[attr-defined]
        return kind[value]  # type: ignore[index]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return kind(value)
        except ValueError:
            pass
    raise ValueError(f"{where}: one of {kind.__name__}.{', '.join(kind.__members__)} is needed, got {value!r}")  # type: ignore[attr-defined]


class Place:
    """Hardware, precision and layout, for `CxxConfig.set_valid_places`.

    Example:
        >>> from paddlelite import Place, TargetType
        >>> Place(TargetType.ARM).is_valid()
        True
    """

    def __init__(
        self,
        target: Any = TargetType.Unk,
        percision: Any = PrecisionType.FP32,  # the official spelling
        layout: Any = DataLayoutType.NCHW,
        device: int = 0,
    ):
        self.target = member("Place: target", TargetType, target)
        self.precision = member("Place: percision", PrecisionType, percision)
        self.layout = member("Place: layout", DataLayoutType, layout)
        if not isinstance(device, int) or isinstance(device, bool) or device < 0:
            raise ValueError(f"Place: device must be an int from 0, got {device!r}")
        self.device = device

    def is_valid(self) -> bool:
        """Whether target, precision and layout are known."""
        return bool(self.target and self.precision and self.layout)

    def __repr__(self) -> str:
        return f"Place({self.target.name}, {self.precision.name}, {self.layout.name}, {self.device})"
