"""Variables of programs beside parameters, and attributes of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import errors
from ..engine import place as places
from ..engine.dtype import to_dtype
from ..engine.modes import modes
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor
from ..engine.value import Value
from ..nn.parameter import ParamAttr
from ..ops.creation import full
from ..utils import unique_name

__all__ = ["WeightNormParamAttr", "create_global_var", "is_persistable", "setitem"]


@errors.clean
def create_global_var(
    shape: Any,
    value: Any,
    dtype: Any,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Tensor:
    """A variable that is the same in all runs until an operator writes to it.

    Args:
        shape: its lengths.
        value: the number that it holds at first; the startup program puts it there.
        dtype: its type.
        persistable: it lives in the scope, as every such variable does here; accepted.
        name: its name; by default a generated one.

    Raises TypeError for a shape that is no list of ints.

    Example:
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     step = paddle.static.create_global_var([1], 0, "int64", persistable=True, name="step")
        ...     _ = paddle.increment(step)
    """
    if not isinstance(shape, (list, tuple)) or not all(isinstance(n, (int, np.integer)) for n in shape):
        raise errors.TypeError_(f"create_global_var: shape must be a list of ints, got {errors.describe(shape)}")
    kind = to_dtype(dtype)
    if modes.program is None:
        tensor = full(list(shape), value, kind)
        tensor.persistable = persistable
        if name is not None:
            tensor.name = name
        return tensor
    name = name or unique_name.generate("_generated_var")
    size = tuple(int(n) for n in shape)
    tensor = modes.program.new_parameter(name, size, kind, lambda: places.put(np.full(size, value, kind.numpy), None))
    tensor._name, tensor.persistable = name, True
    return tensor


def is_persistable(var: Any) -> bool:
    """Whether a variable keeps its value between runs.

    Example:
        >>> paddle.static.is_persistable(paddle.create_parameter([1], "float32"))
        True
    """
    if isinstance(var, Parameter):
        return True
    if not isinstance(var, Tensor):
        raise errors.TypeError_(f"is_persistable: var must be a variable, got {errors.describe(var)}")
    return bool(var.persistable)


@errors.clean
def setitem(x: Tensor, index: Any, value: Any) -> Tensor:
    """A copy of x with ``x[index] = value``.

    Example:
        >>> paddle.static.setitem(paddle.zeros([2]), 0, 5.0).tolist()
        [5.0, 0.0]
    """
    out = x.clone() if not isinstance(x._value, Value) else x * 1 if x.dtype.name != "bool" else x.clone()
    out[index] = value
    return out


class WeightNormParamAttr(ParamAttr):
    """A parameter as a direction times a length, two parameters: w = g v / |v| (Salimans and Kingma, 2016).

    Args:
        dim: the axis along which there is one length for each entry; None: one length for all.
        the others: see `paddle.ParamAttr`.

    Example:
        >>> attr = paddle.static.WeightNormParamAttr(dim=1)
    """

    params_with_weight_norm: list[Any] = []

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = False,
        need_clip: bool = True,
    ):
        super().__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average, need_clip)
        self.dim = dim

    def parts(self, name: str) -> tuple[ParamAttr, ParamAttr]:
        """The attributes of length and direction."""
        fields = {k: v for k, v in self.__dict__.items() if k not in ("dim", "name")}
        return ParamAttr(name=name + "_g", **fields), ParamAttr(name=name + "_v", **fields)


def normed(v: Tensor, dim: int | None) -> Tensor:
    """The length of v along all axes but `dim`, which keep length 1."""
    if dim is None:
        return (v * v).sum().sqrt().reshape([1] * v.ndim)
    return (v * v).sum(axis=[i for i in range(v.ndim) if i != dim % v.ndim], keepdim=True).sqrt()
