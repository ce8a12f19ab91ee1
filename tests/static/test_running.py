"""Executors: compiling ahead, arrays that are overwritten, threads that share a scope."""

import threading

import numpy as np
import pytest

import paddle
from paddle import static
from paddle.utils import count_compiles

FEED = {"x": np.random.RandomState(0).randn(6, 4).astype("float32")}


@pytest.fixture
def program():
    paddle.enable_static()
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.scope_guard(scope), static.program_guard(main, startup):
        x = static.data("x", [None, 4])
        loss = (paddle.nn.Linear(4, 3)(x) ** 2).mean()
        test = main.clone(for_test=True)
        paddle.optimizer.Adam(0.01).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        yield main, test, loss, exe, scope
    paddle.disable_static()


def names(program):
    return [p.name for p in program.all_parameters()]


def test_what_a_step_replaces_is_overwritten(program):
    main, _, loss, exe, scope = program
    for _ in range(2):
        exe.run(main, FEED, [loss])
    arrays = {n: v._array for n, v in scope.variables.items() if n in main.states}
    exe.run(main, FEED, [loss])
    assert arrays and all(a.is_deleted() for a in arrays.values())


def test_what_anybody_has_seen_stays(program):
    main, test, loss, exe, scope = program
    name = names(main)[0]
    kept = []

    def keep(value):
        kept.append((value, np.array(value.numpy() if hasattr(value, "numpy") else value, copy=True)))

    for _ in range(3):
        exe.run(main, FEED, [loss])
        keep(main.global_block().var(name).get_value())
        keep(np.asarray(scope.find_var(name).get_tensor()))
        keep(exe.run(main, FEED, [name], return_numpy=False)[0])  # the new value
        keep(exe.run(main, FEED, [name])[0])
        keep(exe.run(test, FEED, [name], return_numpy=False)[0])  # what the scope holds
        keep(exe.run(test, FEED, [name])[0])
        keep(main.state_dict(scope=scope)[name])
        keep(np.from_dlpack(scope.find_var(name).array))
    exe.run(main, FEED)
    assert len({v.tobytes() for _, v in kept}) > 3
    for value, copy in kept:
        assert np.array_equal(value.numpy() if hasattr(value, "numpy") else value, copy)


def test_arrays_that_were_put_into_a_scope_stay(program):
    main, _, loss, exe, scope = program
    name = names(main)[0]
    given = np.full(scope.find_var(name).shape(), 0.5, np.float32)
    tensor = paddle.to_tensor(given)
    for value in (given, tensor):
        main.set_state_dict({name: value}, scope)
        exe.run(main, FEED, [loss])
        exe.run(main, FEED, [loss])
        assert (np.asarray(given) == 0.5).all() and (tensor.numpy() == 0.5).all()
    first = exe.run(main, FEED, [loss])[0]
    scope.find_var(name).set(given, None)
    assert exe.run(main, FEED, [loss])[0] != first and (given == 0.5).all()


def test_what_a_step_leaves_is_what_it_left_before(program):
    """Against a scope whose arrays are looked at before every run, so that none is overwritten."""
    main, _, loss, exe, scope = program
    other = static.Scope()
    for n, v in scope.variables.items():
        other.var(n).array = v.array
    for _ in range(4):
        a = exe.run(main, FEED, [loss])[0]
        for v in other.variables.values():
            v.array
        b = exe.run(main, FEED, [loss], scope=other)[0]
        assert a == b
    for n in scope.variables:
        assert np.array_equal(scope.find_var(n).numpy(), other.find_var(n).numpy())


def test_threads_that_train_and_test_in_one_scope(program):
    main, test, loss, exe, scope = program
    problems, name = [], names(main)[0]

    def work(which):
        try:
            for _ in range(30):
                out = exe.run(which, FEED, [loss.name, name], scope=scope, return_numpy=False)
                assert np.isfinite(out[1].numpy()).all()
        except Exception as e:
            problems.append(e)

    threads = [threading.Thread(target=work, args=(p,)) for p in (main, main, test, test)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not problems
    assert np.isfinite(scope.find_var(name).numpy()).all()


@pytest.mark.parametrize("background", [False, True])
def test_a_first_run_that_compiles_nothing(program, background):
    main, _, loss, exe, scope = program
    before = scope.find_var(names(main)[0]).numpy()
    thread = exe.warm_up(main, {"x": static.InputSpec([6, 4], "float32", "x")}, [loss], background=background)
    if background:
        thread.join()
    assert np.array_equal(scope.find_var(names(main)[0]).numpy(), before)
    with count_compiles() as count:
        exe.run(main, FEED, [loss])
    assert "jit(program)" not in count.names
    assert not np.array_equal(scope.find_var(names(main)[0]).numpy(), before)


def test_what_cannot_be_compiled_ahead(program):
    main, _, loss, exe, scope = program
    with pytest.raises(ValueError, match="every length of 'x' must be known"):
        exe.warm_up(main, {"x": static.InputSpec([None, 4], "float32", "x")}, [loss])
    with pytest.raises(ValueError, match="needs the input 'x'"):
        exe.warm_up(main, {}, [loss])
    with pytest.raises(RuntimeError, match="has no value in the scope"):
        exe.warm_up(main, FEED, [loss], scope=static.Scope())
    other = static.Program()
    with static.program_guard(other):
        found = paddle.nonzero(static.data("x", [4]))
    with pytest.raises(NotImplementedError, match="operator nonzero runs on the host"):
        exe.warm_up(other, {"x": np.ones(4, np.float32)}, [found])


def test_what_is_fed_keeps_its_numbers(program):
    _, _, _, exe, scope = program
    other = static.Program()
    with static.program_guard(other):
        x, i = static.data("x", [None]), static.data("i", [2], "int64")
        found = [x * 1, i * 1]
    x, i = np.array([1.5, 2.0], ">f4"), [3.0, 4.0]  # in another order of bytes; whole numbers
    a, b = exe.run(other, {"x": x, "i": i}, found)
    assert a.tolist() == [1.5, 2.0] and b.tolist() == [3, 4]
    with pytest.raises(ValueError, match="'i' has type int64, it was fed"):
        exe.run(other, {"x": x, "i": [3.5, 4.0]}, found)
    variable = scope.var("never set")
    for look in (variable.shape, variable.numpy, lambda: np.asarray(variable)):
        with pytest.raises(RuntimeError, match="never set has no value"):
            look()
