"""Pruning, sparsity and distillation of static programs."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
import paddle.static as static
from paddleslim.dist import dkd, fsp, l2, merge, skd, soft_label
from paddleslim.dist import loss as own_loss
from paddleslim.prune import GMPUnstructuredPruner, Pruner, UnstructuredPruner, load_sensitivities, sensitivity

from _prunable import Random, prune_saved_and_compare


class Small:
    """A program with two convolutions, a split, a fixed reshape and a linear layer, and its variables."""

    def __init__(self, channels=8, name="x"):
        self.main, self.startup = static.Program(), static.Program()
        self.scope = static.global_scope().new_scope()
        with static.program_guard(self.main, self.startup):
            x = static.data(name, [None, 1, 8, 8])
            self.a, self.b = nn.Conv2D(1, channels, 3), nn.Conv2D(channels, channels, 3, groups=channels)
            self.norm, self.c = nn.BatchNorm2D(channels), nn.Linear(channels * 16, 5)
            self.feature = self.a(x)
            y = F.relu(self.norm(self.b(self.feature)))
            left, right = paddle.split(y, 2, 1)
            self.joined = paddle.concat([left * 2, right], 1)
            self.logits = self.c(self.joined.reshape([-1, channels * 16]))
        self.test = self.main.clone(for_test=True)
        self.executor = static.Executor()
        with static.scope_guard(self.scope):
            self.executor.run(self.startup)

    def run(self, program, x, fetch, **feed):
        with static.scope_guard(self.scope):
            return self.executor.run(program, feed={"x": x, **feed}, fetch_list=fetch)


@pytest.fixture(autouse=True)
def names():
    with paddle.utils.unique_name.guard():
        yield


def test_pruned_program_equals_the_one_with_zeros():
    net = Small()
    x = np.random.RandomState(0).randn(3, 1, 8, 8).astype("float32")
    name = net.a.weight.name
    lazy, arrays, shapes = Pruner().prune(
        net.test, net.scope, [name], [0.5], lazy=True, param_backup=True, param_shape_backup=True
    )
    (masked,) = net.run(lazy, x, [net.logits])
    for each, array in arrays.items():
        net.scope.var(each).array = array
    assert shapes[name] == [8, 1, 3, 3] and not np.allclose(net.run(net.test, x, [net.logits])[0], masked)
    small, _, _ = Pruner().prune(net.test, net.scope, [name], [0.5])
    assert net.scope.find_var(name).shape() == [4, 1, 3, 3]
    assert net.scope.find_var(net.b.weight.name).shape() == [4, 1, 3, 3]  # depthwise goes along
    assert net.scope.find_var(net.c.weight.name).shape() == [64, 5]  # so does the reshape before
    np.testing.assert_allclose(net.run(small, x, [net.logits.name])[0], masked, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "kind", ["slices", "branches", "reshape", "depthwise", "split", "moved", "squeeze_excite", "glu"]
)
def test_attributes_that_count_channels_follow(kind, tmp_path):
    assert prune_saved_and_compare(Random([kind, "relu"]), [3, 3, 8, 8], str(tmp_path))


def test_fixed_numbers_in_a_saved_reshape_follow(tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv, self.linear = nn.Conv2D(1, 4, 3), nn.Linear(4 * 36, 2)

        def forward(self, x):
            return self.linear(paddle.unsqueeze(F.relu(self.conv(x)), 1).reshape([-1, 4 * 36]))

    assert prune_saved_and_compare(Net(), [2, 1, 8, 8], str(tmp_path)) == 2  # a reshape follows


def test_a_second_program_with_the_same_parameters_is_pruned_alone():
    net = Small()
    pruner, name = Pruner(), net.a.weight.name
    small, _, _ = pruner.prune(net.test, net.scope, [name], [0.5])
    again, _, _ = pruner.prune(net.main.clone(for_test=True), net.scope, [name], [0.5], only_graph=True)
    x = np.ones([2, 1, 8, 8], "float32")
    a, b = (net.run(p, x, [net.logits.name])[0] for p in (small, again))
    np.testing.assert_array_equal(a, b)


def test_a_pruned_program_learns():
    net = Small()
    small, _, _ = Pruner().prune(net.main, net.scope, [net.a.weight.name], [0.5])
    random = np.random.RandomState(0)
    x, y = random.randn(16, 1, 8, 8).astype("float32"), random.randint(0, 5, [16, 1])
    with static.scope_guard(net.scope), static.program_guard(small, net.startup):
        label = static.data("y", [None, 1], "int64")
        loss = F.cross_entropy(_live(small, net.logits.name), label)
        paddle.optimizer.Adam(0.01).minimize(loss)
        starts = static.Program()
        net.executor.run(_only_new(net, starts))
    losses = [float(net.run(small, x, [loss], y=y)[0]) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]


def _live(program, name):
    from paddleslim.dist.single_distiller import tensors_of

    return tensors_of(program)[name]


def _only_new(net, program):
    """The startup program without what the scope holds already."""
    startup = net.startup.clone()
    for name in list(startup.states):
        if net.scope.find_var(name) is not None and name in net.main.states:
            startup.states[name].update = None
    return startup


@pytest.mark.parametrize(
    "arguments, message",
    [(([], [0.5]), "0 params but 1"), ((["nothing"], [0.5]), "nothing"), ((["a"], [1.5]), r"\[0, 1\)")],
)
def test_wrong_arguments_of_the_pruner(arguments, message):
    net = Small()
    params, ratios = arguments
    with pytest.raises(ValueError, match=message):
        Pruner().prune(net.test, net.scope, [net.a.weight.name if n == "a" else n for n in params], ratios)
    with pytest.raises(ValueError, match="criterion"):
        Pruner("magic")


def test_a_program_with_gradients_is_refused():
    net = Small()
    with static.program_guard(net.main, net.startup):
        paddle.optimizer.SGD(0.1).minimize(net.logits.mean())
    with pytest.raises(NotImplementedError, match="minimize"):
        Pruner().prune(net.main, net.scope, [net.a.weight.name], [0.5])


def test_sensitivity_is_written_and_taken_from_the_file(tmp_path):
    net = Small()
    calls = []

    def evaluate(program):
        calls.append(program)
        return 1.0 if program is net.test else 0.75

    file = str(tmp_path / "sensitivities.json")
    weight = net.scope.find_var(net.a.weight.name).numpy()
    with static.scope_guard(net.scope):
        found = sensitivity(net.test, None, [net.a.weight.name], evaluate, file, [0.25, 0.5])
        assert found == {net.a.weight.name: {0.25: 0.25, 0.5: 0.25}} and len(calls) == 3
        assert sensitivity(net.test, None, [net.a.weight.name], evaluate, file, [0.25, 0.5]) == found
    assert len(calls) == 3 and load_sensitivities(file) == found
    np.testing.assert_array_equal(net.scope.find_var(net.a.weight.name).numpy(), weight)


# ---- sparsity ----


def test_unstructured_sparsity_of_a_program():
    net = Small()
    pruner = UnstructuredPruner(net.test, "ratio", ratio=0.75, scope=net.scope)
    before = {n: net.scope.find_var(n).numpy() for n in (net.a.weight.name, net.c.weight.name, net.norm.weight.name)}
    pruner.step()
    weights = [net.a.weight.name, net.b.weight.name, net.c.weight.name]
    arrays = [net.scope.find_var(n).numpy() for n in weights]
    assert sum((a == 0).sum() for a in arrays) == round(0.75 * sum(a.size for a in arrays))
    largest = max(np.abs(before[n][net.scope.find_var(n).numpy() == 0]).max() for n in (weights[0], weights[2]))
    assert all(np.abs(a[a != 0]).min() >= largest for a in arrays)
    np.testing.assert_array_equal(net.scope.find_var(net.norm.weight.name).numpy(), before[net.norm.weight.name])
    assert pruner.sparse_by_layer(net.test)[net.norm.weight.name] == 0


def test_sparsity_grows_by_steps():
    net = Small()
    configs = {
        "stable_iterations": 10, "pruning_iterations": 40, "tunning_iterations": 10, "pruning_steps": 4,
        "initial_ratio": 0.2,
    }  # fmt: skip
    pruner = GMPUnstructuredPruner(net.test, 0.6, net.scope, configs=configs)
    shares = []
    for _ in range(60):
        pruner.step()
        shares.append(np.mean(np.concatenate([net.scope.find_var(n).numpy().ravel() == 0 for n in pruner.masks])))
    steps = [0.2 + 0.4 * (1 - (1 - i / 4) ** 3) for i in range(4)] + [0.6]
    np.testing.assert_allclose(shares[5::10], [0, *steps], atol=0.01)
    with pytest.raises(ValueError, match="ten times"):
        GMPUnstructuredPruner(net.test, configs={**configs, "pruning_iterations": 20})
    with pytest.raises(ValueError, match="initial_ratio"):
        GMPUnstructuredPruner(net.test, configs={k: v for k, v in configs.items() if k != "initial_ratio"})


# ---- distillation ----


def test_a_student_in_a_program_learns_from_its_teacher():
    teacher, student = Small(8, "image"), Small(4)
    merge(teacher.test, student.main, {"image": "x"}, None, student.scope, teacher.scope)
    with static.program_guard(student.main, student.startup):
        names = "teacher_" + teacher.logits.name, student.logits.name
        apart = l2(*names)
        total = apart + 0.1 * (soft_label(*names) + dkd(*names) + skd(*names))
        total = total + 0.01 * own_loss(lambda t, s: (t - s).abs().mean(), t=names[0], s=names[1])
        paddle.optimizer.Adam(0.02).minimize(total)
    with static.scope_guard(student.scope):
        student.executor.run(student.startup)
    x = np.random.RandomState(0).randn(32, 1, 8, 8).astype("float32")
    with static.scope_guard(teacher.scope):
        (wanted,) = teacher.executor.run(teacher.test, feed={"image": x}, fetch_list=[teacher.logits])
    first = student.run(student.main, x, [apart, names[0]])
    np.testing.assert_allclose(first[1], wanted, rtol=1e-4, atol=1e-5)
    for _ in range(40):
        last = student.run(student.main, x, [apart, names[0]])
    assert float(last[0]) < 0.2 * float(first[0])
    np.testing.assert_array_equal(last[1], first[1])  # the teacher does not learn


def test_losses_between_variables_equal_the_formulas():
    random = np.random.RandomState(0)
    a, b = random.randn(4, 5).astype("float32"), random.randn(4, 5).astype("float32")
    f, g = random.randn(2, 2, 3, 4, 4).astype("float32")
    main = static.Program()
    with static.program_guard(main):
        for name, array in (("a", a), ("b", b), ("f", f), ("g", g)):
            static.data(name, array.shape)
        made = [
            l2("a", "b"),
            soft_label("a", "b", None, 2.0, 4.0),
            dkd("a", "b", None, 2.0, 0.5, 3.0),
            fsp("f", "g", "g", "g"),
        ]
        found = static.Executor().run(main, feed={"a": a, "b": b, "f": f, "g": g}, fetch_list=made)

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def divergence(p, q):
        return (p * np.log(p / q)).sum(-1)

    t, s, top = softmax(a / 2), softmax(b / 2), a.argmax(-1)
    rows = np.arange(4)
    two_t, two_s = (np.stack([p[rows, top], 1 - p[rows, top]], -1) for p in (t, s))
    rest = np.ones_like(t, bool)
    rest[rows, top] = False
    rest_t, rest_s = (p[rest].reshape(4, 4) / p[rest].reshape(4, 4).sum(-1, keepdims=True) for p in (t, s))
    matrices = [np.einsum("nchw,ndhw->ncd", x, y) / 16 for x, y in ((g, g), (f, g))]
    wanted = [
        np.square(a - b).mean(),
        -(softmax(a / 2) * np.log(softmax(b / 4))).sum(-1).mean(),
        4 * (0.5 * divergence(two_t, two_s) + 3 * divergence(rest_t, rest_s)).mean(),
        np.square(matrices[0] - matrices[1]).mean(),
    ]
    np.testing.assert_allclose([float(x) for x in found], wanted, rtol=1e-4)
    with pytest.raises(ValueError, match="no variable"):
        l2("a", "nothing", main)
    with pytest.raises(ValueError, match="no input"):
        merge(main, static.Program(), {"nothing": "x"}, None)
