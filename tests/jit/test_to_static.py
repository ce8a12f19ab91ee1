"""Functions and layers that run as programs: when programs are shared, state, gradients, random numbers, fallbacks."""

import copy
import functools
import pickle
import traceback

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.nn import functional as F

S = paddle.static.InputSpec


def T(a, dtype="float32", stop=True):
    x = paddle.to_tensor(np.asarray(a, dtype))
    x.stop_gradient = stop
    return x


ROWS = np.random.RandomState(0).randn(4, 3).astype("float32")


class Part(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.active = True

    def forward(self, x):
        if x.mean() > 0:
            x = self.linear(x)
        else:
            x = self.linear(x) * 2
        return F.relu(x) if self.active else x


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = nn.LayerList([Part() for _ in range(2)])
        self.rest = nn.Sequential(Part(), nn.Tanh())
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1D(3)
        self.unused = nn.Linear(2, 2)

    def forward(self, x, scale=1.0, *, extra=None):
        for part in self.parts:
            x = part(x)
        x = self.rest(x)
        if extra is not None:
            x = x + extra
        return self.norm(self.drop(x)) * scale


def close(a, b):
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_a_layer_trains_as_it_does_eagerly():
    plain = Net()
    static = paddle.jit.to_static(copy.deepcopy(plain), full_graph=True)
    assert isinstance(static, Net) and list(static.state_dict()) == list(plain.state_dict())
    optimizers = [paddle.optimizer.Adam(0.01, parameters=m.parameters(), weight_decay=0.1) for m in (plain, static)]
    states = []
    for m, optimizer in zip((plain, static), optimizers):
        paddle.seed(3)
        for _ in range(3):
            out = m(T(ROWS), 2.0, extra=T([1.0, 2.0, 3.0]))
            (out * out).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
        states.append(paddle.get_rng_state())
        m.eval()
    assert states[0] == states[1]  # as many random numbers were drawn
    for (name, p), q in zip(plain.state_dict().items(), static.state_dict().values()):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
    close(plain(T(ROWS)), static(T(ROWS)))


def test_a_program_is_compiled_once():
    static = paddle.jit.to_static(Net(), full_graph=True)
    for _ in range(2):  # the second time gradients are added to those that are there
        static(T(ROWS)).sum().backward()
    with paddle.utils.count_compiles() as compiled:
        for _ in range(3):
            static(T(ROWS + 1)).sum().backward()
    assert compiled.compiles == 0 and static.forward.get_traced_count() == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda f, x: f(T(ROWS[:2])),
        lambda f, x: f(T(ROWS, "float64")),
        lambda f, x: f(x, 3),
        lambda f, x: f(x, 2.0),
        lambda f, x: f(T(ROWS, stop=False)),
    ],
    ids=["shape", "type", "value", "kind of number", "stop_gradient"],
)
def test_arguments_of_another_kind_have_their_own_program(other):
    static = paddle.jit.to_static(lambda x, k=2: x * k, full_graph=True)
    x = T(ROWS)
    static(x, 2), static(x, 2)
    assert static.get_traced_count() == 1
    other(static, x)
    assert static.get_traced_count() == 2


FACTOR = 2.0


def test_what_the_function_reads_decides_as_well(monkeypatch):
    closure = 1.0
    m = paddle.jit.to_static(Part(), full_graph=True)
    f = paddle.jit.to_static(lambda x: x * FACTOR + closure, full_graph=True)
    x = T(-ROWS)
    before = f(x)
    assert (m(x).numpy() >= 0).all()
    m.active = False
    assert (m(x).numpy() < 0).any()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    close(f(x), before + x)
    closure = 5.0
    close(f(x), before + x + 4.0)


def test_modes_decide_as_well():
    m = paddle.jit.to_static(nn.Linear(3, 3))
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert m(T(ROWS)).dtype == paddle.bfloat16
    with paddle.no_grad():
        assert m(T(ROWS)).stop_gradient
    out = m(T(ROWS))
    assert out.dtype == paddle.float32 and not out.stop_gradient


def test_parameters_are_read_anew():
    m = paddle.jit.to_static(nn.Sequential(Part()), full_graph=True)
    m(T(ROWS))
    m.set_state_dict({k: v * 0 for k, v in m.state_dict().items()})
    assert not m(T(ROWS)).numpy().any()
    m[0] = Part()
    close(m(T(ROWS)), m[0](T(ROWS)))
    m[0].linear.weight.stop_gradient = True
    m(T(ROWS)).sum().backward()
    assert m[0].linear.weight.grad is None and m[0].linear.bias.grad is not None
    m[0].linear.weight.stop_gradient = False
    m(T(ROWS)).sum().backward()
    assert m[0].linear.weight.grad is not None


def test_copies_are_independent():
    m = paddle.jit.to_static(nn.Linear(3, 3))
    out = m(T(ROWS))
    other = copy.deepcopy(m)
    with paddle.no_grad():
        m.weight.set_value(m.weight * 0)
    close(other(T(ROWS)), out)


class Changing(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", paddle.zeros([1]))
        self.hidden = paddle.zeros([2])
        self.calls = 0

    def forward(self, x):
        self.count += 1
        self.hidden = self.hidden * 0.5 + x
        return x * self.count


def test_buffers_change_in_one_program():
    m = paddle.jit.to_static(Changing(), full_graph=True)
    for _ in range(4):
        out = m(T([1.0, 2.0]))
    assert m.count.item() == 4 and m.hidden.tolist() == [1.875, 3.75] and out.tolist() == [4, 8]
    assert m.forward.get_traced_count() == 1


def test_python_attributes_that_change_are_eager():
    class Counter(nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    m = paddle.jit.to_static(Counter())
    assert [m(T([1.0])).item() for _ in range(5)] == [1, 2, 3, 4, 5]


class Trainer:
    def __init__(self):
        self.hidden, self.calls, self.log = paddle.zeros([2]), 0, []

    @paddle.jit.to_static(full_graph=True)
    def step(self, x):
        self.hidden = self.hidden * 0.5 + x
        return self.hidden

    @paddle.jit.to_static
    def count(self, x):
        self.calls += 1
        self.log.append(self.calls)
        return x * self.calls


def test_objects_that_are_no_layers_keep_state_as_well():
    t = Trainer()
    for _ in range(4):
        out = t.step(T([1.0, 1.0]))
    assert t.hidden.tolist() == out.tolist() == [1.875, 1.875] and t.step.get_traced_count() == 1
    assert [t.count(T([1.0])).item() for _ in range(5)] == t.log == [1, 2, 3, 4, 5]


def test_what_happens_to_python_objects():
    seen, outs = [], []
    f = paddle.jit.to_static(lambda x: seen.append(1) or x * 2, full_graph=True)
    f(T([1.0])), f(T([1.0]))
    assert seen == [1]  # only while the function is recorded, as officially
    g = paddle.jit.to_static(lambda x: outs.append(x * 2) or x)
    g(T([1.0])), g(T([2.0]))
    assert [o.item() for o in outs] == [2, 4]  # eagerly


def test_arguments_may_be_overwritten():
    @paddle.jit.to_static(full_graph=True)
    def f(x):
        x[0] = 5.0
        x.add_(paddle.ones([2]))
        return x * 2

    x = T([1.0, 2.0])
    assert f(x).tolist() == [12, 6] and x.tolist() == [6, 3]


# ---- gradients ----


def test_derivatives_of_higher_order():
    f = paddle.jit.to_static(lambda x: (x.detach() * x) ** 2, full_graph=True)
    x = T([3.0], stop=False)
    (g,) = paddle.grad(f(x), x, create_graph=True)
    (h,) = paddle.grad(g, x)
    assert (g.item(), h.item()) == (54.0, 18.0)


def test_gradients_inside():
    @paddle.jit.to_static(full_graph=True)
    def penalty(x):
        (g,) = paddle.grad((x**3).sum(), x, create_graph=True)
        return (g * g).sum()

    x = T([1.0, 2.0], stop=False)
    penalty(x).backward()
    assert x.grad.tolist() == [36.0, 288.0]


def test_backward_inside_accumulates():
    w = paddle.create_parameter([2], "float32")

    @paddle.jit.to_static(full_graph=True)
    def f(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    for n in (1, 2, 3):
        f(T([1.0, 2.0]))
        assert w.grad.tolist() == [n, 2 * n]
    w.clear_gradient(False)
    f(T([1.0, 2.0]))
    assert w.grad.tolist() == [1, 2]


def test_no_gradient_where_the_tape_does_not_lead():
    w, v = (paddle.create_parameter([2], "float32") for _ in range(2))

    @paddle.jit.to_static(full_graph=True)
    def f(x):
        with paddle.no_grad():
            scale = (v * x).sum()
        return w * scale

    f(T([1.0, 2.0])).sum().backward()
    assert w.grad is not None and v.grad is None


class Hundred(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * 100 * x


def test_py_layers_and_hooks_are_part_of_the_program():
    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        return y * 3

    for function, want in ((lambda x: Hundred.apply(x * 1.0) * 2, [200.0, 400.0]), (hooked, [60.0, 60.0])):
        x = T([1.0, 2.0], stop=False)
        paddle.jit.to_static(function, full_graph=True)(x).sum().backward()
        assert x.grad.tolist() == want


def test_optimizer_steps_inside():
    def made():
        paddle.seed(3)
        m = nn.Linear(3, 1)
        return m, paddle.optimizer.Adam(0.1, parameters=m.parameters())

    def step(m, optimizer, x):
        loss = (m(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    static = paddle.jit.to_static(functools.partial(step, *made()))
    other = made()
    got = [float(static(T(ROWS))) for _ in range(3)]
    np.testing.assert_allclose(got, [float(step(*other, T(ROWS))) for _ in range(3)], rtol=1e-5)


# ---- random numbers, and what needs the host ----


def test_the_same_random_numbers_as_eagerly():
    def f(x):
        return F.dropout(x, 0.5) + paddle.rand([3]) * paddle.randn([4, 3])

    static = paddle.jit.to_static(f, full_graph=True)
    paddle.seed(9)
    want = [f(T(ROWS)), f(T(ROWS))]
    paddle.seed(9)
    got = [static(T(ROWS)), static(T(ROWS))]
    for g, w in zip(got, want):
        close(g, w)
    assert not np.allclose(got[0].numpy(), got[1].numpy())


def test_shapes_that_depend_on_data():
    static = paddle.jit.to_static(lambda x: paddle.masked_select(x, x > 0) * 2, full_graph=True)
    for a in ([1.0, -1.0, 3.0], [-1.0, -1.0, 3.0]):
        x = T(a, stop=False)
        out = static(x)
        out.sum().backward()
        assert out.tolist() == [2 * v for v in a if v > 0]
        assert x.grad.tolist() == [2.0 * (v > 0) for v in a]


# ---- what cannot be a program ----


def reads_elements(x):
    y = x * 2
    return x * float(y.numpy().sum())


def test_without_full_graph_the_call_runs_eagerly():
    before = len(paddle.jit.graph_breaks())
    static = paddle.jit.to_static(reads_elements)
    for k in (1.0, 2.0):
        assert static(T([k])).item() == 2 * k * k
    (report,) = paddle.jit.graph_breaks()[before:]
    assert "reads_elements runs eagerly" in report and "test_to_static.py" in report


def test_with_full_graph_the_error_names_the_line():
    with pytest.raises(RuntimeError, match="needs the value of a tensor|has no value"):
        try:
            paddle.jit.to_static(reads_elements, full_graph=True)(T([1.0]))
        except RuntimeError:
            assert "return x * float(y.numpy().sum())" in traceback.format_exc()
            raise


def test_errors_of_the_function_are_its_own():
    @paddle.jit.to_static
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f(T([1.0]))


def test_a_failed_recording_leaves_no_trace():
    m = Changing()
    m.forward = paddle.jit.to_static(m.forward, full_graph=True)
    with pytest.raises(ValueError):
        m(T([1.0, 2.0, 3.0]))
    assert m.count.item() == 0 and m.hidden.tolist() == [0, 0]


# ---- the ways to use it ----


class Decorated(nn.Layer):
    def __init__(self):
        super().__init__()
        self.w = self.create_parameter([3])

    @paddle.jit.to_static
    def forward(self, x):
        return self.w * x

    @paddle.jit.to_static(full_graph=True)
    def other(self, x):
        return x * 7

    @staticmethod
    @paddle.jit.to_static
    def free(x):
        return x * 2


def test_methods():
    a, b = Decorated(), Decorated()
    close(a(T(ROWS)), a.w * T(ROWS))
    close(b(T(ROWS)), b.w * T(ROWS))
    assert a.forward is a.forward and a.forward is not b.forward
    close(a.other(T(ROWS)), T(ROWS) * 7)
    close(Decorated.free(T(ROWS)), T(ROWS) * 2)
    close(copy.deepcopy(a)(T(ROWS)), a(T(ROWS)))


@paddle.jit.to_static
def at_module_level(x):
    return x * 2


def test_pickles():
    m = pickle.loads(pickle.dumps(paddle.jit.to_static(Part())))
    assert m.forward.class_instance is m and m(T(ROWS)).shape == [4, 3]
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level


def test_rollback():
    m = paddle.jit.to_static(nn.Linear(2, 2))
    m(T([[1.0, 2.0]]))
    assert hasattr(m.forward, "concrete_program")
    m.forward.rollback()
    assert not hasattr(m.forward, "concrete_program") and m(T([[1.0, 2.0]])).shape == [1, 2]


def test_programs_inside_of_programs():
    g = paddle.jit.to_static(lambda x: x * 2 if x.sum() > 0 else x * 3)
    f = paddle.jit.to_static(lambda x: g(x) + g(-x), full_graph=True)
    assert f(T([1.0, 2.0])).tolist() == [-1, -2]


def test_concrete_programs_can_be_looked_at():
    f = paddle.jit.to_static(lambda x, y: x - y, input_spec=[S([None, 2], name="a"), S([None, 2], name="b")])
    program = f.concrete_program
    assert [(s.name, s.shape) for s in program.inputs] == [("a", (-1, 2)), ("b", (-1, 2))]
    assert "subtract(x=%a, y=%b)" in str(program) and program.outputs[0].shape == [-1, 2]
    assert f(y=T([[1.0, 1.0]]), x=T([[5.0, 5.0]])).tolist() == [[4, 4]]


def test_switched_off():
    calls = []
    f = paddle.jit.to_static(lambda x: calls.append(1) or x * 2)
    paddle.jit.enable_to_static(False)
    try:
        f(T([1.0])), f(T([1.0]))
    finally:
        paddle.jit.enable_to_static(True)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: paddle.jit.to_static(3), TypeError),
        (lambda: paddle.jit.to_static(lambda x: x, input_spec=3), TypeError),
        (lambda: paddle.jit.to_static(lambda x: x, build_strategy=3), TypeError),
        (lambda: paddle.jit.to_static(lambda x: x, backend="other"), ValueError),
        (lambda: S("a"), TypeError),
        (lambda: S([None, 2.5]), ValueError),
        (lambda: S([-2]), ValueError),
        (lambda: S([2]).batch(4.5), TypeError),
        (lambda: S([2]).batch([3, 4]), ValueError),
        (lambda: S([]).unbatch(), ValueError),
    ],
)
def test_wrong_arguments(make, kind):
    with pytest.raises(kind):
        make()


def test_input_specs():
    spec = S([None, 3], "int64", "x")
    assert repr(spec) == "InputSpec(shape=(-1, 3), dtype=paddle.int64, name=x, stop_gradient=False)"
    assert spec == S([-1, 3], paddle.int64, "x") and spec != S([2, 3], "int64", "x") and len({spec, spec}) == 1
    assert S([2]).batch(4).shape == (4, 2) and S([4, 2]).unbatch().shape == (2,)
    assert S.from_tensor(T(ROWS), "rows").shape == (4, 3) and S.from_numpy(ROWS).dtype == paddle.float32
