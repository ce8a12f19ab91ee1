"""Translators of operators that make, reshape, join and cut tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from ...engine.tensor import Tensor
from ...engine.value import Dim
from .format import damaged
from .reading import FEW, READERS, Call, reads

F = P.nn.functional
MAX_ELEMENTS = 1 << 28  # of a constant that a file may ask for


# ---- constants, made when they are wanted as tensors ----


def _few(shape: list, value: Any) -> np.ndarray | None:
    n = int(np.prod(shape, dtype=object)) if shape else 1
    return np.full(shape, value, dtype=object) if 0 <= n <= FEW and all(s >= 0 for s in shape) else None


def _typed(value: Any, dtype: str | None) -> Any:
    if dtype is None or dtype.startswith(("float", "bfloat")):
        return float(value)
    if dtype == "bool":
        return bool(value)
    return complex(value) if dtype.startswith("complex") else int(value)


def _value_of(call: Call) -> Any:
    try:
        return _typed(call.value, call.dtype())
    except (ValueError, OverflowError):
        raise damaged(f"the value {call.value} of {call.op}") from None


def _check_size(call: Call, shape: list) -> list:
    if any(n < 0 for n in shape if not isinstance(n, Dim)):
        raise damaged(f"{call.op} of shape {shape}")
    fixed = [1 if isinstance(n, Dim) else n for n in shape]
    if int(np.prod(fixed, dtype=object)) > MAX_ELEMENTS:
        raise errors.ValueError_(f"the model file asks for a constant of shape {shape}, which is too large")
    return shape


LAZY: dict[str, Callable] = {
    "full": lambda c: _few(c.shape, _value_of(c)),
    "full_int_array": lambda c: np.array([int(v) for v in c.value], dtype=object) if len(c.value) <= 4096 else None,
}


@reads("full")
def _full(call: Call) -> Any:
    return P.full(_check_size(call, call.shape), _value_of(call), call.dtype())


@reads("full_int_array")
def _full_int_array(call: Call) -> Any:
    return P.assign(np.array(call.value, dtype=call.dtype() or "int64"))


@reads("assign_value", "assign_value_")
def _assign_value(call: Call) -> Any:
    shape = _check_size(call, call.shape)
    if len(call.values) != int(np.prod(shape, dtype=object)):
        raise damaged(f"assign_value with {len(call.values)} values for the shape {shape}")
    with np.errstate(invalid="ignore"):
        return P.to_tensor(np.array(call.values).reshape(shape).astype(_numpy(call.dtype() or "float32")))


def _numpy(name: str) -> Any:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, None) or name)


def _shape(call: Call, name: str = "shape") -> Any:
    """A shape, checked as far as it is known."""
    found = call.ints(name)
    return _check_size(call, found) if isinstance(found, list) and not _has_tensors(found) else found


def _has_tensors(values: list) -> bool:
    return any(isinstance(v, Tensor) for v in values)


READERS["full_like"] = lambda c: P.full_like(c.x, c.number("value"), c.dtype())
READERS["zeros_like"] = lambda c: P.zeros_like(c.x, c.dtype())
READERS["ones_like"] = lambda c: P.ones_like(c.x, c.dtype())
READERS["empty_like"] = READERS["zeros_like"]
READERS["empty"] = lambda c: P.zeros(_shape(c), c.dtype())
READERS["zeros"] = READERS["empty"]
READERS["ones"] = lambda c: P.ones(_shape(c), c.dtype())
READERS["full_with_tensor"] = lambda c: P.full(_shape(c), c.number("value"), c.dtype())
READERS["assign_out"] = lambda c: c.x


@reads("full_")
def _full_(call: Call) -> Any:
    return P.full(_check_size(call, call.shape), _value_of(call), call.dtype())


@reads("fill")
def _fill(call: Call) -> Any:
    return P.full_like(call.x, call.number("value"))


@reads("full_batch_size_like")
def _full_batch(call: Call) -> Any:
    shape = list(call.shape)
    if not 0 <= call.output_dim_idx < len(shape) or not 0 <= call.input_dim_idx < call.input.ndim:
        raise damaged("full_batch_size_like with an axis that is not there")
    shape[call.output_dim_idx] = call.input._raw.shape[call.input_dim_idx]
    return P.full(_check_size(call, shape), call.value, call.dtype())


@reads("arange")
def _arange(call: Call) -> Any:
    start, end, step = (call.number(n) for n in ("start", "end", "step"))
    dtype = call.dtype() or "int64"
    if any(isinstance(v, (Dim, Tensor)) for v in (start, end, step)):
        return P.arange(*[v.reshape([]) if isinstance(v, Tensor) else v for v in (start, end, step)], dtype)
    if not step or (end - start) / step > MAX_ELEMENTS:
        raise errors.ValueError_(f"the model file asks for arange({start}, {end}, {step}), which is too long")
    return P.arange(start, end, step, dtype)


def _count(call: Call, name: str) -> int:
    n = call.fixed(name)[0]
    if not 0 <= n <= MAX_ELEMENTS:
        raise damaged(f"{call.op} of {n} elements")
    return n


READERS["linspace"] = lambda c: P.linspace(c.number("start"), c.number("stop"), _count(c, "number"), c.dtype())
READERS["logspace"] = lambda c: P.logspace(
    c.number("start"), c.number("stop"), _count(c, "num"), c.number("base"), c.dtype()
)


@reads("eye")
def _eye(call: Call) -> Any:
    rows, columns = call.fixed("num_rows")[0], call.fixed("num_columns")[0]
    _check_size(call, [rows, columns])
    return P.eye(rows, columns, call.dtype())


@reads("tril_indices", "triu_indices")
def _triangle(call: Call) -> Any:
    rows = call.attribute("rows" if "rows" in call.interface.attributes else "row")
    columns = call.attribute("cols" if "cols" in call.interface.attributes else "col")
    _check_size(call, [rows, columns])
    return getattr(P, call.op)(rows, columns, call.offset, call.dtype() or "int64")


READERS["gaussian"] = lambda c: P.normal(c.mean, c.std, _shape(c)).astype(c.dtype() or "float32")
READERS["uniform"] = lambda c: P.uniform(_shape(c), c.dtype() or "float32", c.number("min"), c.number("max"))
READERS["randint"] = lambda c: P.randint(c.low, c.high, _shape(c), c.dtype() or "int64")
READERS["randperm"] = lambda c: P.randperm(_count(c, "n"), c.dtype() or "int64")
READERS["bernoulli"] = lambda c: P.bernoulli(c.x)
READERS["poisson"] = lambda c: P.poisson(c.x)
READERS["multinomial"] = lambda c: P.multinomial(c.x, c.fixed("num_samples")[0], c.replacement)
READERS["truncated_gaussian_random"] = lambda c: P.clip(P.normal(c.mean, c.std, _shape(c)), c.a, c.b)


# ---- shapes ----

READERS["shape64"] = lambda c: P.shape(c.input)
READERS["shape"] = lambda c: P.shape(c.input).astype("int32")
READERS["numel"] = lambda c: P.numel(c.x)
READERS["is_empty"] = lambda c: P.numel(c.x) == 0
READERS["transpose"] = lambda c: P.transpose(c.x, c.perm)
READERS["flatten"] = lambda c: P.flatten(c.x, c.start_axis, c.stop_axis)
READERS["expand_as"] = lambda c: P.expand(c.x, list(c.y._raw.shape) if c.has("y") else c.target_shape)
READERS["broadcast_tensors"] = lambda c: list(P.broadcast_tensors(c.input))
READERS["meshgrid"] = lambda c: list(P.meshgrid(*c.inputs))
READERS["flip"] = lambda c: P.flip(c.x, c.axis)
READERS["reverse"] = lambda c: P.flip(c.x, c.fixed("axis"))
READERS["tril"] = lambda c: P.tril(c.x, c.diagonal)
READERS["triu"] = lambda c: P.triu(c.x, c.diagonal)
READERS["diag"] = lambda c: P.diag(c.x, c.offset, c.padding_value)
READERS["diag_embed"] = lambda c: P.diag_embed(c.input, c.offset, c.dim1, c.dim2)
READERS["diagonal"] = lambda c: P.diagonal(c.x, c.offset, c.axis1, c.axis2)
READERS["tile"] = lambda c: P.tile(c.x, c.ints("repeat_times"))
READERS["as_strided"] = lambda c: P.as_strided(c.input, c.dims, c.stride, c.offset)
READERS["view_shape"] = lambda c: P.reshape(c.input, c.dims)
READERS["view_dtype"] = lambda c: P.view(c.input, c.dtype())
READERS["tensor_unfold"] = lambda c: P.unfold(c.input, c.axis, c.size, c.step)
READERS["repeat_interleave"] = lambda c: P.repeat_interleave(c.x, c.repeats, c.axis)
READERS["repeat_interleave_with_tensor_index"] = lambda c: P.repeat_interleave(c.x, c.repeats, c.axis)
READERS["crop"] = lambda c: P.crop(c.x, c.ints("shape"), c.ints("offsets"))
READERS["reduce_as"] = lambda c: P.reduce_as(c.x, c.target)


@reads("reshape", "legacy_reshape")
def _reshape(call: Call) -> Any:
    return P.reshape(call.x, call.ints("shape"))


@reads("expand")
def _expand(call: Call) -> Any:
    return P.expand(call.x, call.ints("shape"))


@reads("squeeze")
def _squeeze(call: Call) -> Any:
    axes = call.fixed("axis")
    return P.squeeze(call.x, axes) if axes else P.squeeze(call.x)


READERS["unsqueeze"] = lambda c: P.unsqueeze(c.x, c.fixed("axis"))


@reads("roll")
def _roll(call: Call) -> Any:
    shifts = call.ints("shifts")
    return P.roll(call.x, shifts, call.axis) if call.axis else P.roll(call.x, shifts[0])


READERS["concat"] = lambda c: P.concat(c.x, c.number("axis"))
READERS["stack"] = lambda c: P.stack(c.x, c.axis)


def _parts(call: Call, n: int) -> int:
    """The number of parts, as the type of the result tells: a file cannot ask for more."""
    items = call.result().items
    if items is not None and len(items) != n:
        raise damaged(f"{call.op} into {n} parts, declared are {len(items)}")
    return n


@reads("split")
def _split(call: Call) -> Any:
    sections = call.ints("sections")
    _parts(call, len(sections))
    return list(P.split(call.x, sections, call.number("axis")))


@reads("split_with_num")
def _split_with_num(call: Call) -> Any:
    return list(P.split(call.x, _parts(call, call.num), call.number("axis")))


@reads("unbind", "unstack")
def _unbind(call: Call) -> Any:
    x, axis = getattr(call, call.interface.operands[0]), call.axis
    if not -x.ndim <= axis < x.ndim:
        raise damaged(f"{call.op} along axis {axis}")
    _parts(call, x._raw.shape[axis])
    return list(P.unbind(x, axis))


# ---- padding ----


@reads("pad")
def _pad(call: Call) -> Any:
    return F.pad(call.x, list(call.paddings), "constant", call.number("pad_value"))


@reads("pad3d")
def _pad3d(call: Call) -> Any:
    x, layout = call.x, call.data_format
    return F.pad(x, call.fixed("paddings"), call.mode, call.pad_value, layout)
