"""The example that trains on digits, as a user runs it."""

import os
import re
import subprocess
import sys

import pytest

import paddle

ROOT = os.path.dirname(os.path.dirname(paddle.__file__))


def run(*options):
    environment = dict(os.environ, PYTHONPATH=ROOT)
    return subprocess.run(
        [sys.executable, os.path.join(ROOT, "examples", "train_digits.py"), *options],
        capture_output=True,
        text=True,
        env=environment,
    )


def test_it_learns_saves_and_loads(tmp_path):
    pytest.importorskip("tqdm")
    out = str(tmp_path / "digits.pdparams")
    done = run("--epochs", "1", "--out", out, "--seed", "3")
    assert done.returncode == 0, done.stderr
    accuracy = float(re.search(r"epoch 1/1: .* test accuracy ([\d.]+)", done.stdout)[1])
    assert accuracy > 0.8 and f"loaded into a fresh network: test accuracy {accuracy:.4f}" in done.stdout
    assert paddle.load(out)["features.0.weight"].shape == [16, 1, 3, 3]
