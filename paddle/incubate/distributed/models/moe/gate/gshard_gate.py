"""The gate of GShard."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import paddle

from ......engine import errors
from ..utils import limit_by_capacity
from .naive_gate import NaiveGate


class GShardGate(NaiveGate):
    """The two best experts, each with a limited number of tokens; the second is left out at random when its value is small.

    Args:
        d_model: width of a token.
        num_expert: experts of a process.
        world_size: processes.
        topk: 2.
        capacity: the most tokens of an expert, as shares of the tokens of a process, in training and in evaluation.
        random_routing: leave out second choices at random.
        group: the processes.

    Raises:
        ValueError: another topk.

    Source: Lepikhin et al., "GShard", 2020; the loss as officially.
    """

    def __init__(
        self,
        d_model: int,
        num_expert: int,
        world_size: int,
        topk: int = 2,
        capacity: tuple[float, float] = (1.2, 2.4),
        random_routing: bool = True,
        group: Any = None,
    ):
        if topk != 2:
            raise errors.ValueError_(f"GShardGate: topk must be 2, got {topk!r}")
        super().__init__(d_model, num_expert, world_size)
        self.capacity = capacity
        self.random_routing = random_routing
        self.group = group

    def forward(self, x: Any) -> Any:
        values, index, scores = super().forward(x, return_all_scores=True)
        tokens = scores.shape[0]
        used = np.bincount(index.numpy().reshape(-1), minlength=self.tot_expert) / max(tokens, 1)
        wanted = paddle.nn.functional.softmax(scores, axis=1).mean(axis=0)
        used = paddle.to_tensor(used.astype("float32")).astype(wanted.dtype)
        self.set_loss((used * wanted).mean() * self.num_expert**2)
        most = math.ceil(self.capacity[0 if self.training else 1] * tokens)
        _, _, index = limit_by_capacity(index, self.num_expert, self.world_size, most, self.group)
        if self.random_routing:
            drawn = paddle.rand([tokens])
            second = paddle.where(2 * values[:, 1].detach().astype("float32") < drawn, -1, index[:, 1])
            index = paddle.stack([index[:, 0], second.astype(index.dtype)], axis=1)
        return values, index
