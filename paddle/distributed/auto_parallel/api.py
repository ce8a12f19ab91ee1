"""Tensors that are spread over a mesh. They are XLA's own: one array with a sharding, on which every operator works, and
XLA adds the communication. All processes run the same calls.

Operators see a tensor with a `Partial` placement combined. What it was put together from is kept beside it
(`dtensor_from_local`); one that `shard_tensor` made has the whole on the first place of the axis and neutral elements on
the others. An axis that does not divide evenly is kept whole by every process, which shows its part of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...engine import errors
from ...engine import place as places
from ...engine.deferred import settled
from ...engine.dispatch import dispatch
from ...engine.executable import Kernel
from ...engine.modes import modes, set_mode
from ...engine.parameter import Parameter, as_parameter
from ...engine.place import whole
from ...engine.tape import Node
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...nn.layer import Layer
from ...ops.creation import to_tensor
from .. import world
from .placement_type import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, get_mesh


# ---- between placements and shardings ----
def cut(mesh: ProcessMesh, placements: list[Placement], shape: tuple, function: str) -> tuple[NamedSharding, dict]:
    """XLA's sharding for placements, one for each axis of the mesh, and the placements by axis of the mesh that it leaves
    out, since the length does not divide."""
    cuts: list[list[str]] = [[] for _ in shape]
    uneven = {}
    for number, (name, placement) in enumerate(zip(mesh.dim_names, placements)):
        if not isinstance(placement, Shard):
            continue
        if not -len(shape) <= placement.dim < len(shape):
            raise errors.ValueError_(f"{function}: {placement} of a tensor of shape {list(shape)}")
        axis = placement.dim % len(shape)
        parts = math.prod(mesh.get_dim_size(n) for n in (*cuts[axis], name))
        if shape[axis] % parts:
            uneven[number] = Shard(axis)
        else:
            cuts[axis].append(name)
    while cuts and not cuts[-1]:  # in XLA's own form, as results come back
        cuts.pop()
    spec = PartitionSpec(*(tuple(c) if len(c) > 1 else c[0] if c else None for c in cuts))
    return NamedSharding(mesh.devices, spec), uneven


def sharding_of(mesh: ProcessMesh, placements: list[Placement], shape: tuple, function: str) -> NamedSharding:
    """XLA's sharding for placements; lengths that do not divide stay whole."""
    return cut(mesh, placements, shape, function)[0]


def placements_of(sharding: NamedSharding, ndim: int) -> list[Placement]:
    found: dict[str, Placement] = {}
    for axis, names in enumerate(sharding.spec):
        for name in (names,) if isinstance(names, str) else names or ():
            found[name] = Shard(axis)
    return [found.get(name, Replicate()) for name in sharding.mesh.axis_names]


@functools.cache
def mesh_of(devices: Mesh) -> ProcessMesh:
    own = world.current().devices if world.is_connected() and world.current().size > 1 else jax.local_devices()
    numbers = {device: i for i, device in enumerate(own)}
    ranks = np.array([numbers[d] for d in devices.devices.flat]).reshape(devices.devices.shape)
    return ProcessMesh(ranks, list(devices.axis_names))


def _checked(mesh: Any, placements: Any, function: str) -> tuple[ProcessMesh, list[Placement]]:
    if mesh is None:
        mesh = get_mesh()
    if not isinstance(mesh, ProcessMesh):
        raise errors.ValueError_(f"{function}: mesh must be a ProcessMesh, got {errors.describe(mesh)}")
    if not isinstance(placements, (list, tuple)) or not all(isinstance(p, Placement) for p in placements):
        raise errors.ValueError_(
            f"{function}: placements must be a list of Shard, Replicate and Partial, got {placements!r}"
        )
    if len(placements) > mesh.ndim:
        raise errors.ValueError_(f"{function}: {len(placements)} placements for the {mesh.ndim} axes of the mesh")
    return mesh, [*placements, *(Replicate() for _ in range(mesh.ndim - len(placements)))]


def spread(array: Any, sharding: NamedSharding) -> Any:
    """An array with a sharding. Of one that only this process has, every process gives the same."""
    return places.spread(settled(array), sharding)


def _same_calls_everywhere() -> None:
    """Calls that are deferred may be joined in another way in another process, which would then wait for this one."""
    if modes.capture is not None:
        modes.capture = None
        modes.update()


# ---- what tensors know ----
def _sharding(x: Tensor) -> NamedSharding | None:
    chosen = x.__dict__.get("_chosen_sharding")
    if chosen is not None:
        return chosen
    found = getattr(x._value, "sharding", None)
    return found if isinstance(found, NamedSharding) else None


def placements(x: Tensor) -> list[Placement] | None:
    """How the tensor lies on each axis of its mesh, None where it is not distributed."""
    sharding = _sharding(x)
    if sharding is None:
        return None
    found = placements_of(sharding, x.ndim)
    for mark in ("_partial", "_uneven"):
        for axis, placement in x.__dict__.get(mark, {}).items():
            found[axis] = placement
    return found


def process_mesh(x: Tensor) -> ProcessMesh | None:
    """The mesh over which the tensor is spread, None where it is not distributed."""
    sharding = _sharding(x)
    return None if sharding is None else mesh_of(sharding.mesh)


def is_dist(x: Tensor) -> bool:
    """Whether the tensor is spread over a mesh."""
    return _sharding(x) is not None


_NEUTRAL = {ReduceType.kRedProd: 1, ReduceType.kRedAll: 1}


def place_on(sharding: NamedSharding, device: Any) -> list[int]:
    """The numbers of a device on the axes of the mesh."""
    mesh = sharding.mesh.devices
    return list(np.argwhere(np.vectorize(lambda d: d == device)(mesh))[0])


def _local_array(x: Tensor) -> Any:
    sharding = _sharding(x)
    assert sharding is not None
    parts, whole_then = x.__dict__.get("_parts", (None, None))
    partial, uneven = x.__dict__.get("_partial", {}), x.__dict__.get("_uneven", {})
    array = spread(x._value, sharding)
    kept = parts is not None and whole_then is x._value
    shards = (parts if kept else array).addressable_shards
    if not shards:
        raise errors.RuntimeError_("_local_value: this process is not in the mesh of the tensor")
    local = shards[0].data
    place = place_on(sharding, shards[0].device)
    if kept:
        return local.reshape(local.shape[len(partial) :])
    for axis, placement in uneven.items():
        step = -(-local.shape[placement.dim] // sharding.mesh.devices.shape[axis])  # the last one has what is left
        local = local[(slice(None),) * placement.dim + (slice(place[axis] * step, (place[axis] + 1) * step),)]
    for axis, placement in partial.items():
        kind = placement.reduce_type()
        if place[axis] and kind not in (ReduceType.kRedMax, ReduceType.kRedMin, ReduceType.kRedAvg):
            local = jnp.full(local.shape, _NEUTRAL.get(kind, 0), local.dtype)  # combining equal values changes nothing
    return local


def _local_value(x: Tensor) -> Tensor:
    """What this process has of a distributed tensor, an ordinary one."""
    return x if _sharding(x) is None else _make(jnp.asarray(np.asarray(_local_array(x))))


def _local_shape(x: Tensor) -> list[int]:
    return list(_local_value(x)._value.shape)


Tensor.placements = property(placements)  # type: ignore[attr-defined]
Tensor.process_mesh = property(process_mesh)  # type: ignore[attr-defined]
Tensor.is_dist = is_dist  # type: ignore[method-assign]
Tensor._local_value = _local_value  # type: ignore[attr-defined]
Tensor._local_shape = property(_local_shape)  # type: ignore[attr-defined]


# ---- making them ----
def marks_of(mesh: ProcessMesh, wanted: list[Placement], shape: tuple, function: str) -> dict[str, Any]:
    """What a distributed tensor notes of itself."""
    sharding, uneven = cut(mesh, wanted, shape, function)
    partial = {axis: p for axis, p in enumerate(wanted) if isinstance(p, Partial)}
    found: dict[str, Any] = {"_chosen_sharding": sharding}
    if partial:
        found["_partial"] = partial
    if uneven:
        found["_uneven"] = uneven
    return found


@errors.clean
def shard_tensor(
    data: Any,
    mesh: ProcessMesh | None,
    placements: list[Placement],
    dtype: Any = None,
    place: Any = None,
    stop_gradient: bool | None = None,
) -> Tensor:
    """Spread a tensor, which all processes have alike, over a mesh.

    Args:
        data: a Tensor, or what `paddle.to_tensor` takes. A Parameter gives a Parameter.
        mesh: the mesh, None for that of `set_mesh`.
        placements: `Shard`, `Replicate` or `Partial` for each axis of the mesh; missing ones are `Replicate()`.
        dtype, place: as of `paddle.to_tensor`.
        stop_gradient: by default that of `data`.

    Raises:
        ValueError: placements that do not fit the mesh or the shape.

    An axis that does not divide evenly is held whole by every process; each shows its part of ceil(length / places).

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([0], dim_names=["x"])
        >>> t = paddle.distributed.shard_tensor(paddle.ones([2, 3]), mesh, [paddle.distributed.Shard(0)])
        >>> t.placements, t.is_dist(), t._local_value().shape
        ([Shard(dim=0)], True, [2, 3])
    """
    mesh, wanted = _checked(mesh, placements, "shard_tensor")
    _same_calls_everywhere()
    source = data if isinstance(data, Tensor) and dtype is None and place is None else to_tensor(data, dtype, place)
    if isinstance(source._raw, Value):  # a program is being built
        return reshard(source, mesh, wanted)
    marks = marks_of(mesh, wanted, tuple(source._raw.shape), "shard_tensor")
    array = spread(source._value, marks["_chosen_sharding"])
    stop = (data.stop_gradient if isinstance(data, Tensor) else True) if stop_gradient is None else bool(stop_gradient)
    if isinstance(data, Parameter):
        made = as_parameter(_make(array), data.name, not stop)
        made.optimize_attr, made.regularizer = dict(data.optimize_attr), data.regularizer
        made.need_clip, made.is_distributed = data.need_clip, data.is_distributed
    else:
        made = _make(array)
        if isinstance(data, Tensor) and data._node is not None and not data.is_leaf and not stop:
            made._join(data)
        else:
            made.stop_gradient = stop
    made.__dict__.update(marks)
    return made


@errors.clean
def dtensor_from_fn(fn: Callable, mesh: ProcessMesh, placements: list[Placement], *args: Any, **kwargs: Any) -> Tensor:
    """The tensor that a function makes, spread over a mesh.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([0])
        >>> paddle.distributed.dtensor_from_fn(paddle.ones, mesh, [paddle.distributed.Replicate()], [2]).shape
        [2]
    """
    return shard_tensor(fn(*args, **kwargs), mesh, placements)


@errors.clean
def reshard(dist_tensor: Tensor, mesh: ProcessMesh, placements: list[Placement]) -> Tensor:
    """The tensor with other placements, or on another mesh of the same processes; gradients flow through it.

    Raises ValueError as `shard_tensor` does.
    """
    mesh, wanted = _checked(mesh, placements, "reshard")
    if not isinstance(dist_tensor, Tensor):
        raise errors.ValueError_(f"reshard: dist_tensor must be a Tensor, got {errors.describe(dist_tensor)}")
    if not isinstance(dist_tensor._raw, Value) and not is_dist(dist_tensor):
        return shard_tensor(dist_tensor, mesh, placements)
    marks = marks_of(mesh, wanted, tuple(dist_tensor._raw.shape), "reshard")
    sharding, before = marks["_chosen_sharding"], _sharding(dist_tensor)
    if isinstance(dist_tensor._raw, Value) or _same_devices(dist_tensor._value, sharding):
        made = constrain(dist_tensor, sharding, before)
    else:
        made = _make(spread(dist_tensor._value, sharding))
        if dist_tensor._node is not None and not dist_tensor._stop:
            node = Moved(dist_tensor, functools.partial(spread, sharding=before))
            made._node, made._index, made._stop = node, 0, False
    made.__dict__.update(marks)
    if marks.get("_partial") and marks["_partial"] == dist_tensor.__dict__.get("_partial"):
        made.__dict__.update({k: v for k, v in dist_tensor.__dict__.items() if k == "_parts"})
        if "_parts" in made.__dict__:
            made.__dict__["_parts"] = (made.__dict__["_parts"][0], made._value)
    return made


def _same_devices(array: Any, sharding: NamedSharding) -> bool:
    mesh = getattr(array.sharding, "mesh", None)
    return mesh is not None and list(mesh.devices.flat) == list(sharding.mesh.devices.flat)


def _constrained(x: Any, sharding: NamedSharding, before: Any) -> Any:
    return laid_out(x, sharding)


def laid_out(x: Any, sharding: NamedSharding) -> Any:
    """An array inside of a computation with a sharding; inside of a shard_map without the axes over which it maps."""
    inside = jax.sharding.get_abstract_mesh()
    if not inside.empty:
        own = set(inside.manual_axes)
        spec = [_without(part, own) for part in sharding.spec]
        sharding = NamedSharding(inside, PartitionSpec(*spec))
    return jax.lax.with_sharding_constraint(x, sharding)


def _without(part: Any, axes: set[str]) -> Any:
    if isinstance(part, tuple):
        return tuple(n for n in part if n not in axes) or None
    return None if isinstance(part, str) and part in axes else part


def _constrained_back(inputs: list, outputs: list, cotangents: list, sharding: NamedSharding, before: Any) -> list:
    return [laid_out(cotangents[0], before or sharding)]


_reshard = Kernel(_constrained, "reshard", ("", "static", "static"), gradient=_constrained_back)


def constrain(x: Tensor, sharding: NamedSharding, before: NamedSharding | None = None) -> Tensor:
    """The tensor with a sharding, as an operator; its gradient takes the sharding `before`, by default the same one."""
    with set_mode(amp=None):
        return dispatch(_reshard, (x, sharding, before))


class Moved(Node):
    """A tensor that went to other devices: its gradient goes back."""

    __slots__ = ("back",)
    name = "move"

    def __init__(self, tensor: Tensor, back: Callable):
        super().__init__(((tensor._node, tensor._index, True),))
        self.back = back

    def run(self, cotangents: list, record: Callable | None, live_only: bool) -> list:
        given = cotangents[0]
        return [_make(self.back(given._value)) if isinstance(given, Tensor) else self.back(settled(given))]


@errors.clean
def unshard_dtensor(dist_tensor: Tensor) -> Tensor:
    """The whole of a distributed tensor as an ordinary one, in every process."""
    if not isinstance(dist_tensor, Tensor):
        raise errors.ValueError_(f"unshard_dtensor: dist_tensor must be a Tensor, got {errors.describe(dist_tensor)}")
    array = jnp.asarray(np.asarray(whole(dist_tensor._value)))
    if isinstance(dist_tensor, Parameter):
        return as_parameter(_make(array), dist_tensor.name, not dist_tensor.stop_gradient)
    made = _make(array)
    made.stop_gradient = dist_tensor.stop_gradient
    return made


@errors.clean
def shard_layer(
    layer: Layer,
    process_mesh: ProcessMesh,
    shard_fn: Callable | None = None,
    input_fn: Callable | None = None,
    output_fn: Callable | None = None,
) -> Layer:
    """Spread the parameters and buffers of a layer over a mesh.

    Args:
        layer: the layer, changed in place.
        process_mesh: the mesh.
        shard_fn: (name of a sublayer, sublayer, mesh), spreads the parameters of the sublayer; what it leaves is
            replicated.
        input_fn: (inputs, mesh) -> inputs, before `forward`.
        output_fn: (outputs, mesh) -> outputs, behind it.

    Returns:
        The layer.
    """
    mesh, _ = _checked(process_mesh, [], "shard_layer")
    if not isinstance(layer, Layer):
        raise errors.TypeError_(f"shard_layer: layer must be a Layer, got {errors.describe(layer)}")
    for name, sublayer in layer.named_sublayers(include_self=True):
        if shard_fn is not None:
            shard_fn(name, sublayer, mesh)
        for store in (sublayer._parameters, sublayer._buffers):
            for key, tensor in store.items():
                if tensor is not None and not is_dist(tensor):
                    store[key] = shard_tensor(tensor, mesh, [])
    if input_fn is not None:
        layer.register_forward_pre_hook(lambda _, inputs: input_fn(inputs, mesh))
    if output_fn is not None:
        layer.register_forward_post_hook(lambda _, inputs, outputs: output_fn(outputs, mesh))
    return layer


def __getattr__(name: str) -> Any:
    """Names that have their place here officially."""
    found = _ELSEWHERE.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__package__}.{found}"), name)


_ELSEWHERE = {
    **dict.fromkeys("dtensor_from_local dtensor_to_local moe_global_mesh_tensor moe_sub_mesh_tensors".split(), "local"),
    **dict.fromkeys("ShardDataloader shard_dataloader".split(), "dataloader"),
    **dict.fromkeys("DistModel to_static".split(), "dist_model"),
    **dict.fromkeys(
        "ShardingStage1 ShardingStage2 ShardingStage3 shard_optimizer shard_scaler".split(), "sharded_optimizer"
    ),
    "DistAttr": "dist_attribute",
    "Strategy": "strategy",
}
