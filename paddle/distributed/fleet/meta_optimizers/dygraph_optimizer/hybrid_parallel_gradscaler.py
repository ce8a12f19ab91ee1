"""Loss scaling for training with other processes."""

from __future__ import annotations

from typing import Any

from .....amp import GradScaler
from .....engine.tensor import Tensor
from ....communication.differentiable import plain
from ....communication.group import group_of

__all__: list[str] = []


def share_overflow(scaler: Any) -> None:
    """Let a scaler look at the gradients of all processes: a step is left out by all of them or by none."""

    def anywhere(bad: Tensor) -> Tensor:
        return plain(bad.astype("int32"), "max", group_of(None, "GradScaler")) > 0

    scaler._agreed = anywhere


class HybridParallelGradScaler:
    """A `paddle.amp.GradScaler` that looks at the gradients of all processes.

    Args:
        scaler: the GradScaler; it is changed.
        hcg: the HybridCommunicateGroup.
    """

    def __init__(self, scaler: GradScaler, hcg: Any):
        self._scaler, self._hcg = scaler, hcg
        if hcg.nranks > 1:
            share_overflow(scaler)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_scaler"], name)
