"""From a layer to a module of PyTorch: the programs of both modes, run operator by operator on PyTorch's functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from ..engine import errors
from ..engine.executable import TENSOR, Sequence, Static
from ..engine.tensor import Tensor
from ..engine.value import Dim, Held, Value
from ..ir.passes import apply
from ..ir.program import Operator
from ..jit.saving import program_of
from ..nn.layer import Layer
from ..nn.training_mode import in_mode
from ..static.input_spec import InputSpec
from .package import torch
from .steps import Late, Ref, Step, filled
from .tensors import torch_tensor
from .torch_functions import FUNCTIONS, linear_transposed
from .weights import STATISTICS

__all__ = ["convert_layer", "specs_of"]


class Program:
    """What a layer does in one mode: steps, the places of inputs and states, results, updates of statistics."""

    def __init__(self, graph: Any, feeds: list[str], fetches: list[Value]):
        graph = apply(graph, fetches, ["no_copies", "dead_code"])
        self.operators = graph.kept(fetches)
        self.graph, self.feeds, self.fetches = graph, feeds, fetches
        self.at: dict[Value, Ref] = {}
        self.steps: list[Step] = []
        self.constants: list[Any] = []  # (place, array)
        self.size = 0

    def place(self, value: Value) -> Ref:
        if value not in self.at:
            self.at[value] = Ref(self.size)
            self.size += 1
        return self.at[value]

    def missing(self) -> list[str]:
        """The operators that have no translation."""
        found = []
        for op in self.operators:
            if type(op) is not Operator or op.name not in FUNCTIONS:
                found.append(op.name + (f" (called at {op.line})" if op.line else ""))
        return found

    def build(self, transposed: set[str]) -> None:
        """Make the steps; `transposed` are the states whose values lie the other way round."""
        self.inputs = [self.place(self.graph.inputs[name]).slot for name in self.feeds]
        self.states = {name: self.place(s.value).slot for name, s in self.graph.states.items()}
        kept = {self.graph.states[name].value for name in transposed}
        for op in self.operators:
            source = iter(op.inputs)
            args = [self.argument(k, source) for k in op.key]
            function = linear_transposed if op.name == "linear" and op.inputs[1] in kept else FUNCTIONS[op.name]
            out = self.size
            self.size += 1
            self.steps.append(Step(function, args, {}, out))
            if len(op.outputs) == 1 and not op.several:
                self.at[op.outputs[0]] = Ref(out)
            else:
                for i, value in enumerate(op.outputs):
                    self.steps.append(Step(_item, [Ref(out), i], {}, self.place(value).slot))
        self.results = [self.at[v] for v in self.fetches]
        # batch_norm writes PyTorch's own statistics in place; what else a call changes is written after it
        normal = {v for op in self.operators if op.name == "batch_norm" for v in op.outputs[1:]}
        self.updates = {
            name: self.at[s.update].slot
            for name, s in self.graph.states.items()
            if s.update is not None and s.update in self.at and s.update not in normal
        }

    def argument(self, key: Any, source: Iterator) -> Any:
        """An argument of an operator as data: Refs, numbers, lengths that a call decides."""
        if key is TENSOR:
            return self.operand(next(source))
        if type(key) is Static:
            return self.argument(key.value, source)
        if type(key) is Sequence:
            return [self.argument(k, source) for k in key.items]
        if isinstance(key, Held):
            return Number(self.place(key.value))
        if isinstance(key, Dim):
            return Length(key, {v: self.place(v).slot for v in key.values()})
        if isinstance(key, (tuple, list)):
            return [self.argument(k, source) for k in key]
        if isinstance(key, slice):
            return slice(*[self.argument(k, source) for k in (key.start, key.stop, key.step)])
        return self.operand(key) if isinstance(key, (np.ndarray, jax.Array)) else key

    def operand(self, x: Any) -> Any:
        if isinstance(x, Value):
            return self.place(x)
        if isinstance(x, (np.ndarray, jax.Array, np.generic)):
            array = np.asarray(x)
            if not array.ndim and array.dtype.kind in "biuf":
                return array.item()
            out = Ref(self.size)
            self.size += 1
            self.constants.append((out.slot, array))
            return out
        return x


class Length(Late):
    """A length that the shapes of a call decide."""

    def __init__(self, dim: Dim, slots: dict[Value, int]):
        self.dim, self.slots = dim, slots

    def of(self, values: list) -> Any:
        return self.dim.evaluate(lambda v: values[self.slots[v]].shape)


class Number(Late):
    """The elements of a small tensor of integers, as numbers."""

    def __init__(self, ref: Ref):
        self.ref = ref

    def of(self, values: list) -> Any:
        return values[self.ref.slot].tolist()


def _item(x: Any, i: int) -> Any:
    return x[i]


def convert_layer(layer: Layer, specs: list) -> Any:
    """See `to_torch`; `specs` are the InputSpecs of the positional arguments."""
    programs = {}
    for training in (False, True):
        with in_mode(layer, training):
            programs[training] = Program(*program_of("to_torch", layer, specs))
    missing = dict.fromkeys(m for p in programs.values() for m in p.missing())
    if missing:
        raise errors.NotImplemented_(
            f"to_torch: {type(layer).__name__} uses operators that have no translation: {', '.join(sorted(missing))}"
        )
    names: dict[int, list[str]] = {}
    for path, sub in layer.named_sublayers(include_self=True, remove_duplicate=False):
        for leaf, value in [*sub._parameters.items(), *sub._buffers.items()]:
            if value is not None:
                leaf = STATISTICS.get(leaf, leaf)
                names.setdefault(id(value), []).append(f"{path}.{leaf}" if path else leaf)
    transposed = _transposable(programs.values(), {i for i, n in names.items() if len(n) == 1})
    owners: dict[bool, dict[str, Any]] = {}
    for training, program in programs.items():
        program.build({n for n, s in program.graph.states.items() if id(s.tensor) in transposed})
        owners[training] = {n: s.tensor for n, s in program.graph.states.items()}
    return _module(layer, programs, names, transposed, owners)


def _transposable(programs: Any, alone: set[int]) -> set[int]:
    """The 2-D parameters that are only weights of linear operators, by id."""
    good: dict[int, bool] = {}
    for program in programs:
        states = {s.value: s.tensor for s in program.graph.states.values() if s.tensor is not None}
        for op in program.operators:
            for i, x in enumerate(op.inputs):
                tensor = states.get(x) if isinstance(x, Value) else None
                if tensor is not None:
                    fits = op.name == "linear" and i == 1 and len(tensor.shape) == 2 and id(tensor) in alone
                    good[id(tensor)] = good.get(id(tensor), True) and fits
        for v in program.fetches:
            if v in states:
                good[id(states[v])] = False
    return {i for i, fits in good.items() if fits}


def _module(layer: Layer, programs: dict, names: dict, transposed: set[int], owners: dict) -> Any:
    kind = _converted_module()
    module = kind(type(layer).__name__)
    held: dict[int, Any] = {}
    homes: dict[int, str] = {}
    for path, sub in layer.named_sublayers(include_self=True, remove_duplicate=False):
        module._inner(path)
        for leaf, value in [*sub._parameters.items(), *sub._buffers.items()]:
            if value is None:
                continue
            leaf_name = STATISTICS.get(leaf, leaf)
            trained = leaf in sub._parameters and leaf not in STATISTICS
            if id(value) not in held:
                array = np.asarray(value._value)
                tensor = torch_tensor(array.T if id(value) in transposed else array)
                if trained:
                    floating = tensor.is_floating_point() or tensor.is_complex()
                    tensor = torch.nn.Parameter(tensor, requires_grad=floating and not value.stop_gradient)
                held[id(value)] = tensor
                homes[id(value)] = f"{path}.{leaf_name}" if path else leaf_name
            inner = module._inner(path)
            if trained:
                inner.register_parameter(leaf_name, held[id(value)])
            else:
                inner.register_buffer(
                    leaf_name, held[id(value)], persistent=leaf not in sub._non_persistable_buffer_names_set
                )
    for training, program in programs.items():
        places = {}
        for name, slot in program.states.items():
            tensor = owners[training][name]
            if id(tensor) not in homes:  # a tensor from outside the layer
                held[id(tensor)] = torch_tensor(np.asarray(tensor._value))
                homes[id(tensor)] = fresh = f"outside_{len(homes)}"
                module.register_buffer(fresh, held[id(tensor)], persistent=False)
            places[slot] = homes[id(tensor)]
        constants = {}
        for slot, array in program.constants:
            fresh = f"constant_{'train' if training else 'eval'}_{slot}"
            module.register_buffer(fresh, torch_tensor(array), persistent=False)
            constants[slot] = fresh
        updates = {homes[id(owners[training][n])]: slot for n, slot in program.updates.items()}
        module._programs[training] = {
            "size": program.size, "inputs": program.inputs, "states": {**places, **constants}, "steps": program.steps,
            "results": program.results, "updates": updates, "names": program.feeds,
        }  # fmt: skip
    for path, sub in layer.named_sublayers(include_self=True, remove_duplicate=False):
        module._inner(path).training = sub.training
    return module


_KIND: list = []


def _converted_module() -> Any:
    """The class of converted modules; it is made when PyTorch is there."""
    if _KIND:
        return _KIND[0]

    class ConvertedModule(torch.nn.Module):
        """A module of PyTorch made of a layer by `to_torch`; parameters have the names of the layer's state_dict."""

        def __init__(self, original: str):
            super().__init__()
            self._original = original
            self._programs: dict[bool, dict] = {}

        def _inner(self, path: str) -> Any:
            module = self
            for part in path.split(".") if path else ():
                if part not in module._modules:
                    module.add_module(part, torch.nn.Module())
                module = module._modules[part]
            return module

        def _tensor(self, name: str) -> Any:
            path, _, leaf = name.rpartition(".")
            module = self._inner(path)
            return module._parameters[leaf] if leaf in module._parameters else module._buffers[leaf]

        def forward(self, *inputs: Any) -> Any:
            program = self._programs[self.training]
            if len(inputs) != len(program["inputs"]):
                raise errors.TypeError_(
                    f"{self._original}: takes {len(program['inputs'])} inputs ({', '.join(program['names'])}), got {len(inputs)}"
                )
            values: list[Any] = [None] * program["size"]
            for slot, x in zip(program["inputs"], inputs):
                if not isinstance(x, torch.Tensor):
                    raise errors.TypeError_(
                        f"{self._original}: inputs must be tensors of PyTorch, got {type(x).__name__}"
                    )
                values[slot] = x
            for slot, name in program["states"].items():
                values[slot] = self._tensor(name)
            for step in program["steps"]:
                values[step.out] = step.function(*[filled(a, values) for a in step.args])
            for name, slot in program["updates"].items():
                with torch.no_grad():
                    self._tensor(name).copy_(values[slot])
            results = [values[r.slot] for r in program["results"]]
            return results[0] if len(results) == 1 else tuple(results)

        def extra_repr(self) -> str:
            return f"{self._original}, {len(self._programs[False]['steps'])} steps"

    _KIND.append(ConvertedModule)
    return ConvertedModule


def specs_of(args: tuple, dynamic_batch: bool) -> list:
    """InputSpecs for example inputs: tensors of paddle or PyTorch, ndarrays, InputSpecs."""
    found: list[Any] = []
    rows: Any = None
    for x in args:
        if isinstance(x, InputSpec):
            found.append(x)
            continue
        if isinstance(x, Tensor):
            shape, dtype = list(x.shape), x.dtype.name
        elif hasattr(x, "shape") and hasattr(x, "dtype"):
            shape, dtype = list(x.shape), str(x.dtype).removeprefix("torch.")
        else:
            raise errors.TypeError_(f"to_torch: example_inputs must be tensors, got {type(x).__name__}")
        rows = shape[0] if rows is None and shape else rows
        if dynamic_batch and shape and shape[0] == rows:
            shape[0] = None
        found.append(InputSpec(shape, dtype, f"input_{len(found)}"))
    return found
