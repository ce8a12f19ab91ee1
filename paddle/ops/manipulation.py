"""Shapes and layouts: views, joining, splitting."""
from __future__ import annotations

import builtins

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api, op
from ..engine.tensor import Tensor


@op(method=False, export=False, name="cast")
def _cast(x, dtype):
    if jnp.iscomplexobj(x) and not dtype.is_complex:
        x = x.real
    return x.astype(dtype.numpy)


@api(method="cast astype", inplace=True)
def cast(x, dtype):
    """The tensor in another data type (itself when it has that type already). Floats truncate to integers.

    Example:
        >>> paddle.to_tensor([1.9, -1.9]).astype("int64").tolist()
        [1, -1]
    """
    dtype = to_dtype(dtype)
    if x.dtype is dtype:
        return x
    out = _cast(x, dtype)
    if not x._stop and out._stop:  # an integer tensor carries the flag on, as officially
        out._stop = False
    return out
