"""Every distribution against SciPy: probabilities, moments, entropies, gradients, draws."""

import inspect

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as ss

import paddle
from paddle import distribution as D

from _check import check_grad, compare

A, B = np.array([0.7, 1.5, 3.2]), np.array([1.2, 0.6, 2.5])
LOC = np.array([-1.0, 0.3, 2.0])
P = np.array([0.2, 0.5, 0.9])
REAL, POSITIVE, UNIT = np.array([-0.7, 0.4, 2.6]), np.array([0.3, 1.4, 4.0]), np.array([0.15, 0.5, 0.85])
COUNTS = np.array([0.0, 1.0, 3.0])

# name: (parameters, the distribution of SciPy, points)
CONTINUOUS = {
    "Normal": ((LOC, B), ss.norm(LOC, B), REAL),
    "LogNormal": ((LOC, B), ss.lognorm(B, scale=np.exp(LOC)), POSITIVE),
    "Uniform": ((LOC, LOC + B), ss.uniform(LOC, B), LOC + 0.3 * B),
    "Laplace": ((LOC, B), ss.laplace(LOC, B), REAL),
    "Gumbel": ((LOC, B), ss.gumbel_r(LOC, B), REAL),
    "Cauchy": ((LOC, B), ss.cauchy(LOC, B), REAL),
    "StudentT": ((A + 2, LOC, B), ss.t(A + 2, LOC, B), REAL),
    "Gamma": ((A, B), ss.gamma(A, scale=1 / B), POSITIVE),
    "Chi2": ((A,), ss.chi2(A), POSITIVE),
    "Exponential": ((A,), ss.expon(scale=1 / A), POSITIVE),
    "Beta": ((A, B), ss.beta(A, B), UNIT),
}
DISCRETE = {
    "Bernoulli": ((P,), ss.bernoulli(P), np.array([0.0, 1.0, 1.0])),
    "Geometric": ((P,), ss.geom(P, loc=-1), COUNTS),
    "Poisson": ((A,), ss.poisson(A), COUNTS),
    "Binomial": ((np.array([3.0, 5.0, 8.0]), P), ss.binom([3, 5, 8], P), COUNTS),
}
ALL = {**CONTINUOUS, **DISCRETE}


def made(name, parameters=None):
    return getattr(D, name)(*[paddle.to_tensor(p) for p in (ALL[name][0] if parameters is None else parameters)])


def spread(d):
    draws = d.sample([3000]).numpy()
    assert draws.shape == (3000, *d.batch_shape, *d.event_shape)
    return draws


@pytest.mark.parametrize("name", ALL)
def test_log_prob_and_prob(name):
    _, scipy, x = ALL[name]
    d = made(name)
    want = (scipy.logpmf if name in DISCRETE else scipy.logpdf)(x)
    compare(d.log_prob(paddle.to_tensor(x)), want, 1e-8, 1e-8)
    compare(d.prob(paddle.to_tensor(np.stack([x, x]))), np.exp([want, want]), 1e-8, 1e-8)


@pytest.mark.parametrize("name", [n for n in ALL if n != "Cauchy"])
def test_moments(name):
    scipy, d = ALL[name][1], made(name)
    compare(d.mean, scipy.mean(), 1e-8)
    compare(d.variance, scipy.var(), 1e-8)
    compare(d.stddev, scipy.std(), 1e-8)


@pytest.mark.parametrize("name", ALL)
def test_entropy(name):
    compare(made(name).entropy(), ALL[name][1].entropy(), 1e-7, 1e-8)


@pytest.mark.parametrize("name", [n for n in ALL if hasattr(getattr(D, n), "cdf")])
def test_cdf(name):
    _, scipy, x = ALL[name]
    compare(made(name).cdf(paddle.to_tensor(x)), scipy.cdf(x), 1e-8, 1e-8)


@pytest.mark.parametrize("name", [n for n in ALL if hasattr(getattr(D, n), "icdf")])
def test_icdf(name):
    compare(made(name).icdf(paddle.to_tensor(UNIT)), ALL[name][1].ppf(UNIT), 1e-8, 1e-8)


@pytest.mark.parametrize("name", ALL)
def test_draws_follow_the_distribution(name):
    draws, scipy = spread(made(name)), ALL[name][1]
    for i in range(3):
        here = draws[:, i]
        for q in (0.2, 0.5, 0.8):
            x = scipy.ppf(q)[i]
            assert abs((here <= x).mean() - scipy.cdf(x)[i]) < 0.035


def test_draws_are_the_same_for_the_same_seed_and_carry_no_gradient():
    d = D.Normal(paddle.to_tensor(0.0, stop_gradient=False), 1.0)
    paddle.seed(3)
    first = d.sample([4])
    paddle.seed(3)
    compare(d.sample([4]), first.numpy())
    assert first.stop_gradient and not d.rsample([4]).stop_gradient
    compare(d.sample([4], seed=9), d.sample([4], seed=9).numpy())
    compare(D.Uniform(0.0, 1.0).sample([4], seed=9), D.Uniform(0.0, 1.0).sample([4], seed=9).numpy())


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n != "Chi2"])
def test_gradients(name):
    parameters, _, x = CONTINUOUS[name]

    def f(value, *parameters):
        d = getattr(D, name)(*parameters)
        return d.log_prob(value), d.entropy()

    check_grad(f, x, *parameters, rtol=1e-4)


@pytest.mark.parametrize(
    "name", ["Normal", "Uniform", "Laplace", "Gumbel", "Cauchy", "Exponential", "ContinuousBernoulli"]
)
def test_draws_are_differentiable(name):
    parameters = (P,) if name == "ContinuousBernoulli" else CONTINUOUS[name][0]

    def f(*parameters):
        paddle.seed(5)
        return getattr(D, name)(*parameters).rsample([2])

    check_grad(f, *parameters, rtol=2e-3, atol=1e-4)


def test_gradients_of_draws_with_rejections_are_implicit():
    a, b = (paddle.to_tensor(p, stop_gradient=False) for p in (A, B))
    x = D.Gamma(a, 1.0).rsample()
    x.sum().backward()
    z = x.numpy()  # dx/da = -(dF/da) / f for the distribution function F and the density f
    compare(a.grad, -(ss.gamma(A + 1e-5).cdf(z) - ss.gamma(A - 1e-5).cdf(z)) / 2e-5 / ss.gamma(A).pdf(z), 1e-3, 1e-6)
    a.clear_grad()
    D.Beta(a, b).rsample([4000]).mean(0).sum().backward()
    compare(a.grad, B / (A + B) ** 2, 0.1)  # the derivatives of the mean
    compare(b.grad, -A / (A + B) ** 2, 0.1)
    loc, scale = (paddle.to_tensor(p, stop_gradient=False) for p in (LOC, B))
    x = D.StudentT(A + 2, loc, scale).rsample()
    x.sum().backward()
    compare(loc.grad, np.ones(3))
    compare(scale.grad, (x.numpy() - LOC) / B)


@pytest.mark.parametrize(
    "name", ["LogNormal", "Uniform", "Gamma", "Chi2", "Exponential", "Beta", "Geometric", "Poisson", "Binomial"]
)
def test_outside_of_the_support_nothing_is_probable_and_gradients_are_finite(name):
    parameters = [paddle.to_tensor(p, stop_gradient=False) for p in ALL[name][0]]
    d = getattr(D, name)(*parameters)
    x = paddle.to_tensor(np.array([-3.0, ALL[name][2][1], -2.0]), stop_gradient=False)
    log = d.log_prob(x)
    assert log.numpy()[0] == log.numpy()[2] == -np.inf and np.isfinite(log.numpy()[1])
    log[1].backward()
    assert all(np.isfinite(t.grad.numpy()).all() for t in (x, *parameters) if t.grad is not None)


# ---- how parameters and shapes are read ----


def test_parameters_of_every_kind():
    for loc, scale in [
        (1, 2.0),
        ([1.0, 1.0], 2),
        ((1.0, 1.0), [2.0, 2.0]),
        (np.ones(2, "float32"), 2.0),
        (paddle.ones([2]), 2.0),
        (1.0, paddle.full([2], 2.0)),
        (paddle.ones([2], "int64"), 2.0),
    ]:
        d = D.Normal(loc, scale)
        assert d.loc.dtype is d.scale.dtype is d.dtype is paddle.float32
        compare(d.log_prob(paddle.zeros([2])), np.full(2, ss.norm(1, 2).logpdf(0)))
    assert D.Normal(np.zeros(2), 1.0).dtype is paddle.float64
    assert D.Gamma(paddle.ones([], "float64"), 1.0).rate.dtype is paddle.float64
    paddle.set_default_dtype("float64")
    assert D.Beta(1.0, 1.0).dtype is paddle.float64


def test_parameters_broadcast():
    d = D.Normal(paddle.zeros([2, 1]), paddle.ones([3]))
    assert d.batch_shape == (2, 3) and d.event_shape == () and d.mean.shape == [2, 3]
    assert d.sample([4]).shape == [4, 2, 3] and d.sample().shape == [2, 3] and d.rsample((5, 1)).shape == [5, 1, 2, 3]
    assert d.entropy().shape == [2, 3] and d.log_prob(paddle.zeros([4, 1, 3])).shape == [4, 2, 3]


def test_a_number_gives_the_official_batch_shape():
    assert D.Normal(0.0, 1.0).batch_shape == D.Binomial(3, 0.5).batch_shape == ()
    assert D.Poisson(1.0).batch_shape == D.ContinuousBernoulli(0.3).batch_shape == (1,)


def test_values_of_every_kind():
    d = D.Normal(0.0, paddle.ones([2]))
    want = np.full(2, ss.norm.logpdf(1), "float32")
    for value in (
        1,
        1.0,
        [1.0, 1.0],
        np.ones(2),
        paddle.ones([2]),
        paddle.ones([2], "int64"),
        paddle.ones([], "float64"),
    ):
        got = d.log_prob(value)
        assert got.dtype is paddle.float32
        compare(got, want)
    compare(d.log_prob(value=1.0), want)
    assert D.Gamma(1.0, 1.0).log_prob(paddle.ones([], "float64")).dtype is paddle.float64  # promotes, as officially


def test_empty_and_zero_dimensional():
    assert D.Normal(paddle.zeros([0]), 1.0).sample([2]).shape == [2, 0]
    assert D.Normal(0.0, 1.0).sample([0, 2]).shape == [0, 2]
    assert D.Categorical(paddle.zeros([0, 3])).sample([2]).shape == [2, 0]
    assert D.Binomial(paddle.zeros([0]), paddle.zeros([0])).entropy().shape == [0]
    assert D.Dirichlet(paddle.ones([0, 3])).log_prob(paddle.ones([0, 3])).shape == [0]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: D.Normal("a", 1.0), TypeError),
        (lambda: D.Normal(0.0, None), TypeError),
        (lambda: D.Normal([0.0, "a"], 1.0), TypeError),
        (lambda: D.Normal([0.0, [1.0]], 1.0), TypeError),
        (lambda: D.Normal([0.0, 1.0], [1.0, 1.0, 1.0]), ValueError),
        (lambda: D.Uniform(0j, 1.0), TypeError),
        (lambda: D.Bernoulli("p"), TypeError),
        (lambda: D.Geometric("x"), TypeError),
        (lambda: D.Beta(None, 1.0), TypeError),
        (lambda: D.Normal(0.0, 1.0).log_prob("a"), TypeError),
        (lambda: D.Normal(0.0, 1.0).log_prob(), TypeError),
        (lambda: D.Normal(0.0, 1.0).log_prob(1.0, 2.0), TypeError),
        (lambda: D.Normal(0.0, 1.0).log_prob(1j), TypeError),
        (lambda: D.Normal(0.0, [1.0, 1.0]).log_prob([1.0, 1.0, 1.0]), ValueError),
        (lambda: D.Normal(0.0, 1.0).sample([-1]), ValueError),
        (lambda: D.Normal(0.0, 1.0).sample([1.5]), TypeError),
        (lambda: D.Cauchy(0.0, 1.0).mean, ValueError),
        (lambda: D.Cauchy(0.0, 1.0).variance, ValueError),
        (lambda: D.Cauchy(0.0, 1.0).stddev, ValueError),
        (lambda: D.StudentT(-1.0, 0.0, 1.0), ValueError),
        (lambda: D.StudentT(1.0, 0.0, -1.0), ValueError),
        (lambda: D.Dirichlet(1.0), ValueError),
        (lambda: D.Dirichlet([1.0, 1.0]).log_prob(0.5), ValueError),
        (lambda: D.Multinomial(0, [0.5, 0.5]), ValueError),
        (lambda: D.Multinomial(2.5, [0.5, 0.5]), ValueError),
        (lambda: D.Multinomial(2, 0.5), ValueError),
        (lambda: D.Binomial(2.5, 0.5), ValueError),
        (lambda: D.Categorical(0.5), ValueError),
        (lambda: D.Bernoulli(0.5).rsample([2], temperature=0.0), ValueError),
        (lambda: D.Poisson(1.0).rsample(), NotImplementedError),
        (lambda: D.LKJCholesky(1), ValueError),
        (lambda: D.LKJCholesky(2.0), TypeError),
        (lambda: D.LKJCholesky(2, 0.0), ValueError),
        (lambda: D.LKJCholesky(2, 1.0, "none"), ValueError),
        (lambda: D.LKJCholesky(3).log_prob(paddle.eye(2)), ValueError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


def test_methods_look_like_methods():
    assert str(inspect.signature(D.Normal.log_prob)) == "(self, value)"
    assert str(inspect.signature(D.Gamma.rsample)) == "(self, shape=[])"
    assert D.Normal.log_prob.__doc__ and D.Normal.log_prob.__qualname__ == "Normal.log_prob"


def test_a_changed_parameter_compiles_nothing():
    value = paddle.to_tensor([0.5, 1.0])
    D.Gamma([1.0, 2.0], 1.5).log_prob(value)
    with paddle.utils.count_compiles() as n:
        for rate in (0.3, 0.7, 2.9):
            D.Gamma([1.0, 2.0], rate).log_prob(value)
    assert n.compiles == 0


# ---- single distributions ----


def test_student_t_without_moments():
    d = D.StudentT([0.5, 1.0, 1.5, 2.0, 3.0], 0.25, 2.0)
    compare(d.mean, [np.nan, np.nan, 0.25, 0.25, 0.25])
    compare(d.variance, [np.nan, np.nan, np.inf, np.inf, 12.0])


def test_uniform_has_no_density_at_its_ends():
    d = D.Uniform(0.0, 2.0)
    compare(d.prob([0.0, 1.0, 2.0, 3.0]), [0, 0.5, 0, 0])
    compare(d.probs(1.0), 0.5)


def test_complex_normal():
    d = D.Normal(1 + 2j, 2.0)
    assert d.dtype is paddle.complex64 and d.scale.dtype is paddle.float32
    compare(d.log_prob(paddle.to_tensor([1 + 1j, 0.5 + 0j])), [-2.7810242, -3.5935242])  # official values
    compare(d.entropy(), 3.5310242)
    compare(D.kl_divergence(d, D.Normal(0j, 1.0)), 6.6137056)
    draws = d.sample([4000]).numpy()
    assert abs(draws.mean() - (1 + 2j)) < 0.15 and abs(draws.var() - 4) < 0.4


def test_bernoulli_stays_off_the_ends_and_relaxes():
    d = D.Bernoulli(paddle.to_tensor([0.0, 1.0]))
    assert np.isfinite(d.log_prob([1.0, 0.0]).numpy()).all() and np.isfinite(d.logits.numpy()).all()
    compare(D.Bernoulli(0.3).cdf([-1.0, 0.0, 0.5, 1.0, 2.0]), [0, 0.7, 0.7, 1, 1])
    compare(D.Bernoulli(0.3).log_prob(0.5), 0.5 * np.log(0.3 * 0.7))  # the cross entropy, also between 0 and 1
    relaxed = paddle.nn.functional.sigmoid(D.Bernoulli(0.3).rsample([2000], temperature=0.05)).numpy()
    assert abs(relaxed.mean() - 0.3) < 0.04 and ((relaxed < 0.1) | (relaxed > 0.9)).mean() > 0.85


def test_geometric_between_the_integers():
    d = D.Geometric(0.5)
    compare(d.cdf([-1.0, 0.5, 1.0]), [0, 0.5, 0.75])
    compare(d.pmf([-1.0, 2.0]), [0, 0.125])
    compare(d.log_pmf(2.0), d.log_prob(2.0).numpy())
    compare(D.Geometric(1.0).entropy(), 0.0)


@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0, 199.0, 201.0, 1000.0])
def test_poisson_entropy_on_both_sides_of_the_series(rate):
    k = np.arange(0, 3000)
    log = ss.poisson.logpmf(k, rate)
    compare(D.Poisson(np.array([rate])).entropy(), [-(np.exp(log) * log).sum()], 1e-9)
    if rate not in (199.0, 201.0):  # differences of a float64 are too coarse there
        check_grad(lambda r: D.Poisson(r).entropy(), [rate], rtol=1e-4)


def test_poisson_and_binomial_at_the_edge():
    compare(D.Poisson([0.0]).log_prob([0.0]), [0.0])
    compare(D.Binomial(5, 0.0).log_prob([0.0, 5.0]), [0.0, -np.inf])
    compare(D.Binomial(5, [0.0, 1.0]).entropy(), [0.0, 0.0], atol=2e-6)
    compare(D.Binomial(5, 0.3).log_prob([-1.0, 6.0]), [-np.inf, -np.inf])


def test_multinomial():
    weights, x = np.array([[2.0, 3.0, 5.0], [1.0, 1.0, 8.0]]), np.array([2.0, 3.0, 5.0])
    p = weights / 10
    d = D.Multinomial(10, paddle.to_tensor(weights))
    assert d.batch_shape == (2,) and d.event_shape == (3,)
    compare(d.log_prob(x), [ss.multinomial(10, row).logpmf(x) for row in p], 1e-8)
    compare(d.entropy(), [ss.multinomial(10, row).entropy() for row in p], 1e-8)
    compare(d.mean, 10 * p, 1e-8)
    compare(d.variance, 10 * p * (1 - p), 1e-8)
    assert d.prob([1.0, 1.0, 1.0]).numpy().tolist() == [0, 0]  # three draws are not ten
    compare(D.Multinomial(3, [0.0, 1.0]).entropy(), 0.0, atol=2e-6)
    draws = spread(d)
    assert (draws.sum(-1) == 10).all() and np.abs(draws.mean(0) - 10 * p).max() < 0.15


def test_dirichlet():
    a, x = np.array([[1.0, 2.0, 0.5], [3.0, 1.5, 2.0]]), np.array([0.2, 0.3, 0.5])
    d = D.Dirichlet(paddle.to_tensor(a))
    assert d.batch_shape == (2,) and d.event_shape == (3,)
    compare(d.log_prob(x), [ss.dirichlet(row).logpdf(x) for row in a], 1e-8)
    compare(d.entropy(), [ss.dirichlet(row).entropy() for row in a], 1e-8)
    compare(d.mean, [ss.dirichlet(row).mean() for row in a], 1e-8)
    compare(d.variance, [ss.dirichlet(row).var() for row in a], 1e-8)
    draws = spread(d)
    compare(draws.sum(-1), np.ones((3000, 2)), 1e-6)
    assert np.abs(draws.mean(0) - d.mean.numpy()).max() < 0.03
    check_grad(lambda c: (D.Dirichlet(c).log_prob(x), D.Dirichlet(c).entropy()), a)


def test_categorical_takes_logits_in_two_ways():
    w = np.random.default_rng(0).random((2, 3)) + 0.1
    d, p, softmax = D.Categorical(paddle.to_tensor(w)), w / w.sum(-1, keepdims=True), sp.softmax(w, -1)
    compare(d.entropy(), -(softmax * np.log(softmax)).sum(-1), 1e-8)
    draws = spread(d)
    assert max(abs((draws[:, i] == k).mean() - softmax[i, k]) for i in range(2) for k in range(3)) < 0.04
    assert d.sample([2]).dtype is paddle.int64 and d.batch_shape == (2,)
    compare(d.probs(paddle.to_tensor([0, 2])), p[:, [0, 2]], 1e-8)
    compare(d.probs(paddle.to_tensor([[0, 1], [1, 2]])), np.take_along_axis(p, np.array([[0, 1], [1, 2]]), 1), 1e-8)
    compare(d.log_prob(paddle.to_tensor([[2]])), np.log(p[:, [2]]), 1e-8)
    compare(d.probs(paddle.to_tensor([-1])), p[:, [2]], 1e-8)
    compare(D.Categorical(paddle.to_tensor(w[0])).probs(paddle.to_tensor([[0], [1]])), p[0][[[0], [1]]], 1e-8)
    compare(D.Categorical(paddle.to_tensor(w[0])).log_prob(paddle.to_tensor(1)), np.log(p[0, 1]), 1e-8)


@pytest.mark.parametrize(
    "value, error",
    [
        (paddle.to_tensor([3]), IndexError),
        (paddle.to_tensor([-4]), IndexError),
        (paddle.to_tensor(1), ValueError),
        (paddle.to_tensor([[[0]]]), ValueError),
        (paddle.to_tensor([0.0]), TypeError),
        ([0], TypeError),
    ],
)
def test_categories_that_do_not_exist(value, error):
    with pytest.raises(error):
        D.Categorical(paddle.ones([2, 3])).log_prob(value)


@pytest.mark.parametrize("p", [1e-6, 0.1, 0.3, 0.49, 0.4995, 0.5, 0.5 + 1e-9, 0.6, 0.999])
def test_continuous_bernoulli(p):
    d = D.ContinuousBernoulli(paddle.to_tensor([p], "float64"))
    x = np.linspace(0, 1, 20001)
    density = d.prob(paddle.to_tensor(x)).numpy()
    integral = lambda f: ((f[1:] + f[:-1]) / 2 * np.diff(x)).sum()  # noqa: E731
    compare(integral(density), 1.0, 1e-6)
    mean = integral(density * x)
    compare(d.mean, [mean], 1e-6)
    compare(d.variance, [integral(density * (x - mean) ** 2)], 1e-6)
    compare(d.entropy(), [-integral(density * np.log(density))], 1e-5, 1e-7)
    compare(d.cdf([0.3]), [integral(np.where(x <= 0.3, density, 0))], 2e-4)
    compare(d.icdf(d.cdf([0.1, 0.5, 0.9])), [0.1, 0.5, 0.9], 1e-6)
    compare(d.log_prob([-0.1, 1.1]), [-np.inf, -np.inf])
    if 1e-3 < p < 0.99:

        def f(q):
            d = D.ContinuousBernoulli(q)
            return d.mean, d.variance, d.log_prob([0.3]), d.cdf([0.3])

        check_grad(f, [p], rtol=1e-4)


def test_continuous_bernoulli_is_accurate_in_single_precision():
    compare(D.ContinuousBernoulli(paddle.to_tensor([0.4985, 0.499])).variance, [1 / 12, 1 / 12], 1e-5)  # officially < 0
