"""Programs as users build, train, keep and look at them."""

import os

import numpy as np
import pytest

import paddle
from paddle import static

rng = np.random.RandomState(0)
X = rng.randn(16, 4).astype("float32")
Y = (X @ np.array([[1.0], [-2.0], [0.5], [0.0]]) + 0.3).astype("float32")
FEED = {"x": X, "y": Y}


@pytest.fixture
def main():
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup), paddle.utils.unique_name.guard(), static.scope_guard(static.Scope()):
        yield program
    assert paddle.in_dynamic_mode()


def started():
    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    return exe


def regression(**options):
    x, y = static.data("x", [None, 4]), static.data("y", [None, 1])
    prediction = static.nn.fc(x, 1, **options)
    return x, prediction, ((prediction - y) ** 2).mean()


# ---- layers ----

# the official names and shapes of the parameters
LAYERS = {
    "fc": (
        lambda x: static.nn.fc(x, 5, num_flatten_dims=2, activation="relu"),
        [8, 3, 4],
        {"fc_0.w_0": [4, 5], "fc_0.b_0": [5]},
    ),
    "fc_flat": (lambda x: static.nn.fc(x, 5, name="mine"), [8, 3, 4], {"mine.w_0": [12, 5], "mine.b_0": [5]}),
    "fc_list": (
        lambda x: static.nn.fc([x, x * 2], 5),
        [8, 4],
        {"fc_0.w_0": [4, 5], "fc_0.w_1": [4, 5], "fc_0.b_0": [5]},
    ),
    "conv2d": (
        lambda x: static.nn.conv2d(x, 6, 3, groups=2, act="relu"),
        [2, 4, 8, 8],
        {"conv2d_0.w_0": [6, 2, 3, 3], "conv2d_0.b_0": [6]},
    ),
    "conv2d_transpose": (
        lambda x: static.nn.conv2d_transpose(x, 6, output_size=[10, 10], bias_attr=False),
        [2, 4, 8, 8],
        {"conv2d_transpose_0.w_0": [4, 6, 3, 3]},
    ),
    "conv3d": (
        lambda x: static.nn.conv3d(x, 2, 3),
        [1, 2, 4, 4, 4],
        {"conv3d_0.w_0": [2, 2, 3, 3, 3], "conv3d_0.b_0": [2]},
    ),
    "batch_norm": (
        lambda x: static.nn.batch_norm(x, moving_mean_name="mean"),
        [8, 4, 2, 2],
        {"batch_norm_0.w_0": [4], "batch_norm_0.b_0": [4], "mean": [4], "batch_norm_0.w_1": [4]},
    ),
    "layer_norm": (
        lambda x: static.nn.layer_norm(x, scale=False, begin_norm_axis=2),
        [8, 3, 4],
        {"layer_norm_0.b_0": [4]},
    ),
    "group_norm": (
        lambda x: static.nn.group_norm(x, 2),
        [8, 4, 2, 2],
        {"group_norm_0.w_0": [4], "group_norm_0.b_0": [4]},
    ),
    "instance_norm": (
        lambda x: static.nn.instance_norm(x),
        [8, 4, 2, 2],
        {"instance_norm_0.w_0": [4], "instance_norm_0.b_0": [4]},
    ),
    "prelu": (lambda x: static.nn.prelu(x, "channel"), [8, 4, 2, 2], {"prelu_0.w_0": [1, 4, 1, 1]}),
    "bilinear": (
        lambda x: static.nn.bilinear_tensor_product(x, x, 6),
        [8, 4],
        {"bilinear_tensor_product_0.w_0": [6, 4, 4], "bilinear_tensor_product_0.b_0": [1, 6]},
    ),
    "row_conv": (lambda x: static.nn.row_conv(x, 2), [8, 5, 4], {"row_conv_0.w_0": [3, 4]}),
    "weight_norm": (
        lambda x: static.nn.fc(x, 5, weight_attr=static.WeightNormParamAttr(dim=1), bias_attr=False),
        [8, 4],
        {"fc_0.w_0_v": [4, 5], "fc_0.w_0_g": [1, 5]},
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_the_official_parameters_and_gradients(main, name):
    make, shape, parameters = LAYERS[name]
    out = make(static.data("x", [None, *shape[1:]]))
    assert {p.name: list(p.shape) for p in main.all_parameters()} == parameters
    pairs = static.append_backward((out * out).mean())
    exe = started()
    array = np.random.RandomState(1).randn(*shape).astype("float32")
    got = exe.run(main, {"x": array}, [out, *(g for _, g in pairs)])
    assert len(got[0]) == shape[0] and all(n in (-1, m) for n, m in zip(out.shape, got[0].shape))
    trainable = [p.name for p in main.all_parameters() if not p.stop_gradient]
    assert [p.name for p, _ in pairs] == trainable and all(np.isfinite(g).all() for g in got)


def test_weight_normalisation_starts_at_the_weight_itself(main):
    attr = static.WeightNormParamAttr(dim=1, initializer=paddle.nn.initializer.Assign(X[:4, :2]))
    out = static.nn.fc(static.data("x", [None, 4]), 2, weight_attr=attr, bias_attr=False)
    np.testing.assert_allclose(started().run(main, {"x": X}, [out])[0], X @ X[:4, :2], rtol=1e-5)


def test_layers_say_what_they_cannot_do(main):
    x = static.data("x", [None, None])
    with pytest.raises(ValueError, match="known"):
        static.nn.fc(x, 3)
    with pytest.raises(ValueError, match="num_flatten_dims"):
        static.nn.fc(static.data("a", [None, 4]), 3, num_flatten_dims=2)
    with pytest.raises(ValueError, match="activation"):
        static.nn.fc(static.data("b", [None, 4]), 3, activation="no_such")
    with pytest.raises(TypeError):
        static.nn.fc(static.data("c", [None, 4], "int64"), 3)
    with pytest.raises(NotImplementedError, match="LoD"):
        static.nn.sequence_pool(x, "max")


def test_a_name_shares_a_parameter(main):
    x = static.data("x", [None, 4])
    attr = paddle.ParamAttr("shared")
    a = static.nn.fc(x, 3, weight_attr=attr, bias_attr=False)
    b = static.nn.fc(x * 2, 3, weight_attr=attr, bias_attr=False)
    ((_, gradient),) = static.append_backward((a + b).sum())
    got = started().run(main, {"x": X}, [a, b, gradient])
    np.testing.assert_allclose(got[1], 2 * got[0], rtol=1e-5)
    np.testing.assert_allclose(got[2], np.repeat(3 * X.sum(0)[:, None], 3, 1), rtol=1e-4)
    with pytest.raises(ValueError, match="shared"):
        static.nn.fc(x, 5, weight_attr=attr)


# ---- training ----


def test_schedulers_and_groups_in_programs(main):
    _, _, loss = regression()
    schedule = paddle.optimizer.lr.StepDecay(0.5, 1, 0.1)
    sgd = paddle.optimizer.SGD(schedule, weight_decay=0.0, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    sgd.apply_gradients(sgd.backward(loss))
    exe = started()
    weight = static.global_scope().find_var("fc_0.w_0").get_tensor()
    steps = []
    for _ in range(3):
        before = np.array(weight)
        exe.run(main, FEED)
        steps.append(np.abs(np.array(weight) - before).sum())
        schedule.step()
    assert steps[1] / steps[0] == pytest.approx(0.1, rel=0.3) and steps[2] / steps[1] == pytest.approx(0.1, rel=0.3)


def test_minimize_after_the_guard_finds_its_program():
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup), paddle.utils.unique_name.guard():
        _, _, loss = regression()
    with static.scope_guard(static.Scope()):
        _, pairs = paddle.optimizer.SGD(0.1).minimize(loss)
        assert len(pairs) == 2 and loss.block.program is program


def test_states_have_official_names(main):
    _, _, loss = regression(bias_attr=False)
    paddle.optimizer.Adam(0.1).minimize(loss)
    assert set(main.states) - {"fc_0.w_0"} == {
        f"fc_0.w_0_{s}_0" for s in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    }


def test_averages_are_corrected_and_put_back(main):
    x, prediction, loss = regression(bias_attr=False)
    test = main.clone(for_test=True)
    paddle.optimizer.SGD(0.1).minimize(loss)
    ema = static.ExponentialMovingAverage(0.5)
    ema.update()
    exe = started()
    weights = []
    for _ in range(3):
        exe.run(main, FEED)
        weights.append(np.array(static.global_scope().find_var("fc_0.w_0").get_tensor()))
    want = sum(w * f for w, f in zip(weights, (0.125, 0.25, 0.5))) / (1 - 0.5**3)
    with ema.apply(exe):
        np.testing.assert_allclose(exe.run(test, FEED, [prediction])[0], X @ want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(exe.run(test, FEED, [prediction])[0], X @ weights[-1], rtol=1e-4, atol=1e-5)


def test_seeds_of_programs_repeat_runs():
    def run(seed):
        main, startup = static.Program(), static.Program()
        main.random_seed = startup.random_seed = seed
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            x = static.data("x", [None, 4])
            out = paddle.nn.functional.dropout(static.nn.fc(x, 8), 0.5)
            exe = static.Executor()
            exe.run(startup)
            return exe.run(main, {"x": X}, [out])[0]

    assert np.array_equal(run(3), run(3)) and not np.array_equal(run(3), run(4))


@pytest.mark.parametrize("dtype, options", [("float16", {}), ("bfloat16", {}), ("float16", {"level": "O2"})])
def test_mixed_precision_trains(main, dtype, options):
    x, y = static.data("x", [None, 4]), static.data("y", [None, 1])
    hidden = static.nn.batch_norm(static.nn.fc(x, 8, activation="relu"))
    loss = ((static.nn.fc(hidden, 1) - y) ** 2).mean()
    adam = static.amp.decorate(paddle.optimizer.Adam(0.05), dtype=dtype, **options)
    _, pairs = adam.minimize(loss)
    exe = started()
    losses = [float(exe.run(main, FEED, [loss.astype("float32")])[0]) for _ in range(60)]
    assert len(pairs) == 6 and losses[-1] < 0.05 * losses[0]
    types = [o.type for o in main.global_block().ops]
    assert types.count("cast") > 3
    low = [o.outputs[0] for o in main.block.operators if o.name == "matmul"]
    assert all(v.dtype.name == dtype for v in low)
    assert all(p.dtype is paddle.float32 for p in main.all_parameters())


def test_the_scale_of_the_loss_skips_steps_and_adapts(main):
    _, _, loss = regression(bias_attr=False)
    sgd = static.amp.decorate(
        paddle.optimizer.SGD(0.01), init_loss_scaling=2.0**60, decr_every_n_nan_or_inf=1, decr_ratio=2.0**-50
    )
    sgd.minimize(loss)
    exe = started()
    weight = static.global_scope().find_var("fc_0.w_0").get_tensor()
    before = np.array(weight)
    exe.run(main, FEED)
    assert np.array_equal(np.array(weight), before)
    exe.run(main, FEED)
    assert not np.array_equal(np.array(weight), before) and np.isfinite(np.array(weight)).all()
    assert exe.run(main, FEED, [sgd.get_loss_scaling()])[0] == [1024.0]


def test_the_guard_of_mixed_precision(main):
    x = static.data("x", [4, 4])
    outside = paddle.matmul(x, x)
    with static.amp.fp16_guard():
        inside = paddle.matmul(x, x)
    assert static.amp.cast_model_to_fp16(main, use_fp16_guard=True) >= {inside.name}
    assert outside.dtype is paddle.float32 and inside.dtype is paddle.float16


# ---- functions ----


def test_py_func_with_its_own_gradient(main):
    x = static.data("x", [None, 4])
    x.stop_gradient = False
    out = main.global_block().create_var(name="out", shape=[-1, 4], dtype="float32")
    static.py_func(lambda a: np.tanh(np.array(a)), x, out, lambda a, y, g: np.array(g) * (1 - np.array(y) ** 2))
    (gradient,) = static.gradients([(out * out).sum()], [x])
    got = static.Executor().run(main, {"x": X}, ["out", gradient])
    np.testing.assert_allclose(got[0], np.tanh(X), rtol=1e-6)
    np.testing.assert_allclose(got[1], 2 * np.tanh(X) * (1 - np.tanh(X) ** 2), rtol=1e-4, atol=1e-6)


def test_static_pylayer(main):
    x = static.data("x", [2])
    x.stop_gradient = False
    y = static.nn.static_pylayer(lambda a: a * 2, [x], lambda g: g * 5)
    (gradient,) = static.gradients([y.sum()], [x])
    got = static.Executor().run(main, {"x": np.ones(2, "float32")}, [y, gradient])
    assert got[0].tolist() == [2, 2] and got[1].tolist() == [5, 5]


def test_auc_of_all_and_of_the_last_runs(main):
    scores, label = static.data("p", [None, 2]), static.data("l", [None, 1], "int64")
    everything, last, states = static.auc(scores, label, slide_steps=2)
    exe = started()
    seen = []
    for seed in range(4):
        r = np.random.RandomState(seed)
        p, l = r.rand(20), r.randint(0, 2, 20)
        seen.append((p, l))
        feed = {"p": np.stack([1 - p, p], 1).astype("float32"), "l": l[:, None]}
        got = exe.run(main, feed, [everything, last])
        for value, part in zip(got, (seen, seen[-2:])):
            m = paddle.metric.Auc()
            for p, l in part:
                m.update(np.stack([1 - p, p], 1).astype("float32"), l[:, None])
            assert value == pytest.approx(m.accumulate(), abs=1e-6)
    assert [list(s.shape) for s in states] == [[3 * 4096 + 1]] * 2 + [[1, 4096]] * 2


# ---- files ----


def test_files(main, tmp_path):
    x, prediction, loss = regression()
    test = main.clone(for_test=True)
    paddle.optimizer.Momentum(0.1).minimize(loss)
    exe = started()
    exe.run(main, FEED)
    want = exe.run(test, FEED, [prediction])[0]
    prefix = str(tmp_path / "saved")
    static.save(main, prefix)
    assert sorted(os.listdir(tmp_path)) == ["saved.pdmodel", "saved.pdopt", "saved.pdparams"]
    with static.scope_guard(static.Scope()):  # what comes before training, as a program of its own
        program = static.deserialize_program(static.load_from_file(prefix + ".pdmodel"))
        static.load(program, prefix)
        np.testing.assert_array_equal(exe.run(program, FEED, [prediction.name])[0], want)
    whole = str(tmp_path / "parts" / "whole")
    static.save(test, whole)
    assert (
        static.deserialize_program(static.load_from_file(whole + ".pdmodel")).global_block().var(loss.name) is not None
    )
    state = static.load_program_state(prefix)
    assert set(state) == {"fc_0.w_0", "fc_0.b_0", "fc_0.w_0_velocity_0", "fc_0.b_0_velocity_0"}
    static.set_program_state(main, {n: np.zeros_like(a) for n, a in state.items()})
    assert not exe.run(test, FEED, [prediction])[0].any()
    static.load(main, prefix, exe)
    np.testing.assert_array_equal(exe.run(test, FEED, [prediction])[0], want)
    with pytest.raises(ValueError):
        static.load(main, str(tmp_path / "absent"))
    with pytest.raises(RuntimeError, match="shape"):
        static.set_program_state(main, {"fc_0.w_0": np.zeros((2, 2), "float32")})

    static.save_inference_model(str(tmp_path / "model"), [x], [prediction], exe)
    data = static.serialize_program([x], [prediction])
    values = static.serialize_persistables([x], [prediction], exe)
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(str(tmp_path / "model"), exe)
        assert feeds == ["x"]
        np.testing.assert_allclose(exe.run(program, {"x": X}, fetches)[0], want, rtol=1e-6)
    with static.scope_guard(static.Scope()):
        program = static.deserialize_program(data)
        static.deserialize_persistables(program, values, exe)
        np.testing.assert_allclose(exe.run(program, {"x": X}, program.fetches)[0], want, rtol=1e-6)
    with pytest.raises(ValueError):
        static.deserialize_program(data[:-20])
    with pytest.raises(ValueError, match="feed"):
        static.save_inference_model(str(tmp_path / "other"), [x], [loss], exe)


# ---- looking at programs ----


def test_what_variables_and_operators_tell(main):
    x, prediction, _ = regression()
    assert x.block.program is main and x.is_data and x.op is None and x.lod_level == 0
    assert prediction.op.type == "elementwise_add" and prediction.name == "fc_0.tmp_1"
    first = main.block(0).ops[0]
    assert (first.type, first.name(), first.input("x"), first.output("out")) == (
        "matmul_v2",
        "pd_op.matmul",
        ["x"],
        ["fc_0.tmp_0"],
    )
    assert main.parameters_num() == 2
    assert isinstance(prediction, static.Variable) and "fc_0.tmp_1" in str(main)
    with pytest.raises(ValueError, match="no_such"):
        main.global_block().var("no_such")
    with pytest.raises(RuntimeError):
        prediction.numpy()
    with pytest.raises(ValueError):
        main.random_seed = "7"


def test_variables_that_stay(main):
    step = static.create_global_var([1], 3, "int64", persistable=True, name="step")
    paddle.increment(step)
    exe = started()
    assert [exe.run(main, fetch_list=["step"])[0][0] for _ in range(3)] == [4, 5, 6]
    assert static.is_persistable(step)
    out = static.setitem(static.data("x", [2, 2]), 0, 5.0)
    assert exe.run(main, {"x": np.zeros((2, 2), "float32")}, [out])[0].tolist() == [[5, 5], [0, 0]]


def test_switches_have_their_defaults():
    strategy = static.BuildStrategy()
    assert strategy.enable_inplace and not strategy.fuse_elewise_add_act_ops and strategy.num_trainers == 1
    strategy.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    with pytest.raises(AttributeError):
        strategy.no_such_switch = True
    with pytest.raises(ValueError):
        with static.device_guard("tpu:0"):
            pass
    with pytest.raises(NotImplementedError):
        static.IpuStrategy()


def test_lookahead_and_model_average_do_what_they_do_at_once(main):
    start = paddle.nn.initializer.Assign(X[:4, :1])
    x, prediction, loss = regression(weight_attr=paddle.ParamAttr(initializer=start), bias_attr=False)
    test = main.clone(for_test=True)
    ahead = paddle.incubate.LookAhead(paddle.optimizer.SGD(0.1), alpha=0.5, k=2)
    ahead.minimize(loss)
    average = paddle.incubate.ModelAverage(1.0, main.all_parameters(), min_average_window=2, max_average_window=3)
    average.minimize(loss)
    exe = started()
    for _ in range(5):
        exe.run(main, FEED)
    got = exe.run(test, FEED, [prediction])[0]
    with average.apply(exe):
        averaged = exe.run(test, FEED, [prediction])[0]
    np.testing.assert_array_equal(exe.run(test, FEED, [prediction])[0], got)

    with paddle.fluid.dygraph.guard():
        w = paddle.create_parameter([4, 1], "float32", default_initializer=start)
        ahead = paddle.incubate.LookAhead(paddle.optimizer.SGD(0.1, parameters=[w]), alpha=0.5, k=2)
        average = paddle.incubate.ModelAverage(1.0, [w], min_average_window=2, max_average_window=3)
        for _ in range(5):
            ((paddle.to_tensor(X) @ w - paddle.to_tensor(Y)) ** 2).mean().backward()
            ahead.step()
            average.step()
            ahead.clear_grad()
        np.testing.assert_allclose(got, X @ w.numpy(), rtol=1e-4, atol=1e-5)
        with average.apply():
            np.testing.assert_allclose(averaged, X @ w.numpy(), rtol=1e-4, atol=1e-5)


def test_the_state_of_an_optimizer_is_in_the_scope(main):
    _, _, loss = regression(bias_attr=False)
    adam = paddle.optimizer.Adam(0.1)
    adam.minimize(loss)
    exe = started()
    exe.run(main, FEED)
    state = {n: t.numpy() for n, t in adam.state_dict().items()}
    assert set(state) == {f"fc_0.w_0_{s}_0" for s in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")}
    exe.run(main, FEED)
    adam.set_state_dict(state)
    for name, value in state.items():
        np.testing.assert_array_equal(static.global_scope().find_var(name).get_tensor(), value)


def test_the_value_of_a_parameter(main):
    w = static.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
    with pytest.raises(ValueError, match="no value"):
        w.get_value()
    started()
    assert w.get_value().tolist() == [3.0, 3.0]
