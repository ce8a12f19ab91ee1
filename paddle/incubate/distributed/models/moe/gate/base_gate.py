"""The base class of the gates."""

from __future__ import annotations

from typing import Any

from ......engine import errors
from ......nn.layer import Layer


class BaseGate(Layer):
    """Chooses the experts of a token.

    Args:
        num_expert: experts of a process.
        world_size: processes.
    """

    def __init__(self, num_expert: int, world_size: int):
        super().__init__()
        self.num_expert, self.world_size = num_expert, world_size
        self.tot_expert = num_expert * world_size
        self.loss: Any = None

    def forward(self, x: Any) -> Any:
        """Tokens [n, width] -> (values [n, k], numbers of experts [n, k], -1 for none)."""
        raise errors.NotImplemented_(f"{type(self).__name__}: forward(x), which a gate defines")

    def set_loss(self, loss: Any) -> None:
        """Keep the loss of the choices that were made last."""
        self.loss = loss

    def get_loss(self, clear: bool = True) -> Any:
        """The loss that asks for an even use of the experts, None where there is none; `clear` forgets it."""
        loss = self.loss
        if clear:
            self.loss = None
        return loss
