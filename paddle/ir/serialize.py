"""Programs as JSON, and model files: a program (`.pdmodel`) beside its parameters (`.pdiparams`, the official binary).

Operators are kept by name, so nothing of a file is ever executed that is not an operator of the framework. Reading
treats the file as untrusted: everything is checked, and what does not fit is a ValueError.

The document: `magic`, `version`, `values` ([name, trial shapes, type, known elements or null]; everything else refers
to them by number), `inputs` and `states` by name, `block`, `ticks`, `feeds`, `fetches`. An operator holds its name
(`op`), `kind` (how the kernel is found), `key` (attributes, see `_Writer.key`), `in`, `out`.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..engine import autograd, errors
from ..engine.dtype import DType, to_dtype
from ..engine.executable import TENSOR, Frozen, Kernel, Sequence, Static
from ..engine.op import host_kernel, registry
from ..engine.parameter import Parameter, as_parameter
from ..engine.tensor import Tensor, _make
from ..engine.value import PROBES, Dim, Held, Value
from ..utils.files import atomic_write
from .control_flow import Branches, Loop
from .program import Block, Graph, Operator, Pullback, State
from .record import HostKernel

MAGIC = "paddle-xla program"
VERSION = 1
DEEPEST = 64  # blocks in blocks, lists in lists
_ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod")

# Kernels that are made by neither @op nor @api, by name.
KERNELS: dict[str, Kernel] = {k.name: k for k in (autograd._add, autograd._ones)}
# Families of kernels with attributes of their own: (class, kernel -> JSON, (name, JSON) -> kernel) by name.
FAMILIES: dict[str, tuple[type, Callable[[Any], Any], Callable[[str, Any], Kernel]]] = {}


# ---- writing ----


class _Writer:
    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.values: list = []
        self.operators: dict[Operator, int] = {}
        self.written = 0

    def value(self, value: Value) -> int:
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = len(self.values)
            known = value.known and [_array(k) for k in value.known]
            self.values.append([value.name, [list(map(int, t)) for t in value.trials], value.dtype.name, known])
        return found

    def key(self, key: Any) -> Any:
        """Plain JSON values stand for themselves; everything else is a list that starts with its kind."""
        if key is TENSOR:
            return ["tensor"]
        if isinstance(key, Dim):
            kind, a, b = key.source
            return ["dim", kind, self.value(a) if kind == "dim" else self.key(a), b if kind == "dim" else self.key(b)]
        if key is None or isinstance(key, bool) or key.__class__ in (int, str):
            return key
        if key.__class__ is float:
            return key if math.isfinite(key) else ["float", repr(key)]
        if key.__class__ is complex:
            return ["complex", repr(key.real), repr(key.imag)]
        if isinstance(key, Held):
            return ["held", self.value(key.value)]
        if type(key) is Static:
            return ["static", self.key(key.value)]
        for kind, cls in _CONTAINERS.items():
            if type(key) is cls:
                return [kind, *map(self.key, key.items if cls is Sequence else key)]
        if isinstance(key, slice):
            return ["slice", *map(self.key, (key.start, key.stop, key.step))]
        if key is Ellipsis:
            return ["ellipsis"]
        if isinstance(key, DType):
            return ["dtype", key.name]
        if isinstance(key, (np.dtype, type)) and _is_dtype(key):
            return ["numpy", np.dtype(key).name]
        if isinstance(key, np.generic):
            return self.key(key.item())
        raise errors.NotImplemented_(f"the attribute {errors.describe(key)} cannot be saved")

    def input(self, x: Any) -> Any:
        if isinstance(x, Value):
            return ["value", self.value(x)]
        if hasattr(x, "shape"):
            return ["array", _array(x)]
        return self.key(x)

    def operator(self, operator: Operator) -> dict:
        found: dict[str, Any] = {"op": operator.name, "kind": "op"}
        kernel: Any = operator.kernel
        if isinstance(operator, Pullback):
            forward = self.operators.get(operator.forward)
            found.update(kind="pullback", mask=operator.mask, present=[bool(p) for p in operator.present])
            found["forward"] = self.operator(operator.forward) if forward is None else forward
        elif isinstance(kernel, (Branches, Loop)):
            found["kind"] = "branches" if isinstance(kernel, Branches) else "loop"
            found["blocks"] = [self.block(b) for b in kernel.blocks]
            found["own"] = list(kernel.keys or ()) if isinstance(kernel, Branches) else kernel.shapes_change
            if isinstance(kernel, Branches) and kernel.keys is None:
                found["own"] = None
        elif isinstance(kernel, HostKernel) and host_kernel(kernel.name) is kernel:
            found["kind"] = "host"
        elif registry.get(kernel.name) is not kernel and KERNELS.get(kernel.name) is not kernel:
            family = next((n for n, f in FAMILIES.items() if type(kernel) is f[0]), None)
            if family is None:
                raise errors.NotImplemented_(
                    f"the operator {kernel.name!r} cannot be saved, it is made of Python code ({operator.line})"
                )
            found.update(kind=family, own=FAMILIES[family][1](kernel))
        found["in"] = [self.input(x) for x in operator.inputs]
        found["out"] = [self.value(v) for v in operator.outputs]
        if not isinstance(operator, Pullback):
            found["key"] = [self.key(k) for k in operator.key]
            found.update(several=operator.several, known=operator.known)
        if operator.tick is not None:
            found["tick"] = operator.tick
        return found

    def block(self, block: Block) -> dict:
        inputs = [self.value(v) for v in block.inputs]
        operators = []
        for operator in block.operators:
            operators.append(self.operator(operator))
            self.operators[operator] = self.written
            self.written += 1
        return {"inputs": inputs, "operators": operators, "outputs": [self.value(v) for v in block.outputs]}


_CONTAINERS: dict[str, type] = {"sequence": Sequence, "frozen": Frozen, "tuple": tuple, "list": list}


def _is_dtype(key: Any) -> bool:
    try:
        np.dtype(key)
    except TypeError:
        return False
    return isinstance(key, np.dtype) or issubclass(key, np.generic)


def _array(x: Any) -> list:
    array = np.ascontiguousarray(np.asarray(x))
    return [array.dtype.name, list(np.shape(x)), base64.b64encode(array.tobytes()).decode()]


def to_json(graph: Graph) -> dict:
    """A graph as a JSON document; the arrays of its states are not part of it.

    Raises:
        NotImplementedError: an operator that is made of Python code, such as a PyLayer's.
    """
    return _document(graph)[0]


def _document(graph: Graph) -> tuple[dict, _Writer]:
    writer = _Writer()
    inputs = {name: writer.value(v) for name, v in graph.inputs.items()}
    states = {
        name: {
            "value": writer.value(s.value),
            "parameter": _parameter(s),
            "update": s.update and writer.value(s.update),
        }
        for name, s in graph.states.items()
    }
    block = writer.block(graph.block)
    document = {
        "magic": MAGIC,
        "version": VERSION,
        "ticks": graph.ticks,
        "inputs": inputs,
        "states": states,
        "block": block,
        "values": writer.values,
    }
    return document, writer


def _parameter(state: State) -> dict | None:
    p = state.parameter if isinstance(state.parameter, Parameter) else state.tensor
    return {"trainable": bool(p.trainable)} if isinstance(p, Parameter) else None


# ---- reading ----


class _Reader:
    def __init__(self, document: dict):
        self.values = [self._value(v) for v in _list(document["values"])]
        self.defined: set[Value] = set()
        self.operators: list[Operator] = []
        self.depth = 0

    @staticmethod
    def _value(entry: Any) -> Value:
        name, trials, dtype, known = entry
        _want(isinstance(name, str) and len(name) < 10_000, f"the name {name!r}")
        trials = tuple(_shape(t) for t in _list(trials))
        _want(len(trials) == len(PROBES) and len({len(t) for t in trials}) == 1, f"the shapes of {name!r}")
        found = Value(name, trials, _dtype(dtype))
        if known is not None:
            arrays = tuple(_read_array(k) for k in _list(known))
            fits = len(arrays) == len(PROBES) and all(a.shape == t and a.size <= 4096 for a, t in zip(arrays, trials))
            _want(fits, f"the elements of {name!r}")
            found.known = arrays
        return found

    def value(self, number: Any) -> Value:
        _want(type(number) is int and 0 <= number < len(self.values), f"the value {number!r}")
        return self.values[number]

    def read(self, number: Any) -> Value:
        """A value that is used: it must be there."""
        value = self.value(number)
        _want(value in self.defined, f"{value.name!r} is used before it is defined")
        return value

    def define(self, number: Any) -> Value:
        value = self.value(number)
        _want(value not in self.defined, f"{value.name!r} is defined twice")
        self.defined.add(value)
        return value

    def key(self, entry: Any, depth: int = 0) -> Any:
        _want(depth < DEEPEST, "an attribute is nested too deeply")
        if entry is None or isinstance(entry, (bool, int, float, str)):
            return entry
        kind, *rest = _list(entry)
        if kind == "tensor":
            return TENSOR
        if kind == "dim":
            return self._dim(rest, depth)
        if kind == "held":
            return Held(self.read(rest[0]))
        if kind == "static":
            return Static(self.key(rest[0], depth + 1))
        if kind in _CONTAINERS:
            items = [self.key(x, depth + 1) for x in rest]
            return Sequence(tuple(items)) if kind == "sequence" else _CONTAINERS[kind](items)
        if kind == "slice":
            _want(len(rest) == 3, "a slice")
            return slice(*[self.key(x, depth + 1) for x in rest])
        if kind == "ellipsis":
            return Ellipsis
        if kind == "dtype":
            return to_dtype(_text(rest[0]))
        if kind == "numpy":
            return _dtype(rest[0])
        if kind == "float":
            return float(_text(rest[0]))
        _want(kind == "complex", f"an attribute of kind {kind!r}")
        return complex(float(_text(rest[0])), float(_text(rest[1])))

    def _dim(self, rest: list, depth: int) -> Dim:
        kind, a, b = rest
        if kind == "dim":
            value = self.read(a)
            _want(type(b) is int and 0 <= b < value.ndim, f"an axis of {value.name!r}")
            return Dim(("dim", value, b), tuple(t[b] for t in value.trials))
        _want(kind in _ARITHMETIC, f"the arithmetic {kind!r}")
        a, b = self.key(a, depth + 1), self.key(b, depth + 1)
        _want(all(isinstance(x, int) for x in (a, b)), "lengths")
        plain = Dim(("dim", None, 0), (0,) * len(PROBES))
        made = getattr(a if isinstance(a, Dim) else plain, f"__{kind}__")
        return made(b) if isinstance(a, Dim) else getattr(b, f"__r{kind}__")(a)

    def input(self, entry: Any) -> Any:
        if isinstance(entry, list) and entry and entry[0] == "value":
            return self.read(entry[1])
        if isinstance(entry, list) and entry and entry[0] == "array":
            return _read_array(entry[1])
        found = self.key(entry)
        _want(isinstance(found, (bool, int, float, complex)), "an input")
        return found

    def operator(self, entry: Any, inline: bool = False) -> Operator:
        name, kind = _text(entry["op"]), _text(entry["kind"])
        outputs = [self.value(n) if inline else None for n in _list(entry["out"])]
        inputs = tuple(self.input(x) for x in _list(entry["in"]))
        if kind == "pullback":
            made: Operator = self._pullback(entry, inputs)
        else:
            kernel = self._kernel(kind, name, entry)
            key = tuple(self.key(k) for k in _list(entry["key"]))
            n = len(kernel.roles)
            _want(len(key) == n or kind not in ("op", "host") and len(key) <= n, f"{name} has {len(key)} arguments")
            _want(sum(map(_tensors, key)) == len(inputs), f"the inputs of {name}")
            tick = entry.get("tick")
            _want((tick is not None) == kernel.random, f"the random number of {name}")
            _want(tick is None or type(tick) is int and 0 <= tick < 2**31, f"the random number of {name}")
            made = Operator(
                kernel, key, inputs, (), bool(entry["several"]), tick, entry.get("line"), bool(entry["known"])
            )
        if not inline:
            outputs = [self.define(n) for n in entry["out"]]
        _want(made.several or len(outputs) == 1, f"the results of {name}")
        return made.replaced(outputs=tuple(outputs))

    def _pullback(self, entry: Any, inputs: tuple) -> Pullback:
        forward = entry["forward"]
        if isinstance(forward, dict):
            _want(forward["kind"] != "pullback", "a gradient of a gradient")
            operator = self.operator(forward, True)
        else:
            _want(type(forward) is int and 0 <= forward < len(self.operators), "the operator of a gradient")
            operator = self.operators[forward]
        mask, present = entry["mask"], tuple(bool(p) for p in _list(entry["present"]))
        _want(type(mask) is int and 0 < mask < 1 << len(operator.inputs), "a gradient")
        _want(len(present) == len(operator.outputs), "a gradient")
        own = len(operator.outputs) if operator.kernel.gradient is not None else 0
        _want(len(inputs) == len(operator.inputs) + own + sum(present), "the inputs of a gradient")
        return Pullback(operator, mask, present, inputs, ())

    def _kernel(self, kind: str, name: str, entry: Any) -> Kernel:
        found: Kernel | None = None
        if kind == "op":
            found = registry.get(name) or KERNELS.get(name)
        elif kind == "host":
            found = host_kernel(name)
        elif kind in ("branches", "loop"):
            blocks = [self.block(b) for b in _list(entry["blocks"])]
            return self._control(kind, name, blocks, entry["own"])
        elif kind in FAMILIES:
            found = FAMILIES[kind][2](name, entry["own"])
        if found is None:
            raise errors.NotImplemented_(f"the model has the operator {name!r}, which this version does not know")
        return found

    def _control(self, kind: str, name: str, blocks: list[Block], own: Any) -> Kernel:
        outputs = [b.outputs for b in blocks]
        if kind == "branches":
            _want(own is None or all(type(k) is int for k in _list(own)), "the choices of a branch")
            _want(len(blocks) == 2 if own is None else len(blocks) >= len(own), "the branches")
            same = all([(v.ndim, v.dtype) for v in o] == [(v.ndim, v.dtype) for v in outputs[0]] for o in outputs)
            _want(same, "the results of the branches")
            return Branches(name, blocks, None if own is None else tuple(own))
        _want(len(blocks) == 2 and len(outputs[0]) == 1 and blocks[0].inputs == blocks[1].inputs, "a loop")
        _want(len(outputs[1]) >= len(blocks[1].inputs), "the variables of a loop")
        return Loop(name, *blocks, bool(own))

    def block(self, entry: Any, parent: Block | None = None) -> Block:
        self.depth += 1
        _want(self.depth < DEEPEST, "blocks are nested too deeply")
        outer = set(self.defined)
        block = Block([self._block_input(n) for n in _list(entry["inputs"])], parent)
        for each in _list(entry["operators"]):
            operator = self.operator(each)
            self.operators.append(operator)
            block.operators.append(operator)
        block.outputs = [self.read(n) for n in _list(entry["outputs"])]
        self.defined = outer
        self.depth -= 1
        return block

    def _block_input(self, number: Any) -> Value:
        value = self.value(number)  # both blocks of a loop have the same ones
        self.defined.add(value)
        return value


def _tensors(key: Any) -> int:
    if type(key) is Sequence:
        return sum(map(_tensors, key.items))
    return key is TENSOR


def _want(condition: bool, what: str) -> None:
    if not condition:
        raise errors.ValueError_(f"the model file is damaged: {what}")


def _list(x: Any) -> list:
    _want(isinstance(x, list), "a list is missing")
    return x


def _text(x: Any) -> str:
    _want(isinstance(x, str), "a word is missing")
    return x


def _shape(x: Any) -> tuple[int, ...]:
    shape = tuple(_list(x))
    _want(len(shape) <= 64 and all(type(n) is int and 0 <= n < 2**40 for n in shape), f"the shape {list(shape)}")
    return shape


def _dtype(name: Any) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, _text(name), None) or to_dtype(name).numpy)


def _read_array(entry: Any) -> np.ndarray:
    name, shape, data = entry
    kind, shape, raw = _dtype(name), _shape(shape), base64.b64decode(_text(data), validate=True)
    _want(math.prod(shape) * kind.itemsize == len(raw), "the elements of a constant")
    return np.frombuffer(raw, kind).reshape(shape)


def _checked(read: Callable[[], Any]) -> Any:
    """What `read` gives; a ValueError where the file makes it fail in any way."""
    try:
        return read()
    except (ValueError, NotImplementedError) as e:
        if str(e).startswith("("):
            raise
        raise errors.ValueError_(f"the model file is damaged: {e}") from None
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError, AssertionError) as e:
        raise errors.ValueError_(f"the model file is damaged: {type(e).__name__}: {e}") from None


def from_json(document: dict) -> Graph:
    """The graph of a document that `to_json` made.

    Raises:
        ValueError: the document is damaged, or of a newer version.
        NotImplementedError: an operator that this version does not know.
    """
    return _checked(lambda: _from_json(document)[0])


def _from_json(document: Any) -> tuple[Graph, _Reader]:
    _want(isinstance(document, dict) and document.get("magic") == MAGIC, "it is no program")
    if document.get("version") != VERSION:
        raise errors.ValueError_(
            f"the model file has version {document.get('version')!r}, this version of the framework reads {VERSION}"
        )
    reader = _Reader(document)
    graph = Graph()
    ticks = document["ticks"]
    _want(type(ticks) is int and 0 <= ticks < 2**31, "the number of random operators")
    graph.ticks = ticks
    for name, number in document["inputs"].items():
        graph.inputs[name] = reader.define(number)
    updates = {}
    for name, entry in document["states"].items():
        state = graph.states[name] = State(name, reader.define(entry["value"]))
        state.parameter = entry["parameter"]
        updates[name] = entry["update"]
    inside = reader.defined
    block = reader.block(document["block"])
    graph.block = block
    inside.update(v for o in block.operators for v in o.outputs)
    reader.defined = inside
    for name, number in updates.items():
        if number is not None:
            graph.states[name].update = reader.read(number)
    return graph, reader


# ---- files ----


def document_of(graph: Graph, feeds: list[str], fetches: list[Value], updates: bool = False, **more: Any) -> dict:
    """The document of a model: `feeds` names its inputs in order, `fetches` are its results; with `updates` it also
    changes its states, such as running statistics."""
    document, writer = _document(_pruned(graph, feeds, fetches, updates))
    return {**document, "feeds": feeds, "fetches": [writer.value(v) for v in fetches], **more}


def _pruned(graph: Graph, feeds: list[str], fetches: list[Value], updates: bool) -> Graph:
    """The part of a graph that a model needs."""
    operators = graph.kept(fetches, updates)
    found = graph.with_operators(operators)
    needed = {v for o in operators for v in o.reads()} | set(fetches)
    if updates:
        needed.update(s.value for s in graph.states.values() if s.update is not None)
    found.inputs = {n: graph.inputs[n] for n in feeds}
    found.states = {n: s.copy() for n, s in graph.states.items() if s.value in needed}
    for state in found.states.values():
        state.update = state.update if updates else None
    found.block.outputs = list(fetches)
    missing = [n for n, v in graph.inputs.items() if v in needed and n not in found.inputs]
    if missing:
        raise errors.ValueError_(f"the results need the input {missing[0]!r}, which is not among the feeds")
    return found


def write_model(
    graph: Graph,
    feeds: list[str],
    fetches: list[Value],
    model_path: str,
    params_path: str,
    updates: bool = False,
    **more: Any,
) -> None:
    """Write a graph and the arrays of its states, each file whole or not at all."""
    from ..interop.params import write_combined

    document = document_of(graph, feeds, fetches, updates, **more)
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    states = {n: graph.states[n].tensor for n in document["states"]}
    arrays = {n: np.asarray(t._value) for n, t in states.items() if t is not None}
    data = write_combined(arrays)
    with atomic_write(params_path) as f:
        f.write(data)
    with atomic_write(model_path) as f:
        f.write(text.encode())


def read_document(data: bytes) -> dict:
    """The document of a model file. ValueError when it is none."""
    try:
        document = json.loads(data, parse_constant=lambda name: _want(False, f"the number {name}"))
    except (ValueError, RecursionError) as e:
        raise errors.ValueError_(f"the model file is damaged: {str(e).removeprefix('(InvalidArgument) ')}") from None
    _want(isinstance(document, dict) and document.get("magic") == MAGIC, "it is no program")
    return document


def read_model(model: bytes, params: Any) -> tuple[Graph, list[str], list[Value]]:
    """The contents of the two files as (graph, names of the inputs, results); its states hold the parameters.

    Raises:
        ValueError: a file is damaged, or they do not belong together.
        NotImplementedError: an operator that this version does not know.
    """
    return model_of(read_document(model), params)


def model_of(document: dict, params: Any) -> tuple[Graph, list[str], list[Value]]:
    from ..interop.params import read_combined

    def read() -> tuple[Graph, list[str], list[Value]]:
        graph, reader = _from_json(document)
        feeds = [_text(n) for n in _list(document["feeds"])]
        _want(all(n in graph.inputs for n in feeds), "its inputs")
        return graph, feeds, [reader.read(n) for n in _list(document["fetches"])]

    graph, feeds, fetches = _checked(read)
    arrays: Any = params if isinstance(params, dict) else read_combined(params or b"", sorted(graph.states))
    for name, state in graph.states.items():
        array = arrays[name]
        value = state.value
        if array.dtype != value.dtype or tuple(array.shape) != tuple(value.trials[0]):
            raise errors.ValueError_(
                f"the parameter {name!r} is {array.dtype.name}{list(array.shape)} in the file of parameters and "
                f"{value.dtype.name}{list(value.trials[0])} in the model: they do not belong together"
            )
        state.tensor = _tensor(name, array, state.parameter)
    return graph, feeds, fetches


def _tensor(name: str, array: np.ndarray, parameter: Any) -> Tensor:
    import jax.numpy as jnp

    made = _make(jnp.asarray(array))
    if parameter is None:
        made._name = name
        return made
    return as_parameter(made, name, bool(parameter.get("trainable", True)) if isinstance(parameter, dict) else True)
