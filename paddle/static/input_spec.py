"""InputSpec: what an argument will be, without its value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import DType, to_dtype
from ..engine.tensor import Tensor


class InputSpec:
    """Shape, type and name of a tensor that a program will be given.

    Args:
        shape: a list of ints; None or -1 for a length that may differ from call to call.
        dtype: its type.
        name: the name of the program's input, by default that of the function's parameter.
        stop_gradient: whether no gradient flows to it.

    Raises:
        TypeError: `shape` is no list.
        ValueError: a length that is no int, or below -1.

    Example:
        >>> paddle.static.InputSpec([None, 3], "float32", "x")
        InputSpec(shape=(-1, 3), dtype=paddle.float32, name=x, stop_gradient=False)
    """

    def __init__(self, shape: Any, dtype: Any = "float32", name: str | None = None, stop_gradient: bool = False):
        self.shape = self._checked(shape)
        self.dtype: Any = None if dtype is None else to_dtype(dtype)
        self.name = name
        self.stop_gradient = stop_gradient

    def zeros(self, what: str) -> np.ndarray:
        """An array like what is specified. ValueError with the words `what` where a length is open."""
        if any(d is None or d < 0 for d in self.shape):
            raise errors.ValueError_(f"{what} must be known to compile, got {self}")
        return np.zeros(self.shape, self.dtype.numpy if self.dtype is not None else np.float32)

    @staticmethod
    def _checked(shape: Any) -> tuple[int, ...]:
        if not isinstance(shape, (list, tuple)):
            raise errors.TypeError_(f"InputSpec: shape must be a list or a tuple, got {errors.describe(shape)}")
        found = []
        for i, d in enumerate(shape):
            if d is None:
                d = -1
            if isinstance(d, bool) or not isinstance(d, (int, np.integer)):
                raise errors.ValueError_(f"InputSpec: shape[{i}] must be an int or None, got {errors.describe(d)}")
            if d < -1:
                raise errors.ValueError_(f"InputSpec: shape[{i}] must not be below -1, got {d}")
            found.append(int(d))
        return tuple(found)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> InputSpec:
        """The spec of a tensor, under its name if none is given.

        Example:
            >>> paddle.static.InputSpec.from_tensor(paddle.ones([2]), "x").shape
            (2,)
        """
        if not isinstance(tensor, Tensor):
            raise errors.ValueError_(f"InputSpec.from_tensor: a Tensor is needed, got {errors.describe(tensor)}")
        return cls(tuple(tensor.shape), tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: Any, name: str | None = None) -> InputSpec:
        """The spec of a NumPy array.

        Example:
            >>> import numpy as np
            >>> paddle.static.InputSpec.from_numpy(np.ones([2], "int64")).dtype
            paddle.int64
        """
        return cls(ndarray.shape, str(ndarray.dtype), name)

    def batch(self, batch_size: Any) -> InputSpec:
        """Put a length in front, in place; returns self.

        Raises:
            TypeError: `batch_size` is no int.
            ValueError: it is a list of several.
        """
        if isinstance(batch_size, (list, tuple)):
            if len(batch_size) != 1:
                raise errors.ValueError_(f"InputSpec.batch: one batch_size is needed, got {len(batch_size)}")
            batch_size = batch_size[0]
        if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer))):
            raise errors.TypeError_(f"InputSpec.batch: batch_size must be an int, got {errors.describe(batch_size)}")
        self.shape = (*self._checked([batch_size]), *self.shape)
        return self

    def unbatch(self) -> InputSpec:
        """Take the first length away, in place; returns self. ValueError when there is none."""
        if not self.shape:
            raise errors.ValueError_("InputSpec.unbatch: the shape is empty")
        self.shape = self.shape[1:]
        return self

    def _key(self) -> tuple:
        return self.shape, self.dtype if isinstance(self.dtype, DType) else None, self.name, self.stop_gradient

    def __eq__(self, other: object) -> bool:
        return type(other) is InputSpec and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, stop_gradient={self.stop_gradient})"
        )
