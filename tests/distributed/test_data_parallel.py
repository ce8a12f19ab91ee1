"""Data parallel training in two processes against one process on the whole batch."""

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle import nn
from paddle.distributed.fleet.utils import recompute

from _jobs import Job


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.idle = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(2, 2)
        self.scale = self.create_parameter([], default_initializer=nn.initializer.Constant(1.5))
        self.narrow = self.create_parameter([3], dtype="bfloat16", default_initializer=nn.initializer.Constant(1.0))
        self.register_buffer("count", paddle.to_tensor([0.0]))

    def forward(self, x, idle=False):
        y = self.second(nn.functional.tanh(self.first(x))) * self.scale * self.narrow.astype("float32")
        return y + self.idle(paddle.ones([1, 2])).sum() if idle else y


def make(seed):
    paddle.seed(seed)
    return Net()


DATA = np.random.RandomState(0).randn(8, 4).astype("float32")
WANT = np.random.RandomState(1).randn(8, 3).astype("float32")


def loss(model, rows, **kwargs):
    return ((model(paddle.to_tensor(DATA[rows]), **kwargs) - paddle.to_tensor(WANT[rows])) ** 2).mean()


def state(model):
    return {k: v.astype("float32").numpy() for k, v in model.state_dict().items()}


def train(net, steps, parts):
    """Steps with Adam on the means over the parts of the batch; the wrapped net gets one of them."""
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    curve = []
    for _ in range(steps):
        total = sum((loss(net, rows) for rows in parts), paddle.zeros([])) / len(parts)
        total.backward()
        optimizer.step()
        optimizer.clear_grad()
        curve.append(total.item())
    return curve


def own(rank):
    return slice(4 * rank, 4 * rank + 4)


def parallel_training(rank, buffer):
    net = make(rank)
    net.count.set_value(paddle.to_tensor([float(rank + 5)]))
    model = paddle.DataParallel(net, comm_buffer_size=buffer, last_comm_buffer_size=buffer)
    begin = state(net)
    curve = train(model, 6, [own(rank)])
    assert list(model.state_dict()) == list(net.state_dict())
    return begin, curve, state(net), len(model._reducer.buckets), net.idle.weight.grad is None


@pytest.mark.parametrize("buffer", [25, 1e-4])
def test_training_equals_one_process_on_the_whole_batch(job, buffer):
    found = job.run(parallel_training, buffer)
    alone = make(0)
    begin = state(alone)
    curve = train(alone, 6, [own(0), own(1)])
    for rank, (start, mine, end, buckets, idle) in enumerate(found):
        assert start["count"] == 5 and idle and (buckets > 3) == (buffer < 1)
        for name, value in begin.items():
            if name != "count":
                np.testing.assert_array_equal(start[name], value)
                np.testing.assert_array_equal(end[name], found[0][2][name])
                np.testing.assert_allclose(end[name], state(alone)[name], rtol=2e-5, atol=2e-6, err_msg=name)
    np.testing.assert_allclose(np.mean([f[1] for f in found], 0), curve, rtol=1e-5)


def compiled_training(rank):
    net = make(rank)
    model = paddle.DataParallel(net)
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())

    @paddle.jit.to_static(full_graph=True)
    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    x, y = paddle.to_tensor(DATA[own(rank)]), paddle.to_tensor(WANT[own(rank)])
    curve = []
    for _ in range(6):
        with paddle.utils.count_compiles() as count:
            curve.append(step(x, y).item())
    return curve, state(net), count.compiles


def test_a_compiled_step(job):
    alone = make(0)
    curve = train(alone, 6, [own(0), own(1)])
    found = job.run(compiled_training)
    for _, end, compiles in found:
        assert compiles == 0  # in the last step
        for name, value in state(alone).items():
            np.testing.assert_allclose(end[name], value, rtol=2e-5, atol=2e-6, err_msg=name)
    np.testing.assert_allclose(np.mean([f[0] for f in found], 0), curve, rtol=1e-5)


def unused(rank):
    net = make(0)
    model = paddle.DataParallel(net, find_unused_parameters=True)
    loss(model, own(rank), idle=rank == 1).backward()
    idle = net.idle.weight.grad.numpy(), net.second.bias.grad.numpy()
    model.clear_gradients()
    for p in net.parameters():
        p.clear_gradient(set_to_zero=False)
    loss(model, own(rank)).backward()
    return *idle, net.idle.weight.grad is None


def test_a_parameter_that_one_process_used_has_a_gradient_in_all(job):
    alone = make(0)
    (loss(alone, own(0)) + loss(alone, own(1), idle=True)).backward()
    for idle, bias, none in job.run(unused):
        np.testing.assert_allclose(idle, alone.idle.weight.grad.numpy() / 2, rtol=1e-5)
        np.testing.assert_allclose(bias, alone.second.bias.grad.numpy() / 2, rtol=1e-5)
        assert none


def accumulate(rank):
    net = make(0)
    model = paddle.DataParallel(net)
    with model.no_sync():
        assert not model.grad_need_sync
        loss(model, own(rank)).backward()
    local = net.first.weight.grad.numpy()
    loss(model, slice(rank, rank + 3)).backward()
    both = net.first.weight.grad.numpy()
    loss(model, own(1 - rank)).backward()  # again, without clearing
    return local, both, net.first.weight.grad.numpy()


def test_no_sync_and_accumulation(job):
    def gradient(*parts):
        net = make(0)
        for rows in parts:
            loss(net, rows).backward()
        return net.first.weight.grad.numpy()

    found = job.run(accumulate)
    both = (gradient(own(0), slice(0, 3)) + gradient(own(1), slice(1, 4))) / 2
    three = (gradient(own(0), slice(0, 3), own(1)) + gradient(own(1), slice(1, 4), own(0))) / 2
    for rank, got in enumerate(found):
        np.testing.assert_allclose(got[0], gradient(own(rank)), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(got[1], both, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(got[2], three, rtol=1e-5, atol=1e-7)


class Table(nn.Layer):
    def __init__(self, sparse):
        super().__init__()
        self.table, self.last = nn.Embedding(9, 2, sparse=sparse), nn.Linear(2, 1)

    def forward(self, ids):
        return self.last(self.table(ids)).sum()


def rows(rank):
    paddle.seed(0)
    net = Table(True)
    model = paddle.DataParallel(net)
    model(paddle.to_tensor([[1, 2], [3, 8]][rank] + [3])).backward()
    grad = net.table.weight.grad
    return grad.is_selected_rows(), grad.to_dense().numpy(), net.last.weight.grad.numpy()


def test_row_sparse_gradients(job):
    paddle.seed(0)
    net = Table(False)
    (net(paddle.to_tensor([1, 2, 3])) / 2 + net(paddle.to_tensor([3, 8, 3])) / 2).backward()
    for sparse, table, last in job.run(rows):
        assert sparse
        np.testing.assert_allclose(table, net.table.weight.grad.numpy(), rtol=1e-6)
        np.testing.assert_allclose(last, net.last.weight.grad.numpy(), rtol=1e-6)


class Twice(nn.Layer):
    """One layer used in two recomputed parts and outside of them."""

    def __init__(self):
        super().__init__()
        self.body, self.first = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        step = lambda t: nn.functional.tanh(self.body(t))
        return step(recompute(step, recompute(step, self.first(x)))).sum()


def recomputed(rank):
    paddle.seed(0)
    net = Twice()
    paddle.DataParallel(net, last_comm_buffer_size=1e-6)(paddle.to_tensor(DATA[own(rank)])).backward()
    return net.body.weight.grad.numpy(), net.first.weight.grad.numpy()


def test_recomputation(job):
    paddle.seed(0)
    net = Twice()
    (net(paddle.to_tensor(DATA)) / 2).backward()
    for body, first in job.run(recomputed):
        np.testing.assert_allclose(body, net.body.weight.grad.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(first, net.first.weight.grad.numpy(), rtol=1e-5, atol=1e-6)


def block(rank):
    data = paddle.io.TensorDataset([paddle.to_tensor(DATA), paddle.to_tensor(WANT)])
    sampler = dist.DistributedSampler(data)
    loader = paddle.io.DataLoader(data, batch_size=2, sampler=sampler)
    model = dist.Parallel(make(rank))
    orders = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
        for x, y in loader:
            ((model(x) - y) ** 2).mean().backward()
            model.step()
            model.clear_grad()
    return orders, state(model)


def test_the_short_forms(job):
    (orders, end), (others, also) = job.run(block)
    for epoch in (0, 1):
        assert sorted(orders[epoch] + others[epoch]) == list(range(8)) and len(orders[epoch]) == 4
    assert orders[0] != orders[1]
    for name in end:
        np.testing.assert_array_equal(end[name], also[name])


def norm(rank):
    paddle.seed(0)
    net = nn.Sequential(nn.Conv2D(2, 3, 1), nn.BatchNorm2D(3))
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    net[1].weight.set_value(paddle.to_tensor([1.0, 2.0, 3.0]))
    model = paddle.DataParallel(net)
    x = paddle.to_tensor(IMAGES[:1] if rank == 0 else IMAGES[1:])  # of unequal size
    x.stop_gradient = False
    y = model(x)
    (y**3).sum().backward()
    return y.numpy(), x.grad.numpy(), {k: v.numpy() for k, v in net.state_dict().items()}, net[0].weight.grad.numpy()


IMAGES = np.random.RandomState(3).randn(3, 2, 4, 4).astype("float32") * 3 + 1


def test_sync_batch_norm_sees_all_images(job):
    paddle.seed(0)
    net = nn.Sequential(nn.Conv2D(2, 3, 1), nn.BatchNorm2D(3))
    net[1].weight.set_value(paddle.to_tensor([1.0, 2.0, 3.0]))
    x = paddle.to_tensor(IMAGES, stop_gradient=False)
    y = net(x)
    (y**3).sum().backward()
    for rank, (got, gradient, after, weight) in enumerate(job.run(norm)):
        part = slice(0, 1) if rank == 0 else slice(1, 3)
        np.testing.assert_allclose(got, y.numpy()[part], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(gradient, x.grad.numpy()[part], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(weight, net[0].weight.grad.numpy() / 2, rtol=1e-3, atol=1e-4)
        for name, value in net.state_dict().items():
            np.testing.assert_allclose(after[name], value.numpy(), rtol=1e-4, atol=1e-6, err_msg=name)


def fleet_training(rank):
    from paddle.distributed import fleet

    fleet.init(is_collective=True)
    assert (fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()) == (rank, 2, rank == 0)
    net = make(rank)
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters()))
    for _ in range(6):
        loss(model, own(rank)).backward()
        optimizer.step()
        optimizer.clear_grad()
    by_hand(rank, net, fleet.get_hybrid_communicate_group())
    return state(net), float(fleet.util.all_reduce(rank + 1, "sum"))


def by_hand(rank, net, groups):
    from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

    other = make(rank)
    other.set_state_dict(net.state_dict())
    loss(other, own(rank)).backward()
    fused_allreduce_gradients(other.parameters(), groups)
    model = paddle.DataParallel(make(rank))
    model.set_state_dict(net.state_dict())
    loss(model, own(rank)).backward()
    np.testing.assert_allclose(other.first.weight.grad.numpy(), model._layers.first.weight.grad.numpy(), rtol=1e-6)
    assert groups.get_data_parallel_world_size() == 2 and groups.get_model_parallel_rank() == 0


def test_fleet(job):
    alone = make(0)
    train(alone, 6, [own(0), own(1)])
    for end, total in job.run(fleet_training):
        assert total == 3
        for name, value in state(alone).items():
            np.testing.assert_allclose(end[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


def test_one_process_and_misuse():
    net = make(0)
    model = paddle.DataParallel(net)
    loss(model, slice(0, 8)).backward()
    assert net.first.weight.grad is not None and model.scale_loss(net.scale) is net.scale
    with pytest.raises(TypeError, match="DataParallel: layers must be a Layer"):
        paddle.DataParallel(3)
    with pytest.raises(ValueError, match="comm_buffer_size"):
        paddle.DataParallel(net, comm_buffer_size=0)
    with pytest.raises(ValueError, match="rank must be from 0 to 1"):
        dist.DistributedSampler([1, 2, 3], 2, 2)
