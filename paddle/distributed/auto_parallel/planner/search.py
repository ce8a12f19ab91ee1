"""Which layouts are possible, and what each would cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..hlo import readable, wire_bytes
from .cluster import Cluster
from .outline import Outline


@dataclass
class Traffic:
    """Collectives that a step is expected to have: `count` of a kind over an axis, of `payload` bytes each."""

    kind: str
    axis: str
    count: int
    payload: float
    what: str


@dataclass
class Candidate:
    """A layout and what it is expected to cost.

    Attributes:
        dp, tp, pp: places of the axes "dp", "mp" and "pp" of the mesh.
        stage: 0, or the stage of sharding over "dp".
        micro: micro-batches of a step.
        recompute: whether blocks are computed again in the backward.
        time: seconds of a step; `compute` of it for products, `communication` for each axis.
        memory: bytes of a device, by what they are for.
        traffic: the collectives.
    """

    dp: int
    tp: int
    pp: int
    stage: int
    micro: int
    recompute: bool
    compute: float = 0.0
    communication: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    traffic: list[Traffic] = field(default_factory=list)
    fits: bool = True

    @property
    def time(self) -> float:
        return self.compute + sum(self.communication.values())

    @property
    def total_memory(self) -> float:
        return sum(self.memory.values())

    @property
    def name(self) -> str:
        parts = [f"dp{self.dp}", f"mp{self.tp}", f"pp{self.pp}", f"zero{self.stage}", f"micro{self.micro}"]
        return " ".join([*parts, *(["recompute"] if self.recompute else [])])

    def totals(self) -> dict[tuple[str, str], tuple[int, float]]:
        """(kind, axis) -> (how many, bytes)."""
        found: dict[tuple[str, str], tuple[int, float]] = {}
        for t in self.traffic:
            count, payload = found.get((t.kind, t.axis), (0, 0.0))
            found[t.kind, t.axis] = count + t.count, payload + t.count * t.payload
        return found

    def details(self) -> str:
        """Where time and memory go, in words."""
        lines = [self.name, f"  time {self.time:.4g} s: products {self.compute:.4g} s"]
        lines += [f"    communication over {axis}: {t:.4g} s" for axis, t in self.communication.items() if t]
        lines.append(f"  memory {readable(self.total_memory)}")
        lines += [f"    {what}: {readable(n)}" for what, n in self.memory.items()]
        lines += [f"  {t.count} x {t.kind} over {t.axis}, {readable(t.payload)} each: {t.what}" for t in self.traffic]
        return "\n".join(lines)


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def candidates(outline: Outline, cluster: Cluster, **limits: Any) -> list[Candidate]:
    """All layouts that the model and the batch allow.

    Args:
        limits: lists of allowed values by name: dp, tp, pp, stage, micro, recompute.
    """
    n, batch = cluster.devices, outline.batch

    def allowed(name: str, value: Any) -> bool:
        return limits.get(name) is None or value in limits[name]

    found = []
    for tp in divisors(n):
        if not allowed("tp", tp) or tp > 1 and (not outline.degrees or any(d % tp for d in outline.degrees)):
            continue
        for pp in divisors(n // tp):
            if not allowed("pp", pp) or pp > 1 and (outline.length % pp or outline.length < pp):
                continue
            dp = n // tp // pp
            if not allowed("dp", dp) or batch % dp:
                continue
            for micro in _micros(batch // dp, pp):
                for stage in (0, 1, 3) if dp > 1 else (0,):
                    for recompute in (False, True) if outline.length else (False,):
                        if stage == 3 and outline.length and not recompute:
                            continue  # what is put together for the forward would be kept
                        if allowed("micro", micro) and allowed("stage", stage) and allowed("recompute", recompute):
                            found.append(Candidate(dp, tp, pp, stage, micro, recompute))
    return found


def _micros(batch: int, pp: int) -> list[int]:
    if pp == 1:
        return [m for m in (1, 2, 4, 8, 16, 32) if batch % m == 0]
    return [m for m in (pp, 2 * pp, 4 * pp, 8 * pp) if m <= batch and batch % m == 0] or ([batch] if batch < pp else [])


def estimate(c: Candidate, outline: Outline, cluster: Cluster, costs: dict[str, float]) -> Candidate:
    """Fill in what a candidate costs, by closed formulas on XLA's counts for one device."""
    batch, length = outline.batch // c.dp, outline.length
    turns = c.micro if c.pp == 1 else c.micro + c.pp - 1
    width = outline.width if length else 0.0  # bytes of a sample between blocks
    hidden = batch / c.micro * width
    per = length // c.pp
    size = outline.itemsize
    inside, outside = outline.held(c.tp) / c.pp, outline.held_outside(c.tp)
    own = (inside + outside) * size  # parameters that a device works with
    # ---- communication ----
    traffic = []
    if c.tp > 1:
        again = max(outline.rows - 1, 0) if c.recompute else 0
        count = per * turns * (outline.rows + outline.columns + again)
        if count:
            traffic.append(Traffic("all-reduce", "mp", count, hidden, "sums behind row-wise products and their mirror"))
        ends = sum(outline.cuts(n, c.tp) is not None for n in (*outline.tables, *outline.heads))
        if ends:
            times = c.micro if c.pp == 1 else 1
            traffic.append(Traffic("all-reduce", "mp", ends * times, batch / times * width, "embeddings and the head"))
    if c.dp > 1:
        loops = turns if c.stage == 3 or c.pp == 1 and c.micro > 1 else 1
        times = c.micro if c.pp == 1 else 1
        if c.stage == 0:
            traffic.append(Traffic("all-reduce", "dp", loops, own, "gradients"))
        else:
            traffic.append(Traffic("reduce-scatter", "dp", 1, (inside * loops + outside * times) * size, "gradients"))
            if c.stage == 3:
                # forward and backward; in a pipeline XLA takes those of the forward out of the loop
                passes = 2 * turns if c.pp == 1 else turns + 1
                gathered = inside * size * passes + outside * size * times
                traffic.append(Traffic("all-gather", "dp", 1, gathered, "parameters where they are used"))
            else:
                traffic.append(Traffic("all-gather", "dp", 1, own, "updated parameters"))
    if c.pp > 1:
        traffic.append(
            Traffic("collective-permute", "pp", 2 * turns, hidden, "micro-batches move on, forward and back")
        )
        traffic.append(Traffic("all-reduce", "pp", 2, batch * width, "first input and last output of the pipeline"))
    c.traffic = traffic
    places = {"mp": (c.tp, 1), "dp": (c.dp, c.tp), "pp": (c.pp, c.tp * c.dp)}
    for t in traffic:
        n, stride = places[t.axis]
        link = cluster.link(n, stride)
        seconds = t.count * (wire_bytes(t.kind, t.payload, n) / link.bandwidth + link.latency * math.log2(max(n, 2)))
        c.communication[t.axis] = c.communication.get(t.axis, 0.0) + seconds
    # ---- products ----
    block = costs["block"] + (costs["block forward"] if c.recompute else 0.0)
    blocks = block * length / (c.dp * c.tp * c.pp) * turns / c.micro
    rest = costs["rest"] / (c.dp * (c.tp if any(outline.cuts(n, c.tp) is not None for n in outline.heads) else 1))
    c.compute = (blocks + rest) / (cluster.peak * cluster.efficiency)
    # ---- memory ----
    share = outline.cut_share
    kept = costs["kept"] / outline.batch * (batch / c.micro) * ((1 - share) + share / c.tp)
    alive = per * turns if c.pp > 1 else length
    ends_bytes = outline.outer_bytes(c.tp) / outline.batch * (batch if c.pp > 1 else batch / c.micro)
    states = 8 if size >= 4 else 12
    c.memory = {
        "parameters": own / (c.dp if c.stage == 3 else 1) + (inside * size if c.stage == 3 and c.pp > 1 else 0),
        "gradients": own / (c.dp if c.stage >= 2 or c.stage and c.pp == 1 and c.micro > 1 else 1),
        "states of the optimizer": own / size * states / (c.dp if c.stage else 1),
        "kept for the backward": alive * (hidden if c.recompute else kept),
        "one block at work": kept if c.recompute else hidden,
        "first and last layers": ends_bytes,
    }
    c.fits = c.total_memory <= cluster.memory * (1 - cluster.reserved)
    return c
