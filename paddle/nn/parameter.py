"""Parameters: how a Layer or a user asks for one (ParamAttr), and how it is made, named and initialized."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine import place as places
from ..engine.dtype import DType, to_dtype
from ..engine.modes import modes, set_mode
from ..engine.parameter import Parameter, as_parameter
from ..engine.tensor import Tensor, _make
from ..ops.creation import shape_of
from ..utils import unique_name
from . import initializer as init
from .initializer import Initializer
from .lazy import is_lazy, lazy_parameter

EagerParamBase = Parameter


class ParamAttr(errors.Explains):
    """What is special about a parameter. Layers also take short forms: a name, an initializer, False for no parameter.

    Args:
        name: its name; by default made from the layer's.
        initializer: an `paddle.nn.initializer` object; by default the layer's choice.
        learning_rate: a factor on the optimizer's learning rate.
        regularizer: replaces the optimizer's weight decay for this parameter.
        trainable: False keeps it out of training.
        do_model_average: kept for averaging optimizers.
        need_clip: False keeps its gradient out of gradient clipping.

    Raises:
        TypeError: `name` is no string, or `initializer` no initializer.

    Example:
        >>> attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(2.0), learning_rate=0.5)
        >>> paddle.nn.Linear(1, 1, weight_attr=attr).weight.tolist()
        [[2.0]]
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Initializer | None = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ):
        if name is not None and not isinstance(name, str):
            raise errors.TypeError_(f"ParamAttr: name must be a string, got {errors.describe(name)}")
        if initializer is not None and (not callable(initializer) or isinstance(initializer, type)):
            raise errors.TypeError_(
                f"ParamAttr: initializer must be an object like Constant(0.0), got {errors.describe(initializer)}"
            )
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def _to_attr(attr: Any) -> ParamAttr | bool:
        """Any of the accepted forms as a ParamAttr, or False for no parameter."""
        if attr is None or attr is True or isinstance(attr, str) and not attr:
            return ParamAttr()
        if attr is False or isinstance(attr, ParamAttr):
            return attr
        if isinstance(attr, str):
            return ParamAttr(name=attr)
        if isinstance(attr, Initializer):
            return ParamAttr(initializer=attr)
        if type(attr).__module__.startswith("paddle.regularizer") or type(attr).__name__ in ("L1Decay", "L2Decay"):
            return ParamAttr(regularizer=attr)
        raise errors.TypeError_(
            "a parameter's attr is None, False, a name, an initializer, a regularizer or a ParamAttr, "
            f"got {errors.describe(attr)}"
        )

    def __repr__(self) -> str:
        return "ParamAttr(" + ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items()) + ")"


def make_parameter(
    shape: Any,
    attr: Any,
    dtype: Any,
    is_bias: bool,
    default_initializer: Initializer | None,
    prefix: str,
    device: Any = None,
) -> Parameter | None:
    """The parameter that a layer named `prefix` asks for; None when attr is False.

    The initializer is the attr's, else the global one, else the layer's, else zero for a bias and XavierUniform.
    """
    attr = ParamAttr._to_attr(attr)
    if attr is False:
        return None
    shape = shape_of(shape, "create_parameter")
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    initializer = attr.initializer or init.global_initializer(is_bias) or default_initializer
    if initializer is None:
        if not dtype.is_floating:
            raise errors.TypeError_(
                f"create_parameter: a parameter of dtype {dtype.name} needs an initializer, the default one "
                "makes floating numbers"
            )
        initializer = init.Constant(0.0) if is_bias else init.XavierUniform()
    static = modes.program is not None and modes.program.static
    if attr.name is None:
        name = unique_name.generate(f"{prefix}.{'b' if is_bias else 'w'}")
    else:
        name = attr.name if static else unique_name.claim(attr.name)  # in a program the same name shares the parameter
    attributes = dict(learning_rate=attr.learning_rate, regularizer=attr.regularizer, need_clip=attr.need_clip)
    if static:
        shared = modes.program.shared_parameter(name, shape)
        if shared is not None:
            return shared
        first = modes.program.new_parameter(
            name, shape, dtype, lambda: initial_value(initializer, shape, dtype, device)
        )
        out = as_parameter(first, name, attr.trainable, **attributes)
        modes.program.graph.states[name].parameter = out
    elif is_lazy():
        out = lazy_parameter(
            shape, dtype, lambda: initial_value(initializer, shape, dtype, device), name, attr.trainable, **attributes
        )
    else:
        value = initial_value(initializer, shape, dtype, device)
        out = as_parameter(_make(value), name, attr.trainable, **attributes)
    out.do_model_average = attr.do_model_average
    return out


def initial_value(initializer: Any, shape: tuple[int, ...], dtype: DType, device: Any = None) -> jax.Array:
    """The array that an initializer makes. One of the user's own, which fills a tensor in place, is called on zeros."""
    if modes.program is not None:
        with set_mode(program=None):
            return initial_value(initializer, shape, dtype, device)
    device = None if device is None else places.parse_place(device).device()
    kind = type(initializer)
    if (
        isinstance(initializer, Initializer)
        and kind.__call__ is Initializer.__call__
        and kind.forward is Initializer.forward
    ):
        return places.put(initializer.array(shape, dtype), device)
    blank = as_parameter(_make(places.put(np.zeros(shape, dtype.numpy), device)), trainable=False)
    initializer(blank)
    return blank._value


@errors.clean
def create_parameter(
    shape: Any,
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter | None:
    """A parameter outside of any layer.

    Args:
        shape: a list of ints.
        dtype: a floating dtype, or any with an initializer that fits.
        name: its name, unless `attr` has one.
        attr: None, a ParamAttr or a short form of it.
        is_bias: start from zeros instead of XavierUniform.
        default_initializer: what to use when `attr` has none.

    Raises:
        TypeError: `shape` or `attr` of another type, or a dtype that needs an initializer.
        ValueError: a negative length, or a name that was used before.

    Example:
        >>> paddle.create_parameter([2, 3], "float32").shape
        [2, 3]
    """
    attr = ParamAttr._to_attr(attr)
    if attr and name is not None and attr.name is None:
        attr = ParamAttr(**{**attr.__dict__, "name": name})
    return make_parameter(shape, attr, dtype, is_bias, default_initializer, unique_name.generate("create_parameter"))


Tensor.create_parameter = create_parameter  # type: ignore[attr-defined]  # officially: the tensor is the shape
