"""Families of operators against NumPy on drawn shapes, types, axes and indices."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import paddle

from _check import compare

t = paddle.to_tensor
few = settings(max_examples=20, deadline=None, derandomize=True)
shapes = st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=3).map(tuple)
whole = st.integers(-3, 3)


@st.composite
def arrays(draw, shape=shapes, dtype="float64", special=()):
    """Small whole numbers, so that sums are exact and ties happen."""
    shape = draw(shape) if isinstance(shape, st.SearchStrategy) else shape
    size = int(np.prod(shape))
    values = draw(st.lists(st.sampled_from([-2, -1, 0, 1, 2, 3, *special]), min_size=size, max_size=size))
    return np.array(values, dtype).reshape(shape)


@st.composite
def with_axis(draw, special=(), empty=True):
    sides = [0, 1, 2, 3] if empty else [1, 2, 3]
    x = draw(arrays(st.lists(st.sampled_from(sides), min_size=1, max_size=3).map(tuple), special=special))
    return x, draw(st.integers(-x.ndim, x.ndim - 1))


# ---- broadcasting ----
PAIRS = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "atan2": np.arctan2,
    "less_equal": np.less_equal,
    "logical_xor": np.logical_xor,
    "hypot": np.hypot,
}


@few
@given(mutually_broadcastable_shapes(num_shapes=3, min_dims=0, max_dims=3, min_side=0, max_side=3), st.data())
def test_broadcasting(drawn, data):
    a, b, c = (data.draw(arrays(shape)) for shape in drawn.input_shapes)
    for name, reference in PAIRS.items():
        compare(getattr(paddle, name)(t(a), t(b)), reference(a, b))
    compare(paddle.where(t(a > 0), t(b), t(c)), np.where(a > 0, b, c))
    compare(paddle.lerp(t(a), t(b), t(c)), a + c * (b - a))
    assert paddle.broadcast_shape(list(a.shape), list(b.shape)) == list(np.broadcast_shapes(a.shape, b.shape))
    for got, want in zip(paddle.broadcast_tensors([t(a), t(b)]), np.broadcast_arrays(a, b)):
        compare(got, want)
    x = t(a, stop_gradient=False)
    (x * t(b)).sum().backward()
    compare(x.grad, reduced(np.broadcast_to(b, np.broadcast_shapes(a.shape, b.shape)), a.shape))


def reduced(x, shape):
    """x summed to a shape that broadcasts to its own."""
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1), keepdims=True)


@few
@given(shapes, shapes)
def test_shapes_that_do_not_broadcast_raise(a, b):
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        for name in ("add", "less_than", "logical_and", "fmax"):
            with pytest.raises(ValueError, match=name):
                getattr(paddle, name)(paddle.ones(a), paddle.ones(b))


# ---- promotion ----
FLOATS, COMPLEX = ["float16", "bfloat16", "float32", "float64"], ["complex64", "complex128"]
WHOLE = ["bool", "uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("shape", [[2], pytest.param([], marks=pytest.mark.slow)])
def test_operators_promote_alike_for_every_pair_of_types(shape):
    """What `x + y` gives every arithmetic operator gives, in both orders, or all raise TypeError."""
    ones = {name: paddle.ones(shape).astype(name) for name in WHOLE + FLOATS + COMPLEX}

    def result(function, a, b):
        try:
            return function(ones[a], ones[b]).dtype.name
        except TypeError:
            return "TypeError"

    for a, b in itertools.product(ones, ones):
        wanted = result(paddle.add, a, b)
        for function in (paddle.subtract, paddle.multiply):
            if "bool" not in (a, b):
                assert result(function, a, b) == wanted, (function.__name__, a, b)
        if a in FLOATS and b in FLOATS:
            assert all(result(f, a, b) == wanted for f in (paddle.divide, paddle.maximum, paddle.pow, paddle.fmin)), (
                a,
                b,
            )
        if shape and a in WHOLE and b in WHOLE and a != b:
            assert wanted == "TypeError", (a, b)


def test_a_tensor_without_dimensions_counts_in_choices_and_whole_quotients():
    """As officially: `x + point` keeps the type of x, `maximum`, `where` and `//` take the wider type."""
    x, point = paddle.ones([2]), t(1.0, dtype="float64")
    assert (x + point).dtype is paddle.float32
    for function in (paddle.maximum, paddle.minimum, paddle.fmax, paddle.fmin, paddle.floor_divide, paddle.logaddexp):
        assert function(x, point).dtype is function(point, x).dtype is paddle.float64, function.__name__
    assert paddle.where(x > 0, x, point).dtype is paddle.where(x > 0, point, x).dtype is paddle.float64
    assert (x.astype("uint8") // t(2)).dtype is paddle.int64 and (t(2) // x.astype("int8")).dtype is paddle.int64
    half = x.astype("bfloat16")  # a number counts as a tensor of the default type in `where`
    assert paddle.where(x > 0, half, 2.5).dtype is paddle.float32 and (half + 2.5).dtype is paddle.bfloat16
    assert (x // 2.0).dtype is paddle.where(x > 0, x, 2.0).dtype is paddle.float32


# ---- indexing ----
A = np.arange(24.0).reshape(2, 3, 4)
slices = st.builds(slice, *[st.one_of(st.none(), st.integers(-4, 4))] * 2, st.sampled_from([None, 1, 2, -1, -2]))


@st.composite
def mixed_index(draw):
    """Ints, slices, one mask or index array, None and Ellipsis in any order, where NumPy and the official rules agree:
    no int beside an array."""
    array = draw(st.sampled_from(["none", "mask", "list"]))
    index, used = [], 0
    place = draw(st.integers(0, 2))
    while used < 3:
        if array != "none" and used == place:
            n = A.shape[used]
            if array == "mask":
                index.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))))
            else:
                index.append(
                    np.array(draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=3, unique_by=lambda i: i % n)))
                )
        elif array == "none" and draw(st.booleans()):
            index.append(draw(st.integers(-A.shape[used], A.shape[used] - 1)))
        else:
            index.append(draw(slices))
        used += 1
    if array == "none":
        index.insert(draw(st.integers(0, 3)), None)
    cut = draw(st.integers(0, 3))
    if all(isinstance(i, slice) for i in index[cut:]):
        index[cut:] = [Ellipsis]
    return tuple(index)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(mixed_index())
def test_indices_read_write_and_carry_gradients(index):
    ours = tuple(t(i) if isinstance(i, np.ndarray) else i for i in index)
    x = t(A, stop_gradient=False)
    part = x[ours]
    compare(part, A[index])
    (part * part).sum().backward()
    want = np.zeros_like(A)
    want[index] = 2 * A[index]
    compare(x.grad, want)
    y, b = t(A), A.copy()
    b[index] = b[index] * 2 + 1
    y[ours] = y[ours] * 2 + 1
    compare(y, b)


# ---- reductions ----
@few
@given(with_axis(special=[np.nan, np.inf]), st.booleans())
def test_reductions_with_nan_and_without_elements(drawn, keepdim):
    x, axis = drawn
    with np.errstate(all="ignore"):
        for name in ("sum", "prod", "any", "all", "nansum"):
            if name in ("any", "all"):
                compare(
                    getattr(paddle, name)(t(x != 0), axis, keepdim),
                    getattr(np, name)(x != 0, axis=axis, keepdims=keepdim),
                )
            else:
                compare(
                    getattr(paddle, name)(t(x), axis, keepdim=keepdim),
                    getattr(np, name)(x, axis=axis, keepdims=keepdim),
                )
        compare(paddle.count_nonzero(t(x), axis, keepdim), np.count_nonzero(x, axis=axis, keepdims=keepdim))
        if x.shape[axis]:
            for name in ("mean", "max", "min"):
                compare(getattr(paddle, name)(t(x), axis, keepdim), getattr(np, name)(x, axis=axis, keepdims=keepdim))
        else:
            assert np.isnan(paddle.mean(t(x), axis).numpy()).all()
        compare(paddle.cumsum(t(x), axis), np.cumsum(x, axis))


@few
@given(with_axis(empty=False), st.data())
def test_reductions_over_several_axes(drawn, data):
    x = drawn[0]
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, unique_by=lambda a: a % x.ndim))
    keepdim = data.draw(st.booleans())
    for name in ("sum", "mean", "prod", "amax", "amin", "max", "min"):
        reference = getattr(np, name)
        compare(getattr(paddle, name)(t(x), axes, keepdim=keepdim), reference(x, axis=tuple(axes), keepdims=keepdim))
    for name in ("var", "std"):
        compare(getattr(paddle, name)(t(x), axes, False, keepdim), getattr(np, name)(x, tuple(axes), keepdims=keepdim))
    compare(paddle.logsumexp(t(x), axes, keepdim), np.log(np.sum(np.exp(x), tuple(axes), keepdims=keepdim)))


# ---- order ----
@few
@given(with_axis(special=[np.nan]), st.booleans())
def test_sort_and_argsort(drawn, descending):
    x, axis = drawn
    want = np.sort(x, axis)
    want = np.flip(want, axis) if descending else want
    compare(paddle.sort(t(x), axis, descending), want)
    index = paddle.argsort(t(x), axis, descending, stable=True).numpy()
    compare(np.take_along_axis(x, index, axis), want)
    if not descending:
        compare(index, np.argsort(x, axis, kind="stable"))


@few
@given(with_axis(empty=False), st.data())
def test_selection_by_order(drawn, data):
    x, axis = drawn
    k = data.draw(st.integers(1, x.shape[axis]))
    ordered = np.sort(x, axis)
    for largest in (True, False):
        values, index = paddle.topk(t(x), k, axis, largest)
        want = np.flip(ordered, axis) if largest else ordered
        compare(values, np.take(want, range(k), axis))
        compare(np.take_along_axis(x, index.numpy(), axis), values.numpy())
    compare(paddle.kthvalue(t(x), k, axis)[0], np.take(ordered, k - 1, axis))
    compare(paddle.median(t(x), axis), np.median(x, axis))
    compare(paddle.quantile(t(x), 0.3, axis), np.quantile(x, 0.3, axis))
    compare(paddle.argmax(t(x), axis), np.argmax(x, axis))
    compare(paddle.argmin(t(x), axis), np.argmin(x, axis))


@few
@given(
    st.lists(whole, max_size=8), st.lists(st.sampled_from([-4.0, -1.5, 0.0, 0.5, 1.0, 9.0]), max_size=4), st.booleans()
)
def test_unique_and_searchsorted(values, queries, right):
    x = np.array(values, "int64")
    ours = paddle.unique(t(x), return_index=True, return_inverse=True, return_counts=True)
    for got, want in zip(ours, np.unique(x, return_index=True, return_inverse=True, return_counts=True)):
        compare(got, want)
    runs, inverse, counts = paddle.unique_consecutive(t(x), True, True)
    compare(runs, x[np.flatnonzero(np.append(True, x[1:] != x[:-1])[: x.size])])
    compare(np.repeat(runs.numpy(), counts.numpy()), x)
    compare(runs.numpy()[inverse.numpy()], x)
    table, wanted = np.sort(x).astype("float64"), np.array(queries)
    want = np.searchsorted(table, wanted, "right" if right else "left")
    compare(paddle.searchsorted(t(table), t(wanted), right=right), want)
    compare(paddle.bucketize(t(wanted), t(table), right=right), want)


# ---- gather and scatter ----
@st.composite
def indexed(draw):
    """An array, an axis of it, and positions along it."""
    x, axis = draw(with_axis(empty=False))
    return x, axis, np.array(draw(st.lists(st.integers(0, x.shape[axis] - 1), min_size=1, max_size=4)))


@few
@given(indexed(), st.data())
def test_rows_by_number(drawn, data):
    x, axis, index = drawn
    part = np.take(x, index, axis)
    for function in (paddle.gather, paddle.index_select):
        compare(function(t(x), t(index), axis), part)
    value = data.draw(arrays(part.shape))
    want, there = x.copy(), (slice(None),) * (axis % x.ndim) + (index,)
    np.add.at(want, there, value)
    compare(paddle.index_add(t(x), t(index), axis, t(value)), want)
    want = x.copy()
    want[there] = 5
    compare(paddle.index_fill(t(x), t(index), axis, 5), want)
    if axis % x.ndim == 0:
        want = x.copy()
        np.add.at(want, index, value)
        compare(paddle.scatter_nd_add(t(x), t(index[:, None]), t(value)), want)
        compare(paddle.index_put(t(x), (t(index),), t(value), True), want)
        want = x.copy()
        want[index] = 0
        np.add.at(want, index, value)
        compare(paddle.scatter(t(x), t(index), t(value), overwrite=False), want)


@few
@given(with_axis(empty=False), st.data())
def test_elements_along_an_axis(drawn, data):
    x, axis = drawn
    shape = list(x.shape)
    shape[axis] = data.draw(st.integers(1, 3))
    size = int(np.prod(shape))
    index = data.draw(st.lists(st.integers(0, x.shape[axis] - 1), min_size=size, max_size=size))
    index = np.array(index).reshape(shape)
    compare(paddle.take_along_axis(t(x), t(index), axis), np.take_along_axis(x, index, axis))
    value = data.draw(arrays(tuple(shape)))
    grid = list(np.indices(shape))
    grid[axis] = index
    for reduce, at in (("add", np.add.at), ("mul", np.multiply.at), ("amax", np.maximum.at), ("amin", np.minimum.at)):
        want = x.copy()
        at(want, tuple(grid), value)
        compare(paddle.put_along_axis(t(x), t(index), t(value), axis, reduce), want)
    want = x.copy()
    want[tuple(grid)] = 9
    compare(paddle.put_along_axis(t(x), t(index), 9.0, axis), want)


@few
@given(arrays(), st.data())
def test_masks(x, data):
    mask = data.draw(arrays(x.shape)) > 0
    compare(paddle.masked_select(t(x), t(mask)), x[mask])
    compare(paddle.masked_fill(t(x), t(mask), 7.0), np.where(mask, 7, x))
    compare(paddle.nonzero(t(x)), np.argwhere(x))
    values = np.arange(mask.sum(), dtype="float64")
    want = x.copy()
    want[mask] = values
    compare(paddle.masked_scatter(t(x), t(mask), t(values)), want)
    flat = np.arange(x.size)[::-1].copy()
    compare(paddle.take(t(x), t(flat)), x.reshape(-1)[flat])
