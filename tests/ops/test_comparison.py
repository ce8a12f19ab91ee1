import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

nan, inf = math.nan, math.inf
NAMES = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_equal": operator.le,
    "greater_than": operator.gt,
    "greater_equal": operator.ge,
}


@pytest.mark.parametrize("name", NAMES)
def test_comparisons(name):
    a, b = np.array([[1.0, nan, inf, -0.0]], "float32"), np.array([[1.0], [0.0]], "float32")
    x, y = paddle.to_tensor(a, stop_gradient=False), paddle.to_tensor(b)
    want = NAMES[name](a, b).tolist()
    got = getattr(paddle, name)(x, y)
    assert got.dtype == paddle.bool and got.stop_gradient
    assert got.tolist() == NAMES[name](x, y).tolist() == getattr(x, name)(y).tolist() == want
    assert NAMES[name](x, 1).tolist() == NAMES[name](a, 1).tolist()
    assert NAMES[name](1, x).tolist() == NAMES[name](1, a).tolist()
    assert NAMES[name](paddle.zeros([0, 2]), 0).shape == [0, 2] and NAMES[name](paddle.to_tensor(2), 2).shape == []
    assert NAMES[name](paddle.to_tensor([2, 3]), 2.5).tolist() == NAMES[name](np.array([2, 3]), 2.5).tolist()
    with pytest.raises(ValueError, match=name):
        getattr(paddle, name)(paddle.ones([2]), paddle.ones([3]))


def test_further_names():
    x, y = paddle.to_tensor([1, 3]), paddle.to_tensor([2, 3])
    for short, name in (
        ("eq", "equal"),
        ("ne", "not_equal"),
        ("lt", "less_than"),
        ("less", "less_than"),
        ("le", "less_equal"),
        ("gt", "greater_than"),
        ("greater", "greater_than"),
        ("ge", "greater_equal"),
    ):
        want = getattr(paddle, name)(x, y).tolist()
        assert getattr(paddle, short)(x, y).tolist() == getattr(x, short)(y).tolist() == want


def test_in_place_comparison_gives_bool():
    x = paddle.to_tensor([1.0, 3.0])
    assert x.less_than_(paddle.to_tensor([2.0, 2.0])) is x and x.dtype == paddle.bool and x.tolist() == [True, False]


def test_complex_numbers():
    x, y = paddle.to_tensor([1 + 1j, 2 + 2j]), paddle.to_tensor([2 + 0j, 1 + 5j])
    assert (x == x).tolist() == [True, True] and (x != y).tolist() == [True, True]
    assert (x < y).tolist() == [True, False]  # by the real parts, as officially


def test_equal_all():
    e = paddle.equal_all
    out = e(paddle.ones([2]), paddle.ones([2]))
    assert out.shape == [] and out.dtype == paddle.bool and out.item() is True
    assert not e(paddle.ones([2]), paddle.ones([1])) and not e(paddle.ones([2]), paddle.to_tensor([1.0, 2.0]))
    assert e(paddle.zeros([0, 3]), paddle.zeros([0, 3])) and not e(paddle.zeros([0, 3]), paddle.zeros([0, 2]))


def test_close():
    x, y = paddle.to_tensor([inf, -inf, inf, nan, 1.0]), paddle.to_tensor([inf, inf, -inf, nan, 1.0 + 1e-6])
    assert paddle.isclose(x, y).tolist() == [True, False, False, False, True]
    assert paddle.isclose(x, y, equal_nan=True).tolist() == [True, False, False, True, True]
    close = lambda a, b, **k: bool(paddle.isclose(paddle.to_tensor([a]), paddle.to_tensor([b]), **k))
    # relative to y
    assert not close(100.0, 110.0, rtol=0.09, atol=0.0)
    assert close(110.0, 100.0, rtol=0.1 + 1e-6, atol=0.0)
    assert close(5, 6, rtol=0.2) and not close(5, 6) and close(1 + 1j, 1 + 1j)
    assert paddle.allclose(x[:1], y[:1]).shape == [] and not paddle.allclose(x, y) and paddle.allclose(x[4:], y[4:])
    assert paddle.allclose(paddle.zeros([0]), paddle.zeros([0]))
    with pytest.raises(ValueError, match="allclose: x and y must have one shape"):
        paddle.allclose(paddle.ones([2]), paddle.ones([3]))


def test_changing_tolerances_do_not_compile_again():
    x = paddle.ones([3])
    paddle.isclose(x, x, 0.1, 0.1)
    with paddle.utils.count_compiles() as counter:
        for k in range(3):
            paddle.isclose(x, x, 0.01 * k, 0.1 * k)
    assert counter.compiles == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=5, max_size=5), st.sampled_from([0, 1, 4, 50]), st.booleans())
def test_isin(values, size, invert):
    test = np.arange(size) * 2 - 2
    got = paddle.isin(paddle.to_tensor(values), paddle.to_tensor(test), invert=invert)
    assert got.tolist() == np.isin(values, test, invert=invert).tolist()


def test_isin_of_other_types_and_shapes():
    assert paddle.isin(paddle.to_tensor([[1.0, nan]]), paddle.to_tensor([nan, 1.0])).tolist() == [[True, False]]
    assert paddle.isin(paddle.to_tensor(1), paddle.to_tensor([[1, 2]])).tolist() is True
    assert paddle.isin(paddle.to_tensor([1j]), paddle.to_tensor([1j, 2j])).tolist() == [True]
    big = paddle.to_tensor(np.r_[np.arange(40.0), nan].astype("float32"))
    assert paddle.isin(paddle.to_tensor([3.0, nan, 99.0]), big).tolist() == [True, False, False]


def test_logic():
    a, b = np.array([0.0, 1.5, 0.0, nan]), np.array([[1.0], [0.0]])
    x, y = paddle.to_tensor(a), paddle.to_tensor(b)
    for name in ("logical_and", "logical_or", "logical_xor"):
        got = getattr(paddle, name)(x, y)
        assert got.dtype == paddle.bool and got.tolist() == getattr(np, name)(a, b).tolist()
    assert paddle.logical_not(x).tolist() == np.logical_not(a).tolist()
    i = paddle.to_tensor([2, 0])
    assert i.logical_and_(paddle.to_tensor([4, 4])) is i and i.dtype == paddle.bool and i.tolist() == [True, False]


@settings(max_examples=30, deadline=None)
@given(st.integers(-128, 127), st.integers(-128, 127), st.sampled_from(["int8", "int64"]))
def test_bits(a, b, dtype):
    x, y = paddle.to_tensor([a], dtype), paddle.to_tensor([b], dtype)
    assert (x & y).tolist() == [a & b]
    assert (x | y).tolist() == [a | b]
    assert (x ^ y).tolist() == [a ^ b]
    assert (~x).tolist() == [~a]


def test_bits_of_bools_numbers_and_wrong_types():
    t = paddle.to_tensor([True, False])
    assert (t & True).tolist() == [True, False]
    assert (t ^ t).tolist() == [False, False]
    assert (~t).tolist() == [False, True]
    assert (paddle.to_tensor([6, 3]) & 3).tolist() == (3 & paddle.to_tensor([6, 3])).tolist() == [2, 3]
    f = paddle.ones([1])
    for function in (
        lambda: f & f,
        lambda: ~f,
        lambda: f << 1,
        lambda: t << t,
        lambda: paddle.to_tensor([1]) & t,
        lambda: paddle.to_tensor([1, 2]) << 2.5,
    ):
        with pytest.raises(TypeError):
            function()


def test_shifts():
    x = paddle.to_tensor([1, -8, 3])
    assert (x << 2).tolist() == [4, -32, 12]
    assert (x >> 1).tolist() == [0, -4, 1]
    assert (1 << paddle.to_tensor([3])).tolist() == [8]
    logical = paddle.bitwise_right_shift(x, paddle.to_tensor([1, 1, 64]), is_arithmetic=False)
    assert logical.tolist() == [0, 2**63 - 4, 0]
    assert paddle.bitwise_left_shift(x, paddle.to_tensor([64, -1, 1])).tolist() == [0, 0, 6]
    assert (paddle.to_tensor([200], dtype="uint8") >> 1).tolist() == [100]
    assert (paddle.to_tensor([100], dtype="int8") << 1).tolist() == [-56]


def test_out_and_in_place():
    x, out = paddle.to_tensor([6, 3]), paddle.zeros([2], "int64")
    assert paddle.bitwise_and(x, paddle.to_tensor([3, 5]), out) is out and out.tolist() == [2, 1]
    assert x.bitwise_not_() is x and x.tolist() == [-7, -4]
    assert paddle.less_than(x, out, out=paddle.zeros([2], "bool")).tolist() == [True, True]
