"""Tensors of PyTorch as arrays, and back; always copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.dtype import bfloat16
from .package import torch

__all__ = ["array_of", "torch_tensor"]


def array_of(x: Any) -> np.ndarray:
    """A tensor of PyTorch as an array."""
    x = x.detach().cpu()
    if str(x.dtype) == "torch.bfloat16":  # PyTorch gives NumPy none; float32 holds every value of it
        return x.float().numpy().astype(bfloat16.numpy)
    return np.array(x.resolve_conj().resolve_neg().numpy())


def torch_tensor(array: Any) -> Any:
    """An array as a tensor of PyTorch."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(array.astype(np.float32))).bfloat16()
    return torch.from_numpy(np.array(array, order="C"))
