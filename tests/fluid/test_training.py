"""Programs and imperative networks of the interface before version 2: they train, are saved and read again."""

import os

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid

rng = np.random.RandomState(0)
X = rng.randn(16, 4).astype("float32")
Y = (X @ np.array([[1.0], [-2.0], [0.5], [0.0]]) + 0.3).astype("float32")


@pytest.fixture
def program():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        yield main
    assert paddle.in_dynamic_mode()


def regression():
    x, y = fluid.data("x", [None, 4]), fluid.data("y", [None, 1])
    prediction = fluid.layers.fc(x, 1)
    return prediction, fluid.layers.mean(fluid.layers.square_error_cost(prediction, y))


OPTIMIZERS = [
    lambda: fluid.optimizer.SGDOptimizer(0.2),
    lambda: fluid.optimizer.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    lambda: fluid.optimizer.AdamOptimizer(0.2, regularization=fluid.regularizer.L2DecayRegularizer(1e-4)),
    lambda: fluid.optimizer.AdagradOptimizer(0.5),
    lambda: fluid.optimizer.RMSPropOptimizer(0.05),
    lambda: fluid.optimizer.Adamax(0.2, grad_clip=fluid.clip.GradientClipByGlobalNorm(5.0)),
    lambda: fluid.optimizer.SGD(fluid.layers.exponential_decay(0.2, 10, 0.9)),
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_optimizers_in_programs(program, make):
    _, loss = regression()
    make().minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    losses = [exe.run(program, {"x": X, "y": Y}, [loss])[0][0] for _ in range(25)]
    assert losses[-1] < 0.2 * losses[0]


def test_a_rate_of_the_program_counts_runs_and_not_runs_of_the_clone(program):
    _, loss = regression()
    rate = fluid.layers.piecewise_decay([2], [0.5, 0.25])
    test = program.clone(for_test=True)
    fluid.optimizer.SGD(rate).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": X, "y": Y}
    found = []
    for _ in range(3):
        found.append(float(exe.run(program, feed, [rate])[0][0]))
        exe.run(test, feed, [loss])
    assert found == [0.5, 0.5, 0.25]


def test_files_of_programs(program, tmp_path):
    prediction, loss = regression()
    fluid.optimizer.Adam(0.1).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": X, "y": Y}
    exe.run(program, feed, [loss])
    want = exe.run(program.clone(for_test=True), feed, [prediction])[0]
    fluid.io.save_params(exe, str(tmp_path / "params"))
    fluid.io.save_persistables(exe, str(tmp_path / "all"), filename="everything")
    assert sorted(os.listdir(tmp_path / "params")) == ["fc_0.b_0", "fc_0.w_0"]
    fluid.io.save_inference_model(str(tmp_path / "model"), ["x"], [prediction], exe)
    fluid.save(program, str(tmp_path / "saved"))
    for load in (
        lambda: fluid.io.load_params(exe, str(tmp_path / "params")),
        lambda: fluid.io.load_persistables(exe, str(tmp_path / "all"), filename="everything"),
        lambda: fluid.load(program, str(tmp_path / "saved"), exe),
    ):
        fluid.global_scope().var("fc_0.w_0").set(np.zeros((4, 1), "float32"))
        load()
        np.testing.assert_allclose(exe.run(program.clone(for_test=True), feed, [prediction])[0], want, rtol=1e-6)
    with fluid.scope_guard(fluid.Scope()):
        model, feeds, fetches = fluid.io.load_inference_model(str(tmp_path / "model"), exe)
        assert feeds == ["x"]
        np.testing.assert_allclose(exe.run(model, {"x": X}, fetches)[0], want, rtol=1e-6)


def test_readers_feed_programs(program):
    _, loss = regression()
    x, y = (program.global_block().var(n) for n in "xy")

    def samples():
        yield from zip(X, Y)

    feeder = fluid.DataFeeder(feed_list=[x, "y"], place=fluid.CPUPlace())
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    batches = list(fluid.io.batch(fluid.io.shuffle(samples, 100), 4)())
    assert len(batches) == 4
    fed = feeder.feed(batches[0])
    assert fed["x"].shape == (4, 4) and fed["y"].shape == (4, 1)
    loader = fluid.io.DataLoader.from_generator(feed_list=[x, y], capacity=4)
    loader.set_sample_generator(samples, batch_size=8)
    got = [exe.run(program, batch, [loss])[0] for batch in loader()]
    assert len(got) == 2 and all(g.shape == (1,) for g in got)


def test_data_begins_a_program_and_a_guard_ends_it():
    try:
        x = fluid.data("begun", [None, 2])
        assert not paddle.in_dynamic_mode() and isinstance(x, fluid.framework.Variable)
        with fluid.dygraph.guard():
            assert fluid.dygraph.to_variable(np.ones(2, "float32")).numpy().tolist() == [1, 1]
    finally:
        paddle.disable_static()


class Net(fluid.dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.conv = fluid.dygraph.Conv2D(1, 4, 3, padding=1, act="relu")
        self.norm = fluid.dygraph.BatchNorm(4)
        self.pool = fluid.dygraph.Pool2D(2, "max", 2)
        self.table = fluid.dygraph.Embedding([5, 4])
        self.last = fluid.dygraph.Linear(20, 2, act="softmax")

    def forward(self, image, ids):
        out = self.pool(self.norm(self.conv(image)))
        out = fluid.layers.concat([fluid.layers.flatten(out, 1), self.table(ids)], 1)
        return self.last(out)


def test_imperative_networks_train_and_are_saved(tmp_path):
    image = rng.randn(6, 1, 4, 4).astype("float32")
    ids, label = np.arange(6) % 5, np.array([[0], [1]] * 3)
    with fluid.dygraph.guard(fluid.CPUPlace()):
        net = Net()
        rate = fluid.dygraph.PiecewiseDecay([2], [0.05, 0.04], 0)
        adam = fluid.optimizer.AdamOptimizer(rate, parameter_list=net.parameters())
        losses = []
        for _ in range(12):
            out = net(fluid.dygraph.to_variable(image), fluid.dygraph.to_variable(ids))
            loss = fluid.layers.mean(fluid.layers.cross_entropy(out, fluid.dygraph.to_variable(label)))
            loss.backward()
            adam.minimize(loss)
            net.clear_gradients()
            losses.append(loss.numpy()[0])
        assert losses[-1] < 0.5 * losses[0]
        assert adam.current_step_lr() == pytest.approx(0.04)
        fluid.dygraph.save_dygraph(net.state_dict(), str(tmp_path / "net"))
        fluid.dygraph.save_dygraph(adam.state_dict(), str(tmp_path / "net"))
        params, states = fluid.dygraph.load_dygraph(str(tmp_path / "net"))
        assert any("moment1" in k for k in states)
        other = Net()
        other.set_dict(params)
        net.eval(), other.eval()
        inputs = fluid.dygraph.to_variable(image), fluid.dygraph.to_variable(ids)
        np.testing.assert_allclose(net(*inputs).numpy(), other(*inputs).numpy(), rtol=1e-6)


def test_metrics():
    mean = fluid.metrics.Accuracy()
    mean.update(value=np.array([0.5]), weight=2)
    mean.update(value=1.0, weight=2)
    assert mean.eval() == 0.75
    both = fluid.metrics.CompositeMetric()
    both.add_metric(fluid.metrics.Precision())
    both.add_metric(fluid.metrics.Recall())
    both.update(np.array([[0.9], [0.2], [0.8]]), np.array([[1], [1], [0]]))
    assert both.eval() == [0.5, 0.5]


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError):
        fluid.clip.set_gradient_clip(None)
    with pytest.raises(NotImplementedError):
        fluid.io.DataLoader.from_generator(iterable=False)
    with pytest.raises(RuntimeError, match="program"):
        fluid.layers.fc(paddle.ones([2, 2]), 3)


def test_averages_of_programs(program):
    prediction, loss = regression()
    test = program.clone(for_test=True)
    fluid.optimizer.LookaheadOptimizer(fluid.optimizer.SGD(0.1), alpha=0.5, k=2).minimize(loss)
    average = fluid.optimizer.ModelAverage(1.0, min_average_window=2, max_average_window=4)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    feed = {"x": X, "y": Y}
    for _ in range(4):
        exe.run(program, feed, [loss])
    plain = exe.run(test, feed, [prediction])[0]
    with average.apply(exe):
        assert not np.allclose(exe.run(test, feed, [prediction])[0], plain)
    np.testing.assert_array_equal(exe.run(test, feed, [prediction])[0], plain)
