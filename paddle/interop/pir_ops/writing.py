"""What the writers of operators into official model files work with.

A writer takes the `Writing` and the arguments of an operator of ours, and adds operations to the file; what it returns
stands for the operator's results. Operators without an official twin are composed: a function of tensors (`COMPOSED`), whose
recorded operators are written in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from ...engine import errors
from ...engine.tensor import _make
from ...engine.value import Dim, Held, Value
from ...ir.program import Graph, Operator
from ...ir.record import Recorder
from .format import attribute_tree, dtype_name, flags_tree, list_tree, type_tree
from .schema import interface

WRITERS: dict[str, Callable] = {}
COMPOSED: dict[str, Callable] = {}
_FEW = 1024  # elements up to which a constant is part of the program, not of the parameters


def writes(*names: str) -> Callable:
    """Make a function (writing, arguments) the writer of operators of ours."""

    def decorate(function: Callable) -> Callable:
        for name in names:
            WRITERS[name] = function
        return function

    return decorate


def composes(*names: str) -> Callable:
    """Make a function of tensors, whose parameters are named as the operator's, the composition of operators."""

    def decorate(function: Callable) -> Callable:
        for name in names:
            COMPOSED[name] = function
        return function

    return decorate


class Ref:
    """A value of the file: its number and type."""

    __slots__ = ("number", "dtype", "shape", "stop")

    def __init__(self, number: int, dtype: str, shape: tuple, stop: bool = True):
        self.number = number
        self.dtype = dtype
        self.shape = tuple(shape)
        self.stop = stop

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def tree(self) -> dict:
        return {"%": self.number, "TT": type_tree(self.dtype, self.shape)}


class Writing:
    """The operations of the block that is being written, and what stands for our values in the file."""

    def __init__(self) -> None:
        self.operations: list[dict] = []
        self.refs: dict[Value, Ref] = {}
        self.next = 1
        self.regions = 0
        self.arguments = 0
        self.constants: dict[str, np.ndarray] = {}
        self.operator: Any = None
        self.results: list[tuple[str, tuple]] = []

    # ---- values ----
    def new(self, dtype: str, shape: Iterable[int], stop: bool = True) -> Ref:
        number = self.next
        self.next += 1
        return Ref(number, dtype, tuple(int(n) for n in shape), stop)

    def ref(self, x: Any, dtype: str | None = None) -> Ref:
        """What stands for a value, an array or a number; in the type `dtype` when it is given."""
        if isinstance(x, Held):
            x = x.value
        if isinstance(x, Dim):
            found = self.length(x)
        elif isinstance(x, Ref):
            found = x
        elif isinstance(x, Value):
            found = self.refs[x]
        elif isinstance(x, (bool, int, float, complex)):
            return self.full(x, dtype or {bool: "bool", int: "int64"}.get(type(x), "float32"))
        else:
            found = self.constant(np.asarray(x))
        return found if dtype is None or found.dtype == dtype else self.cast(found, dtype)

    def full(self, value: Any, dtype: str, shape: Iterable[int] = (), place: str = "") -> Ref:
        """A constant of one number."""
        if isinstance(value, complex) and dtype.startswith("complex"):
            return self.constant(np.full(tuple(shape), value, dtype))
        if isinstance(value, int) and abs(value) > 2**53:
            return self.constant(np.full(tuple(shape), value, dtype))
        if dtype.startswith(("int", "uint")):
            value = int(value)
        shape = [int(n) for n in shape]
        return self.op("full", results=[(dtype, shape)], shape=shape, value=float(value), dtype=dtype, place=place)[0]

    def constant(self, array: np.ndarray) -> Ref:
        """An array: few numbers stand in the program, more are a parameter."""
        name = dtype_name(array.dtype)
        if array.size <= _FEW and array.dtype.kind in "biuf" and name != "uint8" and not _large(array):
            shape, values = list(array.shape), array.reshape(-1)
            if array.size and (values == values[0]).all():
                return self.full(values[0].item(), name, shape)
            base = self.full(0.0, name, shape)
            return self.op(
                "assign_value_", base, results=[(name, shape)], shape=shape, dtype=name, values=values, place=""
            )[0]
        title = f"constant_{len(self.constants)}"
        self.constants[title] = array
        return self.parameter(title, name, array.shape, False)

    def parameter(self, name: str, dtype: str, shape: Iterable[int], trainable: bool) -> Ref:
        ref = self.new(dtype, shape, not trainable)
        flags = [1, int(not trainable), int(trainable)]
        self.operations.insert(0, {"#": "p", "A": [0, 1, 1, name], "DA": [], "O": ref.tree, "OA": flags, "QA": []})
        return ref

    def cast(self, x: Any, dtype: str) -> Ref:
        x = self.ref(x)
        if x.dtype == dtype:
            return x
        return self.op("cast", x, results=[(dtype, x.shape)], dtype=dtype)[0]

    def reshape(self, x: Any, shape: list[int]) -> Ref:
        x = self.ref(x)
        return self.op("reshape", x, self.ints(shape), results=[(x.dtype, shape)])[0]

    # ---- numbers that are operands ----
    def ints(self, values: Any) -> Ref:
        """A list of ints as an operand; lengths that are not known yet become operations."""
        if isinstance(values, Held):
            return self.cast(values.value, "int64")
        values = [values] if isinstance(values, (int, np.integer)) else list(values)
        if not any(isinstance(v, (Dim, Held, Value, Ref)) for v in values):
            ints = [int(v) for v in values]
            result = [("int64", (len(ints),))]
            return self.op("full_int_array", results=result, value=ints, dtype="int64", place="cpu")[0]
        parts = [self.scalar(v) for v in values]
        return self.op("stack", parts, results=[("int64", (len(parts),))], axis=0)[0]

    def scalar(self, v: Any) -> Ref:
        """An int64 of no dimensions."""
        if isinstance(v, Dim):
            return self.length(v)
        if isinstance(v, (Held, Value, Ref)):
            found = self.ref(v, "int64")
            return found if not found.ndim else self.reshape(found, [])
        return self.full(int(v), "int64", place="cpu")

    def length(self, dim: Dim) -> Ref:
        """An unknown length, computed from shapes."""
        kind, a, b = dim.source
        if kind == "dim":
            x = self.refs.get(a)
            if x is None:
                raise errors.NotImplemented_(
                    f"official model files: the length {dim.source} of a value that is not kept"
                )
            shape = self.op("shape64", x, results=[("int64", (x.ndim,))])[0]
            return self.op(
                "slice", shape, self.ints([b]), self.ints([b + 1]), results=[("int64", ())], axes=[0], infer_flags=[1],
                decrease_axis=[0],
            )[0]  # fmt: skip
        names = {"add": "add", "sub": "subtract", "mul": "multiply", "floordiv": "floor_divide", "mod": "remainder"}
        return self.op(names[kind], self.scalar(a), self.scalar(b), results=[("int64", ())])[0]

    def shape_operand(self, shape: Any) -> Ref:
        """The shape of a reshape: one unknown length may be left to be found out."""
        if isinstance(shape, Held):
            return self.ints(shape)
        shape = list(shape)
        unknown = [i for i, n in enumerate(shape) if isinstance(n, (Dim, Held, Value))]
        if len(unknown) == 1 and not any(type(n) is int and n == -1 for n in shape):
            shape[unknown[0]] = -1
        return self.ints(shape)

    # ---- operations ----
    def op(self, name: str, *operands: Any, results: list | None = None, **attributes: Any) -> list[Ref]:
        """Add an operation; returns what stands for its results.

        Args:
            name: of the operator in `pd_op`.
            operands: Refs, values, lists of them, None for what is absent.
            results: (data type, shape) of each; by default those of the operator that is being written, and what the
                operation gives besides is like the first.
            attributes: those that differ from the defaults.
        """
        table = interface(name)
        assert table is not None, name
        given: list[Any] = []
        for x in operands:
            if isinstance(x, (list, tuple)):
                given.append(self.combine([self.ref(y) for y in x]))
            else:
                given.append(None if x is None else self.ref(x))
        given += [None] * (len(table.operands) - len(given))
        types = list(self.results if results is None else results)[: len(table.results)]
        types += [types[0]] * (len(table.results) - len(types))
        stop = all(r is None or r.stop for r in given)
        outs = [self.new(d, s, stop or not d.startswith(("float", "bfloat", "complex"))) for d, s in types]
        trees = []
        for title, (kind, default) in table.attributes.items():
            value = attributes.pop(title, default)
            if value is None:
                raise errors.NotImplemented_(f"official model files: {name} without {title}")
            trees.append(attribute_tree(title, kind, value))
        assert not attributes, (name, attributes)
        self.add("1." + name, [0 if r is None else r.number for r in given], outs, trees)
        return outs

    def combine(self, refs: list[Ref]) -> Ref:
        out = self.new(refs[0].dtype if refs else "float32", (), all(r.stop for r in refs))
        tree = {"%": out.number, "TT": list_tree([type_tree(r.dtype, r.shape) for r in refs])}
        self.operations.append(
            {"#": "0.combine", "A": [], "I": [{"%": r.number} for r in refs], "O": [tree],
             "OA": [flags_tree("stop_gradient", [out.stop])]}
        )  # fmt: skip
        return out

    def split(self, name: str, *operands: Any, results: list | None = None, before: int = 0, **attributes: Any) -> list:
        """An operation whose result number `before` is a list of the results; the parts are taken out of it."""
        types = self.results if results is None else results
        outs = self.op(name, *operands, results=[types[0]] * (before + 1), **attributes)
        whole = outs[before]
        self.operations[-1]["O"][before]["TT"] = list_tree([type_tree(*t) for t in types])
        parts = [self.new(d, s, whole.stop) for d, s in types]
        self.add("0.split", [whole.number], parts, [])
        return parts if not before else [*outs[:before], *parts]

    def add(self, name: str, operands: list[int], outs: list[Ref], attributes: list, persistable: bool = False) -> dict:
        flags = [flags_tree("persistable", [True] * len(outs))] if persistable else []
        if outs:
            flags.append(flags_tree("stop_gradient", [r.stop for r in outs]))
        tree = {"#": name, "A": attributes, "I": [{"%": n} for n in operands], "O": [r.tree for r in outs], "OA": flags}
        self.operations.append(tree)
        return tree

    # ---- operators of ours ----
    def write(self, operators: Iterable[Operator]) -> None:
        for operator in operators:
            outs = self.translate(operator)
            if len(outs) < len(operator.outputs):
                raise _missing(operator, "not all of its results have an official twin")
            for value, ref in zip(operator.outputs, outs):
                if ref is not None:
                    self.refs[value] = ref

    def translate(self, operator: Operator) -> list:
        from ...ir.program import Pullback

        name = operator.name
        self.operator = operator
        self.results = [(dtype_name(v.dtype), tuple(v.shape)) for v in operator.outputs]
        arguments = operator.arguments()
        if isinstance(operator, Pullback):
            raise _missing(operator, "gradients cannot be part of a model file")
        if name in WRITERS:
            try:
                outs = WRITERS[name](self, SimpleNamespace(**arguments))
            except NotImplementedError as e:
                raise _missing(operator, str(e)) from None
            if outs is not NotImplemented:
                return outs if isinstance(outs, list) else [outs]
        compose = COMPOSED.get(name)
        if compose is None:
            raise _missing(operator, "it has no official twin")
        return self.compose(compose, arguments)

    def compose(self, function: Callable, arguments: dict) -> list:
        """Write what a function of tensors does."""
        graph = Graph()
        with Recorder(graph):
            made = function(**{n: _as_tensor(a) for n, a in arguments.items()})
        made = list(made) if isinstance(made, (list, tuple)) else [made]
        for state in graph.states.values():
            self.refs[state.value] = self.constant(np.asarray(state.tensor._value))  # type: ignore[union-attr]
        wanted = [None if t is None else t._value for t in made]
        self.write(graph.kept([v for v in wanted if isinstance(v, Value)], updates=False))
        return [None if v is None else self.ref(v) for v in wanted]


def _large(array: np.ndarray) -> bool:
    return array.dtype.kind in "iu" and array.size > 0 and bool(np.any(np.abs(array.astype(object)) > 2**53))


def _as_tensor(x: Any) -> Any:
    if isinstance(x, Held):
        x = x.value
    if isinstance(x, Value):
        return _make(x)
    if isinstance(x, (np.ndarray, jax.Array)):
        return _make(jax.numpy.asarray(x))
    if isinstance(x, (list, tuple)):
        return type(x)(_as_tensor(y) for y in x)
    return x


def _missing(operator: Operator, why: str) -> NotImplementedError:
    where = f", called at {operator.line}" if operator.line else ""
    why = why.replace("(Unimplemented) ", "")
    if why.startswith("the operator "):
        return errors.NotImplemented_(why)
    return errors.NotImplemented_(
        f"the operator {operator.name}{where} cannot be written to an official model file: {why}"
    )
