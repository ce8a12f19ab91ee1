"""What `parallelize` can do to a layer: cut its parameters over the axis "mp" of the mesh, lay out its inputs and outputs."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from jax.sharding import NamedSharding, PartitionSpec

from ...engine import errors
from ...engine.tensor import Tensor
from ...engine.value import Value
from ...nn import Embedding, Layer, Linear
from .api import _sharding, constrain, is_dist, reshard
from .placement_type import Placement, Replicate, Shard
from .process_mesh import ProcessMesh
from .sharded_optimizer import _move_to


class SplitPoint(enum.Enum):
    """Where a pipeline is cut: in front of a layer or behind it.

    Example:
        >>> paddle.distributed.SplitPoint.END.name
        'END'
    """

    BEGINNING = 0
    END = 1


class _Layout:
    """Whether sequences or batches are the first axis now, where a program cannot tell: set by hooks, in their order."""

    sequence_first = False


def lay(x: Tensor, mesh: ProcessMesh, axis: str, dim: int | None, was: int | None = None) -> Tensor:
    """The tensor with its axis `dim` cut over an axis of the mesh, None for cut nowhere; the other axes of the mesh stay.
    Inside a program, where it is not known how a tensor lies, `was` is the axis that is put together."""
    if isinstance(x._raw, Value) and _sharding(x) is None:
        spec: list[Any] = [PartitionSpec.UNCONSTRAINED] * x.ndim
        if dim is not None:
            spec[dim % x.ndim] = axis
        elif was is not None:
            spec[was % x.ndim] = None
        return constrain(x, NamedSharding(mesh.devices, PartitionSpec(*spec)))
    own = x.process_mesh if is_dist(x) else mesh
    placements: list[Placement] = x.placements if is_dist(x) else [Replicate()] * mesh.ndim
    placements[own._axis(axis)] = Replicate() if dim is None else Shard(dim % x.ndim)
    return reshard(x, own, placements)


def _first(value: Any, change: Callable[[Tensor], Tensor], what: str) -> Any:
    """The value with its first tensor changed."""
    if isinstance(value, (tuple, list)) and value:
        return type(value)([_first(value[0], change, what), *value[1:]])
    if not isinstance(value, Tensor):
        raise errors.TypeError_(f"{what}: a tensor is expected, got {errors.describe(value)}")
    return change(value)


def split_sequence(value: Any, mesh: ProcessMesh, need_transpose: bool) -> Any:
    """[batch, sequence, h], or [sequence, batch, h], cut along the sequence; with `need_transpose` the first becomes the
    second."""

    def change(x: Tensor) -> Tensor:
        if x.ndim != 3:
            raise errors.ValueError_(f"sequence parallel: a tensor of 3 axes is expected, got shape {list(x.shape)}")
        known = x.placements if is_dist(x) else None
        if need_transpose:
            x = x.transpose([1, 0, 2])
            _Layout.sequence_first = True
        dim = 0 if need_transpose or _Layout.sequence_first else 1
        if known is not None and "dp" in mesh.dim_names and not need_transpose:
            dim = 1 if known[mesh._axis("dp")] == Shard(0) else 0
        return lay(x, mesh, "mp", dim)

    return _first(value, change, "sequence parallel")


def join_sequence(value: Any, mesh: ProcessMesh, need_transpose: bool) -> Any:
    """The whole sequence; with `need_transpose` [sequence, batch, h] becomes [batch, sequence, h]."""

    def change(x: Tensor) -> Tensor:
        if x.ndim != 3:
            raise errors.ValueError_(f"sequence parallel: a tensor of 3 axes is expected, got shape {list(x.shape)}")
        x = lay(x, mesh, "mp", None, 0 if need_transpose or _Layout.sequence_first else 1)
        if need_transpose:
            _Layout.sequence_first = False
            x = x.transpose([1, 0, 2])
        return x

    return _first(value, change, "sequence parallel")


class PlanBase:
    """Base class of the plans. `apply(layer, mesh, parameters)` changes a layer; `parameters` are the names of those that
    it is for, empty for the usual ones."""

    def __init__(self) -> None:
        self.share_param_list: dict[str, int] = {}

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        raise errors.NotImplemented_(f"{type(self).__name__}.apply")

    def _cut(self, layer: Layer, mesh: ProcessMesh, name: str, dims: dict[int, int]) -> None:
        """Cut a parameter over "mp"; `dims` gives the axis for each number of axes. One that is distributed stays."""
        param = getattr(layer, name, None)
        if param is None or is_dist(param):
            return
        if param.ndim not in dims:
            raise errors.ValueError_(
                f"{type(self).__name__}: {name} of {type(layer).__name__} must have {' or '.join(map(str, dims))} axes, "
                f"got shape {list(param.shape)}"
            )
        placements: list[Placement] = [Replicate()] * mesh.ndim
        placements[mesh._axis("mp")] = Shard(dims[param.ndim])
        _move_to(param, mesh, placements)

    def _check(self, layer: Any, names: list[str]) -> None:
        if not isinstance(layer, Layer):
            raise errors.TypeError_(f"{type(self).__name__}: a Layer is expected, got {errors.describe(layer)}")
        if not names and not isinstance(layer, (Linear, Embedding)):
            errors.warn(
                f"{type(self).__name__} is for Linear and Embedding; {type(layer).__name__} has its weight cut too"
            )


class ColWiseParallel(PlanBase):
    """Cut weight and bias of a Linear or Embedding by columns over "mp".

    Args:
        gather_output: put the output together; otherwise it stays cut along its last axis.

    Example:
        >>> plan = {"fc1": paddle.distributed.ColWiseParallel()}
    """

    def __init__(self, gather_output: bool = False):
        super().__init__()
        self.gather_output = gather_output

    def gather_output_hook(self, process_mesh: ProcessMesh) -> Callable:
        """The hook that puts the output together."""

        def hook(layer: Layer, inputs: Any, output: Any) -> Any:
            return _first(output, lambda x: lay(x, process_mesh, "mp", None, -1), "ColWiseParallel")

        return hook

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        self._check(layer, shard_param_list)
        for name in dict.fromkeys(shard_param_list or ["weight", "bias"]):
            self._cut(layer, process_mesh, name, {2: 1, 1: 0})
        if self.gather_output:
            layer.register_forward_post_hook(self.gather_output_hook(process_mesh))


class RowWiseParallel(PlanBase):
    """Cut the weight of a Linear or Embedding by rows over "mp"; outputs are summed up.

    Args:
        is_input_parallel: the input is cut along its last axis already, as behind a ColWiseParallel layer.

    Example:
        >>> plan = {"fc2": paddle.distributed.RowWiseParallel()}
    """

    def __init__(self, is_input_parallel: bool = True):
        super().__init__()
        self.is_input_parallel = is_input_parallel

    def split_input_hook(self, process_mesh: ProcessMesh) -> Callable:
        """The hook that cuts the input."""
        return lambda layer, inputs: _first(inputs, lambda x: lay(x, process_mesh, "mp", -1), "RowWiseParallel")

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        self._check(layer, shard_param_list)
        names = [n for n in dict.fromkeys(shard_param_list) if n != "bias"] or ["weight"]
        for name in names:
            self._cut(layer, process_mesh, name, {2: 0})
        if not self.is_input_parallel:
            layer.register_forward_pre_hook(self.split_input_hook(process_mesh))


class _Prepare(PlanBase):
    def __init__(self, fn: Callable | None = None):
        super().__init__()
        if not callable(fn):
            raise errors.TypeError_(f"{type(self).__name__}: fn must be a function, got {errors.describe(fn)}")
        self.fn = fn


class PrepareLayerInput(_Prepare):
    """Change the inputs of a layer.

    Args:
        fn: called with `process_mesh=`, gives a hook (layer, inputs) -> inputs.
    """

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_pre_hook(self.fn(process_mesh=process_mesh))


class PrepareLayerOutput(_Prepare):
    """Change the output of a layer.

    Args:
        fn: called with `process_mesh=`, gives a hook (layer, inputs, output) -> output.
    """

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_post_hook(self.fn(process_mesh=process_mesh))


class SequenceParallelBegin(PlanBase):
    """Behind this layer sequences are cut over "mp".

    Args:
        need_transpose: the output [batch, sequence, h] becomes [sequence, batch, h]; otherwise its order stays.
    """

    def __init__(self, need_transpose: bool = True):
        super().__init__()
        self.need_transpose = need_transpose

    def sequence_parallel_begin(self, process_mesh: ProcessMesh) -> Callable:
        """The hook."""
        return lambda layer, inputs, output: split_sequence(output, process_mesh, self.need_transpose)

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_post_hook(self.sequence_parallel_begin(process_mesh))


class SequenceParallelEnd(PlanBase):
    """From this layer on sequences are whole again.

    Args:
        need_transpose: the input [sequence, batch, h] becomes [batch, sequence, h]; otherwise its order stays.
    """

    def __init__(self, need_transpose: bool = True):
        super().__init__()
        self.need_transpose = need_transpose

    def sequence_parallel_end(self, process_mesh: ProcessMesh) -> Callable:
        """The hook."""
        return lambda layer, inputs: join_sequence(inputs, process_mesh, self.need_transpose)

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_pre_hook(self.sequence_parallel_end(process_mesh))


class SequenceParallelEnable(PlanBase):
    """Sequences are cut over "mp" in this layer alone."""

    def sequence_parallel_begin(self, process_mesh: ProcessMesh) -> Callable:
        """The hook in front."""
        return lambda layer, inputs: split_sequence(inputs, process_mesh, True)

    def sequence_parallel_end(self, process_mesh: ProcessMesh) -> Callable:
        """The hook behind."""
        return lambda layer, inputs, output: join_sequence(output, process_mesh, True)

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_pre_hook(self.sequence_parallel_begin(process_mesh))
        layer.register_forward_post_hook(self.sequence_parallel_end(process_mesh))


class SequenceParallelDisable(PlanBase):
    """Sequences are whole in this layer alone.

    Args:
        need_transpose: it sees [batch, sequence, h], between [sequence, batch, h]; otherwise the order stays.
    """

    def __init__(self, need_transpose: bool = True):
        super().__init__()
        self.need_transpose = need_transpose

    def sequence_parallel_begin(self, process_mesh: ProcessMesh) -> Callable:
        """The hook behind."""
        return lambda layer, inputs, output: split_sequence(output, process_mesh, self.need_transpose)

    def sequence_parallel_end(self, process_mesh: ProcessMesh) -> Callable:
        """The hook in front."""
        return lambda layer, inputs: join_sequence(inputs, process_mesh, self.need_transpose)

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_pre_hook(self.sequence_parallel_end(process_mesh))
        layer.register_forward_post_hook(self.sequence_parallel_begin(process_mesh))


class ConvParallel(PlanBase):
    """Cut the input of a Conv2D along its width over "mp"; XLA exchanges the borders. A width that does not divide stays."""

    def conv_parallel_start(self, process_mesh: ProcessMesh, data_format: str) -> Callable:
        """The hook in front."""
        if data_format not in ("NCHW", "NHWC"):
            raise errors.ValueError_(f"ConvParallel: data_format must be NCHW or NHWC, got {data_format!r}")
        dim = 3 if data_format == "NCHW" else 2
        parts = process_mesh.get_dim_size("mp")

        def change(x: Tensor) -> Tensor:
            return x if x.shape[dim] % parts else lay(x, process_mesh, "mp", dim)

        return lambda layer, inputs: _first(inputs, change, "ConvParallel")

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_pre_hook(self.conv_parallel_start(process_mesh, layer._data_format))  # type: ignore[attr-defined]


def _check_backend(who: str, backend: str) -> str:
    if backend not in ("p2p", "all2all"):
        raise errors.ValueError_(f"{who}: backend must be 'p2p' or 'all2all', got {backend!r}")
    return backend


class PrepareContextParallel(PlanBase):
    """Cut the inputs [batch, sequence] of a model along the sequence over "sep".

    Args:
        backend: "p2p" or "all2all", as of ContextParallel. The order of the sequence stays in both.
    """

    def __init__(self, backend: str = "p2p"):
        super().__init__()
        self.backend = _check_backend("PrepareContextParallel", backend)

    def all2all_split_input_pre_hook(self, process_mesh: ProcessMesh) -> Callable:
        """The hook in front."""
        parts = process_mesh.get_dim_size("sep")

        def hook(layer: Layer, inputs: tuple) -> tuple:
            found = []
            for x in inputs:
                if not isinstance(x, Tensor) or x.ndim != 2 or x.shape[1] % parts:
                    what = f"shape {list(x.shape)}" if isinstance(x, Tensor) else errors.describe(x)
                    raise errors.ValueError_(
                        f"PrepareContextParallel: inputs must be [batch, sequence], the length divisible by {parts}, got {what}"
                    )
                found.append(lay(x, process_mesh, "sep", 1))
            return tuple(found)

        return hook

    p2p_split_input_pre_hook = all2all_split_input_pre_hook

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        layer.register_forward_pre_hook(self.all2all_split_input_pre_hook(process_mesh))


class ContextParallel(PlanBase):
    """An attention on queries, keys and values [batch, sequence, heads, ...] that are cut along the sequence over "sep".

    Args:
        backend: "all2all": inside, the heads are cut in place of the sequence (DeepSpeed-Ulysses, Jacobs et al. 2023).
            "p2p": the queries stay cut; keys and values go round as XLA chooses.
    """

    def __init__(self, backend: str = "p2p"):
        super().__init__()
        self.backend = _check_backend("ContextParallel", backend)

    def _all(self, process_mesh: ProcessMesh, dim: int) -> Callable:
        def hook(layer: Layer, inputs: tuple) -> tuple:
            return tuple(lay(x, process_mesh, "sep", dim) if isinstance(x, Tensor) else x for x in inputs)

        return hook

    def all2all_reshard_pre_hook(self, process_mesh: ProcessMesh) -> Callable:
        """The hook in front: heads in place of sequences."""
        return self._all(process_mesh, 2)

    def all2all_reshard_post_hook(self, process_mesh: ProcessMesh) -> Callable:
        """The hook behind: sequences in place of heads."""
        change = lambda x: lay(x, process_mesh, "sep", 1)  # noqa: E731
        return lambda layer, inputs, output: _first(output, change, "ContextParallel")

    def p2p_reshard_pre_hook(self, process_mesh: ProcessMesh) -> Callable:
        """The hook in front: all are cut along the sequence."""
        return self._all(process_mesh, 1)

    def apply(self, layer: Layer, process_mesh: ProcessMesh, shard_param_list: list[str]) -> None:
        """Change the layer."""
        if self.backend == "all2all":
            layer.register_forward_pre_hook(self.all2all_reshard_pre_hook(process_mesh))
        else:
            layer.register_forward_pre_hook(self.p2p_reshard_pre_hook(process_mesh))
        layer.register_forward_post_hook(self.all2all_reshard_post_hook(process_mesh))
