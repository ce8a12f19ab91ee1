"""Jacobians, Hessians, vjp and jvp against finite differences and closed forms."""

import numpy as np
import pytest

import paddle
from paddle.incubate import autograd as functional

from _check import compare


def t(values, grad=True):
    return paddle.to_tensor(np.array(values, "float64"), stop_gradient=not grad)


W = np.array([[1.0, -2.0, 0.5], [0.3, 0.7, -1.0]])
AT = np.array([0.4, -0.9])


def f(x):  # R^2 -> R^3
    return (x.matmul(paddle.to_tensor(W))).tanh()


def numeric(function, at, step=1e-6):
    columns = [(function(at + step * e) - function(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    return np.stack(columns, -1)


J = numeric(lambda a: np.tanh(a @ W), AT)


def test_jacobian_and_its_rows():
    x = t(AT)
    found = paddle.autograd.jacobian(f(x), x)
    assert found.shape == [3, 2]
    compare(found[:], J, rtol=1e-6)
    compare(found[1], J[1], rtol=1e-6)
    compare(found[0:2, 1], J[0:2, 1], rtol=1e-6)
    compare(found[...], J, rtol=1e-6)
    with pytest.raises(IndexError):
        found[0, 0, 0]


def test_jacobian_of_sequences_and_scalars():
    x, y = t(AT), t(2.0)
    table = paddle.autograd.jacobian((x * y, (x * x).sum()), (x, y))
    compare(table[0][0][:], 2 * np.eye(2))
    compare(table[0][1][:], AT)
    compare(table[1][0][:], 2 * AT)
    assert table[1][1].shape == [] and float(table[1][1][:]) == 0
    with pytest.raises(ValueError, match="batch_axis"):
        paddle.autograd.jacobian(x, x, batch_axis=1)


def test_batched_jacobian():
    points = np.stack([AT, 2 * AT, AT - 1])
    x = t(points)
    found = paddle.autograd.jacobian(f(x), x, batch_axis=0)
    assert found.shape == [3, 3, 2]
    compare(found[:], np.stack([numeric(lambda a: np.tanh(a @ W), p) for p in points]), rtol=1e-6, atol=1e-8)
    compare(found[1, 2], numeric(lambda a: np.tanh(a @ W), points[1])[2], rtol=1e-6)


def test_jacobian_can_be_differentiated():
    x = t(AT)
    row = paddle.autograd.jacobian(x * x * x, x)[0]
    compare(paddle.grad(row.sum(), x)[0], [6 * AT[0], 0])


def test_hessian():
    x = t(AT)
    y = (x * x * x).sum() + x[0] * x[1]
    want = np.diag(6 * AT) + np.array([[0, 1], [1, 0]])
    compare(paddle.autograd.hessian(y, x)[:], want)
    u, v = t(1.5), t(AT)
    table = paddle.autograd.hessian((v * v).sum() * u, (u, v))
    compare(table[0][1][:], 2 * AT)
    compare(table[1][1][:], 3 * np.eye(2))
    with pytest.raises(ValueError, match="one number"):
        paddle.autograd.hessian(x * 2, x)


def test_batched_hessian():
    points = np.stack([AT, 2 * AT])
    x = t(points)
    found = paddle.autograd.hessian((x * x * x).sum(axis=1), x, batch_axis=0)
    compare(found[:], np.stack([np.diag(6 * p) for p in points]))


@pytest.mark.parametrize("grad", [False, True])
def test_vjp_and_jvp(grad):
    x = t(AT, grad)
    v, u = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.9])
    ys, back = functional.vjp(f, x, t(v, False))
    compare(ys, np.tanh(AT @ W))
    compare(back, v @ J, rtol=1e-6)
    ys, along = functional.jvp(f, x, t(u, False))
    compare(along, J @ u, rtol=1e-6)
    compare(functional.vjp(f, x)[1], np.ones(3) @ J, rtol=1e-6)
    compare(functional.jvp(f, x)[1], J @ np.ones(2), rtol=1e-6)
    with pytest.raises(ValueError, match="must match"):
        functional.jvp(f, x, t(v))


def test_vjp_and_jvp_of_several_inputs_and_outputs():
    x, y = t(AT), t([2.0, 3.0])
    outs, (gx, gy) = functional.vjp(lambda a, b: (a * b, a + 1), [x, y])
    assert len(outs) == 2
    compare(gx, [3, 4])
    compare(gy, AT)
    _, (d1, d2) = functional.jvp(lambda a, b: (a * b, a + 1), [x, y])
    compare(d1, np.array([2.0, 3.0]) + AT)
    compare(d2, [1, 1])
    _, unused = functional.vjp(lambda a, b: a * 2, [x, y])
    compare(unused[1], [0, 0])


def test_matrices_of_functions():
    x, y = t(AT), t([2.0, 3.0])
    whole = functional.Jacobian(lambda a, b: [a * b, a.sum()], [x, y])
    want = np.block([[np.diag([2.0, 3.0]), np.diag(AT)], [np.ones((1, 2)), np.zeros((1, 2))]])
    assert whole.shape == [3, 4]
    compare(whole[:], want)
    compare(whole[2], want[2])
    curvature = functional.Hessian(lambda a, b: (a * a * b).sum(), [x, y])
    compare(curvature[:], np.block([[np.diag([4.0, 6.0]), np.diag(2 * AT)], [np.diag(2 * AT), np.zeros((2, 2))]]))
    batched = functional.Jacobian(lambda a: a * a, t([[1.0, 2.0], [3.0, 4.0]]), is_batched=True)
    compare(batched[:], [np.diag([2.0, 4.0]), np.diag([6.0, 8.0])])
    with pytest.raises(ValueError, match="one number"):
        functional.Hessian(lambda a: a * 2, x)


def test_forward_grad_and_grad():
    x = t(AT)
    compare(functional.forward_grad(f(x), x, t([0.3, 0.9])), J @ [0.3, 0.9], rtol=1e-6)
    g = functional.grad((x * x).sum(), x)
    compare(g, 2 * AT)
    compare(paddle.grad(g.sum(), x)[0], [2, 2])
