"""Functions and layers for inference only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..engine.modes import set_mode
from ..nn.layer import Layer

__all__ = ["inference", "is_inference_mode"]


def inference(
    function: Any = None,
    cache_static_model: bool = False,
    save_model_dir: str | None = None,
    memory_pool_init_size_mb: int = 1000,
    precision_mode: str = "float32",
    switch_ir_optim: bool = True,
    switch_ir_debug: bool = False,
    enable_cinn: bool = False,
    with_trt: bool = False,
    trt_precision_mode: str = "float32",
    trt_use_static: bool = False,
    collect_shape: bool = False,
    enable_new_ir: bool = False,
    exp_enable_use_cutlass: bool = False,
    delete_pass_lists: list[str] | None = None,
    skip_prune_program: bool = False,
) -> Any:
    """Let a function or a layer run for inference: without recording gradients. Also a decorator.

    Args:
        function: a function, or a Layer, whose `forward` is replaced.
        cache_static_model, save_model_dir, memory_pool_init_size_mb, precision_mode, switch_ir_optim, switch_ir_debug,
            enable_cinn, with_trt, trt_precision_mode, trt_use_static, collect_shape, enable_new_ir,
            exp_enable_use_cutlass, delete_pass_lists, skip_prune_program: accepted and without effect; XLA compiles, and
            keeps what it compiled.

    Example:
        >>> @paddle.incubate.jit.inference
        ... def double(x):
        ...     return x * 2
        >>> double(paddle.ones([1])).tolist()
        [2.0]
    """
    if function is None:
        return inference
    if isinstance(function, Layer):
        function.forward = _without_gradients(function.forward)
        return function
    return _without_gradients(function)


def _without_gradients(function: Callable) -> Callable:
    @functools.wraps(function)
    def call(*args, **kwargs):
        with set_mode(grad=False):
            return function(*args, **kwargs)

    call._for_inference = True  # type: ignore[attr-defined]
    return call


def is_inference_mode(function: Any) -> bool:
    """Whether `inference` made this function, or the `forward` of this layer.

    Example:
        >>> paddle.incubate.jit.is_inference_mode(print)
        False
    """
    return hasattr(function.forward if isinstance(function, Layer) else function, "_for_inference")
