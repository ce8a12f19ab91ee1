"""Passes keep the results and change the operators."""

import numpy as np
import pytest
from ir._build import build, run, values_of

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.ir.passes import INFERENCE, Uses, apply, register


def names(graph):
    return [o.name for o in graph.block.operators]


def both(function, passes, feeds, **specs):
    graph, out = build(function, **specs)
    changed = apply(graph, values_of(out), passes)
    for a, b in zip(run(graph, out, **feeds)[0], run(changed, out, **feeds)[0]):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return changed


def test_dead_code():
    changed = both(lambda x: (x.exp(), x + 1)[1], ["dead_code"], {"x": np.ones(2, np.float32)}, x=((2,), np.float32))
    assert names(changed) == ["add"]


def test_common_subexpressions():
    def function(x):
        return (x * 2).tanh() + (x * 2).tanh() + F.dropout(x, 0.0)

    changed = both(
        function,
        ["common_subexpressions", "no_copies", "dead_code"],
        {"x": np.ones(2, np.float32)},
        x=((2,), np.float32),
    )
    assert names(changed).count("tanh") == 1 and names(changed).count("multiply") == 1


def test_random_operators_are_not_merged():
    graph, out = build(lambda x: F.dropout(x, 0.5) - F.dropout(x, 0.5), x=((64,), np.float32))
    assert names(apply(graph, values_of(out), ["common_subexpressions"])).count("dropout") == 2


def test_constant_folding():
    w = paddle.to_tensor([1.0, 2.0])
    changed = both(
        lambda x: x * (w.exp() + 1).sum(), ["constant_folding"], {"x": np.ones(2, np.float32)}, x=((2,), np.float32)
    )
    assert names(changed) == ["multiply"]


def test_what_changes_is_not_constant():
    w = paddle.to_tensor([1.0])

    def function(x):
        w.add_(x)
        return (w * 2) + x

    graph, out = build(function, x=((1,), np.float32))
    assert "add" in names(apply(graph, values_of(out), ["constant_folding"]))


@pytest.mark.parametrize(
    "layer, norm, shape",
    [
        (lambda: nn.Conv2D(3, 4, 3, bias_attr=False), lambda: nn.BatchNorm2D(4), (-1, 3, 8, 8)),
        (lambda: nn.Conv2D(4, 4, 3, groups=4), lambda: nn.BatchNorm2D(4), (-1, 4, 8, 8)),
        (lambda: nn.Conv1D(3, 4, 3), lambda: nn.BatchNorm1D(4), (-1, 3, 8)),
        (lambda: nn.Conv3D(3, 4, 3), lambda: nn.BatchNorm3D(4), (-1, 3, 4, 4, 4)),
        (lambda: nn.Conv2DTranspose(3, 4, 3), lambda: nn.BatchNorm2D(4), (-1, 3, 8, 8)),
        (lambda: nn.Conv2D(3, 4, 3, data_format="NHWC"), lambda: nn.BatchNorm2D(4, data_format="NHWC"), (-1, 8, 8, 3)),
        (lambda: nn.Linear(3, 4), lambda: nn.BatchNorm1D(4), (-1, 3)),
    ],
)
def test_fold_batch_norm(layer, norm, shape):
    net = nn.Sequential(layer(), norm(), nn.ReLU())
    x = np.random.default_rng(0).standard_normal([2 if d < 0 else d for d in shape]).astype(np.float32)
    for _ in range(3):
        net(paddle.to_tensor(x + 0.5))
    net.eval()
    changed = both(net, ["fold_batch_norm"], {"x": x}, x=(shape, np.float32))
    assert "batch_norm" not in names(changed) and len(names(changed)) == 2


def test_batch_norm_of_a_value_that_others_read_stays():
    conv, norm = nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4)
    norm.eval()

    def function(x):
        y = conv(x)
        return norm(y) + y

    changed = both(
        function, ["fold_batch_norm"], {"x": np.ones((1, 3, 4, 4), np.float32)}, x=((-1, 3, 4, 4), np.float32)
    )
    assert "batch_norm" in names(changed)


def test_batch_norm_of_the_batch_stays():
    net = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4))
    graph, out = build(net, x=((-1, 3, 4, 4), np.float32))
    assert "batch_norm" in names(apply(graph, values_of(out), ["fold_batch_norm"]))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_attention(masked, transposed):
    def function(q, k, v, m):
        s = paddle.matmul(q, k, transpose_y=True) if transposed else q @ k.transpose([0, 1, 3, 2])
        s = s / 3.0
        return F.softmax(s + m if masked else s) @ v

    r = np.random.default_rng(0)
    feeds = {n: r.standard_normal((2, 2, 5, 8)).astype(np.float32) for n in "qkv"}
    feeds["m"] = r.standard_normal((2, 1, 1, 5)).astype(np.float32)
    four = ((-1, 2, -1, 8), np.float32)
    changed = both(function, INFERENCE, feeds, q=four, k=four, v=four, m=((-1, 1, 1, -1), np.float32))
    assert names(changed) == ["attention_heads_first"]


def test_inference_switches_training_off():
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1D(4), nn.Dropout(0.5))
    graph, out = build(net, x=((-1, 4), np.float32))
    x = np.ones((3, 4), np.float32)
    got, new = run(apply(graph, values_of(out), INFERENCE), out, x=x)
    net.eval()
    np.testing.assert_allclose(got[0], net(paddle.to_tensor(x)).numpy(), rtol=1e-5, atol=1e-6)
    assert not new


def test_a_pass_of_ones_own():
    @register("test_double_negation")
    def double_negation(graph, wanted):
        uses = Uses(graph, wanted)
        operators = []
        for operator in graph.block.operators:
            inner = uses.made_by(operator.inputs[0], "neg") if operator.name == "neg" else None
            if inner is not None:
                copy, _ = build(lambda x: paddle.assign(x), x=((1,), np.float32))
                operator = copy.block.operators[0].replaced(inputs=inner.inputs, outputs=operator.outputs)
            operators.append(operator)
        return graph.with_operators(operators)

    changed = both(
        lambda x: paddle.neg(paddle.neg(x)),
        ["test_double_negation", "dead_code"],
        {"x": np.ones(2, np.float32)},
        x=((2,), np.float32),
    )
    assert names(changed) == ["assign"]
    with pytest.raises(ValueError, match="there is no pass 'nonsense'"):
        apply(changed, [], ["nonsense"])
