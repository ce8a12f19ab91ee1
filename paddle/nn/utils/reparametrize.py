"""Weights computed from other parameters before each forward: weight_norm and spectral_norm."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.op import op
from ...engine.parameter import Parameter, as_parameter
from ...engine.tensor import Tensor
from ..initializer import Normal
from ..layer import Layer
from ..parameter import ParamAttr
from .spectral import divide_by_norm


@op(method=False, export=False, static="dim")
def norm_except(v, dim):
    """The norms of the slices of v along `dim`; of all of v when dim is None."""
    axes = None if dim is None else tuple(i for i in range(v.ndim) if i != dim)
    norm = jnp.sqrt(jnp.sum(v * v, axes))
    return norm.reshape(1) if dim is None else norm


@op(method=False, export=False, static="dim")
def scale_to_norm(v, g, dim):
    """v with the norms of its slices replaced by g (Salimans and Kingma, NeurIPS 2016)."""
    if dim is None:
        return v * (g / jnp.sqrt(jnp.sum(v * v)))
    axes = tuple(i for i in range(v.ndim) if i != dim)
    shape = [-1 if i == dim else 1 for i in range(v.ndim)]
    return v * (g.reshape(shape) / jnp.sqrt(jnp.sum(v * v, axes, keepdims=True)))


def _weight(layer: Layer, name: str, caller: str) -> Parameter:
    found = layer._parameters.get(name) if isinstance(layer, Layer) else None
    if found is None:
        raise errors.ValueError_(f"{caller}: the layer has no parameter {name!r}")
    return found


class _WeightNorm:
    """The forward pre-hook of weight_norm."""

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, dim

    def compute(self, layer: Layer) -> Tensor:
        return scale_to_norm(getattr(layer, self.name + "_v"), getattr(layer, self.name + "_g"), self.dim)

    def __call__(self, layer: Layer, inputs: Any) -> None:
        object.__setattr__(layer, self.name, self.compute(layer))


@errors.clean
def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Train length and direction of a weight apart: weight = g * v / |v| (Salimans and Kingma, NeurIPS 2016).

    Args:
        layer: the layer that has the weight.
        name: the name of the weight; `name_g` and `name_v` take its place.
        dim: the axis that keeps its own lengths; None or -1 for one length of the whole.

    Returns:
        The layer.

    Raises:
        ValueError: no such parameter, `dim` out of range, or it is normalized already.

    Example:
        >>> layer = paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 3), dim=1)
        >>> sorted(layer.state_dict())
        ['bias', 'weight_g', 'weight_v']
    """
    weight = _weight(layer, name, "weight_norm")
    if dim == -1:
        dim = None
    if dim is not None and not -weight.ndim <= dim < weight.ndim:
        raise errors.ValueError_(f"weight_norm: dim must be within [{-weight.ndim}, {weight.ndim}), got {dim}")
    hook = _WeightNorm(name, dim if dim is None else dim % weight.ndim)
    del layer._parameters[name]
    v = as_parameter(weight.detach(), f"{weight.name}_v", weight.trainable)
    g = as_parameter(norm_except(v.detach(), hook.dim), f"{weight.name}_g", weight.trainable)
    layer.add_parameter(name + "_v", v)
    layer.add_parameter(name + "_g", g)
    hook(layer, ())
    hook.handle = layer.register_forward_pre_hook(hook)
    return layer


@errors.clean
def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """Put back the plain weight. ValueError when it is not normalized.

    Example:
        >>> layer = paddle.nn.utils.weight_norm(paddle.nn.Linear(2, 3))
        >>> sorted(paddle.nn.utils.remove_weight_norm(layer).state_dict())
        ['bias', 'weight']
    """
    for hook, _ in list(layer._forward_pre_hooks.values()):
        if isinstance(hook, _WeightNorm) and hook.name == name:
            weight = hook.compute(layer)
            v = layer._parameters.pop(name + "_v")
            del layer._parameters[name + "_g"], layer.__dict__[name]
            layer.add_parameter(name, as_parameter(weight.detach(), v.name.removesuffix("_v"), v.trainable))
            hook.handle.remove()
            return layer
    raise errors.ValueError_(f"remove_weight_norm: {name!r} of {layer.full_name()} is not under weight_norm")


class _SpectralNorm:
    """The forward pre-hook of spectral_norm."""

    def __init__(self, name: str, dim: int, steps: int, eps: float):
        self.name, self.dim, self.steps, self.eps = name, dim, steps, eps

    def compute(self, layer: Layer, steps: int) -> Tensor:
        return divide_by_norm(
            getattr(layer, self.name + "_orig"),
            getattr(layer, self.name + "_u"),
            getattr(layer, self.name + "_v"),
            self.dim,
            steps,
            self.eps,
        )

    def __call__(self, layer: Layer, inputs: Any) -> None:
        object.__setattr__(layer, self.name, self.compute(layer, self.steps if layer.training else 0))


@errors.clean
def spectral_norm(
    layer: Layer, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Layer:
    """Divide a weight by its largest singular value before each forward (Miyato et al., ICLR 2018).

    Args:
        layer: the layer that has the weight.
        name: the name of the weight; `name_orig` is trained in its place.
        n_power_iterations: steps of the estimate in each training forward.
        eps: keeps divisions away from zero.
        dim: the axis of the outputs; by default 1 for Linear and transposed convolutions, otherwise 0.

    Returns:
        The layer.

    Raises:
        ValueError: no such parameter, or no positive number of steps.

    Example:
        >>> layer = paddle.nn.utils.spectral_norm(paddle.nn.Linear(2, 3))
        >>> sorted(layer.state_dict())
        ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    from ..layers import common, conv

    weight = _weight(layer, name, "spectral_norm")
    if n_power_iterations <= 0:
        raise errors.ValueError_(f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}")
    if dim is None:
        dim = int(isinstance(layer, (common.Linear, conv.Conv1DTranspose, conv.Conv2DTranspose, conv.Conv3DTranspose)))
    if not -weight.ndim <= dim < weight.ndim:
        raise errors.ValueError_(f"spectral_norm: dim must be within [{-weight.ndim}, {weight.ndim}), got {dim}")
    dim %= weight.ndim
    hook = _SpectralNorm(name, dim, n_power_iterations, eps)
    rows = weight.shape[dim]
    columns = int(np.prod(weight.shape)) // max(rows, 1)
    del layer._parameters[name]
    layer.add_parameter(name + "_orig", weight)
    fixed = ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)
    for suffix, length in (("_u", rows), ("_v", columns)):
        vector = layer.create_parameter([length], fixed, weight.dtype).detach()
        layer.register_buffer(name + suffix, vector / (vector * vector).sum().sqrt())
    object.__setattr__(layer, name, hook.compute(layer, 15 if layer.training else 1))
    layer.register_forward_pre_hook(hook)
    return layer
