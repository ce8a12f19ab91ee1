"""Jobs that are interrupted and go on from their last checkpoint."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle.distributed.launch.main import free_ports

ROOT = Path(paddle.__file__).parents[1]
SCRIPT = ROOT / "deploy" / "train.py"
STEPS = 40


def environment():
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PADDLE_") or "CACHE" in k}
    return {**kept, "PYTHONPATH": str(ROOT)}


def start(folder, *flags, log="log", arguments=()):
    script = [str(SCRIPT), "--checkpoints", str(folder / "run"), "--steps", str(STEPS), *arguments]
    command = [sys.executable, "-m", "paddle.distributed.launch", "--log_dir", log, *flags, *script]
    return subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def finish(process, timeout=150):
    try:
        return process.communicate(timeout=timeout)[1]
    finally:
        process.kill()


def said(log):
    return log.read_text() if log.exists() else ""


def wait_for(condition, seconds=100):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come that far"
        time.sleep(0.01)


def weights(folder):
    return {k: v.numpy() for k, v in dist.load_merged_state_dict(folder / "run").items()}


def starts(text):
    """(number of processes, first step) of each start that a log tells of."""
    return [(int(n), int(s)) for n, s in re.findall(r"rank \d+ of (\d+), pid \d+, from step (\d+)", text)]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    command = [sys.executable, str(SCRIPT), "--checkpoints", str(folder / "run"), "--steps", str(STEPS)]
    subprocess.run(command, env=environment(), check=True, timeout=100, stdout=subprocess.DEVNULL)
    return weights(folder)


def same(found, wanted):
    assert found.keys() == wanted.keys() and found["step"] == STEPS
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-6, err_msg=name)


def test_a_killed_process_is_started_again(tmp_path, uninterrupted):
    job = start(tmp_path, "--nproc_per_node", "2", "--max_restart", "1", arguments=("--pause", "0.03"))
    log = tmp_path / "log" / "workerlog.1"
    wait_for(lambda: "step 12 " in said(log) or job.poll() is not None)
    os.kill(int(re.search(r"pid (\d+)", said(log))[1]), signal.SIGKILL)
    err = finish(job)
    assert job.returncode == 0 and "start number 2" in err, err
    (_, first), (n, second) = starts(said(log))
    assert first == 0 and n == 2 and 8 <= second <= STEPS
    same(weights(tmp_path), uninterrupted)


def test_fewer_processes_go_on(tmp_path, uninterrupted):
    master = f"127.0.0.1:{free_ports(1, None)[0]}"
    flags = ("--nnodes", "1:2", "--master", master, "--elastic_timeout", "3")
    nodes = [start(tmp_path, *flags, "--rank", str(i), log=f"log{i}", arguments=("--pause", "0.03")) for i in (0, 1)]
    logs = [tmp_path / f"log{i}" / "workerlog.0" for i in (0, 1)]
    wait_for(lambda: "step 8 " in said(logs[1]) or nodes[1].poll() is not None)
    nodes[1].kill()  # with its process
    err = finish(nodes[0])
    finish(nodes[1])
    assert nodes[0].returncode == 0, err
    (n, first), (m, second) = starts(said(logs[0]))
    assert (n, first, m) == (2, 0, 1) and second >= 4
    same(weights(tmp_path), uninterrupted)
