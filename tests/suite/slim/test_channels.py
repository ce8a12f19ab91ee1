"""Channel pruning: what is removed is exactly what was at zero, whatever the network is made of."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.vision import models
from paddleslim.dygraph import FPGMFilterPruner, L1NormFilterPruner, L2NormFilterPruner
from paddleslim.structure import of_layer

from _prunable import Piece, Random, outputs, prune_and_compare

LONG = pytest.mark.slow


@pytest.mark.parametrize(
    "name, size",
    [
        ("resnet18", 32),
        ("mobilenet_v2", 32),
        ("squeezenet1_0", 64),
        pytest.param("shufflenet_v2_x0_25", 32, marks=LONG),
        pytest.param("mobilenet_v3_small", 32, marks=LONG),
        pytest.param("densenet121", 32, marks=LONG),
        pytest.param("googlenet", 224, marks=LONG),
        pytest.param("vgg11", 32, marks=LONG),
        pytest.param("resnext50_32x4d", 32, marks=LONG),
    ],
)
def test_networks_of_the_zoo(name, size):
    before, after, units = prune_and_compare(getattr(models, name)(num_classes=10), [1, 3, size, size])
    assert units > 50 and after < 0.6 * before


@pytest.mark.parametrize("kind", Piece.kinds)
def test_operators(kind):
    before, after, units = prune_and_compare(Random([kind, "relu"]), [2, 3, 8, 8])
    assert units and after < before


@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from([k for k in Piece.kinds if k != "reshape"]), min_size=3, max_size=5), st.integers(0, 99)
)
def test_operators_in_any_order(kinds, seed):
    prune_and_compare(Random(kinds), [2, 3, 8, 8], seed)


class Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(32, 32)
        self.encoder = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        return self.out(self.encoder(self.embed(x)))


def test_heads_of_attention_go_as_a_whole():
    net = Attention()
    structure = of_layer(net, [2, 5, 32])
    groups = {g.name: g for g in structure.groups()}
    heads = groups[net.encoder.self_attn.q_proj.weight.name]
    assert heads.units == 4 and len(heads.members) == 3  # query, key and value together
    assert "layer_norm" in structure.reason(net.encoder.linear2.weight.name, 1)  # the width of the residual stream
    assert groups[net.out.weight.name].reason == "it is a result of the network"
    prune_and_compare(net, [2, 5, 32])
    pruner = L1NormFilterPruner(net, [2, 5, 32], prune_type="fc")
    pruner.prune_vars({heads.name: 0.5, net.encoder.linear1.weight.name: 0.25}, axis=1)
    attention = net.encoder.self_attn
    assert attention.num_heads == 2 and attention.q_proj.weight.shape == [32, 16]
    assert attention.out_proj.weight.shape == [16, 32] and net.encoder.linear2.weight.shape == [48, 32]
    assert net(paddle.ones([2, 5, 32])).shape == [2, 5, 3]


class TokensAndPositions(nn.Layer):
    """The beginning of a vision transformer: patches, a token, positions."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2D(3, 12, 4, stride=4)
        self.token = self.create_parameter([1, 1, 12])
        self.position = self.create_parameter([1, 5, 12])
        self.scale = self.create_parameter([12])
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose([0, 2, 1])
        x = paddle.concat([self.token.expand([x.shape[0], -1, -1]), x], 1) + self.position
        return self.out((x * self.scale)[:, 0])


def test_parameters_without_layers_are_pruned_along():
    net = TokensAndPositions()
    before, after, units = prune_and_compare(net, [2, 3, 8, 8])
    assert units == 6 and before - after == 6 * (49 + 1 + 5 + 1 + 3)


class Blocked(nn.Layer):
    def __init__(self, middle, fixed=False):
        super().__init__()
        self.a, self.b = nn.Conv2D(3, 8, 3), nn.Conv2D(8, 4, 3)
        self.c, self.d = nn.Conv2D(4, 6, 1), nn.Linear(6, 2)
        self.middle = middle

    def forward(self, x):
        x = self.b(self.middle(self.a(x)))
        return self.d(F.relu(self.c(x)).mean([2, 3]))


@pytest.mark.parametrize(
    "middle, word",
    [
        (nn.GroupNorm(2, 8), "group_norm"),
        (lambda x: F.softmax(x, 1), "softmax"),
        (lambda x: paddle.cumprod(x, 1), "cumprod"),
        (lambda x: paddle.flip(x, [1]), "flip"),
        (lambda x: paddle.concat([x[:, 3:], x[:, :3]], 1), "part of the channels"),
        (lambda x: x * paddle.arange(8, dtype="float32").reshape([8, 1, 1]), "fixed channels"),
        (lambda x: F.local_response_norm(x, 3), "local_response_norm"),
    ],
)
def test_an_operator_that_mixes_channels_holds_them_and_says_so(middle, word):
    net = Blocked(middle)
    pruner = L1NormFilterPruner(net, [1, 3, 10, 10])
    reasons = {g.name: g.reason for g in pruner.groups}
    assert word in reasons[net.a.weight.name] and reasons[net.c.weight.name] is None
    weight = net.a.weight.numpy()
    with pytest.raises(ValueError, match=word):
        pruner.prune_vars({net.a.weight.name: 0.5}, 0)
    np.testing.assert_array_equal(net.a.weight.numpy(), weight)
    prune_and_compare(net, [1, 3, 10, 10])


class FixedNumbers(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = nn.Conv2D(1, 4, 3), nn.Linear(4 * 36, 2)

    def forward(self, x):
        return self.linear(F.relu(self.conv(x)).reshape([-1, 144]))


def test_code_that_counts_with_fixed_numbers_is_refused_and_nothing_changes():
    net = FixedNumbers()
    x = np.random.RandomState(0).randn(2, 1, 8, 8).astype("float32")
    (before,) = outputs(net, [x])
    pruner = L1NormFilterPruner(net, [2, 1, 8, 8])
    with pytest.raises(ValueError):
        pruner.prune_vars({net.conv.weight.name: 0.5}, 0)
    assert net.conv.weight.shape == [4, 1, 3, 3] and net.conv._out_channels == 4
    np.testing.assert_array_equal(outputs(net, [x])[0], before)


def plain_net():
    return nn.Sequential(
        nn.Conv2D(1, 8, 3), nn.BatchNorm2D(8), nn.ReLU(), nn.Conv2D(8, 6, 3), nn.Flatten(), nn.Linear(6 * 16, 2)
    )


@pytest.mark.parametrize(
    "pruner, scores",
    [
        (L1NormFilterPruner, lambda w: np.abs(w).sum((1, 2, 3))),
        (L2NormFilterPruner, lambda w: (w**2).sum((1, 2, 3))),
        (FPGMFilterPruner, lambda w: np.array([sum(np.linalg.norm(a - b) for b in w) for a in w])),
    ],
)
def test_criteria(pruner, scores):
    net = plain_net()
    weight = net[0].weight.numpy()
    pruner(net, [1, 1, 8, 8]).prune_vars({net[0].weight.name: 0.5}, 0)
    kept = np.sort(np.argsort(scores(weight))[4:])
    np.testing.assert_array_equal(net[0].weight.numpy(), weight[kept])


def test_optimizers_go_along_and_restore_undoes_everything():
    net = plain_net()
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())

    def step():
        loss = (net(paddle.ones([2, 1, 8, 8])) ** 2).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

    step()
    weight = net[0].weight
    moment = optimizer.state_dict()[weight.name + "_moment1_0"].numpy()
    kept = np.sort(np.argsort(np.abs(weight.numpy()).sum((1, 2, 3)))[2:])
    before = {n: p.numpy() for n, p in net.named_parameters()}
    pruner = L1NormFilterPruner(net, [2, 1, 8, 8], opt=optimizer)
    plan = pruner.prune_vars({weight.name: 0.25}, 0)
    np.testing.assert_array_equal(optimizer.state_dict()[weight.name + "_moment1_0"].numpy(), moment[kept])
    assert plan.contains(weight.name, 0) and plan.masks[weight.name][0].sum() == 6 and net[0]._out_channels == 6
    plan.restore(net)
    for name, p in net.named_parameters():
        np.testing.assert_array_equal(p.numpy(), before[name])
    np.testing.assert_array_equal(optimizer.state_dict()[weight.name + "_moment1_0"].numpy(), moment)
    pruner.prune_vars({weight.name: 0.25}, 0)
    step()
    assert net[0].weight.shape == [6, 1, 3, 3]


def test_lazy_pruning_equals_pruning():
    net = plain_net()
    net.eval()
    net[1]._mean.set_value(np.random.RandomState(0).randn(8).astype("float32"))
    x = np.random.RandomState(1).randn(2, 1, 8, 8).astype("float32")
    pruner = L1NormFilterPruner(net, [2, 1, 8, 8])
    (before,) = outputs(net, [x])
    plan = pruner.prune_vars({net[0].weight.name: 0.5}, 0, apply="lazy")
    assert net[0].weight.shape[0] == 8
    (masked,) = outputs(net, [x])
    plan.restore()
    np.testing.assert_array_equal(outputs(net, [x])[0], before)
    plan.apply(net)
    np.testing.assert_allclose(outputs(net, [x])[0], masked, rtol=1e-5, atol=1e-6)
    assert np.abs(masked - before).max() > 1e-3


def test_pruning_twice():
    net = plain_net()
    pruner = L1NormFilterPruner(net, [1, 1, 8, 8])
    pruner.prune_vars({net[0].weight.name: 0.5}, 0)
    pruner.prune_vars({net[0].weight.name: 0.5, net[3].weight.name: 0.5}, 0)
    assert [p.shape[0] for p in (net[0].weight, net[3].weight, net[5].weight)] == [2, 3, 48]
    pruner.prune_vars({net[0].weight.name: 0.99}, 0)
    assert net[0].weight.shape[0] == 1  # one channel stays


@pytest.mark.parametrize(
    "ratios, axis, message",
    [
        ({"nothing": 0.5}, 0, "nothing"),
        ({0: 0.5}, 4, "axis must lie in"),
        ({0: 1.0}, 0, r"\[0, 1\)"),
        ({0: -0.1}, 0, r"\[0, 1\)"),
        ({0: "half"}, 0, r"\[0, 1\)"),
        ({0: 0.5}, 2, "axis 2"),
    ],
)
def test_wrong_arguments(ratios, axis, message):
    net = plain_net()
    given = {net[0].weight.name if n == 0 else n: r for n, r in ratios.items()}
    with pytest.raises(ValueError, match=message):
        L1NormFilterPruner(net, [1, 1, 8, 8]).prune_vars(given, axis)
    assert net[0].weight.shape == [8, 1, 3, 3]


def test_what_is_no_network_or_shape_is_refused():
    with pytest.raises(TypeError, match="Layer"):
        L1NormFilterPruner("net", [1, 1, 8, 8])
    with pytest.raises(TypeError, match="inputs"):
        L1NormFilterPruner(plain_net(), "1x1x8x8")
    with pytest.raises(TypeError, match="axis"):
        L1NormFilterPruner(plain_net(), [1, 1, 8, 8]).prune_vars({}, "a")
    with pytest.raises(ValueError, match="prune_type"):
        L1NormFilterPruner(plain_net(), [1, 1, 8, 8], prune_type="all")
