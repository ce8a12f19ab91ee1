"""Data types: one object per element type, shared by every part of the framework."""

from __future__ import annotations

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from . import errors

__all__ = ["DType", "to_dtype", "from_numpy", "get_default_dtype", "set_default_dtype", "finfo", "iinfo"]


class DType:
    """An element type, such as ``paddle.float32``. There is exactly one object per type, compared by identity.

    Attributes: ``name`` ("float32"), ``numpy`` (the NumPy dtype), ``itemsize`` (bytes) and ``kind``, one of
    ``"b"`` bool, ``"u"`` unsigned, ``"i"`` signed, ``"f"`` floating (including bfloat16 and float8), ``"c"`` complex.
    """

    __slots__ = ("name", "numpy", "itemsize", "kind")

    name: str
    numpy: np.dtype
    itemsize: int
    kind: str

    def __new__(cls, value: Any) -> DType:
        """The type of an official number (10 is float32) or of any other spelling."""
        if isinstance(value, int) and not isinstance(value, builtins.bool):
            for name, number in _NUMBERS.items():
                if number == value:
                    return raw if name == "raw" else pstring if name == "pstring" else _by_name[name]
            raise errors.ValueError_(f"dtype: {value} is not the number of a type")
        return to_dtype(value)

    @classmethod
    def _make(cls, name: str, numpy_dtype: Any, kind: str) -> DType:
        self = object.__new__(cls)
        self.name = name
        self.numpy = np.dtype(numpy_dtype)
        self.itemsize = self.numpy.itemsize
        self.kind = kind
        return self

    def __repr__(self) -> str:
        return f"paddle.{self.name}"

    @property
    def value(self) -> int:
        """The official number of the type."""
        return _NUMBERS[self.name]

    def __int__(self) -> int:
        return _NUMBERS[self.name]

    __index__ = __int__
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__  # there is one object for each type

    @property
    def is_floating(self) -> builtins.bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> builtins.bool:
        return self.kind == "c"

    @property
    def is_integer(self) -> builtins.bool:
        return self.kind in "iu"

    @property
    def is_differentiable(self) -> builtins.bool:
        return self.kind in "fc"

    def __reduce__(self):
        return to_dtype, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict) -> DType:
        return self


bool = DType._make("bool", np.bool_, "b")
uint8 = DType._make("uint8", np.uint8, "u")
uint16 = DType._make("uint16", np.uint16, "u")
uint32 = DType._make("uint32", np.uint32, "u")
uint64 = DType._make("uint64", np.uint64, "u")
int8 = DType._make("int8", np.int8, "i")
int16 = DType._make("int16", np.int16, "i")
int32 = DType._make("int32", np.int32, "i")
int64 = DType._make("int64", np.int64, "i")
float16 = DType._make("float16", np.float16, "f")
bfloat16 = DType._make("bfloat16", ml_dtypes.bfloat16, "f")
float32 = DType._make("float32", np.float32, "f")
float64 = DType._make("float64", np.float64, "f")
float8_e4m3fn = DType._make("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f")
float8_e5m2 = DType._make("float8_e5m2", ml_dtypes.float8_e5m2, "f")
complex64 = DType._make("complex64", np.complex64, "c")
complex128 = DType._make("complex128", np.complex128, "c")

ALL = (
    bool,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    bfloat16,
    float32,
    float64,
    float8_e4m3fn,
    float8_e5m2,
    complex64,
    complex128,
)

# Official types without elements that a tensor could have here: any operation on them is an error.
pstring = DType._make("pstring", np.object_, "O")
raw = DType._make("raw", np.object_, "O")

_NUMBERS = {
    "raw": 0,
    "bool": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "uint32": 6,
    "int32": 7,
    "uint64": 8,
    "int64": 9,
    "float32": 10,
    "float64": 11,
    "complex64": 12,
    "complex128": 13,
    "pstring": 14,
    "float16": 15,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e5m2": 18,
}
for _each in (*ALL, pstring):
    setattr(DType, _each.name.upper(), _each)
DType.UNDEFINED = DType.ALL_DTYPE = raw  # type: ignore[attr-defined]

_by_name: dict[str, DType] = {d.name: d for d in ALL}
_by_name.update(float=float32, double=float64, half=float16, int=int32, long=int64, bfloat=bfloat16)
_by_numpy: dict[np.dtype, DType] = {d.numpy: d for d in ALL}
_by_python = {builtins.bool: bool, int: int64, float: float64, complex: complex128}


def from_numpy(dtype: np.dtype) -> DType:
    """The data type of a NumPy (or JAX) dtype object; TypeError when there is none."""
    try:
        return _by_numpy[dtype]
    except KeyError:
        raise errors.TypeError_(f"there is no tensor data type for {dtype}") from None


def to_dtype(value: Any) -> DType:
    """Read a data type from any spelling: a DType, "float32", "paddle.float32", a NumPy dtype or type, a Python type.

    Raises TypeError for anything else.
    """
    if type(value) is DType:
        return value
    if isinstance(value, str):
        found = _by_name.get(value.rpartition(".")[2])
        if found is not None:
            return found
    elif isinstance(value, type) and value in _by_python:
        return _by_python[value]
    elif value is not None:  # which NumPy takes for float64
        try:
            return _by_numpy[np.dtype(value)]
        except (TypeError, KeyError, ValueError):
            pass
    raise errors.TypeError_(f"{value!r} is not a data type; known are {', '.join(d.name for d in ALL)}")


_default = float32


def get_default_dtype() -> str:
    """The name of the floating type that Python floats become, "float32" at start.

    Example:
        >>> paddle.get_default_dtype()
        'float32'
    """
    return _default.name


def default_dtype() -> DType:
    return _default


def set_default_dtype(d: Any) -> None:
    """Set the floating type that Python floats and float-valued factories use.

    Args:
        d: float16, bfloat16, float32 or float64, in any spelling.

    Raises:
        TypeError: another type.
    """
    global _default
    dtype = to_dtype(d)
    if dtype not in (float16, bfloat16, float32, float64):
        raise errors.TypeError_(
            f"set_default_dtype: the default must be float16, bfloat16, float32 or float64, got {d!r}"
        )
    _default = dtype


def default_complex() -> DType:
    return complex128 if _default is float64 else complex64


class _Info:
    """Limits of a numeric type, as attributes; what ``paddle.finfo`` and ``paddle.iinfo`` return."""

    def __init__(self, dtype: DType, **limits: Any):
        self.dtype = dtype.name
        self.__dict__.update(limits)

    def __repr__(self) -> str:
        return (
            f"paddle.{'i' if 'eps' not in self.__dict__ else 'f'}info("
            + ", ".join(f"{k}={v}" for k, v in self.__dict__.items())
            + ")"
        )


def finfo(dtype: Any) -> _Info:
    """Limits of a floating or complex type: min, max, eps, tiny, smallest_normal, resolution, bits, dtype.

    Raises ValueError for other types.
    """
    d = to_dtype(dtype)
    if d.kind not in "fc":
        raise errors.ValueError_(f"finfo: dtype must be floating or complex, got {d.name}")
    info = ml_dtypes.finfo(d.numpy if d.kind == "f" else {complex64: np.float32, complex128: np.float64}[d])
    return _Info(
        d,
        min=float(info.min),
        max=float(info.max),
        eps=float(info.eps),
        tiny=float(info.tiny),
        smallest_normal=float(info.smallest_normal),
        resolution=float(info.resolution),
        bits=int(info.bits),
    )


def iinfo(dtype: Any) -> _Info:
    """Limits of an integer type: min, max, bits, dtype. Raises ValueError for other types."""
    d = to_dtype(dtype)
    if d.kind not in "iu":
        raise errors.ValueError_(f"iinfo: dtype must be an integer type, got {d.name}")
    info = np.iinfo(d.numpy)
    return _Info(d, min=int(info.min), max=int(info.max), bits=int(info.bits))
