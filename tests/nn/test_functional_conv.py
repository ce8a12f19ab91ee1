"""Convolutions against a plain NumPy one, in every padding form and layout."""

import itertools

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

from _check import check_grad, compare

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSE = {1: F.conv1d_transpose, 2: F.conv2d_transpose, 3: F.conv3d_transpose}
LAST = {1: "NLC", 2: "NHWC", 3: "NDHWC"}


def reference(x, w, stride, pads, dilation, groups=1):
    """The convolution of x [N, C, ...] with w [O, C / groups, ...] as sums over windows."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    kernel = w.shape[2:]
    outs = [(x.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    y = np.zeros((x.shape[0], w.shape[0], *outs))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        part = x[:, o // per_out * per_in :][:, :per_in]
        for at in itertools.product(*map(range, outs)):
            index = tuple(slice(a * s, a * s + d * (k - 1) + 1, d) for a, s, d, k in zip(at, stride, dilation, kernel))
            y[(slice(None), o, *at)] = (part[(slice(None), slice(None), *index)] * w[o]).sum(tuple(range(1, n + 2)))
    return y


def arrays(*shapes):
    r = np.random.RandomState(0)
    return [r.randn(*s) for s in shapes]


def check(n, x, w, b=None, *, stride=1, padding=0, pads=None, dilation=1, groups=1):
    """Both layouts against the reference."""
    full = [(v,) * n if isinstance(v, int) else v for v in (stride, dilation)]
    want = reference(x, w, full[0], pads or [(padding, padding)] * n, full[1], groups)
    if b is not None:
        want = want + b.reshape(-1, *(1,) * n)
    t = paddle.to_tensor
    arguments = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    bias = None if b is None else t(b)
    compare(CONV[n](t(x), t(w), bias, **arguments), want, 1e-9, 1e-9)
    if not isinstance(padding, list) or len(padding) != n + 2 or not isinstance(padding[0], list):
        last = CONV[n](t(np.moveaxis(x, 1, -1)), t(w), bias, data_format=LAST[n], **arguments)
        compare(last, np.moveaxis(want, 1, -1), 1e-9, 1e-9)


@pytest.mark.parametrize(
    "kernel, options",
    [
        ((3, 3), {}),
        ((3, 2), dict(stride=(2, 3), padding=1)),
        ((2, 3), dict(dilation=(2, 1), padding=2)),
        ((1, 1), {}),
        ((1, 1), dict(stride=2)),
        ((1, 1), dict(padding=1)),
        ((7, 6), {}),
        ((3, 3), dict(padding=[1, 2, 0, 1], pads=[(1, 2), (0, 1)])),
        ((3, 3), dict(padding=[2, 1], pads=[(2, 2), (1, 1)])),
        ((3, 3), dict(padding=[[0, 0], [0, 0], [1, 2], [2, 0]], pads=[(1, 2), (2, 0)])),
        ((3, 3), dict(padding="VALID", pads=[(0, 0)] * 2)),
        ((3, 4), dict(padding="SAME", pads=[(1, 1), (1, 2)])),
        ((3, 4), dict(padding="same", stride=2, pads=[(1, 1), (1, 1)])),
    ],
)
def test_conv2d(kernel, options):
    x, w, b = arrays((2, 4, 7, 6), (3, 4, *kernel), (3,))
    check(2, x, w, b, **options)


@pytest.mark.parametrize("groups, out", [(2, 2), (2, 6), (4, 4), (4, 8)])
def test_groups_and_depthwise(groups, out):
    x, w, b = arrays((2, 4, 6, 5), (out, 4 // groups, 3, 2), (out,))
    check(2, x, w, b, groups=groups, stride=(2, 1), padding=1, dilation=(1, 2))
    check_grad(lambda x, w: F.conv2d(x, w, groups=groups, padding=1), x[:1, :, :3, :3], w, order=1)


def test_one_and_three_dimensions():
    x, w, b = arrays((2, 3, 9), (4, 3, 3), (4,))
    check(1, x, w, b, stride=2, padding=[2, 0], pads=[(2, 0)])
    check(1, x, w, None, padding=[2], pads=[(2, 2)])
    x, w, b = arrays((1, 4, 4, 5, 4), (2, 2, 2, 3, 2), (2,))
    check(3, x, w, b, groups=2, padding=[1, 0, 0, 1, 2, 1], pads=[(1, 0), (0, 1), (2, 1)])


def test_same_ignores_dilation():
    x, w = arrays((1, 1, 6), (1, 1, 3))
    compare(
        F.conv1d(paddle.to_tensor(x), paddle.to_tensor(w), padding="SAME", dilation=2),
        reference(x, w, (1,), [(1, 1)], (1,)),
    )


def test_gradients_to_second_order():
    x, w, b = arrays((1, 2, 4, 3), (2, 2, 2, 2), (2,))
    check_grad(lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=1), x, w, b, order=2, rtol=1e-4, atol=1e-4)
    check_grad(lambda x, w: F.conv2d(x, w), x, arrays((2, 2, 1, 1))[0], order=2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(stride=2),
        dict(stride=2, padding=1),
        dict(stride=(1, 3), padding=[1, 0, 0, 1]),
        dict(dilation=2),
        dict(stride=2, output_padding=1),
        dict(stride=2, padding="VALID"),
        dict(groups=2, stride=2),
        dict(groups=4, dilation=2),
    ],
)
def test_transpose_is_the_adjoint_of_the_convolution(options):
    groups = options.get("groups", 1)
    x, w = arrays((2, 4, 4, 3), (4, 6 // groups if groups < 4 else 1, 3, 2))
    t = paddle.to_tensor
    y = F.conv2d_transpose(t(x), t(w), **options)
    z = np.random.RandomState(1).randn(*y.shape)
    forward = {k: v for k, v in options.items() if k != "output_padding"}
    back = F.conv2d(t(z), t(w), **forward)
    assert back.shape == list(x.shape)
    np.testing.assert_allclose((y.numpy() * z).sum(), (back.numpy() * x).sum(), rtol=1e-9)
    check_grad(lambda x, w: F.conv2d_transpose(x, w, **options), x[:1, :, :2, :2], w[:, :, :2])


@pytest.mark.parametrize(
    "options, shape",
    [  # recorded from the official package, x [1, 1, 5, 5], kernel 3
        (dict(stride=2, output_padding=1), [12, 12]),
        (dict(stride=2, output_size=[11, 12]), [11, 12]),
        (dict(stride=2, output_size=12), [12, 12]),
        (dict(stride=2, padding="SAME"), [9, 9]),
        (dict(stride=2, padding="SAME", dilation=2), [9, 9]),
        (dict(dilation=2), [9, 9]),
        (dict(stride=2, padding=[1, 0, 0, 1]), [10, 10]),
        (dict(stride=2, output_padding=[0, 1]), [11, 12]),
    ],
)
def test_transpose_shapes(options, shape):
    assert F.conv2d_transpose(paddle.ones([1, 1, 5, 5]), paddle.ones([1, 2, 3, 3]), **options).shape == [1, 2, *shape]


def test_transpose_layouts_and_dimensions():
    t = paddle.to_tensor
    for n in (1, 2, 3):
        x, w = arrays((2, 2, *(3, 4, 2)[:n]), (2, 3, *(2,) * n))
        y = TRANSPOSE[n](t(x), t(w), t(np.arange(3.0)), stride=2)
        last = TRANSPOSE[n](t(np.moveaxis(x, 1, -1)), t(w), t(np.arange(3.0)), stride=2, data_format=LAST[n])
        compare(last, np.moveaxis(y.numpy(), 1, -1), 1e-9)


def test_no_samples_and_half_precision():
    assert F.conv2d(paddle.zeros([0, 3, 5, 5]), paddle.ones([4, 3, 3, 3])).shape == [0, 4, 3, 3]
    y = F.conv2d(paddle.ones([1, 2, 3, 3]).astype("bfloat16"), paddle.ones([2, 1, 2, 2]).astype("bfloat16"), groups=2)
    assert y.dtype is paddle.bfloat16 and y.astype("float32").numpy().tolist() == np.full((1, 2, 2, 2), 4.0).tolist()


ONE = (1, 1, 5, 5)


@pytest.mark.parametrize(
    "x, w, options",
    [
        (ONE, (1, 1, 3, 3), dict(padding="foo")),
        (ONE, (1, 1, 3, 3), dict(padding=-1)),
        (ONE, (1, 1, 3, 3), dict(padding=[1, 2, 3])),
        (ONE, (1, 1, 3, 3), dict(padding=1.5)),
        (ONE, (1, 1, 3, 3), dict(padding=[[1, 0], [0, 0], [0, 0], [0, 0]])),
        (ONE, (1, 1, 3, 3), dict(stride=0)),
        (ONE, (1, 1, 3, 3), dict(stride=[1, 2, 3])),
        (ONE, (1, 1, 3, 3), dict(dilation=0)),
        (ONE, (1, 1, 3, 3), dict(dilation=3)),
        (ONE, (1, 1, 3, 3), dict(groups=0)),
        (ONE, (1, 1, 3, 3), dict(groups=2)),
        (ONE, (1, 1, 3, 3), dict(data_format="X")),
        (ONE, (1, 1, 6, 6), {}),
        ((1, 2, 5, 5), (1, 1, 3, 3), {}),
        ((1, 5, 5), (1, 1, 3, 3), {}),
        (ONE, (1, 3, 3), {}),
        (ONE, (0, 1, 3, 3), {}),
        (ONE, (1, 1, 3, 3), dict(bias=paddle.ones([2]))),
        ((1, 1, 0, 5), (1, 1, 3, 3), {}),
    ],
)
def test_bad_arguments(x, w, options):
    with pytest.raises(ValueError, match="conv2d"):
        F.conv2d(paddle.ones(list(x)), paddle.ones(list(w)), **options)


@pytest.mark.parametrize(
    "options",
    [
        dict(output_padding=1),
        dict(stride=2, output_padding=2),
        dict(stride=2, output_size=[13, 12]),
        dict(stride=2, output_size=[10, 11]),
        dict(stride=2, output_size=[11, 12], output_padding=1),
        dict(stride=2, output_padding=-1),
        dict(padding=5),
        dict(data_format="NHWC"),
    ],
)
def test_bad_arguments_of_the_transpose(options):
    with pytest.raises(ValueError, match="conv2d_transpose"):
        F.conv2d_transpose(paddle.ones([1, 1, 5, 5]), paddle.ones([1, 2, 3, 3]), **options)


def test_types_must_agree():
    with pytest.raises(TypeError, match="conv2d"):
        F.conv2d(paddle.ones([1, 1, 5, 5]), paddle.ones([1, 1, 3, 3]).astype("float64"))


def test_gradient_of_a_strided_volume_compiles():
    """A shape whose gradient, with the padding inside the convolution, ends XLA's compiler for CPUs."""
    x = paddle.to_tensor(np.cos(np.arange(960.0)).reshape(2, 4, 5, 6, 4), stop_gradient=False)
    w = paddle.to_tensor(np.sin(np.arange(432.0)).reshape(6, 4, 3, 2, 3), stop_gradient=False)
    for groups, weight in ((1, w), (2, w[:, :2])):
        out = F.conv3d(x, weight, stride=2, padding=1, groups=groups)
        (g,) = paddle.grad((out * out).sum(), x)
        step = np.zeros((2, 4, 5, 6, 4))
        step[1, 2, 3, 4, 1] = 1e-5
        sides = [
            (F.conv3d(x + paddle.to_tensor(s * step), weight, stride=2, padding=1, groups=groups) ** 2).sum()
            for s in (1, -1)
        ]
        assert abs(float(g[1, 2, 3, 4, 1]) - float(sides[0] - sides[1]) / 2e-5) < 1e-4
