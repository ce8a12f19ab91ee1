"""Saved models as artifacts of jax.export: run where this package is not, with any length."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import jax
import jax.export
import numpy as np
import pytest

import paddle
from paddle import nn, static

pytest.importorskip("flatbuffers")
S = static.InputSpec
ROOT = Path(__file__).parents[2]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.Dropout(0.5)
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        h = nn.functional.max_pool2d(nn.functional.relu(self.norm(self.conv(x))), 2)
        h = nn.functional.interpolate(h, scale_factor=2, mode="bilinear")
        rows = paddle.shape(h)[0] * paddle.shape(h)[2]
        h = self.drop(h).transpose([0, 2, 3, 1]).reshape([rows, -1, 4])
        i = paddle.zeros([], "int64")
        while i < 2:
            h = h + paddle.shape(x)[0].astype("float32")
            i = i + 1
        return self.linear(h)


def weights_of(path):
    layer = paddle.jit.load(path)
    return {layer._names[k]: v.numpy() for k, v in layer.state_dict().items()}


def deserialized(path):
    return jax.export.deserialize(bytearray(Path(path + ".stablehlo").read_bytes()))


def test_a_process_without_this_package_runs_a_model_of_any_size(tmp_path):
    net, path = Net(), str(tmp_path / "ein Ort" / "módel")
    net.train()
    net(paddle.randn([4, 3, 8, 8]))  # statistics that are not their first values
    net.eval()
    paddle.jit.save(net, path, [S([None, 3, None, None])], stablehlo=True)
    code = re.search(r"```python\n(import math.*?)```", (ROOT / "docs/programs.md").read_text(), re.S)[1]
    script = tmp_path / "run.py"
    script.write_text(code + '\nassert not any(n.split(".")[0] == "paddle" for n in sys.modules)\n')
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    x = np.random.RandomState(0).randn(2, 3, 6, 10).astype("float32")
    np.save(tmp_path / "x.npy", x)
    args = [sys.executable, str(script), path, str(tmp_path / "x.npy"), str(tmp_path / "y.npy")]
    subprocess.run(args, check=True, cwd=tmp_path, env=env)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), net(paddle.to_tensor(x)).numpy(), rtol=1e-4, atol=1e-5)
    assert deserialized(path).platforms == ("cpu", "cuda", "tpu")


def test_programs_of_the_static_graph_and_official_models(tmp_path):
    path = str(tmp_path / "model")
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x, y = static.data("x", [None, 4]), static.data("y", [None, 4], "int64")
            z = x + y.astype("float32")  # the same open length
        exe = static.Executor()
        exe.run(startup)
        static.save_inference_model(path, [x, y], [z], exe, program=main, stablehlo=True)
    finally:
        paddle.disable_static()
    (found,) = deserialized(path).call({}, np.ones((3, 4), np.float32), np.ones((3, 4), np.int64))
    assert np.array_equal(found, np.full((3, 4), 2.0, np.float32))
    paddle.jit.save(nn.Linear(2, 1), path, [S([None, 2])])
    assert not os.path.exists(path + ".stablehlo")  # it was of another model

    with tarfile.open(ROOT / "tests/interop/fixtures/networks.tar.xz") as archive:
        name = min(n for n in archive.getnames() if n.endswith(".pdiparams")).removesuffix(".pdiparams")
        for ending in (".pdmodel", ".pdiparams", ".npz"):
            (tmp_path / f"official{ending}").write_bytes(archive.extractfile(name + ending).read())
    path = str(tmp_path / "official")
    paddle.jit.export_stablehlo(path, str(tmp_path / "other"), platforms="cpu")
    arrays, exported = np.load(path + ".npz"), deserialized(str(tmp_path / "other"))
    feeds = paddle.jit.load(path)._methods["forward"].feeds
    outs = exported.call(weights_of(path), *(arrays[f"in_{n}"] for n in feeds))
    np.testing.assert_allclose(outs[0], arrays["out_0"], rtol=2e-4, atol=2e-5)
    assert (tmp_path / "other.pdiparams").read_bytes() == (tmp_path / "official.pdiparams").read_bytes()


def test_lengths_get_names_and_random_numbers_a_key(tmp_path):
    path = str(tmp_path / "joined")

    def joined(x):
        half = nn.functional.max_pool2d(x, 2)
        return paddle.concat([x, nn.functional.interpolate(half, scale_factor=2)], 1)

    paddle.jit.save(paddle.jit.to_static(joined), path, [S([1, 2, None, None])])
    with pytest.raises(ValueError, match="concat.*give symbols="):
        paddle.jit.export_stablehlo(path)
    assert not os.path.exists(path + ".stablehlo")
    paddle.jit.export_stablehlo(path, symbols=["1, 2, 2*h, 2*w"])
    x = np.random.RandomState(0).randn(1, 2, 4, 6).astype("float32")
    np.testing.assert_allclose(deserialized(path).call({}, x)[0], joined(paddle.to_tensor(x)).numpy(), rtol=1e-6)
    assert deserialized(path).in_avals[0].shape[2:] != (4, 6)
    paddle.jit.export_stablehlo(path, symbols=["_, _, 4, 6"], platforms="tpu")
    assert deserialized(path).in_avals[0].shape == (1, 2, 4, 6) and deserialized(path).platforms == ("tpu",)
    for wrong in ("2, 2, h, w", "1, 2, 0, w", "1, 2, h", "1, 2, h h, w"):
        with pytest.raises(ValueError, match="symbols"):
            paddle.jit.export_stablehlo(path, symbols=[wrong])

    path = str(tmp_path / "noise")
    paddle.jit.save(paddle.jit.to_static(lambda x: x + paddle.rand(x.shape)), path, [S([None])])
    paddle.jit.export_stablehlo(path)
    paddle.seed(5)
    x = np.zeros(3, np.float32)
    (found,) = deserialized(path).call({}, x, np.array([0, 5, 0, 0], np.uint32))
    assert np.array_equal(found, paddle.jit.load(path)(paddle.to_tensor(x)).numpy())


def test_what_cannot_be_exported_is_named(tmp_path, recwarn):
    def saved(name, f):
        paddle.jit.save(paddle.jit.to_static(f), str(tmp_path / name), [S([4, 4])])
        return str(tmp_path / name)

    for name, f in {
        "nonzero": paddle.nonzero,
        "getitem": lambda x: x[: paddle.argmax(x[0])],
        "print": lambda x: (print(x), x + 1)[1],
    }.items():
        with pytest.raises(NotImplementedError, match=f"operator {name}.*(test_stablehlo.py|host)"):
            paddle.jit.export_stablehlo(saved(name, lambda x, f=f: f(x)))
    path = saved("eig", lambda x: paddle.linalg.eig(x)[0])
    assert paddle.jit.export_stablehlo(path) == ("cpu",)
    assert any("not for tpu" in str(w.message) for w in recwarn)
    with pytest.raises(ValueError, match="not possible for tpu"):
        paddle.jit.export_stablehlo(path, platforms=["cpu", "tpu"])
    with pytest.raises(ValueError, match="platforms must be among"):
        paddle.jit.export_stablehlo(path, platforms=["gpu"])
    with pytest.raises(ValueError, match="there is no model"):
        paddle.jit.export_stablehlo(str(tmp_path / "absent"))
    Path(path + ".pdiparams").write_bytes(b"weights of another model")
    with pytest.raises(ValueError):
        paddle.jit.export_stablehlo(path)


def test_text_beside_the_artifact(tmp_path):
    path = str(tmp_path / "linear")
    paddle.jit.save(paddle.nn.Linear(2, 1), path, [paddle.static.InputSpec([None, 2])])
    paddle.jit.export_stablehlo(path, platforms="cpu", text=True)
    assert "stablehlo.dot_general" in (tmp_path / "linear.mlir").read_text()
