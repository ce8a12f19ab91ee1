"""Control flow of static programs and of eager code; results as recorded from the official package."""

import numpy as np
import pytest

import paddle
from paddle.static.nn import case, cond, switch_case, while_loop
from paddle.static.nn.control_flow import Assert, Print, Switch, While
from paddle.tensor import array_length, array_read, array_write, create_array

ONES = np.ones((3, 2), np.float32)


@pytest.fixture(autouse=True)
def static():
    paddle.enable_static()
    yield
    paddle.disable_static()


def run(function, x=ONES, i=1, gradient=False):
    """What the function gives in a program with inputs x and i, and the gradient of its first result."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        a = paddle.static.data("x", [-1, *x.shape[1:]], "float32")
        a.stop_gradient = False
        b = paddle.static.data("i", [1], "int64")
        out = function(a, b)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        if gradient:
            out += paddle.static.gradients([out[0]], [a])
        return paddle.static.Executor().run(main, feed={"x": x, "i": np.array([i])}, fetch_list=out)


def test_branches_and_loops_as_officially():
    assert run(lambda x, i: cond(x.sum() > 0, lambda: 1, lambda: 2))[0] == 1
    assert run(lambda x, i: cond(x.sum() > 0, lambda: 1.5, lambda: 2.5))[0].dtype == np.float64
    assert run(lambda x, i: cond(x.sum() < 0, lambda: True, lambda: False))[0].dtype == np.bool_
    a, b = run(lambda x, i: cond(x.sum() > 0, lambda: (x, x * 3), lambda: [x, x]))
    assert b[0, 0] == 3
    i, y = run(lambda x, i: while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 2), (i, x)))
    assert i.tolist() == [5] and (y == 16).all()
    i, y = run(lambda x, i: while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, paddle.concat([y, y])), (i, x)))
    assert y.shape == (24, 2)
    assert run(lambda x, i: while_loop(lambda i: i < 4, lambda i: i + 1, [i]))[0].tolist() == [4]


def test_numbers_of_functions():
    functions = {5: lambda x: x * 5, 0: lambda x: x * 7, -3: lambda x: x * 9}
    for i, factor in ((1, 5), (0, 7), (-3, 9), (5, 5), (100, 5)):

        def chosen(x, i):
            return switch_case(i, {k: lambda f=f: f(x) for k, f in functions.items()})

        y, gradient = run(chosen, i=i, gradient=True)
        assert (y == factor).all() and (gradient == factor).all()
    small = run(lambda x, i: switch_case(i.astype("uint8"), {-1: lambda: x, 1: lambda: x * 2, 257: lambda: x * 3}))
    assert (small[0] == 2).all()
    assert run(lambda x, i: switch_case(i, [lambda: (x, 1), lambda: (x * 2, 2)]))[1] == 2
    assert run(lambda x, i: case([(i < 0, lambda: x), (i < -5, lambda: x * 2)]))[0][0, 0] == 2


def test_arguments_of_another_form():
    def raises(function, error, message):
        with pytest.raises(error, match=message):
            run(function)

    raises(lambda x, i: cond(i, lambda: x, lambda: x), TypeError, "pred must be a Tensor of type bool, got int64")
    raises(lambda x, i: cond(x > 0, lambda: x, lambda: x), ValueError, "pred must have one element")
    raises(lambda x, i: cond(x.sum() > 0, x, x), TypeError, "true_fn must be callable")
    raises(lambda x, i: cond(i > 0, lambda: {"a": x}, lambda: {"b": x}), ValueError, r"keys \[\['a'\]\], but false_fn")
    raises(lambda x, i: while_loop(lambda v: i < 4, lambda v: {"b": v["a"]}, [{"a": x}]), ValueError, "body returns")
    raises(lambda x, i: while_loop(lambda i: i < 4, lambda i: i + 1, i), TypeError, "loop_vars must be a list")
    raises(lambda x, i: while_loop(lambda i: i < 4, lambda i: i + 1, []), ValueError, "must not be empty")
    raises(lambda x, i: while_loop(3, lambda i: i + 1, [i]), TypeError, "cond must be callable")
    raises(lambda x, i: case([]), ValueError, "must not be empty")
    raises(lambda x, i: case([lambda: x]), TypeError, "holds tuples")
    raises(lambda x, i: case([(i < 0, x)]), TypeError, "callable")
    raises(lambda x, i: switch_case(i, [(1, lambda: x), (1, lambda: x)]), ValueError, "appears twice")
    raises(lambda x, i: switch_case(x.sum(), [lambda: x]), TypeError, "int32 or int64, got float32")
    raises(lambda x, i: switch_case(i, {"a": lambda: x}), TypeError, "must be an int")
    raises(lambda x, i: switch_case(i, [(1, 3)]), TypeError, "callable")


def test_an_error_in_a_branch_leaves_the_program_as_it_was():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2], "float32")
        y = x * 2
        before = str(main)

        def wrong():
            y.scale_(3.0)
            raise KeyError("wrong")

        for _ in range(2):
            with pytest.raises(KeyError):
                cond(y.sum() > 0, wrong, lambda: None)
        assert str(main).startswith(before[:-2])
        out = paddle.static.Executor().run(main, feed={"x": np.ones(2, np.float32)}, fetch_list=[y])
    assert out[0].tolist() == [2, 2]


def test_batch_normalisation_in_a_branch():
    """The running statistics change only when the branch runs."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", [4, 3], "float32")
        norm = paddle.nn.BatchNorm1D(3)
        y = cond(x.sum() > 0, lambda: norm(x), lambda: x)
        executor = paddle.static.Executor()
        executor.run(startup)
        mean = norm._mean
        found = []
        for sign in (-1, 1, 1):
            feed = {"x": np.full((4, 3), sign, np.float32)}
            found.append(executor.run(main, feed=feed, fetch_list=[y, mean])[1][0])
    np.testing.assert_allclose(found, [0, 0.1, 0.19], rtol=1e-6)


def test_training_with_a_loop():
    """Gradients of a loop reach parameters."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", [-1, 3], "float32")
        n = paddle.static.data("n", [1], "int64")
        layer = paddle.nn.Linear(3, 3)
        i, h = while_loop(
            lambda i, h: i < n, lambda i, h: [i + 1, paddle.tanh(layer(h))], [paddle.zeros([1], "int64"), x]
        )
        loss = (h * h).mean()
        paddle.optimizer.SGD(0.5).minimize(loss)
        executor = paddle.static.Executor()
        executor.run(startup)
        feed = {"x": np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)}
        losses = [executor.run(main, feed={**feed, "n": [3]}, fetch_list=[loss])[0] for _ in range(20)]
        assert losses[-1] < losses[0] / 2


def test_dropout_in_blocks_is_switched_off_for_testing():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [50], "float32")

        def drop(y):
            return paddle.nn.functional.dropout(y, 0.5)

        y = while_loop(lambda i, y: i < 2, lambda i, y: [i + 1, cond(i > 0, lambda: drop(y), lambda: y)], [0, x])[1]
        test = main.clone(for_test=True)
        feed = {"x": np.ones(50, np.float32)}
        executor = paddle.static.Executor()
        assert set(executor.run(main, feed=feed, fetch_list=[y])[0].tolist()) == {0.0, 2.0}
        assert executor.run(test, feed=feed, fetch_list=[y])[0].tolist() == [1.0] * 50


def test_elements_set_in_place():
    def loop(x, i):
        y = x * 1

        def body(i):
            y[i] = x[i] * 2
            return i + 1

        while_loop(lambda i: i < 3, body, [i])
        return y

    for found in run(loop, gradient=True):
        assert found.tolist() == [[1, 1], [2, 2], [2, 2]]

    def branch(x, i):
        def change():
            y[0] = x[1] * 5

        y = x * 1
        cond(i > 0, change, lambda: None)
        return y

    y, gradient = run(branch, gradient=True)
    assert y.tolist() == [[5, 5], [1, 1], [1, 1]] and gradient.tolist() == [[0, 0], [6, 6], [1, 1]]


def test_while_as_a_with_statement():
    def function(x, i):
        y, n = x * 1, paddle.full([1], 5, "int64")
        going = paddle.less_than(i, n)
        with While(going).block():
            paddle.assign(i + 1, output=i)
            paddle.assign(y * 2, output=y)
            paddle.less_than(i, n, out=going)
        return [y, i, going]

    y, i, going, gradient = run(function, gradient=True)
    assert (y == 16).all() and i == 5 and not going and (gradient == 16).all()

    def forever(x, i):
        with While(i < 3).block():
            paddle.assign(i + 1, output=i)

    with pytest.raises(RuntimeError, match="never overwrites cond"):
        run(forever)


def test_switch_as_a_with_statement():
    def function(x, i):
        y = x * 1
        with Switch() as switch:
            with switch.case(i < 1):
                paddle.assign(y * 3, output=y)
            with switch.case(i < 2):
                paddle.assign(y * 5, output=y)
            with switch.default():
                paddle.assign(y * 7, output=y)
        return y

    for i, factor in ((0, 3), (1, 5), (2, 7)):
        y, gradient = run(function, i=i, gradient=True)
        assert (y == factor).all() and (gradient == factor).all()


def test_assert():
    assert run(lambda x, i: [x + 1, Assert(x.sum() > 0, [x])][:1])[0][0, 0] == 2
    with pytest.raises(ValueError, match=r"(?s)does not hold.*Variable: x.*1.000000 1.000000\]"):
        run(lambda x, i: [x + 1, Assert(x.sum() < 0, [x], 2)][:1])
    skipped = run(lambda x, i: cond(i > 5, lambda: [Assert(x.sum() < 0), x][1], lambda: x * 2))
    assert (skipped[0] == 2).all()


def test_print(capfd):
    y, gradient = run(lambda x, i: Print(x * 2, message="hi", summarize=2) * 3, gradient=True)
    assert (y == 6).all() and (gradient == 6).all()
    text = capfd.readouterr().out
    assert "- message: hi\n  - lod: {}\n  - place: Place(cpu)\n  - shape: [3, 2]\n  - layout: NCHW\n" in text
    assert "  - dtype: float32\n  - data: [2.000000 2.000000]\n" in text
    assert "@GRAD\n" in text and "data: [3.000000 3.000000]" in text
    run(lambda x, i: Print(x, first_n=1, print_phase="forward", print_tensor_shape=False))
    assert "shape" not in capfd.readouterr().out


def test_arrays():
    def known(x, i):
        array, zero = create_array("float32"), paddle.zeros([1], "int64")
        array_write(x, zero, array)
        array_write(x * 2, zero + 1, array)
        return [array_read(array, i), array_read(array, zero), array_length(array)]

    second, first, length, gradient = run(known, gradient=True)
    assert (second == 2).all() and (first == 1).all() and length.tolist() == [2] and (gradient == 2).all()
    with pytest.raises(IndexError, match="between 0 and 1, got 2"):
        run(known, i=2)

    def loop(x, i):
        array = array_write(x, paddle.zeros([1], "int64"), create_array("float32"))

        def body(i, array):
            array_write(array_read(array, i - 1) * 2, i, array)
            return i + 1, array

        i, array = while_loop(lambda i, array: i < 4, body, [i, array])
        return [array_read(array, i - 1), array_length(array)]

    last, length, gradient = run(loop, gradient=True)
    assert (last == 8).all() and length.tolist() == [4] and (gradient == 8).all()

    def from_nothing(x, i):
        def body(i, array):
            return i + 1, array_write(x * (i + 1).astype("float32"), i, array)

        i, array = while_loop(lambda i, array: i < 3, body, [i - 1, create_array("float32")])
        return [array_read(array, i - 1), array_length(array)]

    last, length, gradient = run(from_nothing, gradient=True)
    assert (last == 3).all() and length.tolist() == [3] and (gradient == 3).all()

    def outside(x, i):
        array = create_array("float32")
        while_loop(lambda i: i < 3, lambda i: [array_write(x, i, array), i + 1][1], [i])

    with pytest.raises(RuntimeError, match="make it a loop variable"):
        run(outside)


def test_an_array_that_a_branch_extends():
    def function(x, i):
        array = array_write(x, i - 1, create_array("float32"))
        cond(x.sum() > 0, lambda: [array_write(x * 2, i, array), None][1], lambda: None)
        return [array_read(array, array_length(array) - 1), array_length(array)]

    last, length, gradient = run(function, gradient=True)
    assert (last == 2).all() and length == 2 and (gradient == 2).all()
    last, length, gradient = run(function, x=-ONES, gradient=True)
    assert (last == -1).all() and length == 1 and (gradient == 1).all()


def test_eager_calls_are_plain_python():
    paddle.disable_static()
    x, i = paddle.ones([2]), paddle.to_tensor([1])
    x.stop_gradient = False
    assert cond(x.sum() > 0, lambda: x * 2, lambda: None).tolist() == [2, 2]
    assert cond(x.sum() < 0, lambda: x, None) is None
    found = while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (i, x))
    assert isinstance(found, tuple) and found[1].tolist() == [4, 4] and x.tolist() == [1, 1]
    assert paddle.grad(found[1].sum(), x)[0].tolist() == [4, 4]
    assert case([(x.sum() < 0, lambda: 1), (x.sum() > 0, lambda: 2)]) == 2
    assert switch_case(i, {0: lambda: 7, 2: lambda: 8}) == 8
    assert switch_case(1, [lambda: 7, lambda: 8]) == 8
    with pytest.raises(ValueError, match="takes 2 loop variables and returns 1"):
        while_loop(lambda i, y: i < 3, lambda i, y: (i + 1,), [i, x])
    with pytest.raises(ValueError, match="does not hold"):
        Assert(x.sum() < 0)
    with pytest.raises(RuntimeError, match="no program"):
        with While(x.sum() < 0).block():
            pass
