"""Probability distributions, their divergences and the transforms of their variables."""

from __future__ import annotations

from . import constraint, kl, transform, variable
from .continuous_bernoulli import ContinuousBernoulli
from .discrete import Bernoulli, Binomial, Categorical, Geometric, Multinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, Laplace, Normal, StudentT, Uniform
from .multivariate import LKJCholesky, MultivariateNormal
from .positive import Beta, Chi2, Dirichlet, Exponential, Gamma
from .transform import (
    AbsTransform,
    AffineTransform,
    ChainTransform,
    ExpTransform,
    IndependentTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
)
from .transformed import Gumbel, Independent, LogNormal, TransformedDistribution
