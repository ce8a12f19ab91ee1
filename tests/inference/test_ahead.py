"""Predictors that compile before the first run, and processes that find what others compiled."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.inference import Config, create_predictor
from paddle.static import InputSpec
from paddle.utils import count_compiles

ROOT = Path(__file__).parents[2]
SECOND = """
import sys, numpy as np, paddle
from paddle.utils import count_compiles
predictor = paddle.inference.create_predictor(paddle.inference.Config(sys.argv[1] + ".pdmodel", sys.argv[1] + ".pdiparams"))
with count_compiles() as count:
    predictor.warm_up({"x": [3, 4]})
print(count.names.count("jit(program)"), count.compiles - count.cache_hits)
with count_compiles() as count:
    predictor.get_input_handle("x").copy_from_cpu(np.ones((3, 4), np.float32))
    predictor.run()
print(count.compiles)
"""


@pytest.fixture
def predictor(tmp_path):
    paddle.jit.save(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), str(tmp_path / "m"), [S([None, 4])])
    return create_predictor(Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams")))


def S(shape):
    return InputSpec(shape, "float32", "x")


def test_the_first_run_of_a_second_process_compiles_nothing_anew(tmp_path):
    paddle.jit.save(nn.Linear(4, 2), str(tmp_path / "m"), [S([None, 4])])
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PADDLE_XLA_CACHE_DIR": str(tmp_path / "cache")}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    told = []
    for _ in range(2):
        command = [sys.executable, "-c", SECOND, str(tmp_path / "m")]
        told.append(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.split())
    assert told[0][0] == "1" and told[0][1] != "0" and told[0][2] == "0"
    assert told[1] == ["1", "0", "0"]  # one executable, which came from the cache; then none


@pytest.mark.parametrize("background", [False, True])
def test_a_run_and_clones_use_what_was_compiled(predictor, background):
    x = np.random.RandomState(0).randn(5, 4).astype("float32")
    want = predictor.run([paddle.to_tensor(x)])[0].numpy()
    thread = predictor.warm_up({"x": [6, 4]}, background=background)
    assert (thread is not None) is background
    if background:
        thread.join()
    clone = predictor.clone()
    with count_compiles() as count:
        clone.get_input_handle("x").copy_from_cpu(np.concatenate([x, x[:1]]))
        clone.run()
    assert count.compiles == 0
    found = clone.get_output_handle(clone.get_output_names()[0]).copy_to_cpu()
    np.testing.assert_allclose(found[:5], want, rtol=1e-5, atol=1e-6)


def test_buckets_are_compiled_ahead(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_XLA_BUCKETS", "8,16")
    paddle.jit.save(nn.Linear(4, 2), str(tmp_path / "m"), [S([None, 4])])
    predictor = create_predictor(Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams")))
    predictor.warm_up({"x": [5, 4]})
    with count_compiles() as count:
        predictor.run([paddle.ones([8, 4])])
    assert "jit(program)" not in count.names


@pytest.mark.parametrize(
    "shapes, kind, text",
    [
        (None, ValueError, "'x' has shape"),
        ({"x": [3, 5]}, ValueError, "'x' has shape"),
        ({"x": [3]}, ValueError, "'x' has shape"),
        ({"x": [-1, 4]}, ValueError, "'x' has shape"),
        ({"x": [3, 4], "z": [1]}, ValueError, "no input 'z'"),
        ([3, 4], TypeError, "a dict of shapes"),
    ],
)
def test_wrong_shapes(predictor, shapes, kind, text):
    with pytest.raises(kind, match=text):
        predictor.warm_up(shapes)


def test_operators_on_the_host_are_named(tmp_path):
    paddle.jit.save(paddle.jit.to_static(lambda x: paddle.nonzero(x)), str(tmp_path / "m"), [S([4])])
    predictor = create_predictor(Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams")))
    with pytest.raises(NotImplementedError, match="operator nonzero runs on the host"):
        predictor.warm_up()
