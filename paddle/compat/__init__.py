"""Functions that take the arguments of PyTorch and return what it returns, where `paddle` has the name with another
meaning."""

from . import nn
from .functions import (
    MedianRetType,
    MinMaxRetType,
    SlogdetResult,
    SortRetType,
    equal,
    max,
    median,
    min,
    nanmedian,
    seed,
    slogdet,
    sort,
    split,
    unique,
)
from .proxy import disable_torch_proxy, enable_torch_proxy, extend_torch_proxy_blocked_modules, use_torch_proxy_guard

__all__ = ["equal", "max", "median", "min", "nanmedian", "nn", "seed", "slogdet", "sort", "split", "unique"]
