"""Recomputation: the same numbers, less memory."""

import gc

import jax
import numpy as np
import pytest

import paddle
import paddle.nn as nn
from paddle.distributed.fleet.utils import recompute, recompute_sequential
from paddle.engine.compile import count_compiles
from paddle.engine.tape import OpNode
from paddle.fluid.dygraph import checkpoint_guard


def block():
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU())


def guarded(net, x):
    with checkpoint_guard():
        return net(x)


def run(call, net, x):
    paddle.seed(5)
    out = call(net, x)
    paddle.rand([3])  # moves the random state on
    (out * out).sum().backward()
    found = [out.numpy(), x.grad.numpy(), *[p.grad.numpy() for p in net.parameters()]]
    net.clear_gradients()
    x.clear_gradient(False)
    return found


@pytest.mark.parametrize(
    "call",
    [
        lambda net, x: recompute(net, x),
        lambda net, x: recompute(net, x, use_reentrant=False),
        guarded,
        lambda net, x: recompute_sequential({"segments": 3}, net, x),
        lambda net, x: recompute(lambda v: recompute(net, v), x),
    ],
)
def test_results_gradients_and_random_numbers_are_those_of_a_plain_call(call):
    paddle.seed(0)
    net = block()
    x = paddle.randn([4, 8])
    x.stop_gradient = False
    want = run(lambda net, x: net(x), net, x)
    after = paddle.get_rng_state()
    got = run(call, net, x)
    assert after == paddle.get_rng_state()
    for a, b in zip(want, got):
        np.testing.assert_array_equal(a, b)


def test_input_without_gradient_and_several_results():
    layer = nn.Linear(3, 3)
    a, b = recompute(lambda x: (layer(x).exp(), {"n": layer(x).sum()}), paddle.ones([2, 3]))
    (a.sum() + b["n"]).backward()
    w = layer.weight.grad.numpy()
    layer.clear_gradients()
    x = paddle.ones([2, 3])
    (layer(x).exp().sum() + layer(x).sum()).backward()
    np.testing.assert_allclose(w, layer.weight.grad.numpy(), rtol=1e-6)


def test_grad_of_higher_order_and_a_second_backward():
    x = paddle.to_tensor([0.3, -0.7], stop_gradient=False)
    y = recompute(lambda v: (v.tanh() * v).exp(), x)
    (first,) = paddle.grad(y.sum(), x, create_graph=True)
    (second,) = paddle.grad(first.sum(), x)
    z = (x.tanh() * x).exp()
    (first_plain,) = paddle.grad(z.sum(), x, create_graph=True)
    (second_plain,) = paddle.grad(first_plain.sum(), x)
    np.testing.assert_allclose(second.numpy(), second_plain.numpy(), rtol=1e-6)
    y = recompute(lambda v: (v.tanh() * v).exp(), x).sum()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * first_plain.numpy(), rtol=1e-6)


def test_values_changed_in_place_after_the_call_do_not_matter():
    w = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
    y = recompute(lambda v: (v * v).exp(), w)
    with paddle.no_grad():
        w.add_(paddle.ones([2]))
    y.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), [4 * np.exp(4.0), 6 * np.exp(9.0)], rtol=1e-6)


def test_views_and_writes_inside():
    x = paddle.to_tensor(np.arange(6.0, dtype="float32").reshape(2, 3), stop_gradient=False)

    def f(v):
        y = v * 2
        y[0] = y[1].exp()
        return y.transpose([1, 0]).reshape([6]).tanh().sum()

    (plain,) = paddle.grad(f(x), x)
    (again,) = paddle.grad(recompute(f, x), x)
    np.testing.assert_array_equal(plain.numpy(), again.numpy())


def test_statistics_move_once():
    norm = nn.BatchNorm1D(3)
    x = paddle.to_tensor(np.random.RandomState(0).randn(8, 3).astype("float32"), stop_gradient=False)
    recompute(norm, x).sum().backward()
    np.testing.assert_allclose(norm._mean.numpy(), 0.1 * x.numpy().mean(0), rtol=1e-5)


def live_bytes():
    return sum(a.nbytes for a in jax.live_arrays())


class Encoder(nn.Layer):
    def __init__(self, wrap):
        super().__init__()
        self.wrap = wrap
        self.blocks = nn.LayerList([nn.TransformerEncoderLayer(64, 4, 256, dropout=0.1) for _ in range(4)])

    def forward(self, x):
        for b in self.blocks:
            x = recompute(b, x) if self.wrap else b(x)
        return x


def stages(wrap):
    return [nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(64, 64), nn.Tanh())]) for _ in range(4)]


def call_stages(net, x, wrap):
    for stage in net:
        x = recompute(stage, x) if wrap else stage(x)
    return x


@pytest.mark.parametrize(
    "make, call, shape, held_bound, peak_bound",
    [(Encoder, lambda net, x, wrap: net(x), [8, 64, 64], 0.2, 0.6), (stages, call_stages, [1024, 64], 0.25, 0.6)],
)
def test_memory_falls_after_the_forward_pass_and_at_its_peak(monkeypatch, make, call, shape, held_bound, peak_bound):
    held, peak, seen = [], [], []
    run_node = OpNode.run

    def watched(node, *args):
        out = run_node(node, *args)
        seen.append(live_bytes())
        return out

    monkeypatch.setattr(OpNode, "run", watched)
    for wrap in (False, True):
        paddle.seed(0)
        net = make(wrap)
        seen.clear()
        gc.collect()
        base = live_bytes()
        out = call(net, paddle.ones(shape), wrap).sum()
        held.append(live_bytes() - base)
        out.backward()
        peak.append(max(seen) - base)
    assert held[1] < held_bound * held[0], held
    assert peak[1] < peak_bound * peak[0], peak


def test_the_backward_compiles_nothing_new_and_forgets_everything():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    x = paddle.ones([2, 4])
    recompute(net, x).sum().backward()
    net.clear_gradients()
    with count_compiles() as count:
        gc.collect()
        base = live_bytes()
        for _ in range(3):
            recompute(net, x).sum().backward()
            net.clear_gradients()
        gc.collect()
        assert live_bytes() == base
    assert count.compiles == 0


def test_without_recording_nothing_is_kept():
    net = nn.Linear(4, 4)
    with paddle.no_grad():
        assert recompute(net, paddle.ones([2, 4])).stop_gradient


def test_wrong_arguments():
    with pytest.raises(TypeError, match="function"):
        recompute(3, paddle.ones([1]))
    with pytest.raises(ValueError, match="segments"):
        recompute_sequential({"segments": 0}, nn.Sequential(nn.Linear(2, 2)), paddle.ones([1, 2]))
