"""A model whose gradients are divided over processes."""

from __future__ import annotations

from typing import Any

from .....engine import errors
from .....nn.layer import Layer
from ....communication.collectives import fill, run
from ....communication.group import Group
from ....wrapper import Wrapper
from .group_sharded_optimizer_stage2 import ShardedSteps


class ShardedLayer(Wrapper):
    """What the models of sharding have in common: attributes and states are those of the layer inside."""

    _inside = "_layer"

    def __init__(self, layer: Layer, group: Group, copies: Group | None, sync_buffers: bool, agreed: Any = ()):
        if not isinstance(layer, Layer):
            raise errors.TypeError_(f"{type(self).__name__}: layer must be a Layer, got {errors.describe(layer)}")
        super().__init__(layer.full_name() + "_sharded")
        self._layer = layer
        self._group, self._dp_group, self._syncs = group, copies, bool(sync_buffers)
        known = {id(p) for p in agreed}
        self._share([*(p for p in layer.parameters() if id(p) not in known), *layer.buffers()])

    def _share(self, tensors: list) -> None:
        """Take over the values of the first process."""
        tensors = [t for t in tensors if t is not None and t.size and not getattr(t, "no_sync", False)]
        for group in (self._group, self._dp_group):
            if tensors and group is not None and group.nranks > 1:
                for tensor, array in zip(tensors, run(group, "sync_buffers", "broadcast", tensors, 0)):
                    fill(tensor, array)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._syncs:
            self._share(_running(self._layer))
        return self._layer(*inputs, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            layer = self.__dict__.get("_sub_layers", {}).get("_layer")
            if layer is None:
                raise
            return getattr(layer, name)


def _running(layer: Layer) -> list:
    """The buffers, and the statistics of normalization, which are parameters, as officially."""
    statistics = [p._parameters.get(name) for p in layer.sublayers(True) for name in ("_mean", "_variance")]
    return [*layer.buffers(), *statistics]


class GroupShardedStage2(ShardedLayer):
    """A model whose gradients go, during the backward, to the processes that train the parameters; `.grad` of the
    parameters is None afterwards.

    Args:
        layer: a Layer.
        sharding_optimizer: a sharded optimizer (`GroupShardedOptimizerStage2`) of its parameters.
        group: for the official interface; the processes are those of the optimizer.
        sync_buffers: give the buffers of the first process to all before each forward.
        buffer_max_size, auto_refresh_trainable, device: for the official interface.
        dp_group: processes with the same part and other data.

    Raises:
        TypeError: no Layer, or an optimizer that is not sharded.
    """

    def __init__(
        self,
        layer: Layer,
        sharding_optimizer: Any,
        group: Group | None = None,
        sync_buffers: bool = False,
        buffer_max_size: int = 2**23,
        auto_refresh_trainable: bool = True,
        device: str = "gpu",
        dp_group: Group | None = None,
        early: bool = True,
    ):
        if isinstance(sharding_optimizer, (list, tuple)) and len(sharding_optimizer) == 1:
            (sharding_optimizer,) = sharding_optimizer
        if not isinstance(sharding_optimizer, ShardedSteps):
            raise errors.TypeError_(
                "GroupShardedStage2: sharding_optimizer must be a GroupShardedOptimizerStage2, got "
                f"{errors.describe(sharding_optimizer)}"
            )
        super().__init__(layer, sharding_optimizer._group, dp_group, sync_buffers, sharding_optimizer._params)
        sharding_optimizer._exchange.early = early
