"""Loss scaling over processes that have parts of the gradients."""

from __future__ import annotations

from .....amp import GradScaler
from .....engine import errors
from .....engine.tensor import Tensor
from ....communication.collectives import all_reduce
from ....communication.group import Group
from ....communication.reduce_op import ReduceOp


def GroupShardedScaler(scaler: GradScaler, groups: tuple[Group | None, ...] = (None,)) -> GradScaler:
    """Let a GradScaler look at the gradients of all processes: a step is left out by all of them or by none.

    Args:
        scaler: a `paddle.amp.GradScaler`; it is changed and returned.
        groups: the processes, None for all.
    """
    if not isinstance(scaler, GradScaler):
        raise errors.TypeError_(f"GroupShardedScaler: scaler must be a GradScaler, got {errors.describe(scaler)}")

    def anywhere(bad: Tensor) -> Tensor:
        for group in groups:
            all_reduce(bad, ReduceOp.MAX, group)
        return bad

    scaler._agreed = anywhere  # type: ignore[method-assign]
    return scaler
