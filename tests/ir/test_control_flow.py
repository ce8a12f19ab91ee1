"""Branches and loops of programs against the same functions run eagerly: values, gradients of first and second order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ir._build import WORDS, build, run, values_of

import paddle
from paddle.ir import loops
from paddle.ir.record import HostKernel
from paddle.ir.run import Executable
from paddle.ir.text import graph_text
from paddle.static.nn import case, cond, switch_case, while_loop

F64 = np.float64
X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])


def grads(loss, inputs, create_graph):
    found = paddle.grad(loss, inputs, create_graph=create_graph, allow_unused=True)
    return [x * 0 if g is None else g for x, g in zip(inputs, found)]


def with_gradients(function, order=2):
    """The function's outputs with their gradients, and those of the sum of squares of the gradients."""

    def gradients(*tensors):
        inputs = [t for t in tensors if t.dtype == paddle.float64]
        for t in inputs:
            t.stop_gradient = False
        outs = function(*tensors)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        loss = sum((o * o.cos()).sum() * (k + 1) for k, o in enumerate(outs) if o.dtype == paddle.float64)
        first = grads(loss, inputs, order > 1)
        return outs + first + (grads(sum((g * g).sum() for g in first), inputs, False) if order > 1 else [])

    return gradients


def same_as_eager(function, *arrays, order=2, dims=False, more=()):
    """Run a function as a program and eagerly, for several inputs; returns the graph."""
    sets = [[np.asarray(a) for a in each] for each in (arrays, *more)]
    specs = {f"a{i}": ((-1, *a.shape[1:]) if dims and a.ndim else a.shape, a.dtype) for i, a in enumerate(sets[0])}
    graph, out = build(with_gradients(function, order), **specs)
    executable = Executable(graph, values_of(out))
    for each in sets:
        states = {n: s.tensor._value for n, s in executable.states.items()}
        found, _ = executable.run({f"a{i}": a for i, a in enumerate(each)}, states, WORDS)
        want = with_gradients(function, order)(*[paddle.to_tensor(a) for a in each])
        for got, expected in zip(found, want, strict=True):
            assert got.shape == tuple(expected.shape)
            np.testing.assert_allclose(got, expected.numpy(), rtol=1e-9, atol=1e-12)
    return graph


# ---- branches ----


@pytest.mark.parametrize("dims", [False, True])
def test_cond(dims):
    w = paddle.to_tensor(X[0] * 2, stop_gradient=False)

    def function(x):
        return cond(x.sum() > 0, lambda: [x * x * w, w * 2], lambda: [x.sin(), (x * w).sum(0)])

    graph = same_as_eager(function, X, dims=dims, more=[(-X,)])
    assert "cond(pred=%greater_than" in graph_text(graph)
    assert sum(name.startswith("cond_grad") for name in graph_text(graph).split()) > 0


def test_the_branch_that_is_not_taken_leaves_no_nan_in_the_gradient():
    same_as_eager(lambda x: cond((x > 0).all(), lambda: x.log() / x, lambda: x * 2), X)


def test_nested_branches_and_loops():
    def function(x, n):
        def body(i, y):
            y = cond(y.sum() > 5, lambda: y - x, lambda: cond(i > 2, lambda: y * 1.5, lambda: (y * x).exp()))
            y = while_loop(lambda k, y: k < i, lambda k, y: [k + 1, y * x.cos()], [paddle.zeros([], "int64"), y])[1]
            return i + 1, y

        return while_loop(lambda i, y: i < n, body, [paddle.zeros([], "int64"), x])[1]

    same_as_eager(function, X, np.int64(0), order=1, more=[(X, 1), (X, 4)])


def test_structures_and_numbers():
    def function(x):
        return cond(
            x.sum() > 0,
            lambda: {"a": (x, 1), "b": [None, 2.5], "c": 7},
            lambda: {"a": (x * 3, 4), "b": [None, 3.5], "c": 7},
        )

    seen = []
    graph, _ = build(lambda x: seen.append(function(x)) or x, x=((3,), np.float32))
    out = seen[0]
    assert out["c"] == 7 and out["b"][0] is None
    assert out["a"][1].dtype == paddle.int64 and out["b"][1].dtype == paddle.float64
    flat = [out["a"][0], out["a"][1], out["b"][1]]
    found, _ = run(graph, flat, x=np.array([-1, -2, -3], np.float32))
    assert found[0].tolist() == [-3, -6, -9] and found[1] == 4 and found[2] == 3.5


def test_results_that_do_not_fit():
    def recording(true, false, error, message):
        with pytest.raises(error, match=message):
            build(lambda x: cond(x.sum() > 0, lambda: true(x), lambda: false(x)), x=((3, 2), np.float32))

    recording(lambda x: x, lambda x: x.astype("float64"), TypeError, "float32 where false_fn returns float64")
    recording(lambda x: x, lambda x: x.sum(), ValueError, r"shape \[3, 2\] where false_fn returns \[\]")
    recording(lambda x: (x, x), lambda x: x, ValueError, "true_fn returns 2 values, but false_fn returns 1")
    recording(lambda x: x, lambda x: None, TypeError, "None")
    recording(lambda x: 1, lambda x: 2.5, TypeError, "2.5")
    recording(lambda x: "a", lambda x: "b", TypeError, "'b'")


def test_what_a_branch_changes_in_place():
    state = paddle.to_tensor([1.0, 2.0])

    def function(x):
        y = x * 1
        view = y[0]

        def change():
            y.scale_(3.0)
            with paddle.no_grad():
                paddle.assign(state + 1, output=state)

        cond(x.sum() > 0, change, lambda: None)
        return [y, view * 2]

    graph, out = build(lambda x: function(x), x=((2,), np.float32))
    assert state.tolist() == [1, 2]
    found, new = run(graph, out, x=np.array([1, 2], np.float32))
    assert found[0].tolist() == [3, 6] and found[1] == 6
    assert next(iter(new.values())).tolist() == [2, 3]
    found, new = run(graph, out, x=np.array([-1, -2], np.float32))
    assert found[0].tolist() == [-1, -2] and next(iter(new.values())).tolist() == [1, 2]

    def square(x):
        y = x * 2
        cond(x.sum() > 0, lambda: [y.multiply_(x), None][1], lambda: [y.add_(x * x), None][1])
        return y * x

    same_as_eager(square, X, more=[(-X,)])


def test_detached_tensors_carry_no_gradient():
    def function(x):
        def branch():
            d = x.detach()
            with paddle.no_grad():
                e = x * 7
            y = x * 2
            leaf, other = y.detach(), x.detach()
            leaf.stop_gradient = other.stop_gradient = False
            return [x * d + e * x, y.detach() * x + y * y, leaf * x + other * x * x]

        return cond(x.sum() > 0, branch, lambda: [x.detach() * x, x, x * 2])

    same_as_eager(function, X, more=[(-X,)])

    def body(i, y, z):
        return i + 1, y.detach() * y * 0.5 + z, (z * y).detach() + z

    same_as_eager(
        lambda x: while_loop(lambda i, y, z: i < 4, body, [paddle.zeros([], "int64"), x, x * x])[1:], X, order=1
    )


def test_an_operator_with_a_gradient_of_its_own_keeps_it():
    """relu at 0 has the gradient 0, max over ties a share for each."""
    x = np.array([0.0, 2.0, 2.0])
    same_as_eager(lambda x: cond(x.sum() > 0, lambda: paddle.nn.functional.relu(x) + x.amax(), lambda: x), x, order=1)
    same_as_eager(lambda x: cond(x.sum() > 0, lambda: paddle.nn.functional.softmax(x), lambda: x), x)


def test_gradients_inside_of_a_branch():
    def function(x):
        def branch():
            y = x * x * x
            return paddle.grad(y.sum(), x, create_graph=True)[0] * x

        return cond(x.sum() > 0, branch, lambda: x)

    same_as_eager(function, X)


def test_case_and_switch_case():
    def function(x, i):
        a = case([(x < 1.0, lambda: x + 100), (x < 5.0, lambda: x * x)], default=lambda: x.sin())
        b = switch_case(i, {1: lambda: x * 1, 3: lambda: x * x}, default=lambda: x.cos())
        c = switch_case(i, [lambda: x * 10, lambda: x * 11, lambda: x * 12])
        return [a, b, c, case([(x < 1.0, lambda: x), (x < -9.0, lambda: x * 2)])]

    inputs = [(np.array([v]), np.array([i], np.int32)) for v in (0.5, 3.0, 8.0, 1.0) for i in (-1, 0, 1, 2, 3, 9)]
    same_as_eager(function, *inputs[0], more=inputs[1:])


def test_a_branch_that_follows_from_lengths_is_chosen_while_compiling():
    def function(x):
        return cond(paddle.shape(x)[0] > 3, lambda: x.sum(0), lambda: x[0] * 100)

    graph, out = build(function, x=((-1, 2), np.float32))
    executable = Executable(graph, values_of(out))
    for rows, want in ((2, 100.0), (5, 5.0)):
        text = jax.jit(executable._call).lower({}, {}, {"x": np.ones((rows, 2), np.float32)}, WORDS).as_text()
        assert "stablehlo.case" not in text
        assert run(graph, out, x=np.ones((rows, 2), np.float32))[0][0].tolist() == [want, want]


def test_a_flag_from_outside_is_read_in_every_run():
    flag = paddle.to_tensor(True)
    graph, out = build(lambda x: cond(flag, lambda: x * 2, lambda: x * 3), x=((2,), np.float32))
    one = np.ones(2, np.float32)
    assert run(graph, out, x=one)[0][0].tolist() == [2, 2]
    flag.set_value(np.array(False))
    assert run(graph, out, x=one)[0][0].tolist() == [3, 3]


def test_backward_in_a_branch():
    outside = paddle.to_tensor([1.0, 2.0], stop_gradient=False)

    def penalty(x):
        y = x.detach()
        y.stop_gradient = False
        (y * y * y).sum().backward()
        return y.grad * x

    same_as_eager(lambda x: cond(x.sum() > 0, lambda: penalty(x), lambda: x), X, order=1)
    with pytest.raises(NotImplementedError, match="use paddle.grad"):
        build(
            lambda x: cond(x.sum() > 0, lambda: [(outside * x).sum().backward(), x][1], lambda: x), x=((2,), np.float32)
        )
    assert outside.grad is None


# ---- loops ----


def weighted(n, x, w):
    def body(i, y, k):
        return i + 1, (y * w).sin() + 0.1 * y / k.astype("float64"), k + 2

    return while_loop(lambda i, y, k: i < n, body, [paddle.zeros([], "int64"), x, paddle.ones([], "int64")])[1]


def test_loop_gradients(monkeypatch):
    """Also for more iterations than the buffer has places."""
    monkeypatch.setattr(loops, "CAPACITY", (8, 8))
    w = X[0] * 0.1 + 0.7
    same_as_eager(weighted, np.int64(0), X, w, more=[(n, X, w) for n in (1, 5, 8, 9, 40)])
    same_as_eager(weighted, np.int64(300), X, w, order=1)


def test_loop_gradients_numerically():
    graph, out = build(with_gradients(weighted, 1), n=((), np.int64), x=((3,), F64), w=((3,), F64))
    x, w = X[0], X[1]
    found, _ = run(graph, out, n=np.int64(7), x=x, w=w)

    def loss(x, w):
        y = run(graph, out[:1], n=np.int64(7), x=x, w=w)[0][0]
        return (y * np.cos(y)).sum()

    for which, gradient in enumerate(found[1:]):
        for i in range(3):
            sides = []
            for sign in (1, -1):
                moved = [x.copy(), w.copy()]
                moved[which][i] += sign * 1e-6
                sides.append(loss(*moved))
            np.testing.assert_allclose(gradient[i], (sides[0] - sides[1]) / 2e-6, rtol=1e-7, atol=1e-8)


def test_loop_of_complex_numbers():
    def function(x):
        z = paddle.complex(x, x * x)
        w = paddle.complex(x.cos(), x)
        z = while_loop(lambda i, z: i < 3, lambda i, z: [i + 1, (z * w).exp() - z], [paddle.zeros([], "int64"), z])[1]
        return cond(x.sum() > 0, lambda: z * z, lambda: z).abs()

    same_as_eager(function, X * 0.3, order=1)


def test_loop_from_scratch_third_order(monkeypatch):
    """The loop on arrays, differentiated three times: x ** (3 ** n) with n = 2."""
    monkeypatch.setattr(loops, "CAPACITY", (2, 2))

    def power(x):
        return loops.while_loop(lambda c, t, s: t < c[0], lambda c, t, s: [s[0] ** 3], [jnp.int32(2)], [x])[0]

    third = jax.jit(jax.grad(jax.grad(jax.grad(power))))(jnp.float64(1.1))
    np.testing.assert_allclose(third, 9 * 8 * 7 * 1.1**6, rtol=1e-12)


def test_loop_compiles_to_one_loop_and_keeps_no_states_without_a_gradient():
    graph, out = build(lambda x: while_loop(lambda y: y.sum() < 100, lambda y: y * 2, [x]), x=((3,), np.float32))
    executable = Executable(graph, values_of(out))
    text = jax.jit(executable._call).lower({}, {}, {"x": np.ones(3, np.float32)}, WORDS).as_text()
    assert text.count("stablehlo.while") == 1 and "1024x3" not in text
    assert not executable.on_host


def test_whole_graphs_are_differentiable_by_jax():
    def function(x):
        y = while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [paddle.zeros([], "int64"), x])[1]
        return cond(x.sum() > 0, lambda: paddle.nn.functional.relu(y) * 2, lambda: y)

    graph, out = build(function, x=((-1,), F64))
    executable = Executable(graph, values_of(out))
    x = np.array([2.0, -1.0, 0.5])
    gradient = jax.grad(lambda x: executable._call({}, {}, {"x": x}, WORDS)[0][0].sum())(x)
    np.testing.assert_allclose(gradient, np.where(x**4 > 0, 8 * x**3, 0))


def test_loop_structures_numbers_and_dims():
    def function(x, n):
        def body(i, s, total, fixed):
            return i + 1, {"a": s["a"] + x, "b": [s["b"][0] * 2]}, total + s["a"].sum(), fixed

        i, s, total, fixed = while_loop(
            lambda i, s, total, fixed: i < n, body, [0, {"a": x, "b": [x * x]}, 0.0, ("same", None, 3)]
        )
        assert fixed == ("same", None, 3)
        return [s["a"], s["b"][0], total]

    graph, out = build(function, x=((-1,), np.float32), n=((), np.int64))
    assert out[0].shape == [-1] and out[2].shape == []
    for rows, n in ((2, 3), (5, 1), (4, 0)):
        found, _ = run(graph, out, x=np.ones(rows, np.float32), n=np.int64(n))
        assert found[0].tolist() == [1.0 + n] * rows and found[1].tolist() == [2.0**n] * rows
        assert found[2] == rows * n * (n + 1) / 2


def test_what_a_loop_changes_in_place():
    weight = paddle.to_tensor(X[0], stop_gradient=False)

    def function(x):
        y = x * 1

        def body(i):
            y.multiply_(weight)
            y.add_(x)
            return i + 1

        while_loop(lambda i: i < 3, body, [paddle.zeros([], "int64")])
        return y * y

    same_as_eager(function, X)


def test_random_numbers_differ_in_every_iteration_and_the_gradient_sees_the_same():
    def function(x):
        def body(i, y, seen):
            r = paddle.rand([3])
            return i + 1, y * r, paddle.concat([seen[1:], r.reshape([1, 3])])

        _, y, seen = while_loop(lambda i, *_: i < 4, body, [paddle.zeros([], "int64"), x, paddle.zeros([4, 3])])
        a = cond(x.sum() > 0, lambda: paddle.rand([2]), lambda: paddle.rand([2]))
        return [y, seen, a, paddle.rand([2])]

    def both(x):
        x.stop_gradient = False
        outs = function(x)
        return [*outs, paddle.grad(outs[0].sum(), x)[0]]

    graph, out = build(both, x=((3,), np.float32))
    y, seen, a, b, gradient = run(graph, out, x=np.ones(3, np.float32))[0]
    assert len(np.unique(np.concatenate([seen.ravel(), a, b]))) == 16
    np.testing.assert_allclose(y, seen.prod(0), rtol=1e-6)
    np.testing.assert_allclose(gradient, seen.prod(0), rtol=1e-6)
    assert np.array_equal(run(graph, out, x=np.ones(3, np.float32))[0][1], seen)


def test_loop_variables_that_do_not_fit():
    def recording(body, start, error, message):
        with pytest.raises(error, match=message):
            build(
                lambda x: while_loop(lambda i, y: i < 3, body, [paddle.zeros([], "int64"), start(x)]),
                x=((3, 2), np.float32),
            )

    recording(lambda i, y: (i + 1,), lambda x: x, ValueError, "takes 2 loop variables and returns 1")
    recording(lambda i, y: (i + 1, y.sum()), lambda x: x, ValueError, r"shape \[3, 2\] and becomes \[\]")
    recording(lambda i, y: (i + 1, "b"), lambda x: "a", TypeError, "only tensors and numbers change")
    recording(lambda i, y: (i + 1, None), lambda x: x, TypeError, "becomes None")
    with pytest.raises(ValueError, match="one element"):
        build(lambda x: while_loop(lambda y: y > 0, lambda y: y, [x]), x=((3,), np.float32))
    with pytest.raises(TypeError, match="bool"):
        build(lambda x: while_loop(lambda y: y.sum(), lambda y: y, [x]), x=((3,), np.float32))


def test_types_that_change_in_the_body():
    graph, out = build(
        lambda x: while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * x], [0, paddle.ones([], "int32")]),
        x=((), np.float32),
    )
    assert run(graph, out, x=np.float32(1.5))[0][1] == 1.5**3


# ---- what cannot be compiled ----


def positive(x):
    """The positive elements: as many as there are."""

    def choose(x):
        return x[x > 0] if isinstance(x, paddle.Tensor) else x

    kernel = HostKernel(choose, "positive", ("",), lambda specs, trial: ((64 + 32 * trial,), specs[0].dtype))
    recorder = paddle.engine.modes.modes.program
    return choose(x) if recorder is None else recorder.record(kernel, (x,))


def test_shapes_that_differ_between_branches():
    def function(x):
        return cond(x.sum() > 0, lambda: x * x, lambda: x[:1].sin()).exp()

    graph = same_as_eager(function, X, more=[(-X,)])
    assert "float64[?, 3] = cond" in graph_text(graph)


def test_shapes_that_change_in_a_loop():
    def function(x, n):
        def body(i, y):
            return i + 1, paddle.concat([y, (y * x).sum(0, keepdim=True)])

        return while_loop(lambda i, y: i < n, body, [paddle.zeros([], "int64"), x])[1]

    graph, out = build(function, x=((1, 3), F64), n=((), np.int64))
    assert out.shape == [-1, 3]
    for n in (0, 3, 5):
        assert run(graph, out, x=X[:1], n=np.int64(n))[0][0].shape == (1 + n, 3)
    same_as_eager(function, X[:1], np.int64(0), more=[(X[:1], 1), (X[:1], 3)])


def test_host_operators_in_blocks():
    def function(x):
        y = cond(x.sum() > 0, lambda: positive(x * x).sum() * x, lambda: x * 3)
        z = while_loop(lambda i, z: i < 3, lambda i, z: [i + 1, positive(z * 2 - 0.1)], [paddle.zeros([], "int64"), y])
        return [y.sin(), z[1]]

    same_as_eager(function, X[0], more=[(-X[0],)])


def test_random_numbers_on_the_host():
    def function(x):
        def body(i, y):
            return i + 1, paddle.concat([y, paddle.rand([2])])

        return while_loop(lambda i, y: i < 3, body, [paddle.zeros([], "int64"), x])[1]

    graph, out = build(function, x=((1,), np.float32))
    found = run(graph, out, x=np.ones(1, np.float32))[0][0]
    assert len(np.unique(found)) == 7


def test_numbers_that_depend_on_data():
    def function(x, n):
        return cond(x.sum() > 0, lambda: paddle.full([n], 2.0, "float64").sum() * x, lambda: x)

    graph, out = build(function, x=((3,), F64), n=((), np.int64))
    for n in (2, 5):
        assert run(graph, out, x=np.ones(3), n=np.int64(n))[0][0].tolist() == [2.0 * n] * 3
