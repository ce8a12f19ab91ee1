"""Kullback-Leibler divergences, by the classes of the two distributions."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.lax import digamma, lgamma
from jax.scipy.special import xlog1py, xlogy

from ..engine import errors
from ..ops.checks import host_value, satisfies
from .continuous_bernoulli import ContinuousBernoulli, log_normalizer, log_odds, mean
from .discrete import Bernoulli, Binomial, Categorical, Geometric, Multinomial, Poisson, binomial_mean
from .distribution import Distribution, ExponentialFamily, _over_event, between, sum_last
from .location_scale import Cauchy, Laplace, Normal, Uniform
from .multivariate import MultivariateNormal, half_log_det, whiten
from .positive import Beta, Dirichlet, Exponential, Gamma, betaln
from .transformed import Independent, LogNormal

__all__ = ["register_kl", "kl_divergence"]

_REGISTER_TABLE: dict[tuple[type, type], Callable] = {}


@errors.clean
def register_kl(cls_p, cls_q):
    """A decorator: the function computes the divergence of a `cls_p` from a `cls_q` (and of their subclasses).

    Raises:
        TypeError: a class that is no Distribution.

    Example:
        >>> class Mine(paddle.distribution.Normal):
        ...     pass
        >>> @paddle.distribution.register_kl(Mine, Mine)
        ... def divergence(p, q):
        ...     return paddle.zeros([])
        >>> paddle.distribution.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0)).item()
        0.0
    """
    if not all(isinstance(c, type) and issubclass(c, Distribution) for c in (cls_p, cls_q)):
        raise errors.TypeError_("register_kl: both classes must be subclasses of Distribution")

    def decorate(function: Callable) -> Callable:
        _REGISTER_TABLE[cls_p, cls_q] = function
        return function

    return decorate


@errors.clean
def kl_divergence(p, q):
    """The Kullback-Leibler divergence of two distributions, the mean of log p(x) - log q(x) over draws x of p.

    The function is that which `register_kl` has for the nearest base classes, of p first.

    Raises:
        NotImplementedError: there is none.

    Example:
        >>> normal = paddle.distribution.Normal
        >>> paddle.distribution.kl_divergence(normal(0.0, 1.0), normal(1.0, 1.0)).item()
        0.5
    """
    for cls_p in type(p).__mro__:
        for cls_q in type(q).__mro__:
            function = _REGISTER_TABLE.get((cls_p, cls_q))
            if function is not None:
                return function(p, q)
    raise _missing(p, q)


def _missing(p: object, q: object) -> NotImplementedError:
    return errors.NotImplemented_(f"kl_divergence: there is none of {type(p).__name__} from {type(q).__name__}")


def _same(cls: type) -> Callable:
    """Register a formula for two distributions of a class (see `between`)."""
    return lambda fn: register_kl(cls, cls)(between(cls)(fn))


@_same(Bernoulli)
def _(probs, other):
    return xlogy(probs, probs / other) + xlogy(1 - probs, (1 - probs) / (1 - other))


@_same(Beta)
def _(alpha, beta, alpha_q, beta_q):
    return (
        betaln(alpha_q, beta_q)
        - betaln(alpha, beta)
        + (alpha - alpha_q) * digamma(alpha)
        + (beta - beta_q) * digamma(beta)
        + (alpha_q - alpha + beta_q - beta) * digamma(alpha + beta)
    )


@_same(Dirichlet)
def _(concentration, other):
    total = concentration.sum(-1)
    return (
        lgamma(total)
        - lgamma(other.sum(-1))
        + (lgamma(other) - lgamma(concentration)).sum(-1)
        + ((concentration - other) * (digamma(concentration) - digamma(total)[..., None])).sum(-1)
    )


@between(Binomial)
def _binomial(total_count, probs, _most, total_count_q, probs_q, _most_q):
    def gain(k, log):
        other = lgamma(total_count_q + 1) - lgamma(k + 1) - lgamma(jnp.maximum(total_count_q - k, 0) + 1)
        return log - other - xlogy(k, probs_q) - xlog1py(jnp.maximum(total_count_q - k, 0), -probs_q)

    return jnp.where(total_count <= total_count_q, binomial_mean(gain, total_count, probs, _most), jnp.inf)


@between(Binomial)
def _equal_binomial(total_count, probs, total_count_q, probs_q):
    return total_count * (xlogy(probs, probs / probs_q) + xlogy(1 - probs, (1 - probs) / (1 - probs_q)))


@register_kl(Binomial, Binomial)
def _binomials(p, q):
    """A formula where the numbers of trials are equal (or not known, while a function is compiled), else a sum."""
    other = host_value(q.total_count)
    equal = other is None or satisfies(p.total_count, lambda n: n == other)
    return _equal_binomial(p, q) if equal else _binomial(p, q)


@_same(Multinomial)
def _(total_count, probs, total_count_q, probs_q):
    return jnp.where(total_count == total_count_q, total_count * xlogy(probs, probs / probs_q).sum(-1), jnp.inf)


@_same(Categorical)
def _(logits, other):
    log_p, log_q = jax.nn.log_softmax(logits), jax.nn.log_softmax(other)
    return (jnp.exp(log_p) * (log_p - log_q)).sum(-1, keepdims=True)  # the official shape


@_same(Cauchy)
def _(loc, scale, loc_q, scale_q):
    """Chyzak, Nielsen, "A closed-form formula for the KL divergence between Cauchy distributions", 2019."""
    return jnp.log(((scale + scale_q) ** 2 + (loc - loc_q) ** 2) / (4 * scale * scale_q))


@_same(ContinuousBernoulli)
def _(probs, other):
    p, q = log_odds(probs), log_odds(other)
    return mean(p) * (p - q) - log_normalizer(p) + log_normalizer(q)


@_same(Normal)
def _(loc, scale, loc_q, scale_q):
    ratio, distance = (scale / scale_q) ** 2, jnp.abs(loc - loc_q) ** 2 / scale_q**2
    if jnp.iscomplexobj(loc):
        return (ratio + distance - 1 - jnp.log(ratio)).astype(loc.dtype)
    return 0.5 * (ratio + distance - 1 - jnp.log(ratio))


register_kl(LogNormal, LogNormal)(lambda p, q: kl_divergence(p.base, q.base))


@_same(MultivariateNormal)
def _(loc, _unbroadcasted_scale_tril, loc_q, tril_q):
    tril = _unbroadcasted_scale_tril
    rows = whiten(tril_q if tril_q.ndim == 2 else tril_q[..., None, :, :], jnp.swapaxes(tril, -1, -2))
    distance = whiten(tril_q, loc - loc_q)
    return (
        half_log_det(tril_q)
        - half_log_det(tril)
        + 0.5 * ((rows**2).sum((-2, -1)) + (distance**2).sum(-1) - loc.shape[-1])
    )


@_same(Uniform)
def _(low, high, low_q, high_q):
    return jnp.where((low_q <= low) & (high <= high_q), jnp.log((high_q - low_q) / (high - low)), jnp.inf)


@_same(Laplace)
def _(loc, scale, loc_q, scale_q):
    ratio, distance = scale / scale_q, jnp.abs(loc - loc_q)
    return -jnp.log(ratio) + ratio * jnp.exp(-distance / scale) + distance / scale_q - 1


@_same(Geometric)
def _(probs, other):
    """As officially the divergence of one trial (of Bernoulli distributions), `probs` times that of the whole."""
    return xlogy(probs, probs / other) + xlogy(1 - probs, (1 - probs) / (1 - other))


@_same(Exponential)
def _(rate, other):
    return jnp.log(rate / other) + other / rate - 1


@_same(Gamma)
def _(concentration, rate, concentration_q, rate_q):
    return (
        concentration_q * jnp.log(rate / rate_q)
        + lgamma(concentration_q)
        - lgamma(concentration)
        + (concentration - concentration_q) * digamma(concentration)
        + concentration * (rate_q / rate - 1)
    )


@_same(Poisson)
def _(rate, other):
    return xlogy(rate, rate / other) - rate + other


@register_kl(Independent, Independent)
def _independent(p, q):
    if p._rank != q._rank:
        raise errors.NotImplemented_("kl_divergence: Independent distributions of different reinterpreted_batch_rank")
    return sum_last(kl_divergence(p._base, q._base), p._rank)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """A Bregman divergence of the log-normalizer (Nielsen, Nock, ICIP 2010)."""
    if type(p) is not type(q):
        raise _missing(p, q)
    theta, normalizer, means = p._dual()
    other = q._natural_parameters
    out = q._log_normalizer(*other) - normalizer
    for t, o, m in zip(theta, other, means):
        out = out - _over_event((o - t) * m, out)
    return out
