"""Making and changing tensors, by their names before version 2."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle

from ...engine import errors
from ...engine.tensor import Tensor
from ...nn.parameter import create_parameter
from ...static.program import data as _data
from ...static.variables import create_global_var
from ..framework import begin_static

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "assign",
    "cast",
    "concat",
    "create_global_var",
    "create_parameter",
    "create_tensor",
    "data",
    "diag",
    "eye",
    "fill_constant",
    "fill_constant_batch_size_like",
    "gaussian_random",
    "has_inf",
    "has_nan",
    "isfinite",
    "linspace",
    "ones",
    "ones_like",
    "range",
    "reverse",
    "sums",
    "uniform_random",
    "zeros",
    "zeros_like",
]


def data(
    name: str,
    shape: Any,
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: Any = None,
    stop_gradient: bool = True,
) -> Tensor:
    """An input of the program.

    Args:
        shape: its lengths without the batch, unless `append_batch_size` is False or one of them is unknown.
        stop_gradient: whether no gradient flows to it.
    """
    begin_static()
    shape = [-1 if n is None else n for n in shape]
    if append_batch_size and all(n >= 0 for n in shape):
        shape = [-1, *shape]
    out = _data(name, shape, dtype, lod_level)
    out.stop_gradient = stop_gradient
    return out


def _into(out: Tensor | None, made: Tensor) -> Tensor:
    return made if out is None else out._rebind(made.astype(out.dtype))


def fill_constant(
    shape: Any, dtype: Any, value: Any, force_cpu: bool = False, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """A tensor full of one number; `out` becomes it when it is given."""
    return _into(out, paddle.full(shape, value, dtype))


def fill_constant_batch_size_like(
    input: Tensor,
    shape: Any,
    dtype: Any,
    value: Any,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    force_cpu: bool = False,
) -> Tensor:
    """A tensor full of one number; its length along `output_dim_idx` is that of `input` along `input_dim_idx`."""
    shape = list(shape)
    shape[output_dim_idx] = paddle.shape(input)[input_dim_idx]
    return paddle.full(shape, value, dtype)


def zeros(shape: Any, dtype: Any, force_cpu: bool = False, name: str | None = None) -> Tensor:
    return paddle.zeros(shape, dtype)


def ones(shape: Any, dtype: Any, force_cpu: bool = False) -> Tensor:
    return paddle.ones(shape, dtype)


def zeros_like(x: Tensor, out: Tensor | None = None) -> Tensor:
    return _into(out, paddle.zeros_like(x))


def ones_like(x: Tensor, out: Tensor | None = None) -> Tensor:
    return _into(out, paddle.ones_like(x))


def uniform_random(
    shape: Any, dtype: Any = "float32", min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    return paddle.uniform(shape, dtype, min, max, seed)


def gaussian_random(
    shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = "float32", name: str | None = None
) -> Tensor:
    return (paddle.randn(shape, dtype) * std + mean).astype(dtype)


def assign(input: Any, output: Tensor | None = None) -> Tensor:
    """A copy of a tensor or array; `output` becomes it when it is given."""
    return paddle.assign(input, output)


def cast(x: Tensor, dtype: Any) -> Tensor:
    return paddle.cast(x, dtype)


def concat(input: Any, axis: Any = 0, name: str | None = None) -> Tensor:
    return paddle.concat(list(input), axis)


def sums(input: Any, out: Tensor | None = None) -> Tensor:
    """The sum of a list of tensors."""
    return _into(out, paddle.add_n(list(input) if isinstance(input, (list, tuple)) else [input]))


def argmax(x: Tensor, axis: int = 0) -> Tensor:
    return paddle.argmax(x, axis)


def argmin(x: Tensor, axis: int = 0) -> Tensor:
    return paddle.argmin(x, axis)


def argsort(input: Tensor, axis: int = -1, descending: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(sorted elements, their positions)."""
    positions = paddle.argsort(input, axis, descending)
    return paddle.take_along_axis(input, positions, axis), positions


def range(start: Any, end: Any, step: Any, dtype: Any, name: str | None = None) -> Tensor:
    return paddle.arange(start, end, step, dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    return paddle.linspace(start, stop, num, dtype or "float32")


def eye(num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = "float32") -> Tensor:
    """Ones on the diagonal; `batch_shape` goes in front."""
    out = paddle.eye(num_rows, num_columns, dtype)
    return out if not batch_shape else paddle.expand(out, [*batch_shape, *out.shape])


def diag(diagonal: Any) -> Tensor:
    return paddle.diag(paddle.to_tensor(diagonal) if isinstance(diagonal, np.ndarray) else diagonal)


def reverse(x: Tensor, axis: Any) -> Tensor:
    return paddle.flip(x, axis)


def has_inf(x: Tensor) -> Tensor:
    return paddle.any(paddle.isinf(x)).reshape([1])


def has_nan(x: Tensor) -> Tensor:
    return paddle.any(paddle.isnan(x)).reshape([1])


def isfinite(x: Tensor) -> Tensor:
    """Whether all elements are finite."""
    return paddle.all(paddle.isfinite(x)).reshape([1])


def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Tensor:
    """A tensor that another function writes its result to."""
    if persistable:
        raise errors.NotImplemented_("create_tensor: persistable=True without a shape; use create_global_var")
    return paddle.zeros([1], dtype)
