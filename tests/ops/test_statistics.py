"""Medians, quantiles, histograms."""

import numpy as np
import pytest

import paddle

from _check import check_grad, compare

nan, inf = float("nan"), float("inf")
X = np.random.RandomState(0).randn(3, 4)


def grad_of(f, values):
    x = paddle.to_tensor(values, dtype="float64", stop_gradient=False)
    f(x).backward()
    return x.grad


def test_median():
    t = paddle.to_tensor
    assert paddle.median(t([4, 1, 3, 2])).dtype is paddle.float32
    assert paddle.median(t([4.0, 1.0]).astype("float64")).dtype is paddle.float64
    assert np.isnan(paddle.median(t([1.0, nan, 3.0])).item()) and np.isnan(paddle.median(paddle.zeros([0])).item())
    compare(paddle.median(t([[1.0, 3.0], [2.0, 4.0]]), keepdim=True), [[2.5]])
    value, index = paddle.median(t([[1.0, nan, 3.0], [6.0, 5.0, 4.0]]), axis=1, mode="min")
    assert np.isnan(value.numpy()[0]) and value.numpy()[1] == 5 and index.tolist() == [1, 1]
    assert paddle.median(t([1, 3, 2, 4]), mode="min").item() == 2
    for axis in ([], [0], 5, 1.0):
        with pytest.raises(ValueError, match="median"):
            paddle.median(t([[1.0]]), axis=axis)
    with pytest.raises(ValueError, match="mode"):
        paddle.median(t([1.0]), mode="x")


def test_nanmedian():
    x = paddle.to_tensor([[1.0, nan, 3.0], [4.0, 5.0, 6.0]])
    compare(paddle.nanmedian(x), 4.0)
    compare(paddle.nanmedian(x, axis=[0, 1], keepdim=True), [[4.0]])
    assert paddle.nanmedian(paddle.to_tensor([1, 2, 4, 4])).item() == 3
    assert np.isnan(paddle.nanmedian(paddle.to_tensor([nan, nan])).item())
    value, index = paddle.nanmedian(x, axis=1, mode="min")
    compare(value, [1.0, 5.0])
    assert index.tolist() == [0, 1]


def test_median_gradient_is_shared_by_equal_elements():
    compare(grad_of(paddle.median, [4.0, 2.0, 1.0, 3.0]), [0, 0.5, 0, 0.5])
    compare(grad_of(paddle.median, [1.0, 2.0, 2.0, 2.0]), [0, 1 / 3, 1 / 3, 1 / 3])
    compare(grad_of(paddle.median, [4.0, nan, 1.0]), [0, 1, 0])
    compare(grad_of(paddle.nanmedian, [1.0, nan, 3.0, 2.0, 7.0]), [0, 0, 0.5, 0.5, 0])


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantile_as_numpy(how):
    x = paddle.to_tensor(X)
    for q in (0.0, 0.3, 0.5, 1.0):
        compare(paddle.quantile(x, q, axis=1, interpolation=how), np.quantile(X, q, axis=1, method=how))
    compare(
        paddle.quantile(x, [0.1, 0.9], axis=0, keepdim=True, interpolation=how),
        np.quantile(X, [0.1, 0.9], 0, keepdims=True, method=how),
    )


def test_quantile_edges():
    t = paddle.to_tensor
    x = t([[1.0, nan, 3.0], [4.0, 5.0, 6.0]])
    out = paddle.quantile(x, 0.5, axis=1).numpy()
    assert np.isnan(out[0]) and out[1] == 5
    compare(paddle.nanquantile(x, 0.5, axis=1), [2.0, 5.0])
    assert paddle.quantile(t([1.0, 2.0, 3.0]), [0.5]).shape == []  # one level adds no axis
    compare(paddle.quantile(t([1.0, 2.0, inf]), 0.5), 2.0)
    assert paddle.quantile(paddle.ones([2, 3, 4]), t([0.1, 0.5]), axis=[0, 2], keepdim=True).shape == [2, 1, 3, 1]
    for q in (1.5, [], [0.5, -0.1], t(1.5)):
        with pytest.raises(ValueError):
            paddle.quantile(x, q)
    with pytest.raises(ValueError):
        paddle.quantile(x, 0.5, axis=9)
    with pytest.raises(TypeError):
        paddle.quantile(x, "a")


def test_a_changing_level_does_not_compile_again():
    x = paddle.to_tensor(X)
    paddle.quantile(x, 0.25)
    with paddle.utils.count_compiles() as n:
        for q in (0.1, 0.2, 0.7):
            paddle.quantile(x, q)
    assert n.compiles == 0


def test_histogram():
    t = paddle.to_tensor
    x = t([1.0, 2.0, 1.0, 3.5])
    assert paddle.histogram(x, 4).tolist() == [2, 1, 0, 1]
    assert paddle.histogram(x, 4, 0, 3).tolist() == [0, 2, 1, 0]
    compare(paddle.histogram(x, 4, weight=t([1.0, 2.0, 3.0, 4.0])), [4.0, 2.0, 0.0, 4.0])
    compare(paddle.histogram(x, 4, density=True), [0.8, 0.4, 0.0, 0.4])
    assert paddle.histogram(t([2.0, 2.0]), 4).tolist() == [0, 0, 2, 0]
    assert paddle.histogram(t([1, 2, 1]), 4).dtype is paddle.int64
    assert paddle.histogram(paddle.zeros([0]), 4).tolist() == [0] * 4
    for arguments in ((0,), (-1,), (2, 3, 1)):
        with pytest.raises(ValueError):
            paddle.histogram(x, *arguments)
    with pytest.raises(ValueError):
        paddle.histogram(t([1.0, inf]), 2)
    compare(paddle.histogram_bin_edges(x, 4), [1.0, 1.625, 2.25, 2.875, 3.5])
    compare(paddle.histogram_bin_edges(t([2.0, 2.0]), 2), [1.5, 2.0, 2.5])


def test_histogramdd():
    points = np.random.RandomState(0).rand(20, 2)
    counts, edges = paddle.histogramdd(paddle.to_tensor(points), [2, 3], [0.0, 1.0, 0.0, 1.0])
    want, ends = np.histogramdd(points, [2, 3], [(0, 1), (0, 1)])
    compare(counts, want)
    for a, b in zip(edges, ends):
        compare(a, b)
    for bins, ranges in (([2], None), (2, [0.0, 1.0])):
        with pytest.raises(ValueError):
            paddle.histogramdd(paddle.to_tensor(points), bins, ranges)


def test_bincount():
    t = paddle.to_tensor
    assert paddle.bincount(t([1, 2, 1]), minlength=5).tolist() == [0, 2, 1, 0, 0]
    assert paddle.bincount(t([], dtype="int64")).shape == [0]
    assert paddle.bincount(t([1, 2, 1]), t([0.5, 1.0, 2.0])).dtype is paddle.float32
    for x in (t([-1]), t([[1]])):
        with pytest.raises(ValueError):
            paddle.bincount(x)
    with pytest.raises(TypeError):
        paddle.bincount(t([1.0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: paddle.median(a * a, axis=1),
        lambda a: paddle.nanmedian(a * a),
        lambda a: paddle.quantile(a * a, 0.3, axis=1),
        lambda a: paddle.quantile(a, [0.2, 0.6]),
    ],
)
def test_gradients(f):
    check_grad(f, X, order=2)


def test_nanmedian_of_integers_stays_one_and_rounds_towards_zero():
    got = paddle.nanmedian(paddle.to_tensor([[-1, 0], [3, 4]]), 1)  # recorded from the official package
    assert got.dtype is paddle.int64 and got.tolist() == [0, 3]
