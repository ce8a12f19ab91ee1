"""What is not built says so."""

import pytest

import paddle
from paddle.torch_bridge import convert_model, to_torch


@pytest.mark.parametrize("convert", [convert_model, to_torch])
def test_missing_conversions_are_named(convert):
    with pytest.raises(NotImplementedError, match=f"{convert.__name__}: .* is not built"):
        convert(paddle.nn.Linear(2, 2))
