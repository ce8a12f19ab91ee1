"""The optimiser and its command."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import paddle
import paddlelite as lite
from paddlelite import opt as command
from paddlelite.container import unpack


def outputs(path, x):
    config = lite.MobileConfig()
    config.set_model_from_file(path)
    predictor = lite.create_predictor(config)
    predictor.get_input(0).from_numpy(x)
    predictor.get_input(1).from_numpy(np.arange(len(x)))
    predictor.run()
    return predictor.get_output(0).numpy()


def stored(path):
    about, model = unpack(Path(path).read_bytes())
    return about, onnx.load_from_string(bytes(model))


def types(model):
    return {onnx.helper.tensor_dtype_to_np_dtype(t.data_type).name for t in model.graph.initializer if len(t.dims) == 2}


def rounded(weight, bits):
    """A weight as integers with a scale for each column, and back, by the formula."""
    top = 2 ** (bits - 1) - 1
    step = np.abs(weight).max(0) / top
    return np.rint(weight / step) * step


def test_precisions_of_weights(saved):
    x = np.random.RandomState(1).randn(6, 16).astype("float32")
    w1, b1, w2, b2 = saved.weights

    def by(change):
        return np.maximum(x @ change(w1) + b1, 0) @ change(w2) + b2

    def ints(kind):
        def change(opt):
            opt.set_quant_model(True)
            opt.set_quant_type(kind)

        return change

    half = saved.optimised(lite, "half", change=lambda o: o.enable_fp16())
    about, model = stored(half)
    assert about["precision"] == "fp16" and types(model) == {"float16", "float32"}  # 32 x 4 is too small to halve
    np.testing.assert_allclose(
        outputs(half, x), np.maximum(x @ w1.astype("f2").astype("f4") + b1, 0) @ w2 + b2, rtol=1e-4, atol=1e-5
    )
    eight = saved.optimised(lite, "eight", change=ints("QUANT_INT8"))
    about, model = stored(eight)
    assert about["quantized"] == "int8" and types(model) == {"int8"}
    np.testing.assert_allclose(outputs(eight, x), by(lambda w: rounded(w, 8)), rtol=1e-4, atol=1e-5)
    assert np.abs(outputs(eight, x) - saved(x)).max() > 1e-5
    sixteen = saved.optimised(lite, "sixteen", change=ints(lite.QuantType.QUANT_INT16))
    about, model = stored(sixteen)
    assert about["quantized"] == "int16" and types(model) == {"int16"}
    np.testing.assert_allclose(outputs(sixteen, x), saved(x), rtol=1e-3, atol=1e-3)


def test_weights_out_of_the_range_of_float16_stay(tmp_path):
    layer = paddle.nn.Linear(32, 32)
    layer.weight.set_value(np.full((32, 32), 1e6, "float32"))
    opt = lite.Opt()
    paddle.jit.save(layer, str(tmp_path / "m"), input_spec=[paddle.static.InputSpec([None, 32], "float32", "x")])
    opt.set_model_file(str(tmp_path / "m.pdmodel"))
    opt.set_param_file(str(tmp_path / "m.pdiparams"))
    opt.enable_fp16()
    opt.set_optimize_out(str(tmp_path / "m"))
    assert types(stored(opt.run())[1]) == {"float32"}


def test_batch_normalisation_is_fused(tmp_path):
    net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4), paddle.nn.ReLU())
    net.eval()
    paddle.jit.save(net, str(tmp_path / "model"), input_spec=[paddle.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    opt = lite.Opt()
    opt.set_model_dir(str(tmp_path))
    opt.set_optimize_out(str(tmp_path / "out"))
    opt.record_model_info(True)
    _, model = stored(opt.run())
    assert [n.op_type for n in model.graph.node] == ["Conv", "Relu"]
    assert (tmp_path / ".out.nb.ops").read_text() == "ai.onnx;17;Conv,Relu\n"
    x = np.random.RandomState(0).randn(2, 3, 8, 8).astype("float32")
    config = lite.MobileConfig()
    config.set_model_from_file(tmp_path / "out.nb")
    predictor = lite.create_predictor(config)
    predictor.get_input(0).from_numpy(x)
    predictor.run()
    np.testing.assert_allclose(predictor.get_output(0).numpy(), net(paddle.to_tensor(x)).numpy(), rtol=1e-4, atol=1e-5)


def test_quantised_models_keep_their_integers(tmp_path):
    from paddle.quantization import PostTrainingStaticQuant

    net = paddle.nn.Sequential(paddle.nn.Linear(16, 32), paddle.nn.ReLU(), paddle.nn.Linear(32, 4))
    net.eval()
    x = np.random.RandomState(0).randn(16, 16).astype("float32")
    quant = PostTrainingStaticQuant()
    quant.quantize(net, data=[paddle.to_tensor(x)], input_spec=[paddle.static.InputSpec([None, 16], "float32", "x")])
    quant.save_quantized_model(str(tmp_path / "model"))
    opt = lite.Opt()
    opt.set_model_dir(str(tmp_path))
    opt.set_quant_model(True)
    opt.set_optimize_out(str(tmp_path / "out"))
    about, model = stored(opt.run())
    assert about["quantized"] == "int8_activations"
    assert {"QuantizeLinear", "DequantizeLinear"} <= {n.op_type for n in model.graph.node}
    config = lite.MobileConfig()
    config.set_model_from_file(tmp_path / "out.nb")
    predictor = lite.create_predictor(config)
    predictor.get_input(0).from_numpy(x)
    predictor.run()
    want = net(paddle.to_tensor(x)).numpy()
    assert np.abs(predictor.get_output(0).numpy() - want).max() < 0.05 * np.abs(want).max()


def test_plain_onnx(saved):
    path = saved.optimised(lite, "plain", change=lambda o: o.set_model_type("onnx"))
    assert path.endswith("plain.onnx")
    x = np.random.RandomState(1).randn(3, 16).astype("float32")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x, "ids": np.arange(3)})[0], saved(x), rtol=1e-4, atol=1e-5)


def test_the_same_model_gives_the_same_file(saved):
    first = Path(saved.optimised(lite, "same")).read_bytes()
    assert Path(saved.optimised(lite, "same")).read_bytes() == first


def test_wrong_settings(saved, tmp_path):
    opt = lite.Opt()
    with pytest.raises(ValueError, match="no output is named"):
        opt.run()
    opt.set_optimize_out(str(tmp_path / "out"))
    with pytest.raises(ValueError, match="no model is named"):
        opt.run()
    opt.set_model_file(str(tmp_path / "gone.pdmodel"))
    with pytest.raises(FileNotFoundError, match="gone.pdmodel"):
        opt.run()
    (tmp_path / "noise.pdmodel").write_bytes(b"noise")
    opt.set_model_file(str(tmp_path / "noise.pdmodel"))
    opt.set_param_file(saved.params)
    with pytest.raises(ValueError):
        opt.run()
    with pytest.raises(ValueError, match="'abacus'.*arm"):
        opt.set_valid_places("arm,abacus")
    for wrong in ("", [], None, 3, [lite.TargetType.Unk]):
        with pytest.raises(ValueError, match="set_valid_places"):
            opt.set_valid_places(wrong)
    for wrong in ("tar", None):
        with pytest.raises(ValueError, match="naive_buffer"):
            opt.set_model_type(wrong)
    with pytest.raises(NotImplementedError, match="protobuf"):
        opt.set_model_type("protobuf")
    with pytest.raises(NotImplementedError, match="sparse"):
        opt.set_sparse_model(True)
    with pytest.raises(ValueError, match="QUANT_INT8"):
        opt.set_quant_type("QUANT_INT4")
    with pytest.raises(TypeError, match="set_model_file"):
        opt.set_model_file(3)
    assert not (tmp_path / "out.nb").exists()


def test_a_failure_keeps_the_old_file(saved, tmp_path, monkeypatch):
    path = Path(saved.optimised(lite, "kept"))
    before = path.read_bytes()

    def broken(about, model):
        raise OSError("no space left")

    monkeypatch.setattr(command, "pack", broken)
    with pytest.raises(OSError, match="no space"):
        saved.optimised(lite, "kept")
    assert path.read_bytes() == before and not list(path.parent.glob(".kept*"))


def test_command(saved, tmp_path, capsys):
    files = [f"--model_file={saved.model}", f"--param_file={saved.params}"]
    out = f"--optimize_out={tmp_path / 'm'}"
    assert (
        command.main([*files, out, "--valid_targets=arm,opencl", "--quant_model=true", "--quant_type=QUANT_INT8"]) == 0
    )
    assert capsys.readouterr().out.strip().endswith("m.nb")
    about, _ = unpack((tmp_path / "m.nb").read_bytes())
    assert about["target"] == ["arm", "opencl"] and about["quantized"] == "int8"
    assert command.main([*files, "--print_model_ops"]) == 0
    assert "relu" in capsys.readouterr().out
    assert command.main(["--print_supported_ops=true"]) == 0
    assert "conv2d" in capsys.readouterr().out
    assert command.main(["--display_kernels"]) == 0
    assert "nnapi" in capsys.readouterr().out
    shown = tmp_path / "shown.txt"
    words = [f"--optimized_nb_model_path={tmp_path / 'm.nb'}", f"--visualization_file_output_path={shown}"]
    assert command.main(words) == 0
    assert "Relu" in shown.read_text()
    assert command.main(files) == 1
    assert "--valid_targets" in capsys.readouterr().out
    assert command.main([*files, out, "--valid_targets=abacus"]) == 1
    assert "abacus" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--quant_model=perhaps"])


def test_command_as_a_program():
    ran = subprocess.run(
        [sys.executable, "-m", "paddlelite.opt", "--display_kernels"],
        capture_output=True, text=True, timeout=120, env={"PYTHONPATH": str(Path(lite.__file__).parents[1])},
    )  # fmt: skip
    assert ran.returncode == 0 and len(ran.stdout.splitlines()) == 13 and not ran.stderr
