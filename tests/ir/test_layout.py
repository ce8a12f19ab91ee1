"""Channels last inside of programs: the same values, and transpositions only at the borders."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import paddle
from paddle.engine import onednn
from paddle.engine.tensor import _make
from paddle.ir import layout
from paddle.ir.layout import channels_last
from paddle.ops import contraction
from paddle.ops.contraction import Geometry, convolution

# XLA cannot write executables with oneDNN's calls into its cache; users do not see the warning (engine/compile.py)
pytestmark = pytest.mark.filterwarnings("ignore:Error writing persistent compilation cache")


def transposes(text):
    return len(re.findall(r"= \S+ transpose\(", text))


def draw(*shape, seed=0):
    return jnp.asarray(np.random.RandomState(seed + sum(shape)).randn(*shape), "float32")


@pytest.fixture
def everywhere(monkeypatch):
    """Also small convolutions."""
    monkeypatch.setattr(contraction, "FASTER", dict.fromkeys(contraction.FASTER, 0))
    monkeypatch.setattr(layout, "FEWEST", 0)


def conv(x, w, stride=1, groups=1):
    pad = w.shape[2] // 2
    geometry = Geometry((stride,) * 2, ((pad, pad),) * 2, (1, 1), groups, False, x.shape[2:], w.shape[2:])
    return convolution(x, w, geometry)


def normalized(x, axes=(0, 2, 3)):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)


BODIES = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "batch norm": normalized,
    "layer norm": lambda x: normalized(x, (1, 2, 3)),
    "over channels": lambda x: jax.nn.softmax(x, 1) * x.max(1, keepdims=True),
    "over the batch": lambda x: x - x.mean(0),
    "bias": lambda x: x + jnp.arange(6.0, dtype="float32")[:, None, None],
    "a plane": lambda x: x * draw(x.shape[2], x.shape[3]),
    "rows": lambda x: x + draw(6, x.shape[2], 1),
    "other order": lambda x: jnp.swapaxes(jnp.swapaxes(x, 1, 3) * 2, 1, 3),
    "padding": lambda x: jnp.pad(x, ((0, 0), (1, 0), (1, 2), (0, 1)))[:, 1:, :-3, 1:],
    "strides": lambda x: x[:, ::2, 1::2, ::3],
    "joined": lambda x: jnp.concatenate([x, x[:, :2]], 1) + jnp.concatenate([x[:, :2], x], 1),
    "flipped": lambda x: jnp.flip(x, 1) + jnp.flip(x, (2, 3)),
    "cumulative": lambda x: jnp.cumsum(x, 1) + jnp.cumsum(x, 3),
    "largest": lambda x: x + jnp.argmax(x, 1)[:, None] + jnp.argmin(x, 2, keepdims=True),
    "windows": lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 3, 1), (1, 1, 2, 1), "SAME"),
    "reshaped": lambda x: x.reshape(x.shape[0], 2, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape),
    "flattened": lambda x: (x.reshape(x.shape[0], -1) @ jnp.ones((x[0].size, 3), "float32"))[:, :, None, None],
    "pooled": lambda x: x * jax.nn.sigmoid(x.mean((2, 3)) @ jnp.ones((6, 6), "float32"))[:, :, None, None],
    "chosen": lambda x: jnp.where(x > 0, x, jnp.where(jnp.arange(x.shape[3]) > 2, 1.0, x * 2)),
    "loop": lambda x: jax.lax.fori_loop(0, 2, lambda i, y: y * 2 + x, x),
}


@pytest.mark.parametrize("name", BODIES)
def test_values_and_gradients_stay(name, everywhere):
    x, w = draw(2, 3, 6, 7), draw(6, 3, 3, 3)

    def function(x, w):
        y = conv(x, w, 1)
        out = BODIES[name](y)
        return {"out": out, "mean": out.mean((2, 3))}, y.shape

    def whole(x, w):
        loss = lambda x, w: (function(x, w)[0]["out"] ** 3).sum()  # noqa: E731
        return function(x, w)[0], jax.grad(loss, (0, 1))(x, w) if name not in ("largest",) else ()

    want, got = jax.jit(lambda *a: (whole(*a), channels_last(whole)(*a)))(x, w)
    for a, b in zip(jax.tree.leaves(want), jax.tree.leaves(got)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * float(jnp.abs(a).max()))


@pytest.mark.parametrize("channels, order", [(6, (2, 6, 5, 4)), (16, (2, 5, 4, 16))])
def test_values_with_few_channels_keep_their_order(channels, order):
    x, w = draw(2, 3, 5, 4), draw(channels, 3, 3, 3)
    traced = jax.make_jaxpr(channels_last(lambda x: jnp.tanh(conv(x, w))))(x)
    assert [e.outvars[0].aval.shape for e in traced.eqns if e.primitive.name == "tanh"] == [order]


def test_functions_that_are_differentiated_later_stay_whole(everywhere):
    x, w = draw(2, 3, 5, 5), draw(4, 3, 3, 3)

    @jax.custom_jvp
    def odd(x):
        return x * 2

    odd.defjvp(lambda primals, tangents: (odd(*primals), tangents[0] * 5))
    function = channels_last(lambda x: odd(conv(x, w)).sum())
    plain = jax.grad(lambda x: conv(x, w).sum())(x)
    np.testing.assert_allclose(jax.grad(function)(x), plain * 5, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda y: function(y * 1.0))(x), plain * 5, rtol=1e-5)


@pytest.mark.skipif(not onednn.works("float32"), reason="oneDNN does not work on this machine")
def test_what_follows_a_convolution_is_fused_into_it(everywhere):
    x, w, deep, residual = draw(2, 3, 6, 6), draw(4, 3, 3, 3), draw(4, 1, 3, 3), draw(2, 4, 6, 6)
    bias = draw(4)

    def forward(x):
        y = jnp.maximum(conv(x, w) + bias.reshape(1, 4, 1, 1), 0)  # bias and relu
        y = jnp.maximum(residual + (conv(y, deep, 1, 4) + bias[:, None, None]), 0)  # all three, depthwise
        z = conv(y, draw(4, 4, 3, 3))  # read twice: nothing
        return z + 1, conv(z, draw(5, 4, 3, 3)) + draw(5)[None, :, None, None] + draw(
            6, 6
        )  # bias; a plane is not fused

    compiled = jax.jit(channels_last(forward)).lower(x).compile()
    fused = re.findall(r'"fusions":\{"ops":\[([^]]*)\]', compiled.as_text())
    assert sorted(fused) == ['"BIAS"', '"BIAS","BINARY_ADD","RELU"', '"BIAS","RELU"']
    for a, b in zip(forward(x), compiled(x)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-4)
    exported = jax.export.export(jax.jit(channels_last(forward)), platforms=["cpu", "cuda"])(x)
    assert "onednn" not in exported.mlir_module()
    np.testing.assert_allclose(exported.call(x)[1], forward(x)[1], rtol=2e-5, atol=1e-4)


@pytest.mark.skipif(not onednn.works("float32"), reason="oneDNN does not work on this machine")
def test_resnet18_has_at_most_two_transposes():
    paddle.seed(0)
    net = paddle.vision.models.resnet18(num_classes=10)
    net.eval()
    x = draw(4, 3, 64, 64)

    def run(array):
        with paddle.no_grad():
            return net(_make(array))._value

    compiled = jax.jit(channels_last(run)).lower(x).compile()
    text = compiled.as_text()
    assert text.count('custom_call_target="__onednn$convolution"') > 10  # the large ones
    assert transposes(text) <= 2
    np.testing.assert_allclose(compiled(x), run(x), rtol=1e-4, atol=1e-4)


def test_programs_use_it(monkeypatch):
    seen = []
    monkeypatch.setattr(contraction.layout, "_evaluate", functools.partial(_noted, contraction.layout._evaluate, seen))
    net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 16, 3, padding=1), paddle.nn.ReLU(), paddle.nn.Conv2D(16, 16, 3))
    x = paddle.to_tensor(np.asarray(draw(4, 3, 64, 64)))
    with paddle.no_grad():
        want = net(x).numpy()
        got = paddle.jit.to_static(net)(x).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert seen


def _noted(function, seen, *args):
    seen.append(1)
    return function(*args)
