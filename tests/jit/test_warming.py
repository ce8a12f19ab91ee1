"""Compiling ahead: the first call compiles nothing, and nothing else has happened."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn
from paddle.static import InputSpec
from paddle.utils import count_compiles


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1D(8), nn.Dropout(0.5), nn.Linear(8, 2))


@pytest.mark.parametrize("background", [False, True])
def test_the_first_step_compiles_no_program(background):
    net = paddle.jit.to_static(network())
    mean = net[1]._mean.numpy()
    paddle.seed(3)
    state = paddle.get_rng_state()
    net.forward.warm_up(InputSpec([6, 4], "float32"), background=background)
    with count_compiles() as count:
        if background:
            x = paddle.ones([6, 4])
            net(x)  # waits for the thread
    assert count.names.count("jit(run_program)") <= 1
    assert np.array_equal(net[1]._mean.numpy(), mean) is not background  # only the call changed the statistics
    assert (paddle.get_rng_state() == state) is not background
    with count_compiles() as count:
        net(paddle.ones([6, 4])).sum().backward()
    assert not [n for n in count.names if "program" in n]
    assert net[0].weight.grad is not None


def test_open_lengths_cannot_be_compiled():
    f = paddle.jit.to_static(lambda x: x + 1)
    with pytest.raises(ValueError, match="every length must be known"):
        f.warm_up(InputSpec([None, 2]))
