"""Optimizers: trajectories of the official package, compilations, the tape, states."""

import gc
import json
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.engine.compile import count_compiles
from paddle.engine.parameter import as_parameter
from paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from paddle.optimizer import lr
from paddle.regularizer import L1Decay, L2Decay

OFFICIAL = json.loads((Path(__file__).parent / "official.json").read_text())  # parameters after 20 steps of 3.3.1


def parameter(array, name=None, dtype="float32"):
    return as_parameter(paddle.to_tensor(np.asarray(array, dtype)), name=name)


def problem():
    r = np.random.RandomState(7)
    a, b = parameter(r.randn(3, 2), "a"), parameter(r.randn(2), "b")
    xs = [r.randn(4, 3).astype("float32") for _ in range(20)]
    ys = [r.randn(4, 2).astype("float32") for _ in range(20)]

    def loss(i):
        d = paddle.matmul(paddle.to_tensor(xs[i]), a) + b - paddle.to_tensor(ys[i])
        return (d * d).mean() * 3 + (a * a * a).sum() * 0.1

    return a, b, loss


def train(opt, loss, steps=20, scheduler=None):
    for i in range(steps):
        loss(i).backward()
        opt.step()
        opt.clear_grad()
        if scheduler is not None:
            scheduler.step()


def values(*params):
    return np.concatenate([p.numpy().ravel() for p in params])


CASES = {
    "sgd": ("SGD", {}),
    "sgd_l1": ("SGD", dict(weight_decay=L1Decay(0.2))),
    "sgd_l2": ("SGD", dict(weight_decay=0.2)),
    "sgd_g": ("SGD", dict(grad_clip=ClipGradByGlobalNorm(0.5))),
    "sgd_n": ("SGD", dict(grad_clip=ClipGradByNorm(0.5))),
    "sgd_v": ("SGD", dict(grad_clip=ClipGradByValue(0.3))),
    "sgd_v2": ("SGD", dict(grad_clip=ClipGradByValue(0.3, -0.1))),
    "mom": ("Momentum", {}),
    "mom_n": ("Momentum", dict(use_nesterov=True, weight_decay=0.1)),
    "mom_m": ("Momentum", dict(momentum=0.5, weight_decay=L1Decay(0.1))),
    "adam": ("Adam", {}),
    "adam_b": ("Adam", dict(beta1=0.8, beta2=0.9, epsilon=1e-3)),
    "adam_a": ("Adam", dict(amsgrad=True, beta2=0.5)),
    "adam_w": ("Adam", dict(weight_decay=0.2)),
    "adamw": ("AdamW", {}),
    "adamw_f": ("AdamW", dict(weight_decay=0.5, apply_decay_param_fun=lambda n: n == "a")),
    "adamw_g": ("AdamW", dict(weight_decay=0.5, grad_clip=ClipGradByGlobalNorm(0.5))),
    "adamw_a": ("AdamW", dict(amsgrad=True, beta2=0.6)),
    "adagrad": ("Adagrad", {}),
    "adagrad_i": ("Adagrad", dict(initial_accumulator_value=0.5, epsilon=0.1, weight_decay=0.1)),
    "adadelta": ("Adadelta", {}),
    "adadelta_r": ("Adadelta", dict(rho=0.8, epsilon=1e-2, weight_decay=0.1)),
    "adamax": ("Adamax", {}),
    "adamax_e": ("Adamax", dict(epsilon=0.1, beta2=0.8, weight_decay=0.1)),
    "rms": ("RMSProp", {}),
    "rms_c": ("RMSProp", dict(centered=True, momentum=0.5)),
    "rms_m": ("RMSProp", dict(rho=0.8, epsilon=0.01, momentum=0.9, weight_decay=0.1)),
    "lamb": ("Lamb", {}),
    "lamb_e": ("Lamb", dict(lamb_weight_decay=0.3, exclude_from_weight_decay_fn=lambda p: p.name == "b")),
    "lamb_a": ("Lamb", dict(lamb_weight_decay=0.0, always_adapt=True, grad_clip=ClipGradByGlobalNorm(0.5))),
    "nadam": ("NAdam", {}),
    "nadam_d": ("NAdam", dict(momentum_decay=0.1, beta2=0.9, weight_decay=0.1)),
    "radam": ("RAdam", {}),
    "radam_b": ("RAdam", dict(beta2=0.9, weight_decay=0.1)),
    "asgd": ("ASGD", dict(learning_rate=0.03)),
    "asgd_b": ("ASGD", dict(batch_num=3, learning_rate=0.03, weight_decay=0.1)),
    "rprop": ("Rprop", {}),
    "rprop_r": ("Rprop", dict(learning_rate_range=(0.01, 0.2), etas=(0.4, 1.5))),
}


def make(name, params, **kwargs):
    return getattr(paddle.optimizer, name)(parameters=params, **{"learning_rate": 0.05, **kwargs})


@pytest.mark.parametrize("case", sorted(CASES))
def test_trajectory_is_the_official_one(case):
    name, kwargs = CASES[case]
    a, b, loss = problem()
    train(make(name, [a, b], **kwargs), loss)
    np.testing.assert_allclose(values(a, b), OFFICIAL[case], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "AdamW", "Adagrad", "Adamax", "RMSProp", "NAdam", "RAdam"])
def test_parameter_groups(name):
    a, b, loss = problem()
    own = {"beta1": 0.5} if "Adam" in name else {}
    groups = [
        {"params": [a], "learning_rate": 0.5, "weight_decay": 0.3, **own},
        {"params": [b], "grad_clip": ClipGradByNorm(0.2)},
    ]
    train(make(name, groups, **({} if name == "SGD" else {"weight_decay": 0.1})), loss)
    np.testing.assert_allclose(values(a, b), OFFICIAL["group_" + name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("case, name", [("sched", "Momentum"), ("sched2", "Adam")])
def test_scheduler_attributes_regularizer_and_clip_together(case, name):
    a, b, loss = problem()
    b.optimize_attr["learning_rate"] = 0.3
    a.regularizer, b.need_clip = L1Decay(0.2), False
    s = lr.CosineAnnealingDecay(0.1, 8) if case == "sched" else lr.LinearWarmup(lr.StepDecay(0.1, 3), 5, 0.0, 0.1)
    train(make(name, [a, b], learning_rate=s, weight_decay=0.1, grad_clip=ClipGradByGlobalNorm(0.3)), loss, scheduler=s)
    np.testing.assert_allclose(values(a, b), OFFICIAL[case], rtol=2e-5, atol=2e-6)


# ---- compilations ----
def test_a_scheduler_and_new_numbers_never_recompile():
    a, b, loss = problem()
    s = lr.ExponentialDecay(0.1, 0.9)
    opt = make("AdamW", [a, b], learning_rate=s, grad_clip=ClipGradByGlobalNorm(1.0))
    train(opt, lambda i: loss(i % 20), 3, s)
    with count_compiles() as count:
        train(opt, lambda i: loss(i % 20), 50, s)
        opt._beta1, opt._weight_decay = 0.8, 0.3
        opt._grad_clip.clip_norm = 0.5
        train(opt, lambda i: loss(i % 20), 3, s)
    assert count.compiles == 0, count.names


def test_a_second_optimizer_of_the_same_form_uses_the_same_executable():
    a, b, loss = problem()
    train(make("Adamax", [a, b]), loss, 2)
    with count_compiles() as count:
        train(make("Adamax", [a, b], learning_rate=0.2, beta1=0.5), loss, 2)
    assert count.compiles == 0, count.names


def test_300_small_tensors_are_one_executable_and_few_arrays():
    params = [parameter(np.full((i % 3 + 1, 2), i), f"p{i}") for i in range(300)]
    opt = make("Momentum", params, learning_rate=1.0)
    for p in params:
        p.grad = paddle.ones_like(p)
    with count_compiles() as count:
        opt.step()
    assert [n for n in count.names if "step" in n] == ["jit(momentum_step)"] or count.compiles == 1, count.names
    assert len(opt._packs) == 1
    for i, p in enumerate(params):
        np.testing.assert_array_equal(p.numpy(), np.full((i % 3 + 1, 2), i - 1.0))


def test_rules_may_be_replaced_during_training():
    w = parameter([3.0, 4.0], "w")
    w.grad = paddle.to_tensor([3.0, 4.0])
    opt = make("SGD", [w], learning_rate=1.0)
    opt.step()
    opt._grad_clip = ClipGradByNorm(1.0)
    opt.step()
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.8], rtol=1e-6)
    w.optimize_attr["learning_rate"] = 0.0
    opt.step()
    np.testing.assert_allclose(w.numpy(), [-0.6, -0.8], rtol=1e-6)
    opt._grad_clip, opt.regularization, w.grad = None, L2Decay(1.0), paddle.zeros([2])
    w.optimize_attr["learning_rate"] = 1.0
    opt.step()
    np.testing.assert_allclose(w.numpy(), [0.0, 0.0], atol=1e-6)


# ---- the tape and the memory ----
BIG = (160, 160)  # more elements than parameters that share arrays have


@pytest.mark.parametrize("shape", [(3, 3), BIG])
def test_a_retained_graph_keeps_the_old_weights(shape):
    w = parameter(np.full(shape, 2.0), "w")
    opt = make("SGD", [w], learning_rate=0.1)
    for _ in range(2):  # the second step would donate the array of the first
        loss = (w * w * w).sum()
        old = w.numpy()
        loss.backward(retain_graph=True)
        opt.step()
        opt.clear_grad()
        loss.backward()
        np.testing.assert_allclose(w.grad.numpy(), 3 * old**2, rtol=1e-6)
        opt.clear_grad()


@pytest.mark.parametrize("shape", [(3, 3), BIG])
def test_what_others_hold_stays_valid(shape):
    w = parameter(np.full(shape, 2.0), "w")
    opt = make("Adam", [w], learning_rate=0.1)
    w.grad = paddle.ones_like(w)
    opt.step()
    before = w.numpy()
    shared, copied, exported, raw, view = w.detach(), w.clone(), np.from_dlpack(w), w._value, w[0]
    other = parameter(np.zeros(shape), "other")
    other.set_value(w)
    state = opt.state_dict()["w_moment1_0"]
    for _ in range(3):
        opt.step()
    np.testing.assert_array_equal(shared.numpy(), w.numpy())
    for array in (copied.numpy(), exported, np.asarray(raw), other.numpy()):
        np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(view.numpy(), w.numpy()[0])
    np.testing.assert_allclose(state.numpy(), 0.1, rtol=1e-6)


def test_large_parameters_are_updated_in_place():
    w = parameter(np.ones(BIG), "w")
    opt = make("SGD", [w])
    w.grad = paddle.ones_like(w)
    opt.step()
    old = w._value
    del old
    gone = [w._value]
    opt.step()
    assert not gone[0].is_deleted()  # the list holds it
    gone[0] = w._storage.value.unsafe_buffer_pointer()
    opt.step()
    assert w._value.unsafe_buffer_pointer() == gone[0]


def test_without_parameters_all_trainable_ones_with_a_gradient_are_served():
    a, b, loss = problem()
    idle, frozen = parameter([1.0]), parameter([1.0])
    frozen.grad = paddle.ones([1])
    frozen.stop_gradient = True
    opt = paddle.optimizer.SGD(learning_rate=0.05)
    train(opt, loss)
    np.testing.assert_allclose(values(a, b), OFFICIAL["sgd"], rtol=2e-5, atol=2e-6)
    assert idle.item() == 1 and frozen.item() == 1 and float(a.grad.abs().sum()) == 0 and frozen.grad.item() == 1
    count = len(paddle.engine.parameter.parameters)
    del a, b, loss
    gc.collect()
    assert len(paddle.engine.parameter.parameters) <= count - 2 and not opt._homes


def test_parameters_in_the_first_place():
    a, b, loss = problem()
    train(paddle.optimizer.SGD([a, b], learning_rate=0.05), loss)
    np.testing.assert_allclose(values(a, b), OFFICIAL["sgd"], rtol=2e-5, atol=2e-6)
    with pytest.raises(TypeError):
        paddle.optimizer.SGD([a], parameters=[a])


def test_parameters_that_step_at_different_times_keep_their_own_counts():
    a, b = parameter([1.0, 2.0], "a"), parameter([1.0, 2.0], "b")
    x, y = parameter([1.0, 2.0], "x"), parameter([1.0, 2.0], "y")
    together, alone_a, alone_b = make("Adam", [a, b]), make("Adam", [x]), make("Adam", [y])
    r = np.random.RandomState(0)
    for i in range(9):
        ga, gb = (paddle.to_tensor(r.randn(2).astype("float32")) for _ in range(2))
        a.grad = x.grad = ga if i % 3 != 1 else None
        b.grad = y.grad = gb if i % 2 else None
        for opt in (together, alone_a, alone_b):
            opt.step()
    np.testing.assert_array_equal(a.numpy(), x.numpy())
    np.testing.assert_array_equal(b.numpy(), y.numpy())


# ---- states ----
@pytest.mark.parametrize(
    "name",
    [
        "Momentum",
        "Adam",
        "AdamW",
        "Adagrad",
        "Adadelta",
        "Adamax",
        "RMSProp",
        "Lamb",
        "NAdam",
        "RAdam",
        "ASGD",
        "Rprop",
    ],
)
def test_training_goes_on_after_a_state_round_trip(name):
    kwargs = {"batch_num": 3, "learning_rate": 0.03} if name == "ASGD" else {}
    a, b, loss = problem()
    opt = make(name, [a, b], **kwargs)
    train(opt, loss, 10)
    saved, at = opt.state_dict(), (a.numpy(), b.numpy())
    train(opt, loss, 10)
    want = values(a, b)
    a, b, loss = problem()
    a.set_value(at[0])
    b.set_value(at[1])
    fresh = make(name, [a, b], **kwargs)
    fresh.set_state_dict({k.replace("_0", "_7") if i % 2 else k: v.numpy() for i, (k, v) in enumerate(saved.items())})
    assert set(fresh.state_dict()) == set(saved)
    train(fresh, loss, 10)
    np.testing.assert_allclose(values(a, b), want, rtol=1e-6, atol=1e-7)


def test_state_names_and_values_are_official():
    w = parameter(np.ones((2, 3)), "w")
    expected = {
        "Momentum": {"velocity": ([2, 3], 3.4)},
        "Adam": {
            "moment1": ([2, 3], 0.36),
            "moment2": ([2, 3], 0.0072359065),
            "beta1_pow_acc": ([1], 0.729),
            "beta2_pow_acc": ([1], 0.9970030785),
        },
        "Adagrad": {"moment": ([2, 3], 7.24)},
        "Adadelta": {"_avg_squared_grad": ([2, 3], 0.38982123), "_avg_squared_update": ([2, 3], 1.9751840e-06)},
        "Adamax": {"moment": ([2, 3], 0.36), "inf_norm": ([2, 3], 1.998), "beta1_pow_acc": ([1], 0.729)},
        "RMSProp": {"momentum": ([2, 3], 0.22062318), "mean_square": ([2, 3], 0.25111488), "mean_grad": ([2, 3], 0.0)},
        "NAdam": {
            "momentum_decay_pow": ([2, 3], 0.9216),
            "beta2_pow": ([2, 3], 0.998001),
            "mu_product": ([2, 3], 0.20259918),
            "moment1": ([2, 3], 0.35887104),
            "moment2": ([2, 3], 0.0071953894),
        },
        "RAdam": {
            "beta1_pow": ([2, 3], 0.81),
            "beta2_pow": ([2, 3], 0.998001),
            "rho": ([2, 3], 998.51318),
            "moment1": ([2, 3], 0.34),
            "moment2": ([2, 3], 0.0065559158),
        },
        "ASGD": {"d": ([2, 3], 3.6), "y": ([2, 2, 3], 2.0), "m": ([1], 2)},
        "Rprop": {"prevs": ([2, 3], 1.8), "learning_rates": ([2, 3], 0.12)},
    }
    for name, entries in expected.items():
        w.set_value(np.ones((2, 3), "float32"))
        opt = make(name, [w], learning_rate=0.1, **({"batch_num": 2} if name == "ASGD" else {}))
        for _ in range(2):
            (w * w).sum().backward()
            opt.step()
            opt.clear_grad()
        state = opt.state_dict()
        assert set(state) == {f"w_{key}_0" for key in entries}
        for key, (shape, first) in entries.items():
            entry = state[f"w_{key}_0"]
            assert entry.shape == shape and entry.dtype == (paddle.int64 if key == "m" else paddle.float32)
            np.testing.assert_allclose(entry.numpy().ravel()[0], first, rtol=2e-5)


def test_scheduler_state_is_part_of_the_state():
    s = lr.StepDecay(0.1, 2)
    opt = make("SGD", [parameter([1.0])], learning_rate=s)
    s.step()
    assert opt.state_dict() == {"LR_Scheduler": {"last_epoch": 1, "last_lr": 0.1}}
    other = make("SGD", [parameter([1.0])], learning_rate=lr.StepDecay(0.1, 2))
    other.set_state_dict(opt.state_dict())
    other._learning_rate.step()
    assert other.get_lr() == pytest.approx(0.01)


def test_state_of_another_shape_or_for_nobody():
    w = parameter([1.0, 2.0], "w")
    opt = make("Adam", [w])
    w.grad = paddle.ones([2])
    opt.step()
    with pytest.raises(ValueError, match="shape"):
        opt.set_state_dict({"w_moment1_0": np.ones(3)})
    with pytest.raises(RuntimeError, match="no state"):
        opt.set_state_dict({"v_moment1_0": np.ones(2)})
    with pytest.warns(UserWarning, match="names differ"):
        make("Adam", [w]).set_state_dict({"v_moment1_0": np.ones(2)})


# ---- precision ----
def test_master_weights_accumulate_what_16_bits_lose():
    low, master = parameter([256.0], "w").astype("bfloat16"), parameter([256.0], "v").astype("bfloat16")
    low, master = as_parameter(low.detach(), name="w"), as_parameter(master.detach(), name="v")
    plain, precise = (
        make("SGD", [low], learning_rate=0.1),
        make("SGD", [master], learning_rate=0.1, multi_precision=True),
    )
    for _ in range(40):
        low.grad, master.grad = (paddle.ones([1]).astype("bfloat16") for _ in range(2))
        plain.step()
        precise.step()
    assert low.item() == 256 and master.item() == 252 and master.dtype == paddle.bfloat16
    state = precise.state_dict()
    assert state["master_weights"]["v"].dtype == paddle.float32
    np.testing.assert_allclose(state["master_weights"]["v"].numpy(), [252.0], rtol=1e-6)


def test_master_states_round_trip():
    def trained():
        w = as_parameter(parameter([1.0, 2.0]).astype("bfloat16").detach(), name="w")
        return w, make("AdamW", [w], multi_precision=True, learning_rate=0.3)

    w, opt = trained()
    grads = [paddle.to_tensor([0.5 * i, 1.0]).astype("bfloat16") for i in range(6)]
    for g in grads[:3]:
        w.grad = g
        opt.step()
    saved, at = opt.state_dict(), w.astype("float32").numpy()
    assert "w_fp32_master_0_moment1_0" in saved
    other, fresh = trained()
    other.set_value(paddle.to_tensor(at).astype("bfloat16"))
    fresh.set_state_dict({k.replace("master_0_", "master_5_"): v for k, v in saved.items()})
    for g in grads[3:]:
        w.grad = other.grad = g
        opt.step()
        fresh.step()
    np.testing.assert_array_equal(fresh._master_weights["w"].numpy(), opt._master_weights["w"].numpy())


def test_loss_scale_is_taken_out_and_overflow_changes_nothing():
    w, v = parameter([1.0, 2.0], "w"), parameter([1.0, 2.0], "v")
    scaled, plain = make("Adam", [w]), make("Adam", [v])
    for g, ok in (([1.0, -3.0], True), ([np.inf, 1.0], False), ([2.0, 2.0], True)):
        w.grad = paddle.to_tensor(np.asarray(g, "float32") * 8)
        bad = scaled._apply([(w, w.grad)], inverse_scale=paddle.to_tensor(np.float32(1 / 8)))
        assert bool(bad) is not ok
        if ok:
            v.grad = paddle.to_tensor(np.asarray(g, "float32"))
            plain.step()
            np.testing.assert_allclose(w.grad.numpy(), g)
    np.testing.assert_allclose(w.numpy(), v.numpy(), rtol=1e-6)


# ---- interface ----
def test_minimize_clear_grad_and_rates():
    w = parameter([3.0, 4.0], "w")
    opt = make("SGD", [w], learning_rate=0.1)
    assert opt.minimize((w * w).sum()) == ([], [])
    loss = (w * w).sum()
    loss.backward()
    _, pairs = opt.minimize(loss)
    assert pairs[0][0] is w
    np.testing.assert_allclose(w.numpy(), [2.4, 3.2], rtol=1e-6)
    opt.clear_grad()
    assert w.grad.tolist() == [0.0, 0.0]
    opt.clear_grad(set_to_zero=False)
    assert w.grad is None
    opt.set_lr(0.5)
    assert opt.get_lr() == 0.5
    opt.set_lr_scheduler(lr.ExponentialDecay(0.4, 0.5))
    assert opt.get_lr() == 0.4
    with pytest.raises(RuntimeError, match="set_lr"):
        opt.set_lr(0.1)


def test_momentum_rescales_before_decay():
    w = parameter([3.0, 4.0], "w")
    opt = paddle.optimizer.Momentum(0.1, 0.9, parameters=[w], rescale_grad=0.5, weight_decay=0.2)
    w.grad = paddle.to_tensor([3.0, 4.0])
    opt.step()
    np.testing.assert_allclose(w.numpy(), [3 - 0.1 * 2.1, 4 - 0.1 * 2.8], rtol=1e-6)


def test_adamw_lr_ratio():
    w, v = parameter([1.0, 2.0], "w"), parameter([1.0, 2.0], "v")
    first, second = make("AdamW", [w], lr_ratio=lambda p: 0.5), make("AdamW", [v], learning_rate=0.025)
    w.grad = v.grad = paddle.ones([2])
    first.step()
    second.step()
    np.testing.assert_allclose(w.numpy(), v.numpy(), rtol=1e-6)


def test_odd_shapes_and_types():
    params = [parameter(2.0, "zero_d"), parameter(np.zeros((0, 3)), "empty"), parameter([1.0, 2.0], "wide", "float64")]
    opt = make("Adam", params, learning_rate=0.1)
    for p in params:
        p.grad = paddle.ones_like(p)
    opt.step()
    assert params[0].shape == [] and params[1].shape == [0, 3] and params[2].dtype == paddle.float64
    np.testing.assert_allclose(params[2].numpy(), [0.9, 1.9], rtol=1e-8)


@pytest.mark.parametrize(
    "error, name, kwargs",
    [
        (ValueError, "SGD", dict(learning_rate=None)),
        (TypeError, "SGD", dict(learning_rate="0.1")),
        (TypeError, "SGD", dict(grad_clip=1.0)),
        (TypeError, "SGD", dict(weight_decay="x")),
        (TypeError, "AdamW", dict(weight_decay="x")),
        (TypeError, "AdamW", dict(weight_decay=None)),
        (TypeError, "AdamW", dict(lr_ratio=0.5)),
        (ValueError, "Adam", dict(beta1=1.0)),
        (ValueError, "Adam", dict(beta2=-0.1)),
        (ValueError, "Adam", dict(epsilon=-1.0)),
        (ValueError, "Momentum", dict(momentum=None)),
        (ValueError, "RMSProp", dict(epsilon=None)),
        (ValueError, "RMSProp", dict(rho=-1.0)),
        (ValueError, "NAdam", dict(learning_rate=-0.1)),
        (ValueError, "NAdam", dict(momentum_decay=-1.0)),
        (ValueError, "RAdam", dict(beta2=1.0)),
        (ValueError, "ASGD", dict(batch_num=0)),
        (ValueError, "Rprop", dict(etas=(1.5, 1.2))),
        (ValueError, "Rprop", dict(learning_rate_range=(0.2, 0.5))),
        (ValueError, "LBFGS", dict(line_search_fn="x")),
    ],
)
def test_bad_arguments(error, name, kwargs):
    with pytest.raises(error):
        make(name, [parameter([1.0])], **kwargs)


def test_bad_parameters():
    w = parameter([1.0])
    for bad in (w, [1, 2], "w", 3):
        with pytest.raises(TypeError):
            paddle.optimizer.SGD(0.1, parameters=bad)
    with pytest.raises(ValueError, match="more than one"):
        paddle.optimizer.SGD(0.1, parameters=[{"params": [w]}, {"params": [w]}])
    with pytest.raises(ValueError, match="params"):
        paddle.optimizer.SGD(0.1, parameters=[{"parameters": [w]}])
    with pytest.warns(UserWarning, match="more than once"):
        paddle.optimizer.SGD(0.1, parameters=[w, w])
    opt = make("SGD", [w])
    w.grad = paddle.ones([2, 2])
    with pytest.raises(ValueError, match="gradient of shape"):
        opt.step()


def test_lbfgs_goes_the_official_way_also_after_a_round_trip():
    def rosenbrock(x):
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    def closure_of(opt, x):
        def closure():
            opt.clear_grad()
            loss = rosenbrock(x)
            loss.backward()
            return loss

        return closure

    kwargs = dict(line_search_fn="strong_wolfe", max_iter=8, history_size=5)
    x = parameter([-1.2, 1.0], "x", "float64")
    opt = paddle.optimizer.LBFGS(parameters=[x], **kwargs)
    opt.step(closure_of(opt, x))
    y = parameter(x.numpy(), "y", "float64")
    other = paddle.optimizer.LBFGS(parameters=[y], **kwargs)
    other.set_state_dict(opt.state_dict())
    for _ in range(3):
        opt.step(closure_of(opt, x))
        other.step(closure_of(other, y))
    np.testing.assert_allclose(x.numpy(), [0.92653023, 0.85629031], rtol=1e-7)  # as officially
    opt.step(closure_of(opt, x))
    np.testing.assert_allclose(x.numpy(), [1.0, 1.0], atol=1e-4)
    np.testing.assert_allclose(y.numpy(), [0.92653023, 0.85629031], rtol=1e-7)
    with pytest.raises(NotImplementedError):
        opt.minimize(rosenbrock(x))


def test_regularizers_called_by_hand():
    p = parameter([-2.0, 0.0, 3.0])
    np.testing.assert_allclose(L1Decay(0.5)(p, None, None).numpy(), [-0.5, 0.0, 0.5])
    np.testing.assert_allclose(L2Decay(0.5)(p, None, None).numpy(), [-1.0, 0.0, 1.5])
