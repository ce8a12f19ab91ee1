"""Dicts of tensors as tuples, whose tensors carry their keys."""

from __future__ import annotations

from typing import Any

from .....engine.tensor import Tensor

__all__: list[str] = []


def convert_tensor_dict_to_tuple(output_tensor_dict: dict[str, Any]) -> tuple[Tensor, ...]:
    """The tensors of a dict, each with its key in the attribute `key` (of lists with the number behind it)."""
    out = []
    for key, value in output_tensor_dict.items():
        several = isinstance(value, (list, tuple))
        for i, tensor in enumerate(value if several else [value]):
            tensor.key = f"{key} {i}" if several else key
            out.append(tensor)
    return tuple(out)


def convert_tensor_tuple_to_dict(input_tensor_tuple: tuple[Tensor, ...]) -> dict[str, Any]:
    """The dict that `convert_tensor_dict_to_tuple` made such a tuple of; the keys are taken off."""
    found: dict[str, Any] = {}
    for tensor in input_tensor_tuple:
        key, several, _ = tensor.key.partition(" ")  # type: ignore[attr-defined]
        if several:
            found.setdefault(key, []).append(tensor)
        else:
            found[key] = tensor
        del tensor.key  # type: ignore[attr-defined]
    return found


def dict_to_tuple_helper(output_tensor: Any) -> Any:
    """A dict of tensors as a tuple, anything else as it is.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import dict_to_tuple_helper
        >>> [t.key for t in dict_to_tuple_helper({"x": paddle.ones([1]), "mask": paddle.ones([1])})]
        ['x', 'mask']
    """
    return convert_tensor_dict_to_tuple(output_tensor) if isinstance(output_tensor, dict) else output_tensor


def tuple_to_dict_helper(input_tensor: Any) -> tuple[Any, bool]:
    """(the dict, True) for a tuple whose tensors have keys, (what is given, False) for anything else."""
    tensors = input_tensor if isinstance(input_tensor, tuple) else (input_tensor,)
    if tensors and hasattr(tensors[0], "key"):
        return convert_tensor_tuple_to_dict(tensors), True
    return input_tensor, False
