"""Losses over alignments and trees, against sums over all paths and values of the official package."""

import itertools

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.ops.sequence_loss import _ctc_loss

from _check import check_grad, compare


def ints(values, dtype="int64"):
    return paddle.to_tensor(np.array(values, dtype))


def log_softmax(x):
    x = x.astype("float64")
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def ctc_by_paths(logits, label):
    """Minus the log of the sum over all paths that collapse to the label (class 0 is blank)."""
    p = np.exp(log_softmax(logits))
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        if [k for k, _ in itertools.groupby(path) if k] == list(label):
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    return -np.log(total)


CTC = np.random.RandomState(0).randn(5, 4, 3).astype("float32")
CTC_LABELS = [[1, 2, 1], [2, 2, -1], [1, 7, 7], [0, 0, 0]]
CTC_TIMES, CTC_LENGTHS = [5, 4, 5, 3], [3, 2, 1, 0]


def ctc(x, labels=CTC_LABELS, times=CTC_TIMES, lengths=CTC_LENGTHS, **settings):
    return F.ctc_loss(x, ints(labels, "int32"), ints(times), ints(lengths), **settings)


def test_ctc_is_the_sum_over_paths():
    want = [ctc_by_paths(CTC[:t, b], CTC_LABELS[b][:n]) for b, (t, n) in enumerate(zip(CTC_TIMES, CTC_LENGTHS))]
    compare(ctc(paddle.to_tensor(CTC), reduction="none"), np.array(want), rtol=1e-5)
    compare(ctc(paddle.to_tensor(CTC), reduction="sum"), np.sum(want), rtol=1e-5)
    compare(ctc(paddle.to_tensor(CTC)), np.mean(np.array(want) / [3, 2, 1, 1]), rtol=1e-5)


def test_ctc_blank_of_another_number():
    turned = np.roll(CTC, -1, 2)  # class k becomes k - 1, the blank the last one
    got = ctc(paddle.to_tensor(turned), np.array(CTC_LABELS) - 1, blank=2, reduction="none")
    compare(got, ctc(paddle.to_tensor(CTC), reduction="none").numpy())


def test_ctc_gradients():
    x = CTC[:4, :2].astype("float64")
    check_grad(
        lambda x: F.ctc_loss(x, ints([[1, 2], [2, 2]]), ints([4, 3]), ints([2, 2]), reduction="none"),
        x,
        order=2,
        rtol=1e-4,
        atol=1e-5,
    )


def test_ctc_norm_by_times_changes_gradients_only():
    x = np.random.RandomState(0).randn(4, 2, 3).astype("float32")
    grads, losses = [], []
    for by_times in (False, True):
        t = paddle.to_tensor(x, stop_gradient=False)
        loss = ctc(t, [[1, 2], [2, 0]], [4, 3], [2, 1], reduction="none", norm_by_times=by_times)
        loss.sum().backward()
        grads.append(t.grad.numpy())
        losses.append(loss.numpy())
    compare(losses[1], losses[0])
    compare(grads[1], grads[0] / np.array([4, 3]).reshape(1, 2, 1))
    assert np.abs(grads[0]).max() > 0.1


def test_ctc_values_of_the_official_package():
    x = paddle.to_tensor(np.random.RandomState(0).randn(4, 2, 3).astype("float32"), stop_gradient=False)
    loss = ctc(x, [[1, 2], [2, 0]], [4, 4], [2, 1])
    loss.backward()
    compare(loss, 1.9835358)
    compare(x.grad.flatten()[:6], [0.04206458, -0.10866386, 0.06659936, -0.19140494, 0.19914646, -0.00774158])


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_of_an_impossible_label_is_zero(zero_infinity):
    x = paddle.to_tensor(CTC, stop_gradient=False)
    loss = ctc(x, [[1, 1, 0]] * 4, [2, 3, 0, 0], [2, 2, 1, 0], reduction="none", zero_infinity=zero_infinity)
    loss.sum().backward()
    assert loss[0].item() == 0 and loss[1].item() > 0 and loss[2].item() == 0 and loss[3].item() == 0
    assert not x.grad[:, [0, 2, 3]].abs().any() and x.grad[:, 1].abs().max() > 0.1


def test_ctc_shows_nan_and_survives_large_scores():
    x = CTC.copy()
    x[0, 0, 0] = np.nan
    x[:, 1] *= 1e4
    t = paddle.to_tensor(x, stop_gradient=False)
    loss = ctc(t, reduction="none")
    loss[1:].sum().backward()
    assert np.isnan(loss[0].item()) and np.isfinite(loss[1:].numpy()).all() and np.isfinite(t.grad[:, 1:].numpy()).all()


def test_ctc_of_labels_that_nobody_looked_at():
    got = _ctc_loss(
        paddle.to_tensor(CTC), ints([[1, 3], [-1, 2], [1, 2], [2, 1]]), ints([5, 5, 6, 5]), ints([2, 1, 1, 2]), 0, False
    )
    assert np.isnan(got.numpy()).tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"lengths": [3, 2, 1, 4]},
        {"times": [6, 4, 5, 3]},
        {"lengths": [3, 2, -1, 0]},
        {"times": [5, 4, 5]},
        {"labels": [[1, 2, 3]] * 4},
        {"labels": [1, 2, 3, 1]},
        {"labels": [[1, 2, 1]] * 3},
        {"blank": 3},
        {"blank": -1},
        {"reduction": "foo"},
    ],
)
def test_ctc_rejects(change):
    with pytest.raises(ValueError, match=r"ctc_loss"):
        ctc(paddle.to_tensor(CTC), **change)


def test_ctc_rejects_types_and_empty_input():
    with pytest.raises(TypeError):
        F.ctc_loss(paddle.to_tensor(CTC), paddle.ones([4, 3]), ints(CTC_TIMES), ints(CTC_LENGTHS))
    for shape in ([0, 4, 3], [5, 4, 0], [5, 4]):
        with pytest.raises(ValueError):
            ctc(paddle.zeros(shape))


def rnnt_by_paths(logs, label):
    steps, total = len(logs), 0.0
    for moves in itertools.product((0, 1), repeat=steps - 1 + len(label)):  # 1 emits a label, 0 goes on in time
        if sum(moves) == len(label):
            t = u = 0
            score = 0.0
            for emits in moves:
                score += logs[t, u, label[u] if emits else 0]
                t, u = t + 1 - emits, u + emits
            total += np.exp(score + logs[t, u, 0])
    return -np.log(total)


RNNT = log_softmax(np.random.RandomState(1).randn(3, 4, 3, 5))
RNNT_LABELS, RNNT_TIMES, RNNT_LENGTHS = [[1, 2], [3, 9], [-1, -1]], [4, 3, 1], [2, 1, 0]


def rnnt(x, labels=RNNT_LABELS, times=RNNT_TIMES, lengths=RNNT_LENGTHS, **settings):
    return F.rnnt_loss(x, ints(labels, "int32"), ints(times, "int32"), ints(lengths, "int32"), **settings)


def test_rnnt_is_the_sum_over_paths():
    want = np.array(
        [rnnt_by_paths(RNNT[b, :t], RNNT_LABELS[b][:n]) for b, (t, n) in enumerate(zip(RNNT_TIMES, RNNT_LENGTHS))]
    )
    compare(rnnt(paddle.to_tensor(RNNT), reduction="none"), want)
    compare(rnnt(paddle.to_tensor(RNNT)), want.mean())


def test_rnnt_gradients():
    check_grad(lambda x: rnnt(x, fastemit_lambda=0.0, reduction="none"), RNNT, order=1)
    check_grad(
        lambda x: rnnt(x[:2, :2, :2], [[1], [2]], [2, 2], [1, 1], fastemit_lambda=0.0, reduction="none"),
        RNNT[:2, :2, :2],
        order=2,
    )


def test_rnnt_values_of_the_official_package():
    """They are not normalised before, and FastEmit makes the gradients of labels grow."""
    x = paddle.to_tensor(np.random.RandomState(0).randn(2, 4, 3, 5).astype("float32"), stop_gradient=False)
    loss = rnnt(x, [[1, 2], [3, 2]], [4, 3], [2, 1], fastemit_lambda=1.0, reduction="none")
    loss.sum().backward()
    compare(loss, [-3.9244688, -0.5288161])
    compare(x.grad.flatten()[:8], [-0.99054307, -0.01891401, 0, 0, 0, -0.00578204, 0, -0.00734993])
    compare(x.grad.sum(), -13.0)


@pytest.mark.parametrize(
    "change",
    [
        {"times": [5, 3, 1]},
        {"times": [4, 3, 0]},
        {"lengths": [3, 1, 0]},
        {"labels": [[1, 5], [3, 9], [0, 0]]},
        {"labels": [1, 2]},
        {"blank": 5},
        {"reduction": None},
    ],
)
def test_rnnt_rejects(change):
    with pytest.raises(ValueError, match=r"rnnt_loss"):
        rnnt(paddle.to_tensor(RNNT), **change)


HS = np.random.RandomState(0)
HS = [HS.randn(4, 3), HS.randn(4, 3), HS.randn(4, 1)]


def test_hsigmoid_is_a_distribution_over_a_full_tree():
    x, weight, bias = HS[0][:1].repeat(4, 0), HS[1][:3], HS[2][:3]
    loss = F.hsigmoid_loss(
        *map(
            paddle.to_tensor,
            (
                x,
                np.arange(4),
            ),
        ),
        4,
        *map(paddle.to_tensor, (weight, bias)),
    )
    compare(np.exp(-loss.numpy()).sum(), 1.0)


def test_hsigmoid_values_of_the_official_package():
    x, weight, bias = (paddle.to_tensor(a.astype("float32")) for a in HS)
    label = ints([0, 1, 2, 4])
    compare(F.hsigmoid_loss(x, label, 5, weight, bias), [[5.7597346], [2.539309], [1.1366264], [4.7262563]])
    compare(F.hsigmoid_loss(x, label.unsqueeze(1), 5, weight), [[2.9852855], [2.6798825], [1.5166232], [3.1099879]])
    table = ints([[0, 2, -1], [0, 1, 3], [0, -1, -1], [3, 1, 0]])
    code = ints([[0, 1, -1], [1, 0, 1], [1, -1, -1], [0, 0, 1]])
    compare(
        F.hsigmoid_loss(x, label, 5, weight, bias, table, code), [[7.1484222], [2.4304647], [1.4383869], [0.6073923]]
    )
    compare(F.hsigmoid_loss(x * 100, label, 5, weight, bias), [[40.693146], [40.693146], [0.693147], [83.951294]])


def test_hsigmoid_gradients():
    check_grad(lambda x, w, b: F.hsigmoid_loss(x, ints([0, 1, 2, 4]), 5, w, b), *HS, order=2, rtol=1e-4)


def test_hsigmoid_rejects():
    x, weight, bias = map(paddle.to_tensor, HS)
    label, path = ints([0, 1, 2, 3]), ints([[0, 1]] * 4)
    for args in [
        (x, label + 2, 5, weight),
        (x, label - 1, 5, weight),
        (x, label, 1, weight),
        (x, label, 6, weight),
        (x[:2], label, 5, weight),
        (x, label, 5, weight, bias[:2]),
        (x, label, 5, weight, None, path),
        (x, label, 5, weight, None, path + 3, path),
        (x, label, 5, weight, None, path[:2], path),
    ]:
        with pytest.raises(ValueError, match="hsigmoid_loss"):
            F.hsigmoid_loss(*args)


def test_class_center_sample():
    label = ints([11, 5, 1, 3, 12, 2, 15, 19, 18, 19])
    remapped, classes = F.class_center_sample(label, 20, 6)
    assert remapped.tolist() == [4, 3, 0, 2, 5, 1, 6, 8, 7, 8] and classes.tolist() == [1, 2, 3, 5, 11, 12, 15, 18, 19]
    remapped, classes = F.class_center_sample(label.astype("int32"), 20, 14)
    assert remapped.dtype == classes.dtype == paddle.int32
    assert classes.tolist()[:9] == [1, 2, 3, 5, 11, 12, 15, 18, 19] and len(set(classes.tolist())) == 14
    drawn = [F.class_center_sample(label, 20, 12)[1].tolist()[9:] for _ in range(8)]
    assert len(set(map(tuple, drawn))) > 1 and all(0 <= c < 20 for row in drawn for c in row)
    for bad in [
        (ints([25]), 20, 6),
        (ints([-1]), 20, 6),
        (ints([]), 20, 6),
        (ints([[1]]), 20, 6),
        (label, 20, 0),
        (label, 20, 21),
        (label, 20, 6, 7),
    ]:
        with pytest.raises(ValueError, match="class_center_sample"):
            F.class_center_sample(*bad)
