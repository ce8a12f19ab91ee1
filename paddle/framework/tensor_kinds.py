"""What the official Tensor also offers for kinds of tensors that do not exist here: selected rows, strings, distributed
tensors, parts of programs."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.tensor import Tensor


def rows(x: Tensor) -> list[int]:
    """The rows of a SelectedRows. Gradients are dense here, so that there are none: TypeError."""
    raise errors.TypeError_("rows: only a SelectedRows has rows, and gradients are dense here")


def get_selected_rows(x: Tensor) -> None:
    """None: gradients are dense here."""


def get_map_tensor(x: Tensor) -> Any:
    """Tensors of strings do not exist here: NotImplementedError."""
    raise errors.NotImplemented_("get_map_tensor: tensors of strings")


def set_vocab(x: Tensor, value: Any) -> None:
    """Tensors of strings do not exist here: NotImplementedError."""
    raise errors.NotImplemented_("set_vocab: tensors of strings")


def set_string_list(x: Tensor, value: Any) -> None:
    """Tensors of strings do not exist here: NotImplementedError."""
    raise errors.NotImplemented_("set_string_list: tensors of strings")


def set_tensor(x: Tensor, value: Any, place: Any = None) -> None:
    """Overwrite the value, see `set_value`."""
    x.set_value(value)


for method in (rows, get_selected_rows, get_map_tensor, set_vocab, set_string_list, set_tensor):
    setattr(Tensor, method.__name__, errors.clean(method))
for name in ("block", "num_shard", "placements", "process_mesh"):
    setattr(
        Tensor, name, property(lambda x: None, doc="None: the tensor is neither part of a program nor distributed.")
    )


def _interface(x: Tensor) -> dict:
    """The memory of a tensor on a GPU for other libraries. AttributeError elsewhere."""
    if not x.place.is_gpu_place():
        raise AttributeError("__cuda_array_interface__: the tensor does not lie on a GPU")
    return x._value.__cuda_array_interface__


Tensor.__cuda_array_interface__ = property(_interface)  # type: ignore[attr-defined]
