"""Mistakes with programs end in a clear error, and leave nothing behind."""

import numpy as np
import pytest

import paddle
from paddle import static

A = np.ones((3, 4), np.float32)


@pytest.fixture(autouse=True)
def static_mode():
    paddle.enable_static()
    with static.scope_guard(static.Scope()):
        yield
    paddle.disable_static()


def built(function, shape=(None, 4)):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", list(shape))
        y = function(x)
    return main, startup, x, y


def run(main, feed, fetches):
    return static.Executor().run(main, feed=feed, fetch_list=fetches)


def test_variables_of_another_program():
    main, _, x, y = built(lambda x: x * 2)
    other, _, _, foreign = built(lambda x: x * 3)
    with pytest.raises(ValueError, match="no variable.*another program"):
        run(main, {"x": A}, [foreign])
    with static.program_guard(other):
        z = y + 1
    with pytest.raises(ValueError, match=r"multiply_0.*add reads .*test_misuse.py:\d+"):
        run(other, {"x": A}, [z])
    with pytest.raises(ValueError, match="another program than the one that is being built"):
        paddle.optimizer.SGD(0.1).minimize(built(paddle.mean)[3])


def test_a_name_with_two_shapes():
    def layer(width):
        return lambda x: static.nn.fc(x, width, weight_attr=paddle.ParamAttr(name="shared"), bias_attr=False)

    main, startup, _, y = built(layer(2))
    other, other_startup, _, _ = built(layer(3))
    static.Executor().run(startup)
    static.Executor().run(other_startup)
    with pytest.raises(ValueError, match=r"shared has shape \[4, 3\] in the scope"):
        run(main, {"x": A}, [y])


@pytest.mark.parametrize(
    ("value", "kind", "match"),
    [
        ([[1, 2], [3]], ValueError, "'x' was fed is no array"),
        ("text", ValueError, "fed str"),
        (A[0], ValueError, r"fed \[4\]"),
        (A.astype(np.float64), ValueError, "fed float64"),
    ],
)
def test_feeds_that_do_not_fit(value, kind, match):
    main, _, x, y = built(lambda x: x * 2)
    with pytest.raises(kind, match=match):
        run(main, {"x": value}, [y])
    with pytest.raises(TypeError, match="fed the variable 'x'"):
        run(main, {"x": x}, [y])


def test_variables_have_no_elements_and_no_unknown_length():
    _, _, x, _ = built(lambda x: x)
    for ask in (lambda: len(x), lambda: list(x), lambda: x.numpy(), lambda: float(x)):
        with pytest.raises(RuntimeError, match="not known while the program|variable of a program"):
            ask()
    with pytest.raises(TypeError):
        for _row in built(lambda x: x, ())[2]:
            pass
    paddle.disable_static()
    with pytest.raises(RuntimeError, match="add: .* variable of a program"):
        x + paddle.ones([4])
    paddle.enable_static()


def test_an_error_while_building_adds_nothing():
    main, startup, x, y = built(lambda x: x * 2)
    before = len(main.global_block().ops)
    with static.program_guard(main, startup):
        truth = x.sum() > 0
        added = len(main.global_block().ops) - before
        for wrong in (
            lambda: paddle.matmul(x, x),
            lambda: static.nn.cond(truth, lambda: x * 2, lambda: 1 / 0),
            lambda: static.nn.while_loop(lambda i: truth, lambda i: [i.foo()], [truth]),
        ):
            with pytest.raises((ValueError, ZeroDivisionError, AttributeError)):
                wrong()
            assert len(main.global_block().ops) == before + added
    np.testing.assert_array_equal(run(main, {"x": A}, [y])[0], A * 2)
    assert static.default_main_program() is not main and not paddle.in_dynamic_mode()


def test_an_operator_that_fails_in_a_run_says_where():
    main, _, x, y = built(lambda x: paddle.concat([x, static.data("z", [None, 4])], 1))
    with pytest.raises(ValueError, match="concat") as raised:
        run(main, {"x": A, "z": A[:2]}, [y])
    assert "test_misuse.py" in "".join(raised.value.__notes__)
