"""Complex numbers: made of parts and taken apart."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op


@op(name="complex", method=False)
def complex(real, imag):
    """Complex numbers from real and imaginary parts, float32 or float64 of one type; shapes broadcast.

    Example:
        >>> paddle.complex(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [(1+2j)]
    """
    return _complex_of("complex", real, imag)


def _complex_of(name, real, imag):
    for part in (real, imag):
        if getattr(part, "dtype", None) not in (np.float32, np.float64):
            raise errors.TypeError_(
                f"{name}: the parts must be float32 or float64 Tensors, got {errors.describe(part)}"
            )
    if real.dtype != imag.dtype:
        raise errors.ValueError_(f"{name}: the parts must have one type, got {real.dtype.name} and {imag.dtype.name}")
    return jax.lax.complex(*jnp.broadcast_arrays(real, imag))


@op(method="polar")
def polar(abs, angle):
    """Complex numbers from absolute values and angles in radians.

    Example:
        >>> paddle.polar(paddle.to_tensor([2.0]), paddle.to_tensor([0.0])).tolist()
        [(2+0j)]
    """
    return _complex_of("polar", abs * jnp.cos(angle), abs * jnp.sin(angle))


@op(view=lambda base, value: as_real(value), view_strides=lambda strides, out, base: [s // 2 for s in strides[:-1]])
def as_complex(x):
    """Pairs of real numbers along the last axis, which must have length 2, seen as complex numbers.

    Raises:
        ValueError: another length.
        TypeError: a type other than float32 and float64.

    Example:
        >>> paddle.to_tensor([[1.0, 2.0]]).as_complex().tolist()
        [(1+2j)]
    """
    if x.dtype not in (np.float32, np.float64):
        raise errors.TypeError_(f"as_complex: x must be float32 or float64, got {x.dtype.name}")
    if x.shape[-1:] != (2,):
        raise errors.ValueError_(f"as_complex: the last axis must have length 2, got shape {list(x.shape)}")
    return jax.lax.complex(x[..., 0], x[..., 1])


@op(view=lambda base, value: as_complex(value), view_strides=lambda strides, out, base: [2 * s for s in strides] + [1])
def as_real(x):
    """Complex numbers seen as pairs of real numbers along a new last axis.

    Raises:
        TypeError: x is not complex.

    Example:
        >>> paddle.to_tensor([1 + 2j]).as_real().tolist()
        [[1.0, 2.0]]
    """
    if not jnp.iscomplexobj(x):
        raise errors.TypeError_(f"as_real: x must be complex, got {x.dtype.name}")
    return jnp.stack([x.real, x.imag], -1)


@api(method="view_as_complex")
def view_as_complex(input):
    """The same as `as_complex`."""
    return as_complex(input)


@api(method="view_as_real")
def view_as_real(input):
    """The same as `as_real`."""
    return as_real(input)


@op(method=False, export=False)
def _with_real(x, value):
    return jax.lax.complex(value, x.imag) if jnp.iscomplexobj(x) else value


@op(method=False, export=False)
def _with_imag(x, value):
    return jax.lax.complex(x.real, value) if jnp.iscomplexobj(x) else x


@op(view=lambda base, value: _with_real(base, value), view_strides=lambda strides, out, base: [2 * s for s in strides])
def real(x):
    """The real parts; shares memory with x.

    Example:
        >>> paddle.to_tensor([1 + 2j]).real().tolist()
        [1.0]
    """
    return x.real


@op(view=lambda base, value: _with_imag(base, value), view_strides=lambda strides, out, base: [2 * s for s in strides])
def imag(x):
    """The imaginary parts; shares memory with x.

    Example:
        >>> paddle.to_tensor([1 + 2j]).imag().tolist()
        [2.0]
    """
    return x.imag


@op
def conj(x):
    """The complex conjugate; real numbers as they are.

    Example:
        >>> paddle.to_tensor([1 + 2j]).conj().tolist()
        [(1-2j)]
    """
    return jnp.conj(x)
