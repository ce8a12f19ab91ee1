"""What the layers of programs share: names, parameters, activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine import errors
from ...engine.dtype import to_dtype
from ...engine.modes import modes
from ...engine.parameter import Parameter, as_parameter
from ...engine.tensor import Tensor
from ...engine.value import Value
from ...nn.parameter import make_parameter
from ...utils import unique_name
from ..program import initialize_from
from ..variables import WeightNormParamAttr, normed

__all__ = ["Builder", "activation", "several"]


class Builder:
    """One call of a layer function: its name, as ``fc_0``, its parameters and the names of what it computes.

    Args:
        kind: what is being called.
        name: replaces the generated name.

    Raises:
        RuntimeError: no program is being built.
    """

    def __init__(self, kind: str, name: str | None = None):
        if modes.program is None:
            raise errors.RuntimeError_(
                f"{kind}: this function adds parameters to a program; call paddle.enable_static() first, or use it under "
                "paddle.static.program_guard"
            )
        self.kind = kind
        self.name = name or unique_name.generate(kind)
        self._results = 0

    def parameter(
        self, attr: Any, shape: Any, dtype: Any, is_bias: bool = False, initializer: Any = None
    ) -> Parameter | None:
        """The parameter of this layer; None when attr is False."""
        if isinstance(attr, WeightNormParamAttr):
            return self._weight_normed(attr, shape, dtype, initializer)
        return make_parameter(shape, attr, dtype, is_bias, initializer, self.name)

    def _weight_normed(self, attr: WeightNormParamAttr, shape: Any, dtype: Any, initializer: Any) -> Any:
        dtype = to_dtype(dtype)
        name = attr.name or unique_name.generate(f"{self.name}.w")
        for_length, for_direction = attr.parts(name)
        v = make_parameter(shape, for_direction, dtype, False, initializer, self.name)
        length = tuple(normed(v, attr.dim).shape)
        first = modes.program.add_state(for_length.name, length, dtype.numpy)
        initialize_from(for_length.name, length, dtype, for_direction.name, lambda v: normed(v, attr.dim))
        g = as_parameter(first, for_length.name, attr.trainable, learning_rate=attr.learning_rate)
        modes.program.graph.states[for_length.name].parameter = g
        WeightNormParamAttr.params_with_weight_norm.append(g)
        return v * (g / normed(v, attr.dim))

    def named(self, tensor: Tensor) -> Tensor:
        """The tensor under the official name of an intermediate result, as ``fc_0.tmp_1``."""
        value = tensor._value
        if isinstance(value, Value):
            value.name = f"{self.name}.tmp_{self._results}"
        self._results += 1
        return tensor

    def finish(self, tensor: Tensor, act: Any = None) -> Tensor:
        """The last result, after an activation when there is one."""
        tensor = self.named(tensor)
        return tensor if act is None else self.named(activation(self.kind, act)(tensor))

    def check(self, argument: str, tensor: Any, dtypes: str = "float16 bfloat16 float32 float64") -> Tensor:
        """TypeError unless an argument is a tensor of one of the types."""
        if not isinstance(tensor, Tensor):
            raise errors.TypeError_(f"{self.kind}: {argument} must be a Tensor, got {errors.describe(tensor)}")
        if tensor.dtype.name not in dtypes.split():
            raise errors.TypeError_(
                f"{self.kind}: {argument} must be of type {', '.join(dtypes.split())}, got {tensor.dtype.name}"
            )
        return tensor

    def fixed(self, argument: str, lengths: Any) -> list[int]:
        """Lengths that parameters depend on: ValueError when one is not known."""
        lengths = [int(n) for n in lengths]
        if any(n < 0 for n in lengths):
            raise errors.ValueError_(
                f"{self.kind}: the lengths of {argument} that decide the shapes of parameters must be known, got {lengths}"
            )
        return lengths


def activation(name: str, act: Any) -> Callable:
    """The function of an activation's name. ValueError for an unknown one."""
    from ...nn import functional

    if isinstance(act, dict):
        act = act.get("type")
    if isinstance(act, str) and not act.startswith("_"):
        found = getattr(functional, act, None) or getattr(Tensor, act, None)
        if callable(found):
            return found
    raise errors.ValueError_(f"{name}: there is no activation {act!r}")


def several(name: str, argument: str, value: Any, n: int) -> list[int]:
    """One number for each of n axes, from one or from a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value] * n
    if isinstance(value, (list, tuple)) and len(value) == n and all(isinstance(v, int) for v in value):
        return list(value)
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return several(name, argument, value[0], n)
    raise errors.ValueError_(f"{name}: {argument} must be an integer or a list of {n}, got {value!r}")
