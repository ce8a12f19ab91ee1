"""Save and load: round trips, the official byte format in both directions, atomic replacement, clear errors."""

import collections
import io
import os
import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

# What the official package (3.3.1) writes for {"w": ones [2, 2] named linear_0.w_0, "b": bfloat16 [1, 2] named b_0},
# the pickle reduced to its parts: a dict of arrays, bfloat16 as uint16, and a table of names.
OFFICIAL_STATE = {
    "w": np.ones((2, 2), "float32"),
    "b": np.array([16256, 16384], "uint16"),
    "StructuredToParameterName@@": {"w": "linear_0.w_0", "b": "b_0"},
}
# And for a tensor alone: the 222 bytes of paddle.save(paddle.to_tensor([1., 2.]), path).
OFFICIAL_TENSOR = (
    b"\x80\x04\x95\xc1\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins\x94\x8c\x05tuple\x94\x93\x94\x8c\x12generated_"
    b"tensor_0\x94\x8c\x16numpy._core.multiarray\x94\x8c\x0c_reconstruct\x94\x93\x94\x8c\x05numpy\x94\x8c\x07ndarray"
    b"\x94\x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94(K\x01K\x02\x85\x94h\x07\x8c\x05dtype\x94\x93\x94\x8c\x02f4"
    b"\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b\x89C\x08\x00"
    b"\x00\x80?\x00\x00\x00@\x94t\x94b\x86\x94\x85\x94R\x94."
)


def through(obj, **configs):
    buffer = io.BytesIO()
    paddle.save(obj, buffer)
    buffer.seek(0)
    return paddle.load(buffer, **configs)


def written(obj, **kwargs):
    buffer = io.BytesIO()
    paddle.save(obj, buffer, **kwargs)
    return pickle.loads(buffer.getvalue())


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint32",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "float8_e4m3fn",
        "float8_e5m2",
    ],
)
@pytest.mark.parametrize("shape", [[], [3], [0, 2], [2, 3]])
def test_every_dtype_and_shape_comes_back(dtype, shape):
    x = paddle.full(shape, 1.0).astype(dtype)
    for got in (through(x), through({"x": x})["x"], through([x, 1])[0]):
        assert got.dtype is x.dtype and got.shape == shape and got.stop_gradient
        assert np.array_equal(got.astype("complex128").numpy(), x.astype("complex128").numpy())


def test_a_state_dict_is_written_as_officially():
    state = {"w": paddle.ones([2, 2]), "b": paddle.to_tensor([1.0, 2.0]).astype("bfloat16")}
    state["w"].name, state["b"].name = "linear_0.w_0", "b_0"
    got = written(state)
    assert (
        list(got) == list(OFFICIAL_STATE)
        and got["StructuredToParameterName@@"] == OFFICIAL_STATE["StructuredToParameterName@@"]
    )
    for key in "wb":
        assert got[key].dtype == OFFICIAL_STATE[key].dtype and np.array_equal(got[key], OFFICIAL_STATE[key])


def test_an_official_state_dict_is_read():
    for protocol in (2, 4):
        got = paddle.load(io.BytesIO(pickle.dumps(OFFICIAL_STATE, protocol)))
        assert list(got) == ["w", "b"] and got["w"].name == "linear_0.w_0"
        assert got["b"].dtype is paddle.bfloat16 and got["b"].astype("float32").tolist() == [1.0, 2.0]
    kept = paddle.load(io.BytesIO(pickle.dumps(OFFICIAL_STATE)), keep_name_table=True)
    assert kept["StructuredToParameterName@@"]["b"] == "b_0"
    raw = paddle.load(io.BytesIO(pickle.dumps(OFFICIAL_STATE)), return_numpy=True)
    assert raw["b"].dtype == np.uint16 and raw["w"].flags.writeable


def test_an_official_tensor_is_read():
    got = paddle.load(io.BytesIO(OFFICIAL_TENSOR))
    assert got.tolist() == [1.0, 2.0] and got.name == "generated_tensor_0"


def test_optimizer_state_keeps_its_scheduler():
    state = {"w_moment1_0": paddle.ones([2]), "LR_Scheduler": {"last_epoch": 3, "last_lr": 0.1}}
    assert isinstance(written(state)["w_moment1_0"], np.ndarray)
    assert through(state)["LR_Scheduler"] == {"last_epoch": 3, "last_lr": 0.1}
    master = {"w": paddle.ones([2]), "master_weights": {"w": paddle.ones([2], "float32")}}
    assert through(master)["master_weights"]["w"].tolist() == [1.0, 1.0]


def test_nested_objects_keep_arrays_beside_tensors():
    obj = {
        "t": paddle.ones([2]),
        "n": np.arange(3),
        "l": [1, "a", (paddle.zeros([1]), None)],
        "c": 1 + 2j,
        "s": {1, 2},
        "o": collections.OrderedDict(b=1, a=paddle.ones([1])),
        "scalar": np.float32(2),
        "slice": slice(1, 2),
        "bytes": b"x",
    }
    got = through(obj)
    assert isinstance(got["n"], np.ndarray) and got["n"].tolist() == [0, 1, 2]
    assert isinstance(got["l"][2], tuple) and got["l"][2][0].tolist() == [0.0] and list(got["o"]) == ["b", "a"]
    assert isinstance(got["o"], collections.OrderedDict) and got["scalar"] == np.float32(2) and got["bytes"] == b"x"
    assert (got["c"], got["s"], got["slice"], got["l"][:2]) == (1 + 2j, {1, 2}, slice(1, 2), [1, "a"])
    # a pair of name and array is how a tensor is stored, also for the official reader
    assert isinstance(written(obj)["t"], tuple) and isinstance(written(obj)["t"][0], str)
    assert isinstance(through(obj, return_numpy=True)["t"], np.ndarray)
    # without tensors anywhere, arrays are taken for tensors, as officially
    assert isinstance(through({"a": [np.ones(2)]})["a"][0], paddle.Tensor)


def test_shared_objects_and_orders_of_bytes():
    shared = (np.ones(2), [1])
    got = paddle.load(io.BytesIO(pickle.dumps({"a": shared, "b": shared})))
    assert got["a"] is got["b"]
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert np.array_equal(through([array])[0].numpy(), array)
    swapped = pickle.dumps(np.arange(3).astype(">i4"))
    assert paddle.load(io.BytesIO(swapped)).tolist() == [0, 1, 2]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers(), max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(plain, st.sampled_from([2, 3, 4]))
def test_plain_objects_come_back_equal(obj, protocol):
    buffer = io.BytesIO()
    paddle.save(obj, buffer, protocol=protocol)
    buffer.seek(0)
    assert paddle.load(buffer) == obj


def test_safetensors(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    path = str(tmp_path / "x.safetensors")
    state = {
        "a": paddle.ones([2, 3]),
        "b": paddle.to_tensor([1.0, 2.0]).astype("bfloat16"),
        "c": paddle.to_tensor(3),
        "f8": paddle.ones([2]).astype("float8_e4m3fn"),
        "t": paddle.arange(6).reshape([2, 3]).transpose([1, 0]),
    }
    paddle.save(state, path)
    got = paddle.load(path)
    assert {k: (v.dtype, v.shape) for k, v in got.items()} == {k: (v.dtype, v.shape) for k, v in state.items()}
    assert got["t"].tolist() == [[0, 3], [1, 4], [2, 5]] and got["b"].astype("float32").tolist() == [1.0, 2.0]
    library.save_file({"z": np.arange(4.0)}, path)
    assert paddle.load(path, return_numpy=True)["z"].tolist() == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="flat dict"):
        paddle.save({"a": {"b": paddle.ones([1])}}, path)
    (tmp_path / "bad.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(ValueError, match="no safetensors file"):
        paddle.load(str(tmp_path / "bad.safetensors"))


# ---- files ----
def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "w.pdparams"
    paddle.save({"w": paddle.ones([3])}, str(path))
    code = textwrap.dedent(f"""
        import os, signal, pickle, paddle
        dump = pickle.dump
        def half(obj, f, protocol):
            f.write(b"half"); f.flush(); os.kill(os.getpid(), signal.SIGKILL)
        pickle.dump = half
        paddle.save({{"w": paddle.zeros([3])}}, {str(path)!r})
    """)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=os.path.dirname(os.path.dirname(paddle.__file__)), capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert paddle.load(str(path))["w"].tolist() == [1.0, 1.0, 1.0]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "w.pdparams"
    paddle.save({"w": paddle.ones([1])}, str(path))
    os.chmod(path, 0o640)

    def full(*_):
        raise OSError("no space left on device")

    with monkeypatch.context() as m:
        m.setattr(pickle, "dump", full)
        with pytest.raises(OSError, match="no space"):
            paddle.save({"w": paddle.zeros([1])}, str(path))
    assert os.listdir(tmp_path) == ["w.pdparams"] and paddle.load(path)["w"].item() == 1.0
    paddle.save({"w": paddle.zeros([1])}, path)
    assert paddle.load(path)["w"].item() == 0.0 and os.stat(path).st_mode & 0o777 == 0o640
    link = tmp_path / "link"
    link.symlink_to(path)
    paddle.save({"w": paddle.full([1], 5.0)}, str(link))
    assert link.is_symlink() and paddle.load(path)["w"].item() == 5.0
    paddle.save([1], str(tmp_path / "new" / "folder" / "x"))
    assert paddle.load(str(tmp_path / "new" / "folder" / "x")) == [1]


def test_errors_of_names_and_arguments(tmp_path):
    missing = str(tmp_path / "no.pdparams")
    for kind in (FileNotFoundError, ValueError):
        with pytest.raises(kind, match="no.pdparams"):
            paddle.load(missing)
    for call in (paddle.load, lambda p: paddle.save([1], p)):
        with pytest.raises(IsADirectoryError):
            call(str(tmp_path))
        with pytest.raises(ValueError):
            call("")
        with pytest.raises(ValueError, match="int"):
            call(3)
    for protocol in (1, 5, "4", True, None):
        with pytest.raises(ValueError, match="protocol"):
            paddle.save([1], io.BytesIO(), protocol=protocol)
    with pytest.raises(ValueError, match="foo"):
        paddle.load(missing, foo=1)


@pytest.mark.parametrize(
    "obj, words",
    [
        ({"a": [print]}, r"obj\['a'\]\[0\] is a builtin"),
        ([object()], "object"),
        (np.array([None]), "object"),
        ({"d": paddle.float32}, "DType"),
        (paddle.ones([1]).astype("uint16"), "uint16 means bfloat16"),
        ({(1, (2, object())): 3}, "key"),
    ],
)
def test_what_load_would_refuse_is_not_saved(obj, words):
    with pytest.raises(ValueError, match=words):
        paddle.save(obj, io.BytesIO())


def test_an_object_that_contains_itself_is_not_saved():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        paddle.save(loop, io.BytesIO())
