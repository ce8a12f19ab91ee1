"""Constructors named after a data type: `paddle.FloatTensor([1, 2])`, `paddle.LongTensor(2, 3)`."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.tensor import Tensor
from ..ops.creation import to_tensor, zeros

TYPES = {
    "BFloat16Tensor": "bfloat16",
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ShortTensor": "int16",
}
__all__ = list(TYPES)


def _constructor(name: str, dtype: str) -> type:
    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor:
        data = kwargs.pop("data", None)
        device = kwargs.pop("device", None)
        if kwargs:
            raise errors.TypeError_(
                f"{name}: there is no argument {next(iter(kwargs))!r}; it takes data or lengths, and device"
            )
        if data is not None:
            args = (data, *args)
        if args and all(isinstance(a, int) and not isinstance(a, bool) for a in args):
            out = zeros(list(args), dtype)
        elif len(args) > 1:
            raise errors.TypeError_(
                f"{name}: takes one list, array or Tensor, or the lengths of a shape; got {len(args)} arguments"
            )
        else:
            out = to_tensor(args[0] if args else [], dtype)
        return out if device is None else out.to(device)

    doc = f"""A {dtype} tensor: of data (a list, an array, a Tensor), or zeros of a shape given as ints.

    Args:
        args: data, or the lengths of the shape; nothing gives an empty tensor.
        kwargs: `device`, where it shall lie.

    Raises:
        TypeError: other arguments.

    Example:
        >>> paddle.{name}([1, 0]).dtype
        paddle.{dtype}
    """
    return type(name, (), {"__new__": __new__, "__doc__": doc, "__module__": __name__})


globals().update({name: _constructor(name, dtype) for name, dtype in TYPES.items()})
