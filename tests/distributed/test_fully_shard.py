"""fully_shard, float32 main gradients, groups that are shut down, barriers on the CPU: in two processes, against one."""

import multiprocessing

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle import nn
from paddle.distributed.fleet.utils import mix_precision_utils as mix
from paddle.distributed.launch.main import free_ports

from _jobs import Job, raised

DATA = np.random.RandomState(0).randn(8, 6).astype("float32")
IDS = np.random.RandomState(2).randint(0, 8, [8, 4])
WANT = np.random.RandomState(1).randn(8, 3).astype("float32")


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(6, 16), nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x):
        return self.last(nn.functional.tanh(self.norm(self.first(x))))


class WithLoss(Net):
    def forward(self, x, want):
        return ((super().forward(x) - want) ** 2).mean()


def training(model, params, rows, inside=False):
    adam = paddle.optimizer.AdamW(0.05, parameters=params, grad_clip=nn.ClipGradByGlobalNorm(0.5))
    curve = []
    for _ in range(4):
        x, want = paddle.to_tensor(DATA[rows]), paddle.to_tensor(WANT[rows])
        loss = model(x, want) if inside else ((model(x) - want) ** 2).mean()
        loss.backward()
        adam.step()
        adam.clear_grad()
        curve.append(loss.item())
    return curve


def build(kind=Net):
    paddle.seed(0)
    return kind()


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


class Words(nn.Layer):
    """Ids that are checked where they can be looked at."""

    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(8, 6), nn.Linear(6, 3)

    def forward(self, ids):
        return self.last(self.table(ids).mean(1))


def looked_up(rank):
    net = build(Words)
    model = dist.fsdp.fully_shard(net)
    sgd = paddle.optimizer.SGD(0.5, parameters=model.parameters())
    ids = paddle.to_tensor(IDS[4 * rank : 4 * rank + 4])
    nn.functional.cross_entropy(model(ids), ids[:, 0] % 3).backward()
    sgd.step()
    return net.table.weight.numpy()


def test_ids_and_labels_of_each_process(job):
    net = build(Words)
    sgd = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    ids = paddle.to_tensor(IDS)
    nn.functional.cross_entropy(net(ids), ids[:, 0] % 3).backward()
    sgd.step()
    for found in job.run(looked_up):
        np.testing.assert_allclose(found, net.table.weight.numpy(), atol=1e-6)


def sharded(rank):
    found = {}
    rows = slice(4 * rank, 4 * rank + 4)
    net = build()
    model = dist.fsdp.fully_shard(net)
    found["own batch"] = training(model, model.parameters(), rows)
    found["held"] = sum(p._value.addressable_shards[0].data.size for p in net.parameters())
    found["weight"] = net.first.weight.numpy()
    model = dist.fsdp.fully_shard(build(WithLoss), ignored_params=[])
    found["loss inside"] = training(model, model.parameters(), rows, inside=True)
    mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
    net = build()
    skipped = net.first.weight
    model = dist.fsdp.fully_shard(net, mesh=mesh, ignored_params=[skipped])
    found["mesh"] = training(model, net.parameters(), slice(None))
    found["placements"] = str(net.last.weight.placements), str(skipped.placements)
    return found


def test_fully_sharded_training_equals_one_process(job):
    net = build()
    alone = training(net, net.parameters(), slice(None))
    size = sum(p.size for p in net.parameters())
    results = job.run(sharded)
    for found in results:
        np.testing.assert_allclose(found["loss inside"], alone, rtol=1e-5)
        np.testing.assert_allclose(found["mesh"], alone, rtol=1e-5)
        np.testing.assert_allclose(found["weight"], net.first.weight.numpy(), atol=1e-5)
        assert size / 2 <= found["held"] <= size / 2 + 3  # three numbers of the last bias do not divide
        assert found["placements"] == ("[Shard(dim=0)]", "[Replicate()]")
    np.testing.assert_allclose(np.mean([f["own batch"] for f in results], 0), alone, rtol=1e-5)


def shut(rank):
    group = dist.new_group([0, 1])
    x = paddle.to_tensor([1.0 + rank])
    dist.shutdown_process_group()
    kind, words = raised(dist.all_reduce, x, group=group)
    dist.restart_process_group(group)
    dist.all_reduce(x, group=group)
    dist.all_reduce(x)  # that of all was never shut
    return kind, words, dist.get_rank(group), x.item()


def test_groups_are_shut_down_and_started_again(job):
    for rank, (kind, words, inside, total) in enumerate(job.run(shut)):
        assert kind == "RuntimeError" and "restart_process_group" in words
        assert inside == rank and total == 6.0


def averaged(rank):
    """Gradients of bfloat16 parameters in float32, averaged over processes."""
    rows = slice(4 * rank, 4 * rank + 4)
    curves = {}
    for name in ("inside", "outside"):
        net = build().bfloat16()
        inner = mix.MixPrecisionLayer(net, "bfloat16") if name == "inside" else net
        model = paddle.DataParallel(inner)
        model = model if name == "inside" else mix.MixPrecisionLayer(model, "bfloat16")
        loss = ((model(paddle.to_tensor(DATA[rows]).astype("bfloat16")) - 1) ** 2).mean()
        loss.backward()
        p = net.first.weight
        curves[name] = p.main_grad.numpy(), p.grad
    return curves


def test_main_gradients_are_averaged(job):
    one, other = job.run(averaged)
    for name in ("inside", "outside"):
        assert one[name][1] is None and one[name][0].dtype == np.float32
        np.testing.assert_array_equal(one[name][0], other[name][0])
    np.testing.assert_array_equal(one["inside"][0], one["outside"][0])


def test_main_gradients_add_up_in_float32():
    net = nn.Linear(4, 2, bias_attr=False).bfloat16()
    net.weight.set_value(paddle.ones([4, 2], "bfloat16"))
    start = net.weight.astype("float32").numpy()
    model = mix.MixPrecisionLayer(net, "bfloat16")
    sgd = mix.MixPrecisionOptimizer(paddle.optimizer.SGD(1.0, parameters=model.parameters(), multi_precision=True))
    steps = [256.0, 1.0, 1.0]  # in bfloat16 256 + 1 is 256
    for size in steps:
        model(paddle.full([1, 4], size, "bfloat16")).sum().backward()
    assert net.weight.grad is None
    np.testing.assert_array_equal(net.weight.main_grad.numpy(), np.full((4, 2), 258.0))
    sgd.step()
    np.testing.assert_array_equal(net.weight.astype("float32").numpy(), np.full((4, 2), -256.0))  # -257, rounded
    master = next(iter(sgd.state_dict()["master_weights"].values()))
    np.testing.assert_array_equal(master.numpy(), start - 258)
    sgd.clear_grad()
    assert net.weight.main_grad.abs().sum().item() == 0
    sgd.clear_grad(set_to_zero=False)
    assert net.weight.main_grad is None


def test_a_scaler_finds_main_gradients():
    net = nn.Linear(2, 1, bias_attr=False).astype("float16")
    net.weight.set_value(paddle.ones([2, 1], "float16"))
    model = mix.MixPrecisionLayer(net)
    sgd = mix.MixPrecisionOptimizer(paddle.optimizer.SGD(0.5, parameters=model.parameters(), multi_precision=True))
    scaler = mix.MixPrecisionScaler(paddle.amp.GradScaler(init_loss_scaling=8.0, decr_every_n_nan_or_inf=1))
    for value in (1.0, float("inf")):
        scaler.scale(model(paddle.full([1, 2], value, "float16")).sum()).backward()
        scaler.step(sgd)
        scaler.update()
        sgd.clear_grad()
        assert net.weight.tolist() == [[0.5], [0.5]]
    assert float(scaler.state_dict()["scale"][0]) == 4.0


def _barriers(rank, port, order):
    dist.gloo_init_parallel_env(rank, 2, f"127.0.0.1:{port}")
    for number in range(3):
        with order.get_lock():
            order.value += 1
        dist.gloo_barrier()
        assert order.value >= 2 * (number + 1)
        dist.gloo_barrier()
    dist.gloo_release()


def test_gloo_barriers():
    context = multiprocessing.get_context("spawn")
    order, port = context.Value("i", 0), free_ports(1, None)[0]
    processes = [context.Process(target=_barriers, args=(rank, port, order), daemon=True) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    assert order.value == 6
    assert raised(dist.gloo_barrier)[0] == "RuntimeError"
    assert "at least 2" in raised(dist.gloo_init_parallel_env, 0, 1, "127.0.0.1:1")[1]
