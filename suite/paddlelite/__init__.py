"""paddlelite: the mobile face - small files, a small interface, ONNX Runtime and its accelerators underneath.

A model is optimised once (`Opt`, ``python -m paddlelite.opt``; this needs paddle) and becomes one ``.nb`` file. Running that
needs NumPy and ONNX Runtime only. `backends` tells which accelerators are there.
"""

from typing import Any

from .accelerators import BACKENDS, TARGETS, backends
from .config import CxxConfig, CxxModelBuffer, MobileConfig
from .enums import (
    PD_INFER_MODEL,
    PD_INFER_PARAMS,
    CLPrecisionType,
    CLTuneMode,
    DataLayoutType,
    Place,
    PowerMode,
    PrecisionMode,
    PrecisionType,
    QuantType,
    TargetType,
)
from .predictor import PaddlePredictor, Tensor, create_paddle_predictor, create_predictor

__version__ = "0.1.0"

__all__ = [
    "BACKENDS", "CLPrecisionType", "CLTuneMode", "CxxConfig", "CxxModelBuffer", "DataLayoutType", "MobileConfig", "Opt",
    "PD_INFER_MODEL", "PD_INFER_PARAMS", "PaddlePredictor", "Place", "PowerMode", "PrecisionMode", "PrecisionType",
    "QuantType", "TARGETS", "TargetType", "Tensor", "backends", "create_paddle_predictor", "create_predictor",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "Opt":  # apart, since `python -m paddlelite.opt` loads its module itself
        from .opt import Opt

        return Opt
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
