"""The form of quantised layers in use: weights as integers, activations to integers and back.

The form is that of ONNX (QuantizeLinear, DequantizeLinear): every quantised value is a `quantize_linear` followed by a
`dequantize_linear`, and a weight, whose first half is done once and for all, an integer tensor and a `dequantize_linear`.
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.parameter import as_parameter
from ...engine.tensor import Tensor
from ...ops.quantization import dequantize_linear, quantize_linear, storage
from ...utils import unique_name
from ..initializer import Assign
from ..layer import Layer
from ..parameter import ParamAttr

__all__ = ["ConvertibleQuantedLayer", "LinearDequanter", "LinearQuanter", "LinearQuanterDequanter"]


class _Linear(Layer):
    """Scales, and what they belong to."""

    def __init__(
        self,
        scales: Any,
        zero_point: Any = None,
        quant_axis: int | None = None,
        bit_length: Any = 8,
        group_size: int = 128,
    ):
        super().__init__()
        scales = np.asarray(getattr(scales, "numpy", lambda: scales)(), np.float32)
        zero_point = np.zeros_like(scales) if zero_point is None else np.asarray(zero_point, np.float32)
        if zero_point.any():
            raise errors.NotImplemented_(f"{type(self).__name__}: zero points other than 0")
        self._scales, self._zero_point = (
            self.create_parameter(
                list(value.shape),
                ParamAttr(unique_name.generate("quant_dequant." + key), Assign(value), trainable=False),
                "float32",
            )
            for key, value in (("scale", scales), ("zero_point", zero_point))
        )
        self._quant_axis = -1 if quant_axis is None else quant_axis
        self._bits = tuple(bit_length) if isinstance(bit_length, (tuple, list)) else bit_length
        _, top = storage(self._bits)
        whole = isinstance(self._bits, int)
        self._bit_length = self._bits if whole else 8
        self._qmax, self._qmin = (int(top), -int(top) - whole)
        self._group_size = group_size

    @classmethod
    def from_quanter(cls, quanter: Any) -> Any:
        """The layer with the scales of a quanter or observer. ValueError when it has none yet."""
        scales = quanter.scales()
        if scales is None:
            raise errors.ValueError_(
                f"{cls.__name__}: {type(quanter).__name__} has no scales; run the model on some data before convert()"
            )
        return cls(scales, quanter.zero_points(), quanter.quant_axis(), quanter.bit_length())


class LinearQuanter(_Linear):
    """Floating numbers to whole ones, see `ops.quantization.quantize_linear`.

    Args:
        scales: the magnitudes that become the largest integer: one, one for each channel, or [groups, N].
        zero_point: zeros, or None.
        quant_axis: the axis of the channels.
        bit_length: width of the integers; (4, 3) and (5, 2) are float8.
        group_size: accepted; it follows from the shapes.

    Raises:
        NotImplementedError: zero points other than 0.

    Example:
        >>> paddle.nn.quant.format.LinearQuanter(1.0)(paddle.to_tensor([0.5])).tolist()
        [64.0]
    """

    def integers(self, input: Tensor) -> Tensor:
        """The integers as such: int8, int16 or float8."""
        return quantize_linear(input, self._scales, self._bits, self._quant_axis)

    def forward(self, input):
        return self.integers(input).cast(input.dtype)


class LinearDequanter(_Linear):
    """Whole numbers to floating ones, see `ops.quantization.dequantize_linear`; the arguments are those of LinearQuanter.

    Example:
        >>> paddle.nn.quant.format.LinearDequanter(2.0)(paddle.to_tensor([127.0])).tolist()
        [2.0]
    """

    def forward(self, input, dtype=None):
        if dtype is None:
            dtype = input.dtype if input.dtype.name in ("float16", "bfloat16", "float32", "float64") else "float32"
        return dequantize_linear(
            input, self._scales, self._bits, self._quant_axis, np.dtype(getattr(dtype, "numpy", dtype)).name
        )


class LinearQuanterDequanter(Layer):
    """To integers and back.

    Args:
        quanter: a LinearQuanter, None where the input consists of integers already.
        dequanter: a LinearDequanter, or None.
    """

    def __init__(self, quanter: LinearQuanter | None, dequanter: LinearDequanter | None):
        super().__init__()
        self._quanter, self._dequanter = quanter, dequanter
        self._out: Any = None  # the type of a weight before it became integers

    def forward(self, input):
        if self._dequanter is None:
            return input if self._quanter is None else self._quanter(input)
        if self._quanter is None:
            return self._dequanter(input, self._out)
        return self._dequanter(self._quanter.integers(input), input.dtype)

    @staticmethod
    def from_quanter(quanter: Any) -> LinearQuanterDequanter:
        """The pair for a quanter or observer."""
        return LinearQuanterDequanter(LinearQuanter.from_quanter(quanter), LinearDequanter.from_quanter(quanter))


class ConvertibleQuantedLayer(Layer, metaclass=abc.ABCMeta):
    """A layer with quanters that `convert` of QAT and PTQ makes ready for use.

    A subclass says which attributes are weights and which are quanters.

    Example:
        >>> class Scaled(paddle.nn.quant.format.ConvertibleQuantedLayer):
        ...     def weights_to_quanters(self):
        ...         return [("weight", "weight_quanter")]
        ...     def activation_quanters(self):
        ...         return ["activation_quanter"]
        >>> Scaled().converted
        False
    """

    def __init__(self):
        super().__init__()
        self.converted = False

    @abc.abstractmethod
    def weights_to_quanters(self) -> list[tuple[str, str]]:
        """Pairs of names: a weight and its quanter."""

    @abc.abstractmethod
    def activation_quanters(self) -> list[str]:
        """The names of the quanters of activations."""

    def _convert(self, remain_weight: bool = False) -> None:
        assert not self.converted, "The model should be converted only once."
        for name, quanter in self.weights_to_quanters():
            pair = self._as_pair(quanter)
            if pair is not None and not remain_weight:
                weight = getattr(self, name)
                pair._out = weight.dtype
                whole = pair._quanter.integers(weight)
                setattr(self, name, as_parameter(whole, weight.name, False))
                pair._quanter = None
        for quanter in self.activation_quanters():
            self._as_pair(quanter)
        self.converted = True

    def _as_pair(self, name: str) -> LinearQuanterDequanter | None:
        quanter = getattr(self, name, None)
        if quanter is None:
            return None
        pair = LinearQuanterDequanter.from_quanter(quanter)
        setattr(self, name, pair)
        return pair
