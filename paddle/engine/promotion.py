"""Type promotion, the official rules, for use inside operator bodies (it costs nothing once an operator is compiled).

- Tensors of different types promote only among floating types and with complex types; anything else is a TypeError.
- A 0-D tensor beside one with dimensions gives way to it within its category (integer, floating, complex), and raises
  the category otherwise: int64[2] with float64[] is float64, float32[2] with float64[] is float32.
- Two 0-D tensors always promote, like numbers do.
- A Python number gives way too; a Python float makes an integer tensor float32, a complex one complex64.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import errors
from .dtype import float8_e4m3fn, to_dtype

_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
_f32, _c64 = np.dtype("float32"), np.dtype("complex64")


def _rank(dtype: Any) -> int:
    return 2 if jnp.issubdtype(dtype, jnp.floating) else _RANK[dtype.kind]


def result_type(name: str, x: Any, y: Any) -> np.dtype:
    """The common type of two arrays or Python numbers; TypeError naming the operator where there is none."""
    a, b = np.dtype(x.dtype), np.dtype(y.dtype)
    if a == b and x.weak_type == y.weak_type:
        return a
    ra, rb = _rank(a), _rank(b)
    if x.weak_type != y.weak_type:  # a Python number beside a tensor
        strong, rs, rw = (b, rb, ra) if x.weak_type else (a, ra, rb)
        if rw <= rs:
            return strong
        if rw == 1:
            return np.dtype("int64")
        if rw == 2:
            return _f32
        return np.dtype("complex128") if strong == np.float64 else _c64
    if a == b:
        return a
    if not x.ndim and not y.ndim:
        return np.dtype(jnp.promote_types(a, b)) if min(ra, rb) >= 2 or max(ra, rb) == 1 else a if ra > rb else b
    if not x.ndim or not y.ndim:
        big, small, r_big, r_small = (a, b, ra, rb) if x.ndim else (b, a, rb, ra)
        if r_small < 2 and r_big >= r_small or r_small == r_big:
            return big
        return small if r_big < 2 else np.dtype(jnp.promote_types(big, small))
    if ra == 3 or rb == 3 or ra == rb == 2:
        if ra < 2 or rb < 2:
            return a if ra == 3 else b
        return np.dtype(jnp.promote_types(a, b))
    raise errors.TypeError_(
        f"{name}: tensors of types {a.name} and {b.name} do not promote; only floating types "
        "promote among each other and with complex types. Cast one of them with astype"
    )


def promote(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands in their common type."""
    x, y = operand(name, x), operand(name, y)
    if x.dtype == y.dtype and not x.weak_type and not y.weak_type:
        return x, y
    dtype = result_type(name, x, y)
    return x.astype(dtype), y.astype(dtype)


def promote_alike(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Like `promote`, for operators where a 0-D tensor officially counts like any other (`maximum`, `where`, `//`):
    float32[2] and float64[] give float64."""
    x, y = operand(name, x), operand(name, y)
    if x.weak_type or y.weak_type or bool(x.ndim) == bool(y.ndim):
        return promote(name, x, y)
    dtype = result_type(name, *(jax.ShapeDtypeStruct((), a.dtype) for a in (x, y)))
    return x.astype(dtype), y.astype(dtype)


def promote_float(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Like `promote`, for operators whose result is never an integer: integers become float32."""
    x, y = promote(name, x, y)
    if _rank(x.dtype) < 2:
        return x.astype(_f32), y.astype(_f32)
    return x, y


def as_float(x: Any) -> Any:
    """The operand of a unary floating operator: integers become float32, Python numbers float32 or complex64."""
    x = operand("", x)
    if x.weak_type:
        return x.astype(_c64 if _rank(x.dtype) == 3 else _f32)
    return x if _rank(x.dtype) >= 2 else x.astype(_f32)


def converted(x: Any, dtype: Any) -> Any:
    """The array in another type, as `cast`: floats truncate to integers, complex numbers lose their imaginary part."""
    if dtype is None:
        return x
    dtype = to_dtype(dtype)
    if jnp.iscomplexobj(x) and not dtype.is_complex:
        x = x.real
    if dtype is float8_e4m3fn:  # which has no infinity: saturates, as officially
        x = jnp.clip(x.astype(jnp.float32), -448, 448)
    if dtype.is_integer and dtype.itemsize < 4 and jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(np.int64)  # XLA would saturate; officially -1.0 is 255 as uint8
    return x.astype(dtype.numpy)


def same_type(name: str, x: Any, y: Any) -> None:
    """For operators that never promote: TypeError unless the types are equal."""
    if x.dtype != y.dtype:
        raise errors.TypeError_(f"{name}: the tensors must have one type, got {x.dtype.name} and {y.dtype.name}")


def operand(name: str, x: Any) -> Any:
    """An operand as an array; TypeError where it is neither an array nor a number."""
    if hasattr(x, "weak_type"):
        return x
    if not isinstance(x, (bool, int, float, complex)):
        where = f"{name}: " if name else ""
        raise errors.TypeError_(f"{where}an operand must be a Tensor, an array or a number, got {type(x).__name__}")
    return jnp.asarray(x)
