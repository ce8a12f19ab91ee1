"""Experts that are spread over processes, against one process that has all of them."""

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
import paddle.nn as nn
from paddle.distributed.models.moe import utils as counting
from paddle.distributed.sharding import group_sharded_parallel
from paddle.distributed.utils.moe_utils import global_gather, global_scatter
from paddle.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm, GShardGate, MoELayer, NaiveGate
from paddle.incubate.distributed.models.moe.utils import count_by_gate, limit_by_capacity

from _jobs import Job

SIZE, WIDTH, EACH = 2, 6, 2
DATA = np.random.RandomState(0).randn(4, 5, WIDTH).astype("float32") * 2


@pytest.fixture(scope="module")
def job():
    made = Job(SIZE)
    yield made
    made.close()


# ---- the exchange ----
def exchanged(rank):
    x = paddle.to_tensor([[1.0, 2], [3, 4], [5, 6], [7, 8], [9, 10]], stop_gradient=False)
    local = paddle.to_tensor([[2, 1, 1, 1], [1, 1, 2, 1]][rank])
    coming = paddle.to_tensor([[2, 1, 1, 1], [1, 1, 2, 1]][rank])
    there = global_scatter(x, local, coming)
    (there * there).sum().backward()
    back = global_gather(there.detach(), local, coming)
    none = global_scatter(x[:0], paddle.zeros([4], "int64"), paddle.zeros([4], "int64"))
    return there.numpy(), x.grad.numpy(), back.numpy(), none.shape


def test_rows_travel_and_come_back(job):
    """The example of the official documentation."""
    found = job.run(exchanged)
    wants = [[[1, 2], [3, 4], [1, 2], [5, 6], [3, 4]], [[7, 8], [5, 6], [7, 8], [9, 10], [9, 10]]]
    for (there, gradient, back, none), want in zip(found, wants):
        np.testing.assert_array_equal(there, want)
        np.testing.assert_array_equal(gradient, [[2, 4], [6, 8], [10, 12], [14, 16], [18, 20]])
        np.testing.assert_array_equal(back, [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]])
        assert none == [0, 2]


def contradicting(rank):
    x = paddle.ones([3, 1])
    with pytest.raises(ValueError, match="global_count must be what the others' local_count says"):
        global_scatter(x, paddle.to_tensor([1, 2]), paddle.to_tensor([3, 3]))
    with pytest.raises(ValueError, match="local_count must add up to the rows of x"):
        global_scatter(x, paddle.to_tensor([1, 1]), paddle.to_tensor([1, 1]))
    with pytest.raises(ValueError, match="integers from 0 on"):
        global_scatter(x, paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1, 2]))


def test_counts_that_contradict(job):
    job.run(contradicting)


# ---- the layer ----
def experts(numbers):
    made = []
    for number in numbers:
        paddle.seed(100 + number)
        made.append(nn.Sequential(nn.Linear(WIDTH, 8), nn.GELU(), nn.Linear(8, WIDTH)))
    return nn.LayerList(made)


class Model(nn.Layer):
    def __init__(self, numbers, gate, group=None, **more):
        super().__init__()
        paddle.seed(3)
        self.first = nn.Linear(WIDTH, WIDTH)
        self.moe = MoELayer(WIDTH, experts(numbers), gate, group, **more)
        for p in self.moe.experts.parameters():
            p.no_sync = group is not None
        gates = np.random.RandomState(5)
        self.moe.gate.gate.weight.set_value(gates.randn(*self.moe.gate.gate.weight.shape).astype("float32"))
        self.moe.gate.gate.bias.set_value(np.array([4.0, -30, 0, 0], "float32"))  # one expert gets little

    def forward(self, x):
        return self.moe(nn.functional.tanh(self.first(x)))


def gradients(model, scale=1.0):
    out = {}
    for name, p in model.named_parameters():
        factor = scale if ".experts." in name else 1.0
        out[name] = None if p.grad is None else p.grad.numpy() * factor
    return out


GATES = {"naive": {"type": "naive", "top_k": 2}, "one": {"type": "naive", "top_k": 1}}


def spread(rank, gate, recomputes):
    more = {"recompute_interval": 1} if recomputes else {}
    net = Model(range(rank * EACH, rank * EACH + EACH), GATES[gate], dist.new_group([0, 1]), **more)
    model = paddle.DataParallel(net)
    x = paddle.to_tensor(DATA[rank * 2 : rank * 2 + 2], stop_gradient=recomputes)
    y = model(x)
    (y**2).mean().backward()
    for _ in range(2):
        with paddle.utils.count_compiles() as count:
            (model(paddle.to_tensor(DATA[rank * 2 : rank * 2 + 2])) ** 2).mean().backward()
        net.clear_gradients()
    (model(paddle.to_tensor(DATA[rank * 2 : rank * 2 + 2])) ** 2).mean().backward()
    return y.numpy(), gradients(net, 1 / SIZE), None if x.stop_gradient else x.grad.numpy(), count.compiles


@pytest.mark.parametrize("gate, recomputes", [("naive", False), ("one", True)])
def test_outputs_and_gradients_of_every_parameter(job, gate, recomputes):
    whole = Model(range(SIZE * EACH), GATES[gate])
    x = paddle.to_tensor(DATA, stop_gradient=False)
    y = whole(x)
    (y**2).mean().backward()
    want = gradients(whole)
    for rank, (got, found, of_input, compiles) in enumerate(job.run(spread, gate, recomputes)):
        rows = slice(rank * 2, rank * 2 + 2)
        np.testing.assert_allclose(got, y.numpy()[rows], rtol=1e-5, atol=1e-6)
        if of_input is not None:
            np.testing.assert_allclose(of_input / SIZE, x.grad.numpy()[rows], rtol=1e-5, atol=1e-7)
        for name, value in found.items():
            if ".experts." in name:  # those of this process have other numbers in the whole
                head, tail = name.split(".experts.")
                number, rest = tail.split(".", 1)
                name = f"{head}.experts.{int(number) + rank * EACH}.{rest}"
            if want[name] is None:
                assert value is None or not value.any()
            else:
                np.testing.assert_allclose(value, want[name], rtol=1e-4, atol=1e-6, err_msg=name)
        assert compiles == 0


def limits(rank):
    group = dist.new_group([0, 1])
    index = paddle.to_tensor([[[0, 1], [0, 3], [0, 1]], [[0, 2], [3, 0], [0, -1]]][rank])
    own, coming, kept = limit_by_capacity(index, EACH, SIZE, 4, group)
    positions, local, arriving = count_by_gate(index, EACH, SIZE, group=group)
    return own.tolist(), coming.tolist(), kept.tolist(), local.tolist(), arriving.tolist(), positions.tolist()


def test_limits_over_processes(job):
    first, second = job.run(limits)
    assert first[:3] == ([3, 2, 0, 1], [3, 2, 1, 0], [[0, 1], [0, 3], [0, 1]])
    assert second[:3] == ([1, 0, 1, 1], [0, 1, 1, 1], [[0, 2], [3, -1], [-1, -1]])
    assert first[3:5] == ([3, 2, 0, 1], [3, 2, 3, 0]) and second[3:5] == ([3, 0, 1, 1], [0, 1, 1, 1])
    assert first[5] == [4, 2, 0, 5, 1, 3]


def gates(rank):
    group = dist.new_group([0, 1])
    out = []
    for kind in ("gshard", "switch"):
        paddle.seed(0)
        top_k = 2 if kind == "gshard" else 1
        layer = MoELayer(WIDTH, experts(range(rank * EACH, rank * EACH + EACH)), {"type": kind, "top_k": top_k}, group)
        x = paddle.to_tensor(DATA[rank * 2 : rank * 2 + 2])
        layer.gate.gate.bias.set_value(np.array([50.0, 0, 0, 0], "float32"))  # all want the first
        y = layer(x)
        loss = layer.gate.get_loss()
        (y.sum() + loss).backward()
        taken = layer.gate(x.reshape([-1, WIDTH]))[1].numpy()
        out.append((loss.item(), int((taken == 0).sum()), layer.gate.gate.weight.grad.numpy().any()))
    return out


def test_capacity_and_the_loss_of_the_gates(job):
    found = job.run(gates)
    for number, kind in enumerate(("gshard", "switch")):
        taken = [f[number][1] for f in found]
        assert sum(taken) == 12  # of 20 tokens, 1.2 times the 10 of a process
        assert all(f[number][2] for f in found) and all(f[number][0] > 0 for f in found)


def mixed(rank):
    """Tokens that two processes have in common, and experts of each alone."""
    layer = MoELayer(WIDTH, experts([0, 1]), GATES["naive"], mp_group=dist.new_group([0, 1]))
    x = paddle.to_tensor(DATA, stop_gradient=False)
    y = layer(x)
    (y**2).mean().backward()
    return y.numpy(), x.grad.numpy()


def test_tokens_that_several_processes_have(job):
    x = paddle.to_tensor(DATA, stop_gradient=False)
    want = MoELayer(WIDTH, experts([0, 1]), GATES["naive"])(x)
    (want**2).mean().backward()
    for y, gradient in job.run(mixed):
        np.testing.assert_allclose(y, want.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(gradient, x.grad.numpy(), rtol=1e-5, atol=1e-7)


def trained(rank, level):
    group = dist.new_group([0, 1])
    net = Model(range(rank * EACH, rank * EACH + EACH), GATES["naive"], group)
    is_expert = lambda p: getattr(p, "no_sync", False)
    if level is None:
        model, clip = paddle.DataParallel(net), ClipGradForMOEByGlobalNorm(0.05, is_expert, group)
    else:
        model, clip = net, nn.ClipGradByGlobalNorm(0.05)
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=clip)
    if level is not None:
        model, optimizer, _ = group_sharded_parallel(net, optimizer, level, segment_size=10)
    for _ in range(3):
        (model(paddle.to_tensor(DATA[rank * 2 : rank * 2 + 2])) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return {name: p.numpy() for name, p in model.state_dict().items()}


def test_experts_with_sharding_of_everything_else(job):
    """Clipping looks at the experts of all processes."""
    want = job.run(trained, None)
    for level in ("os", "p_g_os"):
        for got, expected in zip(job.run(trained, level), want):
            for name in expected:
                np.testing.assert_allclose(got[name], expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
    assert (want[0]["moe.experts.0.0.weight"] != want[1]["moe.experts.0.0.weight"]).any()


# ---- in one process ----
def test_counting():
    """Values of the official documentation."""
    as_int = lambda v: paddle.to_tensor(v, dtype="int64")
    assert counting._number_count(as_int([[0, 2], [0, 2]]), 4).tolist() == [2, 0, 2, 0]
    assert counting._assign_pos(as_int([[0, 2], [0, 2]]), as_int([2, 2, 4, 4])).tolist() == [2, 0, 3, 1]
    limited = counting._limit_by_capacity(as_int([1, 2, 2, 8, 3, 6]), as_int([5, 5, 5]), 2)
    assert limited.tolist() == [1, 2, 2, 4, 3, 3]
    pruned = counting._prune_gate_by_capacity(as_int([1, 3, 3, 3, 3, 2, 1, 1]), as_int([0, 3, 1, 3, 0, 0, 0, 0]), 8, 1)
    assert pruned.tolist() == [1, 3, 3, 3, -1, 2, 1, 1]
    values = paddle.to_tensor([[0.9, 0.1], [0.6, 0.4]])
    assert counting._random_routing(as_int([[0, 1], [1, 0]]), values, paddle.to_tensor([0.3, 0.3])).tolist() == [
        [0, -1],
        [1, 0],
    ]


def test_one_process_by_hand():
    layer = MoELayer(WIDTH, experts(range(3)), NaiveGate(WIDTH, 3, 1, topk=2))
    x = paddle.to_tensor(DATA)
    scores = layer.gate.gate(x.reshape([-1, WIDTH])).numpy()
    every = np.stack([e(x.reshape([-1, WIDTH])).numpy() for e in layer.experts], 1)
    best = np.argsort(-scores, 1)[:, :2]
    want = sum(np.take_along_axis(scores, best, 1)[:, k, None] * every[np.arange(20), best[:, k]] for k in (0, 1))
    np.testing.assert_allclose(layer(x).numpy().reshape(-1, WIDTH), want, rtol=1e-5, atol=1e-6)


def test_misuse():
    with pytest.raises(ValueError, match="topk must be 2, got 3"):
        GShardGate(4, 2, 1, topk=3)
    with pytest.raises(ValueError, match="the type of a gate must be"):
        MoELayer(4, nn.LayerList([nn.Linear(4, 4)]), {"type": "best"})
    with pytest.raises(TypeError, match="gate must be a dict or a gate"):
        MoELayer(4, nn.LayerList([nn.Linear(4, 4)]), 3)
    with pytest.raises(ValueError, match="must be .batch, length, width."):
        MoELayer(4, nn.LayerList([nn.Linear(4, 4)]), GATES["one"])(paddle.ones([2, 4]))
