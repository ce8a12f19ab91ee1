"""Layers that pad the spatial axes."""

from __future__ import annotations

from ...engine import errors
from ...engine.tensor import Tensor
from .. import functional as F
from ..layer import Layer, other_names
from .common import with_name


class _Pad(Layer):
    """Pads the last `_axes` spatial axes; the widths run from the last axis: [left, right, top, bottom, front, back]."""

    _axes = 0

    def __init__(self, padding, mode="constant", value=0.0, data_format=None, name=None):
        super().__init__()
        if isinstance(padding, Tensor):
            padding = padding.tolist()
        amounts = list(padding) if isinstance(padding, (list, tuple)) else [padding] * (2 * self._axes)
        if not all(hasattr(amount, "__index__") for amount in amounts):
            raise errors.TypeError_(
                f"{type(self).__name__}: padding must be an int or a list of ints, got {errors.describe(padding)}"
            )
        self.padding = [amount.__index__() for amount in amounts]
        self._mode, self.value, self._data_format, self._name = mode, value, data_format, name

    @other_names(input="x")
    def forward(self, x):
        return F.pad(x, self.padding, self._mode, self.value, self._data_format)

    def extra_repr(self):
        return with_name(
            f"padding={self.padding}, mode={self._mode}, value={self.value}, data_format={self._data_format}",
            self._name,
        )


class Pad1D(_Pad):
    """Pads the length of [N, C, L].

    Args:
        padding: an int for both sides, or [left, right].
        mode: "constant", "reflect", "replicate" or "circular".
        value: what "constant" fills with.
        data_format: "NCL" or "NLC".

    Example:
        >>> paddle.nn.Pad1D([1, 2])(paddle.ones([1, 1, 3])).shape
        [1, 1, 6]
    """

    _axes = 1

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCL", name=None):
        super().__init__(padding, mode, value, data_format, name)


class Pad2D(_Pad):
    """Pads height and width of [N, C, H, W].

    Args:
        padding: an int for all sides, or [left, right, top, bottom].
        mode: "constant", "reflect", "replicate" or "circular".
        value: what "constant" fills with.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> paddle.nn.Pad2D([1, 0, 2, 0])(paddle.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 3]
    """

    _axes = 2

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCHW", name=None):
        super().__init__(padding, mode, value, data_format, name)


class Pad3D(_Pad):
    """Pads depth, height and width of [N, C, D, H, W]; a list of widths is [left, right, top, bottom, front, back].

    Example:
        >>> paddle.nn.Pad3D([1, 0, 0, 0, 0, 0])(paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 2, 2, 3]
    """

    _axes = 3

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCDHW", name=None):
        super().__init__(padding, mode, value, data_format, name)


class ZeroPad1D(Pad1D):
    """Pads with zeros.

    Example:
        >>> paddle.nn.ZeroPad1D([1, 2])(paddle.to_tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[0.0, 1.0, 2.0, 3.0, 0.0, 0.0]]]
    """

    def __init__(self, padding, data_format="NCL", name=None):
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad2D(Pad2D):
    """Pads with zeros.

    Example:
        >>> paddle.nn.ZeroPad2D(1)(paddle.ones([1, 1, 2, 3])).shape
        [1, 1, 4, 5]
    """

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad3D(Pad3D):
    """Pads with zeros.

    Example:
        >>> paddle.nn.ZeroPad3D(1)(paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 4, 4, 4]
    """

    def __init__(self, padding, data_format="NCDHW", name=None):
        super().__init__(padding, "constant", 0.0, data_format, name)


class ConstantPad1D(Pad1D):
    """Pads with `value`.

    Example:
        >>> paddle.nn.ConstantPad1D([1, 2], 7.0)(paddle.to_tensor([[[1.0]]])).tolist()
        [[[7.0, 1.0, 7.0, 7.0]]]
    """

    def __init__(self, padding, value, data_format="NCL", name=None):
        super().__init__(padding, "constant", value, data_format, name)


class ConstantPad2D(Pad2D):
    """Pads with `value`.

    Example:
        >>> paddle.nn.ConstantPad2D(1, 7.0)(paddle.ones([1, 1, 2, 3])).shape
        [1, 1, 4, 5]
    """

    def __init__(self, padding, value, data_format="NCHW", name=None):
        super().__init__(padding, "constant", value, data_format, name)


class ConstantPad3D(Pad3D):
    """Pads with `value`.

    Example:
        >>> paddle.nn.ConstantPad3D(1, 7.0)(paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 4, 4, 4]
    """

    def __init__(self, padding, value, data_format="NCDHW", name=None):
        super().__init__(padding, "constant", value, data_format, name)


class CircularPad1D(Pad1D):
    """Pads as if the signal went round.

    Example:
        >>> paddle.nn.CircularPad1D([1, 2])(paddle.to_tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]]
    """

    def __init__(self, padding, data_format="NCL", name=None):
        super().__init__(padding, "circular", 0.0, data_format, name)


class CircularPad2D(Pad2D):
    """Pads as if the image went round.

    Example:
        >>> paddle.nn.CircularPad2D(1)(paddle.ones([1, 1, 2, 3])).shape
        [1, 1, 4, 5]
    """

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, "circular", 0.0, data_format, name)


class CircularPad3D(Pad3D):
    """Pads as if the volume went round.

    Example:
        >>> paddle.nn.CircularPad3D(1)(paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 4, 4, 4]
    """

    def __init__(self, padding, data_format="NCDHW", name=None):
        super().__init__(padding, "circular", 0.0, data_format, name)


class ReflectionPad1D(Pad1D):
    """Pads with the mirror image, without repeating the border.

    Example:
        >>> paddle.nn.ReflectionPad1D([1, 2])(paddle.to_tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[2.0, 1.0, 2.0, 3.0, 2.0, 1.0]]]
    """

    def __init__(self, padding, data_format="NCL", name=None):
        super().__init__(padding, "reflect", 0.0, data_format, name)


class ReflectionPad2D(Pad2D):
    """Pads with the mirror image, without repeating the border.

    Example:
        >>> paddle.nn.ReflectionPad2D(1)(paddle.ones([1, 1, 2, 3])).shape
        [1, 1, 4, 5]
    """

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, "reflect", 0.0, data_format, name)


class ReflectionPad3D(Pad3D):
    """Pads with the mirror image, without repeating the border.

    Example:
        >>> paddle.nn.ReflectionPad3D(1)(paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 4, 4, 4]
    """

    def __init__(self, padding, data_format="NCDHW", name=None):
        super().__init__(padding, "reflect", 0.0, data_format, name)


class ReplicationPad1D(Pad1D):
    """Pads by repeating the border.

    Example:
        >>> paddle.nn.ReplicationPad1D([1, 2])(paddle.to_tensor([[[1.0, 2.0, 3.0]]])).tolist()
        [[[1.0, 1.0, 2.0, 3.0, 3.0, 3.0]]]
    """

    def __init__(self, padding, data_format="NCL", name=None):
        super().__init__(padding, "replicate", 0.0, data_format, name)


class ReplicationPad2D(Pad2D):
    """Pads by repeating the border.

    Example:
        >>> paddle.nn.ReplicationPad2D(1)(paddle.ones([1, 1, 2, 3])).shape
        [1, 1, 4, 5]
    """

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, "replicate", 0.0, data_format, name)


class ReplicationPad3D(Pad3D):
    """Pads by repeating the border.

    Example:
        >>> paddle.nn.ReplicationPad3D(1)(paddle.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 4, 4, 4]
    """

    def __init__(self, padding, data_format="NCDHW", name=None):
        super().__init__(padding, "replicate", 0.0, data_format, name)
