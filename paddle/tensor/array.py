"""Arrays of tensors: Python lists, and in programs lists that can be written at places that are not known yet."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.modes import modes
from ..engine.tensor import Tensor
from ..engine.value import PROBES, Value
from ..ir.record import HostKernel
from ..ops.attributes import shape
from ..ops.creation import full, to_tensor, zeros
from ..ops.joining import concat, stack


class TensorArray(list):
    """An array of a program. While all places that are written are known it is a list; then it becomes one tensor,
    `stacked`, with the elements along the first axis, which therefore have one shape."""

    def __init__(self, dtype: Any, items: Any = (), stacked: Tensor | None = None):
        super().__init__(items)
        self.dtype = dtype
        self.stacked = stacked
        self.block = modes.program.block

    def stack(self) -> Tensor | None:
        """The elements as one tensor, None while there is none."""
        if self.stacked is None and len(self):
            self._check_block("array_write")
            self.stacked = stack(list(self), 0)
            self.clear()
        return self.stacked

    def write(self, x: Tensor, i: Any) -> None:
        before = self.stack()
        if before is None:
            before = zeros([0, *x.shape], x.dtype)
        if x.dtype is not before.dtype or x.ndim != before.ndim - 1:
            raise errors.ValueError_(
                f"array_write: the elements of this array are of type {before.dtype.name} with {before.ndim - 1} "
                f"dimensions, x is {errors.describe(x)}"
            )
        after = modes.program.record(_write, (before, x, _index(i)))
        if self.stacked is None:
            self._check_block("array_write")
            self.stacked = after
        else:
            self.stacked._rebind(after)

    def read(self, i: Any) -> Tensor:
        found = self.stack()
        if found is None:
            raise errors.IndexError_("array_read: the array is empty")
        return modes.program.record(_read, (found, _index(i)))

    def _check_block(self, name: str) -> None:
        if modes.program is None or modes.program.block is not self.block:
            raise errors.RuntimeError_(f"{name}: an array from outside of a branch or loop; make it a loop variable")


def _written(array: Tensor, x: Tensor, i: Tensor) -> Tensor:
    at = _within("array_write", int(i), array.shape[0])
    if not array.shape[0]:
        return x.unsqueeze(0)
    return concat([array[:at], x.unsqueeze(0), array[at + 1 :]])


def _element(array: Tensor, i: Tensor) -> Tensor:
    return array[_within("array_read", int(i), array.shape[0] - 1)]


def _within(name: str, i: int, last: int) -> int:
    if not 0 <= i <= last:
        raise errors.IndexError_(f"{name}: i must lie between 0 and {last}, got {i}")
    return i


_write = HostKernel(
    _written,
    "array_write",
    ("", "", ""),
    lambda specs, trial: ((PROBES[trial], *specs[0].shape[1:]), specs[0].dtype),
)
_read = HostKernel(_element, "array_read", ("", ""), lambda specs, trial: (specs[0].shape[1:], specs[0].dtype))


def _index(i: Any) -> Tensor:
    return i if isinstance(i, Tensor) else full([], i, "int64")


def _array(name: str, array: Any) -> list:
    if not isinstance(array, list):
        raise errors.TypeError_(f"{name}: array must be a list of Tensors, got {errors.describe(array)}")
    return array


def _place(name: str, i: Any) -> int | None:
    if not isinstance(i, (int, Tensor)) or isinstance(i, Tensor) and i.size != 1:
        raise errors.TypeError_(f"{name}: i must be an int or a Tensor of one int, got {errors.describe(i)}")
    value = i._value if isinstance(i, Tensor) else None
    if isinstance(value, Value):  # known where it follows from constants
        known = {int(k.reshape(())) for k in value.known or ()}
        return known.pop() if value.known is not None and len(known) == 1 else None
    return int(i)


def _in_program(name: str, array: list) -> TensorArray:
    if not isinstance(array, TensorArray):
        raise errors.TypeError_(f"{name}: where i is not known yet, array must come from create_array in the program")
    return array


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
    return list(given) if modes.program is None else TensorArray(dtype, given)


def array_write(x: Tensor, i: Any, array: Any = None) -> list[Tensor]:
    """Put x at place i of an array, at most one beyond its end; returns the array (a new one for None).

    Raises:
        IndexError: a place further beyond the end.

    Example:
        >>> [t.tolist() for t in paddle.tensor.array_write(paddle.ones([1]), 0)]
        [[1.0]]
    """
    array = create_array(x.dtype) if array is None else _array("array_write", array)
    place = _place("array_write", i)
    if place is None or isinstance(array, TensorArray) and array.stacked is not None:
        _in_program("array_write", array).write(x, i)
        return array
    if isinstance(array, TensorArray):
        array._check_block("array_write")
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
    if place is None or isinstance(array, TensorArray) and array.stacked is not None:
        return _in_program("array_read", array).read(i)
    if not 0 <= place < len(_array("array_read", array)):
        raise errors.IndexError_(f"array_read: i must lie between 0 and {len(array) - 1}, got {place}")
    return array[place]


def array_length(array: Any) -> Tensor:
    """The length of an array, an int64 tensor.

    Example:
        >>> int(paddle.tensor.array_length([paddle.ones([1])]))
        1
    """
    if modes.program is None:
        return to_tensor(len(_array("array_length", array)), dtype="int64")
    if isinstance(array, TensorArray) and array.stacked is not None:
        return shape(array.stacked)[:1].astype("int64")
    return full([1], len(_array("array_length", array)), "int64")
