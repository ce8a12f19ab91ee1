"""The inference engine: a saved model, optimised and compiled ahead, behind handles for inputs and outputs."""

from .config import Config, XpuConfig
from .enums import DataType, PlaceType, PrecisionType
from .mixed_precision import convert_to_mixed_precision
from .predictor import Predictor, PredictorPool, Tensor, create_predictor
from .version import (
    InternalUtils,
    _get_phi_kernel_name,
    get_num_bytes_of_data_type,
    get_trt_compile_version,
    get_trt_runtime_version,
    get_version,
)

__all__ = [
    "Config",
    "DataType",
    "PlaceType",
    "PrecisionType",
    "Tensor",
    "Predictor",
    "create_predictor",
    "get_version",
    "_get_phi_kernel_name",
    "get_trt_compile_version",
    "convert_to_mixed_precision",
    "get_trt_runtime_version",
    "get_num_bytes_of_data_type",
    "PredictorPool",
    "XpuConfig",
]
