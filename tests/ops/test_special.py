import math

import numpy as np
import pytest
import scipy.special as sp

import paddle

from _check import check_grad, compare

nan, inf = math.nan, math.inf

# name: (the function of SciPy, points)
SMOOTH = {
    "erf": (sp.erf, [-2.0, 0.0, 0.7]),
    "erfinv": (sp.erfinv, [-0.9, 0.0, 0.5]),
    "digamma": (sp.digamma, [-0.5, 0.3, 4.0]),
    "lgamma": (sp.gammaln, [0.3, 1.5, 7.0]),
    "gammaln": (sp.gammaln, [0.3, 1.5, 7.0]),
    "i0": (sp.i0, [-2.0, 0.0, 3.0]),
    "i0e": (sp.i0e, [-2.0, 0.5, 3.0]),
    "i1": (sp.i1, [-2.0, 0.0, 3.0]),
    "i1e": (sp.i1e, [-2.0, 0.5, 3.0]),
    "sinc": (np.sinc, [-1.3, 0.0, 0.4]),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_gradients(name):
    reference, points = SMOOTH[name]
    function = getattr(paddle, name)
    compare(function(paddle.to_tensor(points, dtype="float64")), reference(points), rtol=1e-10, atol=1e-12)
    compare(function(paddle.to_tensor(points)), reference(points), rtol=1e-5, atol=2e-6)
    check_grad(function, points, order=2, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SMOOTH)
def test_shapes_and_types(name):
    function = getattr(paddle, name)
    assert function(paddle.zeros([0, 3])).shape == [0, 3] and function(paddle.to_tensor([1])).dtype == paddle.float32
    half = function(paddle.to_tensor(0.5, dtype="bfloat16"))
    assert half.shape == [] and half.dtype == paddle.bfloat16
    compare(half.astype("float32"), SMOOTH[name][0](0.5), rtol=2e-2)


def test_poles():
    x = paddle.to_tensor([0.0, -0.0, -1.0, 1.0, inf], stop_gradient=False)
    y = paddle.digamma(x)
    compare(y, [-inf, inf, nan, -0.5772157, inf])
    compare(paddle.grad(y.sum(), x)[0][:4], [inf, inf, inf, math.pi**2 / 6])
    y = paddle.lgamma(x)
    compare(y, [inf, inf, inf, 0.0, inf], atol=1e-6)
    compare(paddle.grad(y.sum(), x)[0][:2], [-inf, inf])
    compare(paddle.polygamma(paddle.to_tensor([-0.5, 0.0, -1.0]), 1), [8.934803, inf, inf])
    compare(paddle.polygamma(paddle.to_tensor([-0.5, 0.0, -1.0]), 2), [-0.8287966, -inf, -inf])
    compare(paddle.erfinv(paddle.to_tensor([1.0, -1.0, 2.0])), [inf, -inf, nan])


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_polygamma(n):
    points = np.array([0.6, 1.7, 3.2])
    compare(paddle.polygamma(paddle.to_tensor(points), n), sp.polygamma(n, points), rtol=1e-10)
    check_grad(lambda x: paddle.polygamma(x, n), points, order=2, rtol=1e-4)


def test_orders():
    for n, error in ((-1, ValueError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(error, match="polygamma: n must be"):
            paddle.polygamma(paddle.ones([1]), n)
    for p in (0, 1.5):
        with pytest.raises(ValueError, match="multigammaln: p must be"):
            paddle.multigammaln(paddle.ones([1]), p)


@pytest.mark.parametrize("p", [1, 3])
def test_multigammaln(p):
    points = np.array([2.6, 3.3])
    want = [sp.multigammaln(points[0], p), sp.multigammaln(points[1], p)]
    compare(paddle.multigammaln(paddle.to_tensor(points), p), np.ravel(want), rtol=1e-10)
    check_grad(lambda x: paddle.multigammaln(x, p), points, order=2, rtol=1e-4)


def test_incomplete_gamma():
    a, x = np.array([0.5, 1.0, 2.5, 10.0]), np.array([[0.1, 1.0, 3.0, 12.0], [0.0, 2.0, 0.5, 9.0]])
    A, X = paddle.to_tensor(a), paddle.to_tensor(x)
    compare(paddle.gammainc(A, X), sp.gammainc(a, x), rtol=1e-10)
    compare(paddle.gammaincc(A, X), sp.gammaincc(a, x), rtol=1e-10)
    compare(paddle.gammainc(A.astype("float32"), X.astype("float32")), sp.gammainc(a, x), rtol=1e-4)
    check_grad(lambda y: paddle.gammainc(A[1:], y), x[0, 1:], rtol=1e-4)
    check_grad(lambda y: paddle.gammaincc(A[1:], y), x[0, 1:], rtol=1e-4)


def test_incomplete_gamma_rejects_what_is_outside():
    one = paddle.ones([1])
    for x, y in ((-one, one), (one, -one), (one, one * nan)):
        with pytest.raises(ValueError, match="must not be negative or NaN"):
            paddle.gammainc(x, y)
    with pytest.raises(TypeError, match="gammaincc: y must be a floating tensor"):
        paddle.gammaincc(one, 2.0)


def test_in_place_forms():
    x = paddle.to_tensor([0.5, 2.0])
    assert x.lgamma_() is x and x.erf_() is x
    compare(x, sp.erf(sp.gammaln([0.5, 2.0])), atol=1e-5)
