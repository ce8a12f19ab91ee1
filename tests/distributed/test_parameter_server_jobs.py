"""Jobs with parameter servers in processes of their own: what they learn, and what happens when one is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import paddle
from paddle.distributed.launch.main import free_ports

ROOT = Path(paddle.__file__).parents[1]
CLICKS = Path(__file__).with_name("_clicks.py")
STEPS = "200"


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "TRAINING_")) or "CACHE" in k}
    return {**kept, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", **more}


def launch(folder, script, *arguments, flags=(), **more):
    command = [sys.executable, "-m", "paddle.distributed.launch", *flags, "--log_dir", "logs", str(script), *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


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


def wait_for(condition, seconds=100):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, CLICKS, folder, "alone", STEPS], env=environment(), check=True, timeout=200)
    return json.loads((folder / "alone.json").read_text())["auc"]


@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
def test_two_servers_and_two_workers_learn_as_much_as_one_process(tmp_path, alone, mode):
    flags = ("--server_num", "2", "--trainer_num", "2")
    code, _, err = finish(launch(tmp_path, CLICKS, str(tmp_path), mode, STEPS, flags=flags))
    assert code == 0, err + logs(tmp_path)
    found = json.loads((tmp_path / f"{mode}.json").read_text())
    assert (found["workers"], found["servers"]) == (2, 2)
    print(mode, alone, found["auc"])
    assert alone > 0.8 and found["auc"] > alone - 0.005


REGRESSION = """
import os, sys, time
import numpy as np
import paddle, paddle.distributed.fleet as fleet

STEPS = int(sys.argv[1])
paddle.enable_static()
fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
ids = paddle.static.data("ids", [None, 4], "int64")
rows = paddle.static.nn.sparse_embedding(ids, [1 << 30, 1], param_attr="table")
w = paddle.static.create_parameter([1], "float32", name="w")
loss = ((rows.sum(1) + w - 1.0) ** 2).mean()
fleet.distributed_optimizer(paddle.optimizer.SGD(0.02)).minimize(loss)
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


def steps(folder, rank):
    file = folder / f"step.{rank}"
    return int(file.read_text() or 0) if file.exists() else -1


def test_a_killed_server_is_named_and_nothing_is_left(tmp_path):
    """Without a launcher, which would end the others anyway."""
    (tmp_path / "script.py").write_text(REGRESSION)
    ports = free_ports(2, None)
    common = dict(
        PADDLE_PSERVERS_IP_PORT_LIST=",".join(f"127.0.0.1:{p}" for p in ports),
        PADDLE_TRAINERS_NUM="1",
        PADDLE_XLA_TOKEN="secret",
    )
    roles = [dict(TRAINING_ROLE="PSERVER", POD_IP="127.0.0.1", PADDLE_PORT=str(p)) for p in ports]
    roles.append(dict(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="0"))
    command = [sys.executable, "script.py", "100000"]
    started = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment(**common, **r),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for r in roles
    ]
    try:
        assert wait_for(lambda: steps(tmp_path, 0) > 3)
        started[1].send_signal(signal.SIGKILL)
        out = started[2].communicate(timeout=30)[0]
        assert started[2].returncode == 1
        assert f"parameter server 1 (127.0.0.1:{ports[1]}) has ended" in out, out
        rest = started[0].communicate(timeout=30)[0]  # the other server misses its only worker
        assert started[0].returncode == 1 and "worker 0 has ended without fleet.stop_worker()" in rest
    finally:
        for p in started:
            p.kill()
            p.communicate()


def test_a_killed_server_ends_the_job(tmp_path):
    (tmp_path / "script.py").write_text(REGRESSION)
    process = launch(tmp_path, "script.py", "100000", flags=("--server_num", "2", "--trainer_num", "1"))
    assert wait_for(lambda: steps(tmp_path, 0) > 3)
    pids = [int((tmp_path / name).read_text()) for name in ("server.0", "server.1", "worker.0")]
    os.kill(pids[1], signal.SIGKILL)
    code, _, err = finish(process, 60)
    assert code == 128 + 9 and "server 1 failed with signal 9" in err
    assert not any(alive(pid) for pid in pids)


def test_a_killed_server_goes_on_from_its_snapshot(tmp_path):
    (tmp_path / "script.py").write_text(REGRESSION)
    flags = ("--server_num", "2", "--trainer_num", "2", "--max_restart", "1")
    more = dict(PADDLE_XLA_PS_SNAPSHOTS=str(tmp_path / "snapshots"), PADDLE_XLA_PS_SNAPSHOT_SECONDS="0.2")
    process = launch(tmp_path, "script.py", "400", flags=flags, **more)
    assert wait_for(lambda: steps(tmp_path, 0) > 100)
    first = (tmp_path / "server.1").read_text()
    os.kill(int(first), signal.SIGKILL)
    code, out, err = finish(process)
    assert code == 0, err + logs(tmp_path)
    assert "server 1 failed with signal 9; it starts again from its last snapshot" in err
    assert float(out.split()[-1]) < 0.05 and (tmp_path / "server.1").read_text() != first
    for name in ("server.0", "server.1", "worker.0", "worker.1"):
        assert not alive(int((tmp_path / name).read_text()))


def test_a_killed_worker_ends_the_job(tmp_path):
    (tmp_path / "script.py").write_text(REGRESSION)
    process = launch(tmp_path, "script.py", "100000", flags=("--server_num", "1", "--trainer_num", "2"))
    assert wait_for(lambda: min(steps(tmp_path, 0), steps(tmp_path, 1)) > 3)
    pids = [int((tmp_path / name).read_text()) for name in ("server.0", "worker.0", "worker.1")]
    os.kill(pids[2], signal.SIGKILL)
    code, _, err = finish(process, 60)
    assert code == 128 + 9 and "trainer 1 failed with signal 9" in err
    assert not any(alive(pid) for pid in pids)
