"""Metrics. Values named official were recorded from the official package 3.3.1."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_score, recall_score, roc_auc_score

import paddle
from paddle.metric import Accuracy, Auc, Metric, Precision, Recall, accuracy

SCORES = np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.3, 0.3, 0.4], [0.4, 0.4, 0.2]], "float32")
LABELS = np.array([2, 1, 2, 1])


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        LABELS[:, None],
        np.eye(3, dtype="float32")[LABELS],
        np.eye(3, dtype="int64")[LABELS],
        LABELS.astype("int32"),
        LABELS.astype("float32"),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_accuracy_reads_all_forms_of_labels(labels):
    metric = Accuracy(topk=(1, 2))
    hits = metric.compute(paddle.to_tensor(SCORES), paddle.to_tensor(labels))
    assert hits.dtype is paddle.float32 and hits.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]  # official
    assert metric.update(hits) == [0.5, 1.0] == metric.accumulate()


def test_accuracy_adds_up():
    metric = Accuracy()
    assert metric.accumulate() == 0.0 and metric.name() == ["acc"] and (metric.topk, metric.maxk) == ((1,), 1)
    assert metric.update(metric.compute(SCORES, LABELS)) == 0.5
    assert metric.update(np.array([[1.0]])) == 1.0
    assert (
        metric.accumulate() == 0.6
        and type(metric.accumulate()) is float
        and (metric.total, metric.count) == ([3.0], [5])
    )
    assert metric.update(np.zeros((0, 1), "float32")) == 0.0 and metric.accumulate() == 0.6
    metric.reset()
    assert metric.accumulate() == 0.0
    assert Accuracy(topk=(1, 5)).name() == ["acc_top1", "acc_top5"] and Accuracy(name="x").name() == ["x"]
    assert Accuracy(topk=2).topk == (2,)


def test_accuracy_in_more_dimensions_and_large_k():
    scores = np.random.RandomState(0).rand(2, 3, 4).astype("float32")
    labels = scores.argmax(-1)
    for form in (labels, labels[..., None]):
        metric = Accuracy()
        assert metric.update(metric.compute(paddle.to_tensor(scores), paddle.to_tensor(form))) == 1.0
    assert Accuracy(topk=(1, 9)).compute(SCORES, LABELS).shape == [4, 3]  # official


@pytest.mark.parametrize(
    "make",
    [
        lambda: Accuracy(topk=()),
        lambda: Accuracy(topk=(0,)),
        lambda: Accuracy().compute(SCORES, LABELS[:3]),
        lambda: Accuracy().compute(paddle.ones([]), paddle.ones([])),
        lambda: Accuracy().compute(SCORES, np.ones((4, 2))),
    ],
)
def test_accuracy_errors(make):
    with pytest.raises(ValueError):
        make()


def test_precision_and_recall_against_sklearn():
    random = np.random.RandomState(3)
    precision, recall = Precision(), Recall()
    seen = []
    for _ in range(4):
        probability, true = random.rand(30, 1), random.randint(0, 2, 30)
        seen.append((probability[:, 0] >= 0.5, true))
        precision.update(paddle.to_tensor(probability), paddle.to_tensor(true))
        recall.update(probability, true)
    predicted, true = map(np.concatenate, zip(*seen))
    assert precision.accumulate() == pytest.approx(precision_score(true, predicted), abs=1e-12)
    assert recall.accumulate() == pytest.approx(recall_score(true, predicted), abs=1e-12)
    assert (precision.name(), recall.name(), Recall(name="r").name()) == ("precision", "recall", "r")
    for metric in (precision, recall):
        metric.reset()
        assert metric.accumulate() == 0.0
        metric.update(np.zeros(0), np.zeros(0))
        for bad in (([0.1], [1]), (np.ones(2), np.ones(3))):
            with pytest.raises(ValueError):
                metric.update(*bad)


@pytest.mark.parametrize("curve, score", [("ROC", roc_auc_score), ("PR", average_precision_score)])
def test_auc_against_sklearn(curve, score):
    random = np.random.RandomState(1)
    metric, whole, truth = Auc(curve), [], []
    assert metric.accumulate() == 0.0 and metric.name() == "auc"
    for _ in range(3):
        probability = np.round(random.rand(200), 3)
        true = (random.rand(200) < probability).astype("int64")
        metric.update(np.stack([1 - probability, probability], 1), true[:, None])
        whole.append(probability)
        truth.append(true)
    assert metric.accumulate() == pytest.approx(score(np.concatenate(truth), np.concatenate(whole)), abs=3e-3)
    metric.reset()
    metric.update(paddle.to_tensor([[0.3], [0.7]]), paddle.to_tensor([0, 1]))
    assert metric.accumulate() == 1.0 and type(metric.accumulate()) is float


@pytest.mark.parametrize(
    "call",
    [
        lambda: Auc(curve="X"),
        lambda: Auc(num_thresholds=0),
        lambda: Auc().update(np.array([[0.3, 1.7]]), np.array([1])),
        lambda: Auc().update(np.array([[0.3, -0.7]]), np.array([1])),
        lambda: Auc().update(np.ones((2, 3)), np.ones(2)),
        lambda: Auc().update(np.array([[0.3, np.nan]]), np.array([1])),
        lambda: Auc().update(np.ones((2, 2)), np.ones(3)),
    ],
)
def test_auc_errors(call):
    with pytest.raises(ValueError, match="Auc"):
        call()


def test_accuracy_function():
    scores, labels = paddle.to_tensor(SCORES), paddle.to_tensor(LABELS[:, None])
    value = accuracy(scores, labels)
    assert (
        value.shape == []
        and value.dtype is paddle.float32
        and value.item() == 0.5
        and accuracy(scores, labels, k=2).item() == 1.0
    )
    hits, rows = paddle.zeros([1], "int32"), paddle.zeros([1], "int32")
    accuracy(scores, labels, correct=hits, total=rows)
    assert (hits.item(), rows.item(), hits.dtype) == (2, 4, paddle.int32)
    for bad in (dict(k=9), dict(k=0), dict(label=paddle.to_tensor(LABELS)), dict(label=labels[:3])):
        with pytest.raises(ValueError, match="accuracy"):
            accuracy(**{"input": scores, "label": labels, **bad})


def test_a_metric_must_define_its_parts():
    class Half(Metric):
        def update(self, *args):
            pass

    for kind in (Metric, Half):
        with pytest.raises(TypeError, match="abstract"):
            kind()

    class Whole(Half):
        reset = accumulate = name = lambda self: None

    assert Whole().compute(1, 2) == (1, 2)
