"""Whole training steps as programs: forward, backward, optimizer, loss scaling in one executable."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import amp, nn, optimizer
from paddle.jit import to_static

STEPS = 5
DATA = np.random.default_rng(0).normal(size=(STEPS, 8, 4)).astype(np.float32)


def build(dropout=0.0):
    paddle.seed(3)
    return nn.Sequential(
        nn.Linear(4, 8, bias_attr=False), nn.BatchNorm1D(8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 2)
    )


def train(compiled, make, step=None, net=None, steps=STEPS, between=None):
    """Losses and final parameters, gradients and states of some steps, eager or compiled; the compilations."""
    net = net or build()
    opt = make(net)

    def plain(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    function = (lambda x: step(net, opt, x)) if step is not None else plain
    if compiled:
        function = to_static(function, full_graph=True)
    losses, counts = [], []
    for i in range(steps):
        x = paddle.to_tensor(DATA[i % len(DATA)])
        with paddle.utils.count_compiles() as count:
            losses.append(function(x))
        counts.append([n for n in count.names if "run_program" in n] if count.compiles else [])
        if between is not None:
            between(opt, i)
    losses = [float(v) for v in losses]
    tensors = [*net.state_dict().values()]
    state = opt.state_dict()
    scheduler = state.pop("LR_Scheduler", None)
    masters = state.pop("master_weights", {})
    tensors += [*state.values(), *masters.values()]
    found = [losses, *[t.astype("float32").numpy() for t in tensors if isinstance(t, paddle.Tensor)]]
    return found, sum(map(len, counts)), scheduler


def _made(options):
    return {k: v() if k == "net" else v for k, v in options.items()}


def compare(make, rtol=2e-5, atol=1e-6, programs=1, **options):
    want, _, first = train(False, make, **_made(options))
    got, count, second = train(True, make, **_made(options))
    assert len(want) == len(got)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
    assert first == second
    assert count == programs


OPTIMIZERS = {
    "SGD": {},
    "Momentum": {"momentum": 0.9, "use_nesterov": True},
    "Adagrad": {},
    "Adadelta": {},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "RMSProp": {"centered": True, "momentum": 0.9},
    "Lamb": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {"batch_num": 2},
    "Rprop": {},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name):
    compare(lambda net: getattr(optimizer, name)(learning_rate=0.02, parameters=net.parameters(), **OPTIMIZERS[name]))


@pytest.mark.parametrize(
    "clip",
    [nn.ClipGradByGlobalNorm(0.1), nn.ClipGradByNorm(0.05), nn.ClipGradByValue(0.01)],
    ids=["global", "norm", "value"],
)
def test_clipping_and_decay(clip):
    def make(net):
        return optimizer.Momentum(
            0.1, parameters=net.parameters(), grad_clip=clip, weight_decay=paddle.regularizer.L1Decay(0.01)
        )

    compare(make)


def test_parameter_groups():
    def make(net):
        groups = [
            {"params": [*net[0].parameters(), *net[1].parameters()], "learning_rate": 0.5, "weight_decay": 0.1},
            {"params": net[4].parameters(), "beta1": 0.5},
        ]
        return optimizer.AdamW(0.05, parameters=groups, apply_decay_param_fun=lambda n: not n.endswith("b_0"))

    compare(make)


def test_the_rate_is_an_input():
    def make(net):
        return optimizer.Adam(optimizer.lr.StepDecay(0.1, 1, 0.5), parameters=net.parameters())

    compare(make, between=lambda opt, i: opt._learning_rate.step())
    compare(
        lambda net: optimizer.SGD(0.1, parameters=net.parameters()),
        between=lambda opt, i: opt.set_lr(0.1 / (i + 2)),
    )


def test_a_scheduler_inside_runs_in_every_call():
    scheduler = optimizer.lr.ExponentialDecay(0.1, 0.5)
    w = paddle.create_parameter([2], "float32")
    sgd = optimizer.SGD(scheduler, parameters=[w])

    @to_static
    def step(x):
        (w * x).sum().backward()
        sgd.step()
        sgd.clear_grad()
        scheduler.step()

    for _ in range(4):
        step(paddle.ones([2]))
    assert scheduler.last_epoch == 4


def amp_step(level, dtype, scaler):
    def step(net, opt, x):
        with amp.auto_cast(level=level, dtype=dtype):
            loss = (net(x) ** 2).mean()
        scaler().scale(loss).backward()
        scaler().step(opt)
        scaler().update()
        opt.clear_grad()
        return loss

    return step


@pytest.mark.parametrize("level, dtype", [("O1", "float16"), ("O2", "float16"), ("O2", "bfloat16")])
def test_mixed_precision(level, dtype):
    scalers = []

    def net():
        scalers.append(amp.GradScaler(init_loss_scaling=2.0**10, incr_every_n_steps=2))
        made = build()
        return amp.decorate(made, level="O2", dtype=dtype) if level == "O2" else made

    def make(net):
        return optimizer.AdamW(0.01, parameters=net.parameters(), multi_precision=level == "O2")

    compare(make, step=amp_step(level, dtype, lambda: scalers[-1]), net=net, rtol=2e-2, atol=2e-3)
    first, second = (s.state_dict() for s in scalers)
    assert first == second
    assert first["scale"] == 2.0**12


def test_infinite_gradients_change_nothing():
    paddle.seed(1)
    net = nn.Linear(4, 2)
    opt = optimizer.Adam(0.1, parameters=net.parameters())
    scaler = amp.GradScaler(init_loss_scaling=8.0)

    @to_static(full_graph=True)
    def step(x):
        loss = net(x).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        scaler.step(opt)
        scaler.update()
        opt.clear_grad()
        return loss

    x = paddle.ones([2, 4])
    step(x)
    before = [p.numpy() for p in net.parameters()] + [v.numpy() for v in opt.state_dict().values()]
    step(x * float("inf"))
    after = [p.numpy() for p in net.parameters()] + [v.numpy() for v in opt.state_dict().values()]
    for a, b in zip(before, after):
        np.testing.assert_array_equal(a, b)
    assert scaler.state_dict()["scale"] == 4.0
    step(x)
    assert not np.array_equal(before[0], net.weight.numpy())
    scaler.set_decr_ratio(0.25)
    step(x * float("inf"))
    assert scaler.state_dict()["scale"] == 1.0


def test_averages_by_the_user():
    def step(net, opt, x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        with paddle.no_grad():
            for p, a in zip(net.parameters(), averages[-1]):
                a.set_value(a * 0.9 + p * 0.1)
        return loss

    averages = []

    def net():
        made = build()
        averages.append([p.clone().detach() for p in made.parameters()])
        return made

    compare(lambda net: optimizer.SGD(0.1, parameters=net.parameters()), step=step, net=net)
    for a, b in zip(*averages):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert not np.allclose(averages[0][0].numpy(), build()[0].weight.numpy())


def clear_first(net, opt, x):
    opt.clear_grad()
    loss = (net(x) ** 2).mean()
    loss.backward()
    opt.step()
    return loss


def drop(net, opt, x):
    loss = (net(x) ** 2).mean()
    loss.backward()
    opt.step()
    opt.clear_grad(set_to_zero=False)
    return loss


def twice(net, opt, x):
    for part in (x, x * 2):
        loss = (net(part) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
    return loss


def minimize(net, opt, x):
    loss = (net(x) ** 2).mean()
    loss.backward()
    opt.minimize(loss)
    net.clear_gradients()
    return loss


def by_hand(net, opt, x):
    loss = (net(x) ** 2).mean()
    loss.backward()
    for p in net.parameters():
        if p.grad is not None:
            p.grad = p.grad * 0.5
    opt.apply_gradients([(p, p.grad) for p in net.parameters()])
    opt.clear_grad()
    return loss


def accumulate(net, opt, x):
    for part in paddle.split(x, 2):
        loss = (net(part) ** 2).mean() / 2
        loss.backward()
    opt.step()
    opt.clear_grad()
    return loss


@pytest.mark.parametrize("step", [clear_first, drop, twice, minimize, by_hand, accumulate], ids=lambda f: f.__name__)
def test_ways_to_step(step):
    compare(lambda net: optimizer.Adam(0.01, parameters=net.parameters()), step=step)


def never_cleared(net, opt, x):
    loss = (net(x) ** 2).mean()
    loss.backward()
    opt.step()
    return loss


def test_gradients_that_are_kept():
    """The first step finds none: another program."""
    compare(lambda net: optimizer.SGD(0.01, parameters=net.parameters()), step=never_cleared, programs=2)


def test_random_numbers_as_eagerly():
    compare(lambda net: optimizer.SGD(0.1, parameters=net.parameters()), net=lambda: build(0.5))


def test_branches_decide_on_tensors():
    def step(net, opt, x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        if loss > 0.3:
            opt.step()
        opt.clear_grad()
        return loss

    compare(lambda net: optimizer.Momentum(0.1, parameters=net.parameters()), step=step)


def test_eager_and_compiled_steps_share_the_state():
    def run(kinds):
        net = build()
        opt = optimizer.Adam(0.01, parameters=net.parameters())

        def step(x):
            loss = (net(x) ** 2).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        compiled = to_static(step, full_graph=True)
        losses = [float((compiled if k else step)(paddle.to_tensor(DATA[i]))) for i, k in enumerate(kinds)]
        return (
            losses + [p.numpy() for p in net.parameters()] + [np.asarray(v.numpy()) for v in opt.state_dict().values()]
        )

    for a, b in zip(run([False] * 5), run([True, False, True, True, False])):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_gradients_are_zero_after_clearing():
    net = nn.Linear(2, 1)
    opt = optimizer.SGD(0.1, parameters=net.parameters())

    @to_static(full_graph=True)
    def step(x):
        net(x).sum().backward()
        opt.step()
        opt.clear_grad()

    for _ in range(2):
        step(paddle.ones([1, 2]))
        assert net.weight.grad.tolist() == [[0.0], [0.0]]
    net(paddle.ones([1, 2])).sum().backward()
    assert net.weight.grad.tolist() == [[1.0], [1.0]]


def test_the_loss_is_released():
    net = nn.Linear(2, 1)
    opt = optimizer.SGD(0.1, parameters=net.parameters())

    @to_static(full_graph=True)
    def step(x):
        loss = net(x).sum()
        loss.backward()
        opt.step()
        return loss

    loss = step(paddle.ones([1, 2]))
    assert not loss.stop_gradient
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_memory_is_reused_where_nobody_else_holds_it():
    net = nn.Linear(64, 64)
    opt = optimizer.Adam(0.01, parameters=net.parameters())

    @to_static(full_graph=True)
    def step(x):
        loss = net(x).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    x = paddle.ones([2, 64])
    step(x)
    held = net.weight._value
    step(x)
    assert not held.is_deleted()
    del held

    def places():
        arrays = [net.weight._value, *(s for pack in opt._packs for s in pack.states.values())]
        return sorted(a.unsafe_buffer_pointer() for a in arrays)

    before = places()
    with paddle.utils.count_compiles() as count:
        step(x)
    assert places() == before
    assert count.compiles == 0
    kept = net(x).sum()  # a graph that goes on with the old weights
    step(x)
    kept.backward()


def test_warming_compiles_what_is_called():
    net = nn.Linear(4, 2)
    opt = optimizer.SGD(0.1, parameters=net.parameters())

    @to_static(full_graph=True)
    def step(x):
        loss = net(x).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    before = net.weight.numpy()
    step.warm_up(paddle.static.InputSpec([3, 4]))
    np.testing.assert_array_equal(net.weight.numpy(), before)
    x = paddle.ones([3, 4])
    with paddle.utils.count_compiles() as count:
        step(x)
    assert "jit(run_program)" not in getattr(count, "names", [])
    assert not np.array_equal(net.weight.numpy(), before)


def test_other_parameters_are_another_program():
    net = build()
    opt = optimizer.SGD(0.1, parameters=net.parameters())

    @to_static(full_graph=True)
    def step(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss

    step(paddle.to_tensor(DATA[0]))
    before = net[0].weight.numpy()
    net[0].weight.stop_gradient = True
    step(paddle.to_tensor(DATA[1]))
    np.testing.assert_array_equal(net[0].weight.numpy(), before)
    net[0].weight.stop_gradient = False
    net[4].weight.optimize_attr["learning_rate"] = 0.0
    last = net[4].weight.numpy()
    step(paddle.to_tensor(DATA[2]))
    np.testing.assert_array_equal(net[4].weight.numpy(), last)
    assert not np.array_equal(net[0].weight.numpy(), before)


@pytest.mark.parametrize("wrapper", ["LookAhead", "ModelAverage", "GradientMergeOptimizer", "LBFGS"])
def test_what_counts_on_the_host_runs_eagerly(wrapper):
    def run(compiled):
        net = build()
        if wrapper == "LBFGS":
            opt = optimizer.LBFGS(0.1, max_iter=2, parameters=net.parameters())
        else:
            inner = optimizer.SGD(0.1, parameters=net.parameters())
            opt = {
                "LookAhead": lambda: paddle.incubate.LookAhead(inner, k=2),
                "ModelAverage": lambda: paddle.incubate.ModelAverage(0.5, parameters=net.parameters()),
                "GradientMergeOptimizer": lambda: paddle.incubate.optimizer.GradientMergeOptimizer(inner, 2),
            }[wrapper]()

        def step(x):
            if wrapper == "LBFGS":

                def closure():
                    opt.clear_grad()
                    loss = (net(x) ** 2).mean()
                    loss.backward()
                    return loss

                return opt.step(closure)
            loss = (net(x) ** 2).mean()
            loss.backward()
            if wrapper == "GradientMergeOptimizer":
                opt.minimize(loss)
            else:
                opt.step()
                if wrapper == "ModelAverage":
                    inner.step()
            net.clear_gradients()
            return loss

        function = to_static(step) if compiled else step
        losses = [float(function(paddle.to_tensor(DATA[i]))) for i in range(4)]
        return losses + [p.numpy() for p in net.parameters()]

    for a, b in zip(run(False), run(True)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_gradients_of_arguments_add_up():
    @to_static(full_graph=True)
    def send(x):
        (x * 3).sum().backward()
        return x

    x = paddle.ones([2])
    x.stop_gradient = False
    send(x)
    send(x)
    assert x.grad.tolist() == [6.0, 6.0]


def test_row_sparse_gradients():
    def run(compiled):
        paddle.seed(0)
        table = nn.Embedding(6, 3, sparse=True)
        opt = optimizer.SGD(0.1, parameters=table.parameters())

        def step(ids):
            loss = F.mse_loss(table(ids), paddle.ones([2, 3]))
            loss.backward()
            opt.step()
            opt.clear_grad()
            return loss

        function = to_static(step) if compiled else step
        return [float(function(paddle.to_tensor([1, i]))) for i in range(4)] + [table.weight.numpy()]

    for a, b in zip(run(False), run(True)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
