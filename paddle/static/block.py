"""Blocks of a program as users look at them."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.tensor import Tensor, _make
from ..ir.program import Block, Operator
from ..ir.text import block_text


class BlockView:
    """The operators and variables of a block of a program."""

    def __init__(self, program: Any, block: Block):
        self.program = program
        self.block = block

    @property
    def idx(self) -> int:
        return next(i for i, b in enumerate([self.program.block, *self.program.block.blocks()]) if b is self.block)

    @property
    def ops(self) -> list[OperatorView]:
        return [OperatorView(self, o) for o in self.block.operators]

    @property
    def vars(self) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        values = []
        if self.block is self.program.block:
            values += list(self.program.inputs.values())
            values += [s.value for s in self.program.states.values()]
        values += [v for o in self.block.operators for v in o.outputs]
        for value in values:
            state = self.program.states.get(value.name)
            found[value.name] = state.parameter if state is not None and state.parameter is not None else _make(value)
        return found

    def has_var(self, name: str) -> bool:
        return name in self.vars

    def var(self, name: str) -> Tensor:
        """The variable of a name. ValueError when there is none."""
        found = self.vars.get(name)
        if found is None:
            raise errors.ValueError_(f"the block has no variable {name!r}")
        return found

    def all_parameters(self) -> list:
        return self.program.all_parameters()

    def create_var(
        self, name: str | None = None, shape: Any = (), dtype: Any = "float32", persistable: bool = False, **kwargs: Any
    ) -> Tensor:
        """A variable that operators write to; a persistable one lives in the scope."""
        from ..utils import unique_name

        name = name or unique_name.generate("_generated_var")
        if persistable:
            return self.program.recorder.add_state(name, tuple(shape), to_dtype(dtype).numpy)
        from ..engine.value import PROBES, Value

        trials = tuple(tuple(p if d is None or d < 0 else d for d in shape) for p in PROBES)
        tensor = _make(Value(name, trials, to_dtype(dtype).numpy))
        tensor._name = name
        return tensor

    def create_parameter(self, shape: Any, dtype: Any, **kwargs: Any) -> Tensor:
        from ..nn.parameter import create_parameter

        return create_parameter(shape, dtype, **kwargs)

    def __str__(self) -> str:
        return "{\n" + block_text(self.block) + "\n}"

    __repr__ = __str__


class OperatorView:
    """An operator of a program: its type, the names of what it reads and defines, its attributes."""

    def __init__(self, block: BlockView, operator: Operator):
        self.block = block
        self.operator = operator

    @property
    def type(self) -> str:
        return self.operator.name

    def name(self) -> str:
        return self.operator.name

    @property
    def input_arg_names(self) -> list[str]:
        return [v.name for v in self.operator.reads()]

    @property
    def output_arg_names(self) -> list[str]:
        return [v.name for v in self.operator.outputs]

    def attrs(self) -> dict[str, Any]:
        from ..engine.value import Value

        return {n: a for n, a in self.operator.arguments().items() if not isinstance(a, Value)}

    all_attrs = attrs

    @property
    def attr_names(self) -> list[str]:
        return list(self.attrs())

    def has_attr(self, name: str) -> bool:
        return name in self.attrs()

    def attr(self, name: str) -> Any:
        """The value of an attribute. ValueError when the operator has none of this name."""
        found = self.attrs()
        if name not in found:
            raise errors.ValueError_(f"operator {self.type} has no attribute {name!r}; it has {', '.join(found)}")
        return found[name]

    def __str__(self) -> str:
        return repr(self.operator)

    __repr__ = __str__
