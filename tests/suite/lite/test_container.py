"""The `.nb` file: what is damaged or lies is refused, wherever it is cut."""

import json
import os
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paddlelite as lite
from paddlelite.container import HEAD, MAGIC, pack, unpack, unpack_file

ABOUT = {"target": ["arm"], "precision": "fp32", "quantized": "", "inputs": [], "outputs": []}


def load(data):
    config = lite.MobileConfig()
    config.set_model_from_buffer(data)
    return lite.create_predictor(config)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def test_comes_back(saved):
    about, model = unpack(pack(ABOUT, b"model"))
    assert about == ABOUT and bytes(model) == b"model"
    about, model = unpack_file(saved.nb, "test")
    assert (about, model) == unpack(contents(saved.nb))
    assert about["target"] == ["x86"]
    assert about["inputs"] == [
        {"name": "x", "dtype": "float32", "shape": [-1, 16]},
        {"name": "ids", "dtype": "int64", "shape": [-1]},
    ]
    assert [r["dtype"] for r in about["outputs"]] == ["float32", "int64"]


def test_is_refused_at_every_cut(saved, tmp_path):
    data = contents(saved.nb)
    path = tmp_path / "cut.nb"
    path.write_bytes(data)
    for length in reversed(range(len(data))):
        with pytest.raises(ValueError, match="damaged|no .nb file"):
            unpack(data[:length])
        os.truncate(path, length)
        with pytest.raises(ValueError, match="cut.nb.*(damaged|no .nb file)|cut.nb is no .nb file"):
            unpack_file(path, "test")
    with pytest.raises(ValueError, match="damaged"):
        unpack(data + b"x")


@given(st.data())
def test_is_refused_with_any_byte_changed(data):
    whole = bytearray(pack(ABOUT, bytes(range(64))))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="damaged|no .nb file"):
        unpack(bytes(whole))


@given(st.binary(max_size=200))
def test_noise_is_refused(noise):
    with pytest.raises(ValueError):
        unpack(MAGIC + noise)


def forged(text, model=b"", sizes=None):
    about, size = sizes or (len(text), len(model))
    start = HEAD.pack(MAGIC, about, size, 0)[:-4]
    return start + zlib.crc32(start + text + model).to_bytes(4, "little") + text + model


@pytest.mark.parametrize("sizes", [(2**32 - 1, 0), (0, 2**64 - 1), (2, 2**63), (0, 0), (2, 1)])
def test_lying_lengths_are_refused_without_taking_memory(sizes):
    with pytest.raises(ValueError, match="damaged"):
        unpack(forged(b"{}", b"", sizes))


def test_another_division_of_the_same_bytes_is_refused():
    whole = pack(ABOUT, b"model")
    size = int.from_bytes(whole[8:12], "little")
    moved = whole[:8] + (size + 1).to_bytes(4, "little") + (4).to_bytes(8, "little") + whole[20:]
    with pytest.raises(ValueError, match="checksum"):
        unpack(moved)


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"[]", b"null", b"{}", b"[" * 100_000]
    + [
        json.dumps({**ABOUT, **change}).encode()
        for change in (
            {"target": "arm"}, {"target": []}, {"target": [1]}, {"precision": "fp7"}, {"precision": None}, {"precision": []},
            {"quantized": {}}, {"inputs": 3}, {"inputs": [{}]}, {"inputs": [{"name": "x", "dtype": "float32", "shape": [-2]}]},
            {"outputs": [{"name": "x", "dtype": "float32", "shape": [True]}]}, {"outputs": None},
        )
    ],
)  # fmt: skip
def test_impossible_descriptions_are_refused(text):
    with pytest.raises(ValueError, match="description"):
        unpack(forged(text))


@pytest.mark.parametrize("field", ["inputs", "outputs"])
@pytest.mark.parametrize("change", [{"name": "other"}, {"dtype": "int32"}, {"shape": [-1, 17]}, None])
def test_descriptions_that_are_not_the_models_are_refused(saved, field, change):
    about, model = unpack(contents(saved.nb))
    rows = [dict(r) for r in about[field]]
    rows = rows[1:] if change is None else [{**rows[0], **change}, *rows[1:]]
    with pytest.raises(ValueError, match=f"its {field} are not the model's"):
        load(pack({**about, field: rows}, bytes(model)))


def test_unknown_targets_and_broken_models_are_refused(saved):
    about, model = unpack(contents(saved.nb))
    with pytest.raises(ValueError, match="abacus"):
        load(pack({**about, "target": ["abacus"]}, bytes(model)))
    for broken in (b"", b"model", bytes(model[: len(model) // 2])):
        with pytest.raises(ValueError, match="refuses the model"):
            load(pack(about, broken))


def test_buffers_of_all_kinds(saved):
    data = contents(saved.nb)
    for buffer in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        assert load(buffer).get_input_names() == ["x", "ids"]
    config = lite.MobileConfig()
    config.set_model_from_buffer(data + b"more", len(data))
    assert lite.create_predictor(config).get_output_names()
    with pytest.raises(ValueError, match="the buffer has 3 bytes"):
        config.set_model_from_buffer(b"abc", 4)
    with pytest.raises(ValueError):
        config.set_model_from_buffer(b"abc", -1)
    for wrong in ("text", 3, None):
        with pytest.raises(TypeError, match="set_model_from_buffer"):
            config.set_model_from_buffer(wrong)
