"""A net as a list of layers, of which each process builds those of its pipeline stage."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .....engine import errors, random
from .....engine.modes import set_mode
from .....framework.io import load, save
from .....nn import Layer, LayerDict
from .....ops.creation import zeros_like
from ....communication import ReduceOp, all_reduce, broadcast
from ....communication.group import Group, get_rank, get_world_size, new_group
from ...base.topology import CommunicateTopology
from ...recompute import recompute_hybrid
from ..pp_utils.forward_backward_overlap_utils import ScheduleChunk
from ..pp_utils.schedules import Ring, Vee
from .random import get_rng_state_tracker
from .spec_utils import LayerSpec, build_spec_layer

__all__: list[str] = []

BASE_SEED = 1234  # of the first values of layer 0; the next ones count on, so that the stages change no value


class LayerDesc:
    """A layer that is not built yet: its class (or a `LayerSpec`) and the arguments.

    Raises:
        TypeError: no class of layers.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import LayerDesc
        >>> LayerDesc(paddle.nn.Linear, 2, 3).build_layer().weight.shape
        [2, 3]
    """

    def __init__(self, layer_func_or_spec: Any, *inputs: Any, **kwargs: Any):
        self.inputs, self.kwargs = inputs, kwargs
        self.using_layer_spec = isinstance(layer_func_or_spec, LayerSpec)
        if self.using_layer_spec:
            self.layer_spec = layer_func_or_spec
        elif isinstance(layer_func_or_spec, type) and issubclass(layer_func_or_spec, Layer):
            self.layer_func = layer_func_or_spec
        else:
            raise errors.TypeError_(
                f"{type(self).__name__}: the layer must be a class derived from paddle.nn.Layer, "
                f"got {errors.describe(layer_func_or_spec)}"
            )

    def build_layer(self, **extra_kwargs: Any) -> Any:
        """The layer; `extra_kwargs` come in addition to the arguments."""
        if self.using_layer_spec:
            return build_spec_layer(self.layer_spec, **{**self.kwargs, **extra_kwargs})
        return self.layer_func(*self.inputs, **{**self.kwargs, **extra_kwargs})

    def _class_name(self) -> str:
        if not self.using_layer_spec:
            return self.layer_func.__name__
        layer = self.layer_spec.layer
        return layer[1] if isinstance(layer, tuple) else layer.__name__

    def __repr__(self) -> str:
        arguments = [*map(repr, self.inputs), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self._class_name()}({', '.join(arguments)})"


class SharedLayerDesc(LayerDesc):
    """A layer that comes in several places, with the same weights: all that have the same `key` are one layer in each
    stage, and stages that have it add up their gradients.

    Args:
        key: the name of what is shared.
        layer_func: the class.
        forward_func: called as forward_func(layer, x) instead of the layer itself.
        shared_weight_attr: the name of the shared parameter, or a list of names.
        inputs, kwargs: the arguments of the class.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import SharedLayerDesc
        >>> logits = lambda table, x: paddle.matmul(x, table.weight, transpose_y=True)
        >>> SharedLayerDesc("words", paddle.nn.Embedding, logits, "weight", 10, 4)
        Embedding(10, 4)
    """

    def __init__(
        self,
        key: str,
        layer_func: Any,
        forward_func: Callable | None = None,
        shared_weight_attr: Any = "weight",
        *inputs: Any,
        **kwargs: Any,
    ):
        super().__init__(layer_func, *inputs, **kwargs)
        names = [shared_weight_attr] if isinstance(shared_weight_attr, str) else shared_weight_attr
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise errors.TypeError_(
                f"{type(self).__name__}: shared_weight_attr must be a str or a list of them, got {shared_weight_attr!r}"
            )
        self.layer_name = key
        self.forward_func = forward_func
        self.shared_weight_attr = list(names)


class LocalSharedLayerDesc(SharedLayerDesc):
    """The same for places that one stage has, as the first and the last layer with `use_dualpipev`: the later layers get the
    parameters of the first one as arguments of that name."""


class SegmentLayers:
    """Where a list of layers is cut into parts.

    Args:
        layers_desc: the layers.
        num_parts: the number of stages.
        method: "uniform" (equally many layers, the last parts one more), "layer:NAME" (equally many layers whose class
            has a name in which NAME, a regular expression, is found; a part ends behind them), or a list of the numbers
            of the first layers.
        num_virtual_pipeline_stage: parts for each stage.

    Raises:
        ValueError: a method that does not exist or does not fit.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel.parallel_layers.pp_layers import SegmentLayers
        >>> SegmentLayers([paddle.nn.ReLU()] * 5, 3).do_segment()
        [0, 1, 3, 5]
    """

    def __init__(
        self, layers_desc: list, num_parts: int, method: Any = "uniform", num_virtual_pipeline_stage: int | None = None
    ):
        self._layers_desc, self.method = layers_desc, method
        self.num_items, self.num_parts = len(layers_desc), num_parts
        self.num_virtual_pipeline_stage = num_virtual_pipeline_stage
        self.total_parts = num_parts * (num_virtual_pipeline_stage or 1)
        if self.num_items < self.total_parts:
            raise errors.ValueError_(
                f"PipelineLayer: {self.num_items} layers cannot be divided into {self.total_parts} parts "
                f"({num_parts} stages x {num_virtual_pipeline_stage or 1})"
            )

    def do_segment(self) -> list[int]:
        """The number of the first layer of each part, and the number of layers."""
        method, parts = self.method, self.total_parts
        if isinstance(method, (list, tuple)):
            return self._given(list(method))
        if method == "uniform":
            return self.uniform(self.num_items, parts)
        if isinstance(method, str) and method.startswith("layer:"):
            marked = self._marked(method.split(":", 1)[1])
            if len(marked) % parts:
                raise errors.ValueError_(
                    f"PipelineLayer: seg_method={method!r} finds {len(marked)} layers, which {parts} parts cannot share "
                    "equally"
                )
            size = len(marked) // parts
            return [0, *(marked[size * (i + 1) - 1] + 1 for i in range(parts - 1)), self.num_items]
        raise errors.ValueError_(
            f"PipelineLayer: seg_method must be 'uniform', 'layer:NAME' or a list of ints, got {method!r}"
        )

    def _given(self, starts: list) -> list[int]:
        if len(starts) == self.total_parts:
            starts.append(self.num_items)
        whole = all(isinstance(s, int) and not isinstance(s, bool) for s in starts)
        if (
            not whole
            or len(starts) != self.total_parts + 1
            or starts != sorted(starts)
            or starts[0] != 0
            or starts[-1] != self.num_items
        ):
            raise errors.ValueError_(
                f"PipelineLayer: seg_method must have the first layers of {self.total_parts} parts, beginning with 0, "
                f"rising, and at the end {self.num_items} (or nothing), got {self.method}"
            )
        return starts

    def _marked(self, name: str) -> list[int]:
        pattern = re.compile(name, re.IGNORECASE)
        found = [i for i, layer in enumerate(self._layers_desc) if pattern.search(_name_of(layer))]
        if not found:
            raise errors.ValueError_(f"PipelineLayer: seg_method='layer:{name}': no layer has such a name")
        return found

    def uniform(self, num_items: int, num_parts: int) -> list[int]:
        """Parts of equally many, the last ones of one more."""
        size, more = divmod(num_items, num_parts)
        return [i * size + max(0, i - (num_parts - more)) for i in range(num_parts + 1)]


def _name_of(layer: Any) -> str:
    if isinstance(layer, LayerDesc):
        return layer._class_name()
    return type(layer).__name__ if isinstance(layer, Layer) else getattr(layer, "__name__", "")


class PipelineLayerChunk(Layer):
    """The layers of one part, where a stage has several."""

    def __init__(self) -> None:
        super().__init__()
        self.run_function: list[Callable] = []

    def append(self, sublayer: Callable) -> None:
        """Add a layer or a function."""
        if isinstance(sublayer, Layer):
            self.add_sublayer(str(len(self.run_function)), sublayer)
        self.run_function.append(sublayer)

    def extend(self, layer_list: Iterable[Callable]) -> None:
        """Add several."""
        for layer in layer_list:
            self.append(layer)

    def get_run_function(self) -> list[Callable]:
        """The layers and functions."""
        return self.run_function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise PermissionError("PipelineLayerChunk: call the PipelineLayer, with chunk_id")

    def __iter__(self) -> Iterator[Callable]:
        return iter(self.run_function)


class PipelineLayer(Layer):
    """A net as a list of layers, called one after the other; this process has only those of its stage.

    The first values of each layer depend on its number alone, so that they are the same however many stages there are.

    Args:
        layers: `LayerDesc`s, `SharedLayerDesc`s, Layers or functions. Each gets what the one before returned: a tensor,
            or a tuple, list or dict of tensors.
        num_stages: the number of stages. With or without it, `topology` says which one is this process's; without a
            topology that of `fleet.init`.
        topology: a CommunicateTopology with an axis "pipe".
        loss_fn: loss_fn(output, label), or a list of such functions.
        seg_method: how the list is cut, see `SegmentLayers`.
        recompute_interval: so many layers at a time are computed again in the backward; 0: none.
        recompute_ctx: what `recompute_hybrid` is to know.
        num_virtual_pipeline_stages: parts for each stage; part number i belongs to stage i % num_stages.
        use_cudagraph: accepted; the layers run as compiled programs anyway.
        use_dualpipev: two parts a stage in the order of `DualPipeVParallel`: stage s of n has the parts s and 2 n - 1 - s.

    Raises:
        ValueError: neither num_stages nor topology, or numbers that do not fit to the processes or the layers.
        TypeError: a layer that is none.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
        >>> layers = [LayerDesc(paddle.nn.Linear, 4, 8), paddle.nn.functional.relu, LayerDesc(paddle.nn.Linear, 8, 2)]
        >>> net = PipelineLayer(layers, num_stages=1, loss_fn=paddle.nn.CrossEntropyLoss())
        >>> net(paddle.ones([3, 4])).shape, net.get_stage_from_index(2), list(net.state_dict())
        ([3, 2], 0, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    def __init__(
        self,
        layers: Iterable,
        num_stages: int | None = None,
        topology: CommunicateTopology | None = None,
        loss_fn: Any = None,
        seg_method: Any = "uniform",
        recompute_interval: int = 0,
        recompute_ctx: dict | None = None,
        num_virtual_pipeline_stages: int | None = None,
        use_cudagraph: bool = False,
        use_dualpipev: bool = False,
    ):
        super().__init__()
        if use_dualpipev and (num_virtual_pipeline_stages or 1) > 1:
            raise errors.ValueError_("PipelineLayer: use_dualpipev=True goes without num_virtual_pipeline_stages")
        for name, number, least in (
            ("num_stages", num_stages, 1),
            ("num_virtual_pipeline_stages", num_virtual_pipeline_stages, 1),
            ("recompute_interval", recompute_interval, 0),
        ):
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < least):
                raise errors.ValueError_(f"PipelineLayer: {name} must be an int of at least {least}, got {number!r}")
        self._topo = _topology(num_stages, topology)
        self.global_rank = get_rank()
        self._num_stages = self._topo.get_dim("pipe")
        self._stage_id = self._topo.get_coord(self.global_rank).pipe
        self._use_dualpipev = use_dualpipev
        self._num_virtual_pipeline_stages = 2 if use_dualpipev else num_virtual_pipeline_stages or 1
        ring = Ring(self._num_stages, self._num_virtual_pipeline_stages)
        self._places = Vee(self._num_stages) if use_dualpipev else ring
        self._total_stages_with_virtual_stages = self._places.parts
        self._loss_fn = list(loss_fn) if isinstance(loss_fn, (list, tuple)) else [loss_fn]
        self._recompute_interval, self.recompute_ctx = recompute_interval, recompute_ctx
        self.use_cudagraph = use_cudagraph
        self._base_seed = BASE_SEED

        self._layers_desc = list(layers)
        self._num_layers = len(self._layers_desc)
        for place, layer in enumerate(self._layers_desc):
            if not callable(layer) and not isinstance(layer, LayerDesc):
                raise errors.TypeError_(
                    f"PipelineLayer: layers[{place}] must be a LayerDesc, a Layer or a function, "
                    f"got {errors.describe(layer)}"
                )
        chunks = self._num_virtual_pipeline_stages
        self.segment_parts = SegmentLayers(self._layers_desc, self._num_stages, seg_method, chunks).do_segment()
        parts = [self._places.part(self._stage_id, chunk) for chunk in range(chunks)]
        self._start_poss = [self.segment_parts[p] for p in parts]
        self._end_poss = [self.segment_parts[p + 1] for p in parts]
        self._start_pos, self._end_pos = self._start_poss[0], self._end_poss[0]

        self.shared_layers = LayerDict()
        self.local_shared_layers: dict[str, Layer] = {}
        self._model_chunks: list[PipelineLayerChunk] = []
        self.run_function: list[Callable] = []
        self._build()
        self.shared_comm = self._construct_shared_comm()
        self._synchronize_shared_weights()

    # ---- which layers ----
    def get_stage_from_index(self, layer_idx: int) -> int:
        """The stage that has the layer number `layer_idx`. Raises ValueError where there is none."""
        if not 0 <= layer_idx < self._num_layers:
            raise errors.ValueError_(
                f"get_stage_from_index: layer_idx must be from 0 to {self._num_layers - 1}, got {layer_idx}"
            )
        part = next(i for i, end in enumerate(self.segment_parts[1:]) if layer_idx < end)
        return self._places.owner(part)[0]

    def get_num_virtual_stages(self) -> int:
        """The number of parts of each stage."""
        return self._num_virtual_pipeline_stages

    def get_model_chunks(self) -> list[PipelineLayerChunk] | None:
        """The parts of this stage, None where there is only one."""
        return self._model_chunks if self._num_virtual_pipeline_stages > 1 else None

    # ---- building ----
    def _build(self) -> None:
        state, tracked = random.get_rng_state(), get_rng_state_tracker().get_states_tracker()
        try:
            for start, end in zip(self._start_poss, self._end_poss):
                if self._num_virtual_pipeline_stages == 1:
                    for place in range(start, end):
                        self.run_function.append(self._built(place, self))
                else:
                    chunk = PipelineLayerChunk()
                    for place in range(start, end):
                        chunk.append(self._built(place, chunk))
                    self._model_chunks.append(chunk)
                    self.add_sublayer(str(start), chunk)
        finally:
            random.set_rng_state(state)
            get_rng_state_tracker().set_states_tracker(tracked)
        if self._model_chunks:
            self.run_function = self._model_chunks[0].run_function

    def _built(self, place: int, owner: Layer) -> Callable:
        """What is called for the layer number `place`; layers become sublayers of `owner`."""
        random.generator().manual_seed(self._base_seed + place)
        layer = self._layers_desc[place]
        if isinstance(layer, SharedLayerDesc):
            if isinstance(layer, LocalSharedLayerDesc):
                found = self._built_with_weights(place, layer)
            else:
                if layer.layer_name not in self.shared_layers:
                    self.shared_layers[layer.layer_name] = layer.build_layer()
                found = self.shared_layers[layer.layer_name]
            if layer.forward_func is None:
                return found
            if owner is not self:
                owner.add_sublayer(layer.layer_name, found)
            return functools.partial(layer.forward_func, found)
        if isinstance(layer, LayerDesc):
            layer = layer.build_layer()
        if owner is self and isinstance(layer, Layer):
            self.add_sublayer(str(place), layer)
        return layer

    def _built_with_weights(self, place: int, layer: LocalSharedLayerDesc) -> Layer:
        """A layer with the parameters of the first one of its key."""
        first = next(i for i, d in enumerate(self._layers_desc) if getattr(d, "layer_name", None) == layer.layer_name)
        stages = [self.get_stage_from_index(i) for i in (first, place)]
        if stages[0] != stages[1]:
            raise errors.ValueError_(
                f"LocalSharedLayerDesc: {layer.layer_name!r} is in the stages {stages[0]} and {stages[1]} (layers {first} "
                f"and {place}); only one can have it"
            )
        found = self.local_shared_layers.get(layer.layer_name)
        if found is None:
            found = self.local_shared_layers[layer.layer_name] = layer.build_layer()
            return found
        return layer.build_layer(**{name: getattr(found, name) for name in layer.shared_weight_attr})

    # ---- shared weights ----
    def _construct_shared_comm(self) -> dict[str, dict]:
        """The groups of the stages that share a weight. Every process makes all of them, in the same order."""
        places: dict[tuple[str, str], set[int]] = {}  # the stages of each key and attribute
        allowed: dict[str, list[str]] = {}
        for i, layer in enumerate(self._layers_desc):
            if not isinstance(layer, SharedLayerDesc) or isinstance(layer, LocalSharedLayerDesc):
                continue
            first = allowed.setdefault(layer.layer_name, layer.shared_weight_attr)
            more = [a for a in layer.shared_weight_attr if a not in first]
            if more:
                raise errors.ValueError_(
                    f"SharedLayerDesc: {layer.layer_name!r} shares {more} in place {i}, but in its first place only {first}"
                )
            for attribute in layer.shared_weight_attr:
                places.setdefault((layer.layer_name, attribute), set()).add(self.get_stage_from_index(i))
        found: dict[str, dict] = {}
        groups: dict[tuple, Group] = {}
        for (key, attribute), stages in places.items():
            if len(stages) == 1:
                continue
            chosen = tuple(sorted(stages))
            if chosen not in groups:
                for line in self._topo.get_comm_list("pipe"):
                    group = new_group([line[s] for s in chosen])
                    if group.rank >= 0 or chosen not in groups:
                        groups[chosen] = group
            group = groups[chosen]
            if group.rank < 0:
                continue
            name = f"LAYER_NAME:{key},STAGES:{'-'.join(map(str, chosen))}"
            entry = found.setdefault(
                name, {"ranks": group.ranks, "group": group, "weight_attr": [], "layer": self.shared_layers[key]}
            )
            entry["weight_attr"].append(attribute)
            weight = getattr(entry["layer"], attribute)
            weight.is_firstly_shared = group.rank == 0  # counted once in the norm of all
            weight.color = {"shared_weight_name": f"{key}.{attribute}", "broadcast_group": group}
        return found

    def _synchronize_shared_weights(self) -> None:
        """The values of the first stage that has a weight, for all that have it."""
        with set_mode(grad=False):
            for comm in self.shared_comm.values():
                for attribute in comm["weight_attr"]:
                    broadcast(getattr(comm["layer"], attribute), comm["ranks"][0], comm["group"])

    def allreduce_shared_weight_gradients(self) -> None:
        """Add up the gradients of what several stages share, after the backward of the last micro-batch."""
        for comm in self.shared_comm.values():
            for attribute in comm["weight_attr"]:
                param = getattr(comm["layer"], attribute)
                if param.stop_gradient:
                    continue
                with set_mode(grad=False):
                    if param.grad is None:
                        param.grad = zeros_like(param)
                    all_reduce(param.grad, ReduceOp.SUM, comm["group"])

    # ---- running ----
    def forward_function(self, start: int, end: int) -> Callable:
        """A function that calls some of the layers in `run_function`."""
        functions = self.run_function[start:end]
        return lambda *x: _call(functions, x[0] if len(x) == 1 else x)

    def update_run_function(self, chunk_id: int | None) -> None:
        """Make the part number `chunk_id` the one in `run_function`. Raises ValueError where there is none."""
        if chunk_id is None:
            return
        if isinstance(chunk_id, bool) or not isinstance(chunk_id, int) or not 0 <= chunk_id < len(self._model_chunks):
            raise errors.ValueError_(
                f"PipelineLayer: chunk_id must be from 0 to {len(self._model_chunks) - 1} (parts of this stage, with "
                f"num_virtual_pipeline_stages > 1), got {chunk_id!r}"
            )
        self.run_function = self._model_chunks[chunk_id].run_function

    def build_schedule_nodes(self, start: int, end: int) -> ScheduleChunk:
        """What `build_schedule_node()` of some of the layers in `run_function` gives. TypeError where one has none."""
        functions = self.run_function[start:end]
        without = [f for f in functions if not hasattr(f, "build_schedule_node")]
        if without:
            raise errors.TypeError_(
                f"build_schedule_nodes: {errors.describe(without[0])} has no method build_schedule_node"
            )
        return ScheduleChunk([f.build_schedule_node() for f in functions])  # type: ignore[attr-defined]

    def get_schedule_chunk(self, chunk_id: int | None) -> ScheduleChunk:
        """The same for all layers of a part."""
        self.update_run_function(chunk_id)
        if self._recompute_interval:
            raise errors.ValueError_("get_schedule_chunk: the layer has a recompute_interval")
        return self.build_schedule_nodes(0, len(self.run_function))

    def forward(self, input: Any, chunk_id: int | None = None) -> Any:
        """Call the layers of this stage, or of one of its parts."""
        self.update_run_function(chunk_id)
        functions = self.run_function
        if chunk_id is None and self._model_chunks:
            functions = [f for chunk in self._model_chunks for f in chunk.run_function]
        step = self._recompute_interval or max(1, len(functions))
        for start in range(0, len(functions), step):
            part = functools.partial(_call, functions[start : start + step])
            if self._recompute_interval and any(_has_parameters(f) for f in functions[start : start + step]):
                input = recompute_hybrid(self.recompute_ctx or {}, part, input)
            else:
                input = part(input)
        return input

    # ---- files ----
    def _files(self) -> Iterator[tuple[str, Layer]]:
        """The layers of this stage with the beginnings of the names of their files."""
        chunks = self._model_chunks or [self.run_function]
        for number, (start, functions) in enumerate(zip(self._start_poss, chunks)):
            virtual = f"-virtual_pp_stage_{number:0>2d}" if self._model_chunks else ""
            for i, layer in enumerate(functions):
                layer = layer.args[0] if isinstance(layer, functools.partial) else layer
                if isinstance(layer, Layer):
                    yield f"layer_{start + i:0>2d}{virtual}", layer

    def _model_rank(self) -> int:
        return getattr(self._topo.get_coord(self.global_rank), "model", 0)

    def save_state_dict(self, path: str) -> None:
        """Save each layer of this stage to its own file in the folder `path`; the first of the processes of data
        parallelism does it. The numbers in the names are those of the whole net.

        Example:
            >>> net.save_state_dict("checkpoint")  # doctest: +SKIP
        """
        if getattr(self._topo.get_coord(self.global_rank), "data", 0):
            return
        os.makedirs(path, exist_ok=True)
        for name, layer in self._files():
            save(
                layer.state_dict(), os.path.join(path, f"{name}-tensor_{self._model_rank():0>2d}-model_states.pdparams")
            )

    def set_state_dir(self, path: str) -> None:
        """Load the layers of this stage from such a folder, which may have been written with another number of stages.

        Raises FileNotFoundError for a folder or a file that is not there.
        """
        if not os.path.isdir(path):
            raise errors.NotFound(f"set_state_dir: there is no folder {path!r}")
        for name, layer in self._files():
            number = name.split("-")[0]  # whichever part of a stage it was then
            files = sorted(f for f in os.listdir(path) if re.match(rf"{number}-(virtual_pp_stage_\d+-)?tensor_", f))
            if not files:
                raise errors.NotFound(f"set_state_dir: {path!r} has no file of {number.replace('_', ' ')}")
            size = self._topo.get_dim("model") if "model" in self._topo.get_hybrid_group_names() else 1
            layer.set_state_dict(load(os.path.join(path, files[self._model_rank() * len(files) // size])))
        self._synchronize_shared_weights()


def _call(functions: list[Callable], x: Any) -> Any:
    for function in functions:
        x = function(x)
    return x


def _has_parameters(function: Callable) -> bool:
    layer = function.args[0] if isinstance(function, functools.partial) else function
    return isinstance(layer, Layer) and bool(layer.parameters())


def _topology(num_stages: int | None, given: CommunicateTopology | None) -> CommunicateTopology:
    """The grid of the processes: the one given, that of fleet if it has so many stages, or data x pipe."""
    if given is not None:
        if num_stages is not None and given.get_dim("pipe") != num_stages:
            raise errors.ValueError_(
                f"PipelineLayer: num_stages is {num_stages}, but the topology has {given.get_dim('pipe')} stages"
            )
        return given
    if num_stages is None:
        raise errors.ValueError_("PipelineLayer: give num_stages or topology")
    from .... import fleet

    try:
        of_fleet = fleet.get_hybrid_communicate_group().topology()
    except RuntimeError:
        of_fleet = None
    if of_fleet is not None and of_fleet.get_dim("pipe") == num_stages:
        return of_fleet
    size = get_world_size()
    if size % num_stages:
        raise errors.ValueError_(
            f"PipelineLayer: num_stages is {num_stages}, which does not divide the number of processes, {size}"
        )
    return CommunicateTopology(["data", "pipe", "model"], [size // num_stages, num_stages, 1])
