"""Distributions that a location and a scale determine, and the uniform distribution."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.modes import no_grad
from ..ops.checks import satisfies
from .distribution import Distribution, broadcast, formula, parameters_of, sampler, seeded

_LOG_2PI = math.log(2 * math.pi)


class Normal(Distribution):
    """The normal distribution; with a complex `loc` the circular complex normal distribution.

    Args:
        loc: the mean: a number, list, array or Tensor.
        scale: the standard deviation, likewise.

    Example:
        >>> d = paddle.distribution.Normal(0.0, 1.0)
        >>> round(float(d.log_prob(0.0)), 4), d.sample([3]).shape
        (-0.9189, [3])
    """

    def __init__(self, loc, scale, name=None):
        self.name = name or "Normal"
        loc, scale = broadcast("Normal", *parameters_of("Normal", complex_too=True, loc=loc, scale=scale))
        self.loc, self.scale = loc, scale.real() if scale.dtype.is_complex else scale
        self._of = loc
        super().__init__(loc.shape)

    @property
    def mean(self):
        return self.loc

    @property
    @formula
    def variance(scale):
        """The variance."""
        return scale**2

    @errors.clean
    def sample(self, shape=[], seed=0):
        """Draw without a gradient; a `seed` other than 0 fixes the numbers."""
        with no_grad(), seeded(seed):
            return self.rsample(shape)

    @sampler
    def rsample(key, shape, /, loc, scale):
        """Draw differentiably."""
        return loc + scale * jax.random.normal(key, shape, loc.dtype)

    @formula
    def entropy(loc, scale):
        """The entropy in nats."""
        if jnp.iscomplexobj(loc):
            return 1 + math.log(math.pi) + 2 * jnp.log(scale)
        return 0.5 + 0.5 * _LOG_2PI + jnp.log(scale)

    @formula
    def log_prob(value, /, loc, scale):
        """The logarithm of the density (a complex number when `loc` is complex)."""
        if jnp.iscomplexobj(loc):
            z = (value - loc) / scale
            return (-(z * z.conj()).real - 2 * jnp.log(scale) - math.log(math.pi)).astype(loc.dtype)
        return -0.5 * ((value - loc) / scale) ** 2 - jnp.log(scale) - 0.5 * _LOG_2PI


class Uniform(Distribution):
    """The uniform distribution on an interval, whose ends have the density 0.

    Args:
        low: the lower end: a number, list, array or Tensor.
        high: the upper end, likewise.

    Example:
        >>> paddle.distribution.Uniform(0.0, 2.0).prob(paddle.to_tensor([0.0, 1.0, 3.0])).tolist()
        [0.0, 0.5, 0.0]
    """

    def __init__(self, low, high, name=None):
        self.name = name or "Uniform"
        super().__init__(self._set(low=low, high=high))

    @property
    @formula
    def mean(low, high):
        """The mean."""
        return (low + high) / 2

    @property
    @formula
    def variance(low, high):
        """The variance."""
        return (high - low) ** 2 / 12

    @errors.clean
    def sample(self, shape=[], seed=0):
        """Draw without a gradient; a `seed` other than 0 fixes the numbers."""
        with no_grad(), seeded(seed):
            return self.rsample(shape)

    @sampler
    def rsample(key, shape, /, low, high):
        """Draw differentiably."""
        return low + (high - low) * jax.random.uniform(key, shape, low.dtype)

    @formula
    def log_prob(value, /, low, high):
        """The logarithm of the density."""
        return jnp.where((low < value) & (value < high), -jnp.log(high - low), -jnp.inf)

    @formula
    def entropy(low, high):
        """The entropy in nats."""
        return jnp.log(high - low)


class Laplace(Distribution):
    """The Laplace distribution, exponential on both sides of its mean.

    Args:
        loc: the mean.
        scale: the mean distance from it.

    Example:
        >>> paddle.distribution.Laplace(0.0, 1.0).cdf(0.0).item()
        0.5
    """

    def __init__(self, loc, scale):
        super().__init__(self._set(loc=loc, scale=scale))

    @property
    def mean(self):
        return self.loc

    @property
    @formula
    def stddev(scale):
        """The standard deviation."""
        return math.sqrt(2) * scale

    @property
    @formula
    def variance(scale):
        """The variance."""
        return 2 * scale**2

    @sampler
    def rsample(key, shape, /, loc, scale):
        """Draw differentiably."""
        return loc + scale * jax.random.laplace(key, shape, loc.dtype)

    @formula
    def log_prob(value, /, loc, scale):
        """The logarithm of the density."""
        return -jnp.abs(value - loc) / scale - jnp.log(2 * scale)

    @formula
    def entropy(scale):
        """The entropy in nats."""
        return 1 + jnp.log(2 * scale)

    @formula
    def cdf(value, /, loc, scale):
        """The probability of a draw of at most `value`."""
        z = (value - loc) / scale
        return 0.5 - 0.5 * jnp.sign(z) * jnp.expm1(-jnp.abs(z))

    @formula
    def icdf(value, /, loc, scale):
        """The inverse of `cdf`."""
        z = value - 0.5
        return loc - scale * jnp.sign(z) * jnp.log1p(-2 * jnp.abs(z))


class Cauchy(Distribution):
    """The Cauchy distribution, which has neither mean nor variance.

    Args:
        loc: the median.
        scale: half of the distance between the quartiles.

    Example:
        >>> round(float(paddle.distribution.Cauchy(0.0, 1.0).cdf(1.0)), 4)
        0.75
    """

    def __init__(self, loc, scale, name=None):
        self.name = name or "Cauchy"
        super().__init__(self._set(loc=loc, scale=scale))

    @property
    def mean(self):
        """Raises ValueError, there is none."""
        raise errors.ValueError_("Cauchy distribution has no mean")

    @property
    def variance(self):
        """Raises ValueError, there is none."""
        raise errors.ValueError_("Cauchy distribution has no variance")

    @property
    def stddev(self):
        """Raises ValueError, there is none."""
        raise errors.ValueError_("Cauchy distribution has no stddev")

    def sample(self, shape=[], name=None):
        """Draw without a gradient."""
        return super().sample(shape)

    @sampler
    def _rsample(key, shape, /, loc, scale):
        return loc + scale * jax.random.cauchy(key, shape, loc.dtype)

    def rsample(self, shape=[], name=None):
        """Draw differentiably."""
        return self._rsample(shape)

    @formula
    def log_prob(value, /, loc, scale):
        """The logarithm of the density."""
        return -jnp.log1p(((value - loc) / scale) ** 2) - jnp.log(math.pi * scale)

    @formula
    def cdf(value, /, loc, scale):
        """The probability of a draw of at most `value`."""
        return jnp.arctan((value - loc) / scale) / math.pi + 0.5

    @formula
    def entropy(scale):
        """The entropy in nats."""
        return jnp.log(4 * math.pi * scale)


class StudentT(Distribution):
    """Student's t distribution.

    Args:
        df: the degrees of freedom.
        loc: the mean (where df > 1).
        scale: the scale.

    Raises:
        ValueError: negative elements of `df` or `scale` (looked for on the CPU).

    Example:
        >>> round(float(paddle.distribution.StudentT(5.0, 0.0, 1.0).variance), 4)
        1.6667
    """

    def __init__(self, df, loc, scale, name=None):
        self.name = name or "StudentT"
        super().__init__(self._set(df=df, loc=loc, scale=scale))
        for parameter in ("df", "scale"):
            if not satisfies(getattr(self, parameter), lambda elements: ~(elements < 0)):
                raise errors.ValueError_(f"StudentT: the elements of {parameter} cannot be negative")

    @property
    @formula
    def mean(df, loc):
        """The mean, NaN where df <= 1."""
        return jnp.where(df > 1, loc, jnp.nan)

    @property
    @formula
    def variance(df, scale):
        """The variance, infinite where df <= 2 and NaN where df <= 1."""
        finite = df > 2
        value = scale**2 * df / (jnp.where(finite, df, 3) - 2)
        return jnp.where(finite, value, jnp.where(df > 1, jnp.inf, jnp.nan))

    @sampler
    def rsample(key, shape, /, df, loc, scale):
        """Draw differentiably."""
        return loc + scale * jax.random.t(key, df, shape, loc.dtype)

    @formula
    def log_prob(value, /, df, loc, scale):
        """The logarithm of the density."""
        z = (value - loc) / scale
        return (
            jax.lax.lgamma((df + 1) / 2)
            - jax.lax.lgamma(df / 2)
            - 0.5 * jnp.log(df * math.pi)
            - jnp.log(scale)
            - 0.5 * (df + 1) * jnp.log1p(z * z / df)
        )

    @formula
    def entropy(df, scale):
        """The entropy in nats."""
        half, more = df / 2, (df + 1) / 2
        return (
            jnp.log(scale)
            + more * (jax.lax.digamma(more) - jax.lax.digamma(half))
            + 0.5 * jnp.log(df)
            + jax.scipy.special.betaln(half, 0.5)
        )
