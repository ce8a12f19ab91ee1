"""Every optimizer follows the official package with clipping, decay and schedulers (recorded by trajectories.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from optimizer import trajectories

import paddle

OFFICIAL = json.loads((Path(__file__).parent / "trajectories.json").read_text())
CASES = {" ".join(filter(None, case)): case for case in trajectories.cases()}


def test_every_case_was_recorded():
    assert set(CASES) == set(OFFICIAL)


@pytest.mark.parametrize("name", CASES)
def test_ten_steps(name):
    np.testing.assert_allclose(trajectories.train(paddle, *CASES[name]), OFFICIAL[name], rtol=1e-4, atol=1e-5)
