"""How values of several processes are combined."""

from __future__ import annotations

from typing import Any

from ...engine import errors


class ReduceOp:
    """How a reduction combines the values of the processes.

    Example:
        >>> paddle.distributed.ReduceOp.SUM, paddle.distributed.ReduceOp.AVG
        (0, 4)
    """

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


NAMES = {0: "sum", 1: "max", 2: "min", 3: "prod", 4: "avg"}


def name_of(op: Any, function: str) -> str:
    if isinstance(op, bool) or not isinstance(op, int) or op not in NAMES:
        raise errors.ValueError_(
            f"{function}: op must be one of ReduceOp.SUM, MAX, MIN, PROD, AVG (0 to 4), got {op!r}"
        )
    return NAMES[op]
