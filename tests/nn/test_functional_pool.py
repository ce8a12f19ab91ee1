"""Pooling against plain NumPy windows; recorded values of the official package where conventions matter."""

import itertools

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

from _check import check_grad, compare

t = paddle.to_tensor
GRID = np.arange(1.0, 26).reshape(1, 1, 5, 5)


def distinct(*shape):
    n = int(np.prod(shape))
    return (np.random.RandomState(0).permutation(n) - n / 2).reshape(shape) * 0.37


def windows(x, bounds, function):
    """function of each window of x [N, C, ...]; bounds[axis] lists (start, end)."""
    out = np.zeros((*x.shape[:2], *map(len, bounds)), x.dtype)
    for at in itertools.product(*(range(len(b)) for b in bounds)):
        index = tuple(slice(max(bounds[k][i][0], 0), bounds[k][i][1]) for k, i in enumerate(at))
        out[(slice(None), slice(None), *at)] = function(
            x[(slice(None), slice(None), *index)].reshape(*x.shape[:2], -1), -1
        )
    return out


def fixed(n, k, s, p, ceil=False):
    count = (n + 2 * p - k + (s - 1 if ceil else 0)) // s + 1
    return [(i * s - p, i * s - p + k) for i in range(count)]


@pytest.mark.parametrize(
    "k, s, p, ceil",
    [(2, 2, 0, False), (3, 2, 1, False), (3, 1, 0, False), (2, 3, 0, False), (3, 2, 0, True), (2, 2, 1, True)],
)
def test_fixed_windows(k, s, p, ceil):
    x = distinct(2, 2, 7, 6)
    if ceil:
        x = x[:, :, :6]  # so that no window lies wholly in the padding
        p = 0
    bounds = [fixed(n, k, s, p, ceil) for n in x.shape[2:]]
    largest, mean = windows(x, bounds, np.max), windows(x, bounds, np.mean)
    compare(F.max_pool2d(t(x), k, s, p, ceil_mode=ceil), largest)
    compare(F.avg_pool2d(t(x), k, s, p, ceil), mean, 1e-9)
    compare(
        F.max_pool2d(t(x.transpose(0, 2, 3, 1)), k, s, p, ceil_mode=ceil, data_format="NHWC"),
        largest.transpose(0, 2, 3, 1),
    )
    compare(
        F.avg_pool2d(t(x.transpose(0, 2, 3, 1)), k, s, p, ceil, data_format="NHWC"), mean.transpose(0, 2, 3, 1), 1e-9
    )
    y, mask = F.max_pool2d(t(x), k, s, p, True, ceil)
    compare(y, largest)
    assert mask.dtype is paddle.int32
    compare(np.take_along_axis(x.reshape(2, 2, -1), mask.numpy().reshape(2, 2, -1), 2).reshape(largest.shape), largest)
    small = x[:1, :1, :4, :4]
    check_grad(lambda v: F.max_pool2d(v, k, s, p, ceil_mode=ceil), small)
    check_grad(lambda v: F.max_pool2d(v, k, s, p, True, ceil)[0], small)
    check_grad(lambda v: F.avg_pool2d(v, k, s, p, ceil) ** 2, small, order=2, rtol=1e-4, atol=1e-4)


def test_one_and_three_dimensions():
    x = distinct(2, 3, 11)
    compare(F.max_pool1d(t(x), 3, 2, 1), windows(x, [fixed(11, 3, 2, 1)], np.max))
    compare(F.avg_pool1d(t(x), 3, 2, 1), windows(x, [fixed(11, 3, 2, 1)], np.mean), 1e-9)
    x = distinct(1, 2, 5, 4, 6)
    bounds = [fixed(n, 3, 2, 1) for n in x.shape[2:]]
    compare(F.max_pool3d(t(x), 3, 2, 1), windows(x, bounds, np.max))
    compare(F.avg_pool3d(t(x), 3, 2, 1), windows(x, bounds, np.mean), 1e-9)
    y, mask = F.max_pool3d(t(x), 3, 2, 1, return_mask=True)
    assert (x.reshape(1, 2, -1)[0, 1][mask.numpy()[0, 1]] == y.numpy()[0, 1]).all()


def test_the_first_of_equal_elements_gets_the_gradient():
    x = t(np.ones((1, 1, 3, 3)), stop_gradient=False)
    F.max_pool2d(x, 2, 1).sum().backward()
    assert x.grad.numpy().reshape(3, 3).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    y, mask = F.max_pool2d(x, 2, 1, return_mask=True)
    assert mask.flatten().tolist() == [0, 1, 3, 4]


def test_nan_wins_and_its_gradient_goes_there():
    x = GRID.copy()
    x[0, 0, 1, 1] = np.nan
    x = t(x, stop_gradient=False)
    y = F.max_pool2d(x, 2)
    y.sum().backward()
    assert np.isnan(y.numpy()).flatten().tolist() == [True, False, False, False]
    assert np.isfinite(x.grad.numpy()).all() and x.grad.sum().item() == 4


def test_padding_forms():
    compare(F.max_pool2d(t(GRID), 3, 2, "SAME"), [[[[7, 9, 10], [17, 19, 20], [22, 24, 25]]]])
    compare(F.max_pool2d(t(GRID), 2, 2, [1, 0, 0, 1]), [[[[2, 4, 5], [12, 14, 15], [22, 24, 25]]]])
    compare(F.avg_pool2d(t(GRID), 3, 2, [[0, 0], [0, 0], [1, 0], [1, 0]]), [[[[4, 5.5], [11.5, 13]]]])
    compare(
        F.avg_pool2d(t(GRID), 2, 2, [1, 0, 0, 1], exclusive=False),
        [[[[0.75, 1.75, 2.5], [9, 11, 12.5], [19, 21, 22.5]]]],
    )


def test_recorded_divisors():
    compare(F.avg_pool2d(t(GRID), 2, 2, 0, True, False), [[[[4, 6, 7.5], [14, 16, 17.5], [21.5, 23.5, 25]]]])
    compare(F.avg_pool2d(t(GRID), 3, 2, 1, exclusive=False)[0, 0, 0], [16 / 9, 33 / 9, 28 / 9], 1e-6)
    compare(F.avg_pool2d(t(GRID), 3, 2, 1, divisor_override=2)[0, 0, 0], [18, 24.75, 31.5], 1e-6)
    compare(F.avg_pool1d(t(np.arange(1.0, 8).reshape(1, 1, 7)), 3, 2, 1, False, True), [[[1, 3, 5, 13 / 3]]], 1e-6)


def test_windows_wholly_in_the_padding():
    y = F.max_pool2d(t(GRID.astype("float32")), 2, 3, 1, ceil_mode=True)
    assert y[0, 0, 2, 0].item() == np.finfo("float32").min
    assert np.isnan(F.avg_pool2d(t(GRID), 2, 3, 1, True)[0, 0, 2, 0].item())
    x, nan = paddle.ones([1, 1, 3]), float("nan")  # recorded
    compare(F.avg_pool1d(x, 3, 1, 4), [[[0, nan, 1, 1, 1, 1, 1, nan, 0]]])
    compare(F.avg_pool1d(x, 2, 2, 3, exclusive=False), [[[0, 0.5, 1, 0]]])


@pytest.mark.parametrize("counts", [(3, 5), (1, 1), (7, 8), (2, 4), (9, 10)])
def test_adaptive_windows(counts):
    x = distinct(2, 2, 7, 8)
    bounds = [[(i * n // c, -(-(i + 1) * n // c)) for i in range(c)] for n, c in zip(x.shape[2:], counts)]
    compare(F.adaptive_avg_pool2d(t(x), counts), windows(x, bounds, np.mean), 1e-9)
    compare(
        F.adaptive_avg_pool2d(t(x.transpose(0, 2, 3, 1)), counts, "NHWC"),
        windows(x, bounds, np.mean).transpose(0, 2, 3, 1),
        1e-9,
    )
    y, mask = F.adaptive_max_pool2d(t(x), counts, return_mask=True)
    compare(y, windows(x, bounds, np.max))
    compare(np.take_along_axis(x.reshape(2, 2, -1), mask.numpy().reshape(2, 2, -1), 2).reshape(y.shape), y.numpy())
    check_grad(lambda v: F.adaptive_avg_pool2d(v, 2) + F.adaptive_max_pool2d(v, 2), x[:1, :1, :5, :3])


def test_adaptive_other_ranks_and_none():
    x = distinct(1, 2, 5, 4, 6)
    assert F.adaptive_avg_pool2d(t(x[:, :, 0]), (None, 3)).shape == [1, 2, 4, 3]
    compare(F.adaptive_avg_pool3d(t(x), 1), x.mean((2, 3, 4), keepdims=True), 1e-9)
    compare(F.adaptive_max_pool3d(t(x), 1), x.max((2, 3, 4), keepdims=True))
    compare(F.adaptive_avg_pool1d(t(x[:, :, :, 0, 0]), 1), x[:, :, :, 0, 0].mean(2, keepdims=True), 1e-9)
    compare(F.adaptive_max_pool1d(t(x[:, :, :, 0, 0]), 1), x[:, :, :, 0, 0].max(2, keepdims=True))
    assert F.adaptive_avg_pool2d(t(x[:, :, 0]), 0).shape == [1, 2, 0, 0]


def test_lp_pool():
    x = np.abs(distinct(1, 2, 6)) + 0.1
    for p in (1, 2, 3.5):
        want = windows(x**p, [fixed(6, 3, 2, 1)], np.sum) ** (1 / p)
        compare(F.lp_pool1d(t(x), p, 3, 2, 1), want, 1e-9)
    check_grad(lambda v: F.lp_pool1d(v, 3, 2), x)
    compare(F.lp_pool1d(t(x), float("inf"), 2), windows(x, [fixed(6, 2, 2, 0)], np.max))
    zero = t(np.zeros((1, 1, 4)), stop_gradient=False)
    F.lp_pool1d(zero, 2, 2).sum().backward()
    assert zero.grad.abs().sum().item() == 0


def test_fractional_windows_recorded():
    y, mask = F.fractional_max_pool2d(t(GRID), 3, random_u=0.3, return_mask=True)
    assert y.flatten().tolist() == [7, 8, 10, 12, 13, 15, 22, 23, 25]
    assert mask.flatten().tolist() == [6, 7, 9, 11, 12, 14, 21, 22, 24]
    assert F.fractional_max_pool2d(t(GRID), [2, None], random_u=0.3)[0, 0, 0].tolist() == [6, 7, 8, 9, 10]
    x = distinct(1, 2, 6, 7, 8)
    y, mask = F.fractional_max_pool3d(t(x), (3, 4, 3), return_mask=True)
    assert (x.reshape(1, 2, -1)[0, 1][mask.numpy()[0, 1]] == y.numpy()[0, 1]).all()
    check_grad(lambda v: F.fractional_max_pool2d(v, 2, 2, random_u=0.4), distinct(1, 1, 3, 3))


def test_fractional_draws_do_not_compile_again():
    x = t(distinct(2, 3, 17, 17))
    F.fractional_max_pool2d(x, 5)
    with paddle.utils.count_compiles() as count:
        results = [F.fractional_max_pool2d(x, 5).numpy() for _ in range(8)]
    assert count.compiles == 0 and len({r.tobytes() for r in results}) > 1


def test_unpool_inverts():
    for n, pool, unpool in (
        (1, F.max_pool1d, F.max_unpool1d),
        (2, F.max_pool2d, F.max_unpool2d),
        (3, F.max_pool3d, F.max_unpool3d),
    ):
        x = distinct(2, 2, *(4,) * n)
        y, mask = pool(t(x), 2, return_mask=True)
        back = unpool(y, mask, 2).numpy()
        assert back.shape == x.shape and ((back == 0) | (back == x)).all() and (back != 0).sum() >= y.size - 1
        if n == 1:
            check_grad(lambda v, unpool=unpool, mask=mask: unpool(v, mask, 2), y.numpy())
    y, mask = F.max_pool2d(t(GRID), 2, return_mask=True)
    assert F.max_unpool2d(y, mask, 2, output_size=[5, 5])[0, 0, 1, 1].item() == 7
    assert F.max_unpool2d(y, mask, 2, output_size=[1, 1, 5, 5]).shape == [1, 1, 5, 5]
    for bad in (
        lambda: F.max_unpool2d(y, mask, 2),
        lambda: F.max_unpool2d(y, mask, 2, output_size=[9, 9]),
        lambda: F.max_unpool2d(y, mask[:, :, :1], 2),
        lambda: F.max_unpool2d(y, mask, 2, data_format="NHWC"),
    ):
        with pytest.raises(ValueError, match="max_unpool2d"):
            bad()


def test_no_elements():
    assert F.max_pool2d(paddle.zeros([0, 3, 4, 4]), 2).shape == [0, 3, 2, 2]
    assert F.avg_pool2d(paddle.zeros([2, 0, 4, 4]), 2).shape == [2, 0, 2, 2]
    assert F.avg_pool2d(paddle.zeros([2, 1, 0, 4]), 2).shape == [2, 1, 0, 2]
    assert F.adaptive_avg_pool2d(paddle.zeros([0, 1, 4, 4]), 2).shape == [0, 1, 2, 2]


@pytest.mark.parametrize(
    "options",
    [
        dict(kernel_size=0),
        dict(kernel_size=-2),
        dict(kernel_size=2, stride=0),
        dict(kernel_size=2, stride=-1),
        dict(kernel_size=[2, 3, 3]),
        dict(kernel_size=2, padding="VALID", ceil_mode=True),
        dict(kernel_size=2, padding="X"),
        dict(kernel_size=2, padding=-1),
        dict(kernel_size=2, data_format="X"),
        dict(kernel_size=20, stride=1),
    ],
)
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_bad_arguments(name, options):
    with pytest.raises(ValueError, match=name):
        getattr(F, name)(t(GRID), **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.max_pool2d(t(GRID[0]), 2),
        lambda: F.max_pool1d(t(GRID), 2),
        lambda: F.max_pool2d(t(GRID), 2, return_mask=True, data_format="NHWC"),
        lambda: F.adaptive_avg_pool2d(t(GRID), -1),
        lambda: F.adaptive_max_pool2d(t(GRID), [2, 3, 4]),
        lambda: F.adaptive_avg_pool2d(t(GRID), None),
        lambda: F.adaptive_avg_pool2d(t(GRID), 2, data_format="Z"),
        lambda: F.lp_pool2d(t(GRID), 0, 2),
        lambda: F.avg_pool2d(t(GRID), 2, divisor_override=0),
        lambda: F.fractional_max_pool2d(t(GRID), 3, 4, random_u=0.3),
        lambda: F.fractional_max_pool2d(t(GRID), 2, random_u=0.0),
    ],
)
def test_more_bad_arguments(call):
    with pytest.raises(ValueError):
        call()
