"""Modules of PyTorch as layers: the same results, states and modes."""

import copy

import numpy as np
import pytest

import paddle
from paddle.torch_bridge import convert_model

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


def rand(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype("float32")


def module(function, **children):
    """A module whose forward is a function of itself and the inputs."""
    made = type("Made", (nn.Module,), {"forward": function})()
    for name, child in children.items():
        setattr(made, name, child)
    return made.eval()


def same(theirs, example, *given, atol=1e-5):
    ours = convert_model(theirs, example_inputs=[*example])
    for inputs in (example, given) if given else (example,):
        want = theirs(*[torch.from_numpy(np.array(x)) for x in inputs])
        got = ours(*[paddle.to_tensor(x) for x in inputs])
        want, got = (x if isinstance(x, (tuple, list)) else [x] for x in (want, got))
        assert len(want) == len(got)
        for w, g in zip(want, got):
            assert str(w.dtype).removeprefix("torch.") == g.dtype.name
            np.testing.assert_allclose(g.numpy(), w.detach().numpy(), atol=atol, rtol=1e-4)
    return ours


X, Y = rand(2, 4, 6), rand(2, 4, 6, seed=1)
FUNCTIONS = {
    "arithmetic": lambda s, x, y: (x + 2 * y - 1, 3 - x, x / (y * y + 1), torch.pow(x.abs() + 1, y), x**2, 2 / (x.abs() + 1)),
    "rounding": lambda s, x, y: (x // 0.3, x % 0.7, torch.fmod(x, 0.7), torch.div(x, 0.3, rounding_mode="trunc"), x.round()),
    "integers": lambda s, x, y: ((x * 5).int() // 2, (x * 5).long() / 2, (x > 0).sum(), (x > 0) & (y > 0), (x > y).long() + 1),
    "kinds": lambda s, x, y: ((x > 0) * y, (x * 3).int() + y, torch.arange(6) * x, (x > 0).float().mean(1)),
    "clamps": lambda s, x, y: (x.clamp(-0.5, 0.5), x.clamp(min=0), torch.maximum(x, y), torch.where(x > 0, x, 0.0)),
    "activations": lambda s, x, y: (F.gelu(x), F.gelu(x, approximate="tanh"), F.hardswish(x), F.mish(x), F.elu(x), F.selu(x),
                                    F.softplus(x), F.glu(x, 1), F.hardsigmoid(x), F.relu6(x), F.leaky_relu(x), F.logsigmoid(x)),
    "reductions": lambda s, x, y: (x.mean(), x.sum((0, 2)), x.var(1), x.std(-1, unbiased=False), x.amax(1, keepdim=True),
                                   x.norm(dim=-1), torch.logsumexp(x, 1), x.argmax(-1), x.prod(1), (x > 0).any(1), x.cumsum(1)),
    "extremes": lambda s, x, y: (*x.max(1), *x.min(-1, keepdim=True), *x.topk(2), *x.sort(1, descending=True), torch.max(x, y)),
    "shapes": lambda s, x, y: (x.flatten(1), x.transpose(0, 2), x.permute(1, 0, 2), x.unsqueeze(1).expand(-1, 3, -1, -1),
                               x.repeat(1, 2, 1), x.flip(1), x.roll(1, 2), x.view(x.size(0), -1), x.reshape(-1, 3).t(),
                               x.movedim(0, 1), x.unflatten(2, (2, 3)), x[:, None].squeeze(1)),
    "pieces": lambda s, x, y: (*x.chunk(3, 2), *x.split(3, 1), *x.split([1, 2, 3], 2), *x.unbind(1), x[:, 1:3], x[..., ::2],
                               x[:, -1], x.narrow(1, 1, 2), torch.stack([x, y], 1), torch.cat([x, y], -1)),
    "picking": lambda s, x, y: (x[:, [0, 2]], x.gather(1, (y > 0).long()), x.index_select(2, torch.tensor([3, 1])),
                                x[:, torch.tensor([0, 1]), torch.tensor([2, 3])], torch.tril(x), torch.triu(x, 1)),
    "products": lambda s, x, y: (x @ y.transpose(1, 2), torch.einsum("bij,bkj->bik", x, y), torch.bmm(x, y.mT),
                                 F.cosine_similarity(x, y, -1), torch.baddbmm(x @ y.mT, x, y.mT, beta=0.5)),
    "making": lambda s, x, y: (torch.zeros(x.size(0), 3) + x.mean(), torch.arange(x.size(0) * 2), torch.full_like(x, 2),
                               torch.ones_like(x[0]), x.new_zeros(2, 2), torch.eye(3), torch.linspace(0, 1, 5)),
    "masks": lambda s, x, y: (x.masked_fill(y > 0, -1.0), F.softmax(x.masked_fill(y > 1, float("-inf")), -1), x.nan_to_num()),
    "scattering": lambda s, x, y: (x.scatter(1, (y > 0).long(), 1.0), x.scatter_add(1, (y > 0).long(), y),
                                   x.index_add(1, torch.tensor([0, 0, 2]), y[:, :3])),
    "losses": lambda s, x, y: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.huber_loss(x, y),
                               F.binary_cross_entropy_with_logits(x, (y > 0).float())),
    "attention": lambda s, x, y: (F.scaled_dot_product_attention(x[:, None], y[:, None], y[:, None], is_causal=True),
                                  F.scaled_dot_product_attention(x, y, y)),
    "norms": lambda s, x, y: (F.layer_norm(x, (6,)), F.group_norm(x, 2), F.instance_norm(x), F.normalize(x, dim=1),
                              F.rms_norm(x, (6,)), F.local_response_norm(x, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators(name):
    same(module(FUNCTIONS[name]), (X, Y), rand(3, 4, 6, seed=2), rand(3, 4, 6, seed=3))


PICTURES = {
    "pooling": lambda s, x: (F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 1, 1),
                             F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_max_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1, False, False)),
    "resizing": lambda s, x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 9), mode="bilinear"), F.pixel_unshuffle(x, 2),
                              F.interpolate(x, (12, 12), mode="bilinear", align_corners=True), F.unfold(x, 3, padding=1),
                              F.interpolate(x, scale_factor=0.5, mode="bicubic"), F.pixel_shuffle(x, 2)),
    "padding": lambda s, x: (F.pad(x, (1, 2, 0, 3)), F.pad(x, (1, 1, 1, 1), "reflect"), F.pad(x, (2, 0, 0, 1), "replicate"),
                             F.pad(x, (0, 0, 0, 0, 1, 1), value=2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name):
    same(module(PICTURES[name]), (rand(2, 4, 8, 8),), rand(3, 4, 8, 8, seed=1), atol=1e-4)


def test_what_is_written_in_place_is_seen_through_views():
    def forward(self, x):
        x = x * 1
        head, rest = x[:, 0], x[:, 1:]
        before = rest.sum()
        x[:, 1] = 5.0
        head.mul_(2)
        flat = x.view(-1)
        flat += 1
        rest[:, :2].zero_()
        return x, head, rest, before, F.relu_(x - 1)

    same(module(forward), (X,), rand(3, 4, 6, seed=5))


def test_modes_statistics_and_buffers_follow_pytorch():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 2))
    net.train()
    mirror = copy.deepcopy(net)
    ours = convert_model(net, input_shape=[1, 3, 6, 6])
    assert ours.training and net.training and int(net[1].num_batches_tracked) == 0
    x = rand(5, 3, 6, 6)
    for _ in range(2):
        want = mirror(torch.from_numpy(x)).detach().numpy()
        np.testing.assert_allclose(ours(paddle.to_tensor(x)).numpy(), want, atol=1e-5)
    state = ours.state_dict()
    assert list(sorted(state)) == sorted(mirror.state_dict())
    for name, value in mirror.state_dict().items():
        got = state[name].numpy()
        np.testing.assert_allclose(got.T if name in ours.transposed else got, value.numpy(), atol=1e-6)
    mirror.eval()
    ours.eval()
    want = mirror(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(paddle.to_tensor(x)).numpy(), want, atol=1e-5)
    ours.train()
    getattr(ours, "1").eval()  # frozen statistics, as in fine-tuning
    np.testing.assert_allclose(ours(paddle.to_tensor(x)).numpy(), want, atol=1e-5)


def test_dropout_drops_in_train_mode_only():
    ours = convert_model(nn.Sequential(nn.Dropout(0.5)), input_shape=[1, 1000])
    x = paddle.ones([2, 1000])
    share = float((ours(x) == 0).astype("float32").mean())
    assert 0.4 < share < 0.6
    ours.eval()
    assert float((ours(x) != 1).sum()) == 0


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_networks_and_their_gradients(kind):
    theirs = getattr(nn, kind)(5, 4, num_layers=2, bidirectional=True, batch_first=True)
    same(module(lambda s, x: s.rnn(x)[0], rnn=theirs), (rand(2, 7, 5),), rand(3, 7, 5))
    ours = convert_model(theirs, input_shape=[2, 7, 5])
    x = rand(3, 7, 5)
    theirs(torch.from_numpy(x))[0].sum().backward()
    ours(paddle.to_tensor(x))[0].sum().backward()
    for name, p in theirs.named_parameters():
        np.testing.assert_allclose(dict(ours.named_parameters())[name].grad.numpy(), p.grad.numpy(), atol=1e-4)


def test_tied_weights_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.out = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
            self.out.weight = self.embedding.weight

        def forward(self, x):
            return self.out(self.embedding(x))

    tokens = np.array([[1, 2, 3]])
    ours = same(Tied().eval(), (tokens,), np.array([[0, 6, 2], [1, 1, 1]]))
    assert ours.out.weight is ours.embedding.weight and len(ours.parameters()) == 1


def test_structures_of_arguments_and_results():
    def forward(self, x, pair, scale=None, *, flag=True):
        y = x + pair["a"] * pair["b"][0]
        return {"y": y if scale is None else y * scale, "none": None, "list": [x, (y.sum(), 3)]}

    x = paddle.to_tensor(rand(2, 3))
    ours = convert_model(module(forward), example_inputs=[x, {"a": x, "b": [x]}])
    out = ours(x, pair={"a": x, "b": [x]})
    assert out["none"] is None and out["list"][1][1] == 3
    np.testing.assert_allclose(out["y"].numpy(), (x + x * x).numpy(), rtol=1e-6)
    with pytest.raises(TypeError, match="'pair' is missing"):
        ours(x)
    with pytest.raises(ValueError, match="a dict with the keys"):
        ours(x, {"a": x})
    with pytest.raises(TypeError, match="no argument 'scale'"):
        ours(x, {"a": x, "b": [x]}, scale=x)
    named = convert_model(module(forward), example_inputs={"x": x, "pair": {"a": x, "b": [x]}, "scale": x})
    np.testing.assert_allclose(
        named(x=x, pair={"a": x, "b": [x]}, scale=x)["y"].numpy(), ((x + x * x) * x).numpy(), rtol=1e-6
    )


def test_wrong_inputs_are_refused():
    ours = convert_model(nn.Linear(3, 2), input_shape=[1, 3])
    with pytest.raises(ValueError, match=r"must have the shape \[-1, 3\]"):
        ours(paddle.ones([2, 4]))
    with pytest.raises(ValueError, match="must be float32"):
        ours(paddle.ones([2, 3], "int64"))
    with pytest.raises(TypeError, match="takes 1 positional"):
        ours(paddle.ones([2, 3]), paddle.ones([2, 3]))
    with pytest.raises(ValueError, match="one of input_shape and example_inputs"):
        convert_model(nn.Linear(3, 2))
    with pytest.raises(ValueError, match="positive ints"):
        convert_model(nn.Linear(3, 2), input_shape=[1, 0])


def test_what_cannot_be_converted_is_named():
    with pytest.raises(NotImplementedError, match="special_bessel_j0, special_bessel_y0"):
        convert_model(module(lambda s, x: torch.special.bessel_y0(torch.special.bessel_j0(x))), input_shape=[2, 2])
    with pytest.raises(NotImplementedError, match="cannot capture Made.forward"):
        convert_model(module(lambda s, x: x if x.sum() > 0 else -x), input_shape=[2, 2])


def test_a_batch_size_that_the_model_fixes_is_told():
    fixed = module(lambda s, x: x.view(2, 3, 4).sum(0))
    with pytest.warns(UserWarning, match="batch size stays"):
        ours = convert_model(fixed, example_inputs=rand(2, 12))
    with pytest.raises(ValueError, match=r"shape \[2, 12\]"):
        ours(paddle.ones([3, 12]))


def test_regions_without_gradients():
    def forward(self, x):
        with torch.no_grad():
            y = x * 2
        return (x * y).sum()

    x = paddle.to_tensor(rand(2, 3))
    x.stop_gradient = False
    convert_model(module(forward), example_inputs=rand(2, 3))(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floating_types(dtype):
    theirs = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).to(getattr(torch, dtype))
    x = torch.from_numpy(rand(2, 3)).to(getattr(torch, dtype))
    ours = convert_model(theirs, example_inputs=x)
    got = ours(paddle.to_tensor(x.float().numpy()).astype(dtype))
    assert got.dtype.name == dtype == getattr(ours, "0").weight.dtype.name
    np.testing.assert_allclose(got.astype("float32").numpy(), theirs(x).detach().float().numpy(), atol=0.05)


def test_frozen_parameters_and_shared_or_volatile_buffers():
    class Buffers(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.fc.weight.requires_grad_(False)
            self.register_buffer("a", torch.ones(3))
            self.register_buffer("b", self.a)
            self.register_buffer("c", torch.full((3,), 2.0), persistent=False)

        def forward(self, x):
            return self.fc(x) * self.a + self.b * self.c + torch.tensor([1.0, 2.0, 3.0])

    ours = same(Buffers().eval(), (rand(2, 3),), rand(4, 3))
    assert ours.fc.weight.stop_gradient and not ours.fc.bias.stop_gradient
    assert ours.a is ours.b and sorted(ours.state_dict()) == ["a", "b", "fc.bias", "fc.weight"]


def test_the_static_form_keeps_the_batch_open(tmp_path):
    theirs = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 2)).eval()
    ours = convert_model(theirs, input_shape=[1, 3, 6, 6])
    paddle.jit.save(ours, str(tmp_path / "net"), input_spec=[paddle.static.InputSpec([None, 3, 6, 6], "float32")])
    again, x = paddle.jit.load(str(tmp_path / "net")), rand(7, 3, 6, 6)
    np.testing.assert_allclose(
        again(paddle.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), atol=1e-5
    )


def test_a_copy_of_a_converted_layer_has_weights_of_its_own():
    ours = convert_model(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), input_shape=[1, 3])
    twin = copy.deepcopy(ours)
    x = paddle.to_tensor(rand(4, 3))
    ours(x)
    with paddle.no_grad():
        getattr(ours, "0").weight.zero_()
    assert float(getattr(twin, "1").running_mean.abs().sum()) == 0
    assert float(twin(x).abs().sum()) > 0


def test_operators_outside_the_table_are_decomposed():
    def forward(self, x):
        x = self.fc(self.norm(x))
        return torch.special.entr(x.abs()), torch.rot90(x), torch.logaddexp(x, 2 * x)

    theirs = module(forward, fc=nn.Linear(4, 4), norm=nn.BatchNorm1d(4))
    ours = same(theirs, (rand(2, 4),), rand(3, 4))
    theirs.train()
    ours.train()
    x = rand(6, 4)
    np.testing.assert_allclose(
        ours(paddle.to_tensor(x))[1].numpy(), theirs(torch.from_numpy(x))[1].detach().numpy(), atol=1e-5
    )
    np.testing.assert_allclose(ours.norm.running_var.numpy(), theirs.norm.running_var.numpy(), atol=1e-5)
    assert ours.fc.weight.shape == [4, 4] and ours.transposed == ["fc.weight"]
