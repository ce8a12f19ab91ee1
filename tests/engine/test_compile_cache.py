"""The persistent cache of compiled executables: hits in a second process, and harmless when broken."""

import os
import subprocess
import sys
from pathlib import Path

CODE = (
    "import paddle; from paddle.engine.compile import stats\n"
    "x = paddle.to_tensor([1.0, 2.0], stop_gradient=False); (x * 3.0 + x).sum().backward()\n"
    "assert x.grad.tolist() == [4, 4]; print(stats.compiles, stats.cache_hits)"
)


def start(**environment):
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    return subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", "-c", CODE],
        env={k: v for k, v in env.items() if v is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    compiles, hits = map(int, out.split())
    return compiles, hits, err


def test_two_processes_at_once_then_hits_then_damage(tmp_path):
    folder = str(tmp_path / "cache")
    for compiles, _, err in map(result, [start(PADDLE_XLA_CACHE_DIR=folder) for _ in range(2)]):
        assert compiles > 3 and not err
    compiles, hits, _ = result(start(PADDLE_XLA_CACHE_DIR=folder))
    assert hits == compiles
    entries = [p for p in Path(folder).rglob("*") if p.is_file() and p.name.endswith("-cache")]
    assert entries
    for entry in entries:
        entry.write_bytes(b"damaged")
    compiles, hits, err = result(start(PADDLE_XLA_CACHE_DIR=folder))
    assert compiles > 3 and hits == 0 and not err


def test_folders_that_cannot_be_used(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    nowhere = dict(PADDLE_XLA_CACHE_DIR=None, XDG_CACHE_HOME=None, HOME="/proc/nowhere")
    processes = [start(PADDLE_XLA_CACHE_DIR=str(occupied)), start(**nowhere)]
    for compiles, hits, err in map(result, processes):
        assert compiles > 3 and hits == 0 and not err


def test_switched_off():
    from paddle.engine import compile as compiler

    before = os.environ.get("PADDLE_XLA_CACHE_DIR")
    try:
        for value in ("0", "off", ""):
            os.environ["PADDLE_XLA_CACHE_DIR"] = value
            assert compiler.cache_folder() is None
    finally:
        os.environ.pop("PADDLE_XLA_CACHE_DIR")
        if before is not None:
            os.environ["PADDLE_XLA_CACHE_DIR"] = before
