"""paddle.incubate: autotune, inference, multiprocessing."""

import json
import pickle

import pytest

import paddle
from paddle.incubate import autotune, jit, multiprocessing


def test_autotune_checks_its_settings(tmp_path):
    autotune.set_config()
    path = tmp_path / "tune.json"
    path.write_text(json.dumps({"kernel": {"enable": True, "tuning_range": [1, 3]}}))
    autotune.set_config(str(path))
    with pytest.warns(UserWarning, match="cannot be read"):
        autotune.set_config(str(tmp_path / "absent.json"))
    with pytest.raises(TypeError):
        autotune.set_config({"kernel": 3})


def test_inference():
    layer = paddle.nn.Linear(2, 2)
    assert not jit.is_inference_mode(layer) and not layer(paddle.ones([1, 2])).stop_gradient
    same = jit.inference(layer)
    assert same is layer and jit.is_inference_mode(layer) and layer(paddle.ones([1, 2])).stop_gradient
    double = paddle.incubate.inference(cache_static_model=True)(lambda x: x * 2)
    assert jit.is_inference_mode(double) and double(paddle.ones([1])).tolist() == [2.0]


def test_tensors_in_queues():
    multiprocessing.init_reductions()
    assert multiprocessing.Queue is not None
    assert pickle.loads(pickle.dumps(paddle.ones([2]))).tolist() == [1.0, 1.0]
