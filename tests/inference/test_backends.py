"""Predictors on ONNX Runtime and OpenVINO give what our own runtime gives; TensorRT as far as it can be seen without a GPU."""

import importlib.util
import threading
import warnings

import numpy as np
import pytest

import paddle
import paddle.nn as nn
from paddle.inference import Config, PrecisionType, PredictorPool, backends, create_predictor
from paddle.static import InputSpec

pytest.importorskip("onnxruntime")
openvino = pytest.mark.skipif(importlib.util.find_spec("openvino") is None, reason="openvino is not installed")
SWITCHES = ["enable_onnxruntime", pytest.param("enable_openvino_engine", marks=openvino)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    paddle.seed(4)
    net = nn.Sequential(
        nn.Conv2D(3, 4, 3, stride=2, padding=1, bias_attr=False), nn.BatchNorm2D(4), nn.Hardswish(), nn.Dropout(0.5),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(4, 5), nn.Softmax(),
    )  # fmt: skip
    net.eval()
    path = str(tmp_path_factory.mktemp("backends") / "model")
    paddle.jit.save(net, path, [InputSpec([None, 3, 8, 8], "float32", "image")])
    return path, net


def pictures(rows, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, 3, 8, 8)).astype("float32")


def config(path, *switches):
    made = Config(path + ".pdmodel", path + ".pdiparams")
    for switch in switches:
        getattr(made, switch)()
    return made


def run(predictor, x):
    handle = predictor.get_input_handle("image")
    handle.reshape(x.shape)
    handle.copy_from_cpu(x)
    assert predictor.run() is True
    return predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()


@pytest.mark.parametrize("switch", SWITCHES)
def test_results_are_ours(model, switch):
    path, net = model
    chosen = config(path, switch)
    chosen.set_cpu_math_library_num_threads(1)
    assert chosen.onnxruntime_enabled() == (switch == "enable_onnxruntime")
    predictor = create_predictor(chosen)
    for rows in (3, 1):
        np.testing.assert_allclose(
            run(predictor, pictures(rows)), net(paddle.to_tensor(pictures(rows))).numpy(), 1e-4, 1e-6
        )
    (out,) = predictor.run([paddle.to_tensor(pictures(2))])
    assert isinstance(out, paddle.Tensor) and out.shape == [2, 5]
    expected = {"enable_onnxruntime": "CPUExecutionProvider", "enable_openvino_engine": "OpenVINO"}[switch]
    assert predictor._model.backend.providers[0] == expected


@pytest.mark.parametrize("switch", SWITCHES)
def test_without_passes_and_in_threads(model, switch):
    path, net = model
    chosen = config(path, switch)
    chosen.switch_ir_optim(False)
    pool = PredictorPool(chosen, 2)
    wrong = []

    def work(number):
        predictor, x = pool.retrieve(number), pictures(2, number)
        wanted = net(paddle.to_tensor(x)).numpy()
        for _ in range(10):
            if np.abs(run(predictor, x) - wanted).max() > 1e-5:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)


def test_switching_off_again(model):
    chosen = config(model[0], "enable_onnxruntime")
    chosen.disable_onnxruntime()
    assert create_predictor(chosen)._model.backend is None


def test_warm_up_and_hooks(model):
    predictor = create_predictor(config(model[0], "enable_onnxruntime", "enable_ort_optimization"))
    assert predictor.warm_up({"image": [2, 3, 8, 8]}) is None
    seen = []
    predictor.register_output_hook(lambda operator, name, tensor: seen.append(operator))
    run(predictor, pictures(1))
    assert "softmax" in seen


@pytest.mark.parametrize(
    "switch, package", [("enable_onnxruntime", "onnxruntime"), ("enable_openvino_engine", "openvino")]
)
def test_a_missing_package_is_named(monkeypatch, switch, package):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == package else found(name, *a))
    with pytest.raises(ImportError, match=f"{switch}.*pip install {package}"):
        getattr(Config(), switch)()


def test_operators_that_onnx_lacks_are_named(tmp_path):
    path = str(tmp_path / "model")
    paddle.jit.save(paddle.jit.to_static(lambda x: paddle.digamma(x)), path, [InputSpec([3], "float32", "x")])
    with pytest.raises(NotImplementedError, match="digamma"):
        create_predictor(config(path, "enable_onnxruntime"))


def test_tensorrt_without_a_gpu_warns_and_keeps_its_options(model, tmp_path):
    path, net = model
    chosen = config(path)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        chosen.enable_tensorrt_engine(1 << 20, 8, 5, PrecisionType.Half, use_static=True)
    assert not seen or "XLA runs the model" in str(seen[0].message)  # once in a process
    assert not chosen.tensorrt_engine_enabled()
    chosen.set_trt_dynamic_shape_info({"image": [1, 3, 8, 8]}, {"image": [8, 3, 8, 8]}, {"image": [4, 3, 8, 8]})
    chosen.set_optim_cache_dir(str(tmp_path / "engines"))
    options = backends.tensorrt_options(chosen)
    assert options["trt_fp16_enable"] and options["trt_engine_cache_enable"]
    assert options["trt_engine_cache_path"] == str(tmp_path / "engines") and options["trt_min_subgraph_size"] == 5
    assert options["trt_profile_max_shapes"] == "image:8x3x8x8"
    np.testing.assert_allclose(
        run(create_predictor(chosen), pictures(2)), net(paddle.to_tensor(pictures(2))).numpy(), 1e-4
    )
