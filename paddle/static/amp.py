"""Mixed precision in the older form: everything is decided when model and optimizer are decorated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..amp import AmpScaler
from ..amp import decorate as _decorate
from ..amp.autocast import auto_cast, low_dtype
from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.tensor import Tensor
from . import bf16
from .mixed_precision import (
    AutoMixedPrecisionLists,
    CustomOpLists,
    cast_model_to_fp16,
    cast_parameters_to_fp16,
    decorated,
    fp16_guard,
)

__all__ = [
    "bf16",
    "AutoMixedPrecisionLists",
    "CustomOpLists",
    "cast_model_to_fp16",
    "cast_parameters_to_fp16",
    "decorate",
    "fp16_guard",
    "scale_loss",
]


@errors.clean
def decorate(*args: Any, **kwargs: Any) -> Any:
    """Decorate a model and its optimizer for training at level O1 or O2, without `auto_cast` and scaler in the loop.

    The model casts its floating inputs and computes under `auto_cast`; `scale_loss` multiplies the loss by the scale;
    the optimizer's `step` divides the gradients by it, skips the update when one is infinite or NaN, and adapts the
    scale. bfloat16 and float8_e4m3fn need no scale, it is 1.

    With an optimizer in the first place it is for programs: the result's `minimize` puts casts into the program and, for
    float16, scales the loss (arguments `amp_lists`, `level`, `dtype`, `init_loss_scaling`, `incr_every_n_steps`,
    `decr_every_n_nan_or_inf`, `incr_ratio`, `decr_ratio`, `use_dynamic_loss_scaling`, `use_fp16_guard`).

    Args:
        models, optimizers: a Layer and an Optimizer (or lists), by keyword.
        level, dtype, and what else `paddle.amp.decorate` takes: by keyword.

    Returns:
        The models and the optimizers, or the optimizer for programs.

    Example:
        >>> net = paddle.nn.Linear(2, 1)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> net, sgd = paddle.static.amp.decorate(models=net, optimizers=sgd, dtype=paddle.bfloat16, level="O2")
        >>> paddle.static.amp.scale_loss(net(paddle.ones([1, 2])).sum(), sgd).backward()
        >>> sgd.step()
    """
    if "models" not in kwargs:
        return decorated(*args, **kwargs)
    if args:
        raise errors.TypeError_("decorate: models and optimizers are given by keyword")
    kwargs.setdefault("level", "O1")
    dtype = low_dtype("decorate", kwargs.setdefault("dtype", "float16"))
    found = _decorate(**kwargs)
    for model in _as_list(kwargs["models"]):
        model.forward = functools.partial(_forward, model.forward, dtype, kwargs["level"])
    for optimizer in _as_list(kwargs.get("optimizers")):
        optimizer._loss_scaler = AmpScaler(enable=dtype == "float16")
        optimizer._loss_is_scaled = False
        optimizer.step = functools.partial(_step, optimizer)
    return found


def _as_list(value: Any) -> list:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _forward(forward: Callable, dtype: str, level: str, *inputs: Any, **kwargs: Any) -> Any:
    low = "bfloat16" if dtype == "float8_e4m3fn" else dtype
    if level == "O2":
        inputs = tuple(_lower(x, low) for x in inputs)
        kwargs = {key: _lower(x, low) for key, x in kwargs.items()}
    with auto_cast(level=level, dtype=dtype):
        return forward(*inputs, **kwargs)


def _lower(value: Any, low: str) -> Any:
    if isinstance(value, Tensor):
        return value.astype(low) if value.dtype is dtypes.float32 else value
    if isinstance(value, (list, tuple)):
        return type(value)(_lower(v, low) for v in value)
    return value


def scale_loss(loss: Tensor, optimizer: Any) -> Tensor:
    """The loss times the scale of a decorated optimizer, whose next `step` divides the gradients by it.

    Raises ValueError when the optimizer is not decorated.
    """
    scaler = getattr(optimizer, "_loss_scaler", None)
    if scaler is None:
        raise errors.ValueError_("scale_loss: the optimizer was not decorated with paddle.static.amp.decorate")
    optimizer._loss_is_scaled = True
    return scaler.scale(loss)


def _step(optimizer: Any) -> None:
    scaler, scaled = optimizer._loss_scaler, optimizer._loss_is_scaled
    optimizer._loss_is_scaled = False
    if scaled and scaler.is_enable():
        scaler._step(optimizer)
        scaler._update()
    else:
        type(optimizer).step(optimizer)
