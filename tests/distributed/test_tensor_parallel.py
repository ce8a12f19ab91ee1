"""Models divided over processes against one process: losses, gradients and weights."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed import fleet
from paddle.distributed.fleet.layers.mpu import mp_layers, mp_ops
from paddle.distributed.fleet.utils import hybrid_parallel_util as util
from paddle.distributed.fleet.utils import recompute
from paddle.distributed.fleet.utils import sequence_parallel_utils as sp

from _jobs import Job, raised
from _transformer import Transformer, adam, batch, fill, gathered, gradients, named, one_process, split_axes, weights

STEPS = 4


@pytest.fixture(scope="module")
def job():
    made = Job(4)
    yield made
    made.close()


def start(**degrees):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = degrees
    fleet.init(is_collective=True, strategy=strategy)
    return fleet.get_hybrid_communicate_group()


def train(rank, mp, clip, compiled):
    groups = start(mp_degree=mp, dp_degree=4 // mp)
    place, n = groups.get_model_parallel_rank(), groups.get_model_parallel_world_size()
    model = Transformer()
    fill(named(model), place, n)
    model = fleet.distributed_model(model)
    optimizer = fleet.distributed_optimizer(adam(model, clip))
    copies, copy = groups.get_data_parallel_world_size(), groups.get_data_parallel_rank()
    curve, first = [], []

    def step(ids, labels):
        loss = model(ids, labels)
        loss.backward()
        if not compiled:
            first.append(first or gradients(model))
        optimizer.step()
        optimizer.clear_grad()
        return loss

    step = paddle.jit.to_static(step) if compiled else step
    for number in range(STEPS):
        ids, labels = batch(number)
        rows = slice(copy * len(ids) // copies, (copy + 1) * len(ids) // copies)
        curve.append(step(ids[rows], labels[rows]).item())
    return curve, first and first[0], weights(model), split_axes(model)


@pytest.mark.parametrize(
    "mp, clip, compiled", [pytest.param(2, 0.2, False, marks=pytest.mark.slow), (4, None, False), (2, 0.2, True)]
)
def test_training_equals_one_process(job, mp, clip, compiled):
    found = job.run(train, mp, clip, compiled)
    curve, first, end = one_process(STEPS, clip)
    copies = [found[i : i + mp] for i in range(0, 4, mp)]
    np.testing.assert_allclose(np.mean([c[0][0] for c in copies], 0), curve, atol=1e-5)
    for copy in copies:
        assert copy[0][0] == copy[1][0]  # the same losses in all parts of a copy
        got = gathered([p[2] for p in copy], copy[0][3])
        for name, want in end.items():
            np.testing.assert_allclose(got[name], want, atol=1e-5, err_msg=name)
    if not compiled:
        starts = [gathered([p[1] for p in copy], copy[0][3]) for copy in copies]
        for name, want in first.items():
            np.testing.assert_allclose(np.mean([s[name] for s in starts], 0), want, atol=1e-6, err_msg=name)


# ---- layers, against NumPy ----
X = np.random.RandomState(0).randn(3, 8).astype("float32")
WEIGHT = np.random.RandomState(1).randn(8, 12).astype("float32")


def divided(rank):
    """Linear layers that take and give whole tensors, and second derivatives through their collectives."""
    groups = start(mp_degree=2, dp_degree=2)
    place, out = groups.get_model_parallel_rank(), {}
    column = fleet.meta_parallel.ColumnParallelLinear(8, 12, has_bias=True, fuse_matmul_bias=True)
    row = fleet.meta_parallel.RowParallelLinear(8, 12, fuse_matmul_bias=True)
    own = [float(layer.weight.sum()) for layer in (column, row)]  # another start in each part
    for layer, axis in ((column, 1), (row, 0)):
        layer.weight.set_value(np.split(WEIGHT, 2, axis)[place])
        layer.bias.set_value(np.full(layer.bias.shape, 0.5, "float32"))
        x = paddle.to_tensor(X, stop_gradient=False)
        y = layer(x)
        (slope,) = paddle.grad((y**2).sum(), x, create_graph=True)
        (curvature,) = paddle.grad(slope.sum(), x)
        out[axis] = y.numpy(), slope.numpy(), curvature.numpy()
    places = [p.is_distributed and p.split_axis for p in (column.weight, column.bias, row.weight, row.bias)]
    return own, out, places


def test_linear_layers(job):
    found = job.run(divided)
    y = X @ WEIGHT + 0.5
    for rank, (own, out, places) in enumerate(found):
        for got in out.values():
            for a, b in zip(got, (y, 2 * y @ WEIGHT.T, (2 * WEIGHT @ WEIGHT.T).sum(0) + 0 * X)):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
        assert places == [1, 0, 0, False]
        assert own == found[rank ^ 2][0] and own != found[rank ^ 1][0]


LOGITS = np.random.RandomState(2).randn(2, 3, 8).astype("float32") * 50 + 1e4  # exp overflows
LABELS = np.array([[1, 7, -1], [4, -1, 0]])
SOFT = np.random.RandomState(3).randn(2, 3, 4).astype("float32")


def entropy(rank):
    groups = start(mp_degree=2, dp_degree=2)
    place, group = groups.get_model_parallel_rank(), groups.get_model_parallel_group()
    part = np.split(LOGITS, 2, -1)[place]
    logits = paddle.to_tensor(part, stop_gradient=False)
    layer = fleet.meta_parallel.ParallelCrossEntropy(ignore_index=-1)
    losses = layer(logits, paddle.to_tensor(LABELS))
    losses.sum().backward()
    narrow = layer(paddle.to_tensor(part).astype("bfloat16"), paddle.to_tensor(LABELS))
    other = paddle.to_tensor(part, stop_gradient=False)
    losses_too, softmax = mp_ops._c_softmax_with_cross_entropy(
        other, paddle.to_tensor(LABELS[..., None]), group, return_softmax=True, ignore_index=-1
    )
    (softmax * paddle.to_tensor(SOFT)).sum().backward()  # only this member's part is used: members go different ways
    several = mp_layers.ParallelMultiLabelCrossEntropy(ignore_index=-1)(
        paddle.to_tensor(part), paddle.to_tensor(np.stack([LABELS, LABELS[::-1]], -1)), paddle.to_tensor(SOFT[..., :2])
    )
    wrong = [
        raised(layer, logits, paddle.to_tensor(LABELS + 5)),
        raised(layer, logits, paddle.to_tensor(LABELS[:1])),
        raised(layer, logits, paddle.to_tensor(LABELS).astype("float32")),
    ]
    return (
        [t.numpy() for t in (losses, logits.grad, losses_too, softmax, other.grad, several)],
        str(narrow.dtype),
        wrong,
    )


def test_cross_entropy(job):
    found = job.run(entropy)
    whole = paddle.to_tensor(LOGITS, stop_gradient=False)
    want = nn.functional.cross_entropy(whole, paddle.to_tensor(LABELS), reduction="none", ignore_index=-1)
    want.sum().backward()
    other = paddle.to_tensor(LOGITS, stop_gradient=False)
    softmax = nn.functional.softmax(other)
    (softmax * paddle.to_tensor(np.concatenate([SOFT, SOFT], -1))).sum().backward()
    single, reverse = want.numpy().reshape(2, 3), np.zeros([2, 3], "float32")
    reverse = nn.functional.cross_entropy(
        whole, paddle.to_tensor(LABELS[::-1].copy()), reduction="none", ignore_index=-1
    )
    several = single * SOFT[..., 0] + reverse.numpy().reshape(2, 3) * SOFT[..., 1]
    for rank, (arrays, narrow, wrong) in enumerate(found):

        def part(t):
            return np.split(t.numpy(), 2, -1)[rank % 2]

        wanted = (
            single[..., None],
            part(whole.grad),
            single[..., None],
            part(softmax),
            part(other.grad),
            several[..., None],
        )
        for got, right in zip(arrays, wanted):
            np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)
        assert "bfloat16" in narrow
        assert [w[0] for w in wrong] == ["ValueError", "ValueError", "TypeError"]
        assert "the label 12 is out of range, the size is 8" in wrong[0][1]


# ---- random numbers, recomputation, mixed precision ----
def randomly(rank):
    groups = start(mp_degree=2, dp_degree=2)
    tracker = fleet.meta_parallel.get_rng_state_tracker()
    paddle.seed(5)
    x = paddle.ones([64])
    alike = nn.functional.dropout(x, 0.5).numpy()
    own = fleet.layers.mpu.dropout(x, 0.5, rng_name="model_parallel_rng").numpy()
    saved = tracker.get_states_tracker()
    with tracker.rng_state():
        again = nn.functional.dropout(x, 0.5).numpy()
    tracker.set_states_tracker(saved)
    with tracker.rng_state():
        same = nn.functional.dropout(x, 0.5).numpy()
    alike_too = nn.functional.dropout(x, 0.5).numpy()
    layer = fleet.meta_parallel.ColumnParallelLinear(8, 8, has_bias=False, gather_output=False)

    def part(x):
        return fleet.layers.mpu.dropout(layer(x), 0.5, rng_name="model_parallel_rng").sum()

    gradients = []
    for call in (part, lambda x: recompute(part, x)):
        tracker.set_states_tracker(saved)
        x = paddle.to_tensor(X, stop_gradient=False)
        call(x).backward()
        gradients.append((x.grad.numpy(), layer.weight.grad.numpy()))
        layer.clear_gradients()
    wrong = raised(tracker.add, "model_parallel_rng", 12345), raised(tracker.rng_state("other").__enter__)
    return alike, own, again, same, alike_too, gradients, wrong, groups.get_model_parallel_rank()


def test_random_numbers_and_recomputation(job):
    found = job.run(randomly)
    alike, own, again, same, alike_too, gradients, wrong, _ = found[0]
    for other in found[1:]:
        assert (other[0] == alike).all() and (other[4] == alike_too).all()
        assert (other[1] == own).all() == (other[-1] == 0)  # the same only where the same part is held
    assert (again == same).all() and not (again == own).all() and not (alike == alike_too).all()
    for plain, repeated in zip(*gradients):
        np.testing.assert_array_equal(plain, repeated)
    assert wrong[0][0] == wrong[1][0] == "ValueError" and "there is no state 'other'" in wrong[1][1]


def mixed(rank):
    """Steps in mixed precision; an overflow in one process leaves the step out in all."""
    groups = start(mp_degree=2, dp_degree=2)
    model = Transformer(blocks=1)
    fill(named(model), rank % 2, 2)
    model = fleet.distributed_model(model)
    optimizer = fleet.distributed_optimizer(adam(model))
    scaler = fleet.distributed_scaler(paddle.amp.GradScaler(init_loss_scaling=256.0))
    curve = []
    for step in range(3):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            loss = model(*batch(0))
            sent = mp_ops._mp_allreduce(paddle.ones([2], "bfloat16"), group=groups.get_model_parallel_group())
            assert str(sent.dtype) == "paddle.bfloat16" and sent.astype("float32").tolist() == [2, 2]
        scaler.scale(loss).backward()
        if step == 1 and rank == 2:
            bad = model._layers.head.norm.bias.grad
            bad.set_value(bad.numpy() + np.inf)
        before = model._layers.embed.table.weight.numpy()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        curve.append((loss.item(), bool((before == model._layers.embed.table.weight.numpy()).all())))
    return curve, float(scaler.state_dict()["scale"][0])


def test_mixed_precision(job):
    found = job.run(mixed)
    for curve, scale in found:
        assert [kept for _, kept in curve] == [False, True, False] and scale == 128
        assert curve[1][0] == curve[2][0] < curve[0][0]
    assert found[0] == found[1] == found[2] == found[3]


def combined(rank):
    """Gradients that only some processes have, none has, or that stay where they are."""
    groups = start(dp_degree=2, sep_degree=2)
    params = [paddle.create_parameter([2], "float32") for _ in range(4)]
    params[0].grad, params[3].grad = (paddle.full([2], float(rank)) for _ in range(2))
    if rank == 1:
        params[1].grad = paddle.ones([2])
    params[3].no_sync = True
    util.fused_allreduce_gradients(params, groups)
    whole = paddle.create_parameter([2], "float32")
    whole.grad = paddle.full([2], float(rank))
    util.fused_allreduce_gradients([whole], None)
    scaled = paddle.create_parameter([2], "float32")
    scaled.grad = paddle.full([2], float(rank))
    util.fused_allreduce_gradients_with_group([scaled], groups.get_dp_sep_parallel_group(), scale=10.0)
    return [None if p.grad is None else p.grad[0].item() for p in (*params, whole, scaled)]


def test_combining_gradients(job):
    for rank, found in enumerate(job.run(combined)):
        assert found == [3.0, 0.5, None, rank, 1.5, 60.0]  # segments: sums; copies: averages


def clipped_in_groups(rank):
    """Groups of parameters of which one process has no gradients."""
    start(mp_degree=2, dp_degree=2)
    params = [paddle.create_parameter([2], "float32") for _ in range(2)]
    for p in params:
        p.is_distributed, p.split_axis = True, 0
        p.set_value(np.zeros(2, "float32"))
    groups = [{"params": [p]} for p in params]
    optimizer = paddle.optimizer.SGD(1.0, parameters=groups, grad_clip=nn.ClipGradByGlobalNorm(1.0))
    optimizer = fleet.distributed_optimizer(optimizer)
    params[1].grad = paddle.to_tensor([3.0, 0.0] if rank % 2 else [0.0, 4.0])
    if rank % 2 == 0:
        params[0].grad = paddle.to_tensor([0.0, 2.0])
    optimizer.step()
    return [p.numpy().tolist() for p in params]


def test_clipping_in_groups(job):
    found = job.run(clipped_in_groups)
    for rank, (first, second) in enumerate(found):
        np.testing.assert_allclose(first, [0, 0] if rank % 2 else [0, -1], atol=1e-6)
        np.testing.assert_allclose(second, [-0.6, 0] if rank % 2 else [0, -0.8], atol=1e-6)


def drifted(rank, mode):
    """Copies of a norm that have drifted apart are made equal by a step."""
    start(mp_degree=2, dp_degree=2, mp_configs={"sync_param": True, "sync_grad": True, "sync_mode": mode})
    net = nn.LayerNorm(2)
    net.weight.set_value(np.full(2, 1.0 + rank % 2, "float32"))
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.5, parameters=net.parameters()))
    net.weight.grad, net.bias.grad = paddle.full([2], rank % 2 * 4.0), paddle.zeros([2])
    optimizer.step()
    return net.weight.numpy()[0].item()


@pytest.mark.parametrize("mode, want", [("broadcast", 1.0), ("average", 0.5)])
def test_copies_that_drift(job, mode, want):
    assert job.run(drifted, mode) == [want] * 4


# ---- sequence parallelism ----
class Divided(nn.Layer):
    key = "sequence"

    """Norm and two linear layers on a sequence [length, batch, width], of which each process has a part in between."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = sp.ColumnSequenceParallelLinear(8, 12, has_bias=True, gather_output=False)
        self.down = sp.RowSequenceParallelLinear(12, 8, input_is_parallel=True)
        for p in self.norm.parameters():
            sp.mark_as_sequence_parallel_parameter(p)

    def forward(self, x):
        x = sp.ScatterOp.apply(x)
        return sp.GatherOp.apply(x + self.down(nn.functional.gelu(self.up(self.norm(x)))))


class Whole(nn.Layer):
    key = "sequence"

    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 12), nn.Linear(12, 8)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


SEQUENCE = np.random.RandomState(4).randn(6, 2, 8).astype("float32")


def sequences(rank, fuse):
    groups = start(mp_degree=2, dp_degree=2, mp_configs={"recompute_allgather": not fuse})
    net = nn.Sequential(Divided())
    fill(named(net), groups.get_model_parallel_rank(), 2)
    sp.register_sequence_parallel_allreduce_hooks(net, 2, fuse)
    x = paddle.to_tensor(SEQUENCE, stop_gradient=False)
    for _ in range(2):  # the second backward sums both
        y = net(x)
        (y**2).sum().backward()
    wrong = [
        raised(sp.ColumnSequenceParallelLinear, 8, 12),
        raised(sp.RowSequenceParallelLinear, 12, 8),
        raised(sp.ScatterOp.apply, paddle.ones([3, 2])),
    ]
    return y.numpy(), x.grad.numpy(), gradients(net), split_axes(net), wrong


@pytest.mark.parametrize("fuse", [True, False])
def test_sequence_parallelism(job, fuse):
    found = job.run(sequences, fuse)
    net = nn.Sequential(Whole())
    fill(named(net))
    x = paddle.to_tensor(SEQUENCE, stop_gradient=False)
    y = net(x)
    (2 * (y**2).sum()).backward()
    for y_found, slope, _, _, wrong in found:
        np.testing.assert_allclose(y_found, y.numpy(), atol=1e-5)
        np.testing.assert_allclose(slope, x.grad.numpy(), atol=1e-4)
        assert {w[0] for w in wrong} == {"ValueError"} and "divisible" in wrong[2][1]
    for pair in (found[:2], found[2:]):
        got = gathered([p[2] for p in pair], pair[0][3])
        for name, want in gradients(net).items():
            np.testing.assert_allclose(got[name], want, atol=1e-4, err_msg=name)
            if name not in pair[0][3]:
                np.testing.assert_array_equal(pair[0][2][name], pair[1][2][name])


# ---- the start, states ----
def started(rank, folder):
    """Weights and inputs that differ become those of the first; parts are saved and read by each for itself."""
    groups = start(mp_degree=2, dp_degree=2)
    paddle.seed(rank)
    model = Transformer(blocks=1)
    for name, p in model.named_parameters():
        if not p.is_distributed:
            p.set_value(p.numpy() + rank)
    model = fleet.distributed_model(model)
    ids, labels = batch(rank)
    loss = model(ids, labels)
    path = f"{folder}/part_{groups.get_model_parallel_rank()}.pdparams"
    if groups.get_data_parallel_rank() == 0:
        paddle.save(model.state_dict(), path)
    paddle.distributed.barrier()
    other = fleet.distributed_model(Transformer(blocks=1))
    other.set_state_dict(paddle.load(path))
    parts = {
        k: (v.global_shape, v.global_offset) for k, v in model._layers.embed.table.sharded_state_dict("t.").items()
    }
    wrong = raised(model, paddle.ones([rank % 2 + 1, 2], "int64"), labels)
    return weights(model), ids.numpy(), loss.item(), other(ids, labels).item(), parts, wrong


def test_start_and_states(job, tmp_path):
    found = job.run(started, str(tmp_path))
    for rank, (values, ids, loss, loaded, parts, wrong) in enumerate(found):
        first = found[0] if rank < 2 else found[2]
        np.testing.assert_array_equal(ids, first[1])  # inputs are those of the first of each group
        assert loss == first[2] == loaded
        for name, value in values.items():
            whole = "norm" in name or name.endswith(("out.bias", "down.bias"))
            np.testing.assert_array_equal(value, found[0 if whole else rank % 2][0][name], err_msg=name)
        assert parts == {"t.weight": ((16, 8), (8 * (rank % 2), 0))}
        assert wrong[0] == "ValueError" and "must have the shapes" in wrong[1]
    assert found[0][2] != found[2][2]


def written(rank, folder):
    """A checkpoint of the model and of Adam in two parts, which four parts read."""
    groups = start(mp_degree=2, dp_degree=2)
    model = Transformer(blocks=1)
    fill(named(model), groups.get_model_parallel_rank(), 2)
    model = fleet.distributed_model(model)
    optimizer = fleet.distributed_optimizer(adam(model))

    def step(model, optimizer):
        loss = model(*batch(1))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss.item()

    step(model, optimizer)
    state = model.sharded_state_dict()
    state |= optimizer.sharded_state_dict(state)
    paddle.distributed.save_state_dict(state, folder)
    go_on = [step(model, optimizer) for _ in range(2)]
    start(mp_degree=4, dp_degree=1)
    other = fleet.distributed_model(Transformer(blocks=1))
    second = fleet.distributed_optimizer(adam(other))
    step(other, second)  # makes the states
    state = other.sharded_state_dict()
    state |= second.sharded_state_dict(state)
    paddle.distributed.load_state_dict(state, folder)
    second.set_state_dict({t.local_tensor.name: t.local_tensor for key, t in state.items() if "_0" in key})
    return go_on, [step(other, second) for _ in range(2)]


def test_checkpoints_of_other_arrangements(job, tmp_path):
    for go_on, again in job.run(written, str(tmp_path)):
        np.testing.assert_allclose(again, go_on, atol=1e-5)


def built_by_hand(rank):
    """`paddle.distributed.split` in programs, trained by an Executor."""
    start(mp_degree=4)
    assign = nn.initializer.Assign
    wrong = [
        raised(paddle.distributed.split, paddle.ones([2, 8]), (8, 12), "linear"),
        raised(paddle.distributed.split, paddle.ones([2, 8]), (8, 12), "conv"),
    ]
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x, ids = paddle.static.data("x", [3, 8], "float32"), paddle.static.data("ids", [5], "int64")
            outs = []
            for axis in (0, 1):
                part = assign(np.split(WEIGHT, 4, axis)[rank])
                bias = assign(np.full(12 if axis == 0 else 3, 0.5, "float32"))
                outs.append(paddle.distributed.split(x, (8, 12), "linear", axis, 4, weight_attr=part, bias_attr=bias))
            table = assign(np.split(WEIGHT, 4)[rank])
            outs.append(paddle.distributed.split(ids, (8, 12), "embedding", num_partitions=4, weight_attr=table))
            wrong.append(raised(paddle.distributed.split, x, (8, 12), "linear", 1, 3))
            loss = sum((o**2).sum() for o in outs)
            paddle.optimizer.SGD(0.001).minimize(loss)
        executor = paddle.static.Executor()
        executor.run(startup)
        feed = {"x": X, "ids": np.array([0, 7, 3, 3, 5])}
        return executor.run(main, feed, outs), [executor.run(main, feed, [loss])[0].item() for _ in range(3)], wrong
    finally:
        paddle.disable_static()


def test_split_in_programs(job):
    found = job.run(built_by_hand)
    parts = [paddle.to_tensor(a, stop_gradient=False) for a in (WEIGHT, WEIGHT, WEIGHT)]
    biases = [paddle.to_tensor(np.full(12, 0.5, "float32"), stop_gradient=False) for _ in range(2)]
    sgd = paddle.optimizer.SGD(0.001, parameters=[*parts, *biases])
    curve = []
    for step in range(4):
        outs = [paddle.to_tensor(X) @ w + b for w, b in zip(parts, biases)]
        outs.append(nn.functional.embedding(paddle.to_tensor([0, 7, 3, 3, 5]), parts[2]))
        loss = sum((o**2).sum() for o in outs)
        if step == 0:
            first = [o.numpy() for o in outs]
        curve.append(loss.item())
        loss.backward()
        sgd.step()
        sgd.clear_grad()
    for outs, losses, wrong in found:
        for got, want in zip(outs, first):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(losses, curve[1:], rtol=1e-5)
        assert [w[0] for w in wrong] == ["ValueError"] * 3 and "programs" in wrong[0][1]
