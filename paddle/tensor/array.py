"""Arrays of tensors: Python lists here, in programs and outside."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.tensor import Tensor
from ..ops.creation import to_tensor


def _array(name: str, array: Any) -> list:
    if not isinstance(array, list):
        raise errors.TypeError_(f"{name}: array must be a list of Tensors, got {errors.describe(array)}")
    return array


def _place(name: str, i: Any) -> int:
    if not isinstance(i, (int, Tensor)) or isinstance(i, Tensor) and i.size != 1:
        raise errors.TypeError_(f"{name}: i must be an int or a Tensor of one int, got {errors.describe(i)}")
    return int(i)


def create_array(dtype: Any, initialized_list: Any = None) -> list[Tensor]:
    """A list of tensors.

    Args:
        dtype: the type of its elements.
        initialized_list: the first elements, a list or tuple of Tensors.

    Raises:
        TypeError: no such list.

    Example:
        >>> paddle.tensor.create_array("float32")
        []
    """
    given = [] if initialized_list is None else initialized_list
    if not isinstance(given, (list, tuple)) or not all(isinstance(t, Tensor) for t in given):
        raise errors.TypeError_(f"create_array: initialized_list must hold Tensors, got {errors.describe(given)}")
    return list(given)


def array_write(x: Tensor, i: Any, array: Any = None) -> list[Tensor]:
    """Put x at place i of an array, at most one beyond its end; returns the array (a new one for None).

    Raises:
        IndexError: a place further beyond the end.

    Example:
        >>> [t.tolist() for t in paddle.tensor.array_write(paddle.ones([1]), 0)]
        [[1.0]]
    """
    array = [] if array is None else _array("array_write", array)
    place = _place("array_write", i)
    if not 0 <= place <= len(array):
        raise errors.IndexError_(
            f"array_write: i must lie between 0 and {len(array)}, the length of the array, got {place}"
        )
    array[place : place + 1] = [x]
    return array


def array_read(array: Any, i: Any) -> Tensor:
    """The tensor at place i of an array. IndexError for a place that does not exist.

    Example:
        >>> paddle.tensor.array_read([paddle.ones([1])], 0).tolist()
        [1.0]
    """
    place = _place("array_read", i)
    if not 0 <= place < len(_array("array_read", array)):
        raise errors.IndexError_(f"array_read: i must lie between 0 and {len(array) - 1}, got {place}")
    return array[place]


def array_length(array: Any) -> Tensor:
    """The length of an array, an int64 tensor.

    Example:
        >>> int(paddle.tensor.array_length([paddle.ones([1])]))
        1
    """
    return to_tensor(len(_array("array_length", array)), dtype="int64")
