"""Activations: values and gradients, edges, errors."""

import numpy as np
import pytest
import scipy.special

import paddle
import paddle.nn.functional as F

from _check import check_grad, compare

X = np.array([[-7.3, -3.1, -1.2, -0.4], [0.3, 0.9, 2.2, 6.7]])


def softplus(x):
    return np.logaddexp(0, x)


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "thresholded_relu": lambda x: np.where(x > 1, x, 0),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardsigmoid": lambda x: np.clip(x * 0.1666667 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardshrink": lambda x: np.where(abs(x) > 0.5, x, 0),
    "softshrink": lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0),
    "gelu": lambda x: x * scipy.special.ndtr(x),
    "silu": lambda x: x * scipy.special.expit(x),
    "swish": lambda x: x * scipy.special.expit(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "softplus": softplus,
    "softsign": lambda x: x / (1 + abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
    "log_sigmoid": lambda x: -softplus(-x),
    "logsigmoid": lambda x: -softplus(-x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
    "softmax": lambda x: scipy.special.softmax(x, -1),
    "log_softmax": lambda x: scipy.special.log_softmax(x, -1),
    "glu": lambda x: x[:, :2] * scipy.special.expit(x[:, 2:]),
    "swiglu": lambda x: x[:, :2] * scipy.special.expit(x[:, :2]) * x[:, 2:],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_value_gradient_and_second_gradient(name):
    function = getattr(F, name)
    compare(function(paddle.to_tensor(X)), FORMULAS[name](X), 1e-10, 1e-12)
    check_grad(function, X, order=2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [n for n in FORMULAS if n not in ("softmax", "log_softmax", "glu", "swiglu")])
def test_nan_stays_nan_and_neighbours_do_not_notice(name):
    out = getattr(F, name)(paddle.to_tensor([float("nan"), 2.0]))
    assert np.isnan(out.numpy()).tolist() == [True, False]


@pytest.mark.parametrize("name", [n for n in FORMULAS if n != "swiglu"])  # whose product is really infinite
@pytest.mark.parametrize("value", [-1e30, 1e30])
def test_huge_values_give_no_nan(name, value):
    x = paddle.full([1, 4], value)
    x.stop_gradient = False
    y = getattr(F, name)(x)
    y.sum().backward()
    assert not np.isnan(y.numpy()).any() and not np.isnan(x.grad.numpy()).any()


@pytest.mark.parametrize(
    "name, gradients",
    [  # at -6, -3, -1, -0.5, 0, 0.5, 1, 3, 6, as officially
        ("relu", [0, 0, 0, 0, 0, 1, 1, 1, 1]),
        ("relu6", [0, 0, 0, 0, 0, 1, 1, 1, 0]),
        ("leaky_relu", [0.01, 0.01, 0.01, 0.01, 1, 1, 1, 1, 1]),
        ("hardtanh", [0, 0, 0, 1, 1, 1, 0, 0, 0]),
        ("hardshrink", [1, 1, 1, 1, 0, 1, 1, 1, 1]),
        ("softshrink", [1, 1, 1, 0, 0, 0, 1, 1, 1]),
        ("thresholded_relu", [0, 0, 0, 0, 0, 0, 0, 1, 1]),
        ("hardswish", [0, 0, 1 / 6, 1 / 3, 0.5, 2 / 3, 5 / 6, 1, 1]),
    ],
)
def test_gradient_at_the_kinks(name, gradients):
    x = paddle.to_tensor([-6.0, -3, -1, -0.5, 0, 0.5, 1, 3, 6], stop_gradient=False)
    getattr(F, name)(x).sum().backward()
    compare(x.grad, np.array(gradients, "float32"))


def test_relu_lets_the_gradient_pass_at_nan():
    x = paddle.to_tensor([float("nan"), -1.0, 1.0], stop_gradient=False)
    F.relu(x).sum().backward()
    assert x.grad.tolist() == [1, 0, 1]


def test_a_new_slope_does_not_compile_again():
    x = paddle.ones([3])
    F.leaky_relu(x, 0.1)
    with paddle.utils.count_compiles() as count:
        for slope in (0.2, 0.3, 0.5):
            F.leaky_relu(x, slope)
    assert count.compiles == 0


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_axes_dtype_and_shapes_without_elements(name):
    function, formula = getattr(F, name), getattr(scipy.special, name)
    x = np.random.RandomState(0).randn(2, 3, 4)
    for axis in (-3, -1, 0, 1):
        compare(function(paddle.to_tensor(x), axis), formula(x, axis), 1e-10)
        check_grad(lambda t, axis=axis: function(t, axis), x)
    assert function(paddle.ones([2]), dtype="float64").dtype is paddle.float64
    assert function(paddle.zeros([0, 3])).shape == [0, 3] and function(paddle.zeros([3, 0])).shape == [3, 0]
    assert function(paddle.to_tensor(5.0)).item() == (1 if name == "softmax" else 0)
    with pytest.raises(ValueError, match="axis 2"):
        function(paddle.ones([2, 2]), 2)


def test_softmax_of_large_half_precision():
    y = F.softmax(paddle.to_tensor([1e4, 1e4, -1e4]).astype("bfloat16"))
    assert y.dtype is paddle.bfloat16 and y.astype("float32").tolist() == [0.5, 0.5, 0]


def test_in_place_forms():
    for name in ("relu_", "elu_", "hardtanh_", "leaky_relu_", "softmax_", "tanh_", "thresholded_relu_"):
        x = paddle.to_tensor([-2.0, 3.0])
        want = getattr(F, name[:-1])(x).tolist()
        assert getattr(F, name)(x) is x and x.tolist() == want
    x = paddle.to_tensor([-2.0, 3.0])
    assert F.silu(x, inplace=True) is x and x.tolist() == F.silu(paddle.to_tensor([-2.0, 3.0])).tolist()


def test_prelu_per_channel():
    x = -np.ones((2, 3, 2))
    w = np.array([0.1, 0.2, 0.3])
    compare(F.prelu(paddle.to_tensor(x), paddle.to_tensor(w)), x * w[:, None])
    compare(F.prelu(paddle.to_tensor(x.swapaxes(1, 2)), paddle.to_tensor(w), "NLC"), (x * w[:, None]).swapaxes(1, 2))
    check_grad(F.prelu, X[:, :2], [0.3])
    check_grad(F.prelu, X[:, :3], w)
    with pytest.raises(ValueError, match="channels"):
        F.prelu(paddle.ones([1, 4]), paddle.ones([3]))


def test_rrelu():
    x = -paddle.ones([1000])
    y = -F.rrelu(x, 0.25, 0.75).numpy()
    assert 0.25 <= y.min() < 0.3 and 0.7 < y.max() <= 0.75
    assert F.rrelu(paddle.to_tensor([-2.0]), 0.25, 0.75, training=False).tolist() == [-1]
    for lower, upper in ((0.5, 0.3), (-0.5, 0.3), (0.5, 1.5)):
        with pytest.raises(ValueError):
            F.rrelu(x, lower, upper)


def test_gumbel_softmax():
    x = paddle.to_tensor(np.log([[0.1, 0.2, 0.7]] * 2000), stop_gradient=False)
    hard = F.gumbel_softmax(x, hard=True)
    assert set(np.unique(hard.numpy())) == {0.0, 1.0} and (hard.numpy().sum(1) == 1).all()
    assert abs(hard.numpy().mean(0) - [0.1, 0.2, 0.7]).max() < 0.05
    (hard * paddle.to_tensor([1.0, 2.0, 3.0]).astype("float64")).sum().backward()
    assert abs(x.grad.numpy()).max() > 0
    with pytest.raises(ValueError, match="temperature"):
        F.gumbel_softmax(x, 0.0)


def test_maxout():
    x = np.random.RandomState(0).randn(2, 6, 3, 4)
    compare(F.maxout(paddle.to_tensor(x), 2), x.reshape(2, 3, 2, 3, 4).max(2))
    compare(F.maxout(paddle.to_tensor(x), 2, axis=-1), x.reshape(2, 6, 3, 2, 2).max(4))
    check_grad(lambda t: F.maxout(t, 3), x[:1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.gelu(paddle.ones([1]), "other"),
        lambda: F.selu(paddle.ones([1]), 0.5),
        lambda: F.selu(paddle.ones([1]), 1.5, -1.0),
        lambda: F.softshrink(paddle.ones([1]), -1.0),
        lambda: F.glu(paddle.ones([2, 3])),
        lambda: F.glu(paddle.ones([2, 4]), 5),
        lambda: F.maxout(paddle.ones([1, 5, 2, 2]), 2),
        lambda: F.maxout(paddle.ones([2, 4]), 2),
        lambda: F.swiglu(paddle.ones([2, 3])),
        lambda: F.swiglu(paddle.ones([2, 3]), paddle.ones([3])),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError):
        call()


def test_celu_zero_alpha():
    with pytest.raises(ZeroDivisionError):
        F.celu(paddle.ones([1]), 0.0)


def test_softsign_of_complex_numbers_divides_by_the_modulus():
    z = np.array([3 + 4j, -6 + 8j], "complex64")
    np.testing.assert_allclose(F.softsign(paddle.to_tensor(z)).numpy(), z / (1 + np.abs(z)), rtol=1e-6)


def test_gradient_of_softsign_for_large_numbers():
    x = paddle.to_tensor([1e4, -1e8, 0.0], stop_gradient=False)
    F.softsign(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / (1e4 + 1) ** 2, 1e-16, 1], rtol=1e-6)
