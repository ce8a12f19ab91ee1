"""The Tensor outside of operators: printing, Python and NumPy protocols, copies, interchange."""

import copy
import math
import pickle

import numpy as np
import pytest

import paddle
import paddle.utils.dlpack

from _check import compare


def t(values, **kwargs):
    return paddle.to_tensor(values, **kwargs)


# ---- printing (texts recorded from the official package) ----


@pytest.fixture
def options():
    yield paddle.set_printoptions
    paddle.set_printoptions(precision=8, threshold=1000, edgeitems=3, sci_mode=False, linewidth=80)


def body(x):
    return str(x).split("stop_gradient=True,\n       ")[1][:-1]


def test_header():
    assert str(t([1.0, 2.0], stop_gradient=False)) == (
        "Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [1., 2.])"
    )
    assert str(paddle.Parameter(np.ones(1, "float32"))).startswith(
        "Parameter containing:\nTensor(shape=[1], dtype=float32"
    )


@pytest.mark.parametrize(
    "values, text",
    [
        ([1.0, 2.5], "[1.        , 2.50000000]"),
        ([-1.5, 2.0], "[-1.50000000,  2.        ]"),
        ([1.0, 2.0, 3.0], "[1., 2., 3.]"),
        ([[-1, 20], [300, -4]], "[[-1 ,  20],\n        [300, -4 ]]"),
        ([True, False], "[True , False]"),
        (np.array([1.0, np.nan, np.inf, -np.inf], "float32"), "[ 1.  ,  nan ,  inf., -inf.]"),
        ([-0.0, 0.0], "[-0., 0. ]"),
        (np.array([1 + 2j, -3.5 - 0.25j], "complex64"), "[ (1.00000000+2.00000000j), (-3.50000000-0.25000000j)]"),
        (np.array([complex(np.nan, 1), complex(1, np.inf)]), "[(nan+1.00000000j), (1.00000000+infj)]"),
        (np.float32(2.5), "2.50000000"),
        (np.float32(3), "3."),
        (np.int64(3), "3"),
        (np.bool_(True), "True"),
        (np.complex64(1 + 1j), "(1.00000000+1.00000000j)"),
        (np.zeros((0,), "float32"), "[]"),
        (np.zeros((0, 3), "float32"), "[]"),
        (np.zeros((3, 0), "float32"), "[[],\n        [],\n        []]"),
        (np.array([1e10, 1.0], "float32"), "[10000000000., 1.          ]"),
        (np.array([1e-10, 1.0], "float32"), "[0.00000000, 1.        ]"),
        (np.arange(1001), "[0   , 1   , 2   , ..., 998 , 999 , 1000]"),
        (np.arange(8).reshape(2, 2, 2), "[[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]]"),
        (np.array([1, 2, 3, -1000, 5, 6, 7]), "[1, 2, 3, -1000, 5, 6, 7]"),  # the width is that of the corners
        (
            np.arange(30) / 4 - 1,
            "[-1.        , -0.75000000, -0.50000000, -0.25000000,  0.        ,\n         0.25000000,  0.50000000,  0.75000000,  1.        ,  1.25000000,\n"
            "         1.50000000,  1.75000000,  2.        ,  2.25000000,  2.50000000,\n         2.75000000,  3.        ,  3.25000000,  3.50000000,  3.75000000,\n"
            "         4.        ,  4.25000000,  4.50000000,  4.75000000,  5.        ,\n         5.25000000,  5.50000000,  5.75000000,  6.        ,  6.25000000]",
        ),
    ],
)
def test_print(values, text):
    assert body(t(values)) == text


def test_print_of_bfloat16():
    assert body(t([1.0, 2.5]).astype("bfloat16")) == "[1.        , 2.50000000]"


@pytest.mark.parametrize(
    "given, values, text",
    [
        (dict(precision=4), [1.0, 2.23456], "[1.    , 2.2346]"),
        (dict(sci_mode=True, precision=3), [1.0, -250.0], "[ 1.000e+00, -2.500e+02]"),
        (dict(threshold=5, edgeitems=1), [1.0, 2.0, 3.0, 4.0, 5.0, 6.5], "[1.        , ..., 6.50000000]"),
        (dict(linewidth=40), [1.5, 2.5, 3.5], "[1.50000000, 2.50000000,\n        3.50000000]"),
        (dict(linewidth=20), [1.5, 2.5], "[1.50000000,\n        2.50000000]"),
    ],
)
def test_print_options(options, given, values, text):
    options(**given)
    assert body(t(values)) == text


def test_print_options_are_checked():
    with pytest.raises(TypeError, match="precision must be int, got str"):
        paddle.set_printoptions(precision="4")


def test_format():
    assert (
        f"{t(2.567):.2f}" == "2.57" and f"{t([2.5]):.1f}" == "2.5" and f"{t(3)}" == "3" and f"{t([3])}" == str(t([3]))
    )
    with pytest.raises(TypeError):
        f"{t([1.0, 2.0]):.2f}"


# ---- Python protocols ----


def test_conversion_to_numbers():
    assert float(t(3)) == 3.0 and int(t([1.7])) == 1 and int(t(-1.7)) == -1 and complex(t(1 + 2j)) == 1 + 2j
    assert not t([0.0]) and t([[True]]) and math.floor(t(1.5)) == 1
    assert [1, 2, 3][t(1)] == 2 and [1, 2, 3][t(True)] == 2 and list(range(10)[t(2) : t([4])]) == [2, 3]
    for convert in (float, int, bool):
        with pytest.raises(AssertionError, match=r"shape \[2\]"):
            convert(t([1.0, 2.0]))
    with pytest.raises(TypeError, match="float32"):
        [1, 2][t(1.0)]


def test_item_and_tolist():
    x = t([[1, 2], [3, 4]])
    assert x.item(3) == 4 and x.item(1, 0) == 3 and type(t(2.5).item()) is float and t(True).item() is True
    assert x.tolist() == [[1, 2], [3, 4]] and t(2.5).tolist() == 2.5 and t(1 + 2j).tolist() == 1 + 2j
    with pytest.raises(ValueError, match=r"shape \[2, 2\]"):
        x.item()
    with pytest.raises(IndexError):
        x.item(7)


def test_iteration_length_membership_and_hash():
    x = t([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2 and 3 in x and 7 not in x
    a, b = x
    a[0] = 9  # rows are views
    assert x[0, 0].item() == 9
    assert {x: 1}[x] == 1 and x in {x} and hash(x) != hash(t([[1, 2], [3, 4]]))
    with pytest.raises(TypeError, match="0-D"):
        iter(t(1.0))
    with pytest.raises(AssertionError, match="0-D"):
        len(t(1.0))


def test_comparison():
    x = t([1.0, 2.0])
    assert (x == t([1.0, 3.0])).tolist() == [True, False] and (x != 1).tolist() == [False, True]
    assert (x < 1.5).tolist() == [True, False] and (2 > x).tolist() == [True, False] and (x >= x).all()
    assert not isinstance(x == None, bool) or (x == None) is False  # noqa: E711


@pytest.mark.parametrize(
    "function, want",
    [
        (lambda i: i**2, [25, 49]),
        (lambda i: 2**i, [32, 128]),
        (lambda i: i // 2, [2, 3]),
        (lambda i: 7 // i, [1, 1]),
        (lambda i: i % 3, [2, 1]),
        (lambda i: 7 % i, [2, 0]),
        (lambda i: -i, [-5, -7]),
        (lambda i: abs(-i), [5, 7]),
        (lambda i: i / 2, [2.5, 3.5]),
        (lambda i: 35 / i, [7, 5]),
        (lambda i: 1 - i, [-4, -6]),
        (lambda i: i + True, [6, 8]),
        (lambda i: np.array([1, 2]) + i, [6, 9]),
        (lambda i: i * np.int64(2), [10, 14]),
        (lambda i: np.float32(0.5) * i, [2.5, 3.5]),
        (lambda i: i @ i, 74),
    ],
)
def test_arithmetic(function, want):
    got = function(t([5, 7]))
    assert isinstance(got, paddle.Tensor)
    compare(got, want)


def test_arithmetic_with_what_is_no_number():
    for bad in ("a", None, [1.0, 2.0], object()):
        with pytest.raises(TypeError):
            t([1.0, 2.0]) + bad


def test_attributes():
    x = paddle.zeros([2, 3])
    x.note = 3
    assert (x.note, x.ndim, x.dim(), x.size, x.size(1), x.nbytes, x.itemsize, x.shape.numel()) == (
        3,
        2,
        2,
        6,
        3,
        24,
        4,
        6,
    )
    assert (
        x.shape == [2, 3]
        and x.is_leaf
        and x.stop_gradient
        and not x.requires_grad
        and x.grad_fn is None
        and not x.persistable
    )
    assert x.place.is_cpu_place() and x.name.startswith("generated_tensor_") and x.name == x.name
    x.requires_grad = True
    assert not x.stop_gradient and (x * 2).grad_fn is not None


# ---- copies ----


def test_copies_are_independent():
    x = t([1.0, 2.0], stop_gradient=False)
    (x * 2).sum().backward()
    for make in (copy.deepcopy, copy.copy, lambda v: pickle.loads(pickle.dumps(v))):
        y = make(x)
        assert y.tolist() == [1, 2] and not y.stop_gradient and y.grad is None and type(y) is type(x)
        (y * 3).sum().backward()
        with paddle.no_grad():
            y[0] = 9.0
        assert y.grad.tolist() == [3, 3] and x.tolist() == [1, 2] and x.grad.tolist() == [2, 2]
    nested = copy.deepcopy({"a": [x, x]})
    assert nested["a"][0] is nested["a"][1] is not x
    assert copy.deepcopy(x * 2).is_leaf


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "bool", "complex64"])
def test_pickle_keeps_types(dtype):
    x = t([0.0, 1.5]).astype(dtype)
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype and (x == y).all()


def test_pickle_keeps_a_parameter():
    p = paddle.Parameter(np.ones(2, "float32"), name="w", learning_rate=0.5)
    q = pickle.loads(pickle.dumps(p))
    assert (
        isinstance(q, paddle.Parameter) and q.name == "w" and q.optimize_attr == {"learning_rate": 0.5} and q.trainable
    )


def test_set_value():
    x = t([1.0, 2.0])
    d = x.detach()
    x.set_value(np.array([3, 4]))
    assert x.dtype is paddle.float32 and d.tolist() == [3, 4]
    x.set_value(t([5.0, 6.0]))
    assert d.tolist() == [5, 6]
    with pytest.raises(ValueError, match=r"\[2\].*\[3\]"):
        x.set_value(np.zeros(3, "float32"))


# ---- NumPy and DLPack ----


def test_numpy_copies():
    source = np.array([1.0, 2.0])
    x = t(source)
    source[0] = 9
    out = x.numpy()
    out[1] = 9
    assert x.tolist() == [1, 2]
    assert np.asarray(x).dtype == np.float64 and np.array(x, dtype="int32").tolist() == [1, 2] and np.sum(x) == 3


def test_bfloat16_comes_as_bits_and_goes_back():
    x = t([1.5, 2.0]).astype("bfloat16")
    assert x.numpy().dtype == np.uint16 and x.numpy().tolist() == [16320, 16384]
    assert np.asarray(x).astype("float32").tolist() == [1.5, 2.0] and x.tolist() == [1.5, 2.0]
    y = paddle.zeros([2], "bfloat16")
    y.set_value(x.numpy())
    assert y.tolist() == [1.5, 2.0]
    for back in (t(x.numpy()), t(x.numpy(), dtype="bfloat16"), t([x, x])[0], t([[x, x]])[0, 1]):
        assert back.dtype is paddle.bfloat16 and back.tolist() == [1.5, 2.0]


def test_dlpack_shares_memory_and_keeps_it():
    x = t([[1.0, 2.0], [3.0, 4.0]])
    array = np.from_dlpack(x)
    assert array.tolist() == x.tolist() and np.shares_memory(array, np.from_dlpack(x))
    y = paddle.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(x))
    del x
    assert y.tolist() == [[1, 2], [3, 4]]
    y[0, 0] = 9.0  # a write makes a new array, the other library's stays
    assert array[0, 0] == 1
    source = np.arange(4.0, dtype="float32")
    z = paddle.utils.dlpack.from_dlpack(source)
    assert z.tolist() == [0, 1, 2, 3] and z.dtype is paddle.float32
    with pytest.raises(TypeError, match="int"):
        paddle.utils.dlpack.from_dlpack(3)
    with pytest.raises(TypeError, match="int"):
        paddle.utils.dlpack.to_dlpack(3)


def test_to():
    x = t([1.0, 2.0])
    assert x.to("float64").dtype is paddle.float64 and x.to("cpu") is x and x.to(t([1])).dtype is paddle.int64
    assert x.to("cpu", "float16").dtype is paddle.float16 and x.to(dtype="int32").dtype is paddle.int32
    with pytest.raises(ValueError, match="nonsense"):
        x.to("nonsense")
    with pytest.raises(TypeError, match="colour"):
        x.to(colour=1)
