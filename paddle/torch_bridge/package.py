"""PyTorch where it is installed, None otherwise; `models` refuses before anything here is used without it."""

from __future__ import annotations

from typing import Any

try:
    import torch
    from torch.utils import _pytree as pytree
except ImportError:  # optional
    torch: Any = None  # type: ignore[no-redef]
    pytree: Any = None  # type: ignore[no-redef]

__all__ = ["pytree", "torch"]
