"""jit.save and jit.load."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle import nn

S = paddle.static.InputSpec
ROWS = np.random.RandomState(0).randn(4, 3).astype("float32")


def T(a, dtype="float32"):
    return paddle.to_tensor(np.asarray(a, dtype))


def close(a, b):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1D(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x, other=None):
        h = self.drop(self.norm(self.linear(x)))
        if h.sum() > 1e6:
            h = h * 0
        steps = []
        for i in range(2):
            steps.append(h.reshape([x.shape[0], -1]) * i)
        i = paddle.zeros([], "int64")
        while i < 3:
            h = h + 1.0
            i = i + 1
        return steps, {"h": h, "empty": paddle.zeros([x.shape[0], 2])}


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "folder" / "model")


def test_a_layer_comes_back(path):
    m = Net()
    m.eval()
    paddle.jit.save(m, path, [S([None, 3], "float32", "rows")])
    assert sorted(os.listdir(os.path.dirname(path))) == ["model.pdiparams", "model.pdmodel"]
    again = paddle.jit.load(path)
    assert isinstance(again, paddle.jit.TranslatedLayer) and isinstance(again, nn.Layer) and not again.training
    assert [(s.name, s.shape) for s in again._input_spec()] == [("rows", (-1, 3))]
    assert "linear(x=%rows" in str(again.program())
    for n in (4, 1):
        steps, named = m(T(ROWS[:n]))
        got = again(T(ROWS[:n]))
        assert len(got) == 4
        for g, w in zip(got, [*steps, named["h"], named["empty"]]):
            close(g, w)
    assert list(again.state_dict()) == [f"param_{i}" for i in range(6)]  # as officially, statistics included


def test_training_goes_on(path):
    m = Net()
    paddle.jit.save(m, path, [S([None, 3])])
    again = paddle.jit.load(path)
    m.eval()
    close(again(T(ROWS))[1], m(T(ROWS))[0][1])  # inference, although saved in training
    again.train()
    a, b = again(T(ROWS))[1], again(T(ROWS))[1]
    assert not np.allclose(a.numpy(), b.numpy())  # dropout
    before = [p.numpy() for p in again.parameters()]
    optimizer = paddle.optimizer.SGD(0.1, parameters=again.parameters())
    (again(T(ROWS))[2] ** 2).sum().backward()
    optimizer.step()
    assert all(not np.array_equal(p.numpy(), q) for p, q in zip(again.parameters(), before))
    again.eval()
    assert not np.allclose(again(T(ROWS))[1].numpy(), m(T(ROWS))[0][1].numpy())  # running statistics moved


def test_functions_and_further_methods(path):
    @paddle.jit.to_static(input_spec=[S([None, 2])], full_graph=True)
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    paddle.jit.save(f, path)
    again = paddle.jit.load(path)
    assert again(paddle.ones([1, 2])).tolist() == [[2, 2]] and again(-paddle.ones([2, 2])).tolist() == [[-2, -2]] * 2

    class Methods(nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([2])

        @paddle.jit.to_static(input_spec=[S([None, 2])])
        def forward(self, x):
            return x * self.w

        @paddle.jit.to_static(input_spec=[S([None, 2])])
        def scaled(self, x):
            return x * self.w * 7

    m = Methods()
    paddle.jit.save(m, path + "s")
    again = paddle.jit.load(path + "s")
    close(again.scaled(paddle.ones([3, 2])), m.scaled(paddle.ones([3, 2])))
    assert len(again.parameters()) == 1  # both methods share it
    with paddle.no_grad():
        again.parameters()[0].set_value(paddle.zeros([2]))
    assert not again.scaled(paddle.ones([1, 2])).numpy().any()


def test_the_program_of_the_last_call_is_saved(path):
    m = paddle.jit.to_static(nn.Linear(3, 2))
    want = m(T(ROWS))
    paddle.jit.save(m, path)
    close(paddle.jit.load(path)(T(ROWS)), want)


def test_random_operators_data_dependent_shapes_and_prints_are_kept(path, capfd):
    def f(x):
        print("positive", x.sum())
        return paddle.masked_select(x, x > 0), paddle.nn.functional.dropout(x, 0.5)

    paddle.jit.save(f, path, [S([None])])
    again = paddle.jit.load(path)
    again.train()
    chosen, dropped = again(T([1.0, -1.0] * 50))
    assert chosen.tolist() == [1.0] * 50 and (dropped.numpy() == 0).any() and (dropped.numpy() == 2).any()
    assert "positive" in capfd.readouterr().out


def test_a_loaded_model_can_be_part_of_a_program(path):
    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    paddle.jit.save(m, path, [S([None, 3])])
    loaded = paddle.jit.load(path)
    outer = nn.Sequential(loaded, nn.Linear(4, 1))
    close(paddle.jit.to_static(outer, full_graph=True)(T(ROWS)), outer[1](m(T(ROWS))))


@pytest.mark.parametrize(
    "args, kind",
    [
        ((T(ROWS[:, :2]),), ValueError),
        ((T(ROWS, "float64"),), ValueError),
        ((), ValueError),
        ((T(ROWS), T(ROWS)), ValueError),
    ],
    ids=["shape", "type", "none", "two"],
)
def test_inputs_that_do_not_fit(path, args, kind):
    paddle.jit.save(nn.Linear(3, 1), path, [S([None, 3])])
    with pytest.raises(kind, match="input"):
        paddle.jit.load(path)(*args)


def test_wrong_arguments(path):
    layer = nn.Linear(2, 2)
    with pytest.raises(TypeError):
        paddle.jit.save(3, path)
    with pytest.raises(ValueError, match="input_spec"):
        paddle.jit.save(layer, path)
    with pytest.raises(ValueError, match="prefix"):
        paddle.jit.save(layer, os.path.dirname(path) + "/", [S([None, 2])])
    with pytest.raises(ValueError, match="no model"):
        paddle.jit.load(path)


def test_what_python_computes_cannot_be_saved(path):
    def f(x):
        return paddle.static.py_func(lambda t: t, x, x) if hasattr(paddle.static, "py_func") else x.numpy()

    with pytest.raises((NotImplementedError, RuntimeError)):
        paddle.jit.save(f, path, [S([2])])
    assert not os.path.exists(path + ".pdmodel")


def test_damaged_files(path):
    paddle.jit.save(Net(), path, [S([None, 3])])
    model, params = path + ".pdmodel", path + ".pdiparams"
    text, data = Path(model).read_bytes(), Path(params).read_bytes()
    for broken in (text[:-10], text[: len(text) // 2], text.replace(b'"version":1', b'"version":9'), b""):
        Path(model).write_bytes(broken)
        with pytest.raises(ValueError):
            paddle.jit.load(path)
    Path(model).write_bytes(text)
    for broken in (data[:-1], data + b"x", b""):
        Path(params).write_bytes(broken)
        with pytest.raises(ValueError):
            paddle.jit.load(path)
    Path(params).write_bytes(data)
    assert json.loads(text)["magic"] and paddle.jit.load(path) is not None
