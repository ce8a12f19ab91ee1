"""Parameters as one vector, and limits for gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp

from ...engine import errors
from ...engine.op import op
from ...engine.tensor import Tensor, _make


@op(method=False, export=False)
def join_flat(tensors):
    return jnp.concatenate([t.reshape(-1) for t in tensors])


@op(method=False, export=False, static="norm_type", differentiable=False)
def total_norm(tensors, norm_type):
    """The norm of all elements of all tensors together, in float32 at least."""
    flat = [jnp.abs(t.astype(jnp.promote_types(t.dtype, jnp.float32))).reshape(-1) for t in tensors]
    if norm_type == float("inf"):
        return jnp.max(jnp.stack([jnp.max(f, initial=0.0) for f in flat]))
    if norm_type == 0:
        return jnp.sum(jnp.stack([jnp.sum(f != 0).astype(jnp.float32) for f in flat]))
    return sum(jnp.sum(f**norm_type) for f in flat) ** (1.0 / norm_type)


@op(method=False, export=False, scalars="max_norm", differentiable=False)
def shrink(tensors, norm, max_norm):
    """The tensors times max_norm / norm, where that is less than one."""
    factor = jnp.minimum(max_norm / (norm + 1e-6), 1.0)
    return tuple((t * factor).astype(t.dtype) for t in tensors)


@op(method=False, export=False, scalars="limit", differentiable=False)
def bound(tensors, limit):
    return tuple(jnp.clip(t, -limit, limit).astype(t.dtype) for t in tensors)


def _gradients(parameters: Any, caller: str) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for p in parameters:
        if not isinstance(p, Tensor):
            raise errors.TypeError_(f"{caller}: parameters must be Tensors, got {errors.describe(p)}")
    return [p.grad for p in parameters if p.grad is not None]


@errors.clean
def parameters_to_vector(parameters: Iterable[Tensor], name: str | None = None) -> Tensor:
    """All parameters, flattened and joined to one vector.

    Example:
        >>> paddle.nn.utils.parameters_to_vector(paddle.nn.Linear(2, 3).parameters()).shape
        [9]
    """
    parameters = list(parameters)
    if not parameters:
        raise errors.ValueError_("parameters_to_vector: there are no parameters")
    return join_flat(parameters)


@errors.clean
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor], name: str | None = None) -> None:
    """Overwrite the parameters with the parts of a vector, in order. ValueError when its length does not fit.

    Example:
        >>> layer = paddle.nn.Linear(1, 1)
        >>> paddle.nn.utils.vector_to_parameters(paddle.ones([2]), layer.parameters())
        >>> layer.weight.tolist()
        [[1.0]]
    """
    parameters = list(parameters)
    total = sum(int(p.size) for p in parameters)
    if vec.ndim != 1 or vec.shape[0] != total:
        raise errors.ValueError_(f"vector_to_parameters: vec must have shape [{total}], got {list(vec.shape)}")
    array, start = vec._value, 0
    for p in parameters:
        end = start + int(p.size)
        p.set_value(_make(array[start:end].reshape(p._raw.shape)))
        start = end


@errors.clean
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients in place so that their norm, taken together, is at most max_norm.

    Args:
        parameters: a Tensor or an iterable of Tensors.
        max_norm: the greatest norm.
        norm_type: p of the norm; `float("inf")` for the largest element.
        error_if_nonfinite: raise when the norm is NaN or infinite.

    Returns:
        The norm before.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite`.
        ValueError: a negative `norm_type`.

    Example:
        >>> p = paddle.create_parameter([4], "float32")
        >>> p.sum().backward()
        >>> float(paddle.nn.utils.clip_grad_norm_(p, 1.0))
        2.0
    """
    max_norm, norm_type = float(max_norm), float(norm_type)
    if not (norm_type >= 0):
        raise errors.ValueError_(f"clip_grad_norm_: norm_type must not be negative, got {norm_type}")
    grads = _gradients(parameters, "clip_grad_norm_")
    if not grads:
        return _make(jnp.zeros((), jnp.float32))
    norm = total_norm(grads, norm_type)
    if error_if_nonfinite and not bool(jnp.isfinite(norm._value)):
        raise errors.RuntimeError_(
            f"clip_grad_norm_: the norm of the gradients is {float(norm)}, which cannot be clipped"
        )
    for grad, new in zip(grads, shrink(grads, norm, max_norm)):
        grad._write_array(new._value)
    return norm


@errors.clean
def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Bound every element of the gradients to [-clip_value, clip_value], in place.

    Raises:
        ValueError: a negative `clip_value`.

    Example:
        >>> p = paddle.create_parameter([2], "float32")
        >>> (p * 3).sum().backward()
        >>> paddle.nn.utils.clip_grad_value_([p], 1.0)
        >>> p.grad.tolist()
        [1.0, 1.0]
    """
    clip_value = float(clip_value)
    if not clip_value >= 0:
        raise errors.ValueError_(f"clip_grad_value_: clip_value must not be negative, got {clip_value}")
    grads = _gradients(parameters, "clip_grad_value_")
    for grad, new in zip(grads, bound(grads, clip_value) if grads else ()):
        grad._write_array(new._value)
