"""Optimizers whose states, gradients or parameters are spread over an axis of the mesh (ZeRO, Rajbhandari et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...amp.scaler import AmpScaler
from ...engine import errors
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...optimizer.optimizer import Optimizer
from .api import _sharding, is_dist, marks_of, mesh_of, placements_of, reshard, shard_tensor, sharding_of, spread
from .placement_type import Placement, Replicate, Shard
from .process_mesh import ProcessMesh, get_mesh


def with_sharding(param: Tensor, axis: int) -> list[Placement]:
    """The placements of a parameter with another one of its axes cut over an axis of the mesh: the first that is whole and
    divides, else one that is cut already; unchanged where none divides."""
    mesh, found = param.process_mesh, param.placements
    if not isinstance(found[axis], Replicate):
        return found
    shape, parts = tuple(param._raw.shape), mesh.shape[axis]
    pieces = [1] * len(shape)
    for number, placement in enumerate(found):
        if isinstance(placement, Shard):
            pieces[placement.dim] *= mesh.shape[number]
    order = sorted(range(len(shape)), key=lambda d: pieces[d] > 1)
    for d in order:
        if shape[d] % (pieces[d] * parts) == 0:
            found[axis] = Shard(d)
            break
    return found


class _Stage:
    """Base class of the stages: (name of a state, parameter, state) -> the state, spread."""

    stage = 0

    def __init__(self, sharding_mesh_dim: int | str, mesh: ProcessMesh | None = None):
        if isinstance(sharding_mesh_dim, bool) or not isinstance(sharding_mesh_dim, (int, str)):
            raise errors.TypeError_(
                f"{type(self).__name__}: sharding_mesh_dim must be the name or the number of an axis of the mesh, got "
                f"{errors.describe(sharding_mesh_dim)}"
            )
        self._sharding_mesh_dim, self._mesh = sharding_mesh_dim, mesh
        mesh = mesh or get_mesh()
        if mesh is not None:
            mesh._axis(sharding_mesh_dim)

    def _axis(self, param: Tensor) -> int:
        return param.process_mesh._axis(self._sharding_mesh_dim)

    def _placements(self, key: str, param: Tensor) -> list[Placement]:
        if "beta" in key:
            return [Replicate()] * param.process_mesh.ndim
        return with_sharding(param, self._axis(param))

    def __call__(self, key: str, param: Tensor, tensor: Tensor) -> Tensor:
        if not is_dist(param):
            return tensor
        move = reshard if is_dist(tensor) or isinstance(tensor._raw, Value) else shard_tensor
        return move(tensor, param.process_mesh, self._placements(key, param))

    def shard_master_weight(self, param: Tensor, master_weight: Tensor) -> Tensor:
        """The float32 copy of a 16-bit parameter, spread like the other states."""
        return self("master", param, master_weight)


class ShardingStage1(_Stage):
    """The states of the optimizer are cut over an axis of the mesh; each place updates its part of the parameters.

    Args:
        sharding_mesh_dim: the name or the number of the axis.
        mesh: its mesh, by default that of `set_mesh`.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> import paddle.distributed as dist
        >>> mesh = dist.ProcessMesh([0], dim_names=["dp"])
        >>> net = dist.shard_layer(paddle.nn.Linear(2, 2), mesh)
        >>> opt = paddle.optimizer.AdamW(parameters=net.parameters())
        >>> opt = dist.shard_optimizer(opt, dist.ShardingStage1("dp", mesh))
    """

    stage = 1


class ShardingStage2(_Stage):
    """As ShardingStage1, and the gradients are cut in the same way as soon as they are there.

    Args:
        sharding_mesh_dim, mesh: see ShardingStage1.
    """

    stage = 2


class ShardingStage3(_Stage):
    """As ShardingStage2, and the parameters are kept cut; they are put together where they are used.

    Args:
        sharding_mesh_dim, mesh: see ShardingStage1. Parameters that are not distributed yet are, on this mesh.
    """

    stage = 3

    def _shard_parameter(self, param: Tensor) -> None:
        mesh = self._mesh or get_mesh()
        if not is_dist(param):
            if mesh is None:
                return
            _move_to(param, mesh, [Replicate()] * mesh.ndim)
        _move_to(param, param.process_mesh, with_sharding(param, self._axis(param)))

    def _unshard_parameter(self, param: Tensor) -> None:
        if is_dist(param):
            found = param.placements
            found[self._axis(param)] = Replicate()
            _move_to(param, param.process_mesh, found)


def _move_to(param: Tensor, mesh: ProcessMesh, placements: list[Placement]) -> None:
    """Lay a tensor out in another way, in place."""
    marks = marks_of(mesh, placements, tuple(param._raw.shape), "shard_optimizer")
    param._storage.write(spread(param._value, marks["_chosen_sharding"]))
    param.__dict__.update(marks)


@errors.clean
def shard_optimizer(
    optimizer: Optimizer, shard_fn: Callable | None = None, gradient_accumulation_steps: int = 1
) -> Optimizer:
    """Let the states of an optimizer lie on the mesh of the parameters.

    Args:
        optimizer: any of `paddle.optimizer`, changed in place.
        shard_fn: ShardingStage1, 2 or 3, or a function (name of the state, parameter, state) -> state; by default states
            lie like their parameters.
        gradient_accumulation_steps: noted; gradients add up until `clear_grad()` anyway.

    Returns:
        The optimizer.

    Raises:
        TypeError: `optimizer` is none, `shard_fn` is no function.
        ValueError: the mesh has no such axis, or there is none.

    Example:
        >>> net = paddle.nn.Linear(2, 2)
        >>> sgd = paddle.distributed.shard_optimizer(paddle.optimizer.SGD(0.1, parameters=net.parameters()))
    """
    if not isinstance(optimizer, Optimizer):
        raise errors.TypeError_(f"shard_optimizer: optimizer must be an Optimizer, got {errors.describe(optimizer)}")
    if shard_fn is not None and not callable(shard_fn):
        raise errors.TypeError_(f"shard_optimizer: shard_fn must be a function, got {errors.describe(shard_fn)}")
    steps = gradient_accumulation_steps
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise errors.ValueError_(f"shard_optimizer: gradient_accumulation_steps must be at least 1, got {steps!r}")
    optimizer._shard_fn, optimizer.gradient_accumulation_steps = shard_fn, steps  # type: ignore[attr-defined]
    optimizer._inner_opt = optimizer  # type: ignore[attr-defined]
    if shard_fn is None:
        return optimizer
    if isinstance(shard_fn, _Stage) and (shard_fn._mesh or get_mesh()) is None:
        if not any(map(is_dist, optimizer._parameter_list)):
            raise errors.ValueError_("shard_optimizer: there is no mesh; give one to the stage, or call set_mesh")
    for param in optimizer._parameter_list:
        if isinstance(shard_fn, ShardingStage3):
            shard_fn._shard_parameter(param)
        if getattr(shard_fn, "stage", 0) >= 2 and is_dist(param) and not param._stop:
            param.register_hook(_cut_gradient(shard_fn, param))

    def where(param: Tensor) -> Any:
        if not is_dist(param):
            return None
        if isinstance(shard_fn, _Stage):
            mesh, found = param.process_mesh, shard_fn._placements("moment", param)
            return sharding_of(mesh, found, tuple(param._raw.shape), "shard_optimizer")
        name = (*optimizer._states, "master")[0]
        return _sharding(shard_fn(name, param, _make(param._value)))

    optimizer._state_sharding = where
    optimizer._plans.clear()
    return optimizer


def _cut_gradient(stage: _Stage, param: Tensor) -> Callable:
    sharding = _sharding(param)
    assert sharding is not None
    mesh, shape = mesh_of(sharding.mesh), tuple(param._raw.shape)
    wanted = with_sharding(param, stage._axis(param))
    assert placements_of(sharding_of(mesh, wanted, shape, "shard_optimizer"), len(shape)) == wanted

    def hook(gradient: Tensor) -> Tensor:
        return gradient if gradient.is_selected_rows() else reshard(gradient, mesh, wanted)

    return hook


@errors.clean
def shard_scaler(scaler: AmpScaler) -> AmpScaler:
    """A GradScaler for distributed tensors. Whether a gradient is infinite or NaN is computed over all of its parts
    anyway, so it stays as it is.

    Raises TypeError where it is none.

    Example:
        >>> scaler = paddle.distributed.shard_scaler(paddle.amp.GradScaler())
    """
    if not isinstance(scaler, AmpScaler):
        raise errors.TypeError_(f"shard_scaler: scaler must be a GradScaler, got {errors.describe(scaler)}")
    return scaler
