"""paddle.nn.quant: rounding layers with the values of the official package, products with stored weights."""

import numpy as np
import pytest

import paddle
import paddle.nn.quant as Q
from paddle.nn.quant import quant_layers as L

from _check import compare

X = np.random.RandomState(0).randn(2, 4).astype("float32")


@pytest.mark.parametrize(
    "make, want, scale",
    [
        (lambda: L.FakeQuantAbsMax(), [1.7644827, 0.4058310, 0.9704655, 2.2408931, 1.8703517, -0.9704655, 0.9528207, -0.1588034], None),
        (lambda: L.FakeQuantAbsMax(quant_on_weight=True, quant_bits=4), [1.9207655, 0.3201276, 0.9603828, 2.2408931, 1.9207655, -0.9603828, 0.9603828, 0.0], [2.2408931]),
        (lambda: L.FakeQuantChannelWiseAbsMax(None, 4, quant_axis=1, quant_on_weight=True), [1.7646217, 0.4001453, 0.9787380, 2.2408931, 1.8675580, -0.9772779, 0.9479116, -0.1588034], [1.867558, 0.9772779, 0.978738, 2.2408931]),
        (lambda: L.FakeQuantMovingAverageAbsMax(), [1.6531016, 0.4035130, 0.9762411, 1.6531016, 1.6531016, -0.9762411, 0.9502080, -0.1561986], [1.6531016]),
        (lambda: Q.QuantStub(), X.ravel(), [2.2408931]),
    ],
)  # fmt: skip
def test_rounding_of_the_official_package(make, want, scale):
    layer = make()
    x = paddle.to_tensor(X, stop_gradient=False)
    out = layer(x)
    compare(out, np.reshape(want, (2, 4)), atol=1e-5)
    if scale is not None:
        compare(layer._scale, scale, atol=1e-5)
        assert all(p.stop_gradient for p in layer.parameters()) and "_scale" in layer.state_dict()
    (out * paddle.to_tensor(X)).sum().backward()
    compare(x.grad, X)  # as if nothing had been rounded


def test_a_running_mean_rests_in_evaluation():
    layer = L.FakeQuantMovingAverageAbsMax()
    for factor in (1, 2, 3):
        layer(paddle.to_tensor(X * factor))
    state, accum = 1.0, 1.0
    for factor in (1, 2, 3):
        state, accum = 0.9 * state + 1, 0.9 * accum + np.abs(X).max() * factor
    compare(layer._scale, [accum / state], rtol=1e-5)
    layer.eval()
    layer(paddle.to_tensor(X * 100))
    compare(layer._scale, [accum / state], rtol=1e-5)


def test_layers_that_round():
    paddle.seed(1)
    linear, conv, turned = (
        paddle.nn.Linear(4, 3),
        paddle.nn.Conv2D(2, 3, 3, padding=1),
        paddle.nn.Conv2DTranspose(2, 3, 3),
    )
    image = paddle.randn([1, 2, 4, 4])
    for layer, make, x in (
        (linear, L.QuantizedLinear, paddle.to_tensor(X)),
        (conv, L.QuantizedConv2D, image),
        (turned, L.QuantizedConv2DTranspose, image),
    ):
        for weights in ("abs_max", "channel_wise_abs_max"):
            rounded = make(layer, weight_quantize_type=weights, activation_quantize_type="abs_max")
            out = rounded(x)
            assert 0 < np.abs(out.numpy() - layer(x).numpy()).max() < 0.05
            assert [k for k in rounded.state_dict() if "." not in k] == ["weight", "bias"]
            out.sum().backward()
            assert rounded.weight is layer.weight and rounded.weight.grad is not None
    compare(
        L.QuantizedMatmul()(paddle.to_tensor(X), paddle.to_tensor(X), transpose_y=True), X @ X.T, rtol=0.1, atol=0.05
    )
    with pytest.raises(KeyError):
        L.QuantizedLinear(linear, weight_quantize_type="zz")
    with pytest.raises(AssertionError):
        L.FakeQuantChannelWiseAbsMax(channel_num=2)
    scaled = L.MAOutputScaleLayer(linear)
    compare(scaled(paddle.to_tensor(X)), linear(paddle.to_tensor(X)).numpy())
    compare(scaled._ma_output_scale._scale, [np.abs(linear(paddle.to_tensor(X)).numpy()).max()])
    assert L.FakeQuantMAOutputScaleLayer(linear)(paddle.to_tensor(X)).shape == [2, 3]


def test_functions_as_layers():
    a, b = paddle.to_tensor(X), paddle.to_tensor(X + 1)
    compare(Q.add()(a, b), X + X + 1)
    compare(Q.subtract()(a, b), -np.ones_like(X), atol=1e-6)
    compare(Q.multiply()(a, b), X * (X + 1))
    compare(Q.divide()(a, b), X / (X + 1))
    compare(Q.concat()([a, b], 1), np.concatenate([X, X + 1], 1))
    compare(Q.matmul()(a, b, transpose_y=True), X @ (X + 1).T, atol=1e-5)
    assert Q.reshape()(a, [8]).shape == Q.flatten()(a).shape == [8] and Q.transpose()(a, [1, 0]).shape == [4, 2]
    assert Q.Stub()(a) is a


@pytest.mark.parametrize("group", [-1, 64])
@pytest.mark.parametrize("algo, step", [("weight_only_int8", 127), ("weight_only_int4", 7)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_stored_weights(algo, step, group, dtype):
    w = np.random.RandomState(1).randn(128, 32).astype("float32")
    stored, scale = Q.weight_quantize(paddle.to_tensor(w).astype(dtype), algo, group_size=group)
    assert stored.dtype == paddle.int8 and stored.shape == ([32, 128] if step == 127 else [16, 128])
    assert scale.shape == ([32] if group == -1 else [2, 32]) and scale.dtype.name == dtype
    back = Q.weight_dequantize(stored, scale, algo, "float32", group).numpy()
    assert np.abs(back - w).max() <= np.abs(w).max() / step * (0.51 if dtype == "float32" else 0.8)
    x = paddle.to_tensor(np.random.RandomState(2).randn(3, 128).astype("float32"), stop_gradient=False)
    bias = paddle.ones([32])
    out = Q.weight_only_linear(x, stored, bias, scale, "int8" if step == 127 else "int4", group_size=group)
    compare(out, x.numpy() @ back + 1, rtol=1e-4, atol=1e-4)
    out.sum().backward()
    compare(x.grad, np.tile(back.sum(1), (3, 1)), rtol=1e-4, atol=1e-4)


def test_integers_in_the_official_order():
    w = np.random.RandomState(0).randn(64, 32).astype("float32")
    stored, scale = Q.weight_quantize(paddle.to_tensor(w).astype("float16"), "llm.int8", 80)
    assert scale.dtype == paddle.float32
    w16 = w.astype("float16").astype("float32")
    compare(scale, np.abs(w16).max(0) / 127, rtol=1e-5)
    compare(stored, np.round(w16 / (np.abs(w16).max(0) / 127)).T, atol=1.01)


def test_llm_int8_keeps_outliers():
    r = np.random.RandomState(0)
    w, x = r.randn(64, 32).astype("float32"), r.randn(5, 64).astype("float32")
    x[:, 3] = 50
    stored, scale = Q.weight_quantize(paddle.to_tensor(w), "llm.int8")
    out = Q.llm_int8_linear(paddle.to_tensor(x), stored, None, scale)
    assert np.abs(out.numpy() - x @ w).max() < 0.8
    rough = Q.llm_int8_linear(paddle.to_tensor(x), stored, None, scale, threshold=1000.0)
    assert np.abs(rough.numpy() - x @ w).max() > np.abs(out.numpy() - x @ w).max()


@pytest.mark.parametrize(
    "call",
    [
        lambda w: Q.weight_quantize(w, "x"),
        lambda w: Q.weight_quantize(w, arch=81),
        lambda w: Q.weight_quantize(w, group_size=3),
        lambda w: Q.weight_quantize(w[:, :8]),
        lambda w: Q.weight_only_linear(paddle.ones([1, 3]), *[Q.weight_quantize(w)[0], None, Q.weight_quantize(w)[1]]),
        lambda w: Q.weight_only_linear(paddle.ones([1, 64]), Q.weight_quantize(w)[0]),
        lambda w: Q.weight_dequantize(w, w),
        lambda w: Q.apply_per_channel_scale(w, paddle.ones([3])),
    ],
)
def test_errors(call):
    with pytest.raises(ValueError):
        call(paddle.ones([64, 32]))
