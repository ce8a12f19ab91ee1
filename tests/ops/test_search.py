"""Positions, sorting, selection, binary search, distinct values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

nan, inf = float("nan"), float("inf")
X = np.random.RandomState(0).randn(3, 4)
t = paddle.to_tensor


def test_arg_extrema():
    x = t([[1.0, 5.0, 5.0], [2.0, 0.0, 0.0]])
    assert paddle.argmax(x, axis=1).tolist() == [1, 0] and paddle.argmin(x, axis=1).tolist() == [0, 1]
    assert paddle.argmax(x).item() == 1 and paddle.argmax(x, keepdim=True).shape == [1, 1]
    assert paddle.argmax(x, axis=0, dtype="int32").dtype is paddle.int32
    assert paddle.argmax(t(1.0), axis=0, keepdim=True).shape == [1]
    assert paddle.argmax(t([1.0, nan, 2.0])).item() == 1
    assert paddle.argmax(paddle.zeros([0, 3]), axis=1).shape == [0]
    for call in (
        lambda: paddle.argmax(x, axis=5),
        lambda: paddle.argmax(x, dtype="float32"),
        lambda: paddle.argmax(paddle.zeros([0])),
        lambda: paddle.argmin(paddle.zeros([0, 3]), axis=0),
        lambda: paddle.argmax(t(1.0), axis=1),
    ):
        with pytest.raises(ValueError, match="arg"):
            call()


def test_order_with_nan():
    x = t([1.0, nan, 3.0, 2.0])
    compare(paddle.sort(x), [1, 2, 3, nan])
    compare(paddle.sort(x, descending=True), [nan, 3, 2, 1])
    assert paddle.argsort(x).tolist() == [0, 3, 2, 1]
    assert paddle.argsort(x, descending=True).tolist() == [1, 2, 3, 0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=8, max_size=8), st.booleans())
def test_argsort_is_stable(values, descending):
    want = sorted(range(8), key=lambda i: -values[i] if descending else values[i])
    assert paddle.argsort(t(values), descending=descending).tolist() == want
    assert paddle.sort(t(values), descending=descending).tolist() == [values[i] for i in want]


def test_sort_edges():
    assert paddle.sort(t(1.5)).shape == [] and paddle.argsort(t(1.5)).item() == 0
    assert paddle.sort(paddle.zeros([0, 3])).shape == [0, 3]
    compare(paddle.msort(t([[3, 1], [2, 4]])), [[2, 1], [3, 4]])
    for f in (paddle.sort, paddle.argsort):
        with pytest.raises(ValueError):
            f(paddle.ones([2, 3]), axis=5)
        with pytest.raises(TypeError):
            f(paddle.ones([2, 3]), axis=1.5)
    x = t([2.0, 1.0, 2.0, 1.0], stop_gradient=False)
    (paddle.sort(x, descending=True) * t([1.0, 2.0, 3.0, 4.0])).sum().backward()
    compare(x.grad, [1, 3, 2, 4])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32", "float64"])
def test_topk_both_ways(dtype):
    x = np.array([[5, 1, 9, 1], [0, 7, 2, 7]]).astype(dtype)
    for largest in (True, False):
        values, index = paddle.topk(t(x), 3, largest=largest)
        order = np.argsort(-x.astype("float64") if largest else x.astype("float64"), axis=1, kind="stable")[:, :3]
        assert index.tolist() == order.tolist() and values.tolist() == np.take_along_axis(x, order, 1).tolist()


def test_topk_edges():
    compare(paddle.topk(t([1.0, nan, 3.0]), 2).values, [nan, 3])
    compare(paddle.topk(t([1.0, nan, inf, -inf]), 4, largest=False)[0], [-inf, 1, inf, nan])
    assert paddle.topk(t([1, 5, 3]), t(2)).indices.tolist() == [1, 2]
    assert paddle.topk(t(1.0), 1)[0].shape == []
    assert paddle.topk(paddle.zeros([0, 3]), 1)[0].shape == [0, 1]
    x = paddle.ones([2, 3])
    for k, axis in ((4, -1), (0, -1), (-1, -1), (1, 3)):
        with pytest.raises(ValueError, match="topk"):
            paddle.topk(x, k, axis=axis)


def test_kthvalue():
    value, index = paddle.kthvalue(t([[1.0, 5.0, 4.0], [2.0, 0.0, 1.0]]), 2)
    compare(value, [4.0, 1.0])
    assert index.tolist() == [2, 2]
    assert paddle.kthvalue(t([1.0, nan, 3.0]), 2)[1].item() == 2
    assert paddle.kthvalue(paddle.ones([2, 3]), 1, axis=0, keepdim=True)[0].shape == [1, 3]
    for k in (0, 4):
        with pytest.raises(ValueError, match="kthvalue"):
            paddle.kthvalue(paddle.ones([2, 3]), k)


def test_mode():
    value, index = paddle.mode(t([[1.0, 2.0, 2.0, 3.0, 3.0], [5.0, 4.0, 4.0, 4.0, 5.0]]))
    compare(value, [2.0, 4.0])
    assert index.tolist() == [2, 3]  # the last of the equal ones
    assert [v.item() for v in paddle.mode(t([3, 3, 1, 1, 2]))] == [1, 3]
    with pytest.raises(ValueError, match="mode"):
        paddle.mode(paddle.zeros([2, 0]))


def test_searchsorted():
    s = t([1.0, 3.0, 5.0, 9.0])
    assert paddle.searchsorted(s, t([0.0, 3.0, 10.0])).tolist() == [0, 1, 4]
    assert (
        paddle.searchsorted(s, t([3.0]), right=True).tolist()
        == [2]
        == paddle.searchsorted(s, t([3.0]), side="right").tolist()
    )
    assert paddle.searchsorted(s, t(3.0), out_int32=True).dtype is paddle.int32
    assert paddle.searchsorted(t([[1.0, 3.0], [2.0, 4.0]]), t([[2.0], [3.0]])).tolist() == [[1], [1]]
    assert paddle.searchsorted(t([5.0, 1.0, 3.0]), t([3.0, 6.0]), sorter=t([1, 2, 0])).tolist() == [1, 3]
    assert paddle.searchsorted(s, t([nan])).tolist() == [4] and paddle.searchsorted(
        paddle.zeros([0]), t([1.0])
    ).tolist() == [0]
    assert paddle.bucketize(t([[0, 3], [9, 10]]), s).tolist() == [[0, 1], [3, 4]]
    with pytest.raises(ValueError):
        paddle.searchsorted(paddle.ones([2, 3]), paddle.ones([3, 3]))
    with pytest.raises(ValueError):
        paddle.bucketize(s, paddle.ones([2, 2]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=8))
def test_unique_as_numpy(values):
    array = np.array(values, "int64")
    got = paddle.unique(t(array), True, True, True)
    for a, b in zip(got, np.unique(array, True, True, True)):
        assert a.tolist() == b.tolist()
    runs, inverse, counts = paddle.unique_consecutive(t(array), True, True)
    assert np.repeat(runs.numpy(), counts.numpy()).tolist() == values == runs.numpy()[inverse.numpy()].tolist()


def test_unique_axes_and_types():
    x = t([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])
    rows, first, inverse, counts = paddle.unique(x, True, True, True, axis=0, dtype="int32")
    compare(rows, [[0, 2], [1, 2]])
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 0],
        [1, 0, 1],
        [1, 2],
    ) and first.dtype is paddle.int32
    assert paddle.unique(t([nan, 1.0, nan])).shape == [3]
    assert paddle.unique(t(2.0)).shape == [1] and paddle.unique(paddle.zeros([0, 2]), axis=0).shape == [0, 2]
    compare(paddle.unique_consecutive(t([[1, 1], [1, 1], [2, 1]]), axis=0), [[1, 1], [2, 1]])
    with pytest.raises(ValueError):
        paddle.unique(x, axis=9)
    with pytest.raises(ValueError):
        paddle.unique(x, True, dtype="float32")


@pytest.mark.parametrize(
    "f",
    [
        lambda a: paddle.sort(a * a, axis=0, descending=True),
        lambda a: paddle.topk(a * a, 2, axis=0)[0],
        lambda a: paddle.topk(a * a, 2, largest=False)[0],
        lambda a: paddle.kthvalue(a * a, 2)[0],
        lambda a: paddle.mode(a * a)[0],
    ],
)
def test_gradients(f):
    check_grad(f, X, order=2)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_order_of_every_type(dtype):
    """The integers that are sorted in place of the elements have their order: signs, both zeros, infinities, NaN."""
    r = np.random.RandomState(3)
    if dtype.startswith("float"):
        x = r.choice([-inf, -2.5, -0.0, 0.0, 1e-3, 3.0, inf, nan, -nan], (4, 90)).astype(dtype)
    elif dtype == "bool":
        x = r.rand(4, 90) > 0.5
    else:
        ends = np.iinfo(dtype)
        x = r.choice([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], (4, 90)).astype(dtype)
    for axis in (0, -1):
        up = np.argsort(x, axis, kind="stable")
        n = x.shape[axis]
        down = np.flip(n - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        for descending, want in ((False, up), (True, down)):
            assert np.array_equal(paddle.argsort(t(x), axis, descending).numpy(), want)
            ordered = paddle.sort(t(x), axis, descending).numpy()
            assert ordered.dtype == x.dtype
            np.testing.assert_array_equal(ordered, np.take_along_axis(x, want, axis))
            for k in (2, n):
                index = paddle.topk(t(x), k, axis, descending)[1].numpy()
                assert np.array_equal(index, np.take(want, range(k), axis))


def test_topk_of_long_integers():
    """Whether they fit into 32 bits or not, equal upper halves or not."""
    x = np.array([[5, 1 << 40, (1 << 40) + 1, -(1 << 62), 1 << 40, 0, -1, 7] * 20, list(range(160))])
    want = np.argsort(-x, 1, kind="stable")[:, :6]
    for rows in (x, x[1:]):
        assert np.array_equal(paddle.topk(t(rows), 6)[1].numpy(), want[-len(rows) :])


def test_gradient_of_sort_to_second_order():
    check_grad(lambda x: (paddle.sort(x, 0, descending=True) ** 3).sum(), X, order=2)
