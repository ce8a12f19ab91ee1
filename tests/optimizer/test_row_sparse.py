"""Row-sparse gradients of embedding(sparse=True): how they add up, and what optimizers and clipping make of them."""

import copy
import gc
import pickle

import jax
import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.engine.deferred import settled
from paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from paddle.optimizer import multi_tensor

from _check import compare

O = paddle.optimizer
BATCHES = ([0, 1, 1], [1, 3, 3], [0, 0, 4])


def table(rows=5, seed=1):
    w = paddle.create_parameter([rows, 2], "float32")
    w.set_value(np.random.RandomState(seed).randn(rows, 2).astype("float32"))
    return w


def lookup(w, ids, sparse=True, **settings):
    return F.embedding(paddle.to_tensor(ids), w, sparse=sparse, **settings)


def rows_of(w):
    return w.grad.rows(), w.grad.tolist()


def test_rows_and_values():
    w = table()
    lookup(w, [[1, 3], [1, 0]]).sum().backward()
    g = w.grad
    assert isinstance(g, paddle.Tensor) and g.is_selected_rows() and not g.is_dense() and not g.is_sparse()
    assert g.rows() == [1, 3, 1, 0] and g.shape == [4, 2] and g.get_selected_rows().height() == 5
    assert "rows=[1, 3, 1, 0]" in repr(g) and g.type == "VarType.SELECTED_ROWS"
    values, rows = w.gradient()
    assert values.tolist() == [[1, 1]] * 4 and rows.tolist() == [1, 3, 1, 0]
    compare(g.to_dense(), [[1, 1], [2, 2], [0, 0], [1, 1], [0, 0]])
    assert (g * 2).rows() == g.rows() and (g / 4).tolist() == [[0.25, 0.25]] * 4
    assert copy.deepcopy(g).rows() == pickle.loads(pickle.dumps(g)).rows() == [1, 3, 1, 0]
    assert g.astype("float64").dtype == paddle.float64


def test_accumulation_as_officially():
    w = table(6)
    for ids, factor in (([[1, 3], [1, 0]], 1), ([5, 1], 2)):
        (lookup(w, ids).sum() * factor).backward()
    assert rows_of(w) == ([0, 1, 3, 5], [[1, 1], [4, 4], [1, 1], [2, 2]])
    lookup(w, [5, 1], sparse=False).sum().backward()
    assert not w.grad.is_selected_rows()
    lookup(w, [5, 1]).sum().backward()
    compare(w.grad, [[1, 1], [6, 6], [0, 0], [1, 1], [0, 0], [4, 4]])
    w.clear_grad()
    compare(w.grad, np.zeros((6, 2)))
    w.clear_gradient(set_to_zero=False)
    lookup(w, [2]).sum().backward()
    w.clear_grad()
    assert w.grad is None


def test_one_graph():
    w = table()
    (lookup(w, [0, 1]) * lookup(w, [1, 2])).sum().backward()
    v = w.numpy()
    assert w.grad.rows() == [0, 1, 2]
    compare(w.grad, [v[1], v[0] + v[2], v[1]])
    w.clear_gradient(False)
    (lookup(w, [0, 1]).sum() + (w * w).sum()).backward()
    compare(w.grad, 2 * v + np.array([[1], [1], [0], [0], [0]]))


def test_padding_gets_nothing():
    w = table()
    lookup(w, [0, 1, 0], padding_idx=0).sum().backward()
    compare(w.grad.to_dense(), [[0, 0], [1, 1], [0, 0], [0, 0], [0, 0]])
    layer = paddle.nn.Embedding(5, 2, sparse=True, padding_idx=-1)
    layer(paddle.to_tensor([4, 2])).sum().backward()
    assert layer.weight.grad.rows() == [4, 2] and layer.weight.grad.tolist() == [[0, 0], [1, 1]]


def test_grad_hooks_and_higher_orders():
    w = table()
    (g,) = paddle.grad(lookup(w, [0, 1, 0]).sum(), w)
    assert g.is_selected_rows() and w.grad is None
    (first,) = paddle.grad((lookup(w, [0, 1, 0]) ** 3).sum(), w, create_graph=True)
    (second,) = paddle.grad(first.sum(), w)
    compare(second.to_dense(), w.numpy() * 6 * np.array([[2], [1], [0], [0], [0]]), rtol=1e-5)
    seen = []
    handle = w.register_hook(lambda g: seen.append(g.is_selected_rows()) or g * 3)
    lookup(w, [2]).sum().backward()
    assert seen == [True] and rows_of(w) == ([2], [[3, 3]])
    handle.remove()
    w.clear_grad()
    lookup(w * 2, [0, 1, 0]).sum().backward()  # a table that is no leaf
    compare(w.grad, [[4, 4], [2, 2], [0, 0], [0, 0], [0, 0]])
    with paddle.no_grad():
        assert lookup(w, [0]).stop_gradient
    with pytest.raises(AttributeError, match="scale_grad_by_freq"):
        lookup(w, [0], scale_grad_by_freq=True)


OFFICIAL = {  # the table after three steps of the official package
    "adam": (O.Adam, {}, [[1.41885, -0.40549], [-0.31174, -0.85465], [0.86541, -2.30154], [1.6286, -0.645], [0.26093, -0.19126]]),
    "adam_lazy": (O.Adam, {"lazy_mode": True}, [[1.47417, -0.46096], [-0.37569, -0.91945], [0.86541, -2.30154], [1.68093, -0.69733], [0.26093, -0.19126]]),
    "adam_amsgrad": (O.Adam, {"amsgrad": True}, [[1.41888, -0.40552], [-0.31177, -0.85468], [0.86541, -2.30154], [1.62863, -0.64502], [0.26093, -0.19126]]),
    "adam_clip": (O.Adam, {"grad_clip": ClipGradByGlobalNorm(0.5)}, [[1.41849, -0.40527], [-0.31864, -0.86158], [0.86541, -2.30154], [1.6286, -0.645], [0.26093, -0.19126]]),
    "sgd_clip": (O.SGD, {"grad_clip": ClipGradByGlobalNorm(0.5)}, [[1.5504, -0.58391], [-0.50389, -1.02363], [0.86541, -2.30154], [1.70096, -0.74208], [0.3144, -0.24574]]),
    "adagrad": (O.Adagrad, {}, [[1.43609, -0.42592], [-0.39061, -0.93167], [0.86541, -2.30154], [1.64481, -0.66121], [0.21904, -0.14937]]),
}  # fmt: skip


def train(make, settings, sparse=True, steps=BATCHES, **more):
    w = table()
    opt = make(0.1, parameters=[w], **settings, **more)
    for ids in steps:
        (lookup(w, ids, sparse) ** 2).sum().backward()
        assert w.grad.is_selected_rows() == sparse
        opt.step()
        opt.clear_grad()
    return w.numpy(), opt


@pytest.mark.parametrize("case", OFFICIAL)
def test_trajectories_of_the_official_package(case):
    make, settings, want = OFFICIAL[case]
    compare(train(make, settings)[0], want, atol=2e-5)


@pytest.mark.parametrize(
    "make, settings",
    [
        (O.SGD, {}),
        (O.SGD, {"weight_decay": 0.1}),
        (O.SGD, {"grad_clip": ClipGradByValue(0.5)}),
        (O.SGD, {"grad_clip": ClipGradByNorm(0.5)}),
        (O.Momentum, {"use_nesterov": True}),
        (O.AdamW, {"weight_decay": 0.1}),
        (O.Adagrad, {"weight_decay": paddle.regularizer.L1Decay(0.1)}),
        (O.RMSProp, {"centered": True}),
        (O.Lamb, {}),
        (O.ASGD, {"batch_num": 2}),
        (O.Rprop, {}),
    ],
)
def test_same_as_dense(make, settings):
    compare(train(make, settings)[0], train(make, settings, sparse=False)[0], rtol=1e-5, atol=1e-6)


def test_lazy_adamw_leaves_other_rows_alone():
    start = table().numpy()
    w, opt = train(O.AdamW, {"lazy_mode": True}, steps=([1, 1], [3, 1]))
    assert (w[[0, 2, 4]] == start[[0, 2, 4]]).all() and (w[[1, 3]] != start[[1, 3]]).all()
    moment = next(v for k, v in opt.state_dict().items() if "moment1" in k).numpy()
    assert (moment[[0, 2, 4]] == 0).all() and (moment[[1, 3]] != 0).all()


def test_sparse_and_dense_steps_share_the_state():
    w, v = table(), table()
    a, b = O.Momentum(0.1, parameters=[w]), O.Momentum(0.1, parameters=[v])
    for ids, sparse in (([0, 1], True), ([1, 2], False), ([2, 2], True)):
        for table_, opt, kind in ((w, a, sparse), (v, b, False)):
            (lookup(table_, ids, kind) ** 2).sum().backward()
            opt.step()
            opt.clear_grad(set_to_zero=False)
    compare(w, v.numpy(), rtol=1e-6)


def test_master_weights_and_scaler():
    w = table().astype("bfloat16").detach()
    w.stop_gradient = False
    opt = O.SGD(0.5, parameters=[w], multi_precision=True)
    scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
    before = w.astype("float32").numpy()
    scaler.scale(lookup(w, [1, 1, 3]).sum()).backward()
    scaler.step(opt)
    scaler.update()
    assert rows_of(w) == ([1, 1, 3], [[1, 1]] * 3)  # unscaled
    delta = opt.state_dict()["master_weights"][w.name].numpy() - before
    compare(delta, [[0, 0], [-1, -1], [0, 0], [-0.5, -0.5], [0, 0]])
    w.clear_grad()
    (lookup(w, [1, 3]) * paddle.to_tensor(np.float32("inf"))).sum().backward()
    after = w.numpy().copy()
    scaler.step(opt)
    scaler.update()
    assert (w.numpy() == after).all()


def test_clip_by_hand():
    for rule in (ClipGradByGlobalNorm(0.5), ClipGradByNorm(0.5)):
        w = table()
        (lookup(w, [0, 1, 1]) ** 2).sum().backward()
        ((_, g),) = rule([(w, w.grad)])
        assert g.is_selected_rows() and g.rows() == [0, 1]
        compare(g, [[0.274821, -0.103502], [-0.178722, -0.363069]], atol=1e-5)
        assert w.grad.shape == [3, 2] and abs(w.grad.numpy()[0, 0] - 3.24869) < 1e-4  # left as it was


def test_nothing_of_the_size_of_the_table(monkeypatch):
    """Neither backward nor step makes a second array as large as the table, of 23 MB."""
    shape = (30000, 192)
    layer = paddle.nn.Embedding(*shape, sparse=True)
    ids = paddle.to_tensor(np.arange(64) * 400)
    spent = []

    def watched(self, args, given, put):
        arrays = map(settled, jax.tree.leaves(args))
        spent.append(self._overwriting(given).lower(*arrays).compile().memory_analysis().temp_size_in_bytes)
        return make(self, args, given, put)

    make = multi_tensor.Step.step
    monkeypatch.setattr(multi_tensor.Step, "step", watched)

    def tables():
        gc.collect()
        return sum(a.shape == shape for a in jax.live_arrays())

    for opt in (
        O.SGD(0.1, parameters=layer.parameters()),
        O.Adam(0.1, parameters=layer.parameters(), lazy_mode=True),
    ):
        for _ in range(2):
            (layer(ids) ** 2).sum().backward()
            opt.step()
            opt.clear_grad()
        before = tables()
        (layer(ids) ** 2).sum().backward()
        assert tables() == before and layer.weight.grad.shape == [64, 192]
        opt.clear_grad()
    assert len(spent) == 4 and max(spent) < 30000 * 192 * 4 / 10
