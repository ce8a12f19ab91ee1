"""Which type operators compute in under auto_cast; what decorate does to models and optimizers."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.amp import amp_lists
from paddle.engine.compile import count_compiles

f32 = paddle.ones([2, 4])
w = paddle.ones([4, 4])
image, kernel = paddle.ones([1, 2, 5, 5]), paddle.ones([3, 2, 3, 3])


def low(x):
    return x.astype("float16")


# (call, result at O1, at O2, at O2 without promotion, at OD) for float16, by the official rule
CASES = {
    "matmul": (lambda: paddle.matmul(f32, w), "16 16 16 16"),
    "linear": (lambda: F.linear(f32, w, paddle.ones([4])), "16 16 16 16"),
    "conv2d": (lambda: F.conv2d(image, kernel), "16 16 16 16"),
    "einsum": (lambda: paddle.einsum("ij,jk->ik", f32, w), "16 16 16 16"),
    "add": (lambda: f32 + f32, "32 32 16 32"),
    "add mixed": (lambda: f32 + low(f32), "32 32 16 32"),
    "add low": (lambda: low(f32) + low(f32), "16 16 16 32"),
    "concat mixed": (lambda: paddle.concat([f32, low(f32)]), "32 32 16 32"),
    "exp": (lambda: paddle.exp(low(f32)), "32 16 16 32"),
    "softmax": (lambda: F.softmax(low(f32)), "32 16 16 32"),
    "mean": (lambda: low(f32).mean(), "32 16 16 32"),
    "sum": (lambda: low(f32).sum(), "32 16 16 32"),
    "layer_norm": (lambda: F.layer_norm(low(f32), 4, paddle.ones([4]), paddle.zeros([4])), "32 16 16 32"),
    "batch_norm": (lambda: F.batch_norm(low(f32), paddle.zeros([4]), paddle.ones([4]), training=True), "16 16 16 32"),
    "cross_entropy": (lambda: F.cross_entropy(low(f32), paddle.zeros([2], "int64")), "32 16 16 32"),
    "embedding": (lambda: F.embedding(paddle.zeros([2], "int64"), low(w)), "32 32 32 32"),
    "relu": (lambda: F.relu(f32), "32 32 16 32"),
    "bmm": (lambda: paddle.bmm(f32.unsqueeze(0), w.unsqueeze(0)), "32 32 16 32"),
    "cast": (lambda: f32.astype("float64"), "64 64 64 64"),
    "float64": (lambda: paddle.matmul(f32.astype("float64"), w.astype("float64")), "64 64 64 64"),
    "integers": (lambda: paddle.ones([2], "int32") + 1, "int32 int32 int32 int32"),
}
MODES = [dict(level="O1"), dict(level="O2"), dict(level="O2", use_promote=False), dict(level="OD")]


@pytest.mark.parametrize("name", CASES)
def test_types(name):
    call, want = CASES[name]
    found = []
    for mode in MODES:
        with paddle.amp.auto_cast(**mode):
            found.append(call().dtype.name.removeprefix("float"))
    assert found == want.split()


def test_off_by_level_and_by_enable_and_restored_after_errors():
    with paddle.amp.auto_cast():
        with paddle.amp.auto_cast(enable=False):
            assert paddle.matmul(f32, w).dtype is paddle.float32
        with paddle.amp.auto_cast(level="O0"):
            assert not paddle.amp.is_autocast_enabled()
        assert paddle.amp.is_autocast_enabled() and paddle.amp.get_autocast_dtype() == "float16"
    with pytest.raises(ZeroDivisionError), paddle.amp.auto_cast():
        raise ZeroDivisionError
    assert paddle.matmul(f32, w).dtype is paddle.float32

    @paddle.amp.auto_cast(dtype="bfloat16")
    def product():
        return paddle.matmul(f32, w)

    assert product().dtype is product().dtype is paddle.bfloat16


@pytest.mark.parametrize("name", ["elementwise_add", "add"])
def test_custom_lists_take_official_and_own_names(name):
    with paddle.amp.auto_cast(custom_white_list=[name], custom_black_list={"matmul_v2"}):
        assert (f32 + f32).dtype is paddle.float16
        assert paddle.matmul(f32, w).dtype is paddle.float32
    with paddle.amp.auto_cast(custom_white_list={"softmax"}):
        assert F.softmax(f32).dtype is paddle.float16


@pytest.mark.parametrize(
    "kind, options",
    [
        (ValueError, dict(level="O9")),
        (ValueError, dict(dtype="int32")),
        (ValueError, dict(dtype="nonsense")),
        (ValueError, dict(custom_white_list={"a"}, custom_black_list={"a"})),
        (TypeError, dict(custom_white_list="add")),
    ],
)
def test_wrong_arguments(kind, options):
    with pytest.raises(kind, match="auto_cast"), paddle.amp.auto_cast(**options):
        pass


def test_every_listed_name_that_is_ours_is_an_operator():
    from paddle.engine.op import registry

    assert set(amp_lists._OFFICIAL) <= set(registry)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_have_the_type_of_their_tensors_and_are_right(dtype):
    net = nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3))
    x = paddle.to_tensor(np.random.RandomState(0).randn(4, 1, 5, 5).astype("float32"), stop_gradient=False)
    label = paddle.to_tensor([0, 1, 2, 0])
    F.cross_entropy(net(x), label).backward()
    want = [p.grad.numpy() for p in [x, *net.parameters()]]
    net.clear_gradients()
    x.clear_gradient(False)
    with paddle.amp.auto_cast(dtype=dtype):
        loss = F.cross_entropy(net(x), label)
    loss.backward()
    for p, g in zip([x, *net.parameters()], want):
        assert p.grad.dtype is paddle.float32
        np.testing.assert_allclose(p.grad.numpy(), g, atol=2e-2 * abs(g).max())


def test_steady_state_compiles_nothing():
    net = nn.Linear(4, 4)

    def step():
        with paddle.amp.auto_cast(dtype="bfloat16", custom_white_list={"tanh"}):
            loss = net(f32).tanh().sum()
        loss.backward()
        net.clear_gradients()

    step()
    step()
    with count_compiles() as count:
        step()
    assert count.compiles == 0


# ---- decorate ----


def test_types_after_decorate_and_what_is_excluded():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2), nn.LayerNorm(2), nn.Linear(2, 2))
    same = paddle.amp.decorate(net, level="O2", dtype="bfloat16", excluded_layers=[nn.LayerNorm, net[3]])
    assert same is net
    assert [p.dtype.name for p in net.parameters()] == ["bfloat16"] * 2 + ["float32"] * 8
    untouched = nn.Linear(2, 2)
    assert paddle.amp.decorate(untouched, level="O1").weight.dtype is paddle.float32


def test_master_weights_start_unrounded_and_collect_small_updates():
    p = nn.Linear(1, 1, bias_attr=False, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Constant(1.001)))
    sgd = paddle.optimizer.SGD(1e-4, parameters=p.parameters())
    p, sgd = paddle.amp.decorate(p, sgd, level="O2", dtype="bfloat16")
    assert float(p.weight) == 1.0
    for _ in range(100):
        p(paddle.ones([1, 1], "bfloat16")).sum().backward()
        sgd.step()
        sgd.clear_grad()
    master = float(sgd._master_weights[p.weight.name])
    assert abs(master - (1.001 - 100 * 1e-4)) < 5e-6
    assert p.weight.dtype is paddle.bfloat16 and abs(float(p.weight) - master) < 0.004


def test_without_master_weights_small_updates_are_lost():
    p = nn.Linear(1, 1, bias_attr=False, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Constant(1.0)))
    sgd = paddle.optimizer.SGD(1e-4, parameters=p.parameters())
    p, sgd = paddle.amp.decorate(p, sgd, level="O2", dtype="bfloat16", master_weight=False)
    p(paddle.ones([1, 1], "bfloat16")).sum().backward()
    sgd.step()
    assert float(p.weight) == 1.0 and not sgd._master_weights


def test_master_gradients_accumulate_in_float32():
    p = paddle.amp.decorate(nn.Linear(1, 1), level="O2", dtype="bfloat16", master_grad=True)
    for size in (1.0, 2.0**-12):
        p(paddle.full([1, 1], size, "bfloat16")).sum().backward()
    assert p.weight.grad.dtype is paddle.float32 and float(p.weight.grad) == 1 + 2.0**-12


def test_save_dtype_changes_what_is_saved_only(tmp_path):
    net = paddle.amp.decorate(nn.Linear(2, 2), level="O2", dtype="bfloat16", save_dtype="float32")
    state = net.state_dict()
    assert state["weight"].dtype is paddle.float32 and net.weight.dtype is paddle.bfloat16
    assert state["weight"].name == net.weight.name
    paddle.save(state, str(tmp_path / "m.pdparams"))
    with paddle.no_grad():
        net.weight.zero_()
    net.set_state_dict(paddle.load(str(tmp_path / "m.pdparams")))
    np.testing.assert_array_equal(net.weight.astype("float32").numpy(), state["weight"].numpy())


def test_decorate_wrong_arguments():
    net = nn.Linear(2, 2)
    for kind, call in [
        (TypeError, lambda: paddle.amp.decorate(3, level="O2")),
        (TypeError, lambda: paddle.amp.decorate(net, 5, level="O2")),
        (ValueError, lambda: paddle.amp.decorate(net, level="O9")),
        (ValueError, lambda: paddle.amp.decorate(net, level="O2", dtype="int8")),
        (ValueError, lambda: paddle.amp.decorate(net, level="O2", save_dtype="int32")),
        (TypeError, lambda: paddle.amp.decorate(net, level="O2", excluded_layers=[3])),
    ]:
        with pytest.raises(kind, match="decorate"):
            call()


def test_training_in_bfloat16_reaches_what_float32_reaches():
    rng = np.random.RandomState(0)
    x, y = rng.randn(128, 8).astype("float32"), rng.randint(0, 3, 128)
    x[np.arange(128), y] += 3

    def train(low):
        paddle.seed(1)
        net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1D(16), nn.ReLU(), nn.Linear(16, 3))
        adam = paddle.optimizer.AdamW(0.01, parameters=net.parameters())
        if low:
            net, adam = paddle.amp.decorate(net, adam, level="O2", dtype="bfloat16")
        for _ in range(30):
            with paddle.amp.auto_cast(enable=low, level="O2", dtype="bfloat16"):
                loss = F.cross_entropy(net(paddle.to_tensor(x)), paddle.to_tensor(y))
            loss.backward()
            adam.step()
            adam.clear_grad()
        return float(loss.astype("float32"))

    assert abs(train(True) - train(False)) < 0.03
