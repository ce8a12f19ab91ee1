"""Programs as models of ONNX.

An operator of ours has a row in `ROWS` where ONNX has the same as one node, or as few; all others are traced and written
primitive by primitive (`primitives`). What has no translation is collected, and named all together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from ..engine import errors
from ..engine.executable import Static
from ..engine.value import Held, Value
from ..ir.control_flow import Branches, Loop
from ..ir.open_lengths import is_open as has_open_lengths
from ..ir.open_lengths import lengths_of
from ..ir.passes import apply
from ..ir.program import Graph, Operator, Pullback, _close, _shown, parameter_names
from ..ir.record import HostKernel, compute, traced_once
from ..ir.run import Environment
from .primitives import inline
from .writer import Ref, Unsupported, Writer

__all__ = ["OLDEST", "ROWS", "Converter", "row", "to_onnx"]

OLDEST, DEFAULT = 13, 17  # versions of the operator set
ROWS: dict[str, Callable] = {}


def row(*names: str) -> Callable:
    """Make a function (converter, arguments by name) the translation of operators of ours. It returns the name of the
    result, a list of names, or NotImplemented where the operator is to be traced after all."""

    def add(function: Callable) -> Callable:
        for name in names:
            ROWS[name] = function
        return function

    return add


class _Data(Exception):
    """An attribute depends on data."""


class _Known(Environment):
    """What is known of values without running: shapes, and the elements of those that follow from shapes."""

    def read(self, value: Value) -> Any:
        array = self.arrays[value]
        if not isinstance(array, np.ndarray):
            raise _Data
        return array.tolist()


class Converter(Writer):
    """A Writer that knows what stands for the values of a program.

    Attributes:
        refs: tensors of the model by values.
        known: shapes of values, or elements where these follow from shapes.
        operator: the one that is being written.
        missing: operators without translation, each with the reason.
        read: the values that somebody reads.
    """

    def __init__(self, opset: int):
        super().__init__(opset)
        self.refs: dict[Value, Ref] = {}
        self.known = _Known({})
        self.operator: Any = None
        self.missing: list[tuple[Operator, str]] = []
        self.read: set[Value] = set()  # what somebody reads

    # ---- values ----
    def ref(self, x: Any, dtype: Any = None) -> Ref:
        """What stands for a value, an array or a number; in another type where `dtype` is given."""
        if isinstance(x, Held):
            x = x.value
        if isinstance(x, Value):
            if x not in self.refs:
                self.refs[x] = self._elements(self.known.arrays[x], x)
            x = self.refs[x]
        elif isinstance(x, (bool, int, float, complex, np.ndarray, np.generic, jax.Array)):
            return self.constant(np.asarray(x), dtype)
        elif not isinstance(x, str):  # an open length
            x = Ref(self.scalar(x), (), np.int64)
        return x if dtype is None else self.cast(x, dtype)

    def _elements(self, array: Any, value: Value) -> Ref:
        """Numbers that follow from shapes as a tensor."""
        if not isinstance(array, np.ndarray):
            raise Unsupported(f"the value {value.name}, which nothing computes")
        if array.dtype != object:
            return self.constant(array.astype(value.dtype))
        made = self.reshape(self.shape_of(list(array.flat)), [array.size], array.shape)
        return self.cast(Ref(made, array.shape, np.int64), value.dtype)

    def define(self, value: Value, ref: Any, shape: tuple) -> None:
        self.refs[value] = self.know(Ref(str(ref), shape, value.dtype))
        self.known.arrays[value] = jax.ShapeDtypeStruct(shape, value.dtype)

    def shape(self, value: Value) -> tuple:
        """The shape of a value, with expressions."""
        return tuple(self.known.arrays[value].shape)

    def inside(self, body: Callable[[], list]) -> Callable[[], list]:
        """The body of a subgraph: what it defines is not seen outside."""

        def run() -> list:
            refs, arrays = self.refs, self.known.arrays
            self.refs, self.known.arrays = dict(refs), dict(arrays)
            try:
                return body()
            finally:
                self.refs, self.known.arrays = refs, arrays

        return run

    # ---- operators ----
    def write(self, operators: Iterable[Operator]) -> None:
        for operator in operators:
            if operator.known and self._find_out(operator):
                continue
            kept = len(self.nodes), self.operator
            self.operator = operator
            try:
                self._write(operator)
            except Unsupported as e:
                del self.nodes[kept[0] :]
                self.missing.append((operator, str(e)))
                for value in operator.outputs:
                    self.define(value, self.name("missing"), self._open_shape(value))
            self.operator = kept[1]

    def _find_out(self, operator: Operator) -> bool:
        """Whether the results follow from shapes; they are then known and nothing is written."""
        arrays = [self.known.arrays[x] if isinstance(x, Value) else x for x in operator.inputs]
        if not operator.kernel.shape_only and any(isinstance(a, jax.ShapeDtypeStruct) for a in arrays):
            return False
        try:
            if has_open_lengths(operator, arrays, self.known):
                found = lengths_of(operator, arrays, self.known)
            else:
                entry = operator.entry(self.known.read, self.known.lengths)
                found = compute(entry, arrays, operator.kernel.shape_only)
        except _Data:
            return False
        if found is None:
            return False
        self.known.define(operator, [np.asarray(f) for f in found])
        return True

    def _write(self, operator: Operator) -> None:
        if isinstance(operator, Pullback):
            raise Unsupported("it is a gradient")
        outs: Any = NotImplemented
        kind = {Branches: "a branch", Loop: "a loop"}.get(type(operator.kernel), operator.name)
        if kind in ROWS:
            outs = ROWS[kind](self, self.arguments(operator))
        if outs is NotImplemented:
            outs = self.traced(operator)
        outs = outs if isinstance(outs, list) else [outs]
        shapes = self.shapes(operator)
        for value, out, shape in zip(operator.outputs, outs, shapes):
            if out is not None:
                self.define(value, out, shape)

    def arguments(self, operator: Operator) -> SimpleNamespace:
        """The arguments by name: Refs for values, plain attributes; open lengths as expressions, Refs where attributes
        depend on data."""

        def read(value: Value) -> Any:
            array = self.known.arrays[value]
            return array.tolist() if isinstance(array, np.ndarray) else self.ref(value)

        names = parameter_names(operator.kernel, len(operator.key))
        key = [_close(k, read, self.known.lengths) if operator.open else k for k in operator.key]
        source = iter([self.ref(x) if isinstance(x, Value) else x for x in operator.inputs])
        return SimpleNamespace(**{n: _plain(_shown(k, source)) for n, k in zip(names, key)})

    def shapes(self, operator: Operator) -> list[tuple]:
        """The shapes of the results; new symbols where they depend on data or cannot be told."""
        if all(v.is_static for v in operator.outputs):
            return [v.trials[0] for v in operator.outputs]
        try:
            out = jax.eval_shape(self._function(operator), *self._specs(operator))
        except Exception:  # shapes that follow from data, comparisons that hold for some lengths only
            return [self._open_shape(v) for v in operator.outputs]
        return [tuple(o.shape) for o in (out if isinstance(out, (tuple, list)) else (out,))]

    def _open_shape(self, value: Value) -> tuple:
        return self.symbols(self.name("n"), value.shape)

    def _function(self, operator: Operator) -> Callable:
        if isinstance(operator.kernel, HostKernel) or hasattr(operator.kernel, "blocks"):
            raise Unsupported("it runs on the host" if isinstance(operator.kernel, HostKernel) else "its blocks")
        if operator.tick is not None:
            raise Unsupported("it draws random numbers")
        try:
            return traced_once(operator.entry(self.known.read, self.known.lengths))
        except _Data:
            raise Unsupported("an attribute depends on data") from None

    def _specs(self, operator: Operator) -> list:
        return [self._spec(x) for x in operator.inputs]

    def _spec(self, x: Any) -> Any:
        if isinstance(x, Value):
            array = self.known.arrays[x]
            return jax.ShapeDtypeStruct(array.shape, x.dtype)
        return jax.ShapeDtypeStruct(x.shape, x.dtype) if hasattr(x, "shape") else x

    def traced(self, operator: Operator) -> list:
        """The results of an operator, primitive by primitive."""
        function = self._function(operator)
        try:
            closed = jax.make_jaxpr(function)(*self._specs(operator))
        except Unsupported:
            raise
        except Exception as e:
            text = " ".join(str(e).split()) or type(e).__name__
            raise Unsupported(f"its lengths cannot stay open: {text[:200]}") from None
        given = [self._operand(x) for x in operator.inputs]
        return inline(self, closed.jaxpr, closed.consts, given)

    def _operand(self, x: Any) -> Any:
        """An operand for `inline`: small constants as arrays, so that what they decide is known."""
        if not isinstance(x, Value):
            return np.asarray(x)
        found = self.known.arrays[x]
        if isinstance(found, np.ndarray) and found.dtype != object:
            return found.astype(x.dtype)
        return self.ref(x)


def _plain(x: Any) -> Any:
    if isinstance(x, Static):
        return x.value
    if isinstance(x, (jax.Array, np.generic)):
        return np.asarray(x)
    return [_plain(y) for y in x] if isinstance(x, list) else x


# ---- whole programs ----


def to_onnx(
    graph: Graph, feeds: list[str], fetches: list[Value], opset: int = DEFAULT, names: list[str] | None = None
) -> Any:
    """A program for inference as a ModelProto.

    Args:
        graph: with the tensors of its states.
        feeds: the names of the inputs, in order.
        fetches: the values of the outputs.
        opset: the version of the operator set.
        names: of the outputs; by default those of the values.

    Raises:
        NotImplementedError: operators have no translation; the message names all of them with the lines that called them.
        ImportError: the package onnx is missing.
    """
    from . import (  # noqa: F401
        operators_control,
        operators_elementwise,
        operators_network,
        operators_quantized,
        operators_shape,
        primitives_indexing,
    )

    graph = apply(graph, fetches, ["inference", "no_copies", "dead_code"])
    operators = graph.kept(fetches, updates=False)
    failure = None
    for shared in (False, True):  # open lengths: each by itself, or the same for equal axes
        converter = Converter(opset)
        model = _converted(converter, graph, operators, feeds, fetches, shared, names)
        if not converter.missing:
            return model
        failure = failure or converter.missing
        if not any("stay open" in why for _, why in converter.missing):
            break
    raise _refusal(failure or [], opset)


def _converted(
    g: Converter, graph: Graph, operators: list, feeds: list, fetches: list, shared: bool, names: Any
) -> Any:
    inputs, taken = [], set()
    for name in feeds:
        value = graph.inputs[name]
        word = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        word = "axis" if shared else word if word[:1].isalpha() else "x" + word
        g.define(value, g.name(name), g.symbols(word, value.shape))
        inputs.append(g.refs[value])
    needed = _read(operators) | set(fetches)
    for name, state in graph.states.items():
        if state.value not in needed:
            continue
        if state.tensor is None:
            raise errors.ValueError_(f"paddle.onnx: the parameter {name!r} has no value")
        array = np.asarray(state.tensor._value)
        g.refs[state.value] = g.constant(array, name=name)
        g.known.arrays[state.value] = jax.ShapeDtypeStruct(array.shape, array.dtype)
    g.read = needed
    g.write(operators)
    if g.missing:
        return None
    outputs = []
    for i, value in enumerate(fetches):
        ref, wanted = g.ref(value), names[i] if names else value.name
        made = {n for node in g.nodes for n in node.output}
        if ref in taken or ref not in made:  # an input, a constant, or an output already
            ref = Ref(g("Identity", ref), ref.shape, ref.dtype)
        free = wanted not in g._names
        title = wanted if free else g.name(wanted)
        _rename(g.nodes, ref, title)
        taken.add(title)
        g._names.setdefault(title, 0)
        outputs.append(Ref(title, ref.shape, ref.dtype))
        g.refs[value] = outputs[-1]
    return g.model(inputs, outputs, "program")


def _read(operators: Iterable[Operator]) -> set[Value]:
    found: set[Value] = set()
    for operator in operators:
        found.update(operator.reads())
        for block in getattr(operator.kernel, "blocks", ()):
            found |= _read(block.operators) | set(block.outputs)
    return found


def _rename(nodes: Iterable[Any], before: str, after: str) -> None:
    """Give a tensor another name, also where subgraphs read it."""
    for node in nodes:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                if name == before:
                    names[i] = after
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g.node, before, after)


def _refusal(missing: list[tuple[Operator, str]], opset: int) -> Exception:
    told: dict[str, list[str]] = {}
    for operator, why in missing:
        line = f" (called at {operator.line})" if operator.line else ""
        told.setdefault(f"{operator.name}: {why}", []).append(line)
    rows = [f"  {what}{', '.join(dict.fromkeys(lines))}" for what, lines in told.items()]
    return errors.NotImplemented_(
        f"paddle.onnx: {len(missing)} operators of the program have no translation to ONNX, opset {opset}:\n"
        + "\n".join(rows)
    )
