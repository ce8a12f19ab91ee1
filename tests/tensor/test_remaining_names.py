"""Names of the tensor API that stand alone: constructors by type, windows, choices, module paths, files as memory."""

import itertools
import sys
import types

import numpy as np
import pytest
from scipy.signal import windows

import paddle
from tests._check import check_grad, compare

t = paddle.to_tensor
X = np.arange(12, dtype="float32").reshape(2, 3, 2)


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("FloatTensor", "float32"),
        ("LongTensor", "int64"),
        ("BoolTensor", "bool"),
        ("HalfTensor", "float16"),
        ("ByteTensor", "uint8"),
        ("BFloat16Tensor", "bfloat16"),
    ],
)
def test_constructors_by_type(name, dtype):
    make = getattr(paddle, name)
    for data in ([1, 0, 2], np.array([1, 0, 2]), t([1, 0, 2])):
        out = make(data)
        assert out.dtype.name == dtype
        assert out.astype("float32").tolist() == np.array([1, 0, 2]).astype(dtype if dtype == "bool" else int).tolist()
    assert make(2, 3).shape == [2, 3] and make().shape == [0] and make((2, 1)).shape == [2]
    assert make([1], device="cpu").place.is_cpu_place()
    for wrong in (lambda: make(3.5, 2), lambda: make(foo=1), lambda: make([1], [2])):
        with pytest.raises(TypeError, match=name):
            wrong()


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize(
    "name, reference",
    [
        ("hann_window", "hann"),
        ("hamming_window", "hamming"),
        ("blackman_window", "blackman"),
        ("bartlett_window", "bartlett"),
        ("kaiser_window", ("kaiser", 12.0)),
    ],
)
def test_windows(name, reference, periodic):
    for n in (0, 1, 2, 7):
        got = getattr(paddle, name)(n, periodic, dtype="float64")
        compare(got, windows.get_window(reference, n, periodic) if n else np.ones(0), atol=1e-12)
    assert not getattr(paddle, name)(4, requires_grad=True).stop_gradient
    with pytest.raises(ValueError, match=name):
        getattr(paddle, name)(-1)
    with pytest.raises(TypeError, match=name):
        getattr(paddle, name)(4, dtype="int64")


def test_other_coefficients_of_windows():
    compare(paddle.hamming_window(4, True, 0.5, 0.5), paddle.hann_window(4).numpy())
    compare(paddle.kaiser_window(4, True, 5.0), [0.03671089, 0.55285156, 1, 0.55285156])


@pytest.mark.parametrize(
    "n, r, repeat", [(3, 2, False), (3, 3, True), (2, 3, True), (3, 1, False), (3, 4, False), (0, 2, False)]
)
def test_combinations(n, r, repeat):
    choose = itertools.combinations_with_replacement if repeat else itertools.combinations
    x = np.arange(n) * 10
    got = paddle.combinations(t(x), r, repeat)
    assert got.shape[1] == r and got.tolist() == [list(c) for c in choose(x.tolist(), r)]


def test_combinations_of_nothing_and_errors():
    assert paddle.combinations(t([1, 2]), 0).shape == [0]
    check_grad(lambda x: paddle.combinations(x, 2), np.array([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="combinations"):
        paddle.combinations(t([[1]]))
    for r in (-1, 2.5, True):
        with pytest.raises(ValueError, match="combinations"):
            paddle.combinations(t([1]), r)


@pytest.mark.parametrize("p", [1.0, 2, 3.5, float("inf")])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_renorm(p, axis):
    others = tuple(a for a in range(3) if a != axis % 3)
    norm = (
        (np.abs(X) ** p).sum(others, keepdims=True) ** (1 / p)
        if p != float("inf")
        else np.abs(X).max(others, keepdims=True)
    )
    compare(paddle.renorm(t(X), p, axis, 5.0), np.where(norm > 5, X * 5 / np.maximum(norm, 1e-9), X), rtol=1e-5)
    check_grad(lambda x: paddle.renorm(x, p, axis, 5.0), X + 0.3 * np.cos(np.arange(12)).reshape(X.shape))


def test_renorm_of_zeros_in_place_and_errors():
    x = t(np.zeros((2, 2)), stop_gradient=False)
    paddle.renorm(x, 2.0, 0, 1.0).sum().backward()
    assert x.grad.tolist() == [[1, 1], [1, 1]]
    y = t(X)
    assert paddle.renorm_(y, 1.0, 2, 2.05) is y
    compare(y[0, :, 1], [0.05694444, 0.17083333, 0.28472221])
    for call in (
        lambda: paddle.renorm(t(X), 1.0, 3, 1.0),
        lambda: paddle.renorm(t(X), 0.0, 0, 1.0),
        lambda: paddle.renorm(t(X), 1.0, 0, -1.0),
    ):
        with pytest.raises(ValueError, match="renorm"):
            call()
    with pytest.raises(TypeError, match="renorm"):
        paddle.renorm(t([[1]]), 1.0, 0, 1.0)


def test_top_p_sampling():
    x = t(np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.1, 0.1, 0.7]], "float32"))
    seen = [set(), set()]
    for _ in range(60):
        value, token = paddle.tensor.top_p_sampling(x, t([0.75, 0.6]))
        assert value.tolist() == np.take_along_axis(x.numpy(), token.numpy(), 1).tolist()
        for row in range(2):
            seen[row].add(int(token[row, 0]))
    assert seen == [{0, 1}, {3}]
    many = t(np.tile(x.numpy()[:1], (400, 1)))
    counts = np.bincount(
        paddle.tensor.top_p_sampling(many, paddle.full([400], 0.0), mode="non-truncated")[1].numpy().ravel(),
        minlength=4,
    )
    assert (np.abs(counts / 400 - x.numpy()[0]) < 0.12).all()
    first, second = (paddle.tensor.top_p_sampling(many, paddle.ones([400]), seed=3)[1].tolist() for _ in range(2))
    assert first == second
    seeds = paddle.full([400], 9, "int64")
    assert (
        len(set(map(tuple, paddle.tensor.top_p_sampling(many, paddle.ones([400]), topp_seed=seeds)[1].tolist()))) == 1
    )
    *_, top, ids = paddle.tensor.top_p_sampling(x, t([1.0, 1.0]), k=2, return_top=True)
    compare(top, [[0.5, 0.3], [0.7, 0.1]])
    assert ids[:, 0].tolist() == [0, 3]
    assert set(paddle.tensor.top_p_sampling(many, paddle.ones([400]), paddle.full([400], 0.2))[1].numpy().ravel()) <= {
        0,
        1,
    }
    with pytest.raises(ValueError, match="ps"):
        paddle.tensor.top_p_sampling(x, t([1.0]))
    with pytest.raises(ValueError, match="mode"):
        paddle.tensor.top_p_sampling(x, t([1.0, 1.0]), mode="foo")


def test_shapes_are_lists_that_stay_shapes():
    s = paddle.ones([2, 3]).shape
    for value, want in (
        (s + [1], [2, 3, 1]),
        ([1] + s, [1, 2, 3]),
        ((1,) + s, [1, 2, 3]),
        (s[1:], [3]),
        (s * 2, [2, 3, 2, 3]),
    ):
        assert type(value) is paddle.Size and value == want
    assert s == (2, 3) and s != (2, 4) and s.numel() == 6 and s[0] == 2


def test_data_types_have_official_numbers():
    assert int(paddle.float32) == paddle.float32.value == 10 and paddle.dtype.INT64 is paddle.int64
    assert int(paddle.bool) == 1
    assert paddle.half is paddle.float16 and paddle.cdouble is paddle.complex128
    with pytest.raises((TypeError, ValueError)):
        paddle.zeros([2], paddle.pstring)


def test_the_packages_of_the_official_tree_have_the_functions():
    for name in ("math", "linalg", "creation", "manipulation", "logic", "random", "search", "stat", "attribute", "ops"):
        module = sys.modules[f"paddle.tensor.{name}"]
        functions = [
            (n, f)
            for n, f in vars(module).items()
            if isinstance(f, types.FunctionType) and f.__module__.startswith("paddle.ops")
        ]
        assert functions
        for n, f in functions:
            assert getattr(paddle.tensor, n) is f
            assert getattr(paddle, n, f) is f or n == "sigmoid"
    assert paddle.tensor([1, 2]).tolist() == [1, 2] and paddle.tensor.math.add is paddle.add


def test_arrays():
    a = paddle.tensor.create_array("float32", [paddle.ones([1])])
    paddle.tensor.array_write(paddle.zeros([1]), t(1), a)
    assert int(paddle.tensor.array_length(a)) == 2 and paddle.tensor.array_read(a, t([1])).tolist() == [0]
    for call in (
        lambda: paddle.tensor.array_write(a[0], 5, a),
        lambda: paddle.tensor.array_read(a, 2),
        lambda: paddle.tensor.array_read(a, -1),
    ):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(TypeError):
        paddle.tensor.array_length(paddle.ones([1]))


def test_files_as_memory(tmp_path):
    path = tmp_path / "numbers"
    np.arange(10, dtype="float32").tofile(path)
    storage = paddle.MmapStorage(str(path), 40)
    assert storage.get_slice("float32", 2, 8, 2).tolist() == [2, 4, 6] and storage.get_slice().shape == [40]
    for args in (("float32", 0, 11), ("float32", 3, 2), ("float32", -1)):
        with pytest.raises(ValueError):
            storage.get_slice(*args)
    with pytest.raises(ValueError):
        paddle.MmapStorage(str(path), 41)
    with pytest.raises(FileNotFoundError):
        paddle.MmapStorage(str(tmp_path / "none"), 1)


def test_async_save_keeps_the_values_of_the_call(tmp_path):
    x = paddle.create_parameter([2], "float32")
    x.set_value(np.ones(2, "float32"))
    paddle.async_save({"x": x}, str(tmp_path / "a.pdparams"))
    x.set_value(np.zeros(2, "float32"))
    paddle.async_save({"x": x}, str(tmp_path / "b.pdparams"), sync_other_task=True)
    paddle.clear_async_save_task_queue()
    assert [paddle.load(str(tmp_path / f"{n}.pdparams"))["x"].tolist() for n in "ab"] == [[1, 1], [0, 0]]
    paddle.async_save({"x": x}, str(tmp_path / "no" / "such" / "\0"))
    with pytest.raises(RuntimeError, match="async_save"):
        paddle.clear_async_save_task_queue()


def test_batches_of_readers():
    assert list(paddle.batch(lambda: iter(range(5)), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(paddle.batch(lambda: iter(range(5)), 2, True)()) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError):
        paddle.batch(lambda: iter(()), 0)


def test_hub(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['numpy']\nimport part\n"
        "def double(x=2):\n    'doubles'\n    return x * part.two\n"
        "def _hidden(): pass\n"
    )
    (tmp_path / "part.py").write_text("two = 2\n")
    hub, where = paddle.hub, str(tmp_path)
    assert hub.list(where, source="local") == ["double"] and hub.help(where, "double", source="local") == "doubles"
    assert hub.load(where, "double", source="local", x=21) == 42
    for model in ("nope", "_hidden"):
        with pytest.raises(RuntimeError):
            hub.load(where, model, source="local")
    with pytest.raises(ValueError):
        hub.list(where, source="ftp")
    with pytest.raises(NotImplementedError):
        hub.list("owner/name")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_anywhere']\n")
    with pytest.raises(RuntimeError, match="no_such_package_anywhere"):
        hub.list(where, source="local")
