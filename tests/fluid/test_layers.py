"""The functions of `paddle.fluid.layers` in programs, against NumPy."""

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid

L = fluid.layers
rng = np.random.RandomState(0)
X = rng.randn(4, 6).astype("float32")
IMAGE = rng.randn(2, 3, 8, 8).astype("float32")


@pytest.fixture(autouse=True)
def program():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        yield main
    assert paddle.in_dynamic_mode()


def run(outs, **feed):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(fluid.default_main_program(), feed=feed, fetch_list=outs)


def x(name="x", array=X):
    return fluid.data(name, [None, *array.shape[1:]], str(array.dtype))


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ONE = {
    "exp": np.exp,
    "tanh": np.tanh,
    "abs": np.abs,
    "square": np.square,
    "sigmoid": sigmoid,
    "relu": lambda a: np.maximum(a, 0),
    "relu6": lambda a: np.clip(a, 0, 6),
    "leaky_relu": lambda a: np.where(a > 0, a, 0.02 * a),
    "swish": lambda a: a * sigmoid(a),
    "brelu": lambda a: np.clip(a, 0, 24),
    "soft_relu": lambda a: np.log1p(np.exp(a)),
    "hard_sigmoid": lambda a: np.clip(0.2 * a + 0.5, 0, 1),
    "hard_swish": lambda a: a * np.clip(a + 3, 0, 6) / 6,
    "softmax": softmax,
    "mean": lambda a: a.mean().reshape(1),
    "reduce_sum": lambda a: a.sum().reshape(1),
    "reduce_max": lambda a: a.max().reshape(1),
    "cumsum": lambda a: a.cumsum(-1),
    "zeros_like": np.zeros_like,
    "shape": lambda a: np.array(a.shape, "int32"),
    "rank": lambda a: np.array([2], "int32"),
    "size": lambda a: np.array([a.size]),
    "argmax": lambda a: a.argmax(0),
    "has_nan": lambda a: np.array([False]),
    "isfinite": lambda a: np.array([True]),
    "flatten": lambda a: a,
}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_tensor(name):
    got = run([getattr(L, name)(x())], x=X)[0]
    np.testing.assert_allclose(got, ONE[name](X), rtol=1e-5, atol=1e-6)


CALLS = {
    "scale": (lambda a: L.scale(a, 2.0, 1.0, act="relu"), lambda a: np.maximum(2 * a + 1, 0)),
    "clip": (lambda a: L.clip(a, -0.5, 0.5), lambda a: a.clip(-0.5, 0.5)),
    "clip_by_norm": (lambda a: L.clip_by_norm(a, 1.0), lambda a: a / np.sqrt((a * a).sum())),
    "l2_normalize": (lambda a: L.l2_normalize(a, 1), lambda a: a / np.sqrt((a * a).sum(1, keepdims=True))),
    "reduce_mean": (lambda a: L.reduce_mean(a, dim=1, keep_dim=True), lambda a: a.mean(1, keepdims=True)),
    "elementwise_add": (
        lambda a: L.elementwise_add(a, L.reduce_sum(a, dim=1), axis=0),
        lambda a: a + a.sum(1)[:, None],
    ),
    "cumsum": (
        lambda a: L.cumsum(a, axis=1, exclusive=True, reverse=True),
        lambda a: a[:, ::-1].cumsum(1)[:, ::-1] - a,
    ),
    "transpose": (lambda a: L.transpose(a, [1, 0]), lambda a: a.T),
    "reshape": (lambda a: L.reshape(a, [-1, 3, 2]), lambda a: a.reshape(-1, 3, 2)),
    "split": (lambda a: L.split(a, 2)[1], lambda a: a[:, 3:]),
    "concat": (lambda a: L.concat([a, a], axis=1), lambda a: np.concatenate([a, a], 1)),
    "stack": (lambda a: L.stack([a, a], axis=1), lambda a: np.stack([a, a], 1)),
    "slice": (lambda a: L.slice(a, [1], [1], [4]), lambda a: a[:, 1:4]),
    "expand": (lambda a: L.expand(a, [2, 1]), lambda a: np.tile(a, [2, 1])),
    "pad": (lambda a: L.pad(a, [0, 1, 2, 0], 5.0), lambda a: np.pad(a, [(0, 1), (2, 0)], constant_values=5.0)),
    "topk": (lambda a: L.topk(a, 2)[0], lambda a: np.sort(a, 1)[:, ::-1][:, :2]),
    "argsort": (lambda a: L.argsort(a, 1)[0], lambda a: np.sort(a, 1)),
    "matmul": (lambda a: L.matmul(a, a, transpose_y=True, alpha=0.5), lambda a: 0.5 * a @ a.T),
    "where": (lambda a: L.where(a > 0), lambda a: np.argwhere(a > 0)),
    "reverse": (lambda a: L.reverse(a, [1]), lambda a: a[:, ::-1]),
    "batch_size_like": (
        lambda a: L.fill_constant_batch_size_like(a, [-1, 3], "float32", 2.0),
        lambda a: np.full((len(a), 3), 2.0),
    ),
    "sums": (lambda a: L.sums([a, a, a]), lambda a: 3 * a),
    "huber": (
        lambda a: L.huber_loss(a, a * 3, 0.5),
        lambda a: np.where(np.abs(2 * a) <= 0.5, 2 * a * a, 0.5 * (np.abs(2 * a) - 0.25)),
    ),
    "smooth_l1": (
        lambda a: L.smooth_l1(a, a * 0),
        lambda a: np.where(np.abs(a) < 1, a * a / 2, np.abs(a) - 0.5).sum(1, keepdims=True),
    ),
    "rank_loss": (
        lambda a: L.rank_loss(a * 0 + 1, a, a * 2),
        lambda a: np.log1p(np.exp(-a)) + a,
    ),
    "sigmoid_cross_entropy": (
        lambda a: L.sigmoid_cross_entropy_with_logits(a, L.cast(a > 0, "float32")),
        lambda a: -np.log(np.where(a > 0, sigmoid(a), 1 - sigmoid(a))),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_with_arguments(name):
    call, want = CALLS[name]
    np.testing.assert_allclose(run([call(x())], x=X)[0], want(X), rtol=1e-4, atol=1e-5)


def test_cross_entropy_takes_classes_and_distributions():
    p, label = softmax(X), np.array([[0], [3], [5], [-100]])
    prediction, classes = x("p"), x("label", label)
    one_hot = x("one_hot", np.eye(6, dtype="int64"))
    outs = [L.cross_entropy(prediction, classes), L.cross_entropy(prediction, one_hot)]
    hot = np.eye(6, dtype="int64")[[0, 3, 5, 1]]
    by_class, by_row = run(outs, p=p, label=label, one_hot=hot)
    want = -np.log(p[np.arange(4), [0, 3, 5, 1]])[:, None]
    np.testing.assert_allclose(by_row, want, rtol=1e-5)
    np.testing.assert_allclose(by_class[:3], want[:3], rtol=1e-5)
    assert by_class.shape == (4, 1) and by_class[3, 0] == 0


def test_softmax_with_cross_entropy_and_accuracy():
    label = np.array([[0], [3], [5], [1]])
    logits, classes = x("p"), x("label", label)
    loss, share = run(
        [L.softmax_with_cross_entropy(logits, classes), L.accuracy(L.softmax(logits), classes, k=2)], p=X, label=label
    )
    np.testing.assert_allclose(loss, -np.log(softmax(X)[np.arange(4), label[:, 0]])[:, None], rtol=1e-5)
    best = np.argsort(-X, 1)[:, :2]
    np.testing.assert_allclose(share, [(best == label).any(1).mean()])


def test_embedding_and_one_hot_drop_a_last_axis_of_one():
    ids = np.array([[1], [2], [0]])
    i = x("i", ids)
    table = fluid.ParamAttr("table", initializer=fluid.initializer.NumpyArrayInitializer(X[:3]))
    row, hot, kept = L.embedding(i, [3, 6], param_attr=table), L.one_hot(i, 3), fluid.embedding(i, [3, 2])
    got = run([row, hot, kept], i=ids)
    np.testing.assert_allclose(got[0], X[:3][[1, 2, 0]])
    np.testing.assert_allclose(got[1], np.eye(3)[[1, 2, 0]])
    assert got[2].shape == (3, 1, 2)


def test_images():
    image = x("image", IMAGE)
    conv = fluid.nets.simple_img_conv_pool(image, 4, 3, 2, 2, act="relu")
    group = fluid.nets.img_conv_group(image, [4, 4], 2, conv_with_batchnorm=True, conv_act="relu", pool_stride=2)
    whole = L.pool2d(image, pool_type="avg", global_pooling=True)
    padded = L.pad2d(image, [1, 0, 0, 2])
    resized = L.resize_nearest(image, out_shape=[4, 4])
    got = run([conv, group, whole, padded, resized, L.adaptive_pool2d(image, 1, "avg")], image=IMAGE)
    assert [g.shape for g in got[:2]] == [(2, 4, 3, 3), (2, 4, 4, 4)]
    np.testing.assert_allclose(got[2][..., 0, 0], IMAGE.mean((2, 3)), rtol=1e-4, atol=1e-6)
    assert got[3].shape == (2, 3, 9, 10) and (got[3][:, :, 0] == 0).all()
    assert got[4].shape == (2, 3, 4, 4)
    np.testing.assert_allclose(got[2], got[5], rtol=1e-5)


def test_layers_data_puts_a_batch_in_front():
    assert list(L.data("a", [3], dtype="float32").shape) == [-1, 3]
    assert list(L.data("b", [3], append_batch_size=False).shape) == [3]
    assert list(L.data("c", [-1, 3]).shape) == [-1, 3]


def test_while_counts_and_less_than_writes_its_condition():
    i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 4)
    total = L.fill_constant([1], "float32", 0.0)
    going = L.less_than(i, n)
    with L.While(going).block():
        L.assign(total + 2.0, total)
        L.increment(i)
        L.less_than(i, n, cond=going)
    assert run([total])[0] == [8.0]


@pytest.mark.parametrize(
    "make, want",
    [
        (lambda: L.exponential_decay(1.0, 2, 0.5), lambda n: 0.5 ** (n / 2)),
        (lambda: L.exponential_decay(1.0, 2, 0.5, True), lambda n: 0.5 ** (n // 2)),
        (lambda: L.natural_exp_decay(1.0, 2, 0.5), lambda n: np.exp(-0.5 * n / 2)),
        (lambda: L.inverse_time_decay(1.0, 2, 0.5), lambda n: 1 / (1 + 0.5 * n / 2)),
        (lambda: L.polynomial_decay(1.0, 3, 0.1, 2.0), lambda n: 0.9 * (1 - min(n, 3) / 3) ** 2 + 0.1),
        (lambda: L.piecewise_decay([1, 3], [1.0, 0.5, 0.1]), lambda n: 1.0 if n < 1 else 0.5 if n < 3 else 0.1),
        (lambda: L.cosine_decay(1.0, 2, 4), lambda n: 0.5 * (np.cos(n // 2 * np.pi / 4) + 1)),
        (lambda: L.noam_decay(4, 2), lambda n: 0.5 * min((n + 1) ** -0.5, (n + 1) * 2**-1.5)),
        (lambda: L.linear_lr_warmup(0.7, 3, 0.1, 0.4), lambda n: 0.1 + n * 0.1 if n < 3 else 0.7),
    ],
)
def test_learning_rates_follow_the_runs(make, want):
    rate = make()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    got = [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(5)]
    np.testing.assert_allclose(got, [want(n) for n in range(5)], rtol=1e-5)
    with fluid.dygraph.guard():
        schedule = make()
        found = []
        for _ in range(5):
            found.append(schedule())
            schedule.step()
    np.testing.assert_allclose(found, got, rtol=1e-5)


def test_counters_lengths_and_random_numbers(program):
    a = x()
    counter = L.autoincreased_step_counter(begin=5)
    mask = L.sequence_mask(L.argmax(a, 1), maxlen=6)
    drawn = L.uniform_random_batch_size_like(a, [-1, 3], min=2.0, max=3.0)
    normal = L.gaussian_random_batch_size_like(a, [-1, 3], mean=9.0, std=0.01)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    for n in (5, 6):
        got = exe.run(program, {"x": X}, [counter, mask, drawn, normal])
        assert got[0].tolist() == [n]
    np.testing.assert_array_equal(got[1], np.arange(6) < X.argmax(1)[:, None])
    assert got[2].shape == (4, 3) and got[2].min() >= 2 and got[2].max() < 3
    assert np.abs(got[3] - 9).max() < 0.1
