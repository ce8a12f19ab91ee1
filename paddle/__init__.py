"""paddle-xla: the PaddlePaddle programming model on the XLA compiler."""

from importlib import import_module as _import_module

from .engine import compile as _compile  # noqa: F401  (sets the compiler up before anything else)
from .engine import fork as _fork  # noqa: F401  (what a forked process needs)
from .engine import capture as _capture  # noqa: F401  (what repeats runs compiled)
from .engine.autograd import grad
from .engine.dtype import (
    DType as dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    pstring,
    raw,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .engine.flags import get_flags, set_flags
from .engine.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .engine.place import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    IPUPlace,
    TPUPlace,
    XPUPlace,
    get_device,
    set_device,
)
from .engine.printing import set_printoptions
from .engine.random import Generator, get_rng_state, seed, set_rng_state
from .engine.random import get_rng_state as get_cuda_rng_state, set_rng_state as set_cuda_rng_state
from .engine.shape import Size
from .engine.parameter import Parameter
from .engine.tensor import Tensor
from .framework.io import load, save
from .framework.mode import disable_static, enable_static, in_dynamic_mode
from .version import full_version as __version__
from . import ops
from .ops.attributes import *
from .ops.comparison import *
from .ops.complex_numbers import *
from .ops.creation import *
from .ops.cumulative import *
from .ops.decomposition import *
from .ops.diagonals import *
from .ops.elementwise import *
from .ops.equations import *
from .ops.expansion import *
from .ops.joining import *
from .ops.linalg import *
from .ops.manipulation import *
from .ops.math import *
from .ops.norm import *
from .ops.parts import *
from .ops.random import *
from .ops.reduction import *
from .ops.scatter import *
from .ops.search import *
from .ops.selection import *
from .ops.special import *
from .ops.statistics import *
from .ops.window_functions import *
from . import (
    amp,
    autograd,
    device,
    distributed,
    distribution,
    fft,
    incubate,
    io,
    jit,
    linalg,
    metric,
    nn,
    optimizer,
    regularizer,
    signal,
    static,
    utils,
    version,
    vision,
)
from . import compat, cuda, functional, geometric, hub, random, sparse, special, sysconfig, tensor
from .amp import autocast, get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype, is_autocast_enabled
from .compat.nn.functional import softmax
from .compat.proxy import (
    disable_torch_proxy as disable_compat,
    enable_torch_proxy as enable_compat,
    use_torch_proxy_guard as use_compat_guard,
)
from .framework.async_io import async_save, clear_async_save_task_queue
from .framework.constants import *
from .framework.mmap_storage import MmapStorage
from .framework.reader import batch
from .framework.signals import disable_signal_handler
from .framework.typed import *
from .nn.functional import adaptive_avg_pool1d, conv1d, conv2d, conv3d, group_norm, layer_norm
from .utils.dlpack import from_dlpack, to_dlpack
from .nn.lazy import LazyGuard
from .nn.parameter import ParamAttr, create_parameter
from .device import (
    Event,
    Stream,
    XPUPinnedPlace,
    device_guard,
    get_cudnn_version,
    get_default_device,
    get_device,
    get_device_module,
    manual_seed,
    set_default_device,
)
from .device import (
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_distribute,
    is_compiled_with_ipu,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
)


# Imported when they are first used: a part of the package, or the part that has a name.
_LATER = (
    "audio",
    "callbacks",
    "fluid",
    "hapi",
    "inference",
    "onnx",
    "profiler",
    "quantization",
    "reader",
    "serving",
    "text",
    "visual_log",
)
_LATER_NAMES = {"DataParallel": "distributed", "Model": "hapi", "flops": "hapi", "summary": "hapi"}


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_LATER_NAMES})


def __getattr__(name: str):
    if name in _LATER:
        return _import_module(f"paddle.{name}")
    if name in _LATER_NAMES:
        return getattr(_import_module(f"paddle.{_LATER_NAMES[name]}"), name)
    raise AttributeError(
        f"module 'paddle' has no attribute {name!r}: no part of the API, or not built yet (docs/status.md)"
    )
