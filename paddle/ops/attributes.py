"""What a tensor is: its shape, rank and kind."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from .manipulation import common_shape, tensor_of


@api
def numel(x):
    """The number of elements, as an int64 tensor without dimensions.

    Example:
        >>> int(paddle.numel(paddle.ones([2, 3])))
        6
    """
    value = tensor_of("numel", x)._value
    return _numel(x) if isinstance(value, Value) else _make(put(np.int64(value.size)))


@op(name="numel", method=False, export=False, shape_only=True)
def _numel(x):
    return np.int64(x.size)


@api(method="rank")
def rank(input):
    """The number of dimensions, as an int32 tensor.

    Example:
        >>> int(paddle.rank(paddle.ones([2, 3])))
        2
    """
    return _make(put(np.int32(tensor_of("rank", input, "input").ndim)))


@api(method=False)
def shape(input):
    """The shape, as an int64 tensor.

    Example:
        >>> paddle.shape(paddle.ones([2, 3])).tolist()
        [2, 3]
    """
    value = tensor_of("shape", input, "input")._value
    return _shape(input) if isinstance(value, Value) else _make(put(np.array(value.shape, np.int64)))


@op(name="shape", method=False, export=False, shape_only=True)
def _shape(x):
    return np.array(x.shape, np.int64)


@api(aliases={"obj": "x"})
def is_tensor(x):
    """Whether x is a Tensor.

    Example:
        >>> paddle.is_tensor(3)
        False
    """
    return isinstance(x, Tensor)


@api
def is_floating_point(x):
    """Whether the type of x is floating.

    Example:
        >>> paddle.is_floating_point(paddle.ones([1]))
        True
    """
    return tensor_of("is_floating_point", x).dtype.is_floating


@api
def is_complex(x):
    """Whether the type of x is complex.

    Example:
        >>> paddle.is_complex(paddle.ones([1]))
        False
    """
    return tensor_of("is_complex", x).dtype.is_complex


@api
def is_integer(x):
    """Whether the type of x is an integer type.

    Example:
        >>> paddle.is_integer(paddle.to_tensor([1]))
        True
    """
    return tensor_of("is_integer", x).dtype.is_integer


@api
def is_empty(x):
    """Whether x has no elements, as a bool tensor.

    Example:
        >>> bool(paddle.is_empty(paddle.ones([0, 2])))
        True
    """
    return _make(put(tensor_of("is_empty", x)._raw.size == 0))


@api(method="is_same_shape", export=False)
def is_same_shape(x, y):
    """Whether two tensors have one shape."""
    return list(x.shape) == list(y.shape)


@api(method=False)
def broadcast_shape(x_shape, y_shape):
    """The shape to which two shapes broadcast.

    Raises:
        ValueError: they do not broadcast.

    Example:
        >>> paddle.broadcast_shape([2, 1, 3], [4, 1])
        [2, 4, 3]
    """
    return list(common_shape("broadcast_shape", list(x_shape), list(y_shape)))


@api(method=False)
def broadcast_shapes(*shapes):
    """The shape to which shapes broadcast.

    Example:
        >>> paddle.broadcast_shapes([2, 1], [3], [1])
        [2, 3]
    """
    return list(common_shape("broadcast_shapes", *map(list, shapes)))


Tensor.broadcast_shape = lambda self, y_shape: broadcast_shape(self.shape, y_shape)
Tensor.broadcast_shapes = lambda self, *shapes: broadcast_shapes(self.shape, *shapes)


@api(method=False)
def tolist(x):
    """The values as nested lists of Python numbers.

    Example:
        >>> paddle.tolist(paddle.to_tensor([1, 2]))
        [1, 2]
    """
    return tensor_of("tolist", x).tolist()


@api(method=False)
def check_shape(
    shape,
    op_name,
    expected_shape_type=(list, tuple, Tensor),
    expected_element_type=(int, Tensor),
    expected_tensor_dtype=("int32", "int64"),
):
    """Check a shape argument: TypeError unless it is of the expected types, ValueError for lengths below -1."""
    if not isinstance(shape, expected_shape_type):
        raise errors.TypeError_(f"{op_name}: shape must be a list, a tuple or a Tensor, got {errors.describe(shape)}")
    if isinstance(shape, Tensor):
        if shape.dtype.name not in expected_tensor_dtype:
            raise errors.TypeError_(f"{op_name}: a shape tensor must be int32 or int64, got {shape.dtype.name}")
        return
    for n in shape:
        if not isinstance(n, expected_element_type):
            raise errors.TypeError_(f"{op_name}: the lengths of a shape are ints, got {errors.describe(n)}")
        if isinstance(n, int) and n < -1:
            raise errors.ValueError_(f"{op_name}: the lengths of a shape cannot be negative, got {list(shape)}")


@api(method="create_tensor", export=False)
def create_tensor(self, name=None, persistable=False):
    """An empty tensor of the type of self."""
    out = _make(jnp.zeros((0,), self.dtype.numpy))
    out.persistable = persistable
    if name is not None:
        out.name = name
    return out
