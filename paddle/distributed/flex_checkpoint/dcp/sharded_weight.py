"""Parts of tensors that a process holds as ordinary tensors, such as those of tensor parallel layers."""

from __future__ import annotations

import dataclasses
from typing import Any

from ....engine import errors
from ....engine.tensor import Tensor
from ...communication.group import Group


@dataclasses.dataclass(frozen=True)
class ShardedWeightDesc:
    """What a part is, without its elements."""

    key: str
    local_shape: tuple[int, ...]
    global_shape: tuple[int, ...]
    global_offset: tuple[int, ...]
    dtype: str | None = None


class ShardedWeight:
    """A part of a tensor: what this process holds, and where it lies in the whole.

    Args:
        key: the name of the tensor in the checkpoint.
        local_tensor: what is held here; of a distributed tensor the local value is taken.
        local_shape: its shape, for a flat one that before it was made flat.
        global_shape: the shape of the whole.
        global_offset: where the part begins.
        is_flattened: `local_tensor` is flat, and only its elements `flattened_range` are held here.
        flattened_range: a slice with start and stop.

    Raises:
        ValueError: shapes that contradict each other.

    Example:
        >>> whole = paddle.arange(8).reshape([4, 2])
        >>> part = paddle.distributed.ShardedWeight("w", whole[2:], (2, 2), (4, 2), (2, 0))
        >>> part.global_offset
        (2, 0)
    """

    def __init__(
        self,
        key: str,
        local_tensor: Tensor,
        local_shape: tuple[int, ...],
        global_shape: tuple[int, ...],
        global_offset: tuple[int, ...],
        is_flattened: bool = False,
        flattened_range: slice | None = None,
    ):
        if not isinstance(local_tensor, Tensor):
            raise errors.TypeError_(
                f"ShardedWeight: local_tensor must be a Tensor, got {errors.describe(local_tensor)}"
            )
        if local_tensor.is_dist():
            name = local_tensor.name
            local_tensor = local_tensor._local_value()
            local_tensor.name = name
            local_shape = tuple(local_tensor.shape)
        self.key = key
        self.local_tensor = local_tensor
        self.local_shape = tuple(int(n) for n in local_shape)
        self.global_shape = tuple(int(n) for n in global_shape)
        self.global_offset = tuple(int(n) for n in global_offset)
        self.is_flattened = bool(is_flattened)
        self.flattened_range = flattened_range
        ends = [o + n for o, n in zip(self.global_offset, self.local_shape)]
        if (
            not len(self.local_shape) == len(self.global_shape) == len(self.global_offset)
            or min(self.global_offset, default=0) < 0
            or any(e > n for e, n in zip(ends, self.global_shape))
        ):
            raise errors.ValueError_(
                f"ShardedWeight: {key!r}: a part of shape {list(self.local_shape)} at {list(self.global_offset)} does not "
                f"lie in a tensor of shape {list(self.global_shape)}"
            )
        if not is_flattened and tuple(local_tensor.shape) != self.local_shape:
            raise errors.ValueError_(
                f"ShardedWeight: {key!r}: local_tensor has shape {list(local_tensor.shape)}, local_shape is "
                f"{list(self.local_shape)}"
            )
        if is_flattened and not isinstance(flattened_range, slice):
            raise errors.ValueError_(f"ShardedWeight: {key!r}: a flat part needs flattened_range, a slice")

    def __repr__(self) -> str:
        flat = f", flattened_range={self.flattened_range}" if self.is_flattened else ""
        return (
            f"ShardedWeight(key={self.key}, local_shape={self.local_shape}, global_shape={self.global_shape}, "
            f"global_offset={self.global_offset}{flat})"
        )

    __str__ = __repr__


ShardedStateDict = dict[str, ShardedWeight]  # what `sharded_state_dict()` of layers and optimizers gives


def shard_weight(key: str, weight: Tensor, axis: int, group: Group) -> ShardedWeight:
    """The part number `group.rank` of a tensor that is cut along an axis over a group.

    Args:
        key: the name of the tensor in the checkpoint.
        weight: what this process holds.
        axis: along which the parts lie, one after the other.
        group: the processes.

    Raises:
        ValueError: the tensor has no such axis.

    Example:
        >>> _ = paddle.distributed.init_parallel_env()
        >>> paddle.distributed.shard_weight("w", paddle.ones([2, 3]), 0, paddle.distributed.get_group()).global_shape
        (2, 3)
    """
    if not 0 <= axis < weight.ndim:
        raise errors.ValueError_(f"shard_weight: {key!r}: axis {axis} of a tensor of shape {list(weight.shape)}")
    shape = tuple(weight.shape)
    whole = tuple(n * group.nranks if i == axis else n for i, n in enumerate(shape))
    offset = tuple(n * max(group.rank, 0) if i == axis else 0 for i, n in enumerate(shape))
    return ShardedWeight(key, weight, shape, whole, offset)


def make_tp_sharded_weight_for_checkpoint(key: str, tensor: Tensor, tensor_parallel_axis: int = 0) -> ShardedWeight:
    """The part of a tensor that is cut along an axis over the tensor parallel group of fleet."""
    from ...fleet import get_hybrid_communicate_group

    return shard_weight(key, tensor, tensor_parallel_axis, get_hybrid_communicate_group().get_model_parallel_group())


def make_replicated_sharded_weight(key: str, tensor: Tensor) -> ShardedWeight:
    """A tensor that every process has whole."""
    shape = tuple(tensor.shape)
    return ShardedWeight(key, tensor, shape, shape, (0,) * len(shape))


def build_sharded_state_dict(
    state_dict: dict[str, Tensor], shard_rules: dict[str, int] | None = None, prefix: str = ""
) -> dict[str, ShardedWeight]:
    """A state in which every tensor says which part it is.

    Args:
        state_dict: the state of a layer.
        shard_rules: for each tensor that is cut over the tensor parallel group, along which axis.
        prefix: goes in front of the keys.

    Example:
        >>> paddle.distributed.build_sharded_state_dict({"w": paddle.ones([2])}, prefix="net.")
        {'net.w': ShardedWeight(key=net.w, local_shape=(2,), global_shape=(2,), global_offset=(0,))}
    """
    rules = shard_rules or {}
    out = {}
    for key, tensor in state_dict.items():
        name = f"{prefix}{key}"
        axis = rules.get(key)
        out[name] = (
            make_replicated_sharded_weight(name, tensor)
            if axis is None
            else make_tp_sharded_weight_for_checkpoint(name, tensor, axis)
        )
    return out


def create_sharded_weight_with_new_local(
    new_key: str, new_local_tensor: Tensor, reference_tensor: ShardedWeight
) -> ShardedWeight:
    """Another tensor that is divided like a part, such as a moment of an optimizer.

    Raises ValueError when the shapes differ.
    """
    if tuple(new_local_tensor.shape) != reference_tensor.local_shape:
        raise errors.ValueError_(
            f"create_sharded_weight_with_new_local: {new_key!r} has shape {list(new_local_tensor.shape)}, the part "
            f"{reference_tensor.key!r} {list(reference_tensor.local_shape)}"
        )
    r = reference_tensor
    return ShardedWeight(new_key, new_local_tensor, r.local_shape, r.global_shape, r.global_offset)


def sharded_optimizer_state(optimizer: Any, model_state: dict[str, ShardedWeight]) -> dict[str, ShardedWeight]:
    """The state of an optimizer, with the keys of the parameters and divided like them."""
    by_name: dict[str, ShardedWeight] = {}
    for key in sorted(model_state):
        by_name.setdefault(model_state[key].local_tensor.name, model_state[key])
    state = optimizer.state_dict()
    masters = state.pop("master_weights", None) or {}
    state.pop("LR_Scheduler", None)
    out = {}
    for key, tensor in [*state.items(), *((f"{name}_w_0", t) for name, t in masters.items())]:
        owner = max((n for n in by_name if key.startswith(n + "_")), key=len, default=None)
        if owner is None:
            raise errors.ValueError_(f"sharded_state_dict: {key!r} belongs to no parameter of the model's state")
        weight = by_name[owner]
        name = f"{weight.key}.{key[len(owner) + 1 :].removeprefix('fp32_master_0_')}"
        like = tuple(tensor.shape) == weight.local_shape and not name.endswith("_pow_acc_0")
        out[name] = (
            create_sharded_weight_with_new_local(name, tensor, weight)
            if like
            else make_replicated_sharded_weight(name, tensor)
        )
    return out
