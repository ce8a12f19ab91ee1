"""Gather, scatter, indices along an axis, masks and selection."""

import numpy as np
import pytest

import paddle

from _check import check_grad, compare

rng = np.random.RandomState(0)
T = paddle.to_tensor


def rows(*shape, dtype="float32"):
    return paddle.arange(int(np.prod(shape))).reshape(list(shape)).astype(dtype)


def test_gather():
    x = rows(3, 4)
    compare(paddle.gather(x, T([-1, 0])), x.numpy()[[-1, 0]])
    assert paddle.gather(x, T([[1], [2]])).shape == [2, 4] and paddle.gather(x, T(1), axis=1).shape == [3]
    assert paddle.gather(x, T([], dtype="int64")).shape == [0, 4] and paddle.index_select(x, T([0, 0]), -1).shape == [
        3,
        2,
    ]
    assert paddle.gather_nd(x, T([[-1, -1]])).item() == 11 and paddle.gather_nd(
        x, paddle.zeros([2, 0], "int64")
    ).shape == [2, 3, 4]
    assert paddle.take(x, T([13, -14]), mode="wrap").tolist() == [1, 10] and paddle.take(
        x, T([13, -14]), mode="clip"
    ).tolist() == [11, 0]
    assert paddle.index_sample(T([[1, 2, 3], [4, 5, 6]]), T([[2, 0], [1, 1]])).tolist() == [[3, 1], [5, 5]]


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda x: paddle.gather(x, T([3])), IndexError),
        (lambda x: paddle.gather(x, T([-4])), IndexError),
        (lambda x: paddle.gather(paddle.zeros([0, 3]), T([0])), IndexError),
        (lambda x: paddle.index_select(x, T([9])), IndexError),
        (lambda x: paddle.gather_nd(x, T([[0, 4]])), IndexError),
        (lambda x: paddle.take(x, T([12])), IndexError),
        (lambda x: paddle.take_along_axis(x, T([[4]]), 1), IndexError),
        (lambda x: paddle.put_along_axis(x, T([[0xDEADBEEF]]), 1.0, 1), IndexError),
        (lambda x: paddle.scatter(x, T([3]), paddle.ones([1, 4])), IndexError),
        (lambda x: paddle.index_add(x, T([3]), 0, paddle.ones([1, 4])), IndexError),
        (lambda x: paddle.index_fill(x, T([3]), 0, 1.0), IndexError),
        (lambda x: paddle.index_put(x, (T([3]),), paddle.ones([1])), IndexError),
        (lambda x: paddle.scatter_nd_add(x, T([[3]]), paddle.ones([1, 4])), IndexError),
        (lambda x: paddle.select_scatter(x, paddle.ones([4]), 0, 3), IndexError),
        (lambda x: paddle.gather(x, T([0.5])), TypeError),
        (lambda x: paddle.gather(x, T([0]), axis=2), ValueError),
        (lambda x: paddle.gather(x, T([[1, 2]])), ValueError),
        (lambda x: paddle.gather_nd(x, T([[0, 0, 0]])), ValueError),
        (lambda x: paddle.take(x, T([0]), mode="bad"), ValueError),
        (lambda x: paddle.take_along_axis(x, T([0]), 0), ValueError),
        (lambda x: paddle.put_along_axis(x, T([[0, 0]]), 1.0, 0, reduce="bad"), ValueError),
        (lambda x: paddle.put_along_axis(T([[-22.0]]), T([[-1], [-1]]), T([[19.0], [19.0]]), 1), ValueError),
        (lambda x: paddle.put_along_axis(x, T([[0]]), T([[1]]), 1), ValueError),
        (lambda x: paddle.scatter(x, T([1, 2]), paddle.ones([1, 4])), ValueError),
        (lambda x: paddle.scatter(x, T([1]), paddle.ones([1, 1])), ValueError),
        (lambda x: paddle.index_add(x, T([0]), 3, paddle.ones([1, 4])), ValueError),
        (lambda x: paddle.index_put(x, (), T([1.0])), ValueError),
        (lambda x: paddle.masked_select(x, paddle.ones([4, 3], dtype="bool")), ValueError),
        (lambda x: paddle.masked_select(x, x), ValueError),
        (lambda x: paddle.masked_scatter(x, x >= 0, T([1.0])), ValueError),
        (lambda x: paddle.masked_fill(x, x > 0, T([1.0, 2.0])), ValueError),
        (lambda x: paddle.where(x > 0, x), ValueError),
        (lambda x: paddle.where(x, x, x), ValueError),
        (lambda x: paddle.nonzero(T(1.0)), ValueError),
        (lambda x: paddle.select_scatter(x, paddle.ones([2]), 0, 1), ValueError),
        (lambda x: paddle.slice_scatter(x, paddle.ones([3, 4]), [0], [0], [4], [2]), ValueError),
        (lambda x: paddle.multiplex([x], T([[0], [1], [0]], dtype="int32")), ValueError),
        (lambda x: paddle.multiplex([x, x], T([[0], [2], [0]], dtype="int32")), IndexError),
        (lambda x: paddle.shard_index(T([[25]]), 20, 2, 0), ValueError),
        (lambda x: paddle.shard_index(T([[16]]), 20, 2, 2), ValueError),
    ],
)
def test_errors(call, kind):
    x = rows(3, 4)
    with pytest.raises(kind):
        call(x)
    compare(x, rows(3, 4).numpy())


def test_scatter():
    zero = paddle.zeros([3, 2])
    compare(paddle.scatter(zero, T([2, 2]), T([[1.0, 1], [2, 2]])), [[0, 0], [0, 0], [2, 2]])
    compare(
        paddle.scatter(paddle.full([3, 2], 100.0), T([1, 1]), paddle.ones([2, 2]), overwrite=False),
        [[100] * 2, [2] * 2, [100] * 2],
    )
    compare(paddle.scatter(zero, T(1), paddle.ones([2])), [[0, 0], [1, 1], [0, 0]])
    compare(paddle.scatter_nd(T([[1], [1]]), T([1.0, 2]), [3]), [0, 3, 0])
    compare(paddle.scatter_nd_add(paddle.zeros([3]), paddle.zeros([2, 0], "int64"), paddle.ones([2, 3])), [2, 2, 2])
    compare(paddle.index_add(paddle.zeros([3]), T([-1]), 0, paddle.ones([1]), alpha=2), [0, 0, 2])
    compare(paddle.index_put(paddle.zeros([3]), (T([1, 1]),), T([5.0, 6.0]), True), [0, 11, 0])
    compare(paddle.index_put(paddle.zeros([2, 3]), (T([True, False]), T([1])), T(5.0)), [[0, 5, 0], [0, 0, 0]])
    assert paddle.index_fill(paddle.zeros([3], "int64"), T([1]), 0, 2.7).tolist() == [0, 2, 0]
    x = paddle.zeros([2, 3])
    assert x.scatter_(1, T([[1], [2]]), T([[1.0], [2]])) is x and x.tolist() == [[0, 1, 0], [0, 0, 2]]
    x.scatter_(T([1]), paddle.ones([1, 3]))
    x.scatter_(1, T([[0], [0]]), value=3.0)
    compare(x, [[3, 1, 0], [3, 1, 1]])
    compare(paddle.scatter_add(paddle.zeros([2, 3]), 1, T([[1, 1]]), T([[1.0, 2], [3, 4]])), [[0, 3, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    "reduce, include_self, want",
    [  # recorded from the official package
        ("add", True, [[1, 4, 1], [4, 1, 5]]),
        ("add", False, [[1, 3, 1], [3, 1, 4]]),
        ("mean", True, [[1, 4 / 3, 1], [2, 1, 2.5]]),
        ("mean", False, [[1, 1.5, 1], [3, 1, 4]]),
        ("mul", False, [[1, 2, 1], [3, 1, 4]]),
        ("amax", True, [[1, 2, 1], [3, 1, 4]]),
        ("amin", False, [[1, 1, 1], [3, 1, 4]]),
        ("assign", True, [[1, 2, 1], [3, 1, 4]]),
    ],
)
def test_put_along_axis(reduce, include_self, want):
    got = paddle.put_along_axis(
        paddle.ones([2, 3]), T([[1, 1], [0, 2]]), T([[1.0, 2], [3, 4]]), 1, reduce, include_self
    )
    compare(got, want)


def test_along_axis_broadcasting():
    x = rows(3, 4)
    compare(paddle.take_along_axis(x, T([[1]]), 1), [[1], [5], [9]])
    compare(paddle.take_along_axis(x, T([[1, 2]]), 1, broadcast=False), [[1, 2]])
    assert paddle.take_along_axis(x, paddle.zeros([3, 0], "int64"), 1).shape == [3, 0]
    compare(paddle.put_along_axis(paddle.zeros([2, 3]), T([[1]]), 5.0, 1), [[0, 5, 0], [0, 5, 0]])
    compare(
        paddle.put_along_axis(paddle.zeros([2, 3]), T([[1]]), T([[5.0, 6], [7, 8]]), 1, broadcast=False),
        [[0, 5, 0], [0, 0, 0]],
    )


I2 = T([[1, 1], [0, 2]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, v: paddle.put_along_axis(x, I2, v, 1, "add"),
        lambda x, v: paddle.put_along_axis(x, I2, v, 1, "mean", include_self=False),
        lambda x, v: paddle.put_along_axis(x, I2, v, 1, "mul"),
        lambda x, v: paddle.put_along_axis(x, I2, v, 1, "mul", include_self=False),
        lambda x, v: paddle.put_along_axis(x, I2, v, 1, "amax"),
        lambda x, v: paddle.put_along_axis(x, I2, v, 1, "amin", include_self=False),
        lambda x, v: paddle.put_along_axis(x, T([[1, 0], [0, 2]]), v, 1),
        lambda x, v: paddle.index_add(x, T([0, 0]), 1, v, alpha=0.5),
        lambda x, v: paddle.index_put(x, (T([0, 1]), T([2, 0])), v[0], accumulate=True),
        lambda x, v: paddle.masked_scatter(x, x > 0, v.tile([3])),
        lambda x, v: paddle.where(x > 0, x * x, v[:, :1]),
        lambda x, v: paddle.scatter(x.t(), T([2, 0]), v),
        lambda x, v: paddle.scatter_nd_add(x, T([[1], [1]]), paddle.concat([v, v[:, :1]], 1)),
        lambda x, v: paddle.masked_fill(x, x > 0, v.sum()),
        lambda x, v: paddle.select_scatter(x, v[0], 1, 1),
        lambda x, v: paddle.diagonal_scatter(x, v[0]),
        lambda x, v: paddle.multiplex([x, x * v[:, :1]], T([[1], [0]], dtype="int32")),
    ],
)
def test_gradients(f):
    check_grad(lambda x, v: f(x, v) ** 2, rng.randn(2, 3), rng.randn(2, 2), order=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: paddle.gather(x, T([2, 0, 2])),
        lambda x: paddle.gather_nd(x, T([[0, 1], [0, 1]])),
        lambda x: paddle.take(x, T([5, 5, -1])),
        lambda x: paddle.take_along_axis(x, T([[1, 1, 0]]), 1),
        lambda x: paddle.masked_select(x, x > 0),
        lambda x: paddle.index_fill(x, T([1]), 0, 2.0),
    ],
)
def test_reading_gradients(f):
    check_grad(lambda x: f(x) ** 2, rng.randn(3, 4), order=2)


def test_products_of_zeros_have_gradients():
    x, v = T([[0.0, 2.0, 0.0]], stop_gradient=False), T([[3.0, 0.0, 5.0]], stop_gradient=False)
    paddle.put_along_axis(x, T([[0, 1, 1]]), v, 1, "mul").sum().backward()
    compare(x.grad, [[3, 0, 1]])
    compare(v.grad, [[0, 10, 0]])


def test_extremes_share_the_gradient_of_ties():
    x, v = T([[1.0, 2.0]], stop_gradient=False), T([[2.0, 2.0]], stop_gradient=False)
    paddle.put_along_axis(x, T([[1, 1]]), v, 1, "amax").sum().backward()
    compare(x.grad, [[1, 1 / 3]])
    compare(v.grad, [[1 / 3, 1 / 3]])


def test_masks_and_where():
    x = rows(3, 4)
    assert paddle.masked_select(x, T([True, False, False, True])).tolist() == [0, 3, 4, 7, 8, 11]
    assert paddle.masked_select(T(1.0), T(True)).shape == [1] and paddle.masked_select(x, x > 50).shape == [0]
    assert paddle.masked_fill(paddle.zeros([2], "int64"), T([True, False]), 2.5).tolist() == [2, 0]
    compare(
        paddle.masked_scatter(paddle.zeros([2, 2]), T([[True, False], [True, True]]), T([[1.0, 2], [3, 4]])),
        [[1, 0], [2, 3]],
    )
    c = T([True, False])
    assert paddle.where(c, 1.0, T([3.0, 4.0])).dtype == paddle.float32 and paddle.where(c, 1, 2).dtype == paddle.int64
    assert paddle.where(c, True, False).tolist() == [True, False]
    assert paddle.where(c, paddle.ones([2]), paddle.ones([2], "float64")).dtype == paddle.float64
    with pytest.raises(TypeError):
        paddle.where(c, paddle.ones([2], "int32"), paddle.ones([2]))
    a, b = paddle.where(T([[True, False], [False, True]]))
    assert a.tolist() == b.tolist() == [0, 1]
    y = paddle.ones([2])
    assert paddle.where_(c, y, T([5.0, 6.0])) is y and y.tolist() == [1, 6]
    assert paddle.nonzero(paddle.zeros([0, 2])).shape == [0, 2] and [
        t.tolist() for t in paddle.nonzero(T([0, 1, 2]), as_tuple=True)
    ] == [[1, 2]]


def test_selection_inside_a_compiled_function_says_what_to_do():
    import jax

    from paddle.engine.tensor import _make

    with pytest.raises(RuntimeError, match="where"):
        jax.jit(lambda a: paddle.masked_select(_make(a), _make(a > 0))._value)(rows(3)._value)
    got = jax.jit(lambda a: paddle.masked_scatter(_make(a), _make(a > 0), _make(a + 10))._value)(rows(3)._value)
    assert got.tolist() == [0, 10, 11]


def test_multiplex_and_shards():
    got = paddle.multiplex([T([[1.0, 2], [3, 4]]), T([[5.0, 6], [7, 8]])], T([[1], [0]], dtype="int32"))
    compare(got, [[5, 6], [3, 4]])
    assert paddle.shard_index(T([[0], [6], [7], [18]]), 19, 3, 0).tolist() == [[0], [6], [-1], [-1]]
    compare(
        paddle.slice_scatter(paddle.zeros([4, 2]), paddle.ones([2, 1]), [0], [0], [4], [2]),
        [[1, 1], [0, 0], [1, 1], [0, 0]],
    )


def test_in_place_twins_respect_leaves():
    leaf = paddle.ones([3])
    leaf.stop_gradient = False
    with pytest.raises(ValueError, match="leaf"):
        leaf.index_fill_(T([0]), 0, 1.0)
    y = leaf * 1
    assert y.masked_fill_(T([True, False, False]), 0.0) is y
    (y * y).sum().backward()
    compare(leaf.grad, [0, 2, 2])


def test_bools_have_no_sums():
    x, i = paddle.to_tensor([True, False, True]), paddle.to_tensor([0, 1])
    with pytest.raises(TypeError, match="scatter: overwrite=False needs numbers, got bool"):
        paddle.scatter(x, i, x[:2], overwrite=False)
    for how in ("add", "mul", "mean"):
        with pytest.raises(TypeError, match="put_along_axis: .* needs numbers, got bool"):
            paddle.put_along_axis(x, i, x[:2], 0, how)
    assert paddle.put_along_axis(x, i, False, 0, "amax", include_self=False).tolist() == [False, False, True]
    assert paddle.put_along_axis(x, i, True, 0, "amin", include_self=False).tolist() == [True, True, True]
