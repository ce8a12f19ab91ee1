"""Official `.json` model files, as `paddle.jit.save` and `paddle.static.save_inference_model` of PaddlePaddle 3 write them,
become graphs of operators of the framework.

Each operator of the file is translated into calls of public functions, which a recorder collects; so shapes, gradients
and passes work as for a program that was written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor, _make
from ..engine.value import Value, trial_shapes
from ..ir.program import Graph
from ..ir.record import Recorder
from . import pir_ops
from .params import read_combined
from .pir_ops.format import Node, Region, Type, damaged, parse
from .pir_ops.reading import Call, Slot, fold
from .pir_ops.schema import interface

MAX_OPERATORS = 1_000_000


def read_pir_model(json_bytes: bytes | str, params_bytes: bytes | None) -> tuple[Graph, list[str], list[Value]]:
    """A model of the official package as a graph.

    Args:
        json_bytes: the content of `model.json`.
        params_bytes: the content of `model.pdiparams`; None or empty for a model without parameters.

    Returns:
        the graph, the names of its inputs in order, and the values of its outputs in order. The parameters are states
        of the graph, with their tensors.

    Raises:
        ValueError: the bytes are damaged, or no model of a known version.
        NotImplementedError: the model has an operator that cannot be read; the message names it.
    """
    main = parse(json_bytes)
    reader = _Reader(main, params_bytes)
    try:
        reader.run()
    except NotImplementedError:
        raise
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError, AssertionError) as e:
        raise _explained(e, reader.current) from e
    except (RuntimeError, MemoryError, RecursionError) as e:
        raise _explained(e, reader.current) from e
    return reader.graph, reader.feeds, reader.fetches


def _explained(error: BaseException, name: str) -> Exception:
    text = str(error)
    if isinstance(error, ValueError) and "model file" in text:
        return errors.ValueError_(text.replace("(InvalidArgument) ", ""))
    return errors.ValueError_(f"the model file cannot be read at the operator {name}: {text or type(error).__name__}")


class _Reader:
    def __init__(self, main: Region, params: bytes | None):
        self.main = main
        self.graph = Graph()
        self.recorder = Recorder(self.graph)
        self.feeds: list[str] = []
        self.fetches: list[Value] = []
        self.current = "?"
        self.count = 0
        self.columns: dict[int, Value] = {}
        nodes = [n for n in main.nodes if n.name == "p"]
        names = [n.attributes["name"] for n in nodes]
        if len(set(names)) != len(names):
            raise damaged("two parameters have one name")
        kept = sorted(n.attributes["name"] for n in nodes if n.attributes["persistable"])
        arrays = read_combined(params or b"", kept) if kept or params else {}
        self.parameters: dict[str, Tensor] = {}
        for node in nodes:
            name, trainable = node.attributes["name"], node.attributes["trainable"]
            kind = node.results[0][1]
            if not node.attributes["persistable"]:  # scratch memory: not in the file
                self.parameters[name] = _scratch(name, kind)
                continue
            array = arrays[name]
            if kind is None or array.dtype.name != kind.dtype or not _fits(array.shape, kind.shape):
                raise damaged(
                    f"the parameter {name!r} is {array.dtype.name}{list(array.shape)} in the file of parameters, but "
                    f"{kind and kind.dtype}{list(kind.shape) if kind else ''} in the model: they do not belong together"
                )
            self.parameters[name] = _parameter(name, array, trainable)

    def run(self) -> None:
        with self.recorder:
            self.block(self.main, {0: None})
        self.recorder.restore()
        self.fetches = [self.columns[c] for c in sorted(self.columns)]
        if not self.fetches:
            raise damaged("the model has no outputs")
        self.graph.block.operators[:] = self.graph.kept(self.fetches)
        self.graph.changed()

    # ---- blocks ----
    def block(self, region: Region, slots: dict[int, Slot | None]) -> list[Slot]:
        """Translate a block; returns what it yields. `slots` are the values by their numbers."""
        for node in region.nodes:
            self.count += 1
            if self.count > MAX_OPERATORS:
                raise damaged(f"more than {MAX_OPERATORS} operators")
            self.current = node.name
            operands = [self.operand(slots, number, node.name) for number in node.operands]
            if node.name == "2.yield":
                return [s for s in operands if s is not None]
            found = self.node(node, operands, slots)
            for (number, kind), slot in zip(node.results, found):
                slots[number] = slot
                if slot is not None:
                    slot.type = kind
        return []

    @staticmethod
    def operand(slots: dict, number: int, name: str) -> Slot | None:
        if number not in slots:
            raise damaged(f"{name} uses the value {number}, which nothing defines before it")
        return slots[number]

    def node(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        if node.name == "p":
            tensor = self.parameters[node.attributes["name"]]
            return [Slot(tensor)]
        special = _SPECIAL.get(node.name)
        if special is not None:
            return getattr(self, special)(node, operands, slots)
        dialect, _, name = node.name.partition(".")
        known = interface(name)
        translate = pir_ops.READERS.get(name) or pir_ops.READERS.get(name.rstrip("_"))
        if dialect != "1" or known is None or translate is None:
            raise errors.NotImplemented_(f"official model files with the operator {_full_name(node.name)}")
        if len(operands) > len(known.operands) or len(node.results) > len(known.results):
            raise damaged(f"{name} with {len(operands)} operands and {len(node.results)} results")
        call = Call(node, name if name in pir_ops.READERS else name.rstrip("_"), known, operands)
        elements = fold(call)
        if name in pir_ops.LAZY:  # constants: most of them are only read
            made: Callable | None = lambda: translate(call)
            return [Slot(make=made, elements=pir_ops.LAZY[name](call))]
        out = translate(call)
        results = list(out) if isinstance(out, tuple) else [out]
        if len(results) < len(node.results):
            results += [None] * (len(node.results) - len(results))
        found = [_slot(r) for r in results]
        if elements is not None and found[0] is not None:
            found[0].elements = elements
        if name.endswith("_") and name not in _KEEP and node.operands:  # in place: the operand changes, too
            position = known.operands.index("output") if "output" in known.operands else 0
            slots[node.operands[min(position, len(operands) - 1)]] = found[0]
        return found

    # ---- what is no operator of ours ----
    def _data(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        name = node.attributes.get("name")
        kind = node.results[0][1] if len(node.results) == 1 else None
        if not isinstance(name, str) or name in self.graph.inputs or kind is None or kind.dtype is None:
            raise damaged("an input without a name or a type, or with a name that another one has")
        value = Value(name, trial_shapes(kind.shape), _numpy(kind.dtype))
        self.graph.inputs[name] = value
        self.feeds.append(name)
        return [Slot(_make(value))]

    def _fetch(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        column = node.attributes.get("col")
        if len(operands) != 1 or operands[0] is None or type(column) is not int or column in self.columns:
            raise damaged("an output without a value or a place")
        tensor = operands[0].tensor
        if not isinstance(tensor, Tensor):
            raise damaged("an output that is no tensor")
        self.columns[column] = self.recorder.value_of(tensor)
        return [operands[0]]

    def _combine(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        return [Slot(items=operands)]

    def _split(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        if len(operands) != 1 or operands[0] is None or operands[0].items is None:
            raise damaged("builtin.split of what is no list")
        if len(operands[0].items) < len(node.results):
            raise damaged("builtin.split into more parts than there are")
        return operands[0].items

    def _slice(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        index = node.attributes.get("index")
        items = operands[0].items if operands and operands[0] is not None else None
        if items is None or type(index) is not int or not 0 <= index < len(items):
            raise damaged("builtin.slice of what is no list, or outside of it")
        return [items[index]]

    def _if(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        from ..static.nn import cond

        if len(operands) != 1 or operands[0] is None or len(node.regions) != 2:
            raise damaged("a branch without a condition or without its two blocks")

        def branch(region: list[Region]) -> Callable:
            def run() -> Any:
                if len(region) != 1:
                    raise damaged("a branch that is not one block")
                given = [s.tensor for s in self.block(region[0], dict(slots))]
                if len(given) != len(node.results):
                    raise damaged("a branch that yields another number of values than the operation has")
                return given

            return run

        out = cond(operands[0].tensor, *map(branch, node.regions))
        return [_slot(t) for t in (out or ())]

    def _while(self, node: Node, operands: list, slots: dict) -> list[Slot | None]:
        from ..static.nn import while_loop

        if len(node.regions) != 1 or len(node.regions[0]) != 1 or any(s is None for s in operands) or not operands:
            raise damaged("a loop without values or without its block")
        region = node.regions[0][0]
        if len(region.arguments) != len(operands) - 1:
            raise damaged("a loop whose block takes another number of values than it is given")

        def body(condition: Any, *given: Any) -> list:
            inside = dict(slots)
            inside.update((number, Slot(t)) for (number, _), t in zip(region.arguments, given))
            found = [s.tensor for s in self.block(region, inside)]
            if len(found) != len(operands):
                raise damaged("a loop whose block yields another number of values than it takes")
            return found

        out = while_loop(lambda condition, *_: condition.reshape([]), body, [s.tensor for s in operands])
        return [_slot(t) for t in out[1:]]


_KEEP = {"batch_norm_", "sync_batch_norm_", "rnn_"}  # what they change is not the first operand, or only in training
_SPECIAL = {
    "1.data": "_data",
    "1.feed": "_data",
    "1.fetch": "_fetch",
    "0.combine": "_combine",
    "0.split": "_split",
    "0.slice": "_slice",
    "1.if": "_if",
    "1.while": "_while",
}


def _full_name(name: str) -> str:
    dialect, _, rest = name.partition(".")
    return f"{ ({'0': 'builtin', '1': 'pd_op', '2': 'cf'}.get(dialect, dialect)) }.{rest}"


def _slot(result: Any) -> Slot | None:
    if result is None or isinstance(result, Slot):
        return result
    if isinstance(result, (list, tuple)):
        return Slot(items=[_slot(r) for r in result])
    return Slot(result)


def _fits(shape: tuple, declared: tuple) -> bool:
    return len(shape) == len(declared) and all(d in (-1, n) for n, d in zip(shape, declared))


def _numpy(name: str) -> np.dtype:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, None) or name)


def _scratch(name: str, kind: Type | None) -> Tensor:
    if kind is None or kind.dtype is None or any(n < 0 for n in kind.shape) or math.prod(kind.shape) > 1 << 24:
        raise damaged(f"the variable {name!r} has no usable type")
    return _parameter(name, np.zeros(kind.shape, _numpy(kind.dtype)), False)


def _parameter(name: str, array: np.ndarray, trainable: bool) -> Tensor:
    import jax.numpy as jnp

    if trainable and array.dtype.kind not in "biu":
        made: Tensor = Parameter(jnp.asarray(array), name=name, trainable=True)
    else:
        made = _make(jnp.asarray(array))
        made.name = name
    return made
