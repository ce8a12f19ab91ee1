"""A model whose parameters are divided over processes, and gathered where they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....engine import errors
from .....engine.modes import modes, set_mode
from .....engine.tensor import Tensor, _make
from .....nn.layer import Layer
from ....communication.group import Group, group_of
from .buckets import Unit
from .group_sharded_optimizer_stage2 import ShardedSteps, shard_optimizer
from .group_sharded_stage2 import ShardedLayer


class _Saved:
    """Stands in the tape for a gathered parameter."""

    __slots__ = ("unit", "number")

    def __init__(self, unit: Unit, number: int):
        self.unit, self.number = unit, number


class GroupShardedStage3(ShardedLayer):
    """A model of which each process keeps a part of every large parameter, with its gradient and the optimizer's state.

    The parameters of a layer are gathered before its forward and given away after it, and again around its backward; the
    next layer's are under way meanwhile, in the order of the step before. The tape keeps none of them. Small parameters
    stay whole, but their gradients and states are divided.

    Args:
        layer: a Layer.
        optimizer: an Optimizer of its parameters; it is changed (see `GroupShardedOptimizerStage2`).
        group: the processes, by default all.
        sync_buffers: give the buffers of the first process to all before each forward.
        device: for the official interface.
        segment_size: parameters of at most so many elements stay whole.
        pretrain_sync_models: begin with the values of the first process.
        offload: let the optimizer's state rest in the host's memory, on devices that have one of their own.
        sync_comm: gather nothing ahead.
        dp_group: processes with the same part and other data.
        exclude_layer: names of classes, or ids, of layers whose parameters stay whole.

    Raises:
        TypeError, ValueError: arguments of a wrong kind.

    Source: Rajbhandari et al., "ZeRO", 2020; Zhao et al., "PyTorch FSDP", 2023.
    """

    def __init__(
        self,
        layer: Layer,
        optimizer: Any,
        group: Group | None = None,
        sync_buffers: bool = False,
        device: str = "gpu",
        segment_size: int = 2**20,
        pretrain_sync_models: bool = True,
        offload: bool = False,
        sync_comm: bool = False,
        dp_group: Group | None = None,
        exclude_layer: Any = None,
        buffer_max_size: int = 2**23,
    ):
        if not isinstance(layer, Layer):
            raise errors.TypeError_(f"GroupShardedStage3: layer must be a Layer, got {errors.describe(layer)}")
        if isinstance(segment_size, bool) or not isinstance(segment_size, int) or segment_size < 0:
            raise errors.ValueError_(f"GroupShardedStage3: segment_size must be an int from 0 on, got {segment_size!r}")
        if exclude_layer is not None and not isinstance(exclude_layer, (list, tuple)):
            raise errors.TypeError_(
                "GroupShardedStage3: exclude_layer must be a list of names of classes and ids of layers, got "
                f"{errors.describe(exclude_layer)}"
            )
        group = group_of(group, "GroupShardedStage3")
        super().__init__(layer, group, dp_group, sync_buffers, () if pretrain_sync_models else layer.parameters())
        trained = {id(p) for p in optimizer._parameter_list} if hasattr(optimizer, "_parameter_list") else set()
        owned = _large_parameters(layer, segment_size, list(exclude_layer or ()), trained)
        live = [params for _, params in owned if not params[0]._stop]
        self._optim: ShardedSteps = shard_optimizer(
            optimizer,
            ShardedSteps,
            "GroupShardedStage3",
            group,
            dp_group,
            live[::-1],
            buffer_max_size,
            offload,
            pretrain_sync_models,
        )
        self._optim._exchange.early = True
        made = {id(b.params[0]): b for b in self._optim._exchange.buckets if isinstance(b, Unit)}
        self._units: list[Unit] = []
        self._register: dict[int, tuple[Unit, int]] = {}
        for owner, params in owned:
            unit = made.get(id(params[0]))
            if unit is None:
                unit = Unit(params, group, dp_group, False)
                unit.divide()
            unit.register = self._register
            self._units.append(unit)
            owner.register_forward_pre_hook(self._opener(unit), prepend=True)
            owner.register_forward_post_hook(self._closer(unit), always_call=True)
        self._ahead = not sync_comm
        self._orders: dict[bool, list[Unit]] = {}  # in which the units were needed, with and without gradients
        self._now: list[Unit] = []
        self._key = True
        self._ending: Any = None  # the list of the backward that runs

    # ---- forward ----
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if modes.program is not None:
            raise errors.NotImplemented_("GroupShardedStage3: divided parameters inside of to_static")
        self._begin()
        hooks = modes.saved_hooks
        try:
            with set_mode(saved_hooks=(self._saver(hooks), self._loader(hooks))):
                return super().forward(*inputs, **kwargs)
        finally:
            for unit in self._units:
                if unit.shown:
                    unit.close()

    def _begin(self) -> None:
        """A pass begins: where its order is known, the next unit can be gathered ahead."""
        self._orders[self._key] = self._now
        self._now, self._key = [], modes.grad
        for unit in self._units:
            unit.close()

    def _need(self, unit: Unit) -> None:
        unit.start()
        if self._now and self._now[-1] is unit:
            return
        at = len(self._now)
        self._now.append(unit)
        before = self._orders.get(self._key, [])
        if self._ahead and at + 1 < len(before) and before[at] is unit:
            before[at + 1].start()

    def _opener(self, unit: Unit) -> Callable:
        def before(layer: Layer, inputs: Any) -> None:
            self._need(unit)
            unit.open()

        return before

    @staticmethod
    def _closer(unit: Unit) -> Callable:
        def after(layer: Layer, inputs: Any, outputs: Any) -> None:
            unit.close()

        return after

    # ---- what the tape keeps ----
    def _saver(self, outer: Any) -> Callable:
        def pack(tensor: Tensor) -> Any:
            found = self._register.get(id(tensor._raw))
            if found is not None:
                return _Saved(*found)
            return tensor if outer is None else outer[0](tensor)

        return pack

    def _loader(self, outer: Any) -> Callable:
        def unpack(value: Any) -> Tensor:
            if not isinstance(value, _Saved):
                return value if outer is None else outer[1](value)
            unit = value.unit
            if modes.finishing is not None and self._ending is not modes.finishing:
                self._ending = modes.finishing
                modes.finishing.append(self._end)
            for other in self._units:  # nothing will tell that a frozen one is not needed any more
                if other is not unit and other.arrays is not None and other.params[0]._stop:
                    other.close()
            self._need(unit)
            return _make(unit.arrays[value.number])  # type: ignore[index]

        return unpack

    def _end(self) -> None:
        self._ending = None
        for unit in self._units:
            unit.close()

    # ---- states ----
    def get_all_parameters(self, convert2cpu: bool = False) -> list[Tensor]:
        """Gather all parameters; they stay whole until the next forward. All processes have to call it.

        Returns:
            The trainable ones.
        """
        for unit in self._units:
            unit.open()
        return [p for p in self._layer.parameters() if not p._stop]

    def state_dict(
        self, destination: Any = None, include_sublayers: bool = True, structured_name_prefix: str = ""
    ) -> dict[str, Any]:
        """The state of the layer inside, with copies of the whole parameters. All processes have to call it."""
        whole: dict[int, Tensor] = {}
        for unit in self._units:
            for p, array, shape in zip(unit.params, unit.gather(), unit.layout.shapes):
                found = whole[id(p)] = _make(array.reshape(shape))
                found._name, found.persistable = p.name, True
        state = self._layer.state_dict(destination, include_sublayers, structured_name_prefix)
        for name, tensor in state.items():
            state[name] = whole.get(id(tensor), tensor)
        return state


def _large_parameters(layer: Layer, limit: int, excluded: list, trained: set[int]) -> list[tuple[Layer, list[Tensor]]]:
    """The parameters to divide, by the layer that owns them, of one type and all trainable or all not."""
    found: list[tuple[Layer, list[Tensor]]] = []
    seen: set[int] = set()
    for part in layer.sublayers(include_self=True):
        together: dict[Any, list[Tensor]] = {}
        for p in part.parameters(include_sublayers=False):
            if id(p) in seen:
                continue
            seen.add(id(p))
            if id(part) in excluded or type(part).__name__ in excluded or getattr(p, "no_sync", False):
                continue
            if int(np.prod(p._raw.shape, dtype=int)) > limit and (p._stop or id(p) in trained):
                together.setdefault((p._raw.dtype, p._stop), []).append(p)
        found += [(part, params) for params in together.values()]
    return found
