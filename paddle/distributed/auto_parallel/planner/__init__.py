"""The planner: which degrees of data, tensor and pipeline parallelism and of sharding suit a model and a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ....engine import errors
from ....nn import Embedding, Layer, Linear
from ....optimizer.optimizer import Optimizer
from ... import world
from ..hlo import Analysis, readable
from ..parallelize import parallelize
from ..plans import ColWiseParallel, PlanBase, RowWiseParallel
from ..process_mesh import ProcessMesh
from ..repeated import recomputed
from ..strategy import Strategy
from .cluster import Cluster, Link, cluster_of
from .lower import NAMES, compile_step
from .outline import Outline
from .search import Candidate, Traffic, candidates, estimate

__all__ = ["Applied", "Choice", "Cluster", "Link", "Plan", "Traffic", "plan"]


@dataclass
class Applied:
    """What `apply` gives: the mesh, model and optimizer laid out over it, and the Strategy for `dist.to_static`."""

    mesh: ProcessMesh
    model: Layer
    optimizer: Optimizer | None
    strategy: Strategy


class Choice:
    """A layout in a Plan. Its numbers are those of `candidate`."""

    def __init__(self, owner: Plan, candidate: Candidate):
        self._plan, self.candidate = owner, candidate

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.candidate, name)

    @property
    def mesh_shape(self) -> list[int]:
        """Places of the axes "pp", "dp", "mp"."""
        return [self.candidate.pp, self.candidate.dp, self.candidate.tp]

    @property
    def config(self) -> dict[str, Any]:
        """The config for `dist.parallelize`."""
        return self._plan.config_of(self.candidate)

    def compile(self, devices: list | None = None) -> Analysis:
        """Compile the training step for devices that need not exist, and look at XLA's memory and collectives. The process
        must show as many, such as by XLA_FLAGS=--xla_force_host_platform_device_count=64; nothing is allocated."""
        return compile_step(self._plan.outline, self.candidate, devices)

    def compare(self, devices: list | None = None) -> str:
        """What is expected beside what XLA's executable has, as a table."""
        return comparison(self.candidate, self.compile(devices))

    def apply(self, optimizer: Optimizer | None = None, process_ids: list[int] | None = None) -> Applied:
        """Lay the model, and the states of its optimizer, out over a mesh of the processes (or devices) of this job.

        Args:
            optimizer: the optimizer of the model.
            process_ids: the numbers of the processes, by default 0, 1, ...
        """
        c, model = self.candidate, self._plan.outline.model
        n = c.dp * c.tp * c.pp
        ranks = np.arange(n) if process_ids is None else np.array(process_ids)
        if ranks.size != n:
            raise errors.ValueError_(f"Choice.apply: {ranks.size} process_ids for {n} places")
        mesh = ProcessMesh(ranks.reshape(self.mesh_shape), list(NAMES))
        model, optimizer = parallelize(model, optimizer, mesh, self.config)
        strategy = Strategy()
        chain = model.__dict__.get("_pipeline")
        if c.recompute:
            if chain is not None:
                chain.schedule.checkpoint = True
            else:
                recomputed(model)
        if c.micro > 1 and c.pp == 1:
            strategy.pipeline.enable, strategy.pipeline.accumulate_steps = True, c.micro
        return Applied(mesh, model, optimizer, strategy)

    def __repr__(self) -> str:
        c = self.candidate
        return f"<{c.name}: {c.time:.4g} s, {readable(c.total_memory)}{'' if c.fits else ', does not fit'}>"


class Plan:
    """Layouts of a model, the best first. `print(plan)` shows the ranking, `plan.best.apply(optimizer)` uses it."""

    def __init__(self, outline: Outline, cluster: Cluster, **limits: Any):
        self.outline, self.cluster = outline, cluster
        self.costs = outline.costs()
        found = [estimate(c, outline, cluster, self.costs) for c in candidates(outline, cluster, **limits)]
        if not found:
            raise errors.ValueError_(
                f"plan: no layout of {cluster.devices} devices divides a batch of {outline.batch} and {outline.length} blocks"
            )
        found.sort(key=lambda c: (not c.fits, c.time if c.fits else c.total_memory))
        self.choices = [Choice(self, c) for c in found]

    @property
    def best(self) -> Choice:
        """The fastest that fits. RuntimeError where none does."""
        if not self.choices[0].fits:
            least = self.choices[0]
            raise errors.RuntimeError_(
                f"plan: nothing fits into {readable(self.cluster.memory)} a device; the smallest is {least!r}"
            )
        return self.choices[0]

    def find(self, **wanted: Any) -> Choice:
        """The best layout with given numbers, such as `find(dp=2, tp=4)`. ValueError where there is none."""
        for choice in self.choices:
            if all(getattr(choice.candidate, name) == value for name, value in wanted.items()):
                return choice
        raise errors.ValueError_(f"plan: there is no layout with {wanted}")

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def config_of(self, c: Candidate) -> dict[str, Any]:
        """The config for `dist.parallelize`."""
        outline, layers = self.outline, dict(self.outline.model.named_sublayers(include_self=True))
        config: dict[str, Any] = {"dp_config": {"sharding_level": c.stage}}
        plans: dict[str, PlanBase] = {}
        start = re.escape(outline.container) + r"\.\d+" if outline.container else r"\d+"
        for name, role in [*outline.pairs, *((t, "row") for t in outline.tables)]:
            if outline.cuts(name, c.tp) is None:
                continue
            plan = ColWiseParallel() if role == "column" else RowWiseParallel()
            owner, _, attribute = name.rpartition(".")
            if name.startswith("*."):
                inner = owner.removeprefix("*").removeprefix(".")
                layer = dict(outline.blocks[0].named_sublayers(include_self=True))[inner]
                key = start + (r"\." + re.escape(inner) if inner else "")
            else:
                layer, key = layers[owner], re.escape(owner)
            plans[key if isinstance(layer, (Linear, Embedding)) else f"{key}.{attribute}".lstrip(".")] = plan
        if plans:
            config["mp_config"] = {"parallelize_plan": plans}
        if c.pp > 1:
            config["pp_config"] = {"split_spec": outline.container, "micro_batches": c.micro}
        return config

    def table(self, rows: int = 10) -> str:
        """The ranking, the first `rows` of it."""
        outline = self.outline
        cut = [f"{name} ({role})" for name, role in outline.pairs] + [f"{name} (table)" for name in outline.tables]
        lines = [
            f"{outline.parameter_count() / 1e9:.3f} billion parameters, {outline.length} equal blocks"
            f"{f' in {outline.container!r}' if outline.length else ''}, batch {outline.batch}; "
            f"{self.cluster.devices} devices ({self.cluster.name}), {readable(self.cluster.memory)} each",
            "can be cut over mp: " + (", ".join(cut) or "nothing"),
            f"{'dp':>4}{'mp':>4}{'pp':>4}{'zero':>6}{'micro':>7}{'again':>7}{'time s':>11}{'products':>11}{'talk':>11}{'memory':>12}",
        ]
        for choice in self.choices[:rows]:
            c = choice.candidate
            lines.append(
                f"{c.dp:>4}{c.tp:>4}{c.pp:>4}{c.stage:>6}{c.micro:>7}{'yes' if c.recompute else 'no':>7}{c.time:>11.4g}"
                f"{c.compute:>11.4g}{sum(c.communication.values()):>11.4g}{readable(c.total_memory):>12}"
                f"{'' if c.fits else '  does not fit'}"
            )
        left = len(self.choices) - rows
        fit = sum(c.fits for c in self.choices)
        lines.append(f"{fit} of {len(self.choices)} layouts fit" + (f"; {left} more rows" if left > 0 else ""))
        return "\n".join(lines)

    __str__ = table


def comparison(c: Candidate, found: Analysis) -> str:
    """Expected and found collectives and memory, as a table. A reduce-scatter that is done as an all-reduce, as XLA does on
    CPUs, is counted with the all-reduces of its axis."""
    expected = c.totals()
    actual = {(kind, ",".join(axes)): value for (kind, axes), value in found.totals().items()}
    for axis in ("dp", "pp", "mp"):
        if ("reduce-scatter", axis) in expected and ("reduce-scatter", axis) not in actual:
            count, payload = expected.pop(("reduce-scatter", axis))
            before = expected.get(("all-reduce", axis), (0, 0.0))
            expected["all-reduce", axis] = before[0] + count, before[1] + payload
    lines = [f"{c.name}", f"{'collective':<20}{'axes':<8}{'expected':>20}{'found':>20}"]
    for key in sorted({*expected, *actual}):
        (a, x), (b, y) = expected.get(key, (0, 0.0)), actual.get(key, (0, 0.0))
        lines.append(f"{key[0]:<20}{key[1]:<8}{f'{a} x, {readable(x)}':>20}{f'{b} x, {readable(y)}':>20}")
    lines.append(f"{'memory':<28}{readable(c.total_memory):>20}{readable(found.memory):>20}")
    return "\n".join(lines)


@errors.clean
def plan(
    model: Layer,
    inputs: Any,
    devices: Any = None,
    labels: Any = None,
    loss: Callable | None = None,
    *,
    dp: list[int] | None = None,
    tp: list[int] | None = None,
    pp: list[int] | None = None,
    stage: list[int] | None = None,
    micro: list[int] | None = None,
    recompute: list[bool] | None = None,
) -> Plan:
    """Find how a model trains best on a cluster: degrees of data, tensor ("mp") and pipeline parallelism, sharding of the
    optimizer, micro-batches, recomputation.

    The model is recorded without values (of a `paddle.LazyGuard` it needs no memory). Repeated blocks, pairs of column- and
    row-wise products, attention heads and embeddings are found in the program. Every possible layout is costed: XLA's count
    of operations and of what a block keeps, closed formulas for memory and communication, the links of the cluster.

    Args:
        model: the model.
        inputs: its inputs for all devices together, a list of InputSpecs, ShapeDtypeStructs or tensors; the first axis is
            the batch.
        devices: a number, a ProcessMesh or a `Cluster` (speeds, memory, links); by default those of this job.
        labels: as `inputs`, for the loss.
        loss: a function (outputs, labels) -> loss; by default the mean of the first output.
        dp, tp, pp, stage, micro, recompute: allowed values, by default all.

    Returns:
        A Plan: `print(plan)`, `plan.best`, `plan.best.details()`, `plan.best.compile()`, `plan.best.apply(optimizer)`.

    Raises:
        ValueError: lengths that are not known; no layout divides the batch and the blocks.

    Example:
        >>> net = paddle.nn.Sequential(*[paddle.nn.Sequential(paddle.nn.Linear(8, 32), paddle.nn.ReLU(),
        ...                              paddle.nn.Linear(32, 8)) for _ in range(4)])
        >>> found = paddle.distributed.auto_parallel.plan(net, paddle.static.InputSpec([16, 8]), 4)
        >>> found.outline.length, found.outline.pairs, found.best.fits
        (4, [('*.0.weight', 'column'), ('*.2.weight', 'row')], True)
    """
    if not isinstance(model, Layer):
        raise errors.TypeError_(f"plan: model must be a Layer, got {errors.describe(model)}")
    if devices is None:
        devices = (
            world.current().size if world.is_connected() and world.current().size > 1 else jax.local_device_count()
        )
    outline = Outline(model, _listed(inputs), _listed(labels), loss)
    return Plan(outline, cluster_of(devices), dp=dp, tp=tp, pp=pp, stage=stage, micro=micro, recompute=recompute)


def _listed(given: Any) -> list:
    return [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
