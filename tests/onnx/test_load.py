"""`paddle.onnx.load`: models of other exporters and our own run, train and are saved; damaged and hostile files are refused."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn
from paddle.static import InputSpec

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(1)


def some(*shape):
    return RNG.standard_normal(shape).astype("float32")


def made(nodes, inputs, outputs, constants=(), opset=17):
    """A model of nodes given as (operator, inputs, outputs, attributes)."""
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node(kind, *names, **attributes) for kind, *names, attributes in nodes],
        "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(d)), s) for n, d, s in inputs],
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(d)), None) for n, d in outputs],
        [onnx.numpy_helper.from_array(a, n) for n, a in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def compare(model, arrays):
    """Ours against ONNX Runtime."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})
    found = paddle.onnx.load(model)(*[paddle.to_tensor(a) for a in arrays])
    found = found if isinstance(found, list) else [found]
    for have, want in zip(found, wanted, strict=True):
        have = np.asarray(have)
        assert have.shape == want.shape and have.dtype == want.dtype
        np.testing.assert_allclose(have, want, 1e-4, 1e-5)


X = ("x", "float32", ["n", 4])
I64 = np.int64


@pytest.mark.parametrize(
    "kind, attributes, more",
    [
        ("Clip", {}, [np.float32(-0.5), np.float32(0.5)]),
        ("ReduceMean", {"axes": [1], "keepdims": 0}, []),
        ("ReduceL2", {"axes": [-1]}, []),
        ("ReduceSum", {}, []),
        ("Slice", {}, [np.array([3], I64), np.array([-(2**40)], I64), np.array([1], I64), np.array([-1], I64)]),
        ("Gather", {"axis": 1}, [np.array([[-1, 0], [2, 1]], I64)]),
        ("Pad", {"mode": "constant"}, [np.array([0, 1, 1, 0], I64), np.float32(7)]),
        ("Mod", {"fmod": 1}, [np.float32(0.3)]),
        ("Pow", {}, [np.float32(2)]),
        ("Trilu", {"upper": 0}, []),
        ("CumSum", {"reverse": 1, "exclusive": 1}, [np.int64(1)]),
        ("Flatten", {"axis": 0}, []),
        ("Reshape", {}, [np.array([0, 2, -1], I64)]),
        ("Expand", {}, [np.array([2, 1, 1], I64)]),
        ("Gemm", {"alpha": 0.5, "beta": 2.0, "transB": 1}, [some(3, 4), some(1, 3)]),
        ("Softmax", {"axis": 0}, []),
        ("ThresholdedRelu", {"alpha": 0.3}, []),
        ("QuantizeLinear", {}, [np.float32(0.02), np.uint8(128)]),
        ("TopK", {"largest": 0}, [np.array([2], I64)]),
        ("IsInf", {"detect_negative": 0}, []),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_operators(kind, attributes, more):
    constants = [(f"c{i}", np.asarray(a)) for i, a in enumerate(more)]
    results = [("y", {"TopK": "float32", "QuantizeLinear": "uint8", "IsInf": "bool"}.get(kind, "float32"))]
    results += [("z", "int64")] if kind == "TopK" else []
    node = (kind, ["x", *[n for n, _ in constants]], [n for n, _ in results], attributes)
    compare(made([node], [X], results, constants), [some(3, 4)])


def test_integer_division_goes_toward_zero():
    model = made([("Div", ["x", "y"], ["z"], {})], [("x", "int64", [4]), ("y", "int64", [4])], [("z", "int64")])
    compare(model, [np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])])


def network():
    return nn.Sequential(
        nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2),
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip


def test_round_trip_and_training(tmp_path):
    net, path = network(), str(tmp_path / "m")
    net.eval()
    spec = [InputSpec([None, 3, 8, 8], "float32", "x")]
    paddle.onnx.export(net, path, spec, external_data=True)
    layer = paddle.onnx.load(path + ".onnx")
    trained = [p for p in net.parameters() if not p.stop_gradient]
    by_name = {p.name: p for p in layer.parameters()}
    assert {p.name: p.shape for p in trained} == {n: p.shape for n, p in by_name.items()}
    x = paddle.to_tensor(some(5, 3, 8, 8))
    np.testing.assert_allclose(layer(x).numpy(), net(x).numpy(), 1e-4, 1e-5)
    paddle.jit.save(layer, path, spec)
    np.testing.assert_allclose(paddle.jit.load(path)(x).numpy(), net(x).numpy(), 1e-4, 1e-5)
    for model in (net, layer):
        model.train()
        model(x).square().mean().backward()
    for theirs in trained:
        mine = by_name[theirs.name]
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), 1e-3, 1e-5)
    before = layer(x).square().mean()
    optimizer = paddle.optimizer.SGD(0.05, parameters=layer.parameters())
    optimizer.step()
    assert float(layer(x).square().mean()) < float(before)
    net.eval(), layer.eval()
    buffers = {tuple(b.shape) for b in layer.buffers()}
    assert buffers == {(4,)}


def test_names_with_dots_are_sublayers():
    weight = some(4, 2)
    layer = paddle.onnx.load(
        made([("MatMul", ["x", "a.b.weight"], ["y"], {})], [X], [("y", "float32")], [("a.b.weight", weight)])
    )
    assert list(layer.state_dict()) == ["a.b.weight"] and not layer.a.b.weight.stop_gradient


def test_loops_and_branches():
    helper = onnx.helper
    info = lambda n, d, s: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(d)), s)
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["w"], ["s"])],
        "body", [info("i", "int64", []), info("c", "bool", []), info("v", "float32", None)],
        [info("d", "bool", []), info("w", "float32", None), info("s", "float32", None)],
    )  # fmt: skip
    nodes = [("Loop", ["k", "", "x"], ["y", "rows"], {"body": body})]
    compare(made(nodes, [X], [("y", "float32"), ("rows", "float32")], [("k", np.asarray(3, I64))]), [some(2, 4)])


def test_refused(tmp_path):
    with pytest.raises(ValueError, match="no ONNX model"):
        paddle.onnx.load(b"not a model at all")
    with pytest.raises(ValueError, match="no ONNX model"):
        paddle.onnx.load(b"")
    with pytest.raises(FileNotFoundError):
        paddle.onnx.load(str(tmp_path / "none.onnx"))
    with pytest.raises(TypeError, match="path"):
        paddle.onnx.load(3)
    unknown = made([("Foo", ["x"], ["y"], {}), ("Bar", ["y"], ["z"], {})], [X], [("z", "float32")])
    with pytest.raises(NotImplementedError, match="Bar, Foo"):
        paddle.onnx.load(unknown)
    with pytest.raises(ValueError, match="reads 'q'"):
        paddle.onnx.load(made([("Relu", ["q"], ["y"], {})], [X], [("y", "float32")]))
    many = paddle.onnx.load(made([("Relu", ["x", "x", "x"], ["y"], {})], [X], [("y", "float32")]))
    with pytest.raises(ValueError, match="number of inputs"):
        many(paddle.ones([1, 4]))
    layer = paddle.onnx.load(made([("Relu", ["x"], ["y"], {})], [X], [("y", "float32")]))
    with pytest.raises(ValueError, match="shape"):
        layer(paddle.ones([1, 5]))
    with pytest.raises(ValueError, match="float32"):
        layer(paddle.ones([1, 4], "int64"))


def test_weights_outside_of_the_folder_are_not_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(bytes(64))
    model = made([("MatMul", ["x", "w"], ["y"], {})], [X], [("y", "float32")], [("w", some(4, 4))])
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    for where in ("../secret", str(tmp_path / "secret")):
        entry.key, entry.value = "location", where
        (tmp_path / "in" / "m.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(ValueError, match="not in the folder"):
            paddle.onnx.load(tmp_path / "in" / "m.onnx")


def test_damaged_bytes_never_crash(tmp_path):
    net = network()
    paddle.onnx.export(net, str(tmp_path / "m"), [InputSpec([None, 3, 8, 8], "float32", "x")])
    content = (tmp_path / "m.onnx").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(content)
        for at in rng.integers(0, min(len(data), 1500), 3):
            data[at] = rng.integers(0, 256)
        try:
            paddle.onnx.load(bytes(data[: rng.integers(1, len(data) + 1)]))
        except (ValueError, NotImplementedError):
            pass
