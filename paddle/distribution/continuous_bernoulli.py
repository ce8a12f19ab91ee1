"""The continuous Bernoulli distribution."""

from __future__ import annotations

from numbers import Number

import jax
import jax.numpy as jnp

from .discrete import clipped
from .distribution import Distribution, formula, parameters_of, sampler


def _log_sinhc(y):
    """log(sinh(y) / y), an even function; a series near 0, accurate to the second derivative."""
    y = jnp.abs(y)
    small = y < (0.5 if y.dtype.itemsize <= 4 else 0.1)
    z = jnp.where(small, y, 0) ** 2
    series = z * (1 / 6 - z * (1 / 180 - z * (1 / 2835 - z * (1 / 37800 - z / 467775))))
    big = jnp.where(small, 1, y)
    return jnp.where(small, series, big + jnp.log(-jnp.expm1(-2 * big) / (2 * big)))


def _derivative(function):
    return lambda y: jax.jvp(function, (y,), (jnp.ones_like(y),))[1]


_first = _derivative(_log_sinhc)
_second = _derivative(_first)


def log_odds(probs):
    return jnp.log(probs) - jnp.log1p(-probs)


def log_normalizer(slope):
    """The logarithm of the integral of exp(slope * x) from 0 to 1; its derivatives are mean and variance."""
    return slope / 2 + _log_sinhc(slope / 2)


def mean(slope):
    return 0.5 + 0.5 * _first(slope / 2)


class ContinuousBernoulli(Distribution):
    """The continuous Bernoulli distribution, with the density C(p) p^x (1 - p)^(1 - x) on the unit interval
    (Loaiza-Ganem, Cunningham, "The Continuous Bernoulli", NeurIPS 2019).

    Args:
        probs: p; a number gives the batch shape [1]. Kept a rounding error away from 0 and 1.
        lims: the interval around 0.5 where the official package replaces its formulas by series. The formulas used here
            are accurate for every p, so it has no effect.

    Example:
        >>> paddle.distribution.ContinuousBernoulli(0.5).mean.tolist()
        [0.5]
    """

    def __init__(self, probs, lims=(0.499, 0.501)):
        super().__init__(self._set(probs=[probs] if isinstance(probs, Number) else probs))
        self.probs = clipped(self.probs)
        (self.lims,) = parameters_of("ContinuousBernoulli", lims=lims)

    @property
    @formula
    def mean(probs):
        """The mean."""
        return mean(log_odds(probs))

    @property
    @formula
    def variance(probs):
        """The variance."""
        return 0.25 * _second(log_odds(probs) / 2)

    @sampler
    def rsample(key, shape, /, probs):
        """Draw differentiably."""
        return _quantile(jax.random.uniform(key, shape, probs.dtype), log_odds(probs))

    @formula
    def log_prob(value, /, probs):
        """The logarithm of the density."""
        slope = log_odds(probs)
        return jnp.where((value >= 0) & (value <= 1), slope * value - log_normalizer(slope), -jnp.inf)

    @formula
    def entropy(probs):
        """The entropy in nats."""
        slope = log_odds(probs)
        return log_normalizer(slope) - slope * mean(slope)

    @formula
    def cdf(value, /, probs):
        """The probability of a draw of at most `value`."""
        slope, x = log_odds(probs), jnp.clip(value, 0, 1)
        flat = _is_flat(slope)
        steep = jnp.where(flat, 1, slope)
        return jnp.where(flat, x + 0.5 * slope * x * (x - 1), jnp.expm1(steep * x) / jnp.expm1(steep))

    @formula
    def icdf(value, /, probs):
        """The inverse of `cdf`."""
        return _quantile(value, log_odds(probs))


def _is_flat(slope):
    return jnp.abs(slope) < jnp.finfo(slope.dtype).eps ** 0.5


def _quantile(q, slope):
    flat = _is_flat(slope)
    steep = jnp.where(flat, 1, slope)
    return jnp.where(flat, q + 0.5 * slope * q * (1 - q), jnp.log1p(q * jnp.expm1(steep)) / steep)
