"""PyTorch's forms of functions and layers: behaviour of the official paddle.compat and NumPy."""

import sys

import numpy as np
import pytest

import paddle
from tests._check import compare

C, F, N, t = paddle.compat, paddle.compat.nn.functional, paddle.compat.nn, paddle.to_tensor
Y = t([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])


def test_the_three_forms_of_max_and_min():
    assert float(C.max(Y)) == 5 and float(C.min(Y)) == 0
    values, indices = C.max(Y, 1)
    assert values.tolist() == [3, 5] and indices.tolist() == [0, 1] and indices.dtype is paddle.int64
    assert C.max(Y, dim=1, keepdim=True).values.shape == [2, 1] and C.min(Y, -1).indices.tolist() == [1, 0]
    assert C.max(Y, t([2.0, 2.0, 2.0])).tolist() == [[3, 2, 2], [2, 5, 5]]
    assert C.max(Y, other=t([2.0, 2.0, 2.0])).tolist() == [[3, 2, 2], [2, 5, 5]]
    assert [float(v) for v in C.max(t(3.0), 0)] == [3, 0]
    out = paddle.empty([2]), paddle.empty([2], "int64")
    C.max(Y, 1, out=out)
    assert out[0].tolist() == [3, 5] and out[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: C.max(Y, axis=1),
        lambda: C.max(x=Y),
        lambda: C.max(Y, foo=1),
        lambda: C.max(Y, keepdim=True),
        lambda: C.max(Y, 1, dim=1),
        lambda: C.max(Y, 1.5),
        lambda: C.sort(Y, axis=0),
    ],
)
def test_paddles_own_names_are_refused(call):
    with pytest.raises(TypeError):
        call()


def test_the_gradient_of_max_goes_to_the_place_that_is_returned():
    x = t([[1.0, 5.0, 5.0]], stop_gradient=False)
    C.max(x, 1).values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0]]


def test_medians():
    x = t([[3.0, 1.0, 2.0], [float("nan"), 5.0, 5.0]])
    assert float(C.median(t([1.0, 2.0, 3.0, 4.0]))) == 2 and float(C.nanmedian(x)) == 3
    values, indices = C.median(Y, 1)
    assert values.tolist() == [2, 5] and Y.numpy()[range(2), indices.numpy()].tolist() == [2, 5]
    assert C.median(Y, 1, True).values.shape == [2, 1] and C.nanmedian(x, 1).values.tolist() == [2, 5]
    assert np.isnan(C.median(x, 1).values.numpy()[1])


def test_sort_slogdet_equal_unique():
    values, indices = C.sort(Y, 0, True)
    assert values.tolist() == [[3, 5, 5], [0, 1, 2]] and indices.tolist() == [[0, 1, 1], [1, 0, 0]]
    sign, log = C.slogdet(t([[1.0, 2.0], [3.0, 4.0]]))
    assert float(sign) == -1 and abs(float(log) - np.log(2)) < 1e-5
    assert C.equal(Y, Y) is True and C.equal(Y, t([1.0])) is False
    out, inverse, counts = C.unique(t([[3, 1], [3, 1]]), return_inverse=True, return_counts=True)
    assert out.tolist() == [1, 3] and inverse.flatten().tolist() == [1, 0, 1, 0] and counts.tolist() == [2, 2]


def test_split():
    x = t([1, 2, 3, 4, 5])
    assert [p.tolist() for p in C.split(x, 2)] == [[1, 2], [3, 4], [5]]
    assert [p.tolist() for p in C.split(x, [2, 3])] == [[1, 2], [3, 4, 5]]
    assert [p.shape for p in C.split(paddle.ones([3, 4]), 3, -1)] == [[3, 3], [3, 1]]
    assert C.split(paddle.ones([0]), 2) == ()
    for sizes in (0, [2, 2], [-1, 6]):
        with pytest.raises(ValueError, match="split"):
            C.split(x, sizes)


def test_pad_counts_from_the_last_axis():
    compare(F.pad(t([[1.0, 2.0]]), (1, 0, 0, 1), value=7.0), [[7, 1, 2], [7, 7, 7]])
    x = np.arange(6.0, dtype="float32").reshape(1, 2, 3)
    for mode, numpy_mode in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        compare(F.pad(t(x), (1, 1), mode), np.pad(x, ((0, 0), (0, 0), (1, 1)), numpy_mode))
        compare(F.pad(t(x[0]), (1, 1), mode), np.pad(x[0], ((0, 0), (1, 1)), numpy_mode))
    for amounts, mode in (((1,), "constant"), ((1,) * 8, "constant"), ((1, 1), "foo"), ((1, 1) * 3, "reflect")):
        with pytest.raises(ValueError, match="pad"):
            F.pad(t(x), amounts, mode)


def test_softmax_chooses_its_axis_and_linear_is_transposed():
    x = np.random.RandomState(0).randn(2, 3, 4).astype("float32")
    compare(F.softmax(t(x)).sum(0), np.ones((3, 4)))
    compare(paddle.softmax(t(x[0])).sum(1), np.ones(3))
    assert F.softmax(t(x), 1, dtype="float64").dtype is paddle.float64
    compare(F.linear(t(x), t(x[0, :, :]), t([1.0, 2.0, 3.0])), x @ x[0].T + [1, 2, 3], rtol=1e-4)
    assert float(F.linear(paddle.ones([3]), paddle.ones([3]))) == 3


def attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p @ v, p


def test_scaled_dot_product_attention():
    rng = np.random.RandomState(0)
    q, k, v = rng.randn(1, 4, 3, 8), rng.randn(1, 4, 5, 8), rng.randn(1, 4, 5, 8)
    seen = rng.rand(3, 5) < 0.7
    compare(F.scaled_dot_product_attention(t(q), t(k), t(v), t(seen)), attention(q, k, v, seen)[0])
    compare(F.scaled_dot_product_attention(t(q), t(q), t(q), is_causal=True), attention(q, q, q, np.tri(3) > 0)[0])
    got = F.scaled_dot_product_attention(t(q), t(k[:, ::2].copy()), t(v[:, ::2].copy()), enable_gqa=True)
    compare(got, attention(q, k[:, ::2].repeat(2, 1), v[:, ::2].repeat(2, 1))[0])
    with pytest.raises(ValueError, match="not both"):
        F.scaled_dot_product_attention(t(q), t(k), t(v), t(seen), is_causal=True)


@pytest.mark.parametrize("batch_first", [False, True])
def test_multihead_attention(batch_first):
    rng = np.random.RandomState(0)
    layer = N.MultiheadAttention(8, 2, batch_first=batch_first)
    layer.eval()
    q, k = rng.randn(2, 3, 8).astype("float32"), rng.randn(2, 5, 8).astype("float32")
    hidden = np.array([[True, False, False, False, True], [False] * 5])
    w, b = layer.in_proj_weight.numpy(), layer.in_proj_bias.numpy()
    parts = [x @ w[8 * i : 8 * i + 8].T + b[8 * i : 8 * i + 8] for i, x in enumerate((q, k, k))]
    heads = [p.reshape(2, -1, 2, 4).swapaxes(1, 2) for p in parts]
    out, weights = attention(*heads, ~hidden[:, None, None])
    out = out.swapaxes(1, 2).reshape(2, 3, 8) @ layer.out_proj.weight.numpy().T + layer.out_proj.bias.numpy()
    turn = (lambda x: x) if batch_first else (lambda x: np.swapaxes(x, 0, 1))
    args = [t(turn(x).copy()) for x in (q, k, k)]
    got, got_weights = layer(*args, key_padding_mask=t(hidden))
    compare(got, turn(out), atol=1e-5)
    compare(got_weights, weights.mean(1), atol=1e-5)
    assert layer(*args, average_attn_weights=False)[1].shape == [2, 2, 3, 5]
    assert layer(*args, need_weights=False)[1] is None


def test_multihead_attention_variants():
    x, y = paddle.rand([3, 2, 8]), paddle.rand([5, 2, 8])
    single = N.MultiheadAttention(8, 2)(paddle.rand([3, 8]), paddle.rand([5, 8]), paddle.rand([5, 8]))
    assert [p.shape for p in single] == [[3, 8], [3, 5]]
    other = N.MultiheadAttention(8, 2, kdim=4, vdim=5, bias=False)
    assert other(x, paddle.rand([5, 2, 4]), paddle.rand([5, 2, 5]))[0].shape == [3, 2, 8]
    more = N.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
    causal = more(x, x, x, is_causal=True)[1].numpy()
    assert causal.shape == (2, 3, 5) and (causal[:, 0, 1:3] == 0).all() and (causal[:, 0, 3:] > 0).all()
    assert more(x, y, y, attn_mask=paddle.zeros([3, 5]))[0].shape == [3, 2, 8]
    with pytest.raises(ValueError, match="num_heads"):
        N.MultiheadAttention(8, 3)


def test_layers():
    layer = N.Linear(100, 3)
    assert repr(layer) == "Linear(in_features=100, out_features=3, bias=True)" and layer.weight.shape == [3, 100]
    assert float(layer.weight.abs().max()) <= 0.1 and float(layer.bias.abs().max()) > 0
    before = layer.weight.numpy()
    layer.reset_parameters()
    assert (layer.weight.numpy() != before).any() and N.Linear(3, 4, bias=False).bias is None
    assert repr(N.AvgPool2D(2)) == "AvgPool2D(kernel_size=2, stride=2, padding=0)"
    assert repr(N.AvgPool1D(2)) == "AvgPool1D(kernel_size=(2,), stride=(2,), padding=(0,))"
    compare(N.AvgPool1D(2, padding=1)(paddle.ones([1, 1, 4])), [[[0.5, 1, 0.5]]])
    compare(N.AvgPool1D(2, padding=1, count_include_pad=False)(paddle.ones([1, 1, 4])), [[[1, 1, 1]]])
    assert float(N.AvgPool2D(2, divisor_override=2)(paddle.ones([1, 1, 2, 2]))) == 2
    assert N.Unfold(2)(paddle.ones([1, 1, 4, 4])).shape == [1, 4, 9]


def test_import_torch_gives_paddle_inside_the_guard_only():
    before = {n: m for n, m in sys.modules.items() if n.split(".")[0] == "torch"}
    with paddle.use_compat_guard():
        import torch
        import torch.nn.functional as functional
        from torch.nn import Linear

        assert torch.ones([2]).tolist() == [1, 1] and torch.tensor([1]).tolist() == [1]
        assert torch.max is paddle.compat.max and torch.sin is paddle.sin
        assert Linear is paddle.compat.nn.Linear and functional.linear is F.linear
        assert functional.relu is paddle.nn.functional.relu
        with pytest.raises(AttributeError, match="counterpart"):
            torch.no_such_name
        with paddle.use_compat_guard(enable=False):
            assert "torch" not in sys.modules or sys.modules["torch"] is before.get("torch")
    assert {n: m for n, m in sys.modules.items() if n.split(".")[0] == "torch"} == before


def test_scope_and_blocked_modules():
    paddle.enable_compat(scope={"somewhere_else"})
    try:
        with pytest.raises((ModuleNotFoundError, AssertionError)):
            import torch

            assert not torch.__name__  # an installed package
        paddle.enable_compat(blocked_modules={__name__.split(".")[0]})
        with pytest.raises((ModuleNotFoundError, AssertionError)):
            import torch

            assert not torch.__name__
    finally:
        paddle.disable_compat()
