"""load_torch_state_dict against NumPy, and against PyTorch where it is installed."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.torch_bridge import load_torch_state_dict

RNG = np.random.RandomState(0)


def values(shape):
    return RNG.rand(*shape).astype("float32") + 0.5


def network():
    return nn.Sequential(nn.Conv2D(2, 3, 1), nn.BatchNorm2D(3), nn.Flatten(), nn.Linear(12, 12))


def weights():
    shapes = {"0.weight": (3, 2, 1, 1), "0.bias": (3,), "3.weight": (12, 12), "3.bias": (12,)}
    shapes |= {f"1.{n}": (3,) for n in ("weight", "bias", "running_mean", "running_var")}
    return {n: values(s) for n, s in shapes.items()} | {"1.num_batches_tracked": np.array(7)}


def expected(w, x):
    y = np.einsum("oi,nihw->nohw", w["0.weight"][:, :, 0, 0], x)
    per_channel = {n: w[n][:, None, None] for n in ("0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var")}
    y = y + per_channel["0.bias"]
    y = (y - per_channel["1.running_mean"]) / np.sqrt(per_channel["1.running_var"] + 1e-5)
    y = y * per_channel["1.weight"] + per_channel["1.bias"]
    return y.reshape(len(x), -1) @ w["3.weight"].T + w["3.bias"]


def test_a_network_computes_what_the_weights_say():
    net, w, x = network(), weights(), values((5, 2, 2, 2))
    report = load_torch_state_dict(net, w)
    assert report.transposed == ["3.weight"] and report.missing == report.unexpected == []
    assert report.matched["1._mean"] == "1.running_mean"
    net.eval()
    np.testing.assert_allclose(net(paddle.to_tensor(x)).numpy(), expected(w, x), rtol=1e-4, atol=1e-4)


def test_values_are_copied():
    layer, w = nn.Linear(2, 2), {"weight": values((2, 2)), "bias": values((2,))}
    load_torch_state_dict(layer, w)
    before = layer.weight.numpy()
    w["weight"][:] = 0
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    assert before.any()


def test_a_safetensors_file(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    layer, w = nn.Linear(3, 2), {"weight": values((2, 3)), "bias": values((2,))}
    safetensors.save_file(w, tmp_path / "w.safetensors")
    load_torch_state_dict(layer, tmp_path / "w.safetensors")
    np.testing.assert_array_equal(layer.weight.numpy(), w["weight"].T)


def test_strictness():
    layer = nn.Linear(3, 2)
    before = layer.weight.numpy()
    w = {"weight": values((2, 3)), "extra": values((1,))}
    with pytest.raises(ValueError, match=r"lacks \['bias'\] and has \['extra'\]"):
        load_torch_state_dict(layer, w)
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    report = load_torch_state_dict(layer, w, strict=False)
    assert report.missing == ["bias"] and report.unexpected == ["extra"]
    np.testing.assert_array_equal(layer.weight.numpy(), w["weight"].T)


def test_an_error_changes_nothing():
    net = network()
    before = {n: v.numpy() for n, v in net.state_dict().items()}
    with pytest.raises(ValueError, match="3.bias is .12., 3.bias gives .5."):
        load_torch_state_dict(net, weights() | {"3.bias": values((5,))})
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])


@pytest.mark.parametrize(
    "source, error, text",
    [
        (3, TypeError, "must be a dict"),
        ({1: np.ones(2)}, TypeError, "names must be strings"),
        ({"weight": "w", "bias": np.ones(2)}, TypeError, "entry 'weight' must be a tensor, got str"),
        ("absent.pt", FileNotFoundError, "no file"),
    ],
)
def test_bad_sources_are_named(source, error, text):
    with pytest.raises(error, match=text):
        load_torch_state_dict(nn.Linear(3, 2), source)


def test_kinds_of_numbers():
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="weight is float32, weight gives complex64"):
        load_torch_state_dict(layer, {"weight": np.ones((2, 2), "complex64"), "bias": np.ones(2, "float32")})
    load_torch_state_dict(layer, {"weight": np.full((2, 2), 0.5, "float16"), "bias": np.ones(2, "int64")})
    assert layer.weight.dtype == paddle.float32 and layer.weight.numpy().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    half = nn.Linear(2, 2).to(dtype="bfloat16")
    load_torch_state_dict(half, {"weight": values((2, 2)), "bias": np.ones(2, "float32")})
    assert half.weight.dtype == paddle.bfloat16 and half.bias.astype("float32").tolist() == [1.0, 1.0]


def test_other_files_and_other_layers_are_refused(tmp_path):
    (tmp_path / "w.txt").write_text("x")
    with pytest.raises(ValueError, match="must end in"):
        load_torch_state_dict(nn.Linear(3, 2), tmp_path / "w.txt")
    with pytest.raises(TypeError, match="layer must be"):
        load_torch_state_dict("net", {})


def test_a_file_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3), torch.nn.Linear(3, 3))
    torch.save(theirs.state_dict(), tmp_path / "w.pt")
    ours = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 3))
    load_torch_state_dict(ours, tmp_path / "w.pt")
    x = values((5, 4))
    with torch.no_grad():
        want = theirs(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours(paddle.to_tensor(x)).numpy(), want, rtol=1e-5, atol=1e-6)
    torch.save(theirs, tmp_path / "module.pt")  # a whole module would run code
    with pytest.raises(ValueError, match="cannot be read as a file of tensors"):
        load_torch_state_dict(ours, tmp_path / "module.pt")
