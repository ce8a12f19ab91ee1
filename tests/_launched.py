"""Starts jobs through the launcher, for tests that look at them from outside."""

import os
import subprocess
import sys
import time
from pathlib import Path

import paddle

ROOT = Path(paddle.__file__).parents[1]


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "TRAINING_")) or "CACHE" in k}
    return {**kept, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", **more}


def launch(folder, script, *arguments, flags=(), **more):
    command = [sys.executable, "-m", "paddle.distributed.launch", *flags, "--log_dir", "logs", str(script), *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def on_devices(folder, code, n=8):
    """Run code in a process that has n faked devices and finds the test modules; what it printed."""
    (folder / "run.py").write_text(code)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "distributed")))
    flags = f"--xla_force_host_platform_device_count={n}"
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=folder, capture_output=True, text=True, timeout=280,
        env={**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def finish(process, timeout=200):
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, out, err


def logs(folder):
    return "\n".join(f"--- {f.name}\n{f.read_text()[-3000:]}" for f in sorted((folder / "logs").iterdir()))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


REGRESSION = """# a worker writes how far it is
import os, sys, time
import numpy as np
import paddle, paddle.distributed.fleet as fleet

STEPS = int(sys.argv[1])
paddle.enable_static()
paddle.seed(3)
fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
ids = paddle.static.data("ids", [None, 4], "int64")
rows = paddle.static.nn.sparse_embedding(ids, [1 << 30, 1], param_attr="table")
w = paddle.static.create_parameter([1], "float32", name="w")
loss = ((rows.sum(1) + w - 1.0) ** 2).mean()
strategy = fleet.DistributedStrategy()
strategy.a_sync = False
fleet.distributed_optimizer(paddle.optimizer.SGD(0.02), strategy).minimize(loss)
kind = "server" if fleet.is_server() else "worker"
number = fleet.server_index() if fleet.is_server() else fleet.worker_index()
with open(f"{kind}.{number}.part", "w") as f:
    f.write(str(os.getpid()))
os.replace(f"{kind}.{number}.part", f"{kind}.{number}")
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit()
exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
fleet.init_worker()
rng = np.random.RandomState(number)
for step in range(STEPS):
    value, = exe.run(feed={"ids": rng.randint(0, 40, (16, 4)) * 10**6}, fetch_list=[loss])
    open(f"step.{number}", "w").write(str(step))
    if STEPS > 100:
        time.sleep(0.02)
fleet.barrier_worker()
print("loss", float(value))
fleet.stop_worker()
"""
