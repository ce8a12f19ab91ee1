"""Training follows the official package, step by step, from equal weights (recorded by trajectories.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from nn import trajectories

import paddle

OFFICIAL = json.loads((Path(__file__).parent / "trajectories.json").read_text())


@pytest.mark.parametrize("name", OFFICIAL)
def test_twenty_steps(name):
    losses, norms = trajectories.train(paddle, name)
    want_losses, want_norms = OFFICIAL[name]
    assert min(want_losses) < want_losses[0]
    np.testing.assert_allclose(losses, want_losses, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(norms, want_norms, rtol=1e-4, atol=1e-4)
