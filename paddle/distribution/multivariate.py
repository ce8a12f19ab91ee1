"""Distributions on vectors and matrices."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import lgamma
from jax.scipy.linalg import solve_triangular

from ..engine import errors
from ..engine.op import op
from ..ops.checks import satisfies
from ..ops.decomposition import cholesky
from .distribution import Distribution, formula, parameters_of, sampler

_LOG_2PI = math.log(2 * math.pi)


@op(name="tril_of_precision", method=False, export=False)
def _tril_of_precision(flipped):
    """The factor of a covariance from that of the precision with rows and columns in reverse order."""
    eye = jnp.broadcast_to(jnp.eye(flipped.shape[-1], dtype=flipped.dtype), flipped.shape)
    return solve_triangular(jnp.swapaxes(flipped[..., ::-1, ::-1], -1, -2), eye, lower=True)


def whiten(tril, x):
    """Solve tril z = x for vectors x [..., n], where the axes before the last of both broadcast."""
    if tril.ndim == 2:
        return solve_triangular(tril, x.reshape(-1, x.shape[-1]).T, lower=True).T.reshape(x.shape)
    batch = jnp.broadcast_shapes(tril.shape[:-2], x.shape[:-1])
    tril = jnp.broadcast_to(tril, (*batch, *tril.shape[-2:]))
    return solve_triangular(tril, jnp.broadcast_to(x, (*batch, x.shape[-1]))[..., None], lower=True)[..., 0]


def half_log_det(tril):
    return jnp.log(jnp.diagonal(tril, axis1=-2, axis2=-1)).sum(-1)


class MultivariateNormal(Distribution):
    """The multivariate normal distribution, its spread given by one of three matrices.

    Args:
        loc: the mean [..., n].
        covariance_matrix: [..., n, n], positive definite.
        precision_matrix: the inverse of the covariance.
        scale_tril: the lower Cholesky factor of the covariance.

    Raises:
        ValueError: not exactly one matrix is given, it is not square or not positive definite, or does not fit `loc`.

    Example:
        >>> d = paddle.distribution.MultivariateNormal(paddle.zeros([2]), scale_tril=paddle.eye(2))
        >>> round(float(d.entropy()), 4)
        2.8379
    """

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None):
        matrices = dict(covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril)
        given = [k for k, v in matrices.items() if v is not None]
        if len(given) != 1:
            raise errors.ValueError_(
                "MultivariateNormal: exactly one of covariance_matrix, precision_matrix and "
                f"scale_tril must be given, got {given or 'none'}"
            )
        loc, matrix = parameters_of("MultivariateNormal", loc=loc, **{given[0]: matrices[given[0]]})
        loc = loc if loc.ndim else loc.reshape([1])
        if matrix.ndim < 2 or matrix.shape[-2:] != [loc.shape[-1]] * 2:
            raise errors.ValueError_(
                f"MultivariateNormal: {given[0]} must have the shape [..., {loc.shape[-1]}, "
                f"{loc.shape[-1]}], got {errors.describe(matrix)}"
            )
        self.__dict__.update(matrices)
        setattr(self, given[0], matrix)
        try:
            batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(matrix.shape[:-2]))
        except ValueError:
            raise errors.ValueError_(
                f"MultivariateNormal: loc {errors.describe(loc)} and {given[0]} "
                f"{errors.describe(matrix)} do not broadcast"
            ) from None
        self._of = self.loc = loc.expand([*batch, loc.shape[-1]])
        if given[0] == "covariance_matrix":
            matrix = cholesky(matrix)
        elif given[0] == "precision_matrix":
            matrix = _tril_of_precision(cholesky(matrix.flip([-2, -1])))
        self._unbroadcasted_scale_tril = matrix
        super().__init__(batch, loc.shape[-1:])

    @property
    def mean(self):
        return self.loc

    @property
    @formula
    def variance(loc, _unbroadcasted_scale_tril):
        """The variance of each element."""
        return jnp.broadcast_to((_unbroadcasted_scale_tril**2).sum(-1), loc.shape)

    @sampler
    def rsample(key, shape, /, loc, _unbroadcasted_scale_tril):
        """Draw differentiably."""
        z = jax.random.normal(key, shape, loc.dtype)
        return loc + jnp.einsum("...ij,...j->...i", _unbroadcasted_scale_tril, z)

    @formula
    def log_prob(value, /, loc, _unbroadcasted_scale_tril):
        """The logarithm of the density."""
        z = whiten(_unbroadcasted_scale_tril, value - loc)
        return -0.5 * ((z * z).sum(-1) + loc.shape[-1] * _LOG_2PI) - half_log_det(_unbroadcasted_scale_tril)

    @formula
    def entropy(loc, _unbroadcasted_scale_tril):
        """The entropy in nats."""
        each = half_log_det(_unbroadcasted_scale_tril) + loc.shape[-1] / 2 * (1 + _LOG_2PI)
        return jnp.broadcast_to(each, loc.shape[:-1])


def _rows(key, shape, concentration):
    """Rows of the factor by the onion method: a random direction and a random length for each row."""
    keys, n = jax.random.split(key), shape[-1]
    row = jnp.arange(1, n, dtype=concentration.dtype)
    square = jax.random.beta(keys[0], row / 2, concentration[..., None] + (n - 1 - row) / 2, (*shape[:-2], n - 1))
    direction = jnp.tril(jax.random.normal(keys[1], (*shape[:-2], n - 1, n), concentration.dtype))
    direction = direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)
    first = [(0, 0)] * (len(shape) - 2) + [(1, 0)]  # the first row has nothing left of the diagonal
    lower = jnp.pad(jnp.sqrt(square)[..., None] * direction, [*first, (0, 0)])
    return lower + jnp.eye(n, dtype=lower.dtype) * jnp.sqrt(1 - jnp.pad(square, first))[..., None]


def _vine(key, shape, concentration):
    """The factor from independent partial correlations (the C-vine)."""
    n = shape[-1]
    spread = concentration[..., None, None] + (n - 2 - jnp.arange(n, dtype=concentration.dtype)) / 2
    spread = jnp.maximum(spread, 0.5)  # the last column is not used
    partial = jnp.tril(2 * jax.random.beta(key, spread, spread, shape) - 1, -1)
    left = jnp.cumprod(1 - partial**2, -1)
    before = jnp.concatenate([jnp.ones_like(left[..., :1]), left[..., :-1]], -1)
    return (partial + jnp.eye(n, dtype=partial.dtype)) * jnp.sqrt(before)


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices (Lewandowski, Kurowicka, Joe, "Generating random correlation
    matrices based on vines and extended onion method", 2009).

    Args:
        dim: the size of the matrices, at least 2.
        concentration: positive; 1 is uniform over correlation matrices, more favours weak correlations.
        sample_method: "onion" or "cvine".

    Raises:
        ValueError: dim below 2, a concentration that is not positive, another method.

    Example:
        >>> paddle.distribution.LKJCholesky(3, 2.0).sample([4]).shape
        [4, 3, 3]
    """

    def __init__(self, dim=2, concentration=1.0, sample_method="onion"):
        if not isinstance(dim, (int, np.integer)):
            raise errors.TypeError_(f"LKJCholesky: dim must be an int, got {errors.describe(dim)}")
        if dim < 2:
            raise errors.ValueError_(f"LKJCholesky: dim must be at least 2, got {dim}")
        if sample_method not in ("onion", "cvine"):
            raise errors.ValueError_(f"LKJCholesky: sample_method must be 'onion' or 'cvine', got {sample_method!r}")
        self.dim, self.sample_method = int(dim), sample_method
        super().__init__(self._set(concentration=concentration), (self.dim, self.dim))
        if not satisfies(self.concentration, lambda elements: elements > 0):
            raise errors.ValueError_("LKJCholesky: concentration must be positive")

    @sampler
    def _draw(key, shape, /, concentration, sample_method):
        return (_rows if sample_method == "onion" else _vine)(key, shape, concentration)

    def sample(self, sample_shape=[]):
        """Draw factors, shape `sample_shape` + batch_shape + [dim, dim]."""
        return super().sample(sample_shape)

    @formula
    def log_prob(value, /, concentration):
        """The logarithm of the density of a factor."""
        n = value.shape[-1] - 1
        order = 2 * (concentration[..., None] - 1) + jnp.arange(n - 1, -1, -1, dtype=value.dtype)
        kernel = (order * jnp.log(jnp.diagonal(value, axis1=-2, axis2=-1)[..., 1:])).sum(-1)
        top = concentration + n / 2
        volume = n * (n - 1) / 4 * math.log(math.pi) + sum(lgamma(top - (i + 1) / 2) for i in range(n))
        return kernel - (n / 2 * math.log(math.pi) + volume - n * lgamma(top))
