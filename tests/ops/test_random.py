"""Random tensors: seeds, ranges, moments, errors."""

import numpy as np
import pytest
from scipy import stats

import paddle

T = paddle.to_tensor
N = 4000

DRAWS = {
    "rand": lambda: paddle.rand([N]),
    "randn": lambda: paddle.randn([N]),
    "uniform": lambda: paddle.uniform([N], min=-3.0, max=5.0),
    "normal": lambda: paddle.normal(2.0, 3.0, [N]),
    "normal of tensors": lambda: paddle.normal(paddle.full([N], 2.0), paddle.full([1], 3.0)),
    "exponential_": lambda: paddle.zeros([N]).exponential_(2.0),
    "cauchy_": lambda: paddle.zeros([N]).cauchy_(1.0, 2.0),
    "log_normal_": lambda: paddle.zeros([N]).log_normal_(0.5, 0.7),
    "standard_gamma": lambda: paddle.standard_gamma(paddle.full([N], 3.0)),
    "geometric_": lambda: paddle.zeros([N]).geometric_(0.3),
    "log_normal": lambda: paddle.log_normal(0.5, 0.7, [N]),
    "uniform_": lambda: paddle.zeros([N]).uniform_(-2.0, 3.0),
    "normal_": lambda: paddle.zeros([N]).normal_(1.0, 2.0),
}
LAWS = {
    "rand": stats.uniform(),
    "randn": stats.norm(),
    "uniform": stats.uniform(-3, 8),
    "normal": stats.norm(2, 3),
    "normal of tensors": stats.norm(2, 3),
    "exponential_": stats.expon(scale=0.5),
    "cauchy_": stats.cauchy(1, 2),
    "log_normal_": stats.lognorm(0.7, scale=np.exp(0.5)),
    "standard_gamma": stats.gamma(3),
    "geometric_": stats.expon(scale=-1 / np.log(0.7)),
    "log_normal": stats.lognorm(0.7, scale=np.exp(0.5)),
    "uniform_": stats.uniform(-2, 5),
    "normal_": stats.norm(1, 2),
}


@pytest.mark.parametrize("name", DRAWS)
def test_continuous_laws_and_seeds(name):
    paddle.seed(11)
    a, b = DRAWS[name]().numpy(), DRAWS[name]().numpy()
    paddle.seed(11)
    assert (DRAWS[name]().numpy() == a).all() and (a != b).any()
    assert stats.kstest(a.astype("float64"), LAWS[name].cdf).pvalue > 1e-3  # the seed is fixed, so is the answer


DISCRETE = {
    "bernoulli": (lambda: paddle.bernoulli(paddle.full([N], 0.3)), stats.bernoulli(0.3)),
    "bernoulli_": (lambda: paddle.zeros([N]).bernoulli_(0.3), stats.bernoulli(0.3)),
    "poisson": (lambda: paddle.poisson(paddle.full([N], 4.0)), stats.poisson(4)),
    "binomial": (lambda: paddle.binomial(paddle.full([N], 10, "int64"), paddle.full([N], 0.25)), stats.binom(10, 0.25)),
    "randint": (lambda: paddle.randint(-2, 3, [N]), stats.randint(-2, 3)),
    "random_": (lambda: paddle.zeros([N]).random_(0, 5), stats.randint(0, 5)),
    "multinomial": (
        lambda: paddle.multinomial(T([1.0, 2.0, 0.0, 1.0]), N, replacement=True),
        stats.rv_discrete(values=([0, 1, 3], [0.25, 0.5, 0.25])),
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_laws(name):
    draw, law = DISCRETE[name]
    values, counts = np.unique(draw().numpy(), return_counts=True)
    expected = law.pmf(values.astype(int)) * N
    assert (expected > 0).all(), "only possible values"
    assert abs(counts - expected).max() < 5 * np.sqrt(N)


def test_without_replacement():
    rows = paddle.multinomial(paddle.ones([50, 4]), 4).numpy()
    assert (np.sort(rows, 1) == np.arange(4)).all() and len({tuple(r) for r in rows.tolist()}) > 10
    first = paddle.multinomial(paddle.ones([N, 2]) * T([1.0, 3.0]), 1).numpy()
    assert abs(first.mean() - 0.75) < 0.03
    assert sorted(paddle.randperm(20).tolist()) == list(range(20)) and paddle.randperm(0).shape == [0]


def test_types_and_shapes():
    assert paddle.randint(10).shape == [1] and paddle.randint_like(paddle.zeros([2]), 5).dtype == paddle.float32
    assert [paddle.rand([2], dtype=d).dtype.name for d in ("float16", "bfloat16", "float64")] == [
        "float16",
        "bfloat16",
        "float64",
    ]
    assert (
        float(paddle.rand([N], dtype="float16").max()) < 1
        and paddle.randn([2], dtype="complex64").dtype == paddle.complex64
    )
    assert (
        paddle.rand(2, 3).shape == [2, 3]
        and paddle.rand([0, 3]).shape == [0, 3]
        and paddle.rand([T(2), 3]).shape == [2, 3]
    )
    assert paddle.rand_like(paddle.ones([2], "float64")).dtype == paddle.float64 and paddle.normal().shape == [1]
    assert paddle.poisson(paddle.zeros([0])).shape == [0] and paddle.multinomial(paddle.zeros([0, 3]), 1).shape == [
        0,
        1,
    ]
    assert (paddle.uniform([5], seed=7) == paddle.uniform([5], seed=7)).all() and (
        paddle.uniform([5], seed=7) != paddle.uniform([5], seed=8)
    ).any()
    assert paddle.bernoulli(T([0.5], stop_gradient=False)).stop_gradient


def test_seeds_and_parameters_do_not_recompile():
    (
        paddle.uniform([3], min=0.0, max=1.0),
        paddle.randint(0, 5, [3]),
        paddle.uniform([3], seed=1),
        paddle.zeros([3]).normal_(),
    )
    with paddle.utils.count_compiles() as n:
        for k in range(1, 5):
            (
                paddle.uniform([3], min=-k, max=k),
                paddle.randint(k, 2 * k, [3]),
                paddle.uniform([3], seed=k),
                paddle.zeros([3]).normal_(k, k),
            )
    assert n.compiles == n.cache_hits == 0


def test_gradients():
    mean, std = paddle.zeros([3]), paddle.ones([3])
    mean.stop_gradient = std.stop_gradient = False
    x = paddle.normal(mean, std)
    x.sum().backward()
    np.testing.assert_allclose(mean.grad, 1)
    np.testing.assert_allclose(std.grad, x.numpy(), rtol=1e-6)
    a = paddle.full([600], 2.0)
    a.stop_gradient = False
    paddle.standard_gamma(a).sum().backward()
    assert abs(float(a.grad.mean()) - 1) < 0.1  # the mean of the law is its shape


@pytest.mark.parametrize(
    "bad",
    [
        lambda: paddle.randint(5, 2, [3]),
        lambda: paddle.randint(0, 0, [2]),
        lambda: paddle.randint(-5),
        lambda: paddle.randperm(-1),
        lambda: paddle.rand([2], dtype="int32"),
        lambda: paddle.rand([-1]),
        lambda: paddle.bernoulli(T([1.5])),
        lambda: paddle.bernoulli(T([1])),
        lambda: paddle.multinomial(paddle.ones([3]), 5),
        lambda: paddle.multinomial(T([-1.0, 2]), 1),
        lambda: paddle.multinomial(T([0.0, 0]), 1),
        lambda: paddle.multinomial(T([0.0, 1]), 2),
        lambda: paddle.multinomial(T([float("nan"), 1]), 1),
        lambda: paddle.multinomial(T(1.0), 1),
        lambda: paddle.multinomial(paddle.ones([2]), 0),
        lambda: paddle.poisson(T([-1.0])),
        lambda: paddle.poisson(T([1])),
        lambda: paddle.binomial(T([10]), T([1.5])),
        lambda: paddle.standard_gamma(T([-1.0])),
        lambda: paddle.normal(0.0, -1.0, [2]),
        lambda: paddle.zeros([2]).exponential_(0.0),
        lambda: paddle.zeros([2]).geometric_(1.5),
        lambda: paddle.zeros([2], "int64").uniform_(),
        lambda: paddle.zeros([2]).uniform_(5, 0),
        lambda: paddle.zeros([2]).bernoulli_(1.5),
        lambda: paddle.zeros([2], "int32").random_(5, 2),
    ],
)
def test_errors(bad):
    with pytest.raises((ValueError, TypeError)):
        bad()
