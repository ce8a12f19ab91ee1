"""Normalisation. Statistics are taken in float32 for half-precision inputs; variances are the biased ones."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.modes import modes, set_mode
from ..engine.op import api, op
from ..engine.promotion import as_float
from .activation import wide
from .axes import axis_of
from .distance import absolute

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)

_FORMATS = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")


def _channel_axis(name: str, x: Any, data_format: str, least: int = 2) -> int:
    if data_format not in _FORMATS:
        raise errors.ValueError_(f"{name}: data_format must be one of {', '.join(_FORMATS)}, got {data_format!r}")
    if x.ndim < least:
        raise errors.ValueError_(f"{name}: x must have at least {least} dimensions, got shape {list(x.shape)}")
    return 1 if data_format[1] == "C" else x.ndim - 1


def _standardised(
    x: Any, weight: Any, bias: Any, axes: tuple, epsilon: float, broadcast: tuple = ()
) -> tuple[Any, Any, Any]:
    """x with mean 0 and variance 1 over the axes, times `weight`, plus `bias` (None, or seen in the shape `broadcast`); also
    the mean and the variance, which keep the axes and have no gradient."""
    mean = jnp.mean(x, axes, keepdims=True)
    centred = x - mean
    variance = jnp.mean(centred * centred, axes, keepdims=True)
    y = centred * jax.lax.rsqrt(variance + epsilon)
    y = y if weight is None else y * weight.reshape(broadcast)
    return y if bias is None else y + bias.reshape(broadcast), mean, variance


_standardise = jax.custom_vjp(_standardised, nondiff_argnums=(3, 4, 5))


def _standardise_forward(x, weight, bias, axes, epsilon, broadcast):
    found = _standardised(x, weight, bias, axes, epsilon, broadcast)  # in the open: the second derivative passes here
    _, mean, variance = found
    return found, (x, weight, bias, mean, jax.lax.rsqrt(variance + epsilon))


def _standardise_backward(axes, epsilon, broadcast, saved, cotangents):
    """The formula of Ioffe and Szegedy: two sums, where automatic differentiation passes over the array six times."""
    x, weight, bias, mean, inverse = saved
    g = cotangents[0]
    y = (x - mean) * inverse
    d_bias = d_weight = others = None
    if broadcast:
        full = (1,) * (x.ndim - len(broadcast)) + tuple(broadcast)
        others = tuple(i for i, n in enumerate(full) if n == 1)
        d_bias, d_weight = jnp.sum(g, others, keepdims=True), jnp.sum(g * y, others, keepdims=True)
    scale = inverse if weight is None else inverse * weight.reshape(broadcast)
    n = math.prod(x.shape[i] for i in axes)
    if others == axes:  # a weight that is the same along the axes: it is the same two sums
        d_x = scale * (g - d_bias / n - y * (d_weight / n))
    else:
        h = g if weight is None else g * weight.reshape(broadcast)
        d_x = inverse * (h - jnp.mean(h, axes, keepdims=True) - y * jnp.mean(h * y, axes, keepdims=True))
    return (
        d_x,
        None if weight is None else d_weight.reshape(weight.shape),
        None if bias is None else d_bias.reshape(bias.shape),
    )


_standardise.defvjp(_standardise_forward, _standardise_backward)


def _checked(name: str, weight: Any, bias: Any, shape: tuple, dtype: Any) -> tuple[Any, Any]:
    """Weight and bias in a type; their shapes may be `shape` or flat."""
    for argument, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != shape and value.shape != (int(np.prod(shape)),):
            raise errors.ValueError_(f"{name}: {argument} must have shape {list(shape)}, got {list(value.shape)}")
    return tuple(None if value is None else value.astype(dtype) for value in (weight, bias))  # type: ignore[return-value]


def _affine(name: str, y: Any, weight: Any, bias: Any, shape: tuple, broadcast: Any) -> Any:
    """y * weight + bias, whose shapes may be `shape` or flat, seen in the shape `broadcast`."""
    weight, bias = _checked(name, weight, bias, shape, y.dtype)
    y = y if weight is None else y * weight.reshape(broadcast)
    return y if bias is None else y + bias.reshape(broadcast)


def _per_channel(x: Any, axis: int) -> tuple:
    return tuple(n if i == axis else 1 for i, n in enumerate(x.shape))


# ---- batch ----


@nn_op(export=False, name="batch_norm", scalars="momentum")
def _batch_norm(x, running_mean, running_var, weight, bias, momentum, batch, frozen, epsilon, data_format):
    """The result and the new running statistics; `batch` tells whether those of the batch are used, `frozen` whether
    the gradient is that of the (new) running ones all the same."""
    x = as_float(x)
    axis = _channel_axis("batch_norm", x, data_format)
    n = x.shape[axis]
    for argument, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value.shape != (n,):
            raise errors.ValueError_(f"batch_norm: {argument} must have shape [{n}], got {list(value.shape)}")
    running_mean, running_var = jax.lax.stop_gradient((running_mean, running_var))
    v = wide(x)
    shape = _per_channel(x, axis)

    affine = functools.partial(_affine, "batch_norm", weight=weight, bias=bias, shape=(n,), broadcast=shape)

    def by_running():
        mean, variance = (a.astype(v.dtype).reshape(shape) for a in (running_mean, running_var))
        return affine((v - mean) * jax.lax.rsqrt(variance + epsilon))

    if not batch:
        return by_running().astype(x.dtype), running_mean, running_var
    if x.size == n or x.size == 0:  # one value for each channel has no variance: officially it passes as it is
        return x, running_mean, running_var
    scaled = _checked("batch_norm", weight, bias, (n,), v.dtype)
    y, mean, variance = _standardise(v, *scaled, tuple(i for i in range(x.ndim) if i != axis), epsilon, shape)
    mean, variance = mean.reshape(n), variance.reshape(n)
    running_mean = (momentum * running_mean + (1 - momentum) * mean).astype(running_mean.dtype)
    running_var = (momentum * running_var + (1 - momentum) * variance).astype(running_var.dtype)
    if frozen:
        y = by_running() + jax.lax.stop_gradient(y - by_running())
    return y.astype(x.dtype), running_mean, running_var


@nn_api
def batch_norm(
    x,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.9,
    epsilon=1e-05,
    data_format="NCHW",
    use_global_stats=None,
):
    """Each channel with mean 0 and variance 1 over the batch, then scaled and shifted (Ioffe and Szegedy, 2015).

    Args:
        x: shape [N, C, ...], or [N, ..., C] with a data_format that ends in C.
        running_mean, running_var: shape [C]; with the statistics of the batch in use they become
            momentum * old + (1 - momentum) * batch, in place.
        weight, bias: shape [C], or None.
        training: use the statistics of the batch.
        momentum: how much the running statistics keep.
        epsilon: added to the variance.
        data_format: NC, NCL, NCHW, NCDHW, NLC, NHWC or NDHWC.
        use_global_stats: True uses the running statistics, False those of the batch; None: as `training` says.

    Raises:
        ValueError: shapes that do not fit, an unknown data_format.

    Example:
        >>> mean, var = paddle.zeros([1]), paddle.ones([1])
        >>> paddle.nn.functional.batch_norm(paddle.to_tensor([[1.0], [3.0]]), mean, var, training=True).round().tolist()
        [[-1.0], [1.0]]
    """
    batch = bool(training) if use_global_stats is None else not use_global_stats
    old_mean, old_var = running_mean, running_var
    if modes.program is None:  # the tape keeps the values as they are now
        old_mean, old_var = running_mean._snapshot(), running_var._snapshot()
    y, new_mean, new_var = _batch_norm(
        x, old_mean, old_var, weight, bias, momentum, batch, batch and not training, epsilon, data_format
    )
    if batch:
        with set_mode(grad=False):
            running_mean._rebind(new_mean)
            running_var._rebind(new_var)
    return y


# ---- within a sample ----


@nn_op(static="normalized_shape")
def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05):
    """Each sample with mean 0 and variance 1 over its last axes, then scaled and shifted (Ba et al., 2016).

    Args:
        x: floating.
        normalized_shape: the shape of those axes, an int or a list.
        weight, bias: one number for each normalised element, flat (shape [prod(normalized_shape)]) or in that shape.
        epsilon: added to the variance, in [0, 0.001].

    Raises:
        ValueError: a shape that does not fit, epsilon out of range.

    Example:
        >>> paddle.nn.functional.layer_norm(paddle.to_tensor([1.0, 3.0]).reshape([1, 2]), 2).round().tolist()
        [[-1.0, 1.0]]
    """
    shape = _normalised_shape("layer_norm", x, normalized_shape)
    if not 0 <= epsilon <= 0.001:
        raise errors.ValueError_(f"layer_norm: epsilon must be between 0 and 0.001, got {epsilon}")
    x = as_float(x)
    v = wide(x)
    scaled = _checked("layer_norm", weight, bias, shape, v.dtype)
    return _standardise(v, *scaled, tuple(range(x.ndim - len(shape), x.ndim)), epsilon, shape)[0].astype(x.dtype)


def _normalised_shape(name, x, normalized_shape):
    shape = (normalized_shape,) if isinstance(normalized_shape, (int, np.integer)) else normalized_shape
    if not isinstance(shape, tuple) or not shape or not all(isinstance(s, (int, np.integer)) for s in shape):
        raise errors.ValueError_(
            f"{name}: normalized_shape must be an int or a list of ints, got {errors.describe(normalized_shape)}"
        )
    if x.shape[-len(shape) :] != shape:
        raise errors.ValueError_(f"{name}: x of shape {list(x.shape)} does not end in normalized_shape {list(shape)}")
    return shape


@nn_op(static="normalized_shape")
def rms_norm(input, normalized_shape, weight=None, eps=1e-05):
    """Each sample divided by the root of the mean of its squares over the last axes (Zhang and Sennrich, 2019).

    Args:
        input: floating.
        normalized_shape: the shape of those axes, an int or a list.
        weight: in that shape, or None.
        eps: added to the mean of squares.

    Raises:
        ValueError: a shape that does not fit.

    Example:
        >>> paddle.nn.functional.rms_norm(paddle.to_tensor([[3.0, 3.0]]), 2).round().tolist()
        [[1.0, 1.0]]
    """
    shape = _normalised_shape("rms_norm", input, normalized_shape)
    x = as_float(input)
    v = wide(x)
    y = v * jax.lax.rsqrt(jnp.mean(v * v, tuple(range(x.ndim - len(shape), x.ndim)), keepdims=True) + eps)
    return _affine("rms_norm", y, weight, None, shape, shape).astype(x.dtype)


@nn_op
def group_norm(x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format="NCHW"):
    """Groups of channels with mean 0 and variance 1 within each sample, then scaled and shifted (Wu and He, 2018).

    Args:
        x: shape [N, C, ...], or [N, ..., C] with a data_format that ends in C.
        num_groups: divides C.
        epsilon: added to the variance.
        weight, bias: shape [C], or None.
        data_format: NC, NCL, NCHW, NCDHW, NLC, NHWC or NDHWC.

    Raises:
        ValueError: groups that do not divide C, shapes that do not fit, an unknown data_format.

    Example:
        >>> paddle.nn.functional.group_norm(paddle.to_tensor([[[1.0], [3.0]]]), 1).round().tolist()
        [[[-1.0], [1.0]]]
    """
    x = as_float(x)
    axis = _channel_axis("group_norm", x, data_format)
    n = x.shape[axis]
    if not isinstance(num_groups, int) or num_groups < 1 or n % num_groups:
        raise errors.ValueError_(
            f"group_norm: num_groups must be at least 1 and divide the {n} channels, got {num_groups}"
        )
    grouped = wide(x).reshape(x.shape[:axis] + (num_groups, n // num_groups) + x.shape[axis + 1 :])
    axes = tuple(i for i in range(1, grouped.ndim) if i != axis)
    y, _, _ = _standardise(grouped, None, None, axes, epsilon)
    return _affine("group_norm", y.reshape(x.shape), weight, bias, (n,), _per_channel(x, axis)).astype(x.dtype)


@nn_op(export=False, name="instance_norm")
def _instance_norm(x, weight, bias, eps, data_format):
    x = as_float(x)
    axis = _channel_axis("instance_norm", x, data_format)
    v = wide(x)
    scaled = _checked("instance_norm", weight, bias, (x.shape[axis],), v.dtype)
    axes = tuple(i for i in range(1, x.ndim) if i != axis)
    return _standardise(v, *scaled, axes, eps, _per_channel(x, axis))[0].astype(x.dtype)


@nn_api(aliases={"epsilon": "eps"})
def instance_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.9,
    eps=1e-05,
    data_format="NCHW",
):
    """Each channel of each sample with mean 0 and variance 1, then scaled and shifted (Ulyanov et al., 2016).

    Args:
        x: shape [N, C, ...], or [N, ..., C] with a data_format that ends in C.
        running_mean, running_var, use_input_stats, momentum: accepted and without effect, as officially.
        weight, bias: shape [C], or None.
        eps: added to the variance.

    Raises:
        ValueError: shapes that do not fit, an unknown data_format.

    Example:
        >>> paddle.nn.functional.instance_norm(paddle.to_tensor([[[1.0, 3.0]]])).round().tolist()
        [[[-1.0, 1.0]]]
    """
    return _instance_norm(x, weight, bias, eps, data_format)


@nn_op
def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0, data_format="NCHW"):
    """x / (k + alpha * mean of the squares of neighbouring channels) ** beta (Krizhevsky et al., 2012).

    Args:
        x: 3-D, 4-D or 5-D, in `data_format`.
        size: how many neighbouring channels, at least 1.

    Raises:
        ValueError: a rank below 3, size below 1, an unknown data_format.

    Example:
        >>> paddle.nn.functional.local_response_norm(paddle.ones([1, 1, 1]), 1, alpha=1.0, beta=1.0).tolist()
        [[[0.5]]]
    """
    axis = _channel_axis("local_response_norm", x, data_format, 3)
    if not isinstance(size, int) or size < 1:
        raise errors.ValueError_(f"local_response_norm: size must be an int of at least 1, got {size}")
    x = as_float(x)
    v = wide(x)
    pads = [(size // 2, (size - 1) // 2) if i == axis else (0, 0) for i in range(x.ndim)]
    squares = jnp.pad(v * v, pads)
    n = x.shape[axis]
    total = functools.reduce(jnp.add, (jax.lax.slice_in_dim(squares, i, i + n, 1, axis) for i in range(size)))
    return (v / (k + alpha * (total / size)) ** beta).astype(x.dtype)


@nn_op(export=False, name="normalize")
def _normalize(x, p, axis, epsilon):
    x = as_float(x)
    if x.ndim == 0:
        raise errors.ValueError_("normalize: x must have at least one dimension")
    axis = axis_of("normalize", axis, x.ndim)
    if x.size == 0:
        return x
    size = absolute(x)
    if p == float("inf"):
        norm = jnp.max(size, axis, keepdims=True)
    elif p == float("-inf"):
        norm = jnp.min(size, axis, keepdims=True)
    elif p == 0:
        norm = jnp.sum(size != 0, axis, keepdims=True).astype(size.dtype)
    else:  # where no derivative exists (zeros) the gradient is that of x / epsilon
        if p < 1:
            powers = jnp.where(size == 0, 0 if p > 0 else jnp.inf, jnp.where(size == 0, 1, size) ** p)
        else:
            powers = size * size if p == 2 else size**p
        total = jnp.sum(powers, axis, keepdims=True)
        zero = total == 0
        norm = jnp.where(zero, 0, jnp.where(zero, 1, total) ** (1 / p))
    return x / jnp.maximum(norm, epsilon)


@nn_api
def normalize(x, p=2, axis=1, epsilon=1e-12, out=None):
    """x divided by its p-norm along an axis, or by epsilon where the norm is smaller.

    Args:
        x: floating.
        p: any number, also infinity.
        axis: an int.
        out: a tensor that takes the result.

    Raises:
        ValueError: an axis out of range.

    Example:
        >>> paddle.nn.functional.normalize(paddle.to_tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    result = _normalize(x, p, axis, epsilon)
    return result if out is None else out._rebind(result)
