"""convert_model and to_torch against PyTorch itself."""

import numpy as np
import pytest

import paddle
from paddle.torch_bridge import convert_model, to_torch


def test_arguments_are_checked():
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        convert_model(3, input_shape=[1, 2])
    with pytest.raises(TypeError, match="must be a paddle.nn.Layer"):
        to_torch(3)


def test_a_linear_layer_has_its_weight_transposed():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Linear(3, 2)
    ours = convert_model(theirs, input_shape=[1, 3])
    x = np.random.RandomState(0).rand(5, 3).astype("float32")
    np.testing.assert_allclose(
        ours(paddle.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-5
    )
    np.testing.assert_array_equal(ours.weight.numpy(), theirs.weight.detach().numpy().T)


def test_a_layer_as_a_module():
    torch = pytest.importorskip("torch")
    ours = paddle.nn.Sequential(paddle.nn.Linear(3, 4), paddle.nn.GELU(), paddle.nn.Linear(4, 2))
    theirs = to_torch(ours, paddle.ones([1, 3]))
    x = np.random.RandomState(0).rand(5, 3).astype("float32")
    np.testing.assert_allclose(
        ours(paddle.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), atol=1e-6
    )
    assert {n: tuple(p.shape) for n, p in theirs.named_parameters()} == {
        "0.weight": (4, 3), "0.bias": (4,), "2.weight": (2, 4), "2.bias": (2,),
    }  # fmt: skip
