"""Functions with odd control flow give what the official package gives eagerly (`odd_official.json` was recorded with it),
called as they are and as programs."""

import json
from pathlib import Path

import numpy as np
import pytest
from jit import _odd

import paddle
from paddle.jit import to_static

OFFICIAL = json.loads(Path(__file__).with_name("odd_official.json").read_text())
INPUTS = [([[-2, -1, 0], [1, 2, 3]], 4), ([[1, -3, -2], [0, -1, -2]], 2)]
ON_HOST = {"append_in_tensor_loop"}  # runs eagerly, as lists that grow do


def plain(value):
    if isinstance(value, paddle.Tensor):
        return value.astype("float64").numpy().round(5).tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def close(got, want):
    if isinstance(want, dict):
        assert got.keys() == want.keys()
        got, want = list(got.values()), list(want.values())
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want)
        for a, b in zip(got, want):
            close(a, b)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", _odd.CASES)
def test_as_officially(name):
    function = _odd.CASES[name]
    static = to_static(function, full_graph=True)
    before = len(paddle.jit.graph_breaks())
    for (data, n), want in zip(INPUTS, OFFICIAL[name], strict=True):
        for call in (function, static):
            close(plain(call(paddle.to_tensor(np.array(data, "float32")), paddle.to_tensor(n))), want)
    assert (len(paddle.jit.graph_breaks()) > before) is (name in ON_HOST)
