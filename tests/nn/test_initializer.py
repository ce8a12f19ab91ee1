"""Initializers: the fixed ones by value, the random ones by their moments and bounds."""

import math

import numpy as np
import pytest
from scipy import stats

import paddle
from paddle import nn
from paddle.nn import initializer as I


def make(init, shape, dtype="float32"):
    return nn.Layer().create_parameter(shape, dtype=dtype, default_initializer=init).numpy()


def test_constant_and_assign():
    assert make(I.Constant(1.25), [2, 1]).tolist() == [[1.25], [1.25]] and make(
        I.Constant(3), [2], "int32"
    ).tolist() == [
        3,
        3,
    ]
    a = np.arange(6.0).reshape(2, 3)
    for value in (a, paddle.to_tensor(a), a.tolist(), tuple(a.tolist())):
        np.testing.assert_array_equal(make(I.Assign(value), [2, 3]), a)
    assert make(I.Assign([paddle.to_tensor(1.0), 2.0]), [2]).tolist() == [1.0, 2.0]


def test_dirac_is_the_identity_convolution():
    for groups, shape in ((1, [3, 3, 3]), (2, [4, 2, 3, 3])):
        w = paddle.to_tensor(make(I.Dirac(groups), shape))
        x = paddle.randn([2, shape[1] * groups] + [5] * (len(shape) - 2))
        conv = nn.functional.conv1d if len(shape) == 3 else nn.functional.conv2d
        np.testing.assert_allclose(conv(x, w, padding=1, groups=groups).numpy(), x.numpy(), atol=1e-6)


def test_bilinear_values():
    assert make(I.Bilinear(), [1, 1, 3, 3]).tolist() == [
        [[[0.0625, 0.3125, 0.4375], [0.1875, 0.6875, 0.6875], [0.1875, 0.4375, 0.3125]]]
    ]


@pytest.mark.parametrize(
    "init, low, high",
    [
        (I.Uniform(), -1, 1),
        (I.Uniform(-0.5, 1.5), -0.5, 1.5),
        (I.XavierUniform(), -math.sqrt(6 / 250), math.sqrt(6 / 250)),
        (I.XavierUniform(fan_in=10, fan_out=20, gain=2.0), -2 * math.sqrt(6 / 30), 2 * math.sqrt(6 / 30)),
        (I.KaimingUniform(), -math.sqrt(6 / 50), math.sqrt(6 / 50)),
        (I.KaimingUniform(mode="fan_out"), -math.sqrt(6 / 200), math.sqrt(6 / 200)),
        (
            I.KaimingUniform(nonlinearity="leaky_relu", negative_slope=0.5),
            -math.sqrt(2 / 1.25 * 3 / 50),
            math.sqrt(2 / 1.25 * 3 / 50),
        ),
    ],
)
def test_uniform_distributions(init, low, high):
    a = make(init, [50, 200])
    assert a.min() >= low - 1e-6 and a.max() <= high + 1e-6
    assert stats.kstest((a.ravel() - low) / (high - low), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "init, mean, std",
    [
        (I.Normal(0.5, 2.0), 0.5, 2.0),
        (I.XavierNormal(gain=2.0), 0, 2 * math.sqrt(2 / 250)),
        (I.KaimingNormal(), 0, math.sqrt(2 / 50)),
        (I.KaimingNormal(fan_in=5), 0, math.sqrt(2 / 5)),
        (I.KaimingNormal(nonlinearity="tanh"), 0, 5 / 3 / math.sqrt(50)),
    ],
)
def test_normal_distributions(init, mean, std):
    assert stats.kstest((make(init, [50, 200]).ravel() - mean) / std, "norm").pvalue > 1e-3


@pytest.mark.parametrize("mean, std, a, b", [(0.0, 1.0, -2.0, 2.0), (1.0, 0.5, -2.0, 2.0), (0.0, 1.0, -1.0, 0.5)])
def test_truncated_normal_has_absolute_bounds(mean, std, a, b):
    value = make(I.TruncatedNormal(mean, std, a, b), [200, 50])
    assert value.min() >= a and value.max() <= b
    assert stats.kstest(value.ravel(), stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std).cdf).pvalue > 1e-3


def test_fans_of_filters_vectors_and_scalars():
    assert abs(make(I.XavierUniform(), [64, 16, 3, 3])).max() == pytest.approx(
        math.sqrt(6 / (16 * 9 + 64 * 9)), rel=1e-3
    )
    assert make(I.KaimingNormal(), [64, 32, 3, 3]).std() == pytest.approx(math.sqrt(2 / (32 * 9)), rel=0.02)
    assert abs(make(I.XavierUniform(), [2000])).max() == pytest.approx(math.sqrt(6 / 4000), rel=1e-2)
    assert make(I.XavierUniform(), []).shape == () and make(I.XavierUniform(), [0, 0]).shape == (0, 0)


def test_complex_normal_splits_its_variance():
    z = make(I.Normal(1 + 1j, 2.0), [20000], "complex64")
    assert (
        z.dtype == np.complex64
        and z.real.std() == pytest.approx(math.sqrt(2), rel=0.03)
        and z.mean() == pytest.approx(1 + 1j, abs=0.05)
    )


@pytest.mark.parametrize("shape", [[2, 3], [4, 2], [3, 3], [2, 3, 2, 2]])
def test_orthogonal(shape):
    a = make(I.Orthogonal(2.0), shape, "float64").reshape(shape[0], -1)
    small = a @ a.T if a.shape[0] <= a.shape[1] else a.T @ a
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_seed_repeats_and_draws_differ():
    paddle.seed(7)
    a, b = make(I.Normal(), [5]), make(I.Normal(), [5])
    paddle.seed(7)
    assert (make(I.Normal(), [5]) == a).all() and (a != b).any()


def test_initializing_compiles_nothing():
    make(I.Normal(), [2])
    with paddle.utils.count_compiles() as count:
        for i, init in enumerate((I.Normal(), I.XavierUniform(), I.TruncatedNormal(), I.Constant(2.0), I.Orthogonal())):
            make(init, [11 + i, 7])
        nn.Embedding(9, 4, padding_idx=2)
    assert count.compiles == 0


def test_defaults_of_layers():
    lin, conv, trans = nn.Linear(64, 128), nn.Conv2D(64, 64, 3, groups=8), nn.Conv2DTranspose(64, 32, 3)
    assert abs(lin.weight.numpy()).max() == pytest.approx(math.sqrt(6 / 192), rel=0.01) and not lin.bias.numpy().any()
    assert conv.weight.numpy().std() == pytest.approx(
        math.sqrt(2 / (64 * 9)), rel=0.05
    )  # counts all input channels, also in groups
    assert stats.kstest(conv.weight.numpy().ravel() / math.sqrt(2 / (64 * 9)), "norm").pvalue > 1e-3
    assert abs(trans.weight.numpy()).max() == pytest.approx(math.sqrt(6 / (32 * 9 + 64 * 9)), rel=0.01)
    assert abs(nn.Embedding(200, 50).weight.numpy()).max() == pytest.approx(math.sqrt(6 / 250), rel=0.01)


def test_global_initializer_is_above_the_layers_and_below_the_attr():
    I.set_global_initializer(I.Constant(0.5), I.Constant(-0.5))
    try:
        lin, bn = nn.Linear(1, 1), nn.BatchNorm1D(1)
        own = nn.Linear(1, 1, weight_attr=I.Constant(9.0))
    finally:
        I.set_global_initializer(None)
    assert [lin.weight.item(), lin.bias.item(), bn.weight.item(), bn._mean.item(), own.weight.item()] == [
        0.5,
        -0.5,
        0.5,
        0.0,
        9.0,
    ]
    assert nn.BatchNorm1D(1).weight.item() == 1.0


def test_gains():
    gains = {
        "linear": 1,
        "conv2d": 1,
        "conv1d_transpose": 1,
        "sigmoid": 1,
        "tanh": 5 / 3,
        "relu": 2**0.5,
        "selu": 0.75,
        "leaky_relu": 1.4141428569978354,
    }
    for name, gain in gains.items():
        assert I.calculate_gain(name) == pytest.approx(gain)
    assert I.calculate_gain("leaky_relu", 0.2) == pytest.approx(1.3867504905630728)


def test_initializers_of_the_user():
    class Half(I.Initializer):
        def forward(self, param, block=None):
            param.set_value(np.full(param.shape, 0.5))

    class Third(I.Initializer):
        def __call__(self, param, block=None):
            param.fill_(3.0) if hasattr(param, "fill_") else param.set_value(np.full(param.shape, 3.0))

    assert nn.Linear(1, 2, weight_attr=Half()).weight.tolist() == [[0.5, 0.5]]
    layer = nn.Linear(1, 2, weight_attr=Third())
    assert layer.weight.tolist() == [[3.0, 3.0]] and not layer.weight.stop_gradient
    t = paddle.zeros([2])
    assert I.Constant(2.0)(t) is None and t.tolist() == [2.0, 2.0]


def test_init_functions_fill_in_place():
    f, t = nn.init, paddle.zeros([40, 60])
    f.constant_(t, 0.5)
    assert t.numpy().min() == t.numpy().max() == 0.5
    f.eye_(t)
    assert (t.numpy() == np.eye(40, 60)).all()
    f.kaiming_uniform_(t)
    assert abs(t.numpy()).max() == pytest.approx(math.sqrt(6 / 40), rel=0.01)  # a = 0: the gain of a plain rectifier
    f.trunc_normal_(t, 0.0, 1.0, -0.5, 0.5)
    assert abs(t.numpy()).max() <= 0.5
    f.ones_(t[0])
    assert (t.numpy()[0] == 1).all() and not (t.numpy()[1] == 1).any()


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: make(I.Dirac(), [2, 2]), ValueError),
        (lambda: make(I.Dirac(3), [4, 2, 3]), ValueError),
        (lambda: I.Dirac(0), ValueError),
        (lambda: make(I.Bilinear(), [1, 1, 3, 4]), ValueError),
        (lambda: make(I.Orthogonal(), [3]), ValueError),
        (lambda: I.calculate_gain("nope"), ValueError),
        (lambda: I.calculate_gain("leaky_relu", "a"), TypeError),
        (lambda: I.Uniform(1.0, -1.0), ValueError),
        (lambda: I.TruncatedNormal(0, 1, 2, -2), ValueError),
        (lambda: I.Constant(None), ValueError),
        (lambda: I.KaimingNormal(mode="x"), ValueError),
        (lambda: I.KaimingNormal(nonlinearity="x"), ValueError),
        (lambda: I.KaimingNormal(fan_in=3, mode="fan_out"), ValueError),
        (lambda: I.Assign(3.0), TypeError),
        (lambda: make(I.Assign([1.0, 2.0, 3.0]), [2]), ValueError),
        (lambda: I.set_global_initializer(3), TypeError),
        (lambda: nn.init.eye_(paddle.zeros([2])), ValueError),
        (lambda: nn.init.ones_(3), TypeError),
    ],
)
def test_bad_arguments(call, error):
    with pytest.raises(error):
        call()
