"""Optimizers around others, against values of the official package; minimisation of functions."""

import numpy as np
import pytest

import paddle
from paddle.incubate.optimizer import GradientMergeOptimizer
from paddle.incubate.optimizer.functional import minimize_bfgs, minimize_lbfgs

from _check import compare


def problem():
    p = paddle.create_parameter([2], "float32")
    p.set_value(np.array([1.0, -2.0], "float32"))
    return p, paddle.optimizer.SGD(0.1, parameters=[p])


def walk(p, step, n):
    for _ in range(n):
        (p * p).sum().backward()
        step()
        p.clear_gradient()
        yield float(p[0])


def test_lookahead():
    p, sgd = problem()
    opt = paddle.incubate.LookAhead(sgd, alpha=0.5, k=2)
    compare(list(walk(p, opt.step, 5)), [0.8, 0.72, 0.576, 0.5904, 0.47232])
    assert opt.get_lr() == 0.1
    state = opt.state_dict()
    assert list(state) == [f"{p.name}_slow_0"]
    compare(state[f"{p.name}_slow_0"], [0.5904, -1.1808])
    other = paddle.incubate.LookAhead(sgd, 0.5, 1)
    other.set_state_dict(state)
    list(walk(p, other.step, 1))
    compare(p, [(0.5904 + 0.47232 * 0.8) / 2, -(0.5904 + 0.47232 * 0.8)])
    for bad in (lambda: paddle.incubate.LookAhead(sgd, 1.5), lambda: paddle.incubate.LookAhead(sgd, 0.5, 0)):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError):
        paddle.incubate.LookAhead(None)


@pytest.mark.parametrize(
    "window,want",
    [
        ((0.15, 2, 10), [0.8, 0.72, 0.650667, 0.4608, 0.416427, 0.294912, 0.266513, 0.188744, 0.170568, 0.120796]),
        ((0.5, 2, 4), [0.8, 0.72, 0.650667, 0.4608, 0.416427, 0.377856, 0.266513]),
        ((1.0, 10000, 10000), [0.8, 0.72, 0.650667, 0.5904, 0.537856]),
        ((0.5, 1, 3), [0.8, 0.64, 0.512, 0.4608, 0.36864, 0.333141, 0.302285, 0.21321, 0.193462]),
    ],
)
def test_model_average(window, want):
    rate, low, high = window
    p, sgd = problem()
    average = paddle.incubate.ModelAverage(rate, [p], low, high)
    got = []

    def step():
        sgd.step()
        average.step()
        with average.apply():
            got.append(float(p[0]))

    last = list(walk(p, step, len(want)))
    compare(got, want, rtol=1e-4)
    compare(last, 0.8 ** np.arange(1, len(want) + 1), rtol=1e-4)
    again = paddle.incubate.ModelAverage(rate, [p], low, high)
    again.set_state_dict(average.state_dict())
    with again.apply(need_restore=False):
        pass
    compare(p[0], want[-1], rtol=1e-4)
    again.restore()
    compare(p[0], last[-1], rtol=1e-4)


def test_gradient_merge():
    p, sgd = problem()
    merged = GradientMergeOptimizer(sgd, k_steps=2, avg=False)
    values = []
    for factor in (1.0, 3.0, 5.0, 7.0):
        loss = (p * factor).sum()
        loss.backward()
        merged.minimize(loss)
        p.clear_gradient()
        values.append(float(p[0]))
    compare(values, [1.0, 0.6, 0.6, -0.6])


def test_gradient_merge_in_loops_with_step():
    p, sgd = problem()
    merged = GradientMergeOptimizer(sgd, k_steps=2)
    values = []
    for factor in (1.0, 3.0, 5.0, 7.0):
        (p * factor).sum().backward()
        merged.step()
        merged.clear_grad()
        values.append(float(p[0]))
    compare(values, [1.0, 0.8, 0.8, 0.2])
    assert merged.get_lr() == sgd.get_lr()
    with pytest.raises(TypeError, match="inner_optimizer must be an Optimizer"):
        GradientMergeOptimizer(3)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("minimize", [minimize_bfgs, minimize_lbfgs])
def test_minimize(minimize):
    start = paddle.to_tensor([-1.2, 1.0, 0.5], dtype="float64")
    found = minimize(rosenbrock, start, max_iters=100, dtype="float64")
    assert found[0].item() and 0 < found[1].item() < 200
    compare(found[2], np.ones(3), atol=1e-6)
    compare(found[3], rosenbrock(found[2]).numpy())
    assert start.tolist() == [-1.2, 1.0, 0.5]
    found = minimize(rosenbrock, start, max_iters=1, dtype="float64")
    assert not found[0].item() and found[3].item() < rosenbrock(start).item()
    for change in (
        {"dtype": "int32"},
        {"dtype": "float32"},
        {"max_iters": 0},
        {"initial_inverse_hessian_estimate": paddle.to_tensor([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]])},
        {"initial_inverse_hessian_estimate": -paddle.eye(3)},
    ):
        with pytest.raises(ValueError, match="minimize_"):
            minimize(rosenbrock, start, **{"dtype": "float64", **change})
    with pytest.raises(NotImplementedError):
        minimize(rosenbrock, start, line_search_fn="foo", dtype="float64")


def test_bfgs_finds_the_inverse_hessian_of_a_quadratic():
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]])
    a = paddle.to_tensor(matrix)
    found = minimize_bfgs(
        lambda x: (x * a.matmul(x)).sum() / 2 - x.sum(), paddle.zeros([2], "float64"), dtype="float64"
    )
    compare(found[2], np.linalg.solve(matrix, [1, 1]))
    compare(found[5], np.linalg.inv(matrix), rtol=1e-4)
