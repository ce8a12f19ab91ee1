"""A model, an optimizer and a DataLoader of one device for many, without a word about how."""

from __future__ import annotations

from typing import Any

import paddle.io as io

from ...engine import errors
from ...nn.layer import Layer
from ...optimizer.optimizer import Optimizer
from .dataloader import ShardDataloader, shard_dataloader
from .planner import plan


class ToDistributedConfig:
    """Settings of `to_distributed`: `input_spec`, a list of InputSpecs of the inputs for all devices together, by default
    those of the first batch; `sequence_parallel` is accepted."""

    def __init__(self) -> None:
        self.input_spec: Any = None
        self.sequence_parallel = False


@errors.clean
def to_distributed(
    model: Layer,
    optimizer: Optimizer,
    dataloader: io.DataLoader,
    device_num: int,
    node_num: int | None = 1,
    config: ToDistributedConfig | None = None,
) -> tuple[Layer, Optimizer, ShardDataloader]:
    """Lay a model, its optimizer and its data out over the devices of this job as the planner finds best.

    Args:
        model, optimizer, dataloader: as for one device; the batches are those of all devices together.
        device_num, node_num: devices of a node, nodes.
        config: see ToDistributedConfig.

    Returns:
        (model, optimizer, loader)

    Raises:
        ValueError: as of `dist.auto_parallel.plan`.

    Example:
        >>> net = paddle.nn.Linear(2, 1)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> loader = paddle.io.DataLoader([([1.0, 1.0], [0.0])] * 4, batch_size=2, collate_fn=lambda rows: [
        ...     paddle.to_tensor(part) for part in map(list, zip(*rows))])
        >>> net, sgd, loader = paddle.distributed.to_distributed(net, sgd, loader, 1)
        >>> next(iter(loader))[0].is_dist(); paddle.distributed.set_mesh(None)
        True
    """
    inputs = config.input_spec if config is not None and config.input_spec else None
    if inputs is None:
        batch = next(iter(dataloader))
        entries = list(batch.values()) if isinstance(batch, dict) else batch
        inputs = list(entries[:-1]) if isinstance(entries, (list, tuple)) and len(entries) > 1 else entries
    found = plan(model, inputs, int(device_num) * int(node_num or 1))
    # a loop of the user's own has no micro-batches outside of pipelines
    usable = [c for c in found if c.candidate.pp > 1 or c.candidate.micro == 1] or list(found)
    made = usable[0].apply(optimizer)
    assert made.optimizer is not None
    return made.model, made.optimizer, shard_dataloader(dataloader, made.mesh, shard_dims="dp")
