"""A model and its optimizer over a mesh, by names of layers: axes "dp", "mp", "pp", "sep"."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from jax.sharding import NamedSharding

from ...engine import errors
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ...optimizer.optimizer import Optimizer
from .api import _sharding, constrain, is_dist
from .placement_type import Replicate, Shard
from .plans import PlanBase, SplitPoint
from .process_mesh import ProcessMesh, get_mesh, set_mesh
from .repeated import Chain, Schedule
from .sharded_optimizer import ShardingStage1, ShardingStage2, ShardingStage3, _move_to, shard_optimizer, with_sharding

_STAGES = {1: ShardingStage1, 2: ShardingStage2, 3: ShardingStage3}


@errors.clean
def parallelize(
    model: Layer,
    optimizer: Optimizer | None = None,
    mesh: ProcessMesh | None = None,
    config: dict | None = None,
) -> tuple[Layer, Optimizer | None]:
    """Lay a model, and the states of its optimizer, out over a mesh, in place. Losses and gradients stay what they are.

    Args:
        model: the model.
        optimizer: its optimizer.
        mesh: the mesh, which becomes that of `get_mesh`; by default the present one. Its axes have the names "dp" (data),
            "mp" (tensors), "pp" (pipeline), "sep" (context).
        config: a dict of

            - "dp_config": {"sharding_level": 0, 1, 2 or 3}, also "sharding_mesh_dim" (default "dp").
            - "mp_config": {"parallelize_plan": {name of a layer or parameter, or a regular expression: a plan or a list}}.
            - "cp_config": the same with ContextParallel plans.
            - "pp_config": {"split_spec": the name of a list of equal blocks, or {name of a block: SplitPoint.END},
              "micro_batches": how many (default as many as stages)}. "global_spec" is accepted: what is no block lies on
              all stages.

    Returns:
        (model, optimizer)

    Raises:
        ValueError: there is no mesh or no such axis; names that fit no layer; blocks that do not divide.
        NotImplementedError: blocks of a pipeline that are not alike, or stages of different lengths.

    Example:
        >>> import paddle.distributed as dist
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.Linear(8, 4))
        >>> mesh = dist.ProcessMesh([[0]], dim_names=["dp", "mp"])
        >>> plan = {"0": dist.ColWiseParallel(), "1": dist.RowWiseParallel()}
        >>> net, _ = dist.parallelize(net, None, mesh, {"mp_config": {"parallelize_plan": plan}})
        >>> net[0].weight.placements; dist.set_mesh(None)
        [Replicate(), Shard(dim=1)]
    """
    if config is None:
        warnings.warn("parallelize: without a config nothing happens", stacklevel=2)
        return model, optimizer
    mesh = _prepared(model, mesh, config, "parallelize")
    if not any(config.get(k) is not None for k in ("dp_config", "mp_config", "pp_config", "cp_config")):
        return model, optimizer
    _parallelize_model(model, mesh, config)
    if optimizer is not None:
        optimizer = _parallelize_optimizer(optimizer, mesh, config)
    return model, optimizer


@errors.clean
def parallelize_model(model: Layer, mesh: ProcessMesh | None = None, config: dict | None = None) -> Layer:
    """`parallelize` of a model alone."""
    return parallelize(model, None, mesh, config)[0]


@errors.clean
def parallelize_optimizer(
    optimizer: Optimizer, mesh: ProcessMesh | None = None, config: dict | None = None
) -> Optimizer:
    """`parallelize` of an optimizer whose parameters lie on the mesh already. ValueError where they do not."""
    if config is None:
        warnings.warn("parallelize_optimizer: without a config nothing happens", stacklevel=2)
        return optimizer
    if not all(map(is_dist, optimizer._parameter_list)):
        raise errors.ValueError_(
            "parallelize_optimizer: call parallelize_model first, its parameters are not distributed"
        )
    return _parallelize_optimizer(optimizer, _prepared(None, mesh, config, "parallelize_optimizer"), config)


def _prepared(model: Any, mesh: ProcessMesh | None, config: Any, who: str) -> ProcessMesh:
    if not isinstance(config, dict):
        raise errors.TypeError_(f"{who}: config must be a dict, got {errors.describe(config)}")
    if model is not None and not isinstance(model, Layer):
        raise errors.TypeError_(f"{who}: model must be a Layer, got {errors.describe(model)}")
    if mesh is not None:
        if not isinstance(mesh, ProcessMesh):
            raise errors.TypeError_(f"{who}: mesh must be a ProcessMesh, got {errors.describe(mesh)}")
        if get_mesh() not in (None, mesh):
            warnings.warn(f"{who}: the mesh of set_mesh is replaced", stacklevel=3)
        set_mesh(mesh)
    found = get_mesh()
    if found is None:
        raise errors.ValueError_(f"{who}: there is no mesh; give one or call set_mesh")
    for key, axis in (("dp_config", "dp"), ("mp_config", "mp"), ("pp_config", "pp"), ("cp_config", "sep")):
        part = config.get(key)
        if part is None:
            continue
        if not isinstance(part, dict):
            raise errors.TypeError_(f"{who}: {key} must be a dict, got {errors.describe(part)}")
        axis = part.get("sharding_mesh_dim", axis)
        if axis not in found.dim_names:
            raise errors.ValueError_(f"{who}: {key} needs an axis {axis!r} of the mesh; it has {found.dim_names}")
    return found


def _parallelize_model(model: Layer, mesh: ProcessMesh, config: dict) -> None:
    plans: dict[str, Any] = {}
    for key in ("mp_config", "cp_config"):
        plans.update((config.get(key) or {}).get("parallelize_plan") or {})
    if plans:
        _apply_plans(model, mesh, plans)
    for _, layer in model.named_sublayers(include_self=True):
        for tensor in (*layer._parameters.values(), *layer._buffers.values()):
            if tensor is not None and not is_dist(tensor):
                _move_to(tensor, mesh, [Replicate()] * mesh.ndim)
    pipeline = config.get("pp_config")
    chain = None
    if pipeline is not None:
        chain = _pipeline(model, mesh, pipeline)
    sharding = config.get("dp_config") or {}
    if int(sharding.get("sharding_level") or 0) == 3:
        _gather_on_use(model, mesh, sharding.get("sharding_mesh_dim", "dp"), chain)


def _parallelize_optimizer(optimizer: Optimizer, mesh: ProcessMesh, config: dict) -> Optimizer:
    sharding = config.get("dp_config") or {}
    level = sharding.get("sharding_level", 0)
    if level is None or str(level) not in ("0", "1", "2", "3"):
        raise errors.ValueError_(f"parallelize: sharding_level must be 0, 1, 2 or 3, got {level!r}")
    stage = _STAGES.get(int(level))
    return shard_optimizer(optimizer, stage and stage(sharding.get("sharding_mesh_dim", "dp"), mesh))


# ---- plans by name ----
def _apply_plans(model: Layer, mesh: ProcessMesh, plans: dict[str, Any]) -> None:
    unused = set(plans)
    listed: list[tuple[str, list[PlanBase]]] = []
    for key, plan in plans.items():
        several = list(plan) if isinstance(plan, (list, tuple)) else [plan]
        if not isinstance(key, str) or not all(isinstance(p, PlanBase) for p in several):
            raise errors.TypeError_(f"parallelize: a plan maps names to plans, got {key!r}: {plan!r}")
        listed.append((key, several))
    for name, layer in model.named_sublayers(include_self=True):
        for key, several in listed:
            pattern, _, last = key.rpartition(".")
            own = last in layer._parameters and (pattern or not name)
            names = [last] if own else []
            if not names:
                pattern = key
            if pattern == name or re.fullmatch(pattern, name):
                unused.discard(key)
                for plan in several:
                    plan.apply(layer, mesh, names)
    for key in sorted(unused):
        warnings.warn(f"parallelize: no layer has the name {key!r}", stacklevel=4)


# ---- pipeline ----
def _pipeline(model: Layer, mesh: ProcessMesh, config: dict) -> Chain | None:
    spec = config.get("split_spec")
    if spec is None:
        warnings.warn("parallelize: pp_config without split_spec does nothing", stacklevel=4)
        return None
    stages = mesh.get_dim_size("pp")
    names = {name: layer for name, layer in model.named_sublayers()}
    prefix, blocks = _blocks(names, spec, stages)
    if len(blocks) % stages:
        raise errors.NotImplemented_(
            f"parallelize: {len(blocks)} blocks of {prefix!r} in {stages} stages of different lengths"
        )
    if stages == 1:
        return None
    axis = mesh._axis("pp")
    for block in blocks:
        for param in block.parameters():
            _move_to(param, mesh, with_sharding(param, axis))
    cut = tuple(n for n in ("dp", "sharding") if n in mesh.dim_names and mesh.get_dim_size(n) > 1)
    schedule = Schedule(
        stages=stages,
        micro=int(config.get("micro_batches") or stages),
        mesh=mesh.devices,
        axis="pp",
        specs=[_spec(p, ("pp",)) for _, p in blocks[0].named_parameters()],
        batch=cut,
    )
    chain = Chain(blocks, schedule)
    model.__dict__["_pipeline"] = chain
    return chain


def _blocks(names: dict[str, Layer], spec: Any, stages: int) -> tuple[str, list[Layer]]:
    """(name of what holds the blocks, the blocks) for a split_spec."""
    if isinstance(spec, (list, tuple)) and len(spec) == 1:
        spec = spec[0]
    if isinstance(spec, str):
        prefix = spec
    elif isinstance(spec, dict) and spec:
        if any(p is not SplitPoint.END for p in spec.values()):
            raise errors.NotImplemented_("parallelize: SplitPoint.BEGINNING")
        unknown = [n for n in spec if n not in names]
        if unknown:
            raise errors.ValueError_(f"parallelize: split_spec names {unknown[0]!r}, which the model has not")
        prefixes = {n.rpartition(".")[0] for n in spec}
        if len(prefixes) > 1:
            raise errors.NotImplemented_("parallelize: a pipeline through several lists of blocks")
        prefix = prefixes.pop()
    else:
        raise errors.NotImplemented_(f"parallelize: split_spec {spec!r}")
    start = f"{prefix}." if prefix else ""
    found = [n for n in names if re.fullmatch(re.escape(start) + r"\d+", n)]
    if not found:
        raise errors.ValueError_(f"parallelize: no layer fits split_spec {spec!r}")
    if len(found) < stages:
        raise errors.ValueError_(f"parallelize: {len(found)} blocks for {stages} stages")
    if isinstance(spec, dict):
        per = len(found) // stages
        wanted = [found[per * (i + 1) - 1] for i in range(stages - 1)]
        if list(spec) != wanted:
            raise errors.NotImplemented_(
                f"parallelize: stages of different lengths: split_spec names {list(spec)}, equal stages end with {wanted}"
            )
    return prefix, [names[n] for n in found]


def _spec(param: Tensor, without: tuple[str, ...]) -> tuple:
    """How a parameter lies, leaving out some axes of the mesh."""
    sharding = _sharding(param)
    assert sharding is not None
    spec = []
    for part in (*sharding.spec, *[None] * (param.ndim - len(sharding.spec))):
        kept = tuple(n for n in ((part,) if isinstance(part, str) else part or ()) if n not in without)
        spec.append(kept or None)
    return tuple(spec)


# ---- parameters that are put together where they are used ----
def _gather_on_use(model: Layer, mesh: ProcessMesh, axis: str, chain: Chain | None) -> None:
    number = mesh._axis(axis)
    in_chain = {id(p) for b in (chain.blocks if chain else ()) for p in b.parameters()}
    for layer in model.sublayers(include_self=True):
        found = [(n, p) for n, p in layer._parameters.items() if p is not None and id(p) not in in_chain]
        if not found:
            continue
        wanted = {}
        for name, param in found:
            whole = _sharding(param)
            _move_to(param, mesh, with_sharding(param, number))
            if isinstance(param.placements[number], Shard):
                wanted[name] = whole
        if wanted:
            before, after = _gathering(wanted)
            layer.register_forward_pre_hook(before, prepend=True)
            layer.register_forward_post_hook(after, always_call=True)
    if chain is not None:
        schedule, first = chain.schedule, chain.blocks[0]
        schedule.use = [_spec(p, ("pp",)) for _, p in first.named_parameters()]
        for block in chain.blocks:
            for param in block.parameters():
                _move_to(param, mesh, with_sharding(param, number))
        schedule.specs = [_spec(p, ("pp",)) for _, p in first.named_parameters()]


def _gathering(wanted: dict[str, NamedSharding | None]) -> tuple[Callable, Callable]:
    kept: dict[str, Tensor] = {}

    def before(layer: Layer, inputs: Any) -> None:
        for name, whole in wanted.items():
            param = layer._parameters[name]
            kept[name] = param
            assert whole is not None
            layer._parameters[name] = constrain(param, whole, _sharding(param))

    def after(layer: Layer, inputs: Any, output: Any) -> None:
        layer._parameters.update(kept)
        kept.clear()

    return before, after


__all__ = ["parallelize", "parallelize_model", "parallelize_optimizer"]
