"""Models and optimizers for training of which each process keeps a part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...amp import GradScaler
from ...engine import dtype as dtypes
from ...engine import errors
from ...framework.io import save
from ...nn.layer import Layer
from ...optimizer import Optimizer
from ..communication.group import Group, group_of
from ..fleet.meta_parallel.sharding.group_sharded_optimizer_stage2 import GroupShardedOptimizerStage2, ShardedSteps
from ..fleet.meta_parallel.sharding.group_sharded_stage2 import GroupShardedStage2, ShardedLayer
from ..fleet.meta_parallel.sharding.group_sharded_stage3 import GroupShardedStage3
from ..fleet.meta_parallel.sharding.group_sharded_utils import GroupShardedScaler
from ..flex_checkpoint.dcp.utils import agree

LEVELS = ("os", "os_g", "p_g_os")


@errors.clean
def group_sharded_parallel(
    model: Layer,
    optimizer: Optimizer,
    level: str,
    scaler: GradScaler | None = None,
    group: Group | None = None,
    offload: bool = False,
    sync_buffers: bool = False,
    buffer_max_size: int = 2**23,
    segment_size: int = 2**20,
    sync_comm: bool = False,
    dp_group: Group | None = None,
    exclude_layer: Sequence[str | int] | None = None,
) -> tuple:
    """Divide what training keeps over the processes of a group, each of which computes with its own batches. Losses and
    parameters are those of one process with all batches.

    Args:
        model: a Layer; all processes begin with the parameters of the first one.
        optimizer: an Optimizer of its parameters, which is changed: it trains this process's part.
        level: what is divided: "os" the optimizer's state, "os_g" also the gradients, "p_g_os" also the parameters.
        scaler: a GradScaler, which then looks at the gradients of all processes.
        group: the processes, by default all.
        offload: let the optimizer's state rest in the host's memory, on devices that have one of their own.
        sync_buffers: give the buffers of the first process to all before each forward.
        buffer_max_size: the most elements of gradients that travel together.
        segment_size: at level "p_g_os" parameters of at most so many elements stay whole.
        sync_comm: at level "p_g_os" gather no parameters ahead.
        dp_group: further processes with the same part and other data.
        exclude_layer: at level "p_g_os" names of classes, or ids, of layers whose parameters stay whole.

    Returns:
        (model, optimizer, scaler) to train with.

    Raises:
        TypeError: arguments of a wrong kind.
        ValueError: another level; nothing to train.
        NotImplementedError: an optimizer without a rule for elements (LBFGS), a clipping rule of the user's own.

    Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020.

    Example:
        >>> from paddle.distributed.sharding import group_sharded_parallel
        >>> _ = paddle.distributed.init_parallel_env()
        >>> net = paddle.nn.Linear(4, 2)
        >>> adam = paddle.optimizer.Adam(0.1, parameters=net.parameters())
        >>> model, adam, _ = group_sharded_parallel(net, adam, "os_g")
        >>> model(paddle.ones([3, 4])).mean().backward(); adam.step(); adam.clear_grad()
    """
    name = "group_sharded_parallel"
    if not isinstance(model, Layer):
        raise errors.TypeError_(f"{name}: model must be a Layer, got {errors.describe(model)}")
    if not isinstance(optimizer, Optimizer):
        raise errors.TypeError_(f"{name}: optimizer must be an Optimizer, got {errors.describe(optimizer)}")
    if level not in LEVELS:
        raise errors.ValueError_(f"{name}: level must be one of {', '.join(map(repr, LEVELS))}, got {level!r}")
    if scaler is not None and not isinstance(scaler, GradScaler):
        raise errors.TypeError_(f"{name}: scaler must be a GradScaler or None, got {errors.describe(scaler)}")
    if isinstance(buffer_max_size, bool) or not isinstance(buffer_max_size, int) or buffer_max_size < 1:
        raise errors.ValueError_(f"{name}: buffer_max_size must be a positive int, got {buffer_max_size!r}")
    if scaler is None and any(p.dtype is dtypes.float16 for p in model.parameters()):
        errors.warn(f"{name}: the model has float16 parameters, but no scaler is given")
    found = group_of(group, name)
    if level == "p_g_os":
        wrapped: ShardedLayer = GroupShardedStage3(
            model,
            optimizer,
            found,
            sync_buffers,
            segment_size=segment_size,
            offload=offload,
            sync_comm=sync_comm,
            dp_group=dp_group,
            exclude_layer=exclude_layer,
            buffer_max_size=buffer_max_size,
        )
    else:
        GroupShardedOptimizerStage2(None, optimizer, found, offload, dp_group=dp_group, limit=buffer_max_size)
        wrapped = GroupShardedStage2(model, optimizer, found, sync_buffers, dp_group=dp_group, early=level == "os_g")
    if scaler is not None:
        scaler = GroupShardedScaler(scaler, (found,) if dp_group is None else (found, dp_group))
    return wrapped, optimizer, scaler


@errors.clean
def save_group_sharded_model(model: Layer, output: str, optimizer: Any = None) -> None:
    """Write the state of a sharded model to `output`/model.pdmodel, and that of its optimizer to `output`/model.pdopt: whole,
    as one process would have it. All processes of the group call it; the first one writes.

    Args:
        model: what `group_sharded_parallel` returned.
        output: a folder, made where there is none.
        optimizer: what it returned, or None.

    Raises:
        ValueError: `output` is a file; a model or an optimizer that is not sharded.
        RuntimeError: writing failed in another process; the message names its rank.
    """
    name = "save_group_sharded_model"
    if not isinstance(model, ShardedLayer):
        raise errors.ValueError_(f"{name}: model must come from group_sharded_parallel, got {errors.describe(model)}")
    if optimizer is not None and not isinstance(optimizer, ShardedSteps):
        raise errors.ValueError_(
            f"{name}: optimizer must come from group_sharded_parallel, got {errors.describe(optimizer)}"
        )
    if os.path.isfile(output):
        raise errors.ValueError_(f"{name}: output must be a folder, but there is a file {output!r}")
    state = model.state_dict()
    steps = None if optimizer is None else optimizer.state_dict()
    copies = model._dp_group

    def write() -> None:
        if model._group.rank == 0 and (copies is None or copies.rank <= 0):
            os.makedirs(output, exist_ok=True)
            save(state, os.path.join(output, "model.pdmodel"))
            if steps is not None:
                save(steps, os.path.join(output, "model.pdopt"))

    agree(model._group, name, write)
