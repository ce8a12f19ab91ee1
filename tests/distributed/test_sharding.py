"""Training of which each process keeps a part, against one process with all data; bytes that are kept."""

import gc

import jax
import numpy as np
import pytest

import paddle
import paddle.distributed as dist
import paddle.nn as nn
from paddle.distributed.fleet.meta_parallel.sharding.buckets import Unit
from paddle.distributed.fleet.utils import recompute
from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model
from paddle.engine import capture
from paddle.engine.modes import modes, set_mode

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
def trained(rank, level, kind, size, captured=True):
    with set_mode(capture=modes.capture if captured else None):  # its programs are compiled when time has passed
        return train(rank, level, kind, size)


def train(rank, level, kind, size):
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


@pytest.mark.parametrize("kind", [pytest.param("adam", marks=pytest.mark.slow), "adamw"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_curve_of_one_process(job, level, kind):
    want, end, _ = alone(kind)
    for size in (4, 2) if kind == "adamw" else (4,):
        found = job.run(trained, level, kind, size, size == 2)
        curves = np.array([f[0] for f in found])
        np.testing.assert_allclose(curves[:size].mean(0), want, rtol=1e-5)
        for _, got, compiles in found[:size]:
            same(got, end)
            assert compiles == 0 or size == 2  # after three steps


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


@pytest.mark.parametrize("level", [pytest.param("os", marks=pytest.mark.slow), "p_g_os"])
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
            np.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-3)  # bfloat16 in between


# ---- capture ----
def deferred(rank, level):
    with set_mode(capture=capture.Capture(True)):
        net = make(rank)
        model, optimizer, _ = group_sharded_parallel(net, optimizer_of(net, "adamw"), level, segment_size=20)
        steps(model, optimizer, rows_of(rank, 4))
        return state(model)


def test_programs_of_repeated_calls(job):
    want = alone("adamw")[1]
    for level in LEVELS:
        for got in job.run(deferred, level):
            same(got, want)


# ---- bytes ----
WIDE = 64


def stack():
    paddle.seed(0)
    return nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(WIDE, WIDE, bias_attr=False), nn.Tanh())])


def live():
    return sum(a.nbytes for a in jax.live_arrays())


def measured(rank, level, size):
    """Bytes between two steps, between backward and step, between forward and backward; most units gathered at once."""
    gc.collect()
    with set_mode(capture=None):
        group = halves(rank)[0] if size == 2 else None
        start = live()
        model = stack()
        optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters())
        if level is not None:
            model, optimizer, _ = group_sharded_parallel(model, optimizer, level, group=group, segment_size=100)
        x, most, units = paddle.ones([2, WIDE]), [0], getattr(model, "_units", [])
        for layer in model.sublayers():
            layer.register_forward_post_hook(lambda *_: most.append(sum(u.arrays is not None for u in units)))
        for p in model.parameters():
            p.register_hook(lambda g: most.append(sum(u.arrays is not None for u in units)))
        for step in range(2):
            before = live()
            loss = model(x).sum()
            kept = live() - before
            loss.backward()
            del loss
            gradients = live() - before
            optimizer.step()
            optimizer.clear_grad(False)
        return live() - start, gradients, kept, max(most)


PARAMETERS = 4 * WIDE * WIDE * 4  # bytes
SLACK = 12_000  # the input, what the layers in between leave on the tape, counters


def test_bytes_that_a_process_keeps(job):
    rows = {}
    for size in (1, 2, 4):
        for level in [None] if size == 1 else LEVELS:
            found = job.run(measured, level, size)
            rows[size, level] = [max(column) for column in zip(*found)]
    for (size, level), (end, gradients, kept, most) in rows.items():
        parameters = PARAMETERS / (size if level == "p_g_os" else 1)
        states = 2 * PARAMETERS / size
        assert abs(end - parameters - states) < SLACK, (size, level, end)
        own = PARAMETERS / (size if level in ("os_g", "p_g_os") else 1)
        assert abs(gradients - own) < SLACK, (size, level, gradients)
        assert kept < SLACK + (level == "p_g_os") * PARAMETERS / 4, (size, level, kept)  # one may be gathered ahead
        assert (most > 0) is (level == "p_g_os") and most <= 3


# ---- models of other kinds ----
class Odd(nn.Layer):
    """A table that is also the last matrix, a frozen layer, a recomputed one, one that is used twice, one that is not."""

    def __init__(self):
        super().__init__()
        self.table, self.frozen, self.again = nn.Embedding(7, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.twice, self.idle = nn.Linear(8, 8), nn.Linear(8, 8)
        for p in self.frozen.parameters():
            p.stop_gradient = True
        self.own = self.create_parameter([8, 8])

    def forward(self, ids):
        x = self.frozen(self.table(ids))
        x = recompute(lambda t: nn.functional.tanh(self.again(t)) @ self.own, x)
        return self.twice(nn.functional.relu(self.twice(x))) @ self.table.weight.T


IDS = np.random.RandomState(2).randint(0, 7, (8, 5))


def odd(rank, level, size):
    paddle.seed(0)
    net = Odd()
    optimizer = paddle.optimizer.AdamW(0.02, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.3))
    model, rows = net, slice(None)
    if level is not None:
        model, optimizer, _ = group_sharded_parallel(net, optimizer, level, segment_size=8)
        rows = rows_of(rank, size)
    for step in range(4):
        with paddle.no_grad():
            model(paddle.to_tensor(IDS[rows]))
        nn.functional.cross_entropy(model(paddle.to_tensor(IDS[rows])), paddle.to_tensor(IDS[rows])).backward()
        if step == 2:
            net.idle(paddle.ones([1, 8])).sum().backward()  # with zeros before, it moves on
        optimizer.step()
        optimizer.clear_grad()
    return state(model)


def test_shared_frozen_recomputed_and_unused_parameters(job):
    want = odd(0, None, 1)
    for level in LEVELS:
        for got in job.run(odd, level, 4):
            same(got, want)


def details(rank):
    paddle.seed(rank)
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1D(16), nn.Linear(16, 16), nn.Linear(16, 3))
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    model, optimizer, _ = group_sharded_parallel(
        net, optimizer, "p_g_os", sync_buffers=True, segment_size=50, exclude_layer=[id(net[2])], sync_comm=True
    )
    units = [b for b in optimizer._exchange.buckets if isinstance(b, Unit)]
    divided = [p.shape for unit in units for p in unit.params]
    for _ in range(2):
        model(paddle.to_tensor(DATA[rows_of(rank, 4)])).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
    model(paddle.to_tensor(DATA))
    shapes = [net[0].weight.shape, units[0].arrays]  # asking for a shape gathers nothing
    net[0].weight.set_value(np.full((6, 16), 2.0, "float32"))
    model.get_all_parameters()
    return divided, net[1]._mean.numpy(), shapes, net[0].weight.numpy()


def test_what_stays_whole_and_buffers(job):
    found = job.run(details)
    for divided, mean, (shape, gathered), weight in found:
        assert divided == [[6, 16]]  # the last one is small, that in the middle excluded
        assert shape == [6, 16] and gathered is None and (weight == 2).all()
        np.testing.assert_array_equal(mean, found[0][1])


def hybrid(rank, split, merged):
    from paddle.distributed import fleet

    strategy = fleet.DistributedStrategy()
    if merged:
        strategy.gradient_merge, strategy.gradient_merge_configs = True, {"k_steps": 2, "avg": True}
    strategy.hybrid_configs = {"dp_degree": 2, "sharding_degree": 2, "sharding_configs": {"split_param": split}}
    fleet.init(is_collective=True, strategy=strategy)
    net = make(rank)
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(optimizer_of(net, "adamw"))
    scaler = fleet.distributed_scaler(paddle.amp.GradScaler(not merged, init_loss_scaling=64.0))
    for _ in range(10 if merged else 5):
        x, y = paddle.to_tensor(DATA[rows_of(rank, 4)]), paddle.to_tensor(WANT[rows_of(rank, 4)])
        scaler.scale(((model(x) - y) ** 2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
    held = sum(s.size for s in optimizer._shards)
    return state(net), held, sum(p.size for p in net.parameters()), type(model).__name__


def test_sharding_as_an_axis_of_fleet(job):
    want = alone("adamw")[1]
    for split in (False, True):
        found = job.run(hybrid, split, split)
        for got, held, total, name in found:
            same(got, want)
            assert name == "ShardingParallel" and abs(held - total / 2) <= 10
        assert found[0][1] + found[1][1] == found[0][2]


def test_misuse():
    dist.init_parallel_env()
    net = make()
    adam = optimizer_of(net, "adam")
    with pytest.raises(TypeError, match="model must be a Layer"):
        group_sharded_parallel(3, adam, "os")
    with pytest.raises(TypeError, match="optimizer must be an Optimizer"):
        group_sharded_parallel(net, 3, "os")
    with pytest.raises(ValueError, match="level must be one of 'os', 'os_g', 'p_g_os', got 'g'"):
        group_sharded_parallel(net, adam, "g")
    with pytest.raises(TypeError, match="exclude_layer must be a list"):
        group_sharded_parallel(net, adam, "p_g_os", exclude_layer="Linear")
    with pytest.raises(NotImplementedError, match="sharding of LBFGS"):
        group_sharded_parallel(net, paddle.optimizer.LBFGS(parameters=net.parameters()), "os")
    with pytest.raises(ValueError, match="must come from group_sharded_parallel"):
        save_group_sharded_model(net, "nowhere")
    model, adam, _ = group_sharded_parallel(net, adam, "p_g_os", segment_size=20)
    with pytest.raises(ValueError, match="sharded already"):
        group_sharded_parallel(net, adam, "os")
    with pytest.raises(NotImplementedError, match="inside of to_static"):
        paddle.jit.to_static(lambda x: model(x), full_graph=True)(paddle.ones([1, 6]))
