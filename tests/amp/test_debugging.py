"""Tools that find where numbers go wrong."""

import numpy as np
import pytest

import paddle
from paddle.amp import debugging


def test_check_numerics_counts(capsys):
    x = paddle.to_tensor([1.0, float("nan"), 0.0, float("inf")])
    counts, values = debugging.check_numerics(x, "op", "x", debugging.DebugMode.CHECK_NAN_INF)
    assert counts.tolist() == [1, 1, 1] and counts.dtype is paddle.int64
    assert values.tolist()[:2] == [np.inf, 0.0] and np.isnan(values.tolist()[2])
    assert "num_nan=1" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="tensor=x"):
        debugging.check_numerics(x, "op", "x")
    with pytest.raises(TypeError):
        debugging.check_numerics(paddle.ones([1], "int32"), "op", "x")
    assert debugging.check_numerics(paddle.zeros([0]), "op", "x")[0].tolist() == [0, 0, 0]


def test_operator_statistics_by_type(capsys):
    x = paddle.ones([2, 2])
    with debugging.collect_operator_stats():
        with paddle.amp.auto_cast(dtype="bfloat16"):
            paddle.matmul(x, x).exp()
    paddle.matmul(x, x)
    rows = [line.replace("|", " ").split() for line in capsys.readouterr().out.splitlines()]
    assert ["matmul", "0", "1", "0", "0"] in rows
    assert ["exp", "0", "0", "1", "0"] in rows


def test_tensor_checker_with_lists_and_steps():
    x = paddle.to_tensor([1.0, 0.0])
    config = debugging.TensorCheckerConfig(enable=True, skipped_op_list=["elementwise_div"])
    debugging.enable_tensor_checker(config)
    try:
        x / x
        with pytest.raises(RuntimeError, match="log"):
            (x - 1).log()
    finally:
        debugging.disable_tensor_checker()
    x / x
    config = debugging.TensorCheckerConfig(enable=True, debug_step=[1, 2])
    found = []
    for _ in range(3):
        debugging.enable_tensor_checker(config)
        try:
            x / x
            found.append("passed")
        except RuntimeError:
            found.append("raised")
    debugging.disable_tensor_checker()
    assert found == ["passed", "raised", "passed"]


def test_check_layer_numerics():
    class Log(paddle.nn.Layer):
        @debugging.check_layer_numerics
        def forward(self, x):
            return x.log()

    assert Log()(paddle.ones([1])).tolist() == [0.0]
    with pytest.raises(RuntimeError, match="log"):
        Log()(paddle.zeros([1]))
    with pytest.raises(RuntimeError, match="input"):
        Log()(paddle.to_tensor([float("nan")]))
    with pytest.raises(RuntimeError, match="first input"):
        Log()(3)


def test_what_is_not_built_says_so():
    with pytest.raises(NotImplementedError):
        debugging.compare_accuracy("a", "b", "c")
    with pytest.raises(NotImplementedError):
        debugging.TensorCheckerConfig(enable=True, output_dir="x")
    with pytest.raises(ValueError):
        debugging.TensorCheckerConfig(enable=True, debug_step=3)
    with pytest.raises(AssertionError):
        debugging.TensorCheckerConfig(enable=True, debug_step=[3, 1])
