"""Blocks of a model that repeat themselves: as one operator each, as a loop, or as a pipeline over an axis of the mesh.

A pipeline is one computation: the blocks of a stage lie on its place of the axis, the micro-batches move on by one place in
each turn of a loop (a collective permutation), and XLA's gradient of it is the pipeline backwards (Xu et al., "GSPMD:
General and Scalable Parallelization for ML Computation Graphs", 2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...engine import errors
from ...engine.dispatch import dispatch
from ...engine.executable import Kernel
from ...engine.modes import modes, set_mode
from ...engine.tensor import Tensor, _make
from ...engine.value import PROBES, Value
from ...ir.program import Graph, read_from_outside
from ...ir.record import Recorder
from ...ir.run import Environment, execute
from ...nn.layer import Layer
from .api import laid_out


def signature_of(layer: Layer) -> tuple:
    """What layers have in common that can take turns in a loop."""
    parameters = tuple((n, tuple(p.shape), p.dtype.name) for n, p in layer.named_parameters())
    kinds = tuple((n, type(x).__name__) for n, x in layer.named_sublayers())
    return type(layer).__name__, parameters, kinds


def find_blocks(model: Layer) -> tuple[str, list[Layer]]:
    """(name of the container, blocks): the longest run of equal layers, by their parameters; ("", []) where none repeat."""
    best: tuple[int, str, list[Layer]] = (0, "", [])
    for name, container in model.named_sublayers(include_self=True):
        run: list[Layer] = []
        before: Any = None
        for child in [*container._sub_layers.values(), None]:
            now = (
                signature_of(child)
                if isinstance(child, Layer) and next(iter(child.parameters()), None) is not None
                else None
            )
            if now is None or now != before:
                if len(run) > 1:
                    weight = sum(math.prod(p.shape) for b in run for p in b.parameters())
                    if weight > best[0]:
                        best = weight, name, run
                run = []
            if now is not None:
                run.append(child)
            before = now
    return best[1], best[2]


class Template:
    """The `forward` of a block as a function of arrays.

    Args:
        block: the layer, whose operators are recorded.
        args: the arguments of a call; those that are tensors become inputs.
        open_batch: the first axis of the first argument, and of others of that length, is a batch of any length.

    Attributes:
        parameters: the parameters of the block, in the order of the function.
    """

    def __init__(self, block: Layer, forward: Callable, args: tuple, open_batch: bool = False):
        self.parameters = [p for _, p in block.named_parameters()]
        graph, stand_ins = Graph(), []
        for number, arg in enumerate(args):
            if not isinstance(arg, Tensor):
                stand_ins.append(arg)
                continue
            raw, first = arg._raw, args[0]._raw
            trials = raw.trials if isinstance(raw, Value) else (tuple(raw.shape),) * len(PROBES)
            if open_batch and raw.ndim and raw.shape[0] == first.shape[0]:
                trials = tuple((n, *t[1:]) for n, t in zip(PROBES, trials))
            value = graph.inputs[f"x{number}"] = Value(f"x{number}", trials, raw.dtype)
            stand_ins.append(_make(value))
            if not arg._stop:
                stand_ins[-1].stop_gradient = False
        recorder = Recorder(graph)
        recorder.converted = getattr(modes.program, "converted", recorder.converted)  # type: ignore[method-assign]
        with recorder, set_mode(grad=False):
            out = forward(*stand_ins)
            self.single = isinstance(out, Tensor)
            outs = [out] if self.single else list(out)
            if any(not isinstance(x, Tensor) for x in outs):
                raise errors.TypeError_(f"{type(block).__name__}: a repeated block must return tensors")
            graph.block.outputs = [recorder.value_of(x) for x in outs]
        recorder.restore()
        if any(s.update is not None for s in graph.states.values()):
            raise errors.NotImplemented_(f"{type(block).__name__}: a repeated block that changes its buffers")
        self.graph, self.ticks = graph, graph.ticks
        self.inputs = list(graph.inputs.values())
        held = {p._storage.value: p for p in self.parameters if isinstance(p._storage.value, Value)}
        own = {id(p): i for i, p in enumerate(self.parameters)}
        self.places: list[tuple[Value, int]] = []  # values of parameters, and which
        self.captured: list[tuple[Value, Tensor]] = []  # what is neither an argument nor a parameter
        for state in graph.states.values():
            if id(state.tensor) in own:
                self.places.append((state.value, own[id(state.tensor)]))
            else:
                self.captured.append((state.value, state.tensor))  # type: ignore[arg-type]
        given = {*self.inputs, *(s.value for s in graph.states.values())}
        for value in read_from_outside(graph.block.operators, given, graph.block.outputs):
            if value not in held:
                raise errors.NotImplemented_(
                    f"{type(block).__name__}: a repeated block that reads {value!r} from outside"
                )
            self.places.append((value, own[id(held[value])]))

    def run(self, words: Any, inputs: list, parameters: list, captured: list) -> tuple:
        arrays = dict(zip(self.inputs, inputs))
        arrays.update((value, parameters[i]) for value, i in self.places)
        arrays.update((value, a) for (value, _), a in zip(self.captured, captured))
        environment = Environment(arrays, words)
        execute(self.graph.block.operators, environment)
        return tuple(environment.arrays[v] for v in self.graph.block.outputs)


class Schedule:
    """How the blocks run.

    Attributes:
        checkpoint: compute blocks again in the backward instead of keeping what they saved.
        stages, micro: stages of the pipeline and micro-batches; 1 stage is a loop.
        mesh, axis: XLA's mesh and the name of the axis of the stages.
        specs: for each parameter its PartitionSpec within a stage.
        use: the same where the parameters of a block are used, if they are put together there.
        batch: the axes of the mesh over which batches are cut.
    """

    def __init__(
        self,
        checkpoint: bool = False,
        stages: int = 1,
        micro: int = 1,
        mesh: Mesh | None = None,
        axis: str = "pp",
        specs: list | None = None,
        batch: tuple[str, ...] = (),
        use: list | None = None,
    ):
        self.checkpoint, self.stages, self.micro = checkpoint, stages, micro
        self.mesh, self.axis, self.specs, self.batch, self.use = mesh, axis, specs, batch, use

    def lay(self, array: Any, *spec: Any) -> Any:
        if self.mesh is None:
            return array
        return laid_out(array, NamedSharding(self.mesh, PartitionSpec(*spec)))


def run_blocks(template: Template, schedule: Schedule, words: Any, inputs: list, stacked: list, captured: list) -> Any:
    """The blocks one after the other. `stacked` has the parameters of all, along the first axis; the first input goes from
    block to block, the others are the same for all."""
    x, *others = inputs
    length = stacked[0].shape[0]
    ticks = template.ticks

    def layer(x: Any, others: Any, number: Any, parameters: Any) -> Any:
        key = None if words is None else words.at[3].add((number * ticks).astype(words.dtype))
        if schedule.use is not None:
            parameters = [schedule.lay(p, *spec) for p, spec in zip(parameters, schedule.use)]
        if schedule.stages == 1 and schedule.batch:
            x = schedule.lay(x, schedule.batch, *[PartitionSpec.UNCONSTRAINED] * (x.ndim - 1))
        return template.run(key, [x, *others], parameters, captured)[0]

    if schedule.checkpoint:
        layer = jax.checkpoint(layer)

    def stage(x: Any, others: Any, numbers: Any, parameters: Any) -> Any:
        return jax.lax.scan(lambda x, part: (layer(x, others, *part), None), x, (numbers, parameters))[0]

    if schedule.stages == 1:
        return stage(x, others, jnp.arange(length), stacked)
    if schedule.use is not None or not schedule.batch or schedule.mesh is None:
        return _pipeline(schedule, stage, x, others, stacked, length)
    if _gathers(jax.make_jaxpr(lambda x, o, p: layer(x, o, jnp.int32(0), p))(x, others, [a[0] for a in stacked]).jaxpr):
        return _pipeline(schedule, stage, x, others, stacked, length)
    # Over the axes of batches each place runs by itself, so that gradients of parameters are added up once, at the end; XLA
    # alone adds them up in every turn.
    cut = PartitionSpec(schedule.batch)
    sides = [cut if a.ndim and a.shape[0] == x.shape[0] else PartitionSpec() for a in others]
    types = [a.dtype for a in stacked]
    if schedule.mesh.devices.flat[0].platform == "cpu":  # its XLA cannot add up 16-bit numbers here
        stacked = [a.astype(jnp.float32) if a.dtype.itemsize == 2 else a for a in stacked]
        kind, x = x.dtype, x.astype(jnp.float32) if x.dtype.itemsize == 2 else x
    else:
        kind = x.dtype

    def run(x: Any, others: Any, stacked: Any) -> Any:
        stacked = [a.astype(t) for a, t in zip(stacked, types)]
        place = jax.lax.axis_index(schedule.batch)
        return _pipeline(schedule, stage, x.astype(kind), others, stacked, length, place)

    part = jax.shard_map(
        run,
        mesh=schedule.mesh,
        axis_names=set(schedule.batch),
        in_specs=(cut, sides, [PartitionSpec()] * len(stacked)),
        out_specs=cut,
        check_vma=False,
    )
    return part(x, others, stacked)


def _gathers(jaxpr: Any) -> bool:
    """Whether a computation picks elements by their numbers: with some axes of a mesh under a shard_map XLA ends the process
    when it splits that over the others."""
    for equation in jaxpr.eqns:
        if equation.primitive.name.startswith(("gather", "scatter", "sort")):
            return True
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns") and _gathers(inner):
                    return True
    return False


@jax.custom_vjp
def _moved_on(state: Any) -> Any:
    """Each stage gets what the one before has, the first what the last has: one permutation, in both directions."""
    return jnp.roll(state, 1, axis=0)


_moved_on.defvjp(lambda state: (_moved_on(state), None), lambda _, g: (jnp.roll(g, -1, axis=0),))


def _pipeline(
    schedule: Schedule, stage: Callable, x: Any, others: list, stacked: list, length: int, place: Any = 0
) -> Any:
    stages, micro, axis = schedule.stages, schedule.micro, schedule.axis
    batch = x.shape[0]
    if length % stages or batch % micro:
        raise errors.ValueError_(
            f"pipeline: {length} blocks and a batch of {batch} for {stages} stages and {micro} micro-batches"
        )

    lay = schedule.lay
    specs = schedule.specs or [()] * len(stacked)
    parameters = [
        lay(a.reshape(stages, length // stages, *a.shape[1:]), axis, None, *spec) for a, spec in zip(stacked, specs)
    ]
    numbers = lay(jnp.arange(length).reshape(stages, -1), axis, None)
    cut = schedule.batch or None
    free = PartitionSpec.UNCONSTRAINED

    def parted(array: Any) -> Any:
        """[micro-batches, samples of one, ...]: every `micro`-th sample, so that samples stay where they are."""
        parts = jnp.moveaxis(array.reshape(batch // micro, micro, *array.shape[1:]), 1, 0)
        return lay(parts, None, cut, *[free] * (array.ndim - 1))

    # Every stage has the batches, of which the first takes its own, and all give what the last one has: so their gradients,
    # and the results, are added up over the stages once and not in every turn.
    first = lay(jnp.arange(stages) == 0, axis).reshape(stages, *[1] * x.ndim)
    last = lay(jnp.arange(stages) == stages - 1, axis).reshape(stages, *[1] * x.ndim)
    batches = parted(x)
    batches = jnp.broadcast_to(batches[:, None], (micro, stages, *batches.shape[1:]))
    batches = lay(batches, None, axis, cut, *[free] * (x.ndim - 1))
    moving = [a.ndim > 0 and a.shape[0] == batch for a in others]
    sides = [parted(a) if m else a for a, m in zip(others, moving)]
    state = jnp.zeros(batches.shape[1:], batches.dtype)

    def turn(state: Any, t: Any) -> Any:
        new = jax.lax.dynamic_index_in_dim(batches, jnp.minimum(t, micro - 1), 0, keepdims=False)
        state = lay(jnp.where(first, new, _moved_on(state)), axis, cut, *[free] * (state.ndim - 2))
        at = jnp.clip(t - jnp.arange(stages), 0, micro - 1)
        own = [lay(s[at], axis, cut, *[free] * (s.ndim - 2)) if m else s for s, m in zip(sides, moving)]
        axes = [0 if m else None for m in moving]
        state = jax.vmap(stage, in_axes=(0, axes, 0, 0), spmd_axis_name=axis)(
            state, own, numbers + (place * (micro + stages - 1) + t) * length, parameters
        )
        state = lay(state, axis, cut, *[free] * (state.ndim - 2))
        return state, state

    _, found = jax.lax.scan(turn, state, jnp.arange(micro + stages - 1))
    out = jnp.where(last, found[stages - 1 :], 0).sum(1, dtype=x.dtype)
    out = lay(out, None, cut, *[free] * (x.ndim - 1))
    return jnp.moveaxis(out, 0, 1).reshape(x.shape)


class Chain:
    """Blocks that run as one operator: calling the first runs all of them, calling the others does nothing."""

    def __init__(self, blocks: list[Layer], schedule: Schedule):
        if len({signature_of(b) for b in blocks}) > 1:
            raise errors.ValueError_("pipeline: the blocks must be alike: class, sublayers, shapes of parameters")
        if any(b._forward_pre_hooks or b._forward_post_hooks for b in blocks):
            raise errors.NotImplemented_(
                "pipeline: hooks of the blocks themselves; those of their sublayers are possible"
            )
        self.blocks, self.schedule = blocks, schedule
        self.first = blocks[0].forward
        self.templates: dict[tuple, tuple[Template, Kernel]] = {}
        object.__setattr__(blocks[0], "forward", self.run)
        for block in blocks[1:]:
            object.__setattr__(block, "forward", _pass)

    def run(self, *args: Any) -> Any:
        tensors = [a for a in args if isinstance(a, Tensor)]
        if not args or not isinstance(args[0], Tensor):
            raise errors.TypeError_("pipeline: the first argument of a block must be a tensor")
        plain = tuple(repr(a) for a in args if not isinstance(a, Tensor))
        key = (*((t._raw.shape, t._raw.dtype, t._stop) for t in tensors), plain, id(modes.amp), self.blocks[0].training)
        found = self.templates.get(key)
        if found is None:
            template = Template(self.blocks[0], self.first, args, self.schedule.micro > 1)
            found = self.templates[key] = template, self._kernel(template, len(tensors))
        template, kernel = found
        parameters = [p for b in self.blocks for _, p in b.named_parameters()]
        with set_mode(amp=None):
            out = dispatch(kernel, (*tensors, *(t for _, t in template.captured), *parameters))
        return out if template.single else (out,)

    def _kernel(self, template: Template, n_inputs: int) -> Kernel:
        n, n_captured, per = len(self.blocks), len(template.captured), len(template.parameters)
        random = bool(template.ticks)

        def call(*arrays: Any) -> Any:
            words = None
            if random:
                words, arrays = _words(arrays[0]), arrays[1:]
            inputs, rest = list(arrays[:n_inputs]), arrays[n_inputs:]
            captured, rest = list(rest[:n_captured]), rest[n_captured:]
            stacked = [jnp.stack([rest[i * per + k] for i in range(n)]) for k in range(per)]
            return run_blocks(template, self.schedule, words, inputs, stacked, captured)

        total = n_inputs + n_captured + n * per
        return Kernel(call, "pipeline" if self.schedule.stages > 1 else "repeat", ("",) * total, random=random)


def _words(key: Any) -> Any:
    """Four words for the keys of operators inside, from the key of the operator."""
    return jnp.concatenate([jax.random.key_data(key), jnp.zeros(2, jnp.uint32)])


def _pass(x: Any, *rest: Any) -> Any:
    return x


class _Again:
    """A block whose `forward` is one operator that is computed again in the backward."""

    def __init__(self, block: Layer):
        self.block, self.forward = block, block.forward
        self.kernels: dict[tuple, tuple[Template, Kernel]] = {}

    def __call__(self, *args: Any) -> Any:
        if modes.program is None:
            from ..fleet.recompute import recompute

            return recompute(self.forward, *args)
        tensors = [a for a in args if isinstance(a, Tensor)]
        plain = tuple(repr(a) for a in args if not isinstance(a, Tensor))
        key = (*((t._raw.shape, t._raw.dtype, t._stop) for t in tensors), plain, id(modes.amp), self.block.training)
        if key not in self.kernels:
            template = Template(self.block, self.forward, args)
            self.kernels[key] = template, _checkpointed(template, len(tensors))
        template, kernel = self.kernels[key]
        with set_mode(amp=None):
            found = dispatch(kernel, (*tensors, *(t for _, t in template.captured), *template.parameters))
        found = found if isinstance(found, tuple) else (found,)
        return found[0] if template.single else found


def _checkpointed(template: Template, n_inputs: int) -> Kernel:
    n_captured, random = len(template.captured), bool(template.ticks)

    @jax.checkpoint
    def call(words: Any, inputs: Any, captured: Any, parameters: Any) -> Any:
        return template.run(words, inputs, parameters, captured)

    def body(*arrays: Any) -> Any:
        words = None
        if random:
            words, arrays = _words(arrays[0]), arrays[1:]
        found = call(
            words,
            list(arrays[:n_inputs]),
            list(arrays[n_inputs : n_inputs + n_captured]),
            list(arrays[n_inputs + n_captured :]),
        )
        return found if len(found) > 1 else found[0]

    return Kernel(body, "recomputed", ("",) * (n_inputs + n_captured + len(template.parameters)), random=random)


def recomputed(model: Layer) -> int:
    """Let the blocks of a model that repeat themselves be computed again in the backward; how many there are."""
    _, blocks = find_blocks(model)
    for block in blocks:
        if not isinstance(block.forward, (_Again, Chain)):
            object.__setattr__(block, "forward", _Again(block))
    return len(blocks)
