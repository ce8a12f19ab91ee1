"""8-bit products: results are those of the format, scales are delayed, nothing is lost silently."""

import ml_dtypes
import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.amp import fp8
from paddle.distributed.fleet.utils import recompute

E4M3, E5M2 = (ml_dtypes.float8_e4m3fn, 448.0), (ml_dtypes.float8_e5m2, 57344.0)
rng = np.random.RandomState(0)


def eight(x, kind, amax=None):
    """x as the format holds it, scaled by a power of two for the given largest value."""
    dtype, limit = kind
    amax = np.abs(x).max() if amax is None else amax
    scale = 2.0 ** np.floor(np.log2(limit / amax))
    return np.clip(x * scale, -limit, limit).astype(np.float32).astype(dtype).astype(np.float32) / scale


def close(got, want):
    got = got.astype("float32").numpy() if isinstance(got, paddle.Tensor) else got
    np.testing.assert_allclose(got, want, rtol=2.0**-8, atol=1e-4 * np.abs(want).max())  # bfloat16


def fp8_cast():
    return paddle.amp.auto_cast(dtype=paddle.float8_e4m3fn)


@pytest.mark.parametrize("amax, scale", [(448.0, 1), (1.0, 256), (449.0, 0.5), (0.0, 1), (3.0, 128), (224.0, 2)])
def test_scales_are_the_largest_powers_of_two(amax, scale):
    assert float(fp8.scale_of(np.float32(amax), 448.0)) == scale


def test_linear_and_its_gradients_equal_the_emulated_format():
    x, w, b = rng.randn(5, 8).astype("float32"), rng.randn(8, 3).astype("float32"), rng.randn(3).astype("float32")
    layer = nn.Linear(8, 3)
    layer.weight.set_value(w)
    layer.bias.set_value(b)
    t = paddle.to_tensor(x, stop_gradient=False)
    with fp8_cast():
        y = layer(t)
    assert y.dtype is paddle.bfloat16
    xq, wq = eight(x, E4M3), eight(w, E4M3)
    close(y, xq @ wq + b)
    g = rng.randn(5, 3).astype("float32").astype(ml_dtypes.bfloat16).astype("float32")
    y.backward(paddle.to_tensor(g, dtype="bfloat16"))
    gq = eight(g, E5M2)
    assert t.grad.dtype is layer.weight.grad.dtype is paddle.float32
    close(t.grad, gq @ wq.T)
    close(layer.weight.grad, xq.T @ gq)
    close(layer.bias.grad, g.sum(0))


def test_scales_are_delayed():
    layer = nn.Linear(4, 4, bias_attr=False)
    w = layer.weight.numpy()
    small, large = rng.rand(2, 4).astype("float32"), 1000 * rng.rand(2, 4).astype("float32")
    with fp8_cast():
        layer(paddle.to_tensor(small))
        second, third = layer(paddle.to_tensor(large)), layer(paddle.to_tensor(small))
    close(second, eight(large, E4M3, np.abs(small).max()) @ eight(w, E4M3))  # saturates once
    close(third, eight(small, E4M3, np.abs(large).max()) @ eight(w, E4M3))
    with fp8_cast():
        for _ in range(fp8.HISTORY):
            last = layer(paddle.to_tensor(small))
    close(last, eight(small, E4M3) @ eight(w, E4M3))


@pytest.mark.parametrize("flip_x, flip_y", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_computed_tensors(flip_x, flip_y):
    x, y = rng.randn(2, 3, 4).astype("float32"), rng.randn(4, 5).astype("float32")
    a = paddle.to_tensor(x.swapaxes(-1, -2) if flip_x else x, stop_gradient=False)
    b = paddle.to_tensor(y.T if flip_y else y, stop_gradient=False)
    with fp8_cast():
        out = paddle.matmul(a, b, flip_x, flip_y)
    xq, yq = eight(x, E4M3), eight(y, E4M3)
    close(out, xq @ yq)
    out.astype("float32").sum().backward()
    ones = np.ones((2, 3, 5), "float32")
    grad_a, grad_b = ones @ yq.T, np.einsum("bij,bik->jk", xq, ones)
    close(a.grad, grad_a.swapaxes(-1, -2) if flip_x else grad_a)
    close(b.grad, grad_b.T if flip_y else grad_b)


def test_a_tied_weight_is_transposed():
    layer = nn.Embedding(6, 4)
    x = rng.randn(3, 4).astype("float32")
    with fp8_cast():
        out = paddle.matmul(paddle.to_tensor(x), layer.weight, transpose_y=True)
    close(out, eight(x, E4M3) @ eight(layer.weight.numpy(), E4M3).T)
    out.sum().backward()
    close(layer.weight.grad, np.ones((6, 3), "float32") @ eight(x, E4M3))


def test_overflow_is_seen_and_spoils_no_later_scale():
    layer = nn.Linear(2, 2)
    x = paddle.ones([1, 2])
    with fp8_cast():
        want = layer(x).numpy()
        assert bool(layer(paddle.to_tensor([[np.inf, 1.0]])).isnan().all())
        np.testing.assert_array_equal(layer(x).numpy(), want)


def test_attention_layer_trains_and_recomputation_changes_nothing():
    def grads(call):
        paddle.seed(0)
        layer = nn.MultiHeadAttention(16, 2, dropout=0.1)
        x = paddle.to_tensor(rng0, stop_gradient=False)
        with fp8_cast():
            out = call(layer, x)
        out.astype("float32").square().sum().backward()
        assert layer.q_proj.weight.__dict__["_fp8"].called_back
        return [out.astype("float32").numpy(), x.grad.numpy(), *[p.grad.numpy() for p in layer.parameters()]]

    rng0 = rng.randn(2, 5, 16).astype("float32")
    for a, b in zip(grads(lambda f, x: f(x)), grads(recompute)):
        np.testing.assert_array_equal(a, b)


def test_what_has_no_8_bit_form():
    layer = nn.Linear(2, 2)
    x = paddle.ones([1, 2], "float64")
    with fp8_cast():
        assert paddle.matmul(x, x.T).dtype is paddle.float64
        assert F.conv2d(paddle.ones([1, 1, 3, 3]), paddle.ones([1, 1, 2, 2])).dtype is paddle.bfloat16
        with pytest.raises(ValueError, match="linear"):
            layer(paddle.ones([1, 3]))
        y = layer(paddle.to_tensor([[1.0, 2.0]], stop_gradient=False))
    with pytest.raises(NotImplementedError, match="second derivative"):
        paddle.grad(y.sum(), layer.weight, create_graph=True)
    with paddle.amp.auto_cast(dtype="float8_e4m3fn", custom_black_list={"linear"}):
        assert layer(paddle.ones([1, 2])).dtype is paddle.float32


def test_no_recompilation_and_copies():
    import copy

    from paddle.engine.compile import count_compiles

    layer = nn.Linear(4, 4)

    def step(layer):
        with fp8_cast():
            layer(paddle.ones([2, 4])).sum().backward()

    step(layer)
    step(layer)
    with count_compiles() as count:
        step(layer)
    assert count.compiles == 0
    twin = copy.deepcopy(layer)
    step(twin)
    assert twin.weight.__dict__["_fp8"] is not layer.weight.__dict__["_fp8"]
