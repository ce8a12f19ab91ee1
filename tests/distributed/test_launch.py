"""The launcher and `spawn`: environment, logs, failures, restarts, several nodes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import paddle
import paddle.distributed as dist
from paddle.distributed.launch.main import free_ports

from _launched import alive, finish, wait_for

ROOT = Path(paddle.__file__).parents[1]


def start(folder, script, *flags, arguments=(), logs="logs"):
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "paddle.distributed.launch", *flags, "--log_dir", logs, "script.py", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in [n for n in environment if n.startswith("PADDLE_") and "CACHE" not in n]:
        del environment[name]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


SHOW = """
import os, sys
keys = ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_RANK_IN_NODE", "PADDLE_NNODES")
print(*(os.environ[k] for k in keys), *sys.argv[1:])
ends = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
assert os.environ["PADDLE_CURRENT_ENDPOINT"] == ends[int(os.environ["PADDLE_TRAINER_ID"])]
assert os.environ["PADDLE_MASTER"] not in ends
"""


def test_environment_logs_and_output(tmp_path):
    code, out, err = finish(start(tmp_path, SHOW, "--nproc_per_node", "2", arguments=["--lr", "0.1"]))
    assert code == 0, err
    logs = [(tmp_path / "logs" / f"workerlog.{i}").read_text().split() for i in (0, 1)]
    assert logs == [[str(i), "2", str(i), "1", "--lr", "0.1"] for i in (0, 1)]
    assert out.split() == logs[0]  # the first process is shown


FAIL = """
import os, subprocess, sys, time
rank = os.environ["PADDLE_TRAINER_ID"]
if rank == "0":  # with a child of its own, and deaf to the first request to end
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "300"])
    open("pids", "w").write(f"{os.getpid()} {child.pid}")
    time.sleep(300)
while not os.path.exists("pids"):
    time.sleep(0.05)
time.sleep(0.2)
print("about to fail", flush=True)
sys.exit(7)
"""


def test_one_failure_ends_all(tmp_path):
    process = start(tmp_path, FAIL, "--nproc_per_node", "2")
    assert wait_for((tmp_path / "pids").exists)
    begin = time.monotonic()
    code, _, err = finish(process)
    assert time.monotonic() - begin < 60
    assert code == 7 and "rank 1 failed with exit code 7" in err and "about to fail" in err
    assert not any(alive(pid) for pid in (tmp_path / "pids").read_text().split())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_orphans_when_the_launcher_is_killed(tmp_path, number):
    process = start(tmp_path, FAIL, "--nproc_per_node", "1")
    assert wait_for(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().count(" "))
    process.send_signal(number)
    code = finish(process)[0]
    assert code == (-9 if number == signal.SIGKILL else 128 + 15)
    pids = (tmp_path / "pids").read_text().split()
    assert wait_for(lambda: not any(map(alive, pids)), 60)  # the process, and what it had started


LOST = """
import os, signal, time
import paddle, paddle.distributed as dist
dist.init_parallel_env()
x = paddle.ones([2])
dist.all_reduce(x)
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.barrier()
"""


def test_without_a_launcher_a_lost_process_ends_the_others(tmp_path):
    (tmp_path / "script.py").write_text(LOST)
    ends = ",".join(f"127.0.0.1:{port}" for port in free_ports(2, None))
    processes = []
    for rank in ("0", "1"):
        own = {"PADDLE_TRAINER_ID": rank, "PADDLE_TRAINERS_NUM": "2", "PADDLE_TRAINER_ENDPOINTS": ends}
        environment = {**os.environ, **own, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "script.py"]
        processes.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True))
    processes[1].communicate(timeout=200)
    begin = time.monotonic()
    code, _, err = finish(processes[0])
    assert code == 1 and "rank 1 has ended unexpectedly" in err and time.monotonic() - begin < 60


EARLY = """
import time
import paddle, paddle.distributed as dist
dist.init_parallel_env()
dist.barrier()
if dist.get_rank() == 1:
    time.sleep(3)
    dist.new_group([1])
    print("done", flush=True)
"""


def test_the_first_process_may_end_early(tmp_path):
    code, _, err = finish(start(tmp_path, EARLY, "--nproc_per_node", "2"))
    assert code == 0 and "done" in (tmp_path / "logs" / "workerlog.1").read_text(), err


RESTART = """
import os, sys
round = int(os.environ["PADDLE_RESTART_COUNT"])
print("round", round, flush=True)
sys.exit(3 if round < int(sys.argv[1]) and os.environ["PADDLE_TRAINER_ID"] == "1" else 0)
"""


def test_restarts(tmp_path):
    flags = ("--nproc_per_node", "2", "--max_restart", "1")
    code, _, err = finish(start(tmp_path, RESTART, *flags, arguments=["1"]))
    assert code == 0 and err.count("rank 1 failed with exit code 3") == 1
    assert (tmp_path / "logs" / "workerlog.1").read_text() == "round 0\nround 1\n"
    code, _, err = finish(start(tmp_path, RESTART, *flags, arguments=["9"]))
    assert code == 3 and err.count("rank 1 failed with exit code 3") == 2


def test_two_nodes(tmp_path):
    master = f"127.0.0.1:{free_ports(1, None)[0]}"
    flags = ("--nnodes", "2", "--nproc_per_node", "1", "--master", master)
    nodes = [start(tmp_path, SHOW, *flags, logs=f"logs{i}") for i in (0, 1)]
    for node in nodes:
        code, _, err = finish(node)
        assert code == 0, err
    logs = sorted((tmp_path / f"logs{i}" / "workerlog.0").read_text().split() for i in (0, 1))
    assert logs == [["0", "2", "0", "2"], ["1", "2", "0", "2"]]


WAIT = """
import os, time
print("start", os.environ["PADDLE_TRAINER_ID"], os.environ["PADDLE_TRAINERS_NUM"], flush=True)
if os.environ["PADDLE_TRAINERS_NUM"] == "2":
    time.sleep(300)
"""


@pytest.mark.slow
def test_elastic_job_goes_on_with_the_nodes_that_remain(tmp_path):
    master = f"127.0.0.1:{free_ports(1, None)[0]}"
    flags = ("--nnodes", "1:2", "--master", master, "--elastic_timeout", "2")
    first = start(tmp_path, WAIT, *flags, "--rank", "0", logs="first")
    second = start(tmp_path, WAIT, *flags, "--rank", "1", logs="second")

    def both_run():
        return all(
            (tmp_path / n / "workerlog.0").exists() and "2\n" in (tmp_path / n / "workerlog.0").read_text()
            for n in ("first", "second")
        )

    assert wait_for(both_run), first.poll()
    second.kill()
    code, out, err = finish(first)
    second.communicate()
    assert code == 0 and "no sign of life" in err
    assert (tmp_path / "first" / "workerlog.0").read_text() == "start 0 2\nstart 0 1\n"


def test_command_lines_that_make_no_sense(tmp_path):
    from paddle.distributed.launch.arguments import parse

    for line in (
        "--nnodes 2 x.py",
        "--nnodes 3:2 --master a:1 x.py",
        "--nproc_per_node 0 x.py",
        "",
        "--rank 1 x.py",
        "--start_port 70000 x.py",
        "--max_restart -1 x.py",
        "--servers host x.py",
        "--trainers a:b x.py",
        "--server_num -1 x.py",
        "--nnodes 2 --master a:70000 x.py",
        "--devices 0,1 --nproc_per_node 3 x.py",
    ):
        with pytest.raises(SystemExit):
            parse(line.split())
    assert parse("x.py --nnodes 5".split()).training_script_args == ["--nnodes", "5"]


def train(scale, fail):
    dist.init_parallel_env()
    x = paddle.to_tensor([scale * (dist.get_rank() + 1.0)])
    dist.all_reduce(x)
    assert x.item() == 3 * scale
    if fail and dist.get_rank() == 1:
        raise ValueError("this is what went wrong")
    if fail:
        dist.barrier()


SPAWN = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1]), str(ROOT)]!r}
import paddle.distributed as dist
from test_launch import train
if __name__ == "__main__":
    context = dist.spawn(train, args=(2.0, False), nprocs=2)
    print([p.exitcode for p in context.processes])
    try:
        dist.spawn(train, args=(2.0, True), nprocs=2)
    except RuntimeError as e:
        print(e)
"""


def test_spawn(tmp_path):
    (tmp_path / "run.py").write_text(SPAWN)
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, timeout=250)
    assert "[0, 0]" in done.stdout, done.stderr
    assert "process 1 failed" in done.stdout and "this is what went wrong" in done.stdout


def test_spawn_checks_its_arguments():
    with pytest.raises(ValueError, match="nprocs"):
        dist.spawn(train, nprocs=0)
    with pytest.raises(ValueError, match="no option 'cores'"):
        dist.spawn(train, nprocs=1, cores=2)
    with pytest.raises(TypeError, match="func"):
        dist.spawn("train", nprocs=1)
