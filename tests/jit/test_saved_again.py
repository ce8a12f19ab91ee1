"""Loaded models as parts of other programs: saved again, trained, in static programs."""

import numpy as np
import pytest

import paddle
from paddle.static import InputSpec

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
SPEC = [InputSpec([None, 3], name="x")]


def controls(x):
    n = paddle.zeros([], "int32")
    if x.sum() > 0:
        x = x * 2
    while n < 3:
        x = x + x.mean()
        n = n + 1
    return x


def open_lengths(x):
    n = x.shape[0]
    y = paddle.concat([x.reshape([n, -1]) * n, paddle.zeros([n * 2 + 1, 3])])
    return y[: n + 1] + paddle.full([paddle.shape(x)[0] + 1, 1], 1.0)


def result_and_gradient(function, x):
    x = paddle.to_tensor(x)
    x.stop_gradient = False
    y = function(x)
    (y * y).sum().backward()
    return np.asarray(y), np.asarray(x.grad)


@pytest.mark.parametrize("function", [controls, open_lengths])
def test_loaded_models_are_those_that_were_saved(function, tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    paddle.jit.save(paddle.jit.to_static(function), first, SPEC)
    loaded = paddle.jit.load(first)
    paddle.jit.save(loaded, second, SPEC)
    before = paddle.jit.graph_breaks()
    for other in (loaded, paddle.jit.load(second), paddle.jit.to_static(lambda x: loaded(x) * 1)):
        for x in (X, -X, X[:1]):
            for a, b in zip(result_and_gradient(other, x), result_and_gradient(function, x)):
                np.testing.assert_allclose(a, b, rtol=1e-6)
    assert paddle.jit.graph_breaks() == before


def test_in_a_static_program(tmp_path):
    path = str(tmp_path / "m")
    paddle.jit.save(paddle.jit.to_static(controls), path, SPEC)
    loaded = paddle.jit.load(path)
    wanted = result_and_gradient(controls, X)
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [None, 3])
            x.stop_gradient = False
            y = loaded(x)
            gradient = paddle.static.gradients([(y * y).sum()], [x])
        found = paddle.static.Executor().run(main, feed={"x": X}, fetch_list=[y, *gradient])
    finally:
        paddle.disable_static()
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-6)
