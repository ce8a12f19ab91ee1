"""The planner: where a model can be cut, what layouts cost, and whether XLA's executables agree."""

import sys
from pathlib import Path

import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.auto_parallel import Cluster, Link, plan
from paddle.static import InputSpec

from _launched import on_devices

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from planned_model import GPT, Block  # noqa: E402


def loss_of(outputs, labels):
    return F.cross_entropy(outputs.astype("float32"), labels)


def small(devices=8, **limits):
    paddle.seed(0)
    net = GPT(32, 4, 4, 64, 8)
    spec = InputSpec([16, 8], "int64")
    return plan(net, spec, devices, spec, loss_of, **limits), net


def large(devices):
    """102.7 billion parameters, none of which exists."""
    with paddle.LazyGuard():
        net = GPT(12288, 96, 56, 50304, 2048)
    spec = InputSpec([3 * devices, 2048], "int64")
    return plan(net, spec, Cluster(devices), spec, loss_of), net


def test_points():
    found, net = small()
    outline = found.outline
    assert outline.container == "blocks" and outline.length == 4 and outline.batch == 16
    names = ["*.q.weight", "*.k.weight", "*.v.weight", "*.up.weight"]
    assert dict(outline.pairs) == {
        **dict.fromkeys([*names, "head.weight"], "column"),
        **dict.fromkeys(["*.out.weight", "*.down.weight"], "row"),
    }
    assert outline.degrees == {4, 32, 128} and outline.tables == ["tokens.weight"]  # 4 heads
    assert outline.parameter_count() == sum(p.size for p in net.parameters())
    assert not any(c.tp == 8 for c in found) and any(c.tp == 4 and c.pp == 2 for c in found)
    # 6 operations for each parameter and token, and attention: the count is XLA's
    tokens, weights = 16 * 8, 12 * 32 * 32
    assert 6 * weights * tokens < found.costs["block"] < 8 * weights * tokens
    assert net.blocks[0].forward.__func__ is Block.forward and net.training


class Odd(nn.Layer):
    """Products that cannot be pairs: a residual around one, a norm between two."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.norm = nn.Linear(8, 8), nn.Linear(8, 16), nn.Linear(16, 8), nn.LayerNorm(16)

    def forward(self, x):
        return self.c(self.norm(self.b(x + self.a(x))))


def test_what_is_no_pair_stays_whole():
    net = nn.Sequential(*[Odd() for _ in range(2)])
    found = plan(net, InputSpec([8, 8]), 4)
    assert found.outline.pairs == [] and {c.tp for c in found} == {1}
    net = nn.Sequential(*[nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 8)) for _ in range(2)])
    found = plan(net, InputSpec([8, 8]), 8)
    assert {c.tp for c in found} == {1, 2, 4}  # of 12 columns
    assert plan(nn.Linear(4, 2), InputSpec([8, 4]), 4).best.dp == 4  # nothing repeats


class Rotary(nn.Layer):
    """Attention as in Llama: rotary positions, two heads share keys and values, products by hand; a gated product."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = nn.Linear(32, 32), nn.Linear(32, 16), nn.Linear(32, 16), nn.Linear(32, 32)
        self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        q, k, v = (f(x).reshape([0, 0, -1, 8]) for f in (self.q, self.k, self.v))
        q, k = (t * 0.5 + paddle.concat([-t[..., 4:], t[..., :4]], axis=-1) * 0.5 for t in (q, k))
        k, v = k.repeat_interleave(2, axis=2), v.repeat_interleave(2, axis=2)
        q, k, v = (t.transpose([0, 2, 1, 3]) for t in (q, k, v))
        weights = F.softmax(paddle.matmul(q, k, transpose_y=True), axis=-1)
        x = x + self.o(paddle.matmul(weights, v).transpose([0, 2, 1, 3]).reshape([0, 0, 32]))
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


def test_heads_by_hand():
    net = nn.Sequential(*[Rotary() for _ in range(2)])
    found = plan(net, InputSpec([8, 4, 32]), 4).outline
    assert dict(found.pairs) == {
        **{f"*.{n}.weight": "column" for n in ("q", "k", "v", "gate", "up")},
        **{f"*.{n}.weight": "row" for n in ("o", "down")},
    }
    assert max(t for t in (1, 2, 4, 8) if all(d % t == 0 for d in found.degrees)) == 2  # heads of keys


def test_ranking():
    cluster = Cluster(8, memory=2.0**40)
    found, net = small(cluster)
    times = [c.time for c in found]
    assert times == sorted(times) and all(c.fits for c in found)
    assert len({c.name for c in found}) == len(found)
    text = str(found)
    assert "billion parameters, 4 equal blocks in 'blocks'" in text and "tokens.weight (table)" in text
    for choice in found:
        assert choice.dp * choice.tp * choice.pp == 8
    # Sharding takes memory away, recomputation gives time for memory, slow links cost
    one, zero = (found.find(dp=8, stage=s, micro=1, recompute=True) for s in (1, 0))
    assert one.memory["states of the optimizer"] == pytest.approx(zero.memory["states of the optimizer"] / 8)
    again, kept = (found.find(dp=8, stage=1, micro=1, recompute=r) for r in (True, False))
    assert again.total_memory < kept.total_memory and again.compute > kept.compute
    slow, _ = small(Cluster(8, per_node=1, between=Link(1e6)))
    assert slow.find(dp=8, stage=1, micro=1).time > one.time
    tight, _ = small(Cluster(8, memory=1e4))
    with pytest.raises(RuntimeError, match="nothing fits"):
        tight.best
    assert "does not fit" in str(tight)
    with pytest.raises(ValueError, match="divides"):
        small(7)
    with pytest.raises(ValueError, match="must be known"):
        plan(net, InputSpec([None, 8], "int64"), 8)
    with pytest.raises(ValueError, match="512 devices|needs"):
        found.find(dp=8).compile()


def test_hundred_billion_parameters_need_no_memory():
    found, net = large(512)
    assert found.outline.parameter_count() > 1.02e11 and found.best.fits
    assert not any(p.is_initialized() for p in net.parameters())
    assert found.best.candidate.traffic and len(found) > 300
    assert "102.739 billion" in str(found)


CHILD = """
import numpy as np
import paddle
import paddle.distributed as dist
import test_planner as t
"""


def in_child(folder, code, n):
    return on_devices(folder, CHILD + code, n)


def agree(candidate, analysis, close=0.02):
    """Whether the expected bytes are those of XLA's collectives, and the memory about what it plans."""
    expected, found = candidate.totals(), analysis.totals()
    if ("reduce-scatter", "dp") in expected:  # XLA for CPUs has only all-reduces
        count, payload = expected.pop(("reduce-scatter", "dp"))
        expected["all-reduce", "dp"] = count, payload
    for (kind, axis), (_, payload) in expected.items():
        got = found[kind, (axis,)][1]
        assert abs(got - payload) < close * payload, (kind, axis, payload, got, str(analysis))
    rest = sum(payload for (kind, axes), (_, payload) in found.items() if (kind, ",".join(axes)) not in expected)
    assert rest < close * sum(payload for _, payload in expected.values()), str(analysis)
    return analysis.memory / candidate.total_memory


def test_executables_for_64_devices_agree(tmp_path):
    in_child(
        tmp_path,
        """
found, net = t.large(64)
for wanted in (dict(dp=8, tp=8, stage=3, micro=2), dict(dp=8, tp=8, stage=1, micro=1, recompute=True)):
    choice = found.find(**wanted)
    assert 0.5 < t.agree(choice.candidate, choice.compile()) < 1.5
assert not any(p.is_initialized() for p in net.parameters())
""",
        64,
    )


@pytest.mark.slow
def test_applied_plans_equal_one_device(tmp_path):
    in_child(
        tmp_path,
        """
ids, want = (np.random.RandomState(i).randint(0, 64, (16, 8)) for i in (0, 1))
found, net = t.small()
def curve(net, optimizer, strategy, *batch):
    model = dist.to_static(net, loss=t.loss_of, optimizer=optimizer, strategy=strategy)
    return [model(*batch).item() for _ in range(3)]
optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
alone = curve(net, optimizer, None, paddle.to_tensor(ids), paddle.to_tensor(want))
for wanted in (dict(dp=2, tp=2, pp=2, stage=1, recompute=True), dict(dp=4, tp=2, stage=3, micro=2)):
    found, net = t.small()
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
    choice = found.find(**wanted)
    made = choice.apply(optimizer)
    where = [dist.Replicate(), dist.Shard(0), dist.Replicate()]
    batch = [dist.shard_tensor(x, made.mesh, where) for x in (ids, want)]
    np.testing.assert_allclose(curve(made.model, made.optimizer, made.strategy, *batch), alone, rtol=1e-5)
    held = sum(p._value.addressable_shards[0].data.size for p in net.parameters())
    assert held < 0.75 * sum(p.size for p in net.parameters()), held
""",
        8,
    )
