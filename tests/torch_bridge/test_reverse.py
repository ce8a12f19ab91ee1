"""Layers as modules of PyTorch, and back."""

import numpy as np
import pytest

import paddle
from paddle.torch_bridge import convert_model, to_torch

torch = pytest.importorskip("torch")
nn, F = paddle.nn, paddle.nn.functional


def rand(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


def layer(function, **children):
    """A layer whose forward is a function of itself and the input."""
    made = type("Made", (nn.Layer,), {"forward": lambda self, x: function(self, x)})()
    for name, child in children.items():
        setattr(made, name, child)
    made.eval()
    return made


def same(ours, x, again, atol=1e-5):
    theirs = to_torch(ours, x)
    for given in (x, again):
        want, got = ours(paddle.to_tensor(given)), theirs(torch.from_numpy(given))
        want, got = (list(v) if isinstance(v, (tuple, list)) else [v] for v in (want, got))
        assert len(want) == len(got)
        for w, g in zip(want, got):
            np.testing.assert_allclose(g.detach().numpy(), w.numpy(), atol=atol, rtol=1e-4)
    return theirs


LAYERS = {
    "arithmetic": lambda s, x: (x + 2 * x - 1, 3 - x, x / (x * x + 1), x**2, paddle.exp(-x), (x > 0).astype("float32") * x),
    "activations": lambda s, x: (F.gelu(x), F.silu(x), F.hardswish(x), F.softmax(x, 1), F.log_softmax(x), F.leaky_relu(x), F.elu(x),
                                 F.sigmoid(x), F.mish(x), F.softplus(x), F.hardsigmoid(x), F.swish(x), F.selu(x), F.relu6(x)),
    "reductions": lambda s, x: (x.mean(), x.sum([0, 2]), x.max(1), x.min(-1, keepdim=True), x.argmax(-1), paddle.var(x, 1),
                                paddle.logsumexp(x, 1), paddle.norm(x, axis=-1), x.cumsum(1), paddle.std(x), *paddle.topk(x, 2)),
    "shapes": lambda s, x: (x.flatten(1), x.transpose([1, 0, 2]), x.unsqueeze(1).expand([-1, 3, -1, -1]), x.flip([1]),
                            x.reshape([x.shape[0], -1]), paddle.tile(x, [1, 2, 1]), paddle.roll(x, 1, 1), x.unsqueeze(0).squeeze(0)),
    "pieces": lambda s, x: (*paddle.split(x, 3, 2), *paddle.unbind(x, 1), x[:, 1:3], x[..., ::2], x[:, -1], x[:, None, 0],
                            paddle.stack([x, x], 1), paddle.concat([x, x], -1), x[:, ::-1], paddle.split(x, [1, 3], 1)[1]),
    "products": lambda s, x: (paddle.matmul(x, x, transpose_y=True), paddle.einsum("bij,bkj->bik", x, x), F.normalize(x)),
    "norms": lambda s, x: (F.layer_norm(x, 6), F.instance_norm(x), F.group_norm(x, 2), paddle.clip(x, -1, 1)),
    "masks": lambda s, x: (paddle.where(x > 0, x, paddle.zeros_like(x)), paddle.tril(x), paddle.ones([2, x.shape[0]])),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_operators(name):
    same(layer(LAYERS[name]), rand(2, 4, 6), rand(3, 4, 6, seed=1))


def test_a_network_of_pictures():
    net = nn.Sequential(
        nn.Conv2D(3, 8, 3, padding="SAME"), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(8, 8, 3, groups=4, padding=1),
        nn.PReLU(8), nn.Conv2DTranspose(8, 4, 2, 2), nn.Upsample(scale_factor=2), nn.AvgPool2D(2), nn.GroupNorm(2, 4),
        nn.AdaptiveAvgPool2D(2), nn.Flatten(), nn.Linear(16, 5), nn.LayerNorm(5), nn.Dropout(0.5),
    )  # fmt: skip
    for _ in range(3):
        net(paddle.to_tensor(rand(6, 3, 8, 8) + 1))
    net.eval()
    same(net, rand(2, 3, 8, 8), rand(3, 3, 8, 8, seed=1))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_recurrent_networks(kind):
    ours = getattr(nn, kind)(5, 4, num_layers=2, direction="bidirect")
    same(layer(lambda s, x: s.rnn(x)[0], rnn=ours), rand(2, 7, 5), rand(3, 7, 5))


def test_attention_and_embeddings():
    ours = layer(
        lambda s, x: s.encoder(s.embedding((x > 0).astype("int64").sum(-1))),
        embedding=nn.Embedding(8, 16),
        encoder=nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0), 2),
    )
    ours.eval()
    same(ours, rand(2, 4, 7), rand(3, 4, 7))


def test_modes_and_states():
    ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Dropout(0.5), nn.Linear(4, 2))
    theirs = to_torch(ours, rand(1, 3))
    assert theirs.training and ours.training
    state = theirs.state_dict()
    assert set(state) == {
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "3.weight",
        "3.bias",
    }
    assert state["3.weight"].shape == (2, 4)
    x = torch.from_numpy(rand(64, 3))
    assert (theirs(x) - theirs(x)).abs().max() > 0  # dropout
    assert state["1.running_mean"].abs().max() > 0
    mean = ours.state_dict()["1._mean"].numpy()
    assert abs(mean).max() == 0  # the layer is left alone
    theirs.eval()
    assert (theirs(x) - theirs(x)).abs().max() == 0


def test_gradients_agree():
    ours = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    theirs, x = to_torch(ours, rand(1, 3)), rand(5, 3)
    (ours(paddle.to_tensor(x)) ** 2).sum().backward()
    (theirs(torch.from_numpy(x)) ** 2).sum().backward()
    for name, p in theirs.named_parameters():
        g = dict(ours.named_parameters())[name].grad.numpy()
        np.testing.assert_allclose(g.T if g.ndim == 2 else g, p.grad.numpy(), atol=1e-5)


def test_there_and_back_again():
    first = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(64, 2)
    )
    first.eval()
    ours = convert_model(first, input_shape=[1, 3, 6, 6])
    second = convert_model(ours, input_shape=[1, 3, 6, 6])
    third = convert_model(second, input_shape=[1, 3, 6, 6])
    x = rand(5, 3, 6, 6)
    want = first(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(second(torch.from_numpy(x)).detach().numpy(), want, atol=1e-5)
    np.testing.assert_allclose(third(paddle.to_tensor(x)).numpy(), want, atol=1e-5)
    assert {n: tuple(p.shape) for n, p in first.named_parameters()} == {
        n: tuple(p.shape) for n, p in second.named_parameters()
    }


def test_what_has_no_counterpart_is_named():
    with pytest.raises(NotImplementedError, match="Made uses operators that have no translation: i0"):
        to_torch(layer(lambda s, x: paddle.i0(x)), rand(2, 3))
    with pytest.raises(TypeError, match="takes 1 inputs"):
        to_torch(nn.Linear(3, 2), rand(2, 3))(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(TypeError, match="must be tensors of PyTorch"):
        to_torch(nn.Linear(3, 2), rand(2, 3))(paddle.ones([2, 3]))
