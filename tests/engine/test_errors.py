"""Errors name what is wrong and end in the user's own line; NaN checks name the operator."""

import subprocess
import sys
import traceback

import numpy as np
import pytest

import paddle


def t(values, **kwargs):
    return paddle.to_tensor(values, **kwargs)


def failing_hook():
    x = t([1.0], stop_gradient=False)
    x.register_hook(lambda g: 3)
    (x * 2).backward()


def failing_in_user_code():
    class Layer(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    Layer.apply(t([1.0], stop_gradient=False)).backward()


def overwritten():
    x = t([1.0], stop_gradient=False)
    y = x * 2
    z = y * y
    y[0] = 1.0
    return z


LEAF = t([1.0, 2.0], stop_gradient=False)
Z = overwritten()
CALLS = {
    "operator": lambda: paddle.matmul(paddle.ones([2, 3]), paddle.ones([2, 3])),
    "composition": lambda: paddle.full([-1], 1.0),
    "method": lambda: paddle.ones([2, 3]).reshape([4]),
    "in place": lambda: LEAF.tanh_(),
    "binding": lambda: paddle.ones([2]).tanh(colour=3),
    "dunder": lambda: paddle.ones([2]) + paddle.ones([3]),
    "reflected dunder": lambda: "a" + paddle.ones([3]),
    "indexing": lambda: paddle.ones([2])[5],
    "assignment": lambda: paddle.ones([2]).__setitem__(0, [1.0]),
    "iteration": lambda: list(paddle.to_tensor(1.0)),
    "conversion": lambda: float(LEAF),
    "backward": lambda: Z.backward(),
    "grad": lambda: paddle.grad(paddle.ones([1]), LEAF),
    "to_tensor": lambda: t([[1.0], [1.0, 2.0]]),
    "set_value": lambda: LEAF.set_value(np.zeros(3, "float32")),
    "astype": lambda: LEAF.astype("nonsense"),
    "jacobian": lambda: paddle.autograd.jacobian(paddle.ones([2, 2]), LEAF),
}


def inner_frames(error):
    """The files of the traceback from this file's last frame on."""
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_traceback_ends_in_the_users_line(name):
    with pytest.raises(Exception) as caught:
        CALLS[name]()
    assert inner_frames(caught.value)[-1] == __file__, traceback.format_exception(caught.value)
    assert caught.value.__cause__ is None and not getattr(caught.value, "__notes__", None)


def test_user_code_below_the_framework_stays_in_the_traceback():
    with pytest.raises(KeyError, match="mine") as caught:
        failing_in_user_code()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__ and last.name == "backward"
    assert paddle.is_grad_enabled()
    with pytest.raises(TypeError) as caught:
        failing_hook()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "failing_hook"


def test_layer_calls_end_in_the_users_line():
    with pytest.raises(Exception) as caught:
        paddle.nn.Linear(3, 4)(paddle.ones([2, 5]))
    assert inner_frames(caught.value)[-1] == __file__


@pytest.mark.parametrize(
    "call, error, words",
    [
        (CALLS["operator"], ValueError, ["matmul", "[2, 3]"]),
        (CALLS["method"], ValueError, ["reshape", "[4]", "[2, 3]"]),
        (CALLS["dunder"], ValueError, ["add", "[2]", "[3]"]),
        (CALLS["binding"], TypeError, ["tanh", "colour"]),
        (CALLS["composition"], ValueError, ["full", "negative", "[-1]"]),
        (CALLS["astype"], TypeError, ["nonsense"]),
    ],
)
def test_messages_name_operator_and_arguments(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_debug_level_keeps_every_frame():
    code = (
        "import os; os.environ['PADDLE_XLA_DEBUG'] = '1'\nimport paddle, traceback\n"
        "try:\n    paddle.ones([2]).reshape([3])\nexcept ValueError as e:\n"
        "    print(any('paddle/engine' in f.filename for f in traceback.extract_tb(e.__traceback__)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
    assert "compiled" in done.stderr


@pytest.fixture
def nan_check():
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    yield
    paddle.set_flags({"FLAGS_check_nan_inf": False})


def test_nan_check_names_the_operator(nan_check):
    with pytest.raises(RuntimeError, match=r"log: output 0 has 1 NaN and 1 infinite of 3"):
        t([-1.0, 0.0, 1.0]).log()
    assert t([1.0]).log().item() == 0


def test_nan_check_names_the_gradient(nan_check):
    x = t([0.0, 1.0], stop_gradient=False)
    y = x.sqrt()
    with pytest.raises(RuntimeError, match=r"sqrt_grad: output 0 has 0 NaN and 1 infinite"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="sqrt_grad"):
        paddle.grad(x.sqrt().sum(), x, create_graph=True)


def test_nan_check_names_the_layer(nan_check):
    class Bad(paddle.nn.Layer):
        def forward(self, x):
            return x / 0.0

    with pytest.raises(RuntimeError, match="divide in layer .*[Bb]ad"):
        Bad()(paddle.ones([2]))
