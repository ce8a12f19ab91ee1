"""Recording a call of a function as one program, and running that program as one operator of the tape."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp

from ..engine import autograd
from ..engine.modes import modes, set_mode
from ..engine.tape import AccumulateGrad, OpNode
from ..engine.tensor import Parameter, Tensor, _make
from ..engine.value import PROBES, Dim, Value
from ..ir.blocks import LoopStart, Recorded, settle
from ..ir.program import Graph, InnerBlock, State
from ..ir.record import GradientNode, Recorder
from ..ir.run import Environment, execute
from ..nn.layer import Layer
from .errors import GraphBreak
from .nest import Structure, flatten, unflatten
from .program import GraphFunction
from .transform import convert

MOST_WATCHED = 10_000  # entries of a list or dict from outside up to which changes of it are noticed
_PLAIN = (bool, int, float, str, type(None))


class Tracer(Recorder):
    """A recorder that also notes what the recorded function depends on beside its arguments."""

    def __init__(self, graph: Graph):
        super().__init__(graph)
        self.graph.block = self.block = InnerBlock([], None)
        self.guards: dict[tuple, tuple[Callable, Any]] = {}
        self.containers: dict[int, tuple[str, Any, Any]] = {}  # lists and dicts from outside: name, object, copy
        self.undefined: list[str] = []
        self.in_loop = 0

    def converted(self, function: Any) -> Any:
        """What a layer calls in place of its `forward`."""
        self.note_function(function)
        return convert(function)

    def capture(self, tensor: Tensor) -> State:
        found = super().capture(tensor)
        if found.tensor is not None and found.tensor._stop and not tensor._stop:
            found.tensor = tensor  # the one through which gradients flow
        return found

    # ---- conditions under which the program is used again ----
    def note_attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and (isinstance(owner, Layer) or isinstance(value._value, Value)):
            return  # tensors of layers are part of the key
        if isinstance(owner, (Layer, types.ModuleType)) or not isinstance(owner, (Tensor, type, *_PLAIN)):
            self.guards.setdefault((id(owner), name), (lambda: getattr(owner, name, Tracer), value))

    def note_function(self, function: Any) -> None:
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType):
            return
        names = function.__globals__
        for name in function.__code__.co_names:
            value = names.get(name, Tracer)
            self.watch(name, value)
            if value.__class__ in _PLAIN:
                self.guards.setdefault((id(names), name), (lambda name=name: names.get(name, Tracer), value))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self.watch(name, value)
            if value.__class__ in _PLAIN:
                self.guards.setdefault((id(cell), ""), (lambda cell=cell: cell.cell_contents, value))

    def watch(self, name: str, value: Any) -> None:
        """Remember what a list or a dict from outside holds before the function runs."""
        if value.__class__ in (list, dict) and len(value) <= MOST_WATCHED:
            self.containers.setdefault(id(value), (name, value, value.copy()))

    def note_undefined(self, name: str) -> None:
        self.undefined.append(name)


class Attributes:
    """The attributes of layers (and of the object whose method runs) before a function is recorded, and what it assigns."""

    def __init__(self, layers: list[Any]):
        self.layers = layers
        self.before = [[dict(r) for r in self._registries(layer)] for layer in layers]

    @staticmethod
    def _registries(layer: Any) -> tuple:
        if not isinstance(layer, Layer):
            return (layer.__dict__,)
        return layer.__dict__, layer._parameters, layer._buffers, layer._sub_layers

    def changes(self) -> Iterator[tuple[Any, int, str, Any, Any]]:
        """(layer, registry, name, before, now)"""
        for layer, before in zip(self.layers, self.before):
            for i, (old, registry) in enumerate(zip(before, self._registries(layer))):
                for name in {**old, **registry}:
                    a, b = old.get(name, Tracer), registry.get(name, Tracer)
                    if a is not b:
                        yield layer, i, name, a, b

    def restore(self, kept: set[tuple[int, str]]) -> None:
        """Put everything back but the attributes in `kept`, (id of the owner, name)."""
        for layer, before in zip(self.layers, self.before):
            for old, registry in zip(before, self._registries(layer)):
                for name in [n for n in registry if n not in old and (id(layer), n) not in kept]:
                    del registry[name]
                for name, value in old.items():
                    if registry.get(name, Tracer) is not value and (id(layer), name) not in kept:
                        registry[name] = value


class Attribute:
    """An attribute of a layer that a program gives a new value."""

    def __init__(self, layer: Any, registry: int, name: str, structure: Structure, places: list):
        self.layer, self.registry, self.name = layer, registry, name
        self.structure, self.places = structure, places

    def read(self) -> Any:
        return Attributes._registries(self.layer)[self.registry].get(self.name)

    def write(self, outs: list) -> None:
        value = unflatten(self.structure, [p(outs) for p in self.places])
        Attributes._registries(self.layer)[self.registry][self.name] = value


class Traced:
    """A recorded call.

    Attributes:
        graph: the program; its outputs are what the function returns, in order, and what it changes.
        inputs: the Values of the tensor arguments.
        structure, places: how the result is put together; a place makes a leaf from the outputs and the arguments.
    """

    graph: Graph

    def __init__(
        self,
        function: Callable,
        args: tuple,
        kwargs: dict,
        named: list[tuple[str, Any, Any]],
        layers: list,
        once: bool = False,
    ):
        """`args` and `kwargs` hold `Argument`s where tensors come; `named` lists (name, tensor or None, spec); `layers` are
        the objects whose attributes may change. With `once`, what the function does to Python objects happens only while
        it is recorded; otherwise that is a reason against a program."""
        self.once = once
        self.python_changes: set[tuple[int, str]] = set()
        self.graph = Graph()
        self.recorder = recorder = Tracer(self.graph)
        self.grad = modes.grad
        self.arguments = [self._placeholder(name, tensor, spec) for name, tensor, spec in named]
        self.inputs = list(self.graph.inputs.values())
        attributes = Attributes(layers)
        made = convert(function)
        recorder.note_function(function)
        for layer in layers:
            for name, value in vars(layer).items():
                if not name.startswith("_"):
                    recorder.watch(name, value)
        done = False
        with recorder, set_mode(segment=None, saved_hooks=None, ticks=None):
            try:
                result = made(*_filled(args, self.arguments), **_filled(kwargs, self.arguments))
                self._collect(result, attributes)
                self._check_containers()
                done = True
            except NameError as e:
                names = [n for n in recorder.undefined if f"'{n}'" in str(e)]
                if names:
                    e.add_note(f"{names[0]!r} has a value in one branch only of a condition that a tensor decides")
                raise
            finally:
                if not done:
                    for _, container, copy in recorder.containers.values():
                        _refill(container, copy)
                attributes.restore(self.python_changes if done else set())
                for tensor, *before in recorder.joined.values():
                    tensor._storage, tensor._node, tensor._index, tensor._stop = before
                recorder.restore()
        self._finish()

    def _placeholder(self, name: str, tensor: Any, spec: Any) -> Tensor:
        shape = spec.shape if spec is not None else tuple(tensor._value.shape)
        dtype = spec.dtype.numpy if spec is not None and spec.dtype is not None else tensor._value.dtype
        trials = tuple(tuple(p if d is None or d < 0 else int(d) for d in shape) for p in PROBES)
        while name in self.graph.inputs:
            name += "_"
        value = self.graph.inputs[name] = Value(name, trials, dtype)
        made = _make(value)
        stop = tensor._stop if tensor is not None else spec.stop_gradient
        if not stop:
            made.stop_gradient = False
        made._name = name
        return made

    # ---- what the function gives ----
    def _collect(self, result: Any, attributes: Attributes) -> None:
        recorder = self.recorder
        self.fetched: list[Tensor] = []
        leaves: list = []
        self.structure = flatten(result, leaves)
        self.leaves = leaves
        self.places = [self._place(x) for x in leaves]
        self.n_results = len(self.fetched)
        self.attributes: list[Attribute] = []
        for layer, registry, name, _, now in attributes.changes():
            found: list = []
            structure = flatten(now, found)
            if now is Tracer or not any(isinstance(x, Tensor) and isinstance(x._value, Value) for x in found):
                if registry == 0 and name != "training":
                    if not self.once:
                        raise ChangesState(f"the function changes the attribute {name!r} of {type(layer).__name__}")
                    self.python_changes.add((id(layer), name))
                    recorder.guards.pop((id(layer), name), None)
                continue
            recorder.guards.pop((id(layer), name), None)
            self.attributes.append(Attribute(layer, registry, name, structure, [self._place(x) for x in found]))
        self._collect_changes()
        self._collect_gradients()
        self.custom = self.grad and _custom(self.fetched)
        backward = self._record_backward() if self.custom else None
        recorded = Recorded(recorder, self.graph.block, [])  # type: ignore[arg-type]
        if backward is None:
            settle([recorded], [self.fetched])
        else:
            self.graph.block.outputs = [recorder.value_of(t) for t in self.fetched]
        self.backward = backward
        self.stops = [t._stop or t._node is None for t in self.fetched]
        self.reached = _reached(self.fetched)

    def _check_containers(self) -> None:
        """What the function does to lists and dicts from outside is a reason against a program, unless it may happen
        once and has nothing to do with tensors."""
        for name, container, copy in self.recorder.containers.values():
            now: list = list(container.items()) if isinstance(container, dict) else [*enumerate(container)]
            old: list = list(copy.items()) if isinstance(copy, dict) else [*enumerate(copy)]
            if len(now) == len(old) and all(a == c and b is d for (a, b), (c, d) in zip(now, old)):
                continue
            leaves: list = []
            flatten(container, leaves)
            leaked = any(isinstance(x, Tensor) and isinstance(x._value, Value) for x in leaves)
            if self.once and not leaked:
                continue
            raise ChangesState(
                f"the function changes the {type(container).__name__} {name!r}, which lives longer than the call"
            )

    def _fetch(self, tensor: Tensor) -> int:
        self.fetched.append(self.recorder.frozen(tensor))
        return len(self.fetched) - 1

    def _place(self, x: Any) -> Callable:
        """A function of the outputs of a run and its arguments that makes a leaf of the result."""
        if isinstance(x, Dim):
            from .transform.runtime import tensor_of

            n = self._fetch(tensor_of(x))
            return lambda outs, n=n: int(outs[n])
        if not isinstance(x, Tensor):
            return lambda outs: x
        n = self._fetch(x)
        for i, argument in enumerate(self.arguments):
            if argument is x:
                return lambda outs, i=i: outs.arguments[i]
        if isinstance(x, Parameter):
            return lambda outs: x
        return lambda outs, n=n: outs[n]

    def _collect_changes(self) -> None:
        """What is overwritten: (how to write it, number of the output)."""
        self.writes: list[tuple[Any, int]] = []
        joined = {id(t): t for t, *_ in self.recorder.joined.values()}
        positions = {id(a._storage): i for i, a in enumerate(self.arguments)}
        for slot, first, now in list(self.recorder.changes()):
            if not isinstance(now, Value):
                continue
            owner = next((t for t in joined.values() if t._storage is slot), None)
            if id(slot) in positions:
                position = positions[id(slot)]
                self.writes.append((position, self._fetch(self.arguments[position])))
            elif not isinstance(first, Value):
                n = self._fetch(owner if owner is not None else _make(now))
                self.writes.append(((slot, owner), n))

    def _collect_gradients(self) -> None:
        """Gradients that the function leaves in `.grad`: (tensor or number of an argument, number of the output)."""
        self.gradients: list[tuple[Any, int | None]] = []
        self.had: list[tuple[Tensor, bool]] = []
        self.gradient_states: dict[str, Tensor] = {}
        positions = {id(a): i for i, a in enumerate(self.arguments)}
        for reference, first in self.recorder.gradients.values():
            tensor = reference()
            if tensor is None:
                continue
            now = tensor._grad
            n = None
            if now is not None:
                if not isinstance(now, Tensor):
                    raise GraphBreak("row-sparse gradients inside of the function")
                n = self._fetch(now)
            position = positions.get(id(tensor))
            self.gradients.append((tensor if position is None else position, n))
            if position is None:
                self.had.append((tensor, first is not None))
                if first is not None:
                    state = self.recorder.captured.get(id(first._storage))
                    if state is not None:
                        self.gradient_states[state.name] = tensor

    def _record_backward(self) -> Any:
        """The gradient recorded as operators, where hooks or a PyLayer are part of it."""
        recorder = self.recorder
        live = dict(self.graph.block.live)  # type: ignore[attr-defined]
        outside = {*self.inputs, *(s.value for s in self.graph.states.values())}
        sources = {v: t for v, t in live.items() if v in outside}
        roots = [t for t in self.fetched if t._node is not None and not t._stop]
        values = [Value(f"gradient_{i}", t._value.trials, t._value.dtype) for i, t in enumerate(roots)]
        with recorder.inner(values) as block:
            found = autograd.grad(roots, list(sources.values()), [_make(v) for v in values], True, False, True, True)
            block.outputs = [None if g is None else recorder.value_of(g) for g in found]  # type: ignore[misc]
        wanted = [i for i, t in enumerate(self.fetched) if t._node is not None and not t._stop]
        return block, dict(zip(sources, block.outputs)), wanted

    # ---- the operator ----
    def _finish(self) -> None:
        graph, recorder = self.graph, self.recorder
        self.guards = list(recorder.guards.values())
        fetches = graph.block.outputs
        backward_block = self.backward[0] if self.backward is not None else None
        needed = list(fetches)
        if backward_block is not None:
            needed += backward_block.free()
        self.operators = graph.kept(needed, False)
        read = {v for o in self.operators for v in o.reads()} | set(fetches)
        self.states = [s for s in graph.states.values() if s.value in read]
        graph.states = {n: s for n, s in graph.states.items() if s in self.states}
        self.state_flags = [(s.tensor._stop, s.value.trials[0], s.value.dtype) for s in self.states]
        self.values = [*self.inputs, *(s.value for s in self.states)]
        graph.block.operators = self.operators
        moving = {id(a.read()): a for a in self.attributes}
        self.connected = [(a._node, a._index) in self.reached for a in self.arguments]
        self.connected += [(s.tensor._node, s.tensor._index) in self.reached for s in self.states]
        self.readers = [moving.get(id(s.tensor), self.gradient_states.get(s.name, s.tensor)) for s in self.states]
        gradient = self._gradient if self.backward is not None else None
        self.run = GraphFunction(self.operators, self.values, fetches, graph.ticks, gradient)
        del recorder.holders[:]

    def _gradient(self, environment: Environment, cotangents: list) -> list:
        block, found, wanted = self.backward
        arrays = environment.arrays
        for value, i in zip(block.inputs, wanted):
            given = cotangents[i]
            out = arrays[self.graph.block.outputs[i]]
            arrays[value] = jnp.zeros(out.shape, out.dtype) if given is None else given
        execute(block.operators, environment)
        return [None if found.get(v) is None else arrays[found[v]] for v in self.values]

    def fits(self) -> bool:
        """Whether what the function read beside its arguments is as it was."""
        for read, value in self.guards:
            found = read()
            if found is not value and (
                found.__class__ is not value.__class__ or isinstance(value, Tensor) or found != value
            ):
                return False
        if any((t._grad is not None) is not had for t, had in self.had):
            return False
        for state, reader, (stop, shape, dtype) in zip(self.states, self.readers, self.state_flags):
            tensor = self._state(state, reader)
            now = tensor._value
            if now.shape != shape or now.dtype != dtype or tensor._stop is not stop:
                return False
        return True

    def __call__(self, arguments: list[Tensor], change: Callable | None = None) -> Any:
        """Run with these tensor arguments; `change` makes the outputs of the run into those that count."""
        tensors = [*arguments, *map(self._state, self.states, self.readers)]
        tensors = [t if connected or t._stop else t.detach() for t, connected in zip(tensors, self.connected)]
        found = self.run(tensors)
        outs = Outs(found if change is None else change(found))
        for out, stop in zip(outs, self.stops):
            if stop and not out._stop:
                out._node, out._index, out._stop = None, 0, True
        outs.arguments = arguments
        result = unflatten(self.structure, [p(outs) for p in self.places])
        self._apply(outs, arguments)
        return result

    def _state(self, state: State, reader: Any) -> Tensor:
        if isinstance(reader, Attribute):
            return reader.read()
        return reader._grad if state.name in self.gradient_states else reader

    def _apply(self, outs: Outs, arguments: list[Tensor]) -> None:
        """Write what the function changed."""
        for target, n in self.writes:
            out = outs[n]
            if isinstance(target, int):
                arguments[target]._rebind(out)
                continue
            slot, owner = target
            slot.write(out._value)
            slot.root.version += 1
            if owner is not None and self.grad:
                owner._join(out)
        for target, n in self.gradients:
            tensor = arguments[target] if isinstance(target, int) else target
            tensor._grad = None if n is None else outs[n].detach()
        for attribute in self.attributes:
            attribute.write(outs)


def _refill(container: Any, content: Any) -> None:
    container.clear()
    if isinstance(container, list):
        container.extend(content)
    else:
        container.update(content)


class Outs(list):
    """The outputs of a run; `arguments` are the tensors that it got."""

    arguments: list[Tensor]


class ChangesState(GraphBreak):
    """A Python attribute changes in the call: what the next call does may differ."""


class Argument:
    """Stands for the tensor with this number in the arguments."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


def _filled(value: Any, tensors: list) -> Any:
    leaves: list = []
    structure = flatten(value, leaves)
    return unflatten(structure, [tensors[x.number] if x.__class__ is Argument else x for x in leaves])


def _reached(tensors: list[Tensor]) -> set[tuple]:
    """The places of the tape, (node, number), to which gradients of tensors flow."""
    found: set[tuple] = set()
    stack = [(t._node, t._index) for t in tensors if t._node is not None and not t._stop]
    seen: set = set()
    while stack:
        place = stack.pop()
        found.add(place)
        node = place[0]
        if node not in seen:
            seen.add(node)
            stack.extend((e[0], e[1]) for e in node.edges if e is not None)
    return found


_OWN = (GradientNode, AccumulateGrad, LoopStart, OpNode)


def _custom(tensors: list[Tensor]) -> bool:
    """Whether hooks or nodes of other kinds stand on the way of the gradients."""
    stack = [t._node for t in tensors if t._node is not None and not t._stop]
    seen: set = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if not isinstance(node, _OWN):
            return True
        if isinstance(node, GradientNode):
            if node.hooks and any(node.hooks.values()):
                return True
            stack.extend(e[0] for e in node.edges if e is not None)
    return False


__all__ = ["Argument", "Attribute", "ChangesState", "Traced"]
