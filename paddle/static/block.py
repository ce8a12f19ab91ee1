"""Blocks of a program as users look at them."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.tensor import Tensor, _make
from ..engine.value import Value, trial_shapes
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
        trials = trial_shapes(shape)
        tensor = _make(Value(name, trials, to_dtype(dtype).numpy))
        tensor._name = name
        return tensor

    def create_parameter(self, shape: Any, dtype: Any, **kwargs: Any) -> Tensor:
        from ..nn.parameter import create_parameter

        return create_parameter(shape, dtype, **kwargs)

    def __str__(self) -> str:
        return "{\n" + block_text(self.block) + "\n}"

    __repr__ = __str__


OFFICIAL_TYPES = dict(
    pair.split(":")
    for pair in """add:elementwise_add subtract:elementwise_sub multiply:elementwise_mul divide:elementwise_div
    maximum:elementwise_max minimum:elementwise_min remainder:elementwise_mod floor_divide:elementwise_floordiv
    matmul:matmul_v2 sum:reduce_sum mean:reduce_mean max:reduce_max min:reduce_min prod:reduce_prod all:reduce_all
    any:reduce_any reshape:reshape2 transpose:transpose2 squeeze:squeeze2 unsqueeze:unsqueeze2 add_n:sum
    flatten:flatten_contiguous_range embedding:lookup_table_v2 full:fill_constant topk:top_k_v2 argmax:arg_max
    argmin:arg_min expand:expand_v2 max_pool:pool2d avg_pool:pool2d uniform:uniform_random gaussian:gaussian_random
    cross_entropy:softmax_with_cross_entropy one_hot:one_hot_v2 norm:p_norm nonzero:where_index getitem:slice
    slice_get:slice setitem:set_value pad:pad3d ones_like:fill_any_like full_like:fill_any_like""".split()
)


def _names(argument: Any) -> list[str]:
    if isinstance(argument, (list, tuple)):
        return [n for a in argument for n in _names(a)]
    return [argument.name] if isinstance(argument, (Value, Tensor)) else []


class OperatorView:
    """An operator of a program: its type, the names of what it reads and defines, its attributes."""

    def __init__(self, block: BlockView, operator: Operator):
        self.block = block
        self.operator = operator

    @property
    def type(self) -> str:
        """The official name of what it does in programs, as ``elementwise_add``."""
        name = self.operator.name
        stem = name.removesuffix("_grad")
        return OFFICIAL_TYPES.get(stem, stem) + name[len(stem) :]

    def name(self) -> str:
        """The official name in the present representation, as ``pd_op.add``."""
        return "pd_op." + self.operator.name

    @property
    def idx(self) -> int:
        return self.block.block.operators.index(self.operator)

    @property
    def input_names(self) -> list[str]:
        """The names of the arguments that are variables."""
        return [n for n, a in self.operator.arguments().items() if _names(a)]

    def input(self, name: str) -> list[str]:
        """The names of the variables of an argument. ValueError when there is no such argument."""
        arguments = self.operator.arguments()
        if name not in arguments:
            raise errors.ValueError_(f"operator {self.type} has no argument {name!r}; it has {', '.join(arguments)}")
        return _names(arguments[name])

    @property
    def output_names(self) -> list[str]:
        return [f"out{i}" if i else "out" for i in range(len(self.operator.outputs))]

    def output(self, name: str) -> list[str]:
        """The names of the variables of a result: "out", "out1", ..."""
        names = dict(zip(self.output_names, self.output_arg_names))
        if name not in names:
            raise errors.ValueError_(f"operator {self.type} has no result {name!r}; it has {', '.join(names)}")
        return [names[name]]

    @property
    def input_arg_names(self) -> list[str]:
        return [v.name for v in self.operator.reads()]

    @property
    def output_arg_names(self) -> list[str]:
        return [v.name for v in self.operator.outputs]

    def attrs(self) -> dict[str, Any]:
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
