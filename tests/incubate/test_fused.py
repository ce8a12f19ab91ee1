"""Fused operators and layers: against their formulas in NumPy and in plain operators, gradients, caches, errors."""

import numpy as np
import pytest
import scipy.special

import paddle
import paddle.nn.functional as G
from paddle.incubate import nn
from paddle.incubate.nn import functional as F

from _check import check_grad, compare

t = paddle.to_tensor
R = np.random.RandomState(0)


def array(*shape):
    return R.randn(*shape).astype("float32")


def test_softmax_with_masks():
    x, mask = array(2, 3, 4, 4), np.where(R.rand(2, 1, 4, 4) > 0.5, -1e4, 0).astype("float32")
    compare(paddle.incubate.softmax_mask_fuse(t(x), t(mask)), scipy.special.softmax(x + mask, -1), rtol=1e-4)
    upper = np.triu(np.full((4, 4), -np.inf), 1)
    compare(paddle.incubate.softmax_mask_fuse_upper_triangle(t(x)), scipy.special.softmax(x + upper, -1), rtol=1e-4)
    check_grad(paddle.incubate.softmax_mask_fuse_upper_triangle, R.randn(1, 1, 3, 3), order=2, rtol=1e-4)
    with pytest.raises(ValueError, match="softmax_mask_fuse"):
        paddle.incubate.softmax_mask_fuse(t(x), t(mask[..., :3]))


def test_identity_loss():
    x = t([1.0, 2.0])
    results = [paddle.incubate.identity_loss(x, r).tolist() for r in ("sum", "mean", "none", 0, 1, 2)]
    assert results == [3.0, 1.5, [1.0, 2.0]] * 2
    with pytest.raises(TypeError):
        paddle.incubate.identity_loss(x, "foo")
    with pytest.raises(ValueError):
        paddle.incubate.identity_loss(x, 3)


def test_linear_maps():
    x, w, b = array(2, 3), array(3, 4), array(4)
    compare(F.fused_linear(t(x), t(w.T.copy()), t(b), transpose_weight=True), x @ w + b, rtol=1e-4)
    compare(F.fused_matmul_bias(t(x.T.copy()), t(w), transpose_x=True), x @ w, rtol=1e-4)
    compare(F.fused_linear_activation(t(x), t(w), t(b), activation="relu"), np.maximum(x @ w + b, 0), rtol=1e-4)
    compare(F.batched_gemm(t(x), t(np.stack([w, 2 * w])), [1, 1]), (x @ w) * [[1], [2]], rtol=1e-4)
    with pytest.raises(ValueError):
        F.fused_linear_activation(t(x), t(w), t(b), activation="tanh")
    with pytest.raises(ValueError):
        F.batched_gemm(t(x), t(np.stack([w, w])), [1, 2])


def test_bias_act():
    x, b, shift, smooth = array(2, 4), array(4), array(4), array(4)
    erf = scipy.special.erf((x + b) / np.sqrt(2))
    compare(
        F.fused_bias_act(t(x), t(b), shift=t(shift), smooth=t(smooth)),
        ((x + b) * (1 + erf) / 2 + shift) * smooth,
        rtol=1e-4,
    )
    a, c = np.split(x + b, 2, -1)
    compare(F.fused_bias_act(t(x), t(b), act_method="swiglu"), a * scipy.special.expit(a) * c, rtol=1e-4)
    got = F.fused_bias_act(
        t(np.array([-0.3, 0.5, 1.5, 9.0], "float32")),
        act_method="identity",
        quant_scale=0.1,
        quant_round_type=1,
        quant_max_bound=10,
        quant_min_bound=-10,
    )
    assert got.dtype == paddle.int8 and got.tolist() == [0, 1, 2, 9]
    ints = F.fused_bias_act(t(np.array([[2, -3]], "int32")), dequant_scales=t([0.5, 1.0]), act_method="relu")
    compare(ints, [[1.0, 0.0]])
    with pytest.raises(ValueError, match="act_method"):
        F.fused_bias_act(t(x), act_method="foo")


def test_norms():
    x, residual, w, b, bias = array(2, 3, 4), array(2, 3, 4), array(4), array(4), array(4)
    total = x + bias + 2 * residual
    mean, std = total.mean(-1, keepdims=True), np.sqrt(total.var(-1, keepdims=True) + 1e-5)
    out, summed, means, inverse = F.fused_layer_norm(t(x), t(w), t(b), 1e-5, 2.0, 2, t(bias), t(residual))
    compare(out, (total - mean) / std * w + b, rtol=1e-4, atol=1e-5)
    compare(summed, total)
    compare(means, mean.reshape(-1))
    compare(inverse, 1 / std.reshape(-1), rtol=1e-4)
    compare(F.fused_layer_norm(t(x), None, None, 1e-5, 2.0, 2, t(bias), t(residual))[0], total)
    total = x + bias + residual
    root = np.sqrt((total**2).mean((1, 2), keepdims=True) + 1e-5)
    flat = array(12)
    bias12 = np.tile(bias, 3)
    out, summed = F.fused_rms_norm(t(x), t(flat), None, 1e-5, 1, t(bias12), t(residual))
    compare(out, total / root * flat.reshape(3, 4), rtol=1e-4, atol=1e-5)
    compare(summed, total)
    assert F.fused_rms_norm(t(x), t(w), None, 1e-5, 2)[1] is None
    y, mean, inverse = F.fast_ln(t(x), t(w), t(b))
    compare(y, G.layer_norm(t(x), 4, t(w), t(b)).numpy(), rtol=1e-4)
    assert mean.shape == inverse.shape == [2, 3]
    compare(F.fast_rms_norm(t(x), t(w))[0], G.rms_norm(t(x), 4, t(w)).numpy(), rtol=1e-4)
    check_grad(
        lambda x, w, r: F.fused_rms_norm(x, w, None, 1e-5, 1, residual=r)[0],
        R.randn(2, 3),
        R.randn(3),
        R.randn(2, 3),
        order=2,
        rtol=1e-4,
    )
    for bad in (
        lambda: F.fused_rms_norm(t(x), t(w), None, 1e-5, 1),
        lambda: F.fused_rms_norm(t(x), t(w), None, 1e-5, 3),
        lambda: F.fused_layer_norm(t(x), t(w), t(b), 1e-5, 1.0, 2, residual=t(residual[:1])),
    ):
        with pytest.raises(ValueError, match="fused_"):
            bad()


def rope(x, positions, base=10000.0):
    """Neighbours as complex numbers, turned."""
    width = x.shape[-1]
    angle = positions[..., None] * base ** (-np.arange(0, width, 2) / width)
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)[:, :, None]
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


def test_rotary_embedding():
    q, k = array(2, 5, 3, 4), array(2, 5, 1, 4)
    plain = np.tile(np.arange(5), (2, 1))
    out_q, out_k, out_v = F.fused_rotary_position_embedding(t(q), t(k))
    compare(out_q, rope(q, plain), rtol=1e-4, atol=1e-5)
    compare(out_k, rope(k, plain), rtol=1e-4, atol=1e-5)
    assert out_v is None
    at = R.randint(0, 9, (2, 5))
    compare(F.fused_rotary_position_embedding(t(q), position_ids=t(at))[0], rope(q, at), rtol=1e-4, atol=1e-5)
    swapped = F.fused_rotary_position_embedding(t(q.swapaxes(0, 1).copy()), time_major=True)[0]
    compare(swapped, rope(q, plain).swapaxes(0, 1), rtol=1e-4, atol=1e-5)
    angle = np.repeat(np.arange(9)[:, None] * 10000.0 ** (-np.arange(0, 4, 2) / 4), 2, -1).astype("float32")
    sin, cos = t(np.sin(angle))[None, :, None], t(np.cos(angle))[None, :, None]
    compare(
        F.fused_rotary_position_embedding(t(q), sin=sin, cos=cos, position_ids=t(at))[0],
        rope(q, at),
        rtol=1e-4,
        atol=1e-5,
    )
    halves = q[..., [0, 2, 1, 3]]  # pairs of neighbours become pairs over the halves
    got = F.fused_rotary_position_embedding(t(halves), use_neox_rotary_style=False)[0]
    compare(got, rope(q, plain)[..., [0, 2, 1, 3]], rtol=1e-4, atol=1e-5)
    for bad in (
        lambda: F.fused_rotary_position_embedding(t(q[..., :3])),
        lambda: F.fused_rotary_position_embedding(t(q), sin=sin, cos=cos),
        lambda: F.fused_rotary_position_embedding(t(q), sin=sin),
        lambda: F.fused_rotary_position_embedding(t(q), position_ids=t(at[:, :2])),
    ):
        with pytest.raises(ValueError, match="rotary"):
            bad()


def test_int_bincount():
    assert F.int_bincount(t([1, 2, 2, 9, -1]), 0, 4).tolist() == [0, 1, 2, 0]
    assert F.int_bincount(t([1]), 1, 2, "int32").dtype == paddle.int32


def layers(normalize_before):
    """A fused layer and a plain one with the same weights."""
    paddle.seed(1)
    fused = nn.FusedTransformerEncoderLayer(8, 2, 12, 0.0, "gelu", normalize_before=normalize_before)
    plain = paddle.nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", normalize_before=normalize_before)
    for p in fused.parameters():
        p.set_value(array(*p.shape) * 0.3)
    attention, feed = fused.fused_attn, fused.ffn
    for i, projection in enumerate((plain.self_attn.q_proj, plain.self_attn.k_proj, plain.self_attn.v_proj)):
        projection.weight.set_value(attention.qkv_weight[i].reshape([8, 8]).transpose([1, 0]))
        projection.bias.set_value(attention.qkv_bias[i].reshape([8]))
    pairs = [
        (plain.self_attn.out_proj.weight, attention.linear_weight),
        (plain.self_attn.out_proj.bias, attention.linear_bias),
        (plain.linear1.weight, feed._linear1_weight),
        (plain.linear1.bias, feed._linear1_bias),
        (plain.linear2.weight, feed._linear2_weight),
        (plain.linear2.bias, feed._linear2_bias),
    ]
    if normalize_before:
        pairs += [
            (plain.norm1.weight, attention.pre_ln_scale),
            (plain.norm1.bias, attention.pre_ln_bias),
            (plain.norm2.weight, feed._ln1_scale),
            (plain.norm2.bias, feed._ln1_bias),
        ]
    else:
        pairs += [
            (plain.norm1.weight, attention.ln_scale),
            (plain.norm1.bias, attention.ln_bias),
            (plain.norm2.weight, feed._ln2_scale),
            (plain.norm2.bias, feed._ln2_bias),
        ]
    for to, source in pairs:
        to.set_value(source)
    return fused, plain


@pytest.mark.parametrize("normalize_before", [False, True])
def test_encoder_layer_is_the_plain_one(normalize_before):
    fused, plain = layers(normalize_before)
    x, mask = t(array(2, 5, 8)), t(np.tril(np.ones((5, 5), bool))[None, None])
    compare(fused(x, mask), plain(x, mask).numpy(), rtol=1e-4, atol=1e-5)
    assert set(fused.state_dict()) >= {"fused_attn.qkv_weight", "ffn._linear1_weight"}


def test_attention_with_a_cache_is_attention_of_all():
    layer = nn.FusedMultiHeadAttention(8, 2, 0.0, 0.0, normalize_before=True, transpose_qkv_wb=True)
    x = t(array(1, 4, 8))
    causal = t(np.tril(np.ones((4, 4), bool))[None, None])
    whole = layer(x, attn_mask=causal)
    first, cache = layer(x[:, :3], attn_mask=causal[:, :, :3, :3], cache=paddle.zeros([2, 1, 2, 0, 4]))
    second, cache = layer(x[:, 3:], cache=cache)
    compare(paddle.concat([first, second], 1), whole.numpy(), rtol=1e-4, atol=1e-5)
    assert cache.shape == [2, 1, 2, 4, 4]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"normalize_before": False},
        {"activation": "swiglu", "norm_type": "rmsnorm"},
        {"gqa_group_size": 1},
        {"trans_qkvw": False},
    ],
)
def test_generation_with_a_cache_is_one_pass_over_all(settings):
    groups = settings.get("gqa_group_size", 2)
    layer = nn.FusedMultiTransformer(8, 2, 12, num_layers=2, **settings)
    x, mask = t(array(2, 5, 8)), t(np.triu(np.full((5, 5), -1e9, "float32"), 1))[None, None]
    with paddle.no_grad():
        whole = layer(x, mask)
        caches = [paddle.zeros([2, 2, groups, 8, 4]) for _ in range(2)]
        outs = [layer(x[:, :3], mask[:, :, :3, :3], caches=caches)[0]]
        for step in (3, 4):
            outs.append(layer(x[:, step : step + 1], caches=caches, time_step=t([step]))[0])
    compare(paddle.concat(outs, 1), whole.numpy(), rtol=1e-4, atol=1e-5)


def test_multi_transformer_is_encoder_layers():
    fused, _ = layers(True)
    a, f = fused.fused_attn, fused.ffn
    x = t(array(2, 5, 8))
    got = F.fused_multi_transformer(
        x,
        [a.pre_ln_scale],
        [a.pre_ln_bias],
        [a.qkv_weight],
        [a.qkv_bias],
        [a.linear_weight],
        [a.linear_bias],
        [f._ln1_scale],
        [f._ln1_bias],
        [f._linear1_weight],
        [f._linear1_bias],
        [f._linear2_weight],
        [f._linear2_bias],
    )
    compare(got, fused(x).numpy(), rtol=1e-4, atol=1e-5)


def test_masked_multihead_attention():
    """One position at a time is causal attention; each sequence has a position of its own."""
    qkv = array(2, 4, 3, 2, 4)
    cache = paddle.zeros([2, 2, 2, 6, 4])
    q, k, v = (t(qkv[:, :, i]) for i in range(3))
    whole = G.scaled_dot_product_attention(q, k, v, is_causal=True).numpy()
    for step in range(4):
        x = t(qkv[:, step].reshape(2, -1))
        out, same = F.masked_multihead_attention(x, cache, sequence_lengths=t([[step], [step]]))
        assert same is cache
        compare(out, whole[:, step].reshape(2, -1), rtol=1e-4, atol=1e-5)
    out, _ = F.masked_multihead_attention(x, cache, sequence_lengths=t([[3], [0]]))
    compare(out[0], whole[0, 3].reshape(-1), rtol=1e-4, atol=1e-5)
    compare(out[1], qkv[1, 3, 2].reshape(-1), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError):
        F.masked_multihead_attention(x, cache)
    with pytest.raises(NotImplementedError):
        F.masked_multihead_attention(x, cache, sequence_lengths=t([[0], [0]]), rotary_emb_dims=1)


def test_variable_length_attention():
    q, k = array(2, 4, 3, 4), array(2, 2, 5, 4)
    lengths, key_lengths = [2, 3], [5, 2]
    got = F.variable_length_memory_efficient_attention(t(q), t(k), t(k), t([[2], [3]]), t([[5], [2]]), causal=False)
    for b in range(2):
        part_q = t(q[b : b + 1, :, : lengths[b]].swapaxes(1, 2).copy())
        part_k = t(k[b : b + 1, :, : key_lengths[b]].swapaxes(1, 2).copy())
        want = G.scaled_dot_product_attention(part_q, part_k, part_k).numpy().swapaxes(1, 2)
        compare(got[b, :, : lengths[b]], want[0], rtol=1e-4, atol=1e-5)
    assert not got[0, :, 2:].abs().any()


def test_dropout_layers():
    x = paddle.ones([64, 64])
    layer = nn.FusedDropoutAdd(0.5)
    assert set(np.unique(layer(x, x).numpy())) == {1.0, 3.0}
    layer.eval()
    assert set(np.unique(layer(x, x).numpy())) == {2.0}
    assert set(np.unique(nn.FusedDropout(0.5, axis=0)(x).numpy()[:, 0])) == {0.0, 2.0}
    norm = nn.FusedBiasDropoutResidualLayerNorm(4, 0.0)
    y = t(array(2, 4))
    compare(norm(y, y), G.layer_norm(2 * y, 4).numpy(), rtol=1e-4, atol=1e-5)
    for bad in (
        lambda: nn.FusedDropoutAdd(2.0),
        lambda: nn.FusedDropoutAdd(mode="a"),
        lambda: nn.FusedFeedForward(0, 2),
        lambda: nn.FusedMultiHeadAttention(8, 3),
        lambda: nn.FusedMultiTransformer(8, 2, 16),
    ):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError):
        nn.FusedDropoutAdd("a")
