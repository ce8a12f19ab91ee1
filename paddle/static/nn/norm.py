"""Normalisation in programs."""

from __future__ import annotations

import math
from typing import Any

from ...engine import errors
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...nn.initializer import Constant, Normal
from ...nn.parameter import ParamAttr
from .builder import Builder

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "spectral_norm"]

_ONE, _ZERO = Constant(1.0), Constant(0.0)


@errors.clean
def batch_norm(
    input: Tensor,
    act: str | None = None,
    is_test: bool = False,
    momentum: Any = 0.9,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Tensor:
    """Each channel with mean 0 and variance 1 over the batch, then scaled and shifted (Ioffe and Szegedy, 2015).

    Args:
        input: shape [N, C], [N, C, ...] or [N, ..., C].
        act: the name of an activation.
        is_test: use the running statistics, as a clone for testing does.
        momentum: how much the running statistics keep.
        param_attr, bias_attr: of scale and shift.
        data_layout: "NCHW" or "NHWC".
        moving_mean_name, moving_variance_name: names for the running statistics.
        use_global_stats: use the running statistics also in training.
        in_place: accepted.
    """
    layer = Builder("batch_norm", name)
    layer.check("input", input)
    if data_layout not in ("NCHW", "NHWC"):
        raise errors.ValueError_(f"batch_norm: data_layout must be NCHW or NHWC, got {data_layout!r}")
    shape = layer.fixed("input", [input.shape[1 if data_layout == "NCHW" or input.ndim == 2 else -1]])
    dtype = "float32" if input.dtype.name in ("float16", "bfloat16") else input.dtype
    weight = layer.parameter(param_attr, shape, dtype, initializer=_ONE)
    bias = layer.parameter(bias_attr, shape, dtype, is_bias=True)
    average = do_model_average_for_mean_and_var
    mean = layer.parameter(ParamAttr(moving_mean_name, _ZERO, trainable=False, do_model_average=average), shape, dtype)
    variance = layer.parameter(
        ParamAttr(moving_variance_name, _ONE, trainable=False, do_model_average=average), shape, dtype
    )
    out = F.batch_norm(
        input,
        mean,
        variance,
        weight,
        bias,
        training=not is_test,
        momentum=momentum,
        epsilon=epsilon,
        data_format="NCHW" if input.ndim == 2 else data_layout,
        use_global_stats=True if use_global_stats else None,
    )
    return layer.finish(out, act)


@errors.clean
def layer_norm(
    input: Tensor,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The axes from `begin_norm_axis` on with mean 0 and variance 1 (Ba et al., 2016).

    Args:
        scale, shift: False leaves out the parameters that multiply, that are added.
    """
    layer = Builder("layer_norm", name)
    layer.check("input", input)
    lengths = layer.fixed("input", input.shape[begin_norm_axis:])
    if not lengths:
        raise errors.ValueError_(
            f"layer_norm: begin_norm_axis must be an axis of input, got {begin_norm_axis} and {list(input.shape)}"
        )
    shape = [math.prod(lengths)]
    weight = layer.parameter(param_attr, shape, input.dtype, initializer=_ONE) if scale else None
    bias = layer.parameter(bias_attr, shape, input.dtype, is_bias=True) if shift else None
    return layer.finish(F.layer_norm(input, lengths, weight, bias, epsilon), act)


@errors.clean
def group_norm(
    input: Tensor,
    groups: int,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Each group of channels of each sample with mean 0 and variance 1 (Wu and He, 2018)."""
    layer = Builder("group_norm", name)
    layer.check("input", input)
    shape = layer.fixed("input", [input.shape[1 if data_layout[1] == "C" else -1]])
    weight = layer.parameter(param_attr, shape, input.dtype, initializer=_ONE)
    bias = layer.parameter(bias_attr, shape, input.dtype, is_bias=True)
    return layer.finish(F.group_norm(input, groups, epsilon, weight, bias, data_layout), act)


@errors.clean
def instance_norm(
    input: Tensor, epsilon: float = 1e-05, param_attr: Any = None, bias_attr: Any = None, name: str | None = None
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1 (Ulyanov et al., 2016).

    Args:
        param_attr, bias_attr: both False for no scale and shift.
    """
    layer = Builder("instance_norm", name)
    layer.check("input", input)
    if (param_attr is False) != (bias_attr is False):
        raise errors.ValueError_("instance_norm: param_attr and bias_attr must both be False, or neither")
    shape = layer.fixed("input", [input.shape[1]])
    weight = layer.parameter(param_attr, shape, input.dtype, initializer=_ONE)
    bias = layer.parameter(bias_attr, shape, input.dtype, is_bias=True)
    return layer.finish(F.instance_norm(input, weight=weight, bias=bias, eps=epsilon))


@errors.clean
def spectral_norm(
    weight: Tensor, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None
) -> Tensor:
    """A weight divided by its largest singular value, which power iteration estimates (Miyato et al., 2018).

    Args:
        dim: the axis that becomes the rows of the matrix.
        power_iters: steps in each run.
    """
    from ...nn.utils.spectral import divide_by_norm

    layer = Builder("spectral_norm", name)
    layer.check("weight", weight)
    shape = layer.fixed("weight", weight.shape)
    if not -len(shape) <= dim < len(shape):
        raise errors.ValueError_(f"spectral_norm: dim={dim} is no axis of {shape}")
    fixed = ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)
    u = layer.parameter(fixed, [shape[dim]], weight.dtype)
    v = layer.parameter(fixed, [math.prod(shape) // shape[dim]], weight.dtype)
    return layer.finish(divide_by_norm(weight, u, v, dim % len(shape), power_iters, eps))
