"""Distributions on positive numbers, on the unit interval and on the simplex, made of gamma variables."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.lax import digamma, lgamma
from jax.scipy.special import xlog1py, xlogy

from ..engine import errors
from .distribution import ExponentialFamily, formula, parameters_of, sampler


@jax.custom_jvp
def betaln(a, b):
    """The logarithm of the beta function. (JAX orders the arguments first, which makes derivatives wrong where a = b.)"""
    return jax.scipy.special.betaln(a, b)


@betaln.defjvp
def _(primals, tangents):
    a, b = primals
    both = digamma(a + b)
    return betaln(a, b), (digamma(a) - both) * tangents[0] + (digamma(b) - both) * tangents[1]


def _where(inside, fn, value):
    """The logarithm of a density that is 0 outside; the gradient does not see the values there."""
    return jnp.where(inside, fn(jnp.where(inside, value, 0.5)), -jnp.inf)


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Args:
        concentration: the shape parameter, positive: a number, list, array or Tensor.
        rate: the inverse scale, positive, likewise.

    Example:
        >>> paddle.distribution.Gamma(2.0, 4.0).mean.item()
        0.5
    """

    def __init__(self, concentration, rate):
        super().__init__(self._set(concentration=concentration, rate=rate))

    @property
    @formula
    def mean(concentration, rate):
        """The mean."""
        return concentration / rate

    @property
    @formula
    def variance(concentration, rate):
        """The variance."""
        return concentration / rate**2

    @sampler
    def rsample(key, shape, /, concentration, rate):
        """Draw differentiably, also in the concentration (Figurnov et al., "Implicit Reparameterization Gradients",
        2018)."""
        return jax.random.gamma(key, concentration, shape, rate.dtype) / rate

    @formula
    def log_prob(value, /, concentration, rate):
        """The logarithm of the density."""
        return _where(value >= 0, lambda v: xlogy(concentration - 1, v) - rate * v, value) + (
            xlogy(concentration, rate) - lgamma(concentration)
        )

    @formula
    def entropy(concentration, rate):
        """The entropy in nats."""
        return concentration - jnp.log(rate) + lgamma(concentration) + (1 - concentration) * digamma(concentration)

    @property
    def _natural_parameters(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of `df` standard normal variables.

    Args:
        df: the degrees of freedom, positive.

    Example:
        >>> paddle.distribution.Chi2(3.0).variance.item()
        6.0
    """

    def __init__(self, df):
        (self.df,) = parameters_of("Chi2", df=df)
        super().__init__(self.df * 0.5, 0.5)


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Args:
        rate: the inverse of the mean, positive: a number, list, array or Tensor.

    Example:
        >>> paddle.distribution.Exponential(2.0).mean.item()
        0.5
    """

    def __init__(self, rate):
        super().__init__(self._set(rate=rate))

    @property
    @formula
    def mean(rate):
        """The mean."""
        return 1 / rate

    @property
    @formula
    def variance(rate):
        """The variance."""
        return 1 / rate**2

    @sampler
    def rsample(key, shape, /, rate):
        """Draw differentiably."""
        return jax.random.exponential(key, shape, rate.dtype) / rate

    @formula
    def log_prob(value, /, rate):
        """The logarithm of the density."""
        return jnp.where(value >= 0, jnp.log(rate) - rate * value, -jnp.inf)

    @formula
    def entropy(rate):
        """The entropy in nats."""
        return 1 - jnp.log(rate)

    @formula
    def cdf(value, /, rate):
        """The probability of a draw of at most `value`."""
        return -jnp.expm1(-rate * jnp.maximum(value, 0))

    @formula
    def icdf(value, /, rate):
        """The inverse of `cdf`."""
        return -jnp.log1p(-value) / rate

    @property
    def _natural_parameters(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


class Beta(ExponentialFamily):
    """The beta distribution on the unit interval.

    Args:
        alpha: positive; the larger, the nearer to 1 the draws are.
        beta: positive; the larger, the nearer to 0.

    Example:
        >>> paddle.distribution.Beta(1.0, 3.0).mean.item()
        0.25
    """

    def __init__(self, alpha, beta):
        super().__init__(self._set(alpha=alpha, beta=beta))

    @property
    @formula
    def mean(alpha, beta):
        """The mean."""
        return alpha / (alpha + beta)

    @property
    @formula
    def variance(alpha, beta):
        """The variance."""
        total = alpha + beta
        return alpha * beta / (total**2 * (total + 1))

    @sampler
    def rsample(key, shape, /, alpha, beta):
        """Draw differentiably."""
        return jax.random.beta(key, alpha, beta, shape, alpha.dtype)

    @formula
    def log_prob(value, /, alpha, beta):
        """The logarithm of the density."""
        inside = (value >= 0) & (value <= 1)
        return _where(inside, lambda v: xlogy(alpha - 1, v) + xlog1py(beta - 1, -v), value) - betaln(alpha, beta)

    @formula
    def entropy(alpha, beta):
        """The entropy in nats."""
        total = alpha + beta
        return (
            betaln(alpha, beta)
            - (alpha - 1) * digamma(alpha)
            - (beta - 1) * digamma(beta)
            + (total - 2) * digamma(total)
        )

    @property
    def _natural_parameters(self):
        return self.alpha, self.beta

    def _log_normalizer(self, x, y):
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: positive numbers, as many as the last axis of `concentration` is long, that sum to 1.

    Args:
        concentration: positive, at least one dimension.

    Raises:
        ValueError: `concentration` has no dimension.

    Example:
        >>> paddle.distribution.Dirichlet(paddle.to_tensor([1.0, 3.0])).mean.tolist()
        [0.25, 0.75]
    """

    def __init__(self, concentration):
        shape = self._set(concentration=concentration)
        if not shape:
            raise errors.ValueError_("Dirichlet: concentration must have at least one dimension")
        super().__init__(shape[:-1], shape[-1:])

    @property
    @formula
    def mean(concentration):
        """The mean."""
        return concentration / concentration.sum(-1, keepdims=True)

    @property
    @formula
    def variance(concentration):
        """The variance of each number."""
        total = concentration.sum(-1, keepdims=True)
        return concentration * (total - concentration) / (total**2 * (total + 1))

    @sampler
    def rsample(key, shape, /, concentration):
        """Draw differentiably."""
        return jax.random.dirichlet(key, concentration, shape[:-1], concentration.dtype)

    @formula
    def log_prob(value, /, concentration):
        """The logarithm of the density; `value` is not checked to sum to 1."""
        each = _where(value >= 0, lambda v: xlogy(concentration - 1, v), value)
        return each.sum(-1) + lgamma(concentration.sum(-1)) - lgamma(concentration).sum(-1)

    @formula
    def entropy(concentration):
        """The entropy in nats."""
        total, n = concentration.sum(-1), concentration.shape[-1]
        return (
            lgamma(concentration).sum(-1)
            - lgamma(total)
            + (total - n) * digamma(total)
            - ((concentration - 1) * digamma(concentration)).sum(-1)
        )

    @property
    def _natural_parameters(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
