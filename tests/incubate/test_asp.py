"""Sparsity of n in m: masks, pruning, and an optimizer that keeps it. Values are those of the official package."""

import numpy as np
import pytest

import paddle
from paddle.incubate import asp

MATRIX = np.array([[2, 8, 9, 9], [9, 1, 3, 9], [5, 6, 3, 9], [2, 4, 6, 9]], "float32")


@pytest.fixture(autouse=True)
def clean():
    yield
    asp.reset_excluded_layers()


def test_masks_of_the_official_package():
    assert asp.get_mask_1d(MATRIX, 2, 4).tolist() == [[0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert asp.get_mask_2d_greedy(MATRIX, 2, 4).tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert asp.get_mask_2d_best(MATRIX, 2, 4).tolist() == [[0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    assert (asp.get_mask_2d_best(-MATRIX, 2, 4) == asp.get_mask_2d_best(MATRIX, 2, 4)).all()


@pytest.mark.parametrize("shape", [(8,), (3, 5), (2, 3, 8), (2, 4, 3, 3), (8, 4, 2, 2)])
@pytest.mark.parametrize("algorithm", list(asp.MaskAlgo))
def test_masks_have_their_pattern(shape, algorithm):
    x = np.random.RandomState(0).randn(*shape).astype("float32")
    mask = asp.create_mask(x, algorithm)
    assert mask.shape == x.shape and mask.dtype == x.dtype and set(np.unique(mask)) <= {0, 1}
    assert asp.check_sparsity(x * mask, asp.CheckMethod.get_checking_method(algorithm))


def test_best_is_at_least_as_good_as_greedy():
    x = np.random.RandomState(3).randn(16, 16)
    best, greedy = (np.abs(x * f(x, 2, 4)).sum() for f in (asp.get_mask_2d_best, asp.get_mask_2d_greedy))
    assert best > greedy


def test_checks():
    assert [
        asp.check_mask_1d(np.array(x), 2, 4)
        for x in ([[0, 1, 1, 0], [1, 1, 1, 0]], [[0, 0, 1, 1, 1, 0, 0, 0]], [[0, 1, 0, 0, 1]], [[1, 1, 1, 0]])
    ] == [False, True, True, False]
    assert asp.check_mask_2d(np.array([[0, 8, 9, 0], [9, 0, 0, 10], [5, 0, 0, 6], [0, 4, 6, 0]]), 2, 4)
    assert not asp.check_mask_2d(np.ones((4, 4)), 2, 4)
    assert asp.calculate_density(np.array([[0, 1, 3, 0], [1, 1, 0, 1]])) == 0.625
    with pytest.raises(AssertionError, match="func_name"):
        asp.create_mask(MATRIX, "mask_1d")
    with pytest.raises(ValueError, match="axes"):
        asp.create_mask(np.ones([2] * 5))
    with pytest.raises(ValueError, match="too many patterns"):
        asp.get_mask_2d_best(np.ones((8, 8)), 4, 8)


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.small, self.conv = paddle.nn.Conv2D(3, 4, 3), paddle.nn.Conv2D(8, 4, 3)
        self.first, self.last = paddle.nn.Linear(16, 32), paddle.nn.Linear(32, 6)

    def forward(self, x):
        return self.last(self.first(x))


def test_pruning_and_training():
    net = Net()
    before = net.first.weight.numpy()
    opt = asp.decorate(paddle.optimizer.Adam(0.1, parameters=net.parameters()))
    masks = asp.prune_model(net)
    assert {m.shape for m in masks.values()} == {(4, 3, 3, 3), (4, 8, 3, 3), (16, 32), (32, 6)}
    assert (masks[net.first.weight.name] == asp.get_mask_1d(before.T, 2, 4).T).all()  # along the inputs
    density = [asp.calculate_density(layer.weight) for layer in (net.small, net.conv, net.first, net.last)]
    assert density == [1, 0.5, 0.5, 0.5]  # three channels are too few
    for _ in range(2):
        net(paddle.ones([2, 16])).sum().backward()
        opt.step()
        opt.clear_grad()
    assert asp.check_sparsity(net.first.weight.numpy().T) and (net.first.weight.numpy() != before).any()
    state = opt.state_dict()
    assert (state[f"{net.first.weight.name}.asp_mask"].numpy() == masks[net.first.weight.name]).all()
    opt.set_state_dict(state)
    assert opt.get_lr() == 0.1


def test_excluded_and_supported_layers(monkeypatch):
    known = {name: rule for name, rule in asp.pruning._supported.items() if name != "embedding"}
    monkeypatch.setattr(asp.pruning, "_supported", known)
    net = Net()
    asp.set_excluded_layers([net.first.weight.name])
    masks = asp.prune_model(net, n=1, m=4, mask_algo="mask_2d_greedy")
    assert net.first.weight.name not in masks and asp.calculate_density(net.last.weight) <= 0.25
    table = paddle.nn.Embedding(8, 8)
    assert not asp.prune_model(table)
    calls = []

    def rule(weight, m, n, algorithm, name):
        calls.append((weight.shape, m, n, algorithm, name))
        return weight * 0, np.zeros_like(weight)

    asp.add_supported_layer(paddle.nn.Embedding, rule)
    asp.prune_model(table)
    assert calls == [((8, 8), 4, 2, asp.MaskAlgo.MASK_1D, table.weight.name)] and not table.weight.numpy().any()


def test_master_weights_stay_pruned():
    net = paddle.nn.Linear(8, 8)
    inner = paddle.optimizer.Momentum(0.1, parameters=net.parameters(), multi_precision=True)
    net, inner = paddle.amp.decorate(net, inner, level="O2", dtype="bfloat16")
    opt = asp.decorate(inner)
    asp.prune_model(net)
    for _ in range(2):
        net(paddle.ones([2, 8], "bfloat16")).sum().backward()
        opt.step()
        opt.clear_grad()
    assert asp.calculate_density(net.weight.astype("float32")) == 0.5


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: asp.prune_model(3), TypeError),
        (lambda: asp.prune_model(Net(), mask_algo="x"), AssertionError),
        (lambda: asp.decorate(3), AttributeError),
        (lambda: asp.add_supported_layer(3), TypeError),
        (lambda: asp.get_mask_1d(MATRIX, 5, 4), ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()
