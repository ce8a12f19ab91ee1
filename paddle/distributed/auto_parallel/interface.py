"""Annotations of tensors, operators and parts of a model, as `Engine` and `fleet.auto` have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine import errors
from ...engine.flags import get_flags
from ...engine.modes import modes, set_mode
from ...engine.random import seed as set_seed
from ...engine.tensor import Tensor
from ...engine.value import Value
from ..fleet.recompute import recompute as run_recomputed
from .api import reshard
from .placement_type import Placement, to_placements
from .process_mesh import ProcessMesh, get_mesh
from .sharded_optimizer import _move_to


def in_auto_parallel_align_mode() -> bool:
    """Whether FLAGS_enable_auto_parallel_align_mode is set; nothing here depends on it.

    Example:
        >>> paddle.distributed.in_auto_parallel_align_mode()
        False
    """
    return bool(get_flags("FLAGS_enable_auto_parallel_align_mode")["FLAGS_enable_auto_parallel_align_mode"])


def _mesh(mesh: Any, function: str) -> ProcessMesh:
    mesh = get_mesh() if mesh is None else mesh
    if not isinstance(mesh, ProcessMesh):
        raise errors.ValueError_(
            f"{function}: process_mesh must be a ProcessMesh, or there must be one of `set_mesh` or of a with block, got "
            f"{errors.describe(mesh)}"
        )
    return mesh


def _placements(spec: Any, mesh: ProcessMesh, ndim: int, function: str) -> list[Placement]:
    spec = [None] * ndim if spec is None else spec
    if not isinstance(spec, (list, tuple)) or len(spec) != ndim:
        raise errors.ValueError_(f"{function}: shard_spec must be a list of {ndim} names of axes or None, got {spec!r}")
    unknown = [name for name in spec if name is not None and name not in mesh.dim_names]
    named = [name for name in spec if name is not None]
    if unknown or len(set(named)) < len(named):
        raise errors.ValueError_(
            f"{function}: shard_spec must have names of {mesh.dim_names}, each once, or None, got {list(spec)}"
        )
    return to_placements([-1 if n is None else mesh.dim_names.index(n) for n in spec], mesh)


@errors.clean
def shard_tensor(x: Any, process_mesh: ProcessMesh | None = None, shard_spec: list | None = None) -> Tensor:
    """Say how a tensor lies on a mesh, in place (`paddle.distributed.shard_tensor` gives a new one).

    Args:
        x: a tensor, also a variable of the program that is being built.
        process_mesh: the mesh, by default that of `set_mesh` or of a with block.
        shard_spec: for each axis of x the name of the axis of the mesh over which it is cut, or None; None: not cut.

    Returns:
        x.

    Raises:
        ValueError: no mesh; names that are no axes of it; lengths that do not divide.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([0], dim_names=["x"])
        >>> t = paddle.distributed.auto_parallel.shard_tensor(paddle.ones([2, 3]), mesh, ["x", None])
        >>> t.placements
        [Shard(dim=0)]
    """
    name = "shard_tensor"
    if not isinstance(x, Tensor):
        raise errors.TypeError_(f"{name}: x must be a Tensor, got {errors.describe(x)}")
    mesh = _mesh(process_mesh, name)
    wanted = _placements(shard_spec, mesh, x.ndim, name)
    for axis, spec in enumerate(shard_spec or ()):
        n = x.shape[axis]
        if spec is not None and n >= 0 and n % mesh.get_dim_size(spec):
            raise errors.ValueError_(f"{name}: axis {axis} of {n} does not divide over the axis {spec!r} of {mesh}")
    if isinstance(x._raw, Value):
        made = reshard(x, mesh, wanted)
        x._rebind(made)
        x.__dict__["_chosen_sharding"] = made.__dict__["_chosen_sharding"]
    elif x._node is None or x.is_leaf:
        _move_to(x, mesh, wanted)
    else:
        x._rebind(reshard(x, mesh, wanted))
    return x


@errors.clean
def shard_op(
    op: Callable,
    process_mesh: ProcessMesh | None = None,
    in_shard_specs: list | None = None,
    out_shard_specs: list | None = None,
    **kwargs: Any,
) -> Callable:
    """A function or layer whose tensors lie on a mesh in a given way.

    Args:
        op: a function or layer of tensors.
        process_mesh: the mesh, by default that of `set_mesh` or of a with block.
        in_shard_specs: for each tensor among the arguments a list as of `shard_tensor`, or None: not cut. None: as they
            come.
        out_shard_specs: the same for the results.
        kwargs: further arguments of each call.

    Returns:
        A function with the arguments of `op`.

    Raises:
        ValueError: no mesh; another number of lists than tensors; names that are no axes.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([0], dim_names=["x"])
        >>> add = paddle.distributed.shard_op(paddle.add, mesh, [["x", None], None], [["x", None]])
        >>> add(paddle.ones([4, 6]), paddle.ones([4, 6])).placements
        [Shard(dim=0)]
    """
    if not callable(op):
        raise errors.TypeError_(f"shard_op: op must be a function or a layer, got {errors.describe(op)}")
    mesh = _mesh(process_mesh, "shard_op")
    for what, specs in (("in_shard_specs", in_shard_specs), ("out_shard_specs", out_shard_specs)):
        if specs is not None and not all(s is None or isinstance(s, list) for s in specs):
            raise errors.ValueError_(f"shard_op: {what} must be a list of lists or None, got {specs!r}")

    def laid(tensors: list, specs: list | None, what: str) -> list:
        if specs is None:
            return tensors
        given = [t for t in tensors if isinstance(t, Tensor)]
        if len(given) != len(specs):
            raise errors.ValueError_(f"shard_op: {what} has {len(specs)} entries for {len(given)} tensors")
        rest = iter(specs)
        return [
            reshard(t, mesh, _placements(next(rest), mesh, t.ndim, "shard_op")) if isinstance(t, Tensor) else t
            for t in tensors
        ]

    def call(*args: Any, **more: Any) -> Any:
        found = op(*laid(list(args), in_shard_specs, "in_shard_specs"), **{**kwargs, **more})
        several = isinstance(found, (list, tuple))
        outs = laid(list(found) if several else [found], out_shard_specs, "out_shard_specs")
        return type(found)(outs) if several else outs[0]

    return call


@errors.clean
def recompute(op: Callable) -> Callable:
    """A function or layer whose intermediate results are computed again in the backward instead of kept.

    Example:
        >>> layer = paddle.distributed.auto_parallel.recompute(paddle.nn.Linear(2, 2))
        >>> layer(paddle.ones([1, 2])).sum().backward()
    """
    if not callable(op):
        raise errors.TypeError_(f"recompute: op must be a function or a layer, got {errors.describe(op)}")
    return lambda *args, **kwargs: run_recomputed(op, *args, **kwargs)


@errors.clean
def exclude_ops_in_recompute(run_function: Callable) -> Callable:
    """A function or layer inside of what is recomputed whose results are kept.

    Example:
        >>> keep = paddle.distributed.auto_parallel.exclude_ops_in_recompute(paddle.exp)
        >>> segment = paddle.distributed.auto_parallel.recompute(lambda x: paddle.sin(keep(x)))
        >>> x = paddle.zeros([1]); x.stop_gradient = False
        >>> segment(x).sum().backward(); round(x.grad.item(), 4)
        0.5403
    """
    if not callable(run_function):
        raise errors.TypeError_(
            f"exclude_ops_in_recompute: run_function must be a function, got {errors.describe(run_function)}"
        )

    def call(*args: Any, **kwargs: Any) -> Any:
        segment = modes.segment
        if segment is None:
            return run_function(*args, **kwargs)
        with set_mode(segment=None, saved_hooks=segment.hooks):
            return run_function(*args, **kwargs)

    return call


def parallel_manual_seed(seed: int, name: str = "") -> None:
    """Seed the random numbers of operators. They are those of one device, however tensors lie on the mesh: what is cut
    has different numbers in its parts, what is whole the same everywhere.

    Args:
        seed: the same in all processes.
        name: accepted: there is one sequence.

    Example:
        >>> paddle.distributed.auto_parallel.parallel_manual_seed(7)
    """
    set_seed(seed)


# ---- what Engine shows beside the loss ----
fetching: list[dict[str, Tensor]] = []  # what the models that are being recorded fetch, the innermost last
logged: set[str] = set()


@errors.clean
def fetch(tensor: Tensor, name: str | None = None, logging: bool = False) -> None:
    """Let `Engine.run`, `fit` and `evaluate` show a tensor of the model's forward or of the loss under a name. Outside of
    an Engine or DistModel nothing happens.

    Args:
        tensor: the tensor.
        name: by default that of the tensor.
        logging: print it in `fit`, too.

    Raises:
        TypeError: `tensor` is none.

    Example:
        >>> paddle.distributed.auto_parallel.fetch(paddle.ones([1]), "one")
    """
    if not isinstance(tensor, Tensor):
        raise errors.TypeError_(f"fetch: tensor must be a Tensor, got {errors.describe(tensor)}")
    if fetching:
        fetching[-1][name or tensor.name] = tensor
        if logging:
            logged.add(name or tensor.name)
