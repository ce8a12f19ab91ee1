"""Attention and Transformer layers. Numbers without a formula beside them were recorded from the official package."""

import pickle

import numpy as np
import pytest

import paddle
from paddle import nn
from tests._check import compare
from tests.nn.test_rnn import fill, fingerprint

rng = np.random.RandomState(3)
MEMORY, X = rng.randn(2, 5, 8).astype("float32"), rng.randn(2, 4, 8).astype("float32")


@pytest.mark.parametrize(
    "before, activation, want",
    [
        (False, "relu", [0.8524, -0.3408, 3.7453]),
        (False, "gelu", [0.8814, -0.3371, 3.7128]),
        (True, "relu", [1.8811, -3.2906, 0.9173]),
        (True, "gelu", [1.9018, -3.5705, 0.5235]),
    ],
)
def test_transformer(before, activation, want):
    net = fill(nn.Transformer(8, 2, 2, 1, 12, 0.0, activation, normalize_before=before))
    later = net.generate_square_subsequent_mask(4)
    seen = paddle.to_tensor(np.random.RandomState(0).rand(2, 1, 5, 5) > 0.3)
    np.testing.assert_allclose(fingerprint(net, lambda s, t: net(s, t, seen, later), MEMORY, X), want, atol=3e-4)


def test_decoder():
    net = fill(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12, 0.0), 2))
    later = paddle.to_tensor(np.triu(np.full((4, 4), -1e9, "float32"), 1))
    got = fingerprint(net, lambda t, m: net(t, m, tgt_mask=later), X, MEMORY)
    np.testing.assert_allclose(got, [-0.0072, 0.1213, -2.232], atol=3e-4)


def test_attention_with_weights_and_an_integer_mask():
    layer = fill(nn.MultiHeadAttention(8, 2, need_weights=True))
    mask = paddle.to_tensor(np.tril(np.ones((4, 5), "int64")))
    got = fingerprint(layer, lambda q, k: layer(q, k, k, mask), X, MEMORY)
    np.testing.assert_allclose(got, [-2.9904, -4.703, -22.9148], atol=5e-4)
    out, weights = layer(paddle.to_tensor(X))
    compare(weights.sum(-1), np.ones((2, 2, 4)))
    layer.need_weights = False
    compare(layer(paddle.to_tensor(X)), out.numpy())


def test_a_query_that_may_see_no_key_sees_all():
    layer = fill(nn.MultiHeadAttention(8, 2))
    mask = np.zeros((2, 2, 4, 4), bool)
    mask[..., :2] = True
    mask[0, :, 1] = False
    got = fingerprint(layer, lambda q: layer(q, attn_mask=paddle.to_tensor(mask)), X)
    np.testing.assert_allclose(got, [0.6991, -4.3583, -5.0258], atol=3e-4)


def test_widths_of_key_and_value():
    layer = fill(nn.MultiHeadAttention(8, 2, kdim=5, vdim=6))
    got = fingerprint(layer, lambda *each: layer(*each), X, MEMORY[:, :, :5].copy(), MEMORY[:, :, :6].copy())
    np.testing.assert_allclose(got, [1.0904, -1.531, 21.7666], atol=5e-4)


def test_one_step_at_a_time_with_a_cache():
    net = fill(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12, 0.0), 2, nn.LayerNorm(8)))
    x, memory = paddle.to_tensor(X), paddle.to_tensor(MEMORY)
    later = paddle.to_tensor(np.triu(np.full((4, 4), -np.inf, "float32"), 1))
    whole = net(x, memory, later)
    cache = net.gen_cache(memory)
    for i in range(4):
        step, cache = net(x[:, i : i + 1], memory, cache=cache)
        compare(step[:, 0], whole[:, i].numpy(), 1e-4, 1e-5)
    assert cache[0][0].k.shape == [2, 2, 4, 4] and cache[0][1].k.shape == [2, 2, 5, 4]
    own, static = net.gen_cache(memory, do_zip=True)
    assert len(own) == 2 and all(isinstance(c, nn.MultiHeadAttention.StaticCache) for c in static)

    encoder = fill(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, 0.0), 2))
    whole, cache = encoder(x, later), encoder.gen_cache(x)
    for i in range(4):
        step, cache = encoder(x[:, i : i + 1], None, cache)
        compare(step[:, 0], whole[:, i].numpy(), 1e-4, 1e-5)


def test_kinds_of_caches():
    layer, x = nn.MultiHeadAttention(8, 2, need_weights=True), paddle.to_tensor(X)
    assert layer.gen_cache(x).k.shape == [2, 2, 0, 4]
    assert layer.gen_cache(x, x).k is x
    static = layer.gen_cache(x, type=layer.StaticCache)
    k, v = layer.compute_kv(x, x)
    compare(static.k, k.numpy())
    compare(static.v, v.numpy())
    out = layer(x, cache=static)
    assert len(out) == 3 and out[2] is static
    compare(out[0], layer(x)[0].numpy())
    assert pickle.loads(pickle.dumps(nn.MultiHeadAttention.Cache(1, 2))) == (1, 2)


def test_layers_of_a_stack_have_parameters_of_their_own():
    weights = [nn.initializer.Constant(0.1), nn.initializer.Constant(0.2)]
    layer = nn.TransformerEncoderLayer(4, 1, 4, weight_attr=weights, bias_attr=[False, None])
    net = nn.TransformerEncoder(layer, 3)
    assert net.layers[0] is layer and len(net.parameters()) == 3 * 12 and layer.self_attn.q_proj.bias is None
    assert all(each.self_attn.out_proj.weight.max() == 0.1 and each.linear2.weight.max() == 0.2 for each in net.layers)
    assert [n for n, _ in layer.named_parameters()] == [
        *(f"self_attn.{p}_proj.weight" for p in ("q", "k", "v", "out")),
        "linear1.weight",
        "linear1.bias",
        "linear2.weight",
        "linear2.bias",
        "norm1.weight",
        "norm1.bias",
        "norm2.weight",
        "norm2.bias",
    ]


@pytest.mark.parametrize("attrs, want", [([1], "11111"), ([1, 2], "12112"), ([1, 2, 3], "13123"), (1, "11111")])
def test_attrs_of_the_parts(attrs, want):
    def constant(values):
        return nn.initializer.Constant(float(values)) if isinstance(values, int) else [constant(v) for v in values]

    net = nn.Transformer(4, 1, 1, 1, 4, weight_attr=constant(attrs))
    encoder, decoder = net.encoder.layers[0], net.decoder.layers[0]
    parts = (
        encoder.self_attn.k_proj,
        encoder.linear1,
        decoder.self_attn.k_proj,
        decoder.cross_attn.k_proj,
        decoder.linear2,
    )
    assert "".join(str(int(p.weight.max())) for p in parts) == want


def test_custom_encoder_and_decoder():
    class Same(nn.Layer):
        def forward(self, src, src_mask=None):
            return src

    class Sum(nn.Layer):
        def forward(self, tgt, memory, tgt_mask=None, memory_mask=None):
            return tgt + memory

    net = nn.Transformer(8, 2, custom_encoder=Same(), custom_decoder=Sum())
    assert net(paddle.ones([1, 1, 8]), paddle.ones([1, 1, 8])).tolist() == [[[2.0] * 8]]


def test_dropout_is_random_in_training_only():
    layer, x = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.5), paddle.to_tensor(X)
    assert not np.allclose(layer(x).numpy(), layer(x).numpy())
    layer.eval()
    compare(layer(x), layer(x).numpy())
    assert nn.TransformerEncoderLayer(8, 2, 12, 0.5, attn_dropout=0.25).self_attn.dropout == 0.25


def test_a_transformer_in_float64():
    paddle.set_default_dtype("float64")
    net = fill(nn.Transformer(8, 2, 1, 1, 12, 0.0))
    out = net(paddle.to_tensor(MEMORY.astype("float64")), paddle.to_tensor(X.astype("float64")))
    assert out.dtype == paddle.float64
    assert net.generate_square_subsequent_mask(2).dtype == paddle.float64


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: nn.MultiHeadAttention(8, 3), AssertionError, "divide"),
        (lambda x: nn.MultiHeadAttention(0, 1), AssertionError, "embed_dim"),
        (lambda x: nn.MultiHeadAttention(8, -2), AssertionError, "num_heads"),
        (lambda x: nn.MultiHeadAttention(8, 2)(x[0]), ValueError, "3-D"),
        (lambda x: nn.MultiHeadAttention(8, 2)(x, x[:1], x[:1]), ValueError, "batch"),
        (lambda x: nn.MultiHeadAttention(8, 2)(x, cache=(x, x)), TypeError, "cache"),
        (lambda x: nn.MultiHeadAttention(8, 2)(x, attn_mask=[1]), TypeError, "attn_mask"),
        (lambda x: nn.MultiHeadAttention(8, 2)(x, attn_mask=paddle.ones([3, 3])), ValueError, "shape"),
        (lambda x: nn.TransformerEncoderLayer(8, 2, 0), AssertionError, "dim_feedforward"),
        (lambda x: nn.TransformerEncoderLayer(8, 2, 4, activation="none"), ValueError, "activation"),
        (lambda x: nn.TransformerEncoderLayer(8, 2, 4, weight_attr=[None]), AssertionError, "list of 2"),
        (lambda x: nn.TransformerDecoderLayer(8, 2, 4, bias_attr=[None] * 2), AssertionError, "list of 3"),
        (lambda x: nn.Transformer(8, 2, weight_attr=[]), ValueError, "1, 2 or 3"),
        (lambda x: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 4), 0), ValueError, "num_layers"),
        (
            lambda x: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 4), 2)(x, cache=[]),
            ValueError,
            "of 2 layers",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(paddle.to_tensor(X))


def test_training_follows_the_official_one():
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", normalize_before=True)
    net = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8))
    into, head = nn.Linear(5, 8), nn.Linear(8, 3)
    everything = fill(nn.LayerList([net, into, head]), scale=0.3)
    rng = np.random.RandomState(6)
    x = paddle.to_tensor(rng.randn(8, 6, 5).astype("float32"))
    y, lengths = paddle.to_tensor(rng.randint(0, 3, 8)), paddle.to_tensor(rng.randint(2, 7, 8))
    mask = nn.functional.sequence_mask(lengths, 6, "bool").reshape([8, 1, 1, 6])
    adam = paddle.optimizer.AdamW(0.01, parameters=everything.parameters(), weight_decay=0.05)
    losses = []
    for _ in range(20):
        loss = nn.functional.cross_entropy(head(net(into(x), mask).mean(1)), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    np.testing.assert_allclose(
        losses,
        [
            1.139992,
            1.119431,
            1.104357,
            1.092381,
            1.081401,
            1.069717,
            1.057257,
            1.043882,
            1.027637,
            1.007096,
            0.983778,
            0.962221,
            0.938472,
            0.90896,
            0.878684,
            0.846928,
            0.814781,
            0.785892,
            0.761227,
            0.737063,
        ],
        atol=1e-4,
    )
