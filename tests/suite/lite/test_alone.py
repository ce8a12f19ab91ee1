"""Running a file needs NumPy and ONNX Runtime, and nothing else is imported."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import paddlelite as lite

FORBID = """
import sys
class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ImportError("forbidden: " + name)
sys.meta_path.insert(0, Forbid())
"""


def run(forbidden, program, *arguments):
    env = dict(os.environ, PYTHONPATH=str(Path(lite.__file__).parents[1]))
    code = FORBID.format(names=forbidden) + program
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments], capture_output=True, text=True, env=env, timeout=120
    )


def test_importing_imports_little():
    ran = run((), "import paddlelite\nprint(*sorted({m.split('.')[0] for m in sys.modules}))")
    assert ran.returncode == 0, ran.stderr
    found = set(ran.stdout.split())
    assert {"paddlelite", "numpy"} <= found
    assert not found & {"jax", "jaxlib", "paddle", "onnx", "onnxruntime", "ml_dtypes", "google", "PIL"}


def test_files_run_without_paddle_and_jax(saved, tmp_path):
    x = np.random.RandomState(0).randn(3, 16).astype("float32")
    np.save(tmp_path / "x.npy", x)
    program = """
import numpy as np, paddlelite as lite
nb, folder = sys.argv[1:]
config = lite.MobileConfig()
config.set_model_from_file(nb)
predictor = lite.create_predictor(config)
predictor.get_input(0).from_numpy(np.load(folder + "/x.npy"))
predictor.get_input(1).from_numpy(np.arange(3))
predictor.run()
np.save(folder + "/y.npy", predictor.get_output(0).numpy())
predictor.save_optimized_model(folder + "/again")
assert not {"jax", "paddle", "onnx"} & set(sys.modules)
"""
    ran = run(("jax", "jaxlib", "paddle", "onnx", "ml_dtypes"), program, saved.nb, str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), saved(x), rtol=1e-4, atol=1e-5)
    assert (tmp_path / "again.nb").exists()


def test_what_is_missing_is_said(saved):
    program = """
import paddlelite as lite
config = lite.MobileConfig()
config.set_model_from_file(sys.argv[1])
for found in lite.backends():
    assert not found.present
try:
    lite.create_predictor(config)
except ImportError as e:
    print(e)
"""
    ran = run(("jax", "paddle", "onnxruntime"), program, saved.nb)
    assert ran.returncode == 0, ran.stderr
    assert "pip install onnxruntime" in ran.stdout
    program = """
import paddlelite as lite
opt = lite.Opt()
opt.set_model_file(sys.argv[1])
opt.set_param_file(sys.argv[2])
opt.set_optimize_out("never")
config = lite.MobileConfig()
config.set_model_from_file(sys.argv[1])
config.set_model_from_file(sys.argv[2], lite.PD_INFER_PARAMS)
for call in (opt.run, lambda: lite.create_predictor(config)):
    try:
        call()
    except ImportError as e:
        print(e)
"""
    ran = run(("jax", "paddle"), program, saved.model, saved.params)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("packages paddle-xla and onnx") == 2
