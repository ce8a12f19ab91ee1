"""Data parallel training: the environment, and what averages the gradients."""

from __future__ import annotations

import os
from typing import Any

from ..engine import errors
from . import world
from .communication.group import Group, get_rank, get_world_size, start_global_group
from .world import ParallelEnv

ParallelStrategy = ParallelEnv


@errors.clean
def init_parallel_env(nccl_config: Any = None) -> Group:
    """Connect this process with the others that the environment names (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM and
    PADDLE_MASTER or PADDLE_TRAINER_ENDPOINTS, which `paddle.distributed.launch` and `spawn` set); without them it is a
    job of one process. Every process calls it; a second call does nothing.

    Returns:
        The group of all processes.

    Raises:
        RuntimeError: a process did not come, or two have one rank; the message names it.
        ValueError: variables that contradict each other.

    Example:
        >>> import paddle.distributed as dist
        >>> dist.init_parallel_env()  # doctest: +SKIP
        rank: 0, nranks: 2, id: 0, ranks: 0, 1; name: _default_pg
    """
    return start_global_group(world.start().timeout)
