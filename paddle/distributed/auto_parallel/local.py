"""Between distributed tensors and what each process has of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from ...engine import errors
from ...engine.dispatch import dispatch
from ...engine.executable import Kernel
from ...engine.modes import modes, set_mode
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...ir.program import Graph
from ...ir.record import Recorder
from ...ir.run import run_block
from ...nn.layer import Layer
from .. import world
from ..communication.mesh import reduce_local, reduced
from .api import Moved, _checked, _local_array, _same_calls_everywhere, _sharding, is_dist, marks_of, reshard
from .placement_type import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, get_rank

_OPERATION = {
    ReduceType.kRedSum: "sum",
    ReduceType.kRedMax: "max",
    ReduceType.kRedMin: "min",
    ReduceType.kRedProd: "prod",
    ReduceType.kRedAvg: "avg",
}
_OF_TRUTH = {ReduceType.kRedAny: "max", ReduceType.kRedAll: "min"}


def several_processes() -> bool:
    return world.is_connected() and world.current().size > 1


# ---- global and local ----
def global_shape(local: tuple, mesh: ProcessMesh, placements: list[Placement]) -> tuple:
    """The shape of the tensor of which every process has a part of the shape `local`."""
    shape = list(local)
    for axis, placement in enumerate(placements):
        if isinstance(placement, Shard):
            shape[placement.dim % len(shape)] *= mesh.shape[axis]
    return tuple(shape)


def _assembled(local: Any, mesh: ProcessMesh, placements: list[Placement], function: str) -> tuple[Any, dict]:
    """(array, marks) of the distributed tensor of which this process has `local`. A process of several devices stands for
    all of them: each has the same."""
    partial = {axis: p for axis, p in enumerate(placements) if isinstance(p, Partial)}
    marks = marks_of(mesh, placements, global_shape(local.shape, mesh, placements), function)
    sharding = marks["_chosen_sharding"]
    lead = tuple(mesh.shape[axis] for axis in partial)
    spec = PartitionSpec(*(mesh.dim_names[axis] for axis in partial), *sharding.spec)
    full = NamedSharding(sharding.mesh, spec)
    shape = lead + global_shape(local.shape, mesh, placements)
    block = jnp.asarray(local).reshape((1,) * len(lead) + local.shape)
    own = [jax.device_put(block, d) for d in full.addressable_devices]
    parts = jax.make_array_from_single_device_arrays(shape, full, own)
    if not partial:
        return parts, marks
    kinds = tuple(_operation(p, parts.dtype, function) for p in partial.values())
    array = _combined(kinds, sharding)(parts)
    marks["_parts"] = (parts, array)
    return array, marks


def _operation(placement: Partial, dtype: Any, function: str) -> str:
    """How parts of a type combine; "any" and "all" are the largest and the smallest of truth values."""
    kind = (_OPERATION | _OF_TRUTH if dtype == np.bool_ else _OPERATION).get(placement.reduce_type())
    if kind is None:
        raise errors.NotImplemented_(f"{function}: {placement} of {dtype}, it combines bool")
    if kind in ("max", "min") and jnp.issubdtype(dtype, jnp.complexfloating):
        raise errors.ValueError_(f"{function}: complex numbers have no order, got {placement} of {dtype}")
    return kind


@functools.cache
def _combined(kinds: tuple[str, ...], sharding: NamedSharding) -> Callable:
    def combine(parts: Any) -> Any:
        for kind in kinds:
            parts = reduce_local(parts, kind)
        return parts

    return jax.jit(combine, out_shardings=sharding)


@errors.clean
def dtensor_from_local(local_tensor: Tensor, mesh: ProcessMesh, placements: list[Placement]) -> Tensor:
    """The distributed tensor of which every process gives its part; gradients flow back to the part.

    Args:
        local_tensor: what this process has, of one shape everywhere.
        mesh: the mesh.
        placements: `Shard(d)`: the parts lie one after the other along d. `Partial()`: they are added up (or combined in
            another way); `_local_value()` still gives the part. `Replicate()`: they are equal.

    Raises:
        ValueError: the tensor is distributed already.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([0])
        >>> from paddle.distributed.auto_parallel.api import dtensor_from_local
        >>> dtensor_from_local(paddle.ones([2]), mesh, [paddle.distributed.Partial()]).placements
        [Partial(reduce_type=SUM)]
    """
    mesh, wanted = _checked(mesh, placements, "dtensor_from_local")
    if is_dist(local_tensor):
        raise errors.ValueError_("dtensor_from_local: the tensor must be a local one, it is distributed already")
    if isinstance(local_tensor._raw, Value):
        raise errors.NoValue("dtensor_from_local: while a program is built; LocalLayer and local_map can be recorded")
    _same_calls_everywhere()
    array, marks = _assembled(local_tensor._value, mesh, wanted, "dtensor_from_local")
    made = _make(array)
    if local_tensor._node is not None and not local_tensor._stop:
        replicated = [Replicate() if isinstance(p, Partial) else p for p in wanted]

        def back(gradient: Any) -> Any:
            return _local_array(reshard(_make(gradient), mesh, replicated))

        made._node, made._index, made._stop = Moved(local_tensor, back), 0, False
    else:
        made._stop = local_tensor._stop
    made.__dict__.update(marks)
    return made


@errors.clean
def dtensor_to_local(dist_tensor: Tensor, mesh: ProcessMesh, placements: list[Placement]) -> Tensor:
    """What this process has of a distributed tensor; `mesh` and `placements` tell how its gradient is put together.

    Raises:
        ValueError: the tensor is not distributed.
    """
    if not is_dist(dist_tensor):
        raise errors.ValueError_("dtensor_to_local: the tensor must be distributed")
    mesh, wanted = _checked(mesh, placements, "dtensor_to_local")
    local = _make(jnp.asarray(np.asarray(_local_array(dist_tensor))))
    if dist_tensor._node is not None and not dist_tensor._stop:
        shape = tuple(dist_tensor._raw.shape)

        def back(gradient: Any) -> Any:
            array, _ = _assembled(gradient, mesh, wanted, "dtensor_to_local")
            if array.shape != shape:
                raise errors.ValueError_(
                    f"dtensor_to_local: gradients of shape {list(gradient.shape)} with {wanted} give "
                    f"{list(array.shape)}, the tensor has {list(shape)}"
                )
            return array

        local._node, local._index, local._stop = Moved(dist_tensor, back), 0, False
    else:
        local._stop = dist_tensor._stop
    return local


# ---- functions of local tensors ----
def _flat(values: Any) -> tuple[list, Any]:
    leaves, structure = jax.tree.flatten(values, is_leaf=lambda x: isinstance(x, Tensor))
    return leaves, structure


def _on_every_device(function: Callable, args: list, kinds: list, outs: list, mesh: ProcessMesh) -> Any:
    """Run a function of local tensors on every device of a mesh, as one operator: it is recorded once.

    Args:
        args: tensors and others; `kinds` has the placements of the tensors, None for what is no tensor.
        outs: the placements of the results.
    """
    tensors = [a for a, k in zip(args, kinds) if k is not None]
    shardings = [
        marks_of(mesh, k, tuple(a._raw.shape), "local_map")["_chosen_sharding"] for a, k in zip(args, kinds) if k
    ]
    graph, stand_ins = Graph(), []
    for number, (tensor, sharding) in enumerate(zip(tensors, shardings)):
        shape = sharding.shard_shape(tuple(tensor._raw.shape))
        value = graph.inputs[f"x{number}"] = Value(f"x{number}", (shape, shape), tensor._raw.dtype)
        stand_ins.append(_make(value))
        stand_ins[-1]._stop = True
    given = iter(stand_ins)
    recorder = Recorder(graph)
    with recorder, set_mode(grad=False):
        found = function(*[a if k is None else next(given) for a, k in zip(args, kinds)])
        leaves, structure = _flat(found)
        if len(leaves) != len(outs):
            raise errors.ValueError_(f"local_map: {len(leaves)} results, but placements for {len(outs)}")
        if any(not isinstance(x, Tensor) for x in leaves):
            raise errors.TypeError_("local_map: the results must be tensors where placements are given")
        graph.block.outputs = [recorder.value_of(x) for x in leaves]
    recorder.restore()
    if graph.ticks:
        raise errors.NotImplemented_("local_map: random numbers inside of the function")
    states = list(graph.states.values())
    values = [*graph.inputs.values(), *(s.value for s in states)]
    names = mesh.dim_names

    def body(*arrays: Any) -> tuple:
        results = run_block(graph.block, dict(zip(values, arrays)))
        return tuple(_put_together(r, o, names) for r, o in zip(results, outs))

    def call(*arrays: Any) -> tuple:
        return jax.shard_map(body, mesh=mesh.devices, in_specs=specs, out_specs=out_specs, check_vma=False)(*arrays)

    specs = (*(s.spec for s in shardings), *(PartitionSpec() for _ in states))
    wide = [global_shape(v.trials[0], mesh, o) for v, o in zip(graph.block.outputs, outs)]
    out_specs = tuple(marks_of(mesh, o, w, "local_map")["_chosen_sharding"].spec for o, w in zip(outs, wide))
    kernel = Kernel(call, getattr(function, "__name__", "local_map"), ("",) * len(values))
    made = dispatch(kernel, (*tensors, *(s.tensor for s in states)))
    made = list(made) if isinstance(made, tuple) else [made]
    for tensor, placement, shape in zip(made, outs, wide):
        marks = marks_of(mesh, [Replicate() if isinstance(p, Partial) else p for p in placement], shape, "local_map")
        tensor.__dict__.update(marks)
    return jax.tree.unflatten(structure, made)


def _put_together(array: Any, placements: list[Placement], names: list[str]) -> Any:
    for name, placement in zip(names, placements):
        if isinstance(placement, Partial):
            kind = _operation(placement, array.dtype, "local_map")
            array = reduced(array, kind, jax.lax.axis_size(name), name)
    return array


@errors.clean
def local_map(
    func: Callable,
    out_placements: list,
    in_placements: list | None = None,
    process_mesh: ProcessMesh | None = None,
    reshard_inputs: bool = False,
) -> Callable:
    """A function of distributed tensors that runs `func` on what each process has of them.

    In a job of several processes each runs `func` itself; in a process of several devices, and in a program, it is
    recorded once and runs on every device.

    Args:
        func: a function of tensors and others, which returns tensors in lists, tuples or dicts.
        out_placements: a list of placements for each result, flat; None for a result that is no tensor.
        in_placements: the placements that the arguments must have, None where any will do.
        process_mesh: the mesh, by default that of the first distributed argument.
        reshard_inputs: bring arguments to `in_placements`; otherwise others are an error.

    Raises:
        ValueError: placements of another number than arguments or results; an argument that lies otherwise.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([0], dim_names=["x"])
        >>> t = paddle.distributed.shard_tensor(paddle.ones([4]), mesh, [paddle.distributed.Shard(0)])
        >>> total = paddle.distributed.local_map(lambda x: x.sum(), [[paddle.distributed.Partial()]])
        >>> total(t).item()
        4.0
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = _flat(args)
        if in_placements is not None and len(in_placements) != len(leaves):
            raise errors.ValueError_(f"local_map: {len(in_placements)} in_placements for {len(leaves)} arguments")
        mesh = process_mesh
        kinds: list = []
        for i, leaf in enumerate(leaves):
            wanted = None if in_placements is None else in_placements[i]
            if not isinstance(leaf, Tensor) or not (is_dist(leaf) or isinstance(leaf._raw, Value)):
                kinds.append(None)
                continue
            mesh = mesh or leaf.process_mesh
            have = leaf.placements or [Replicate()] * (mesh.ndim if mesh else 0)
            wanted = have if wanted is None else _checked(mesh, wanted, "local_map")[1]
            if wanted != have:
                if not reshard_inputs and is_dist(leaf):
                    raise errors.ValueError_(
                        f"local_map: argument {i} has placements {have}, not {wanted}; reshard_inputs=True moves it"
                    )
                leaves[i] = reshard(leaf, mesh, wanted)
            kinds.append(wanted)
        if mesh is None:
            if any(p is not None for p in out_placements):
                raise errors.ValueError_("local_map: process_mesh must be given where no argument is distributed")
            return func(*args, **kwargs)
        outs = [p if p is None else _checked(mesh, p, "local_map")[1] for p in out_placements]

        def inner(*found: Any) -> Any:
            return func(*jax.tree.unflatten(structure, found), **kwargs)

        inner.__name__ = getattr(func, "__name__", "local_map")
        if modes.program is None and several_processes():
            return _in_this_process(inner, leaves, kinds, outs, mesh)
        return _on_every_device(inner, leaves, kinds, outs, mesh)

    return call


def _in_this_process(function: Callable, leaves: list, kinds: list, outs: list, mesh: ProcessMesh) -> Any:
    local = [x if k is None else dtensor_to_local(x, mesh, _gradient_of(k)) for x, k in zip(leaves, kinds)]
    found, structure = _flat(function(*local))
    if len(found) != len(outs):
        raise errors.ValueError_(f"local_map: {len(found)} results, but placements for {len(outs)}")
    made = [x if p is None else dtensor_from_local(x, mesh, p) for x, p in zip(found, outs)]
    return jax.tree.unflatten(structure, made)


def _gradient_of(placements: list[Placement]) -> list[Placement]:
    """How the gradients of what the processes have make up the gradient of the whole."""
    return [Partial() if isinstance(p, Replicate) else p for p in placements]


class LocalLayer(Layer):
    """A layer whose `forward` sees what each process has of the inputs; what it returns is put together.

    Args:
        out_dist_attrs: (mesh, placements) for each output.
        grad_dist_attrs: (mesh, placements) of the gradient of each input, None for those of the input.

    Raises:
        ValueError: another number of inputs or outputs.

    Example:
        >>> import paddle.distributed as dist
        >>> mesh = dist.ProcessMesh([0], dim_names=["x"])
        >>> class Sum(dist.LocalLayer):
        ...     def forward(self, x):
        ...         return x.sum()
        >>> layer = Sum([(mesh, [dist.Partial()])], [(mesh, [dist.Shard(0)])])
        >>> layer(dist.shard_tensor(paddle.ones([4]), mesh, [dist.Shard(0)])).item()
        4.0
    """

    def __init__(self, out_dist_attrs: list, grad_dist_attrs: list):
        super().__init__()
        self.out_dist_attrs, self.grad_dist_attrs = out_dist_attrs, grad_dist_attrs

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if len(inputs) != len(self.grad_dist_attrs):
            raise errors.ValueError_(
                f"LocalLayer: {len(inputs)} inputs, but grad_dist_attrs for {len(self.grad_dist_attrs)}"
            )
        run = functools.partial(Layer.__call__, self, **kwargs)
        if modes.program is None and several_processes():
            local = []
            for x, attribute in zip(inputs, self.grad_dist_attrs):
                if isinstance(x, Tensor) and is_dist(x):
                    mesh, placements = (x.process_mesh, x.placements) if attribute is None else attribute
                    x = dtensor_to_local(x, mesh, placements)
                local.append(x)
            found, structure = _flat(run(*local))
            if len(found) != len(self.out_dist_attrs):
                raise errors.ValueError_(
                    f"LocalLayer: {len(found)} outputs, but out_dist_attrs for {len(self.out_dist_attrs)}"
                )
            return jax.tree.unflatten(
                structure, [dtensor_from_local(x, *where) for x, where in zip(found, self.out_dist_attrs)]
            )
        kinds = [self._kind(x, a) for x, a in zip(inputs, self.grad_dist_attrs)]
        mesh = self.out_dist_attrs[0][0]
        outs = [_checked(mesh, p, "LocalLayer")[1] for _, p in self.out_dist_attrs]
        run.__name__ = type(self).__name__.lower()  # type: ignore[attr-defined]
        return _on_every_device(run, list(inputs), kinds, outs, mesh)

    @staticmethod
    def _kind(x: Any, attribute: Any) -> list[Placement] | None:
        if not isinstance(x, Tensor):
            return None
        if _sharding(x) is not None:
            return x.placements
        if attribute is None:
            return []
        return [Replicate() if isinstance(p, Partial) else p for p in attribute[1]]


# ---- tensors on a part of the mesh ----
def _sub_meshes(mesh: ProcessMesh, dim: int) -> list[ProcessMesh]:
    dim %= mesh.ndim
    name = mesh.dim_names[dim]
    if mesh.ndim == 1:
        return [ProcessMesh([rank], [name]) for rank in mesh.process_ids]
    return [mesh.get_mesh_with_dim(name, i) for i in range(mesh.shape[dim])]


@errors.clean
def moe_global_mesh_tensor(
    local_tensor_list: list[Tensor], mesh: ProcessMesh, placements: list[Placement], local_mesh_dim: int = -1
) -> Tensor:
    """One tensor on a mesh from tensors on its parts along an axis, such as the experts' outputs.

    Args:
        local_tensor_list: the tensors, one for each place on the axis `local_mesh_dim`.
        mesh, placements: those of the result; with `Shard(d)` on that axis the tensors lie one after the other along d.
    """
    mesh, wanted = _checked(mesh, placements, "moe_global_mesh_tensor")
    dim = local_mesh_dim % mesh.ndim
    if len(local_tensor_list) != mesh.shape[dim]:
        raise errors.ValueError_(
            f"moe_global_mesh_tensor: {len(local_tensor_list)} tensors for an axis of {mesh.shape[dim]} places"
        )
    if several_processes():
        place = np.argwhere(mesh.mesh == get_rank())
        own = local_tensor_list[int(place[0][dim]) if len(place) else 0]
        rest = [p for i, p in enumerate(wanted) if i != dim] or [Replicate()]
        local = dtensor_to_local(own, own.process_mesh, rest) if is_dist(own) else own
        return dtensor_from_local(local, mesh, wanted)
    from ...ops.joining import concat

    moved = [reshard(t, mesh, [Replicate()] * mesh.ndim) for t in local_tensor_list]
    if not isinstance(wanted[dim], Shard):
        return reshard(moved[0], mesh, wanted)
    return reshard(concat(moved, axis=wanted[dim].dim), mesh, wanted)


@errors.clean
def moe_sub_mesh_tensors(
    dist_tensor: Tensor,
    global_mesh: ProcessMesh | None = None,
    local_mesh_dim: int | None = None,
    global_placements: list[Placement] | None = None,
) -> list[Tensor]:
    """The parts of a tensor along an axis of its mesh, each on its part of the mesh; `moe_global_mesh_tensor` backwards."""
    mesh, wanted = _checked(global_mesh, global_placements, "moe_sub_mesh_tensors")
    dim = (-1 if local_mesh_dim is None else local_mesh_dim) % mesh.ndim
    meshes = _sub_meshes(mesh, dim)
    rest = [p for i, p in enumerate(wanted) if i != dim] or [Replicate()]
    if several_processes():
        local = dtensor_to_local(dist_tensor, mesh, wanted)
        place = np.argwhere(mesh.mesh == get_rank())
        number = int(place[0][dim]) if len(place) else 0
        return [dtensor_from_local(local, m, rest) if i == number else local.detach() for i, m in enumerate(meshes)]
    from ...ops.joining import split

    if isinstance(wanted[dim], Shard):
        parts = split(dist_tensor, mesh.shape[dim], axis=wanted[dim].dim)
    else:
        parts = [dist_tensor] * mesh.shape[dim]
    return [reshard(t, m, rest) for t, m in zip(parts, meshes)]
