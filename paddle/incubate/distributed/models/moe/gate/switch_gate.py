"""The gate of the Switch Transformer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import paddle

from ......engine import errors
from ..utils import limit_by_capacity
from .naive_gate import NaiveGate


class SwitchGate(NaiveGate):
    """The best expert, each with a limited number of tokens; in training the values are disturbed a little.

    Args:
        d_model: width of a token.
        num_expert: experts of a process.
        world_size: processes.
        topk: 1.
        switch_eps: the largest disturbance of 1, which is added.
        capacity: the most tokens of an expert, as shares of the tokens of a process, in training and in evaluation.
        group: the processes.

    Raises:
        ValueError: another topk.

    Source: Fedus et al., "Switch Transformers", 2021; noise and loss as officially.
    """

    def __init__(
        self,
        d_model: int,
        num_expert: int,
        world_size: int,
        topk: int = 1,
        switch_eps: float = 0.1,
        capacity: tuple[float, float] = (1.2, 2.4),
        group: Any = None,
    ):
        if topk != 1:
            raise errors.ValueError_(f"SwitchGate: topk must be 1, got {topk!r}")
        super().__init__(d_model, num_expert, world_size, topk=1)
        self.switch_eps = switch_eps
        self.capacity = capacity
        self.group = group

    def forward(self, inp: Any) -> Any:
        scores = self.gate(inp)
        if self.training:
            noise = paddle.rand(scores.shape)
            scores = scores + (noise * 2 * self.switch_eps + 1.0 - self.switch_eps).astype(scores.dtype)
        scores = paddle.nn.functional.softmax(scores, axis=-1)
        value, index = scores.topk(1, axis=-1)
        most = math.ceil(self.capacity[0 if self.training else 1] * inp.shape[0])
        _, _, index = limit_by_capacity(index, self.num_expert, self.world_size, most, self.group)
        chosen = index.numpy().reshape(-1)
        chosen = chosen[chosen >= 0]
        kept = max(len(chosen), 1)
        share = np.bincount(chosen, minlength=self.tot_expert) / kept
        share = paddle.to_tensor(share.astype("float32")).astype(scores.dtype)
        self.set_loss((share * (scores.sum(axis=0) / kept)).sum() * self.tot_expert)
        return value, index
