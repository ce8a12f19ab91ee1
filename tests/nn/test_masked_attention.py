"""Attention of packed sequences, with masks by columns and sparse ones, against plain attention."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.nn.functional.flash_attention import flash_attn_unpadded

from _check import check_grad, compare

t = paddle.to_tensor
R = np.random.RandomState(0)
ENDS_Q, ENDS_K = [0, 3, 3, 7], [0, 4, 5, 9]


def plain(q, k, v, seen, scale=None):
    return F.scaled_dot_product_attention(t(q)[None], t(k)[None], t(v)[None], t(seen), scale=scale)[0].numpy()


@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences(causal):
    q, k, v = R.randn(8, 4, 8), R.randn(9, 2, 8), R.randn(9, 2, 8)
    out = flash_attn_unpadded(t(q), t(k), t(v), t(ENDS_Q), t(ENDS_K), 4, 4, 0.3, causal=causal)[0]
    for b in range(3):
        rows, keys = slice(*ENDS_Q[b : b + 2]), slice(*ENDS_K[b : b + 2])
        n, m = len(q[rows]), len(k[keys])
        seen = np.tril(np.ones((n, m), bool), m - n) if causal else np.ones((n, m), bool)
        if n:
            compare(out[rows], plain(q[rows], k[keys], v[keys], seen, 0.3))
    assert not out[7].abs().any()
    other = F.flash_attention_v3_varlen(t(q), t(k), t(v), t(ENDS_Q), t(ENDS_K), 4, 4, softmax_scale=0.3, causal=causal)[
        0
    ]
    compare(other, out.numpy())
    check_grad(
        lambda q, k, v: flash_attn_unpadded(q, k, v, t([0, 1, 2]), t([0, 2, 3]), 1, 2, 0.3)[0],
        q[:2, :2, :2],
        k[:3, :, :2],
        v[:3, :, :2],
    )


def test_packed_in_one_tensor():
    qkv = R.randn(6, 4, 1, 8)
    out = F.flash_attn_varlen_qkvpacked(t(qkv), t([0, 2, 5]), t([0, 2, 5]), 3, 3, 0.5)[0]
    assert out.shape == [6, 2, 8] and not out[2].abs().any()
    for rows in (slice(0, 2), slice(3, 6)):
        n = len(qkv[rows])
        want = plain(qkv[rows, :2, 0], qkv[rows, 2], qkv[rows, 3], np.ones((n, n), bool), 0.5)
        compare(out[rows], want)
    tight = F.flash_attn_varlen_qkvpacked(
        t(qkv[[0, 1, 3, 4, 5]]), t([0, 2, 5]), t([0, 2, 5]), 3, 3, 0.5, varlen_padded=False
    )[0]
    compare(tight, out.numpy()[[0, 1, 3, 4, 5]])


def test_packed_rejects():
    x = paddle.ones([5, 1, 4])
    for ends, longest in (([0, 6], 6), ([0, 3, 5], 2), ([0, 4, 3, 5], 5), ([1, 5], 5), ([[0, 5]], 5), ([0.0, 5.0], 5)):
        with pytest.raises(ValueError, match="flash_attn_unpadded"):
            flash_attn_unpadded(x, x, x, t(ends), t(ends), longest, longest, 0.5)
    with pytest.raises(ValueError):
        F.flash_attn_varlen_qkvpacked(paddle.ones([5, 3, 1, 4]), t([0, 2, 5]), t([0, 2, 5]), 3, 3, 0.5)
    with pytest.raises(NotImplementedError):
        F.flash_attention_v3_varlen(x, x, x, t([0, 5]), t([0, 5]), 5, 5, softcap=1.0)


def dense(rows, causal, length):
    """The mask, one element after the other."""
    batch, heads, keys, n = rows.shape
    seen = np.ones((batch, heads, length, keys), bool)
    for b, h, i, j in np.ndindex(*seen.shape):
        r = rows[b, h, j]
        if causal:
            hidden = i >= r[0] and (n == 1 or i < r[1]) or j > i
        else:
            hidden = i >= r[0] or i < r[1] if n == 2 else r[0] <= i < r[1] or r[2] <= i < r[3]
        seen[b, h, i, j] = not hidden
    return seen


@pytest.mark.parametrize("causal,n,heads", [(True, 1, 1), (True, 2, 2), (False, 2, 1), (False, 4, 2)])
def test_flashmask(causal, n, heads):
    q, k = R.randn(2, 5, 4, 8).astype("float32"), R.randn(2, 5, 2, 8).astype("float32")
    rows = R.randint(0, 6, (2, heads, 5, n)).astype("int32")
    got = F.flashmask_attention(t(q), t(k), t(k), t(rows), causal=causal)
    seen = np.repeat(dense(rows, causal, 5), 4 // heads, 1)
    compare(got, F.scaled_dot_product_attention(t(q), t(k), t(k), t(seen)).numpy())
    with pytest.raises(ValueError, match="startend_row_indices"):
        F.flashmask_attention(t(q), t(k), t(k), t(rows[..., :1]), causal=False)


def test_flashmask_window_and_dropout():
    q = R.randn(1, 6, 1, 8).astype("float32")
    i, j = np.mgrid[:6, :6]
    got = F.flashmask_attention(t(q), t(q), t(q), causal=True, window_size=2)
    compare(got, F.scaled_dot_product_attention(t(q), t(q), t(q), t((j <= i) & (j >= i - 2))).numpy())
    got = F.flashmask_attention(t(q), t(q), t(q), window_size=(1, 3))
    compare(got, F.scaled_dot_product_attention(t(q), t(q), t(q), t((j <= i + 3) & (j >= i - 1))).numpy())
    assert np.abs(F.flashmask_attention(t(q), t(q), t(q), dropout=0.5).numpy()).max() > 0


def test_sparse_attention():
    q, k, v = R.randn(3, 1, 2, 4, 8).astype("float32")
    seen = R.rand(1, 2, 4, 4) > 0.4
    seen[0, :, range(4), range(4)] = True
    n = seen.sum((2, 3)).max()
    ends = np.concatenate([np.zeros((1, 2, 1), int), seen.sum(3).cumsum(2)], 2)
    columns = np.zeros((1, 2, n), int)
    for h in range(2):
        columns[0, h, : seen[0, h].sum()] = np.nonzero(seen[0, h])[1]
    turned = [t(a.swapaxes(1, 2).copy()) for a in (q, k, v)]
    args = t(q), t(k), t(v), t(ends.astype("int32")), t(columns.astype("int32"))
    compare(F.sparse_attention(*args), F.scaled_dot_product_attention(*turned, t(seen)).numpy().swapaxes(1, 2))
    keys, pairs = np.array([[1, 1, 0, 1]], "float32"), np.tril(np.ones((4, 4), "float32"))
    seen = seen & (keys != 0)[:, None, None] & (pairs != 0)
    compare(
        F.sparse_attention(*args, t(keys), t(pairs)),
        F.scaled_dot_product_attention(*turned, t(seen)).numpy().swapaxes(1, 2),
    )
    with pytest.raises(ValueError, match="sparse_attention"):
        F.sparse_attention(*args[:4], args[4] + 4)


def test_backends_of_attention(monkeypatch):
    from paddle.nn.attention import SDPBackend, sdpa_kernel
    from paddle.ops import attention

    x = paddle.to_tensor(np.random.RandomState(0).randn(1, 4, 2, 8).astype("float32")).astype("bfloat16")
    want = F.scaled_dot_product_attention(x, x, x, is_causal=True)
    with sdpa_kernel([SDPBackend.MATH]):
        compare(F.scaled_dot_product_attention(x, x, x, is_causal=True), want.numpy())
    with pytest.raises(RuntimeError, match="no backend"), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        F.scaled_dot_product_attention(x, x, x)
    for backends, error in ((3, AssertionError), ([], ValueError), ([3], TypeError)):
        with pytest.raises(error), sdpa_kernel(backends):
            pass
    # The way through cuDNN's kernel, here computed by XLA.
    kernel = attention.jax.nn.dot_product_attention
    asked = []

    def stand_in(*args, implementation, **settings):
        asked.append(implementation)
        return kernel(*args, implementation="xla", **settings)

    monkeypatch.setattr(attention.jax.nn, "dot_product_attention", stand_in)
    monkeypatch.setattr(type(x.place), "is_gpu_place", lambda place: True)
    q = x.detach()
    q.stop_gradient = False
    out = F.scaled_dot_product_attention(q, x, x, is_causal=True)
    compare(out.astype("float32"), want.astype("float32").numpy(), rtol=2e-2, atol=2e-2)
    out.sum().backward()
    assert asked and set(asked) == {"cudnn"} and q.grad.shape == q.shape
    asked.clear()
    F.scaled_dot_product_attention(x, x, x, attn_mask=paddle.ones([4, 4], "bool"))
    with sdpa_kernel(SDPBackend.MATH):
        F.scaled_dot_product_attention(x, x, x)
    assert not asked
