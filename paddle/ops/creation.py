"""Making tensors: from data, filled, ranges, diagonals."""

from __future__ import annotations

import builtins
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine import place as places
from ..engine.dtype import to_dtype
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.place import put
from ..engine.shape import fixed_ints, row_major
from ..engine.tape import TRACE_SIZE, Source
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT, Dim, Held, Value
from .checks import host_value
from .manipulation import reshape, star, tensor_of, tensors_of
from .parts import as_strided


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
    elif isinstance(data, (list, tuple)) and data and builtins.all(isinstance(d, Tensor) for d in data):
        from .joining import stack

        kind = dtypes.from_numpy(jnp.result_type(*(d._value for d in data))) if dtype is None else dtype
        value = stack([d.detach().astype(kind) for d in data])._value
    else:
        array = _to_array(data)
        if (
            isinstance(data, np.ndarray)
            and array.dtype == np.uint16
            and (dtype is None or to_dtype(dtype) is dtypes.bfloat16)
        ):
            array = array.view(dtypes.bfloat16.numpy)  # the bits that numpy() gives of a bfloat16 tensor, as officially
        if dtype is not None:
            kind = to_dtype(dtype)
            array = (array.real if array.dtype.kind == "c" and not kind.is_complex else array).astype(kind.numpy)
        elif isinstance(data, (list, tuple)) and array.dtype == np.int32:
            array = array.astype(np.int64)
        elif not isinstance(data, (np.ndarray, np.generic, jax.Array)) and array.dtype.kind in "fc":
            kind = dtypes.default_dtype() if array.dtype.kind == "f" else dtypes.default_complex()
            array = array.astype(kind.numpy)
        if array.dtype not in dtypes._by_numpy:
            raise errors.ValueError_(
                f"to_tensor: data of type {array.dtype} is no array of numbers: {errors.describe(data)}"
            )
        value = put(array)
    if place is not None and (device := places.parse_place(place, "place").device()) not in value.devices():
        value = put(value, device)  # (on the same device this would be a second array over the same buffer)
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
    if array.dtype.kind == "O" and builtins.any(isinstance(a, int) for a in array.flat):
        raise errors.ValueError_("to_tensor: an integer is too large for int64")
    if array.dtype.kind in "OUS" or not array.dtype.isnative:
        try:
            native = array.dtype.newbyteorder("=")
            array = np.array(data, np.float64) if array.dtype.kind in "OUS" else array.astype(native)
        except (TypeError, ValueError):
            raise errors.ValueError_(f"to_tensor: {errors.describe(data)} is no array of numbers") from None
    return array


def _plain(data: Any) -> Any:
    """Nested lists with the tensors in them turned into arrays."""
    if isinstance(data, Tensor):
        return np.asarray(data)
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


def shape_of(shape: Any, name: str) -> tuple[int, ...]:
    """A shape argument as a tuple of ints: a list (tensors allowed in it), a Tensor, an int.

    Raises ValueError for a negative length, TypeError for what is no integer.
    """
    try:
        out = fixed_ints(shape)
    except (TypeError, AttributeError):
        raise errors.TypeError_(f"{name}: shape must be a list of integers, got {errors.describe(shape)}") from None
    if builtins.any(not isinstance(s, (Dim, Held)) and s < 0 for s in out):
        raise errors.ValueError_(f"{name}: the lengths of a shape cannot be negative, got {list(out)}")
    return out


def placed(out: Tensor, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor moved to a device and made a leaf, as the keyword arguments of the factories ask."""
    if device is not None:
        out = _copy_to(out, places.parse_place(device, "device"))
    if requires_grad:
        out.stop_gradient = False
    return out


def _number(name: str, value: Any, argument: str = "fill_value") -> Any:
    """A Python number, from a number, a numeric string or a tensor of one element."""
    if isinstance(value, Tensor) and isinstance(value._value, Value):
        return value.reshape([])
    if isinstance(value, (Tensor, np.generic, np.ndarray)):
        if value.size != 1:
            raise errors.ValueError_(f"{name}: {argument} must be one number, got {errors.describe(value)}")
        return value.item()
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise errors.ValueError_(f"{name}: {argument} {value!r} is no number") from None
    if not isinstance(value, (builtins.bool, int, float, complex)):
        raise errors.TypeError_(
            f"{name}: {argument} must be a number or a Tensor of one element, got {errors.describe(value)}"
        )
    return value


def _fit(value: Any, dtype: dtypes.DType) -> Any:
    """A Python number that a data type can hold: integers wrap around, what has no integer value is the lowest."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, complex) and not dtype.is_complex:
        value = value.real
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        try:
            value = int(value)
        except (ValueError, OverflowError):  # NaN, infinity
            return int(info.min)
        span = int(info.max) - int(info.min) + 1
        value = (value - int(info.min)) % span + int(info.min)
        return value - 2**64 if value >= 2**63 else value
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


# ---- filled ----


@op(method=False, scalars="fill_value", static="shape dtype", differentiable=False, export=False, name="full")
def _full(shape, fill_value, dtype):
    return jnp.full(shape, fill_value).astype(dtype.numpy)


@op(method=False, scalars="fill_value", static="dtype", differentiable=False, export=False, name="full_like")
def _full_like(x, fill_value, dtype):
    return jnp.full(x.shape, fill_value).astype(dtype.numpy)


def _filled(name: str, shape: Any, value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    return placed(_full(Frozen(shape_of(shape, name)), _fit(value, dtype), dtype), device, requires_grad)


def _filled_like(name: str, x: Any, value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    dtype = tensor_of(name, x).dtype if dtype is None else to_dtype(dtype)
    return placed(_full_like(x.detach(), _fit(value, dtype), dtype), device, requires_grad)


@api(method=False)
def full(shape, fill_value, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A tensor of a shape with every element `fill_value` (a number or a tensor of one element).

    Without `dtype`: bool for a bool, complex128 for a complex number, else the default dtype.

    Example:
        >>> paddle.full([2], 3.5).tolist()
        [3.5, 3.5]
    """
    fill_value = _number("full", fill_value)
    if dtype is None and isinstance(fill_value, (builtins.bool, complex)):
        dtype = dtypes.bool if isinstance(fill_value, builtins.bool) else dtypes.complex128
    return _filled("full", shape, fill_value, dtype, device, requires_grad)


@star(at=0)
@api(method=False)
def zeros(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A tensor of zeros; `dtype` defaults to the default dtype.

    Example:
        >>> paddle.zeros([2, 3]).shape
        [2, 3]
    """
    return _filled("zeros", shape, 0, dtype, device, requires_grad)


@star(at=0)
@api(method=False)
def ones(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A tensor of ones; `dtype` defaults to the default dtype.

    Example:
        >>> paddle.ones([2]).tolist()
        [1.0, 1.0]
    """
    return _filled("ones", shape, 1, dtype, device, requires_grad)


@star(at=0)
@api(method=False)
def empty(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A tensor whose values do not matter (here: zeros).

    Example:
        >>> paddle.empty([2, 3]).shape
        [2, 3]
    """
    return _filled("empty", shape, 0, dtype, device, requires_grad)


@api(method=False)
def full_like(x, fill_value, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A tensor with the shape, and by default the type, of x and every element `fill_value`.

    Example:
        >>> paddle.full_like(paddle.ones([2]), 3).tolist()
        [3.0, 3.0]
    """
    return _filled_like("full_like", x, _number("full_like", fill_value), dtype, device, requires_grad)


@api(method=False)
def zeros_like(x, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """Zeros with the shape, and by default the type, of x.

    Example:
        >>> paddle.zeros_like(paddle.ones([2])).tolist()
        [0.0, 0.0]
    """
    return _filled_like("zeros_like", x, 0, dtype, device, requires_grad)


@api(method=False)
def ones_like(x, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """Ones with the shape, and by default the type, of x.

    Example:
        >>> paddle.ones_like(paddle.zeros([2])).tolist()
        [1.0, 1.0]
    """
    return _filled_like("ones_like", x, 1, dtype, device, requires_grad)


@api(method=False)
def empty_like(x, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A tensor with the shape, and by default the type, of x, whose values do not matter (here: zeros).

    Example:
        >>> paddle.empty_like(paddle.ones([2])).shape
        [2]
    """
    return _filled_like("empty_like", x, 0, dtype, device, requires_grad)


# ---- ranges ----


@api(method=False)
def arange(start=0, end=None, step=1, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """The numbers from `start` to `end` (excluded) by `step`; ``arange(n)`` starts from 0.

    Args:
        start, end, step: numbers or tensors of one element.
        dtype: default int64, or the default dtype when one of them is floating.

    Raises:
        ValueError: `step` is 0, or one of the numbers is not finite.

    Example:
        >>> paddle.arange(1, 7, 2).tolist()
        [1, 3, 5]
    """
    if end is None:
        start, end = 0, start
    start, end, step = (_number("arange", v, n) for v, n in ((start, "start"), (end, "end"), (step, "step")))
    dtype = _range_type("arange", (start, end, step), dtype)
    if builtins.any(isinstance(v, (Tensor, Dim)) for v in (start, end, step)):
        return placed(_arange(start, end, step, dtype.name), device, requires_grad)
    return placed(_constant(_range_values(start, end, step, dtype), dtype), device, requires_grad)


@op(method=False, export=False, name="arange", static="start end step dtype")
def _arange(start, end, step, dtype):
    found = to_dtype(dtype)
    return jnp.asarray(_range_values(start, end, step, found).astype(found.numpy))


def _range_values(start: Any, end: Any, step: Any, dtype: dtypes.DType) -> Any:
    if not builtins.all(isinstance(v, (int, float, np.generic)) for v in (start, end, step)):
        return jnp.arange(start, end, step)  # lengths that stay open in an exported program
    n = _range_length("arange", start, end, step)
    if not dtype.is_integer:
        return start + np.arange(n, dtype=np.float64) * step
    start, step = int(start), int(step)
    if step == 0:
        raise errors.ValueError_(f"arange: step is 0 as {dtype.name}")
    return start + np.arange(n, dtype=np.int64) * step


def _range_type(name: str, numbers: tuple, dtype: Any) -> dtypes.DType:
    if dtype is None:
        floating = builtins.any(v.dtype.is_floating if isinstance(v, Tensor) else isinstance(v, float) for v in numbers)
        return dtypes.default_dtype() if floating else dtypes.int64
    dtype = to_dtype(dtype)
    if dtype.kind not in "iuf":
        raise errors.TypeError_(f"{name}: dtype must be an integer or floating type, got {dtype.name}")
    return dtype


def _range_length(name: str, start: Any, end: Any, step: Any) -> int:
    for value, argument in ((start, "start"), (end, "end"), (step, "step")):
        if isinstance(value, complex) or not math.isfinite(value):
            raise errors.ValueError_(f"{name}: {argument} must be a finite real number, got {value}")
    if step == 0:
        raise errors.ValueError_(f"{name}: step cannot be 0")
    if builtins.all(isinstance(v, int) for v in (start, end, step)):
        return max(0, -((start - end) // step))
    return max(0, math.ceil((end - start) / step))


@api
def assign(x, output=None):
    """A copy of x; gradients flow through.

    Args:
        x: a Tensor, or numbers, lists and arrays (a single number gives shape [1]; lists of floats float64).
        output: a Tensor to write the copy into; returned.

    Example:
        >>> paddle.assign(paddle.to_tensor([1, 2])).tolist()
        [1, 2]
    """
    if not isinstance(x, Tensor):
        array = _to_array(x)
        x = to_tensor(array if isinstance(x, np.ndarray) or array.ndim else array.reshape(1))
    out = _assign(x)
    return out if output is None else output._rebind(out if out.dtype is output.dtype else out.astype(output.dtype))


@op(method=False, export=False, name="assign")
def _assign(x):
    return x


@api(method="clone")
def clone(x):
    """A copy with memory of its own; gradients flow through.

    Example:
        >>> paddle.ones([2]).clone().tolist()
        [1.0, 1.0]
    """
    return _assign(tensor_of("clone", x))


@api(method=False)
def range(start=0, end=None, step=1, dtype=None, *, device=None, requires_grad=False):
    """The numbers from `start` to `end`, which is included (deprecated officially, use `arange`).

    Example:
        >>> paddle.range(0, 4, 2).tolist()
        [0.0, 2.0, 4.0]
    """
    if end is None:
        start, end = 0, start
    start, end, step = (_number("range", v, n) for v, n in ((start, "start"), (end, "end"), (step, "step")))
    dtype = dtypes.default_dtype() if dtype is None else _range_type("range", (), dtype)
    _range_length("range", start, end, step)
    n = builtins.max(0, math.floor((end - start) / step) + 1)
    return placed(_constant(start + np.arange(n) * step, dtype), device, requires_grad)


def _constant(values: np.ndarray, dtype: dtypes.DType) -> Tensor:
    return _make(put(values.astype(dtype.numpy)))


def _points(name: str, start: Any, stop: Any, num: Any) -> np.ndarray:
    start, stop = _number(name, start, "start"), _number(name, stop, "stop")
    number = int(_number(name, num, "num"))
    if number < 0:
        raise errors.ValueError_(f"{name}: num cannot be negative, got {number}")
    return np.linspace(start, stop, number)


@api(method=False, aliases={"end": "stop", "steps": "num"})
def linspace(start, stop, num, dtype=None, *, device=None, requires_grad=False):
    """`num` numbers at equal distances, from `start` to `stop` (included).

    Args:
        dtype: default the default dtype; integers truncate.

    Raises:
        ValueError: a negative `num`.

    Example:
        >>> paddle.linspace(0, 1, 3).tolist()
        [0.0, 0.5, 1.0]
    """
    dtype = _range_type("linspace", (0.0,), dtype)
    ends = [_number("linspace", v, n) for v, n in ((start, "start"), (stop, "stop"))]
    count = _number("linspace", num, "num")
    if builtins.any(isinstance(v, (Tensor, Dim)) for v in (*ends, count)):
        return placed(_linspace(*ends, count, dtype.name), device, requires_grad)
    return placed(_constant(_points("linspace", start, stop, num), dtype), device, requires_grad)


@op(method=False, export=False, name="linspace", static="num dtype", scalars="start stop")
def _linspace(start, stop, num, dtype):
    part = jnp.asarray(_points("linspace", 0.0, 1.0, num))
    return (start + (jnp.asarray(stop, part.dtype) - start) * part).astype(to_dtype(dtype).numpy)


@api(method=False)
def logspace(start, stop, num, base=10.0, dtype=None):
    """`num` powers of `base`, whose exponents are at equal distances from `start` to `stop` (included).

    Raises:
        ValueError: `num` is not positive.

    Example:
        >>> paddle.logspace(0, 2, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    points = _points("logspace", start, stop, num)
    if not points.size:
        raise errors.ValueError_("logspace: num must be positive, got 0")
    return _constant(np.power(float(_number("logspace", base, "base")), points), _range_type("logspace", (0.0,), dtype))


@api(method=False, aliases={"m": "num_columns", "n": "num_rows"})
def eye(num_rows, num_columns=None, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """A matrix with ones on the diagonal, square unless `num_columns` is given.

    Raises:
        ValueError: a negative length.

    Example:
        >>> paddle.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    rows, columns = shape_of([num_rows, num_rows if num_columns is None else num_columns], "eye")
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    return placed(_eye(rows, columns, dtype), device, requires_grad)


@op(method=False, export=False, name="eye", static="rows columns dtype", differentiable=False)
def _eye(rows, columns, dtype):
    return jnp.eye(rows, columns, dtype=dtype.numpy)


@api(method=False)
def meshgrid(*args, **kwargs):
    """Grids of the coordinates given by vectors: as many tensors as vectors, each with all axes.

    Args:
        args: vectors (or scalars) of one type, or a list of them.
        indexing: "ij" (default, the first vector runs along the first axis) or "xy".

    Raises:
        ValueError: no vectors, more than one dimension, types that differ.

    Example:
        >>> x, y = paddle.meshgrid(paddle.arange(2), paddle.arange(3))
        >>> x.shape
        [2, 3]
    """
    indexing = kwargs.pop("indexing", "ij")
    kwargs.pop("name", None)
    if kwargs:
        raise errors.TypeError_(f"meshgrid: there is no argument {next(iter(kwargs))!r}")
    if indexing not in ("ij", "xy"):
        raise errors.ValueError_(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    listed = tensors_of("meshgrid", args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args, "args")
    if builtins.any(each.ndim > 1 for each in listed):
        raise errors.ValueError_(
            f"meshgrid: the tensors must have at most one dimension, got {errors.describe(listed)}"
        )
    return list(_meshgrid(listed, indexing))


@op(method=False, export=False, name="meshgrid", static="indexing")
def _meshgrid(inputs, indexing):
    return tuple(jnp.meshgrid(*map(jnp.atleast_1d, inputs), indexing=indexing))


@api(method=False)
def vander(x, n=None, increasing=False):
    """The Vandermonde matrix of a vector: its powers n-1, ..., 1, 0 (or reversed) as columns.

    Args:
        n: how many powers, default the length of x.

    Raises:
        ValueError: x is no vector, a negative `n`.

    Example:
        >>> paddle.vander(paddle.to_tensor([1, 2, 3]), 2).tolist()
        [[1, 1], [2, 1], [3, 1]]
    """
    if tensor_of("vander", x).ndim != 1:
        raise errors.ValueError_(f"vander: x must have one dimension, got shape {list(x.shape)}")
    n = x.shape[0] if n is None else n
    if n < 0:
        raise errors.ValueError_(f"vander: n cannot be negative, got {n}")
    return _vander(x, n, builtins.bool(increasing))


@op(method=False, export=False, name="vander")
def _vander(x, n, increasing):
    if not n:
        return jnp.zeros((x.shape[0], 0), x.dtype)
    factors = jnp.concatenate([jnp.ones_like(x)[:, None], jnp.broadcast_to(x[:, None], (x.shape[0], n - 1))], 1)
    powers = jnp.cumprod(factors, 1, dtype=x.dtype)  # whose gradient is right at 0, unlike that of powers
    return powers if increasing else powers[:, ::-1]


Tensor.vander = vander


@api(method=False, export=False)
def one_hot(x, num_classes=-1):
    """Class numbers as vectors with a single one, float32 (the default dtype), along a new last axis.

    Args:
        x: int tensor.
        num_classes: -1 takes the largest number plus one.

    Raises:
        ValueError: a number outside of the classes.

    Example:
        >>> paddle.nn.functional.one_hot(paddle.to_tensor([0, 2]), 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not tensor_of("one_hot", x).dtype.is_integer:
        raise errors.TypeError_(f"one_hot: x must be an int Tensor, got {x.dtype.name}")
    if isinstance(x._value, Value) and not isinstance(num_classes, Tensor) and num_classes == -1:
        return _one_hot(x, x.max() + 1)  # read when the program runs
    if isinstance(num_classes, Tensor) and isinstance(num_classes._value, Value):
        return _one_hot(x, num_classes.reshape([]))
    classes = int(_number("one_hot", num_classes, "num_classes"))
    if classes == -1:
        if not x.size:
            raise errors.ValueError_("one_hot: num_classes must be given for an empty tensor")
        classes = int(x.numpy().max()) + 1
    if classes < 0:
        raise errors.ValueError_(f"one_hot: num_classes must be -1 or not negative, got {num_classes}")
    array = host_value(x)
    if array is not None and (array.min() < 0 or array.max() >= classes):
        raise errors.ValueError_(
            f"one_hot: class numbers must be from 0 to {classes - 1}, got {array.min()} to {array.max()}"
        )
    return _one_hot(x, classes)


@op(method=False, export=False, name="one_hot", static="classes", differentiable=False)
def _one_hot(x, classes):
    return jax.nn.one_hot(x, classes, dtype="float32")


# ---- other ways in ----


@api(method=False, export=False)  # paddle.tensor is a package that can be called
def tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with a copy of the data, as `to_tensor`, with the argument names of PyTorch.

    Example:
        >>> paddle.tensor([1, 2]).tolist()
        [1, 2]
    """
    return to_tensor(data, dtype, device, not requires_grad)


@api(method=False)
def as_tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """The same as `tensor`."""
    return to_tensor(data, dtype, device, not requires_grad)


@api(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """The same as `tensor`; `copy` makes no difference, the memory is never shared."""
    return to_tensor(obj, dtype, device, not requires_grad)


@api(method=False)
def from_numpy(ndarray):
    """A tensor with a copy of a NumPy array, of the same type.

    Raises:
        TypeError: not an array.

    Example:
        >>> paddle.from_numpy(paddle.ones([2]).numpy()).tolist()
        [1.0, 1.0]
    """
    if not isinstance(ndarray, np.ndarray):
        raise errors.TypeError_(f"from_numpy: a NumPy array is needed, got {type(ndarray).__name__}; use paddle.tensor")
    return to_tensor(ndarray)


def _new(x: Tensor, size: Any, value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    device = x.place if device is None and not isinstance(x._value, ABSTRACT) else device
    return _filled("new_full", size, value, x.dtype if dtype is None else dtype, device, requires_grad)


@star("new_zeros")
@api(method="new_zeros", export=False, aliases={"shape": "size"})
def new_zeros(self, size, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """Zeros of a shape, with the type and on the device of self."""
    return _new(self, size, 0, dtype, device, requires_grad)


@star("new_ones")
@api(method="new_ones", export=False, aliases={"shape": "size"})
def new_ones(self, size, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """Ones of a shape, with the type and on the device of self."""
    return _new(self, size, 1, dtype, device, requires_grad)


@star("new_empty")
@api(method="new_empty", export=False, aliases={"shape": "size"})
def new_empty(self, size, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of a shape, with the type and on the device of self, whose values do not matter (here: zeros)."""
    return _new(self, size, 0, dtype, device, requires_grad)


@api(method="new_full", export=False, aliases={"shape": "size"})
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of a shape with every element `fill_value`, with the type and on the device of self."""
    return _new(self, size, _number("new_full", fill_value), dtype, device, requires_grad)


@api(method="new_tensor", export=False)
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with a copy of the data, with the type and on the device of self."""
    dtype, device = self.dtype if dtype is None else dtype, self.place if device is None else device
    return to_tensor(data, dtype, device, not requires_grad)


# ---- filling in place ----


def _fill(x: Tensor, value: Any) -> Tensor:
    return _full_like(x.detach(), _fit(value, x.dtype), x.dtype)


@api(method="fill_", export=False)
def fill_(x, value):
    """Overwrite every element with a number, in place."""
    if isinstance(value, str):
        raise errors.TypeError_(f"fill_: value must be a number, got {value!r}")
    return x._inplace(_fill, _number("fill_", value, "value"))


@api(method="zero_", export=False)
def zero_(x):
    """Overwrite every element with zero, in place."""
    return x._inplace(_fill, 0)


def _flat_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The first elements of x, followed by zeros, in a shape."""
    from .joining import concat

    flat, n = reshape(x, [-1]), math.prod(shape)
    if n > flat.size:
        flat = concat([flat, zeros([n - flat.size], x.dtype)])
    return reshape(flat[:n], shape)


@api(method="resize_", export=False)
def resize_(x, shape, fill_zero=False):
    """Change the shape in place: the first elements stay; new ones are zero (officially only with `fill_zero`)."""
    return x._inplace(_flat_to, shape_of(shape, "resize_"), reshapes=True)


@api(method="set_", export=False)
def set_(x, source=None, shape=None, stride=None, offset=0):
    """Take over the values of another tensor, read with a shape and strides (see `as_strided`); empty without one."""
    if source is None:
        source = zeros([0], x.dtype)
    shape = list(source.shape) if shape is None else shape
    found = as_strided(source, shape, stride if stride is not None else row_major(shape_of(shape, "set_")), offset)
    return x._inplace(lambda _: clone(found), reshapes=True)
