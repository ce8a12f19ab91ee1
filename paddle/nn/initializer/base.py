"""What all initializers share, the global ones, and the gains of nonlinearities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import DType
from ...engine.random import generator


class Initializer(errors.Explains):
    """Makes the first value of a parameter.

    A subclass defines `array(shape, dtype)`, or `forward(param)` to fill a tensor in place. Calling an initializer on a
    tensor fills it.

    Example:
        >>> w = paddle.zeros([2])
        >>> paddle.nn.initializer.Constant(3.0)(w)
        >>> w.tolist()
        [3.0, 3.0]
    """

    def array(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """The value for a parameter of this shape and dtype: an array of NumPy or JAX."""
        raise errors.NotImplemented_(
            f"{type(self).__name__}: an initializer defines array(shape, dtype) or forward(param)"
        )

    def forward(self, param: Any, block: Any = None) -> None:
        param._write_array(self.array(tuple(param.shape), param.dtype))

    def __call__(self, param: Any, block: Any = None) -> None:
        return self.forward(param, block)


def host_random() -> np.random.Generator:
    """Random numbers on the host, which follow paddle.seed and are the same on every device.

    Parameters are many shapes, each drawn once; a compiled sampler would cost one compilation for each of them.
    """
    high, low, count_high, count_low = (int(word) for word in generator().tick())
    return np.random.Generator(
        np.random.Philox(key=np.array([high << 32 | low, count_high << 32 | count_low], np.uint64))
    )


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Inputs and outputs of one unit: a matrix is [in, out], a convolution's filter [out, in, *kernel]."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_GAINS = {
    "sigmoid": 1.0,
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv1d_transpose": 1.0,
    "conv2d_transpose": 1.0,
    "conv3d_transpose": 1.0,
    "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


@errors.clean
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which the weights before a nonlinearity keep the variance of the signal.

    Args:
        nonlinearity: "sigmoid", "linear", "conv2d" (and the other convolutions), "tanh", "relu", "leaky_relu", "selu".
        param: the negative slope of "leaky_relu", 0.01 by default.

    Raises:
        ValueError: another nonlinearity.

    Example:
        >>> round(paddle.nn.initializer.calculate_gain("tanh"), 4)
        1.6667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if not isinstance(slope, (int, float, np.number)):
            raise errors.TypeError_(f"calculate_gain: param must be a number, got {errors.describe(param)}")
        return math.sqrt(2.0 / (1 + float(slope) ** 2))
    if nonlinearity not in _GAINS:
        raise errors.ValueError_(
            f"calculate_gain: nonlinearity must be one of {', '.join([*_GAINS, 'leaky_relu'])}; got {nonlinearity!r}"
        )
    return _GAINS[nonlinearity]


_global: dict[bool, Initializer | None] = {False: None, True: None}


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Initialize all later parameters with these, except where a ParamAttr has its own. None restores the defaults.

    Raises:
        TypeError: what is neither an initializer nor None.

    Example:
        >>> paddle.nn.initializer.set_global_initializer(paddle.nn.initializer.Constant(0.5))
        >>> paddle.nn.Linear(1, 1).weight.tolist()
        [[0.5]]
        >>> paddle.nn.initializer.set_global_initializer(None)
    """
    for value in (weight_init, bias_init):
        if value is not None and not isinstance(value, Initializer):
            raise errors.TypeError_(
                f"set_global_initializer: an initializer or None is needed, got {errors.describe(value)}"
            )
    _global[False], _global[True] = weight_init, bias_init


def global_initializer(is_bias: bool) -> Initializer | None:
    return _global[is_bias]
