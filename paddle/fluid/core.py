"""The few names of the official extension module that programs use."""

from ..device import get_cudnn_version, is_compiled_with_cuda, is_compiled_with_xpu
from ..device.cuda import device_count as get_cuda_device_count
from ..engine.errors import NoValue as EOFException
from ..engine.place import CPUPlace, CUDAPinnedPlace, CUDAPlace, XPUPlace
from ..engine.tensor import Tensor as LoDTensor
from ..engine.tensor import Tensor as VarBase
from ..static.executor import Scope

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EOFException",
    "LoDTensor",
    "Scope",
    "VarBase",
    "XPUPlace",
    "get_cuda_device_count",
    "get_cudnn_version",
    "is_compiled_with_cuda",
    "is_compiled_with_xpu",
]
