"""Reading and writing by index, against NumPy where the official rules are NumPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

A = np.arange(24.0).reshape(2, 3, 4)


def t(values, **kwargs):
    return paddle.to_tensor(np.array(values), **kwargs)


# ---- against NumPy ----


def basic(n):
    bound = st.one_of(st.none(), st.integers(-n - 1, n + 1))
    return st.one_of(st.integers(-n, n - 1), st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -2])))


@st.composite
def basic_index(draw):
    items = [draw(basic(n)) for n in A.shape[: draw(st.integers(0, 3))]]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
        if items[-1] is not Ellipsis:  # what follows the ellipsis counts from the end
            after = len(items) - items.index(Ellipsis) - 1
            items[-after:] = [draw(basic(n)) for n in A.shape[3 - after :]]
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def advanced_index(draw):
    """Arrays side by side (where NumPy and the official rules agree), slices around them."""
    first = draw(st.integers(0, 2))
    count = draw(st.integers(1, 3 - first))
    shape = draw(st.sampled_from([(2,), (1,), (2, 2), (0,)]))
    size = int(np.prod(shape))
    arrays = [
        np.array(draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size)), int).reshape(shape)
        for n in A.shape[first : first + count]
    ]
    slices = st.builds(slice, st.sampled_from([None, 1]), st.none(), st.sampled_from([None, -1, 2]))
    before = [draw(slices) for _ in range(first)]
    return (*before, *arrays, *[draw(slices) for _ in range(draw(st.integers(0, 3 - first - count)))])


def as_tensors(index):
    return tuple(paddle.to_tensor(i) if isinstance(i, np.ndarray) else i for i in index)


def check_read_and_write(index, on_tensors):
    x = paddle.to_tensor(A)
    compare(x[on_tensors], A[index])
    want = A.copy()
    value = -1 - np.arange(A[index].size, dtype=float).reshape(A[index].shape)
    want[index] = value
    x[on_tensors] = value
    if _unique(index):  # otherwise the order of the writes is not defined
        compare(x, want)
    want[index] = 7
    x[on_tensors] = 7
    compare(x == 7, want == 7)


def _unique(index):
    where = np.arange(A.size).reshape(A.shape)[index].ravel()
    return len(set(where)) == len(where)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(basic_index())
def test_basic_indices_are_those_of_numpy(index):
    check_read_and_write(index, index)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(advanced_index(), st.booleans())
def test_index_arrays_are_those_of_numpy(index, lists):
    check_read_and_write(
        index,
        tuple(i.tolist() if isinstance(i, np.ndarray) and i.ndim == 1 and i.size else i for i in index)
        if lists
        else as_tensors(index),
    )


MASKS = {
    "elements": (A > 10,),
    "rows": (A[:, :, 0] > 3,),
    "first axis": (np.array([True, False]),),
    "second axis": (slice(None), np.array([True, False, True])),
    "last axes": (slice(None), A[0] > 3),
    "none": (A > 100,),
    "with arrays": (np.array([True, True]), np.array([0, 1])),
    "two masks": (np.array([True, False]), np.array([True, False, False])),
    "behind a row": (0, np.array([True, False, True])),
}


@pytest.mark.parametrize("name", sorted(MASKS))
def test_masks_are_those_of_numpy(name):
    check_read_and_write(MASKS[name], as_tensors(MASKS[name]))


@pytest.mark.parametrize("index", [True, False, (True, 0), (None, True), (0, True)])
def test_python_bools_add_an_axis(index):
    check_read_and_write(index if isinstance(index, tuple) else (index,), index)


def test_zero_dimensional_masks():
    x = paddle.to_tensor(A)
    assert x[t(True)].shape == [1, 2, 3, 4] and x[t(False)].shape == [0, 2, 3, 4]
    x[t(False)] = 5.0
    compare(x, A)


# ---- where the official rules differ ----


def test_an_integer_between_arrays_is_a_basic_index():
    x = paddle.to_tensor(A)
    assert x[0, :, [0, 1]].shape == [3, 2]  # NumPy: [2, 3]
    compare(x[0, :, [0, 1]], A[0][:, [0, 1]])
    x[0, :, [0, 1]] = t([[1.0, 2.0]] * 3)
    compare(x[0, :, :2], [[1, 2]] * 3)


def test_new_axis_before_an_array():
    x = paddle.to_tensor(A)
    compare(x[None, [0, 1]], A[None, [0, 1]])
    compare(x[[0, 1], None, [1, 2]], A[[0, 1], None, [1, 2]])
    compare(x[None, 1, [0, 1]], A[1][None, [0, 1]])


def test_tensors_as_bounds_and_in_lists():
    x = paddle.to_tensor(A)
    compare(x[t(0) : t(1)], A[0:1])
    compare(x[t([0]) : t([2])], A[0:2])
    compare(x[:, :: t(2)], A[:, ::2])
    compare(x[t(1), :, t(2)], A[1, :, 2])
    compare(x[[t(0), 1]], A[[0, 1]])
    compare(x[range(2)], A[[0, 1]])
    compare(x[np.int64(1), np.array([0, 2])], A[1, [0, 2]])
    compare(x[[[0, 1], [1, 0]]], A[np.array([[0, 1], [1, 0]])])


@pytest.mark.parametrize(
    "index, error, text",
    [
        (2, IndexError, "2 is out of range for axis 0 of length 2"),
        (-3, IndexError, "-3 is out of range"),
        ((0, 5), IndexError, "axis 1"),
        ([0, 2], IndexError, "2 is out of range for axis 0"),
        ((0, 0, 0, 0), IndexError, "4 axes"),
        (1.0, ValueError, "got 1.0"),
        ("a", ValueError, "got 'a'"),
        ({}, ValueError, "got {}"),
        ((..., ...), ValueError, "ellipsis"),
        (slice(None, None, 0), ValueError, "zero"),
        (slice(0.0, 1.0), ValueError, "bounds of a slice"),
        (([0, 1], [0, 1, 2]), ValueError, r"\[2\], \[3\]"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_errors(index, error, text, write):
    x = paddle.to_tensor(A)
    with pytest.raises(error, match=text):
        if write:
            x[index] = 1.0
        else:
            x[index]
    compare(x, A)


def test_errors_of_tensor_indices_and_values():
    x = paddle.to_tensor(A)
    with pytest.raises(IndexError, match=r"mask of shape \[3\]"):
        x[t([True, False, True])]
    with pytest.raises(IndexError, match=r"mask of shape \[3\]"):
        x[t([True, False, True])] = 0
    with pytest.raises(ValueError, match="float64"):
        x[t([1.0])]
    with pytest.raises(IndexError):
        x[t([5])] = 1.0
    for bad in ([1.0, 2.0], None, "a"):
        with pytest.raises(ValueError, match="the value is a Tensor"):
            x[0] = bad
    with pytest.raises(ValueError, match="complex"):
        x[0] = 1 + 2j
    for value, region in ((t([1.0, 2.0, 3.0]), 0), (t(np.zeros((2, 3, 4))), 0), (t(np.zeros((5,))), t(A > 3))):
        with pytest.raises(ValueError, match="does not fit"):
            x[region] = value
    compare(x, A)


# ---- values ----


def test_values_take_the_type_of_the_tensor():
    ints = t([[0, 1], [2, 3]])
    ints[0] = 2.7
    ints[1] = t([-2.7, 1.0])
    assert ints.tolist() == [[2, 2], [-2, 1]]
    flags = t([False, False, False])
    flags[0] = 2
    flags[flags.clone()] = t([True])
    assert flags.tolist() == [True, False, False]
    flags[t([True, False, True])] = t([False, True])
    assert flags.tolist() == [False, False, True]
    x = t([1.0, 2.0, 3.0, 4.0])
    x[t([True, False, True, True])] = 0
    assert x.tolist() == [0, 2, 0, 0]


def test_a_value_of_overlapping_memory():
    x = t([1, 2, 3, 4])
    x[1:] = x[:-1]
    assert x.tolist() == [1, 1, 2, 3]
    x[::-1] = x
    assert x.tolist() == [3, 2, 1, 1]


def test_augmented_assignment_and_chains():
    x = paddle.to_tensor(A[0])
    x[0] += 1
    x[:, 1] *= 2
    x[[0, 2]] -= 5
    x[x > 3] = 0
    x[1][0] = 50
    x[1:][0][2:][0] = 70
    x[[0, 1]][0] = 99  # a copy
    want = A[0].copy()
    want[0] += 1
    want[:, 1] *= 2
    want[[0, 2]] -= 5
    want[want > 3] = 0
    want[1][0] = 50
    want[1, 2] = 70
    compare(x, want)


def test_masked_write_of_numbers_rows_and_elements():
    for mask, value in (
        (A[0] > 5, 7.0),
        (A[0] > 5, np.arange(6.0)),
        (np.array([True, False, True]), np.arange(4.0)),
        (np.array([True, False, True]), np.array([[1.0], [2.0]])),
    ):
        x, want = paddle.to_tensor(A[0]), A[0].copy()
        want[mask] = value
        x[paddle.to_tensor(mask)] = value if isinstance(value, float) else paddle.to_tensor(value)
        compare(x, want)


# ---- gradients ----

INDICES = {
    "int": 1,
    "slice": (slice(None), slice(2, 0, -1)),
    "mixed": (..., None, 1),
    "stepped": (slice(None), slice(None, None, 2), 0),
    "list": [1, 1, 0],
    "lists": ([0, 1], [2, 0]),
    "apart": ([0, 1], slice(None), [1, 3]),
    "int and list": (0, slice(None), [0, 2]),
    "mask": A > 10,
    "row mask": (slice(None), np.array([True, False, True])),
    "empty": slice(1, 1),
}


@pytest.mark.parametrize("name", sorted(INDICES))
def test_gradient_of_reading(name):
    index = INDICES[name]
    check_grad(lambda x: x[index] * x[index], A / 7, order=2)


@pytest.mark.parametrize("name", sorted(set(INDICES) - {"list"}))
def test_gradient_of_writing(name):
    index = INDICES[name]
    shape = paddle.to_tensor(A)[index].shape
    value = np.cos(np.arange(np.prod(shape), dtype=float)).reshape(shape)

    def write(x, v):
        y = x * x
        y[index] = v * v
        return y * x

    check_grad(write, A / 7, value, order=2)


def test_gradient_of_a_number_written_by_mask():
    def write(x, v):
        y = x * 1
        y[x > 5] = v
        y[x < 1] = 3.0
        return y * y

    check_grad(write, A[0] + 0.5, np.array(2.0))


# ---- compilation ----


def test_changing_indices_bounds_and_values_compile_nothing_new():
    x, y = paddle.zeros([8, 3]), paddle.ones([8, 3])
    rows = [np.array([1, 0]), np.array([5, 7])]

    def use(i):
        x[i], x[i : i + 2], x[i, 1]
        x[i] = i + 0.5
        x[i : i + 2] = y[i : i + 2]
        x[rows[i % 2].tolist()]
        x[paddle.to_tensor(rows[i % 2])] = 1.5 * i
        x[paddle.to_tensor(np.arange(24).reshape(8, 3) < i)] = float(i)

    use(0)
    use(1)
    from paddle.engine.compile import count_compiles

    with count_compiles() as count:
        for i in range(2, 6):
            use(i)
    assert count.compiles == 0, count.names


def test_mixed_precision_leaves_written_tensors_their_type():
    class Lower:
        def substitute(self, op, args):
            return None

        def cast(self, op, args):
            if op.name == "cast":
                return args
            return tuple(a.astype("bfloat16") if getattr(a, "dtype", None) is paddle.float32 else a for a in args)

    from paddle.engine.modes import set_mode

    x = t([1.0001, 2.0001], dtype="float32")
    with set_mode(amp=Lower()):
        x[0] = t(3.0001, dtype="float32")
        x[1:][:] = 5.0
        assert (x + x).dtype is paddle.bfloat16
    assert x.dtype is paddle.float32 and x.tolist() == [np.float32(3.0001), 5.0]
