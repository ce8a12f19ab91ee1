"""Control flow on tensors inside of to_static: the results and gradients of the function itself."""

import collections
import functools
import math

import numpy as np
import pytest

import paddle


def T(a, dtype="float32"):
    return paddle.to_tensor(np.asarray(a, dtype))


P, N = [1.0, 2.0], [-1.0, -2.0]
Pair = collections.namedtuple("Pair", "a b")


def early_return(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def return_in_one_inner_branch(x):
    if x.sum() > 0:
        if x.max() > 10:
            return x * 100
        y = x + 1
    else:
        y = x - 1
    return y * 3


def return_in_loop(x, n):
    for i in range(n):
        x = x + i
        if x.sum() > 8:
            return x * 10
    return x


def nested_loops(x, n):
    s = paddle.zeros([2])
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 2 == 0:
                continue
            s = s + x * j
    return s


def ternary(x):
    return x * 2 if x.sum() > 0 else x - 3


def python_numbers_become_tensors(x, limit):
    i = 0
    s = 0.0
    while i < limit:
        i += 1
        s = s + x.sum() * i
    return s, x * i


def dicts_in_branches(x):
    d = {"y": x}
    if x.sum() > 0:
        d["y"] = x * 2
        d["z"] = x * 3
    else:
        d["y"] = x * 4
        d["z"] = x * 5
    return d["y"] + d["z"]


def lists_in_branches(x):
    found = [x]
    if x.sum() > 0:
        found.append(x + 1)
    else:
        found.append(x + 2)
    return found[0] + found[1]


def chained_comparison(x):
    if 0 < x.sum() < 3.2:
        return x * 2
    else:
        return x * 3


def and_or_not(x):
    if x.sum() > 0 and x.max() < 5 or not x.min() > -3:
        y = x * 2
    else:
        y = x * 3
    return y


def lambdas(x):
    g = lambda t: t * 2 if t.sum() > 0 else t * 5  # noqa: E731
    return g(x) + g(-x)


def nonlocal_variables(x):
    k = 3

    def g(t):
        nonlocal k
        k = k + 1
        if t.sum() > 0:
            return t * k
        return t - k

    return g(x) + g(x)


def first_assigned_in_the_loop(x, n):
    for i in range(n):
        t = x * i
    return t + 1


def rows_by_enumerate_and_zip(x):
    s = paddle.zeros([2])
    for i, (a, b) in enumerate(zip(x, x * 2)):
        s = s + a * b * i
    return s


def written_elements(x):
    y = paddle.zeros([2])
    i = paddle.zeros([], "int64")
    while i < 2:
        if x[i] > 0:
            y[i] = x[i] * 2
        i = i + 1
    return y


def detached_in_branches(x):
    y = (x * 2).detach()
    if x.sum() > 0:
        z = y * x
    else:
        z = y + x * x.detach()
    return z


def without_gradients(x):
    with paddle.no_grad():
        y = x * 2
        if x.sum() > 0:
            y = y * 3
    return y * x


def try_finally(x):
    try:
        if x.sum() > 0:
            y = x * 2
        else:
            y = x * 3
    except ValueError:
        y = x
    finally:
        z = y + 1
    return z


def swapped(x):
    a, b = x, x * 2
    if x.sum() > 0:
        a, b = b, a
    (c, d), e = (a, b), 3
    return a - b + c * d * e


def while_true(x, n):
    i = 0
    while True:
        x = x * 1.5
        i += 1
        if i >= n:
            break
    return x


def while_else(x, n):
    i = paddle.zeros([], "int64")
    while i < n:
        i = i + 1
        if x.sum() > 100:
            break
        x = x * 2
    else:
        x = x + 1000
    return x


def for_else(x, n):
    for _ in range(n):
        x = x * 2
        if x.sum() > 100:
            break
    else:
        x = x + 0.5
    return x


def ranges_with_steps(x, n):
    s = paddle.zeros([2])
    for i in range(0, n, 2):
        s += x * i
    for j in range(n, 0, -1):
        s += j
    return s


class Holder:
    pass


def attributes(x):
    o = Holder()
    o.v = x
    if x.sum() > 0:
        o.v = x * 2
    else:
        o.v = x * 7
    return o.v


def constants(x):
    s = x.sum()
    if s > 10:
        k, word = 1, "same"
    elif s > 2:
        k, word = 2, "same"
    else:
        k, word = 4, "same"
    return x * k, word


def assignment_expression(x):
    if (s := x.sum()) > 0:
        return x * s
    return x - s


def functions_in_branches(x):
    if x.sum() > 0:

        def g(t):
            return t * 2

        y = g(x)
    else:

        def g(t):
            return t * 3

        y = g(x)
    return y


@paddle.no_grad()
def library_decorated(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


def decorated(x):
    return library_decorated(x) + x


def extremes(x):
    return max(x.sum(), 0.5) * min(x[0], x[1])


def sorting(x):
    values = [x[i] for i in range(x.shape[0])]
    for i in range(2):
        for j in range(1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return paddle.stack(values)


def assertion(x):
    assert x.shape[0] == 2, "never"
    assert x.abs().sum() > 0
    return x * math.pi


def bound(k, x):
    if x.sum() > 0:
        return x * k
    return x + k


def recursive(x, depth=3):
    if depth == 0:
        return x
    y = recursive(x, depth - 1)
    return y * 2 if y.sum() > 0 else y * 3


def structured(x):
    if x.sum() > 0:
        r = Pair(x, [x * 2, {"k": 3}])
    else:
        r = Pair(-x, [x * 5, {"k": 3}])
    return r


ON_SIGN = [
    early_return, return_in_one_inner_branch, ternary, dicts_in_branches, lists_in_branches, chained_comparison,
    and_or_not, lambdas, nonlocal_variables, written_elements, detached_in_branches, without_gradients, try_finally,
    swapped, attributes, constants, assignment_expression, functions_in_branches, decorated, extremes, sorting, assertion,
    functools.partial(bound, 3.0), recursive, structured,
]  # fmt: skip
COUNTED = [
    return_in_loop, nested_loops, python_numbers_become_tensors, while_true, while_else, for_else, ranges_with_steps,
    first_assigned_in_the_loop,
]  # fmt: skip


def leaves(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in leaves(v)]
    return [x for v in value for x in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def run(function, x, *rest):
    x = T(x)
    x.stop_gradient = False
    outs = leaves(function(x, *rest))
    real = [t for t in outs if isinstance(t, paddle.Tensor) and not t.stop_gradient]
    if real:
        sum((t * t).sum() for t in real).backward()
    return outs, x.grad


def compare(function, *args):
    static = paddle.jit.to_static(function, full_graph=True)
    want, want_grad = run(function, *args)
    for _ in range(2):  # recorded, then used again
        got, grad = run(static, *args)
        assert len(got) == len(want)
        for g, w in zip(got, want):
            if isinstance(w, paddle.Tensor):
                assert g.dtype == w.dtype and g.shape == w.shape
                np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-6)
            else:
                assert g == w
        zeros = paddle.zeros_like(T(args[0]))  # a branch that was not taken gives zeros, not None
        np.testing.assert_allclose(
            (zeros if grad is None else grad).numpy(), (zeros if want_grad is None else want_grad).numpy(), rtol=1e-5
        )
    return static


@pytest.mark.parametrize("sign", [P, N], ids=["positive", "negative"])
@pytest.mark.parametrize("function", ON_SIGN, ids=lambda f: getattr(f, "__name__", "partial"))
def test_branches(function, sign):
    compare(function, sign)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("function", COUNTED, ids=lambda f: f.__name__)
def test_loops(function, n):
    compare(function, P, T(n, "int64"))


def test_rows():
    compare(rows_by_enumerate_and_zip, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_one_program_for_both_branches():
    static = paddle.jit.to_static(early_return, full_graph=True)
    static(T(P)), static(T(N))
    assert static.get_traced_count() == 1


def test_unknown_lengths_drive_loops_and_conditions():
    traces = []

    @paddle.jit.to_static(input_spec=[paddle.static.InputSpec([None, 3], "float32", "x")], full_graph=True)
    def f(x):
        traces.append(1)
        s = paddle.zeros([3])
        for i in range(x.shape[0]):
            s = s + x[i] * i
        for row in x:
            s = s + row
        if x.shape[0] > 2:
            s = s * 10
        return s, x.shape[0]

    for n in (2, 4, 6):
        a = np.arange(3.0 * n, dtype="float32").reshape(n, 3)
        s, length = f(T(a))
        want = (a * np.arange(n)[:, None]).sum(0) + a.sum(0)
        np.testing.assert_allclose(s.numpy(), want * (10 if n > 2 else 1), rtol=1e-5)
        assert length == n
    assert len(traces) == 1


def test_numbers_of_tensors_have_the_official_types():
    f = paddle.jit.to_static(lambda x: (int(x.sum()), float(x.sum()), bool(x.sum())), full_graph=True)
    assert [t.dtype for t in f(T(P))] == [paddle.int32, paddle.float32, paddle.bool]  # as officially


def grows(x, n):
    found = []
    for i in range(n):
        found.append(x * i)
    return paddle.concat(found), found[-1]


def test_lists_that_grow_in_counted_loops_run_eagerly():
    out, last = paddle.jit.to_static(grows, full_graph=True)(T(P), T(3, "int64"))
    assert out.tolist() == [0, 0, 1, 2, 2, 4] and last.tolist() == [2, 4]


def test_branches_of_different_kinds_are_named():
    def f(x):
        if x.sum() > 0:
            value = [x]
        else:
            value = {"a": x}
        return value

    with pytest.raises(TypeError, match="variable 'value' is a list of 1 in one branch and a dict of 1"):
        paddle.jit.to_static(f, full_graph=True)(T(P))
    assert paddle.jit.to_static(f)(T(P))[0].tolist() == P  # eagerly


def test_a_variable_of_one_branch_is_an_error_when_it_is_read():
    def f(x):
        if x.sum() > 0:
            y = x * 2
        return y

    with pytest.raises(NameError) as found:
        paddle.jit.to_static(f, full_graph=True)(T(P))
    assert "one branch" in found.value.__notes__[0]


def test_prints_and_assertions_happen_in_every_run(capfd):
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        print("sum", x.sum())
        assert x.sum() > 0, "negative"
        return x

    f(T(P)), f(T(P))
    assert capfd.readouterr().out.count("sum Tensor") == 2
    with pytest.raises(AssertionError, match="negative"):
        f(T(N))


def test_functions_that_are_left_alone():
    @paddle.jit.not_to_static
    def g(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(RuntimeError, match="needs the value of a tensor|has no value"):
        paddle.jit.to_static(lambda x: g(x), full_graph=True)(T(P))


class Base:
    def scale(self, x):
        if x.sum() > 0:
            return x * 2
        return x * 3


class Derived(Base):
    __factor = 5

    def scale(self, x):
        y = super().scale(x)
        if y.sum() > 0:
            y = super().scale(y) * self.__factor
        return y

    @classmethod
    def made(cls, x):
        return cls().scale(x)


def test_methods_super_and_private_names():
    for sign, want in ((P, [20.0, 40.0]), (N, [-3.0, -6.0])):
        assert paddle.jit.to_static(Derived().scale, full_graph=True)(T(sign)).tolist() == want
        assert paddle.jit.to_static(Derived.made, full_graph=True)(T(sign)).tolist() == want


def test_code_shows_the_conversion():
    code = paddle.jit.to_static(early_return).code
    assert code.startswith("def early_return(x):") and "_jst.branch(" in code
