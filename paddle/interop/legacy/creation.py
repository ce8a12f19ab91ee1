"""Constants, ranges, random numbers, tables of embeddings."""

from __future__ import annotations

import numpy as np

import paddle
from paddle.nn import functional as F

from ...engine import errors
from ...engine.tensor import Tensor
from .call import Call, number, remember, translates
from .shape import constant_of, values


def _shape(op: Call) -> list:
    return op.numbers("shape", "ShapeTensorList", "ShapeTensor")


def _fill_value(op: Call, dtype: str):
    """A number from text, which is exact, or from the float attribute."""
    text = op.attr("str_value", "")
    value = float(text) if text in ("inf", "-inf", "nan") else op.attr("value", 0.0)
    if text and text not in ("inf", "-inf", "nan"):
        try:
            value = int(text)
        except ValueError:
            value = float(text)
    if dtype == "bool":
        return bool(value)
    return int(value) if "int" in dtype and value == value and abs(value) != float("inf") else value


@translates("fill_constant")
def fill_constant(op):
    dtype = op.dtype("dtype", "float32")
    if op.has("ValueTensor"):
        return paddle.expand(op["ValueTensor"].reshape([]).cast(dtype), _shape(op))
    shape, value = _shape(op), _fill_value(op, dtype)
    out = paddle.full(shape, value, dtype)
    if len(shape) < 2 and (not shape or shape[0] == 1):
        remember(out, np.full(shape, value, dtype))
    return out


@translates("fill_constant_batch_size_like")
def fill_constant_batch_size_like(op):
    dtype = op.dtype("dtype", "float32")
    return paddle.full(_shape_like(op), _fill_value(op, dtype), dtype)


def _shape_like(op: Call) -> list:
    shape = list(op.attr("shape"))
    shape[op.attr("output_dim_idx", 0)] = op["Input"].shape[op.attr("input_dim_idx", 0)]
    return shape


@translates("fill_any_like")
def fill_any_like(op):
    return paddle.full_like(op["X"], op.attr("value", 0.0), op.dtype("dtype"))


@translates("fill_zeros_like", "fill_zeros_like2")
def fill_zeros_like(op):
    return paddle.zeros_like(op["X"])


@translates("fill_any")
def fill_any(op):
    x = op["X"]
    old = op.attr("value_float" if x.is_floating_point() else "value_int", 0)
    return paddle.full_like(x, op.attr("value", old))


@translates("empty")
def empty(op):
    return paddle.zeros(_shape(op), op.dtype("dtype", "float32"))


@translates("assign_value", "fill")
def assign_value(op):
    name = "shape"
    return values(op, op.dtype("dtype", "float32")).reshape(op.attr(name))


@translates("full_int_array")
def full_int_array(op):
    return constant_of(list(op.attr("value", [])), op.dtype("dtype", "int64"))


def _check_count(op: Call, count: float) -> None:
    """Constants are made while a model is read: a small file must not need much memory."""
    if not count <= 2**26:
        raise errors.ValueError_(f"{op.type}: a constant of {count:.0f} elements; allowed are {2**26}")


@translates("range")
def range_(op):
    start, end, step = (number(op[slot]) for slot in ("Start", "End", "Step"))
    if not any(isinstance(v, Tensor) for v in (start, end, step)) and step:
        _check_count(op, (end - start) / step)
    return paddle.arange(start, end, step, dtype=op["Start"].dtype)


@translates("linspace")
def linspace(op):
    start, stop, count = (number(op[slot]) for slot in ("Start", "Stop", "Num"))
    if not isinstance(count, Tensor):
        _check_count(op, count)
    return paddle.linspace(start, stop, count, dtype=op.dtype("dtype", "float32"))


@translates("eye")
def eye(op):
    rows, columns = number(op.attr("num_rows")), number(op.attr("num_columns", -1))
    columns = rows if columns == -1 else columns
    _check_count(op, rows * columns)
    return paddle.eye(rows, columns, dtype=op.dtype("dtype", "float32"))


@translates("tril_indices", "triu_indices")
def tril_indices(op):
    function = getattr(paddle, op.type)
    row, column = op.attr("rows", op.attr("row")), op.attr("cols", op.attr("col"))
    _check_count(op, row * column)
    return {"out": function(row, column, op.attr("offset", 0), dtype=op.dtype("dtype", "int64"))}


# ---- random numbers ----


@translates("uniform_random", "uniform_random_batch_size_like")
def uniform_random(op):
    shape = _shape(op) if op.type == "uniform_random" else _shape_like(op)
    return paddle.uniform(shape, op.dtype("dtype", "float32"), op.attr("min", -1.0), op.attr("max", 1.0))


@translates("gaussian_random", "gaussian_random_batch_size_like")
def gaussian_random(op):
    shape = _shape(op) if op.type == "gaussian_random" else _shape_like(op)
    noise = paddle.randn(shape, op.dtype("dtype", "float32"))
    return noise * op.attr("std", 1.0) + op.attr("mean", 0.0)


@translates("truncated_gaussian_random")
def truncated_gaussian_random(op):
    """By the inverse of the distribution function."""
    shape, dtype = op.attr("shape"), op.dtype("dtype", "float32")
    low, high = (paddle.erf(paddle.to_tensor(op.attr(n, d) / 2**0.5)).item() for n, d in (("a", -2.0), ("b", 2.0)))
    noise = paddle.erfinv(paddle.uniform(shape, dtype, low, high)) * 2**0.5
    return noise * op.attr("std", 1.0) + op.attr("mean", 0.0)


@translates("randint")
def randint(op):
    return paddle.randint(op.attr("low"), op.attr("high"), _shape(op), op.dtype("dtype", "int64"))


@translates("randperm")
def randperm(op):
    return paddle.randperm(op.attr("n"), op.dtype("dtype", "int64"))


@translates("bernoulli")
def bernoulli(op):
    return paddle.bernoulli(op["X"])


@translates("multinomial")
def multinomial(op):
    return paddle.multinomial(op["X"], number(op.attr("num_samples", 1)), bool(op.attr("replacement", False)))


@translates("seed")
def seed(op):
    return paddle.full([1], op.attr("seed", 0), "int32")


# ---- tables ----


@translates("lookup_table", "lookup_table_v2")
def lookup_table(op):
    """The old form has an axis of length 1 behind the ids."""
    ids, table = op["Ids"], op["W"]
    if op.type == "lookup_table":
        ids = paddle.squeeze(ids, -1)
    padding = op.attr("padding_idx", -1)
    return F.embedding(ids, table, None if padding == -1 else padding)


@translates("c_embedding")
def c_embedding(op):
    if op.attr("start_index", 0):
        raise NotImplementedError("c_embedding: a table that is divided among devices")
    return F.embedding(op["Ids"], op["W"])


@translates("one_hot", "one_hot_v2")
def one_hot(op):
    x = op["X"]
    if op.type == "one_hot" and len(x.shape) > 1:
        x = paddle.squeeze(x, -1)
    depth = number(op["depth_tensor"]) if op.has("depth_tensor") else op.attr("depth", -1)
    if isinstance(depth, Tensor):
        raise NotImplementedError(f"{op.type}: a depth that depends on data")
    dtype = op.dtype("dtype", "float32")
    if op.attr("allow_out_of_range", False):
        return (x.unsqueeze(-1) == paddle.arange(depth, dtype=x.dtype)).cast(dtype)
    return F.one_hot(x, depth).cast(dtype)
