"""Activation layers for sparse tensors."""

from __future__ import annotations

from ....nn.layer import Layer
from ....nn.layers.common import with_name
from .. import functional as F


class ReLU(Layer):
    """max(x, 0) of the stored values.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [-2.0], [3])
        >>> paddle.sparse.nn.ReLU()(x).values().tolist()
        [0.0]
    """

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.relu(x)

    def extra_repr(self):
        return with_name("", self._name)


class ReLU6(ReLU):
    """The stored values between 0 and 6.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [8.0], [3])
        >>> paddle.sparse.nn.ReLU6()(x).values().tolist()
        [6.0]
    """

    def forward(self, x):
        return F.relu6(x)


class LeakyReLU(Layer):
    """The leaky rectifier of the stored values.

    Args:
        negative_slope: the slope below zero.

    Example:
        >>> x = paddle.sparse.sparse_coo_tensor([[1]], [-2.0], [3])
        >>> paddle.sparse.nn.LeakyReLU(0.5)(x).values().tolist()
        [-1.0]
    """

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__()
        self._negative_slope, self._name = negative_slope, name

    def forward(self, x):
        return F.leaky_relu(x, self._negative_slope)

    def extra_repr(self):
        return with_name("", self._name)


class Softmax(Layer):
    """The softmax of the stored values along an axis, see `paddle.sparse.nn.functional.softmax`.

    Example:
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2], [0, 1], [1.0, 1.0], [1, 3])
        >>> paddle.sparse.nn.Softmax()(x).values().tolist()
        [0.5, 0.5]
    """

    def __init__(self, axis=-1, name=None):
        super().__init__()
        self._axis, self._name = axis, name

    def forward(self, x):
        return F.softmax(x, self._axis)

    def extra_repr(self):
        return with_name("", self._name)
