"""Running a graph: its operators are traced into XLA executables, one for each set of shapes that comes in.

A graph without host operators is one executable. Host operators, whose results have shapes that depend on data, stand
between executables, and run on tensors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import _apply_vjp, _differentiable_part, _fit
from ..engine.meshed import OverMesh, compiled
from ..engine.modes import set_mode
from ..engine.random import advanced
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from .ahead import Ahead
from .layout import inside as channels_last_inside
from .open_lengths import as_array, is_open, lengths_of
from .program import Block, Graph, Operator, Pullback, read_from_outside
from .record import HostKernel, _forward, compute, reads_elements, traced_once


class Environment:
    """The arrays of the values that are known so far, and the random keys of a run.

    Args:
        arrays: what is known at the start.
        words: the first random key as four words (see `engine.random`), None when nothing is drawn.
    """

    def __init__(self, arrays: dict[Value, Any], words: Any = None):
        self.arrays = arrays
        self.words = words
        self.vjps: dict[Operator, tuple] = {}

    def read(self, value: Value) -> Any:
        """The elements of a value, as Python numbers in lists."""
        array = self.arrays[value]
        if isinstance(array, jax.core.Tracer):
            raise NeedsHost(value)
        return np.asarray(array).tolist()

    def lengths(self, value: Value) -> Any:
        return self.arrays[value].shape

    def tick(self, number: int) -> Any:
        """The four words of a random key."""
        return advanced(self.words, number)

    def inputs(self, operator: Operator) -> list:
        return [self.arrays[x] if isinstance(x, Value) else x for x in operator.inputs]

    def define(self, operator: Operator, outs: Iterable[Any]) -> None:
        for value, array in zip(operator.outputs, outs):
            self.arrays[value] = array


class NeedsHost(Exception):
    """An attribute depends on data: the operator cannot be part of an executable."""

    def __init__(self, value: Value):
        super().__init__(f"an attribute of the operator is the value {value!r}, which is not known while compiling")
        self.value = value


def execute(operators: list[Operator], environment: Environment) -> None:
    """Run operators on arrays or tracers, adding what they define to the environment."""
    shared: dict[Operator, int] = {}
    for operator in operators:
        if isinstance(operator, Pullback):
            shared.setdefault(operator.forward, operator.mask)
    for operator in operators:
        try:
            environment.define(operator, _run(operator, environment, shared.get(operator)))
        except NeedsHost:
            raise
        except Exception as e:
            raise _explained(e, operator) from None


def _explained(error: Exception, operator: Operator) -> Exception:
    """The error of an operator in our words, with the line that called it."""
    located = getattr(error, "_located", False)
    told = error if located else errors.explain(error, operator.name, _numbered(operator), operator.inputs, {})
    if operator.line and not located:
        told.add_note(f"in operator {operator.name} of the program, called at {operator.line}")
    told._located = True  # type: ignore[attr-defined]
    return told.with_traceback(error.__traceback__)


def _numbered(operator: Operator) -> list[str]:
    return [f"input {i}" for i in range(len(operator.inputs))]


def _run(operator: Operator, environment: Environment, mask: int | None) -> tuple:
    arrays = environment.inputs(operator)
    if operator.known:
        if is_open(operator, arrays, environment):
            found = lengths_of(operator, arrays, environment)
            if found is not None:
                return found
        else:
            if operator.kernel.shape_only:
                arrays = [jax.ShapeDtypeStruct(a.shape, a.dtype) if hasattr(a, "shape") else a for a in arrays]
            entry = operator.entry(environment.read, environment.lengths)
            return compute(entry, arrays, operator.kernel.shape_only)
    if not hasattr(_forward(operator).kernel, "blocks"):  # blocks may need what is known while compiling
        arrays = [a if isinstance(a, jax.Array) else as_array(a, x) for a, x in zip(arrays, operator.inputs)]
    if isinstance(operator, Pullback):
        saved = environment.vjps.get(operator.forward)
        if saved is not None and saved[0] == operator.mask:
            return _pull(saved, operator, arrays)
    entry = operator.entry(environment.read, environment.lengths)
    offset = 0
    if operator.tick is not None:
        arrays.insert(0, environment.tick(operator.tick))
        offset = 1
    if mask is not None and entry.op.gradient is None:
        return _run_and_keep(operator, entry, arrays, mask, offset, environment)
    out = _traced_once(operator, entry)(*arrays)
    return out if operator.several else (out,)


def _traced_once(operator: Operator, entry: Any) -> Callable:
    """The function of an entry. JAX traces it once for all operators with these attributes and shapes, as networks repeat
    themselves; one that may need what is known while compiling (blocks) is traced anew."""
    anew = hasattr(_forward(operator).kernel, "blocks")
    if entry.op.gradient is None:
        return entry.call if anew else traced_once(entry)
    return _with_gradient(entry) if anew else traced_once(entry, _with_gradient)


def _with_gradient(entry: Any) -> Callable:
    """The function of an operator that has a gradient of its own, which JAX uses where it differentiates a whole block."""
    call = jax.custom_vjp(lambda *arrays: entry.call(*arrays))

    def forward(*arrays):
        out = call(*arrays)
        return out, (arrays, out)

    def backward(saved, cotangents):
        arrays, out = saved
        outs = out if type(out) is tuple else (out,)
        given = cotangents if type(out) is tuple else (cotangents,)
        flags = [jnp.issubdtype(o.dtype, jnp.inexact) for o in outs]
        given = [_conjugate(c) if d else None for c, d in zip(given, flags)]
        found = entry.op.gradient(list(arrays), outs, given, *entry.attributes())
        found = iter(found if isinstance(found, (tuple, list)) else (found,))
        return tuple(
            _conjugate(_fit(entry.op.name, g, a))
            if jnp.issubdtype(a.dtype, jnp.inexact)
            else np.zeros(a.shape, jax.dtypes.float0)
            for g, a in zip(found, arrays)
        )

    call.defvjp(forward, backward)
    return call


def _conjugate(array: Any) -> Any:
    """Between JAX's convention for gradients of complex numbers and the official one."""
    return jnp.conj(array) if jnp.iscomplexobj(array) else array


def _run_and_keep(
    operator: Operator, entry: Any, arrays: list, mask: int, offset: int, environment: Environment
) -> tuple:
    """Run an operator whose gradient is wanted later in the same trace, and keep the closure of jax.vjp."""
    positions = [i + offset for i in range(len(operator.inputs)) if mask >> i & 1]

    def forward(*chosen):
        full = list(arrays)
        for i, value in zip(positions, chosen):
            full[i] = value
        out = _traced_once(operator, entry)(*full)
        return _differentiable_part(out), out

    part, vjp, out = jax.vjp(forward, *(arrays[i] for i in positions), has_aux=True)
    environment.vjps[operator] = (mask, vjp, [(o.shape, o.dtype) for o in part])
    return out if operator.several else (out,)


def _pull(saved: tuple, operator: Pullback, arrays: list) -> tuple:
    _, vjp, specs = saved
    given = iter(arrays[len(operator.forward.inputs) :])
    cotangents = [next(given) if p else None for p in operator.present]
    flags = [jnp.issubdtype(v.dtype, jnp.inexact) for v in operator.forward.outputs]
    aligned = [c for c, d in zip(cotangents, flags) if d]
    outs = [jax.ShapeDtypeStruct(*s) for s in specs]
    return _apply_vjp(vjp, outs, aligned)


def run_block(block: Block, arrays: dict[Value, Any], words: Any = None) -> list:
    """The outputs of a block; `arrays` has its inputs and what it reads from outside."""
    environment = Environment(dict(arrays), words)
    execute(block.operators, environment)
    return [environment.arrays[v] for v in block.outputs]


# ---- whole graphs ----


def check_closed(operators: list[Operator], given: Iterable[Value], wanted: Iterable[Value]) -> None:
    """ValueError when operators read, or a caller wants, what is neither given nor the result of an operator."""
    defined = set(given)
    for operator in operators:
        for value in operator.reads():
            if value not in defined:
                raise _foreign(
                    value, f", which {operator.name} reads" + (f" ({operator.line})" if operator.line else "")
                )
        defined.update(operator.outputs)
    for value in wanted:
        if value not in defined:
            raise _foreign(value, "")


def _foreign(value: Value, reader: str) -> Exception:
    return errors.ValueError_(
        f"the program has no variable {value!r}{reader}: it belongs to another program, to the inside of a branch or a "
        "loop, or another input has taken its name"
    )


def is_host(operator: Operator) -> bool:
    """Whether an operator cannot be part of an executable."""
    kernel = _forward(operator).kernel
    return isinstance(kernel, HostKernel) or bool(getattr(kernel, "on_host", False))


def meshes(operators: Iterable[Operator]) -> set:
    """The meshes of processes with which operators communicate."""
    found = set()
    for operator in operators:
        kernel = _forward(operator).kernel
        if kernel.mesh is not None:
            found.add(kernel.mesh)
        for block in getattr(kernel, "blocks", ()):
            found |= meshes(block.operators)
    return found


def the_mesh(operators: Iterable[Operator]) -> Any:
    """The one mesh of operators that are compiled together, None where they do not communicate."""
    found = meshes(operators)
    if len(found) > 1:
        raise errors.NotImplemented_("operators of one executable that communicate with several groups of processes")
    return next(iter(found), None)


def named(name: str, function: Callable) -> Callable:
    """The function under a name that the compile log shows."""

    def call(*args):
        return function(*args)

    call.__name__ = call.__qualname__ = name
    return call


class Segment:
    """Operators that are compiled together: a function from the values that they read to those that are read later."""

    def __init__(self, operators: list[Operator], later: set[Value]):
        self.operators = operators
        self.reads = read_from_outside(operators)
        self.gives = [v for o in operators for v in o.outputs if v in later]
        self.random = any(o.tick is not None or getattr(o.kernel, "random_inside", False) for o in operators)
        self.fixed = [i for i, v in enumerate(self.reads) if v.known is not None]
        self.mesh = the_mesh(operators)
        self._jit = jax.jit(named("program_part", self._call), static_argnums=(2,))
        self._over_mesh: dict[tuple, OverMesh] = {}

    def run(self, arrays: list, words: Any) -> list:
        """What it gives. Values that follow from shapes are part of the key of the executable: attributes may need them."""
        fixed = tuple([(a.shape, a.dtype.str, a.tobytes()) for a in (np.asarray(arrays[i]) for i in self.fixed)])
        for i in self.fixed:
            arrays[i] = None
        if self.mesh is None:
            return self._jit(arrays, words, fixed)
        if fixed not in self._over_mesh:
            call = named("program_part", lambda arrays, words: self._call(arrays, words, fixed))
            self._over_mesh[fixed] = OverMesh(call, self.mesh)
        return self._over_mesh[fixed](arrays, words)

    def _call(self, arrays: list, words: Any, fixed: tuple) -> list:
        for i, (shape, dtype, elements) in zip(self.fixed, fixed):
            arrays[i] = np.frombuffer(elements, dtype).reshape(shape)
        environment = Environment(dict(zip(self.reads, arrays)), words)
        execute(self.operators, environment)
        return [environment.arrays[v] for v in self.gives]


class Executable:
    """A graph compiled for a list of values to fetch.

    Args:
        graph: what runs.
        fetches: the values that a run gives.
        updates: also give the new values of the states.
    """

    def __init__(self, graph: Graph, fetches: list[Value], updates: bool = True):
        self.graph = graph
        self.fetches = list(fetches)
        self.operators = graph.kept(fetches, updates)
        self.updates = {n: s.update for n, s in graph.states.items() if updates and s.update is not None}
        needed = {v for o in self.operators for v in o.reads()} | set(self.fetches) | set(self.updates.values())
        self.inputs = {n: v for n, v in graph.inputs.items() if v in needed}
        self.states = {n: s for n, s in graph.states.items() if s.value in needed}
        check_closed(self.operators, {*self.inputs.values(), *(s.value for s in self.states.values())}, needed)
        self.ticks = graph.ticks
        self.on_host = any(is_host(o) for o in self.operators) or len(meshes(self.operators)) > 1
        self._segments: list[Any] | None = None
        self.mesh = None if self.on_host else the_mesh(self.operators)
        self._jit = compiled(named("program", channels_last_inside(self.operators, self._call)), self.mesh, (0,))
        self.ahead = Ahead()

    # ---- as one executable ----
    def _call(self, changing: dict, constant: dict, feeds: dict, words: Any) -> tuple:
        arrays = {self.graph.states[n].value: a for n, a in (*changing.items(), *constant.items())}
        arrays.update((self.graph.inputs[n], a) for n, a in feeds.items())
        environment = Environment(arrays, words)
        execute(self.operators, environment)
        found = environment.arrays
        return [jnp.asarray(found[v]) for v in self.fetches], {
            n: jnp.asarray(found[v]) for n, v in self.updates.items()
        }

    def run(
        self, feeds: dict[str, Any], states: dict[str, Any], words: Any, donate: Collection[str] = ()
    ) -> tuple[list, dict]:
        """(fetched arrays, new arrays of the states that changed); the old arrays of the states in `donate` that change
        may be overwritten."""
        if not self.on_host:
            arguments = self._arguments(feeds, states, words, donate)
            ready = self.ahead.get(feeds, donate)
            if ready is not None:
                try:
                    return ready(*arguments)
                except (TypeError, ValueError):  # arrays that lie on another device
                    pass
            try:
                return self._jit(*arguments)
            except NeedsHost:
                self.on_host = True
        return self._run_in_pieces(feeds, states, words)

    def _arguments(self, feeds: dict, states: dict, words: Any, donate: Collection[str]) -> tuple:
        changing = {n: states[n] for n in self.updates if n in donate and n in self.states}
        return changing, {n: a for n, a in states.items() if n not in changing}, feeds, words

    def compile(
        self,
        feeds: dict[str, Any],
        states: dict[str, Any],
        words: Any,
        donate: Collection[str] = (),
        background: bool = False,
    ) -> threading.Thread | None:
        """Compile for arguments like these, arrays or `jax.ShapeDtypeStruct`s, so that `run` need not; in a thread, which
        is returned, with `background`.

        Raises:
            NotImplementedError: an operator runs on the host, between executables that depend on what it gives.
        """
        on_host = next((o for o in self.operators if needs_host(o)), None)
        if on_host is not None:
            raise errors.NotImplemented_(
                f"a program cannot be compiled ahead: its operator {on_host.name} runs on the host, and what it gives "
                "decides what is compiled"
            )
        if self.mesh is not None:  # when all processes are there
            return None
        arguments = self._arguments(feeds, states, words, donate)
        return self.ahead.start(feeds, donate, lambda: self._jit.lower(*arguments).compile(), background)

    # ---- in pieces ----
    def _run_in_pieces(self, feeds: dict, states: dict, words: Any) -> tuple[list, dict]:
        arrays: dict[Value, Any] = {self.graph.states[n].value: a for n, a in states.items()}
        arrays.update((self.graph.inputs[n], a) for n, a in feeds.items())
        environment = Environment(arrays, words)
        if self._segments is None:
            self._segments = pieces(self.operators, {*self.fetches, *self.updates.values()})
        for piece in self._segments:
            if isinstance(piece, Segment):
                found = piece.run([arrays[v] for v in piece.reads], words if piece.random else None)
                arrays.update(zip(piece.gives, found))
            else:
                run_on_host(piece, environment)
        return (
            [jnp.asarray(arrays[v]) for v in self.fetches],
            {n: jnp.asarray(arrays[v]) for n, v in self.updates.items()},
        )


def needs_host(operator: Operator) -> bool:
    """Whether an operator must run between executables: by its kind, or because an attribute depends on data."""
    return is_host(operator) or operator.open and reads_elements(_forward(operator))


def pieces(operators: list[Operator], wanted: set[Value]) -> list[Any]:
    """Operators as Segments and single host operators, in order."""
    groups: list[Any] = []
    inside: set = set()  # the meshes of the last group
    for operator in operators:
        own = meshes([operator])
        if needs_host(operator):
            groups.append(operator)
        elif groups and isinstance(groups[-1], list) and len(inside | own) < 2:
            groups[-1].append(operator)
            inside |= own
        else:
            groups.append([operator])
            inside = own
    later = set(wanted)
    found: list[Any] = []
    for group in reversed(groups):
        found.append(Segment(group, later) if isinstance(group, list) else group)
        for operator in group if isinstance(group, list) else [group]:
            later.update(operator.reads())
    return found[::-1]


def run_on_host(operator: Operator, environment: Environment) -> None:
    """Run one operator with arrays that have elements."""
    if isinstance(operator, Pullback) and is_host(operator):
        from .interpret import pull_on_host

        environment.define(operator, pull_on_host(operator, environment))
        return
    kernel = operator.kernel
    entry = operator.entry(environment.read, environment.lengths)
    arrays = environment.inputs(operator)
    if isinstance(kernel, HostKernel):
        tensors = [_make(jnp.asarray(a)) if hasattr(a, "shape") else a for a in arrays]
        with set_mode(program=None, grad=False):
            out = kernel.fn(*entry.arguments(tensors))
        outs = out if isinstance(out, (tuple, list)) else (out,)
        environment.define(operator, [o._value if isinstance(o, Tensor) else jnp.asarray(o) for o in outs])
        return
    run_kernel: Callable | None = getattr(kernel, "run_on_host", None)
    if run_kernel is not None:
        environment.define(operator, run_kernel(operator, environment))
        return
    if operator.tick is not None:
        arrays.insert(0, environment.tick(operator.tick))
    out = entry.run(*arrays)
    environment.define(operator, out if operator.several else (out,))
