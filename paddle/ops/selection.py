"""Choosing elements by masks and conditions, replacing parts of tensors, choosing among tensors."""

from __future__ import annotations

import builtins
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.place import put
from ..engine.promotion import operand, promote_alike
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT
from . import data_shapes
from .axes import axis_of
from .creation import clone, full
from .indexing import _plan, slice_set
from .manipulation import cast, common_shape, flatten, tensor_of, tensors_of
from .parts import piece_write, slices_of
from .scatter import _gather, check_range, concrete, fit, index_of, same_type

# ---- masks ----


@api(on_host=data_shapes.masked_select)
def masked_select(x, mask):
    """The elements of x where the mask is True, as a vector; shapes broadcast.

    Raises:
        ValueError: the mask is not bool, shapes that do not broadcast.
        RuntimeError: inside a compiled function, where their number is not known.

    Example:
        >>> paddle.masked_select(paddle.to_tensor([1, 2, 3]), paddle.to_tensor([True, False, True])).tolist()
        [1, 3]
    """
    _check_mask("masked_select", mask)
    shape = common_shape("masked_select", tensor_of("masked_select", x)._raw.shape, mask._raw.shape)
    places = np.flatnonzero(np.broadcast_to(concrete("masked_select", mask), shape))
    return _gather(flatten(fit(x, list(shape))), _make(put(places)), 0)


def _check_mask(name: str, mask: Any) -> None:
    if tensor_of(name, mask, "mask").dtype.name != "bool":
        raise errors.ValueError_(f"{name}: mask must be a bool Tensor, got {mask.dtype.name}")


@op(method=False, export=False, name="masked_fill", scalars="value")
def _masked_fill(x, mask, value):
    return jnp.where(mask.astype(bool), jnp.asarray(value).astype(x.dtype).reshape(()), x)


@api(inplace=True)
def masked_fill(x, mask, value):
    """x with a number (or a tensor of one element) where the mask is True; shapes broadcast.

    Raises:
        ValueError: a value of several elements or another type, shapes that do not broadcast.

    Example:
        >>> paddle.masked_fill(paddle.ones([2]), paddle.to_tensor([True, False]), 0.0).tolist()
        [0.0, 1.0]
    """
    tensor_of("masked_fill", mask, "mask")
    if isinstance(value, Tensor):
        same_type("masked_fill", x, value, "value")
        if value.size != 1:
            raise errors.ValueError_(f"masked_fill: value must have one element, got shape {list(value.shape)}")
    elif not isinstance(value, (builtins.bool, int, float, complex)):
        raise errors.TypeError_(f"masked_fill: value must be a number or a Tensor, got {errors.describe(value)}")
    return _masked_fill(tensor_of("masked_fill", x), mask, value)


@op(method=False, export=False, name="masked_scatter")
def _masked_scatter(x, mask, value):
    x, mask = jnp.broadcast_arrays(x, mask)
    order = jnp.cumsum(mask.reshape(-1)).reshape(mask.shape) - 1
    return jnp.where(mask, jnp.take(value.reshape(-1), order, mode="clip"), x)


@api(inplace=True)
def masked_scatter(x, mask, value):
    """x with the elements of `value`, in order, where the mask is True.

    Args:
        mask: bool; its shape and that of x broadcast.
        value: a tensor of the type of x with at least as many elements as the mask selects.

    Raises:
        ValueError: too few values, types that do not fit.

    Example:
        >>> m = paddle.to_tensor([True, False, True])
        >>> paddle.masked_scatter(paddle.zeros([3]), m, paddle.to_tensor([1.0, 2.0])).tolist()
        [1.0, 0.0, 2.0]
    """
    _check_mask("masked_scatter", mask)
    same_type("masked_scatter", tensor_of("masked_scatter", x), value, "value")
    shape = common_shape("masked_scatter", x._raw.shape, mask._raw.shape)
    if not isinstance(mask._raw, ABSTRACT):
        wanted = int(np.broadcast_to(np.asarray(mask._value), shape).sum())
        if wanted > value._raw.size:
            raise errors.ValueError_(f"masked_scatter: the mask selects {wanted} elements, value has {value._raw.size}")
        if not wanted:
            return clone(fit(x, list(shape)))
    return _masked_scatter(x, mask, value)


# ---- choosing ----


@op(method=False, export=False, name="where", scalars="x y")
def _where(condition, x, y):
    # officially a number becomes a tensor of the default type, so a float widens half precision
    x, y = (
        a.astype(jnp.float32) if a.weak_type and a.dtype.kind == "f" else a
        for a in (operand("where", x), operand("where", y))
    )
    x, y = promote_alike("where", x, y)
    return jnp.where(condition, x, y)


@api(method="where")
def where(condition, x=None, y=None):
    """Elements of x where the condition holds, of y elsewhere; shapes broadcast. Without x and y: `nonzero` as a tuple.

    Args:
        condition: a bool tensor.
        x, y: tensors of one type (floating types promote), or numbers.

    Example:
        >>> paddle.where(paddle.to_tensor([True, False]), paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).tolist()
        [1, 4]
    """
    if (x is None) != (y is None):
        raise errors.ValueError_("where: x and y must be given together")
    if tensor_of("where", condition, "condition").dtype.name != "bool":
        raise errors.ValueError_(f"where: condition must be a bool Tensor, got {condition.dtype.name}")
    if x is None:
        return nonzero(condition, as_tuple=True)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x, y = (full([], v, _number_type(v)) if isinstance(v, (int, float, complex)) else v for v in (x, y))
    return _where(condition, x, y)


def _number_type(value: Any) -> str | None:
    return "int64" if isinstance(value, int) and not isinstance(value, builtins.bool) else None


@api(on_host=data_shapes.nonzero)
def nonzero(x, as_tuple=False):
    """The indices of the elements that are not zero, int64 of shape [n, ndim]; or one vector for each axis.

    Raises:
        ValueError: x has no dimensions.
        RuntimeError: inside a compiled function, where the number of indices is not known.

    Example:
        >>> paddle.nonzero(paddle.to_tensor([0, 3, 0, 5])).tolist()
        [[1], [3]]
    """
    if not tensor_of("nonzero", x).ndim:
        raise errors.ValueError_("nonzero: x must have at least one dimension")
    found = np.nonzero(concrete("nonzero", x))
    if as_tuple:
        return tuple(_make(put(f)) for f in found)
    return _make(put(np.stack(found, 1)))


# ---- replacing parts ----


@api
def select_scatter(x, values, axis, index):
    """x with the slice at an index of an axis replaced by `values`, which has the shape of the slice.

    Raises:
        IndexError: the index is out of range.
        ValueError: `values` has another shape.

    Example:
        >>> paddle.select_scatter(paddle.zeros([2, 2]), paddle.ones([2]), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    axis = axis_of("select_scatter", axis, tensor_of("select_scatter", x).ndim)
    shape = list(x.shape)
    n = shape.pop(axis) if shape else 0
    if not -n <= index < n:
        raise errors.IndexError_(f"select_scatter: index {index} is out of range for axis {axis} of length {n}")
    if list(tensor_of("select_scatter", values, "values").shape) != shape:
        raise errors.ValueError_(
            f"select_scatter: values must have the shape {shape} of the slice, got {list(values.shape)}"
        )
    return piece_write(x, cast(values, x.dtype), index % n, axis)


@api
def slice_scatter(x, value, axes, starts, ends, strides):
    """x with a strided slice (see `strided_slice`) replaced by `value`, which broadcasts to it.

    Raises:
        ValueError: an axis out of range, a value that does not fit.

    Example:
        >>> paddle.slice_scatter(paddle.zeros([4]), paddle.ones([2]), [0], [0], [4], [2]).tolist()
        [1.0, 0.0, 1.0, 0.0]
    """
    plan = _plan(tensor_of("slice_scatter", x)._raw.shape, slices_of("slice_scatter", x, axes, starts, ends, strides))
    return slice_set(x, tensor_of("slice_scatter", value, "value"), *plan)


# ---- choosing among tensors ----


@op(method=False, export=False, name="multiplex")
def _multiplex(inputs, index):
    return jnp.stack(inputs)[index, jnp.arange(index.shape[0])]


@api(method="multiplex")
def multiplex(inputs, index):
    """For each row the row of one of several tensors.

    Args:
        inputs: tensors of one shape [rows, ...] and type.
        index: int32 of shape [rows, 1], which tensor.

    Raises:
        ValueError: shapes that do not fit.
        IndexError: a number beyond the tensors.

    Example:
        >>> i = paddle.to_tensor([[1], [0]], dtype="int32")
        >>> paddle.multiplex([paddle.ones([2, 1]), paddle.zeros([2, 1])], i).tolist()
        [[0.0], [1.0]]
    """
    listed = tensors_of("multiplex", inputs, "inputs")
    shape = list(listed[0].shape)
    if len(listed) < 2 or len(shape) < 2 or any(list(t.shape) != shape for t in listed):
        raise errors.ValueError_(
            f"multiplex: at least two tensors of one shape of at least 2 dimensions are needed, "
            f"got {errors.describe(listed)}"
        )
    if list(index_of("multiplex", index).shape) != [shape[0], 1]:
        raise errors.ValueError_(f"multiplex: index must have shape [{shape[0]}, 1], got {list(index.shape)}")
    check_range("multiplex", index, len(listed), low=0)
    return _multiplex(listed, flatten(index))


@op(
    method=False, export=False, static="size shard_id", scalars="ignore_value", name="shard_index", differentiable=False
)
def _shard_index(x, size, shard_id, ignore_value):
    return jnp.where(x // size == shard_id, x % size, ignore_value).astype(x.dtype)


@api(method="shard_index")
def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Numbers below `index_num` as numbers within one of `nshards` equal shards, `ignore_value` for the others.

    Raises:
        ValueError: `shard_id` is no shard, a number out of range, fewer than 2 dimensions.

    Example:
        >>> paddle.shard_index(paddle.to_tensor([[16], [1]]), 20, 2, 0).tolist()
        [[-1], [1]]
    """
    if index_of("shard_index", input, "input").ndim < 2:
        raise errors.ValueError_(
            f"shard_index: the input must have at least 2 dimensions, got shape {list(input.shape)}"
        )
    if index_num <= 0 or nshards <= 0 or not 0 <= shard_id < nshards:
        raise errors.ValueError_(f"shard_index: shard {shard_id} of {nshards} for {index_num} numbers is not possible")
    try:
        check_range("shard_index", input, index_num, "number", low=0)
    except IndexError as e:
        raise ValueError(str(e)) from None
    return _shard_index(input, -(-index_num // nshards), shard_id, ignore_value)


@api(method="argwhere")
def argwhere(input):
    """The indices of the elements that are not zero, see `nonzero`."""
    return nonzero(input)


@errors.clean
def where_(condition, x=None, y=None, name=None):
    """In-place form of `where`: the result replaces the value of x, which is returned."""
    return tensor_of("where_", x)._inplace(lambda value: where(condition, value, y))


Tensor.where_ = where_
__all__ += ["where_"]  # type: ignore[name-defined]  # noqa: F821
