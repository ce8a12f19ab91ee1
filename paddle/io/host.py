"""Tensors that are still on the host: samples are made one by one, but only whole batches are worth a transfer."""

from __future__ import annotations

import functools

import numpy as np

from ..engine.place import put
from ..engine.tensor import Tensor, _make


def host_tensor(array: np.ndarray) -> Tensor:
    """A tensor of an array that nobody else writes to. It moves to the device when an operation first needs it."""
    out = _make(None)
    out._storage.pending = functools.partial(put, array)
    return out


def host_array(tensor: Tensor) -> np.ndarray | None:
    """The array of a `host_tensor` that has not moved yet, else None."""
    storage = tensor._storage
    waiting = storage.pending if storage.value is None else None
    return waiting.args[0] if isinstance(waiting, functools.partial) and waiting.func is put else None


def read(tensor: Tensor) -> np.ndarray:
    """The elements of a tensor, wherever they are, without an operator."""
    waiting = host_array(tensor)
    return np.asarray(tensor._value) if waiting is None else waiting
