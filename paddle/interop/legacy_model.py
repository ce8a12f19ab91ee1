"""Models of the official package in the legacy format, ProgramDesc and parameter files, as graphs of operators."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor, _make
from ..engine.value import Value, trial_shapes
from ..ir.program import Graph
from ..ir.record import Recorder
from ..ops.creation import to_tensor
from . import params, programdesc
from .programdesc import BlockDesc, OpDesc, ProgramDesc

MAIN_SLOTS = ("Out", "Output", "Y", "out", "y", "Hidden", "OutputBox", "Loss")
_DEEPEST = 64  # blocks inside blocks
_ENDS = ("feed", "fetch", "fetch_v2")
# what damaged attributes make of Python code
_UNFIT = (
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ZeroDivisionError,
    OverflowError,
    AssertionError,
    MemoryError,
)


class Scope(collections.ChainMap):
    """Tensors by the names of variables: what a block defines, then what the blocks around it did."""


class Translation:
    """Runs the translators over the operators of a program.

    Args:
        program: what is translated.
        states: the tensors of the persistable variables by name.
    """

    def __init__(self, program: ProgramDesc, states: Mapping[str, Tensor]):
        self.program = program
        self.states = states
        self.current: BlockDesc = program.blocks[0]
        self.selections: dict = {}
        self.depth = 0

    def run_block(self, index: int, scope: Scope) -> None:
        if not 0 <= index < len(self.program.blocks):
            raise errors.ValueError_(f"the model has no block {index}")
        if self.depth == _DEEPEST:
            raise errors.ValueError_(f"the model nests more than {_DEEPEST} blocks")
        outer, self.current = self.current, self.program.blocks[index]
        self.depth += 1
        try:
            for op in self.current.operators:
                self.run_operator(op, scope)
        finally:
            self.current = outer
            self.depth -= 1

    def run_operator(self, op: OpDesc, scope: Scope) -> None:
        from .legacy import TRANSLATORS, Call

        translator = TRANSLATORS.get(op.type)
        if translator is None:
            raise NotImplementedError(f"the operator {op.type!r} of legacy models")
        try:
            try:
                found = translator(Call(op, scope, self))
            except _UNFIT as e:
                raise errors.ValueError_(
                    f"{op.type}: its inputs and attributes do not fit together ({type(e).__name__}: {e})"
                ) from e
        except Exception as e:
            if not getattr(e, "_placed", False):
                e._placed = True  # type: ignore[attr-defined]
                e.add_note(f"while reading the operator {op.type} that gives {_first_name(op)!r}")
            raise
        self._define(op, found, scope)

    def _define(self, op: OpDesc, found: Any, scope: Scope) -> None:
        if not isinstance(found, dict):
            slot = next((s for s in MAIN_SLOTS if op.outputs.get(s)), None)
            if slot is None:
                return
            found = {slot: found}
        for slot, result in found.items():
            names = op.outputs.get(slot, [])
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            if len(names) == 1 and len(results) != 1:  # an array of tensors
                results = [results]
            for name, value in zip(names, results):
                self.write(name, value, scope)

    def write(self, name: str, value: Any, scope: Scope) -> None:
        """Give a variable its value; a state is overwritten, as runs of the program do."""
        state = self.states.get(name)
        if state is None or value is state or not isinstance(value, Tensor):
            scope[name] = value
        elif scope.get(name) is state and tuple(value.shape) == tuple(state.shape):
            state._rebind(value.cast(state.dtype))
        else:
            scope[name] = value


def _first_name(op: OpDesc) -> str:
    return next((n for names in op.outputs.values() for n in names), "")


def _column(op: OpDesc, default: int) -> int:
    """The place of a feed or fetch among its kind."""
    found = op.attributes.get("col", default)
    if not isinstance(found, int):
        raise errors.ValueError_(f"{op.type}: the attribute col must be a number, got {found!r}")
    return found


class LegacyModel:
    """A legacy model: its program and parameters.

    Args:
        model: the bytes of a `.pdmodel` or `__model__` file.
        arrays: the parameters: the bytes of a combined file, a folder with one file for each, or arrays by name.

    Raises:
        ValueError: a file is damaged, or they do not belong together.
    """

    def __init__(self, model: bytes, arrays: bytes | str | Path | Mapping[str, Any] | None):
        self.program = programdesc.parse(model)
        described = self.program.persistables()
        names = [v.name for v in described]
        if arrays is None:
            arrays = {} if names else b""
        if isinstance(arrays, (bytes, bytearray, memoryview)):
            found = params.read_combined(arrays, names)
        elif isinstance(arrays, (str, Path)):
            found = params.read_folder(arrays, names)
        else:
            missing = [n for n in names if n not in arrays]
            if missing:
                raise errors.ValueError_(f"the parameters {', '.join(map(repr, missing[:5]))} of the model are missing")
            found = {n: np.asarray(arrays[n]) for n in names}
        params.check(found, described)
        self.states = {}
        for name, array in found.items():
            tensor = to_tensor(array)
            tensor.name = name
            self.states[name] = tensor

    # ---- what goes in and out ----
    def feeds(self) -> list[programdesc.VarDesc]:
        """The variables that are fed, in order."""
        block = self.program.blocks[0]
        found = {}
        for op in block.operators:
            if op.type == "feed":
                for name in op.outputs.get("Out", ()):
                    variable = block.variables.get(name)
                    if variable is None or variable.dtype is None:
                        raise errors.ValueError_(f"the model feeds {name!r}, which it does not describe")
                    found[_column(op, len(found))] = variable
        return [found[k] for k in sorted(found)]

    def fetches(self) -> list[str]:
        """The names of the variables that are fetched, in order."""
        found = {}
        for op in self.program.blocks[0].operators:
            if op.type in _ENDS[1:]:
                for name in op.inputs.get("X", ()):
                    found[_column(op, len(found))] = name
        return [found[k] for k in sorted(found)]

    def operators(self) -> list[OpDesc]:
        """The operators of the program that the fetched variables or the states depend on, in order."""
        needed = set(self.fetches())
        kept = []
        for op in reversed(self.program.blocks[0].operators):
            written = {n for names in op.outputs.values() for n in names}
            if op.type in _ENDS or not (written & needed or written & self.states.keys()):
                continue
            kept.append(op)
            needed.update(op.reads())
            for inner in self._inside(op):
                needed.update(inner.reads())
        return kept[::-1]

    def _inside(self, op: OpDesc) -> list[OpDesc]:
        """The operators of the blocks of a branch or a loop, and of those inside."""
        found: list[OpDesc] = []
        waiting, seen = [op], set()
        while waiting:
            index = waiting.pop().attributes.get("sub_block")
            if isinstance(index, int) and 0 <= index < len(self.program.blocks) and index not in seen:
                seen.add(index)
                found += self.program.blocks[index].operators
                waiting += self.program.blocks[index].operators
        return found

    def unknown_operators(self) -> list[str]:
        """The types of operators that are needed and have no translator."""
        from .legacy import TRANSLATORS

        used = {inner.type for op in self.operators() for inner in (op, *self._inside(op))}
        return sorted(used - {*TRANSLATORS, *_ENDS})

    # ---- translation ----
    def graph(self, shapes: Mapping[str, Iterable[int]] | None = None) -> tuple[Graph, list[str], list[Value]]:
        """(the graph, the names that are fed, the values that are fetched).

        Args:
            shapes: shapes of feeds to use instead of those in the model, where unknown lengths are -1. A model that does
                not fit unknown lengths can be read again for the shapes that come.

        Raises:
            NotImplementedError: an operator has no translator, named.
            ValueError: the operators do not fit together.
        """
        self._check_operators()
        graph = Graph()
        recorder = Recorder(graph, static=False)
        scope = Scope(dict(self.states))
        with recorder:
            for variable in self.feeds():
                shape = tuple((shapes or {}).get(variable.name, variable.shape))
                trials = trial_shapes(shape)
                value = Value(variable.name, trials, params.numpy_dtype(variable.dtype))
                graph.inputs[variable.name] = value
                scope[variable.name] = _make(value)
            self._run(scope)
            values = [recorder.value_of(self._fetched(scope, name)) for name in self.fetches()]
        recorder.restore()
        graph.output_names = self.fetches()
        return graph, list(graph.inputs), values

    def run(self, feeds: Mapping[str, Any]) -> list[Tensor]:
        """The fetched tensors, computed operator by operator: for models whose control flow cannot be compiled."""
        self._check_operators()
        scope = Scope(dict(self.states))
        for variable in self.feeds():
            if variable.name not in feeds:
                raise errors.ValueError_(f"the model needs the input {variable.name!r}")
            scope[variable.name] = to_tensor(feeds[variable.name], dtype=variable.dtype)
        self._run(scope)
        return [self._fetched(scope, name) for name in self.fetches()]

    def _check_operators(self) -> None:
        unknown = self.unknown_operators()
        if unknown:
            raise NotImplementedError(f"the operators {', '.join(unknown)} of legacy models")

    def _run(self, scope: Scope) -> None:
        translation = Translation(self.program, self.states)
        for op in self.operators():
            translation.run_operator(op, scope)

    @staticmethod
    def _fetched(scope: Scope, name: str) -> Tensor:
        found = scope.get(name)
        if not isinstance(found, Tensor):
            raise errors.ValueError_(f"the model fetches {name!r}, which no operator defines")
        return found


def read_legacy_model(
    model: bytes,
    arrays: bytes | str | Path | Mapping[str, Any] | None,
    shapes: Mapping[str, Iterable[int]] | None = None,
) -> tuple[Graph, list[str], list[Value]]:
    """A legacy model as (graph, names that are fed, values that are fetched); see `LegacyModel`."""
    return LegacyModel(model, arrays).graph(shapes)


def read_legacy_folder(folder: str | Path, model: str | None = None, parameters: str | None = None) -> LegacyModel:
    """The model of a folder: `__model__` (or `model`), with `__params__` (or `parameters`) or one file a parameter.

    Raises:
        ValueError: files are missing or damaged.
    """
    folder = Path(folder)
    path = folder / (model or "__model__")
    if not path.is_file():
        raise errors.ValueError_(f"the folder {folder} has no model file {path.name!r}")
    combined = folder / (parameters or "__params__")
    if combined.is_file():
        return LegacyModel(path.read_bytes(), combined.read_bytes())
    if parameters is not None:
        raise errors.ValueError_(f"the folder {folder} has no parameter file {parameters!r}")
    return LegacyModel(path.read_bytes(), folder)
