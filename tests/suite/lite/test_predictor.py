"""Predictors and tensors: right results, and clear errors for wrong calls."""

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paddlelite as lite
from paddlelite import lite as official

RANDOM = np.random.RandomState(0)


def fill(predictor, rows=2):
    x = RANDOM.randn(rows, 16).astype("float32")
    predictor.get_input(0).from_numpy(x)
    predictor.get_input(1).from_numpy(np.arange(rows))
    return x


def check(predictor, saved, x):
    np.testing.assert_allclose(predictor.get_output(0).numpy(), saved(x), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(predictor.get_output(1).numpy(), np.arange(len(x)) + 1)


@pytest.mark.parametrize("rows", [1, 5, 0])
def test_results_are_the_formulas(predictor, saved, rows):
    x = fill(predictor, rows)
    assert predictor.run()
    check(predictor, saved, x)
    assert predictor.get_output(0).shape() == [rows, 4]


def mobile_files(saved):
    config = lite.MobileConfig()
    config.set_model_from_file(saved.model)
    config.set_model_from_file(saved.params, lite.PD_INFER_PARAMS)
    return config


def both_contents(saved):
    model, params = (Path(path).read_bytes() for path in (saved.model, saved.params))
    return model, len(model), params, len(params)


def mobile_contents(saved):
    config = lite.MobileConfig()
    config.set_model_buffer(*both_contents(saved))
    assert config.is_model_from_memory()
    return config


def mobile_folder(saved):
    config = lite.MobileConfig()
    config.set_model_dir(str(saved.folder))
    return config


def cxx_files(saved):
    config = lite.CxxConfig()
    config.set_model_file(saved.model)
    config.set_param_file(saved.params)
    config.set_valid_places([lite.Place(lite.TargetType.X86), lite.Place(lite.TargetType.Host)])
    return config


def cxx_contents(saved):
    config = lite.CxxConfig()
    config.set_model_buffer(lite.CxxModelBuffer(*both_contents(saved)))
    assert config.is_model_from_memory()
    return config


def cxx_passes(saved):
    config = cxx_files(saved)
    config.set_passes_internal(["inference", "dead_code"])
    return config


@pytest.mark.parametrize("make", [mobile_files, mobile_contents, mobile_folder, cxx_files, cxx_contents, cxx_passes])
def test_saved_models_run_directly(saved, make):
    predictor = official.create_paddle_predictor(make(saved))
    x = fill(predictor)
    predictor.run()
    check(predictor, saved, x)


def test_what_is_missing_or_no_model_is_named(saved, tmp_path):
    config = lite.MobileConfig()
    with pytest.raises(ValueError, match="names no model"):
        lite.create_predictor(config)
    config.set_model_from_file(str(tmp_path / "gone.nb"))
    with pytest.raises(FileNotFoundError, match="gone.nb"):
        lite.create_predictor(config)
    config.set_model_from_file(saved.model)
    with pytest.raises(ValueError, match="needs its weights"):
        lite.create_predictor(config)
    config.set_model_from_file(str(tmp_path / "gone.pdiparams"), lite.PD_INFER_PARAMS)
    with pytest.raises(FileNotFoundError, match="gone.pdiparams"):
        lite.create_predictor(config)
    config = lite.MobileConfig()
    config.set_model_from_file(saved.params, lite.PD_INFER_PARAMS)
    with pytest.raises(ValueError, match="but no model"):
        lite.create_predictor(config)
    config.set_model_from_file(str(tmp_path))
    with pytest.raises(OSError, match="cannot be read"):
        config.set_model_from_file(str(tmp_path), lite.PD_INFER_PARAMS)
        lite.create_predictor(config)
    with pytest.raises(ValueError, match="PD_INFER_MODEL"):
        config.set_model_from_file("x", 7)
    for wrong in (None, 3, {}, saved.nb):
        with pytest.raises(TypeError, match="MobileConfig"):
            lite.create_predictor(wrong)


@pytest.mark.parametrize(
    ("array", "error", "text"),
    [
        ([[0.0] * 16], TypeError, "numpy.ndarray"),
        (None, TypeError, "numpy.ndarray"),
        (np.zeros((2, 16)), ValueError, "has type float32, got float64"),
        (np.zeros((2, 16), "int32"), ValueError, "has type float32, got int32"),
        (np.zeros((2, 16), "complex64"), ValueError, "has type float32"),
        (np.zeros((2, 16), object), ValueError, "has type float32"),
        (np.zeros(16, "float32"), ValueError, r"has shape \[-1, 16\], got \[16\]"),
        (np.zeros((2, 15), "float32"), ValueError, r"got \[2, 15\]"),
        (np.zeros((1, 2, 16), "float32"), ValueError, r"got \[1, 2, 16\]"),
        (np.zeros((), "float32"), ValueError, r"got \[\]"),
        (np.broadcast_to(np.float32(0), (2**41, 16)), ValueError, "too many elements"),
    ],
)
def test_wrong_arrays_are_refused(predictor, array, error, text):
    with pytest.raises(error, match=text):
        predictor.get_input(0).from_numpy(array)
    assert not predictor.get_input(0).is_initialized()


def test_any_order_in_memory_and_bytes(predictor, saved):
    x = RANDOM.randn(3, 16).astype("float32")
    predictor.get_input(1).from_numpy(np.arange(3))
    for other in (np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2], x[::-1][::-1], x.astype(">f4")):
        predictor.get_input(0).from_numpy(other)
        predictor.run()
        check(predictor, saved, x)


def test_inputs_and_outputs_are_copies(predictor, saved):
    x = fill(predictor)
    given = x.copy()
    predictor.get_input(0).from_numpy(given)
    given[:] = 0
    predictor.run()
    predictor.get_output(0).numpy()[:] = 0
    predictor.get_input(0).numpy()[:] = 0
    check(predictor, saved, x)
    predictor.run()
    check(predictor, saved, x)


def test_order_of_calls(predictor, saved):
    with pytest.raises(RuntimeError, match="'x' has no value"):
        predictor.run()
    with pytest.raises(RuntimeError, match="run the predictor first"):
        predictor.get_output(0).numpy()
    with pytest.raises(RuntimeError, match="call resize first"):
        predictor.get_input(0).setData([0.0] * 32)
    x = fill(predictor)
    predictor.run()
    predictor.get_input(0).resize([2, 16])  # the same shape: the value stays
    predictor.run()
    check(predictor, saved, x)
    predictor.get_input(0).resize([3, 16])
    with pytest.raises(RuntimeError, match="'x' has no value"):
        predictor.run()
    predictor.try_shrink_memory()
    assert not predictor.get_output(0).is_initialized()


def test_numbers_in_a_row(predictor, saved):
    x = RANDOM.randn(2, 16).astype("float32")
    first, second = predictor.getInput(0), predictor.getInput(1)
    assert first.resize((2, 16)) and first.shape() == [2, 16]
    first.set_float_data(x.reshape(-1).tolist())
    second.resize(np.array([2]))
    second.set_int64_data([0, 1])
    predictor.run()
    check(predictor, saved, x)
    np.testing.assert_array_equal(predictor.getOutput(1).getLongData(), [1, 2])
    assert predictor.getOutput(1).int64_data() == [1, 2]
    assert predictor.get_output(0).float_data() == predictor.get_output(0).numpy().reshape(-1).tolist()
    for call in ("getFloatData", "getIntData", "getByteData", "int32_data", "int8_data", "uint8_data", "float_data"):
        with pytest.raises(ValueError, match="has type int64"):
            getattr(predictor.get_output(1), call)()
    for data, error in (
        ([0.0] * 31, ValueError), ([0.0] * 33, ValueError), ([], ValueError), (x, ValueError),
        (x.reshape(-1).astype("float64"), ValueError), (["a"] * 32, TypeError), (None, TypeError), (object(), TypeError),
    ):  # fmt: skip
        with pytest.raises(error, match="setData"):
            first.setData(data)
    for data in ([0.5, 1.0], [2**70, 1], [1e30, 1.0]):
        with pytest.raises((TypeError, ValueError), match="setData"):
            second.setData(data)
    with pytest.raises(ValueError, match="has type float32"):
        first.set_int32_data([0] * 32)


@pytest.mark.parametrize("shape", [[2], [2, 15], [-1, 16], [2.0, 16], "2", None, [2, 16, 1], [True, 16], [2**50, 16]])
def test_wrong_shapes_are_refused(predictor, shape):
    with pytest.raises((TypeError, ValueError), match="resize"):
        predictor.get_input(0).resize(shape)


def test_outputs_are_read_only(predictor):
    output = predictor.get_output(0)
    assert output.isReadOnly() and not predictor.get_input(0).isReadOnly()
    for call in (lambda: output.resize([2, 4]), lambda: output.from_numpy(np.zeros((2, 4), "f4")),
                 lambda: output.setData([0.0] * 8), lambda: output.set_lod([])):  # fmt: skip
        with pytest.raises(ValueError, match="is an output"):
            call()


def test_tensors_by_number_and_name(predictor):
    assert predictor.get_input_names() == ["x", "ids"]
    assert predictor.get_input_by_name("ids") is predictor.get_input(1)
    name = predictor.get_output_names()[0]
    assert predictor.get_output_by_name(name) is predictor.get_output(0) is predictor.get_tensor(name)
    assert predictor.get_input(0).precision() == lite.PrecisionType.FP32
    assert predictor.get_input(1).precision() == lite.PrecisionType.INT64
    assert predictor.get_input(0).target() == lite.TargetType.Host and predictor.get_input(0).lod() == []
    predictor.get_input(0).set_lod([])
    with pytest.raises(NotImplementedError, match="ragged"):
        predictor.get_input(0).set_lod([[0, 2]])
    for wrong in (2, -1):
        with pytest.raises(IndexError, match="the model has 2"):
            predictor.get_input(wrong)
    for wrong in ("0", 0.0, None, True):
        with pytest.raises(TypeError, match="a number is needed"):
            predictor.get_output(wrong)
    with pytest.raises(ValueError, match="there are x, ids"):
        predictor.get_input_by_name("y")


def test_what_fails_inside_leaves_no_old_results(saved, tmp_path):
    import paddle

    class Sum(paddle.nn.Layer):
        def forward(self, a, b):
            return a + b

    specs = [paddle.static.InputSpec([None], "float32", n) for n in "ab"]
    paddle.jit.save(Sum(), str(tmp_path / "sum"), input_spec=specs)
    config = lite.MobileConfig()
    config.set_model_from_file(str(tmp_path / "sum.pdmodel"))
    config.set_model_from_file(str(tmp_path / "sum.pdiparams"), lite.PD_INFER_PARAMS)
    predictor = lite.create_predictor(config)
    for tensor in (predictor.get_input(0), predictor.get_input(1)):
        tensor.from_numpy(np.ones(3, "float32"))
    predictor.run()
    assert predictor.get_output(0).float_data() == [2, 2, 2]
    predictor.get_input(1).from_numpy(np.ones(4, "float32"))
    with pytest.raises(RuntimeError, match=r"a \[3\], b \[4\]"):
        predictor.run()
    with pytest.raises(RuntimeError, match="no value yet"):
        predictor.get_output(0).numpy()
    predictor.get_input(0).from_numpy(np.ones(4, "float32"))
    predictor.run()
    assert predictor.get_output(0).float_data() == [2] * 4


def test_two_threads_on_one_predictor_are_told_and_clones_are_right(predictor, saved):
    x = fill(predictor)
    with predictor._busy, pytest.raises(RuntimeError, match="clone"):
        predictor.run()
    predictor.run()
    check(predictor, saved, x)
    failures = []

    def work(rows):
        try:
            mine = predictor.clone()
            for _ in range(50):
                given = np.random.RandomState(rows).randn(rows, 16).astype("float32")
                mine.get_input(0).from_numpy(given)
                mine.get_input(1).from_numpy(np.arange(rows))
                mine.run()
                check(mine, saved, given)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    check(predictor, saved, x)  # clones have inputs and outputs of their own


def test_one_predictor_under_many_threads_gives_right_results_or_says_why(predictor, saved):
    x = fill(predictor)
    refused = []

    def work():
        for _ in range(100):
            try:
                predictor.run()
            except RuntimeError as e:
                refused.append(str(e))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another thread" in text for text in refused)
    predictor.run()
    check(predictor, saved, x)


def test_saving_again(predictor, saved, tmp_path):
    predictor.save_optimized_model(str(tmp_path / "again"))
    assert [p.name for p in tmp_path.iterdir()] == ["again.nb"]
    config = lite.MobileConfig()
    config.set_model_from_file(tmp_path / "again.nb")
    other = lite.create_predictor(config)
    x = fill(other)
    other.run()
    check(other, saved, x)
    assert "onnxruntime" in other.get_version()
    with pytest.raises(FileNotFoundError):
        predictor.save_optimized_model(str(tmp_path / "no" / "where"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(rows=st.integers(0, 40), seed=st.integers(0, 2**31))
def test_any_batch(predictor, saved, rows, seed):
    x = np.random.RandomState(seed).randn(rows, 16).astype("float32")
    predictor.get_input(0).from_numpy(x)
    predictor.get_input(1).from_numpy(np.arange(rows))
    predictor.run()
    check(predictor, saved, x)


def test_calls_of_java(saved):
    data = Path(saved.nb).read_bytes()
    config = (
        lite.PaddlePredictor.PaddleMobileConfig.create()
        .setModelFromBuffer(data, len(data))
        .setPowerMode(lite.PaddlePredictor.PowerMode.LITE_POWER_LOW)
        .setThreads(2)
    )
    predictor = lite.PaddlePredictor.createPaddlePredictor(config)
    x = fill(predictor)
    assert predictor.run() is True
    check(predictor, saved, x)
    config = lite.PaddlePredictor.PaddleMobileConfig.create().setModelFromFile(saved.nb).setBackend("cpu", True)
    assert lite.PaddlePredictor.createPaddlePredictor(config).providers() == ["CPUExecutionProvider"]
