"""Running reductions, differences, integrals."""

import numpy as np
import pytest

import paddle

from _check import check_grad, compare

nan, inf = float("nan"), float("inf")
X = np.random.RandomState(0).randn(3, 4)
t = paddle.to_tensor
RUNNING = ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"]


def first(out):
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("name", RUNNING)
def test_shapes_and_axes(name):
    f = getattr(paddle, name)
    assert (
        first(f(t(2.0))).shape == [1]
        and first(f(t(2.0), 0)).shape == []
        and first(f(paddle.zeros([0, 3]), 0)).shape == [0, 3]
    )
    assert first(f(paddle.ones([2, 3]))).shape == [6] and first(f(paddle.ones([2, 3]), -2)).shape == [2, 3]
    for axis in (5, -3):
        with pytest.raises(ValueError if name == "cumprod" else IndexError, match=name):
            f(paddle.ones([2, 3]), axis)
    with pytest.raises(ValueError):
        f(t(2.0), 1)
    with pytest.raises(TypeError):
        f(paddle.ones([2, 3]), [0])


def test_types():
    for dtype in ("bool", "uint8", "int32"):
        assert paddle.cumsum(t([1, 0]).astype(dtype)).dtype is paddle.int64
    assert paddle.cumprod(t([1, 2], dtype="int32")).dtype is paddle.int32
    assert paddle.cumsum(t([1.5, 2.5]), 0, dtype="int32").tolist() == [1, 3]
    assert paddle.cumprod(t([1, 2]), 0, dtype="float64").dtype is paddle.float64
    assert paddle.logcumsumexp(t([1, 2])).dtype is paddle.float32


def test_as_numpy():
    x = t(X)
    compare(paddle.cumsum(x, 1), np.cumsum(X, 1))
    compare(paddle.cumprod(x, 0), np.cumprod(X, 0))
    compare(paddle.logcumsumexp(x, 1), np.log(np.cumsum(np.exp(X), 1)))
    compare(paddle.cummax(x, 1)[0], np.maximum.accumulate(X, 1))
    y = paddle.ones([2, 3])
    assert y.cumsum_(1) is y
    compare(y, [[1, 2, 3], [1, 2, 3]])
    for dtype in ("uint8", "int32", "int64"):
        assert paddle.ones([2, 2], dtype).cumsum_().tolist() == [1, 2, 3, 4]
        assert paddle.ones([2], dtype).cumsum_(0).dtype == getattr(paddle, dtype)
    assert paddle.ones([2], "int32").cumsum_(0, dtype="float64").dtype == paddle.float64
    with pytest.raises(ValueError, match="cumsum_: argument 'x' must be a Tensor"):
        paddle.cumsum_(3)


def test_running_extrema_take_the_last_of_equals_and_nan():
    value, index = paddle.cummax(t([[1.0, 3.0, 2.0, 3.0], [4.0, 4.0, 1.0, 4.0]]), 1)
    compare(value, [[1, 3, 3, 3], [4, 4, 4, 4]])
    assert index.tolist() == [[0, 1, 1, 3], [0, 1, 1, 3]]
    assert paddle.cummax(t([1.0, nan, 3.0, nan, 0.0]))[1].tolist() == [0, 1, 1, 3, 3]
    assert paddle.cummin(t([3, 1]), dtype="int32")[1].dtype is paddle.int32
    with pytest.raises(ValueError):
        paddle.cummax(t([1.0]), dtype="float32")


def test_logcumsumexp_of_minus_infinity():
    x = t([-inf, -inf, 0.0, -inf], stop_gradient=False)
    y = paddle.logcumsumexp(x)
    compare(y, [-inf, -inf, 0, 0])
    y[2:].sum().backward()
    compare(x.grad, [0, 0, 2, 0])


def test_diff():
    assert paddle.diff(t([1, 4, 9, 16]), n=2).tolist() == [2, 2]
    assert paddle.diff(t([[1, 4]]), axis=0, prepend=t([[0, 0]]), append=t([[9, 9]])).tolist() == [[1, 4], [8, 5]]
    assert paddle.diff(t([True, False, False])).tolist() == [True, False]
    assert paddle.diff(t([1, 4]), n=5).shape == [0] == paddle.diff(paddle.zeros([0])).shape
    for call in (
        lambda: paddle.diff(t([1, 4]), n=0),
        lambda: paddle.diff(paddle.ones([2, 3]), prepend=paddle.ones([3])),
    ):
        with pytest.raises(ValueError, match="diff"):
            call()
    for call in (lambda: paddle.diff(t(1.0)), lambda: paddle.diff(t([1.0]), axis=3)):
        with pytest.raises(IndexError, match="diff"):
            call()


def test_integrals():
    y = t([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    compare(paddle.trapezoid(y, dx=2.0), [8.0, 20.0])
    compare(paddle.trapezoid(y, t([0.0, 1.0, 3.0])), [6.5, 15.5])
    compare(paddle.trapezoid(y, t([0.0, 3.0]), axis=0), [7.5, 10.5, 13.5])
    compare(paddle.cumulative_trapezoid(y, t([0.0, 1.0, 3.0])), [[1.5, 6.5], [4.5, 15.5]])
    with pytest.raises(ValueError):
        paddle.trapezoid(y, t([0.0, 1.0]))
    with pytest.raises(ValueError):
        paddle.trapezoid(y, t([0.0, 1.0, 3.0]), 2.0)
    with pytest.raises(IndexError):
        paddle.trapezoid(y, axis=9)


@pytest.mark.parametrize(
    "f, arrays",
    [
        (lambda a: paddle.cumsum(a * a, 0), [X]),
        (lambda a: paddle.cumprod(a, 1), [X]),
        (lambda a: paddle.cumprod(a, 0), [[2.0, 0, 3, 0, 4]]),
        (lambda a: paddle.logcumsumexp(a, 1), [X]),
        (lambda a: paddle.cummax(a * a, 1)[0], [X]),
        (lambda a: paddle.diff(a * a, 2), [X]),
        (lambda a, b: paddle.trapezoid(a * a, b), [X, X + 1]),
        (lambda a, b: paddle.cumulative_trapezoid(a * a, b, axis=0), [X, X[0, :3]]),
    ],
)
def test_gradients(f, arrays):
    check_grad(f, *arrays, order=2, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape", [(9,), (3, 65), (70, 12), (9, 8, 9), (8193,), (530000,)])
def test_long_axes_as_numpy(shape):
    """One block, several, blocks of blocks, steps; lengths that no block divides."""
    x = np.random.RandomState(1).randint(-9, 9, shape).astype(float)
    x[np.random.RandomState(2).rand(*shape) < 0.001] = nan
    for axis in range(x.ndim):
        compare(paddle.cumsum(t(x), axis), np.cumsum(x, axis))
        compare(paddle.cumprod(t(np.where(x > 0, 1.5, -2 / 3)), axis), np.cumprod(np.where(x > 0, 1.5, -2 / 3), axis))
        with np.errstate(invalid="ignore"):
            compare(paddle.logcumsumexp(t(x), axis), np.logaddexp.accumulate(x, axis))
        for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
            values, index = getattr(paddle, name)(t(x), axis)
            want = ufunc.accumulate(x, axis)
            compare(values, want)
            place = np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
            last = np.where((x == want) | np.isnan(x), place, 0)
            assert np.array_equal(index.numpy(), np.maximum.accumulate(last, axis))


def test_infinities_stay_where_they_are():
    """An element does not reach those in front of it, whatever it is."""
    x = np.array([1.0, 2.0, inf, -inf] * 5)
    with np.errstate(invalid="ignore"):
        compare(paddle.cumsum(t(x)), np.cumsum(x))


def test_in_place_without_an_axis_flattens():
    x = paddle.ones([2, 3])
    assert x.cumsum_() is x and x.tolist() == [1, 2, 3, 4, 5, 6]
    assert paddle.to_tensor([[2.0], [3.0]]).cumprod_().tolist() == [2, 6]
