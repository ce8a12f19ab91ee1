"""Pooling layers."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..layer import Layer, other_names


class _Pool(Layer):
    """Pooling with a window: keeps the settings, of which repr() shows the window."""

    def __init__(self, kernel_size, stride, padding, ceil_mode=False, data_format=None, name=None, **settings):
        super().__init__()
        self.kernel_size = self.ksize = kernel_size
        self.stride, self.padding, self.ceil_mode = stride, padding, ceil_mode
        self.data_format, self.name = data_format, name
        for key, value in settings.items():
            setattr(self, key, value)

    def extra_repr(self):
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class AvgPool1D(_Pool):
    """The mean of each window of [N, C, L]; the arguments are those of AvgPool2D.

    Example:
        >>> paddle.nn.AvgPool1D(2)(paddle.ones([1, 1, 4])).shape
        [1, 1, 2]
    """

    def __init__(self, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
        super().__init__(kernel_size, stride, padding, ceil_mode, None, name, exclusive=exclusive)

    def forward(self, x):
        return F.avg_pool1d(x, self.ksize, self.stride, self.padding, self.exclusive, self.ceil_mode)


class AvgPool2D(_Pool):
    """The mean of each window of [N, C, H, W].

    Args:
        kernel_size: an int, or one for each axis.
        stride: by default the kernel size.
        padding: an int, one for each axis or border, "SAME" or "VALID".
        ceil_mode: also windows that reach over the end.
        exclusive: padding does not count in the mean.
        divisor_override: divide by this.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> paddle.nn.AvgPool2D(2)(paddle.ones([1, 1, 4, 4])).shape
        [1, 1, 2, 2]
    """

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(
            kernel_size, stride, padding, ceil_mode, data_format, name, exclusive=exclusive, divisor=divisor_override
        )

    def forward(self, x):
        return F.avg_pool2d(
            x, self.ksize, self.stride, self.padding, self.ceil_mode, self.exclusive, self.divisor, self.data_format
        )


class AvgPool3D(_Pool):
    """The mean of each window of [N, C, D, H, W]; the arguments are those of AvgPool2D.

    Example:
        >>> paddle.nn.AvgPool3D(2)(paddle.ones([1, 1, 4, 4, 4])).shape
        [1, 1, 2, 2, 2]
    """

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(
            kernel_size, stride, padding, ceil_mode, data_format, name, exclusive=exclusive, divisor=divisor_override
        )

    def forward(self, x):
        return F.avg_pool3d(
            x, self.ksize, self.stride, self.padding, self.ceil_mode, self.exclusive, self.divisor, self.data_format
        )


class MaxPool1D(_Pool):
    """The largest element of each window of [N, C, L]; the arguments are those of MaxPool2D.

    Example:
        >>> paddle.nn.MaxPool1D(2)(paddle.to_tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
        [[[3.0, 2.0]]]
    """

    def __init__(self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None):
        super().__init__(kernel_size, stride, padding, ceil_mode, None, name, return_mask=return_mask)

    def forward(self, input):
        return F.max_pool1d(input, self.ksize, self.stride, self.padding, self.return_mask, self.ceil_mode)


class MaxPool2D(_Pool):
    """The largest element of each window of [N, C, H, W].

    Args:
        kernel_size: an int, or one for each axis.
        stride: by default the kernel size.
        padding: an int, one for each axis or border, "SAME" or "VALID".
        return_mask: also return where they were, as positions in H * W.
        ceil_mode: also windows that reach over the end.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> paddle.nn.MaxPool2D(2)(paddle.ones([1, 1, 4, 4])).shape
        [1, 1, 2, 2]
    """

    def __init__(
        self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCHW", name=None
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, data_format, name, return_mask=return_mask)

    def forward(self, x):
        return F.max_pool2d(
            x, self.ksize, self.stride, self.padding, self.return_mask, self.ceil_mode, self.data_format
        )


class MaxPool3D(_Pool):
    """The largest element of each window of [N, C, D, H, W]; the arguments are those of MaxPool2D.

    Example:
        >>> paddle.nn.MaxPool3D(2)(paddle.ones([1, 1, 4, 4, 4])).shape
        [1, 1, 2, 2, 2]
    """

    def __init__(
        self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCDHW", name=None
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, data_format, name, return_mask=return_mask)

    def forward(self, x):
        return F.max_pool3d(
            x, self.ksize, self.stride, self.padding, self.return_mask, self.ceil_mode, self.data_format
        )


class LPPool1D(_Pool):
    """The p-norm of each window of [N, C, L], p being `norm_type`.

    Example:
        >>> paddle.nn.LPPool1D(1, 2)(paddle.ones([1, 1, 4])).tolist()
        [[[2.0, 2.0]]]
    """

    def __init__(self, norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCL", name=None):
        super().__init__(kernel_size, stride, padding, ceil_mode, data_format, name, norm_type=float(norm_type))

    @other_names(input="x")
    def forward(self, x):
        return F.lp_pool1d(x, self.norm_type, self.ksize, self.stride, self.padding, self.ceil_mode, self.data_format)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, " + super().extra_repr()


class LPPool2D(_Pool):
    """The p-norm of each window of [N, C, H, W], p being `norm_type`.

    Example:
        >>> paddle.nn.LPPool2D(2, 2)(paddle.ones([1, 1, 2, 2])).tolist()
        [[[[2.0]]]]
    """

    def __init__(self, norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCHW", name=None):
        super().__init__(
            kernel_size,
            kernel_size if stride is None else stride,
            padding,
            ceil_mode,
            data_format,
            name,
            norm_type=float(norm_type),
        )

    @other_names(input="x")
    def forward(self, x):
        return F.lp_pool2d(x, self.norm_type, self.ksize, self.stride, self.padding, self.ceil_mode, self.data_format)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, " + super().extra_repr()


class _MaxUnPool(_Pool):
    def __init__(self, kernel_size, stride, padding, data_format, output_size, name):
        super().__init__(kernel_size, stride, padding, False, data_format, name, output_size=output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class MaxUnPool1D(_MaxUnPool):
    """Puts what MaxPool1D returned, with its mask, back to where it was; zero elsewhere.

    Example:
        >>> pooled, mask = paddle.nn.MaxPool1D(2, return_mask=True)(paddle.ones([1, 1, 4]))
        >>> paddle.nn.MaxUnPool1D(2)(pooled, mask).shape
        [1, 1, 4]
    """

    def __init__(self, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None, name=None):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)

    @other_names(input="x")
    def forward(self, x, indices, output_size=None):
        return F.max_unpool1d(
            x,
            indices,
            self.ksize,
            self.stride,
            self.padding,
            self.data_format,
            self.output_size if output_size is None else output_size,
        )


class MaxUnPool2D(_MaxUnPool):
    """Puts what MaxPool2D returned, with its mask, back to where it was; zero elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling.
        data_format: "NCHW".
        output_size: the size to restore, by default from the other arguments.

    Example:
        >>> pooled, mask = paddle.nn.MaxPool2D(2, return_mask=True)(paddle.ones([1, 1, 4, 4]))
        >>> paddle.nn.MaxUnPool2D(2)(pooled, mask).shape
        [1, 1, 4, 4]
    """

    def __init__(self, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None, name=None):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)

    @other_names(input="x")
    def forward(self, x, indices, output_size=None):
        return F.max_unpool2d(
            x,
            indices,
            self.ksize,
            self.stride,
            self.padding,
            self.data_format,
            self.output_size if output_size is None else output_size,
        )


class MaxUnPool3D(_MaxUnPool):
    """Puts what MaxPool3D returned, with its mask, back to where it was; zero elsewhere.

    Example:
        >>> pooled, mask = paddle.nn.MaxPool3D(2, return_mask=True)(paddle.ones([1, 1, 2, 2, 2]))
        >>> paddle.nn.MaxUnPool3D(2)(pooled, mask).shape
        [1, 1, 2, 2, 2]
    """

    def __init__(self, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None, name=None):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)

    @other_names(input="x")
    def forward(self, x, indices, output_size=None):
        return F.max_unpool3d(
            x,
            indices,
            self.ksize,
            self.stride,
            self.padding,
            self.data_format,
            self.output_size if output_size is None else output_size,
        )


class _Adaptive(Layer):
    """Pooling to a given size."""

    output_size: Any = None

    def __init__(self, output_size, data_format=None, name=None):
        super().__init__()
        self.output_size, self._data_format, self.name = output_size, data_format, name

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1D(_Adaptive):
    """Means of [N, C, L] over `output_size` windows of nearly equal length.

    Example:
        >>> paddle.nn.AdaptiveAvgPool1D(2)(paddle.ones([1, 1, 5])).shape
        [1, 1, 2]
    """

    def __init__(self, output_size, name=None):
        super().__init__(output_size, None, name)

    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2D(_Adaptive):
    """Means of [N, C, H, W] over a grid of windows of nearly equal size.

    Args:
        output_size: an int, or one for each axis; None keeps an axis as it is.
        data_format: "NCHW" or "NHWC".

    Example:
        >>> paddle.nn.AdaptiveAvgPool2D(1)(paddle.ones([2, 3, 5, 7])).shape
        [2, 3, 1, 1]
    """

    def __init__(self, output_size, data_format="NCHW", name=None):
        super().__init__(output_size, data_format, name)

    @other_names(input="x")
    def forward(self, x):
        return F.adaptive_avg_pool2d(x, self.output_size, self._data_format)


class AdaptiveAvgPool3D(_Adaptive):
    """Means of [N, C, D, H, W] over a grid of windows of nearly equal size.

    Example:
        >>> paddle.nn.AdaptiveAvgPool3D(2)(paddle.ones([1, 1, 4, 4, 4])).shape
        [1, 1, 2, 2, 2]
    """

    def __init__(self, output_size, data_format="NCDHW", name=None):
        super().__init__(output_size, data_format, name)

    @other_names(input="x")
    def forward(self, x):
        return F.adaptive_avg_pool3d(x, self.output_size, self._data_format)


class _AdaptiveMax(_Adaptive):
    @other_names(return_indices="return_mask")
    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__(output_size, None, name)
        self.return_mask = return_mask

    return_indices = property(lambda self: self.return_mask, lambda self, value: setattr(self, "return_mask", value))

    def extra_repr(self):
        return f"output_size={self.output_size}, return_mask={self.return_mask}"


class AdaptiveMaxPool1D(_AdaptiveMax):
    """Largest elements of [N, C, L] in `output_size` windows of nearly equal length; with `return_mask` also where.

    Example:
        >>> paddle.nn.AdaptiveMaxPool1D(2)(paddle.ones([1, 1, 5])).shape
        [1, 1, 2]
    """

    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_mask)


class AdaptiveMaxPool2D(_AdaptiveMax):
    """Largest elements of [N, C, H, W] in a grid of windows of nearly equal size; with `return_mask` also where.

    Example:
        >>> paddle.nn.AdaptiveMaxPool2D(2)(paddle.ones([2, 3, 5, 7])).shape
        [2, 3, 2, 2]
    """

    @other_names(input="x")
    def forward(self, x):
        return F.adaptive_max_pool2d(x, self.output_size, self.return_mask)


class AdaptiveMaxPool3D(_AdaptiveMax):
    """Largest elements of [N, C, D, H, W] in a grid of windows of nearly equal size; with `return_mask` also where.

    Example:
        >>> paddle.nn.AdaptiveMaxPool3D(2)(paddle.ones([1, 1, 4, 4, 4])).shape
        [1, 1, 2, 2, 2]
    """

    @other_names(input="x")
    def forward(self, x):
        return F.adaptive_max_pool3d(x, self.output_size, self.return_mask)


class _FractionalMax(Layer):
    def __init__(self, output_size, kernel_size=None, random_u=None, return_mask=False, name=None):
        super().__init__()
        self._output_size, self._kernel_size, self._random_u = output_size, kernel_size, random_u
        self._return_mask, self._name = return_mask, name

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class FractionalMaxPool2D(_FractionalMax):
    """Largest elements of [N, C, H, W] in windows of random size (Graham 2014).

    Args:
        output_size: an int, or one for each axis.
        kernel_size: of overlapping windows; None for windows side by side.
        random_u: a number in (0, 1) that decides the windows; None draws it.
        return_mask: also return where they were.

    Example:
        >>> paddle.nn.FractionalMaxPool2D(2)(paddle.ones([1, 1, 5, 5])).shape
        [1, 1, 2, 2]
    """

    def forward(self, x):
        return F.fractional_max_pool2d(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)


class FractionalMaxPool3D(_FractionalMax):
    """Largest elements of [N, C, D, H, W] in windows of random size; the arguments are those of FractionalMaxPool2D.

    Example:
        >>> paddle.nn.FractionalMaxPool3D(2)(paddle.ones([1, 1, 5, 5, 5])).shape
        [1, 1, 2, 2, 2]
    """

    def forward(self, x):
        return F.fractional_max_pool3d(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)
