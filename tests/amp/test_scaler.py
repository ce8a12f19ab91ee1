"""Loss scaling; scales and parameters as the official GradScaler gives them."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn


def setup(optimizer=paddle.optimizer.SGD, rate=0.1, **settings):
    p = paddle.create_parameter([2], "float32")
    p.set_value(np.array([1.0, 2.0], "float32"))
    return p, optimizer(rate, parameters=[p]), paddle.amp.GradScaler(**settings)


def step(p, opt, scaler, factor):
    scaler.scale((p * factor).sum()).backward()
    scaler.step(opt)
    scaler.update()
    opt.clear_grad()


def test_scale_grows_and_falls_by_the_counts():
    p, opt, scaler = setup(init_loss_scaling=64.0, incr_every_n_steps=2, decr_every_n_nan_or_inf=2)
    seen = []
    for factor in (1.0, np.inf, 1.0, 1.0, np.nan, np.inf, 1.0, np.inf, np.inf, np.inf):
        step(p, opt, scaler, factor)
        seen.append(float(scaler.state_dict()["scale"][0]))
    assert seen == [64, 64, 64, 128, 128, 64, 64, 64, 32, 32]
    np.testing.assert_allclose(p.numpy(), [1 - 0.4, 2 - 0.4], rtol=1e-6)


@pytest.mark.parametrize("optimizer", [paddle.optimizer.Adam, paddle.optimizer.Momentum])
def test_a_bad_step_leaves_parameters_and_states_alone(optimizer):
    p, opt, scaler = setup(optimizer, init_loss_scaling=8.0)
    step(p, opt, scaler, 1.0)
    before, states = p.numpy(), {k: v.numpy() for k, v in opt.state_dict().items()}
    step(p, opt, scaler, np.inf)
    np.testing.assert_array_equal(p.numpy(), before)
    for key, value in opt.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), states[key])
    assert float(scaler.state_dict()["scale"][0]) == 4.0


def test_unscale_once_then_step():
    p, opt, scaler = setup(init_loss_scaling=8.0)
    scaler.scale((p * p).sum()).backward()
    np.testing.assert_allclose(p.grad.numpy(), [16, 32])
    scaler.unscale_(opt)
    np.testing.assert_allclose(p.grad.numpy(), [2, 4])
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(opt)
    scaler.step(opt)
    with pytest.raises(RuntimeError, match="step"):
        scaler.step(opt)
    with pytest.raises(RuntimeError, match="before step"):
        scaler.unscale_(opt)
    scaler.update()
    np.testing.assert_allclose(p.numpy(), [0.8, 1.6], rtol=1e-6)
    opt.clear_grad()
    scaler.scale((p * p).sum()).backward()
    scaler.minimize(opt, None)
    np.testing.assert_allclose(p.numpy(), [0.64, 1.28], rtol=1e-6)


def test_an_infinity_that_was_clipped_away_after_unscale_still_skips():
    p, opt, scaler = setup(init_loss_scaling=8.0)
    scaler.scale((p * np.inf).sum()).backward()
    scaler.unscale_(opt)
    p.grad.set_value(np.ones(2, "float32"))
    scaler.step(opt)
    scaler.update()
    np.testing.assert_array_equal(p.numpy(), [1, 2])
    assert float(scaler.state_dict()["scale"][0]) == 4.0


def test_clipping_sees_unscaled_gradients():
    p = paddle.create_parameter([2], "float32")
    p.set_value(np.zeros(2, "float32"))
    opt = paddle.optimizer.SGD(1.0, parameters=[p], grad_clip=nn.ClipGradByGlobalNorm(1.0))
    step(p, opt, paddle.amp.GradScaler(init_loss_scaling=1024.0), paddle.to_tensor([0.3, 0.4]))
    np.testing.assert_allclose(p.numpy(), [-0.3, -0.4], rtol=1e-6)


def test_two_optimizers_share_a_scaler():
    p, a, scaler = setup(init_loss_scaling=8.0)
    q = paddle.create_parameter([2], "float32")
    q.set_value(np.ones(2, "float32"))
    b = paddle.optimizer.SGD(0.1, parameters=[q])
    scaler.scale((p * np.inf).sum() + q.sum()).backward()
    scaler.step(a)
    scaler.step(b)
    scaler.update()
    np.testing.assert_array_equal(p.numpy(), [1, 2])
    np.testing.assert_allclose(q.numpy(), [0.9, 0.9], rtol=1e-6)
    assert float(scaler.state_dict()["scale"][0]) == 4.0


def test_small_gradients_survive_float16():
    w = paddle.create_parameter([1], "float16")
    w.set_value(np.zeros(1, "float16"))
    sgd = paddle.optimizer.SGD(1e6, parameters=[w])
    sgd._multi_precision = True
    scaler = paddle.amp.GradScaler(init_loss_scaling=2.0**15)
    scaler.scale((w.astype("float32") * 1e-8).sum()).backward()
    scaler.step(sgd)
    assert abs(float(w.astype("float32")) + 0.01) < 1e-4


def test_a_float16_loss_does_not_overflow_when_scaled():
    loss = paddle.to_tensor([3.0], dtype="float16")
    assert float(paddle.amp.GradScaler().scale(loss)) == 3 * 65536


def test_no_step_waits_for_the_device(monkeypatch):
    import jax.numpy as jnp

    p, opt, scaler = setup(init_loss_scaling=8.0)
    step(p, opt, scaler, 1.0)
    loss = (p * 2).sum()
    scaled = scaler.scale(loss)

    def read(array):
        raise AssertionError("a value was read back to the host")

    with monkeypatch.context() as patch:
        patch.setattr(type(jnp.ones(1)), "_value", property(read))
        with pytest.raises(AssertionError, match="read back"):
            bool(jnp.ones(()) > 0)
        scaled.backward()
        scaler.step(opt)
        scaler.update()
        opt.clear_grad()
    np.testing.assert_allclose(p.numpy(), [0.7, 1.7], rtol=1e-6)


def test_a_step_of_the_optimizers_own_is_told():
    class Counting(paddle.optimizer.SGD):
        steps = 0

        def step(self):
            self.steps += 1
            super().step()

    p, opt, scaler = setup(Counting, init_loss_scaling=4.0)
    step(p, opt, scaler, 1.0)
    step(p, opt, scaler, np.nan)
    assert opt.steps == 1
    np.testing.assert_allclose(p.numpy(), [0.9, 1.9], rtol=1e-6)


def test_state_round_trip_and_off():
    p, opt, scaler = setup(init_loss_scaling=16.0, incr_every_n_steps=3)
    step(p, opt, scaler, 1.0)
    step(p, opt, scaler, 1.0)
    other = paddle.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.state_dict()["incr_count"] == 2
    step(p, opt, other, 1.0)
    assert float(other.state_dict()["scale"][0]) == 32.0
    with pytest.raises(RuntimeError):
        other.load_state_dict({})
    with pytest.raises(ValueError, match="incr_count"):
        other.load_state_dict({"scale": np.ones(1)})
    off = paddle.amp.GradScaler(enable=False)
    x = paddle.ones([1])
    assert off.scale(x) is x and off.state_dict() == {}


def test_a_scale_that_only_falls_is_reported():
    p, opt, scaler = setup(init_loss_scaling=1e-3)
    with pytest.warns(UserWarning, match="loss scale fell"):
        for _ in range(257):
            step(p, opt, scaler, np.nan)


# ---- the older form ----


def test_older_form_for_lists_and_for_unscaled_losses():
    from paddle.static import amp

    net = nn.Linear(2, 1)
    sgd = paddle.optimizer.SGD(0.5, parameters=net.parameters())
    (net,), (sgd,) = amp.decorate(models=[net], optimizers=[sgd], dtype=paddle.float16, level="O2")
    before = net.bias.astype("float32").numpy()
    net(paddle.ones([1, 2])).sum().backward()  # not scaled: a plain step
    sgd.step()
    sgd.clear_grad()
    amp.scale_loss(net(paddle.ones([1, 2])).sum(), sgd).backward()
    sgd.step()
    np.testing.assert_allclose(net.bias.astype("float32").numpy(), before - 1.0, atol=2e-3)
    with pytest.raises(ValueError, match="decorated"):
        amp.scale_loss(paddle.ones([1]), paddle.optimizer.SGD(0.1, parameters=net.parameters()))
    assert callable(amp.decorate(sgd).minimize)  # the form for programs
