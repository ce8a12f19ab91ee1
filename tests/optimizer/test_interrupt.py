"""A step that is broken off has been made, or not: never are parameters lost or left between."""

import sys

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.engine.capture import Capture
from paddle.engine.modes import set_mode


class Interrupt(BaseException):
    pass


def broken(function, line):
    """Call a function and break it off at a line, counted over all that run of the optimizer's files; whether it got there."""
    left = [line]

    def each(frame, event, argument):
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise Interrupt
        return each

    def enter(frame, event, argument):
        return each if "/paddle/optimizer/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        function()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("kind, captured", [(paddle.optimizer.Adam, False), (paddle.optimizer.Momentum, True)])
def test_a_step_is_made_or_not(kind, captured):
    with set_mode(capture=Capture(eager=True) if captured else None):
        net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 130), nn.Linear(130, 130))  # small parameters and a large one
        rule = kind(0.1, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
        outcomes = []
        for line in [10**6] * 3 + list(range(100, 400)):
            rule.clear_grad()
            net(paddle.ones([2, 3])).square().mean().backward()
            before = [p.numpy() for p in net.parameters()]
            if broken(rule.step, line):
                same = [np.array_equal(p.numpy(), b) for p, b in zip(net.parameters(), before)]
                assert all(same) or not any(same), line
                outcomes.append(same[0])
        assert outcomes.count(True) > 20 and outcomes.count(False) > 3
        state = {k: v.numpy() for k, v in rule.state_dict().items() if isinstance(v, paddle.Tensor)}
        assert all(np.isfinite(v).all() for v in state.values())
