"""Deep mutual learning: networks that teach each other (Zhang et al., 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle.engine import errors
from paddle.nn import LayerList
from paddle.nn.layer import Layer


class DML(Layer):
    """Several networks, each of which learns from the labels and from the others.

    Args:
        model: a list of Layers.
        use_parallel: accepted.

    Raises:
        TypeError: something else than Layers.

    Example:
        >>> from paddleslim.dist import DML
        >>> dml = DML([paddle.nn.Linear(4, 3), paddle.nn.Linear(4, 3)])
        >>> optimizer = dml.opt([paddle.optimizer.SGD(0.1, parameters=m.parameters()) for m in dml.model])
        >>> logits = dml(paddle.ones([2, 4]))
        >>> losses = dml.loss(logits, paddle.to_tensor([[0], [2]]))
        >>> optimizer.minimize(losses); len(losses)
        2
    """

    def __init__(self, model: Sequence[Layer], use_parallel: bool = False):
        super().__init__()
        if not isinstance(model, (list, tuple, LayerList)) or not all(isinstance(m, Layer) for m in model) or not model:
            raise errors.TypeError_(f"DML: model must be a list of Layers, got {errors.describe(model)}")
        self.model = LayerList(list(model))
        self.use_parallel = use_parallel

    @property
    def model_num(self) -> int:
        """How many networks there are."""
        return len(self.model)

    def full_name(self) -> list[str]:  # type: ignore[override]
        """The names of the networks."""
        return [m.full_name() for m in self.model]

    def forward(self, input: Any) -> list[Any]:
        """The logits of each network."""
        return [m(input) for m in self.model]

    def opt(self, optimizer: Sequence[Any]) -> DMLOptimizers:
        """One optimizer for each network, as one. ValueError for another number."""
        self._check("optimizers", optimizer)
        return DMLOptimizers(self.model, list(optimizer))

    def _check(self, what: str, given: Sequence[Any]) -> None:
        if len(given) != self.model_num:
            raise errors.ValueError_(f"DML: {self.model_num} networks need as many {what}, got {len(given)}")

    def ce_loss(self, logits: Sequence[Any], labels: Any) -> list[Any]:
        """The mean cross entropy of each."""
        self._check("logits", logits)
        return [F.cross_entropy(x, labels) for x in logits]

    def kl_loss(self, logits: Sequence[Any]) -> list[Any]:
        """The mean divergence of each from the others."""
        self._check("logits", logits)
        losses = []
        for i, own in enumerate(logits):
            each = [
                F.kl_div(F.log_softmax(own, 1), F.softmax(x.detach(), 1), reduction="batchmean")
                for j, x in enumerate(logits)
                if i != j
            ]
            if each:
                losses.append(sum(each[1:], each[0]) / len(each))
        return losses

    def loss(self, logits: Sequence[Any], labels: Any) -> list[Any]:
        """The two together."""
        own = self.ce_loss(logits, labels)
        return [a + b for a, b in zip(own, self.kl_loss(logits))] if self.model_num > 1 else own

    def acc(self, logits: Sequence[Any], labels: Any, k: int) -> list[Any]:
        """The share of samples whose label is among the best k, of each."""
        return [paddle.metric.accuracy(input=x, label=labels, k=k) for x in logits]


class DMLOptimizers:
    """The optimizers of the networks of `DML`."""

    def __init__(self, model: Sequence[Layer], optimizer: list[Any]):
        self.model, self.optimizer = model, optimizer

    def minimize(self, losses: Sequence[Any]) -> None:
        """A step of each network with its own loss."""
        if len(losses) != len(self.optimizer):
            raise errors.ValueError_(
                f"minimize: {len(self.optimizer)} optimizers need as many losses, got {len(losses)}"
            )
        for loss, optimizer in zip(losses, self.optimizer):
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()

    def get_lr(self) -> list[float]:
        """The learning rates."""
        return [o.get_lr() for o in self.optimizer]
