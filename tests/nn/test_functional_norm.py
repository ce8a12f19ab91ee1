"""Normalisation: values against NumPy, running statistics, gradients to second order, errors."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

from _check import check_grad, compare

t = paddle.to_tensor
R = np.random.RandomState(0)
X = R.randn(4, 6, 3, 2)
W, B = R.uniform(0.5, 1.5, 6), R.randn(6)


def standard(x, axes, epsilon=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def channels(v, ndim=4):
    return v.reshape(1, -1, *(1,) * (ndim - 2))


def test_batch_norm_updates_the_running_statistics_in_place():
    mean, var = t(np.zeros(6)), t(np.ones(6))
    y = F.batch_norm(t(X), mean, var, t(W), t(B), training=True, momentum=0.7)
    compare(y, standard(X, (0, 2, 3)) * channels(W) + channels(B), 1e-9)
    compare(mean, 0.3 * X.mean((0, 2, 3)), 1e-9)
    compare(var, 0.7 + 0.3 * X.var((0, 2, 3)), 1e-9)  # the biased variance
    assert mean.stop_gradient and var.stop_gradient


def test_batch_norm_in_evaluation():
    m, v = R.randn(6), R.uniform(0.5, 1.5, 6)
    want = (X - channels(m)) / np.sqrt(channels(v) + 1e-5) * channels(W)
    for options in (dict(), dict(training=True, use_global_stats=True)):
        mean, var = t(m), t(v)
        compare(F.batch_norm(t(X), mean, var, t(W), **options), want, 1e-9)
        compare(mean, m)
    mean, var = t(m), t(v)
    compare(F.batch_norm(t(X), mean, var, use_global_stats=False), standard(X, (0, 2, 3)), 1e-9)
    assert abs(mean.numpy() - m).max() > 0


def test_batch_norm_after_which_the_statistics_change_can_go_back():
    mean, var = t(np.zeros(6)), t(np.ones(6))
    x = t(X, stop_gradient=False)
    y = F.batch_norm(x, mean, var)
    F.batch_norm(x, mean, var, training=True)
    y.sum().backward()
    compare(x.grad, np.full(X.shape, 1 / np.sqrt(1 + 1e-5)), 1e-6)


@pytest.mark.parametrize(
    "shape, data_format",
    [
        ((5, 4), "NC"),
        ((5, 4, 3), "NCL"),
        ((2, 4, 3, 2, 2), "NCDHW"),
        ((5, 3, 4), "NLC"),
        ((2, 3, 2, 4), "NHWC"),
        ((2, 3, 2, 2, 4), "NDHWC"),
    ],
)
def test_batch_norm_layouts(shape, data_format):
    x = R.randn(*shape)
    axis = 1 if data_format[1] == "C" else x.ndim - 1
    y = F.batch_norm(t(x), paddle.zeros([4]), paddle.ones([4]), training=True, data_format=data_format)
    compare(y, standard(x, tuple(i for i in range(x.ndim) if i != axis)), 1e-9)


def test_batch_norm_gradients():
    x = R.randn(3, 2, 2)
    check_grad(
        lambda x, w, b: F.batch_norm(x, paddle.zeros([2]), paddle.ones([2]), w, b, training=True),
        x,
        W[:2],
        B[:2],
        order=2,
        rtol=1e-3,
        atol=1e-4,
    )
    check_grad(lambda x, w, b: F.batch_norm(x, paddle.zeros([2]), paddle.ones([2]), w, b), x, W[:2], B[:2])


def test_batch_norm_of_one_value_a_channel_passes():
    mean, var = paddle.zeros([6]), paddle.ones([6])
    compare(F.batch_norm(t(X[:1, :, :1, :1]), mean, var, training=True), X[:1, :, :1, :1])
    assert mean.tolist() == [0] * 6
    assert F.batch_norm(paddle.zeros([0, 6]), mean, var, training=True).shape == [0, 6]


def test_a_momentum_schedule_does_not_compile_again():
    mean, var, x = paddle.zeros([6]), paddle.ones([6]), t(X)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    with paddle.utils.count_compiles() as count:
        for momentum in (0.6, 0.7):
            F.batch_norm(x, mean, var, training=True, momentum=momentum)
    assert count.compiles == 0


def test_layer_norm():
    w, b = R.uniform(0.5, 1.5, 6), R.randn(6)
    want = standard(X, (2, 3)) * w.reshape(3, 2) + b.reshape(3, 2)
    compare(F.layer_norm(t(X), [3, 2], t(w), t(b)), want, 1e-9)
    compare(F.layer_norm(t(X), [3, 2], t(w.reshape(3, 2)), t(b)), want, 1e-9)
    compare(F.layer_norm(t(X), 2), standard(X, (3,)), 1e-9)
    check_grad(
        lambda x, w, b: F.layer_norm(x, [2, 2], w, b), R.randn(2, 2, 2), w[:4], b[:4], order=2, rtol=1e-3, atol=1e-4
    )
    half = F.layer_norm(t(X * 100).astype("bfloat16"), 2, paddle.ones([2]))
    assert half.dtype is paddle.bfloat16
    assert F.layer_norm(paddle.zeros([0, 4]), 4).shape == [0, 4]


def test_rms_norm():
    w = R.randn(3, 2)
    compare(F.rms_norm(t(X), [3, 2], t(w)), X / np.sqrt((X**2).mean((2, 3), keepdims=True) + 1e-5) * w, 1e-9)
    check_grad(lambda x, w: F.rms_norm(x, 2, w), R.randn(2, 2), W[:2], order=2, rtol=1e-4, atol=1e-4)


def test_group_and_instance_norm():
    want = standard(X.reshape(4, 2, 3, 3, 2), (2, 3, 4)).reshape(X.shape) * channels(W) + channels(B)
    compare(F.group_norm(t(X), 2, weight=t(W), bias=t(B)), want, 1e-9)
    last = F.group_norm(t(X.transpose(0, 2, 3, 1)), 2, weight=t(W), bias=t(B), data_format="NHWC")
    compare(last, want.transpose(0, 2, 3, 1), 1e-9)
    compare(F.instance_norm(t(X), weight=t(W), bias=t(B)), standard(X, (2, 3)) * channels(W) + channels(B), 1e-9)
    compare(
        F.instance_norm(t(X.transpose(0, 2, 3, 1)), data_format="NHWC"), standard(X, (2, 3)).transpose(0, 2, 3, 1), 1e-9
    )
    mean = paddle.zeros([6])
    compare(F.instance_norm(t(X), mean, paddle.ones([6]), use_input_stats=False), standard(X, (2, 3)), 1e-9)
    assert mean.tolist() == [0] * 6
    check_grad(lambda x, w: F.group_norm(x, 2, weight=w), X[:1, :4, :2], W[:4], order=2, rtol=1e-3, atol=1e-4)
    check_grad(lambda x: F.instance_norm(x), X[:2, :2], order=1)


def test_local_response_norm():
    x = R.randn(2, 5, 3)
    for size in (1, 3, 4):
        squares = np.pad(x**2, [(0, 0), (size // 2, (size - 1) // 2), (0, 0)])
        mean = sum(squares[:, i : i + 5] for i in range(size)) / size
        compare(F.local_response_norm(t(x), size, 0.1, 0.5, 2.0), x / (2 + 0.1 * mean) ** 0.5, 1e-9)
    compare(
        F.local_response_norm(t(x.swapaxes(1, 2)), 3, 0.1, data_format="NLC"),
        F.local_response_norm(t(x), 3, 0.1).numpy().swapaxes(1, 2),
        1e-9,
    )
    check_grad(lambda x: F.local_response_norm(x, 3, 0.5), x[:1], order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, float("inf")])
def test_normalize(p):
    x = R.randn(3, 4)
    compare(F.normalize(t(x), p), x / np.linalg.norm(x, p, 1, keepdims=True), 1e-9)
    check_grad(lambda v: F.normalize(v, p, 0), x)


def test_normalize_zeros():
    x = t(np.zeros((2, 3)), stop_gradient=False)
    y = F.normalize(x)
    y.sum().backward()
    assert y.abs().sum().item() == 0
    compare(x.grad, np.full((2, 3), 1e12))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.layer_norm(x, [2], epsilon=0.5),
        lambda x: F.layer_norm(x, [5]),
        lambda x: F.layer_norm(x, [2], t(W)),
        lambda x: F.layer_norm(x, []),
        lambda x: F.layer_norm(x, "a"),
        lambda x: F.rms_norm(x, 5),
        lambda x: F.rms_norm(x, 2, t(W)),
        lambda x: F.group_norm(x, 4),
        lambda x: F.group_norm(x, 0),
        lambda x: F.group_norm(x, 2, data_format="X"),
        lambda x: F.group_norm(x, 2, weight=paddle.ones([3])),
        lambda x: F.batch_norm(x, paddle.zeros([5]), paddle.ones([6])),
        lambda x: F.batch_norm(x, paddle.zeros([6]), paddle.ones([6]), paddle.ones([3])),
        lambda x: F.batch_norm(x[0, 0, 0], paddle.zeros([2]), paddle.ones([2])),
        lambda x: F.batch_norm(x, paddle.zeros([6]), paddle.ones([6]), data_format="X"),
        lambda x: F.instance_norm(x, weight=paddle.ones([5])),
        lambda x: F.instance_norm(x, data_format="Q"),
        lambda x: F.local_response_norm(x, 0),
        lambda x: F.local_response_norm(x[0, 0], 3),
        lambda x: F.normalize(x, axis=5),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError):
        call(t(X))
