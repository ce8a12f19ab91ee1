"""Metrics that add up over batches: accuracy, precision, recall, area under the ROC curve."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import op
from ..engine.tensor import Tensor

__all__ = ["Accuracy", "Auc", "Metric", "Precision", "Recall", "accuracy"]


class Metric(errors.Explains, abc.ABC):
    """A metric over many batches. For each batch, `update(compute(outputs, labels))`; then `accumulate()` gives the
    value so far and `reset()` starts again. `compute` runs on tensors (and in compiled programs); `update` on the host.
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forget all batches."""
        raise errors.NotImplemented_(f"reset is not defined in {type(self).__name__}")

    @abc.abstractmethod
    def update(self, *args: Any) -> Any:
        """Add a batch: what `compute` returned."""
        raise errors.NotImplemented_(f"update is not defined in {type(self).__name__}")

    @abc.abstractmethod
    def accumulate(self) -> Any:
        """The value over all batches so far."""
        raise errors.NotImplemented_(f"accumulate is not defined in {type(self).__name__}")

    @abc.abstractmethod
    def name(self) -> Any:
        """The name, or the names of several values."""
        raise errors.NotImplemented_(f"name is not defined in {type(self).__name__}")

    def compute(self, *args: Any) -> Any:
        """What `update` needs of outputs and labels; by default they themselves."""
        return args


@op(method=False, export=False, differentiable=False, static="k")
def _top_k_hits(pred, label, k):
    """Whether each of the k best classes is the right one, float32[..., k]."""
    if not pred.ndim or not pred.shape[-1]:
        raise errors.ValueError_(f"Accuracy: pred must have the shape [..., classes], got {list(pred.shape)}")
    if label.ndim == pred.ndim - 1 or label.ndim == 1:
        label = label[..., None]
    elif label.shape == pred.shape and label.shape[-1] > 1:
        label = jnp.argmax(label, axis=-1, keepdims=True)
    if label.shape != (*pred.shape[:-1], 1):
        raise errors.ValueError_(
            f"Accuracy: label must have the shape {list(pred.shape[:-1])}, with a last dimension of 1, or be "
            f"one-hot like pred {list(pred.shape)}; got {list(label.shape)}"
        )
    best = jax.lax.top_k(pred, min(k, pred.shape[-1]))[1]
    return (best == label.astype(best.dtype)).astype(jnp.float32)


class Accuracy(Metric):
    """How often the right class is among the k with the highest scores.

    Args:
        topk: one or several k.
        name: by default "acc"; with several k the names are "acc_top1", "acc_top5".

    Example:
        >>> m = paddle.metric.Accuracy()
        >>> m.update(m.compute(paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]]), paddle.to_tensor([[1], [1]])))
        0.5
    """

    def __init__(self, topk: Sequence[int] = (1,), name: str | None = None, *args: Any, **kwargs: Any):
        super().__init__()
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        if not self.topk or any(not isinstance(k, int) or k < 1 for k in self.topk):
            raise errors.ValueError_(f"Accuracy: topk must be one or several positive integers, got {topk!r}")
        self.maxk = max(self.topk)
        base = name or "acc"
        self._name = [f"{base}_top{k}" for k in self.topk] if len(self.topk) > 1 else [base]
        self.reset()

    def compute(self, pred: Any, label: Any, *args: Any) -> Tensor:
        """float32[..., maxk]: which of the best classes is right.

        Args:
            pred: scores [..., classes].
            label: class numbers [...] or [..., 1], or one-hot [..., classes].
        """
        return _top_k_hits(pred, label, self.maxk)

    def update(self, correct: Any, *args: Any) -> Any:
        """Add a batch of `compute`; returns the accuracy of this batch (a list for several k)."""
        correct = np.asarray(correct)
        rows = correct.reshape(-1, correct.shape[-1]) if correct.size else np.zeros((0, 1), "float32")
        batch = []
        for i, k in enumerate(self.topk):
            hits = float(rows[:, :k].sum())
            batch.append(hits / len(rows) if len(rows) else 0.0)
            self.total[i] += hits
            self.count[i] += len(rows)
        return batch[0] if len(batch) == 1 else batch

    def reset(self) -> None:
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def accumulate(self) -> Any:
        """The accuracy so far, a float (a list for several k); 0.0 before the first batch."""
        values = [total / count if count else 0.0 for total, count in zip(self.total, self.count)]
        return values[0] if len(values) == 1 else values

    def name(self) -> list[str]:
        return self._name


def _pairs(preds: Any, labels: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Positive or not, predicted and true, flat."""
    for what, value in (("preds", preds), ("labels", labels)):
        if not isinstance(value, (np.ndarray, Tensor)):
            raise errors.ValueError_(f"{name}: {what} must be an ndarray or a Tensor, got {type(value).__name__}")
    preds, labels = np.asarray(preds), np.asarray(labels)
    if preds.size != labels.size:
        raise errors.ValueError_(f"{name}: preds has {preds.size} elements, labels {labels.size}")
    return (np.floor(preds + 0.5).reshape(-1) == 1), (labels.reshape(-1) == 1)


class Precision(Metric):
    """Of the samples predicted positive (probability of at least 0.5), the part that is.

    Example:
        >>> import numpy as np; m = paddle.metric.Precision()
        >>> m.update(np.array([0.9, 0.6, 0.2]), np.array([1, 0, 1])); m.accumulate()
        0.5
    """

    def __init__(self, name: str = "precision", *args: Any, **kwargs: Any):
        super().__init__()
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch: probabilities, and labels 0 or 1, of the same number. ValueError when the numbers differ."""
        predicted, true = _pairs(preds, labels, "Precision")
        self.tp += int((predicted & true).sum())
        self.fp += int((predicted & ~true).sum())

    def reset(self) -> None:
        self.tp = self.fp = 0

    def accumulate(self) -> float:
        predicted = self.tp + self.fp
        return self.tp / predicted if predicted else 0.0

    def name(self) -> str:
        return self._name


class Recall(Metric):
    """Of the positive samples, the part that is predicted positive (probability of at least 0.5).

    Example:
        >>> import numpy as np; m = paddle.metric.Recall()
        >>> m.update(np.array([0.9, 0.6, 0.2]), np.array([1, 0, 1])); m.accumulate()
        0.5
    """

    def __init__(self, name: str = "recall", *args: Any, **kwargs: Any):
        super().__init__()
        self._name = name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch: probabilities, and labels 0 or 1, of the same number. ValueError when the numbers differ."""
        predicted, true = _pairs(preds, labels, "Recall")
        self.tp += int((predicted & true).sum())
        self.fn += int((~predicted & true).sum())

    def accumulate(self) -> float:
        positive = self.tp + self.fn
        return self.tp / positive if positive else 0.0

    def reset(self) -> None:
        self.tp = self.fn = 0

    def name(self) -> str:
        return self._name


class Auc(Metric):
    """The area under the ROC curve, from a histogram of the predicted probabilities.

    Args:
        curve: "ROC", or "PR" for the curve of precision over recall (where the official package computes ROC too).
        num_thresholds: bins of the histogram, less one.
        name: the name.

    Example:
        >>> import numpy as np; m = paddle.metric.Auc()
        >>> m.update(np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([[1], [0]])); m.accumulate()
        1.0
    """

    def __init__(self, curve: str = "ROC", num_thresholds: int = 4095, name: str = "auc", *args: Any, **kwargs: Any):
        super().__init__()
        if curve not in ("ROC", "PR"):
            raise errors.ValueError_(f"Auc: curve must be 'ROC' or 'PR', got {curve!r}")
        if not isinstance(num_thresholds, int) or num_thresholds < 1:
            raise errors.ValueError_(f"Auc: num_thresholds must be a positive integer, got {num_thresholds!r}")
        self._curve, self._num_thresholds, self._name = curve, num_thresholds, name
        self.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch.

        Args:
            preds: probabilities of the two classes [N, 2] (of the positive one also as [N] or [N, 1]).
            labels: 0 or 1, N elements.

        Raises:
            ValueError: the numbers differ, or a probability is not between 0 and 1.
        """
        preds = np.asarray(preds)
        labels = np.asarray(labels).reshape(-1)
        if preds.ndim > 2 or preds.ndim == 2 and preds.shape[1] not in (1, 2):
            raise errors.ValueError_(f"Auc: preds must have the shape [N, 2], got {list(preds.shape)}")
        positive = preds[:, -1] if preds.ndim == 2 else preds.reshape(-1)
        if positive.size != labels.size:
            raise errors.ValueError_(f"Auc: preds has {positive.size} rows, labels {labels.size} elements")
        if not ((positive >= 0) & (positive <= 1)).all():
            raise errors.ValueError_("Auc: preds must be probabilities, between 0 and 1")
        bins = (positive * self._num_thresholds).astype("int64")
        size = self._num_thresholds + 1
        self._stat_pos += np.bincount(bins[labels != 0], minlength=size)
        self._stat_neg += np.bincount(bins[labels == 0], minlength=size)

    @staticmethod
    def trapezoid_area(x1: float, x2: float, y1: float, y2: float) -> float:
        """The area under a line from (x1, y1) to (x2, y2)."""
        return abs(x1 - x2) * (y1 + y2) / 2.0

    def accumulate(self) -> float:
        """The area so far; 0.0 until there is a sample of each class."""
        positive = np.concatenate([[0], np.cumsum(self._stat_pos[::-1])]).astype("float64")
        negative = np.concatenate([[0], np.cumsum(self._stat_neg[::-1])]).astype("float64")
        if self._curve == "PR":
            precision = np.divide(
                positive, positive + negative, out=np.ones_like(positive), where=positive + negative > 0
            )
            area = self.trapezoid_area(positive[1:], positive[:-1], precision[1:], precision[:-1]).sum()
            return float(area / positive[-1]) if positive[-1] else 0.0
        whole = positive[-1] * negative[-1]
        area = self.trapezoid_area(negative[1:], negative[:-1], positive[1:], positive[:-1]).sum()
        return float(area / whole) if whole else 0.0

    def reset(self) -> None:
        self._stat_pos = np.zeros(self._num_thresholds + 1, "int64")
        self._stat_neg = np.zeros(self._num_thresholds + 1, "int64")

    def name(self) -> str:
        return self._name


@op(method=False, export=False, differentiable=False, name="accuracy", static="k")
def _accuracy(input, label, k):
    if input.ndim != 2 or label.ndim != 2 or label.shape != (input.shape[0], 1):
        raise errors.ValueError_(
            f"accuracy: input must be [N, classes] and label [N, 1], got {list(input.shape)} and {list(label.shape)}"
        )
    if not 1 <= k <= input.shape[1]:
        raise errors.ValueError_(f"accuracy: k must be from 1 to the number of classes {input.shape[1]}, got {k}")
    best = jax.lax.top_k(input, k)[1]
    correct = (best == label.astype(best.dtype)).any(axis=1).sum(dtype=jnp.int32)
    total = jnp.asarray(input.shape[0], jnp.int32)
    return correct.astype(jnp.float32) / total.astype(jnp.float32), correct, total


@errors.clean
def accuracy(
    input: Tensor,
    label: Tensor,
    k: int = 1,
    correct: Tensor | None = None,
    total: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """The part of the rows whose label is among the k highest scores, float32 of shape [].

    Args:
        input: scores [N, classes].
        label: class numbers [N, 1].
        k: how many classes count.
        correct, total: int32 tensors that receive the two numbers.

    Raises:
        ValueError: other shapes, k larger than the number of classes.

    Example:
        >>> paddle.metric.accuracy(paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]]), paddle.to_tensor([[1], [1]])).item()
        0.5
    """
    value, hits, rows = _accuracy(input, label, int(k))
    if correct is not None:
        correct._rebind(hits)
    if total is not None:
        total._rebind(rows)
    return value
