"""The k best experts."""

from __future__ import annotations

from typing import Any

from ......nn.layers.common import Linear
from .base_gate import BaseGate


class NaiveGate(BaseGate):
    """The `topk` experts with the largest values of a linear layer, without a limit.

    Args:
        d_model: width of a token.
        num_expert: experts of a process.
        world_size: processes.
        topk: experts of a token.
    """

    def __init__(self, d_model: int, num_expert: int, world_size: int, topk: int = 2):
        super().__init__(num_expert, world_size)
        self.gate = Linear(d_model, self.tot_expert)
        self.gate.weight.name = "gate_" + self.gate.weight.name
        self.gate.bias.name = "gate_" + self.gate.bias.name
        self.top_k = topk

    def forward(self, inp: Any, return_all_scores: bool = False) -> Any:
        scores = self.gate(inp)
        values, index = scores.topk(self.top_k, axis=-1)
        return (values, index, scores) if return_all_scores else (values, index)
