"""Tokens of experts and float8 blocks."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as G
from paddle.incubate.nn import functional as F

from _check import check_grad, compare

t = paddle.to_tensor
R = np.random.RandomState(0)


def test_permute_and_unpermute():
    x = R.randn(3, 4).astype("float32")
    routes = np.array([[-1, 0, 2], [1, -1, -1], [-1, 1, -1]], "int32")
    weights = np.array([[0, 0.6, 0.4], [1, 0, 0], [0, 1, 0]], "float32")
    rows, rowmap, each, scale, expert = G.moe_permute(
        t(x), t(x[:, :1]), t(routes), t(weights), 3, [1, 2, 1], 2, return_expert_indices=True
    )
    zero = np.zeros(4)
    compare(rows, np.stack([x[0], zero, x[1], x[2], x[0], zero]))
    compare(each, [0.6, 0, 1, 1, 0.4, 0])
    compare(scale[:, 0], rows[:, 0].numpy())
    assert rowmap.tolist() == [[0, -1, 4], [-1, 2, -1], [-1, 3, -1]] and expert.tolist() == [0, -1, 1, 1, 2, -1]
    whole, back = G.moe_unpermute(rows, rowmap, t(routes), each, 3, 3, using_weighted_combine=True)
    compare(whole, x)
    compare(back, weights)
    compare(G.moe_unpermute(rows, rowmap, t(routes), each, 3, 3)[0], x * [[2], [1], [1]])
    check_grad(lambda x, w: G.moe_permute(x, None, t(routes), w, 3, [1, 2, 1], 2)[::2], x, weights)
    check_grad(
        lambda r, w: G.moe_unpermute(r, rowmap, t(routes), w, 3, 3, using_weighted_combine=True),
        rows.numpy(),
        each.numpy(),
    )
    for counts, route in (([1, 1, 1], routes), ([1, 2], routes), ([1, 2, 1], routes + 1)):
        with pytest.raises(ValueError, match="moe_permute"):
            G.moe_permute(t(x), None, t(route), t(weights), 3, counts, 2)


def test_combine():
    x, weights, at = R.randn(5, 3), R.rand(2, 3), R.randint(0, 5, (3, 2))
    want = sum(weights[:, k, None] * x[at[k]] for k in range(3))
    compare(F.moe_combine(t(x), t(weights), t(at)), want)
    check_grad(lambda x, w: F.moe_combine(x, w, t(at)), x, weights, order=2)
    with pytest.raises(ValueError):
        F.moe_combine(t(x), t(weights), t(at.T.copy()))


@pytest.mark.parametrize("method,shape", [("1x128", [3, 3]), ("128x128", [1, 3])])
@pytest.mark.parametrize("power", [False, True])
def test_float8_blocks(method, shape, power):
    x = (R.randn(3, 300) * np.exp(R.randn(3, 1) * 3)).astype("float32")
    x[1, :128] = 0
    q, scale, turned, turned_scale = F.fp8_quant_blockwise(
        t(x), input_transpose=True, using_pow2_scale=power, quant_method=method
    )
    assert q.dtype == paddle.float8_e4m3fn and scale.shape == shape and turned.shape == [300, 3]
    assert turned_scale.shape == ([300, 1] if method == "1x128" else [3, 1])
    factors = np.repeat(np.repeat(scale.numpy(), 3 // shape[0], 0), 128, 1)[:, :300]
    back = q.astype("float32").numpy() * factors
    assert np.all(np.abs(back - x) <= np.abs(x) / 16 + factors * 2.0**-9)
    if power:
        assert np.all(np.log2(scale.numpy()) % 1 == 0)
    else:
        assert np.abs(q.astype("float32").numpy()).max() == 448
    if method == "1x128":
        got = F.fused_act_dequant(q, scale)
        assert got.dtype == paddle.bfloat16
        compare(got.astype("float32"), back, rtol=1e-2)


def test_weighted_swiglu():
    x, g, w = R.randn(2, 3, 8).astype("float32"), R.randn(2, 3, 4).astype("float32"), R.rand(2, 3).astype("float32")
    tensors = [t(a, stop_gradient=False) for a in (x, w)]
    want = G.swiglu(tensors[0]) * tensors[1].unsqueeze(-1)
    grads = paddle.grad(want, tensors, t(g))
    for a, b in zip(F.fused_swiglu_weighted_bwd(t(x), t(g), t(w)), (*grads, want)):
        compare(a, b.numpy(), rtol=1e-4)
    q, scale = F.fused_weighted_swiglu_act_quant(t(x), t(w))
    compare(q.astype("float32") * scale, want.numpy(), rtol=0.07, atol=0.01)


def test_gradients_by_hand():
    logits, label = t(R.randn(3, 4).astype("float32"), stop_gradient=False), t([0, 3, 1])
    G.cross_entropy(logits, label, reduction="sum").backward()
    got = F.cross_entropy_with_softmax_bwd_w_downcast(label, G.softmax(logits), paddle.ones([3, 1]))
    assert got.dtype == paddle.bfloat16
    compare(got.astype("float32"), logits.grad.numpy(), rtol=1e-2, atol=1e-3)
    total = paddle.ones([4, 2])
    out = F.embedding_grad_add_to_(t([[1, 1, 3]]), total, paddle.ones([1, 3, 2]))
    assert out is total and total[:, 0].tolist() == [1, 3, 1, 2]


def test_what_is_not_built_says_so():
    with pytest.raises(NotImplementedError, match="moe_gate_dispatch"):
        F.moe_gate_dispatch(None, None, None, 1, 1, True)
