"""Functions as layers, so that quantisation finds their inputs and outputs."""

from __future__ import annotations

from ... import ops
from ..layer import Layer


class FloatFunctionalLayer(Layer):
    """Base class of the layers that call one function."""


class add(FloatFunctionalLayer):
    """x + y as a layer.

    Example:
        >>> paddle.nn.quant.add()(paddle.ones([1]), paddle.ones([1])).tolist()
        [2.0]
    """

    def forward(self, x, y, name=None):
        return ops.math.add(x, y)


class subtract(FloatFunctionalLayer):
    """x - y as a layer."""

    def forward(self, x, y, name=None):
        return ops.math.subtract(x, y)


class multiply(FloatFunctionalLayer):
    """x * y as a layer."""

    def forward(self, x, y, name=None):
        return ops.math.multiply(x, y)


class divide(FloatFunctionalLayer):
    """x / y as a layer."""

    def forward(self, x, y, name=None):
        return ops.math.divide(x, y)


class reshape(FloatFunctionalLayer):
    """`paddle.reshape` as a layer."""

    def forward(self, x, shape, name=None):
        return x.reshape(shape)


class transpose(FloatFunctionalLayer):
    """`paddle.transpose` as a layer."""

    def forward(self, x, perm, name=None):
        return x.transpose(perm)


class concat(FloatFunctionalLayer):
    """`paddle.concat` as a layer."""

    def forward(self, x, axis=0, name=None):
        return ops.joining.concat(x, axis)


class flatten(FloatFunctionalLayer):
    """`paddle.flatten` as a layer."""

    def forward(self, x, start_axis=0, stop_axis=-1, name=None):
        return x.flatten(start_axis, stop_axis)


class matmul(FloatFunctionalLayer):
    """`paddle.matmul` as a layer."""

    def forward(self, x, y, transpose_x=False, transpose_y=False, name=None):
        return x.matmul(y, transpose_x, transpose_y)
