"""Joining and splitting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

T = paddle.to_tensor
rng = np.random.RandomState(0)
A, B = rng.randn(2, 3), rng.randn(2, 3)


@pytest.mark.parametrize("name", ["concat", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2)])
def test_joining_agrees_with_numpy(name, shape):
    a, b = rng.randn(*shape), rng.randn(*shape)
    numpy = {"concat": np.concatenate, "row_stack": np.vstack}.get(name, getattr(np, name, None))
    if name == "concat" and not shape:
        with pytest.raises(ValueError):
            paddle.concat([T(a), T(b)])
        return
    compare(getattr(paddle, name)([T(a), T(b)]), numpy([a, b]))


def test_axes_and_empty_pieces():
    compare(paddle.concat([T(A), T(B)], T(1)), np.concatenate([A, B], 1))
    compare(paddle.stack([T(A), T(B)], -1), np.stack([A, B], -1))
    assert paddle.concat([paddle.zeros([0, 3]), paddle.ones([2, 3])]).shape == [2, 3] and paddle.concat(
        tensors=[T(A)], dim=0
    ).shape == [2, 3]
    x = paddle.ones([2])
    y = paddle.concat([x])
    y[0] = 5.0
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: paddle.concat([]),
        lambda: paddle.stack([]),
        lambda: paddle.concat(T(A)),
        lambda: paddle.concat([T(A), T(A).astype("float32")]),
        lambda: paddle.stack([T(A), T(A).astype("int64")]),
        lambda: paddle.concat([T(A), T(A)], 2),
        lambda: paddle.stack([T(A), T(A)], 4),
        lambda: paddle.concat([paddle.ones([2, 3]), paddle.ones([3, 2])]),
        lambda: paddle.concat([paddle.ones([2, 3]), paddle.ones([3])]),
        lambda: paddle.stack([paddle.ones([2]), paddle.ones([3])]),
        lambda: paddle.add_n([]),
        lambda: paddle.add_n([paddle.ones([2]), paddle.ones([1])]),
        lambda: paddle.split(T(A), 2, 1),
        lambda: paddle.split(T(A), [1, 1], 1),
        lambda: paddle.split(T(A), [-1, -1]),
        lambda: paddle.split(T(A), [-2, 4]),
        lambda: paddle.split(T(A), 0),
        lambda: paddle.split(T(A), 1, 2),
        lambda: paddle.split(T(1.0), 1),
        lambda: paddle.split(T(A), [3, -1]),
        lambda: paddle.chunk(paddle.ones([7]), 3),
        lambda: paddle.chunk(T(A), 0),
        lambda: paddle.tensor_split(T(A), 0),
        lambda: paddle.hsplit(T(1.0), 1),
        lambda: paddle.vsplit(paddle.ones([4]), 2),
        lambda: paddle.dsplit(T(A), 2),
        lambda: paddle.unstack(T(A), 0, 3),
        lambda: T(A).split_with_sizes([-1, 3]),
        lambda: paddle.cartesian_prod([T(A)]),
        lambda: paddle.block_diag([T(A), T([1])]),
    ],
)
def test_errors(bad):
    with pytest.raises(ValueError):
        bad()


def test_split():
    x = paddle.arange(12).reshape([6, 2])
    assert [p.shape for p in paddle.split(x, [1, T(2), -1])] == [[1, 2], [2, 2], [3, 2]] and [
        p.shape for p in x.split([0, 6])
    ] == [[0, 2], [6, 2]]
    assert [p.shape for p in paddle.chunk(paddle.zeros([0]), 2)] == [[0], [0]] and paddle.unstack(
        paddle.zeros([0, 2])
    ) == []
    assert [t.tolist() for t in paddle.unbind(x, 1)] == [t.tolist() for t in paddle.unstack(x, 1)]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 6), st.one_of(st.integers(1, 4), st.lists(st.integers(-7, 8), min_size=1, max_size=3)))
def test_tensor_split_agrees_with_numpy(n, how):
    got, want = paddle.tensor_split(paddle.arange(n), how), np.array_split(np.arange(n), how)
    assert [g.tolist() for g in got] == [w.tolist() for w in want]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: paddle.concat([x, y, x], 1),
        lambda x, y: paddle.stack([x, y], 1),
        lambda x, y: paddle.split(x * y, [1, -1], 1)[1],
        lambda x, y: paddle.add_n([x, y, x]),
        lambda x, y: paddle.block_diag([x, y]),
        lambda x, y: paddle.unstack(x * y, 1)[2],
    ],
)
def test_gradients(f):
    check_grad(lambda x, y: f(x, y) ** 2, A, B, order=2)


def test_unused_pieces_get_zero_gradients():
    x = T([1.0, 2, 3, 4], stop_gradient=False)
    first, _ = paddle.split(x, 2)
    (first * 3).sum().backward()
    compare(x.grad, [3, 3, 0, 0])


def test_products_of_vectors():
    compare(paddle.cartesian_prod([T([1, 2]), T([3, 4])]), [[1, 3], [1, 4], [2, 3], [2, 4]])
    compare(paddle.block_diag([T(A), T(3.0, dtype="float64"), T(A[0])])[3], [0, 0, 0, 0, *A[0]])
