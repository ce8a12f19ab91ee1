"""Making tensors: from data, filled, ranges, diagonals."""
from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors, place as places
from ..engine.tape import TRACE_SIZE, Source
from ..engine.dtype import to_dtype
from ..engine.op import api, op
from ..engine.tensor import Tensor, _make


@api(method=False)
def to_tensor(data, dtype=None, place=None, stop_gradient=True):
    """A tensor with a copy of the data.

    Args:
        data: a number, nested lists of numbers or tensors, a NumPy array, a Tensor.
        dtype: default: Python floats become the default dtype, ints int64; arrays and tensors keep theirs.
        place: where it lies; default the current device.
        stop_gradient: False for a leaf that wants a gradient.

    Raises:
        ValueError: ragged lists, or data that is no array of numbers.
        TypeError: an unknown dtype.

    Example:
        >>> paddle.to_tensor([[1, 2], [3, 4]]).shape
        [2, 2]
    """
    if isinstance(data, Tensor):
        value = data._value
        if dtype is not None and data.dtype is not to_dtype(dtype):
            value = data.detach().astype(dtype)._value
    else:
        array = _to_array(data)
        if dtype is not None:
            array = array.astype(to_dtype(dtype).numpy)
        elif not isinstance(data, (np.ndarray, np.generic, jax.Array)) and array.dtype.kind in "fc":
            array = array.astype(dtypes.default_dtype().numpy if array.dtype.kind == "f" else dtypes.default_complex().numpy)
        if array.dtype not in dtypes._by_numpy:
            raise errors.ValueError_(f"to_tensor: data of type {array.dtype} is no array of numbers: {errors.describe(data)}")
        value = jnp.asarray(array)
    if place is not None:
        value = jax.device_put(value, places.parse_place(place, "place").device())
    out = _make(value)
    if not stop_gradient:
        out.stop_gradient = False
    elif value.size <= TRACE_SIZE and out.dtype.is_differentiable:
        out._node = Source()
    return out


def _to_array(data: Any) -> np.ndarray:
    """A fresh NumPy array of the data (never a view of the caller's memory)."""
    if isinstance(data, jax.Array):
        return np.array(data)
    if isinstance(data, (list, tuple)):
        data = _plain(data)
    elif data is None or isinstance(data, (str, bytes)):
        raise errors.ValueError_(f"to_tensor: {errors.describe(data)} is no data for a tensor")
    try:
        array = np.array(data)
    except ValueError as e:
        raise errors.ValueError_(f"to_tensor: the nested lists have no common shape ({e})") from None
    except OverflowError:
        raise errors.ValueError_("to_tensor: an integer is too large for int64") from None
    if array.dtype.kind in "OUS" or not array.dtype.isnative:
        try:
            array = array.astype(array.dtype.newbyteorder("=")) if array.dtype.kind not in "OUS" else np.array(data, dtype=np.float64)
        except (TypeError, ValueError):
            raise errors.ValueError_(f"to_tensor: {errors.describe(data)} is no array of numbers") from None
    return array


def _plain(data: Any) -> Any:
    """Nested lists with the tensors in them turned into arrays."""
    if isinstance(data, Tensor):
        return data.numpy()
    if isinstance(data, (list, tuple)):
        return [_plain(d) if isinstance(d, (Tensor, list, tuple)) else d for d in data]
    return data


Tensor._to_tensor = staticmethod(to_tensor)


def _copy_to(x: Tensor, place: places.Place) -> Tensor:
    device = place.device()
    return transfer(x, device)


@op(method=False, export=False, static="device")
def transfer(x, device):
    return jax.device_put(x, device)


Tensor._copy_to = staticmethod(_copy_to)


@op(method=False, scalars="fill_value", static="shape dtype", differentiable=False, export=False, name="full")
def _full(shape, fill_value, dtype):
    return jnp.full(shape, fill_value, dtype.numpy)


def shape_of(shape: Any, name: str) -> tuple[int, ...]:
    """A shape argument as a tuple of ints: a list (tensors allowed in it), a Tensor, an int.

    Raises ValueError for a negative length, TypeError for what is no integer.
    """
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if isinstance(shape, (builtins.int, np.integer)):
        shape = [shape]
    try:
        out = tuple(s.__index__() for s in shape)
    except (TypeError, AttributeError):
        raise errors.TypeError_(f"{name}: shape must be a list of integers, got {errors.describe(shape)}") from None
    if builtins.any(s < 0 for s in out):
        raise errors.ValueError_(f"{name}: the lengths of a shape cannot be negative, got {list(out)}")
    return out


@api(method=False)
def full(shape, fill_value, dtype=None):
    """A tensor of a shape with every element `fill_value` (a number or a tensor of one element).

    Without `dtype`: bool for a bool, complex128 for a complex number, else the default dtype.

    Example:
        >>> paddle.full([2], 3.5).tolist()
        [3.5, 3.5]
    """
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if dtype is None:
        dtype = (dtypes.bool if isinstance(fill_value, builtins.bool) else
                 dtypes.complex128 if isinstance(fill_value, complex) else dtypes.default_dtype())
    return _full(shape_of(shape, "full"), fill_value, to_dtype(dtype))


@api(method=False)
def zeros(shape, dtype=None):
    """A tensor of zeros; `dtype` defaults to the default dtype.

    Example:
        >>> paddle.zeros([2, 3]).shape
        [2, 3]
    """
    return _full(shape_of(shape, "zeros"), 0, dtypes.default_dtype() if dtype is None else to_dtype(dtype))


@api(method=False)
def ones(shape, dtype=None):
    """A tensor of ones; `dtype` defaults to the default dtype.

    Example:
        >>> paddle.ones([2]).tolist()
        [1.0, 1.0]
    """
    return _full(shape_of(shape, "ones"), 1, dtypes.default_dtype() if dtype is None else to_dtype(dtype))
