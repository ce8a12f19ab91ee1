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


started = []


@pytest.fixture(autouse=True)
def no_process_stays():
    yield
    for process in started:
        process.kill()  # a launcher takes its processes along
        process.wait()
    started.clear()


def start(folder, *flags, log="log", arguments=()):
    script = [str(SCRIPT), "--checkpoints", str(folder / "run"), "--steps", str(STEPS), *arguments]
    command = [sys.executable, "-m", "paddle.distributed.launch", "--log_dir", log, *flags, *script]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    started.append(process)
    return process


def finish(process, timeout=100):
    return process.communicate(timeout=timeout)[1]


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


@pytest.mark.slow
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


@pytest.mark.slow
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


# ---- jobs from a queue, clusters ----
sys.path.insert(0, str(ROOT / "deploy"))


def test_a_queue_gives_each_job_to_one_worker():
    from job_queue import JobQueue

    one = JobQueue(serve=True, lease=1.0)
    two = JobQueue(port=one.port, lease=1.0)
    assert [one.put({"arguments": [str(i)]}) for i in range(2)] == [1, 2]
    assert one.take() == (1, 1, {"arguments": ["0"]}) and two.take() == (2, 1, {"arguments": ["1"]})
    assert one.take() is None and two.take() is None
    end = time.monotonic() + 1.5
    while time.monotonic() < end:  # as long as both give signs of life
        assert one.beat(1, 1) and two.beat(2, 1) and one.take() is None and two.take() is None
    two.finish(2, 1, {"code": 0})
    wait_for(lambda: two.take() is not None)  # job 1, whose worker is silent
    assert not one.beat(1, 1)
    one.finish(1, 1, {"code": 0})  # it is not its job any more
    assert two.result(1) is None and two.open_jobs() == [1]
    two.give_back(1, 2)
    assert one.take()[:2] == (1, 3)
    one.finish(1, 3, {"code": 0})
    assert two.open_jobs() == [] and two.result(1) == {"code": 0}
    for queue in (two, one):
        queue.close()


def test_a_worker_that_dies_while_it_takes_a_job():
    from job_queue import JobQueue

    queue = JobQueue(serve=True, lease=0.2)
    queue.put({"arguments": ["0"]})
    queue.store.add("claim/1/1", 1)  # the last that it did
    wait_for(lambda: (taken := queue.take()) is not None and taken[:2] == (1, 2))
    assert queue.beat(1, 2)
    queue.close()


def test_the_command_line_of_the_queue(monkeypatch, capsys):
    import job_queue

    queue = job_queue.JobQueue(serve=True)
    job = ["--nproc_per_node", "2", "train.py", "--checkpoints", "run"]
    where = ["--queue", f"127.0.0.1:{queue.port}"]
    monkeypatch.setattr(sys, "argv", ["job_queue.py", "put", *where, *job])
    job_queue.main()
    assert capsys.readouterr().out == "1\n" and queue.take()[2] == {"arguments": job}
    for line in (["put", *where], ["results", *where, "--lease", "3"]):
        monkeypatch.setattr(sys, "argv", ["job_queue.py", *line])
        with pytest.raises(SystemExit):
            job_queue.main()
    queue.close()


@pytest.mark.slow
def test_a_job_whose_worker_is_killed_goes_to_another(tmp_path, uninterrupted):
    from job_queue import JobQueue

    queue = JobQueue(serve=True)
    script = [str(SCRIPT), "--checkpoints", str(tmp_path / "run"), "--steps", str(STEPS), "--pause", "0.03"]
    queue.put({"arguments": ["--log_dir", str(tmp_path), *script]})
    command = [sys.executable, str(ROOT / "deploy" / "job_queue.py"), "work", "--queue", f"127.0.0.1:{queue.port}"]
    command += ["--lease", "1", "--until-empty"]
    started.append(subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL))
    wait_for(lambda: "step 12 " in said(tmp_path / "workerlog.0"))
    started[0].kill()
    started.append(subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL))
    assert started[1].wait(100) == 0
    assert queue.result(1) == {"code": 0, "turns": 2}
    (_, first), (_, second) = starts(said(tmp_path / "workerlog.0"))
    assert first == 0 and second >= 8
    same(weights(tmp_path), uninterrupted)


def test_command_lines_of_clusters(tmp_path):
    """What the files for Kubernetes and Slurm call is what the launcher takes."""
    import yaml

    from paddle.distributed.launch.arguments import parse

    service, claim, job = yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    args = parse(
        [a.replace("$(JOB_COMPLETION_INDEX)", "1").replace("$(POD_IP)", "10.0.0.2") for a in container["args"]]
    )
    assert (args.min_nodes, args.max_nodes, args.rank, args.host) == (2, job["spec"]["completions"], 1, "10.0.0.2")
    host, port = args.master.split(":")
    assert host == f"{job['metadata']['name']}-0.{pod['subdomain']}" and pod["subdomain"] == service["metadata"]["name"]
    assert int(port) == service["spec"]["ports"][0]["port"]
    volumes = {v["name"]: v for v in pod["volumes"]}
    assert volumes["checkpoints"]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert args.training_script.startswith("/code/") and "--checkpoints=/checkpoints/run" in args.training_script_args
    tools = {
        "scontrol": "echo host1; echo host2",
        "srun": 'shift; SLURM_NODEID=1 exec "$@"',
        "python": 'printf "%s\\n" "$@"',
    }
    for name, text in tools.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "host[1-2]"}
    called = subprocess.run(
        ["bash", ROOT / "deploy" / "slurm.sh", "train.py", "--checkpoints", "a b"],
        env={**slurm, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    module, name, *line = called.stdout.splitlines()
    args = parse(line)
    assert (module, name) == ("-m", "paddle.distributed.launch") and args.training_script_args == [
        "--checkpoints",
        "a b",
    ]
    assert (args.max_nodes, args.rank, args.master) == (2, 1, "host1:20007")
