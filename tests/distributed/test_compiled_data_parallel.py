"""Data parallel steps whose executable communicates by itself, against one process on the whole batch."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.engine import meshed
from paddle.ir import interpret

from _jobs import Job


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


DATA = np.random.RandomState(0).randn(9, 3, 4, 4).astype("float32")
WANT = np.random.RandomState(1).randn(9, 3).astype("float32")
HALVES = slice(0, 4), slice(4, 8)


class Net(nn.Layer):
    def __init__(self, norm=nn.BatchNorm2D):
        super().__init__()
        paddle.seed(5)
        self.conv, self.last = nn.Conv2D(3, 4, 3, padding=1, bias_attr=False), nn.Linear(4, 3)
        self.norm = norm(4) if norm is not None else nn.Identity()
        self.idle = nn.Linear(2, 2)

    def forward(self, x):
        return self.last(nn.functional.tanh(self.norm(self.conv(x))).mean([2, 3]))


def state(net):
    return {k: v.numpy() for k, v in net.state_dict().items()}


def stepping(net, model):
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))

    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def alone(kind):
    """The losses of one process with the whole batch, and the weights at the end."""
    net = Net(kind)
    step = stepping(net, net)
    return [step(paddle.to_tensor(DATA[:8]), paddle.to_tensor(WANT[:8])).item() for _ in range(4)], state(net)


def in_one_executable(rank, kind, parts):
    """Losses, weights, and the HLO of the executables that ran over the mesh in the last step."""
    net = Net(kind)
    if kind is not None:
        net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    step = paddle.jit.to_static(stepping(net, paddle.DataParallel(net)), full_graph=True)
    x, y = paddle.to_tensor(DATA[parts[rank]]), paddle.to_tensor(WANT[parts[rank]])
    curve = [step(x, y).item() for _ in range(3)]
    texts, before = [], meshed.OverMesh.__call__

    def call(self, *args):
        texts.append(self.lower(*args).compile().as_text())
        return before(self, *args)

    def pieces(self, operators):
        raise AssertionError("operators ran one by one")

    whole = interpret.Tape.run
    meshed.OverMesh.__call__, interpret.Tape.run = call, pieces
    try:
        with paddle.utils.count_compiles() as count:
            curve.append(step(x, y).item())
    finally:
        meshed.OverMesh.__call__, interpret.Tape.run = before, whole
    return curve, state(net), texts, count.compiles


def collectives(text):
    return {
        n: text.count(f" {n}(") + text.count(f" {n}-start(") for n in ("all-reduce", "all-gather", "reduce-scatter")
    }


@pytest.mark.parametrize(
    "kind, parts", [(None, HALVES), (nn.BatchNorm2D, HALVES), (nn.BatchNorm2D, (slice(0, 3), slice(3, 9)))]
)
def test_a_step_is_one_executable(job, kind, parts):
    equal = parts is HALVES
    curve, end = alone(kind)
    found = job.run(in_one_executable, kind, parts)
    for _, weights, texts, compiles in found:
        assert len(texts) == 1 and compiles == 0
        counts = collectives(texts[0])
        assert counts["all-reduce"] >= 1
        assert (counts["all-gather"] >= 1) == (kind is not None)
        for name, value in weights.items():
            np.testing.assert_array_equal(value, found[0][1][name])
            if equal:
                np.testing.assert_allclose(value, end[name], rtol=1e-5, atol=1e-5, err_msg=name)
    if equal:
        np.testing.assert_allclose(np.mean([f[0] for f in found], 0), curve, rtol=1e-5)


def forward_only(rank):
    """The forward is a program, the backward comes from outside: the averages are made by the hooks."""
    net = nn.SyncBatchNorm.convert_sync_batchnorm(Net())
    model = paddle.DataParallel(net)
    forward = paddle.jit.to_static(model, full_graph=True)
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    x, y = paddle.to_tensor(DATA[HALVES[rank]]), paddle.to_tensor(WANT[HALVES[rank]])
    for _ in range(3):
        ((forward(x) - y) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return state(net)


def test_a_forward_with_statistics_of_all_processes(job):
    net = Net()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    for _ in range(3):
        ((net(paddle.to_tensor(DATA[:8])) - paddle.to_tensor(WANT[:8])) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    for weights in job.run(forward_only):
        for name, value in state(net).items():
            np.testing.assert_allclose(weights[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def accumulating(rank):
    net = Net(None)
    model = paddle.DataParallel(net)
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())

    @paddle.jit.to_static(full_graph=True)
    def step(x, y):
        with model.no_sync():
            ((model(x[:2]) - y[:2]) ** 2).mean().backward()
        ((model(x[2:]) - y[2:]) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()

    for _ in range(2):
        step(paddle.to_tensor(DATA[HALVES[rank]]), paddle.to_tensor(WANT[HALVES[rank]]))
    return state(net)


def test_gradients_that_add_up_within_a_step(job):
    net = Net(None)
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    for _ in range(2):
        for i in range(0, 8, 2):
            x, y = paddle.to_tensor(DATA[i : i + 2]), paddle.to_tensor(WANT[i : i + 2])
            (((net(x) - y) ** 2).mean() / 2).backward()
        optimizer.step()
        optimizer.clear_grad()
    for weights in job.run(accumulating):
        for name, value in state(net).items():
            np.testing.assert_allclose(weights[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
