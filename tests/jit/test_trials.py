"""Lengths that stay open are tried with other numbers where the usual ones do not fit."""

import itertools

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.jit import to_static
from paddle.static import InputSpec


def rows(*shape):
    return paddle.to_tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))


class Positions(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = self.create_parameter([40, 4])

    def forward(self, x):
        return x + self.table[: x.shape[1]]


def test_a_table_of_positions():
    net = Positions()
    static = to_static(net.forward, input_spec=[InputSpec([None, None, 4])], full_graph=True)
    for n, length in ((2, 5), (3, 40), (1, 17)):
        x = rows(n, length, 4)
        np.testing.assert_allclose(static(x).numpy(), net.forward(x).numpy(), rtol=1e-6)
    assert static.get_traced_count() == 1
    with pytest.raises(ValueError, match="40"):
        static(rows(1, 41, 4))


def test_a_table_of_positions_is_saved(tmp_path):
    net = Positions()
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=[InputSpec([None, None, 4])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    for length in (5, 33):
        x = rows(2, length, 4)
        np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-6)


def test_multiples():
    static = to_static(lambda x: x.reshape([-1, 5, 7]).sum(1), input_spec=[InputSpec([None, 7])], full_graph=True)
    for n in (5, 35):
        assert static(rows(n, 7)).shape == [n // 5, 7]
    assert static.get_traced_count() == 1


def test_an_open_length_meets_a_fixed_one():
    other = rows(3, 4)
    static = to_static(lambda x: x + other, input_spec=[InputSpec([None, 4])], full_graph=True)
    for n in (1, 3):
        x = rows(n, 4)
        np.testing.assert_allclose(static(x).numpy(), (x + other).numpy(), rtol=1e-6)
    with pytest.raises(ValueError):
        static(rows(2, 4))


def test_the_error_names_the_length_to_fix():
    weight = rows(6, 2)

    def f(x, y):
        return x.matmul(weight).sum() + y.sum() + x.reshape([6, -1, 1, 6, 5])[:, 0].sum()

    with pytest.raises(ValueError) as e:
        to_static(f, input_spec=[InputSpec([None, 7], name="x"), InputSpec([None], name="y")], full_graph=True)(
            rows(30, 7), rows(3)
        )
    assert "were tried with 64/96, 8/12, 2/3" in "".join(e.value.__notes__)

    def h(x, y):
        return y.sum() + (x[3:] + rows(8)).sum()

    with pytest.raises(ValueError) as e:
        to_static(h, input_spec=[InputSpec([None]), InputSpec([None])], full_graph=True)(rows(11), rows(3))
    assert "fix axis 0 of 'x' in its InputSpec (for example to 11)" in "".join(e.value.__notes__)


def test_errors_of_the_user_come_once():
    calls = itertools.count()

    def f(x):
        next(calls)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        to_static(f, input_spec=[InputSpec([None])], full_graph=True)(rows(3))
    assert next(calls) == 1
