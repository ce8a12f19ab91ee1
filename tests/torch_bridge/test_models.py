"""convert_model against PyTorch itself."""

import numpy as np
import pytest

import paddle
from paddle.torch_bridge import convert_model, to_torch


@pytest.mark.parametrize("convert", [to_torch])
def test_missing_conversions_are_named(convert):
    with pytest.raises(NotImplementedError, match=f"{convert.__name__}: .* is not built"):
        convert(paddle.nn.Linear(2, 2))


def test_arguments_are_checked():
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        convert_model(3, input_shape=[1, 2])


def test_a_linear_layer_has_its_weight_transposed():
    torch = pytest.importorskip("torch")
    theirs = torch.nn.Linear(3, 2)
    ours = convert_model(theirs, input_shape=[1, 3])
    x = np.random.RandomState(0).rand(5, 3).astype("float32")
    np.testing.assert_allclose(
        ours(paddle.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-5
    )
    np.testing.assert_array_equal(ours.weight.numpy(), theirs.weight.detach().numpy().T)
