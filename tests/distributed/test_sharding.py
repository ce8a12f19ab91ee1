"""Training of which each process keeps a part, against one process with all data; bytes that are kept."""

import gc

import jax
import numpy as np
import pytest

import paddle
import paddle.distributed as dist
import paddle.nn as nn
from paddle.distributed.fleet.utils import recompute
from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model

from _jobs import Job

SIZE = 4
LEVELS = ["os", "os_g", "p_g_os"]
DATA = np.random.RandomState(0).randn(8, 6).astype("float32")
WANT = np.random.RandomState(1).randn(8, 3).astype("float32")


@pytest.fixture(scope="module")
def job():
    made = Job(SIZE)
    yield made
    made.close()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(6, 13), nn.LayerNorm(13), nn.Linear(13, 13)
        self.last, self.idle = nn.Linear(13, 3), nn.Linear(3, 3)
        self.scale = self.create_parameter([])

    def forward(self, x):
        x = nn.functional.tanh(self.norm(self.first(x)))
        return self.last(nn.functional.gelu(self.second(x))) * (1 + self.scale)


def make(seed=0):
    paddle.seed(seed)
    net = Net()
    for number, p in enumerate(net.parameters()):
        p.name = f"p{number}"
    return net


def optimizer_of(net, kind):
    clip = nn.ClipGradByGlobalNorm(0.5)
    if kind == "adam":
        rate = paddle.optimizer.lr.StepDecay(0.02, 2, 0.5)
        return paddle.optimizer.Adam(rate, parameters=net.parameters(), weight_decay=0.1, grad_clip=clip)
    if kind == "adamw":
        names = {net.first.weight.name, net.second.weight.name}
        return paddle.optimizer.AdamW(
            0.02,
            parameters=net.parameters(),
            weight_decay=0.1,
            apply_decay_param_fun=names.__contains__,
            grad_clip=clip,
        )
    if kind == "groups":
        first, rest = net.first.parameters(), [*net.norm.parameters(), *net.second.parameters(), net.scale]
        groups = [
            {"params": first, "learning_rate": 0.5, "grad_clip": nn.ClipGradByGlobalNorm(0.1)},
            {"params": rest, "weight_decay": 0.2},
        ]
        return paddle.optimizer.Momentum(0.1, 0.9, parameters=groups)
    if kind == "lamb":
        return paddle.optimizer.Lamb(0.02, parameters=net.parameters(), grad_clip=nn.ClipGradByNorm(0.2))
    raise KeyError(kind)


def steps(model, optimizer, rows, n=5, scaler=None, parts=1):
    """Losses on some rows of the batch; with `parts` the gradients of as many batches are added up."""
    curve = []
    for _ in range(n):
        for part in np.array_split(np.arange(8)[rows], parts):
            loss = ((model(paddle.to_tensor(DATA[part])) - paddle.to_tensor(WANT[part])) ** 2).mean()
            (loss / parts).backward()
        optimizer.step()
        optimizer.clear_grad()
        if isinstance(optimizer._learning_rate, paddle.optimizer.lr.LRScheduler):
            optimizer._learning_rate.step()
        curve.append(loss.item())
    return curve


def state(layer):
    return {name: p.numpy() for name, p in layer.state_dict().items()}


def alone(kind, n=5):
    net = make()
    optimizer = optimizer_of(net, kind)
    return steps(net, optimizer, slice(None), n), state(net), optimizer


def rows_of(rank, size):
    return slice(rank * 8 // size, (rank + 1) * 8 // size)


def same(got, want, tolerance=1e-5):
    assert set(got) == set(want)
    for name in want:
        np.testing.assert_allclose(got[name], want[name], rtol=tolerance, atol=tolerance, err_msg=name)


# ---- equality with one process ----
def trained(rank, level, kind, size):
    group = halves(rank)[0] if size == 2 else None
    net = make(rank)  # the first process's parameters go to all
    place = rank % size
    model, optimizer, _ = group_sharded_parallel(net, optimizer_of(net, kind), level, group=group, segment_size=20)
    curve = steps(model, optimizer, rows_of(place, size), 3)
    with paddle.utils.count_compiles() as count:
        curve += steps(model, optimizer, rows_of(place, size), 2)
    return curve, state(model), count.compiles


_made = []


def halves(rank):
    """(the pair of neighbours, the pair across) that a process belongs to."""
    if not _made:
        pairs = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
        _made.append([next(g for g in [dist.new_group(p) for p in kind] if g.rank >= 0) for kind in pairs])
    return _made[0]


@pytest.mark.parametrize("kind", ["adam", "adamw"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_curve_of_one_process(job, level, kind):
    want, end, _ = alone(kind)
    for size in (4, 2) if kind == "adamw" else (4,):
        found = job.run(trained, level, kind, size)
        curves = np.array([f[0] for f in found])
        np.testing.assert_allclose(curves[:size].mean(0), want, rtol=1e-5)
        for _, got, compiles in found[:size]:
            same(got, end)
            assert compiles == 0  # after three steps


@pytest.mark.parametrize("kind", ["groups", "lamb"])
def test_groups_of_parameters_and_rules_for_whole_ones(job, kind):
    want, end, _ = alone(kind)
    for level in ("os_g", "p_g_os"):
        for _, got, _ in job.run(trained, level, kind, 4):
            same(got, end)


def accumulated(rank, level):
    net = make()
    model, optimizer, _ = group_sharded_parallel(net, optimizer_of(net, "adam"), level, segment_size=20)
    steps(model, optimizer, rows_of(rank, 4), 3, parts=2)
    return state(model)


def test_gradients_of_several_batches_add_up(job):
    want = alone("adam", 3)[1]
    for level in LEVELS:
        for got in job.run(accumulated, level):
            same(got, want)


def crossed(rank, level):
    rows, across = halves(rank)
    net = make(rank)
    model, optimizer, _ = group_sharded_parallel(
        net, optimizer_of(net, "adamw"), level, group=rows, dp_group=across, segment_size=20, buffer_max_size=50
    )
    steps(model, optimizer, rows_of(rank, 4))
    return state(model)


def test_copies_of_a_group_average_their_shards(job):
    want = alone("adamw")[1]
    for level in LEVELS:
        for got in job.run(crossed, level):
            same(got, want)


# ---- states ----
def saved(rank, level, folder):
    net = make()
    model, optimizer, _ = group_sharded_parallel(net, optimizer_of(net, "adam"), level, segment_size=20)
    steps(model, optimizer, rows_of(rank, 4), 2)
    save_group_sharded_model(model, folder, optimizer)
    other = make(5)
    model, optimizer, _ = group_sharded_parallel(other, optimizer_of(other, "adam"), level, segment_size=20)
    model.set_state_dict(paddle.load(f"{folder}/model.pdmodel"))
    optimizer.set_state_dict(paddle.load(f"{folder}/model.pdopt"))
    steps(model, optimizer, rows_of(rank, 4), 3)
    return state(model)


@pytest.mark.parametrize("level", ["os", "p_g_os"])
def test_states_are_those_of_one_process(job, level, tmp_path):
    _, want, _ = alone("adam", 5)
    for got in job.run(saved, level, str(tmp_path)):
        same(got, want)
    _, middle, optimizer = alone("adam", 2)
    same({k: v.numpy() for k, v in paddle.load(str(tmp_path / "model.pdmodel")).items()}, middle)
    read, state_of_one = paddle.load(str(tmp_path / "model.pdopt")), optimizer.state_dict()
    assert read.pop("LR_Scheduler")["last_epoch"] == state_of_one.pop("LR_Scheduler")["last_epoch"]
    same({k: np.asarray(v) for k, v in read.items()}, {k: v.numpy() for k, v in state_of_one.items()})
    net = make(3)
    optimizer = optimizer_of(net, "adam")
    net.set_state_dict(paddle.load(str(tmp_path / "model.pdmodel")))
    optimizer.set_state_dict(paddle.load(str(tmp_path / "model.pdopt")))
    steps(net, optimizer, slice(None), 3)
    same(state(net), want)


def continued(rank):
    net = make()
    optimizer = optimizer_of(net, "adamw")
    steps(net, optimizer, slice(None), 2)  # with states before it is divided
    model, optimizer, _ = group_sharded_parallel(net, optimizer, "os_g")
    steps(model, optimizer, rows_of(rank, 4), 3)
    return state(model)


def test_an_optimizer_that_has_been_trained(job):
    want = alone("adamw")[1]
    for got in job.run(continued):
        same(got, want)


# ---- mixed precision ----
def scaled(rank, level):
    net = make()
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0, incr_every_n_steps=2)
    model, optimizer, scaler = group_sharded_parallel(net, optimizer_of(net, "adamw"), level, scaler, segment_size=20)
    before, scales = [], []
    for step in range(4):
        x = DATA[rows_of(rank, 4)] * (np.inf if step == 1 and rank == 2 else 1)
        loss = ((model(paddle.to_tensor(x)) - paddle.to_tensor(WANT[rows_of(rank, 4)])) ** 2).mean()
        scaler.scale(loss).backward()
        if step == 2:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        before.append(state(model))
        scales.append(float(scaler._scale))
    return before, scales


@pytest.mark.parametrize("level", LEVELS)
def test_an_infinite_gradient_anywhere_leaves_the_step_out_everywhere(job, level):
    want = [alone("adamw", n)[1] for n in (1, 2, 3)]
    for states, scales in job.run(scaled, level):
        same(states[0], want[0])
        for name in states[0]:
            np.testing.assert_array_equal(states[1][name], states[0][name])
        same(states[2], want[1])
        same(states[3], want[2])
        assert scales == [1024, 512, 512, 1024]


def low(rank, level):
    paddle.seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).astype("bfloat16")
    optimizer = paddle.optimizer.AdamW(0.02, parameters=net.parameters(), multi_precision=True)
    model, optimizer, _ = group_sharded_parallel(net, optimizer, level, segment_size=20)
    for _ in range(3):
        x = paddle.to_tensor(DATA).astype("bfloat16")
        ((model(x).astype("float32") - paddle.to_tensor(WANT)) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    masters = optimizer.state_dict()["master_weights"]
    return [m.numpy() for m in masters.values()], [str(p.dtype) for p in net.parameters()]


def test_float32_copies_of_16_bit_parameters(job):
    results = [job.run(low, level)[1] for level in LEVELS]
    for masters, types in results:
        assert types == ["paddle.bfloat16"] * 4 and [m.shape for m in masters] == [(6, 16), (16,), (16, 3), (3,)]
    for masters, _ in results[1:]:
        for got, want in zip(masters, results[0][0]):
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
