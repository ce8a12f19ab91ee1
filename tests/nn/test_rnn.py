"""Recurrent layers. Numbers without a formula beside them were recorded from the official package."""

import copy

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.ops import recurrent
from tests._check import check_grad, compare


def fill(layer, seed=5, scale=0.5):
    rng = np.random.RandomState(seed)
    for p in layer.parameters():
        p.set_value(rng.uniform(-scale, scale, p.shape).astype(p.dtype.name))
    return layer


def leaves(nest):
    return [x for each in nest for x in leaves(each)] if isinstance(nest, (list, tuple)) else [nest]


def waves(i, shape):
    return np.cos(0.7 * np.arange(int(np.prod(shape))) + 0.3 + i).reshape(shape)


def fingerprint(layer, f, *arrays):
    """Outputs, gradients of the inputs and of the parameters, each as one number."""

    def mark(tensors):
        there = [t for t in tensors if t is not None]
        return sum(float((t.numpy() * waves(i, t.shape)).sum()) for i, t in enumerate(there))

    inputs = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    outs = leaves(f(*inputs))
    sum((o * paddle.to_tensor(waves(i, o.shape).astype("float32"))).sum() for i, o in enumerate(outs)).backward()
    return [mark(outs), mark(t.grad for t in inputs), mark(p.grad for p in layer.parameters())]


NETWORKS = [
    ("SimpleRNN", 1, "forward", False, False, True, {}, [1.1561, -0.1157, -3.5234]),
    ("SimpleRNN", 2, "bidirect", True, True, False, {"activation": "relu"}, [-1.7314, -0.6835, -3.668]),
    ("LSTM", 1, "forward", False, True, True, {}, [1.0471, 0.3212, -1.1045]),
    ("LSTM", 2, "forward", True, True, True, {}, [-2.2344, 0.7341, 0.0895]),
    ("LSTM", 2, "bidirectional", False, True, False, {}, [-0.232, -0.7171, 0.7048]),
    ("LSTM", 1, "bidirect", False, False, True, {}, [0.7458, 0.761, -2.1085]),
    ("GRU", 1, "forward", True, True, True, {}, [-3.1545, 1.5801, 2.0906]),
    ("GRU", 2, "bidirect", False, False, True, {}, [6.3548, 6.997, 2.5248]),
    ("GRU", 2, "bidirect", True, True, False, {}, [-0.8054, 0.4583, 0.5093]),
    ("LSTM", 2, "bidirect", False, True, False, {"proj_size": 3}, [0.2651, -0.8141, -2.7301]),
    ("LSTM", 1, "forward", True, False, False, {"proj_size": 2}, [0.268, -0.0448, 1.3712]),
]


@pytest.mark.parametrize("kind, layers, direction, time_major, lengths, initial, more, want", NETWORKS)
def test_networks(kind, layers, direction, time_major, lengths, initial, more, want):
    rng = np.random.RandomState(1)
    net = fill(getattr(nn, kind)(3, 4, layers, direction, time_major=time_major, **more))
    x = rng.randn(*((5, 2, 3) if time_major else (2, 5, 3))).astype("float32")
    n = layers * (1 if direction == "forward" else 2)
    states = [rng.randn(n, 2, 4).astype("float32") for _ in range(2 if kind == "LSTM" else 1)] if initial else []
    lengths = paddle.to_tensor([5, 2]) if lengths else None

    def f(x, *s):
        return net(x, (s if len(s) > 1 else s[0]) if s else None, lengths)

    np.testing.assert_allclose(fingerprint(net, f, x, *states), want, atol=2e-4)


@pytest.mark.parametrize(
    "kind, reverse, want",
    [
        ("SimpleRNNCell", False, [-3.0416, -0.1583, -4.5549]),
        ("SimpleRNNCell", True, [-0.5193, 0.2528, -5.964]),
        ("LSTMCell", False, [-1.8935, 2.2116, -1.3162]),
        ("LSTMCell", True, [-0.7317, 2.2152, -0.6037]),
        ("GRUCell", False, [-1.911, 0.7516, -0.6065]),
        ("GRUCell", True, [-0.7016, 0.6332, -2.6881]),
    ],
)
def test_wrapped_cells(kind, reverse, want):
    rng = np.random.RandomState(2)
    cell = fill(getattr(nn, kind)(3, 4))
    states = [rng.randn(2, 4).astype("float32") for _ in range(2 if kind == "LSTMCell" else 1)]
    x = rng.randn(2, 4, 3).astype("float32")

    def f(x, *s):
        return nn.RNN(cell, reverse)(x, s if len(s) > 1 else s[0], paddle.to_tensor([4, 1]))

    np.testing.assert_allclose(fingerprint(cell, f, x, *states), want, atol=2e-4)

    def watched(*args):
        handle = cell.register_forward_post_hook(lambda layer, inputs, out: None)  # a hook leads through every step
        out = f(*args)
        handle.remove()
        return out

    for p in cell.parameters():
        p.clear_gradient()
    np.testing.assert_allclose(fingerprint(cell, watched, x, *states), want, atol=2e-4)


def test_cells_against_their_formulas():
    rng = np.random.RandomState(0)
    x, h, c = (rng.randn(2, n).astype("float32") for n in (3, 4, 4))
    tensors = [paddle.to_tensor(a) for a in (x, h, c)]

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    def parts(cell):
        fill(cell)
        w, u, b, d = (p.numpy() for p in cell.parameters()[:4])
        return x @ w.T + b, h @ u.T + d

    cell = nn.SimpleRNNCell(3, 4, "relu")
    z, u = parts(cell)
    compare(cell(tensors[0], tensors[1])[0], np.maximum(z + u, 0))
    cell = nn.LSTMCell(3, 4)
    z, u = parts(cell)
    i, f, g, o = np.split(z + u, 4, 1)
    new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    y, (h_new, c_new) = cell(tensors[0], (tensors[1], tensors[2]))
    compare(c_new, new)
    compare(h_new, sigmoid(o) * np.tanh(new))
    assert y is h_new
    cell = nn.GRUCell(3, 4)
    z, u = parts(cell)
    (zr, zz, zc), (ur, uz, uc) = np.split(z, 3, 1), np.split(u, 3, 1)
    update = sigmoid(zz + uz)
    compare(cell(tensors[0], tensors[1])[0], update * h + (1 - update) * np.tanh(zc + sigmoid(zr + ur) * uc))


def test_projected_cell():
    cell = nn.LSTMCell(3, 4, proj_size=2)
    assert cell.state_shape == ((2,), (4,))
    y, (h, c) = cell(paddle.ones([5, 3]))
    assert y.shape == h.shape == [5, 2] and c.shape == [5, 4]
    again, _ = nn.RNN(cell)(paddle.ones([5, 1, 3]))
    compare(again[:, 0], y.numpy())


def test_outputs_behind_the_end_are_zero_and_states_stay():
    net = fill(nn.GRU(3, 4))
    x = paddle.randn([2, 5, 3])
    start = paddle.randn([1, 2, 4])
    y, h = net(x, start, paddle.to_tensor([2, 0]))
    short, h_short = net(x[:1, :2], start[:, :1])
    compare(y[0, :2], short[0].numpy())
    assert not y[0, 2:].any() and not y[1].any()
    compare(h[:, 0], h_short[:, 0].numpy())
    compare(h[:, 1], start[:, 1].numpy())


@pytest.mark.parametrize("mode", list(recurrent.CELLS))
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_masked_loops(mode, reverse):
    # The official gradients of the reverse weights are wrong with lengths and initial states.
    gates, n, *_ = recurrent.CELLS[mode]
    rng = np.random.RandomState(0)
    shapes = [(2, 3, 2), *[(2, 3)] * n, (gates * 3, 2), (gates * 3, 3), (gates * 3,), (gates * 3,)]
    lengths = paddle.to_tensor([3, 1])

    def f(x, *rest):
        return recurrent.rnn(x, list(rest[:n]), [*rest[n:], None], lengths, mode, reverse, False, True)

    check_grad(f, *[rng.randn(*s) for s in shapes])


@pytest.mark.parametrize("mode, projection", [("LSTM", None), ("LSTM", (2, 1)), ("GRU", None)])
def test_second_order(mode, projection):
    gates, *_ = recurrent.CELLS[mode]
    rng = np.random.RandomState(0)
    arrays = [rng.randn(1, 2, 1), rng.randn(gates * 2, 1), rng.randn(gates * 2, 1 if projection else 2)]
    arrays += [rng.randn(*projection)] if projection else []

    def f(x, w, u, p=None):
        return recurrent.rnn(x, None, [w, u, None, None, p], None, mode, False, False, True)

    check_grad(f, *arrays, order=2)


def test_custom_cell_with_nested_inputs_and_states():
    class Sum(nn.RNNCellBase):
        state_shape = ((3,), (1,))

        def forward(self, inputs, states, scale=1.0):
            total, count = states
            total = total + scale * (inputs["a"] + inputs["b"])
            return (total, total * 2), (total, count + 1)

    a, b = np.random.RandomState(0).randn(2, 2, 4, 3).astype("float32")
    inputs = {"a": paddle.to_tensor(a), "b": paddle.to_tensor(b)}
    (once, twice), (total, count) = nn.RNN(Sum())(inputs, sequence_length=paddle.to_tensor([4, 2]), scale=0.5)
    sums = 0.5 * np.cumsum(a + b, 1)
    compare(once[0], sums[0])
    compare(twice[0], 2 * sums[0])
    compare(total, np.stack([sums[0, 3], sums[1, 1]]))
    assert count.tolist() == [[4.0], [2.0]]


def test_birnn_joins_both_directions():
    forward, backward = fill(nn.GRUCell(3, 4), 1), fill(nn.GRUCell(3, 4), 2)
    x = paddle.randn([2, 5, 3])
    y, (f, b) = nn.BiRNN(forward, backward)(x)
    y_f, h_f = nn.RNN(forward)(x)
    y_b, h_b = nn.RNN(backward, is_reverse=True)(x)
    compare(y, np.concatenate([y_f.numpy(), y_b.numpy()], -1))
    compare(f, h_f.numpy())
    compare(b, h_b.numpy())


def test_flat_names_share_the_parameters_of_the_cells():
    net = nn.LSTM(2, 3, 2, "bidirect")
    kinds = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
    flat = [f"{kind}_l{i}{suffix}" for i in range(2) for suffix in ("", "_reverse") for kind in kinds]
    assert [n for n, _ in net.named_parameters()] == flat
    assert list(net.state_dict())[16:18] == ["0.cell_fw.weight_ih", "0.cell_fw.weight_hh"]
    assert len(net.state_dict()) == 32
    assert net.weight_hh_l1_reverse is net[1].cell_bw.weight_hh
    assert repr(nn.SimpleRNN(2, 3, activation="relu", time_major=True, dropout=0.5)) == (
        "SimpleRNN(2, 3, time_major=True, dropout=0.5\n"
        "  (0): RNN(\n    (cell): SimpleRNNCell(2, 3, activation=relu)\n  )\n)"
    )
    other = copy.deepcopy(net)
    assert other.weight_ih_l0 is other[0].cell_fw.weight_ih
    assert other.set_state_dict(nn.LSTM(2, 3, 2, "bidirect").state_dict()) == ([], [])
    x = paddle.ones([1, 4, 2])
    assert not np.allclose(other(x)[0].numpy(), net(x)[0].numpy())
    other.to(dtype="float64")
    assert other(x.astype("float64"))[0].dtype == paddle.float64


def test_parameters_that_are_switched_off():
    net = nn.LSTM(2, 3, bias_hh_attr=False)
    assert list(net.state_dict()) == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "0.cell.weight_ih",
        "0.cell.weight_hh",
        "0.cell.bias_ih",
        "0.cell.bias_hh",
    ]
    assert net[0].cell.bias_hh.stop_gradient and not net[0].cell.bias_hh.any()
    frozen = nn.GRUCell(2, 3, weight_ih_attr=False).weight_ih
    assert frozen.stop_gradient and frozen.min() == frozen.max() == 1
    net(paddle.ones([1, 2, 2]))[0].sum().backward()
    assert net[0].cell.bias_hh.grad is None and net.bias_ih_l0.grad is not None


def test_default_initialization_is_uniform_in_the_width():
    net = nn.GRU(4, 100)
    for p in net.parameters():
        assert 0.09 < p.abs().max() <= 0.1


def test_dropout_is_between_layers_and_in_training_only():
    net = fill(nn.SimpleRNN(2, 3, 2, dropout=1.0))
    x = paddle.ones([1, 4, 2])
    trained, _ = net(x)
    x.stop_gradient = False
    net(x)[0].sum().backward()
    assert not x.grad.any()  # nothing comes through
    net.eval()
    assert not np.allclose(net(x)[0].numpy(), trained.numpy())
    alone = nn.SimpleRNN(2, 3, dropout=1.0)
    compare(alone(x)[0], nn.RNN(alone[0].cell)(x)[0].numpy())


def test_a_layer_is_compiled_once():
    net = nn.LSTM(2, 3, 2)
    x = paddle.ones([2, 4, 2])

    def step():
        net(x)[0].sum().backward()
        net.clear_gradients()

    step()
    step()
    with paddle.utils.count_compiles() as count:
        step()
    assert count.compiles == 0


def test_empty_inputs():
    net = nn.LSTM(2, 3)
    assert net(paddle.ones([0, 4, 2]))[0].shape == [0, 4, 3]
    y, (h, c) = net(paddle.ones([2, 0, 2]))
    assert y.shape == [2, 0, 3] and not h.any() and c.shape == [1, 2, 3]


def test_initial_states_of_any_structure():
    cell, x = nn.GRUCell(2, 3), paddle.ones([4, 2])
    assert cell.get_initial_states(x).shape == [4, 3]
    assert cell.get_initial_states([x, x], [-1, 5], init_value=2.0, batch_dim_idx=1).tolist() == [[2.0] * 5] * 2
    a, b = cell.get_initial_states(x, ((3,), (2, 2)), ("float32", "float64"))
    assert a.shape == [4, 3] and b.shape == [4, 2, 2] and b.dtype == paddle.float64
    assert cell.get_initial_states(x, {"h": (1,)}, "int32")["h"].dtype == paddle.int32
    with pytest.raises(NotImplementedError, match="state_shape"):
        nn.RNNCellBase().get_initial_states(x)


X = np.ones([2, 4, 2], "float32")


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: nn.LSTM(2, 0), ValueError, "hidden_size"),
        (lambda x: nn.LSTM(2, 3, direction="both"), ValueError, "direction"),
        (lambda x: nn.LSTM(2, 3, num_layers=0), ValueError, "num_layers"),
        (lambda x: nn.LSTM(2, 3, dropout=1.5), ValueError, "dropout"),
        (lambda x: nn.LSTM(2, 3, proj_size=3), ValueError, "proj_size"),
        (lambda x: nn.SimpleRNN(2, 3, activation="gelu"), ValueError, "activation"),
        (lambda x: nn.RNN(3), TypeError, "cell"),
        (lambda x: nn.BiRNN(nn.GRUCell(2, 3), nn.GRUCell(4, 3)), ValueError, "input size"),
        (lambda x: nn.GRU(2, 3)(x[0]), ValueError, "3-D"),
        (lambda x: nn.GRU(5, 3)(x), ValueError, "last axis"),
        (lambda x: nn.GRU(2, 3)(x.astype("float64")), ValueError, "type"),
        (lambda x: nn.GRU(2, 3)(x, paddle.ones([1, 2, 4])), ValueError, r"\[2, 3\]"),
        (lambda x: nn.GRU(2, 3)(x, paddle.ones([1, 1, 3])), ValueError, r"\[2, 3\]"),
        (lambda x: nn.GRU(2, 3)(x, paddle.ones([2, 2, 3])), ValueError, "initial_states"),
        (lambda x: nn.LSTM(2, 3)(x, paddle.ones([1, 2, 3])), ValueError, "2 tensors"),
        (lambda x: nn.LSTM(2, 3)(x, sequence_length=[4, 2]), TypeError, "sequence_length"),
        (lambda x: nn.LSTM(2, 3)(x, sequence_length=paddle.to_tensor([5, 1])), ValueError, "between 0 and the 4 steps"),
        (lambda x: nn.LSTM(2, 3)(x, sequence_length=paddle.to_tensor([-1, 1])), ValueError, "between 0"),
        (lambda x: nn.LSTM(2, 3)(x, sequence_length=paddle.to_tensor([1, 1, 1])), ValueError, "shape"),
        (lambda x: nn.LSTM(2, 3)(x, sequence_length=paddle.to_tensor([1.0, 1.0])), ValueError, "int32 or int64"),
        (lambda x: nn.LSTMCell(2, 3)(x[:, 0], paddle.ones([2, 3])), TypeError, "tuple"),
        (lambda x: nn.GRUCell(2, 3)(x), ValueError, "2-D"),
        (lambda x: nn.BiRNN(nn.GRUCell(2, 3), nn.GRUCell(2, 3))(x, (paddle.ones([2, 3]),)), ValueError, "pair"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(paddle.to_tensor(X))


def test_training_follows_the_official_one():
    net, head = nn.LSTM(5, 6, 2, "bidirect"), nn.Linear(12, 3)
    fill(nn.LayerList([net, head]), scale=0.3)
    rng = np.random.RandomState(6)
    x = paddle.to_tensor(rng.randn(8, 6, 5).astype("float32"))
    y, lengths = paddle.to_tensor(rng.randint(0, 3, 8)), paddle.to_tensor(rng.randint(2, 7, 8))
    adam = paddle.optimizer.Adam(0.02, parameters=net.parameters() + head.parameters())
    losses = []
    for _ in range(20):
        loss = nn.functional.cross_entropy(head(net(x, sequence_length=lengths)[0].sum(1)), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    np.testing.assert_allclose(
        losses,
        [
            1.148142,
            1.044785,
            0.994869,
            0.967673,
            0.952605,
            0.942235,
            0.925496,
            0.896156,
            0.855849,
            0.808826,
            0.758482,
            0.706214,
            0.649181,
            0.585434,
            0.520734,
            0.455659,
            0.385447,
            0.311913,
            0.24236,
            0.182197,
        ],
        atol=1e-4,
    )
