"""Saving and loading, and names that the official package also keeps under `paddle.framework`."""

from ..engine.autograd import grad
from ..engine.dtype import get_default_dtype, set_default_dtype
from ..engine.flags import get_flags, set_flags
from ..engine.place import CPUPlace, CUDAPinnedPlace, CUDAPlace, CustomPlace, XPUPlace
from ..engine.random import get_rng_state as get_cuda_rng_state
from ..engine.random import seed
from ..engine.random import set_rng_state as set_cuda_rng_state
from ..engine.modes import no_grad
from ..engine.place import IPUPlace
from ..engine.parameter import Parameter
from .async_io import async_save, clear_async_save_task_queue
from .io import load, save
from .mode import disable_static, enable_static, in_dynamic_mode
from .signals import disable_signal_handler
from . import tensor_kinds  # noqa: F401  (gives Tensor methods)

__all__ = [
    "load",
    "save",
    "grad",
    "seed",
    "get_default_dtype",
    "set_default_dtype",
    "get_flags",
    "set_flags",
    "CPUPlace",
    "CUDAPlace",
    "CUDAPinnedPlace",
    "CustomPlace",
    "XPUPlace",
    "disable_static",
    "enable_static",
    "in_dynamic_mode",
    "get_cuda_rng_state",
    "set_cuda_rng_state",
]
