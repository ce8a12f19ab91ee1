"""Programs that are built by hand, trained with fleet in two processes against one."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed import fleet

from _jobs import Job, raised

DATA = np.random.RandomState(0).randn(8, 4).astype("float32")
WANT = np.random.RandomState(1).randn(8, 2).astype("float32")
STEPS = 4


def build(optimizer, seed):
    """(what runs a step on some rows, what gives the weights) of a small net."""
    paddle.seed(seed)
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 2], "float32")
        hidden = paddle.static.nn.fc(x, 6, activation="tanh", name="one")
        loss = ((paddle.static.nn.fc(hidden, 2, name="two") - y) ** 2).mean()
        test = main.clone(for_test=True)
        optimizer().minimize(loss)
    executor = paddle.static.Executor()
    executor.run(startup)

    def step(rows, program=main):
        return executor.run(program, {"x": DATA[rows], "y": WANT[rows]}, [loss])[0].item()

    def weights():
        return {
            p.name: np.array(paddle.static.global_scope().find_var(p.name).get_tensor()) for p in main.all_parameters()
        }

    return step, weights, test


def adam():
    return paddle.optimizer.Adam(0.05, grad_clip=nn.ClipGradByGlobalNorm(0.3))


def train(rank, mixed):
    strategy = fleet.DistributedStrategy()
    fleet.init(is_collective=True, strategy=strategy)
    paddle.enable_static()
    scope = paddle.static.Scope()
    try:
        with paddle.static.scope_guard(scope):

            def optimizer():
                made = paddle.static.amp.decorate(adam(), init_loss_scaling=4.0) if mixed else adam()
                return fleet.distributed_optimizer(made)

            step, weights, test = build(optimizer, rank)
            begin = weights()
            own = slice(4 * rank, 4 * rank + 4)
            curve = [step(own) for _ in range(STEPS)]
            return begin, curve, weights(), step(slice(0, 8), test)
    finally:
        paddle.disable_static()


def alone():
    paddle.enable_static()
    try:
        with paddle.static.scope_guard(paddle.static.Scope()):
            step, weights, test = build(adam, 0)
            begin = weights()
            return begin, [step(slice(0, 8)) for _ in range(STEPS)], weights(), step(slice(0, 8), test)
    finally:
        paddle.disable_static()


def divided(rank, n):
    """Two divided layers in a program, with a clip that counts both parts."""
    from paddle.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear

    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": n}
    fleet.init(is_collective=True, strategy=strategy)
    random = np.random.RandomState(2)
    first, second = (random.randn(*shape).astype("float32") for shape in ((4, 6), (6, 2)))
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        scope = paddle.static.Scope()
        with paddle.static.scope_guard(scope), paddle.static.program_guard(main, startup):
            x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 2], "float32")
            up = ColumnParallelLinear(
                4, 6, nn.initializer.Assign(np.split(first, n, 1)[rank]), has_bias=True, gather_output=False
            )
            down = RowParallelLinear(6, 2, nn.initializer.Assign(np.split(second, n)[rank]), input_is_parallel=True)
            loss = ((down(paddle.tanh(up(x))) - y) ** 2).mean()
            fleet.distributed_optimizer(adam()).minimize(loss)
            executor = paddle.static.Executor()
            executor.run(startup)
            curve = [executor.run(main, {"x": DATA, "y": WANT}, [loss])[0].item() for _ in range(STEPS)]
            return curve, np.array(scope.find_var(up.weight.name).get_tensor())
    finally:
        paddle.disable_static()
        if n == 1:
            paddle.distributed.destroy_process_group()


def test_divided_layers_in_programs(job):
    found = job.run(divided, 2)
    curve, weight = divided(0, 1)
    for got, _ in found:
        np.testing.assert_allclose(got, curve, atol=1e-5)
    np.testing.assert_allclose(np.concatenate([f[1] for f in found], 1), weight, atol=1e-5)


def other_axes(rank):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "sharding_degree": 2}
    fleet.init(is_collective=True, strategy=strategy)
    paddle.enable_static()
    try:
        return raised(build, lambda: fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)), 0)
    finally:
        paddle.disable_static()


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


@pytest.mark.parametrize("mixed", [False, True])
def test_programs(job, mixed):
    found = job.run(train, mixed)
    _, curve, end, last = alone()
    order = list(end)
    for begin, _, weights, after in found:
        for name, want in zip(begin, order):
            np.testing.assert_array_equal(begin[name], found[0][0][name])
            np.testing.assert_allclose(weights[name], end[want], atol=0.05 if mixed else 1e-5)
        assert abs(after - last) < (0.1 if mixed else 1e-5)
    if not mixed:
        np.testing.assert_allclose(np.mean([f[1] for f in found], 0), curve, atol=1e-5)


def test_other_axes_are_not_built(job):
    for name, message in job.run(other_axes):
        assert name == "NotImplementedError" and "'sharding'" in message
