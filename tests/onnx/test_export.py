"""`paddle.onnx.export` against ONNX Runtime: what it computes is what the layer computes."""

import collections
import os
import warnings

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.static import InputSpec

from _gradients import SAMPLES

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from _onnx_operators import check as check_operator  # noqa: E402
from _onnx_zoo import NETWORKS  # noqa: E402
from _onnx_zoo import check as check_network  # noqa: E402

RNG = np.random.default_rng(0)


def some(*shape):
    return RNG.standard_normal(shape).astype("float32")


def flat(outs):
    return [t for o in outs for t in flat(o)] if isinstance(outs, (list, tuple)) else [outs]


def exported(layer, specs, path, *batches, **options):
    """Export, run on each batch of inputs, compare; returns how many nodes of each kind there are."""
    if isinstance(layer, nn.Layer):
        layer.eval()
    paddle.onnx.export(layer, str(path / "model"), specs, **options)
    file = str(path / "model.onnx")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    for arrays in batches:
        wanted = [np.asarray(t) for t in flat(layer(*[paddle.to_tensor(a) for a in arrays]))]
        found = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})
        for have, want in zip(found, wanted, strict=True):
            assert have.shape == want.shape and have.dtype == want.dtype
            np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    return collections.Counter(n.op_type for n in onnx.load(file, load_external_data=False).graph.node)


def spec(*shape, dtype="float32", name="x"):
    return InputSpec(shape, dtype, name)


def test_layers_are_single_nodes(tmp_path):
    net = nn.Sequential(
        nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2), nn.AvgPool2D(2), nn.Hardswish(),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2DTranspose(8, 4, 2, stride=2), nn.AdaptiveAvgPool2D(1),
        nn.Flatten(), nn.Linear(4, 6), nn.LayerNorm(6), nn.Softmax(),
    )  # fmt: skip
    nodes = exported(net, [spec(None, 3, 16, 16)], tmp_path, [some(3, 3, 16, 16)], [some(1, 3, 16, 16)])
    assert nodes == collections.Counter(
        ["Conv", "BatchNormalization", "Relu", "MaxPool", "AveragePool", "HardSwish", "Resize", "ConvTranspose",
         "GlobalAveragePool", "Reshape", "Gemm", "LayerNormalization", "Softmax"]
    )  # fmt: skip


class Language(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8, padding_idx=0), nn.Embedding(32, 8)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 1)
        self.head = nn.Linear(8, 20)

    def forward(self, ids):
        at = paddle.arange(ids.shape[1], dtype="int64").unsqueeze(0)
        mask = (1 - (ids != 0).astype("float32").unsqueeze([1, 2])) * -1e4
        return self.head(self.encoder(self.words(ids) + self.places(at), mask))


def test_transformer_with_open_lengths(tmp_path):
    ids = RNG.integers(1, 20, (3, 9))
    ids[:, 7:] = 0
    nodes = exported(Language(), [spec(None, None, dtype="int64")], tmp_path, [ids], [ids[:1, :5]])
    assert nodes["LayerNormalization"] == 2 and nodes["Softmax"] == 1


RECURRENT = [(nn.GRU, "GRU"), (nn.SimpleRNN, "RNN")]


@pytest.mark.parametrize(
    "layer, kind", [(nn.LSTM, "LSTM"), *(pytest.param(*p, marks=pytest.mark.slow) for p in RECURRENT)]
)
def test_recurrence_is_one_node_for_each_direction(layer, kind, tmp_path):
    net = layer(4, 5, direction="bidirect")
    nodes = exported(net, [spec(None, None, 4)], tmp_path, [some(3, 7, 4)], [some(1, 4, 4)])
    assert nodes[kind] == 2


def branch(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def nested(x, n):
    i = paddle.zeros([], "int64")
    y = x
    while i < n:
        if y.mean() > 0:
            y = y - 0.5
        else:
            y = y + x
        i = i + 1
    return y


def test_branches_and_loops(tmp_path):
    x = np.abs(some(2, 3))
    assert exported(paddle.jit.to_static(branch), [spec(None, 3)], tmp_path, [x], [-x])["If"] == 1
    inputs = [spec(None, 3), spec(dtype="int64", name="n")]
    loop = paddle.jit.to_static(nested)
    nodes = exported(loop, inputs, tmp_path, [some(2, 3), np.asarray(4)], [some(5, 3), np.asarray(0)])
    assert nodes["Loop"] == 1


def written(x):
    x = x * 1
    x[:, 1:3] = 0.5
    x[0] = x[-1]
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape([x.shape[0] * 2, -1, 2]) + paddle.shape(x)[0].astype("float32"),
        lambda x: (x[:, ::2], x[..., None, -1], x[paddle.to_tensor([0, 1])], x[:, -2:]),
        lambda x: (paddle.nonzero(x > 0), paddle.masked_select(x, x > 0) * 2),
        lambda x: (paddle.topk(x, 2), paddle.sort(x, -1), paddle.argsort(x, -1, descending=True), paddle.argmax(x, 1)),
        lambda x: (paddle.flip(x, [1]), paddle.roll(x, 1, 1), paddle.cumsum(x, 1), F.pad(x, [1, 2])),
        lambda x: (x // 0.3, x % 0.7, paddle.floor(x).astype("int32") // 2, x > 0, ~(x > 0), paddle.round(x)),
        lambda x: paddle.einsum("bi,bj->bij", x, x).tril().std(-1),
        written,
    ],
    ids="lengths index data sorting moving numbers products writing".split(),
)
def test_operators_with_an_open_batch(function, tmp_path):
    exported(function, [spec(None, 4)], tmp_path, [some(3, 4)], [some(2, 4)])


def test_quantised_weights_are_int8(tmp_path):
    from paddle.ops.quantization import dequantize_linear, fake_quantize, quantize_linear

    weight, scale = paddle.to_tensor(some(4, 3)), paddle.to_tensor(np.array([2.0, 3.0, 2.5], "float32"))
    whole = quantize_linear(weight, scale, 8, 1)

    def layer(x):
        x = fake_quantize(x, paddle.to_tensor(4.0), 8, None)
        return x @ dequantize_linear(whole, scale, 8, 1) + (x @ fake_quantize(weight, scale, 8, 1))

    nodes = exported(layer, [spec(None, 4)], tmp_path, [some(5, 4)])
    assert nodes["QuantizeLinear"] == 1 and nodes["DequantizeLinear"] == 3
    model = onnx.load(tmp_path / "model.onnx")
    assert sum(t.data_type == onnx.TensorProto.INT8 and list(t.dims) == [4, 3] for t in model.graph.initializer) == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype, tmp_path):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).astype(dtype)
    path = str(tmp_path / "half")
    paddle.onnx.export(net, path, [spec(None, 4, dtype=dtype)])
    model = onnx.load(path + ".onnx")
    kind = {"float16": onnx.TensorProto.FLOAT16, "bfloat16": onnx.TensorProto.BFLOAT16}[dtype]
    assert {t.data_type for t in model.graph.initializer} == {kind}
    if dtype == "float16":
        x = some(3, 4).astype(dtype)
        session = onnxruntime.InferenceSession(path + ".onnx", providers=["CPUExecutionProvider"])
        want = np.asarray(net(paddle.to_tensor(x)))
        np.testing.assert_allclose(session.run(None, {"x": x})[0], want, rtol=1e-2, atol=1e-2)


def test_weights_apart(tmp_path):
    net = nn.Linear(64, 32)
    exported(net, [spec(None, 64)], tmp_path, [some(2, 64)], external_data=True)
    assert os.path.getsize(tmp_path / "model.onnx.data") >= 64 * 32 * 4
    assert os.path.getsize(tmp_path / "model.onnx") < 2000


def test_all_untranslated_operators_are_named_and_nothing_is_written(tmp_path):
    def function(x):
        return x + paddle.rand([3]) + paddle.linalg.svd(x)[0] + paddle.digamma(x)

    with pytest.raises(NotImplementedError) as e:
        paddle.onnx.export(function, str(tmp_path / "model"), [spec(3, 3)])
    text = str(e.value)
    assert all(word in text for word in ("uniform", "svd", "digamma", "random", "test_export.py")), text
    assert not os.listdir(tmp_path)


def test_opset_is_what_was_asked_for(tmp_path):
    net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU())
    for opset in (13, 17, 20):
        exported(net, [spec(None, 4)], tmp_path, [some(2, 4)], opset_version=opset)
        model = onnx.load(tmp_path / "model.onnx")
        assert [o.version for o in model.opset_import] == [opset]
        assert ("LayerNormalization" in {n.op_type for n in model.graph.node}) == (opset >= 17)
    with pytest.warns(UserWarning, match="13 is written"):
        exported(net, [spec(None, 4)], tmp_path, [some(2, 4)], opset_version=9)
    with pytest.raises(ValueError, match="opset_version"):
        paddle.onnx.export(net, str(tmp_path / "x"), [spec(None, 4)], opset_version=999)


def test_verify_and_arguments(tmp_path):
    net, path = nn.Linear(4, 2), str(tmp_path / "x.onnx")
    paddle.onnx.export(net, path, [spec(None, 4)], verify=[some(3, 4)])
    assert os.listdir(tmp_path) == ["x.onnx"]
    with pytest.raises(ValueError, match="unknown option"):
        paddle.onnx.export(net, path, [spec(None, 4)], wrong=1)
    with pytest.raises(ValueError, match="path"):
        paddle.onnx.export(net, str(tmp_path) + "/", [spec(None, 4)])
    with pytest.raises(TypeError, match="Layer"):
        paddle.onnx.export(3, path, [spec(None, 4)])


def test_training_state_is_left_alone(tmp_path):
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1D(4))
    paddle.onnx.export(net, str(tmp_path / "x"), [spec(None, 4)])
    nodes = [n.op_type for n in onnx.load(tmp_path / "x.onnx").graph.node]
    assert net.training and nodes == ["Gemm", "BatchNormalization"]


# ---- networks and operators ----


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1", "shufflenet_v2_x0_25"])
def test_networks(name):
    row = check_network(name, NETWORKS[name])
    assert row.fine, (row.gap, row.why)


@pytest.mark.slow
def test_all_networks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [check_network(name, size) for name, size in NETWORKS.items()]
    assert not [(r.name, r.gap, r.why) for r in rows if not r.fine]


# Operators whose samples train or draw, so that they compute something else for inference.
OTHERWISE = {"alpha_dropout", "dropout", "batch_norm", "spectral_step"}
# Operators whose samples are in double precision, for which there are no layers of ours.
DOUBLE = {"rnn", "rnn_cell"}


def operators():
    return sorted(set(SAMPLES) - OTHERWISE - DOUBLE)


def agrees(name, opset=18):
    try:
        gap, _ = check_operator(name, opset)
    except NotImplementedError:
        return None
    assert gap < 1e-3, gap
    return True


@pytest.mark.parametrize("name", "gather_nd scatter put_along_axis conv3d prelu unfold".split())
def test_operators(name):
    assert name not in SAMPLES or agrees(name)


@pytest.mark.slow
def test_all_operators_agree_or_are_refused():
    wrong, done = [], 0
    for name in operators():
        try:
            done += bool(agrees(name))
        except Exception as e:
            wrong.append((name, str(e)[:200]))
    assert not wrong and done > 350, (done, wrong)
