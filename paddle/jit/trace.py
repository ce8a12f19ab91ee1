"""Recording a call of a function as one program, and running that program as one operator of the tape."""

from __future__ import annotations

import gc
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ..engine import autograd, errors
from ..engine.modes import Watch, modes, set_mode
from ..engine.parameter import Parameter
from ..engine.storage import Storage
from ..engine.tape import AccumulateGrad, Node, OpNode
from ..engine.tensor import Tensor, _make, is_empty
from ..engine.value import Dim, Value, trial_shapes
from ..ir.blocks import LoopStart, Recorded, settle
from ..ir.program import Graph, InnerBlock, State
from ..ir.record import GradientNode, Recorder
from ..ir.run import Environment, execute
from ..nn.layer import Layer
from .errors import GraphBreak
from .nest import flatten, unflatten
from .outside import (
    ABSENT,
    HOLDERS,
    LIBRARIES,
    MOST_COMPARED,
    MOST_WATCHED,
    PLAIN,
    Attribute,
    Attributes,
    Cell,
    Global,
    Provided,
    clear,
    contents,
    is_users,
    leave_zeros,
    refill,
    same,
)
from .program import GraphFunction
from .transform import convert


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
        self.provided: dict[Any, tuple[Tensor, Provided]] = {}  # arrays from outside that are no tensor's
        self.quiet: set[int] = set()  # slots that are overwritten without a new version
        self.cleared: dict[int, Tensor] = {}  # tensors whose gradient was cleared before anything else happened to it
        self.placeholders: dict[int, int] = {}  # ids of the tensors that stand for arguments: their numbers
        self.added: set[int] = set()  # ids of those to whose gradients something was added first
        self.touched: dict[int, weakref.ref] = {}  # tensors whose gradients changed, in blocks inside as well

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
        layer = getattr(function, "__self__", None)
        if isinstance(layer, Layer):  # one that is no argument: its mode is a condition too
            self.condition((id(layer), "training"), lambda: layer.training)
        return convert(function)

    def capture(self, tensor: Tensor) -> State:
        found = super().capture(tensor)
        if found.tensor is not None and found.tensor._stop and not tensor._stop:
            found.tensor = tensor  # the one through which gradients flow
        return found

    # ---- arrays from outside ----
    def outside(self, key: Any, read: Callable[[], Any], write: Callable | None = None) -> Tensor:
        """What stands for an array that `read()` gives before each run; `write` takes what becomes of it, if it changes.
        The same key gives the same tensor."""
        found = self.provided.get(key)
        if found is None:
            source = Provided(read, write)
            found = self.provided[key] = source.read(), source
        return found[0]

    def overwrite(self, tensor: Tensor, value: Tensor) -> None:
        """Give a tensor a new value that is not a new version of it: a graph that is kept may go on with the old one."""
        self.quiet.add(id(tensor._storage))
        tensor._storage.write(value._value)

    def condition(self, key: Any, read: Callable[[], Any]) -> None:
        """The program is used again only while `read()` gives the same."""
        self.guards.setdefault(key, (read, read()))

    # ---- gradients ----
    def is_inside(self, tensor: Tensor) -> bool:
        """Whether a tensor was made by the function: it is neither an argument nor from outside."""
        if not isinstance(tensor._raw, Value) or id(tensor) in self.placeholders:
            return False
        _, first = self.written.get(id(tensor._storage), (None, tensor._value))
        return isinstance(first, Value)

    def reads_gradient(self, tensor: Tensor) -> None:
        if self.has_touched(tensor) or id(tensor) in self.cleared and tensor._grad is None or self.is_inside(tensor):
            return
        if id(tensor) in self.placeholders:
            raise GraphBreak("the gradient is read that an argument has before the call")
        self.condition((id(tensor), ".grad"), lambda: tensor._grad)

    def has_touched(self, tensor: Tensor) -> bool:
        return id(tensor) in self.touched and self.touched[id(tensor)]() is tensor

    def touched_gradient(self, tensor: Tensor) -> None:
        if not self.has_touched(tensor):
            if id(tensor) not in self.cleared:
                self.added.add(id(tensor))
            self.touched[id(tensor)] = weakref.ref(tensor)
        super().touched_gradient(tensor)

    def clears_gradient(self, tensor: Tensor, set_to_zero: bool) -> None:
        if not self.has_touched(tensor) and (id(tensor), ".grad") not in self.guards:
            self.cleared[id(tensor)] = tensor
        gradient = tensor._grad
        if gradient is None:
            return
        self.touched_gradient(tensor)
        if not set_to_zero:
            tensor._grad = None
        elif not is_empty(gradient):
            if not isinstance(gradient._raw, Value):
                self.wrote(gradient._storage, None)
            clear(gradient)

    def note_text(self) -> None:
        """Called when the elements of a tensor are wanted as text, such as in an f-string."""
        if not self.once:
            raise GraphBreak("the text of a tensor is asked for, which shows its elements; print(x) can be recorded")

    # ---- conditions under which the program is used again ----
    def note_attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and (isinstance(owner, Layer) or isinstance(value._raw, Value)):
            return  # tensors of layers are part of the key
        if isinstance(owner, (Layer, types.ModuleType)) or not isinstance(owner, (Tensor, type, *PLAIN)):
            self.guards.setdefault((id(owner), name), (lambda: getattr(owner, name, ABSENT), value))

    def note_function(self, function: Any) -> None:
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType):
            return
        names = function.__globals__
        for name in function.__code__.co_names:
            self._note_variable((id(names), name), name, Global(names, name))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self._note_variable((id(cell), ""), name, Cell(cell))
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.note_container("of a default argument", value, lambda value=value: value)

    def _note_variable(self, key: tuple, name: str, variable: Any) -> None:
        if key in self.variables:
            return
        value = variable.read()
        if isinstance(value, types.FunctionType) and value.__closure__:
            return  # holding it would keep the variables of the function alive that it was made in
        self.variables[key] = (name, variable.read, variable.write, value)
        self.note_container(name, value, variable.read)
        if value.__class__ in PLAIN:
            self.guards.setdefault(key, (variable.read, value))
        elif isinstance(value, type) and value.__module__.partition(".")[0] not in LIBRARIES:
            for attribute, found in vars(value).items():
                if found.__class__ in PLAIN and not attribute.startswith("__"):
                    self._note_variable((id(value), attribute), attribute, Global(value, attribute))

    def note_container(self, name: str, value: Any, read: Callable) -> None:
        """Something from outside that the function reads: changes of it are noticed, and what it holds is a condition."""
        if self.watch(name, value) and 0 < len(value) <= MOST_COMPARED and isinstance(value, (list, dict)):
            self.guards.setdefault((id(value), "[]"), (lambda: contents(read()), contents(value)))

    def watch(self, name: str, value: Any) -> bool:
        """Remember what a list, a dict, a set or an object from outside holds before the function runs; whether it is
        something that holds others."""
        if isinstance(value, HOLDERS):
            if len(value) <= MOST_WATCHED and id(value) not in self.containers:
                self.containers[id(value)] = (name, value, value.copy())
            return True
        if is_users(value):
            self.containers.setdefault(id(vars(value)), (name, vars(value), dict(vars(value))))
        return False

    def note_held(self, owner: Any, name: str, value: Any) -> None:
        """An attribute was read of what may be an object from outside."""
        found = self.containers.get(id(getattr(owner, "__dict__", None)))
        if found is not None and found[2].get(name, ABSENT) is value or isinstance(owner, (Layer, types.ModuleType)):
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
        recorder.placeholders = {id(t): i for i, t in enumerate(self.arguments)}
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
                self._check_outside()
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
                refill(container, copy)
            for _, read, write, first in recorder.variables.values():
                if read() is not first:
                    write(first)
        for tensor, *before in recorder.joined.values():
            tensor._storage, tensor._node, tensor._index, tensor._stop = before

    def _placeholder(self, name: str, tensor: Any, spec: Any) -> Tensor:
        shape = spec.shape if spec is not None else tuple(tensor._raw.shape)
        dtype = spec.dtype.numpy if spec is not None and spec.dtype is not None else tensor._raw.dtype
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
            if now is ABSENT or not any(isinstance(x, Tensor) and isinstance(x._raw, Value) for x in found):
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
        self._cut_released()
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

    def _check_outside(self) -> None:
        """What the function did to Python objects outside of it."""
        recorder = self.recorder
        self._forget_locals()
        if any(isinstance(read.__self__, Cell) for _, read, _, _ in recorder.variables.values()) and not (
            all(same(now, before) for _, now, before in recorder.containers.values())
            and all(read() is first for _, read, _, first in recorder.variables.values())
        ):
            gc.collect()  # functions inside that call themselves
            self._forget_locals()
        self._check_containers()
        self._check_variables()

    def _check_containers(self) -> None:
        """What the function does to lists and dicts from outside is a reason against a program, unless it may happen
        once and has nothing to do with tensors."""
        for name, container, copy in self.recorder.containers.values():
            if same(container, copy):
                continue
            leaves: list = []
            flatten(list(container) if isinstance(container, (set, deque)) else container, leaves)
            leaked = any(isinstance(x, Tensor) and isinstance(x._raw, Value) for x in leaves)
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
            if not self.once or any(isinstance(x, Tensor) and isinstance(x._raw, Value) for x in leaves):
                raise ChangesState(f"the function assigns {name!r}, which lives longer than the call")

    def _forget_locals(self) -> None:
        """Variables of the function itself that functions inside of it share are no longer there: they are no conditions."""
        recorder = self.recorder
        for key, (name, read, _, first) in list(recorder.variables.items()):
            if isinstance(read.__self__, Cell) and read.__self__.is_left():
                del recorder.variables[key]
                recorder.guards.pop(key, None)
                recorder.guards.pop((id(first), "[]"), None)
                if recorder.containers.get(id(first), ("",))[0] == name:
                    del recorder.containers[id(first)]

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
        provided = {id(tensor._storage): source for tensor, source in self.recorder.provided.values()}
        self.provided: list[tuple[Provided, int]] = []
        for slot, first, now in list(self.recorder.changes()):
            if not isinstance(now, Value):
                continue
            owner = next((t for t in joined.values() if t._storage is slot), None)
            if id(slot) in positions:
                position = positions[id(slot)]
                self.writes.append((position, self._fetch(self.arguments[position])))
            elif id(slot) in provided:
                self.provided.append((provided[id(slot)], self._fetch(_make(now))))
            elif not isinstance(first, Value):
                n = self._fetch(owner if owner is not None else _make(now))
                self.writes.append(((slot, owner, id(slot) not in self.recorder.quiet), n))

    def _collect_gradients(self) -> None:
        """Gradients that the function leaves in `.grad`: (tensor or number of an argument, whether it is added to the one
        that is there, number of the output, or what zeros look like, or None)."""
        recorder = self.recorder
        self.gradients: list[tuple[Any, bool, Any]] = []
        self.had: list[tuple[Tensor, bool]] = []  # tensors whose gradient must (not) be empty before a run
        self.gradient_states: dict[str, Tensor] = {}
        for key, tensor in recorder.cleared.items():
            if key in recorder.gradients or recorder.is_inside(tensor):
                continue
            if key in recorder.placeholders:
                raise GraphBreak("the gradient is cleared that an argument has before the call")
            self.had.append((tensor, False))
        for reference, first in recorder.gradients.values():
            tensor = reference()
            if tensor is None:
                continue
            now = tensor._grad
            left: Any = None
            if now is not None:
                if not isinstance(now, Tensor) or now.is_selected_rows():
                    raise GraphBreak("row-sparse gradients inside of the function")
                left = (tensor._raw.shape, tensor._raw.dtype) if is_empty(now) else self._fetch(now)
            position = recorder.placeholders.get(id(tensor))
            added = id(tensor) in recorder.added
            if position is not None:
                self.gradients.append((position, added, left))
                continue
            if recorder.is_inside(tensor):
                continue
            self.gradients.append((tensor, False, left))
            if added:
                self.had.append((tensor, not is_empty(first)))
                state = None if is_empty(first) else recorder.captured.get(id(first._storage))
                if state is not None:
                    self.gradient_states[state.name] = tensor

    def _cut_released(self) -> None:
        """Results whose graph a `backward()` inside has released carry no gradient any more."""
        self.released = [not t._stop and t._node is not None and t._node.freed for t in self.fetched]
        self.fetched = [_make(t._value) if cut else t for t, cut in zip(self.fetched, self.released)]

    def _record_backward(self) -> Any:
        """The gradient recorded as operators, where hooks or a PyLayer are part of it."""
        recorder = self.recorder
        live = dict(self.graph.block.live)  # type: ignore[attr-defined]
        outside = {*self.inputs, *(s.value for s in self.graph.states.values())}
        sources = {v: t for v, t in live.items() if v in outside}
        roots = [t for t in self.fetched if t._node is not None and not t._stop]
        values = [Value(f"gradient_{i}", t._value.trials, t._raw.dtype) for i, t in enumerate(roots)]
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
        provided = {id(tensor): source for tensor, source in recorder.provided.values()}
        self.values = [*self.inputs, *(s.value for s in self.states)]
        graph.block.operators = self.operators
        moving = {**{id(a.read()): a for a in self.attributes}, **provided}
        self.connected = [(a._node, a._index) in self.reached for a in self.arguments]
        self.connected += [(s.tensor._node, s.tensor._index) in self.reached for s in self.states]
        self.readers = [moving.get(id(s.tensor), self.gradient_states.get(s.name, s.tensor)) for s in self.states]
        gradient = self._gradient if self.backward is not None else None
        overwritten = {} if any(self.connected) else self._overwritten()
        self.run = GraphFunction(self.operators, self.values, fetches, graph.ticks, gradient, overwritten)
        for tensor, source in recorder.provided.values():  # which must not keep the arrays alive
            tensor._storage.postpone(source.get)
        del recorder.holders[:]
        recorder.provided.clear()
        recorder.cleared.clear()

    def _overwritten(self) -> dict[int, int]:
        """The positions of the states that a run replaces by arrays of the same kind, whose memory serves for these, and
        how many slots hold each."""
        slots = {id(target[0]): n for target, n in self.writes if isinstance(target, tuple)}
        sources = {id(source): n for source, n in self.provided}
        found = {}
        for i, (state, reader) in enumerate(zip(self.states, self.readers), len(self.inputs)):
            n = sources.get(id(reader)) if isinstance(reader, Provided) else None
            if reader is state.tensor and type(state.tensor._storage) is Storage:
                n = slots.get(id(state.tensor._storage))
            if n is not None:
                new = self.graph.block.outputs[n]
                if new.trials == state.value.trials and new.dtype == state.value.dtype:
                    found[i] = 1 + isinstance(reader, Provided)
        return found

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
        if any(is_empty(t._grad) is had for t, had in self.had):
            return False
        for state, reader, (stop, shape, dtype) in zip(self.states, self.readers, self.state_flags):
            if reader.__class__ is Provided and reader.write is None:
                continue
            tensor = self._state(state, reader)
            now = tensor._value
            if now.shape != shape or now.dtype != dtype or tensor._stop is not stop:
                return False
        return True

    def __call__(self, arguments: list[Tensor], change: Callable | None = None) -> Any:
        """Run with these tensor arguments; `change` makes the outputs of the run into those that count."""
        tensors = [*arguments, *map(self._state, self.states, self.readers)]
        tensors = [t if connected or t._stop else t.detach() for t, connected in zip(tensors, self.connected)]
        if self.run.overwritten and not (modes.special or Watch.on or self.run.on_host or self.run.effects):
            found = self.run.replacing(tensors)
        else:
            found = self.run(tensors)
        outs = Outs(found if change is None else change(found))
        for out, stop, released in zip(outs, self.stops, self.released):
            if released:
                out._node, out._index, out._stop = Released(), 0, False
            elif stop and not out._stop:
                out._node, out._index, out._stop = None, 0, True
        outs.arguments = arguments
        result = unflatten(self.structure, [p(outs) for p in self.places])
        self._apply(outs, arguments)
        return result

    def _state(self, state: State, reader: Any) -> Tensor:
        if isinstance(reader, (Attribute, Provided)):
            return reader.read()
        return reader._grad if state.name in self.gradient_states else reader

    def _apply(self, outs: Outs, arguments: list[Tensor]) -> None:
        """Write what the function changed."""
        for target, n in self.writes:
            out = outs[n]
            if isinstance(target, int):
                arguments[target]._rebind(out)
                continue
            slot, owner, counts = target
            slot.write(out._value)
            slot.root.version += counts
            if owner is not None and self.grad:
                owner._join(out)
        for source, n in self.provided:
            source.write(outs[n]._value)  # type: ignore[misc]
        for target, added, left in self.gradients:
            tensor = arguments[target] if isinstance(target, int) else target
            if isinstance(left, tuple):
                leave_zeros(tensor, *left)
            elif left is None:
                tensor._grad = None
            elif added and not is_empty(tensor._grad):
                tensor._grad = autograd.add_tensors(tensor._grad, outs[left].detach())
            else:
                tensor._grad = outs[left].detach()
        for attribute in self.attributes:
            attribute.write(outs)


def _alive(references: list, own: set[int]) -> bool:
    return any(t is not None and id(t) not in own for t in (r() for r in references))


class Released(Node):
    """Stands where a `backward()` inside of the function has released the graph."""

    __slots__ = ()
    name = "run_program"

    def run(self, cotangents: list, record: Callable | None, live_only: bool) -> list:
        raise errors.RuntimeError_(
            "run_program: backward through the same graph a second time; what it saved was released. Pass "
            "retain_graph=True to the first backward or grad"
        )


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
