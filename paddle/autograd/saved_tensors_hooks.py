"""Hooks on what the tape saves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine import errors
from ..engine.modes import set_mode
from ..engine.tensor import Tensor


class saved_tensors_hooks(set_mode):
    """Inside the block, every tensor that the tape saves goes through `pack_hook` when it is saved and through
    `unpack_hook` when the gradient needs it, for example to keep it on the host or compressed.

    Args:
        pack_hook: Tensor -> anything.
        unpack_hook: what `pack_hook` returned -> a Tensor of the same shape and dtype.

    Example:
        >>> x = paddle.to_tensor(3.0, stop_gradient=False)
        >>> with paddle.autograd.saved_tensors_hooks(lambda t: t.numpy(), paddle.to_tensor):
        ...     y = x * x
        >>> y.backward(); float(x.grad)
        6.0
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        if not callable(pack_hook) or not callable(unpack_hook):
            raise errors.TypeError_("saved_tensors_hooks: pack_hook and unpack_hook must be callable")
        super().__init__(saved_hooks=(pack_hook, unpack_hook))
