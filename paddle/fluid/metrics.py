"""Measures that sum up over batches of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metric import Auc as _Auc
from ..metric import Precision as _Precision
from ..metric import Recall as _Recall

__all__ = ["Accuracy", "Auc", "CompositeMetric", "MetricBase", "Precision", "Recall"]


class MetricBase:
    """Base class: `reset`, `update` with a batch, `eval`."""

    def __init__(self, name: str | None = None):
        self._name = name or type(self).__name__

    def reset(self) -> None:
        raise NotImplementedError

    def update(self, *args: Any) -> None:
        raise NotImplementedError

    def eval(self) -> Any:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._name


class Accuracy(MetricBase):
    """The mean of accuracies, weighted.

    Example:
        >>> m = paddle.fluid.metrics.Accuracy(); m.update(1.0, 3); m.update(0.0, 1); m.eval()
        0.75
    """

    def __init__(self, name: str | None = None):
        super().__init__(name)
        self.reset()

    def reset(self) -> None:
        self.value, self.weight = 0.0, 0.0

    def update(self, value: Any, weight: Any) -> None:
        """Add the accuracy of a batch with its weight."""
        self.value += float(np.asarray(value).reshape(-1)[0]) * float(weight)
        self.weight += float(weight)

    def eval(self) -> float:
        """The mean. ValueError before the first update."""
        if not self.weight:
            raise ValueError("Accuracy: there is nothing to average, call update first")
        return self.value / self.weight


class _Wrapped(MetricBase):
    kind: Any

    def __init__(self, name: str | None = None, *args: Any, **kwargs: Any):
        super().__init__(name)
        self._metric = self.kind(*args, **kwargs)

    def reset(self) -> None:
        self._metric.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Add the predictions and labels of a batch."""
        self._metric.update(np.asarray(preds), np.asarray(labels))

    def eval(self) -> float:
        """The measure so far."""
        return self._metric.accumulate()


class Precision(_Wrapped):
    """See `paddle.metric.Precision`."""

    kind = _Precision


class Recall(_Wrapped):
    """See `paddle.metric.Recall`."""

    kind = _Recall


class Auc(_Wrapped):
    """See `paddle.metric.Auc`."""

    kind = _Auc

    def __init__(self, name: str | None = None, curve: str = "ROC", num_thresholds: int = 4095):
        super().__init__(name, curve=curve, num_thresholds=num_thresholds)


class CompositeMetric(MetricBase):
    """Several metrics with the same update."""

    def __init__(self, name: str | None = None):
        super().__init__(name)
        self._metrics: list[MetricBase] = []

    def add_metric(self, metric: MetricBase) -> None:
        self._metrics.append(metric)

    def reset(self) -> None:
        for m in self._metrics:
            m.reset()

    def update(self, preds: Any, labels: Any) -> None:
        for m in self._metrics:
            m.update(preds, labels)

    def eval(self) -> list:
        return [m.eval() for m in self._metrics]
