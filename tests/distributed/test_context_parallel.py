"""Attention over sequences of which each process has a part, against attention over the whole sequence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import paddle
import paddle.distributed as dist
import paddle.nn as nn
from paddle.distributed import fleet
from paddle.distributed.context_parallel import (
    _ring,
    ring_attention,
    sequence_positions,
    split_sequence,
    ulysses_attention,
)
from paddle.distributed.fleet.utils import recompute
from paddle.engine.meshed import OverMesh

from _jobs import Job

SIZE, LENGTH = 4, 16
NUMBERS = np.random.RandomState(0).randn(4, 2, LENGTH, 4, 8).astype("float32")


@pytest.fixture(scope="module")
def job():
    made = Job(SIZE)
    yield made
    made.close()


_made = []


def group_of(rank, size):
    if size == SIZE:
        return None
    if not _made:
        _made.append([g for g in [dist.new_group(p) for p in ([0, 1], [2, 3])] if g.rank >= 0][0])
    return _made[0]


def inputs(dtype, heads, cut=lambda x: x):
    """(query, key, value, weights of the loss)"""
    found = [paddle.to_tensor(x).astype(dtype) for x in NUMBERS]
    found = [cut(x if i in (0, 3) else x[:, :, :heads]) for i, x in enumerate(found)]
    for x in found[:3]:
        x.stop_gradient = False
    return found


def whole(causal, heads, scale, dtype="float32"):
    q, k, v, w = inputs(dtype, heads)
    each = q.shape[2] // heads
    scores = paddle.einsum("blhd,bmhd->bhlm", q, k.repeat_interleave(each, 2)) * scale
    if causal:
        scores = paddle.where(paddle.tril(paddle.ones([LENGTH, LENGTH], "bool")), scores, -np.inf)
    out = paddle.einsum("bhlm,bmhd->blhd", nn.functional.softmax(scores), v.repeat_interleave(each, 2))
    (out * w).sum().backward()
    return [t.astype("float64").numpy() for t in (out, q.grad, k.grad, v.grad)]


def attended(rank, kind, size, causal, heads, balanced=False, dtype="float32"):
    group = group_of(rank, size)
    q, k, v, w = inputs(dtype, heads, lambda x: split_sequence(x, group, balanced=balanced).detach())
    if kind == "ring":
        out = ring_attention(q, k, v, group, causal, balanced)
    else:
        out = ulysses_attention(q, k, v, group, causal)
    (out * w).sum().backward()
    places = sequence_positions(LENGTH, group, balanced).numpy()
    return places, [t.astype("float64").numpy() for t in (out, q.grad, k.grad, v.grad)]


def compare(found, want, tolerance):
    for places, got in found:
        for name, one, other in zip(("out", "query", "key", "value"), got, want):
            np.testing.assert_allclose(one, other[:, places], rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [2, 4])
def test_ring(job, size, causal):
    for heads in (4, 2) if size == 4 else (4,):
        compare(job.run(attended, "ring", size, causal, heads), whole(causal, heads, 8**-0.5), 1e-5)


def test_ring_with_balanced_parts(job):
    for size in (2, 4):
        compare(job.run(attended, "ring", size, True, 4, True), whole(True, 4, 8**-0.5), 1e-5)


def test_ring_in_other_precisions(job):
    compare(job.run(attended, "ring", 2, True, 2, False, "float64"), whole(True, 2, 8**-0.5, "float64"), 1e-12)
    compare(job.run(attended, "ring", 2, True, 2, False, "bfloat16"), whole(True, 2, 8**-0.5), 0.1)


@pytest.mark.parametrize("causal", [False, True])
def test_ulysses(job, causal):
    for size, heads in ((2, 2), (4, 4)):
        compare(job.run(attended, "ulysses", size, causal, heads), whole(causal, heads, 8**-0.5), 1e-5)


# ---- bytes ----
def temporary(rank, length):
    """Bytes that the compiled computations need besides inputs and results, by the number of processes."""
    out = []
    for group in (group_of(rank, 2), dist.get_group(0)):
        attend = _ring(group.mesh, True, False, 0.35).fn
        x = jnp.ones([1, length, 2, 8])

        def gradient(q, k, v, attend=attend):
            return jax.vjp(attend, q, k, v)[1](q)

        for function in (attend, gradient):
            compiled = OverMesh(function, group.mesh).lower(x, x, x).compile()
            out.append(compiled.memory_analysis().temp_size_in_bytes)
    return out


def test_the_memory_is_that_of_a_block(job):
    part = 256
    scores = 2 * part * part * 4  # heads, bytes
    for forward_2, backward_2, forward_4, backward_4 in job.run(temporary, part):
        assert forward_2 < 6 * scores and backward_2 < 10 * scores  # the whole of a sequence over four has 16
        assert forward_4 < 1.2 * forward_2 and backward_4 < 1.2 * backward_2  # however long the sequence


# ---- in programs ----
def recorded(rank, kind):
    attend = ring_attention if kind == "ring" else ulysses_attention
    net = nn.Linear(8, 8)
    net.weight.set_value(np.eye(8, dtype="float32") + 0.1)

    def step(q, k, v, w):
        (recompute(lambda a, b, c: attend(net(a), b, c, causal=True), q, k, v) * w).sum().backward()
        return net.weight.grad + 0

    given = [split_sequence(paddle.to_tensor(x)).detach() for x in NUMBERS]
    eager = step(*given).numpy()
    net.clear_gradients()
    return eager, paddle.jit.to_static(step, full_graph=True)(*given).numpy()


def test_to_static_and_recomputation(job):
    for kind in ("ring", "ulysses"):
        for eager, static in job.run(recorded, kind):
            np.testing.assert_allclose(static, eager, rtol=1e-5, atol=1e-5)


def second(rank):
    q, k, v, w = inputs("float32", 4, lambda x: split_sequence(x).detach())
    (first,) = paddle.grad((ring_attention(q, k, v, causal=True) * w).sum(), q, create_graph=True)
    (first**2).sum().backward()
    return sequence_positions(LENGTH).numpy(), [q.grad.numpy()]


def test_second_derivatives(job):
    q, k, v, w = inputs("float32", 4)
    scores = paddle.einsum("blhd,bmhd->bhlm", q, k) * 8**-0.5
    scores = paddle.where(paddle.tril(paddle.ones([LENGTH, LENGTH], "bool")), scores, -np.inf)
    out = paddle.einsum("bhlm,bmhd->blhd", nn.functional.softmax(scores), v)
    (first,) = paddle.grad((out * w).sum(), q, create_graph=True)
    (first**2).sum().backward()
    compare(job.run(second), [q.grad.numpy()], 1e-4)


# ---- training ----
class Block(nn.Layer):
    def __init__(self, attention):
        super().__init__()
        self.attention, self.table, self.places = attention, nn.Embedding(11, 16), nn.Embedding(LENGTH, 16)
        self.inner, self.outer, self.last = nn.Linear(16, 48, bias_attr=False), nn.Linear(16, 16), nn.Linear(16, 11)

    def forward(self, ids, places):
        x = self.table(ids) + self.places(places)
        q, k, v = self.inner(x).reshape([*x.shape[:2], 2, 24]).split(3, -1)
        x = x + self.outer(self.attention(q, k, v).reshape(x.shape))
        return self.last(x)


IDS = np.random.RandomState(1).randint(0, 11, (2, LENGTH + 1))


def curve(attention, optimizer_of, ids, places, want, spread=1):
    paddle.seed(0)
    net = Block(attention)
    model, optimizer = optimizer_of(net)
    losses = []
    for _ in range(4):
        loss = nn.functional.cross_entropy(model(ids, places), want) / spread
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses, {name: p.numpy() for name, p in net.state_dict().items()}


def adamw(net):
    return paddle.optimizer.AdamW(0.02, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.5))


def segmented(rank, kind):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 2, "sep_degree": 2}
    fleet.init(is_collective=True, strategy=strategy)
    groups = fleet.get_hybrid_communicate_group()
    row = groups.get_data_parallel_rank()
    if kind == "ring":
        attention, balanced = (lambda q, k, v: ring_attention(q, k, v, causal=True, balanced=True)), True
    else:
        attention, balanced = (lambda q, k, v: ulysses_attention(q, k, v, causal=True)), False
    cut = lambda x: split_sequence(paddle.to_tensor(x[row : row + 1]), balanced=balanced)
    both = lambda net: (fleet.distributed_model(net), fleet.distributed_optimizer(adamw(net)))
    places = sequence_positions(LENGTH, balanced=balanced).unsqueeze(0)
    return curve(attention, both, cut(IDS[:, :-1]), places, cut(IDS[:, 1:]), spread=2)


def test_segments_in_fleet(job):
    alone = lambda q, k, v: nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    ids, want = paddle.to_tensor(IDS[:, :-1]), paddle.to_tensor(IDS[:, 1:])
    losses, state = curve(alone, lambda net: (net, adamw(net)), ids, paddle.arange(LENGTH).unsqueeze(0), want)
    for kind in ("ring", "ulysses"):
        found = job.run(segmented, kind)
        np.testing.assert_allclose(np.sum([f[0] for f in found], 0) / 2, losses, rtol=1e-5)
        for _, got in found:
            for name in state:
                np.testing.assert_allclose(got[name], state[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_misuse():
    dist.init_parallel_env()
    x = paddle.ones([1, 4, 2, 8])
    with pytest.raises(ValueError, match="query must be floating point numbers .batch, length, heads, width."):
        ring_attention(x[0], x, x)
    with pytest.raises(ValueError, match="must have one dtype, batch and length"):
        ring_attention(x, x[:, :, :1].expand([1, 4, 3, 8]), x)
    with pytest.raises(ValueError, match="must be even, got 3"):
        ring_attention(x[:, :3], x[:, :3], x[:, :3], causal=True, balanced=True)
    with pytest.raises(ValueError, match="2 pieces must divide the axis 1"):
        split_sequence(x[:, :3], balanced=True)
