"""Parameters, gradients and states of an optimizer cut over an axis of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ..auto_parallel.api import is_dist, reshard
from ..auto_parallel.local import dtensor_from_local, dtensor_to_local, several_processes
from ..auto_parallel.placement_type import Partial, Replicate, Shard
from ..auto_parallel.process_mesh import ProcessMesh
from ..auto_parallel.sharded_optimizer import _move_to, with_sharding
from ..communication.group import Group, group_of
from ..wrapper import Wrapper


@dataclass
class MixedPrecisionPolicy:
    """Types to compute in. Only the defaults are possible; `amp.auto_cast` and `MixPrecisionLayer` are for this."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Where parameters rest. Accepted: they stay on their devices, as officially."""

    pin_memory: bool = True


class FullyShard(Wrapper):
    """A model that each process calls with its own batch and of which each keeps a part; made by `fully_shard`.

    Tensors given to it are parts, along their first axis, of a batch of all; so are its results, and a scalar result is
    that of the whole batch in every process. Gradients are averages over the processes.
    """

    def __init__(self, layer: Layer, mesh: ProcessMesh):
        super().__init__()
        self._layers, self._mesh = layer, mesh

    def _joined(self, x: Any) -> Any:
        if not isinstance(x, Tensor) or is_dist(x):
            return x
        return dtensor_from_local(x, self._mesh, [Shard(0) if x.ndim else Replicate()])

    def _parted(self, x: Any) -> Any:
        if not isinstance(x, Tensor) or not is_dist(x):
            return x
        if not x.ndim:  # every process has the gradient of its own loss; the hooks divide their sum
            return dtensor_to_local(x, self._mesh, [Partial()])
        return dtensor_to_local(reshard(x, self._mesh, [Shard(0)]), self._mesh, [Shard(0)])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if modes.program is not None:
            raise errors.NotImplemented_("fully_shard: a batch of each process inside of to_static; give a mesh")
        leaf = lambda x: isinstance(x, Tensor)  # noqa: E731
        inputs, kwargs = jax.tree.map(self._joined, (inputs, kwargs), is_leaf=leaf)
        return jax.tree.map(self._parted, self._layers(*inputs, **kwargs), is_leaf=leaf)


@errors.clean
def fully_shard(
    module: Layer,
    *,
    mesh: ProcessMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Tensor], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Iterable[Tensor] | None = None,
    enable_tensor_fusion_and_overlap: bool = True,
) -> Layer:
    """Cut the parameters of a model over processes; gradients and the states of an optimizer that is made afterwards lie
    like them. XLA puts a parameter together where an operator uses it. The training loop stays.

    Args:
        module: a Layer.
        mesh: a mesh, over whose first axis is cut; the model is then called with distributed tensors (or equal ones in
            all processes). None: over the axis "sharding" of fleet, or all processes, each of which gives its own batch.
        reshard_after_forward: accepted: parameters are whole only inside of an operator.
        shard_placement_fn: parameter -> Shard(axis), which of its axes is cut, or None for the first that divides.
        mp_policy, offload_policy: only the defaults are possible.
        ignored_params: parameters that every process keeps whole.
        enable_tensor_fusion_and_overlap: accepted: XLA decides.

    Returns:
        With a mesh the module itself, else a layer around it.

    Raises:
        TypeError: arguments of a wrong kind.
        ValueError: an axis of `shard_placement_fn` that the mesh does not divide.
        NotImplementedError: types in `mp_policy`.

    Source: Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", 2023.

    Example:
        >>> import paddle.distributed as dist
        >>> mesh = dist.ProcessMesh([0], dim_names=["x"])
        >>> net = dist.fsdp.fully_shard(paddle.nn.Linear(4, 2), mesh=mesh)
        >>> net.weight.placements
        [Shard(dim=0)]
    """
    if not isinstance(module, Layer):
        raise errors.TypeError_(f"fully_shard: module must be a Layer, got {errors.describe(module)}")
    if mesh is not None and not isinstance(mesh, ProcessMesh):
        raise errors.TypeError_(f"fully_shard: mesh must be a ProcessMesh or None, got {errors.describe(mesh)}")
    policy = mp_policy or MixedPrecisionPolicy()
    if any(t is not None for t in (policy.param_dtype, policy.reduce_dtype, policy.output_dtype)):
        raise errors.NotImplemented_("fully_shard: types in mp_policy; amp.auto_cast and MixPrecisionLayer are there")
    manual = mesh is None
    where = mesh if mesh is not None else _mesh_of_group()
    ignored = {id(p) for p in ignored_params or ()}
    parts = where.shape[0]
    for param in module.parameters():
        if not is_dist(param):
            _move_to(param, where, [Replicate()] * where.ndim)
        if id(param) not in ignored:
            _move_to(param, param.process_mesh, _placements(param, where, shard_placement_fn))
        if manual and not param.stop_gradient and parts > 1:
            param.register_hook(lambda gradient: gradient * (1 / parts))
    if not manual:
        return module
    for buffer in module.buffers():
        if not is_dist(buffer):
            _move_to(buffer, where, [Replicate()])
    return FullyShard(module, where) if several_processes() else module


def _mesh_of_group() -> ProcessMesh:
    from .. import fleet

    groups = getattr(fleet.fleet, "_hcg", None)
    along: Group | None = None
    if groups is not None and groups.get_sharding_parallel_world_size() > 1:
        along = groups.get_sharding_parallel_group()
        if groups.nranks > along.nranks:
            raise errors.NotImplemented_("fully_shard: sharding beside other axes of fleet; give a mesh with all axes")
    return ProcessMesh(np.array(group_of(along, "fully_shard").ranks), dim_names=["sharding"])


def _placements(param: Tensor, mesh: ProcessMesh, choose: Callable | None) -> list:
    chosen = None if choose is None else choose(param)
    if chosen is None:
        return with_sharding(param, 0)
    if not isinstance(chosen, Shard):
        raise errors.TypeError_(f"fully_shard: shard_placement_fn must give a Shard or None, got {chosen!r}")
    if not -param.ndim <= chosen.dim < param.ndim or param.shape[chosen.dim] % mesh.shape[0]:
        raise errors.ValueError_(
            f"fully_shard: {chosen} of {param.name} with shape {list(param.shape)} does not divide over {mesh.shape[0]}"
        )
    return [chosen, *param.placements[1:]]
