"""Quantisation of programs, with values recorded from the official package (3.3.1, CPU, the older IR)."""

import numpy as np
import pytest

import paddle
import paddle.quantization as Q
from paddle import nn, static
from paddle.ir.passes import PASSES, apply
from paddle.quantization.calibration import least_divergence
from paddle.static import InputSpec
from paddle.static import quantization as SQ

from _check import compare

DRAW = np.random.RandomState(0)
X = DRAW.randn(64, 8).astype("float32")
W1 = (DRAW.randn(8, 16) * 0.5).astype("float32")
W2 = (DRAW.randn(16, 3) * 0.5).astype("float32")


def fc(x, width, name, first):
    attr = paddle.ParamAttr(name=name, initializer=nn.initializer.Assign(first))
    return static.nn.fc(x, width, weight_attr=attr, bias_attr=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    scope, main, startup = static.Scope(), static.Program(), static.Program()
    with static.scope_guard(scope), static.program_guard(main, startup):
        x = static.data("x", [None, 8])
        y = fc(nn.functional.relu(fc(x, 16, "q_w1", W1)), 3, "q_w2", W2)
        exe = static.Executor()
        exe.run(startup)
        path = str(tmp_path_factory.mktemp("model") / "net")
        static.save_inference_model(path, [x], [y], exe, program=main)
    return path


@pytest.mark.parametrize(
    "algo, ranges, first",
    [
        ("KL", None, [-3.9649181, 2.82611, -2.1291099, -0.4309694]),
        ("hist", None, [-3.922654, 2.8441746, -2.1248004, -0.4030067]),
        ("avg", (2.7115467, 3.7308893), [-4.0245433, 2.8818161, -2.1662145, -0.3878327]),
        ("mse", (2.5019299, 4.6120780), [-4.01379, 2.8651648, -2.1443348, -0.4113486]),
        ("emd", (2.5019299, 4.6120780), [-4.01379, 2.8651648, -2.1443348, -0.4113486]),
        ("abs_max", (5.5451856, 9.4781933), [-3.9236116, 2.844869, -2.125319, -0.4030051]),
    ],
)
def test_post_training_quantization(model, algo, ranges, first, tmp_path):
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        data = [{"x": X[:32]}, {"x": X[32:] * 2}]
        ptq = SQ.PostTrainingQuantization(exe, model, data_loader=data, algo=algo)
        program = ptq.quantize()
        got = exe.run(program, feed={"x": X}, fetch_list=program.fetches)[0]
        compare(got.ravel()[:4], first, atol=2e-4 if algo == "abs_max" else 2e-6)
        if ranges is not None:
            compare(list(ptq._scale_dict.values()), ranges, rtol=1e-6)
        ptq.save_quantized_model(str(tmp_path))
    loaded = paddle.jit.load(str(tmp_path / "model"))
    compare(loaded(paddle.to_tensor(X)), got, atol=1e-6)
    assert [p.dtype.name for p in loaded.state_dict().values()].count("int8") == 2


def test_the_divergence_of_a_histogram():
    counts = np.random.RandomState(0).poisson(50 * np.exp(-np.arange(1024) / 200)).astype("float32")
    # recorded: cal_kl_threshold(counts, 0.01, 8)
    compare(least_divergence(counts, 0.01, 8), 10.225, rtol=1e-9)


@pytest.mark.parametrize(
    "linear, losses",
    [
        (True, [2.101886749, 2.516267300, 1.230880976, 1.322631836, 1.021370769]),
        (False, [2.100083828, 2.515060425, 1.230382085, 1.322632194, 1.022336483]),
    ],
)
def test_training_with_rounding(linear, losses, tmp_path):
    draw = np.random.RandomState(0)
    x_, t_ = draw.randn(64, 8).astype("float32"), draw.randint(0, 3, (64, 1)).astype("int64")
    w1, w2 = (draw.randn(8, 16) * 0.5).astype("float32"), (draw.randn(16, 3) * 0.5).astype("float32")
    with static.scope_guard(static.Scope()):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x, t = static.data("x", [None, 8]), static.data("t", [None, 1], "int64")
            y = fc(nn.functional.relu(fc(x, 16, "qa_w1", w1)), 3, "qa_w2", w2)
            loss = nn.functional.cross_entropy(y, t).mean()
            test = main.clone(for_test=True)
            with pytest.raises(ValueError, match="minimize"):
                SQ.quant_aware(main, None)
            paddle.optimizer.SGD(0.5).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        config = {"onnx_format": linear}
        trained = SQ.quant_aware(main, None, config)
        tested = SQ.quant_aware(test, None, config, for_test=True)
        for i, want in enumerate(losses):
            got = exe.run(trained, feed={"x": x_ * (1 + i % 2), "t": t_}, fetch_list=[loss])[0]
            compare(got, want, rtol=2e-6)
        before = exe.run(tested, feed={"x": x_, "t": t_}, fetch_list=[y])[0]
        program = SQ.convert(tested, None, config)
        after = exe.run(program, feed={"x": x_, "t": t_}, fetch_list=[y])[0]
        assert np.abs(before - after).mean() < 0.02
        path = str(tmp_path / "m")
        static.save_inference_model(path, [x], [y], exe, program=program)
    loaded = paddle.jit.load(path)
    compare(loaded(paddle.to_tensor(x_)), after, atol=1e-5)
    assert [p.dtype.name for p in loaded.state_dict().values()].count("int8") == 2


def test_passes_change_programs_in_place():
    with static.scope_guard(static.Scope()):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [None, 8])
            h = fc(x, 16, "qp_w", W1)
            y = nn.functional.relu(h + 1.0)
        exe = static.Executor()
        exe.run(startup)
        want = exe.run(main, feed={"x": X}, fetch_list=[y])[0]
        SQ.QuantizationTransformPass(quantizable_op_type=["mul"], weight_quantize_type="channel_wise_abs_max").apply(
            main
        )
        SQ.AddQuantDequantPass(quantizable_op_type=["elementwise_add"], is_test=False).apply(main)
        assert [o.name for o in main.block.operators].count("fake_quantize") == 3
        for _ in range(40):
            got = exe.run(main, feed={"x": X}, fetch_list=[y])[0]
        assert 0 < np.abs(got - want).mean() < 0.03
        SQ.QuantizationFreezePass(static.global_scope(), None).apply(main)
        assert "fake_quantize" not in [o.name for o in main.block.operators]
        assert np.abs(exe.run(main, feed={"x": X}, fetch_list=[y])[0] - want).mean() < 0.03
    with pytest.raises(NotImplementedError, match="thresholds"):
        SQ.OutScaleForTrainingPass().apply(main)
    with pytest.raises(ValueError, match="no kind"):
        SQ.QuantizationTransformPass(quantizable_op_type=["magic"]).apply(main)


def test_quantizers_of_the_older_face():
    draw = np.random.RandomState(3)
    batches = [draw.randn(40, 6).astype("float32") * s for s in (1, 0.5, 2.5)]
    for kind, top, threshold in (
        (Q.AbsmaxQuantizer, 9.256145477, 9.256145477),
        (Q.HistQuantizer, 9.293914452, 9.243995966),
        (Q.KLQuantizer, 9.293914452, 5.668017163),
    ):
        quantizer = kind()
        for batch in batches:
            quantizer.sample_data(nn.ReLU(), (paddle.to_tensor(batch),))
        quantizer.cal_thresholds()
        compare([quantizer.abs_max_vals[0], quantizer.thresholds[0]], [top, threshold], rtol=1e-6)
    quantizer = Q.PerChannelAbsmaxQuantizer()
    quantizer.sample_data(nn.Linear(6, 3), (paddle.to_tensor(batches[0][:6, :3].copy()),))
    compare(quantizer.abs_max_vals[0], [1.7886285, 1.9761108, 1.2441233])
    with pytest.raises(AssertionError):
        Q.PTQConfig(Q.PerChannelAbsmaxQuantizer(), Q.AbsmaxQuantizer())


def test_the_older_faces_write_integers(tmp_path):
    paddle.seed(1)
    model = nn.Sequential(
        nn.Conv2D(1, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 64), nn.Linear(64, 3)
    )
    x = paddle.randn([5, 1, 8, 8])
    model(x)
    model.eval()
    want = model(x).numpy()
    ptq = Q.ImperativePTQ(Q.PTQConfig(Q.AbsmaxQuantizer(), Q.PerChannelAbsmaxQuantizer()))
    watched = ptq.quantize(model, fuse=True, fuse_list=[["0", "1"]])
    assert type(watched[1]) is nn.Identity
    watched(x)
    path = str(tmp_path / "ptq")
    ptq.save_quantized_model(watched, path, [InputSpec([None, 1, 8, 8])])
    aware = Q.ImperativeQuantAware(weight_quantize_type="channel_wise_abs_max")
    model.train()
    aware.quantize(model)
    for _ in range(3):
        model(x)
    aware.save_quantized_model(model, str(tmp_path / "qat"))
    for name in ("ptq", "qat"):
        loaded = paddle.jit.load(str(tmp_path / name))
        assert [p.dtype.name for p in loaded.state_dict().values()].count("int8") == 3
        assert not any(p.ndim > 1 and p.dtype.name == "float32" for p in loaded.state_dict().values())
    assert np.abs(paddle.jit.load(path)(x).numpy() - want).mean() < 0.03 * np.abs(want).mean()
    with pytest.raises(ValueError, match="saw no data"):
        ptq.save_quantized_model(ptq.quantize(nn.Sequential(nn.Linear(2, 2))), path)


def test_weights_alone(model, tmp_path):
    wq = SQ.WeightQuantization(model)
    wq.quantize_weight_to_int(str(tmp_path / "int8"), quantizable_op_type=["mul"])
    wq.convert_weight_to_fp16(str(tmp_path / "half"))
    want = paddle.jit.load(model)(paddle.to_tensor(X)).numpy()
    for name, kind, bound in (("int8", "int8", 0.02), ("half", "float16", 0.002)):
        loaded = paddle.jit.load(str(tmp_path / name / "model"))
        assert [p.dtype.name for p in loaded.state_dict().values()].count(kind) == 2
        got = loaded(paddle.to_tensor(X)).numpy()
        assert 0 < np.abs(got - want).mean() < bound * np.abs(want).mean()


def test_products_of_integers_equal_products_of_what_they_stand_for():
    draw = np.random.RandomState(0)
    layer = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8, bias_attr=False)).eval()
    x = draw.randn(2, 5, 64).astype("float32")
    for data in (None, [x]):
        quant = Q.PostTrainingStaticQuant()
        quant.quantize(layer, data, [InputSpec([None, 5, 64])])
        graph, feeds, fetches = quant._quantized
        changed = apply(graph, fetches, ["integer_products"])
        assert "integer_products" in PASSES
        assert [o.name for o in changed.block.operators].count("integer_linear") == 2
        from paddle.quantization.program import runs

        (plain,), (whole,) = (next(runs(g, fetches, [{feeds[0]: x}])) for g in (graph, changed))
        compare(whole, plain, atol=1e-5)
        one = next(runs(changed, fetches, [{feeds[0]: x[:1]}]))[0]
        compare(one, plain[:1], atol=1e-5)  # a sample does not depend on the others
