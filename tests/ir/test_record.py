"""Recording: shapes, unknown lengths, gradients, captured tensors, in-place changes, random numbers."""

import numpy as np
import pytest
from ir._build import build, run, values_of

import paddle
import paddle.nn.functional as F
from paddle.engine.value import Dim
from paddle.ir.record import is_abstract
from paddle.ir.text import graph_text

A = np.arange(12, dtype=np.float32).reshape(3, 4) / 7


def test_unknown_lengths_follow_through_operators():
    graph, out = build(lambda x: [x @ x.t(), x.sum(1), x.reshape([-1]), paddle.concat([x, x])], x=((-1, 4), np.float32))
    assert [t.shape for t in out] == [[-1, -1], [-1], [-1], [-1, 4]]
    found, _ = run(graph, out, x=A)
    np.testing.assert_allclose(found[0], A @ A.T, rtol=1e-6)
    assert [f.shape for f in found] == [(3, 3), (3,), (12,), (6, 4)]


def test_lengths_as_numbers():
    def function(x):
        n, m = x.shape
        return [x.reshape([n * m]), paddle.zeros([n + 1, 2]), x * n, x[: n - 1], paddle.full([paddle.shape(x)[0]], 2.0)]

    graph, out = build(function, x=((-1, 4), np.float32))
    for rows in (3, 5):
        x = np.ones((rows, 4), np.float32)
        found, _ = run(graph, out, x=x)
        assert [f.shape for f in found] == [(rows * 4,), (rows + 1, 2), (rows, 4), (rows - 1, 4), (rows,)]
        assert found[2][0, 0] == rows


def test_dim_is_minus_one_and_remembers():
    seen = []
    build(lambda x: seen.append(x.shape[0]) or x + 1, x=((-1,), np.float32))
    d = seen[0]
    assert d == -1 and isinstance(d, Dim) and isinstance(d * 2 + 1, Dim) and (d * 2 + 1).trials == (129, 193)
    for function in (lambda: d / 2, lambda: d * 0.5, lambda: d**2, lambda: float(d)):
        with pytest.raises(RuntimeError, match="not known while the program is built"):
            function()


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1:],
        np.s_[:, 1],
        np.s_[-1],
        np.s_[..., None],
        np.s_[::2, ::-1],
        np.s_[:, [0, 2]],
        np.s_[0, :, None],
    ],
)
def test_index(index):
    graph, out = build(lambda x: x[index], x=((-1, 4), np.float32))
    np.testing.assert_array_equal(run(graph, out, x=A)[0][0], A[index])


def test_setitem():
    def function(x):
        y = x * 1
        y[1:, 0] = 5.0
        y[paddle.to_tensor([0, 2])] = paddle.zeros([4])
        return y

    graph, out = build(function, x=((-1, 4), np.float32))
    want = A.copy()
    want[1:, 0] = 5
    want[[0, 2]] = 0
    np.testing.assert_array_equal(run(graph, out, x=A)[0][0], want)


def test_gradients_of_second_order():
    w = paddle.to_tensor([[0.5], [1.0], [-1.0], [2.0]], stop_gradient=False)

    def function(x):
        x.stop_gradient = False
        y = paddle.tanh(x @ w).sum()
        (g,) = paddle.grad([y], [x], create_graph=True)
        (h,) = paddle.grad([(g * g).sum()], [x])
        return y, g, h

    graph, out = build(function, x=((-1, 4), np.float32))
    found, _ = run(graph, out, x=A)
    x = paddle.to_tensor(A, stop_gradient=False)
    for got, want in zip(found, function(x)):
        np.testing.assert_allclose(got, want.numpy(), rtol=2e-5, atol=1e-6)


def test_captured_tensors_are_read_in_every_run():
    w = paddle.to_tensor([2.0])
    graph, out = build(lambda x: x * w, x=((1,), np.float32))
    assert run(graph, out, x=[3.0])[0][0] == 6
    w.set_value(np.array([10.0], np.float32))
    assert run(graph, out, x=[3.0])[0][0] == 30


def test_in_place_changes_become_updates():
    count = paddle.to_tensor([1.0])

    def function(x):
        count.add_(x)
        count.multiply_(paddle.to_tensor(2.0))
        return count + 0

    graph, out = build(function, x=((1,), np.float32))
    assert count.tolist() == [1.0]  # nothing has run
    found, new = run(graph, out, x=[3.0])
    assert found[0] == 8 and list(new.values()) == [np.array([8.0], np.float32)]


def test_running_statistics():
    layer = paddle.nn.BatchNorm1D(4)
    graph, out = build(layer, x=((-1, 4), np.float32))
    _, new = run(graph, out, x=A)
    layer(paddle.to_tensor(A))
    np.testing.assert_allclose(new[layer._mean.name], layer._mean.numpy(), rtol=1e-6)


def test_gradients_are_put_back():
    w = paddle.to_tensor([2.0], stop_gradient=False)

    def function(x):
        (x * w).sum().backward()
        assert is_abstract(w.grad)
        return w.grad * 1

    graph, out = build(function, x=((1,), np.float32))
    assert w.grad is None
    assert run(graph, out, x=[3.0])[0][0] == 3


def test_random_numbers_differ_between_operators_and_repeat_with_the_key():
    graph, out = build(lambda x: [F.dropout(x, 0.5), F.dropout(x, 0.5)], x=((-1,), np.float32))
    assert graph.ticks == 2
    a, b = run(graph, out, x=np.ones(64, np.float32))[0]
    assert not np.array_equal(a, b)
    np.testing.assert_array_equal(run(graph, out, x=np.ones(64, np.float32))[0][0], a)


def test_values_cannot_be_read():
    def function(x):
        with pytest.raises(RuntimeError, match="no value here"):
            x.numpy()
        with pytest.raises(RuntimeError, match="no value here"):
            bool(x.sum() > 0)
        return x

    build(function, x=((2,), np.float32))


def test_errors_name_the_operator_and_the_lines():
    with pytest.raises(ValueError, match="matmul"):
        build(lambda x: x @ paddle.ones([3, 2]), x=((-1, 4), np.float32))
    graph, out = build(lambda x: x[5], x=((-1, 4), np.float32))
    with pytest.raises(IndexError, match="5 is out of range") as caught:
        run(graph, out, x=A)
    assert "test_record.py" in caught.value.__notes__[0]


def test_text():
    graph, out = build(lambda x: F.relu(x) + 1, x=((-1, 4), np.float32))
    text = graph_text(graph)
    assert "%relu_0.tmp_0: float32[?, 4] = relu(x=%x)" in text and "add(x=%relu_0.tmp_0, y=1)" in text
    assert values_of(out)[0].name == "add_0.tmp_0"
