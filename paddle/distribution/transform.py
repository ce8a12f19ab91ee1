"""Transforms of random variables, with the logarithm of the determinant of their Jacobian."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from ..nn.functional import log_sigmoid, pad, sigmoid, softmax, softplus
from ..ops.creation import ones_like, shape_of, zeros, zeros_like
from ..ops.joining import stack
from ..ops.manipulation import tensor_of
from ..ops.parts import unbind
from . import constraint, variable
from .distribution import Distribution, broadcast, sum_last


class Type(enum.Enum):
    """What kind of function a transform is."""

    BIJECTION = "bijection"
    INJECTION = "injection"
    SURJECTION = "surjection"
    OTHER = "other"

    @classmethod
    def is_injective(cls, type):
        """Whether different inputs give different outputs."""
        return type in (cls.BIJECTION, cls.INJECTION)


class Transform(errors.Explains):
    """A function of a random variable that may have an inverse.

    A subclass implements `_forward`, `_inverse` and one of `_forward_log_det_jacobian`, `_inverse_log_det_jacobian`;
    where it changes shapes `_forward_shape` and `_inverse_shape`, too. It sets `_type`, and `_domain` and `_codomain`
    where events have axes.

    Called with a tensor it is `forward`, with a distribution it gives a TransformedDistribution, with a transform the
    transform that comes after it.

    Example:
        >>> t = paddle.distribution.ExpTransform()
        >>> t(paddle.zeros([2])).tolist()
        [1.0, 1.0]
    """

    _type = Type.INJECTION

    @property
    def _domain(self):
        return variable.real

    @property
    def _codomain(self):
        return variable.real

    @classmethod
    def _is_injective(cls):
        return Type.is_injective(cls._type)

    @errors.clean
    def __call__(self, input):
        if isinstance(input, Distribution):
            from .transformed import TransformedDistribution

            return TransformedDistribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([self, input])
        return self.forward(input)

    def _check(self, x: Any, argument: str) -> Tensor:
        rank = (self._domain if argument == "x" else self._codomain).event_rank
        name = type(self).__name__
        if tensor_of(name, x, argument).ndim < rank:
            raise errors.ValueError_(
                f"{name}: {argument} must have at least {rank} dimensions, got {errors.describe(x)}"
            )
        return x

    @errors.clean
    def forward(self, x):
        """The transformed x.

        Raises:
            ValueError: x has fewer dimensions than an event.
        """
        return self._forward(self._check(x, "x"))

    @errors.clean
    def inverse(self, y):
        """The x that `forward` turns into y (a tuple where there are several)."""
        return self._inverse(self._check(y, "y"))

    @errors.clean
    def forward_log_det_jacobian(self, x):
        """The logarithm of the absolute determinant of the Jacobian at x.

        Raises:
            NotImplementedError: the transform is not injective.
        """
        self._check(x, "x")
        if not self._is_injective():
            raise NotImplementedError(f"{type(self).__name__} is not injective, it has no Jacobian determinant")
        return self._forward_jacobian(x)

    def _forward_jacobian(self, x):
        if _gives(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(x)
        if _gives(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(self._forward(x))
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian determinant")

    @errors.clean
    def inverse_log_det_jacobian(self, y):
        """The logarithm of the absolute determinant of the Jacobian of the inverse at y."""
        self._check(y, "y")
        if _gives(self, "_inverse_log_det_jacobian"):
            return self._inverse_log_det_jacobian(y)
        if _gives(self, "_forward_log_det_jacobian"):
            return -self._forward_log_det_jacobian(self._inverse(y))
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian determinant")

    @errors.clean
    def forward_shape(self, shape):
        """The shape of the result for an input of a shape."""
        return tuple(self._forward_shape(shape_of(shape, type(self).__name__)))

    @errors.clean
    def inverse_shape(self, shape):
        """The shape of the input for a result of a shape."""
        return tuple(self._inverse_shape(shape_of(shape, type(self).__name__)))

    def _forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward function")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def _forward_log_det_jacobian(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian determinant")

    def _inverse_log_det_jacobian(self, y):
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian determinant")

    def _forward_shape(self, shape):
        return shape

    def _inverse_shape(self, shape):
        return shape


def _gives(transform: Transform, method: str) -> bool:
    return getattr(type(transform), method) is not getattr(Transform, method)


class _Positive:
    """A codomain of positive numbers."""

    @property
    def _codomain(self):
        return variable.positive


class AbsTransform(_Positive, Transform):
    """y = |x|, not injective: the inverse is the pair (-y, y).

    Example:
        >>> paddle.distribution.AbsTransform().forward(paddle.to_tensor([-1.0])).tolist()
        [1.0]
    """

    _type = Type.SURJECTION

    def _forward(self, x):
        return x.abs()

    def _inverse(self, y):
        return -y, y

    def _inverse_log_det_jacobian(self, y):
        zero = zeros([], y.dtype)
        return zero, zero


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc, scale: tensors.

    Example:
        >>> t = paddle.distribution.AffineTransform(paddle.to_tensor(1.0), paddle.to_tensor(2.0))
        >>> t.forward(paddle.to_tensor(3.0)).item()
        7.0
    """

    _type = Type.BIJECTION

    def __init__(self, loc, scale):
        self._loc = tensor_of("AffineTransform", loc, "loc")
        self._scale = tensor_of("AffineTransform", scale, "scale")

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        return self._scale

    def _forward(self, x):
        return self._loc + self._scale * x

    def _inverse(self, y):
        return (y - self._loc) / self._scale

    def _forward_log_det_jacobian(self, x):
        return self._scale.abs().log()

    def _forward_shape(self, shape):
        return _common("AffineTransform", shape, self._loc.shape, self._scale.shape)

    _inverse_shape = _forward_shape


def _common(name: str, *shapes: Any) -> tuple[int, ...]:

    try:
        return np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        raise errors.ValueError_(f"{name}: the shapes {[list(s) for s in shapes]} do not broadcast") from None


class ExpTransform(_Positive, Transform):
    """y = exp(x).

    Example:
        >>> paddle.distribution.ExpTransform().inverse(paddle.to_tensor(1.0)).item()
        0.0
    """

    _type = Type.BIJECTION

    def _forward(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def _forward_log_det_jacobian(self, x):
        return x


class PowerTransform(_Positive, Transform):
    """y = x ** power, for positive x.

    Args:
        power: a Tensor.

    Example:
        >>> paddle.distribution.PowerTransform(paddle.to_tensor(2.0)).forward(paddle.to_tensor(3.0)).item()
        9.0
    """

    _type = Type.BIJECTION

    def __init__(self, power):
        self._power = tensor_of("PowerTransform", power, "power")

    @property
    def power(self):
        return self._power

    def _forward(self, x):
        return x**self._power

    def _inverse(self, y):
        return y ** (1 / self._power)

    def _forward_log_det_jacobian(self, x):
        return (self._power * x ** (self._power - 1)).abs().log()

    def _forward_shape(self, shape):
        return _common("PowerTransform", shape, self._power.shape)

    _inverse_shape = _forward_shape


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    Example:
        >>> paddle.distribution.SigmoidTransform().forward(paddle.to_tensor(0.0)).item()
        0.5
    """

    @property
    def _codomain(self):
        return variable.Variable(False, 0, constraint.Range(0.0, 1.0))

    def _forward(self, x):
        return sigmoid(x)

    def _inverse(self, y):
        return y.log() - (-y).log1p()

    def _forward_log_det_jacobian(self, x):
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """y = tanh(x).

    Example:
        >>> paddle.distribution.TanhTransform().forward(paddle.to_tensor(0.0)).item()
        0.0
    """

    _type = Type.BIJECTION

    @property
    def _codomain(self):
        return variable.Variable(False, 0, constraint.Range(-1.0, 1.0))

    def _forward(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def _forward_log_det_jacobian(self, x):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class SoftmaxTransform(Transform):
    """y = softmax(x) along the last axis, not injective; the inverse is log(y).

    Example:
        >>> paddle.distribution.SoftmaxTransform().forward(paddle.zeros([2])).tolist()
        [0.5, 0.5]
    """

    _type = Type.OTHER

    @property
    def _domain(self):
        return variable.Independent(variable.real, 1)

    @property
    def _codomain(self):
        return variable.Variable(False, 1, constraint.simplex)

    def _forward(self, x):
        return softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def _forward_shape(self, shape):
        if not shape:
            raise errors.ValueError_("SoftmaxTransform: the shape must have at least one axis")
        return shape

    _inverse_shape = _forward_shape


class StickBreakingTransform(Transform):
    """From n numbers to n + 1 that are positive and sum to 1, by breaking parts off a stick.

    Example:
        >>> paddle.distribution.StickBreakingTransform().forward(paddle.zeros([1])).tolist()
        [0.5, 0.5]
    """

    _type = Type.BIJECTION

    @property
    def _domain(self):
        return variable.Independent(variable.real, 1)

    @property
    def _codomain(self):
        return variable.Variable(False, 1, constraint.simplex)

    @staticmethod
    def _shifted(x):
        """x less the logarithm of the number of parts that are left."""
        return x - (x.shape[-1] + 1 - ones_like(x).cumsum(-1)).log()

    def _forward(self, x):
        z = sigmoid(self._shifted(x))
        broken, left = _padded(z, 0, 1, 1.0), _padded((1 - z).cumprod(-1), 1, 0, 1.0)
        return broken * left

    def _inverse(self, y):
        broken = y[..., :-1]
        left = 1 - broken.cumsum(-1)
        counts = y.shape[-1] - ones_like(broken).cumsum(-1)
        return broken.log() - left.log() + counts.log()

    def _forward_log_det_jacobian(self, x):
        shifted = self._shifted(x)
        return (log_sigmoid(shifted) + self._forward(x)[..., :-1].log() - shifted).sum(-1)

    def _forward_shape(self, shape):
        if not shape:
            raise errors.ValueError_("StickBreakingTransform: the shape must have at least one axis")
        return (*shape[:-1], shape[-1] + 1)

    def _inverse_shape(self, shape):
        if not shape:
            raise errors.ValueError_("StickBreakingTransform: the shape must have at least one axis")
        return (*shape[:-1], shape[-1] - 1)


def _padded(x, before, after, value):
    return pad(x, [0, 0] * (x.ndim - 1) + [before, after], value=value)


class ReshapeTransform(Transform):
    """Reshape events.

    Args:
        in_event_shape, out_event_shape: shapes with as many elements.

    Raises:
        ValueError: the numbers of elements differ.

    Example:
        >>> paddle.distribution.ReshapeTransform((2, 3), (3, 2)).forward(paddle.ones([1, 2, 3])).shape
        [1, 3, 2]
    """

    _type = Type.BIJECTION

    def __init__(self, in_event_shape, out_event_shape):
        for shape in (in_event_shape, out_event_shape):
            if not isinstance(shape, (list, tuple)):
                raise errors.TypeError_(f"ReshapeTransform: the shapes must be tuples, got {errors.describe(shape)}")
        self._in = shape_of(in_event_shape, "ReshapeTransform")
        self._out = shape_of(out_event_shape, "ReshapeTransform")
        if math.prod(self._in) != math.prod(self._out):
            raise errors.ValueError_(
                f"ReshapeTransform: shapes {list(self._in)} and {list(self._out)} differ in their numbers of elements"
            )

    @property
    def in_event_shape(self):
        return self._in

    @property
    def out_event_shape(self):
        return self._out

    @property
    def _domain(self):
        return variable.Independent(variable.real, len(self._in))

    @property
    def _codomain(self):
        return variable.Independent(variable.real, len(self._out))

    def _forward(self, x):
        return x.reshape(self._forward_shape(tuple(x.shape)))

    def _inverse(self, y):
        return y.reshape(self._inverse_shape(tuple(y.shape)))

    def _forward_log_det_jacobian(self, x):
        return zeros(x.shape[: x.ndim - len(self._in)], x.dtype)

    def _forward_shape(self, shape):
        return self._swap(shape, self._in, self._out)

    def _inverse_shape(self, shape):
        return self._swap(shape, self._out, self._in)

    @staticmethod
    def _swap(shape, old, new):
        batch = len(shape) - len(old)
        if batch < 0 or tuple(shape[batch:]) != old:
            raise errors.ValueError_(f"ReshapeTransform: the shape must end in {list(old)}, got {list(shape)}")
        return (*shape[:batch], *new)


def _transforms(name: str, transforms: Any, empty: bool = True) -> list[Transform]:
    if not isinstance(transforms, Sequence) or not empty and not transforms:
        raise errors.TypeError_(f"{name}: transforms must be a list of Transforms, got {errors.describe(transforms)}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise errors.TypeError_(f"{name}: all elements of transforms must be Transforms")
    return list(transforms)


class IndependentTransform(Transform):
    """A transform whose last `reinterpreted_batch_rank` batch axes count as axes of the event: its log-determinants are
    summed over them.

    Raises:
        TypeError: `base` is no Transform.
        ValueError: `reinterpreted_batch_rank` is not positive.

    Example:
        >>> t = paddle.distribution.IndependentTransform(paddle.distribution.ExpTransform(), 1)
        >>> t.forward_log_det_jacobian(paddle.ones([2, 3])).tolist()
        [3.0, 3.0]
    """

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Transform):
            raise errors.TypeError_(f"IndependentTransform: base must be a Transform, got {type(base).__name__}")
        if reinterpreted_batch_rank <= 0:
            raise errors.ValueError_(
                f"IndependentTransform: reinterpreted_batch_rank must be positive, got {reinterpreted_batch_rank}"
            )
        self._base, self._rank = base, reinterpreted_batch_rank

    def _is_injective(self):  # type: ignore[override]
        return self._base._is_injective()

    @property
    def _domain(self):
        return variable.Independent(self._base._domain, self._rank)

    @property
    def _codomain(self):
        return variable.Independent(self._base._codomain, self._rank)

    def _forward(self, x):
        return self._base.forward(x)

    def _inverse(self, y):
        return self._base.inverse(y)

    def _forward_log_det_jacobian(self, x):
        out = self._base.forward_log_det_jacobian(x)
        batch = x.ndim - self._base._domain.event_rank
        return sum_last(out if out.ndim >= batch else out.expand(x.shape[:batch]), self._rank)

    def _forward_shape(self, shape):
        return self._base.forward_shape(shape)

    def _inverse_shape(self, shape):
        return self._base.inverse_shape(shape)


class ChainTransform(Transform):
    """Transforms one after the other, the first of the list first.

    Args:
        transforms: a list of Transforms.

    Raises:
        TypeError: something else.

    Example:
        >>> exp = paddle.distribution.ExpTransform()
        >>> round(paddle.distribution.ChainTransform([exp, exp]).forward(paddle.zeros([])).item(), 4)
        2.7183
    """

    def __init__(self, transforms):
        self.transforms = _transforms("ChainTransform", transforms)

    def _is_injective(self):  # type: ignore[override]
        return all(t._is_injective() for t in self.transforms)

    def _rank(self, transforms, first, last) -> int:
        """The axes of an event at one end of the chain: no transform may need more than there are."""
        rank = 0
        for t in transforms:
            rank = max(rank + getattr(t, first).event_rank - getattr(t, last).event_rank, getattr(t, first).event_rank)
        return rank

    @property
    def _domain(self):
        if not self.transforms:
            return variable.real
        rank = self._rank(reversed(self.transforms), "_domain", "_codomain")
        return variable.Independent(self.transforms[0]._domain, rank - self.transforms[0]._domain.event_rank)

    @property
    def _codomain(self):
        if not self.transforms:
            return variable.real
        rank = self._rank(self.transforms, "_codomain", "_domain")
        return variable.Independent(self.transforms[-1]._codomain, rank - self.transforms[-1]._codomain.event_rank)

    def _forward(self, x):
        for t in self.transforms:
            x = t.forward(x)
        return x

    def _inverse(self, y):
        for t in reversed(self.transforms):
            y = t.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x):
        rank = self._domain.event_rank
        total = zeros_like(x).sum(list(range(-rank, 0))) if rank else zeros_like(x)
        for t in self.transforms:
            each = t.forward_log_det_jacobian(x)
            inner = rank - t._domain.event_rank
            batch = x.shape[: x.ndim - t._domain.event_rank]
            if inner and each.ndim < len(batch):
                each = each.expand(batch)
            total = total + sum_last(each, inner)
            x = t.forward(x)
            rank += t._codomain.event_rank - t._domain.event_rank
        return total

    def _forward_shape(self, shape):
        for t in self.transforms:
            shape = t.forward_shape(shape)
        return shape

    def _inverse_shape(self, shape):
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        return shape


class StackTransform(Transform):
    """A transform for each slice along an axis.

    Args:
        transforms: a list of Transforms, as many as the axis is long.
        axis: an int.

    Raises:
        TypeError: no Transforms, an axis that is no int.

    Example:
        >>> d = paddle.distribution
        >>> d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0).forward(paddle.zeros([2])).tolist()
        [1.0, 0.0]
    """

    def __init__(self, transforms, axis=0):
        self._transforms = _transforms("StackTransform", transforms, empty=False)
        if not isinstance(axis, int):
            raise errors.TypeError_(f"StackTransform: axis must be an int, got {errors.describe(axis)}")
        self._axis = axis

    def _is_injective(self):  # type: ignore[override]
        return all(t._is_injective() for t in self._transforms)

    @property
    def transforms(self):
        return self._transforms

    @property
    def axis(self):
        return self._axis

    @property
    def _domain(self):
        return variable.Stack([t._domain for t in self._transforms], self._axis)

    @property
    def _codomain(self):
        return variable.Stack([t._codomain for t in self._transforms], self._axis)

    def _each(self, method: str, x: Tensor) -> Tensor:
        if not -x.ndim <= self._axis < x.ndim or x.shape[self._axis] != len(self._transforms):
            raise errors.ValueError_(
                f"StackTransform: axis {self._axis} must have the length {len(self._transforms)}, "
                f"got {errors.describe(x)}"
            )
        parts = [getattr(t, method)(part) for t, part in zip(self._transforms, unbind(x, self._axis))]
        if any(isinstance(p, tuple) for p in parts):
            raise NotImplementedError("StackTransform: a transform without a unique inverse")
        return stack(broadcast("StackTransform", *parts), self._axis)

    def _forward(self, x):
        return self._each("forward", x)

    def _inverse(self, y):
        return self._each("inverse", y)

    def _forward_log_det_jacobian(self, x):
        return self._each("forward_log_det_jacobian", x)

    def _inverse_log_det_jacobian(self, y):
        return self._each("inverse_log_det_jacobian", y)
