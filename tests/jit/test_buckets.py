"""Shape buckets of static functions: few compilations, exact results and gradients."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn
from paddle.static import InputSpec
from paddle.utils import count_compiles


def sentences(lengths, seed=0):
    r = np.random.default_rng(seed)
    for n in lengths:
        ids = r.integers(1, 20, (2, n))
        yield paddle.to_tensor(ids), paddle.to_tensor((ids > 0).astype(np.float32))


class Classifier(nn.Layer):
    """Embedding, attention with a mask, masked mean."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.attention = nn.MultiHeadAttention(8, 2)
        self.out = nn.Linear(8, 3)

    def forward(self, ids, mask):
        x = self.embedding(ids)
        x = self.attention(x, attn_mask=((1 - mask) * -1e9).unsqueeze([1, 2]))
        return self.out((x * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True))


SPEC = [InputSpec([2, None], "int64", "ids"), InputSpec([2, None], "float32", "mask")]


def test_variable_length_inference_compiles_once_a_bucket():
    paddle.seed(0)
    net = Classifier()
    net.eval()
    static = paddle.jit.to_static(Classifier(), SPEC, buckets=[4, 8, 16])
    static.set_state_dict(net.state_dict())
    static.eval()
    with count_compiles() as count, paddle.no_grad():
        for ids, mask in sentences(range(3, 16)):
            got = static(ids, mask)
            assert got.shape == [2, 3]
    assert (
        count.names.count("jit(run_program)") <= 2 * 3 + 2
    )  # each bucket, and the run that it is checked against; two may have been dropped from memory
    with paddle.no_grad():
        for ids, mask in sentences((5, 11)):
            np.testing.assert_allclose(static(ids, mask).numpy(), net(ids, mask).numpy(), rtol=1e-4, atol=1e-5)


def test_training_agrees():
    paddle.seed(0)
    net = Classifier()
    static = paddle.jit.to_static(Classifier(), SPEC, buckets=[8, 16])
    static.set_state_dict(net.state_dict())
    for ids, mask in sentences((3, 5, 9)):
        for each in (net, static):
            each.clear_gradients()
            (each(ids, mask) ** 2).sum().backward()
        for a, b in zip(net.parameters(), static.parameters()):
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_outputs_are_cut_and_gradients_flow_through_the_padding():
    double = paddle.jit.to_static(lambda x: x * x, [InputSpec([None, 3], "float32", "x")], buckets=[8])
    x = paddle.to_tensor(np.ones((5, 3), np.float32) * 3, stop_gradient=False)
    y = double(x)
    assert y.shape == [5, 3]
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((5, 3), 6.0))


def test_a_function_that_padding_would_change_runs_without():
    mean = paddle.jit.to_static(lambda x: x.mean(), [InputSpec([None], "float32", "x")], buckets=[8])
    with pytest.warns(UserWarning, match="without shape buckets") as seen:
        assert mean(paddle.ones([5])).item() == 1
    assert seen[0].filename == __file__
    assert mean(paddle.ones([3])).item() == 1


def test_gradients_are_checked_as_well():
    """A row of padding is 0 / 0 there: its result is cut off, its gradient is not a number."""
    w = paddle.to_tensor([1.0], stop_gradient=False)
    f = paddle.jit.to_static(lambda x: x / (x * w), [InputSpec([None], "float32", "x")], buckets=[8])
    with pytest.warns(UserWarning, match="without shape buckets"):
        f(paddle.ones([5])).sum().backward()
    assert w.grad.tolist() == [-5.0]


def test_environment(monkeypatch):
    monkeypatch.setenv("PADDLE_XLA_BUCKETS", "8")
    f = paddle.jit.to_static(lambda x: x + 1, [InputSpec([None], "float32", "x")])
    assert f._bucketed.buckets.lengths == [8] and f(paddle.ones([3])).tolist() == [2, 2, 2]
