"""The sparse tensor: a pattern and the tensor of its values."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.place import Place
from ..engine.printing import data_text
from ..engine.shape import CallableInt, Size
from ..engine.storage import Storage
from ..engine.tensor import Tensor
from .pattern import Coo, Csr, Pattern, index_tensor
from .values import gather_values


class _NoArray(Storage):
    """The slot of a sparse tensor, which operators on dense tensors find empty."""

    __slots__ = ()

    def read(self, owner: Any) -> Any:
        raise errors.TypeError_(
            f"a sparse tensor ({owner._pattern.layout}, shape {list(owner.shape)}) is given where "
            "a dense one is needed; use the functions of paddle.sparse, or to_dense()"
        )


class SparseTensor(Tensor):
    """A tensor that stores only some of its elements, in the layout COO or CSR. Made by
    `paddle.sparse.sparse_coo_tensor`,
    `sparse_csr_tensor` and `Tensor.to_sparse_coo`, not by this class.

    Its values are a dense tensor, and its place on the tape is theirs: gradients are sparse tensors of the same
        pattern.
    """

    def __init__(self, pattern: Pattern, values: Tensor):
        self._storage = _NoArray(None)
        self._pattern, self._values = pattern, values

    def like(self, values: Tensor) -> SparseTensor:
        """The same pattern with other values."""
        return SparseTensor(self._pattern, values)

    # ---- the tape: where the values are ----
    _node = property(lambda self: self._values._node, lambda self, node: setattr(self._values, "_node", node))
    _index = property(lambda self: self._values._index, lambda self, index: setattr(self._values, "_index", index))
    _stop = property(lambda self: self._values._stop, lambda self, stop: setattr(self._values, "_stop", stop))

    @property
    def _carrier(self) -> Tensor:
        return self._values

    def _carried(self, gradient: Any) -> Any:
        """A gradient of self as one of the values."""
        if not isinstance(gradient, SparseTensor):
            return gather_values(gradient, self._pattern.where) if isinstance(gradient, Tensor) else gradient
        if gradient._pattern.shape != self._pattern.shape or not gradient._pattern.same_places(self._pattern):
            raise errors.ValueError_("backward: the gradient of a sparse tensor must have its indices")
        return gradient._values

    def _as_gradient(self, gradient: Any) -> Any:
        return None if gradient is None else self.like(gradient)

    @property
    def stop_gradient(self) -> bool:
        return self._values.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self._values.stop_gradient = value

    @property
    def grad(self) -> Any:
        """The gradient that backward() accumulated, a sparse tensor, or None."""
        return self._as_gradient(self._values.grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = self._carried(value)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        self._values.clear_gradient(set_to_zero)

    clear_grad = clear_gradient

    @errors.clean
    def register_hook(self, hook: Callable) -> Any:
        def on_values(gradient: Tensor) -> Any:
            return self._carried(hook(self.like(gradient)))

        return self._values.register_hook(on_values)

    def retain_grads(self) -> None:
        self._values.retain_grads()

    def detach(self) -> SparseTensor:
        return self.like(self._values.detach())

    def clone(self) -> SparseTensor:
        return self.like(self._values.clone())  # type: ignore[attr-defined]

    # ---- what it is ----
    @property
    def _value(self) -> Any:
        return self._storage.read(self)

    shape = property(lambda self: Size(self._pattern.shape))
    dtype = property(lambda self: self._values.dtype)
    ndim = property(lambda self: len(self._pattern.shape))
    place = property(lambda self: self._values.place)
    inplace_version = property(lambda self: self._values.inplace_version)

    @property
    def size(self) -> int:
        size = CallableInt(math.prod(self._pattern.shape))
        size._shape = self._pattern.shape
        return size

    @property
    def nbytes(self) -> int:
        """Bytes of the stored values."""
        return self._values.nbytes

    def dim(self) -> int:
        return self.ndim

    def ndimension(self) -> int:
        return self.ndim

    def __len__(self) -> int:
        return self._pattern.shape[0]

    def is_dense(self) -> bool:
        return False

    def is_sparse(self) -> bool:
        return True

    def is_sparse_coo(self) -> bool:
        return self._pattern.layout == "coo"

    def is_sparse_csr(self) -> bool:
        return self._pattern.layout == "csr"

    def is_contiguous(self) -> bool:
        return True

    def contiguous(self) -> SparseTensor:
        return self

    type = property(lambda self: f"VarType.SPARSE_{self._pattern.layout.upper()}")

    def __repr__(self) -> str:
        pattern = self._pattern
        names = ("indices",) if isinstance(pattern, Coo) else ("crows", "cols")
        parts = {**{name: getattr(pattern, name) for name in names}, "values": self._values}
        head = (
            f"Tensor(shape={list(self.shape)}, dtype=paddle.{self.dtype.name}, place={self.place!r}, "
            f"stop_gradient={self.stop_gradient}"
        )
        for key, tensor in parts.items():
            value = tensor._value
            text = data_text(np.asarray(value), 8 + len(key)) if hasattr(value, "devices") else str(value)
            head += f", \n       {key}={text}"
        return head + ")"

    __str__ = __repr__

    # ---- copies and devices ----
    def _on(self, place: Place) -> SparseTensor:
        return self if self.place == place else SparseTensor(self._pattern.on(place), self._values._on(place))

    def astype(self, dtype: Any) -> SparseTensor:
        return self.like(self._values.astype(dtype))

    def __deepcopy__(self, memo: dict) -> SparseTensor:
        memo[id(self)] = out = self.like(copy.deepcopy(self._values, memo))
        return out

    def __reduce__(self):
        pattern, values = self._pattern, self._values._concrete("pickle")
        index = (pattern.indices,) if isinstance(pattern, Coo) else (pattern.crows, pattern.cols)  # type: ignore[attr-defined]
        return _unpickle, (pattern.shape, [np.asarray(i._value) for i in index], values, self.stop_gradient)


def _unpickle(shape: tuple, index: list, values: np.ndarray, stop: bool) -> SparseTensor:
    tensors = [index_tensor(i) for i in index]
    out = SparseTensor(Coo(shape, *tensors) if len(tensors) == 1 else Csr(shape, *tensors), Tensor(values))
    out.stop_gradient = stop
    return out
