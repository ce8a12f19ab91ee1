"""Distributions on integers."""

from __future__ import annotations

import math
from numbers import Number

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import lgamma
from jax.scipy.special import xlog1py, xlogy

from ..engine import errors
from ..engine.tensor import Tensor
from ..ops.checks import satisfies
from ..ops.manipulation import cast
from .distribution import Distribution, ExponentialFamily, formula, parameters_of, sampler


def clipped(probs: Tensor) -> Tensor:
    """Probabilities inside of the open unit interval."""
    eps = float(np.finfo(probs._raw.dtype).eps)
    return probs.clip(eps, 1 - eps)


class Bernoulli(ExponentialFamily):
    """The Bernoulli distribution: 1 with a probability, else 0. Its probabilities are kept a rounding error away from 0
    and 1, as officially.

    Args:
        probs: the probabilities of 1: a number, list, array or Tensor.

    Example:
        >>> paddle.distribution.Bernoulli(0.25).variance.item()
        0.1875
    """

    _casts = True

    def __init__(self, probs, name=None):
        self.name = name or "Bernoulli"
        super().__init__(self._set(probs=probs))
        self.probs = clipped(self.probs)
        self.logits = self.probs.logit()

    @property
    def mean(self):
        return self.probs

    @property
    @formula
    def variance(probs):
        """The variance."""
        return probs * (1 - probs)

    @sampler
    def _draw(key, shape, /, probs):
        return jax.random.bernoulli(key, probs, shape).astype(probs.dtype)

    @sampler
    def _logistic(key, shape, /, logits):
        return logits + jax.random.logistic(key, shape, logits.dtype)

    @errors.clean
    def rsample(self, shape=[], temperature=1.0):
        """Draw differentiably from the relaxed distribution; the sigmoid of the result lies between 0 and 1 and is the
        nearer to them, the lower the temperature (Maddison et al., "The Concrete Distribution", 2017).

        Raises:
            ValueError: a temperature that is not positive.
        """
        if not satisfies(temperature, lambda t: np.asarray(t) > 0):
            raise errors.ValueError_(f"Bernoulli: temperature must be positive, got {temperature}")
        return self._logistic(shape) / temperature

    @formula
    def log_prob(value, /, probs):
        """The logarithm of the probability."""
        return xlogy(value, probs) + xlog1py(1 - value, -probs)

    @formula
    def cdf(value, /, probs):
        """The probability of a draw of at most `value`."""
        return jnp.where(value < 0, 0, jnp.where(value < 1, 1 - probs, jnp.ones_like(probs)))

    @formula
    def entropy(probs):
        """The entropy in nats."""
        return -xlogy(probs, probs) - xlog1py(1 - probs, -probs)


class Geometric(Distribution):
    """The geometric distribution: the number of failures before the first success.

    Args:
        probs: the probability of a success, in (0, 1]: a number or a Tensor.

    Example:
        >>> paddle.distribution.Geometric(0.5).pmf(paddle.to_tensor([0.0, 1.0])).tolist()
        [0.5, 0.25]
    """

    _casts = False

    def __init__(self, probs):
        super().__init__(self._set(probs=probs))

    @property
    @formula
    def mean(probs):
        """The mean."""
        return 1 / probs - 1

    @property
    @formula
    def variance(probs):
        """The variance."""
        return (1 / probs - 1) / probs

    @sampler
    def rsample(key, shape, /, probs):
        """Draw; a step function of the probability, whose gradient is 0."""
        u = jax.random.uniform(key, shape, probs.dtype, minval=np.finfo(probs.dtype).tiny)
        return jnp.floor(jnp.log(u) / jnp.log1p(-probs))

    @formula
    def log_pmf(k, /, probs):
        """The logarithm of the probability of k."""
        return jnp.where(k >= 0, xlog1py(jnp.maximum(k, 0), -probs) + jnp.log(probs), -jnp.inf)

    @errors.clean
    def pmf(self, k):
        """The probability of k."""
        return self.log_pmf(k).exp()

    def log_prob(self, value):
        """The same as `log_pmf`."""
        return self.log_pmf(value)

    @formula
    def cdf(k, /, probs):
        """The probability of a draw of at most k."""
        return jnp.where(k >= 0, -jnp.expm1(xlog1py(jnp.floor(jnp.maximum(k, 0)) + 1, -probs)), 0)

    @formula
    def entropy(probs):
        """The entropy in nats."""
        return -(xlogy(probs, probs) + xlog1py(1 - probs, -probs)) / probs


def _or_list(value):
    """A number as a list of one, which officially gives the batch shape [1]."""
    return [value] if isinstance(value, Number) else value


class Poisson(Distribution):
    """The Poisson distribution.

    Args:
        rate: the mean, not negative; a number gives the batch shape [1].

    Example:
        >>> round(float(paddle.distribution.Poisson(2.0).prob(0.0)), 4)
        0.1353
    """

    def __init__(self, rate):
        super().__init__(self._set(rate=_or_list(rate)))

    @property
    def mean(self):
        return self.rate

    @property
    def variance(self):
        return self.rate

    @sampler
    def _draw(key, shape, /, rate):
        return jax.random.poisson(key, rate, shape).astype(rate.dtype)

    @formula
    def log_prob(value, /, rate):
        """The logarithm of the probability."""
        v = jnp.maximum(value, 0)
        return jnp.where(value >= 0, xlogy(v, rate) - rate - lgamma(v + 1), -jnp.inf)

    @formula
    def entropy(rate):
        """The entropy in nats: a sum for small rates, the asymptotic series for large ones."""
        large = rate > 200
        k = jnp.arange(512, dtype=rate.dtype).reshape(-1, *[1] * rate.ndim)
        small = jnp.where(large, 1, rate)
        terms = jnp.exp(xlogy(k, small) - small - lgamma(k + 1)) * lgamma(k + 1)
        x = jnp.where(large, rate, 200)
        series = 0.5 * jnp.log(2 * math.pi * math.e * x) - 1 / (12 * x) - 1 / (24 * x**2) - 19 / (360 * x**3)
        return jnp.where(large, series, small - xlogy(small, small) + terms.sum(0))


def binomial_mean(function, n, probs, most: int):
    """The mean of a function over the binomial distribution of n <= most trials."""
    k, n = jnp.arange(most + 1, dtype=probs.dtype).reshape(-1, *[1] * probs.ndim), jnp.asarray(n, probs.dtype)
    rest = jnp.maximum(n - k, 0)
    log = lgamma(n + 1) - lgamma(k + 1) - lgamma(rest + 1) + xlogy(k, probs) + xlog1py(rest, -probs)
    possible = (k <= n) & (log > -jnp.inf)
    log = jnp.where(possible, log, 0)
    return jnp.where(possible, jnp.exp(log) * function(k, log), 0).sum(0)


class Binomial(Distribution):
    """The binomial distribution: the number of successes.

    Args:
        total_count: the number of trials: an int or a Tensor.
        probs: the probability of a success: a number or a Tensor.

    Example:
        >>> paddle.distribution.Binomial(4, 0.5).mean.item()
        2.0
    """

    def __init__(self, total_count, probs):
        if isinstance(total_count, float) and total_count != int(total_count):
            raise errors.ValueError_(f"Binomial: total_count must be an integer, got {total_count}")
        (probs,) = parameters_of("Binomial", probs=probs)
        (total_count,) = parameters_of("Binomial", total_count=total_count)
        super().__init__(self._set(total_count=cast(total_count, probs.dtype), probs=probs))

    @property
    @formula
    def mean(total_count, probs):
        """The mean."""
        return total_count * probs

    @property
    @formula
    def variance(total_count, probs):
        """The variance."""
        return total_count * probs * (1 - probs)

    @sampler
    def _draw(key, shape, /, total_count, probs):
        return jax.random.binomial(key, total_count, probs, shape, probs.dtype)

    @formula
    def log_prob(value, /, total_count, probs):
        """The logarithm of the probability."""
        inside = (value >= 0) & (value <= total_count)
        v = jnp.where(inside, value, 0)
        log = (
            lgamma(total_count + 1)
            - lgamma(v + 1)
            - lgamma(total_count - v + 1)
            + xlogy(v, probs)
            + xlog1py(total_count - v, -probs)
        )
        return jnp.where(inside, log, -jnp.inf)

    @property
    def _most(self) -> int:
        """At least the largest number of trials, a power of two so that few kernels are compiled."""
        counts = self.total_count._concrete("Binomial.entropy")
        return 1 << int(counts.max() if counts.size else 0).bit_length()

    @formula
    def entropy(total_count, probs, _most):
        """The entropy in nats: the sum over all numbers of successes."""
        return -binomial_mean(lambda k, log: log, total_count, probs, _most)


class Multinomial(Distribution):
    """The multinomial distribution: how often each category came in a number of trials.

    Args:
        total_count: the number of trials, an int of at least 1.
        probs: the weights of the categories in the last axis, scaled to sum to 1.

    Raises:
        ValueError: `total_count` is no positive int, `probs` has no dimension.

    Example:
        >>> paddle.distribution.Multinomial(10, paddle.to_tensor([1.0, 4.0])).mean.tolist()
        [2.0, 8.0]
    """

    def __init__(self, total_count, probs):
        if not isinstance(total_count, (int, np.integer)) or total_count < 1:
            raise errors.ValueError_(
                f"Multinomial: total_count must be an int of at least 1, got {errors.describe(total_count)}"
            )
        self.total_count = int(total_count)
        shape = self._set(probs=probs)
        if not shape:
            raise errors.ValueError_("Multinomial: probs must have at least one dimension")
        self.probs = self.probs / self.probs.sum(-1, keepdim=True)
        super().__init__(shape[:-1], shape[-1:])

    @property
    @formula
    def mean(total_count, probs):
        """The mean."""
        return total_count * probs

    @property
    @formula
    def variance(total_count, probs):
        """The variance of each number."""
        return total_count * probs * (1 - probs)

    @sampler
    def _draw(key, shape, /, total_count, probs):
        return jax.random.multinomial(key, jnp.asarray(total_count, probs.dtype), probs, shape=shape, dtype=probs.dtype)

    @formula
    def log_prob(value, /, total_count, probs):
        """The logarithm of the probability."""
        inside = (value >= 0).all(-1) & (value.sum(-1) == total_count)
        v = jnp.maximum(value, 0)
        return jnp.where(inside, lgamma(v.sum(-1) + 1) + (xlogy(v, probs) - lgamma(v + 1)).sum(-1), -jnp.inf)

    @formula
    def entropy(total_count, probs):
        """The entropy in nats."""
        each = binomial_mean(lambda k, log: lgamma(k + 1), total_count, probs, total_count)
        arrangements = lgamma(jnp.asarray(total_count + 1, probs.dtype))
        return (each - total_count * xlogy(probs, probs)).sum(-1) - arrangements


class Categorical(Distribution):
    """The categorical distribution. As officially, `sample`, `entropy` and `kl_divergence` take the softmax of `logits`
    as probabilities, `probs` and `log_prob` take `logits` divided by their sum.

    Args:
        logits: the weights of the categories in the last axis: a list, array or Tensor.

    Raises:
        ValueError: `logits` has no dimension.

    Example:
        >>> d = paddle.distribution.Categorical(paddle.to_tensor([1.0, 3.0]))
        >>> d.probs(paddle.to_tensor([1])).tolist()
        [0.75]
    """

    def __init__(self, logits, name=None):
        self.name = name or "Categorical"
        shape = self._set(logits=logits)
        if not shape:
            raise errors.ValueError_("Categorical: logits must have at least one dimension")
        super().__init__(shape[:-1])

    def _value(self, value):
        if not isinstance(value, Tensor) or not value.dtype.is_integer:
            raise errors.TypeError_(f"Categorical: value must be an integer Tensor, got {errors.describe(value)}")
        return value

    @sampler
    def _draw(key, shape, /, logits):
        return jax.random.categorical(key, logits, shape=shape).astype("int64")

    @formula
    def _log_weights(value, /, logits):
        log = jnp.log(logits) - jnp.log(logits.sum(-1, keepdims=True))
        at = jnp.where(value < 0, value + logits.shape[-1], value)
        if logits.ndim == 1:
            return log[at]
        if value.ndim == 1:
            return log[..., at]
        if value.ndim != logits.ndim:
            raise errors.ValueError_(
                f"Categorical: value {errors.describe(value)} must have one dimension or as many "
                f"as logits {errors.describe(logits)}"
            )
        shape = jnp.broadcast_shapes(at.shape[:-1], log.shape[:-1])
        return jnp.take_along_axis(
            jnp.broadcast_to(log, (*shape, log.shape[-1])), jnp.broadcast_to(at, (*shape, at.shape[-1])), -1
        )

    @errors.clean
    def log_prob(self, value):
        """The logarithm of the probabilities of categories.

        Args:
            value: integers. With 1-D `logits` any shape; otherwise shape [n] (the same categories for each
                distribution) or [..., n] with as many dimensions as `logits`.

        Raises:
            IndexError: no such category (looked for on the CPU).
        """
        n = self.logits.shape[-1]
        if not satisfies(self._value(value), lambda k: (k >= -n) & (k < n)):
            raise errors.IndexError_(f"Categorical: the categories are from 0 to {n - 1}, value has others")
        return self._log_weights(value)

    def probs(self, value):
        """The probabilities of categories, see `log_prob`."""
        return self.prob(value)

    @formula
    def entropy(logits):
        """The entropy in nats."""
        log = jax.nn.log_softmax(logits)
        return -jnp.where(log == -jnp.inf, 0, jnp.exp(log) * log).sum(-1)
