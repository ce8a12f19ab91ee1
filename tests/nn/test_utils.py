"""paddle.nn.utils: vectors of parameters, limits of gradients, weight and spectral normalization."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.nn import utils
from tests._check import compare


def test_vector_round_trip():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = utils.parameters_to_vector(net.parameters())
    compare(vector, np.concatenate([p.numpy().ravel() for p in net.parameters()]))
    weight = net[0].weight.numpy()
    utils.vector_to_parameters(vector * 2 + 1, net.parameters())
    compare(net[0].weight, weight * 2 + 1)
    with pytest.raises(ValueError):
        utils.vector_to_parameters(vector[:3], net.parameters())


def with_gradients():
    a, b = paddle.create_parameter([2], "float32"), paddle.create_parameter([1], "float32")
    (a * paddle.to_tensor([3.0, 0.0])).sum().backward()
    (b * -4.0).sum().backward()
    return a, b


@pytest.mark.parametrize("norm_type, total", [(2.0, 5.0), (1.0, 7.0), (float("inf"), 4.0)])
def test_clip_grad_norm(norm_type, total):
    a, b = with_gradients()
    assert float(utils.clip_grad_norm_([a, b], 1.0, norm_type)) == pytest.approx(total)
    compare(a.grad, np.array([3.0, 0.0]) / total, rtol=1e-4)
    compare(b.grad, np.array([-4.0]) / total, rtol=1e-4)
    assert float(utils.clip_grad_norm_([a, b], 100.0, norm_type)) == pytest.approx(1.0, rel=1e-4)
    compare(b.grad, np.array([-4.0]) / total, rtol=1e-4)


def test_clip_grad_edge_cases():
    a, b = with_gradients()
    utils.clip_grad_value_([a, b], 2.0)
    assert a.grad.tolist() == [2.0, 0.0] and b.grad.tolist() == [-2.0]
    assert float(utils.clip_grad_norm_([paddle.create_parameter([2], "float32")], 1.0)) == 0.0
    a.grad = paddle.to_tensor([float("nan"), 1.0])
    with pytest.raises(RuntimeError):
        utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)
    with pytest.raises(ValueError):
        utils.clip_grad_value_(a, -1.0)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    layer = nn.Linear(3, 4)
    weight, x = layer.weight.numpy(), paddle.randn([2, 3])
    before = layer(x).numpy()
    assert utils.weight_norm(layer, dim=dim) is layer
    axes = None if dim is None else 1 - dim
    compare(layer.weight_g, np.atleast_1d(np.linalg.norm(weight, axis=axes)), rtol=1e-5)
    assert sorted(k for k, _ in layer.named_parameters()) == ["bias", "weight_g", "weight_v"]
    compare(layer(x), before, atol=1e-5)
    layer(x).sum().backward()
    direction = weight / (np.linalg.norm(weight) if dim is None else np.linalg.norm(weight, axis=axes, keepdims=True))
    full = np.broadcast_to(x.numpy().sum(0)[:, None], (3, 4))
    want = (full * direction).sum() if dim is None else (full * direction).sum(axes)
    compare(layer.weight_g.grad, np.atleast_1d(want), rtol=1e-4, atol=1e-5)
    layer.weight_g.set_value(layer.weight_g * 2)
    compare(layer(x) - layer.bias, 2 * (before - layer.bias.numpy()), rtol=1e-4, atol=1e-5)
    utils.remove_weight_norm(layer)
    compare(layer.weight, 2 * weight, rtol=1e-4)
    assert list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
    with pytest.raises(ValueError):
        utils.remove_weight_norm(layer)


@pytest.mark.parametrize(
    "make", [lambda: nn.Linear(3, 4), lambda: nn.Conv2D(2, 3, 2), lambda: nn.Conv2DTranspose(2, 3, 2)]
)
def test_spectral_norm(make):
    layer = make()
    w = layer.weight.numpy()
    dim = 0 if isinstance(layer, nn.Conv2D) else 1
    sigma = np.linalg.svd(np.moveaxis(w, dim, 0).reshape(w.shape[dim], -1))[1][0]
    nn.utils.spectral_norm(layer, n_power_iterations=30)
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    layer(paddle.ones([1, 3] if w.ndim == 2 else [1, 2, 3, 3])).sum().backward()
    compare(layer.weight, w / sigma, rtol=1e-3, atol=1e-5)
    # The normalized weight does not change when the weight grows, so the gradient has no part along it.
    assert float((layer.weight_orig.grad * layer.weight_orig).sum()) == pytest.approx(0, abs=1e-3)
    u = layer.weight_u.numpy()
    layer.eval()(paddle.ones([1, 3] if w.ndim == 2 else [1, 2, 3, 3]))
    assert (layer.weight_u.numpy() == u).all()


def test_reparametrization_errors():
    for call in (
        lambda: utils.weight_norm(nn.ReLU()),
        lambda: utils.weight_norm(nn.Linear(2, 2), dim=3),
        lambda: utils.spectral_norm(nn.Linear(2, 2), "nope"),
        lambda: utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0),
    ):
        with pytest.raises(ValueError):
            call()
