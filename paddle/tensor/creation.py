"""Making tensors, under the official module path; the functions are those of `paddle`."""

from typing import Any

from ..engine.dtype import to_dtype
from ..engine.tensor import Tensor
from ..framework.mmap_storage import MmapStorage
from ..framework.typed import *
from ..nn.parameter import create_parameter
from ..ops.complex_numbers import complex, polar
from ..ops.creation import (
    arange,
    assign,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    range,
    resize_,
    set_,
    to_tensor,
    zeros,
    zeros_like,
)
from ..ops.diagonals import diag, diag_embed, diagflat, diagonal, tril, tril_, triu, triu_
from ..ops.joining import split_with_sizes
from ..ops.random import cauchy_, geometric_


def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Tensor:
    """An empty tensor of a type.

    Example:
        >>> paddle.tensor.create_tensor("float32").shape
        [0]
    """
    out = empty([0], to_dtype(dtype))
    out.persistable = persistable
    if name is not None:
        out.name = name
    return out


def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: Any = None,
    place: Any = None,
    name: str | None = None,
) -> Tensor:
    """A tensor filled with a number, the older form of `paddle.full`.

    Args:
        force_cpu: it shall lie on the CPU.
        out: a tensor that takes the result.
        place: where it shall lie.

    Example:
        >>> paddle.tensor.fill_constant([2], "int64", 3).tolist()
        [3, 3]
    """
    made = full(shape, value, dtype)
    if force_cpu or place is not None:
        made = made.to("cpu" if force_cpu else place)
    return made if out is None else assign(made, out)
