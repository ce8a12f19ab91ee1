"""Distributions made of other distributions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from ..engine import errors
from .distribution import Distribution, broadcast, formula, parameters_of, sampler, sum_last
from .location_scale import Normal, Uniform
from .transform import ChainTransform, ExpTransform, _transforms


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_rank` batch axes count as axes of the event.

    Raises:
        TypeError: `base` is no Distribution.
        ValueError: `reinterpreted_batch_rank` is not from 1 to the number of batch axes.

    Example:
        >>> base = paddle.distribution.Normal(paddle.zeros([2, 3]), 1.0)
        >>> d = paddle.distribution.Independent(base, 1)
        >>> d.batch_shape, d.event_shape
        ((2,), (3,))
    """

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Distribution):
            raise errors.TypeError_(f"Independent: base must be a Distribution, got {type(base).__name__}")
        if not 0 < reinterpreted_batch_rank <= len(base.batch_shape):
            raise errors.ValueError_(
                "Independent: reinterpreted_batch_rank must be from 1 to "
                f"{len(base.batch_shape)}, got {reinterpreted_batch_rank}"
            )
        self._base, self._rank = base, reinterpreted_batch_rank
        at = len(base.batch_shape) - reinterpreted_batch_rank
        super().__init__(base.batch_shape[:at], base.batch_shape[at:] + base.event_shape)

    @property
    def dtype(self):
        return self._base.dtype

    @property
    def mean(self):
        return self._base.mean

    @property
    def variance(self):
        return self._base.variance

    def _draw(self, shape):
        return self._base.sample(shape)

    def rsample(self, shape=[]):
        """Draw differentiably, where the base can."""
        return self._base.rsample(shape)

    def log_prob(self, value):
        """The logarithm of the probability (density), summed over the new axes of the event."""
        return sum_last(self._base.log_prob(value), self._rank)

    def entropy(self):
        """The entropy in nats."""
        return sum_last(self._base.entropy(), self._rank)


class TransformedDistribution(Distribution):
    """The distribution of a transformed variable.

    Args:
        base: the distribution of the variable.
        transforms: a list of Transforms, applied one after the other.

    Raises:
        TypeError: something else.
        ValueError: `base` has fewer axes than the transforms need.

    Example:
        >>> normal, exp = paddle.distribution.Normal(0.0, 1.0), paddle.distribution.ExpTransform()
        >>> d = paddle.distribution.TransformedDistribution(normal, [exp])
        >>> round(d.prob(paddle.to_tensor(1.0)).item(), 4)
        0.3989
    """

    def __init__(self, base, transforms):
        if not isinstance(base, Distribution):
            raise errors.TypeError_(f"TransformedDistribution: base must be a Distribution, got {type(base).__name__}")
        self._transforms = _transforms("TransformedDistribution", transforms)
        chain = ChainTransform(self._transforms)
        need, have = chain._domain.event_rank, len(base.event_shape)
        shape = base.batch_shape + base.event_shape
        if len(shape) < need:
            raise errors.ValueError_(f"TransformedDistribution: base must have at least {need} axes, got {len(shape)}")
        self._base = Independent(base, need - have) if need > have else base
        out = chain.forward_shape(shape)
        rank = chain._codomain.event_rank + len(self._base.event_shape) - need
        back = chain.inverse_shape(out)
        # batch axes that the transforms add: each of their elements needs a draw of its own
        self._added = back[: len(back) - len(shape)]
        self._draws = back[len(self._added) :] == shape
        super().__init__(out[: len(out) - rank], out[len(out) - rank :])

    @property
    def base(self):
        return self._base

    @property
    def transforms(self):
        return self._transforms

    @property
    def dtype(self):
        return self._base.dtype

    def _push(self, draw, shape):
        if not self._draws:
            raise errors.ValueError_(
                "TransformedDistribution: the transforms broadcast the batch axes of the base; "
                f"give it the batch shape {list(self.batch_shape)}"
            )
        x = draw((*self._sample_shape(shape), *self._added))
        for t in self._transforms:
            x = t.forward(x)
        return x

    def _sample_shape(self, shape):
        full = self._extend_shape(shape)
        return full[: len(full) - len(self._batch_shape) - len(self._event_shape)]

    def _draw(self, shape):
        return self._push(self._base.sample, shape)

    def rsample(self, shape=[]):
        """Draw differentiably, where the base can."""
        return self._push(self._base.rsample, shape)

    @errors.clean
    def log_prob(self, value):
        """The logarithm of the density: that of the base less the log-determinants of the transforms.

        Raises:
            NotImplementedError: a transform is not injective.
        """
        y, rank, out = self._value(value), len(self._event_shape), 0.0
        for t in reversed(self._transforms):
            if not t._is_injective():
                raise NotImplementedError(f"TransformedDistribution: {type(t).__name__} is not injective")
            x = t.inverse(y)
            rank += t._domain.event_rank - t._codomain.event_rank
            each = t.forward_log_det_jacobian(x)
            inner = rank - t._domain.event_rank
            if each.ndim < inner:
                each = each.expand(x.shape[: x.ndim - t._domain.event_rank])
            out = out - sum_last(each, inner)
            y = x
        return out + sum_last(self._base.log_prob(y), rank - len(self._base.event_shape))


class LogNormal(TransformedDistribution):
    """The distribution of a variable whose logarithm is normal.

    Args:
        loc: the mean of the logarithm.
        scale: the standard deviation of the logarithm.

    Example:
        >>> round(float(paddle.distribution.LogNormal(0.0, 1.0).mean), 4)
        1.6487
    """

    _casts = False

    def __init__(self, loc, scale):
        super().__init__(Normal(loc, scale), [ExpTransform()])
        self.loc, self.scale = self._base.loc, self._base.scale
        self._of = self.loc

    @property
    @formula
    def mean(loc, scale):
        """The mean."""
        return jnp.exp(loc + scale**2 / 2)

    @property
    @formula
    def variance(loc, scale):
        """The variance."""
        return jnp.expm1(scale**2) * jnp.exp(2 * loc + scale**2)

    @formula
    def entropy(loc, scale):
        """The entropy in nats."""
        return loc + 0.5 * (1 + math.log(2 * math.pi)) + jnp.log(scale)

    @formula
    def log_prob(value, /, loc, scale):
        """The logarithm of the density."""
        inside = value > 0
        log = jnp.log(jnp.where(inside, value, 1))
        density = -0.5 * ((log - loc) / scale) ** 2 - log - jnp.log(scale) - 0.5 * math.log(2 * math.pi)
        return jnp.where(inside, density, -jnp.inf)


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, of the largest of many draws.

    Args:
        loc: the mode.
        scale: the scale.

    Example:
        >>> round(float(paddle.distribution.Gumbel(0.0, 1.0).mean), 4)
        0.5772
    """

    def __init__(self, loc, scale):
        loc, scale = broadcast("Gumbel", *parameters_of("Gumbel", loc=loc, scale=scale))
        self._of, self.loc, self.scale = loc, loc, scale
        super().__init__(Uniform(loc * 0, loc * 0 + 1), [])
        self.base_dist = self._base

    @property
    @formula
    def mean(loc, scale):
        """The mean."""
        return loc + scale * jnp.euler_gamma

    @property
    @formula
    def variance(scale):
        """The variance."""
        return (math.pi * scale) ** 2 / 6

    @formula
    def entropy(scale):
        """The entropy in nats."""
        return jnp.log(scale) + 1 + jnp.euler_gamma

    @formula
    def log_prob(value, /, loc, scale):
        """The logarithm of the density."""
        z = (value - loc) / scale
        return -z - jnp.exp(-z) - jnp.log(scale)

    @formula
    def cdf(value, /, loc, scale):
        """The probability of a draw of at most `value`."""
        return jnp.exp(-jnp.exp(-(value - loc) / scale))

    def _draw(self, shape):
        return self.rsample(shape)

    @sampler
    def rsample(key, shape, /, loc, scale):
        """Draw differentiably."""
        return loc + scale * jax.random.gumbel(key, shape, loc.dtype)
