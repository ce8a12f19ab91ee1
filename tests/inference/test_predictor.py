"""Predictors: handles, switches, clones in threads, lower precision, hooks, profile, errors."""

import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle import inference
from paddle.static import InputSpec


class Convolutions(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2D(1, 4, 3), nn.BatchNorm2D(4)
        self.second = nn.Linear(4 * 36, 5)

    def forward(self, x):
        h = F.relu(self.norm(self.first(x))).flatten(1)
        return F.softmax(self.second(F.dropout(h, 0.5, training=self.training))), h


class Words(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.out = nn.Embedding(20, 8), nn.LSTM(8, 8), nn.Linear(8, 3)

    def forward(self, i):
        return self.out(self.lstm(self.embedding(i))[1][0][-1])


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


NETWORKS = {
    "convolutions": (Convolutions, InputSpec([None, 1, 8, 8], name="x"), normal(6, 1, 8, 8)),
    "transformer": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1),
        InputSpec([None, 4, 8], name="x"),
        normal(6, 4, 8),
    ),
    "words": (Words, InputSpec([None, 5], "int64", name="x"), np.arange(30).reshape(6, 5) % 20),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """name -> (beginning of the paths, input, what the layer gives)"""
    folder, found = tmp_path_factory.mktemp("models"), {}
    paddle.seed(0)
    for name, (make, spec, x) in NETWORKS.items():
        layer = make()
        for part in layer.sublayers():
            if isinstance(part, nn.BatchNorm2D):
                part._mean.set_value(normal(4))
                part._variance.set_value(np.abs(normal(4)) + 0.5)
        layer.eval()
        paddle.jit.save(layer, str(folder / name), [spec])
        out = layer(paddle.to_tensor(x))
        found[name] = (str(folder / name), x, [np.asarray(t) for t in (out if isinstance(out, tuple) else (out,))])
    return found


def config(path):
    return inference.Config(path + ".pdmodel", path + ".pdiparams")


def run(predictor, x):
    predictor.get_input_handle("x").copy_from_cpu(x)
    assert predictor.run() is True
    return [predictor.get_output_handle(n).copy_to_cpu() for n in predictor.get_output_names()]


def agree(found, wanted, tolerance=1e-5):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a.astype(np.float32), b, rtol=0, atol=tolerance * np.abs(b).max())


def test_handles_tell_shape_and_type_before_a_value(models):
    prefix = models["words"][0]
    predictor = inference.create_predictor(inference.Config(prefix + ".pdmodel", prefix + ".pdiparams"))
    given, found = predictor.get_input_handle("x"), predictor.get_output_handle(predictor.get_output_names()[0])
    assert (given.shape(), given.type()) == ([-1, 5], inference.DataType.INT64)
    assert (found.shape(), found.type()) == ([-1, 3], inference.DataType.FLOAT32)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("passes", [True, False])
def test_results_are_those_of_the_layer(models, name, passes):
    path, x, wanted = models[name]
    settings = config(path)
    settings.switch_ir_optim(passes)
    predictor = inference.create_predictor(settings)
    agree(run(predictor, x), wanted)
    agree(run(predictor, x[:2]), [w[:2] for w in wanted])
    agree([t.numpy() for t in predictor.run([paddle.to_tensor(x)])], wanted)
    assert [a.shape[0] for a in run(predictor, x[:0])] == [0] * len(wanted)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("precision", "tolerance"), [("Half", 5e-3), ("Bfloat16", 4e-2)])
def test_mixed_precision(models, tmp_path, name, precision, tolerance):
    path, x, wanted = models[name]
    made = str(tmp_path / "low" / "model")
    kind = getattr(inference.PrecisionType, precision)
    inference.convert_to_mixed_precision(
        path + ".pdmodel", path + ".pdiparams", made + ".pdmodel", made + ".pdiparams", kind, inference.PlaceType.CPU
    )
    found = run(inference.create_predictor(config(made)), x)
    assert [a.dtype for a in found] == [w.dtype for w in wanted]
    agree(found, wanted, tolerance)
    sizes = [os.path.getsize(p + ".pdiparams") for p in (made, path)]
    assert sizes[0] < 0.7 * sizes[1]
    with pytest.raises(AssertionError):
        agree(found, wanted, 1e-7)


def test_an_input_that_stays_in_full_precision_is_not_rounded(tmp_path):
    path = str(tmp_path / "m")

    def function(x):
        return F.linear(x, paddle.ones([4, 4])), paddle.exp(x)

    paddle.jit.save(paddle.jit.to_static(function, input_spec=[InputSpec([None, 4], name="x")]), path)
    inference.convert_to_mixed_precision(
        path + ".pdmodel", path + ".pdiparams", path + "2.pdmodel", path + "2.pdiparams",
        inference.PrecisionType.Bfloat16, inference.PlaceType.CPU,
    )  # fmt: skip
    x = normal(3, 4)
    np.testing.assert_allclose(run(inference.create_predictor(config(path + "2")), x)[1], np.exp(x), rtol=1e-6)


def test_shape_buckets(models, monkeypatch):
    monkeypatch.setenv("PADDLE_XLA_BUCKETS", "4,8")
    path, x, wanted = models["convolutions"]
    predictor = inference.create_predictor(config(path))
    for n in (1, 3, 6):
        agree(run(predictor, x[:n]), [w[:n] for w in wanted])
        agree([t.numpy() for t in predictor.run([paddle.to_tensor(x[:n])])], [w[:n] for w in wanted])


def test_clones_in_threads(models):
    path, x, wanted = models["convolutions"]
    pool = inference.PredictorPool(config(path), 3)
    wrong = []

    def work(i):
        predictor = pool.retrieve(i) if i < 3 else pool.retrieve(0).clone()
        for k in range(8):
            n = 1 + (i + k) % 5
            try:
                agree(run(predictor, x[i : i + n]), [w[i : i + n] for w in wanted])
            except BaseException as e:
                wrong.append((i, k, repr(e)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_hooks_and_profile(models, capsys):
    path, x, wanted = models["convolutions"]
    settings = config(path)
    settings.enable_profile()
    predictor = inference.create_predictor(settings)
    seen = {"input": [], "output": []}
    predictor.register_input_hook(lambda *a: seen["input"].append(a))
    predictor.register_output_hook(lambda *a: seen["output"].append(a))
    agree(run(predictor, x), wanted)
    kind, name, tensor = seen["output"][-1]
    assert kind == "softmax" and name and tensor.shape == [6, 5]
    assert ("conv2d", "x") in [a[:2] for a in seen["input"]]
    clone = predictor.clone()
    run(clone, x)
    for each in (predictor, clone):
        rows = [r.split()[0] for r in each.profile_table().splitlines()]
        assert rows[0] == "operator" and {"conv2d", "linear", "softmax"} <= set(rows)
    with pytest.raises(TypeError, match="register_output_hook"):
        predictor.register_output_hook(None)

    def wrong(*args):
        raise KeyError("mine")

    predictor.register_output_hook(wrong)
    with pytest.raises(KeyError, match="mine"):
        run(predictor, x)


def test_wrong_inputs(models):
    path, x, _ = models["convolutions"]
    predictor = inference.create_predictor(config(path))
    given, out = predictor.get_input_handle("x"), predictor.get_output_handle(predictor.get_output_names()[0])
    for call, kind, match in (
        (predictor.run, RuntimeError, "'x' has no value"),
        (out.copy_to_cpu, RuntimeError, "run the predictor first"),
        (lambda: out.copy_from_cpu(x), ValueError, "is an output"),
        (lambda: predictor.get_input_handle("y"), ValueError, "no input 'y'; it has x"),
        (lambda: predictor.get_output_handle([1]), ValueError, "no output"),
        (lambda: given.copy_from_cpu([1.0]), TypeError, "numpy.ndarray"),
        (lambda: given.copy_from_cpu(x.astype(np.float64)), ValueError, "float32, got float64"),
        (lambda: given.copy_from_cpu(x[0]), ValueError, r"got \[1, 8, 8\]"),
        (lambda: given.reshape("a"), TypeError, "list of ints"),
        (lambda: given.share_external_data(3), TypeError, "an array is needed"),
        (lambda: predictor.run([]), ValueError, "list of 1"),
        (lambda: predictor.run([None]), TypeError, "an array is needed"),
        (lambda: given.set_lod([[0, 1]]), ValueError, "ragged"),
    ):
        with pytest.raises(kind, match=match):
            call()
    agree(run(predictor, x), models["convolutions"][2])


def test_wrong_models_and_settings(models, tmp_path):
    path, other = models["convolutions"][0], models["words"][0]
    create, made = inference.create_predictor, inference.Config
    for call, kind, match in (
        (lambda: create(3), TypeError, "must be a Config"),
        (lambda: create(made()), ValueError, "no model"),
        (lambda: create(made("nowhere.pdmodel", "nowhere.pdiparams")), FileNotFoundError, "nowhere.pdmodel"),
        (lambda: create(made(str(tmp_path))), FileNotFoundError, "holds no model"),
        (lambda: create(made(path + ".pdmodel", other + ".pdiparams")), ValueError, "param"),
        (lambda: create(made(path + ".pdiparams", path + ".pdmodel")), ValueError, "InvalidArgument"),
        (lambda: made(3), TypeError, "path"),
        (lambda: inference.PredictorPool(config(path), 0), ValueError, "positive"),
        (lambda: inference.PredictorPool(config(path)).retrieve("a"), IndexError, "retrieve"),
    ):
        with pytest.raises(kind, match=match):
            call()
    settings = config(path)
    settings.pass_builder().append_pass("nothing_like_this")
    with pytest.raises(ValueError, match="no pass 'nothing_like_this'"):
        create(settings)
    for wrong in (("a", 1, b"", 0), (b"{", 1, b"", 0)):
        with pytest.raises((TypeError, ValueError), match="Invalid"):
            settings.set_model_buffer(*wrong)
            create(settings)
    convert = inference.convert_to_mixed_precision
    files = (path + ".pdmodel", path + ".pdiparams", str(tmp_path / "a"), str(tmp_path / "b"))
    half, cpu = inference.PrecisionType.Half, inference.PlaceType.CPU
    for args, kind in (
        ((*files, inference.PrecisionType.Int8, cpu), ValueError),
        (("nowhere", *files[1:], half, cpu), FileNotFoundError),
        ((None, *files[1:], half, cpu), TypeError),
        ((*files, half, cpu, True, "relu"), TypeError),
    ):
        with pytest.raises(kind, match=r"^\("):
            convert(*args)
    assert not list(tmp_path.iterdir())


def test_every_switch_takes_what_it_gets_or_says_why(models):
    """Whatever a switch is given, it works or raises one of our errors; the model runs afterwards."""
    path, x, wanted = models["convolutions"]
    settings = config(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [
            n for n in dir(settings) if not n.startswith("_") and n[0].islower() and not n.startswith("set_model")
        ]:
            for args in ((), (True,), (1,), ("x",), (None,), (["relu"],)):
                try:
                    getattr(settings, name)(*args)
                except (TypeError, ValueError, NotImplementedError) as e:
                    assert str(e).startswith("("), (name, args, e)
                except ImportError as e:  # a package that is not there
                    assert "pip install" in str(e), (name, args, e)
    settings = config(path)
    settings.enable_memory_optim()
    settings.enable_mkldnn()
    settings.set_cpu_math_library_num_threads(2)
    settings.delete_pass("fold_batch_norm")
    assert "passes" in settings.summary() and settings.cpu_math_library_num_threads() == 2
    agree(run(inference.create_predictor(settings), x), wanted)


def test_a_model_from_memory_and_from_a_folder(models, tmp_path):
    path, x, wanted = models["convolutions"]
    program, params = (Path(path + e).read_bytes() for e in (".pdmodel", ".pdiparams"))
    settings = inference.Config()
    settings.set_model_buffer(program, len(program), params, len(params))
    assert settings.model_from_memory()
    agree(run(inference.create_predictor(settings), x), wanted)
    (tmp_path / "model.pdmodel").write_bytes(program)
    (tmp_path / "model.pdiparams").write_bytes(params)
    agree(run(inference.create_predictor(inference.Config(str(tmp_path))), x), wanted)
