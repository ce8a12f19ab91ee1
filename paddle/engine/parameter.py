"""Parameters: tensors that a Layer trains."""

from __future__ import annotations

import weakref
from typing import Any

from . import errors
from .tensor import Tensor

parameters: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # every Parameter that is alive, by its id


class Parameter(Tensor):
    """A tensor that a Layer trains. `trainable=False` means stop_gradient=True.

    Attributes: `optimize_attr` (with "learning_rate", a factor), `regularizer`, `need_clip`, `is_distributed`.
    """

    persistable = True

    def __new__(cls, *args: Any, **kwargs: Any) -> Parameter:
        self = super().__new__(cls)
        parameters[id(self)] = self
        return self

    def __init__(
        self, value: Any, dtype: Any = None, trainable: bool = True, name: str | None = None, **attributes: Any
    ):
        super().__init__(value, dtype)
        self._name = name
        self._setup(trainable, **attributes)

    def _setup(
        self,
        trainable: bool = True,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        need_clip: bool = True,
        is_distributed: bool = False,
    ) -> None:
        self.optimize_attr = {"learning_rate": learning_rate}
        self.regularizer = regularizer
        self.need_clip = need_clip
        self.is_distributed = is_distributed
        self.stop_gradient = not trainable

    @property
    def trainable(self) -> bool:
        return not self._stop

    @trainable.setter
    def trainable(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise errors.ValueError_(f"trainable must be a bool, got {type(value).__name__}")
        self.stop_gradient = not value

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


def as_parameter(tensor: Tensor, name: str | None = None, trainable: bool = True, **attributes: Any) -> Parameter:
    """A Parameter over the memory of a tensor without history."""
    out = Parameter.__new__(Parameter)
    out._storage, out._node, out._index, out._stop = tensor._storage, None, 0, True
    out._name = name
    out._setup(trainable, **attributes)
    return out
