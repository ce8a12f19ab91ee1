"""What tensors of a program have beside what all tensors have: the block, the operator, names."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from ..ir.text import _type
from .block import BlockView, OperatorView
from .program import default_main_program, programs

__all__ = []


def _value(tensor: Tensor, name: str) -> Value:
    value = tensor._storage.value
    if not isinstance(value, Value):
        raise AttributeError(f"a tensor with elements has no attribute {name!r}; only variables of a program have")
    return value


def program_of(tensor: Tensor) -> Any:
    """The program that a variable belongs to."""
    value = _value(tensor, "block")
    current = default_main_program()
    for program in [current, *(p for p in list(programs) if p is not current)]:
        if program.inputs.get(value.name) is value or any(s.value is value for s in program.states.values()):
            return program
        if any(value in o.outputs for o in program.block.operators):
            return program
    return current


def _block(tensor: Tensor) -> BlockView:
    """The block that a variable is in."""
    return program_of(tensor).global_block()


def _operator(tensor: Tensor) -> OperatorView | None:
    """The operator that defines a variable, None for inputs and parameters."""
    value = _value(tensor, "op")
    block = _block(tensor)
    found = next((o for o in reversed(block.block.operators) if value in o.outputs), None)
    return None if found is None else OperatorView(block, found)


def _is_data(tensor: Tensor) -> bool:
    """Whether a variable is fed."""
    value = _value(tensor, "is_data")
    return program_of(tensor).inputs.get(value.name) is value


def to_string(self: Tensor, throw_on_error: bool = False, with_details: bool = False) -> str:
    """A variable as text: name, type and shape."""
    return f"var {self.name} : {_type(_value(self, 'to_string'))}"


def get_value(self: Tensor, scope: Any = None) -> Tensor:
    """The value of a variable in a scope. ValueError when it has none."""
    from .executor import global_scope

    found = (scope or global_scope()).find_var(self.name)
    if found is None or found.array is None:
        raise errors.ValueError_(f"get_value: variable {self.name} has no value in the scope")
    return _make(found.array)


Tensor.get_value = get_value  # type: ignore[attr-defined]
Tensor.block = property(_block)  # type: ignore[attr-defined]
Tensor.op = property(_operator)  # type: ignore[attr-defined]
Tensor.is_data = property(_is_data)  # type: ignore[attr-defined]
Tensor.lod_level = property(lambda self: 0 * len(_value(self, "lod_level").shape))  # type: ignore[attr-defined]
Tensor.grad_name = property(lambda self: self.name + "@GRAD")  # type: ignore[attr-defined]
Tensor.is_parameter = property(lambda self: isinstance(self, Parameter))  # type: ignore[attr-defined]
Tensor.to_string = to_string  # type: ignore[attr-defined]
