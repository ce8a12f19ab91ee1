"""Tensors of PyTorch and paddle in one process."""

import subprocess
import sys

import numpy as np
import pytest

from paddle.utils.dlpack import from_dlpack

torch = pytest.importorskip("torch")


def test_tensors_cross_without_a_copy():
    theirs = torch.arange(64, dtype=torch.float32).reshape(8, 8)
    ours = from_dlpack(theirs)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    assert ours.data_ptr() == theirs.data_ptr()
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() and back.dtype == torch.float32


@pytest.mark.parametrize("order", ["paddle, torch", "torch, paddle"])
def test_the_order_of_imports_does_not_matter(order):
    code = f"import {order}; print(float(paddle.ones([3]).sum()) + float(torch.ones(4).sum()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.stdout.strip() == "7.0", out.stderr
