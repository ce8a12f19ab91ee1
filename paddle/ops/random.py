"""Random tensors. ``paddle.seed`` determines what they draw."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .creation import placed, shape_of
from .manipulation import star


def _float_type(name: str, dtype: Any) -> dtypes.DType:
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    if not dtype.is_floating:
        raise errors.TypeError_(f"{name}: dtype must be a floating type, got {dtype.name}")
    return dtype


@op(random=True, method=False, export=False, name="uniform", static="shape dtype", scalars="low high", differentiable=False)
def _uniform(key, shape, dtype, low, high):
    wide = dtype.numpy if dtype.itemsize > 2 else "float32"
    u = jax.random.uniform(key, shape, wide)
    u = (low + u * (jnp.asarray(high) - low)).astype(dtype.numpy)
    return jnp.where(u < high, u, jnp.asarray(low)).astype(dtype.numpy)  # rounding may reach the upper end


@op(random=True, method=False, export=False, name="gaussian", static="shape dtype", scalars="mean std", differentiable=False)
def _gaussian(key, shape, dtype, mean, std):
    wide = dtype.numpy if dtype.itemsize > 2 else "float32"
    return (mean + jax.random.normal(key, shape, wide) * std).astype(dtype.numpy)


@star(at=0)
@api(method=False)
def rand(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """Uniform random numbers from [0, 1).

    Example:
        >>> paddle.rand([2, 3]).shape
        [2, 3]
    """
    return placed(_uniform(Frozen(shape_of(shape, "rand")), _float_type("rand", dtype), 0.0, 1.0), device, requires_grad)


@star(at=0)
@api(method=False)
def randn(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """Random numbers from the standard normal distribution.

    Example:
        >>> paddle.randn([2, 3]).shape
        [2, 3]
    """
    return placed(_gaussian(Frozen(shape_of(shape, "randn")), _float_type("randn", dtype), 0.0, 1.0), device, requires_grad)


@api(method=False)
def standard_normal(shape, dtype=None, *, device=None, requires_grad=False):
    """Random numbers from the standard normal distribution.

    Example:
        >>> paddle.standard_normal([2, 3]).shape
        [2, 3]
    """
    dtype = _float_type("standard_normal", dtype)
    return placed(_gaussian(Frozen(shape_of(shape, "standard_normal")), dtype, 0.0, 1.0), device, requires_grad)


@op(random=True, method=False, export=False, name="uniform_seeded", static="shape dtype", scalars="low high seed",
    differentiable=False)
def _uniform_seeded(key, shape, dtype, low, high, seed):
    return _uniform.__wrapped__(jax.random.key(seed, impl="threefry2x32"), shape, dtype, low, high)


def _uniform_from(name: str, shape: Any, dtype: Any, low: Any, high: Any, seed: int) -> Tensor:
    shape, dtype = Frozen(shape_of(shape, name)), _float_type(name, dtype)
    low, high = float(low), float(high)
    if low > high:
        raise errors.ValueError_(f"{name}: min {low} is larger than max {high}")
    return _uniform_seeded(shape, dtype, low, high, int(seed)) if seed else _uniform(shape, dtype, low, high)


@api(method=False)
def uniform(shape, dtype=None, min=0, max=1.0, seed=0, *, device=None, requires_grad=False):
    """Uniform random numbers from [min, max).

    Args:
        seed: not 0 fixes the numbers, whatever `paddle.seed` was given.

    Raises:
        ValueError: `min` is larger than `max`.

    Example:
        >>> paddle.uniform([2, 3], min=-1.0, max=1.0).shape
        [2, 3]
    """
    return placed(_uniform_from("uniform", shape, dtype, min, max, seed), device, requires_grad)


@op(random=True, method=False, export=False, name="normal", static="shape dtype", scalars="mean std")
def _normal(key, mean, std, shape, dtype):
    shape = shape if shape is not None else jnp.broadcast_shapes(mean.shape, std.shape)
    return mean + jax.random.normal(key, shape, dtype.numpy) * std


@api(method=False)
def normal(mean=0.0, std=1.0, shape=None):
    """Random numbers from the normal distribution.

    Args:
        mean, std: numbers, with `shape` (default [1]); or floating tensors whose shapes broadcast to that of the result.

    Raises:
        ValueError: a negative `std`.

    Example:
        >>> paddle.normal(2.0, 3.0, [4]).shape
        [4]
    """
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if not tensors:
        if std < 0:
            raise errors.ValueError_(f"normal: std cannot be negative, got {std}")
        shape = shape_of([1] if shape is None else shape, "normal")
        if isinstance(mean, complex):
            return _complex_normal(Frozen(shape), mean.real, mean.imag, float(std), dtypes.default_complex())
        return _gaussian(Frozen(shape), dtypes.default_dtype(), float(mean), float(std))
    for each in tensors:
        if each.dtype.kind not in "fc":
            raise errors.TypeError_(f"normal: mean and std must be floating, got {each.dtype.name}")
    dtype = tensors[0].dtype
    return _normal(mean, std, None, dtype)


@op(random=True, method=False, export=False, name="complex_normal", static="shape dtype", scalars="re im std",
    differentiable=False)
def _complex_normal(key, shape, re, im, std, dtype):
    return (jax.lax.complex(re + 0.0, im + 0.0) + jax.random.normal(key, shape, dtype.numpy) * std).astype(dtype.numpy)
