"""Reductions: official types, edge cases and gradients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import paddle

from _check import check_grad, compare

inf, nan = float("inf"), float("nan")
X = np.random.RandomState(0).randn(3, 4)
REDUCTIONS = [
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
    "all",
    "any",
    "std",
    "var",
    "nansum",
    "nanmean",
    "logsumexp",
    "count_nonzero",
]


@pytest.mark.parametrize(
    "name, expected",
    [
        (
            "sum",
            {
                "bool": "int64",
                "uint8": "uint8",
                "int8": "int8",
                "int16": "int16",
                "int32": "int64",
                "int64": "int64",
                "float16": "float16",
                "complex64": "complex64",
            },
        ),
        ("mean", {"bool": "bool", "int32": "int32", "int64": "int64", "float64": "float64"}),
        ("prod", {"int32": "int32", "int64": "int64", "float32": "float32"}),
        ("std", {"int32": "float32", "float64": "float64", "complex64": "float32"}),
        ("nansum", {"int32": "int64"}),
        ("nanmean", {"int64": "float32"}),
        ("logsumexp", {"int64": "float32"}),
        ("count_nonzero", {"bool": "int64", "bfloat16": "int64"}),
        ("all", {"float32": "bool", "complex64": "bool"}),
    ],
)
def test_result_types(name, expected):
    for given_type, wanted in expected.items():
        assert getattr(paddle, name)(paddle.ones([2]).astype(given_type)).dtype.name == wanted


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_axes_and_keepdim_as_numpy(data):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, max_side=3))
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, unique_by=lambda a: a % len(shape)))
    keepdim = data.draw(st.booleans())
    x = np.arange(np.prod(shape), dtype="float64").reshape(shape) - 3
    for name in ("sum", "mean", "max"):
        compare(
            getattr(paddle, name)(paddle.to_tensor(x), axes, keepdim=keepdim),
            getattr(np, name)(x, tuple(axes), keepdims=keepdim),
        )


@pytest.mark.parametrize("name", REDUCTIONS)
def test_bad_axes_and_0d(name):
    f, x, point = getattr(paddle, name), paddle.ones([2, 3]), paddle.to_tensor(2.0)
    for axis in (2, -3, [0, 0], [0, -2], [0, 5]):
        with pytest.raises(ValueError, match=name.replace("std", "(std|var)")):
            f(x, axis)
    with pytest.raises(TypeError):
        f(x, 1.0)
    with pytest.raises(ValueError):
        f([1.0, 2.0])
    with pytest.raises(ValueError):
        f(point, 1)
    assert f(point).shape == f(point, 0).shape == f(point, -1, keepdim=True).shape == []
    assert f(x, []).shape == [] and f(x, paddle.to_tensor(1)).shape == [2] and f(x, dim=0).shape == [3]


@pytest.mark.parametrize(
    "name, whole",
    [
        ("sum", 0.0),
        ("mean", nan),
        ("prod", 1.0),
        ("std", nan),
        ("nansum", 0.0),
        ("nanmean", nan),
        ("logsumexp", -inf),
        ("all", True),
        ("any", False),
        ("count_nonzero", 0),
    ],
)
def test_no_elements(name, whole):
    x = paddle.zeros([0, 3])
    compare(getattr(paddle, name)(x), whole)
    compare(getattr(paddle, name)(x, 0), [whole] * 3)
    assert getattr(paddle, name)(x, 1).shape == [0]


def test_no_elements_have_no_extremum():
    for name in ("max", "min", "amax", "amin"):
        with pytest.raises(ValueError, match="no elements"):
            getattr(paddle, name)(paddle.zeros([0, 3]), 0)
        assert getattr(paddle, name)(paddle.zeros([0, 3]), 1).shape == [0]


def test_integers():
    assert paddle.mean(paddle.to_tensor([-1, -2, 0])).item() == -1  # truncated towards zero
    assert paddle.mean(paddle.to_tensor([True, False])).item() is True
    assert paddle.sum(paddle.to_tensor([200, 100], dtype="uint8")).item() == 44  # the type stays
    assert paddle.sum(paddle.to_tensor([1.5, 2.5]), dtype="int32").item() == 3  # cast first
    compare(paddle.mean(paddle.to_tensor([1, 2]), dtype="float32"), 1.5)
    assert paddle.max(paddle.to_tensor([True, False])).item() is True


def test_nan_and_infinity():
    x = paddle.to_tensor([[1.0, nan, 3.0], [4.0, 5.0, 6.0]])
    for name in ("max", "min", "sum"):
        assert np.isnan(getattr(paddle, name)(x, 1).numpy()).tolist() == [True, False]
    assert paddle.logsumexp(paddle.to_tensor([-inf, -inf])).item() == -inf
    assert paddle.logsumexp(paddle.to_tensor([inf, 1.0])).item() == inf
    compare(paddle.nanmean(x, 1), [2.0, 5.0])
    assert paddle.count_nonzero(x).item() == 6


def test_half_precision_is_summed_in_float32():
    x = paddle.full([4096], 1.0).astype("float16")
    assert paddle.sum(x).item() == 4096 and paddle.mean(x * 100).item() == 100
    assert abs(paddle.linalg.norm(paddle.full([10000], 10.0).astype("float16")).item() - 1000) < 1


def test_variance_arguments():
    x = paddle.to_tensor([1.0, 2.0, 4.0])
    compare(paddle.var(x, correction=0.5), 1.8666667)
    assert paddle.var(x, correction=5).item() == inf
    compare(paddle.std(x, unbiased=False), 1.2472191)
    assert np.isnan(paddle.std(paddle.to_tensor(2.0)).item())
    with pytest.raises(ValueError):
        paddle.var(x, unbiased=True, correction=0)


def test_ties_share_the_gradient():
    for name in ("max", "amax"):
        x = paddle.to_tensor([5.0, 1.0, 5.0, 5.0], stop_gradient=False)
        getattr(paddle, name)(x).backward()
        compare(x.grad, [1 / 3, 0, 1 / 3, 1 / 3])
    x = paddle.to_tensor([1.0, nan, 3.0], stop_gradient=False)
    paddle.max(x).backward()
    compare(x.grad, [0, 1, 0])


def test_reduce_as():
    compare(paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([2, 1])), [[3.0], [3.0]])
    with pytest.raises(ValueError, match="reduce_as"):
        paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([2]))


def test_out_is_written():
    out = paddle.zeros([3])
    assert paddle.sum(paddle.ones([2, 3]), 0, out=out) is out
    compare(out, [2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda a: paddle.sum(a * a, axis=0), X),
        (lambda a: paddle.mean(a * a, axis=[0]), X),
        (lambda a: paddle.prod(a, axis=1), X),
        (paddle.prod, [0.0, 2.0, 3.0]),
        (paddle.prod, [0.0, 0.0, 3.0]),
        (lambda a: paddle.logsumexp(a, axis=1), X),
        (lambda a: paddle.logsumexp(a, keepdim=True), X),
        (lambda a: paddle.std(a, axis=1), X),
        (paddle.var, X),
        (lambda a: paddle.max(a * a, axis=0), X),
        (lambda a: paddle.min(a * a, axis=[0, 1], keepdim=True), X),
        (lambda a: paddle.nansum(a * a), X),
        (lambda a: paddle.nanmean(a * a, axis=0), X),
        (lambda a: paddle.reduce_as(a * a, paddle.zeros([4], "float64")), X),
    ],
)
def test_gradients(f, x):
    check_grad(f, x, order=2, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("call", [paddle.sum, paddle.nansum, paddle.prod, paddle.cumsum, paddle.cumprod, paddle.mean])
def test_dtype_converts_complex_numbers_without_a_warning(call):
    z = paddle.to_tensor([1.5 + 2j, 2.5 - 1j])
    assert call(z, dtype="float64").tolist() == call(paddle.to_tensor([1.5, 2.5], "float64")).tolist()


def test_dtype_converts_before_the_sum():
    x = paddle.to_tensor([1.75, -2.75, 1.75])
    assert paddle.sum(x, dtype="int32").item() == 0
    assert paddle.sum(x, dtype="uint8").item() == 0
