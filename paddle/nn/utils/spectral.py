"""The largest singular value of a weight, for SpectralNorm and spectral_norm."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ...engine.op import op


def _unit(v: Any, eps: Any) -> Any:
    return v / (jnp.linalg.norm(v) + eps)


@op(method=False, export=False, static="dim power_iters", scalars="eps", save="residuals")
def spectral_step(weight, u, v, dim, power_iters, eps):
    """(weight / sigma, u, v) after steps of power iteration, which count as constants for the gradient."""
    matrix = jnp.moveaxis(weight, dim, 0).reshape(weight.shape[dim], -1)
    fixed = jax.lax.stop_gradient(matrix)
    u, v = jax.lax.stop_gradient(u), jax.lax.stop_gradient(v)
    for _ in range(power_iters):
        v = _unit(fixed.T @ u, eps)
        u = _unit(fixed @ v, eps)
    sigma = u @ matrix @ v
    return weight / sigma, u, v


def divide_by_norm(weight: Any, u: Any, v: Any, dim: int, power_iters: int, eps: float) -> Any:
    """The weight over its estimated largest singular value; u and v move on in place."""
    out, new_u, new_v = spectral_step(weight, u, v, dim, power_iters, eps)
    if power_iters:
        u._write_array(new_u._value)
        v._write_array(new_v._value)
    return out
