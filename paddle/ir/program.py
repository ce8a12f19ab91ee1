"""The one intermediate representation: Program, Block, Operator, Value.

A program is a list of operators of the framework, in the order in which they run. An operator is a kernel (see
`engine.executable`), its arguments, and the values it defines; every value is defined once. Operators and values are
never changed after they were made, so programs share them: a clone or a pass makes another list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from ..engine import errors
from ..engine.executable import TENSOR, Entry, Frozen, Gradient, Kernel, Sequence, Static
from ..engine.modes import modes
from ..engine.tensor import Tensor, _make
from ..engine.value import Dim, Held, Value


class Operator:
    """A call of a kernel in a program.

    Attributes:
        kernel: what is called.
        key: the arguments as `dispatch` keys them: attributes, TENSOR where an input stands, Dim and Held where a number
            is known when the program runs.
        inputs: what stands for TENSOR, in order: Values, Python numbers and arrays.
        outputs: the Values that it defines.
        several: whether the kernel returns a tuple.
        tick: the number of the random key that it uses, None for operators that draw nothing.
        line: where the user called it, "file.py:12".
    """

    __slots__ = ("kernel", "key", "inputs", "outputs", "several", "tick", "line", "open", "known")

    def __init__(
        self,
        kernel: Kernel,
        key: tuple,
        inputs: tuple,
        outputs: tuple[Value, ...],
        several: bool = False,
        tick: int | None = None,
        line: str | None = None,
        known: bool = False,
    ):
        self.kernel = kernel
        self.key = key
        self.inputs = inputs
        self.outputs = outputs
        self.several = several
        self.tick = tick
        self.line = line
        self.open = any(_is_open(k) for k in key)
        self.known = known  # the outputs are small integers that follow from shapes: computed while compiling

    @property
    def name(self) -> str:
        return self.kernel.name

    def entry(self, read: Callable | None, lengths: Callable) -> Entry:
        """The kernel with its attributes; `read(value)` gives the elements of a value, `lengths(value)` its shape."""
        if not self.open:
            return self.kernel.entry(*self.key)
        return self.kernel.entry(*[_close(k, read, lengths) for k in self.key])

    def reads(self) -> Iterator[Value]:
        """The values that it needs, those in its attributes included."""
        for x in self.inputs:
            if isinstance(x, Value):
                yield x
        if self.open:
            for k in self.key:
                yield from _values_in(k)

    def replaced(self, **changes: Any) -> Operator:
        """The same call with other attributes of this class."""
        fields = ("kernel", "key", "inputs", "outputs", "several", "tick", "line", "known")
        return type(self)(**{name: changes.get(name, getattr(self, name)) for name in fields})

    def arguments(self) -> dict[str, Any]:
        """The arguments by the names of the kernel's parameters, for reading and printing."""
        names = parameter_names(self.kernel, len(self.key))
        source = iter(self.inputs)
        return {name: _shown(k, source) for name, k in zip(names, self.key)}

    def __repr__(self) -> str:
        from .text import operator_text

        return operator_text(self)


class Pullback(Operator):
    """The gradient of another operator: its inputs are the inputs of `forward`, its outputs where the kernel has a
    gradient of its own, and the cotangents that are present; its outputs the gradients of the inputs in `mask`."""

    __slots__ = ("forward", "mask", "present")

    def __init__(
        self, forward: Operator, mask: int, present: tuple, inputs: tuple, outputs: tuple, line: str | None = None
    ):
        self.forward = forward
        self.mask = mask
        self.present = present
        kernel = Kernel(_no_body, forward.name + "_grad", ("scalar",) * len(inputs), differentiable=True)
        super().__init__(kernel, (TENSOR,) * len(inputs), inputs, outputs, True, forward.tick, line)
        self.open = forward.open

    def entry(self, read: Callable | None, lengths: Callable) -> Entry:
        forward = self.forward.entry(read, lengths)
        differentiable = tuple(is_inexact(v.dtype) for v in self.forward.outputs)
        n = len(self.forward.inputs) + (self.forward.tick is not None)
        gradient = Gradient.whole(forward, self.mask << (self.forward.tick is not None), n, differentiable)
        kernel = gradient.kernel(self.present, gradient.mask)
        return next(iter(kernel.entries.values()))

    @property
    def positions(self) -> list[int]:
        """The inputs of `forward` whose gradients are the outputs."""
        return [i for i in range(len(self.forward.inputs)) if self.mask >> i & 1]

    def reads(self) -> Iterator[Value]:
        yield from super().reads()
        if self.forward.open:
            for k in self.forward.key:
                yield from _values_in(k)

    def replaced(self, **changes: Any) -> Pullback:
        fields = ("forward", "mask", "present", "inputs", "outputs", "line")
        return Pullback(**{name: changes.get(name, getattr(self, name)) for name in fields})


def _no_body(*arrays: Any) -> Any:
    raise NotImplementedError


def is_inexact(dtype: Any) -> bool:
    return jax.numpy.issubdtype(dtype, jax.numpy.inexact)


def parameter_names(kernel: Kernel, n: int) -> tuple[str, ...]:
    signature = getattr(kernel, "signature", None)
    return signature.params if signature is not None else tuple(f"x{i}" for i in range(n))


# ---- attributes that are open until the program runs ----


def _is_open(key: Any) -> bool:
    return next(leaves(key), None) is not None


def leaves(key: Any) -> Iterator[Any]:
    if isinstance(key, (Dim, Held)):
        yield key
    elif type(key) is Static:
        yield from leaves(key.value)
    elif type(key) is Sequence:
        for k in key.items:
            yield from leaves(k)
    elif isinstance(key, (tuple, list)):
        for k in key:
            yield from leaves(k)
    elif isinstance(key, slice):
        for k in (key.start, key.stop, key.step):
            yield from leaves(k)


def _values_in(key: Any) -> Iterator[Value]:
    for leaf in leaves(key):
        if isinstance(leaf, Dim):
            yield from leaf.values()
        else:
            yield leaf.value


def _close(key: Any, read: Callable | None, lengths: Callable) -> Any:
    if isinstance(key, Dim):
        return key.evaluate(lengths)
    if isinstance(key, Held):
        assert read is not None
        return read(key.value)
    if type(key) is Static:
        value = _close(key.value, read, lengths)
        return value if type(value) is int else Static(_flat(value))
    if type(key) is Sequence:
        return Sequence(tuple(_close(k, read, lengths) for k in key.items))
    if type(key) is Frozen:
        return Frozen(_close(k, read, lengths) for k in key)
    if isinstance(key, (tuple, list)):
        return tuple(_close(k, read, lengths) for k in key)
    return key


def _flat(value: Any) -> Any:
    """A list that was read is a tuple in a key."""
    return tuple(_flat(v) for v in value) if isinstance(value, (list, tuple)) else value


def _shown(key: Any, source: Iterator) -> Any:
    if key is TENSOR:
        return next(source)
    if type(key) is Static:
        return key.value
    if type(key) is Sequence:
        return [_shown(k, source) for k in key.items]
    if isinstance(key, Held):
        return key.value
    return key


# ---- blocks and programs ----


def read_from_outside(
    operators: Iterable[Operator], given: Iterable[Value] = (), wanted: Iterable[Value] = ()
) -> list[Value]:
    """What operators read, or a caller wants, that is neither given nor defined by an operator before, in order."""
    defined = set(given)
    found: dict[Value, None] = {}
    for operator in operators:
        found.update((v, None) for v in operator.reads() if v not in defined)
        defined.update(operator.outputs)
    found.update((v, None) for v in wanted if v not in defined)
    return list(found)


class Block:
    """Operators in the order in which they run.

    Attributes:
        operators: the list.
        inputs: for the body of a branch or a loop, the Values that are handed in.
        outputs: the Values that it gives.
    """

    def __init__(self, inputs: Iterable[Value] = (), parent: Block | None = None):
        self.operators: list[Operator] = []
        self.inputs: list[Value] = list(inputs)
        self.outputs: list[Value] = []
        self.parent = parent

    def append(self, operator: Operator, tensors: Iterable[Any]) -> None:
        """Add an operator; `tensors` are its inputs, as tensors where they are tensors."""
        self.operators.append(operator)

    def free(self) -> list[Value]:
        """The values of the surrounding blocks that are read here, in order."""
        return read_from_outside(self.operators, self.inputs, self.outputs)

    def blocks(self) -> Iterator[Block]:
        """The blocks inside, those of branches and loops, depth first."""
        for operator in self.operators:
            for block in getattr(operator.kernel, "blocks", ()):
                yield block
                yield from block.blocks()


class InnerBlock(Block):
    """The body of a branch or a loop while it is recorded.

    Attributes:
        live: tensors through which gradients flow to the values that operators here read.
        uses: (operator, for each input the node of the tape through which gradients flow, or None).
        writes: (slot, content before, content at the end) of what was overwritten in it.
        joined: (tensor, what it was at the end) of those that took over another value and history.
    """

    def __init__(self, inputs: Iterable[Value], parent: Block | None):
        super().__init__(inputs, parent)
        self.inside: set[Value] = set(self.inputs)
        self.live: dict[Value, Tensor] = {}
        self.uses: list[tuple[Operator, list]] = []
        self.writes: list[tuple[Any, Any, Any]] = []
        self.joined: list[tuple] = []

    def append(self, operator: Operator, tensors: Iterable[Any]) -> None:
        if modes.grad and operator.kernel.differentiable:
            nodes = [self.note(value, tensor) for value, tensor in zip(operator.inputs, tensors)]
        else:
            nodes = [None] * len(operator.inputs)
        self.uses.append((operator, nodes))
        self.inside.update(operator.outputs)
        self.operators.append(operator)

    def note(self, value: Any, tensor: Any) -> Any:
        """The node through which gradients flow from this tensor to the value it holds, None when they do not. A tensor
        that was detached and then made a leaf has the value of the original, but not its node."""
        if not isinstance(value, Value) or not isinstance(tensor, Tensor) or tensor._stop or tensor._node is None:
            return None
        node = tensor._node
        if value in self.inside:
            return None if node.is_leaf else node
        known = self.live.get(value)
        if known is None or node.seq < known._node.seq:
            self.live[value] = _make(value, tensor._node, tensor._index, False)
        return node

    def flows(self, value: Any, node: Any, live: dict[Value, Tensor]) -> bool:
        """Whether a node, as `note` gave it, is the one of the value itself; `live` is that of all blocks together."""
        return node is not None and (value in self.inside or node is live[value]._node)


class State:
    """A tensor that lives longer than a run of the program: a parameter, a statistic, a tensor from outside.

    Attributes:
        name: the name in scopes and files.
        value: what stands for it at the start of a run.
        tensor: the tensor that holds it, None when a scope does.
        update: the Value that it has at the end of a run, or None when it does not change.
    """

    __slots__ = ("name", "value", "tensor", "update", "parameter")

    def __init__(self, name: str, value: Value, tensor: Tensor | None = None, parameter: Any = None):
        self.name = name
        self.value = value
        self.tensor = tensor
        self.update: Value | None = None
        self.parameter = parameter  # the Parameter, with its attributes, when it is one

    def copy(self) -> State:
        other = State(self.name, self.value, self.tensor, self.parameter)
        other.update = self.update
        return other


class Graph:
    """A block with what it takes and changes: the part of a program that runs.

    Attributes:
        block: the operators.
        inputs: what is fed, by name.
        states: the State of every tensor that lives longer, by name.
        ticks: how many random keys a run uses.
    """

    def __init__(self) -> None:
        self.block = Block()
        self.inputs: dict[str, Value] = {}
        self.states: dict[str, State] = {}
        self.ticks = 0
        self.output_names: list[str] = []  # of a model from a file that names its outputs
        self.provided: dict[
            str, Callable[[], Any]
        ] = {}  # inputs that are asked for in each run, such as a learning rate
        self.version = 0  # counts changes, for caches of executables

    def changed(self) -> None:
        self.version += 1

    def with_operators(self, operators: list[Operator]) -> Graph:
        """A graph with the same inputs and states, and other operators."""
        other = Graph()
        other.block.operators = operators
        other.block.outputs = list(self.block.outputs)
        other.inputs, other.states = dict(self.inputs), dict(self.states)
        other.provided = dict(self.provided)
        other.ticks = self.ticks
        other.output_names = list(self.output_names)
        return other

    def find(self, name: str) -> Value:
        """The value of a name; the last one when operators defined several. ValueError when there is none."""
        for operator in reversed(self.block.operators):
            for value in operator.outputs:
                if value.name == name:
                    return value
        if name in self.inputs:
            return self.inputs[name]
        if name in self.states:
            return self.states[name].update or self.states[name].value
        raise errors.ValueError_(f"the program has no variable {name!r}")

    def kept(self, wanted: Iterable[Value], updates: bool = True) -> list[Operator]:
        """The operators that the wanted values (and, with `updates`, the updates of states) depend on, in order."""
        needed = set(wanted)
        if updates:
            needed.update(s.update for s in self.states.values() if s.update is not None)
        kept = []
        for operator in reversed(self.block.operators):
            if any(v in needed for v in operator.outputs) or getattr(operator.kernel, "effect", False):
                kept.append(operator)
                needed.update(operator.reads())
        return kept[::-1]
