"""The layer of experts."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle

from .....autograd import PyLayer
from .....distributed.communication.group import Group
from .....distributed.communication.mesh import over_mesh
from .....distributed.fleet.recompute import recompute
from .....distributed.utils.moe_utils import Counts, Travel, _inverse, count_rows, placed, rounded
from .....engine import errors
from .....engine.modes import modes
from .....engine.tensor import Tensor, _make
from .....nn.layer import Layer
from .gate import BaseGate, GShardGate, NaiveGate, SwitchGate


class AllGather(PyLayer):
    """The rows of all processes; the gradient is this process's part."""

    @staticmethod
    def forward(ctx: Any, inp: Tensor, rank: int, world_size: int, group: Group) -> Tensor:
        ctx.at = slice(rank * inp.shape[0], (rank + 1) * inp.shape[0])
        return _make(over_mesh(group, "all_gather", [inp._value], False)[0])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient[ctx.at]


class Slice(PyLayer):
    """This process's part of rows that all have; the gradient is put together."""

    @staticmethod
    def forward(ctx: Any, inp: Tensor, rank: int, world_size: int, group: Group) -> Tensor:
        rows = inp.shape[0] // world_size
        ctx.group = group
        return inp[rank * rows : (rank + 1) * rows]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _make(over_mesh(ctx.group, "all_gather", [gradient._value], False)[0])


class MoELayer(Layer):
    """A mixture of experts: each token goes to the experts that a gate chooses, and gets the sum of their results times the
    values of the gate.

    With a group of several processes each has experts of its own, all as many, and tokens travel. The experts of a
    process are no copies of those of others: set `no_sync = True` on their parameters before the model is given to
    `DataParallel` or sharding over the same processes, which then leave them alone. The loss of a process is over its own
    tokens, so that the gradient of an expert is the sum of what the losses of all processes say.

    What an expert gets is filled up with zeros to a length that is a power of two, so that few lengths are compiled; an
    expert has to treat its rows one by one, as linear layers do.

    Args:
        d_model: width of a token.
        experts: a LayerList of layers [rows, d_model] -> [rows, d_model], those of this process.
        gate: a gate, or a dict with "type", "naive", "gshard" (default) or "switch", and "top_k".
        moe_group: the processes over which the experts are spread.
        mp_group: processes that have the same tokens: each gives a part of them to the experts.
        recompute_interval: above 0 the experts compute again in the backward.
        recompute_ctx: for the official interface.

    Raises:
        TypeError: a gate of another kind.
        ValueError: an input that has not three axes; another type of gate; tokens that do not divide over mp_group.

    Source: Shazeer et al., "Outrageously Large Neural Networks", 2017; Lepikhin et al., "GShard", 2020.

    Example:
        >>> from paddle.incubate.distributed.models.moe import MoELayer
        >>> experts = paddle.nn.LayerList([paddle.nn.Linear(4, 4) for _ in range(3)])
        >>> MoELayer(4, experts, gate={"type": "naive", "top_k": 2})(paddle.ones([2, 5, 4])).shape
        [2, 5, 4]
    """

    def __init__(
        self,
        d_model: int,
        experts: Any,
        gate: Any = None,
        moe_group: Group | None = None,
        mp_group: Group | None = None,
        recompute_interval: int = 0,
        recompute_ctx: Any = None,
    ):
        super().__init__()
        self.recompute_ctx, self.recompute_interval = recompute_ctx, recompute_interval
        self.group, self.mp_group = moe_group, mp_group
        self.world_size = 1 if moe_group is None else moe_group.nranks
        self.num_expert = len(experts)
        self.experts = experts
        self.d_model = d_model
        if gate is None:
            gate = {}
        if isinstance(gate, dict):
            gate = self._made(gate.get("type", "gshard"), gate.get("top_k", 2))
        elif not isinstance(gate, NaiveGate):
            kind = "a gate derived from NaiveGate" if isinstance(gate, BaseGate) else "a dict or a gate"
            raise errors.TypeError_(f"MoELayer: gate must be {kind}, got {errors.describe(gate)}")
        self.top_k = gate.top_k
        self.gate = gate

    def _made(self, kind: Any, top_k: int) -> NaiveGate:
        sizes = self.d_model, self.num_expert, self.world_size
        if kind in ("naive", None):
            return NaiveGate(*sizes, topk=top_k)
        if kind == "gshard":
            return GShardGate(*sizes, topk=top_k, group=self.group)
        if kind == "switch":
            return SwitchGate(*sizes, topk=top_k, group=self.group)
        raise errors.ValueError_(f"MoELayer: the type of a gate must be 'naive', 'gshard' or 'switch', got {kind!r}")

    def forward(self, inp: Tensor) -> Tensor:
        if inp.ndim != 3:
            raise errors.ValueError_(f"MoELayer: the input must be [batch, length, width], got shape {list(inp.shape)}")
        if modes.program is not None:
            raise errors.NotImplemented_("MoELayer: inside of a program or of to_static")
        shape = inp.shape
        x = inp.reshape([-1, shape[2]])
        size = 1 if self.mp_group is None else self.mp_group.nranks
        if size > 1:
            if x.shape[0] % size:
                raise errors.ValueError_(
                    f"MoELayer: {x.shape[0]} tokens do not divide over {size} processes of mp_group"
                )
            x = Slice.apply(x, self.mp_group.rank, size, self.mp_group)
        if modes.grad and x.stop_gradient and self.world_size > 1:  # all processes have to take part in the backward
            x = x.detach()
            x.stop_gradient = False
        value, index = self.gate(x)
        tokens, top_k = x.shape[0], self.top_k
        chosen = index.numpy().reshape(-1)
        rows = x.unsqueeze(1).expand([tokens, top_k, self.d_model]).reshape([-1, self.d_model]) if top_k > 1 else x
        out = self._through_experts(rows, chosen).reshape([tokens, top_k, self.d_model])
        out = paddle.bmm(value.reshape([tokens, 1, top_k]).astype(out.dtype), out).reshape([-1, self.d_model])
        if size > 1:
            out = AllGather.apply(out, self.mp_group.rank, size, self.mp_group)
        return out.reshape(shape)

    def _through_experts(self, rows: Tensor, chosen: np.ndarray) -> Tensor:
        """The results for rows whose experts are `chosen`, zeros where there is none (-1)."""
        total = self.num_expert * self.world_size
        counts: Counts = count_rows(np.bincount(chosen[chosen >= 0], minlength=total), self.group, self.num_expert)
        order = np.argsort(chosen, kind="stable")[int((chosen < 0).sum()) :]
        length = counts.width * self.world_size
        sending = counts.sending()
        there = placed(sending, length, len(order))
        there = np.where(there < len(order), np.append(order, 0)[np.minimum(there, len(order))], len(chosen))
        received = counts.received()
        widths = [rounded(len(r)) if len(r) else 0 for r in received]
        parts = [np.concatenate([r, np.full(w - len(r), length)]) for r, w in zip(received, widths) if w]
        arrived = np.concatenate(parts) if parts else np.full(rounded(0), length)
        back = np.full(len(chosen), length)
        back[order] = sending
        x = Travel.apply(rows, there, arrived, self.group)
        if parts:
            x = recompute(self._run, x, widths) if self.recompute_interval > 0 and modes.grad else self._run(x, widths)
        return Travel.apply(x, _inverse(arrived, length), back, self.group)

    def _run(self, x: Tensor, widths: list[int]) -> Tensor:
        out, at = [], 0
        for expert, width in zip(self.experts, widths):
            if width:
                out.append(expert(x[at : at + width]))
                at += width
        return paddle.concat(out, axis=0) if len(out) > 1 else out[0]
