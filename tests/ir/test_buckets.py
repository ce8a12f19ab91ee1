"""Shape buckets: few compilations, exact results, and no silent change where padding is not harmless."""

import numpy as np
import pytest
from ir._build import WORDS, build, values_of

import paddle
from paddle.ir.buckets import BucketedExecutable, Buckets, from_environment
from paddle.ir.run import Executable
from paddle.utils import count_compiles


def make(function, buckets, **specs):
    graph, out = build(function, **specs)
    bucketed = BucketedExecutable(Executable(graph, values_of(out)), buckets)
    states = {n: s.tensor._value for n, s in bucketed.states.items()}
    return lambda **feeds: [np.asarray(a) for a in bucketed.run(feeds, states, WORDS)[0]], bucketed


def test_up():
    buckets = Buckets([4, 16])
    assert [buckets.up(n) for n in (1, 4, 5, 16, 17, 40)] == [4, 4, 16, 16, 32, 48]
    for bad in ([], [0, 2], [4, 4], [8, 2]):
        with pytest.raises(ValueError, match="positive and increasing"):
            Buckets(bad)


def test_one_compilation_for_a_bucket():
    net = paddle.nn.Linear(3, 2)
    call, _ = make(net, Buckets([4, 8], check=False), x=((-1, 3), np.float32))
    with count_compiles() as count:
        for n in (1, 2, 3, 4, 5, 6, 7, 8):
            x = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
            (y,) = call(x=x)
            assert y.shape == (n, 2)
    assert count.names.count("jit(program)") == 2
    np.testing.assert_allclose(y, net(paddle.to_tensor(x)).numpy(), rtol=1e-5)


def test_masked_sums_agree():
    def loss(x, label):
        return paddle.nn.functional.cross_entropy(x, label, ignore_index=4)

    call, bucketed = make(loss, Buckets([8], pad={"label": 4}), x=((-1, 5), np.float32), label=((-1,), np.int64))
    x = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
    label = np.arange(6) % 4
    (got,) = call(x=x, label=label)
    want = paddle.nn.functional.cross_entropy(paddle.to_tensor(x), paddle.to_tensor(label), ignore_index=4)
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-5)
    assert not bucketed.off


def test_what_padding_would_change_is_run_as_it_is():
    call, bucketed = make(lambda x: x.mean(), Buckets([8]), x=((-1,), np.float32))
    with pytest.warns(UserWarning, match="without shape buckets"):
        assert call(x=np.ones(6, np.float32))[0] == 1
    assert bucketed.off


def test_environment(monkeypatch):
    monkeypatch.setenv("PADDLE_XLA_BUCKETS", "4,8")
    assert from_environment().lengths == [4, 8]
    monkeypatch.setenv("PADDLE_XLA_BUCKETS", "powers")
    assert from_environment().up(100) == 128
    monkeypatch.setenv("PADDLE_XLA_BUCKETS", "a,b")
    with pytest.raises(ValueError, match="PADDLE_XLA_BUCKETS"):
        from_environment()
    monkeypatch.delenv("PADDLE_XLA_BUCKETS")
    assert from_environment() is None
