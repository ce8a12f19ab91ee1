import numpy as np
import pytest
import scipy.stats as ss

import paddle
from paddle import distribution as D

from _check import check_grad, compare

LOC, COV = np.array([0.5, -1.0, 2.0]), np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.8]])
MATRICES = {"covariance_matrix": COV, "precision_matrix": np.linalg.inv(COV), "scale_tril": np.linalg.cholesky(COV)}


@pytest.mark.parametrize("kind", MATRICES)
def test_multivariate_normal(kind):
    d, want = D.MultivariateNormal(LOC, **{kind: MATRICES[kind]}), ss.multivariate_normal(LOC, COV)
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    assert d.batch_shape == () and d.event_shape == (3,)
    compare(d.log_prob(x), want.logpdf(x), 1e-8)
    compare(d.prob(x[0]), want.pdf(x[0]), 1e-8)
    compare(d.entropy(), want.entropy(), 1e-8)
    compare(d.mean, LOC)
    compare(d.variance, np.diag(COV), 1e-8)
    compare(getattr(d, kind), MATRICES[kind])
    draws = d.sample([6000]).numpy()
    assert np.abs(np.cov(draws.T) - COV).max() < 0.15 and np.abs(draws.mean(0) - LOC).max() < 0.1


@pytest.mark.parametrize("loc, matrix", [((4, 3), (3, 3)), ((3,), (4, 3, 3)), ((2, 1, 3), (4, 3, 3))])
def test_batches_broadcast(loc, matrix):
    d = D.MultivariateNormal(np.broadcast_to(LOC, loc), covariance_matrix=np.broadcast_to(COV, matrix))
    batch = np.broadcast_shapes(loc[:-1], matrix[:-2])
    want = ss.multivariate_normal(LOC, COV)
    assert d.batch_shape == batch and d.rsample([5]).shape == [5, *batch, 3]
    compare(d.log_prob(np.zeros(3)), np.broadcast_to(want.logpdf(np.zeros(3)), batch), 1e-8)
    compare(d.entropy(), np.broadcast_to(want.entropy(), batch), 1e-8)
    assert d.variance.shape == [*batch, 3]
    compare(D.kl_divergence(d, D.MultivariateNormal(LOC, covariance_matrix=COV)), np.zeros(batch), atol=1e-8)
    compare(D.kl_divergence(D.MultivariateNormal(LOC, covariance_matrix=COV), d), np.zeros(batch), atol=1e-8)


def test_gradients():
    x = np.array([0.1, 0.2, 0.3])

    def f(loc, root):
        d = D.MultivariateNormal(loc, covariance_matrix=root @ root.t() + paddle.eye(3, dtype="float64"))
        return d.log_prob(x), d.entropy(), d.kl_divergence(D.MultivariateNormal(LOC, covariance_matrix=COV))

    check_grad(f, LOC, COV, rtol=1e-4)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"covariance_matrix": COV, "scale_tril": COV},
        {"covariance_matrix": LOC},
        {"covariance_matrix": np.eye(2)},
        {"covariance_matrix": -COV},
        {"precision_matrix": np.ones((3, 3))},
        {"covariance_matrix": np.zeros((2, 3))},
    ],
)
def test_wrong_matrices(arguments):
    with pytest.raises(ValueError):
        D.MultivariateNormal(LOC, **arguments)


def test_wrong_shapes():
    with pytest.raises(ValueError):
        D.MultivariateNormal(LOC, covariance_matrix=COV).log_prob(np.zeros(2))
    with pytest.raises(ValueError):
        D.MultivariateNormal(np.zeros((2, 3)), covariance_matrix=np.stack([COV] * 3))


# ---- LKJ ----


@pytest.mark.parametrize("method", ["onion", "cvine"])
@pytest.mark.parametrize("concentration", [0.6, 1.0, 4.0])
def test_lkj_draws(method, concentration):
    n = 3
    d = D.LKJCholesky(n, concentration, method)
    factors = d.sample([6000]).numpy().astype("float64")
    compare((factors**2).sum(-1), np.ones((6000, n)), 1e-4)
    assert (np.triu(factors, 1) == 0).all() and (np.diagonal(factors, axis1=1, axis2=2) >= 0).all()
    correlations = factors @ factors.transpose(0, 2, 1)
    # each correlation is a beta variable on (-1, 1) with both parameters concentration - 1 + n / 2
    want = ss.beta(concentration - 1 + n / 2, concentration - 1 + n / 2, -1, 2)
    for i, j in ((1, 0), (2, 0), (2, 1)):
        for q in (0.1, 0.3, 0.5, 0.8):
            assert abs((correlations[:, i, j] <= want.ppf(q)).mean() - q) < 0.03


def test_lkj_log_prob_integrates_to_one():
    for concentration in (0.7, 1.0, 2.5):
        d = D.LKJCholesky(2, np.float64(concentration))
        r = np.linspace(-1, 1, 20002)[1:-1]  # the correlation; the density is by it
        factors = np.zeros((r.size, 2, 2))
        factors[:, 0, 0], factors[:, 1, 0], factors[:, 1, 1] = 1, r, np.sqrt(1 - r**2)
        density = d.prob(factors).numpy()
        assert abs(((density[1:] + density[:-1]) / 2 * np.diff(r)).sum() - 1) < 2e-2


def test_lkj_against_official_values():
    compare(D.LKJCholesky(3, paddle.to_tensor([1.0, 2.0])).log_prob(paddle.eye(3)), [-1.5963126, -0.6154833])
    compare(D.LKJCholesky(2, 1.5).log_prob(paddle.eye(2)), -0.4515827)
    factor = paddle.to_tensor(np.linalg.cholesky([[1, 0.3], [0.3, 1]]).astype("float32"))
    assert D.LKJCholesky(2, paddle.ones([3])).log_prob(factor).shape == [3]
    assert D.LKJCholesky(4, paddle.ones([2])).sample([3]).shape == [3, 2, 4, 4]
