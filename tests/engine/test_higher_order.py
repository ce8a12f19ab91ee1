"""Derivatives of order two and more."""

import math

import numpy as np
import pytest

import paddle

from _check import check_grad


def derivatives(f, at, n):
    x = paddle.to_tensor(at, dtype="float64", stop_gradient=False)
    y, found = f(x), []
    for _ in range(n):
        (y,) = paddle.grad(y, x, create_graph=True)
        found.append(float(y))
    return found


def test_polynomial():
    assert derivatives(lambda x: x**3 + 2 * x**2 + x, 2.0, 3) == [21, 16, 6]


def test_sine_to_the_sixth_derivative():
    want = [math.cos(0.7), -math.sin(0.7), -math.cos(0.7), math.sin(0.7), math.cos(0.7), -math.sin(0.7)]
    np.testing.assert_allclose(derivatives(lambda x: x.sin(), 0.7, 6), want, rtol=1e-12)


@pytest.mark.parametrize(
    "f, n, want",
    [
        (lambda x: x.exp(), 5, [math.e] * 5),
        (lambda x: x.log(), 4, [1, -1, 2, -6]),
        (lambda x: 1 / x, 4, [-1, 2, -6, 24]),
        (lambda x: x.sqrt(), 3, [0.5, -0.25, 0.375]),
        (lambda x: (x * x).exp(), 3, [2 * math.e, 6 * math.e, 20 * math.e]),
        (lambda x: x.tanh(), 2, [1 - math.tanh(1) ** 2, -2 * math.tanh(1) * (1 - math.tanh(1) ** 2)]),
    ],
)
def test_elementary_functions(f, n, want):
    np.testing.assert_allclose(derivatives(f, 1.0, n), want, rtol=1e-10)


def test_grad_of_a_graph_with_backward_on_top():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    (g,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
    ((g * g).sum()).backward()  # sum (2 x w)^2
    assert x.grad.tolist() == [72, 256] and w.grad.tolist() == [24, 128]


def test_mixed_partial_derivatives_agree():
    x, y = (paddle.to_tensor(v, dtype="float64", stop_gradient=False) for v in (0.4, 1.3))
    f = (x * y).sin() * x.exp()
    fx, fy = paddle.grad(f, [x, y], create_graph=True)
    (fxy,) = paddle.grad(fx, y, retain_graph=True)
    (fyx,) = paddle.grad(fy, x)
    assert float(fxy) == pytest.approx(float(fyx), rel=1e-12)


def test_gradients_that_do_not_depend_on_the_input():
    x = paddle.to_tensor(2.0, stop_gradient=False)
    (g,) = paddle.grad(x * 3, x, create_graph=True)
    assert float(g) == 3
    assert paddle.grad(g, x, allow_unused=True) == [None] or float(paddle.grad(g, x, allow_unused=True)[0]) == 0


def test_second_order_of_an_expression_with_broadcasting_and_reductions():
    check_grad(
        lambda a, b: (a.reshape([3, 1]) * b).tanh().sum(0) / (1 + (b * b).mean()),
        np.array([0.1, -0.4, 0.9]),
        np.array([0.3, 0.7]),
        order=2,
    )


def test_second_order_through_an_in_place_operation():
    def f(x):
        y = x * x
        y.multiply_(x)
        y[0] = y[1].clone() * x[0]
        return y

    check_grad(f, np.array([0.5, -0.8, 1.2]), order=2)


def test_second_order_with_a_derived_stop_gradient_input():
    x = paddle.to_tensor([0.5])
    y = x.sin() * 2
    (first,) = paddle.grad(y, x, create_graph=True)
    (second,) = paddle.grad(first, x, create_graph=True)
    np.testing.assert_allclose([first.item(), second.item()], [2 * math.cos(0.5), -2 * math.sin(0.5)], rtol=1e-6)
    assert x.grad is None and x.stop_gradient
