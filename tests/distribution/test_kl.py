import numpy as np
import pytest

import paddle
from paddle import distribution as D

from _check import check_grad, compare

A, B = np.array([0.7, 1.5, 3.2]), np.array([1.2, 0.6, 2.5])
LOC = np.array([-1.0, 0.3, 2.0])
P = np.array([0.2, 0.5, 0.9])

# pairs whose divergence is checked against the mean of log p - log q over the support
GRID = {
    "Normal": ((LOC, B), (LOC + 0.5, A), (-40, 40)),
    "LogNormal": ((LOC, B), (LOC + 0.5, A), None),
    "Laplace": ((LOC, B), (LOC + 0.5, A), (-60, 60)),
    "Cauchy": ((LOC, B), (LOC + 0.5, A), None),
    "Uniform": ((LOC, LOC + B), (LOC - 1, LOC + 3), (-3, 6)),
    "Exponential": ((A,), (B,), (0, 90)),
    "Gamma": ((A + 1, B), (B + 1, A), (0, 90)),
    "Chi2": ((A + 2,), (B + 2,), (0, 150)),
    "Beta": ((A + 1, B + 1), (B + 1, A + 1), (0, 1)),
    "ContinuousBernoulli": ((P,), (P[::-1].copy(),), (0, 1)),
}
SUMS = {
    "Bernoulli": ((P,), (P[::-1].copy(),)),
    "Poisson": ((A,), (B,)),
    "Binomial": ((np.full(3, 6.0), P), (np.full(3, 6.0), P[::-1].copy())),
}


def pair(name, table):
    return [getattr(D, name)(*map(paddle.to_tensor, parameters)) for parameters in table[name][:2]]


@pytest.mark.parametrize("name", [n for n in GRID if GRID[n][2]])
def test_integrals(name):
    p, q = pair(name, GRID)
    low, high = GRID[name][2]
    x = np.linspace(low, high, 40001)[:, None]
    with np.errstate(invalid="ignore"):
        log_p, log_q = (d.log_prob(np.repeat(x, 3, 1)).numpy() for d in (p, q))
        f = np.where(log_p > -np.inf, np.exp(log_p) * (log_p - log_q), 0)
    want = ((f[1:] + f[:-1]) / 2 * np.diff(x, axis=0)).sum(0)
    compare(D.kl_divergence(p, q), want, 2e-3, 1e-4)
    compare(p.kl_divergence(q), D.kl_divergence(p, q).numpy())


@pytest.mark.parametrize("name", SUMS)
def test_sums(name):
    p, q = pair(name, SUMS)
    k = np.arange(7.0 if name == "Binomial" else 2.0 if name == "Bernoulli" else 60.0)[:, None].repeat(3, 1)
    log_p, log_q = p.log_prob(k).numpy(), q.log_prob(k).numpy()
    compare(D.kl_divergence(p, q), (np.exp(log_p) * (log_p - log_q)).sum(0), 1e-7, 1e-8)


def test_of_itself_it_is_zero():
    for name, table in [(n, GRID) for n in GRID] + [(n, SUMS) for n in SUMS]:
        p = pair(name, table)[0]
        compare(D.kl_divergence(p, p), np.zeros(3), atol=1e-8)


def test_lognormal_is_that_of_the_logarithms():
    p, q = pair("LogNormal", GRID)
    compare(D.kl_divergence(p, q), D.kl_divergence(*pair("Normal", GRID)).numpy(), 1e-10)


def test_cauchy_formula():
    compare(D.kl_divergence(D.Cauchy(0.0, 1.0), D.Cauchy(1.0, 2.0)), 0.22314358)  # the official value


def test_vectors():
    p, q = D.Dirichlet([[2.0, 1.0], [1.0, 1.0]]), D.Dirichlet([[3.0, 2.0], [0.5, 0.5]])
    compare(D.kl_divergence(p, q), [0.20824051, 0.14472973])  # official values
    w, v = np.array([[0.1, 0.9, 0.4]]), np.array([[0.5, 0.2, 0.3]])
    log_p, log_q = (x - np.log(np.exp(x).sum(-1, keepdims=True)) for x in (w, v))
    want = (np.exp(log_p) * (log_p - log_q)).sum(-1, keepdims=True)
    compare(D.Categorical(w).kl_divergence(D.Categorical(v)), want)  # officially with an axis of length 1
    m, n = D.Multinomial(3, [0.5, 0.5]), D.Multinomial(3, [0.2, 0.8])
    compare(D.kl_divergence(m, n), 3 * (0.5 * np.log(2.5) + 0.5 * np.log(0.625)))
    compare(D.kl_divergence(m, D.Multinomial(4, [0.5, 0.5])), np.inf)


def test_geometric_is_officially_that_of_one_trial():
    compare(D.kl_divergence(D.Geometric([0.2, 0.5]), D.Geometric([0.4, 0.5])), [0.09151618, 0.0])


def test_binomials_with_different_numbers_of_trials():
    p, q = D.Binomial(paddle.to_tensor([5.0, 6.0]), [0.2, 0.2]), D.Binomial(paddle.to_tensor([6.0, 5.0]), [0.4, 0.4])
    compare(D.kl_divergence(p, q), [0.76759475, np.inf])


def test_uniform_outside_of_the_other():
    compare(D.kl_divergence(D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)), np.inf)


def test_independent():
    p, q = (D.Independent(d, 1) for d in pair("Normal", GRID))
    compare(D.kl_divergence(p, q), D.kl_divergence(*pair("Normal", GRID)).numpy().sum(), 1e-10)
    with pytest.raises(NotImplementedError):
        D.kl_divergence(p, D.Independent(D.Normal(np.zeros((2, 3)), 1.0), 2))


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Gamma", "Beta", "ContinuousBernoulli"])
def test_gradients(name):
    first, second = GRID[name][:2]
    n, cls = len(first), getattr(D, name)
    check_grad(lambda *t: D.kl_divergence(cls(*t[:n]), cls(*t[n:])), *first, *second, rtol=1e-4)


class Weibull(D.ExponentialFamily):
    """With a known shape k, an exponential family."""

    def __init__(self, scale, k=2.0):
        self.scale, self.k = scale, k
        super().__init__(tuple(scale.shape))

    @property
    def _natural_parameters(self):
        return (-(self.scale**-self.k),)

    def _log_normalizer(self, x):
        return -(-x).log() - float(np.log(self.k))

    @property
    def _mean_carrier_measure(self):  # (k - 1) E[log x]
        return (self.k - 1) * (self.scale.log() - np.euler_gamma / self.k)


def test_exponential_families_need_only_their_log_normalizer():
    a, b = np.array([0.7, 1.5]), np.array([1.2, 0.6])
    p, q = Weibull(paddle.to_tensor(a)), Weibull(paddle.to_tensor(b))
    compare(p.entropy(), np.euler_gamma * 0.5 + np.log(a / 2) + 1, 1e-8)
    compare(D.kl_divergence(p, q), 2 * np.log(b / a) + (a / b) ** 2 - 1, 1e-8)
    check_grad(lambda s: (Weibull(s).entropy(), D.kl_divergence(Weibull(s), q)), a)
    for name in ("Gamma", "Beta", "Exponential"):  # the families that come with a formula agree with it
        p, q = pair(name, GRID)
        compare(D.kl._exponential_family(p, q), D.kl_divergence(p, q).numpy(), 1e-8, 1e-8)
    p, q = D.Dirichlet(np.array([2.0, 1.0])), D.Dirichlet(np.array([0.3, 4.0]))
    compare(D.kl._exponential_family(p, q), D.kl_divergence(p, q).numpy(), 1e-8)


def test_registered_functions_hold_for_subclasses():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def divergence(p, q):
        return "mine"

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)) == "mine" == Mine(0.0, 1.0).kl_divergence(Mine(0.0, 1.0))
    compare(D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)), 0.0)
    compare(D.kl_divergence(D.Chi2([2.0]), D.Gamma([2.0], [1.0])), [0.19092155])


def test_pairs_without_a_function():
    for p, q in ((D.Normal(0.0, 1.0), D.Beta(1.0, 1.0)), (D.Gamma(1.0, 1.0), D.Beta(1.0, 1.0)), (1, 2)):
        with pytest.raises(NotImplementedError):
            D.kl_divergence(p, q)
    with pytest.raises(TypeError):
        D.register_kl(int, D.Normal)
