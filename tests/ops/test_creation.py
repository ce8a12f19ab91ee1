"""Making tensors, diagonals, predicates."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

T = paddle.to_tensor
rng = np.random.RandomState(0)


@pytest.mark.parametrize(
    "data, dtype",
    [  # recorded from the official package
        (3, "int64"),
        (2.5, "float32"),
        (True, "bool"),
        (1 + 2j, "complex64"),
        ([], "float32"),
        ([True, 2], "int64"),
        ([True, 2.5], "float32"),
        ([1, 2j], "complex64"),
        ((1, 2), "int64"),
        (np.float64(1.5), "float64"),
        (np.float16(1), "float16"),
        (np.int32(4), "int32"),
        ([np.float64(1.5)], "float32"),
        ([np.float32(1.5)], "float32"),
        ([np.int32(1)], "int64"),
        ([np.array([1.0, 2.0])], "float32"),
        (np.array([1.5]), "float64"),
        (-(2**63), "int64"),
    ],
)
def test_to_tensor_types(data, dtype):
    assert T(data).dtype.name == dtype


def test_to_tensor():
    assert T([1.7, -1.7], dtype="int32").tolist() == [1, -1] and T([1 + 2j], dtype="float32").tolist() == [1.0]
    assert T([T(1.5), T(2.5)]).tolist() == [1.5, 2.5] and T([T([1, 2]), T([3, 4])]).shape == [2, 2]
    a = np.array([1.0, 2.0], "float32")
    x = T(a)
    a[0] = 9
    y = T(x)
    y[0] = 7.0
    assert (
        x.tolist() == [1, 2]
        and T(T(1.0, stop_gradient=False)).stop_gradient
        and not T(1.0, stop_gradient=False).stop_gradient
    )
    for bad in ([[1, 2], [3]], "abc", None, object(), ["a"], 2**64):
        with pytest.raises((ValueError, TypeError)):
            T(bad)


def test_default_dtype_reaches_the_factories():
    paddle.set_default_dtype("float64")
    made = [
        T(1.5),
        T([1, 2.5]),
        paddle.ones([1]),
        paddle.full([1], 2),
        paddle.linspace(0, 1, 3),
        paddle.arange(0.0, 2.0),
        paddle.eye(2),
        paddle.rand([1]),
    ]
    assert {m.dtype.name for m in made} == {"float64"} and T(1j).dtype == paddle.complex128
    assert (T([1]) / 2).dtype == paddle.float32


def test_full():
    full = paddle.full
    assert [full([1], v).dtype.name for v in (3, 3.5, True, 1j, T([4.5]))] == [
        "float32",
        "float32",
        "bool",
        "complex128",
        "float32",
    ]
    assert (
        full([1], -1, "uint8").item() == 255
        and full([1], 300, "int8").item() == 44
        and full([1], 2**62, "int64").item() == 2**62
    )
    assert full([1], float("nan"), "int64").item() == -(2**63) and math.isinf(full([1], 1e6, "float16").item())
    assert paddle.full_like(T([1], dtype="int32"), 2.9).tolist() == [2] and paddle.full_like(
        T([1]), 2.5, "float32"
    ).tolist() == [2.5]
    assert (
        paddle.zeros(2, 3).shape == [2, 3]
        and paddle.ones([T(2), 1]).shape == [2, 1]
        and paddle.zeros(T([2, 3])).shape == [2, 3]
    )
    x = T([1.0], stop_gradient=False)
    assert paddle.zeros_like(x).stop_gradient and not paddle.zeros([1], requires_grad=True).stop_gradient
    for bad in (
        lambda: paddle.ones([-1, 2]),
        lambda: paddle.ones([2], dtype="float31"),
        lambda: paddle.zeros([2.0]),
        lambda: full([1], "abc"),
        lambda: full([1], None),
        lambda: full([2], T([3, 4])),
    ):
        with pytest.raises((ValueError, TypeError)):
            bad()


def test_the_filling_number_does_not_recompile():
    paddle.full([3], 1.0), paddle.zeros([3]).fill_(1.0)
    with paddle.utils.count_compiles() as n:
        for k in range(5):
            paddle.full([3], k + 0.5), paddle.arange(k, k + 7), paddle.zeros([3]).fill_(k + 0.5)
    assert n.compiles == n.cache_hits == 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-5, 5).filter(bool))
def test_arange_is_range(start, end, step):
    assert paddle.arange(start, end, step).tolist() == list(range(start, end, step))


def test_ranges():
    assert paddle.arange(T(3, dtype="int32")).dtype == paddle.int64 and paddle.arange(T(3.0)).dtype == paddle.float32
    assert (
        paddle.arange(1.5, 6, 2, "int64").tolist() == [1, 3, 5]
        and paddle.arange(1, 2, 0.1).shape == [10]
        and paddle.arange(5, 1).shape == [0]
    )
    assert paddle.range(0.0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert paddle.linspace(0, 10, 4, dtype="int32").tolist() == [0, 3, 6, 10] and paddle.linspace(3, 7, 1).tolist() == [
        3
    ]
    compare(paddle.logspace(1, 3, 3, base=0.5), [0.5, 0.25, 0.125])
    for bad in (
        lambda: paddle.arange(0, 5, 0),
        lambda: paddle.arange(0, float("inf")),
        lambda: paddle.arange(float("nan")),
        lambda: paddle.eye(-1),
        lambda: paddle.linspace(0, 1, -1),
        lambda: paddle.logspace(0, 1, 0),
        lambda: paddle.arange(0, 1, 0.3, "int32"),
    ):
        with pytest.raises(ValueError):
            bad()


def test_diagonals():
    m = rng.randn(3, 4)
    for k in (-2, 0, 1, 9):
        compare(paddle.diag(T(m), k), np.diag(m, k) if k != 9 else [])
        compare(paddle.diagonal(T(m), k), np.diagonal(m, k))
    compare(paddle.diag(T([1, 2]), 1, padding_value=7), [[7, 1, 7], [7, 7, 2], [7, 7, 7]])
    assert paddle.diag(T(3.0)).shape == [1, 1] and paddle.diag(paddle.zeros([0]), 1).shape == [1, 1]
    compare(paddle.diagflat(T(m[:2, :2]), -1), np.diagflat(m[:2, :2], -1))
    compare(paddle.diag_embed(T(m), 1, 0, 2)[:, 1], np.diag(m[1], 1))
    x = paddle.zeros([7, 3])
    assert x.fill_diagonal_(4.0, wrap=True) is x
    want = np.zeros((7, 3))
    np.fill_diagonal(want, 4, wrap=True)
    compare(x, want)
    compare(paddle.zeros([3, 4]).fill_diagonal_(2.0, offset=-1), np.diag([2.0, 2], -1)[:, :3] @ np.eye(3, 4))
    compare(paddle.zeros([2, 3, 2]).fill_diagonal_(1.0).nonzero(), [[0, 0, 0], [1, 1, 1]])
    compare(
        paddle.zeros([2, 2, 3]).fill_diagonal_tensor(T([[1.0, 2], [3, 4]]), 0, 1, 2),
        [[[1, 0, 0], [0, 2, 0]], [[3, 0, 0], [0, 4, 0]]],
    )
    assert paddle.tril_indices(4, 3, 1).tolist() == np.stack(np.tril_indices(4, 1, 3)).tolist()
    compare(paddle.triu(T(m), -1), np.triu(m, -1))
    for bad in (
        lambda: paddle.zeros([3]).fill_diagonal_(1.0),
        lambda: paddle.diag(paddle.zeros([2, 2, 2])),
        lambda: paddle.tril(paddle.ones([3])),
        lambda: paddle.diag_embed(paddle.ones([2]), 0, 1, 1),
        lambda: paddle.diagonal(paddle.ones([2])),
        lambda: paddle.diagonal(T(m), 0, 1, 1),
        lambda: paddle.zeros([3, 4]).fill_diagonal_tensor(T([1.0, 2])),
        lambda: paddle.tril_indices(-1, 3),
    ):
        with pytest.raises((ValueError, TypeError)):
            bad()


@pytest.mark.parametrize(
    "f, shape",
    [
        (lambda x: paddle.diag(x, 1), (3,)),
        (lambda x: paddle.diag_embed(x), (2, 3)),
        (lambda x: paddle.tril(x), (3, 3)),
        (lambda x: paddle.vander(x, 3), (3,)),
        (lambda x: (x * 1).fill_diagonal_(2.0), (3, 3)),
        (lambda x: paddle.zeros([2, 2], "float64").fill_diagonal_tensor(x), (2,)),
        (lambda x: paddle.meshgrid(x, x)[0] * paddle.meshgrid(x, x)[1], (3,)),
        (lambda x: paddle.complex(x, x * x).as_real(), (3,)),
        (lambda x: paddle.polar(x, x).as_real(), (3,)),
        (lambda x: paddle.assign(x), (2,)),
    ],
)
def test_gradients(f, shape):
    check_grad(lambda x: f(x) ** 2, rng.rand(*shape) + 0.5, order=2)


def test_assign_and_clone():
    assert [(paddle.assign(v).dtype.name, paddle.assign(v).shape) for v in (2.5, True, [1, 2], 1j)] == [
        ("float64", [1]),
        ("bool", [1]),
        ("int64", [2]),
        ("complex128", [1]),
    ]
    assert paddle.assign(np.array(3.0)).shape == []
    out = paddle.zeros([2])
    assert paddle.assign(T([5.0, 6.0]), out) is out and out.tolist() == [5, 6]
    x = T([1.0], stop_gradient=False)
    assert not x.clone().stop_gradient and not x.clone().is_leaf


def test_one_hot_and_grids():
    one_hot = paddle.nn.functional.one_hot
    assert (
        one_hot(T([0, 2, 1])).shape == [3, 3]
        and one_hot(T(1), 3).tolist() == [0, 1, 0]
        and one_hot(T([], dtype="int64"), 3).shape == [0, 3]
    )
    for bad in (
        lambda: one_hot(T([5]), 3),
        lambda: one_hot(T([-1]), 3),
        lambda: one_hot(T([1.0]), 3),
        lambda: one_hot(T([], dtype="int64")),
    ):
        with pytest.raises((ValueError, TypeError)):
            bad()
    assert [g.shape for g in paddle.meshgrid(T(1.0), paddle.ones([3]))] == [[1, 3], [1, 3]]
    assert paddle.meshgrid(paddle.ones([2]), paddle.ones([3]), indexing="xy")[0].shape == [3, 2]
    for bad in (
        lambda: paddle.meshgrid(),
        lambda: paddle.meshgrid(paddle.ones([2, 2])),
        lambda: paddle.meshgrid(paddle.ones([2]), T([1])),
        lambda: paddle.vander(paddle.ones([2]), -1),
    ):
        with pytest.raises(ValueError):
            bad()


def test_predicates_and_shapes():
    x = paddle.ones([2, 3])
    assert (
        int(x.numel()) == 6
        and paddle.rank(x).dtype == paddle.int32
        and paddle.shape(x).tolist() == [2, 3]
        and paddle.shape(T(1.0)).shape == [0]
    )
    assert (
        bool(paddle.is_empty(paddle.zeros([0])))
        and x.is_floating_point()
        and not x.is_complex()
        and T([1]).is_integer()
        and paddle.is_tensor(x)
    )
    assert paddle.broadcast_shape([2, 1, 3], [4, 1]) == [2, 4, 3] and paddle.broadcast_shapes([2, 1], [3], [1]) == [
        2,
        3,
    ]
    assert (
        paddle.broadcast_shape([0], [1]) == [0]
        and paddle.broadcast_shape([-1, 3], [1, 3]) == [-1, 3]
        and paddle.broadcast_shapes() == []
    )
    for bad in (
        lambda: paddle.broadcast_shape([2], [3]),
        lambda: paddle.broadcast_shape([0], [2]),
        lambda: paddle.is_complex(3),
    ):
        with pytest.raises((ValueError, TypeError)):
            bad()


def test_new_fill_resize_set():
    x = paddle.ones([2, 2], dtype="float64")
    assert (
        x.new_zeros(2, 3).dtype == paddle.float64
        and x.new_full([2], 3).tolist() == [3, 3]
        and x.new_ones([1], dtype="int32").dtype == paddle.int32
    )
    assert paddle.zeros([2], "int32").fill_(2.7).tolist() == [2, 2] and x.zero_().sum().item() == 0
    y = paddle.ones([2])
    assert (
        y.resize_([3], fill_zero=True) is y
        and y.tolist() == [1, 1, 0]
        and paddle.arange(6).resize_([2, 2]).tolist() == [[0, 1], [2, 3]]
    )
    assert paddle.ones([2]).set_(paddle.arange(6).astype("float32"), [2, 2], [1, 2]).tolist() == [[0, 2], [1, 3]]


def test_gradient_of_vander_at_zero():
    x = paddle.to_tensor([0.0, 1.0, 2.0], stop_gradient=False)
    paddle.vander(x).sum().backward()
    assert x.grad.tolist() == [1.0, 3.0, 5.0]
