"""Losses: values against NumPy and SciPy, recorded official conventions, gradients, errors."""

import numpy as np
import pytest
import scipy.special

import paddle
import paddle.nn.functional as F

from _check import check_grad, compare

t = paddle.to_tensor
R = np.random.RandomState(0)
X, Y = R.randn(4, 3), np.array([0, 2, 1, 1])
LOGS = scipy.special.log_softmax(X, 1)
W = np.array([0.5, 1.0, 2.0])
SOFT = scipy.special.softmax(R.randn(4, 3), 1)
P, Q = scipy.special.expit(R.randn(4, 3)), scipy.special.expit(R.randn(4, 3))
SIGNS = np.array([[1.0, -1, 1], [-1, 1, 1], [1, 1, -1], [-1, -1, 1]])


def reductions(function, per_sample, *arrays, mean=None, **options):
    """The three reductions of a loss."""
    tensors = [t(a) for a in arrays]
    compare(function(*tensors, reduction="none", **options), per_sample, 1e-8, 1e-9)
    compare(function(*tensors, reduction="sum", **options), per_sample.sum(), 1e-8, 1e-9)
    compare(function(*tensors, reduction="mean", **options), per_sample.mean() if mean is None else mean, 1e-8, 1e-9)
    with pytest.raises(ValueError, match="reduction"):
        function(*tensors, reduction="other", **options)


# ---- cross entropy ----


def test_cross_entropy_of_class_numbers():
    loss = -LOGS[range(4), Y]
    reductions(F.cross_entropy, loss, X, Y)
    reductions(F.cross_entropy, loss[:, None], X, Y[:, None])
    reductions(F.cross_entropy, loss * W[Y], X, Y, weight=t(W), mean=(loss * W[Y]).sum() / W[Y].sum())
    reductions(F.cross_entropy, -np.log(P)[range(4), Y], P, Y, use_softmax=False)
    for dtype in ("int32", "uint8", "float32"):
        compare(F.cross_entropy(t(X), t(Y.astype(dtype))), loss.mean(), 1e-9)
    compare(F.cross_entropy(t(X[0]), t(1)), -LOGS[0, 1], 1e-9)


def test_cross_entropy_ignoring_a_class():
    loss = -LOGS[range(4), Y]
    kept = loss * (Y != 1)
    reductions(F.cross_entropy, kept, X, Y, ignore_index=1, mean=kept.sum() / 2)
    reductions(F.cross_entropy, kept * W[Y], X, Y, ignore_index=1, weight=t(W), mean=(kept * W[Y]).sum() / 2.5)
    away = np.where(Y == 1, -100, Y)
    reductions(F.cross_entropy, kept, X, away, mean=kept.sum() / 4)  # a negative ignore_index stays in the count
    x = t(X, stop_gradient=False)
    out = F.cross_entropy(x, t(np.full(4, -100)))
    out.backward()
    assert out.item() == 0 and x.grad.abs().sum().item() == 0
    assert F.cross_entropy(t(X), t(np.full(4, 1)), ignore_index=1).item() == 0
    assert np.isnan(F.cross_entropy(paddle.zeros([0, 3]), paddle.zeros([0], "int64")).item())


def test_cross_entropy_of_probabilities():
    loss = -(SOFT * LOGS).sum(1, keepdims=True)
    reductions(F.cross_entropy, loss, X, SOFT, soft_label=True)
    factor = (SOFT * W).sum(1, keepdims=True)
    reductions(
        F.cross_entropy, loss * factor, X, SOFT, soft_label=True, weight=t(W), mean=(loss * factor).sum() / factor.sum()
    )


def test_label_smoothing():
    smooth = 0.9 * np.eye(3)[Y] + 0.1 / 3
    loss = -(smooth * LOGS).sum(1, keepdims=True)
    reductions(F.cross_entropy, loss, X, Y, label_smoothing=0.1)
    reductions(F.cross_entropy, loss, X, np.eye(3)[Y], label_smoothing=0.1, soft_label=True)
    factor = (smooth * W).sum(1, keepdims=True)
    reductions(
        F.cross_entropy,
        loss * factor,
        X,
        Y,
        label_smoothing=0.1,
        weight=t(W),
        mean=(loss * factor).sum() / factor.sum(),
    )
    kept = loss * (Y != 1)[:, None]
    reductions(F.cross_entropy, kept, X, Y, label_smoothing=0.1, ignore_index=1, mean=kept.sum() / 2)


def test_cross_entropy_along_another_axis():
    x, y = R.randn(2, 3, 4), R.randint(0, 3, (2, 4))
    want = -np.take_along_axis(scipy.special.log_softmax(x, 1), y[:, None], 1)[:, 0]
    compare(F.cross_entropy(t(x), t(y), axis=1, reduction="none"), want, 1e-9)
    compare(F.cross_entropy(t(x), t(y), t(W), axis=1), (want * W[y]).sum() / W[y].sum(), 1e-9)
    smooth = 0.7 * np.moveaxis(np.eye(3)[y], -1, 1) + 0.1
    want = -(smooth * scipy.special.log_softmax(x, 1)).sum(1, keepdims=True)
    compare(F.cross_entropy(t(x), t(y), axis=1, label_smoothing=0.3, reduction="none"), want, 1e-9)


@pytest.mark.parametrize(
    "options", [dict(), dict(ignore_index=1), dict(label_smoothing=0.2), dict(weight=t(W)), dict(use_softmax=False)]
)
def test_cross_entropy_gradients(options):
    x = P if "use_softmax" in options else X
    check_grad(lambda x: F.cross_entropy(x, t(Y), **options), x, order=2, rtol=1e-4, atol=1e-5)


def test_cross_entropy_soft_gradients():
    check_grad(lambda x, y: F.cross_entropy(x, y, soft_label=True), X, SOFT)


def test_cross_entropy_of_huge_logits():
    x = t([[1e30, -1e30, 0.0]], stop_gradient=False)
    loss = F.cross_entropy(x, t([0]))
    loss.backward()
    assert loss.item() == 0 and np.isfinite(x.grad.numpy()).all()
    half = F.cross_entropy(t(X).astype("bfloat16"), t(Y))
    assert half.dtype is paddle.bfloat16


@pytest.mark.parametrize("label", [3, -1, 2**40])
def test_labels_out_of_range(label):
    with pytest.raises(IndexError, match=str(label)):
        F.cross_entropy(t(X), t([0, 1, label, 0]))
    with pytest.raises(IndexError):
        F.softmax_with_cross_entropy(t(X), t([[0], [1], [label], [0]]))
    with pytest.raises(ValueError, match=str(label)):
        F.nll_loss(t(X), t([0, 1, label, 0]))


def test_softmax_with_cross_entropy():
    loss = -LOGS[range(4), Y][:, None]
    compare(F.softmax_with_cross_entropy(t(X), t(Y[:, None])), loss, 1e-9)
    out, softmax = F.softmax_with_cross_entropy(t(X), t(SOFT), soft_label=True, return_softmax=True)
    compare(softmax, np.exp(LOGS), 1e-9)
    compare(out, -(SOFT * LOGS).sum(1, keepdims=True), 1e-9)
    with pytest.raises(ValueError):
        F.softmax_with_cross_entropy(t(X), t(Y))


def test_nll_loss():
    loss = -LOGS[range(4), Y]
    reductions(F.nll_loss, loss, LOGS, Y)
    kept = loss * W[Y] * (Y != 1)
    reductions(F.nll_loss, kept, LOGS, Y, weight=t(W), ignore_index=1, mean=kept.sum() / 2.5)
    assert F.nll_loss(t(X), t(np.full(4, -100))).item() == 0
    x, y = R.randn(2, 3, 2, 2), R.randint(0, 3, (2, 2, 2))
    compare(F.nll_loss(t(x), t(y), reduction="none"), -np.take_along_axis(x, y[:, None], 1)[:, 0])
    check_grad(lambda x: F.nll_loss(x, t(Y), t(W)), X)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.cross_entropy(t(X), t(Y), weight=paddle.ones([5])),
        lambda: F.cross_entropy(t(X), t(Y[:2])),
        lambda: F.cross_entropy(t(X), t([[[0]]])),
        lambda: F.cross_entropy(t(X), t(SOFT[:, :2]), soft_label=True),
        lambda: F.cross_entropy(t(X), t(SOFT), soft_label=True, ignore_index=1),
        lambda: F.cross_entropy(t(X), t(Y), axis=3),
        lambda: F.cross_entropy(t(X), t(Y), label_smoothing=1.5),
        lambda: F.cross_entropy(t(1.0), t(0)),
        lambda: F.nll_loss(t(X), t(Y[:2])),
        lambda: F.nll_loss(t(X), t(Y), t(W[:2])),
        lambda: F.binary_cross_entropy(t([1.5]), t([1.0])),
        lambda: F.binary_cross_entropy(t(P), t(Q[:1])),
        lambda: F.smooth_l1_loss(t(X), t(X[:1])),
        lambda: F.kl_div(t(X), t(X[:1])),
        lambda: F.poisson_nll_loss(t(X), t(X), epsilon=0.0),
        lambda: F.gaussian_nll_loss(t(X), t(X), -t(P)),
        lambda: F.gaussian_nll_loss(t(X), t(X), t(P[:1])),
        lambda: F.cosine_embedding_loss(t(X), t(X), t([1, 1])),
        lambda: F.multi_margin_loss(t(X), t(Y + 1)),
        lambda: F.multi_label_margin_loss(t(X), t(np.full((4, 3), 3))),
        lambda: F.multi_label_margin_loss(t(X), t(np.full((4, 3), -2))),
        lambda: F.triplet_margin_loss(t(X), t(X), t(X), margin=-1.0),
        lambda: F.triplet_margin_loss(t(X), t(X[:1]), t(X)),
        lambda: F.triplet_margin_with_distance_loss(t(X), t(X), t(X), lambda a, b: -a.abs().sum(-1)),
        lambda: F.sigmoid_focal_loss(t(X), t(P), paddle.ones([2, 2])),
        lambda: F.dice_loss(t(SOFT), t(Y)),
    ],
)
def test_bad_arguments(call):
    with pytest.raises(ValueError):
        call()


# ---- binary ----


def test_binary_cross_entropy():
    loss = -(Q * np.log(P) + (1 - Q) * np.log(1 - P))
    reductions(F.binary_cross_entropy, loss, P, Q)
    reductions(F.binary_cross_entropy, loss * W, P, Q, weight=t(W))
    check_grad(F.binary_cross_entropy, P, Q, order=2, rtol=1e-4, atol=1e-5)
    compare(F.binary_cross_entropy(t([0.0, 1, 0, 1]), t([0.0, 1, 1, 0]), reduction="none"), [0, 0, 100, 100])
    x = t(np.array([0, 1, 0.3], "float32"), stop_gradient=False)
    F.binary_cross_entropy(x, t([1.0, 0, 0.3]), reduction="sum").backward()
    compare(x.grad, [-1e12, 1e12, 0], 1e-5)


def test_binary_cross_entropy_with_logits():
    p = scipy.special.expit(X)
    loss = -(Q * np.log(p) + (1 - Q) * np.log(1 - p))
    reductions(F.binary_cross_entropy_with_logits, loss, X, Q)
    reductions(F.binary_cross_entropy_with_logits, loss * W, X, Q, weight=t(W))
    reductions(
        F.binary_cross_entropy_with_logits, -(W * Q * np.log(p) + (1 - Q) * np.log(1 - p)), X, Q, pos_weight=t(W)
    )
    check_grad(lambda x: F.binary_cross_entropy_with_logits(x, t(Q), pos_weight=t(W)), X, order=2, rtol=1e-4, atol=1e-5)
    x = t([-80.0, 80, -80, 80], stop_gradient=False)
    y = F.binary_cross_entropy_with_logits(x, t([0.0, 1, 1, 0]), reduction="none")
    y.sum().backward()
    compare(y, [0, 0, 80, 80])
    compare(x.grad, [0, 0, -1, 1])


def test_sigmoid_focal_and_log_loss():
    p, y = scipy.special.expit(X), (Q > 0.5) * 1.0
    right = p * y + (1 - p) * (1 - y)
    loss = -(0.3 * y + 0.7 * (1 - y)) * (1 - right) ** 1.5 * np.log(right)
    reductions(F.sigmoid_focal_loss, loss / 2, X, y, normalizer=t([2.0]), alpha=0.3, gamma=1.5)
    check_grad(lambda x: F.sigmoid_focal_loss(x, t(y)), X, order=2, rtol=1e-4, atol=1e-5)
    compare(
        F.log_loss(t(P[:, :1]), t(Q[:, :1])),
        -Q[:, :1] * np.log(P[:, :1] + 1e-4) - (1 - Q[:, :1]) * np.log(1 - P[:, :1] + 1e-4),
        1e-9,
    )


# ---- numbers ----


def test_differences():
    reductions(F.mse_loss, (X - Q) ** 2, X, Q)
    reductions(F.l1_loss, abs(X - Q), X, Q)
    compare(F.square_error_cost(t(X), t(Q[:1])), (X - Q[:1]) ** 2)
    size = abs(3 * X - Q)
    for delta in (0.5, 1.0):
        huber = np.where(size < delta, 0.5 * size**2, delta * (size - 0.5 * delta))
        reductions(F.smooth_l1_loss, huber, 3 * X, Q, delta=delta)
        reductions(F.smooth_l1_loss, huber / delta, 3 * X, Q, delta=delta, is_huber=False)
    check_grad(F.smooth_l1_loss, 3 * X, Q)
    x = t(X, stop_gradient=False)
    F.l1_loss(x, t(X)).backward()
    assert x.grad.abs().sum().item() == 0
    assert F.l1_loss(t([1, 2]), t([2, 4])).dtype is paddle.float32


def test_distributions():
    loss = SOFT * (np.log(SOFT) - LOGS)
    reductions(F.kl_div, loss, LOGS, SOFT)
    reductions(F.kl_div, loss, LOGS, np.log(SOFT), log_target=True)
    compare(F.kl_div(t(LOGS), t(SOFT), "batchmean"), loss.sum() / 4, 1e-9)
    assert F.kl_div(t([0.5]), t([0.0])).item() == 0
    check_grad(F.kl_div, LOGS, SOFT)
    y = np.floor(5 * Q)
    reductions(F.poisson_nll_loss, np.exp(X) - y * X, X, y)
    stirling = np.where(y > 1, y * np.log(np.maximum(y, 1)) - y + 0.5 * np.log(2 * np.pi * np.maximum(y, 1)), 0)
    reductions(F.poisson_nll_loss, P - y * np.log(P + 1e-3) + stirling, P, y, log_input=False, full=True, epsilon=1e-3)
    reductions(F.gaussian_nll_loss, 0.5 * (np.log(P) + (X - Q) ** 2 / P), X, Q, P)
    column = np.maximum(P[:, :1], 0.5)
    reductions(
        F.gaussian_nll_loss,
        0.5 * (np.log(column) + (X - Q) ** 2 / column + np.log(2 * np.pi)),
        X,
        Q,
        P[:, 0],
        full=True,
        epsilon=0.5,
    )


# ---- margins ----


def test_margins():
    reductions(F.margin_ranking_loss, np.maximum(0, 0.1 - SIGNS * (X - Q)), X, Q, SIGNS, margin=0.1)
    reductions(F.hinge_embedding_loss, np.where(SIGNS == 1, X, np.maximum(0, 1.5 - X)), X, SIGNS, margin=1.5)
    reductions(F.soft_margin_loss, np.log1p(np.exp(-SIGNS * X)), X, SIGNS)
    cosine = (X * Q).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Q, axis=1)
    reductions(
        F.cosine_embedding_loss,
        np.where([1, 0, 1, 0], 1 - cosine, np.maximum(0, cosine - 0.1)),
        X,
        Q,
        np.array([1, -1, 1, -1]),
        margin=0.1,
    )
    check_grad(lambda x, y: F.cosine_embedding_loss(x, y, t([1, -1, 1, -1])), X, Q)
    margin = np.maximum(0, 0.7 - X[range(4), Y][:, None] + X)
    margin[range(4), Y] = 0
    for p in (1, 2):
        reductions(F.multi_margin_loss, (margin**p).sum(1) / 3 * W[Y], X, Y, p=p, margin=0.7, weight=t(W))
    check_grad(lambda x: F.multi_margin_loss(x, t(Y), 2), X)


def test_several_labels():
    y = (Q > 0.5) * 1.0
    p = scipy.special.expit(X)
    reductions(
        F.multi_label_soft_margin_loss, (-(y * np.log(p) + (1 - y) * np.log(1 - p)) * W).mean(1), X, y, weight=t(W)
    )
    labels = [[1, 2, -1], [0, -1, 2], [2, 1, 0], [-1, 0, 1]]
    want = []
    for x, row in zip(X, labels):
        mine = row[: row.index(-1)] if -1 in row else row
        want.append(sum(max(0, 1 - (x[j] - x[i])) for j in mine for i in range(3) if i not in mine) / 3)
    reductions(F.multi_label_margin_loss, np.array(want), X, np.array(labels))
    onehot = np.eye(3)[Y]
    compare(F.dice_loss(t(SOFT), t(Y[:, None])), np.mean(1 - 2 * (SOFT * onehot).sum(1) / (2 + 1e-5)), 1e-9)
    same = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])
    same = same / same.sum(1, keepdims=True)
    norms = 0.25 * 0.002 * ((X**2).sum(1).mean() + (Q**2).sum(1).mean())
    want = norms - (same * scipy.special.log_softmax(X @ Q.T, 1)).sum(1).mean()
    compare(F.npair_loss(t(X), t(Q), t([0.0, 1, 0, 2])), want, 1e-6)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_triplets(p):
    a, b, c = X, X + 0.3 * P, X - 0.2 * Q

    def distance(x, y):
        return np.linalg.norm(x - y + 1e-6, p, 1)

    for swap in (False, True):
        far = np.minimum(distance(a, c), distance(b, c)) if swap else distance(a, c)
        reductions(
            F.triplet_margin_loss, np.maximum(0, distance(a, b) - far + 0.5), a, b, c, margin=0.5, p=p, swap=swap
        )
    check_grad(lambda *v: F.triplet_margin_loss(*v, p=p), a, b, c)
    if p == 2:
        reductions(F.triplet_margin_with_distance_loss, np.maximum(0, distance(a, b) - distance(a, c) + 1), a, b, c)
        l1 = F.triplet_margin_with_distance_loss(t(a), t(b), t(c), lambda x, y: (x - y).abs().sum(-1), reduction="none")
        compare(l1, np.maximum(0, abs(a - b).sum(1) - abs(a - c).sum(1) + 1), 1e-9)


# ---- very many classes ----


def test_adaptive_softmax():
    x, head, bias = R.randn(4, 6), R.randn(6, 5), R.randn(5)
    tails = [[R.randn(6, 3), R.randn(3, 3)], [R.randn(6, 2), R.randn(2, 4)]]
    y = np.array([0, 2, 4, 8])
    tensors = [[t(w) for w in pair] for pair in tails]
    out, loss = F.adaptive_log_softmax_with_loss(t(x), t(y), t(head), tensors, [3, 6, 10], t(bias))
    first = scipy.special.log_softmax(x @ head + bias, 1)
    logs = [first[:, :3]] + [
        first[:, 3 + i : 4 + i] + scipy.special.log_softmax(x @ a @ b, 1) for i, (a, b) in enumerate(tails)
    ]
    want = np.concatenate(logs, 1)
    np.testing.assert_allclose(np.exp(want).sum(1), 1)
    compare(out, want[range(4), y], 1e-9)
    compare(loss, -want[range(4), y].mean(), 1e-9)
    compare(F.adaptive_log_softmax_with_loss(t(x[1]), t(2), t(head), tensors, [3, 6, 10], t(bias))[0], want[1, 2], 1e-9)
    check_grad(
        lambda x, a, b: F.adaptive_log_softmax_with_loss(x, t(y), t(head), [[a, b], tensors[1]], [3, 6, 10])[1],
        x,
        *tails[0],
    )
    for bad in (y + 5, y - 1, y[:2]):
        with pytest.raises(ValueError):
            F.adaptive_log_softmax_with_loss(t(x), t(bad), t(head), tensors, [3, 6, 10])


def test_margin_cross_entropy():
    x = np.tanh(X)
    moved = x.copy()
    moved[range(4), Y] = np.cos(1.2 * np.arccos(x[range(4), Y]) + 0.3) - 0.1
    logs = scipy.special.log_softmax(10 * moved, 1)
    options = dict(margin1=1.2, margin2=0.3, margin3=0.1, scale=10.0)
    loss, softmax = F.margin_cross_entropy(t(x), t(Y), return_softmax=True, reduction=None, **options)
    compare(loss, -logs[range(4), Y][:, None], 1e-6)
    compare(softmax, np.exp(logs), 1e-6)
    check_grad(lambda x: F.margin_cross_entropy(x, t(Y), **options), x)
    with pytest.raises(ValueError):
        F.margin_cross_entropy(t(x), t(Y + 1))
