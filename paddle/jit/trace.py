"""Recording a call of a function as one program, and running that program as one operator of the tape."""

from __future__ import annotations

import gc
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp

from ..engine import autograd
from ..engine.modes import modes, set_mode
from ..engine.parameter import Parameter
from ..engine.tape import AccumulateGrad, OpNode
from ..engine.tensor import Tensor, _make
from ..engine.value import Dim, Value, trial_shapes
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
MOST_COMPARED = 64  # entries up to which what it holds is a condition under which a program is used again
_PLAIN = (bool, int, float, str, type(None))


class Tracer(Recorder):
    """A recorder that also notes what the recorded function depends on beside its arguments."""

    def __init__(self, graph: Graph, once: bool = False):
        super().__init__(graph)
        self.once = once
        self.graph.block = self.block = InnerBlock([], None)
        self.guards: dict[tuple, tuple[Callable, Any]] = {}
        self.containers: dict[int, tuple[str, Any, Any]] = {}  # what holds things outside: name, object, copy
        self.variables: dict[
            tuple, tuple[str, Callable, Callable, Any]
        ] = {}  # globals, closures: name, read, write, first
        self.undefined: list[str] = []
        self.made: list[weakref.ref] = []
        self.in_loop = 0

    def append(self, draft: Any, inputs: list) -> Any:
        out = super().append(draft, inputs)
        self.made += map(weakref.ref, out if isinstance(out, tuple) else (out,))
        return out

    def note_effect(self, what: str) -> None:
        """Called when the function does what every call has to do again."""
        if not self.once:
            raise ChangesState(f"the function calls {what}")

    def converted(self, function: Any) -> Any:
        """What a layer calls in place of its `forward`."""
        self.note_function(function)
        return convert(function)

    def capture(self, tensor: Tensor) -> State:
        found = super().capture(tensor)
        if found.tensor is not None and found.tensor._stop and not tensor._stop:
            found.tensor = tensor  # the one through which gradients flow
        return found

    def note_text(self) -> None:
        """Called when the elements of a tensor are wanted as text, such as in an f-string."""
        if not self.once:
            raise GraphBreak("the text of a tensor is asked for, which shows its elements; print(x) can be recorded")

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
            self._note_variable((id(names), name), name, _Global(names, name))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._note_variable((id(cell), ""), name, _Cell(cell))
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.note_container("of a default argument", value, lambda value=value: value)

    def _note_variable(self, key: tuple, name: str, variable: Any) -> None:
        if key in self.variables:
            return
        value = variable.read()
        self.variables[key] = (name, variable.read, variable.write, value)
        self.note_container(name, value, variable.read)
        if value.__class__ in _PLAIN:
            self.guards.setdefault(key, (variable.read, value))
        elif isinstance(value, type) and value.__module__.partition(".")[0] not in _LIBRARIES:
            for attribute, found in vars(value).items():
                if found.__class__ in _PLAIN and not attribute.startswith("__"):
                    self._note_variable((id(value), attribute), attribute, _Global(value, attribute))

    def note_container(self, name: str, value: Any, read: Callable) -> None:
        """Something from outside that the function reads: changes of it are noticed, and what it holds is a condition."""
        if self.watch(name, value) and 0 < len(value) <= MOST_COMPARED and isinstance(value, (list, dict)):
            self.guards.setdefault((id(value), "[]"), (lambda: _contents(read()), _contents(value)))

    def watch(self, name: str, value: Any) -> bool:
        """Remember what a list, a dict, a set or an object from outside holds before the function runs; whether it is
        something that holds others."""
        if isinstance(value, _HOLDERS):
            if len(value) <= MOST_WATCHED and id(value) not in self.containers:
                self.containers[id(value)] = (name, value, value.copy())
            return True
        if _is_users(value):
            self.containers.setdefault(id(vars(value)), (name, vars(value), dict(vars(value))))
        return False

    def note_held(self, owner: Any, name: str, value: Any) -> None:
        """An attribute was read of what may be an object from outside."""
        found = self.containers.get(id(getattr(owner, "__dict__", None)))
        if found is not None and found[2].get(name, Tracer) is value or isinstance(owner, (Layer, types.ModuleType)):
            self.note_container(name, value, lambda: getattr(owner, name, None))

    def watch_all(self, value: Any) -> None:
        """Remember what the lists, dicts and objects in the arguments hold."""
        stack = [value]
        while stack:
            found = stack.pop()
            if isinstance(found, (list, dict, tuple)):
                stack += found.values() if isinstance(found, dict) else found
            self.watch("of an argument", found)

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
        self.recorder = recorder = Tracer(self.graph, once)
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
        filled = _filled(args, self.arguments), _filled(kwargs, self.arguments)
        recorder.watch_all(filled)
        done = False
        with recorder, set_mode(segment=None, saved_hooks=None, ticks=None):
            try:
                result = made(*filled[0], **filled[1])
                self._collect(result, attributes)
                self._check_containers()
                self._check_variables()
                del result
                done = True
            except NameError as e:
                names = [n for n in recorder.undefined if f"'{n}'" in str(e)]
                if names:
                    e.add_note(f"{names[0]!r} has a value in one branch only of a condition that a tensor decides")
                raise
            finally:
                self._put_back(done)
                attributes.restore(self.python_changes if done else set())
                recorder.restore()
        del filled
        self._finish()
        self._check_escapes()

    def _put_back(self, done: bool) -> None:
        """What the recording changed outside is as it was; what may happen once stays when it is done."""
        recorder = self.recorder
        if not done:
            for _, container, copy in recorder.containers.values():
                _refill(container, copy)
            for _, read, write, first in recorder.variables.values():
                if read() is not first:
                    write(first)
        for tensor, *before in recorder.joined.values():
            tensor._storage, tensor._node, tensor._index, tensor._stop = before

    def _placeholder(self, name: str, tensor: Any, spec: Any) -> Tensor:
        shape = spec.shape if spec is not None else tuple(tensor._value.shape)
        dtype = spec.dtype.numpy if spec is not None and spec.dtype is not None else tensor._value.dtype
        trials = trial_shapes(shape)
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
            if _same(container, copy):
                continue
            leaves: list = []
            flatten(list(container) if isinstance(container, (set, deque)) else container, leaves)
            leaked = any(isinstance(x, Tensor) and isinstance(x._value, Value) for x in leaves)
            if self.once and not leaked:
                continue
            raise ChangesState(
                f"the function changes the {type(container).__name__} {name!r}, which lives longer than the call"
            )

    def _check_variables(self) -> None:
        """The same for global variables and those of closures."""
        for name, read, _, first in self.recorder.variables.values():
            now = read()
            if now is first:
                continue
            leaves: list = []
            flatten(now, leaves)
            if not self.once or any(isinstance(x, Tensor) and isinstance(x._value, Value) for x in leaves):
                raise ChangesState(f"the function assigns {name!r}, which lives longer than the call")

    def _check_escapes(self) -> None:
        """A reason against a program: a tensor of the recording is alive outside, such as in an object that was returned.
        It has no elements."""
        made, self.recorder.made = self.recorder.made, []
        if self.custom:  # hooks and PyLayers hold tensors
            return
        self.recorder.joined.clear()
        own = {id(t) for b in self.graph.block.blocks() for t, _ in getattr(b, "joined", ())}
        if not _alive(made, own):
            return
        gc.collect()
        if _alive(made, own):
            raise GraphBreak(
                "the function puts a tensor into an object that lives longer than the call; tensors can be returned, in "
                "lists, tuples and dicts"
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
        if isinstance(x, (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)):
            raise GraphBreak(f"the function returns a {type(x).__name__}")
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


_HOLDERS = (list, dict, set, deque)


def _is_users(value: Any) -> bool:
    """Whether it is an object of a class of the user, whose attributes a function may change."""
    kind = value.__class__
    if isinstance(value, (Layer, Tensor, type, types.ModuleType, types.FunctionType)) or kind in _PLAIN:
        return False
    return kind.__module__.partition(".")[0] not in _LIBRARIES and isinstance(getattr(value, "__dict__", None), dict)


_LIBRARIES = ("paddle", "numpy", "jax", "builtins", "logging", "functools")


class _Global:
    """A global variable of a function, or an attribute of a class."""

    def __init__(self, names: Any, name: str):
        self.names, self.name = names, name

    def read(self) -> Any:
        names = vars(self.names) if isinstance(self.names, type) else self.names
        return names.get(self.name, Tracer)

    def write(self, value: Any) -> None:
        if isinstance(self.names, type):
            setattr(self.names, self.name, value)
        elif value is Tracer:
            del self.names[self.name]
        else:
            self.names[self.name] = value


class _Cell:
    """A variable of a closure."""

    def __init__(self, cell: Any):
        self.cell = cell

    def read(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return Tracer

    def write(self, value: Any) -> None:
        if value is Tracer:
            del self.cell.cell_contents
        else:
            self.cell.cell_contents = value


def _same(container: Any, copy: Any) -> bool:
    if len(container) != len(copy):
        return False
    if isinstance(container, dict):
        return all(k in copy and copy[k] is v for k, v in container.items())
    if isinstance(container, set):
        return container == copy
    return all(a is b for a, b in zip(container, copy))


def _contents(value: Any, depth: int = 3) -> Any:
    """What a condition compares of a list or a dict: numbers and strings by their values, everything else by identity."""
    if value.__class__ in _PLAIN:
        return value.__class__, value
    if isinstance(value, (list, tuple, dict)) and depth and len(value) <= MOST_COMPARED:
        items = value.values() if isinstance(value, dict) else value
        return tuple(value) if isinstance(value, dict) else len(value), [_contents(v, depth - 1) for v in items]
    return id(value)


def _alive(references: list, own: set[int]) -> bool:
    return any(t is not None and id(t) not in own for t in (r() for r in references))


def _refill(container: Any, content: Any) -> None:
    container.clear()
    if isinstance(container, (list, deque)):
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
