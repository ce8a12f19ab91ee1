"""PostTrainingStaticQuant, SmoothQuant, GPTQ and weights stored in 8 and 4 bits."""

import os

import numpy as np
import pytest

import paddle
import paddle.quantization as Q
from paddle import nn
from paddle.ir.passes.quantization import rounded_weights, sites
from paddle.quantization.export import traced
from paddle.quantization.program import prepared, runs
from paddle.quantization.weights import gptq, smoothed
from paddle.static import InputSpec

from _check import compare


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm, self.a, self.b, self.out = nn.LayerNorm(64), nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 16)

    def forward(self, x):
        h = self.norm(x)
        return self.out(nn.functional.gelu(self.a(h)) * self.b(h))


def block(outliers=1.0):
    paddle.seed(5)
    model = Block().eval()
    weight = np.ones(64, "float32")
    weight[::16] = outliers  # features that are much larger than others
    model.norm.weight.set_value(weight)
    return model


def data(n=64, seed=0):
    return np.random.RandomState(seed).randn(n, 64).astype("float32") @ np.random.RandomState(9).randn(64, 64).astype(
        "float32"
    )


def test_a_model_in_three_calls(tmp_path):
    paddle.seed(3)
    model = nn.Sequential(nn.Conv2D(1, 8, 3), nn.BatchNorm2D(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 64))
    x = paddle.randn([6, 1, 8, 8])
    model(x)
    model.eval()
    with paddle.no_grad():
        want = model(x).numpy()
    paddle.jit.save(model, str(tmp_path / "float"), [InputSpec([None, 1, 8, 8])])
    sizes = {}
    for name, config, batches in (
        ("dynamic", {"quantize_type": "QUANT_INT8", "weight_quant_type": "QUANT_INT8"}, None),
        ("static", {"algo": "abs_max"}, [x]),
        ("weights", {"quantize_type": "QUANT_NONE"}, None),
    ):
        quant = Q.PostTrainingStaticQuant()
        quant.set_quant_config(config)
        quant.quantize(model, batches)
        quant.save_quantized_model(str(tmp_path / name))
        loaded = paddle.jit.load(str(tmp_path / name))
        got = loaded(x).numpy()
        assert 1e-5 < np.abs(got - want).mean() / np.abs(want).mean() < 0.03
        compare(loaded(x[:2]), got[:2], atol=1e-5)
        sizes[name] = os.path.getsize(tmp_path / f"{name}.pdiparams")
        assert sizes[name] < 0.27 * os.path.getsize(tmp_path / "float.pdiparams")
        assert "batch_norm" not in [o.name for o in loaded.program().block.operators]
    assert model.training is False and model[0].weight.dtype == paddle.float32


def test_what_cannot_be_quantised_is_told():
    quant = Q.PostTrainingStaticQuant()
    with pytest.raises(ValueError, match="QUANT_INT8"):
        quant.set_quant_config({"quantize_type": "INT3"})
    with pytest.raises(ValueError, match="there is no 'bits'"):
        quant.set_quant_config({"bits": 3})
    with pytest.raises(TypeError, match="Layer"):
        quant.quantize(3)
    with pytest.raises(ValueError, match="input_spec"):
        quant.quantize(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="no operator"):
        quant.quantize(nn.ReLU(), input_spec=[InputSpec([None, 2])])
    with pytest.raises(RuntimeError, match="quantize"):
        quant.save_quantized_model("x")


def graph_of(model):
    graph, feeds, fetches = traced(model, [InputSpec([None, 64])])
    return prepared(graph, fetches), feeds[0], fetches


def test_smoothing_changes_nothing_and_helps():
    model = block(outliers=30.0)
    graph, name, fetches = graph_of(model)
    batches, test = [{name: data(seed=s)} for s in range(2)], data(16, 7)
    other = smoothed(graph, fetches, batches)
    want = next(runs(graph, fetches, [{name: test}]))[0]
    compare(next(runs(other, fetches, [{name: test}]))[0], want, rtol=1e-4, atol=1e-3)
    scales = [o.name for o in other.block.operators].count("apply_per_channel_scale")
    assert scales == 1  # before `out`; those of `a` and `b` are part of the norm
    errors = {}
    for smooth in (None, 0.5):
        quant = Q.PostTrainingStaticQuant()
        quant.set_quant_config({"algo": "abs_max", "smooth": smooth})
        quant.quantize(model, [b[name] for b in batches], [InputSpec([None, 64])])
        made, _, ends = quant._quantized
        errors[smooth] = np.abs(next(runs(made, ends, [{name: test}]))[0] - want).mean()
    assert errors[0.5] < 0.7 * errors[None], errors


def test_rounding_that_makes_up_for_its_errors():
    graph, name, fetches = graph_of(block())
    batches, test = [{name: data(128, s)} for s in range(4)], data(64, 11)
    chosen = sites(graph)
    plain = rounded_weights(graph, chosen, 3)
    better = gptq(graph, chosen, batches, 3, block=32)
    whole = gptq(graph, chosen, batches, 3, block=1000)
    assert set(plain) == set(better)
    for site in chosen[:2]:
        x = next(runs(graph, [site.x], [{name: test}]))[0]
        weight = np.asarray(graph.states[site.weight.name].tensor._value)
        error = {}
        for key, found in (("plain", plain), ("gptq", better)):
            kept = found[site.weight]
            error[key] = np.square(x @ (kept.integers * (kept.scales / 3)) - x @ weight).mean()
            assert kept.integers.min() >= -4 and kept.integers.max() <= 3
        assert error["gptq"] < 0.6 * error["plain"], error
        assert (better[site.weight].integers == whole[site.weight].integers).mean() > 0.99  # blocks are only faster


@pytest.mark.parametrize(
    "algo, group, bound, share", [("weight_only_int8", -1, 0.012, 0.3), ("weight_only_int4", 64, 0.2, 0.22)]
)
def test_weights_in_few_bits(algo, group, bound, share, tmp_path):
    model = block()
    made = Q.weight_only(model, algo, group)
    assert type(model.a) is nn.Linear and type(made.a).__name__ == "WeightOnlyLinear"
    x = paddle.to_tensor(data(8, 3))
    want = model(x).numpy()
    assert 0 < np.abs(made(x).numpy() - want).mean() < bound * np.abs(want).mean()
    for name, each in (("float", model), ("low", made)):
        paddle.jit.save(each, str(tmp_path / name), [InputSpec([None, 64])])
    compare(paddle.jit.load(str(tmp_path / "low"))(x), made(x).numpy(), atol=1e-4, rtol=1e-4)
    sizes = {n: os.path.getsize(tmp_path / f"{n}.pdiparams") for n in ("float", "low")}
    assert sizes["low"] < share * sizes["float"], sizes
    with pytest.raises(ValueError, match="algo"):
        Q.weight_only(model, "int2")
